//===- Algebra.cpp - Rewrites of elementwise ops --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/simplify/Rules.h"

using namespace mlir;

namespace weft::passes {

Attribute getSplat(Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  return splat ? splat.getSplatValue<Attribute>() : Attribute();
}

Value makeSplat(RankedTensorType type, Attribute element, Location loc, PatternRewriter &rewriter) {
  return rewriter.create<ir::ConstantOp>(loc, type, ir::splatOf(type, element));
}

static bool isInteger(Value value, int64_t number) {
  auto splat = dyn_cast_or_null<IntegerAttr>(getSplat(value));
  if (!splat)
    return false;
  const APInt &bits = splat.getValue();
  return number == -1 ? bits.isAllOnes() : bits == static_cast<uint64_t>(number);
}

static bool isOne(Value value) {
  auto real = dyn_cast_or_null<FloatAttr>(getSplat(value));
  return real ? real.getValue().isExactlyValue(1.0) : isInteger(value, 1);
}

/// Whether `value` is zero with the given sign; for integers, zero.
static bool isZero(Value value, bool negative) {
  auto real = dyn_cast_or_null<FloatAttr>(getSplat(value));
  return real ? real.getValue().isZero() && real.getValue().isNegative() == negative : isInteger(value, 0);
}

/// For a commutative op: the operand beside the one that `test` accepts.
template <typename Test> static Value otherOperand(Operation *op, Test test) {
  for (unsigned i : {1u, 0u})
    if (test(op->getOperand(i)))
      return op->getOperand(1 - i);
  return {};
}

// x + (-0) is x for every x, also for -0. x + (+0) is not replaced, because it turns -0 into +0.
static Value addZero(Operation *op, PatternRewriter &) {
  return isa<ir::AddOp>(op) ? otherOperand(op, [](Value v) { return isZero(v, /*negative=*/true); })
                            : Value();
}

// x - (+0) is x for every x. x - (-0) is not replaced, because it turns -0 into +0.
static Value subZero(Operation *op, PatternRewriter &) {
  return isa<ir::SubOp>(op) && isZero(op->getOperand(1), /*negative=*/false) ? op->getOperand(0) : Value();
}

static Value mulOne(Operation *op, PatternRewriter &) {
  return isa<ir::MulOp>(op) ? otherOperand(op, isOne) : Value();
}

// x * 0 is 0 for integers. For floats, the result depends on NaN, infinity and the sign of x.
static Value mulIntegerZero(Operation *op, PatternRewriter &rewriter) {
  if (!isa<ir::MulOp>(op) || !isa<IntegerType>(typeOf(op->getResult(0)).getElementType()))
    return {};
  for (Value operand : op->getOperands())
    if (isInteger(operand, 0))
      return operand;
  return {};
}

static Value divOne(Operation *op, PatternRewriter &) {
  return isa<ir::DivOp>(op) && isOne(op->getOperand(1)) ? op->getOperand(0) : Value();
}

static Value negNeg(Operation *op, PatternRewriter &) {
  if (!isa<ir::NegOp>(op))
    return {};
  auto inner = op->getOperand(0).getDefiningOp<ir::NegOp>();
  return inner ? inner.getA() : Value();
}

static Value bnotBnot(Operation *op, PatternRewriter &) {
  if (!isa<ir::BnotOp>(op))
    return {};
  auto inner = op->getOperand(0).getDefiningOp<ir::BnotOp>();
  return inner ? inner.getA() : Value();
}

static Value andOnes(Operation *op, PatternRewriter &) {
  return isa<ir::AndOp>(op) ? otherOperand(op, [](Value v) { return isInteger(v, -1); }) : Value();
}

static Value orZero(Operation *op, PatternRewriter &) {
  return isa<ir::OrOp, ir::XorOp>(op) ? otherOperand(op, [](Value v) { return isInteger(v, 0); }) : Value();
}

static Value selectConstant(Operation *op, PatternRewriter &) {
  auto select = dyn_cast<ir::SelectOp>(op);
  auto condition = select ? dyn_cast_or_null<IntegerAttr>(getSplat(select.getCondition())) : IntegerAttr();
  if (!condition)
    return {};
  return condition.getValue().isZero() ? select.getC() : select.getB();
}

static Value selectSame(Operation *op, PatternRewriter &) {
  auto select = dyn_cast<ir::SelectOp>(op);
  return select && select.getB() == select.getC() ? select.getB() : Value();
}

static Value convertSame(Operation *op, PatternRewriter &) {
  auto convert = dyn_cast<ir::ConvertOp>(op);
  return convert && convert.getA().getType() == convert.getType() ? convert.getA() : Value();
}

/// Whether `to` can represent every value of `from`.
static bool holds(Type to, Type from) {
  auto bits = [](Type type) { return static_cast<int>(type.getIntOrFloatBitWidth()); };
  auto precision = [](Type type) { return static_cast<int>(cast<FloatType>(type).getFPMantissaWidth()); };
  if (to == from)
    return true;
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (isa<FloatType>(from)) {
    if (!isa<FloatType>(to))
      return false;
    // f16 and bf16 cannot represent each other's values; f32 and f64 can represent both.
    return bits(to) > bits(from);
  }
  if (isa<FloatType>(to))
    return (fromUnsigned ? bits(from) : bits(from) - 1) <= precision(to);
  if (to.isInteger(1))
    return false;
  if (fromUnsigned)
    return to.isUnsignedInteger() ? bits(to) >= bits(from) : bits(to) > bits(from);
  return !to.isUnsignedInteger() && bits(to) >= bits(from);
}

// A -> B -> C becomes A -> C if B can represent every value of A. Two cases are left alone: integer to float
// to integer, where one conversion saturates and the other wraps; and conversions to f16 or bf16 from a type
// whose values are not exact in f32, through which the conversion goes.
static Value convertConvert(Operation *op, PatternRewriter &rewriter) {
  auto outer = dyn_cast<ir::ConvertOp>(op);
  auto inner = outer ? outer.getA().getDefiningOp<ir::ConvertOp>() : ir::ConvertOp();
  if (!inner)
    return {};
  Type a = typeOf(inner.getA()).getElementType(), b = inner.getTo(), c = outer.getTo();
  if (!holds(b, a))
    return {};
  if (c == a)
    return inner.getA();
  if (isa<IntegerType>(a) && isa<FloatType>(b) && isa<IntegerType>(c))
    return {};
  if (isa<IntegerType>(a) && b.isF64() && (c.isF16() || c.isBF16()) && !holds(rewriter.getF32Type(), a))
    return {};
  return rewriter.create<ir::ConvertOp>(op->getLoc(), inner.getA(), c);
}

// x^0 is 1 and x^1 is x, also for NaN.
static Value powZero(Operation *op, PatternRewriter &rewriter) {
  if (!isa<ir::PowOp>(op))
    return {};
  Value exponent = op->getOperand(1);
  if (!isZero(exponent, /*negative=*/false) && !isZero(exponent, /*negative=*/true))
    return {};
  auto type = typeOf(op->getResult(0));
  bool isReal = isa<FloatType>(type.getElementType());
  Attribute one = isReal ? Attribute(rewriter.getFloatAttr(type.getElementType(), 1.0))
                         : Attribute(rewriter.getIntegerAttr(type.getElementType(), 1));
  return makeSplat(type, one, op->getLoc(), rewriter);
}

static Value powOne(Operation *op, PatternRewriter &) {
  return isa<ir::PowOp>(op) && isOne(op->getOperand(1)) ? op->getOperand(0) : Value();
}

/// Whether the op is a power of floats with exponent `number` whose reference is correctly rounded. The
/// reference computes powers in f64, so this excludes f64, where the C library's power may be off by one ulp.
static bool isRealPower(Operation *op, double number) {
  auto real = isa<ir::PowOp>(op) ? dyn_cast_or_null<FloatAttr>(getSplat(op->getOperand(1))) : FloatAttr();
  return real && !real.getType().isF64() && real.getValueAsDouble() == number;
}

// x * x is x^2 rounded once. A cube would be rounded twice, except for integers, which wrap. sqrt(x) does not
// replace x^0.5, because they differ at -0 and -inf; the frontend uses it where PyTorch does.
static Value powTwo(Operation *op, PatternRewriter &rewriter) {
  if (!isRealPower(op, 2) && !(isa<ir::PowOp>(op) && isInteger(op->getOperand(1), 2)))
    return {};
  return rewriter.create<ir::MulOp>(op->getLoc(), op->getOperand(0), op->getOperand(0));
}

// 1 / x is x^-1 rounded once, with the same infinities at +0 and -0.
static Value powMinusOne(Operation *op, PatternRewriter &rewriter) {
  return isRealPower(op, -1) ? rewriter.create<ir::RecipOp>(op->getLoc(), op->getOperand(0)).getResult()
                             : Value();
}

static Value powIntegerThree(Operation *op, PatternRewriter &rewriter) {
  if (!isa<ir::PowOp>(op) || !isInteger(op->getOperand(1), 3))
    return {};
  Value x = op->getOperand(0);
  return rewriter.create<ir::MulOp>(op->getLoc(), rewriter.create<ir::MulOp>(op->getLoc(), x, x), x);
}

// The remainder of an integer by 1 or -1 is 0. Not for floats, which have fractions, NaN and infinity.
static Value remainderByUnit(Operation *op, PatternRewriter &rewriter) {
  if (!isa<ir::RemOp, ir::ModOp>(op))
    return {};
  auto type = dyn_cast<IntegerType>(typeOf(op->getResult(0)).getElementType());
  Value divisor = op->getOperand(1);
  if (!type || (!isInteger(divisor, 1) && (type.isUnsigned() || !isInteger(divisor, -1))))
    return {};
  return makeSplat(typeOf(op->getResult(0)), rewriter.getIntegerAttr(type, 0), op->getLoc(), rewriter);
}

// full of a constant is a constant.
static Value fullConstant(Operation *op, PatternRewriter &rewriter) {
  auto full = dyn_cast<ir::FullOp>(op);
  Attribute element = full ? getSplat(full.getValue()) : Attribute();
  return element ? makeSplat(full.getType(), element, op->getLoc(), rewriter) : Value();
}

ArrayRef<Rule> getAlgebraRules() {
  using enum Exactness;
  static constexpr Rule rules[] = {
      {"add-zero", valueExact, addZero},
      {"and-ones", bitExact, andOnes},
      {"bnot-bnot", bitExact, bnotBnot},
      {"convert-convert", valueExact, convertConvert},
      {"convert-same", bitExact, convertSame},
      {"div-one", valueExact, divOne},
      {"full-constant", bitExact, fullConstant},
      {"mul-integer-zero", bitExact, mulIntegerZero},
      {"mul-one", valueExact, mulOne},
      {"neg-neg", bitExact, negNeg},
      {"or-zero", bitExact, orZero},
      {"pow-integer-three", bitExact, powIntegerThree},
      {"pow-minus-one", valueExact, powMinusOne},
      {"pow-one", valueExact, powOne},
      {"pow-two", valueExact, powTwo},
      {"pow-zero", bitExact, powZero},
      {"remainder-by-unit", bitExact, remainderByUnit},
      {"select-constant", bitExact, selectConstant},
      {"select-same", bitExact, selectSame},
      {"sub-zero", valueExact, subZero},
  };
  return rules;
}

} // namespace weft::passes
