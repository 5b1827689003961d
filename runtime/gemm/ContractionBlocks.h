//===- ContractionBlocks.h - Blocks of a matrix product ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How much work a product is, and how it is divided into blocks, which threads compute in parallel, each by a
// library on one thread. The division depends on the shape alone, and so do the bits of the result.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_CONTRACTIONBLOCKS_H
#define WEFT_RUNTIME_GEMM_CONTRACTIONBLOCKS_H

#include "runtime/gemm/Contraction.h"

#include <algorithm>

namespace weft::runtime {

/// With fewer operations, waking the pool costs more than it saves, for contractions and for attention.
/// Measured by `weft-runtime-tests --gtest_also_run_disabled_tests --gtest_filter=*Speed*`, as was the least
/// work for a library call.
inline constexpr double serialFlops = 600e3;

/// The operations of one product, without further products.
inline double flops_of(const ContractionShape &s) {
  return 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.m) * static_cast<double>(s.n) *
         static_cast<double>(s.k);
}

/// Whether the result has elements. If it has none, the other extents may be so large that their products
/// overflow.
inline bool has_elements(const ContractionShape &s) { return s.batch && s.m && s.n; }

/// The extents of a block; the last one along a dimension may be smaller.
struct ContractionBlocks {
  int64_t batch, m, n, k;
};

/// How a product may be divided.
enum class BlockCut {
  anywhere, ///< blocks are parts of larger matrices, with room between their rows
  chains,   ///< the same, except that only the extents decide whether the sum over k is divided
            ///< (ChainedContraction.h)
  rows,     ///< blocks of rows, or of the batch, whose operands are dense if those of the product are
};

/// Divides the batch first, then rows and columns. The sum over k is divided in two cases, and the partial
/// sums are added in order: if the result has too few elements, and, except for `chains`, for a vector times
/// a row-major matrix, because blocks of columns would read short pieces of rows. All extents of `s` are at
/// least 1.
inline ContractionBlocks contraction_blocks(const ContractionShape &s, BlockCut cut) {
  // Measured with oneDNN's gemm:jit on AVX2. A small product is divided into a few blocks. Larger products
  // have blocks so large that packing of operands, which the library does for each block, costs little.
  constexpr double smallBlock = 320e3, largeBlock = 24e6;
  constexpr int64_t few = 4, most = 64, edge = 16, shortestSum = 256;
  const auto pieces_of = [](int64_t extent, int64_t pieces) { return (extent + pieces - 1) / pieces; };
  const auto round_up = [](int64_t extent) { return (extent + edge - 1) / edge * edge; };

  const double flops = flops_of(s);
  const double least = std::min(flops / smallBlock, static_cast<double>(few));
  const auto wanted =
      static_cast<int64_t>(std::clamp(flops / largeBlock, std::max(least, 1.0), static_cast<double>(most)));
  ContractionBlocks block{s.batch, s.m, s.n, s.k};
  if (s.batch >= wanted) {
    block.batch = pieces_of(s.batch, wanted);
    return block;
  }
  block.batch = 1;
  const int64_t parts = std::min(most / s.batch, pieces_of(wanted, s.batch));

  const bool tiny = std::min(s.m, s.n) <= edge && std::max(s.m, s.n) < 8 * edge;
  const bool long_rows = cut == BlockCut::anywhere && s.m == 1 && s.b_strides[2] == 1;
  // The partial sums would be dense columns, for which oneDNN has no fast implementation.
  const bool column = cut == BlockCut::anywhere && s.n == 1;
  if (cut != BlockCut::rows && s.batch == 1 && s.dtype == DType::f32 && (tiny || long_rows) && !column &&
      s.k >= 2 * shortestSum) {
    block.k = round_up(pieces_of(s.k, std::min(parts, s.k / shortestSum)));
    return block;
  }
  for (int64_t count = 1; 2 * count <= parts; count *= 2) {
    const int64_t rows = round_up(pieces_of(block.m, 2)), columns = round_up(pieces_of(block.n, 2));
    const bool fewColumns = cut == BlockCut::rows || columns >= block.n;
    if (rows < block.m && (block.m >= block.n || fewColumns))
      block.m = rows;
    else if (!fewColumns)
      block.n = columns;
    else
      break;
  }
  return block;
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_CONTRACTIONBLOCKS_H
