//===- Differentiate.cpp - Reverse-mode derivatives -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "passes/reverse/ReverseMode.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/Passes.h.inc"

namespace {

struct Differentiate : impl::DifferentiateBase<Differentiate> {
  void runOnOperation() override {
    bool changed = false;
    getOperation().walk([&](ir::GradientOp) {
      changed = true;
      return WalkResult::interrupt();
    });
    SymbolTable symbols(getOperation());
    ReverseMode mode(symbols);
    // A derivative of a loop adds functions, which have no gradients.
    SmallVector<ir::FuncOp> functions(getOperation().getOps<ir::FuncOp>());
    for (ir::FuncOp function : functions)
      if (failed(mode.differentiate(function)))
        return signalPassFailure();
    // Remove the mark `no_grad`, which would keep equal ops from being merged.
    getOperation().walk([&](Operation *op) { changed |= op->removeAttr(ir::attr::noGrad) != nullptr; });
    if (!changed)
      markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace weft::passes
