//===- CleanTransfers.cpp - Fewer and smaller copies between devices ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each pattern removes a copy or makes it smaller, so their application ends. Values that are cheap to
// compute are computed on every device that reads them. Values that repeat elements are copied before the
// elements are repeated. A cast is done on the side where it makes the copy smaller.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_CLEANTRANSFERS
#include "passes/Passes.h.inc"

namespace {

/// Makes constants and iota on the device that reads them.
struct CloneGenerators : OpRewritePattern<TransferOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransferOp transfer, PatternRewriter &rewriter) const override {
    Operation *source = transfer.getA().getDefiningOp();
    RankedTensorType type = transfer.getType();
    if (auto constant = dyn_cast_or_null<ConstantOp>(source)) {
      Attribute value;
      if (isDynamic(type)) // one element, whose type has no device
        value = constant.getValue();
      else if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
        value = dense.reshape(type);
      else if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue()))
        value = DenseResourceElementsAttr::get(type, resource.getRawHandle());
      if (!value)
        return failure();
      rewriter.replaceOpWithNewOp<ConstantOp>(transfer, type, cast<ElementsAttr>(value));
      return success();
    }
    auto iota = dyn_cast_or_null<IotaOp>(source);
    if (!iota)
      return failure();
    rewriter.replaceOpWithNewOp<IotaOp>(transfer, type, iota.getDimAttr());
    return success();
  }
};

/// The bytes of a value when its symbols have their largest values.
int64_t mostBytes(Value value) {
  return rangesOf(value.getParentBlock()->getParentOp()).largest(bytesOf(value.getType()));
}

/// Copies the elements before they are repeated.
struct CopyBeforeRepeating : OpRewritePattern<TransferOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransferOp transfer, PatternRewriter &rewriter) const override {
    Operation *source = transfer.getA().getDefiningOp();
    if (!source || !isa<BroadcastInDimOp, FullOp>(source) ||
        mostBytes(source->getOperand(0)) >= mostBytes(transfer))
      return failure();
    Value moved = rewriter.create<TransferOp>(transfer.getLoc(), source->getOperand(0), transfer.getTo(),
                                              transfer.getNonBlocking());
    Operation *repeated = rewriter.clone(*source);
    repeated->setOperand(0, moved);
    repeated->getResult(0).setType(transfer.getType());
    rewriter.replaceOp(transfer, repeated);
    return success();
  }
};

/// Moves a widening cast behind the copy, and a narrowing one before it.
struct CastOnTheSmallerSide : OpRewritePattern<TransferOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransferOp transfer, PatternRewriter &rewriter) const override {
    auto cast = transfer.getA().getDefiningOp<ConvertOp>();
    if (cast && mostBytes(cast.getA()) < mostBytes(cast)) {
      Value moved = rewriter.create<TransferOp>(transfer.getLoc(), cast.getA(), transfer.getTo(),
                                                transfer.getNonBlocking());
      rewriter.replaceOpWithNewOp<ConvertOp>(transfer, moved, cast.getTo());
      return success();
    }
    if (!transfer->hasOneUse())
      return failure();
    auto after = dyn_cast<ConvertOp>(*transfer->user_begin());
    if (!after || mostBytes(after) >= mostBytes(transfer))
      return failure();
    Value narrow = rewriter.create<ConvertOp>(after.getLoc(), transfer.getA(), after.getTo());
    Value moved =
        rewriter.create<TransferOp>(transfer.getLoc(), narrow, transfer.getTo(), transfer.getNonBlocking());
    rewriter.replaceOp(after, moved);
    rewriter.eraseOp(transfer);
    return success();
  }
};

/// Replaces equal copies by the first of them, which comes before the others because the function has one
/// block. Returns whether there were any.
bool mergeEqual(FuncOp func) {
  bool changed = false;
  llvm::DenseMap<std::pair<Value, Attribute>, TransferOp> first;
  for (auto transfer : llvm::make_early_inc_range(func.getBody().front().getOps<TransferOp>())) {
    auto [it, inserted] = first.try_emplace({transfer.getA(), transfer.getTo()}, transfer);
    if (inserted)
      continue;
    transfer.replaceAllUsesWith(it->second.getResult());
    transfer.erase();
    changed = true;
  }
  return changed;
}

struct CleanTransfers : impl::CleanTransfersBase<CleanTransfers> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.isExternal())
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<CloneGenerators, CopyBeforeRepeating, CastOnTheSmallerSide>(&getContext());
    GreedyRewriteConfig config;
    config.useTopDownTraversal = true;
    config.enableRegionSimplification = GreedySimplifyRegionLevel::Disabled;
    bool changed = false;
    if (failed(applyPatternsAndFoldGreedily(func, std::move(patterns), config, &changed))) {
      func.emitError() << "the copies of @" << func.getName()
                       << " still change after the bound of rounds; please report the program";
      return signalPassFailure();
    }
    changed |= mergeEqual(func);
    if (!changed)
      markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace weft::passes
