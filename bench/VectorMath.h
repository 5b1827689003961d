//===- VectorMath.h - Vectors for the hand-written loops --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f32 vectors of the widest kind that this machine has, streaming stores, and the elementary functions by the
// formulas and coefficients of docs/numerics.md, so that a hand-written loop computes what a compiled kernel
// does. Include it only in files built for the machine that runs them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_BENCH_VECTORMATH_H
#define WEFT_BENCH_VECTORMATH_H

#include <cstdint>
#include <cstring>
#include <immintrin.h>

namespace weft::bench {

#if defined(__AVX512F__)
inline constexpr int lanes = 16;
#elif defined(__AVX__)
inline constexpr int lanes = 8;
#else
inline constexpr int lanes = 4;
#endif

using Vec = float __attribute__((vector_size(lanes * 4)));
using IVec = int32_t __attribute__((vector_size(lanes * 4)));

inline Vec splat(float value) { return value - Vec{}; }
inline Vec load(const float *from) {
  Vec v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

/// Past the cache where `streaming`; `to` is then aligned to the vector.
template <bool streaming> inline void store(float *to, Vec v) {
  if constexpr (streaming) {
#if defined(__AVX512F__)
    _mm512_stream_ps(to, reinterpret_cast<__m512>(v));
#elif defined(__AVX__)
    _mm256_stream_ps(to, reinterpret_cast<__m256>(v));
#else
    _mm_stream_ps(to, reinterpret_cast<__m128>(v));
#endif
  } else {
    std::memcpy(to, &v, sizeof v);
  }
}

inline Vec fma(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec>(
      _mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#elif defined(__FMA__)
  return reinterpret_cast<Vec>(
      _mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
#else
  return a * b + c;
#endif
}

inline Vec select(IVec condition, Vec a, Vec b) { return condition ? a : b; }
inline Vec max(Vec a, Vec b) { return select(a > b, a, b); }
inline Vec abs(Vec x) { return reinterpret_cast<Vec>(reinterpret_cast<IVec>(x) & 0x7fffffff); }
inline Vec pow2(IVec n) { return reinterpret_cast<Vec>((n + 127) << 23); }

/// The polynomial with these coefficients, lowest first.
template <int n> inline Vec polynomial(Vec x, const float (&c)[n]) {
  Vec y = splat(c[n - 1]);
  for (int i = n - 2; i >= 0; --i)
    y = fma(y, x, splat(c[i]));
  return y;
}

/// exp(x) = p 2^n, where the low bits of `shifted` are n.
struct ExpReduction {
  IVec shifted;
  Vec r;
};

inline ExpReduction reduce_exp(Vec x, float periods) {
  const Vec shifter = splat(0x1.8p23f);
  const Vec shifted = fma(x, splat(0x1.715476p+0f * periods), shifter);
  const Vec n = shifted - shifter;
  Vec r = fma(n, splat(-0x1.62e4p-1f / periods), x);
  r = fma(n, splat(-0x1.7f7d1cp-20f / periods), r);
  return {reinterpret_cast<IVec>(shifted), r};
}

inline Vec clamp(Vec x, float low, float high) {
  x = select(x > high, splat(high), x);
  return select(x < low, splat(low), x);
}

inline Vec exp(Vec x) {
  static constexpr float reduced[] = {
      1, 1, 0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558b6p-5f, 0x1.1239a2p-7f, 0x1.6a471ep-10f};
  const ExpReduction e = reduce_exp(clamp(x, -104, 89), 1);
  const IVec n = e.shifted - 0x4b400000, half = n >> 1;
  return polynomial(e.r, reduced) * pow2(half) * pow2(n - half);
}

inline Vec tanh(Vec x) {
  static constexpr float tail[] = {0x1.fffffep-1f, 0x1.5554b4p-1f, 0x1.5556f2p-2f, 0x1.122560p-3f,
                                   0x1.6b9cb6p-5f};
  const ExpReduction e = reduce_exp(clamp(x, -10, 10), 2);
  const Vec p = fma(e.r * e.r, polynomial(e.r, tail), e.r);
  const Vec s = reinterpret_cast<Vec>((e.shifted << 23) + 0x3f800000);
  const Vec h = fma(s, p, fma(s, splat(0.5f), splat(-0.5f)));
  const Vec y = h / (h + 1.0f);
  return reinterpret_cast<Vec>((reinterpret_cast<IVec>(y) & INT32_MAX) |
                               (reinterpret_cast<IVec>(x) & INT32_MIN));
}

inline Vec sigmoid(Vec x) {
  static constexpr float reduced[] = {
      1, 0x1.fffff6p-1f, 0x1.fffdc2p-2f, 0x1.555a80p-3f, 0x1.573b96p-5f, 0x1.0fa0bcp-7f};
  const ExpReduction e = reduce_exp(-clamp(x, -104, 104), 1);
  const IVec top = 0x3f800000 - ((e.shifted >> 1) << 23), scale = top + (e.shifted << 23);
  const Vec one = reinterpret_cast<Vec>(top);
  return one / fma(reinterpret_cast<Vec>(scale), polynomial(e.r, reduced), one);
}

inline Vec gelu_tanh(Vec x) {
  const Vec inner = (x + x * x * x * 0.044715f) * 0.7978845608028654f;
  return x * 0.5f * (tanh(inner) + 1.0f);
}

inline float sum(Vec v) {
  float total = 0;
  for (int i = 0; i < lanes; ++i)
    total += v[i];
  return total;
}
inline float max_of(Vec v) {
  float best = v[0];
  for (int i = 1; i < lanes; ++i)
    best = v[i] > best ? v[i] : best;
  return best;
}

} // namespace weft::bench

#endif // WEFT_BENCH_VECTORMATH_H
