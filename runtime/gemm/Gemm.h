//===- Gemm.h - Our own matrix product, per processor level -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element of the result is one chain of fused multiply-adds over k, from 0 upwards, started at zero
// and rounded once at the end (f16 and bf16 accumulate in f32). So it depends neither on blocking nor on
// threads nor on the processor level. Integers wrap.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_GEMM_H
#define WEFT_RUNTIME_GEMM_GEMM_H

#include "weft/export.hpp"

#include <stdint.h>

namespace weft::runtime {

/// One tile of a result: m x n of it, all of k. Strides in elements.
struct GemmTile {
  const void *a, *b, *bias, *residual; ///< the last two may be null; the residual has the strides of c
  void *c, *scratch;
  int64_t m, n, k;
  int64_t a_m, a_k, b_k, b_n, c_m, c_n;
  bool relu;
};

/// Tiles are at most this large; scratch of one tile is gemmScratchBytes, 64-byte aligned.
inline constexpr int64_t gemmTileM = 96, gemmTileN = 192, gemmTileK = 256;
inline constexpr int64_t gemmScratchBytes =
    (gemmTileM * gemmTileK + gemmTileK * gemmTileN + gemmTileM * gemmTileN) * 8;

using GemmTileFn = void (*)(const GemmTile *tile);

/// Indexed by DType; null for i1, which has no product.
struct GemmTable {
  GemmTileFn functions[10];
};
WEFT_RUNTIME_API extern const GemmTable gemmBaseline, gemmV3, gemmV4;
/// Integers of up to 32 bits on a v4 processor that has AVX-512 VNNI; null for the rest.
WEFT_RUNTIME_API extern const GemmTable gemmVnni;

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_GEMM_H
