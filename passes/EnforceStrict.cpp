//===- EnforceStrict.cpp - Makes refusals errors in strict modes ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "ir/Reasons.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_ENFORCESTRICT
#include "passes/Passes.h.inc"

namespace {

struct EnforceStrict : impl::EnforceStrictBase<EnforceStrict> {
  using EnforceStrictBase::EnforceStrictBase;

  void runOnOperation() override {
    FuncOp func = getOperation();
    std::string families;
    for (StringRef mode : llvm::split(strict, ',')) {
      char family = strictFamily(mode.trim());
      if (!family) {
        func.emitError() << "there is no strict mode '" << mode.trim() << "', expected " << strictModes();
        return signalPassFailure();
      }
      families += family;
    }
    bool failed = false;
    for (const Decision &decision : readDecisions(func)) {
      const Reason *reason = findReason(decision.code);
      if (!reason || !reason->refusal || families.find(reason->family()) == std::string::npos)
        continue;
      auto diag = emitError(locationFrom(&getContext(), decision.location));
      diag << decision.producer;
      if (!decision.consumer.empty())
        diag << " -> " << decision.consumer;
      diag << ": " << decision.message << " (" << decision.code
           << ", an error under strict=" << strictModeOf(reason->family()) << ")";
      diag.attachNote(func.getLoc()) << "to fix, " << reason->remedy;
      failed = true;
    }
    if (failed)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace weft::passes
