//===- RecordChecks.cpp - Records index checks as assertions --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rewrite may remove an op that checks an index. For example, if a window that is written is the whole
// tensor, the old elements are not needed. Whether such a rewrite applies depends on sizes, so a program
// would fail for some sizes and not for others. Therefore each check of the recorded program becomes an
// assertion, which no rewrite removes. ElideChecks removes the assertions that some op still checks.
//
// Values that nothing reads in the recorded program are neither computed nor checked, so they are removed
// first.
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

/// The index that `op` checks, its bound, and its name in the message.
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
  // Build the same ops as the decomposition of the loss, so that the two are merged to one value. An ignored
  // row reads class 0.
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
      // Build the check at the end, so that if its values are merged with equal ones of the program, the
      // program's ops stay in their place.
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
