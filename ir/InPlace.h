//===- InPlace.h - Loops that may write over an operand ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory plan gives a result the storage of an operand only where the functions here allow it. A kernel
// of a loop without such an operand may compute an element twice.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_INPLACE_H
#define WEFT_IR_INPLACE_H

#include "ir/Dialect.h"

namespace weft::ir {

/// Whether all ops on values computed from `values` are elementwise, so that they use the same index; `last`
/// may be any op.
bool usedElementwise(llvm::SmallVector<mlir::Value> values, mlir::Operation *last);

/// Whether elements of an operand and of a result have the same size, and their tensors the same shape.
bool haveOneLayout(FusionOp fusion, unsigned operand, unsigned result);

/// Whether a loop may write `result` over `operand`: it reads each element only for the one that replaces it.
bool mayReplace(FusionOp loop, unsigned operand, unsigned result);

/// Whether a loop may write any result over any operand.
bool mayReplaceAny(FusionOp loop);

} // namespace weft::ir

#endif // WEFT_IR_INPLACE_H
