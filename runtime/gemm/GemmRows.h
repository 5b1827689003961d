//===- GemmRows.h - Products of few rows with AVX-512 -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements of an f32 product with AVX-512 are sums in one of two orders, which follows from the extents:
//
//   - lanes, of at most gemmFewRows rows, or one column: 16 partial sums, each a chain of fused multiply-adds
//     over every 16th k, of which halves are added, then quarters, and so on;
//   - chains, of the rest: fused multiply-adds over at most gemmChain elements of k, each chain started at
//     zero, and the chains added in their order (GemmChains.h).
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_GEMMROWS_H
#define WEFT_RUNTIME_GEMM_GEMMROWS_H

#include <stdint.h>

namespace weft::runtime {

/// c = a b, with b in rows (b_n is 1) or in columns (b_k is 1), and a and c anyhow. Strides in elements, k at
/// least 1.
struct GemmRows {
  const float *a, *b;
  float *c;
  int64_t m, n, k;
  int64_t a_m, a_k, b_k, b_n, c_m, c_n;
};

/// Lanes, for 1 to 4 rows. Needs x86-64-v4.
inline constexpr int64_t gemmFewRows = 4;
void multiply_lanes_v4(const GemmRows &rows);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_GEMMROWS_H
