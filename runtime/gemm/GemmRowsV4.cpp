//===- GemmRowsV4.cpp - Products of few rows with AVX-512 ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of few rows reads each element of b for a few multiplications only, so that it takes the time in
// which b comes from memory. Its partial sums are the lanes of a register where b is in columns, and 16
// registers of columns of the result where it is in rows. For chains, whose lanes are columns of the result,
// 16 x 16 elements of b in columns are turned in registers.
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/GemmRows.h"

#include <immintrin.h>

namespace weft::runtime {
namespace {

constexpr int64_t lanes = 16;

__mmask16 first(int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }

void store(const GemmRows &s, int64_t i, int64_t j, int64_t count, __m512 sum) {
  float *const to = s.c + i * s.c_m + j * s.c_n;
  if (s.c_n == 1 || count == 1) {
    _mm512_mask_storeu_ps(to, first(count), sum);
    return;
  }
  alignas(64) float values[lanes];
  _mm512_store_ps(values, sum);
  for (int64_t x = 0; x < count; ++x)
    to[x * s.c_n] = values[x];
}

__m512 load(const GemmRows &s, int64_t i, int64_t j, int64_t count) {
  const float *const from = s.c + i * s.c_m + j * s.c_n;
  if (s.c_n == 1 || count == 1)
    return _mm512_maskz_loadu_ps(first(count), from);
  alignas(64) float values[lanes] = {};
  for (int64_t x = 0; x < count; ++x)
    values[x] = from[x * s.c_n];
  return _mm512_load_ps(values);
}

/// Rows become columns.
void turn(__m512 (&x)[lanes]) {
  __m512 y[lanes];
#pragma clang loop unroll(full)
  for (int i = 0; i < lanes; i += 2) { // pairs of rows
    y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < lanes; i += 4) { // fours of rows: within each quarter of a register, one column
    const auto pair = [&](int at) { return _mm512_castps_pd(y[i + at]); };
    x[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(pair(0), pair(2)));
    x[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(pair(0), pair(2)));
    x[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(pair(1), pair(3)));
    x[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(pair(1), pair(3)));
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; ++i) { // quarters of the even and of the odd columns of four
    y[i] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0x88);
    y[i + 4] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0xdd);
    y[i + 8] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0x88);
    y[i + 12] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0xdd);
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; ++i) {
    x[i] = _mm512_shuffle_f32x4(y[i], y[i + 8], 0x88);
    x[i + 8] = _mm512_shuffle_f32x4(y[i], y[i + 8], 0xdd);
    x[i + 4] = _mm512_shuffle_f32x4(y[i + 4], y[i + 12], 0x88);
    x[i + 12] = _mm512_shuffle_f32x4(y[i + 4], y[i + 12], 0xdd);
  }
}

/// `depth` elements of k of `count` columns of b, the columns side by side.
void load_tile(const float *from, int64_t b_n, int64_t depth, int64_t count, __m512 (&tile)[lanes]) {
  if (depth == lanes && count == lanes) {
#pragma clang loop unroll(full)
    for (int64_t x = 0; x < lanes; ++x)
      tile[x] = _mm512_loadu_ps(from + x * b_n);
  } else {
    const __mmask16 some = first(depth);
#pragma clang loop unroll(full)
    for (int64_t x = 0; x < lanes; ++x)
      tile[x] = x < count ? _mm512_maskz_loadu_ps(some, from + x * b_n) : _mm512_setzero_ps();
  }
  turn(tile);
}

/// `rows` rows from row i on times a panel: `depth` elements of k, from `begin` on, of `registers` registers
/// of columns of b. The last register has `count` columns. All chains but the first are added to what is
/// there.
template <int rows, int registers>
void multiply_by_panel(const GemmRows &s, int64_t i, int64_t j, int64_t begin, int64_t depth,
                       const float *panel, int64_t step, int64_t count) {
  const __mmask16 last = first(count);
  __m512 sums[rows][registers] = {};
  const float *a = s.a + i * s.a_m + begin * s.a_k;
  for (int64_t p = 0; p < depth; ++p, a += s.a_k, panel += step) {
    __m512 right[registers];
#pragma clang loop unroll(full)
    for (int v = 0; v < registers; ++v)
      right[v] = v + 1 < registers ? _mm512_loadu_ps(panel + v * lanes)
                                   : _mm512_maskz_loadu_ps(last, panel + v * lanes);
#pragma clang loop unroll(full)
    for (int x = 0; x < rows; ++x) {
      const __m512 left = _mm512_set1_ps(a[x * s.a_m]);
#pragma clang loop unroll(full)
      for (int v = 0; v < registers; ++v)
        sums[x][v] = _mm512_fmadd_ps(left, right[v], sums[x][v]);
    }
  }
#pragma clang loop unroll(full)
  for (int x = 0; x < rows; ++x)
#pragma clang loop unroll(full)
    for (int v = 0; v < registers; ++v) {
      const int64_t filled = v + 1 < registers ? lanes : count;
      const __m512 sum = sums[x][v];
      store(s, i + x, j + v * lanes, filled,
            begin == 0 ? sum : _mm512_add_ps(load(s, i + x, j + v * lanes, filled), sum));
    }
}

/// All rows times `registers` registers of columns of b in columns, from column j on. They are turned once
/// for all rows.
template <int registers> void multiply_turned(const GemmRows &s, int64_t j, int64_t count) {
  alignas(64) float panel[gemmChain * registers * lanes];
  for (int64_t begin = 0; begin < s.k; begin += s.chain) {
    const int64_t length = begin + s.chain < s.k ? s.chain : s.k - begin;
    for (int64_t p = 0; p < length; p += lanes)
      for (int64_t v = 0; v < registers; ++v) {
        __m512 tile[lanes];
        load_tile(s.b + begin + p + (j + v * lanes) * s.b_n, s.b_n, length - p < lanes ? length - p : lanes,
                  v + 1 < registers ? lanes : count, tile);
#pragma clang loop unroll(full)
        for (int64_t x = 0; x < lanes; ++x)
          _mm512_store_ps(panel + ((p + x) * registers + v) * lanes, tile[x]);
      }
    int64_t i = 0;
    for (; i + 8 <= s.m; i += 8)
      multiply_by_panel<8, registers>(s, i, j, begin, length, panel, registers * lanes, count);
    for (; i + 4 <= s.m; i += 4)
      multiply_by_panel<4, registers>(s, i, j, begin, length, panel, registers * lanes, count);
    for (; i + 2 <= s.m; i += 2)
      multiply_by_panel<2, registers>(s, i, j, begin, length, panel, registers * lanes, count);
    for (; i < s.m; ++i)
      multiply_by_panel<1, registers>(s, i, j, begin, length, panel, registers * lanes, count);
  }
}

/// One row times `registers` registers of columns of b in rows.
template <int registers> void multiply_row(const GemmRows &s, int64_t j, int64_t count) {
  for (int64_t begin = 0; begin < s.k; begin += s.chain)
    multiply_by_panel<1, registers>(s, 0, j, begin, begin + s.chain < s.k ? s.chain : s.k - begin,
                                    s.b + begin * s.b_k + j, s.b_k, count);
}

/// The sum of 16 partial sums, `step` apart: halves are added, then quarters, and so on.
template <int step = 1> __m512 join(__m512 *parts) {
#pragma clang loop unroll(full)
  for (int half = lanes / 2; half > 0; half /= 2)
#pragma clang loop unroll(full)
    for (int r = 0; r < half; ++r)
      parts[r * step] = _mm512_add_ps(parts[r * step], parts[(r + half) * step]);
  return parts[0];
}

/// `depth` elements of k of a row of a, and 0 behind them.
__m512 load_left(const float *a, int64_t a_k, int64_t depth) {
  if (a_k == 1)
    return _mm512_maskz_loadu_ps(first(depth), a);
  alignas(64) float values[lanes] = {};
  for (int64_t p = 0; p < depth; ++p)
    values[p] = a[p * a_k];
  return _mm512_load_ps(values);
}

/// sums[i][x] += partial sums of row i times column x of b in columns, in the lanes of a register.
template <int rows, int columns>
void add_products(const GemmRows &s, const float *b, __m512 (&sums)[gemmFewRows][lanes], int64_t at) {
  __m512 parts[rows][columns] = {};
  int64_t p = 0;
  for (; p + lanes <= s.k; p += lanes) {
    __m512 left[rows];
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i)
      left[i] = load_left(s.a + i * s.a_m + p * s.a_k, s.a_k, lanes);
#pragma clang loop unroll(full)
    for (int x = 0; x < columns; ++x) {
      const __m512 right = _mm512_loadu_ps(b + x * s.b_n + p);
#pragma clang loop unroll(full)
      for (int i = 0; i < rows; ++i)
        parts[i][x] = _mm512_fmadd_ps(left[i], right, parts[i][x]);
    }
  }
  const __mmask16 some = first(s.k - p);
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i) {
    const __m512 left = load_left(s.a + i * s.a_m + p * s.a_k, s.a_k, s.k - p);
#pragma clang loop unroll(full)
    for (int x = 0; x < columns; ++x)
      sums[i][at + x] =
          _mm512_mask3_fmadd_ps(left, _mm512_maskz_loadu_ps(some, b + x * s.b_n + p), parts[i][x], some);
  }
}

/// `rows` rows times a matrix in columns.
template <int rows> void multiply_dots(const GemmRows &s) {
  constexpr int columns = rows == 1 ? 16 : rows == 2 ? 8 : 4;
  for (int64_t j = 0; j < s.n; j += lanes) {
    const int64_t count = s.n - j < lanes ? s.n - j : lanes;
    __m512 sums[gemmFewRows][lanes] = {};
    int64_t x = 0;
    for (; x + columns <= count; x += columns)
      add_products<rows, columns>(s, s.b + (j + x) * s.b_n, sums, x);
    for (; x < count; ++x)
      add_products<rows, 1>(s, s.b + (j + x) * s.b_n, sums, x);
    for (int i = 0; i < rows; ++i) {
      turn(sums[i]);
      store(s, i, j, count, join(sums[i]));
    }
  }
}

/// `rows` rows times `registers` registers of columns of b in rows, from column j on; the last register has
/// `count` columns. The partial sums, which no register has room for, stay in the first-level cache.
template <int rows, int registers> void multiply_panel(const GemmRows &s, int64_t j, int64_t count) {
  // Each partial sum has several products added while it is in a register.
  constexpr int64_t times = 4, height = times * lanes;
  const __mmask16 last = first(count);
  __m512 parts[rows][lanes][registers];
  for (int64_t begin = 0; begin == 0 || begin < s.k; begin += height)
    for (int64_t r = 0; r < lanes; ++r) {
      __m512 sums[rows][registers];
#pragma clang loop unroll(full)
      for (int i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
        for (int v = 0; v < registers; ++v)
          sums[i][v] = begin == 0 ? _mm512_setzero_ps() : parts[i][r][v];
#pragma clang loop unroll(full)
      for (int64_t time = 0; time < times; ++time) {
        const int64_t p = begin + time * lanes + r;
        if (p >= s.k)
          continue;
        const float *const b = s.b + p * s.b_k + j;
        __m512 left[rows];
#pragma clang loop unroll(full)
        for (int i = 0; i < rows; ++i)
          left[i] = _mm512_set1_ps(s.a[i * s.a_m + p * s.a_k]);
#pragma clang loop unroll(full)
        for (int v = 0; v < registers; ++v) {
          const __m512 right =
              v + 1 < registers ? _mm512_loadu_ps(b + v * lanes) : _mm512_maskz_loadu_ps(last, b + v * lanes);
#pragma clang loop unroll(full)
          for (int i = 0; i < rows; ++i)
            sums[i][v] = _mm512_fmadd_ps(left[i], right, sums[i][v]);
        }
      }
#pragma clang loop unroll(full)
      for (int i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
        for (int v = 0; v < registers; ++v)
          parts[i][r][v] = sums[i][v];
    }
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < registers; ++v)
      store(s, i, j + v * lanes, v + 1 < registers ? lanes : count, join<registers>(&parts[i][0][v]));
}

/// `rows` rows times a matrix in rows.
template <int rows> void multiply_panels(const GemmRows &s) {
  int64_t j = 0;
  const auto panels = [&]<int registers>() {
    for (; s.n - j > (registers - 1) * lanes; j += registers * lanes) {
      const int64_t left = s.n - j - (registers - 1) * lanes;
      multiply_panel<rows, registers>(s, j, left < lanes ? left : lanes);
    }
  };
  // As many registers as sums of a moment; the partial sums are 16 KiB.
  if constexpr (rows == 1)
    panels.template operator()<16>();
  if constexpr (rows <= 2)
    panels.template operator()<8>();
  panels.template operator()<4>();
  panels.template operator()<2>();
  panels.template operator()<1>();
}

template <int rows> void multiply_few(const GemmRows &s) {
  if (s.b_n == 1)
    multiply_panels<rows>(s);
  else
    multiply_dots<rows>(s);
}

} // namespace

void multiply_lanes_v4(const GemmRows &s) {
  constexpr void (*multiply[gemmFewRows])(const GemmRows &) = {multiply_few<1>, multiply_few<2>,
                                                               multiply_few<3>, multiply_few<4>};
  multiply[s.m - 1](s);
}

void multiply_chains_v4(const GemmRows &s) {
  int64_t j = 0;
  const auto last = [&](int64_t registers) {
    const int64_t left = s.n - j - (registers - 1) * lanes;
    return left < lanes ? left : lanes;
  };
  if (s.m == 1 && s.b_n == 1) {
    for (; s.n - j > 7 * lanes; j += 8 * lanes)
      multiply_row<8>(s, j, last(8));
    for (; s.n - j > 0; j += lanes)
      multiply_row<1>(s, j, last(1));
    return;
  }
  for (; s.n - j > lanes; j += 2 * lanes)
    multiply_turned<2>(s, j, last(2));
  if (s.n > j)
    multiply_turned<1>(s, j, last(1));
}

} // namespace weft::runtime
