//===- GemmChainsV4.cpp - Products of f32 in chains, with AVX-512 ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result is computed in tiles of up to 8 rows and 3 registers of columns, whose 24 chains are long enough
// in flight for two multiply-adds a cycle; each element of a is a broadcast. A panel is the columns of b that
// a tile reads. It is read where it lies if b is in rows, and turned into memory of its own if b is in
// columns, once for all rows. Where there are few rows of a, these are turned, and the result is computed
// transposed.
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/GemmChains.h"

#include <immintrin.h>

namespace weft::runtime {
namespace {

#include "runtime/gemm/GemmRegisters.inc"

constexpr int64_t tileRows = 8, tileRegisters = 3;

/// Where a tile finds what it needs. The last register of columns is the one that may be a part of one.
struct Tile {
  const float *a, *b;
  float *c;
  const float *bias, *residual; ///< null: none
  int64_t depth;                ///< of the chains
  int64_t a_m, a_k, b_k, c_m;
  __mmask16 last;
  bool add, relu; ///< to the chains before, which are in c
};

/// What comes after the chains, rounded in the order of single ops: bias, residual, relu, which leaves a NaN.
/// The bias is in a register if `has_bias`; a residual is read where `filled`, and null if there is none.
inline __m512 finish(__m512 sum, bool has_bias, __m512 bias, const float *residual, __mmask16 filled,
                     bool relu) {
  const __m512 zero = _mm512_setzero_ps();
  if (has_bias)
    sum = _mm512_add_ps(sum, bias);
  if (residual)
    sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(filled, residual));
  if (relu)
    sum = _mm512_mask_mov_ps(sum, _mm512_cmp_ps_mask(sum, zero, _CMP_LT_OQ), zero);
  return sum;
}

template <int rows, int registers> void store_tile(const Tile &t, const __m512 (&sums)[rows][registers]) {
  const __m512 zero = _mm512_setzero_ps();
#pragma clang loop unroll(full)
  for (int v = 0; v < registers; ++v) {
    const __mmask16 filled = v + 1 < registers ? first(lanes) : t.last;
    const __m512 bias = t.bias ? _mm512_maskz_loadu_ps(filled, t.bias + v * lanes) : zero;
#pragma clang loop unroll(full)
    for (int x = 0; x < rows; ++x) {
      const int64_t at = x * t.c_m + v * lanes;
      __m512 sum = sums[x][v];
      if (t.add)
        sum = _mm512_add_ps(_mm512_maskz_loadu_ps(filled, t.c + at), sum);
      sum = finish(sum, t.bias, bias, t.residual ? t.residual + at : nullptr, filled, t.relu);
      _mm512_mask_storeu_ps(t.c + at, filled, sum);
    }
  }
}

template <int rows, int registers> void multiply_tile(const Tile &t) {
  __m512 sums[rows][registers] = {};
  const float *a = t.a, *b = t.b;
  const int64_t a_m = t.a_m, a_k = t.a_k, b_k = t.b_k;
  const __mmask16 last = t.last;
  for (int64_t p = t.depth; p > 0; --p, a += a_k, b += b_k) {
    __m512 right[registers];
#pragma clang loop unroll(full)
    for (int v = 0; v < registers; ++v)
      right[v] =
          v + 1 < registers ? _mm512_loadu_ps(b + v * lanes) : _mm512_maskz_loadu_ps(last, b + v * lanes);
#pragma clang loop unroll(full)
    for (int x = 0; x < rows; ++x) {
      const __m512 left = _mm512_set1_ps(a[x * a_m]);
#pragma clang loop unroll(full)
      for (int v = 0; v < registers; ++v)
        sums[x][v] = _mm512_fmadd_ps(left, right[v], sums[x][v]);
    }
  }
  store_tile(t, sums);
}

using TileFn = void (*)(const Tile &);
template <int rows> struct TilesOf {
  static constexpr TileFn functions[tileRegisters] = {multiply_tile<rows, 1>, multiply_tile<rows, 2>,
                                                      multiply_tile<rows, 3>};
};
/// By rows and registers, less 1.
constexpr const TileFn *tiles[tileRows] = {
    TilesOf<1>::functions, TilesOf<2>::functions, TilesOf<3>::functions, TilesOf<4>::functions,
    TilesOf<5>::functions, TilesOf<6>::functions, TilesOf<7>::functions, TilesOf<8>::functions};

/// How much of `left` the next tile takes: the most, but halves of an end that is little more.
int64_t next_tile(int64_t left, int64_t most) {
  if (left <= most)
    return left;
  return left >= most + (most + 1) / 2 ? most : (left + 1) / 2;
}

/// `depth` elements of k of `columns` columns of b, one after the other: as many rows, `step` apart.
template <bool whole>
void turn_tile(const float *b, int64_t b_n, int64_t depth, int64_t columns, float *to, int64_t step) {
  const __mmask16 some = first(depth);
  __m512 tile[lanes];
#pragma clang loop unroll(full)
  for (int64_t x = 0; x < lanes; ++x)
    if constexpr (whole)
      tile[x] = _mm512_loadu_ps(b + x * b_n);
    else
      tile[x] = x < columns ? _mm512_maskz_loadu_ps(some, b + x * b_n) : _mm512_setzero_ps();
  turn(tile);
#pragma clang loop unroll(full)
  for (int64_t x = 0; x < lanes; ++x)
    _mm512_store_ps(to + x * step, tile[x]);
}

/// A panel of b in columns: `depth` rows of as many registers as hold `columns`.
template <int registers>
void turn_panel(const float *b, int64_t b_n, int64_t depth, int64_t columns, float *panel) {
  constexpr int64_t step = registers * lanes;
  for (int64_t p = 0; p < depth; p += lanes, b += lanes, panel += lanes * step)
#pragma clang loop unroll(full)
    for (int v = 0; v < registers; ++v) {
      const int64_t left = columns - v * lanes;
      if (depth - p >= lanes && left >= lanes)
        turn_tile<true>(b + v * lanes * b_n, b_n, lanes, lanes, panel + v * lanes, step);
      else
        turn_tile<false>(b + v * lanes * b_n, b_n, depth - p < lanes ? depth - p : lanes,
                         left < lanes ? left : lanes, panel + v * lanes, step);
    }
}

/// A panel of b in rows.
template <int registers>
void copy_panel(const float *b, int64_t b_k, int64_t depth, int64_t columns, float *panel) {
  const __mmask16 last = first(columns - (registers - 1) * lanes);
  for (int64_t p = 0; p < depth; ++p, b += b_k, panel += registers * lanes)
#pragma clang loop unroll(full)
    for (int v = 0; v < registers; ++v)
      _mm512_store_ps(panel + v * lanes, v + 1 < registers ? _mm512_loadu_ps(b + v * lanes)
                                                           : _mm512_maskz_loadu_ps(last, b + v * lanes));
}

using PanelFn = void (*)(const float *b, int64_t stride, int64_t depth, int64_t columns, float *panel);
constexpr PanelFn turnPanel[tileRegisters] = {turn_panel<1>, turn_panel<2>, turn_panel<3>},
                  copyPanel[tileRegisters] = {copy_panel<1>, copy_panel<2>, copy_panel<3>};

/// Whether a copy of a panel that lies in rows is worth its time: each of its rows is in a page of its own,
/// which are more than the processor has at hand, and there are rows enough to read it often.
bool is_copied(const GemmChains &s) {
  constexpr int64_t page = 4096 / sizeof(float), often = 64;
  return s.b_k >= page && s.m >= often;
}

/// Whether to turn the rows of a, and the result, in place of b: they are less than half as much, and fill
/// at least eight ninths of their registers.
bool is_transposed(const GemmChains &s) {
  const int64_t filled = (s.m + lanes - 1) / lanes * lanes;
  return s.m > 0 && s.b_n != 1 && s.b_k == 1 && (s.a_k == 1 || s.a_m == 1) && s.k <= s.chain &&
         filled <= tileRegisters * lanes && 8 * filled <= 9 * s.m && 2 * s.m * (s.k + s.n) <= s.k * s.n;
}

/// Sixteen columns of c, which `transposed` has as its rows, `step` apart; the last ones may be fewer.
void store_transposed(const GemmChains &s, int64_t j, const float *transposed, int64_t step) {
  const __m512 zero = _mm512_setzero_ps();
  const __mmask16 filled = first(s.n - j < lanes ? s.n - j : lanes);
  const __m512 bias = s.bias ? _mm512_maskz_loadu_ps(filled, s.bias + j) : zero;
  for (int64_t i = 0; i < s.m; i += lanes) {
    __m512 tile[lanes];
#pragma clang loop unroll(full)
    for (int64_t x = 0; x < lanes; ++x)
      tile[x] = _mm512_load_ps(transposed + x * step + i);
    turn(tile);
#pragma clang loop unroll(full)
    for (int64_t x = 0; x < lanes; ++x) {
      if (i + x >= s.m)
        break;
      const int64_t at = (i + x) * s.c_m + j;
      _mm512_mask_storeu_ps(
          s.c + at, filled,
          finish(tile[x], s.bias, bias, s.residual ? s.residual + at : nullptr, filled, s.relu));
    }
  }
}

/// The same chains, as the product of b transposed and a transposed: few rows of a are turned in place of all
/// columns of b.
void multiply_transposed(const GemmChains &s) {
  alignas(64) float panel[gemmChain * tileRegisters * lanes];
  alignas(64) float sums[lanes * tileRegisters * lanes] = {};
  const int64_t registers = (s.m + lanes - 1) / lanes, step = registers * lanes;
  if (s.a_k == 1)
    turnPanel[registers - 1](s.a, s.a_m, s.k, s.m, panel);
  else
    copyPanel[registers - 1](s.a, s.a_k, s.k, s.m, panel);
  Tile t;
  t.b = panel;
  t.bias = t.residual = nullptr;
  t.depth = s.k;
  t.a_m = s.b_n;
  t.a_k = 1;
  t.b_k = t.c_m = step;
  t.last = first(lanes);
  t.add = t.relu = false;
  for (int64_t j = 0; j < s.n; j += lanes) {
    const int64_t columns = s.n - j < lanes ? s.n - j : lanes;
    for (int64_t x = 0, rows = 0; x < columns; x += rows) {
      rows = registers == 1 && columns == lanes ? lanes : next_tile(columns - x, tileRows);
      t.a = s.b + (j + x) * s.b_n;
      t.c = sums + x * step;
      rows == lanes ? multiply_tile<lanes, 1>(t) : tiles[rows - 1][registers - 1](t);
    }
    store_transposed(s, j, sums, step);
  }
}

} // namespace

void multiply_chains_v4(const GemmChains &s) {
  if (is_transposed(s))
    return multiply_transposed(s);
  alignas(64) float panel[gemmChain * tileRegisters * lanes];
  Tile t;
  t.a_m = s.a_m;
  t.a_k = s.a_k;
  t.c_m = s.c_m;
  const bool turned = s.b_n != 1, copied = !turned && is_copied(s);
  for (int64_t begin = 0; begin < s.k; begin += s.chain) {
    const bool ends = s.k - begin <= s.chain;
    t.depth = ends ? s.k - begin : s.chain;
    t.add = begin > 0;
    t.relu = ends && s.relu;
    for (int64_t j = 0, columns = 0; j < s.n; j += columns) {
      const int64_t left = s.n - j, registers = next_tile((left + lanes - 1) / lanes, tileRegisters);
      columns = left < registers * lanes ? left : registers * lanes;
      t.last = first(columns - (registers - 1) * lanes);
      t.bias = ends && s.bias ? s.bias + j : nullptr;
      t.b = s.b + begin * s.b_k + j * s.b_n;
      t.b_k = s.b_k;
      if (turned || copied) {
        if (turned)
          turnPanel[registers - 1](t.b, s.b_n, t.depth, columns, panel);
        else
          copyPanel[registers - 1](t.b, s.b_k, t.depth, columns, panel);
        t.b = panel;
        t.b_k = registers * lanes;
      }
      for (int64_t i = 0, rows = 0; i < s.m; i += rows) {
        rows = next_tile(s.m - i, tileRows);
        t.a = s.a + i * s.a_m + begin * s.a_k;
        t.c = s.c + i * s.c_m + j;
        t.residual = ends && s.residual ? s.residual + i * s.c_m + j : nullptr;
        tiles[rows - 1][registers - 1](t);
      }
    }
  }
}

} // namespace weft::runtime
