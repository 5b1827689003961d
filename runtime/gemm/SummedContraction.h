//===- SummedContraction.h - Sums of products -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// c = (a b + residual) + a1 b1 + a2 b2 + .., where each product is what it would be as a contraction of its
// own, and is added in this order. So a sum of products has the bits of the contractions that it stands for.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_SUMMEDCONTRACTION_H
#define WEFT_RUNTIME_GEMM_SUMMEDCONTRACTION_H

#include "runtime/gemm/Contraction.h"

namespace weft::runtime {

/// A sum of `shape.more` + 1 products, of f32 or f64 and without bias and relu. `first` computes the first of
/// them, with the residual, and `next` each of the others, whose result is dense. The result has elements.
std::shared_ptr<const Contraction> make_summed(const ContractionShape &shape,
                                               std::shared_ptr<const Contraction> first,
                                               std::shared_ptr<const Contraction> next);

/// The shape of one of the further products.
ContractionShape further_product(const ContractionShape &shape);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_SUMMEDCONTRACTION_H
