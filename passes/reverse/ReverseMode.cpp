//===- ReverseMode.cpp - Reverse-mode derivatives of functions -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/reverse/ReverseMode.h"

#include "ir/Loops.h"
#include "ir/Vjp.h"
#include "passes/reverse/BodyDerivative.h"
#include "passes/reverse/CondDerivative.h"
#include "passes/reverse/ScanDerivative.h"
#include "passes/reverse/WhileDerivative.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace weft::passes {

namespace {

/// Replaces one weft.gradient.
class Gradient {
public:
  Gradient(ReverseMode &mode, ir::GradientOp gradient) : mode(mode), gradient(gradient), builder(gradient) {}

  LogicalResult run() {
    collectActive();
    while (decomposeActive()) {
      path.clear();
      active.clear();
      collectActive();
    }
    before = gradient->getPrevNode();
    cotangents[gradient.getOf()] = filledLike(gradient.getOf(), 1.0);
    // In reverse op order. The sets above are only looked up, never iterated, so the result is deterministic.
    for (Operation *op : llvm::reverse(path))
      if (failed(apply(op)))
        return failure();
    SmallVector<Value> results;
    for (Value value : gradient.getWrt()) {
      Value cotangent = cotangents.lookup(value);
      results.push_back(cotangent ? cotangent : filledLike(value, 0.0));
    }
    if (gradient->hasAttr(ir::attr::noGrad))
      stopAt(results);
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
        if (isReal(result))
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
  void stopAt(MutableArrayRef<Value> results) {
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
    if (auto scan = dyn_cast<ir::ScanOp>(op)) {
      ScanDerivative derivative(mode, scan, incoming, needs);
      return applyLoop(scan, derivative, [&] { return derivative.stacking(); });
    }
    if (auto loop = dyn_cast<ir::WhileOp>(op)) {
      WhileDerivative derivative(mode, loop, incoming, needs);
      return applyLoop(loop, derivative, [&] { return derivative.counting(); });
    }
    if (auto cond = dyn_cast<ir::CondOp>(op)) {
      SmallVector<Value> given;
      return success(succeeded(differentiateCond(mode, builder, cond, incoming, needs, given)) &&
                     succeeded(addCotangents(cond, given)));
    }

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
          << "to fix, stop the gradient before it (`.detach()` in C++), or write it with ops that have a "
             "derivative";
      return failure();
    }
    ir::VjpBuilder vjp(builder, op, incoming, needs);
    if (failed(rule.buildVjp(vjp)))
      return failure();
    return addCotangents(op, vjp.operandCotangents());
  }

  LogicalResult addCotangents(Operation *op, ArrayRef<Value> given) {
    for (auto [i, cotangent] : llvm::enumerate(given)) {
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

  /// The derivative of a loop consists of loops. The loop itself is replaced by one with more results.
  template <typename Derivative>
  LogicalResult applyLoop(Operation *loop, Derivative &derivative,
                          llvm::function_ref<Operation *()> replacement) {
    if (failed(derivative.build(builder)) || failed(addCotangents(loop, derivative.operandCotangents())))
      return failure();
    Operation *made = replacement();
    if (made == loop)
      return success();
    const auto results = made->getResults().take_front(loop->getNumResults());
    for (auto [was, is] : llvm::zip_equal(loop->getResults(), results)) {
      if (Value cotangent = cotangents.lookup(was))
        cotangents[is] = cotangent;
      if (active.contains(was))
        active.insert(is);
    }
    loop->replaceAllUsesWith(results);
    if (before == loop)
      before = made;
    loop->erase();
    return success();
  }

  Value filledLike(Value like, double value) {
    return filled(builder, gradient.getLoc(), ir::typeOf(like), value);
  }

  ReverseMode &mode;
  ir::GradientOp gradient;
  OpBuilder builder;
  Operation *before = nullptr; ///< the op before the gradient; those after it compute the derivative
  SmallVector<Operation *> path;
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> cotangents;
};

} // namespace

ReverseMode::ReverseMode(SymbolTable &symbols)
    : symbols_(symbols), whileLoops_(std::make_unique<WhileDerivatives>()) {}
ReverseMode::~ReverseMode() = default;

LogicalResult ReverseMode::differentiate(ir::FuncOp function) {
  if (!done_.insert(function).second || function.isExternal())
    return success();
  // In op order: if one gradient depends on another, that one has been replaced by ordinary ops before.
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front()) {
    if (isa<ir::GradientOp>(op))
      ops.push_back(&op);
    // A derivative of a loop is built from the ops of its body, so the gradients in that are replaced first.
    for (FlatSymbolRefAttr name : ir::bodiesOf(&op))
      if (auto body = symbols_.lookup<ir::FuncOp>(name.getValue()); body && failed(differentiateBody(body)))
        return failure();
  }
  for (Operation *op : ops)
    if (failed(Gradient(*this, cast<ir::GradientOp>(op)).run()))
      return failure();
  return success();
}

LogicalResult ReverseMode::differentiateBody(ir::FuncOp function) {
  const llvm::SaveAndRestore inBody(isInBody_, true);
  return differentiate(function);
}

} // namespace weft::passes
