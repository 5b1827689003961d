//===- Reducer.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/Reducer.h"

#include "ir/Schedule.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
namespace weft::codegen {

Value combineValues(KernelBuilder &kernel, Combiner combiner, Value a, Value b, bool isUnsigned) {
  using K = arith::AtomicRMWKind;
  const bool real = isa<FloatType>(getElementTypeOrSelf(a.getType()));
  const K wholeMax = isUnsigned ? K::maxu : K::maxs, wholeMin = isUnsigned ? K::minu : K::mins;
  const K kind = combiner == Combiner::add   ? (real ? K::addf : K::addi)
                 : combiner == Combiner::mul ? (real ? K::mulf : K::muli)
                 : combiner == Combiner::max ? (real ? K::maximumf : wholeMax)
                                             : (real ? K::minimumf : wholeMin);
  return arith::getReductionOp(kind, kernel.builder, kernel.loc, a, b);
}

Attribute extremeIdentity(Type element, bool lowest, bool isUnsigned) {
  if (auto real = dyn_cast<FloatType>(element))
    return FloatAttr::get(real, APFloat::getInf(real.getFloatSemantics(), lowest));
  unsigned bits = element.getIntOrFloatBitWidth();
  APInt limit = isUnsigned ? (lowest ? APInt::getMinValue(bits) : APInt::getMaxValue(bits))
                           : (lowest ? APInt::getSignedMinValue(bits) : APInt::getSignedMaxValue(bits));
  return IntegerAttr::get(element, limit);
}

/// Whether a maximum m is used only in exp(x - m). Then the sign of a zero has no effect. Selecting the right
/// zero would cost as much as the maximum itself.
static bool feedsExpOnly(Operation *op) {
  auto all = [](Value value, auto test) { return llvm::all_of(value.getUses(), test); };
  auto isShift = [&](OpOperand &use) {
    return isa<ir::SubOp>(use.getOwner()) && use.getOperandNumber() == 1 &&
           all(use.getOwner()->getResult(0), [](OpOperand &next) { return isa<ir::ExpOp>(next.getOwner()); });
  };
  return isa<ir::RmaxOp>(op) && all(op->getResult(0), [&](OpOperand &use) {
           return isa<ir::BroadcastInDimOp>(use.getOwner()) ? all(use.getOwner()->getResult(0), isShift)
                                                            : isShift(use);
         });
}

Reducer::Reducer(KernelBuilder &kernel, Operation *op)
    : op(op), isArg(ir::isArgReduction(op)), kernel(kernel),
      element(getElementTypeOrSelf(op->getOperand(0).getType())), accumulator(ir::accumulatorType(element)),
      isFloat(isa<FloatType>(element)), isUnsigned(element.isUnsignedInteger() || element.isInteger(1)),
      isWelford(isa<ir::WelfordOp>(op)), ignoresZeroSign(isFloat && feedsExpOnly(op)),
      isEmpty(ir::elementsOf(op->getOperand(0).getType()) == 0) {
  ir::Size count = 1;
  for (int64_t dim : ir::reducedDims(op))
    count *= ir::sizesOf(op->getOperand(0).getType())[dim];
  mayBeEmpty = !count.isNumber() && !kernel.ranges.isAtLeast(count, 1);
  if (auto convert = op->getOperand(0).getDefiningOp<ir::ConvertOp>(); convert && isWelford) {
    Type from = getElementTypeOrSelf(convert.getA().getType());
    isWidened = accumulator.isF64() && isa<FloatType>(from) && !from.isF64();
  }
}

SmallVector<Type, 2> Reducer::types() const {
  SmallVector<Type, 2> types{accumulator};
  if (isArg)
    types.push_back(kernel.builder.getI64Type());
  if (isWelford)
    types.push_back(accumulator);
  return types;
}

Reducer::State Reducer::identity(int64_t lanes) {
  Attribute value;
  if (isa<ir::SumOp, ir::AnyOp, ir::WelfordOp>(op)) {
    value = kernel.builder.getZeroAttr(accumulator);
  } else if (isa<ir::ProdOp>(op)) {
    value = isFloat ? Attribute(kernel.builder.getFloatAttr(accumulator, 1.0))
                    : Attribute(kernel.builder.getIntegerAttr(accumulator, 1));
  } else {
    value = extremeIdentity(accumulator, !isa<ir::RminOp, ir::ArgminOp>(op), isUnsigned);
  }
  State state;
  auto add = [&](Type type, Attribute scalar, int64_t width) {
    auto attr = cast<TypedAttr>(scalar);
    if (width > 1)
      attr = DenseElementsAttr::get(VectorType::get({width}, type), scalar);
    state.push_back(kernel.create<arith::ConstantOp>(attr));
  };
  add(accumulator, value, lanes);
  if (isArg)
    add(kernel.builder.getI64Type(), kernel.builder.getI64IntegerAttr(INT64_MAX), lanes);
  if (isWelford) {
    add(accumulator, value, lanes);
    add(accumulator, value, 1);
  }
  return state;
}

Reducer::State Reducer::lift(Value value, Value position) {
  if (accumulator != ir::toScalarType(element))
    value = kernel.create<arith::ExtFOp>(ir::withElement(value.getType(), accumulator), value);
  State state{value};
  if (isArg)
    state.push_back(position);
  if (isWelford) {
    ir::ScalarEmitter k(kernel.builder, kernel.loc, op);
    state.push_back(k.zeroLike(value));
    state.push_back(kernel.create<arith::ConstantOp>(kernel.builder.getFloatAttr(accumulator, 1.0)));
  }
  return state;
}

Reducer::State Reducer::restore(State perLane, Value count) {
  if (isWelford) {
    // Constants where they can be: `combineMoments` asks.
    OpBuilder &folder = kernel.builder;
    Value whole = folder.createOrFold<arith::IndexCastOp>(kernel.loc, folder.getI64Type(), count);
    perLane.push_back(folder.createOrFold<arith::SIToFPOp>(kernel.loc, accumulator, whole));
  }
  return perLane;
}

static Value spread(KernelBuilder &kernel, Value scalar, Type like) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? kernel.create<vector::BroadcastOp>(vector, scalar).getResult() : scalar;
}

/// Whether a value is a constant, or a vector of constants, `number`.
static bool isNumber(Value value, double number) {
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    value = broadcast.getSource();
  APFloat found(0.0);
  return matchPattern(value, m_ConstantFloat(&found)) && found.isExactlyValue(number);
}

/// The sum of squares of two sides with as many elements each, whose means differ by `delta`, where products
/// with powers of two are exact: in fewer operations, of which fewer are additions.
static Value combineEqualSides(ir::ScalarEmitter &k, Value a, Value b, Value delta, Value weight) {
  Value square = k.make<arith::MulFOp>(delta, delta);
  if (isNumber(a, 0) && isNumber(b, 0))
    return k.make<arith::MulFOp>(square, weight);
  auto x = a.getDefiningOp<arith::MulFOp>(), y = b.getDefiningOp<arith::MulFOp>();
  if (isNumber(weight, 1) && x && y && isNumber(x.getRhs(), 0.5) && isNumber(y.getRhs(), 0.5))
    return k.make<math::FmaOp>(k.make<arith::AddFOp>(x.getLhs(), y.getLhs()), x.getRhs(), square);
  return k.make<math::FmaOp>(square, weight, k.make<arith::AddFOp>(a, b));
}

/// Combines two means and sums of squares (Chan, Golub, LeVeque 1983). A side without elements leaves the
/// other unchanged, if its mean is finite or `combinesEmpty` is set.
Reducer::State Reducer::combineMoments(const State &a, const State &b) {
  ir::ScalarEmitter k(kernel.builder, kernel.loc, op);
  auto add = [&](Value x, Value y) -> Value { return k.make<arith::AddFOp>(x, y); };
  auto mul = [&](Value x, Value y) -> Value { return k.make<arith::MulFOp>(x, y); };
  // Of elements and of what they are combined to the counts are constants.
  OpBuilder &folder = kernel.builder;
  Value count = folder.createOrFold<arith::AddFOp>(kernel.loc, a[2], b[2]);
  Value most = folder.createOrFold<arith::MaximumFOp>(kernel.loc, count, k.constantLike(count, 1));
  Value share = folder.createOrFold<arith::DivFOp>(kernel.loc, b[2], most);
  Value factor = folder.createOrFold<arith::MulFOp>(kernel.loc, a[2], share);
  Type type = a[0].getType();
  Value delta = k.make<arith::SubFOp>(b[0], a[0]);
  Value shares = spread(kernel, share, type), weight = spread(kernel, factor, type);
  // What was narrower than f64 has neither differences nor squares beyond its normal numbers.
  if (isWidened && isNumber(share, 0.5))
    return {k.make<math::FmaOp>(delta, shares, a[0]), combineEqualSides(k, a[1], b[1], delta, weight), count};
  Value mean = add(a[0], mul(delta, shares));
  Value between = mul(mul(delta, weight), delta);
  // Squares are no negative zeros: to those of a single element nothing is added.
  Value within = isNumber(b[1], 0) ? a[1] : add(a[1], b[1]);
  State both{mean, add(within, between), count};
  if (isWidened && hasEqualSides) {
    // Their means are the same: half a difference is exact.
    Value equal = combineEqualSides(k, a[1], b[1], delta, weight);
    both[1] = kernel.create<arith::SelectOp>(hasEqualSides, equal, both[1]);
  }
  if (!combinesEmpty)
    return both;
  // Select, because in the arithmetic above infinity times a count of 0 is NaN.
  Value zero = k.zeroLike(count);
  Value noA = k.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, a[2], zero);
  Value noB = k.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, b[2], zero);
  for (int i : {0, 1})
    both[i] = kernel.create<arith::SelectOp>(noB, a[i],
                                             kernel.create<arith::SelectOp>(noA, b[i], both[i]).getResult());
  return both;
}

Reducer::State Reducer::accumulate(const State &state, Value value, Value position) {
  if (!isWelford)
    return combine(state, lift(value, position));
  // Welford's update: the product of the element's differences from the old and from the new mean is added.
  ir::ScalarEmitter k(kernel.builder, kernel.loc, op);
  if (accumulator != ir::toScalarType(element))
    value = kernel.create<arith::ExtFOp>(ir::withElement(value.getType(), accumulator), value);
  Value one = k.constantLike(state[2], 1);
  Value count = k.make<arith::AddFOp>(state[2], one);
  Value share = spread(kernel, k.make<arith::DivFOp>(one, count), value.getType());
  Value delta = k.make<arith::SubFOp>(value, state[0]);
  Value mean = k.make<arith::AddFOp>(state[0], k.make<arith::MulFOp>(delta, share));
  Value square = k.make<arith::MulFOp>(delta, k.make<arith::SubFOp>(value, mean));
  return {mean, k.make<arith::AddFOp>(state[1], square), count};
}

Reducer::State Reducer::combine(const State &a, const State &b) {
  ir::ScalarEmitter k(kernel.builder, kernel.loc, op);
  if (isWelford)
    return combineMoments(a, b);
  if (isa<ir::AnyOp>(op))
    return {k.make<arith::OrIOp>(a[0], b[0])};
  if (ignoresZeroSign) {
    auto flags = arith::FastMathFlagsAttr::get(kernel.builder.getContext(), arith::FastMathFlags::nsz);
    return {k.make<arith::MaximumFOp>(a[0], b[0], flags)};
  }
  if (!isArg)
    return {combineValues(kernel,
                          isa<ir::SumOp>(op)    ? Combiner::add
                          : isa<ir::ProdOp>(op) ? Combiner::mul
                          : isa<ir::RmaxOp>(op) ? Combiner::max
                                                : Combiner::min,
                          a[0], b[0], isUnsigned)};
  // argmax, argmin: take the larger (smaller) value, a NaN before all numbers, and the first of equal values.
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  bool largest = isa<ir::ArgmaxOp>(op);
  Value better, tie;
  if (isFloat) {
    Value nanA = k.make<arith::CmpFOp>(F::UNO, a[0], a[0]), nanB = k.make<arith::CmpFOp>(F::UNO, b[0], b[0]);
    Value beyond = k.make<arith::CmpFOp>(largest ? F::OGT : F::OLT, b[0], a[0]),
          equal = k.make<arith::CmpFOp>(F::OEQ, b[0], a[0]);
    Value ordered = k.make<arith::XOrIOp>(nanA, k.constantLike(nanA, -1));
    better =
        k.make<arith::OrIOp>(k.make<arith::AndIOp>(beyond, ordered), k.make<arith::AndIOp>(nanB, ordered));
    tie = k.make<arith::OrIOp>(equal, k.make<arith::AndIOp>(nanA, nanB));
  } else {
    I beyond = isUnsigned ? (largest ? I::ugt : I::ult) : (largest ? I::sgt : I::slt);
    better = k.make<arith::CmpIOp>(beyond, b[0], a[0]);
    tie = k.make<arith::CmpIOp>(I::eq, b[0], a[0]);
  }
  Value earlier = k.make<arith::CmpIOp>(I::slt, b[1], a[1]);
  Value take = k.make<arith::OrIOp>(better, k.make<arith::AndIOp>(tie, earlier));
  return {k.select(take, b[0], a[0]), k.select(take, b[1], a[1])};
}

Reducer::State Reducer::fold(State state) {
  return kernel.mapping.reduce(kernel, std::move(state),
                               [&](const State &a, const State &b) { return combine(a, b); });
}

SmallVector<Value, 2> Reducer::finish(const State &state) {
  if (isArg)
    return {state[1]};
  if (isWelford) {
    // If an element is infinite, the mean is not finite, and the sum of squares may be infinite instead of
    // NaN, depending on where the infinity was merged. Adding mean - mean, which is NaN then, makes the
    // result NaN in every case.
    ir::ScalarEmitter k(kernel.builder, kernel.loc, op);
    Value invalid = k.make<arith::SubFOp>(state[0], state[0]);
    Value mean = k.make<arith::AddFOp>(state[0], invalid), m2 = k.make<arith::AddFOp>(state[1], invalid);
    if (isEmpty || mayBeEmpty) {
      auto real = cast<FloatType>(accumulator);
      auto attr = FloatAttr::get(real, APFloat::getNaN(real.getFloatSemantics()));
      Value nan = spread(kernel, kernel.create<arith::ConstantOp>(attr), mean.getType());
      if (mayBeEmpty) {
        Value none = k.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, state[2], k.zeroLike(state[2]));
        nan = kernel.create<arith::SelectOp>(none, nan, mean);
      }
      mean = nan;
    }
    return {mean, m2};
  }
  Type type = ir::toScalarType(element);
  if (type == accumulator)
    return {state[0]};
  return {kernel.create<arith::TruncFOp>(ir::withElement(state[0].getType(), type), state[0])};
}

} // namespace weft::codegen
