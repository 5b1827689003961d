//===- GuardedLoops.h - Loops that run only if they should ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_REVERSE_GUARDEDLOOPS_H
#define WEFT_PASSES_REVERSE_GUARDEDLOOPS_H

#include "ir/Dialect.h"

namespace weft::passes {

/// A while loop may never end for values that the program would not have given it: those of a branch that is
/// not taken, or behind an index that is refused. This makes such loops depend on a truth value, in whatever
/// runs them.
class GuardedLoops {
public:
  /// `copied` is called with each function that is made.
  GuardedLoops(mlir::SymbolTable &symbols, llvm::function_ref<void(ir::FuncOp)> copied)
      : symbols_(symbols), copied_(copied) {}

  /// Makes every while loop that the op is, or that a function has which the op runs, one without trips if
  /// `runs`, a truth value before the op, is false. Returns the op, or the one that replaces it.
  mlir::Operation *guard(mlir::Operation *op, mlir::Value runs);

private:
  struct Copy {
    ir::FuncOp function;
    mlir::Value argument;
  };
  Copy copyWith(llvm::StringRef name, mlir::Type type, mlir::Location loc);
  void guardAll(Copy copy);

  mlir::SymbolTable &symbols_;
  llvm::function_ref<void(ir::FuncOp)> copied_;
};

} // namespace weft::passes

#endif // WEFT_PASSES_REVERSE_GUARDEDLOOPS_H
