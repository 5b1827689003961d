//===- Loops.h - Ops whose body is a function ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_LOOPS_H
#define WEFT_IR_LOOPS_H

#include "ir/Dialect.h"

#define GET_OP_CLASSES
#include "ir/WeftLoops.h.inc"

namespace weft::ir {

/// The type of one row of a tensor with dimensions: without its first one.
mlir::RankedTensorType rowType(mlir::RankedTensorType stacked);
/// The type of `length` values of a type, one above the other.
mlir::RankedTensorType stackedType(mlir::RankedTensorType row, int64_t length);

/// The functions of the module that an op carries out as a part of it, as a loop its body. None for a call,
/// which is inlined.
llvm::SmallVector<mlir::FlatSymbolRefAttr> bodiesOf(mlir::Operation *op);

/// Whether the op is a `weft.while`, or a function that it carries out has one.
bool runsWhile(mlir::Operation *op);

/// The first device, other than the given one, of a value that the op or a function that it carries out
/// computes, or that computes one; null if all are there. A plan gives the op to one device.
DeviceAttr otherDeviceIn(mlir::Operation *op, DeviceAttr device);

} // namespace weft::ir

#endif // WEFT_IR_LOOPS_H
