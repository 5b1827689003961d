//===- Libraries.h - Where CUDA's libraries are searched for ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVRTC and cuBLASLt are not linked: they are searched for and opened at first use. The search is in the
// folder WEFT_CUDA_PATH, and only there if this is set; otherwise in the loader's path, in the folder of a
// CUDA toolkit, in the Python environment in use (whose wheels have them), and in the folder that Weft was
// built with. The driver is part of the system and is not searched for here (Driver.h).
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_LIBRARIES_H
#define WEFT_RUNTIME_CUDA_LIBRARIES_H

#include "weft/export.hpp"

#include <functional>
#include <string>
#include <vector>

namespace weft::runtime {

/// What is said where Weft is configured without CUDA.
inline constexpr const char *builtWithoutCudaText =
    "this Weft is built without CUDA (-DWEFT_CUDA=OFF): configure it with -DWEFT_CUDA=ON";

/// The folder that WEFT_CUDA_PATH names; empty if it names none.
WEFT_RUNTIME_API std::string only_cuda_folder();

/// The folders in which a CUDA toolkit, or what takes the place of one, has its folders `lib` and `bin`, in
/// the order of the search.
WEFT_RUNTIME_API std::vector<std::string> cuda_folders();

/// The libraries that are searched for.
enum class CudaLibrary { nvrtc, cublaslt };

/// The file of a library for a major version of CUDA, as "libnvrtc.so.13".
WEFT_RUNTIME_API std::string cuda_library_name(CudaLibrary library, int major);

/// A library that was opened, or why there is none.
struct OpenedCudaLibrary {
  void *handle = nullptr; ///< of dlopen; null if no library was opened
  std::string file;       ///< what was opened
  std::string problem;    ///< where it was searched for, what the loader said, and what to do
};

/// Opens the first file of that name that the loader takes. Folders with all of CudaLibrary come before those
/// with some, because cuBLASLt loads NVRTC itself and expects one of its own release. `prepare` is called
/// with each file before it is opened; for the loader's path this is the bare name.
WEFT_RUNTIME_API OpenedCudaLibrary open_cuda_library(
    CudaLibrary library, int major, const std::function<void(const std::string &file)> &prepare = nullptr);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_LIBRARIES_H
