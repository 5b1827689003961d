//===- LaunchStorage.cpp - Values that share storage ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/launch/LaunchStorage.h"

#include "ir/InPlace.h"
#include "ir/RawKernel.h"
#include "ir/Updates.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

llvm::DenseSet<Value> returnedHeads(FuncOp func) {
  llvm::DenseSet<Value> heads;
  for (Value value : func.getBody().front().getTerminator()->getOperands())
    heads.insert(storageHead(value));
  return heads;
}

std::optional<int64_t> temporaryBytes(Value result, StorageHeads &heads,
                                      const llvm::DenseSet<Value> &returned, const SymbolRanges &ranges) {
  if (!isa<RankedTensorType>(result.getType()) || heads.of(result) != result || returned.contains(result))
    return std::nullopt;
  constexpr int64_t most = int64_t(1) << 47;
  return std::min(ranges.largest(bytesOf(result.getType())), most);
}

/// Whether an update of a window at a fixed place reads this operand only in the window, each element at the
/// index where the new one is written, as in `state[2:4] += x`.
static bool readsItsWindow(FusionOp fusion, unsigned operand) {
  auto update = dyn_cast_or_null<DynamicUpdateSliceOp>(updateIn(fusion));
  if (!update)
    return false;
  SmallVector<Size> place;
  for (Value start : update.getStarts()) {
    APInt value;
    if (!matchPattern(start, m_ConstantInt(&value)))
      return false;
    place.push_back(value.getSExtValue());
  }
  SmallVector<Value> work;
  for (Operation *user : fusion.getBody().front().getArgument(operand).getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice || slice.getStart() != ArrayRef(place) || slice.getType() != update.getU().getType() ||
        llvm::any_of(slice.getStep(), [](int64_t step) { return step != 1; }))
      return false;
    work.push_back(slice.getResult());
  }
  return usedElementwise(std::move(work), update);
}

bool readsInPlace(Operation *op, unsigned operand, unsigned result) {
  if (auto raw = dyn_cast<RawKernelOp>(op))
    return changesInPlace(raw, operand, result);
  auto fusion = dyn_cast<FusionOp>(op);
  if (!fusion)
    return false;
  if (fusion.getKind() == FusionKind::update)
    return operand == 0 || readsItsWindow(fusion, operand);
  Block &body = fusion.getBody().front();
  BlockArgument argument = body.getArgument(operand);
  Value written = body.getTerminator()->getOperand(result);
  if (fusion.getKind() == FusionKind::multi_tensor)
    return haveOneLayout(fusion, operand, result) && argument.hasOneUse() &&
           *argument.getUsers().begin() == written.getDefiningOp();
  return mayReplace(fusion, operand, result);
}

bool readsOnlyInPlace(Operation *op, Value root, unsigned result) {
  auto inPlace = [&](OpOperand &operand) { return readsInPlace(op, operand.getOperandNumber(), result); };
  // A kernel of optimiser steps has thousands of operands, and this is called for thousands of results. Its
  // tensors have few uses, so visit those. The operands of a small kernel may have many uses.
  constexpr unsigned few = 32;
  if (op->getNumOperands() <= few)
    return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
      return storageRoot(operand.get()) != root || inPlace(operand);
    });
  SmallVector<Value> views{root};
  while (!views.empty())
    for (OpOperand &use : views.pop_back_val().getUses()) {
      if (isStorageView(use.getOwner()))
        views.push_back(use.getOwner()->getResult(0));
      else if (use.getOwner() == op && !inPlace(use))
        return false;
    }
  return true;
}

SliceAttr sliceOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return SliceAttr::get(value.getContext(), StorageKind::argument, argument.getArgNumber(),
                          bytesOf(value.getType()));
  Operation *op = value.getDefiningOp();
  auto slices = op->getAttrOfType<ArrayAttr>(attr::slices);
  unsigned number = cast<OpResult>(value).getResultNumber();
  return slices && number < slices.size() ? dyn_cast<SliceAttr>(slices[number]) : SliceAttr();
}

bool writesArgument(Operation *launch) {
  auto func = launch->getParentOfType<FuncOp>();
  return llvm::any_of(launch->getResults(), [&](Value result) {
    const SliceAttr slice = sliceOf(result);
    if (!slice || slice.getStorage() == StorageKind::argument)
      return static_cast<bool>(slice);
    // The verifier of the memory plan has checked that the position is the number of a result.
    return slice.getStorage() == StorageKind::result &&
           func.getTiedArgument(static_cast<unsigned>(slice.getPosition().number().value_or(0))) >= 0;
  });
}

} // namespace weft::passes
