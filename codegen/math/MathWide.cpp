//===- MathWide.cpp - f32 functions computed in f64 and rounded once -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that are used less often, or that lose too many bits in f32. Every f32, also a subnormal one, is
// a normal f64, so none of these needs a case for subnormal numbers.
//
//===----------------------------------------------------------------------===//
#include "codegen/math/MathFunctions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

namespace weft::codegen::mathfn {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double shifter64 = 0x1.8p52;
constexpr double ln2 = 0x1.62e42fefa39efp-1;
constexpr int64_t sqrtHalfBits64 = 0x3fe6a09e667f3bcd;
constexpr int64_t oneBits64 = int64_t(1023) << 52;

// log2((1 + z) / (1 - z)) / z in z^2, |z| <= 0.172: 2^-45.
constexpr double log2Coefficients[] = {0x1.71547652b824fp+1, 0x1.ec709dc54069bp-1, 0x1.2776c28e4aaaap-1,
                                       0x1.a61a32fc5c264p-2, 0x1.47949f2e18f59p-2, 0x1.21bbb1be09f11p-2};
// 2^r on |r| <= 1/2: 2^-34.5.
constexpr double exp2Coefficients[] = {0x1.ffffffffab9cap-1,  0x1.62e42ff116c38p-1, 0x1.ebfbe0a4f1bdbp-3,
                                       0x1.c6b08aae5854dp-5,  0x1.3b29dc15385e8p-7, 0x1.5d8a710854fb4p-10,
                                       0x1.446a4334ec878p-13, 0x1.fe1754731e245p-17};

/// log2 of a positive finite f64; infinity and NaN give themselves.
Value log2Wide(MathEmitter &e, Value x) {
  Value bits = e.bits64(x);
  // The exponent, biased by 1023, of x / sqrt(1/2); made a float through the bits of 2^52.
  Value biased = e.lshr(e.iadd(bits, e.l(oneBits64 - sqrtHalfBits64)), e.l(52));
  Value k = e.sub(e.asF64(e.bor(biased, e.l(int64_t(1075) << 52))), e.d(0x1p52 + 1023.0));
  Value m = e.asF64(e.isub(bits, e.shl(e.isub(biased, e.l(1023)), e.l(52))));
  Value z = e.div(e.sub(m, e.d(1.0)), e.add(m, e.d(1.0)));
  Value y = e.fma(z, e.polyF64(e.mul(z, z), log2Coefficients), k);
  return e.select(e.lt(x, e.d(inf)), y, x);
}

/// 2^t; |t| is limited to 1000.
Value exp2Wide(MathEmitter &e, Value t) {
  t = e.select(e.gt(t, e.d(1000.0)), e.d(1000.0), t);
  t = e.select(e.lt(t, e.d(-1000.0)), e.d(-1000.0), t);
  Value shifted = e.add(t, e.d(shifter64));
  Value r = e.sub(t, e.sub(shifted, e.d(shifter64)));
  Value scale = e.asF64(e.shl(e.iadd(e.bits64(shifted), e.l(1023)), e.l(52)));
  return e.mul(e.polyF64(r, exp2Coefficients), scale);
}

/// log2 with C's results for 0 and negative numbers, times `factor`.
Value logScaled(MathEmitter &e, Value x, double factor) {
  Value wide = e.toF64(x);
  Value y = log2Wide(e, wide);
  if (factor != 1.0)
    y = e.mul(y, e.d(factor));
  y = e.select(e.lt(wide, e.d(0.0)), e.d(nan), y);
  y = e.select(e.eq(wide, e.d(0.0)), e.d(-inf), y);
  return e.toF32(y);
}

Value expWide(MathEmitter &e, Value x) { return exp2Wide(e, e.mul(x, e.d(0x1.71547652b82fep+0))); }

} // namespace

Value exp2(MathEmitter &e, Value x) { return e.toF32(exp2Wide(e, e.toF64(x))); }
Value log2(MathEmitter &e, Value x) { return logScaled(e, x, 1.0); }
Value log10(MathEmitter &e, Value x) { return logScaled(e, x, 0x1.34413509f79ffp-2); }

Value pow(MathEmitter &e, Value x, Value y) {
  Value a = e.abs(x);
  Value wide = e.toF64(a);
  Value logarithm = log2Wide(e, wide);
  logarithm = e.select(e.eq(wide, e.d(0.0)), e.d(-inf), logarithm);
  Value result = e.toF32(exp2Wide(e, e.mul(y, logarithm)));

  Value whole = e.eq(e.floor(y), y);
  Value half = e.mul(y, e.d(0.5));
  Value odd = e.band(whole, e.ne(e.floor(half), half));
  Value signBit = e.icmp(mlir::arith::CmpIPredicate::slt, e.bits32(x), e.i(0));
  result = e.select(e.band(odd, signBit), e.neg(result), result);
  // The power of a finite negative base is NaN unless the exponent is whole.
  Value notWhole = e.cmp(mlir::arith::CmpFPredicate::UNE, e.floor(y), y);
  Value negative = e.band(e.lt(x, e.f(0.0)), e.lt(a, e.f(inf)));
  result = e.select(e.band(negative, notWhole), e.f(nan), result);
  // (-1)^inf = 1; and x^0 = 1^y = 1 even for NaN.
  Value unitPower = e.band(e.eq(a, e.f(1.0)), e.eq(e.abs(y), e.d(inf)));
  Value one = e.bor(unitPower, e.bor(e.eq(y, e.d(0.0)), e.eq(x, e.f(1.0))));
  return e.select(one, e.f(1.0), result);
}

Value sinh(MathEmitter &e, Value x) {
  Value a = e.toF64(e.abs(x));
  Value u = e.mul(a, a);
  // Taylor: 1 / (2k + 3)!, next term 2^-40 at 1.
  static constexpr double tail[] = {1.0 / 6,        1.0 / 120,        1.0 / 5040,
                                    1.0 / 362880.0, 1.0 / 39916800.0, 1.0 / 6227020800.0};
  Value small = e.fma(e.mul(a, u), e.polyF64(u, tail), a);
  Value p = expWide(e, a);
  Value large = e.mul(e.sub(p, e.div(e.d(1.0), p)), e.d(0.5));
  return e.copysign(e.toF32(e.select(e.lt(a, e.d(1.0)), small, large)), x);
}

Value cosh(MathEmitter &e, Value x) {
  Value p = expWide(e, e.toF64(e.abs(x)));
  return e.toF32(e.mul(e.add(p, e.div(e.d(1.0), p)), e.d(0.5)));
}

Value asinh(MathEmitter &e, Value x) {
  Value a = e.toF64(e.abs(x));
  Value u = e.mul(a, a);
  Value small = e.fma(e.mul(a, u), e.d(-1.0 / 6), a);
  Value large = e.mul(log2Wide(e, e.add(a, e.sqrt(e.add(u, e.d(1.0))))), e.d(ln2));
  return e.copysign(e.toF32(e.select(e.lt(a, e.d(0x1p-12)), small, large)), x);
}

Value acosh(MathEmitter &e, Value x) {
  Value a = e.toF64(x);
  // x^2 is exact in f64; NaN below 1 comes from the root, or from the last line for x <= -1.
  Value root = e.sqrt(e.fma(a, a, e.d(-1.0)));
  Value y = e.mul(log2Wide(e, e.add(a, root)), e.d(ln2));
  return e.toF32(e.select(e.ge(a, e.d(1.0)), y, e.d(nan)));
}

Value atanh(MathEmitter &e, Value x) {
  Value a = e.toF64(e.abs(x));
  Value small = e.fma(e.mul(a, e.mul(a, a)), e.d(1.0 / 3), a);
  Value ratio = e.div(e.add(e.d(1.0), a), e.sub(e.d(1.0), a));
  Value large = e.mul(log2Wide(e, ratio), e.d(0.5 * ln2));
  Value y = e.select(e.lt(a, e.d(0x1p-12)), small, large);
  y = e.select(e.eq(a, e.d(1.0)), e.d(inf), y);
  y = e.select(e.gt(a, e.d(1.0)), e.d(nan), y);
  return e.copysign(e.toF32(y), x);
}

Value cbrt(MathEmitter &e, Value x) {
  Value a = e.toF64(e.abs(x));
  Value y = e.toF32(exp2Wide(e, e.mul(log2Wide(e, a), e.d(1.0 / 3))));
  y = e.select(e.lt(e.abs(x), e.f(inf)), y, e.abs(x));
  return e.copysign(e.select(e.eq(x, e.f(0.0)), e.f(0.0), y), x);
}

Value remainder(MathEmitter &e, Value x, Value y) {
  Value a = e.toF64(e.abs(x)), m = e.toF64(e.abs(y));
  // a mod m for a < 2^29 m: the quotient may come out one too large, product and difference are exact.
  auto step = [](MathEmitter &e, Value a, Value m) {
    Value r = e.fma(e.neg(e.trunc(e.div(a, m))), m, a);
    return e.select(e.lt(r, e.d(0.0)), e.add(r, m), r);
  };
  // A larger quotient is taken 28 bits at a time; f32 quotients stay below 2^277.
  Value far = e.ge(a, e.mul(m, e.d(0x1p28)));
  auto branch = e.b.create<mlir::scf::IfOp>(
      e.loc, e.any(e.band(far, e.lt(a, e.d(inf)))),
      [&](mlir::OpBuilder &b, mlir::Location loc) {
        auto at = [&](int64_t v) { return b.create<mlir::arith::ConstantIndexOp>(loc, v); };
        MathEmitter outer(b, loc, x.getType());
        Value scaled = outer.mul(m, outer.d(0x1p252));
        auto loop = b.create<mlir::scf::ForOp>(
            loc, at(0), at(9), at(1), mlir::ValueRange{a, scaled},
            [&](mlir::OpBuilder &b, mlir::Location loc, Value, mlir::ValueRange state) {
              MathEmitter inner(b, loc, x.getType());
              Value reduced = step(inner, state[0], state[1]);
              b.create<mlir::scf::YieldOp>(loc,
                                           mlir::ValueRange{reduced, inner.mul(state[1], inner.d(0x1p-28))});
            });
        b.create<mlir::scf::YieldOp>(loc, outer.select(far, loop.getResult(0), a));
      },
      [&](mlir::OpBuilder &b, mlir::Location loc) { b.create<mlir::scf::YieldOp>(loc, a); });
  Value r = step(e, branch.getResult(0), m);
  r = e.select(e.band(e.eq(m, e.d(inf)), e.lt(a, e.d(inf))), a, r);
  return e.copysign(e.toF32(r), x);
}

} // namespace weft::codegen::mathfn
