//===- CublasLt.cpp - The library of matrix products of CUDA --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/CublasLt.h"

#include "runtime/cuda/Libraries.h"

#if WEFT_CUDA
#include "runtime/cuda/CublasLtTable.h"

#include <cuda.h>
#include <dlfcn.h>
#include <mutex>
#endif

namespace weft::runtime {

/// "13.10.0" for 131000.
static std::string version_text(size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string CublasLt::text() const {
  switch (state) {
  case CublasLtState::ready:
    return "version " + version_text(version) + " in '" + file + "'";
  case CublasLtState::built_without_cuda:
    return builtWithoutCudaText;
  case CublasLtState::no_library:
    return problem;
  case CublasLtState::wrong_version:
    return "'" + file + "' is of version " + version_text(version) + ": " + problem;
  case CublasLtState::failed:
    return "'" + file + "' " + problem;
  }
  return "";
}

#if WEFT_CUDA

namespace {

constexpr int neededMajor = CUDA_VERSION / 1000;

/// Fills the table; the name of a function that the library lacks, or null.
const char *fill(cublaslt::Table &table, void *library) {
#define WEFT_LOOK_UP(function, result, parameters)                                                           \
  table.function = reinterpret_cast<decltype(table.function)>(::dlsym(library, #function));                  \
  if (!table.function)                                                                                       \
    return #function;
  WEFT_CUBLASLT_FUNCTIONS(WEFT_LOOK_UP)
#undef WEFT_LOOK_UP
  return nullptr;
}

CublasLt load() {
  const OpenedCudaLibrary library = open_cuda_library(CudaLibrary::cublaslt, neededMajor);
  CublasLt found;
  if (!library.handle) {
    found.state = CublasLtState::no_library;
    found.problem = library.problem;
    return found;
  }
  found.file = library.file;
  const std::string needed = std::to_string(neededMajor);
  // The version is asked first: an old library lacks functions because it is old.
  const auto version = reinterpret_cast<size_t (*)()>(::dlsym(library.handle, "cublasLtGetVersion"));
  found.version = version ? version() : 0;
  static cublaslt::Table table; // as long as the library, which stays
  if (version && found.version / 10000 != neededMajor) {
    found.state = CublasLtState::wrong_version;
    found.problem = "install cuBLASLt of version " + needed;
  } else if (const char *missing = fill(table, library.handle)) {
    found.state = CublasLtState::failed;
    found.problem = std::string("has no function ") + missing + ": it is no cuBLASLt of version " + needed +
                    "; install that version";
  } else {
    found.state = CublasLtState::ready;
    found.table = &table;
    return found;
  }
  ::dlclose(library.handle); // so that the next search can find what takes its place
  return found;
}

} // namespace

CublasLt cublas_lt() {
  static std::mutex mutex;
  static CublasLt found;
  std::lock_guard<std::mutex> lock(mutex);
  if (!found.table)
    found = load();
  return found;
}

#else

CublasLt cublas_lt() { return {}; }

#endif

} // namespace weft::runtime
