//===- Placement.h - Which device an op runs on ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rule of placement. All operands of an op are on the device where it runs, with the exceptions of
// PyTorch: a 0-dimensional tensor on the host may be an operand of an elementwise op on another device, an
// index tensor on the host may index a tensor on another device, and the scalars of an optimiser step may be
// on the host.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_PLACEMENT_H
#define WEFT_IR_PLACEMENT_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace weft::ir {

class DeviceAttr;

/// Whether operand `number` of the op is on the host, and may be there even if the op runs on another device.
bool mayStayOnHost(mlir::Operation *op, unsigned number);

/// The device that the op runs on: that of its operands, except host operands as above. Null for an op
/// without tensor operands.
DeviceAttr computeDevice(mlir::Operation *op);

/// Whether operand `number` is on the host and the op runs on another device. `weft-place-host-operands`
/// moves such operands.
bool isHostOperand(mlir::Operation *op, unsigned number);

/// The operand type whose shape and device the result of an elementwise op has. The operands may not be
/// verified yet.
mlir::RankedTensorType elementwiseLike(mlir::ValueRange operands);

} // namespace weft::ir

#endif // WEFT_IR_PLACEMENT_H
