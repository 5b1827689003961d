//===- MathExpLog.cpp - exp, log, tanh, erf and their kin in f32 -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Training steps spend much of their time in these functions, so all arithmetic is in f32. Polynomials are
// minimax fits (Remez exchange at 160 bits; coefficients are rounded to f32 one by one, and the others fitted
// again after each).
//
//===----------------------------------------------------------------------===//
#include "codegen/math/MathFunctions.h"

#include <limits>

namespace weft::codegen::mathfn {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// ln 2 in two parts: n * ln2Hi is exact for |n| < 2^8 when it is a product of its own.
constexpr double ln2Hi = 0x1.62e4p-1, ln2Lo = 0x1.7f7d1cp-20;
constexpr double log2e = 0x1.715476p+0;
// After `shifter` is added to |v| < 2^22, the low bits of the mantissa are v rounded to nearest even.
constexpr double shifter = 0x1.8p23;
constexpr int32_t shifterBits = 0x4b400000;
constexpr int32_t sqrtHalfBits = 0x3f3504f3;

// (expm1(r) - r) / r^2 on |r| <= ln2 / 2: relative error of expm1(r) 2^-28.7.
constexpr double expm1Tail[] = {0x1p-1,        0x1.555556p-3,  0x1.5554aep-5,
                                0x1.111090p-7, 0x1.6d7486p-10, 0x1.a1a160p-13};
// exp(r) there: 2^-28.2.
constexpr double expReduced[] = {
    1, 1, 0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558b6p-5, 0x1.1239a2p-7, 0x1.6a471ep-10};
// (log1p(f) - f + f^2 / 2) / f^3 on sqrt(1/2) <= 1 + f <= sqrt(2): relative error of log1p(f) 2^-29.5.
constexpr double log1pTail[] = {0x1.555548p-2,  -0x1.00000ap-2, 0x1.99a464p-3,  -0x1.555aa4p-3, 0x1.233cd0p-3,
                                -0x1.fc5c86p-4, 0x1.e6debap-4,  -0x1.dcf162p-4, 0x1.12dd90p-4};
// (expm1(2 r) - 2 r) / (2 r^2) on |r| <= ln2 / 4: relative error of expm1(2 r) 2^-26.1.
constexpr double tanhTail[] = {0x1.fffffep-1, 0x1.5554b4p-1, 0x1.5556f2p-2, 0x1.122560p-3, 0x1.6b9cb6p-5};
// erf(x) / x - 1 in x^2, |x| <= 0.93: 2^-30.1.
constexpr double erfSmall[] = {0x1.06eba8p-3, -0x1.812740p-2,  0x1.ce2d64p-4, -0x1.b8011ap-6,
                               0x1.544a1ap-8, -0x1.a60a2ep-11, 0x1.4f6760p-14};
// log(erfc(x)) on 0.92 <= x <= 3.95, weighted for 1 - exp of it: 2^-35.
constexpr double logErfc[] = {0x1.7e1408p-14,  -0x1.2106c6p+0, -0x1.44f484p-1,  -0x1.b34f24p-4,
                              0x1.7c7998p-6,   -0x1.893930p-9, -0x1.30e8e6p-15, 0x1.99cdf6p-14,
                              -0x1.1e342ap-16, 0x1.1ce71cp-20};

/// x = n ln2 + r with |r| <= ln2 / 2.
struct ExpReduction {
  Value n; ///< i32
  Value r;
};

ExpReduction reduceExp(MathEmitter &e, Value x) {
  Value shifted = e.fma(x, e.f(log2e), e.f(shifter));
  Value n = e.sub(shifted, e.f(shifter));
  Value r = e.fma(n, e.f(-ln2Hi), x);
  r = e.fma(n, e.f(-ln2Lo), r);
  return {e.isub(e.bits32(shifted), e.i(shifterBits)), r};
}

/// expm1(r) for a reduced argument.
Value expm1Reduced(MathEmitter &e, Value r) { return e.fma(e.mul(r, r), e.polyF32(r, expm1Tail), r); }

/// NaN passes: comparisons are ordered.
Value clamp(MathEmitter &e, Value x, double lo, double hi) {
  x = e.select(e.gt(x, e.f(hi)), e.f(hi), x);
  return e.select(e.lt(x, e.f(lo)), e.f(lo), x);
}

/// log((1 + f) 2^k) for sqrt(1/2) <= 1 + f <= sqrt(2); k is a whole number in f32.
Value logReduced(MathEmitter &e, Value f, Value k) {
  Value f2 = e.mul(f, f);
  Value y = e.mul(e.mul(f, f2), e.polyF32(f, log1pTail));
  y = e.fma(f2, e.f(-0.5), y);
  // k ln2Hi + f with the rounding error of the sum carried along: |k ln2Hi| >= |f| or k = 0.
  Value a = e.mul(k, e.f(ln2Hi));
  Value s = e.add(a, f);
  Value error = e.sub(f, e.sub(s, a));
  y = e.fma(k, e.f(ln2Lo), y);
  return e.add(s, e.add(y, error));
}

} // namespace

Value exp(MathEmitter &e, Value x) {
  // e^-104 rounds to 0, e^89 to infinity; between them 2^n is applied in two exact-then-rounding steps,
  // so that subnormal results are rounded once.
  auto [n, r] = reduceExp(e, clamp(e, x, -104.0, 89.0));
  Value p = e.polyF32(r, expReduced);
  Value half = e.ashr(n, e.i(1));
  return e.mul(e.mul(p, e.pow2(half)), e.pow2(e.isub(n, half)));
}

Value expm1(MathEmitter &e, Value x) {
  auto [n, r] = reduceExp(e, clamp(e, x, -18.0, 89.0));
  // 2^n p + (2^n - 1), computed with half of 2^n because 2^128 is no float.
  Value s = e.pow2(e.isub(n, e.i(1)));
  Value y = e.fma(s, expm1Reduced(e, r), e.sub(s, e.f(0.5)));
  y = e.add(y, y);
  return e.select(e.lt(e.abs(x), e.f(0x1p-25)), x, y);
}

Value log(MathEmitter &e, Value x) {
  Value subnormal = e.lt(x, e.f(0x1p-126));
  Value scaled = e.select(subnormal, e.mul(x, e.f(0x1p23)), x);
  Value u = e.isub(e.bits32(scaled), e.i(sqrtHalfBits));
  Value k = e.intToF32(e.ashr(u, e.i(23)));
  k = e.add(k, e.select(subnormal, e.f(-23.0), e.f(0.0)));
  Value m = e.asF32(e.iadd(e.band(u, e.i(0x7fffff)), e.i(sqrtHalfBits)));
  Value y = logReduced(e, e.sub(m, e.f(1.0)), k);
  y = e.select(e.lt(x, e.f(inf)), y, x); // infinity and NaN
  y = e.select(e.lt(x, e.f(0.0)), e.f(nan), y);
  return e.select(e.eq(x, e.f(0.0)), e.f(-inf), y);
}

Value log1p(MathEmitter &e, Value x) {
  // 1 + x = 2^k (1 + f), where f = x 2^-k + (2^-k - 1) is rounded once. Beyond 2^64 the 1 is dropped and
  // x scaled, so that 2^-k stays a normal number.
  Value big = e.gt(x, e.f(0x1p64));
  Value xs = e.select(big, e.mul(x, e.f(0x1p-64)), x);
  Value one = e.select(big, e.f(0.0), e.f(1.0));
  Value u = e.isub(e.bits32(e.add(xs, one)), e.i(sqrtHalfBits));
  Value ki = e.ashr(u, e.i(23));
  Value s = e.pow2(e.isub(e.i(0), ki));
  Value f = e.fma(xs, s, e.fma(one, s, e.f(-1.0)));
  Value k = e.add(e.intToF32(ki), e.select(big, e.f(64.0), e.f(0.0)));
  Value y = logReduced(e, f, k);
  y = e.select(e.lt(x, e.f(inf)), y, x);
  y = e.select(e.lt(x, e.f(-1.0)), e.f(nan), y);
  y = e.select(e.eq(x, e.f(-1.0)), e.f(-inf), y);
  return e.select(e.lt(e.abs(x), e.f(0x1p-25)), x, y);
}

Value tanh(MathEmitter &e, Value x) {
  // h / (h + 1) with h = expm1(2x) / 2: accurate near 0, never beyond 1, and 1 from 10 on, so that 2^n needs
  // one step. x = n ln2/2 + r, and h = 2^n expm1(2r)/2 - (1 - 2^n)/2.
  Value inner = clamp(e, x, -10.0, 10.0);
  Value shifted = e.fma(inner, e.f(2 * log2e), e.f(shifter));
  Value n = e.sub(shifted, e.f(shifter));
  Value r = e.fma(n, e.f(-ln2Lo / 2), e.fma(n, e.f(-ln2Hi / 2), inner));
  Value p = e.fma(e.mul(r, r), e.polyF32(r, tanhTail), r);
  // The low bits of `shifted` are n; what is above them is shifted out.
  Value s = e.asF32(e.iadd(e.shl(e.bits32(shifted), e.i(23)), e.i(0x3f800000)));
  Value h = e.fma(s, p, e.fma(s, e.f(0.5), e.f(-0.5)));
  return e.copysign(e.div(h, e.add(h, e.f(1.0))), x); // for the sign of -0
}

Value erf(MathEmitter &e, Value x) {
  Value a = e.abs(x);
  Value small = e.fma(a, e.polyF32(e.mul(a, a), erfSmall), a);
  Value t = e.select(e.gt(a, e.f(3.95)), e.f(3.95), a);
  auto [n, r] = reduceExp(e, e.polyF32(t, logErfc));
  Value p = e.mul(e.polyF32(r, expReduced), e.pow2(n));
  Value large = e.sub(e.f(1.0), p);
  return e.copysign(e.select(e.lt(a, e.f(0.925)), small, large), x);
}

Value rsqrt(MathEmitter &e, Value x) { return e.div(e.f(1.0), e.sqrt(x)); }

Value round(MathEmitter &e, Value x, bool isF64) {
  auto constant = [&](double v) { return isF64 ? e.d(v) : e.f(v); };
  Value a = e.abs(x);
  Value whole = e.trunc(a);
  // a - whole is exact.
  Value up = e.ge(e.sub(a, whole), constant(0.5));
  return e.copysign(e.select(up, e.add(whole, constant(1.0)), whole), x);
}

} // namespace weft::codegen::mathfn
