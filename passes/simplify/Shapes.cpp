//===- Shapes.cpp - Rewrites of reshapes, broadcasts, transpositions ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the launch list a reshape is a view, but between elementwise ops it keeps them from being fused, so it
// is moved up to a value in storage. A broadcast is moved down, so that equal elements are computed once.
//
//===----------------------------------------------------------------------===//
#include "passes/simplify/Rules.h"

using namespace mlir;

namespace weft::passes {

Value cloneElementwise(Operation *op, ValueRange operands, ArrayRef<ir::Size> shape,
                       PatternRewriter &rewriter) {
  OperationState state(op->getLoc(), op->getName(), operands,
                       {ir::withShape(typeOf(op->getResult(0)), shape)}, op->getAttrs());
  return rewriter.create(state)->getResult(0);
}

static bool isElementwise(Operation *op) { return isa<ir::ElementwiseOp>(op); }

// A broadcast that only adds dimensions of size 1 is a reshape.
static Value broadcastUnit(Operation *op, PatternRewriter &rewriter) {
  auto broadcast = dyn_cast<ir::BroadcastInDimOp>(op);
  if (!broadcast || ir::elementsOf(broadcast.getA().getType()) != ir::elementsOf(broadcast.getType()))
    return {};
  return rewriter.create<ir::ReshapeOp>(op->getLoc(), broadcast.getA(), broadcast.getShape());
}

// A transposition that only moves dimensions of size 1 is a reshape.
static Value transposeUnit(Operation *op, PatternRewriter &rewriter) {
  auto transpose = dyn_cast<ir::TransposeOp>(op);
  if (!transpose)
    return {};
  auto from = transpose.getA().getType();
  int64_t previous = -1;
  for (int64_t dim : transpose.getPerm()) {
    if (ir::sizesOf(from)[dim] == 1)
      continue;
    if (dim < previous)
      return {};
    previous = dim;
  }
  if (from == transpose.getType()) // nothing moves, or only equal dimensions of size 1
    return transpose.getA();
  return rewriter.create<ir::ReshapeOp>(op->getLoc(), transpose.getA(), ir::sizesOf(transpose.getType()));
}

// f(broadcast x, broadcast y) is broadcast f(x, y): each element is computed from the same elements.
static Value sinkBroadcast(Operation *op, PatternRewriter &rewriter) {
  if (!isElementwise(op))
    return {};
  ir::BroadcastInDimOp first;
  for (Value operand : op->getOperands()) {
    if (getSplat(operand))
      continue;
    auto broadcast = operand.getDefiningOp<ir::BroadcastInDimOp>();
    if (!broadcast)
      return {};
    if (!first)
      first = broadcast;
    else if (first.getDims() != broadcast.getDims() ||
             ir::sizesOf(first.getA().getType()) != ir::sizesOf(broadcast.getA().getType()))
      return {};
  }
  if (!first)
    return {};
  ArrayRef<ir::Size> shape = ir::sizesOf(first.getA().getType());
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (Attribute splat = getSplat(operand))
      operands.push_back(makeSplat(ir::withShape(typeOf(operand), shape), splat, op->getLoc(), rewriter));
    else
      operands.push_back(operand.getDefiningOp<ir::BroadcastInDimOp>().getA());
  }
  Value small = cloneElementwise(op, operands, shape, rewriter);
  return rewriter.create<ir::BroadcastInDimOp>(op->getLoc(), small, first.getDims(),
                                               ir::sizesOf(typeOf(op->getResult(0))));
}

namespace {
/// Dimensions [fromBegin, fromEnd) of one shape have the elements of dimensions [toBegin, toEnd) of the
/// other.
struct Group {
  size_t fromBegin, fromEnd, toBegin, toEnd;
};
} // namespace

/// Divides two shapes with the same number of elements, which is not zero, into the smallest groups of equal
/// size. Empty if a product is inexpressible.
static SmallVector<Group> pairGroups(ArrayRef<ir::Size> from, ArrayRef<ir::Size> to) {
  SmallVector<Group> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    Group group{i, i, j, j};
    ir::Size left = 1, right = 1;
    do {
      if (i < from.size() && (left == right || ir::isPartOf(left, right) || j == to.size()))
        left *= from[i++];
      else
        right *= to[j++];
      // An inexpressible size is equal to nothing.
      if (!left.isExpressible() || !right.isExpressible())
        return {};
    } while (left != right);
    // Dimensions of size 1 belong to the group before them, or, at the start, to the first group.
    while (i < from.size() && from[i] == 1)
      ++i;
    while (j < to.size() && to[j] == 1)
      ++j;
    group.fromEnd = i;
    group.toEnd = j;
    groups.push_back(group);
  }
  return groups;
}

// reshape(broadcast x) is broadcast(reshape x), if each group of dimensions that the reshape splits or merges
// comes completely from x or completely from the broadcast.
static Value reshapeBroadcast(Operation *op, PatternRewriter &rewriter) {
  auto reshape = dyn_cast<ir::ReshapeOp>(op);
  auto broadcast = reshape ? reshape.getA().getDefiningOp<ir::BroadcastInDimOp>() : ir::BroadcastInDimOp();
  if (!broadcast || ir::elementsOf(reshape.getType()) == 0)
    return {};
  ArrayRef<ir::Size> wide = broadcast.getShape(), to = reshape.getShape();
  ArrayRef<ir::Size> source = ir::sizesOf(broadcast.getA().getType());
  SmallVector<ir::Size> shape;
  SmallVector<int64_t> dims;
  for (const Group &group : pairGroups(wide, to)) {
    bool kept = false, made = false;
    for (size_t dim = group.fromBegin; dim < group.fromEnd; ++dim) {
      if (wide[dim] == 1)
        continue;
      const auto *it = llvm::find(broadcast.getDims(), static_cast<int64_t>(dim));
      bool fromSource = it != broadcast.getDims().end() && source[it - broadcast.getDims().begin()] != 1;
      (fromSource ? kept : made) = true;
    }
    if (kept && made)
      return {};
    for (size_t dim = group.toBegin; kept && dim < group.toEnd; ++dim) {
      shape.push_back(to[dim]);
      dims.push_back(static_cast<int64_t>(dim));
    }
  }
  Value small = broadcast.getA();
  if (ArrayRef(shape) != source)
    small = rewriter.create<ir::ReshapeOp>(op->getLoc(), small, shape);
  return rewriter.create<ir::BroadcastInDimOp>(op->getLoc(), small, dims, to);
}

/// Whether `root`, and all values that it is computed from by elementwise ops without other readers, can get
/// another shape at no cost. The walk ends at arguments, constants, reshapes and contractions, which are in
/// storage, and at broadcasts.
static bool reshapesForFree(Operation *root) {
  constexpr size_t kLimit = 64;
  SmallVector<Operation *> work{root};
  for (size_t i = 0; i < work.size(); ++i) {
    if (work.size() > kLimit)
      return false;
    for (Value operand : work[i]->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (!op || isa<ir::ConstantOp, ir::ReshapeOp, ir::DotGeneralOp, ir::AttentionOp, ir::ImplicitGemmOp,
                     ir::SortOp, ir::FactorizeOp, ir::FftOp, ir::RawKernelOp>(op))
        continue;
      if (auto broadcast = dyn_cast<ir::BroadcastInDimOp>(op)) {
        Operation *source = broadcast.getA().getDefiningOp();
        if (!source || isa<ir::ConstantOp, ir::ReshapeOp>(source))
          continue;
        return false;
      }
      if (!isElementwise(op) ||
          !llvm::all_of(op->getUsers(), [&](Operation *user) { return user == work[i]; }))
        return false;
      if (!llvm::is_contained(work, op))
        work.push_back(op);
    }
  }
  return true;
}

static Value hoistReshape(Operation *op, PatternRewriter &rewriter) {
  auto reshape = dyn_cast<ir::ReshapeOp>(op);
  Operation *producer = reshape ? reshape.getA().getDefiningOp() : nullptr;
  if (!producer || !isElementwise(producer) || !reshape.getA().hasOneUse() || !reshapesForFree(producer))
    return {};
  SmallVector<Value> operands;
  for (Value operand : producer->getOperands()) {
    if (Attribute splat = getSplat(operand))
      operands.push_back(
          makeSplat(ir::withShape(typeOf(operand), reshape.getShape()), splat, operand.getLoc(), rewriter));
    else
      operands.push_back(rewriter.create<ir::ReshapeOp>(op->getLoc(), operand, reshape.getShape()));
  }
  return cloneElementwise(producer, operands, reshape.getShape(), rewriter);
}

ArrayRef<Rule> getShapeRules() {
  using enum Exactness;
  static constexpr Rule rules[] = {
      {"broadcast-unit", bitExact, broadcastUnit},       {"hoist-reshape", bitExact, hoistReshape},
      {"reshape-broadcast", bitExact, reshapeBroadcast}, {"sink-broadcast", bitExact, sinkBroadcast},
      {"transpose-unit", bitExact, transposeUnit},
  };
  return rules;
}

} // namespace weft::passes
