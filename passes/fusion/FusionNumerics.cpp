//===- FusionNumerics.cpp - Fast numerics of kernels ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/fusion/FusionNumerics.h"
#include "ir/FunctionAttributes.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

/// Whether the value is a product of floats, or a view of one.
static bool isProduct(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (isa<MulOp>(op))
      return true;
    if (!isa<BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// The number of float sums and differences in a fusion that have a product as an operand.
static unsigned contractions(FusionOp fusion) {
  unsigned count = 0;
  for (Operation &op : fusion.getBody().front())
    if (isa<AddOp, SubOp, SumOp>(op) &&
        isa<FloatType>(cast<RankedTensorType>(op.getOperand(0).getType()).getElementType()))
      count += llvm::any_of(op.getOperands(), isProduct);
  return count;
}

void applyNumerics(FuncOp func, std::vector<Decision> *decisions) {
  if (!hasFastNumerics(func))
    return;
  for (auto fusion : func.getOps<FusionOp>()) {
    unsigned count = contractions(fusion);
    if (count == 0)
      continue;
    fusion->setAttr(attr::contract, UnitAttr::get(func.getContext()));
    if (decisions)
      decisions->push_back(
          {"WEFT-N006", locationText(fusion.getLoc()), "fusion", "", 0,
           std::to_string(count) +
               (count == 1 ? " sum with a product rounds once" : " sums with products round once") +
               " instead of twice"});
  }
}

} // namespace weft::passes
