//===- LaunchAmounts.cpp - How many launches a GPU has ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/LaunchAmounts.h"

#include "ir/Loops.h"
#include "ir/Placement.h"
#include "passes/launch/LaunchList.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::codegen {

void LaunchAmount::add(LaunchAmount other) {
  launches = llvm::SaturatingAdd(launches, other.launches);
  operands = llvm::SaturatingAdd(operands, other.operands);
}

LaunchAmount LaunchAmount::times(uint64_t count) const {
  return {llvm::SaturatingMultiply(launches, count), llvm::SaturatingMultiply(operands, count)};
}

LaunchAmount LaunchAmounts::of(FuncOp function) {
  if (const auto found = known.find(function); found != known.end())
    return found->second;
  LaunchAmount all;
  for (Operation &inner : function.getBody().front())
    all.add(of(inner));
  return known[function] = all;
}

LaunchAmount LaunchAmounts::of(Operation &op) {
  const uint64_t results = op.getNumResults(), operands = op.getNumOperands() + results;
  // A loop of the host is one launch, whatever its trips run.
  if (!isa<ScanOp, CondOp, WhileOp>(op) || (results && deviceOf(op.getResultTypes().front()).isCpu()))
    return passes::isLaunch(&op) ? LaunchAmount{1, operands} : LaunchAmount();
  LaunchAmount ofTrip;
  for (FlatSymbolRefAttr name : bodiesOf(&op))
    ofTrip.add(of(SymbolTable::lookupNearestSymbolFrom<FuncOp>(&op, name)));
  if (auto scan = dyn_cast<ScanOp>(op))
    return ofTrip.times(scan.getLength());
  if (isa<CondOp>(op)) { // those of both branches, and its own
    ofTrip.add({1, 1});
    return ofTrip;
  }
  // Those of each of the two places of its carries, its own, and copies.
  LaunchAmount all = ofTrip.times(2);
  all.add({1 + 2 * results, 1 + 4 * results});
  return all;
}

} // namespace weft::codegen
