//===- ReverseMode.h - Reverse-mode derivatives of functions ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_REVERSE_REVERSEMODE_H
#define WEFT_PASSES_REVERSE_REVERSEMODE_H

#include "ir/Dialect.h"

#include "llvm/ADT/DenseSet.h"

#include <memory>

namespace weft::passes {

struct WhileDerivatives;

/// Replaces gradients in the functions of a module by the ops that compute them.
class ReverseMode {
public:
  explicit ReverseMode(mlir::SymbolTable &symbols);
  ~ReverseMode();

  /// Replaces every weft.gradient of the function, and before that those of the bodies of its loops. Does
  /// nothing for a function that was given before. Emits an error on an op that has no derivative.
  mlir::LogicalResult differentiate(ir::FuncOp function);
  /// The same for a function that another op runs.
  mlir::LogicalResult differentiateBody(ir::FuncOp function);

  mlir::SymbolTable &symbols() { return symbols_; }
  WhileDerivatives &whileLoops() { return *whileLoops_; }
  /// Whether the function that is being differentiated is one that another op runs.
  bool isInBody() const { return isInBody_; }
  /// Removes a function from the module.
  void erase(ir::FuncOp function) {
    done_.erase(function);
    symbols_.erase(function);
  }

private:
  mlir::SymbolTable &symbols_;
  llvm::DenseSet<mlir::Operation *> done_;
  std::unique_ptr<WhileDerivatives> whileLoops_;
  bool isInBody_ = false;
};

} // namespace weft::passes

#endif // WEFT_PASSES_REVERSE_REVERSEMODE_H
