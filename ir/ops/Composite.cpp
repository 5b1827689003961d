//===- Composite.cpp - Ops kept whole until fusion ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Common.h"

using namespace mlir;
namespace weft::ir {

/// Decompositions are written with the same symbolic tensors as derivatives.
static VjpBuilder symbolic(OpBuilder &builder, Operation *op) {
  return VjpBuilder(builder, op, SmallVector<Value>(op->getNumResults()),
                    SmallVector<bool>(op->getNumOperands()));
}

//===----------------------------------------------------------------------===//
// softmax, log_softmax
//===----------------------------------------------------------------------===//

template <typename Op> static LogicalResult verifySoftmaxDim(Op op) {
  int64_t rank = op.getA().getType().getRank(), dim = static_cast<int64_t>(op.getDim());
  if (dim < 0 || dim >= rank)
    return op.emitOpError() << "has dimension " << dim << " outside of rank " << rank;
  return success();
}

#define WEFT_SOFTMAX_COMMON(Op)                                                                              \
  LogicalResult Op::verify() { return verifySoftmaxDim(*this); }                                             \
  LogicalResult Op::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,            \
                                     DictionaryAttr, OpaqueProperties, RegionRange,                          \
                                     SmallVectorImpl<Type> &types) {                                         \
    types.push_back(operands[0].getType());                                                                  \
    return success();                                                                                        \
  }
WEFT_SOFTMAX_COMMON(SoftmaxOp)
WEFT_SOFTMAX_COMMON(LogSoftmaxOp)

/// Half types compute the statistics in f32.
static Type statisticsType(RankedTensorType type) {
  return type.getElementType().getIntOrFloatBitWidth() < 32 ? Float32Type::get(type.getContext())
                                                            : type.getElementType();
}

/// a - max(a) along `dim`, in the type of the statistics. Over an empty dimension there is nothing to shift.
static Sym shifted(VjpBuilder &v, Sym a, int64_t dim) {
  Sym wide = v.convert(a, statisticsType(a.type()));
  if (sizesOf(a.type())[dim] == 0)
    return wide;
  Sym top = v.make<RmaxOp>(wide.value, ArrayRef<int64_t>{dim});
  return wide - v.broadcastBack(top, {dim}, sizesOf(a.type()));
}

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  VjpBuilder v = symbolic(builder, *this);
  auto dim = static_cast<int64_t>(getDim());
  Sym a = v.operand(0), e = v.unary<ExpOp>(shifted(v, a, dim));
  Sym y = e / v.broadcastBack(v.sum(e, {dim}), {dim}, sizesOf(a.type()));
  return {v.convert(y, a.type().getElementType()).value};
}

LogicalResult SoftmaxOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  auto dim = static_cast<int64_t>(getDim());
  Sym y = vjp.result(0), g = vjp.cotangent(0);
  Sym inner = vjp.broadcastBack(vjp.sum(g * y, {dim}), {dim}, sizesOf(getType()));
  vjp.set(0, y * (g - inner));
  return success();
}

SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &builder) {
  VjpBuilder v = symbolic(builder, *this);
  auto dim = static_cast<int64_t>(getDim());
  Sym a = v.operand(0), s = shifted(v, a, dim);
  Sym total = v.unary<LogOp>(v.sum(v.unary<ExpOp>(s), {dim}));
  return {v.convert(s - v.broadcastBack(total, {dim}, sizesOf(a.type())), a.type().getElementType()).value};
}

LogicalResult LogSoftmaxOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  auto dim = static_cast<int64_t>(getDim());
  Sym y = vjp.result(0), g = vjp.cotangent(0);
  Sym total = vjp.broadcastBack(vjp.sum(g, {dim}), {dim}, sizesOf(getType()));
  vjp.set(0, g - vjp.unary<ExpOp>(y) * total);
  return success();
}

//===----------------------------------------------------------------------===//
// cross_entropy
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                               ValueRange operands, DictionaryAttr attributes,
                                               OpaqueProperties properties, RegionRange regions,
                                               SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto logits = cast<RankedTensorType>(operands[0].getType());
  if (logits.getRank() != 2)
    return emitOptionalError(loc, "'weft.cross_entropy' op needs logits of shape [rows, classes], found [",
                             sizesText(sizesOf(logits)), "]");
  auto rows = sizesOf(logits).take_front();
  types.push_back(withShape(logits, op.getReduction() == ReductionKind::none ? rows : ArrayRef<int64_t>()));
  types.push_back(withShape(logits, rows, statisticsType(logits)));
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  auto logits = getLogits().getType();
  auto target = getTarget().getType();
  if (!target.getElementType().isInteger(64))
    return emitOpError() << "needs targets of i64, found " << target.getElementType();
  if (sizesOf(target) != sizesOf(logits).take_front())
    return emitOpError() << "needs one target per row: logits have shape [" << sizesText(sizesOf(logits))
                         << "] and targets [" << sizesText(sizesOf(target)) << "]";
  if (sizesOf(logits)[1] == 0 && sizesOf(logits)[0] != 0)
    return emitOpError() << "has no classes: logits have shape [" << sizesText(sizesOf(logits)) << "]";
  return success();
}

/// One where the row counts, zero where its target is `ignore_index`, in the type of the statistics.
static Sym counted(VjpBuilder &v, CrossEntropyOp op) {
  Sym target = v.operand(1);
  return v.compare<NeOp>(target,
                         v.like(target, static_cast<double>(static_cast<int64_t>(op.getIgnoreIndex()))));
}

SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder) {
  VjpBuilder v = symbolic(builder, *this);
  Sym a = v.operand(0), target = v.operand(1);
  ArrayRef<int64_t> shape = sizesOf(a.type());
  Type wideType = statisticsType(a.type());
  Sym wide = v.convert(a, wideType);
  Sym top = shape[1] == 0 ? v.sum(wide, {1}) : v.make<RmaxOp>(wide.value, ArrayRef<int64_t>{1});
  Sym total = v.sum(v.unary<ExpOp>(wide - v.broadcastBack(top, {1}, shape)), {1});
  Sym lse = top + v.unary<LogOp>(total);
  // The logit of the target, read by index; an ignored row reads class 0.
  Sym keep = counted(v, *this);
  Sym index = v.select(keep, target, v.like(target, 0));
  Sym column = v.reshape(index, {shape[0], 1});
  Sym gathered = v.make<GatherOp>(wide.value, column.value, 1, GatherKind::along);
  gathered.value.getDefiningOp()->setAttr(attr::indexName, builder.getStringAttr("Target"));
  Sym picked = v.reshape(gathered, {shape[0]});
  Sym loss = v.select(keep, lse - picked, v.like(lse, 0.0));
  if (getReduction() != ReductionKind::none) {
    loss = v.sum(loss, {0});
    if (getReduction() == ReductionKind::mean)
      loss = loss / v.sum(v.convert(keep, wideType), {0});
  }
  return {v.convert(loss, a.type().getElementType()).value, lse.value};
}

LogicalResult CrossEntropyOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  if (vjp.hasCotangent(1))
    return emitOpError() << "has no derivative through its second result, the log-sum-exp (WEFT-G001)";
  Sym a = vjp.operand(0), target = vjp.operand(1), lse = vjp.result(1);
  ArrayRef<int64_t> shape = sizesOf(a.type());
  Type wideType = lse.type().getElementType();
  Sym counts = counted(vjp, *this), keep = vjp.convert(counts, wideType);
  // The derivative checks its targets itself: a program may use it and not the loss.
  Sym index = shape[1] == 0
                  ? target
                  : vjp.checkedIndex(vjp.select(counts, target, vjp.like(target, 0)), shape[1], "Target");
  Sym g = vjp.convert(vjp.cotangent(0), wideType);
  if (getReduction() == ReductionKind::mean)
    g = g / vjp.sum(keep, {0});
  if (getReduction() != ReductionKind::none)
    g = vjp.make<BroadcastInDimOp>(g.value, ArrayRef<int64_t>{}, ArrayRef<int64_t>{shape[0]});
  Sym weight = vjp.broadcastBack(keep * g, {1}, shape);
  Sym probability = vjp.unary<ExpOp>(vjp.convert(a, wideType) - vjp.broadcastBack(lse, {1}, shape));
  auto indexType = withShape(target.type(), shape);
  Sym classes = vjp.make<IotaOp>(indexType, 1);
  Sym hit = vjp.convert(vjp.compare<EqOp>(classes, vjp.broadcastBack(index, {1}, shape)), wideType);
  vjp.set(0, vjp.convert((probability - hit) * weight, a.type().getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Optimiser steps
//===----------------------------------------------------------------------===//

/// Parameter, gradient and moments agree in shape and element type.
static LogicalResult verifyStep(Operation *op, ArrayRef<std::pair<StringRef, Value>> tensors) {
  auto expected = cast<RankedTensorType>(tensors[0].second.getType());
  for (auto [name, value] : tensors) {
    if (!value)
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    if (sizesOf(type) != sizesOf(expected) || type.getElementType() != expected.getElementType())
      return op->emitOpError() << "needs " << name << " of the parameter's type " << expected << ", found "
                               << type;
  }
  return success();
}

LogicalResult SgdStepOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                          DictionaryAttr attributes, OpaqueProperties properties,
                                          RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  types.push_back(operands[0].getType());
  if (op.getBuf())
    types.push_back(operands[0].getType());
  return success();
}

LogicalResult SgdStepOp::verify() {
  if (getNesterov() && !getBuf())
    return emitOpError() << "with nesterov needs a momentum buffer";
  return verifyStep(*this, {{"p", getP()}, {"g", getG()}, {"buf", getBuf()}});
}

LogicalResult AdamStepOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                           DictionaryAttr attributes, OpaqueProperties properties,
                                           RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  types.append(op.getVmax() ? 4 : 3, operands[0].getType());
  return success();
}

LogicalResult AdamStepOp::verify() {
  return verifyStep(*this, {{"p", getP()}, {"g", getG()}, {"m", getM()}, {"v", getV()}, {"vmax", getVmax()}});
}

} // namespace weft::ir
