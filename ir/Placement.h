//===- Placement.h - Which device an op runs on ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one rule of devices. All operands of an op lie where it runs, but for the mixtures that PyTorch has:
// a 0-dimensional tensor of the host joins elementwise ops of another device, an index tensor of the host
// indexes a tensor that is elsewhere, and the scalars of an optimiser step may lie on the host.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_PLACEMENT_H
#define WEFT_IR_PLACEMENT_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace weft::ir {

class DeviceAttr;

/// Whether operand `number` of the op is on the host and may be although the op runs elsewhere.
bool mayStayOnHost(mlir::Operation *op, unsigned number);

/// The device that the op runs on: that of its operands, host operands as above apart. Null for an op without
/// tensors among its operands.
DeviceAttr computeDevice(mlir::Operation *op);

/// Whether operand `number` is on the host and the op runs elsewhere: what `weft-place-host-operands` moves.
bool isHostOperand(mlir::Operation *op, unsigned number);

/// The type whose shape and device an elementwise op's result has, from operands that the verifier may not
/// have seen yet.
mlir::RankedTensorType elementwiseLike(mlir::ValueRange operands);

} // namespace weft::ir

#endif // WEFT_IR_PLACEMENT_H
