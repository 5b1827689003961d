//===- RecordChecks.cpp - What was recorded is checked --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op that checks an index may lose its readers to a rewrite: of a window that is the whole tensor nothing
// below it is read. Whether such a rewrite applies depends on sizes, so that a program would fail for some
// and not for others. Each check of the program as it was recorded is therefore written down as an assertion,
// which no rewrite removes; ElideChecks drops those that some op still makes.
//
// What nothing reads in the recorded program is not computed and not checked; it goes first.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "ir/FunctionAttributes.h"
#include "ir/Updates.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_RECORDCHECKS
#include "passes/Passes.h.inc"

namespace {

/// The index that `op` checks, with its bound and what the message calls it.
struct Check {
  Sym index;
  Size size;
  StringRef name;
  int64_t dim = 0;
};

std::optional<Check> checkOf(Operation *op, VjpBuilder &symbolic) {
  if (checksIndex(op))
    return Check{symbolic.operand(indexOperandOf(op).getOperandNumber()), indexedSize(op), indexNameOf(op),
                 reportedDim(op)};
  auto loss = dyn_cast<CrossEntropyOp>(op);
  if (!loss)
    return std::nullopt;
  // As its decomposition has it, so that the two are one value. A row that is ignored reads class 0.
  Sym target = symbolic.operand(1);
  auto ignored = static_cast<double>(static_cast<int64_t>(loss.getIgnoreIndex()));
  Sym keep = symbolic.compare<NeOp>(target, symbolic.like(target, ignored));
  return Check{symbolic.select(keep, target, symbolic.like(target, 0)),
               sizesOf(loss.getLogits().getType())[1], "Target", 1};
}

struct RecordChecks : impl::RecordChecksBase<RecordChecks> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.isExternal())
      return;
    Block &body = func.getBody().front();
    bool changed = false;
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op)) {
        op.erase();
        changed = true;
      }
    SmallVector<Operation *> recorded;
    for (Operation &op : body)
      recorded.push_back(&op);
    for (Operation *op : recorded) {
      if (!mayFail(op) || isa<AssertOp>(op))
        continue;
      changed = true;
      // At the end: where two values become one it is the program's own that stays, in its place.
      OpBuilder builder(body.getTerminator());
      VjpBuilder symbolic(builder, op, SmallVector<Value>(op->getNumResults()),
                          SmallVector<bool>(op->getNumOperands(), false));
      std::optional<Check> check = checkOf(op, symbolic);
      if (!check)
        continue;
      Sym checked = symbolic.checkedIndex(check->index, check->size, check->name, check->dim);
      Sym inside = symbolic.compare<GeOp>(checked, symbolic.like(checked, 0));
      auto assertion = builder.create<AssertOp>(op->getLoc(), inside.value, "an index is out of bounds");
      assertion->setAttr(attr::recordedCheck, builder.getUnitAttr());
    }
    if (!changed)
      markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace weft::passes
