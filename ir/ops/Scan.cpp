//===- Scan.cpp - Running sums, products and extremes ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Common.h"

using namespace mlir;
namespace weft::ir {

template <typename Op> static LogicalResult verifyScan(Op op) {
  auto dim = static_cast<int64_t>(op.getDim()), rank = op.getA().getType().getRank();
  if (dim < 0 || dim >= rank)
    return op.emitOpError() << "runs along dimension " << dim << ", expected one in [0, " << rank
                            << "), the operand's rank";
  return success();
}

#define WEFT_SCAN_COMMON(Op)                                                                                 \
  LogicalResult Op::verify() { return verifyScan(*this); }                                                   \
  LogicalResult Op::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,            \
                                     DictionaryAttr, OpaqueProperties, RegionRange,                          \
                                     SmallVectorImpl<Type> &types) {                                         \
    types.push_back(operands[0].getType());                                                                  \
    return success();                                                                                        \
  }
WEFT_SCAN_COMMON(CumsumOp)
WEFT_SCAN_COMMON(CumprodOp)
WEFT_SCAN_COMMON(CummaxOp)
WEFT_SCAN_COMMON(CumminOp)

/// Each element's gradient is the sum of the cotangents of the results that it is part of: a scan from the
/// other end.
LogicalResult CumsumOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.make<CumsumOp>(vjp.cotangent(0).value, static_cast<int64_t>(getDim()), !getReverse(),
                                  getExclusive()));
  return success();
}

/// For an element that is not 0: the products that contain it, divided by it. For the first zero: the
/// products with 1 in its place. Elements behind it get no gradient, because every product contains that
/// zero; but their gradients have a derivative with respect to it, so that a second zero is treated as the
/// first one is. The derivative of this derivative is right whatever is 0.
LogicalResult CumprodOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  Sym a = vjp.operand(0);
  auto dim = static_cast<int64_t>(getDim());
  Type element = a.type().getElementType(), wideType = statisticsType(a.type());
  Sym wide = vjp.convert(a, wideType), g = vjp.convert(vjp.cotangent(0), wideType);
  auto back = [&](Sym value) { return vjp.make<CumsumOp>(value.value, dim, !getReverse(), getExclusive()); };
  auto products = [&](Sym value) {
    return vjp.make<CumprodOp>(value.value, dim, getReverse(), getExclusive());
  };
  Sym isZero = vjp.compare<EqOp>(wide, vjp.like(wide, 0.0));
  Type i64 = IntegerType::get(element.getContext(), 64);
  Sym zeros = vjp.make<CumsumOp>(vjp.convert(isZero, i64).value, dim, getReverse(), /*exclusive=*/false);
  Sym one = vjp.like(wide, 1.0), none = vjp.like(wide, 0.0);
  auto isZeroOf = [&](double number) {
    return vjp.binary<AndOp>(isZero, vjp.compare<EqOp>(zeros, vjp.like(zeros, number)));
  };
  auto withOneAt = [&](Sym place) { return back(g * products(vjp.select(place, one, wide))); };
  Sym isFirst = isZeroOf(1.0), isSecond = isZeroOf(2.0);
  // A zero is not used as a divisor; 1 takes its place, so that no NaN arises.
  Sym plain = back(g * products(wide)) / vjp.select(isZero, one, wide);
  Sym atSecond = vjp.select(isSecond, withOneAt(isSecond), none);
  Sym atZero = vjp.select(isFirst, withOneAt(isFirst), atSecond);
  // Every product behind a zero contains it, also one that is not finite.
  Sym isFinite = vjp.compare<EqOp>(plain - plain, none);
  Sym isBefore = vjp.compare<EqOp>(zeros, vjp.like(zeros, 0.0));
  plain = vjp.select(vjp.binary<OrOp>(isFinite, isBefore), plain, none);
  Sym gradient = vjp.select(isZero, atZero, plain);
  vjp.set(0, vjp.convert(gradient, element));
  return success();
}

/// The cotangent of a result goes to the last of the elements so far that are equal to it, or that are NaN.
/// The place of that one is a running maximum of places.
template <typename Op> static LogicalResult buildExtremeVjp(Op op, VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  Sym a = vjp.operand(0);
  auto dim = static_cast<int64_t>(op.getDim());
  Type i64 = IntegerType::get(op.getContext(), 64);
  Sym extremes =
      op.getExclusive() ? vjp.make<Op>(a.value, dim, op.getReverse(), /*exclusive=*/false) : vjp.result(0);
  Sym isHere = vjp.compare<EqOp>(a, extremes);
  if (isa<FloatType>(a.type().getElementType()))
    isHere = vjp.binary<OrOp>(isHere, vjp.unary<IsNanOp>(a));
  Sym at = vjp.make<IotaOp>(withShape(a.type(), sizesOf(a.type()), i64), dim);
  Sym last = countLike(vjp, at, sizesOf(a.type()), {dim}) - 1.0;
  if (op.getReverse())
    at = last - at;
  Sym place = vjp.select(isHere, at, vjp.like(at, -1.0));
  place = vjp.make<CummaxOp>(place.value, dim, op.getReverse(), op.getExclusive());
  Sym g = vjp.cotangent(0);
  // The first result of an exclusive scan came from no element.
  Sym isNone = vjp.compare<LtOp>(place, vjp.like(place, 0.0));
  g = vjp.select(isNone, vjp.like(g, 0.0), g);
  place = vjp.select(isNone, vjp.like(place, 0.0), place);
  if (op.getReverse())
    place = last - place;
  vjp.set(0, vjp.make<ScatterOp>(vjp.like(a, 0.0).value, place.value, g.value, dim, ScatterKind::add,
                                 IndexMode::assume));
  return success();
}

LogicalResult CummaxOp::buildVjp(VjpBuilder &vjp) { return buildExtremeVjp(*this, vjp); }
LogicalResult CumminOp::buildVjp(VjpBuilder &vjp) { return buildExtremeVjp(*this, vjp); }

} // namespace weft::ir
