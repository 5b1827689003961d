//===- MathTrig.cpp - Trigonometric functions and their inverses in f32 ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The argument is reduced in f64: below 2^30 by two fused multiply-adds, beyond that with the bits of 2/pi
// that matter for its exponent. The second method is in a branch, which is taken if some lane needs it. Each
// lane selects the method by its own value, so scalar and vector code agree.
//
//===----------------------------------------------------------------------===//
#include "codegen/math/MathFunctions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace weft::codegen::mathfn {

namespace {

constexpr double twoOverPi = 0x1.45f306dc9c883p-1;
constexpr double pio2Hi = 0x1.921fb54442d18p+0, pio2Lo = 0x1.1a62633145c07p-54;
constexpr double pi = 0x1.921fb54442d18p+1;
constexpr double shifter64 = 0x1.8p52;

// 2/pi as a binary fraction, 32 bits a word.
constexpr uint32_t twoOverPiWords[] = {0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0,
                                       0xDB629599, 0x3C439041, 0xFE5163AB};

// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= 0.79.
constexpr double sinTail[] = {-0x1.555556p-3, 0x1.111174p-7, -0x1.a0590ep-13, 0x1.7c090ep-19};
constexpr double cosTail[] = {0x1.55554ap-5, -0x1.6c0c1ep-10, 0x1.99e336p-16};
constexpr double sinTail64[] = {-0x1.5555555551f22p-3, 0x1.1111110c4f67bp-7, -0x1.a019f8ec81e27p-13,
                                0x1.71d743e2f944dp-19, -0x1.a952943d56960p-26};
constexpr double cosTail64[] = {0x1.5555554e88a7dp-5, -0x1.6c16b7d4438d3p-10, 0x1.a010a6da8d557p-16,
                                -0x1.24132879aebbfp-22};
// (atan(x) - x) / x^3 in x^2, |x| <= 1: 2^-30 in f32, 2^-33.9 in f64.
constexpr double atanTail[] = {-0x1.555552p-2, 0x1.99981cp-3, -0x1.247620p-3, 0x1.c51170p-4,
                               -0x1.6953bcp-4, 0x1.150a00p-4, -0x1.7080bap-5, 0x1.753040p-6,
                               -0x1.e6a0f8p-8, 0x1.2968b4p-10};
constexpr double atanTail64[] = {-0x1.555554874446fp-2, 0x1.999937f377004p-3,  -0x1.248a2cbf725d1p-3,
                                 0x1.c66e4dcb9ef0ep-4,  -0x1.700b29676b594p-4, 0x1.2958bc557c714p-4,
                                 -0x1.be984da1c780fp-5, 0x1.1a6d313324ad6p-5,  -0x1.0b0ce9638d5c3p-6,
                                 0x1.42daa699a87b5p-8,  -0x1.6dee5faf17055p-11};
// (asin(x) - x) / x^3 in x^2, |x| <= 1/2: 2^-31.7.
constexpr double asinTail[] = {0x1.55554cp-3, 0x1.3338acp-4, 0x1.6ca756p-5,
                               0x1.04d2a0p-5, 0x1.d52918p-7, 0x1.34c390p-5};

/// x = q pi/2 + r with |r| <= pi/4 (a hair more is possible); only q modulo 4 is meaningful.
struct TrigReduction {
  Value r; ///< f64
  Value q; ///< i32
};

/// For 2^30 <= |x|: x = m 2^s with a whole m < 2^24; m times the 96 bits of 2/pi that begin with weight 2
/// gives x 2/pi modulo 4.
TrigReduction reduceHuge(MathEmitter &e, Value x) {
  Value bits = e.bits32(x);
  Value exponent = e.band(e.lshr(bits, e.i(23)), e.i(0xff));
  Value mantissa = e.zext64(e.bor(e.band(bits, e.i(0x7fffff)), e.i(0x800000)));
  Value position = e.isub(exponent, e.i(152)); // s - 2
  Value word = e.lshr(position, e.i(5));
  Value shift = e.zext64(e.band(position, e.i(31)));
  auto at = [&](int64_t k) { return e.icmp(mlir::arith::CmpIPredicate::eq, word, e.i(k)); };
  Value is0 = at(0), is1 = at(1), is2 = at(2);
  Value w[4];
  for (int j = 0; j < 4; ++j) {
    auto bitsOf = [&](int k) { return e.l(static_cast<int64_t>(twoOverPiWords[j + k])); };
    w[j] = e.select(is0, bitsOf(0), e.select(is1, bitsOf(1), e.select(is2, bitsOf(2), bitsOf(3))));
  }
  Value a[3];
  for (int j = 0; j < 3; ++j)
    a[j] = e.lshr(e.shl(e.bor(e.shl(w[j], e.l(32)), w[j + 1]), shift), e.l(32));
  Value product = e.shl(e.imul(mantissa, a[0]), e.l(32));
  product = e.iadd(product, e.imul(mantissa, a[1]));
  product = e.iadd(product, e.lshr(e.imul(mantissa, a[2]), e.l(32)));
  Value q = e.lshr(e.iadd(product, e.l(int64_t(1) << 61)), e.l(62));
  Value fraction = e.isub(product, e.shl(q, e.l(62)));
  Value r = e.mul(e.intToF64(fraction), e.d(pio2Hi * 0x1p-62));
  // So far this is the reduction of |x|: negate it if x is negative.
  Value negative = e.icmp(mlir::arith::CmpIPredicate::slt, bits, e.i(0));
  Value q32 = e.low32(q);
  return {e.select(negative, e.neg(r), r), e.select(negative, e.isub(e.i(0), q32), q32)};
}

TrigReduction reduceTrig(MathEmitter &e, Value x) {
  Value wide = e.toF64(x);
  Value shifted = e.fma(wide, e.d(twoOverPi), e.d(shifter64));
  Value n = e.sub(shifted, e.d(shifter64));
  // The first step is exact: x and n pio2Hi are multiples of 2^-52 as soon as n is not 0.
  Value r = e.fma(n, e.d(-pio2Hi), wide);
  r = e.fma(n, e.d(-pio2Lo), r);
  Value q = e.low32(e.bits64(shifted));
  Value huge = e.ge(e.abs(x), e.f(0x1p30));
  auto branch = e.b.create<mlir::scf::IfOp>(
      e.loc, e.any(huge),
      [&](mlir::OpBuilder &b, mlir::Location loc) {
        MathEmitter inner(b, loc, x.getType());
        TrigReduction far = reduceHuge(inner, x);
        b.create<mlir::scf::YieldOp>(
            loc, mlir::ValueRange{inner.select(huge, far.r, r), inner.select(huge, far.q, q)});
      },
      [&](mlir::OpBuilder &b, mlir::Location loc) {
        b.create<mlir::scf::YieldOp>(loc, mlir::ValueRange{r, q});
      });
  return {branch.getResult(0), branch.getResult(1)};
}

/// sin of x + quarters pi/2.
Value sinShifted(MathEmitter &e, Value x, int64_t quarters) {
  TrigReduction reduced = reduceTrig(e, x);
  // NaN for infinity; the product is a zero otherwise and changes nothing.
  Value r = e.fma(x, e.f(0.0), e.toF32(reduced.r));
  Value q = quarters ? e.iadd(reduced.q, e.i(quarters)) : reduced.q;
  Value u = e.mul(r, r);
  Value s = e.copysign(e.fma(e.mul(r, u), e.polyF32(u, sinTail), r), r);
  Value c = e.fma(e.mul(u, u), e.polyF32(u, cosTail), e.fma(u, e.f(-0.5), e.f(1.0)));
  Value odd = e.icmp(mlir::arith::CmpIPredicate::ne, e.band(q, e.i(1)), e.i(0));
  Value y = e.select(odd, c, s);
  Value sign = e.shl(e.band(q, e.i(2)), e.i(30));
  return e.asF32(e.bxor(e.bits32(y), sign));
}

/// asin(|x|) in f64 as base + sign * p: see asin and acos.
struct AsinParts {
  Value large; ///< |x| > 1/2
  Value p;     ///< asin(|x|), or asin(sqrt((1 - |x|) / 2)) where large; NaN beyond 1
};

AsinParts asinParts(MathEmitter &e, Value wideAbs) {
  Value large = e.gt(wideAbs, e.d(0.5));
  Value u = e.select(large, e.mul(e.sub(e.d(1.0), wideAbs), e.d(0.5)), e.mul(wideAbs, wideAbs));
  Value s = e.select(large, e.sqrt(u), wideAbs);
  return {large, e.fma(e.mul(s, u), e.polyF64(u, asinTail), s)};
}

} // namespace

Value sin(MathEmitter &e, Value x) { return sinShifted(e, x, 0); }
Value cos(MathEmitter &e, Value x) { return sinShifted(e, x, 1); }

Value tan(MathEmitter &e, Value x) {
  auto [r, q] = reduceTrig(e, x);
  Value u = e.mul(r, r);
  Value s = e.copysign(e.fma(e.mul(r, u), e.polyF64(u, sinTail64), r), r);
  Value c = e.fma(e.mul(u, u), e.polyF64(u, cosTail64), e.fma(u, e.d(-0.5), e.d(1.0)));
  Value odd = e.icmp(mlir::arith::CmpIPredicate::ne, e.band(q, e.i(1)), e.i(0));
  Value y = e.toF32(e.div(e.select(odd, e.neg(c), s), e.select(odd, s, c)));
  return e.fma(x, e.f(0.0), y);
}

Value asin(MathEmitter &e, Value x) {
  AsinParts parts = asinParts(e, e.toF64(e.abs(x)));
  Value y = e.select(parts.large, e.fma(parts.p, e.d(-2.0), e.d(pio2Hi)), parts.p);
  return e.copysign(e.toF32(y), x);
}

Value acos(MathEmitter &e, Value x) {
  Value wide = e.toF64(x);
  AsinParts parts = asinParts(e, e.abs(wide));
  Value negative = e.lt(wide, e.d(0.0));
  Value twice = e.add(parts.p, parts.p);
  Value outer = e.select(negative, e.sub(e.d(pi), twice), twice);
  Value inner = e.sub(e.d(pio2Hi), e.copysign(parts.p, wide));
  return e.toF32(e.select(parts.large, outer, inner));
}

Value atan(MathEmitter &e, Value x) {
  Value a = e.abs(x);
  Value large = e.gt(a, e.f(1.0));
  Value z = e.div(e.select(large, e.f(1.0), a), e.select(large, a, e.f(1.0)));
  Value u = e.mul(z, z);
  Value p = e.fma(e.mul(z, u), e.polyF32(u, atanTail), z);
  // pi/2 = 0x1.921fb6p+0 - 0x1.777a5cp-25
  Value far = e.sub(e.f(0x1.921fb6p+0), e.add(p, e.f(0x1.777a5cp-25)));
  return e.copysign(e.select(large, far, p), x);
}

Value atan2(MathEmitter &e, Value y, Value x) {
  Value ay = e.toF64(e.abs(y)), ax = e.toF64(e.abs(x));
  Value steep = e.gt(ay, ax);
  Value high = e.select(steep, ay, ax), low = e.select(steep, ax, ay);
  // 0/0 and inf/inf have their values by convention.
  Value equal = e.select(e.eq(high, e.d(0.0)), e.d(0.0), e.d(1.0));
  Value z = e.select(e.eq(low, high), equal, e.div(low, high));
  Value u = e.mul(z, z);
  Value p = e.fma(e.mul(z, u), e.polyF64(u, atanTail64), z);
  p = e.select(steep, e.sub(e.d(pio2Hi), p), p);
  Value negative = e.icmp(mlir::arith::CmpIPredicate::slt, e.bits32(x), e.i(0));
  p = e.select(negative, e.sub(e.d(pi), p), p);
  return e.copysign(e.toF32(p), y);
}

} // namespace weft::codegen::mathfn
