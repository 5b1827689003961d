//===- PartialSums.h - What comes after blocks of a product -*- C++ -*- ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_PARTIALSUMS_H
#define WEFT_RUNTIME_GEMM_PARTIALSUMS_H

#include "runtime/gemm/Contraction.h"

#include <algorithm>

namespace weft::runtime {

/// Computes row i of an f32 product whose k is divided. It is the sum, in order, of `pieces` products of m x
/// n elements, which are consecutive in memory.
inline void sum_pieces(const ContractionShape &s, const float *products, int64_t pieces, int64_t i,
                       float *row) {
  std::copy_n(products + i * s.n, s.n, row);
  for (int64_t piece = 1; piece < pieces; ++piece) {
    const float *const more = products + (piece * s.m + i) * s.n;
    for (int64_t j = 0; j < s.n; ++j)
      row[j] += more[j];
  }
}

/// Applies the bias, the residual and relu, if the product has them, to `count` elements of a row. `bias` and
/// `residual` point to those of the first element.
inline void finish_row(const ContractionShape &s, float *row, const float *bias, const float *residual,
                       int64_t count) {
  for (int64_t j = 0; s.bias && j < count; ++j)
    row[j] += bias[j];
  for (int64_t j = 0; s.residual && j < count; ++j)
    row[j] += residual[j];
  for (int64_t j = 0; s.relu && j < count; ++j)
    row[j] = row[j] < 0 ? 0 : row[j];
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_PARTIALSUMS_H
