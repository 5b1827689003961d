//===- FuseOptimizerSteps.cpp - Optimiser steps as one kernel -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/fusion/OptimizerSteps.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_FUSEOPTIMIZERSTEPS
#include "passes/Passes.h.inc"

namespace {

/// The scalar operands of a step: state and hyperparameters that steps share. `found_inf` is null if there is
/// none.
SmallVector<Value> scalarsOf(Operation *op) {
  if (auto adam = dyn_cast<AdamStepOp>(op))
    return {adam.getStep(), adam.getLr(),    adam.getBeta1(),   adam.getBeta2(),
            adam.getEps(),  adam.getDecay(), adam.getFoundInf()};
  auto sgd = cast<SgdStepOp>(op);
  return {sgd.getStep(),      sgd.getLr(),    sgd.getMomentum(),
          sgd.getDampening(), sgd.getDecay(), sgd.getFoundInf()};
}

struct FuseOptimizerSteps : impl::FuseOptimizerStepsBase<FuseOptimizerSteps> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.isExternal())
      return;
    Block &body = func.getBody().front();
    // Classes of steps with the same kind, element type and scalars. A step that depends on another one,
    // directly or not, is in a later class. `depth` counts the steps on the longest path to a value.
    using Key = std::tuple<StringRef, SmallVector<Value>, Type, DictionaryAttr, unsigned>;
    SmallVector<std::pair<Key, SmallVector<Operation *>>> classes;
    llvm::DenseMap<Value, unsigned> depth;
    llvm::DenseMap<Value, SmallVector<size_t>>
        classesOfStep; // classes by step count, which few classes share
    for (Operation &op : body.without_terminator()) {
      unsigned level = 0;
      for (Value operand : op.getOperands())
        level = std::max(level, depth.lookup(operand));
      bool isStep = isa<AdamStepOp, SgdStepOp>(op);
      if (isStep) {
        SmallVector<Value> scalars = scalarsOf(&op);
        Key key{op.getName().getStringRef(), scalars, getElementTypeOrSelf(op.getOperand(0).getType()),
                op.getAttrDictionary(), level};
        SmallVector<size_t> &known = classesOfStep[scalars[0]];
        const auto *it = llvm::find_if(known, [&](size_t i) { return classes[i].first == key; });
        if (it == known.end()) {
          known.push_back(classes.size());
          classes.push_back({key, {}});
          it = &known.back();
        }
        classes[*it].second.push_back(&op);
      }
      for (Value result : op.getResults())
        depth[result] = level + (isStep ? 1 : 0);
    }
    // The kernel takes the place of its last step; readers of earlier steps move behind it.
    for (auto &entry : classes) {
      SmallVector<Operation *> &steps = entry.second;
      llvm::sort(steps, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
      llvm::SmallDenseSet<Operation *> late;
      SmallVector<Operation *> moved;
      llvm::SmallDenseSet<Operation *> members(steps.begin(), steps.end());
      for (Operation *op = steps.front(); op != steps.back(); op = op->getNextNode()) {
        bool reads = llvm::any_of(op->getOperands(), [&](Value operand) {
          Operation *maker = operand.getDefiningOp();
          return maker && (late.count(maker) || members.count(maker));
        });
        if (reads && !members.count(op)) {
          late.insert(op);
          moved.push_back(op);
        }
      }
      FusionOp fusion = wrapOptimizerSteps(steps);
      Operation *after = fusion;
      for (Operation *op : moved) {
        op->moveAfter(after);
        after = op;
      }
    }
  }
};

} // namespace
} // namespace weft::passes
