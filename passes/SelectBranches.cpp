//===- SelectBranches.cpp - Conditions become both branches ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "ir/Loops.h"
#include "ir/Placement.h"
#include "passes/Passes.h"
#include "passes/reverse/GuardedLoops.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <limits>

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_SELECTBRANCHES
#include "passes/Passes.h.inc"

namespace {

struct SelectBranches : impl::SelectBranchesBase<SelectBranches> {
  using SelectBranchesBase::SelectBranchesBase;

  void runOnOperation() override {
    host = ir::DeviceAttr::get(&getContext(), ir::DeviceKind::cpu, 0);
    SymbolTable table(getOperation());
    symbols = &table;
    conditions.clear();
    work.clear();
    trips.clear();
    depth.clear();
    for (auto function : getOperation().getOps<ir::FuncOp>())
      findDepth(function, 0);
    getOperation().walk([&](ir::ScanOp scan) { findTrips(scan); });
    uint64_t total = 0;
    const WalkResult walked = getOperation().walk([&](Operation *op) {
      ++total;
      if (auto cond = dyn_cast<ir::CondOp>(op); cond && isSelected(cond))
        conditions.push_back(cond);
      auto loop = dyn_cast<ir::WhileOp>(op);
      return loop && failed(checkWhile(loop)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    if (conditions.empty())
      return markAllAnalysesPreserved();
    // A branch may have conditions of its own. They are copied with it, and replaced in the copies.
    while (!conditions.empty()) {
      ir::CondOp cond = conditions.pop_back_val();
      auto then = table.lookup<ir::FuncOp>(cond.getThenBody());
      auto otherwise = table.lookup<ir::FuncOp>(cond.getElseBody());
      for (ir::FuncOp branch : {then, otherwise})
        total = llvm::SaturatingAdd<uint64_t>(total, branch.getBody().front().getOperations().size());
      if (total > maxOps) {
        cond.emitError() << "conditions would become more than " << maxOps.getValue()
                         << " operations with both of their branches (" << "WEFT-T005"
                         << "); nest fewer of them, or have them on the CPU";
        return signalPassFailure();
      }
      Operation *before = cond->getPrevNode(), *after = cond->getNextNode();
      Block *block = cond->getBlock();
      select(cond, then, otherwise);
      for (Operation *op = before ? before->getNextNode() : &block->front(); op != after;
           op = op->getNextNode())
        if (auto inner = dyn_cast<ir::CondOp>(op); inner && isSelected(inner))
          conditions.push_back(inner);
    }
  }

private:
  /// Takes the conditions of a function that the pass makes.
  void collect(ir::FuncOp made) {
    for (auto cond : made.getOps<ir::CondOp>())
      if (isSelected(cond))
        conditions.push_back(cond);
  }

  /// Finds the functions that the trips of a loop run.
  void findTrips(Operation *op) {
    for (FlatSymbolRefAttr name : ir::bodiesOf(op)) {
      auto body = symbols->lookup<ir::FuncOp>(name.getValue());
      if (!body || !trips.insert(body).second)
        continue;
      for (Operation &inner : body.getBody().front())
        findTrips(&inner);
    }
  }

  /// Finds in how many functions that other ops run each function is.
  void findDepth(ir::FuncOp function, int64_t found) {
    int64_t &known = depth.try_emplace(function, -1).first->second;
    if (known >= found)
      return;
    known = found;
    if (found > mostNestedBodies)
      return;
    for (Operation &op : function.getBody().front())
      for (FlatSymbolRefAttr name : ir::bodiesOf(&op))
        if (auto body = symbols->lookup<ir::FuncOp>(name.getValue()))
          findDepth(body, found + 1);
  }

  /// The size where each symbol has its least value, and 1 if that is 0; the largest number if it has none.
  static uint64_t leastOf(ir::Size size, const ir::SymbolRanges &ranges) {
    const std::optional<int64_t> value = ir::evaluate(size, [&](std::string_view name) {
      const ir::SymbolRanges::Range *range = ranges.find(name);
      return std::optional<int64_t>(range ? std::max<int64_t>(range->min, 1) : 1);
    });
    return value ? static_cast<uint64_t>(std::max<int64_t>(*value, 0)) : std::numeric_limits<uint64_t>::max();
  }

  /// Elements that an op computes, or reads if these are more; of a product its multiplications. None if it
  /// only says where elements are.
  static uint64_t workOf(Operation &op, const ir::SymbolRanges &ranges) {
    const auto elements = [&](Value value) { return leastOf(ir::elementsOf(value.getType()), ranges); };
    const auto times = [](uint64_t a, uint64_t b) { return llvm::SaturatingMultiply<uint64_t>(a, b); };
    if (isa<ir::ReturnOp, ir::ConstantOp, ir::FullOp, ir::IotaOp, ir::ReshapeOp, ir::TransposeOp, ir::SliceOp,
            ir::BroadcastInDimOp>(op))
      return 0;
    if (auto gather = dyn_cast<ir::GatherOp>(op))
      return elements(gather.getResult());
    if (auto product = dyn_cast<ir::DotGeneralOp>(op)) {
      uint64_t all = times(elements(product.getResult()), 1 + product.getMore().size() / 2);
      for (const int64_t dim : product.getContractA())
        all = times(all, leastOf(ir::sizesOf(product.getA())[dim], ranges));
      return all;
    }
    if (auto convolution = dyn_cast<ir::ConvolutionOp>(op)) {
      uint64_t all = elements(convolution.getResult());
      for (const ir::Size size : ir::sizesOf(convolution.getW()).drop_front())
        all = times(all, leastOf(size, ranges));
      return all;
    }
    if (isa<ir::SdpaOp, ir::SdpaBackwardOp>(op)) { // two products, and five
      const ir::Size keys = ir::sizesOf(op.getOperand(1)).drop_back().back();
      return times(times(elements(op.getOperand(0)), leastOf(keys, ranges)), isa<ir::SdpaOp>(op) ? 2 : 5);
    }
    uint64_t most = 0;
    for (const ValueRange values : {ValueRange(op.getOperands()), ValueRange(op.getResults())})
      for (const Value value : values)
        if (isa<RankedTensorType>(value.getType()))
          most = std::max(most, elements(value));
    return most;
  }

  /// Operations on elements for one run of a function; the largest number if it has a loop, or what has
  /// launches of its own kind.
  uint64_t workOf(FlatSymbolRefAttr name) {
    auto body = symbols->lookup<ir::FuncOp>(name.getValue());
    if (const auto known = work.find(body); known != work.end())
      return known->second;
    const ir::SymbolRanges ranges = ir::rangesOf(body);
    uint64_t all = 0;
    for (Operation &op : body.getBody().front()) {
      if (isa<ir::ScanOp, ir::WhileOp, ir::SortOp, ir::RawKernelOp>(op)) {
        all = std::numeric_limits<uint64_t>::max();
        break;
      }
      all = llvm::SaturatingAdd(all, workOf(op, ranges));
      for (FlatSymbolRefAttr inner : ir::bodiesOf(&op))
        all = llvm::SaturatingAdd(all, workOf(inner));
    }
    return work[body] = all;
  }

  /// Why both branches of a condition of a GPU are computed; empty if one is chosen.
  std::string whySelected(ir::CondOp cond) {
    if (cond->getNumResults() == 0 || ir::otherDeviceIn(cond, ir::deviceOf(cond.getResultTypes().front())))
      return "they are not on one device";
    if (trips.contains(cond->getParentOfType<ir::FuncOp>()))
      return "the trips of a loop of known length are issued at once";
    if (std::max(workOf(cond.getThenBodyAttr()), workOf(cond.getElseBodyAttr())) < leastWork)
      return "together they take less time than a decision";
    if (depth.lookup(cond->getParentOfType<ir::FuncOp>()) >= mostNestedBodies)
      return "they are in " + std::to_string(mostNestedBodies) + " loops and branches";
    return {};
  }

  /// Whether the pass replaces the condition. Records the reason.
  bool isSelected(ir::CondOp cond) {
    if (!always && !ir::otherDeviceIn(cond, host))
      return false;
    const std::string why = always ? "on request" : whySelected(cond);
    if (!why.empty() && report)
      ir::recordDecisions(cond->getParentOfType<ir::FuncOp>(),
                          {{"WEFT-T009", ir::locationText(cond.getLoc()), "weft.cond", "", 0,
                            "both branches of a condition are computed: " + why}});
    return !why.empty();
  }

  LogicalResult checkWhile(ir::WhileOp loop) const {
    const ir::DeviceAttr own = loop->getNumResults() ? ir::deviceOf(loop->getResultTypes().front()) : host;
    const ir::DeviceAttr other = ir::otherDeviceIn(loop, own);
    if (!other)
      return success();
    auto diag = loop.emitError() << "a while loop on '" << own.str() << "' that also computes on '"
                                 << other.str() << "' (" << "WEFT-T010" << ")";
    diag.attachNote(loop.getLoc())
        << "to fix, have its carries and all that its condition and body read on one device";
    return failure();
  }

  /// Whether a branch is taken, as a value before the condition.
  static Value takenOf(OpBuilder &b, ir::CondOp cond, bool isThen) {
    const Location loc = cond.getLoc();
    Value taken = cond.getPred();
    const auto type = ir::typeOf(taken);
    if (!isThen)
      taken = b.create<ir::XorOp>(
          loc, taken, b.create<ir::ConstantOp>(loc, type, ir::splatOf(type, b.getBoolAttr(true))));
    return taken;
  }

  /// The results of a branch, whose ops are copied before the condition.
  SmallVector<Value> inlineBranch(OpBuilder &b, ir::CondOp cond, ir::FuncOp branch, bool isThen) {
    Block &block = branch.getBody().front();
    IRMapping map;
    map.map(block.getArguments(), cond.getInputs());
    const Value taken = llvm::any_of(block, [](Operation &op) { return ir::runsWhile(&op); })
                            ? takenOf(b, cond, isThen)
                            : Value();
    const auto collectFrom = [&](ir::FuncOp made) { collect(made); };
    GuardedLoops loops(*symbols, collectFrom);
    for (Operation &op : block.without_terminator()) {
      Operation *made = b.clone(op, map);
      made->setLoc(CallSiteLoc::get(op.getLoc(), cond.getLoc()));
      if (ir::runsWhile(made))
        map.map(op.getResults(), loops.guard(made, taken)->getResults());
    }
    return llvm::map_to_vector(block.getTerminator()->getOperands(),
                               [&](Value value) { return map.lookup(value); });
  }

  /// Replaces a condition by both branches and a select for each result.
  void select(ir::CondOp cond, ir::FuncOp then, ir::FuncOp otherwise) {
    OpBuilder b(cond);
    const SmallVector<Value> ifTrue = inlineBranch(b, cond, then, /*isThen=*/true),
                             ifFalse = inlineBranch(b, cond, otherwise, /*isThen=*/false);
    SmallVector<Value> results;
    for (auto [yes, no] : llvm::zip_equal(ifTrue, ifFalse)) {
      if (yes == no) {
        results.push_back(yes);
        continue;
      }
      Value pred = cond.getPred();
      if (const ArrayRef<ir::Size> sizes = ir::sizesOf(yes); !sizes.empty())
        pred = b.create<ir::BroadcastInDimOp>(cond.getLoc(), pred, ArrayRef<int64_t>(), sizes);
      results.push_back(b.create<ir::SelectOp>(cond.getLoc(), pred, yes, no));
    }
    cond->replaceAllUsesWith(results);
    cond->erase();
  }

  SymbolTable *symbols = nullptr;
  SmallVector<ir::CondOp> conditions;         ///< that are to be replaced
  llvm::DenseMap<Operation *, uint64_t> work; ///< of functions
  llvm::DenseMap<Operation *, int64_t> depth; ///< of functions, as far as it matters
  llvm::DenseSet<Operation *> trips;          ///< functions that trips of loops of known length run
  ir::DeviceAttr host;
};

} // namespace
} // namespace weft::passes
