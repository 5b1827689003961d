//===- VerifyMemoryPlan.cpp - Proof that a memory plan is sound -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/launch/MemoryPlanVerifier.h"

namespace weft::passes {
#define GEN_PASS_DEF_VERIFYMEMORYPLAN
#include "passes/Passes.h.inc"

namespace {
struct VerifyMemoryPlan : impl::VerifyMemoryPlanBase<VerifyMemoryPlan> {
  void runOnOperation() override {
    if (failed(verifyMemoryPlan(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace

} // namespace weft::passes
