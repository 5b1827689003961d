//===- OptimizerSteps.cpp - One fusion for optimiser steps ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/fusion/OptimizerSteps.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

FusionOp wrapOptimizerSteps(ArrayRef<Operation *> steps) {
  OpBuilder builder(steps.back());
  llvm::SetVector<Value> inputs;
  SmallVector<Type> types;
  SmallVector<Location> locations;
  for (Operation *step : steps) {
    inputs.insert(step->operand_begin(), step->operand_end());
    llvm::append_range(types, step->getResultTypes());
    if (!llvm::is_contained(locations, step->getLoc()) && locations.size() < 8)
      locations.push_back(step->getLoc());
  }
  Location loc = FusedLoc::get(builder.getContext(), locations);
  auto fusion = builder.create<FusionOp>(loc, types, inputs.getArrayRef(), FusionKind::multi_tensor,
                                         ScheduleAttr(), ArrayAttr(), DenseI64ArrayAttr());
  Block &block = fusion.getBody().emplaceBlock();
  IRMapping map;
  for (Value input : inputs)
    map.map(input, block.addArgument(input.getType(), input.getLoc()));
  OpBuilder body = OpBuilder::atBlockEnd(&block);
  SmallVector<Value> yields;
  for (Operation *step : steps)
    llvm::append_range(yields, body.clone(*step, map)->getResults());
  body.create<YieldOp>(loc, yields);
  unsigned next = 0;
  for (Operation *step : steps) {
    step->replaceAllUsesWith(fusion.getResults().slice(next, step->getNumResults()));
    next += step->getNumResults();
  }
  for (Operation *step : steps)
    step->erase();
  return fusion;
}

} // namespace weft::passes
