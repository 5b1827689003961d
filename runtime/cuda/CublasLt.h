//===- CublasLt.h - The library of matrix products of CUDA ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuBLASLt is not linked, and no header of it is needed. Its functions are in a table (CublasLtTable.h) that
// is filled by `dlopen` at the first call of cublas_lt(), so one build of Weft runs with the library and
// without it, and a program that uses no CUDA device opens nothing. It loads without a GPU and without a
// driver. Where it is searched for is in Libraries.h.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_CUBLASLT_H
#define WEFT_RUNTIME_CUDA_CUBLASLT_H

#include "weft/export.hpp"

#include <cstddef>
#include <string>

namespace weft::runtime {

namespace cublaslt {
struct Table; // runtime/cuda/CublasLtTable.h
}

/// What the search for cuBLASLt found.
enum class CublasLtState {
  ready,              ///< a library of CUDA's major version that has all functions
  built_without_cuda, ///< this Weft has no table (-DWEFT_CUDA=OFF)
  no_library,         ///< none was found, or none that the loader takes
  wrong_version,      ///< the library is of another major version than its file says
  failed,             ///< the library lacks a function
};

struct CublasLt {
  CublasLtState state = CublasLtState::built_without_cuda;
  std::string file;    ///< that was opened
  size_t version = 0;  ///< of cublasLtGetVersion(), as 131000 for 13.10.0; 0 if it is not known
  std::string problem; ///< what the search or the library said
  const cublaslt::Table *table = nullptr; ///< filled if the state is `ready`, for the rest of the process

  /// The state in a sentence: what was found, what is needed, and what to do.
  WEFT_RUNTIME_API std::string text() const;
};

/// cuBLASLt, loaded by the first caller. What was not found is searched for again by the next call, because
/// it may be installed meanwhile; what was found stays for the rest of the process.
WEFT_RUNTIME_API CublasLt cublas_lt();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_CUBLASLT_H
