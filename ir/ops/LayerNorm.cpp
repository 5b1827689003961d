//===- LayerNorm.cpp - layer_norm -----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Common.h"

#include <cmath>

using namespace mlir;
namespace weft::ir {

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                            DictionaryAttr attributes, OpaqueProperties properties,
                                            RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  auto axis = static_cast<int64_t>(op.getAxis());
  if (axis < 0 || axis >= from.getRank())
    return emitOptionalError(loc, "'weft.layer_norm' op normalises from dimension ", axis,
                             " on, expected one in [0, ", from.getRank(), "), the operand's rank");
  types.push_back(from);
  types.append(2, withShape(from, sizesOf(from).take_front(axis), statisticsType(from)));
  return success();
}

LogicalResult LayerNormOp::verify() {
  auto type = getA().getType();
  ArrayRef<Size> inner = sizesOf(type).drop_front(static_cast<int64_t>(getAxis()));
  auto check = [&](StringRef what, Value value) -> LogicalResult {
    if (!value)
      return success();
    auto found = cast<RankedTensorType>(value.getType());
    if (sizesOf(found) != inner)
      return emitOpError() << "needs its " << what << " of the shape of the normalised dimensions, ["
                           << sizesText(inner) << "], found [" << sizesText(sizesOf(found)) << "]";
    if (found.getElementType() != type.getElementType() && found.getElementType() != statisticsType(type))
      return emitOpError() << "needs its " << what << " of " << type.getElementType()
                           << ", the operand's element type, or of " << statisticsType(type) << ", found "
                           << found.getElementType();
    return success();
  };
  if (failed(check("weight", getWeight())) || failed(check("bias", getBias())))
    return failure();
  double eps = getEps().convertToDouble();
  if (!std::isfinite(eps))
    return emitOpError() << "needs a finite eps, found " << eps;
  return success();
}

namespace {

/// The dimensions that are normalised over, and those before them.
struct Dims {
  SmallVector<int64_t> inner, outer;
  explicit Dims(LayerNormOp op) {
    ArrayRef<Size> shape = sizesOf(op.getA().getType());
    auto axis = static_cast<int64_t>(op.getAxis());
    outer = allDims(axis);
    for (int64_t dim = axis, e = static_cast<int64_t>(shape.size()); dim < e; ++dim)
      inner.push_back(dim);
  }
};

} // namespace

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  VjpBuilder v(builder, *this, SmallVector<Value>(3), SmallVector<bool>(getNumOperands()));
  Dims dims(*this);
  ArrayRef<Size> shape = sizesOf(getA().getType());
  Type element = getA().getType().getElementType(), wideType = statisticsType(getA().getType());
  Sym a = v.convert({getA(), &v}, wideType);
  auto statistics = builder.create<WelfordOp>(getLoc(), a.value, dims.inner);
  Sym mean{statistics.getMean(), &v}, m2{statistics.getM2(), &v};
  Sym rstd = v.unary<RsqrtOp>(m2 / countLike(v, m2, shape, dims.inner) + getEps().convertToDouble());
  Sym y = (a - v.broadcastBack(mean, dims.inner, shape)) * v.broadcastBack(rstd, dims.inner, shape);
  auto spread = [&](Value value) {
    return v.broadcastBack(v.convert({value, &v}, wideType), dims.outer, shape);
  };
  if (getWeight())
    y = y * spread(getWeight());
  if (getBias())
    y = y + spread(getBias());
  return {v.convert(y, element).value, mean.value, rstd.value};
}

/// With q = g weight and xh the normalised operand: rstd (q - mean(q) - xh mean(q xh)).
LogicalResult LayerNormOp::buildVjp(VjpBuilder &vjp) {
  Dims dims(*this);
  ArrayRef<Size> shape = sizesOf(getA().getType());
  Type element = getA().getType().getElementType(), wideType = statisticsType(getA().getType());
  auto spread = [&](Sym value) { return vjp.broadcastBack(value, dims.inner, shape); };
  Sym rstd = vjp.result(2);
  Sym normalized = (vjp.convert({getA(), &vjp}, wideType) - spread(vjp.result(1))) * spread(rstd);
  Sym g = vjp.convert(vjp.cotangent(0), wideType);
  unsigned next = 1;
  Sym q = g;
  if (getWeight()) {
    Sym weight{getWeight(), &vjp};
    q = g * vjp.broadcastBack(vjp.convert(weight, wideType), dims.outer, shape);
    if (vjp.needs(next))
      vjp.set(next, vjp.convert(vjp.sum(g * normalized, dims.outer), weight.type().getElementType()));
    ++next;
  }
  if (getBias() && vjp.needs(next))
    vjp.set(next, vjp.convert(vjp.sum(g, dims.outer), getElementTypeOrSelf(getBias().getType())));
  if (!vjp.needs(0))
    return success();
  auto average = [&](Sym value) {
    Sym total = vjp.sum(value, dims.inner);
    return spread(total / countLike(vjp, total, shape, dims.inner));
  };
  Sym gradient = (q - average(q) - normalized * average(q * normalized)) * spread(rstd);
  // The derivative of mean with respect to an element is 1/n, that of rstd is -rstd^2 xh / n.
  if (vjp.hasCotangent(1))
    gradient = gradient + spread(vjp.cotangent(1) / countLike(vjp, rstd, shape, dims.inner));
  if (vjp.hasCotangent(2))
    gradient = gradient -
               normalized * spread(vjp.cotangent(2) * rstd * rstd / countLike(vjp, rstd, shape, dims.inner));
  vjp.set(0, vjp.convert(gradient, element));
  return success();
}

} // namespace weft::ir
