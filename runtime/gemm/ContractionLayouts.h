//===- ContractionLayouts.h - How operands may lie --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_CONTRACTIONLAYOUTS_H
#define WEFT_RUNTIME_GEMM_CONTRACTIONLAYOUTS_H

#include "runtime/gemm/Contraction.h"

namespace weft::runtime {

/// Whether a layout is row-major or column-major, with padding allowed, as libraries require. An extent of 1
/// may have any stride.
inline bool plain(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  const bool row_major = (columns == 1 || column_stride == 1) && (rows == 1 || row_stride >= columns);
  const bool column_major = (rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows);
  return row_major || column_major;
}

/// Whether a library can use a batch of matrices with these strides. The matrices must not overlap.
inline bool fits(int64_t batch, int64_t rows, int64_t columns, const std::array<int64_t, 3> &strides) {
  return plain(rows, columns, strides[1], strides[2]) && (batch == 1 || strides[0] >= rows * columns);
}

/// Whether a library can write the result with its strides. Its columns must be adjacent.
inline bool result_fits(const ContractionShape &s) {
  return fits(s.batch, s.m, s.n, s.c_strides) && (s.n == 1 || s.c_strides[2] == 1);
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_CONTRACTIONLAYOUTS_H
