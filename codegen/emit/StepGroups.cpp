//===- StepGroups.cpp - Groups of optimiser steps in a kernel -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/StepGroups.h"

#include <map>

using namespace mlir;
namespace weft::codegen {

SmallVector<StepGroup> stepGroups(ir::FusionOp fusion) {
  SmallVector<StepGroup> groups;
  // The key is op, element type, attributes and numbers. One of the attributes is operandSegmentSizes, which
  // tells which operands are present.
  std::map<std::vector<const void *>, size_t> known;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    auto adam = dyn_cast<ir::AdamStepOp>(op);
    unsigned reads = adam ? (adam.getVmax() ? 5 : 4) : (cast<ir::SgdStepOp>(op).getBuf() ? 3 : 2);
    std::vector<const void *> key{op.getName().getAsOpaquePointer(),
                                  getElementTypeOrSelf(op.getOperand(0).getType()).getAsOpaquePointer(),
                                  op.getAttrDictionary().getAsOpaquePointer()};
    for (Value number : op.getOperands().drop_front(reads))
      key.push_back(number.getAsOpaquePointer());
    auto [it, isNew] = known.try_emplace(std::move(key), groups.size());
    if (isNew)
      groups.push_back({{}, reads, op.getNumResults()});
    groups[it->second].steps.push_back(&op);
  }
  return groups;
}

StepBuffers stepBuffers(ir::FusionOp fusion, ArrayRef<StepGroup> groups) {
  StepBuffers buffers;
  auto add = [&](ValueRange values) {
    for (Value value : values)
      buffers.operands.push_back(cast<BlockArgument>(value).getArgNumber());
  };
  llvm::DenseMap<Value, unsigned> resultOf;
  for (auto [i, value] : llvm::enumerate(fusion.getBody().front().getTerminator()->getOperands()))
    resultOf[value] = static_cast<unsigned>(i);
  for (const StepGroup &group : groups)
    add(group.numbers());
  for (const StepGroup &group : groups)
    for (Operation *step : group.steps) {
      add(group.tensors(step));
      for (Value result : step->getResults())
        buffers.results.push_back(resultOf.lookup(result));
    }
  return buffers;
}

SmallVector<ir::Size> stepElements(ArrayRef<StepGroup> groups) {
  SmallVector<ir::Size> elements;
  for (const StepGroup &group : groups)
    for (Operation *step : group.steps)
      elements.push_back(ir::elementsOf(cast<RankedTensorType>(step->getOperand(0).getType())));
  return elements;
}

} // namespace weft::codegen
