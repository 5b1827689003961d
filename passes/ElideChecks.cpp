//===- ElideChecks.cpp - Removes recorded checks that ops make ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RecordChecks recorded each check as `assert(gather(iota(size), index) >= 0)`: the gather checks the index,
// and the assertion reads the gather. If the program still has an op that checks the whole index against the
// same bound, the assertion is removed, together with the ops that only it reads. Otherwise it stays.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "ir/FunctionAttributes.h"
#include "ir/Updates.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_ELIDECHECKS
#include "passes/Passes.h.inc"

namespace {

/// The value behind ops that only rearrange the elements of an index.
Value elementsBehind(Value index) {
  while (Operation *op = index.getDefiningOp()) {
    if (!isa<ReshapeOp, TransposeOp, ReverseOp>(op))
      break;
    index = op->getOperand(0);
  }
  return index;
}

using CheckKey = std::pair<Value, int64_t>;
CheckKey keyOf(Operation *op) { return {elementsBehind(indexOperandOf(op).get()), indexedSize(op).raw()}; }

bool isRecorded(Operation *op) { return isa<AssertOp>(op) && op->hasAttr(attr::recordedCheck); }

/// Whether `value` is read only by recorded assertions, their comparisons, and the least elements that they
/// compare.
bool onlyRecordedReaders(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isRecorded(user) ||
           (isa<GeOp, RminOp>(user) && !user->use_empty() && onlyRecordedReaders(user->getResult(0)));
  });
}

/// The op that checks the index of a recorded assertion; null if its condition was folded.
Operation *checkOf(AssertOp assertion) {
  Operation *op = assertion.getCondition().getDefiningOp();
  for (bool isComparison : {true, false})
    if (op && (isComparison ? op->getNumOperands() > 0 : isa<RminOp>(op)))
      op = op->getOperand(0).getDefiningOp();
  return op && checksIndex(op) ? op : nullptr;
}

/// Whether an op that checks an index will check all of its elements. A gather whose result is read is
/// computed for all indices, and the index of an update has a gather of its own. But if another dimension of
/// the table may be empty, the kernel may read nothing with the index.
bool checksAll(Operation *op) {
  auto gather = dyn_cast<GatherOp>(op);
  if (!gather || gather->use_empty())
    return false;
  if (gather.getKind() == GatherKind::along)
    return true;
  auto others = llvm::enumerate(sizesOf(gather.getA().getType()));
  return llvm::all_of(others, [&](auto size) {
    return static_cast<int64_t>(size.index()) == static_cast<int64_t>(gather.getDim()) ||
           rangesOf(op).isAtLeast(size.value(), 1);
  });
}

struct ElideChecks : impl::ElideChecksBase<ElideChecks> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    SmallVector<AssertOp> recorded;
    llvm::DenseSet<CheckKey> made;
    func.walk([&](Operation *op) {
      if (isRecorded(op))
        recorded.push_back(cast<AssertOp>(op));
      else if (checksIndex(op) && checksAll(op) && !onlyRecordedReaders(op->getResult(0)))
        made.insert(keyOf(op));
    });
    if (recorded.empty())
      return markAllAnalysesPreserved();
    for (AssertOp assertion : recorded) {
      // A condition of another form was folded, because the index is known to be in range.
      Operation *check = checkOf(assertion);
      if (check && made.insert(keyOf(check)).second) {
        assertion->removeAttr(attr::recordedCheck);
        continue;
      }
      SmallVector<Operation *> unused{assertion};
      while (!unused.empty()) {
        Operation *op = unused.pop_back_val();
        SmallVector<Value> operands(op->getOperands());
        op->erase();
        for (Value operand : operands)
          if (Operation *above = operand.getDefiningOp();
              above && isOpTriviallyDead(above) && !llvm::is_contained(unused, above))
            unused.push_back(above);
      }
    }
  }
};

} // namespace
} // namespace weft::passes
