//===- BodyDerivative.h - Derivatives behind the ops of a body --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_REVERSE_BODYDERIVATIVE_H
#define WEFT_PASSES_REVERSE_BODYDERIVATIVE_H

#include "ir/Dialect.h"

namespace weft::passes {

class ReverseMode;

bool isReal(mlir::Value value);
/// A constant all of whose elements are the number.
mlir::Value filled(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type, double value);
void removeDeadOps(mlir::Block &block);
/// Whether an op of the function may fail.
bool hasFallibleOps(ir::FuncOp function);
/// Gives a function the type that its block and its return have.
void updateType(ir::FuncOp function);
/// Declares the symbols of a function that sizes of the arguments of another one, which is made from it,
/// have.
void declareSymbols(ir::FuncOp made, ir::FuncOp from);
/// A copy of a function in the module, with this behind its name.
ir::FuncOp copyOf(mlir::SymbolTable &symbols, ir::FuncOp function, llvm::StringRef suffix);

/// The carries of a loop, its first operands, that depend on an operand that wants a gradient: those that
/// begin as one, and then those that the body computes from such.
llvm::SmallVector<unsigned> findActiveCarries(ir::FuncOp body, unsigned carries, llvm::ArrayRef<bool> needs);

/// The derivative that stands behind the ops of a body.
struct BodyDerivative {
  mlir::Operation *marker;                   ///< between the two
  llvm::SmallVector<mlir::Value> cotangents; ///< new arguments, of the results that were given
  llvm::SmallVector<mlir::Value> gradients;  ///< of the arguments that were given
};

/// Appends to a body the gradients of the arguments `wrt` of the sum of all products of a result of `of` and
/// its cotangent. Each of these cotangents is a new last argument.
mlir::FailureOr<BodyDerivative> appendDerivative(ReverseMode &mode, ir::FuncOp body,
                                                 llvm::ArrayRef<unsigned> wrt, llvm::ArrayRef<unsigned> of);
/// A function of the arguments of a body and of the cotangents of the results `of`, which returns the
/// gradients of the arguments `wrt` alone.
mlir::FailureOr<ir::FuncOp> derivativeOf(ReverseMode &mode, ir::FuncOp body, llvm::ArrayRef<unsigned> wrt,
                                         llvm::ArrayRef<unsigned> of);

} // namespace weft::passes

#endif // WEFT_PASSES_REVERSE_BODYDERIVATIVE_H
