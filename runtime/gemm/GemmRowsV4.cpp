//===- GemmRowsV4.cpp - Products of few rows with AVX-512 ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of few rows reads each element of b for a few multiplications only, so that it takes the time in
// which b comes from memory. Its partial sums are the lanes of a register where b is in columns, and 16
// registers of columns of the result where it is in rows.
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/GemmRows.h"

#include <immintrin.h>

namespace weft::runtime {
namespace {

#include "runtime/gemm/GemmRegisters.inc"

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

} // namespace weft::runtime
