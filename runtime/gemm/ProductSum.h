//===- ProductSum.h - Products that are added, with AVX-512 -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a weight that is used in every step of a sequence is a sum of many small products. A thread
// that computes all of them for its block of the result has that block in its caches all the time. Each
// product is one chain of fused multiply-adds, started at zero, and is rounded before it is added.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_PRODUCTSUM_H
#define WEFT_RUNTIME_GEMM_PRODUCTSUM_H

#include <stdint.h>

namespace weft::runtime {

/// A block of one product, with strides in elements; all extents are at least 1.
struct ProductBlock {
  const float *a, *b;
  const float *residual; ///< of the first product, with the strides of c; null where there is none
  float *c, *scratch;    ///< scratch: product_scratch(k) floats, 64-byte aligned
  int64_t m, n, k;
  int64_t a_m, a_k, b_k, b_n, c_m;
  bool first; ///< c is overwritten; else the product is added to it
};

/// A block is at most this large.
inline constexpr int64_t productRows = 64, productColumns = 192;
/// Both operands may have to be copied.
inline constexpr int64_t product_scratch(int64_t k) { return k * (productRows + productColumns); }

/// Needs x86-64-v4.
void add_product_v4(const ProductBlock &block);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_PRODUCTSUM_H
