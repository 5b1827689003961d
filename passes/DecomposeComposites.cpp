//===- DecomposeComposites.cpp - Composites to primitives -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "ir/BlockSort.h"
#include "ir/Updates.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_DECOMPOSECOMPOSITES
#include "passes/Passes.h.inc"

namespace {

/// Whether computing an element of `value` is certain to read memory at an address that depends on the index
/// along `dim`.
bool readsAlong(Value value, int64_t dim) {
  SmallVector<std::pair<Value, int64_t>> worklist{{value, dim}};
  // The search is bounded, because it runs for every gather. If it finds nothing, the answer is no.
  for (size_t i = 0; i < worklist.size() && i < 64; ++i) {
    auto [current, along] = worklist[i];
    Operation *op = current.getDefiningOp();
    if (!op || isa<ir::DotGeneralOp>(op))
      return true;
    if (auto iota = dyn_cast<ir::IotaOp>(op)) {
      if (static_cast<int64_t>(iota.getDim()) == along)
        return true;
    } else if (auto broadcast = dyn_cast<ir::BroadcastInDimOp>(op)) {
      for (auto [from, to] : llvm::enumerate(broadcast.getDims()))
        if (to == along &&
            ir::sizesOf(broadcast.getA().getType())[from] == ir::sizesOf(broadcast.getType())[to])
          worklist.emplace_back(broadcast.getA(), static_cast<int64_t>(from));
    } else if (isa<ir::ElementwiseOp>(op)) {
      for (Value operand : op->getOperands())
        worklist.emplace_back(operand, along);
    }
  }
  return false;
}

/// Whether a composite is one launch: on a CPU the runtime sorts, factorizes matrices, and computes Fourier
/// transforms, and a GPU has a kernel for sorts of rows that a block holds.
static bool isLaunch(Operation *op, const ir::Target &target) {
  if (auto sort = dyn_cast<ir::SortOp>(op); sort && ir::blockSortOf(sort, target))
    return true;
  return isa<ir::SortOp, ir::FactorizeOp, ir::TriangularSolveOp, ir::FftOp>(op) &&
         ir::deviceOf(op->getOperand(0).getType()).isCpu();
}

struct DecomposeComposites : impl::DecomposeCompositesBase<DecomposeComposites> {
  using DecomposeCompositesBase::DecomposeCompositesBase;

  void runOnOperation() override {
    const std::optional<ir::Target> machine = ir::parseTarget(getOperation(), target);
    if (!machine)
      return signalPassFailure();
    SmallVector<ir::DecomposableOp> composites;
    getOperation().walk([&](ir::DecomposableOp op) {
      if (!isLaunch(op, *machine))
        composites.push_back(op);
    });
    bool changed = !composites.empty();
    // A decomposition may have composites of its own, which are appended.
    for (size_t i = 0; i < composites.size(); ++i) {
      ir::DecomposableOp composite = composites[i];
      if (failed(replace(composite, *machine, composites)))
        return signalPassFailure();
    }
    changed |= keepChecks();
    changed |= checkUpdates();
    if (!changed)
      markAllAnalysesPreserved();
  }

  /// Replaces a composite by its decomposition, and appends the composites of that to `more`.
  LogicalResult replace(ir::DecomposableOp composite, const ir::Target &machine,
                        SmallVectorImpl<ir::DecomposableOp> &more) {
    OpBuilder builder(composite);
    Operation *before = composite->getPrevNode();
    SmallVector<Value> values = composite.decompose(builder);
    for (Operation *op = before ? before->getNextNode() : &composite->getBlock()->front();
         op != composite.getOperation(); op = op->getNextNode())
      if (auto part = dyn_cast<ir::DecomposableOp>(op); part && !isLaunch(part, machine))
        more.push_back(part);
    if (TypeRange(ValueRange(values)) != TypeRange(composite->getResultTypes()))
      return composite.emitOpError() << "decomposes into values of types (" << TypeRange(ValueRange(values))
                                     << "), expected (" << composite->getResultTypes() << ")";
    composite->replaceAllUsesWith(values);
    composite->erase();
    return success();
  }

  /// Checks the index of each update before the update, because an update writes in place and a call that
  /// fails must change nothing. Returns whether there were any.
  bool checkUpdates() {
    SmallVector<Operation *> updates;
    getOperation().walk([&](Operation *op) {
      if (ir::isUpdateOp(op) && ir::checksIndex(op))
        updates.push_back(op);
    });
    for (Operation *op : updates) {
      OpBuilder builder(op);
      ir::VjpBuilder symbolic(builder, op, {Value()}, SmallVector<bool>(op->getNumOperands(), false));
      OpOperand &index = ir::indexOperandOf(op);
      index.assign(symbolic
                       .checkedIndex(symbolic.operand(index.getOperandNumber()), ir::indexedSize(op),
                                     ir::indexNameOf(op), ir::reportedDim(op))
                       .value);
      op->setAttr("mode", ir::IndexModeAttr::get(op->getContext(), ir::IndexMode::assume));
    }
    return !updates.empty();
  }

  /// Adds a check of its own for an index that a kernel might not read with. A kernel checks an index when it
  /// reads memory with it. If the table may be constant along the dimension (a splat, a broadcast, or a value
  /// computed from them), there may be no such read. Returns whether there are any.
  bool keepChecks() {
    bool changed = false;
    SmallVector<ir::GatherOp> gathers;
    getOperation().walk([&](ir::GatherOp gather) { gathers.push_back(gather); });
    for (ir::GatherOp gather : gathers) {
      auto dim = static_cast<int64_t>(gather.getDim());
      ir::Size size = ir::sizesOf(gather.getA().getType())[dim];
      if (!ir::checksIndex(gather) || size == 0 || readsAlong(gather.getA(), dim))
        continue;
      OpBuilder builder(gather);
      ir::VjpBuilder symbolic(builder, gather, {Value()}, {false, false});
      ir::Sym checked =
          symbolic.checkedIndex(symbolic.operand(1), size, ir::indexNameOf(gather), ir::reportedDim(gather));
      gather.getIndexMutable().assign(checked.value);
      // Make the result depend on the index, whatever the table contains. A checked index is never negative,
      // but no op of the program states that, so no rewrite folds this.
      builder.setInsertionPointAfter(gather);
      ir::Sym result{gather.getResult(), &symbolic};
      ArrayRef<ir::Size> shape = ir::sizesOf(gather.getType());
      if (gather.getKind() == ir::GatherKind::points) {
        auto rank = static_cast<int64_t>(checked.type().getRank());
        checked = symbolic.make<ir::BroadcastInDimOp>(
            checked.value, llvm::to_vector(llvm::seq<int64_t>(dim, dim + rank)), shape);
      }
      ir::Sym negative = symbolic.compare<ir::LtOp>(checked, symbolic.like(checked, 0));
      ir::Sym kept = symbolic.select(negative, symbolic.like(result, 0), result);
      gather.getResult().replaceAllUsesExcept(kept.value, kept.value.getDefiningOp());
      changed = true;
    }
    return changed;
  }
};

} // namespace
} // namespace weft::passes
