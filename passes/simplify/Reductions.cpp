//===- Reductions.cpp - Rewrites of reductions ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/simplify/Rules.h"

#include "ir/Schedule.h"

using namespace mlir;

namespace weft::passes {

static ArrayRef<int64_t> reducedDims(Operation *op) {
  return cast<DenseI64ArrayAttr>(op->getAttr("dims")).asArrayRef();
}

static ir::Size countReduced(Operation *op) {
  ir::Size count = 1;
  for (int64_t dim : reducedDims(op))
    count *= ir::sizesOf(typeOf(op->getOperand(0)))[dim];
  return count;
}

// A sum starts from +0, so that the sum of -0 alone is +0.
static Value reduceNothing(Operation *op, PatternRewriter &rewriter) {
  if (!isa<ir::SumOp, ir::ProdOp, ir::RmaxOp, ir::RminOp, ir::AnyOp>(op) || !reducedDims(op).empty())
    return {};
  Value operand = op->getOperand(0);
  auto element = dyn_cast<FloatType>(typeOf(operand).getElementType());
  if (!isa<ir::SumOp>(op) || !element)
    return operand;
  Value zero = makeSplat(typeOf(operand), FloatAttr::get(element, 0.0), op->getLoc(), rewriter);
  return rewriter.create<ir::AddOp>(op->getLoc(), operand, zero);
}

// The largest of one element is that element. A sum of one element is not replaced, because it starts from
// +0, and so turns -0 into +0.
static Value extremeOfOne(Operation *op, PatternRewriter &rewriter) {
  if (!isa<ir::RmaxOp, ir::RminOp>(op) || reducedDims(op).empty() || countReduced(op) != 1)
    return {};
  return rewriter.create<ir::ReshapeOp>(op->getLoc(), op->getOperand(0),
                                        ir::sizesOf(typeOf(op->getResult(0))));
}

// Along one element, a running product is that element, or the identity if it is exclusive. A running sum of
// one element starts from +0, and so turns -0 into +0.
static Value scanOfOne(Operation *op, PatternRewriter &rewriter) {
  if (!ir::isScanOp(op))
    return {};
  auto type = typeOf(op->getResult(0));
  if (ir::sizesOf(type)[op->getAttrOfType<IntegerAttr>("dim").getInt()] != 1)
    return {};
  bool sum = isa<ir::CumsumOp>(op);
  if (!op->hasAttr("exclusive"))
    return !sum || isa<IntegerType>(type.getElementType()) ? op->getOperand(0) : Value();
  if (!isa<ir::CumsumOp, ir::CumprodOp>(op))
    return {};
  Attribute identity = isa<FloatType>(type.getElementType())
                           ? Attribute(rewriter.getFloatAttr(type.getElementType(), sum ? 0 : 1))
                           : Attribute(IntegerAttr::get(type.getElementType(), sum ? 0 : 1));
  return makeSplat(type, identity, op->getLoc(), rewriter);
}

// The position among one element is 0.
static Value argOfOne(Operation *op, PatternRewriter &rewriter) {
  if (!isa<ir::ArgmaxOp, ir::ArgminOp>(op) ||
      ir::sizesOf(typeOf(op->getOperand(0)))[op->getAttrOfType<IntegerAttr>("dim").getInt()] != 1)
    return {};
  return makeSplat(typeOf(op->getResult(0)), rewriter.getI64IntegerAttr(0), op->getLoc(), rewriter);
}

// The sum of N equal elements c is N c if, in every order of additions, the accumulator can represent all
// partial sums. That holds if N times the significand of c, as an integer without trailing zeros, fits its
// precision. It holds for integers, because sums and products wrap alike.
static Value sumSplat(Operation *op, PatternRewriter &rewriter) {
  if (!isa<ir::SumOp>(op))
    return {};
  Attribute splat = getSplat(op->getOperand(0));
  int64_t count = countReduced(op).number().value_or(0);
  if (count == 0) // the sum is +0, whatever the sign of c; or the count is not known
    return {};
  if (auto whole = dyn_cast_or_null<IntegerAttr>(splat)) {
    APInt product = whole.getValue() *
                    APInt(64, static_cast<uint64_t>(count)).zextOrTrunc(whole.getValue().getBitWidth());
    return makeSplat(typeOf(op->getResult(0)), IntegerAttr::get(whole.getType(), product), op->getLoc(),
                     rewriter);
  }
  auto real = dyn_cast_or_null<FloatAttr>(splat);
  if (!real || !real.getValue().isFinite() || (real.getValue().isZero() && real.getValue().isNegative()))
    return {};
  bool wide = real.getType().isF64();
  APFloat sum = real.getValue();
  bool lost = false;
  sum.convert(wide ? APFloat::IEEEdouble() : APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
  if (!sum.isZero()) {
    // Every partial sum is a multiple of c's significand without its trailing zeros.
    double value = wide ? sum.convertToDouble() : sum.convertToFloat();
    int exponent = 0;
    auto significand = static_cast<uint64_t>(std::ldexp(std::fabs(std::frexp(value, &exponent)), 53));
    significand >>= llvm::countr_zero(significand);
    uint64_t largest = 0;
    if (__builtin_mul_overflow(significand, static_cast<uint64_t>(count), &largest) ||
        largest > uint64_t(1) << (wide ? 53 : 24))
      return {};
    APFloat factor(sum.getSemantics());
    factor.convertFromAPInt(APInt(64, static_cast<uint64_t>(count)), false, APFloat::rmNearestTiesToEven);
    if (sum.multiply(factor, APFloat::rmNearestTiesToEven) != APFloat::opOK)
      return {};
  }
  sum.convert(cast<FloatType>(real.getType()).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
  return makeSplat(typeOf(op->getResult(0)), FloatAttr::get(real.getType(), sum), op->getLoc(), rewriter);
}

/// For a reduction over dimensions that a broadcast added: the same broadcast without these dimensions.
static Value unbroadcast(Operation *op, PatternRewriter &rewriter) {
  auto broadcast = op->getOperand(0).getDefiningOp<ir::BroadcastInDimOp>();
  if (!broadcast || reducedDims(op).empty())
    return {};
  ArrayRef<int64_t> reduced = reducedDims(op);
  if (llvm::any_of(broadcast.getDims(), [&](int64_t dim) { return llvm::is_contained(reduced, dim); }))
    return {};
  SmallVector<int64_t> dims;
  for (int64_t dim : broadcast.getDims())
    dims.push_back(dim - llvm::count_if(reduced, [&](int64_t gone) { return gone < dim; }));
  return rewriter.create<ir::BroadcastInDimOp>(op->getLoc(), broadcast.getA(), dims,
                                               ir::sizesOf(typeOf(op->getResult(0))));
}

// The largest of equal elements is each of them.
static Value extremeBroadcast(Operation *op, PatternRewriter &rewriter) {
  return isa<ir::RmaxOp, ir::RminOp>(op) ? unbroadcast(op, rewriter) : Value();
}

// The sum of N equal integers x is N x, because sums and products wrap alike. Floats would be rounded N - 1
// times.
static Value sumBroadcast(Operation *op, PatternRewriter &rewriter) {
  auto type = typeOf(op->getResult(0));
  if (!isa<ir::SumOp>(op) || !isa<IntegerType>(type.getElementType()))
    return {};
  ir::Size count = countReduced(op);
  Value value = unbroadcast(op, rewriter);
  if (!value)
    return {};
  if (!count.isNumber()) {
    auto scalar = ir::makeTensorType({}, rewriter.getI64Type(), ir::deviceOf(type));
    Value size = rewriter.create<ir::DimOp>(op->getLoc(), scalar, count);
    if (type.getElementType() != rewriter.getI64Type())
      size = rewriter.create<ir::ConvertOp>(op->getLoc(), size, type.getElementType());
    Value times = rewriter.create<ir::FullOp>(op->getLoc(), size, ir::sizesOf(type));
    return rewriter.create<ir::MulOp>(op->getLoc(), value, times);
  }
  APInt factor =
      APInt(64, static_cast<uint64_t>(count.asNumber())).zextOrTrunc(type.getElementTypeBitWidth());
  Value times = makeSplat(type, IntegerAttr::get(type.getElementType(), factor), op->getLoc(), rewriter);
  return rewriter.create<ir::MulOp>(op->getLoc(), value, times);
}

ArrayRef<Rule> getReductionRules() {
  using enum Exactness;
  static constexpr Rule rules[] = {
      {"arg-of-one", bitExact, argOfOne},
      {"extreme-broadcast", valueExact, extremeBroadcast},
      {"extreme-of-one", valueExact, extremeOfOne},
      {"reduce-nothing", valueExact, reduceNothing},
      {"scan-of-one", bitExact, scanOfOne},
      {"sum-broadcast", bitExact, sumBroadcast},
      {"sum-splat", bitExact, sumSplat},
  };
  return rules;
}

} // namespace weft::passes
