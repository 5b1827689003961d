//===- PartitionCapture.cpp - Which launches become one graph -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions are the longest runs of launches that a graph may hold, on all queues together: an event between
// two of them is an edge of the graph. A launch that may not be part of one ends the run, with its reason.
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "ir/Placement.h"
#include "passes/LaunchList.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_PARTITIONCAPTURE
#include "passes/Passes.h.inc"

namespace {

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
    // The host takes part where there is nothing else: its list is then what is captured.
    bool onlyHost = true;
    for (Operation &op : func.getBody().front())
      if (isLaunch(&op))
        onlyHost &= deviceOfLaunch(&op).isCpu();
    std::vector<Decision> decisions;
    std::vector<SmallVector<Operation *>> runs(1);
    for (Operation &op : func.getBody().front()) {
      if (!isLaunch(&op))
        continue;
      op.removeAttr(attr::capture);
      auto [code, why] = whyNot(&op, onlyHost);
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
      if (static_cast<int64_t>(run.size()) < minimum) {
        decisions.push_back({"WEFT-C020", locationText(run.front()->getLoc()),
                             run.front()->getName().getStringRef().str(), "", 0,
                             std::to_string(run.size()) +
                                 (run.size() == 1 ? " launch in a row is" : " launches in a row are") +
                                 " fewer than the " + std::to_string(minimum) + " that a graph pays for"});
        continue;
      }
      for (Operation *op : run)
        op->setAttr(attr::capture, b.getI64IntegerAttr(region));
      ++region;
    }
    if (report)
      recordDecisions(func, decisions);
  }

  static DeviceAttr deviceOfLaunch(Operation *op) {
    return op->getNumOperands() ? computeDevice(op) : deviceOf(op->getResult(0).getType());
  }

  /// The code and the fact of what keeps a launch out of graphs; nothing for one that may be in.
  static std::pair<StringRef, StringRef> whyNot(Operation *op, bool onlyHost) {
    if (auto rule = dyn_cast<CaptureOp>(op))
      return rule.whyNotCapturable();
    DeviceAttr device = deviceOfLaunch(op);
    if (auto transfer = dyn_cast<TransferOp>(op)) {
      bool host = device.isCpu() || transfer.getTo().isCpu();
      // What is copied without waiting lies in pinned memory; other memory of the host may move.
      if (host && !transfer.getNonBlocking())
        return {"WEFT-C021", "copies pageable memory of the host, which the copy has to wait for"};
      return {};
    }
    if (device.isCpu() && !onlyHost)
      return {"WEFT-C003", "runs on the host between launches of a device"};
    return {};
  }
};

} // namespace
} // namespace weft::passes
