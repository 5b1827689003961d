//===- Gemm.h - Our own matrix product, per processor level -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element of the result is one chain of fused multiply-adds over increasing k. It starts at zero and is
// rounded to the result type at the end (f16 and bf16 accumulate in f32). So the bits do not depend on
// blocks, threads or the processor level. Integers wrap.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_GEMM_H
#define WEFT_RUNTIME_GEMM_GEMM_H

#include "weft/export.hpp"

#include <stdint.h>

namespace weft::runtime {

/// One tile of a result, of m x n elements, each over all of k. Strides in elements.
struct GemmTile {
  const void *a, *b, *bias, *residual; ///< the last two may be null; the residual has the strides of c
  void *c, *scratch;
  int64_t m, n, k;
  int64_t a_m, a_k, b_k, b_n, c_m, c_n;
  bool relu;
};

/// The largest tile, and the bytes of scratch of a tile, which is 64-byte aligned.
inline constexpr int64_t gemmTileM = 96, gemmTileN = 192, gemmTileK = 256;
inline constexpr int64_t gemmScratchBytes =
    (gemmTileM * gemmTileK + gemmTileK * gemmTileN + gemmTileM * gemmTileN) * 8;

using GemmTileFn = void (*)(const GemmTile *tile);

/// Indexed by DType; null for i1, which has no product.
struct GemmTable {
  GemmTileFn functions[10];
};
WEFT_RUNTIME_API extern const GemmTable gemmBaseline, gemmV3, gemmV4;
/// Functions for integers of up to 32 bits on a v4 processor with AVX-512 VNNI; null for other types.
WEFT_RUNTIME_API extern const GemmTable gemmVnni;

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_GEMM_H
