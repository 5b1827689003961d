//===- Fast.cpp - Rewrites within a bound ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// These rules change bits, so they apply only to functions with fast numerics. docs/numerics.md gives the
// bound of each rule of the table.
//
//===----------------------------------------------------------------------===//
#include "passes/simplify/Rules.h"

using namespace mlir;

namespace weft::passes {

// x / c is x * (1 / c) within 1.5 units in the last place: rounding 1 / c moves the quotient by at most one
// unit, and rounding the product by half a unit. f16 and bf16 are left alone because their units are large,
// and subnormal c or 1 / c because subnormal numbers have fewer digits.
static Value divideByConstant(Operation *op, PatternRewriter &rewriter) {
  auto type = isa<ir::DivOp>(op) ? typeOf(op->getResult(0)) : RankedTensorType();
  if (!type || (!type.getElementType().isF32() && !type.getElementType().isF64()))
    return {};
  auto divisor = dyn_cast_or_null<FloatAttr>(getSplat(op->getOperand(1)));
  if (!divisor || !divisor.getValue().isNormal())
    return {};
  APFloat reciprocal(divisor.getValue().getSemantics(), 1);
  reciprocal.divide(divisor.getValue(), APFloat::rmNearestTiesToEven);
  if (!reciprocal.isNormal())
    return {};
  Value factor = makeSplat(type, FloatAttr::get(type.getElementType(), reciprocal), op->getLoc(), rewriter);
  return rewriter.create<ir::MulOp>(op->getLoc(), op->getOperand(0), factor);
}

ArrayRef<Rule> getFastRules() {
  static constexpr Rule rules[] = {
      {"div-by-constant", Exactness::bounded, divideByConstant},
  };
  return rules;
}

} // namespace weft::passes
