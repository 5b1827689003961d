//===- Reducer.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/Reducer.h"

#include "ir/Schedule.h"

using namespace mlir;
namespace weft::codegen {

Reducer::Reducer(KernelBuilder &kernel, Operation *op)
    : op(op), isArg(isa<ir::ArgmaxOp>(op)), kernel(kernel),
      element(getElementTypeOrSelf(op->getOperand(0).getType())), accumulator(ir::accumulatorType(element)),
      isFloat(isa<FloatType>(element)), isUnsigned(element.isUnsignedInteger() || element.isInteger(1)) {}

SmallVector<Type, 2> Reducer::types() const {
  SmallVector<Type, 2> types{accumulator};
  if (isArg)
    types.push_back(kernel.builder.getI64Type());
  return types;
}

Reducer::State Reducer::identity(int64_t lanes) {
  Attribute value;
  if (isa<ir::SumOp>(op)) {
    value = kernel.builder.getZeroAttr(accumulator);
  } else {
    bool lowest = !isa<ir::RminOp>(op);
    if (auto real = dyn_cast<FloatType>(accumulator)) {
      value = FloatAttr::get(real, APFloat::getInf(real.getFloatSemantics(), lowest));
    } else {
      unsigned bits = accumulator.getIntOrFloatBitWidth();
      APInt limit = isUnsigned ? (lowest ? APInt::getMinValue(bits) : APInt::getMaxValue(bits))
                               : (lowest ? APInt::getSignedMinValue(bits) : APInt::getSignedMaxValue(bits));
      value = IntegerAttr::get(accumulator, limit);
    }
  }
  State state;
  auto add = [&](Type type, Attribute scalar) {
    auto attr = cast<TypedAttr>(scalar);
    if (lanes > 1)
      attr = DenseElementsAttr::get(VectorType::get({lanes}, type), scalar);
    state.push_back(kernel.create<arith::ConstantOp>(attr));
  };
  add(accumulator, value);
  if (isArg)
    add(kernel.builder.getI64Type(), kernel.builder.getI64IntegerAttr(INT64_MAX));
  return state;
}

Reducer::State Reducer::lift(Value value, Value position) {
  if (accumulator != ir::toScalarType(element))
    value = kernel.create<arith::ExtFOp>(ir::withElement(value.getType(), accumulator), value);
  State state{value};
  if (isArg)
    state.push_back(position);
  return state;
}

Reducer::State Reducer::combine(const State &a, const State &b) {
  ir::ScalarEmitter k(kernel.builder, kernel.loc, op);
  if (isa<ir::SumOp>(op))
    return {isFloat ? k.make<arith::AddFOp>(a[0], b[0]) : k.make<arith::AddIOp>(a[0], b[0])};
  if (isa<ir::RmaxOp>(op))
    return {isFloat      ? k.make<arith::MaximumFOp>(a[0], b[0])
            : isUnsigned ? k.make<arith::MaxUIOp>(a[0], b[0])
                         : k.make<arith::MaxSIOp>(a[0], b[0])};
  if (isa<ir::RminOp>(op))
    return {isFloat      ? k.make<arith::MinimumFOp>(a[0], b[0])
            : isUnsigned ? k.make<arith::MinUIOp>(a[0], b[0])
                         : k.make<arith::MinSIOp>(a[0], b[0])};
  // argmax: the larger, a NaN before all numbers, the first of equals.
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  Value better, tie;
  if (isFloat) {
    Value nanA = k.make<arith::CmpFOp>(F::UNO, a[0], a[0]), nanB = k.make<arith::CmpFOp>(F::UNO, b[0], b[0]);
    Value larger = k.make<arith::CmpFOp>(F::OGT, b[0], a[0]),
          equal = k.make<arith::CmpFOp>(F::OEQ, b[0], a[0]);
    Value ordered = k.make<arith::XOrIOp>(nanA, k.constantLike(nanA, -1));
    better =
        k.make<arith::OrIOp>(k.make<arith::AndIOp>(larger, ordered), k.make<arith::AndIOp>(nanB, ordered));
    tie = k.make<arith::OrIOp>(equal, k.make<arith::AndIOp>(nanA, nanB));
  } else {
    better = k.make<arith::CmpIOp>(isUnsigned ? I::ugt : I::sgt, b[0], a[0]);
    tie = k.make<arith::CmpIOp>(I::eq, b[0], a[0]);
  }
  Value earlier = k.make<arith::CmpIOp>(I::slt, b[1], a[1]);
  Value take = k.make<arith::OrIOp>(better, k.make<arith::AndIOp>(tie, earlier));
  return {k.select(take, b[0], a[0]), k.select(take, b[1], a[1])};
}

Reducer::State Reducer::fold(State state) {
  for (int64_t width = cast<VectorType>(state[0].getType()).getDimSize(0); width > 1; width /= 2) {
    State low, high;
    for (Value value : state) {
      low.push_back(kernel.create<vector::ExtractStridedSliceOp>(
          value, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{width / 2}, ArrayRef<int64_t>{1}));
      high.push_back(kernel.create<vector::ExtractStridedSliceOp>(
          value, ArrayRef<int64_t>{width / 2}, ArrayRef<int64_t>{width / 2}, ArrayRef<int64_t>{1}));
    }
    state = combine(low, high);
  }
  State scalar;
  for (Value value : state)
    scalar.push_back(kernel.create<vector::ExtractOp>(value, int64_t(0)));
  return scalar;
}

Value Reducer::finish(const State &state) {
  if (isArg)
    return state[1];
  Type type = ir::toScalarType(element);
  if (type == accumulator)
    return state[0];
  return kernel.create<arith::TruncFOp>(ir::withElement(state[0].getType(), type), state[0]);
}

} // namespace weft::codegen
