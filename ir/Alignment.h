//===- Alignment.h - Addresses of values on a GPU ---------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU reads and writes 8, 16 or 32 bytes at a time only where the address is a multiple of as many. Kernels
// are compiled for what is known of the addresses of their operands: a value that the plan places, and a
// result, begin at a multiple of the widest access. So does an argument, unless `weft.alignment` says
// otherwise: a function whose calls pass memory at other addresses, as `x[1:]`, is compiled with the
// attribute. Each kernel reads such an argument in narrower accesses, and the rest as before.
//
// Kernels of a CPU do not depend on alignment.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_ALIGNMENT_H
#define WEFT_IR_ALIGNMENT_H

#include "ir/Dialect.h"

namespace weft::ir {

/// Bytes of the widest access of any GPU (sm_100).
inline constexpr int64_t widestAccess = 32;

/// A power of two, in bytes, of which the address of an argument is a multiple in each call.
int64_t alignmentOfArgument(FuncOp function, unsigned argument);

/// The same for any value of a function: its memory may be that of an argument, or of a result.
int64_t alignmentOf(mlir::Value value);

/// Verifies the attributes `weft.alignment` of a function's arguments.
mlir::LogicalResult verifyAlignments(FuncOp function);

} // namespace weft::ir

#endif // WEFT_IR_ALIGNMENT_H
