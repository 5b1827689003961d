//===- Composite.cpp - softmax, cross_entropy, optimiser steps ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/CrossEntropy.h"
#include "ir/Dialect.h"
#include "ir/ops/Common.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
namespace weft::ir {

SmallVector<Value> computeOnHost(Operation *op, OpBuilder &builder) {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  DeviceAttr device = deviceOf(type).withoutSizes(),
             host = DeviceAttr::get(op->getContext(), DeviceKind::cpu);
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, builder.create<TransferOp>(op->getLoc(), operand, host, false).getResult());
  Operation *copy = builder.clone(*op, mapping);
  SmallVector<Value> results;
  for (Value result : copy->getResults()) {
    auto made = cast<RankedTensorType>(result.getType());
    result.setType(makeTensorType(sizesOf(made), made.getElementType(), host));
    results.push_back(builder.create<TransferOp>(op->getLoc(), result, device, false));
  }
  return results;
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

/// a - max(a) along `dim`, in the element type of the statistics; `a` itself if the dimension is empty.
static Sym shifted(VjpBuilder &v, Sym a, int64_t dim) {
  Sym wide = v.convert(a, statisticsType(a.type()));
  if (sizesOf(a.type())[dim] == 0)
    return wide;
  Sym top = v.make<RmaxOp>(wide.value, ArrayRef<int64_t>{dim});
  return wide - v.broadcastBack(top, {dim}, sizesOf(a.type()));
}

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  VjpBuilder v = decompositionBuilder(builder, *this);
  auto dim = static_cast<int64_t>(getDim());
  Sym a = v.operand(0), e = v.unary<ExpOp>(shifted(v, a, dim));
  // Divide once per row and not per element, because a vector division takes as long as exp.
  Sym scale = v.unary<RecipOp>(v.sum(e, {dim}));
  Sym y = e * v.broadcastBack(scale, {dim}, sizesOf(a.type()));
  return {v.convert(y, a.type().getElementType()).value};
}

LogicalResult SoftmaxOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  auto dim = static_cast<int64_t>(getDim());
  Type element = getType().getElementType(), wide = statisticsType(getType());
  // Halves are computed in f32 and rounded once: the difference cancels.
  Sym y = vjp.convert(vjp.result(0), wide), g = vjp.convert(vjp.cotangent(0), wide);
  Sym inner = vjp.broadcastBack(vjp.sum(g * y, {dim}), {dim}, sizesOf(getType()));
  vjp.set(0, vjp.convert(y * (g - inner), element));
  return success();
}

SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &builder) {
  VjpBuilder v = decompositionBuilder(builder, *this);
  auto dim = static_cast<int64_t>(getDim());
  Sym a = v.operand(0), s = shifted(v, a, dim);
  Sym total = v.unary<LogOp>(v.sum(v.unary<ExpOp>(s), {dim}));
  return {v.convert(s - v.broadcastBack(total, {dim}, sizesOf(a.type())), a.type().getElementType()).value};
}

LogicalResult LogSoftmaxOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  auto dim = static_cast<int64_t>(getDim());
  Type element = getType().getElementType(), wide = statisticsType(getType());
  Sym y = vjp.convert(vjp.result(0), wide), g = vjp.convert(vjp.cotangent(0), wide);
  Sym total = vjp.broadcastBack(vjp.sum(g, {dim}), {dim}, sizesOf(getType()));
  vjp.set(0, vjp.convert(g - vjp.unary<ExpOp>(y) * total, element));
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
  types.push_back(withShape(logits, op.getReduction() == ReductionKind::none ? rows : ArrayRef<Size>()));
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
  if (getWeight()) {
    auto type = cast<RankedTensorType>(getWeight().getType());
    if (sizesOf(type) != sizesOf(logits).drop_front() || type.getElementType() != logits.getElementType())
      return emitOpError() << "needs one weight of " << logits.getElementType() << " for each of "
                           << sizeText(sizesOf(logits)[1]) << " classes, found " << type;
  }
  double smoothing = getLabelSmoothing().convertToDouble();
  if (!(smoothing >= 0 && smoothing <= 1))
    return emitOpError() << "needs a label_smoothing in [0, 1], found " << smoothing;
  if (smoothing > 0 && sizesOf(logits)[1].isSymbolic())
    return emitOpError() << "cannot spread a label_smoothing over " << sizeText(sizesOf(logits)[1])
                         << " classes: their number has to be known";
  return success();
}

namespace {

/// The values that the loss and its derivative have in common.
struct CrossEntropyParts {
  CrossEntropyParts(VjpBuilder &v, CrossEntropyOp op)
      : logits(v.operand(0)), rows(sizesOf(logits.type())[0]), classes(sizesOf(logits.type())[1]),
        wideType(statisticsType(logits.type())), wide(v.convert(logits, wideType)),
        smoothing(op.getLabelSmoothing().convertToDouble()) {
    Sym target = v.operand(1);
    keep = v.compare<NeOp>(target,
                           v.like(target, static_cast<double>(static_cast<int64_t>(op.getIgnoreIndex()))));
    // An ignored row reads class 0.
    index = v.select(keep, target, v.like(target, 0));
    isInRange = op->hasAttr(attr::targetsInRange);
    if (op.getWeight())
      weight = v.convert({op.getWeight(), &v}, wideType);
  }
  /// Elements that the targets select.
  Sym selected(VjpBuilder &v, Sym table, Sym by, int64_t dim, GatherKind kind) const {
    Sym made =
        v.make<GatherOp>(table.value, by.value, dim, kind, isInRange ? IndexMode::assume : IndexMode::check);
    made.value.getDefiningOp()->setAttr(attr::indexName, v.builder.getStringAttr("Target"));
    return made;
  }
  /// The weight of each row's target, or zero if the row is ignored. The mean divides by the sum of these.
  Sym rowWeight(VjpBuilder &v) {
    if (!weight)
      return v.convert(keep, wideType);
    Sym picked = selected(v, weight, index, 0, GatherKind::points);
    return v.select(keep, picked, v.like(picked, 0.0));
  }

  Sym logits;
  Size rows, classes;
  Type wideType;
  Sym wide, keep, index, weight;
  double smoothing;
  bool isInRange;
};

} // namespace

SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder) {
  VjpBuilder v = decompositionBuilder(builder, *this);
  CrossEntropyParts parts(v, *this);
  ArrayRef<Size> shape = sizesOf(parts.logits.type());
  Sym wide = parts.wide;
  Sym top = shape[1] == 0 ? v.sum(wide, {1}) : v.make<RmaxOp>(wide.value, ArrayRef<int64_t>{1});
  Sym total = v.sum(v.unary<ExpOp>(wide - v.broadcastBack(top, {1}, shape)), {1});
  Sym lse = top + v.unary<LogOp>(total);
  // The logit of the target, read by index.
  Sym gathered = parts.selected(v, wide, v.reshape(parts.index, {shape[0], 1}), 1, GatherKind::along);
  Sym loss = lse - v.reshape(gathered, {shape[0]});
  if (parts.weight)
    loss = loss * parts.rowWeight(v);
  if (parts.smoothing > 0) {
    Sym all = v.broadcastBack(lse, {1}, shape) - wide;
    if (parts.weight)
      all = all * v.broadcastBack(parts.weight, {0}, shape);
    double share = parts.smoothing / static_cast<double>(shape[1].asNumber());
    loss = loss * (1 - parts.smoothing) + v.sum(all, {1}) * share;
  }
  loss = v.select(parts.keep, loss, v.like(lse, 0.0));
  if (getReduction() != ReductionKind::none) {
    loss = v.sum(loss, {0});
    if (getReduction() == ReductionKind::mean)
      loss = loss / v.sum(parts.rowWeight(v), {0});
  }
  return {v.convert(loss, parts.logits.type().getElementType()).value, lse.value};
}

/// For probabilities p and target t the derivative is w_t (p - [t]). Label smoothing s adds the same term for
/// every class with the weight s / C.
LogicalResult CrossEntropyOp::buildVjp(VjpBuilder &vjp) {
  if (getWeight() && vjp.needs(2))
    return emitOpError() << "has no derivative with respect to its class weights (" << "WEFT-G001"
                         << "); detach them";
  if (!vjp.needs(0))
    return success();
  CrossEntropyParts parts(vjp, *this);
  Sym a = parts.logits, lse = vjp.result(1);
  ArrayRef<Size> shape = sizesOf(a.type());
  auto spreadRows = [&](Sym value) { return vjp.broadcastBack(value, {1}, shape); };
  Sym probability = vjp.unary<ExpOp>(parts.wide - spreadRows(lse));
  // A derivative of the derivative comes through the sum of exponentials, too, of ignored rows as of others.
  std::optional<Sym> ofSums;
  if (vjp.hasCotangent(1))
    ofSums = probability * spreadRows(vjp.convert(vjp.cotangent(1), parts.wideType));
  auto set = [&](Sym gradient) { vjp.set(0, vjp.convert(gradient, a.type().getElementType())); };
  if (!vjp.hasCotangent(0)) {
    set(*ofSums);
    return success();
  }
  // Check the targets here too, because a program may use the derivative and not the loss.
  Sym index =
      shape[1] == 0 || parts.isInRange ? parts.index : vjp.checkedIndex(parts.index, shape[1], "Target");
  Sym g = vjp.convert(vjp.cotangent(0), parts.wideType), rowWeight = parts.rowWeight(vjp);
  if (getReduction() == ReductionKind::mean)
    g = g / vjp.sum(rowWeight, {0});
  if (getReduction() != ReductionKind::none)
    g = vjp.make<BroadcastInDimOp>(g.value, ArrayRef<int64_t>{}, ArrayRef<Size>{shape[0]});
  Sym classes = vjp.make<IotaOp>(withShape(index.type(), shape), 1);
  Sym hit = vjp.convert(vjp.compare<EqOp>(classes, spreadRows(index)), parts.wideType);
  // If all rows are ignored, the mean divides by 0. Select, so that ignored rows get 0 and not NaN.
  auto ofRows = [&](Sym gradient) {
    gradient = vjp.select(spreadRows(parts.keep), gradient, vjp.like(gradient, 0.0));
    set(ofSums ? gradient + *ofSums : gradient);
  };
  if (parts.smoothing == 0) {
    ofRows((probability - hit) * spreadRows(rowWeight * g));
    return success();
  }
  double share = parts.smoothing / static_cast<double>(shape[1].asNumber());
  Sym own = (probability - hit) * spreadRows(rowWeight) * (1 - parts.smoothing), others;
  if (parts.weight) {
    Sym sum = vjp.make<BroadcastInDimOp>(vjp.sum(parts.weight, {0}).value, ArrayRef<int64_t>{}, shape);
    others = probability * sum - vjp.broadcastBack(parts.weight, {0}, shape);
  } else {
    others = probability * static_cast<double>(shape[1].asNumber()) - 1.0;
  }
  ofRows((own + others * share) * spreadRows(g));
  return success();
}

//===----------------------------------------------------------------------===//
// Optimiser steps
//===----------------------------------------------------------------------===//

/// Verifies that parameter, gradient and moments agree in shape and element type.
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
