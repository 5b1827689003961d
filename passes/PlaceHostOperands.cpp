//===- PlaceHostOperands.cpp - Moves host operands to the op's device -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/Placement.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_PLACEHOSTOPERANDS
#include "passes/Passes.h.inc"

namespace {

struct PlaceHostOperands : impl::PlaceHostOperandsBase<PlaceHostOperands> {
  void runOnOperation() override {
    llvm::DenseMap<std::pair<Value, Attribute>, Value> moved;
    bool changed = false;
    for (Operation &op : getOperation().getBody().front())
      for (OpOperand &operand : op.getOpOperands())
        if (isHostOperand(&op, operand.getOperandNumber())) {
          operand.set(place(op, operand, moved));
          changed = true;
        }
    if (!changed)
      markAllAnalysesPreserved();
  }

  /// The operand on the op's device; a scalar among tensors is broadcast there.
  Value place(Operation &op, OpOperand &operand, llvm::DenseMap<std::pair<Value, Attribute>, Value> &moved) {
    DeviceAttr device = computeDevice(&op);
    Value &copy = moved[{operand.get(), device}];
    if (!copy) {
      OpBuilder builder(&op);
      copy = builder.create<TransferOp>(op.getLoc(), operand.get(), device, /*non_blocking=*/true);
    }
    auto shape =
        op.getNumResults() ? sizesOf(cast<RankedTensorType>(op.getResult(0).getType())) : ArrayRef<Size>();
    if (!isa<ElementwiseOp>(op) || shape.empty())
      return copy;
    OpBuilder builder(&op);
    return builder.create<BroadcastInDimOp>(op.getLoc(), copy, ArrayRef<int64_t>(), shape);
  }
};

} // namespace
} // namespace weft::passes
