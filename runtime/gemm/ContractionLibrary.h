//===- ContractionLibrary.h - Matrix products of oneDNN ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_CONTRACTIONLIBRARY_H
#define WEFT_RUNTIME_GEMM_CONTRACTIONLIBRARY_H

#include "runtime/gemm/Contraction.h"

namespace weft::runtime {

/// What the library is to do for a contraction. Null if it has nothing fast; `selection` then has the
/// refusal, else the implementation and the bytes of workspace.
std::shared_ptr<const PreparedContraction> prepare_library_contraction(const ContractionShape &shape,
                                                                       ContractionSelection &selection);

/// The contraction of this shape that was prepared.
Expected<std::shared_ptr<const Contraction>> make_library_contraction(const ContractionShape &shape,
                                                                      const PreparedContraction &prepared);

/// The library's answer about a contraction, of which nothing is made.
ContractionSupport ask_library_contraction(const ContractionShape &shape);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_CONTRACTIONLIBRARY_H
