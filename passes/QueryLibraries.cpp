//===- QueryLibraries.cpp - Asks libraries about contractions -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Contraction.h"
#include "ir/ContractionLibrary.h"
#include "ir/Decisions.h"
#include "ir/Target.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_QUERYLIBRARIES
#include "passes/Passes.h.inc"

namespace {

struct QueryLibraries : impl::QueryLibrariesBase<QueryLibraries> {
  using QueryLibrariesBase::QueryLibrariesBase;
  const ContractionLibrary *library = nullptr;

  /// The answer for a contraction on the device with this description. The pass's library, if any, answers
  /// for the host; the table of the description answers for other devices.
  ContractionAnswer ask(const TargetDescription &description, const ContractionSignature &signature) const {
    return library && description.isCpu() ? library->ask(signature)
                                          : TableLibrary(description).ask(signature);
  }

  void runOnOperation() override {
    const std::optional<Target> machine = parseTarget(getOperation(), target);
    if (!machine)
      return signalPassFailure();
    if (getOperation().getOps<DotGeneralOp>().empty())
      return markAllAnalysesPreserved();
    SymbolRanges ranges = rangesOf(getOperation());
    std::vector<Decision> decisions;
    for (DotGeneralOp dot : getOperation().getOps<DotGeneralOp>()) {
      if (dot.getLibrary())
        continue;
      std::optional<ContractionSignature> signature = getSignature(dot, ranges);
      if (!signature) // not a matrix product yet
        continue;
      const TargetDescription *description = describe(dot, deviceOf(dot.getType()), *machine);
      if (!description)
        return signalPassFailure();
      ContractionAnswer answer = ask(*description, *signature);
      dot.setLibraryAttr(recordAnswer(&getContext(), answer));
      if (answer.library.empty() && report)
        decisions.push_back(
            {"WEFT-N004", locationText(dot.getLoc()), dot->getName().getStringRef().str(), "", 0,
             description->library.str() + " " + answer.refusal + "; a kernel of Weft computes it"});
    }
    recordDecisions(getOperation(), decisions);
  }
};

} // namespace

std::unique_ptr<Pass> createQueryLibraries(const QueryLibrariesOptions &options,
                                           const ContractionLibrary *library) {
  auto pass = std::make_unique<QueryLibraries>(options);
  pass->library = library;
  return pass;
}

} // namespace weft::passes
