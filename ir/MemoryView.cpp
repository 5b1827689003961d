//===- MemoryView.cpp - Where a value's elements lie ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/MemoryView.h"
#include "ir/ops/Common.h"

#include <numeric>

using namespace mlir;
namespace weft::ir {

MemoryView orderedView(ArrayRef<int64_t> shape, ArrayRef<int64_t> order) {
  MemoryView view;
  view.strides.assign(shape.size(), 0);
  int64_t step = 1;
  for (int64_t dim : llvm::reverse(order)) {
    view.strides[dim] = step;
    step *= std::max<int64_t>(shape[dim], 1);
  }
  return view;
}

MemoryView rowMajorView(ArrayRef<int64_t> shape) {
  return orderedView(shape, allDims(static_cast<int64_t>(shape.size())));
}

SmallVector<int64_t> orderOf(const MemoryView &view) {
  SmallVector<int64_t> order(view.strides.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return std::pair(-view.strides[a], a) < std::pair(-view.strides[b], b);
  });
  return order;
}

/// The strides for shape `to` of elements that have `strides` in the shape `from`. None if no strides
/// describe them. The shapes have the same number of elements, which is not 0.
static std::optional<SmallVector<int64_t>> reshapedStrides(ArrayRef<int64_t> from, ArrayRef<int64_t> strides,
                                                           ArrayRef<int64_t> to) {
  SmallVector<std::pair<int64_t, int64_t>> dims; // of sizes other than 1
  for (auto [extent, stride] : llvm::zip(from, strides))
    if (extent != 1)
      dims.emplace_back(extent, stride);
  SmallVector<int64_t> result(to.size(), 0);
  size_t next = 0;
  for (size_t i = 0; i < to.size();) {
    if (to[i] == 1) {
      ++i;
      continue;
    }
    // Find the smallest groups of dimensions of both shapes that have equally many elements. The dimensions
    // of `from` in a group must have strides like one dimension.
    size_t first = next, begin = i;
    int64_t have = dims[next++].first, want = to[i++];
    while (have != want) {
      if (have < want)
        have *= dims[next++].first;
      else
        want *= to[i++];
    }
    for (size_t j = first; j + 1 < next; ++j)
      if (dims[j].second != dims[j + 1].first * dims[j + 1].second)
        return std::nullopt;
    int64_t step = dims[next - 1].second;
    for (size_t j = i; j-- > begin;) {
      result[j] = step;
      step *= to[j];
    }
  }
  return result;
}

static SmallVector<int64_t> shapeOf(Value value) { return *numbersOf(sizesOf(value)); }

/// The view of the result of `op`, which is no reshape, if `view` is that of its operand. None if strides
/// cannot express it.
static std::optional<MemoryView> through(Operation *op, const MemoryView &view) {
  MemoryView result{view.offset, {}};
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (int64_t dim : transpose.getPerm())
      result.strides.push_back(view.strides[dim]);
    return result;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    if (anySymbolic(slice.getStart()))
      return std::nullopt;
    for (auto [stride, start, step] : llvm::zip(view.strides, slice.getStart(), slice.getStep())) {
      result.offset += start.asNumber() * stride;
      result.strides.push_back(stride * step);
    }
    return result;
  }
  if (auto reverse = dyn_cast<ReverseOp>(op)) {
    result.strides = view.strides;
    for (int64_t dim : reverse.getDims()) {
      result.offset += (sizesOf(reverse.getA())[dim].asNumber() - 1) * view.strides[dim];
      result.strides[dim] = -view.strides[dim];
    }
    return result;
  }
  auto broadcast = cast<BroadcastInDimOp>(op);
  SmallVector<int64_t> from = shapeOf(broadcast.getA()), to = shapeOf(broadcast.getResult());
  result.strides.assign(to.size(), 0);
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    result.strides[dim] = from[i] == to[dim] ? view.strides[i] : 0;
  return result;
}

/// The view, as a tensor of `shape`, of what `ops` make of `base`; they are ordered from the last to the
/// first. Reshapes that follow each other are one, which may be a view where the first of them is none.
static std::optional<MemoryView> throughAll(Value base, ArrayRef<Operation *> ops, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> from = shapeOf(base);
  std::optional<MemoryView> view = rowMajorView(from);
  auto reshape = [&](ArrayRef<int64_t> to) {
    auto strides = reshapedStrides(from, view->strides, to);
    if (strides)
      view->strides = *strides;
    return strides.has_value();
  };
  for (Operation *op : llvm::reverse(ops)) {
    if (isa<ReshapeOp>(op))
      continue;
    if (!reshape(shapeOf(op->getOperand(0))))
      return std::nullopt;
    view = through(op, *view);
    if (!view)
      return std::nullopt;
    from = shapeOf(op->getResult(0));
  }
  if (!reshape(shape))
    return std::nullopt;
  return view;
}

/// Whether reading `part` from `whole` needs no additional memory: `whole` is in memory in any case, or is
/// not larger.
static bool isThere(Value whole, Value part) {
  Operation *op = whole.getDefiningOp();
  return !op || isa<DotGeneralOp, AttentionOp, ImplicitGemmOp>(op) ||
         !llvm::hasSingleElement(whole.getUsers()) ||
         elementsOf(whole.getType()).asNumber() <= elementsOf(part.getType()).asNumber();
}

ViewedValue sourceOf(Value value, ArrayRef<int64_t> shape, bool reversed) {
  SmallVector<Operation *> views;
  ViewedValue found{value, rowMajorView(shape)};
  Value current = value;
  while (Operation *op = current.getDefiningOp()) {
    if (!isa<TransposeOp, SliceOp, BroadcastInDimOp, ReshapeOp>(op) && !(reversed && isa<ReverseOp>(op)))
      break;
    // The operand of a slice with static sizes may have dynamic sizes.
    if (isDynamic(op->getOperand(0).getType()))
      break;
    views.push_back(op);
    current = op->getOperand(0);
    std::optional<MemoryView> view = throughAll(current, views, shape);
    if (view && isThere(current, value))
      found = {current, *view};
  }
  return found;
}

} // namespace weft::ir
