//===- AttentionLaunch.cpp - weft.attention -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Attention.h"
#include "ir/ops/Common.h"

#include <cmath>

using namespace mlir;
namespace weft::ir {

SmallVector<AttentionPart> partsOf(AttentionOp op) {
  const AttentionExtents extents(op.getShape());
  SmallVector<AttentionPart> parts;
  auto operand = [&](StringLiteral name, Value value, ArrayRef<int64_t> view, int64_t rows, int64_t columns) {
    parts.push_back({name, value, AttentionView::read(view), rows, columns, false});
  };
  auto result = [&](StringLiteral name, unsigned number, int64_t rows, int64_t columns) {
    parts.push_back({name, op.getResult(number), orderedView(extents.matrix(rows, columns), op.getOrder()),
                     rows, columns, true});
  };
  // lse is row-major in any order of the other results.
  auto logarithms = [&](Value value, bool isWritten) {
    const SmallVector<int64_t> shape = extents.matrix(extents.rows, 1);
    const AttentionView view = orderedView(shape, allDims(static_cast<int64_t>(shape.size())));
    parts.push_back({"lse", value, view, extents.rows, 1, isWritten});
  };
  operand("q", op.getQ(), op.getQView(), extents.rows, extents.features);
  operand("k", op.getK(), op.getKView(), extents.keys, extents.features);
  operand("v", op.getV(), op.getVView(), extents.keys, extents.values);
  if (op.getGrad()) {
    operand("out", op.getOut(), *op.getOutView(), extents.rows, extents.values);
    logarithms(op.getLse(), false);
    operand("grad", op.getGrad(), *op.getGradView(), extents.rows, extents.values);
    result("dq", 0, extents.rows, extents.features);
    result("dk", 1, extents.keys, extents.features);
    result("dv", 2, extents.keys, extents.values);
  } else {
    result("out", 0, extents.rows, extents.values);
    logarithms(op.getResult(1), true);
  }
  if (op.getMask())
    operand("mask", op.getMask(), *op.getMaskView(), extents.rows, extents.keys);
  return parts;
}

static SmallVector<int64_t> reordered(ArrayRef<int64_t> shape, ArrayRef<int64_t> order) {
  SmallVector<int64_t> result;
  for (int64_t dim : order)
    result.push_back(shape[dim]);
  return result;
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                            DictionaryAttr attributes, OpaqueProperties properties,
                                            RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  ArrayRef<int64_t> shape = op.getShape(), order = op.getOrder();
  if (shape.size() < 4 || llvm::any_of(shape, [](int64_t extent) { return extent < 1; }))
    return emitOptionalError(loc,
                             "'weft.attention' op needs a shape of at least four numbers, each at least 1: "
                             "the batch, rows, keys, features and values");
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (ArrayRef<int64_t>(sorted) != ArrayRef<int64_t>(allDims(static_cast<int64_t>(shape.size()) - 2)))
    return emitOptionalError(loc, "'weft.attention' op needs an order of the ", shape.size() - 2,
                             " dimensions of a result");
  AttentionExtents extents(shape);
  auto q = cast<RankedTensorType>(operands[0].getType());
  auto add = [&](ArrayRef<int64_t> result, Type element) {
    types.push_back(withShape(q, toSizes(result), element));
  };
  Type element = q.getElementType();
  if (op.getGrad()) {
    add(reordered(extents.matrix(extents.rows, extents.features), order), element);
    add(reordered(extents.matrix(extents.keys, extents.features), order), element);
    add(reordered(extents.matrix(extents.keys, extents.values), order), element);
    return success();
  }
  add(reordered(extents.matrix(extents.rows, extents.values), order), element);
  add(ArrayRef<int64_t>(extents.matrix(extents.rows, 1)).drop_back(), statisticsType(q));
  return success();
}

/// Verifies that a view of a [batch.., rows, columns] tensor is within the operand.
static LogicalResult verifyView(AttentionOp op, StringRef name, Value operand, ArrayRef<int64_t> view,
                                ArrayRef<int64_t> extents) {
  auto type = cast<RankedTensorType>(operand.getType());
  if (isDynamic(type))
    return op.emitOpError() << "needs sizes that are numbers, found " << name << " of type " << type;
  if (view.size() != extents.size() + 1)
    return op.emitOpError() << "needs a view of " << name << " of an offset and " << extents.size()
                            << " strides, found " << view.size() << " numbers";
  Size last = view[0];
  bool negative = view[0] < 0;
  for (auto [stride, extent] : llvm::zip(view.drop_front(), extents)) {
    negative |= stride < 0;
    last += Size(stride) * (extent - 1);
  }
  if (negative)
    return op.emitOpError() << "has a view of " << name << " with a negative number";
  int64_t elements = elementsOf(type).asNumber();
  if (!last.isExpressible() || last.asNumber() >= elements)
    return op.emitOpError() << "has a view of " << name << " that reaches beyond its " << elements
                            << " elements";
  return success();
}

LogicalResult AttentionOp::verify() {
  AttentionExtents extents(getShape());
  Type element = getQ().getType().getElementType();
  if (element.isF64())
    return emitOpError() << "computes in f32, found operands of f64";
  if (std::max(extents.features, extents.values) > maxAttentionColumns)
    return emitOpError() << "takes up to " << maxAttentionColumns << " features and values, found "
                         << extents.features << " and " << extents.values;
  bool backward = static_cast<bool>(getGrad());
  if (static_cast<bool>(getOut()) != backward || static_cast<bool>(getLse()) != backward)
    return emitOpError() << "needs out, lse and grad together, or none of them";
  if (static_cast<bool>(getOutView()) != backward || static_cast<bool>(getGradView()) != backward ||
      static_cast<bool>(getMaskView()) != static_cast<bool>(getMask()))
    return emitOpError() << "needs a view of every operand, and of no other";
  if (double scale = getScale().convertToDouble(); !std::isfinite(scale))
    return emitOpError() << "needs a finite scale, found " << scale;
  struct Operand {
    StringRef name;
    Value value;
    ArrayRef<int64_t> view;
    int64_t rows, columns;
  };
  SmallVector<Operand> operands{{"q", getQ(), getQView(), extents.rows, extents.features},
                                {"k", getK(), getKView(), extents.keys, extents.features},
                                {"v", getV(), getVView(), extents.keys, extents.values}};
  if (backward) {
    operands.push_back({"out", getOut(), *getOutView(), extents.rows, extents.values});
    operands.push_back({"grad", getGrad(), *getGradView(), extents.rows, extents.values});
  }
  for (const Operand &operand : operands)
    if (getElementTypeOrSelf(operand.value.getType()) != element)
      return emitOpError() << "needs " << operand.name << " of " << element
                           << ", the element type of q, found "
                           << getElementTypeOrSelf(operand.value.getType());
  if (getMask()) {
    Type found = getElementTypeOrSelf(getMask().getType());
    if (!found.isInteger(1) && found != element && found != statisticsType(getQ().getType()))
      return emitOpError() << "needs a mask of i1, " << element << " or " << statisticsType(getQ().getType())
                           << ", found " << found;
    operands.push_back({"mask", getMask(), *getMaskView(), extents.rows, extents.keys});
  }
  for (const Operand &operand : operands)
    if (failed(verifyView(*this, operand.name, operand.value, operand.view,
                          extents.matrix(operand.rows, operand.columns))))
      return failure();
  auto lse =
      withShape(getQ().getType(), toSizes(ArrayRef<int64_t>(extents.matrix(extents.rows, 1)).drop_back()),
                statisticsType(getQ().getType()));
  if (backward && getLse().getType() != lse)
    return emitOpError() << "needs lse of type " << lse << ", found " << getLse().getType();
  return success();
}

} // namespace weft::ir
