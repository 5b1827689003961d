//===- GemmChains.h - Products of f32 in chains, with AVX-512 ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each element is chains of fused multiply-adds over k, from 0 upwards, each chain started at zero; the
// chains are added in their order, then bias and residual, then relu.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_GEMMCHAINS_H
#define WEFT_RUNTIME_GEMM_GEMMCHAINS_H

#include <stdint.h>

namespace weft::runtime {

/// The longest chain of a product that is cut in chains. As long as a panel of b, which stays in the
/// second-level cache, may be deep.
inline constexpr int64_t gemmChain = 384;

/// c = a b + bias + residual, with b in rows (b_n is 1) or in columns (b_k is 1), a anyhow, and the columns
/// of c and of the residual side by side. Strides in elements, all extents at least 1.
struct GemmChains {
  const float *a, *b;
  float *c;
  const float *bias, *residual; ///< null: none; the residual has the strides of c
  int64_t m, n, k;
  int64_t a_m, a_k, b_k, b_n, c_m;
  int64_t chain; ///< the length of all chains but the last, at most gemmChain
  bool relu;
};

/// Needs x86-64-v4.
void multiply_chains_v4(const GemmChains &product);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_GEMMCHAINS_H
