//===- Placement.cpp - Which device an op runs on -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Placement.h"

#include "ir/Dialect.h"

using namespace mlir;
namespace weft::ir {

static bool isHostScalar(Type type) {
  DeviceAttr device = deviceOf(type);
  return device && device.isCpu() && cast<RankedTensorType>(type).getRank() == 0;
}

bool mayStayOnHost(Operation *op, unsigned number) {
  Type type = op->getOperand(number).getType();
  DeviceAttr device = deviceOf(type);
  if (!device || !device.isCpu())
    return false;
  if (isa<GatherOp, ScatterOp>(op))
    return number == 1;
  if (isa<IndexUpdateOp>(op))
    return number == 2;
  return isa<ElementwiseOp, SgdStepOp, AdamStepOp>(op) && isHostScalar(type);
}

DeviceAttr computeDevice(Operation *op) {
  DeviceAttr host;
  for (OpOperand &operand : op->getOpOperands()) {
    DeviceAttr device = deviceOf(operand.get().getType());
    if (device && !mayStayOnHost(op, operand.getOperandNumber()))
      return device;
    if (!host)
      host = device;
  }
  return host;
}

bool isHostOperand(Operation *op, unsigned number) {
  return mayStayOnHost(op, number) && !computeDevice(op).isCpu();
}

RankedTensorType elementwiseLike(ValueRange operands) {
  for (Value operand : operands)
    if (!isHostScalar(operand.getType()))
      return cast<RankedTensorType>(operand.getType());
  return cast<RankedTensorType>(operands.front().getType());
}

} // namespace weft::ir
