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

struct ExpReduction {
  IVec n;
  Vec p; ///< exp(x) = p 2^n
};

inline ExpReduction reduced_exp(Vec x) {
  static constexpr float tail[] = {0x1p-1f,        0x1.555556p-3f,  0x1.5554aep-5f,
                                   0x1.111090p-7f, 0x1.6d7486p-10f, 0x1.a1a160p-13f};
  const Vec shifter = splat(0x1.8p23f);
  const Vec shifted = fma(x, splat(0x1.715476p+0f), shifter);
  const Vec n = shifted - shifter;
  Vec r = fma(n, splat(-0x1.62e4p-1f), x);
  r = fma(n, splat(-0x1.7f7d1cp-20f), r);
  return {reinterpret_cast<IVec>(shifted) - 0x4b400000, fma(r * r, polynomial(r, tail), r) + 1.0f};
}

inline Vec exp(Vec x) {
  x = select(x > 89.0f, splat(89.0f), x);
  x = select(x < -104.0f, splat(-104.0f), x);
  const ExpReduction e = reduced_exp(x);
  const IVec half = e.n >> 1;
  return e.p * pow2(half) * pow2(e.n - half);
}

inline Vec tanh(Vec x) {
  static constexpr float tail[] = {-0x1.555554p-2f, 0x1.111084p-3f,  -0x1.b9f496p-5f,
                                   0x1.63cd7ep-6f,  -0x1.0d34d2p-7f, 0x1.1d3636p-9f};
  const Vec a = abs(x), u = a * a;
  const Vec small = fma(a * u, polynomial(u, tail), a);
  const Vec twice = a + a;
  const ExpReduction e = reduced_exp(select(twice > 20.0f, splat(20.0f), twice));
  const Vec large = 1.0f - 2.0f / (e.p * pow2(e.n) + 1.0f);
  const Vec y = select(a < 0.55f, small, large);
  return reinterpret_cast<Vec>(reinterpret_cast<IVec>(y) | (reinterpret_cast<IVec>(x) & INT32_MIN));
}

inline Vec sigmoid(Vec x) { return 1.0f / (1.0f + exp(-x)); }

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
