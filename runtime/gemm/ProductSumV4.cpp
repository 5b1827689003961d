//===- ProductSumV4.cpp - Products that are added, with AVX-512 -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of 8 rows and up to 3 registers of columns. A slice of a is copied first: a transposed operand, as
// gradients of weights have, is copied by whole registers, and rows that are a large power of two apart would
// displace each other in the first-level cache. So would those of b, which else is read where it lies.
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/ProductSum.h"

#include <immintrin.h>

namespace weft::runtime {
namespace {

constexpr int64_t lanes = 16;

__mmask16 first_lanes(int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }

/// `depth` rows of `width` elements side by side, each row `to_step` behind the one before.
void copy(const float *from, int64_t row_step, int64_t element_step, float *to, int64_t to_step,
          int64_t depth, int64_t width) {
  for (int64_t p = 0; p < depth; ++p, from += row_step, to += to_step) {
    if (element_step != 1) {
      for (int64_t i = 0; i < width; ++i)
        to[i] = from[i * element_step];
      continue;
    }
    int64_t i = 0;
    for (; i + lanes <= width; i += lanes)
      _mm512_storeu_ps(to + i, _mm512_loadu_ps(from + i));
    const __mmask16 rest = first_lanes(width - i);
    if (rest)
      _mm512_mask_storeu_ps(to + i, rest, _mm512_maskz_loadu_ps(rest, from + i));
  }
}

/// A tile of `rows` rows and `registers` registers, the last of which has `count` columns. `a` is a copy;
/// rows of b are b_step apart.
template <int rows, int registers>
void add_tile(const ProductBlock &s, int64_t i, int64_t j, int64_t count, const float *a, const float *b,
              int64_t b_step) {
  const __mmask16 last = first_lanes(count);
  __m512 sums[rows][registers];
#pragma clang loop unroll(full)
  for (int x = 0; x < rows; ++x)
#pragma clang loop unroll(full)
    for (int v = 0; v < registers; ++v)
      sums[x][v] = _mm512_setzero_ps();
  const float *left = a + i, *right = b + j;
  for (int64_t p = 0; p < s.k; ++p, left += productRows, right += b_step) {
    __m512 columns[registers];
#pragma clang loop unroll(full)
    for (int v = 0; v < registers; ++v)
      columns[v] = v + 1 < registers ? _mm512_loadu_ps(right + v * lanes)
                                     : _mm512_maskz_loadu_ps(last, right + v * lanes);
#pragma clang loop unroll(full)
    for (int x = 0; x < rows; ++x) {
      const __m512 value = _mm512_set1_ps(left[x]);
#pragma clang loop unroll(full)
      for (int v = 0; v < registers; ++v)
        sums[x][v] = _mm512_fmadd_ps(value, columns[v], sums[x][v]);
    }
  }
  // What is there is added to the product: after the first one it is the sum so far.
  const float *const before = s.first ? s.residual : s.c;
#pragma clang loop unroll(full)
  for (int x = 0; x < rows; ++x)
#pragma clang loop unroll(full)
    for (int v = 0; v < registers; ++v) {
      const int64_t at = (i + x) * s.c_m + j + v * lanes;
      const __mmask16 filled = v + 1 < registers ? static_cast<__mmask16>(0xffff) : last;
      const __m512 sum = sums[x][v];
      _mm512_mask_storeu_ps(s.c + at, filled,
                            before ? _mm512_add_ps(sum, _mm512_maskz_loadu_ps(filled, before + at)) : sum);
    }
}

template <int registers>
void add_columns(const ProductBlock &s, int64_t j, int64_t count, const float *a, const float *b,
                 int64_t b_step) {
  int64_t i = 0;
  for (; i + 8 <= s.m; i += 8)
    add_tile<8, registers>(s, i, j, count, a, b, b_step);
  if (i + 4 <= s.m) {
    add_tile<4, registers>(s, i, j, count, a, b, b_step);
    i += 4;
  }
  if (i + 2 <= s.m) {
    add_tile<2, registers>(s, i, j, count, a, b, b_step);
    i += 2;
  }
  if (i < s.m)
    add_tile<1, registers>(s, i, j, count, a, b, b_step);
}

} // namespace

void add_product_v4(const ProductBlock &s) {
  float *const a = s.scratch, *const copy_of_b = s.scratch + s.k * productRows;
  if (s.a_m == 1 || s.m == 1 || s.a_k != 1) {
    copy(s.a, s.a_k, s.m == 1 ? 1 : s.a_m, a, productRows, s.k, s.m);
  } else {
    for (int64_t i = 0; i < s.m; ++i) // along the rows, as they lie
      for (int64_t p = 0; p < s.k; ++p)
        a[p * productRows + i] = s.a[i * s.a_m + p];
  }
  constexpr int64_t displacing = 256; // rows that are so many elements apart share a few sets of the cache
  const bool copies = (s.b_n != 1 && s.n > 1) || s.b_k % displacing == 0;
  if (copies)
    copy(s.b, s.b_k, s.n > 1 ? s.b_n : 1, copy_of_b, productColumns, s.k, s.n);
  const float *const b = copies ? copy_of_b : s.b;
  const int64_t b_step = copies ? productColumns : s.b_k;
  for (int64_t j = 0; j < s.n;) {
    const int64_t left = s.n - j, registers = (left + lanes - 1) / lanes;
    // Four registers are two and two: a tile of one has too few sums beside each other.
    if (registers == 3 || registers > 4) {
      add_columns<3>(s, j, left < 3 * lanes ? left - 2 * lanes : lanes, a, b, b_step);
      j += 3 * lanes;
    } else if (registers > 1) {
      add_columns<2>(s, j, left < 2 * lanes ? left - lanes : lanes, a, b, b_step);
      j += 2 * lanes;
    } else {
      add_columns<1>(s, j, left, a, b, b_step);
      j += lanes;
    }
  }
}

} // namespace weft::runtime
