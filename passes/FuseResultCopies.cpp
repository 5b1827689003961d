//===- FuseResultCopies.cpp - Copies that fusions write -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/LaunchAttributes.h"
#include "ir/StorageHeads.h"
#include "passes/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_FUSERESULTCOPIES
#include "passes/Passes.h.inc"

namespace {

/// The most operands and results of a fusion that takes one more, within the limits of all devices.
constexpr unsigned mostOperands = 48;

/// Whether a fusion can write a copy of the value: it computes values of its shape on its device.
bool canWrite(FusionOp fusion, Value value) {
  Value first = fusion.getResult(0);
  return fusion.getKind() == FusionKind::loop &&
         fusion->getNumOperands() + fusion->getNumResults() + 2 <= mostOperands &&
         sizesOf(first) == sizesOf(value) && deviceOf(first.getType()) == deviceOf(value.getType());
}

/// The fusion that writes a copy of an argument: one that reads it, or else the first one; null if there is
/// none.
FusionOp fusionFor(BlockArgument argument) {
  for (Operation *user : argument.getUsers())
    if (auto fusion = dyn_cast<FusionOp>(user); fusion && canWrite(fusion, argument))
      return fusion;
  for (auto fusion : argument.getOwner()->getOps<FusionOp>())
    if (canWrite(fusion, argument))
      return fusion;
  return {};
}

/// Adds a result to a fusion: a copy of an operand, or of another result.
Value addCopy(FusionOp fusion, Value value) {
  Block &body = fusion.getBody().front();
  Operation *yield = body.getTerminator();
  Value copied;
  if (auto result = dyn_cast<OpResult>(value)) {
    copied = yield->getOperand(result.getResultNumber());
  } else {
    const auto operand = llvm::find(fusion->getOperands(), value);
    if (operand != fusion->operand_end()) {
      copied = body.getArgument(static_cast<unsigned>(operand - fusion->operand_begin()));
    } else {
      fusion->insertOperands(fusion->getNumOperands(), value);
      copied = body.addArgument(value.getType(), value.getLoc());
    }
  }
  yield->insertOperands(yield->getNumOperands(), copied);
  SmallVector<Type> types(fusion->getResultTypes());
  types.push_back(value.getType());
  OpBuilder builder(fusion);
  OperationState state(fusion.getLoc(), fusion->getName(), fusion->getOperands(), types, fusion->getAttrs());
  state.addRegion()->takeBody(fusion.getBody());
  Operation *made = builder.create(state);
  fusion->replaceAllUsesWith(made->getResults().drop_back());
  fusion->erase();
  return made->getResults().back();
}

struct FuseResultCopies : impl::FuseResultCopiesBase<FuseResultCopies> {
  void runOnOperation() override {
    func = getOperation();
    if (func.isExternal())
      return;
    Operation *terminator = func.getBody().front().getTerminator();
    llvm::SmallPtrSet<Value, 16> placed; // values that a result has as its own
    for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
      if (func.getTiedArgument(static_cast<unsigned>(i)) >= 0)
        placed.insert(storageRoot(value));
    for (unsigned i = 0; i < func.getNumResults(); ++i) {
      Value value = terminator->getOperand(i);
      if (!hasOwnStorage(i) || !isa<RankedTensorType>(value.getType()))
        continue;
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument && placed.insert(storageRoot(value)).second)
        continue;
      if (argument && func.isDonated(argument.getArgNumber()))
        continue;
      FusionOp fusion = argument ? fusionFor(argument) : dyn_cast<FusionOp>(value.getDefiningOp());
      if (!fusion || !canWrite(fusion, value))
        continue;
      // The values of the fusion are others from here on.
      const SmallVector<Value> before(fusion->getResults());
      const Value copied = addCopy(fusion, value);
      for (auto [old, made] : llvm::zip_first(before, copied.getDefiningOp()->getResults()))
        if (placed.erase(old))
          placed.insert(made);
      terminator->setOperand(i, copied);
    }
  }

private:
  bool hasOwnStorage(unsigned result) {
    return func.getTiedArgument(result) < 0 &&
           !func.getResultAttr(result, StringAttr::get(&getContext(), attr::aliasArgument)) &&
           !func.getResultAttr(result, StringAttr::get(&getContext(), attr::aliasResult));
  }

  FuncOp func;
};

} // namespace
} // namespace weft::passes
