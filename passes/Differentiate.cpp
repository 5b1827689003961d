//===- Differentiate.cpp - Reverse-mode derivatives -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "ir/Vjp.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/Passes.h.inc"

namespace {

bool isReal(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// Replaces one weft.gradient.
class Gradient {
public:
  explicit Gradient(ir::GradientOp gradient) : gradient(gradient), builder(gradient) {}

  LogicalResult run() {
    collectActive();
    while (decomposeActive()) {
      path.clear();
      active.clear();
      collectActive();
    }
    Operation *before = gradient->getPrevNode();
    cotangents[gradient.getOf()] = filled(gradient.getOf(), 1.0);
    // In reverse op order. The sets above are only looked up, never iterated, so the result is deterministic.
    for (Operation *op : llvm::reverse(path))
      if (failed(apply(op)))
        return failure();
    SmallVector<Value> results;
    for (Value value : gradient.getWrt()) {
      Value cotangent = cotangents.lookup(value);
      results.push_back(cotangent ? cotangent : filled(value, 0.0));
    }
    if (gradient->hasAttr(ir::attr::noGrad))
      stopAt(results, before);
    gradient->replaceAllUsesWith(results);
    gradient.erase();
    return success();
  }

private:
  /// `path`: the ops between `wrt` and `of`, in op order. `active`: the values between them.
  void collectActive() {
    // The ops that `of` depends on, found without recursion, because graphs may be a hundred thousand ops
    // deep.
    SmallVector<Operation *> reached;
    llvm::DenseSet<Operation *> seen;
    auto push = [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (op && seen.insert(op).second)
        reached.push_back(op);
    };
    push(gradient.getOf());
    for (size_t i = 0; i < reached.size(); ++i)
      for (Value operand : reached[i]->getOperands())
        push(operand);
    llvm::sort(reached, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });

    // Of these, the ops that depend on a `wrt` value through floating-point values.
    for (Value value : gradient.getWrt())
      active.insert(value);
    for (Operation *op : reached) {
      // Ops that were recorded without gradients, such as `detach`, pass none on.
      if (op->hasAttr(ir::attr::noGrad) ||
          !llvm::any_of(op->getOperands(), [&](Value operand) { return active.contains(operand); }))
        continue;
      path.push_back(op);
      for (Value result : op->getResults())
        if (isReal(result.getType()))
          active.insert(result);
    }
  }

  /// Replaces composites without a derivative of their own by their decompositions. Returns whether there
  /// were any.
  bool decomposeActive() {
    bool found = false;
    for (Operation *op : path) {
      auto composite = dyn_cast<ir::DecomposableOp>(op);
      if (!composite || isa<ir::DifferentiableOp>(op))
        continue;
      OpBuilder at(op);
      op->replaceAllUsesWith(composite.decompose(at));
      op->erase();
      found = true;
    }
    return found;
  }

  /// Makes later gradients stop at these results, and at the ops after `before`, which compute them.
  void stopAt(MutableArrayRef<Value> results, Operation *before) {
    for (Value &result : results) {
      auto type = cast<RankedTensorType>(result.getType());
      Operation *op = result.getDefiningOp();
      if (!op || (before && !before->isBeforeInBlock(op)))
        result = builder.create<ir::ReshapeOp>(gradient.getLoc(), result, ir::sizesOf(type));
    }
    Block::iterator first = before ? std::next(before->getIterator()) : gradient->getBlock()->begin();
    for (Operation &op : llvm::make_range(first, gradient->getIterator()))
      op.setAttr(ir::attr::noGrad, builder.getUnitAttr());
  }

  LogicalResult apply(Operation *op) {
    SmallVector<Value> incoming;
    for (Value result : op->getResults())
      incoming.push_back(cotangents.lookup(result));
    if (llvm::none_of(incoming, [](Value value) { return static_cast<bool>(value); }))
      return success();
    SmallVector<bool> needs;
    for (Value operand : op->getOperands())
      needs.push_back(active.contains(operand));

    auto rule = dyn_cast<ir::DifferentiableOp>(op);
    if (!rule) {
      auto diag = op->emitOpError();
      if (auto raw = dyn_cast<ir::RawKernelOp>(op))
        diag << "'" << raw.getEntry() << "' ";
      diag << "has no derivative, but a gradient is required through it ("
           << "WEFT-G001" << ")";
      for (auto [i, needed] : llvm::enumerate(needs))
        if (needed)
          diag.attachNote(op->getOperand(i).getLoc()) << "operand #" << i << " depends on a value of `wrt`";
      diag.attachNote(gradient.getLoc()) << "the gradient is required here";
      diag.attachNote(op->getLoc())
          << "to fix, stop the gradient before it (`.detach()` in C++), or write it with ops "
             "that have a derivative";
      return failure();
    }
    ir::VjpBuilder vjp(builder, op, incoming, needs);
    if (failed(rule.buildVjp(vjp)))
      return failure();
    for (auto [i, cotangent] : llvm::enumerate(vjp.operandCotangents())) {
      if (!cotangent)
        continue;
      Value operand = op->getOperand(i);
      if (cotangent.getType() != operand.getType())
        return op->emitOpError() << "has a derivative rule that gives operand #" << i << " of type "
                                 << operand.getType() << " a cotangent of type " << cotangent.getType();
      Value &sum = cotangents[operand];
      sum = sum ? builder.create<ir::AddOp>(op->getLoc(), sum, cotangent).getResult() : cotangent;
    }
    return success();
  }

  Value filled(Value like, double value) {
    auto type = cast<RankedTensorType>(like.getType());
    auto element = builder.getFloatAttr(type.getElementType(), value);
    return builder.create<ir::ConstantOp>(gradient.getLoc(), type, ir::splatOf(type, element));
  }

  ir::GradientOp gradient;
  OpBuilder builder;
  SmallVector<Operation *> path;
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> cotangents;
};

struct Differentiate : impl::DifferentiateBase<Differentiate> {
  void runOnOperation() override {
    // In op order: if one gradient depends on another, that one has been replaced by ordinary ops before.
    SmallVector<ir::GradientOp> gradients(getOperation().getBody().front().getOps<ir::GradientOp>());
    for (ir::GradientOp gradient : gradients)
      if (failed(Gradient(gradient).run()))
        return signalPassFailure();
    // Remove the mark `no_grad`, which would keep equal ops from being merged.
    bool marked = false;
    getOperation().walk([&](Operation *op) { marked |= op->removeAttr(ir::attr::noGrad) != nullptr; });
    if (gradients.empty() && !marked)
      markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace weft::passes
