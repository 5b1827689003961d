//===- UnrollScans.cpp - Loops become their trips -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "ir/Loops.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_UNROLLSCANS
#include "passes/Passes.h.inc"

namespace {

/// Row `i` of a stack.
Value rowOf(OpBuilder &b, Location loc, Value stack, int64_t i) {
  SmallVector<ir::Size> start(ir::sizesOf(stack).size(), 0), limit(ir::sizesOf(stack));
  start[0] = i;
  limit[0] = i + 1;
  Value slice = b.create<ir::SliceOp>(loc, stack, start, limit, SmallVector<int64_t>(start.size(), 1));
  return b.create<ir::ReshapeOp>(loc, slice, ArrayRef(limit).drop_front());
}

/// Replaces a loop by its trips.
void unroll(ir::ScanOp scan, ir::FuncOp body) {
  OpBuilder b(scan);
  const Location loc = scan.getLoc();
  const auto length = static_cast<int64_t>(scan.getLength());
  const size_t carries = scan.getCarries().size();
  Block &block = body.getBody().front();
  SmallVector<Value> carried(scan.getCarries());
  std::vector<SmallVector<Value>> ys(scan.getYs().size(), SmallVector<Value>(length));
  for (int64_t trip = 0; trip < length; ++trip) {
    const int64_t row = scan.getReverse() ? length - 1 - trip : trip;
    SmallVector<Value> arguments(carried);
    for (Value stack : scan.getXs())
      arguments.push_back(rowOf(b, loc, stack, row));
    llvm::append_range(arguments, scan.getConstants());
    IRMapping map;
    map.map(block.getArguments(), arguments);
    for (Operation &op : block.without_terminator())
      b.clone(op, map)->setLoc(CallSiteLoc::get(op.getLoc(), loc));
    for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands())) {
      Value returned = map.lookup(value);
      if (i < carries) {
        carried[i] = returned;
        continue;
      }
      SmallVector<ir::Size> sizes{1};
      llvm::append_range(sizes, ir::sizesOf(returned));
      ys[i - carries][row] = b.create<ir::ReshapeOp>(loc, returned, sizes);
    }
  }
  SmallVector<Value> results(carried);
  for (auto [rows, y] : llvm::zip_equal(ys, scan.getYs())) {
    auto type = ir::typeOf(y);
    if (rows.empty())
      results.push_back(
          b.create<ir::ConstantOp>(loc, type, ir::splatOf(type, b.getZeroAttr(type.getElementType()))));
    else
      results.push_back(b.create<ir::ConcatOp>(loc, rows, 0));
  }
  scan->replaceAllUsesWith(results);
  scan->erase();
}

struct UnrollScans : impl::UnrollScansBase<UnrollScans> {
  using UnrollScansBase::UnrollScansBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<ir::ScanOp> scans;
    uint64_t total = 0;
    getOperation().walk([&](Operation *op) {
      ++total;
      if (auto scan = dyn_cast<ir::ScanOp>(op); scan && isUnrolled(scan))
        scans.push_back(scan);
    });
    if (scans.empty())
      return markAllAnalysesPreserved();
    // A body may have loops of its own. They are copied with it, and replaced in the copies.
    while (!scans.empty()) {
      ir::ScanOp scan = scans.pop_back_val();
      auto body = symbols.lookup<ir::FuncOp>(scan.getBody());
      const uint64_t ops = body.getBody().front().getOperations().size();
      total = llvm::SaturatingMultiplyAdd(ops, scan.getLength(), total);
      if (total > maxOps) {
        scan.emitError() << "a loop of " << scan.getLength() << " trips would become " << ops
                         << " operations for each, more than " << maxOps.getValue() << " in all ("
                         << "WEFT-T005" << "); have fewer trips, or call a compiled body for each";
        return signalPassFailure();
      }
      Operation *before = scan->getPrevNode();
      Block *block = scan->getBlock();
      Operation *after = scan->getNextNode();
      unroll(scan, body);
      for (Operation *op = before ? before->getNextNode() : &block->front(); op != after;
           op = op->getNextNode())
        if (auto inner = dyn_cast<ir::ScanOp>(op); inner && isUnrolled(inner))
          scans.push_back(inner);
    }
  }

private:
  /// Why a loop is none in the plan; empty if it is one.
  std::string whyUnrolled(ir::ScanOp scan) const {
    if (!mayFail && scan.getMayFail())
      return "an op of its body may fail";
    if (scan->getNumResults() == 0 || ir::otherDeviceIn(scan, ir::deviceOf(scan->getResultTypes().front())))
      return "its body is not on one device";
    if (hasWhileOnDevice(scan))
      return "a while loop in its body is launched apart from it";
    if (scan.getLength() < static_cast<uint64_t>(leastTrips.getValue()))
      return "fewer than " + std::to_string(leastTrips) + " are faster one after the other";
    return {};
  }

  /// Whether the trips of the loop cannot be issued without the host.
  static bool hasWhileOnDevice(ir::ScanOp scan) {
    return scan->getNumResults() && !ir::deviceOf(scan->getResultTypes().front()).isCpu() &&
           ir::runsWhile(scan);
  }

  /// Whether the pass unrolls the loop. Records the reason.
  bool isUnrolled(ir::ScanOp scan) {
    // Loops in branches of conditions have to be seen before those are replaced.
    if (mayFail && !scan.getMayFail() && !hasWhileOnDevice(scan))
      return false;
    const std::string why = whyUnrolled(scan);
    if (!why.empty() && report)
      ir::recordDecisions(scan->getParentOfType<ir::FuncOp>(),
                          {{"WEFT-T004", ir::locationText(scan.getLoc()), "weft.scan", "", 0,
                            "a loop of " + std::to_string(scan.getLength()) + " trips is unrolled: " + why}});
    return !why.empty();
  }
};

} // namespace
} // namespace weft::passes
