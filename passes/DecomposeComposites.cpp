//===- DecomposeComposites.cpp - Composites to primitives -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_DECOMPOSECOMPOSITES
#include "passes/Passes.h.inc"

namespace {

struct DecomposeComposites : impl::DecomposeCompositesBase<DecomposeComposites> {
  void runOnOperation() override {
    SmallVector<ir::DecomposableOp> composites;
    getOperation().walk([&](ir::DecomposableOp op) { composites.push_back(op); });
    for (ir::DecomposableOp composite : composites) {
      OpBuilder builder(composite);
      SmallVector<Value> values = composite.decompose(builder);
      if (TypeRange(ValueRange(values)) != TypeRange(composite->getResultTypes())) {
        composite.emitOpError() << "decomposes into values of types (" << TypeRange(ValueRange(values))
                                << "), expected (" << composite->getResultTypes() << ")";
        return signalPassFailure();
      }
      composite->replaceAllUsesWith(values);
      composite->erase();
    }
  }
};

} // namespace
} // namespace weft::passes
