//===- Differentiate.cpp - Reverse-mode derivatives -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "ir/Loops.h"
#include "passes/reverse/ReverseMode.h"

#include "llvm/ADT/DenseSet.h"

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
    llvm::DenseSet<Attribute> bodies;
    getOperation().walk([&](Operation *op) {
      for (FlatSymbolRefAttr name : ir::bodiesOf(op))
        bodies.insert(name.getAttr());
    });
    for (ir::FuncOp function : functions)
      if (failed(bodies.contains(function.getNameAttr()) ? mode.differentiateBody(function)
                                                         : mode.differentiate(function)))
        return signalPassFailure();
    // Remove the mark `no_grad`, which would keep equal ops from being merged.
    getOperation().walk([&](Operation *op) { changed |= op->removeAttr(ir::attr::noGrad) != nullptr; });
    if (!changed)
      markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace weft::passes
