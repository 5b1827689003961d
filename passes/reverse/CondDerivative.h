//===- CondDerivative.h - The derivative of a condition ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_REVERSE_CONDDERIVATIVE_H
#define WEFT_PASSES_REVERSE_CONDDERIVATIVE_H

#include "ir/Loops.h"

namespace weft::passes {

class ReverseMode;

/// Builds the derivative of a condition at `builder`: a condition with the same predicate, whose branches are
/// the derivatives of the branches. They compute what they need of the values of the branch again: the values
/// of the branch that was taken are not kept. That costs its time once more and no memory between the two.
/// `incoming` has the cotangent of each result, or null; `needs` says which operands want one. `cotangents`
/// gets that of each operand, or null.
mlir::LogicalResult differentiateCond(ReverseMode &mode, mlir::OpBuilder &builder, ir::CondOp cond,
                                      llvm::ArrayRef<mlir::Value> incoming, llvm::ArrayRef<bool> needs,
                                      llvm::SmallVectorImpl<mlir::Value> &cotangents);

} // namespace weft::passes

#endif // WEFT_PASSES_REVERSE_CONDDERIVATIVE_H
