//===- ScalarEmitter.cpp --------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"

using namespace mlir;
namespace weft::ir {

Type toScalarType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element); integer && !integer.isSignless())
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), element, vector.getScalableDims());
  return element;
}

bool ScalarEmitter::isFloat(Value value) const {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

bool ScalarEmitter::isUnsigned(unsigned index) const {
  Type element = getElementTypeOrSelf(op->getOperand(index).getType());
  return element.isUnsignedInteger() || element.isInteger(1);
}

Value ScalarEmitter::constantLike(Value like, double value) {
  Type type = like.getType(), element = getElementTypeOrSelf(type);
  TypedAttr attr;
  if (isa<FloatType>(element))
    attr = builder.getFloatAttr(element, value);
  else
    attr =
        IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), static_cast<int64_t>(value), true));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return make<arith::ConstantOp>(attr);
}

Value ScalarEmitter::compare(arith::CmpFPredicate real, arith::CmpIPredicate whole, Value a, Value b) {
  if (isFloat(a))
    return make<arith::CmpFOp>(real, a, b);
  if (isUnsigned(0)) {
    using P = arith::CmpIPredicate;
    switch (whole) {
    case P::slt:
      whole = P::ult;
      break;
    case P::sle:
      whole = P::ule;
      break;
    case P::sgt:
      whole = P::ugt;
      break;
    case P::sge:
      whole = P::uge;
      break;
    default:
      break;
    }
  }
  return make<arith::CmpIOp>(whole, a, b);
}

Value ScalarEmitter::divideIntegers(Value a, Value b) {
  Value zero = zeroLike(b), one = constantLike(b, 1), minusOne = constantLike(b, -1);
  Value byZero = make<arith::CmpIOp>(arith::CmpIPredicate::eq, b, zero);
  if (isUnsigned(0)) {
    Value quotient = make<arith::DivUIOp>(a, select(byZero, one, b));
    return select(byZero, minusOne, quotient);
  }
  // min / -1 overflows, which traps on x86, so -1 is handled separately.
  Value byMinusOne = make<arith::CmpIOp>(arith::CmpIPredicate::eq, b, minusOne);
  Value safe = select(make<arith::OrIOp>(byZero, byMinusOne), one, b);
  Value quotient = make<arith::DivSIOp>(a, safe);
  quotient = select(byMinusOne, make<arith::SubIOp>(zeroLike(a), a), quotient);
  return select(byZero, minusOne, quotient);
}

Value ScalarEmitter::remainderIntegers(Value a, Value b) {
  Value zero = zeroLike(b), one = constantLike(b, 1);
  Value byZero = make<arith::CmpIOp>(arith::CmpIPredicate::eq, b, zero);
  if (isUnsigned(0))
    return select(byZero, a, make<arith::RemUIOp>(a, select(byZero, one, b)));
  // min % -1 traps on x86; dividing by 1 gives the same remainder, 0.
  Value byMinusOne = make<arith::CmpIOp>(arith::CmpIPredicate::eq, b, constantLike(b, -1));
  Value safe = select(make<arith::OrIOp>(byZero, byMinusOne), one, b);
  return select(byZero, a, make<arith::RemSIOp>(a, safe));
}

Value ScalarEmitter::powIntegers(Value a, Value b) {
  Value zero = zeroLike(b), one = constantLike(a, 1);
  unsigned width = getElementTypeOrSelf(a.getType()).getIntOrFloatBitWidth();
  bool isSigned = !isUnsigned(0);
  // One step per bit of the exponent except the sign: straight-line code, which also works for vectors.
  Value result = one, power = a, bits = b;
  for (unsigned bit = 0, e = isSigned ? width - 1 : width; bit < e; ++bit) {
    Value odd =
        make<arith::CmpIOp>(arith::CmpIPredicate::ne, make<arith::AndIOp>(bits, constantLike(b, 1)), zero);
    result = select(odd, make<arith::MulIOp>(result, power), result);
    power = make<arith::MulIOp>(power, power);
    bits = make<arith::ShRUIOp>(bits, constantLike(b, 1));
  }
  if (!isSigned)
    return result;
  Value isOdd =
      make<arith::CmpIOp>(arith::CmpIPredicate::ne, make<arith::AndIOp>(b, constantLike(b, 1)), zero);
  Value minusOne = constantLike(a, -1);
  Value ofMinusOne = select(make<arith::CmpIOp>(arith::CmpIPredicate::eq, a, minusOne),
                            select(isOdd, minusOne, one), zeroLike(a));
  Value negative = select(make<arith::CmpIOp>(arith::CmpIPredicate::eq, a, one), one, ofMinusOne);
  return select(make<arith::CmpIOp>(arith::CmpIPredicate::slt, b, zero), negative, result);
}

Value ScalarEmitter::sigmoid(Value a) {
  if (getElementTypeOrSelf(a.getType()).isF64()) {
    // exp(a) / (1 + exp(a)) below zero, where exp(-a) would overflow before the result is too small.
    Value one = constantLike(a, 1);
    Value e = make<math::ExpOp>(make<arith::NegFOp>(make<math::AbsFOp>(a)));
    return make<arith::DivFOp>(select(lt(a, zeroLike(a)), e, one), make<arith::AddFOp>(one, e));
  }
  // exp(-a) = 2^n p with |n| <= 150, and the quotient is 2^-h / (2^-h + 2^(n-h) p) with h = floor(n / 2): no
  // power of two overflows, and the division is the only place that rounds to a subnormal. From 104 on the
  // exact result rounds to 0 or 1; NaN passes, since comparisons are ordered.
  constexpr double log2e = 0x1.715476p+0, ln2Hi = 0x1.62e4p-1, ln2Lo = 0x1.7f7d1cp-20, shifter = 0x1.8p23;
  // exp(r) on |r| <= ln2 / 2, minimax with f32 coefficients: relative error 2^-23.4.
  constexpr double coefficients[] = {0x1.0fa0bcp-7, 0x1.573b96p-5, 0x1.555a8p-3,
                                     0x1.fffdc2p-2, 0x1.fffff6p-1, 1};
  Type wholeType = withElement(a.getType(), builder.getI32Type());
  auto real = [&](double value) { return constantLike(a, value); };
  auto fma = [&](Value x, Value y, Value z) -> Value { return make<math::FmaOp>(x, y, z); };
  Value x = select(gt(a, real(104)), real(104), a);
  x = select(lt(x, real(-104)), real(-104), x);
  Value shifted = fma(x, real(-log2e), real(shifter)); // n in the low bits of the mantissa
  Value n = make<arith::SubFOp>(shifted, real(shifter));
  Value r = fma(n, real(-ln2Lo), fma(n, real(-ln2Hi), make<arith::NegFOp>(x)));
  Value p = real(coefficients[0]);
  for (double coefficient : ArrayRef(coefficients).drop_front())
    p = fma(p, r, real(coefficient));
  Value bits = make<arith::BitcastOp>(wholeType, shifted);
  Value mantissa = constantLike(bits, 23), one = constantLike(bits, 0x3f800000);
  // The shift removes everything above the low bits.
  Value half = make<arith::ShLIOp>(make<arith::ShRUIOp>(bits, constantLike(bits, 1)), mantissa);
  Value top = make<arith::SubIOp>(one, half);
  Value scale = make<arith::AddIOp>(top, make<arith::ShLIOp>(bits, mantissa));
  top = make<arith::BitcastOp>(a.getType(), top);
  scale = make<arith::BitcastOp>(a.getType(), scale);
  return make<arith::DivFOp>(top, fma(scale, p, top));
}

Value ScalarEmitter::convert(Value a, Type from, Type to) {
  Type target = withElement(a.getType(), toScalarType(to));
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (from == to)
    return a;
  if (to.isInteger(1)) {
    Value zero = zeroLike(a);
    return fromFloat ? make<arith::CmpFOp>(arith::CmpFPredicate::UNE, a, zero)
                     : make<arith::CmpIOp>(arith::CmpIPredicate::ne, a, zero);
  }
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (fromFloat && toFloat) {
    if (fromBits == toBits) // between f16 and bf16: through f32, which holds both
      return convert(convert(a, from, builder.getF32Type()), builder.getF32Type(), to);
    return fromBits < toBits ? make<arith::ExtFOp>(target, a) : make<arith::TruncFOp>(target, a);
  }
  if (!fromFloat && toFloat) {
    // f16 and bf16 go through f32, which rounds a second time only where f32 is inexact.
    if (toBits < 32)
      return convert(convert(a, from, builder.getF32Type()), builder.getF32Type(), to);
    return fromUnsigned ? make<arith::UIToFPOp>(target, a) : make<arith::SIToFPOp>(target, a);
  }
  if (!fromFloat) {
    if (fromBits == toBits)
      return a;
    if (fromBits > toBits)
      return make<arith::TruncIOp>(target, a);
    return fromUnsigned ? make<arith::ExtUIOp>(target, a) : make<arith::ExtSIOp>(target, a);
  }
  // Float to integer: toward zero, saturating, NaN to 0. The bounds are exact in f64 but for the largest i64,
  // where 2^63 itself is compared and everything from it up saturates.
  if (fromBits < 32)
    return convert(convert(a, from, builder.getF32Type()), builder.getF32Type(), to);
  bool toUnsigned = to.isUnsignedInteger();
  double limit = std::ldexp(1.0, static_cast<int>(toUnsigned ? toBits : toBits - 1));
  double low = toUnsigned ? 0.0 : -limit;
  Value isNan = make<arith::CmpFOp>(arith::CmpFPredicate::UNO, a, a);
  Value above = make<arith::CmpFOp>(arith::CmpFPredicate::OGE, a, constantLike(a, limit));
  Value below = make<arith::CmpFOp>(arith::CmpFPredicate::OLE, a, constantLike(a, low));
  Value safe = select(make<arith::OrIOp>(isNan, make<arith::OrIOp>(above, below)), zeroLike(a), a);
  // ui8 goes through a wider signed integer: x86 has no conversion to 8 bits.
  Type wide = withElement(a.getType(), builder.getIntegerType(toBits < 32 ? 32 : toBits));
  Value whole = make<arith::FPToSIOp>(wide, safe);
  if (toBits < 32)
    whole = make<arith::TruncIOp>(target, whole);
  auto bound = [&](bool high) {
    APInt value = toUnsigned ? (high ? APInt::getMaxValue(toBits) : APInt::getZero(toBits))
                             : (high ? APInt::getSignedMaxValue(toBits) : APInt::getSignedMinValue(toBits));
    TypedAttr attr = IntegerAttr::get(toScalarType(to), value);
    if (auto vector = dyn_cast<VectorType>(target))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return make<arith::ConstantOp>(attr);
  };
  whole = select(below, bound(false), whole);
  whole = select(above, bound(true), whole);
  return select(isNan, zeroLike(whole), whole);
}

} // namespace weft::ir
