//===- PartitionCapture.cpp - Which launches become one graph -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions are the longest runs of launches that may be in a graph, on all queues together; an event between
// two of them becomes an edge of the graph. A launch that may not be in a graph ends the run, and its reason
// is recorded. --weft-gather-capturable, which runs before, moves launches across such cuts.
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "ir/Loops.h"
#include "passes/Passes.h"
#include "passes/launch/LaunchList.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_PARTITIONCAPTURE
#include "passes/Passes.h.inc"

namespace {

/// How many launches a graph has for an op at least. A loop on a device has one for each trip, or more.
int64_t launchesAtLeast(Operation *op) {
  auto scan = dyn_cast<ScanOp>(op);
  return scan && !deviceOfLaunch(op).isCpu() ? static_cast<int64_t>(scan.getLength()) : 1;
}

struct PartitionCapture : impl::PartitionCaptureBase<PartitionCapture> {
  using PartitionCaptureBase::PartitionCaptureBase;

  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.isExternal())
      return;
    if (minimum < 1) {
      func.emitError() << "weft-partition-capture needs a minimum of at least 1 launch, found "
                       << minimum.getValue();
      return signalPassFailure();
    }
    bool hostProgram = isHostProgram(func);
    std::vector<Decision> decisions;
    std::vector<SmallVector<Operation *>> runs(1);
    for (Operation &op : func.getBody().front()) {
      if (!isLaunch(&op))
        continue;
      op.removeAttr(attr::capture);
      auto [code, why] = whyNotCapturable(&op, hostProgram);
      if (code.empty()) {
        runs.back().push_back(&op);
        continue;
      }
      decisions.push_back({code.str(), locationText(op.getLoc()), op.getName().getStringRef().str(), "", 0,
                           (why + "; the graph ends here").str()});
      if (!runs.back().empty())
        runs.emplace_back();
    }
    int64_t region = 0;
    Builder b(&getContext());
    for (ArrayRef<Operation *> run : runs) {
      if (run.empty())
        continue;
      int64_t launches = 0;
      for (Operation *op : run)
        launches = std::min<int64_t>(launches, INT32_MAX) + launchesAtLeast(op);
      if (launches < minimum) {
        decisions.push_back({"WEFT-C020", locationText(run.front()->getLoc()),
                             run.front()->getName().getStringRef().str(), "", 0,
                             amountText(run.size(), "launch") +
                                 (run.size() == 1 ? " in a row is" : " in a row are") + " fewer than the " +
                                 std::to_string(minimum) + " that a graph pays for"});
        continue;
      }
      for (Operation *op : run)
        op->setAttr(attr::capture, b.getI64IntegerAttr(region));
      ++region;
    }
    if (report)
      recordDecisions(func, decisions);
  }
};

} // namespace
} // namespace weft::passes
