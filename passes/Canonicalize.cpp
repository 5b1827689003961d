//===- Canonicalize.cpp - Folding, up to a bound --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_CANONICALIZE
#include "passes/Passes.h.inc"

namespace {

/// Whether computing in double precision and rounding once gives the same bits as a kernel. True for ops
/// whose result IEEE 754 determines.
bool isExactOnHost(Operation *op) {
  return isa<ir::NegOp, ir::AbsOp, ir::SignOp, ir::CeilOp, ir::FloorOp, ir::RoundOp, ir::TruncOp, ir::SqrtOp,
             ir::RecipOp, ir::IsNanOp, ir::BnotOp, ir::AddOp, ir::SubOp, ir::MulOp, ir::DivOp, ir::MaxOp,
             ir::MinOp, ir::EqOp, ir::NeOp, ir::LtOp, ir::LeOp, ir::GtOp, ir::GeOp, ir::AndOp, ir::OrOp,
             ir::XorOp, ir::SelectOp, ir::ConvertOp>(op);
}

ir::Literal toLiteral(Attribute element, Type type) {
  ir::Literal literal(*ir::toDType(type), {});
  if (auto real = dyn_cast<FloatAttr>(element))
    literal.setReal(0, real.getValueAsDouble());
  else
    literal.setWhole(0, type.isUnsignedInteger() || type.isInteger(1)
                            ? static_cast<int64_t>(cast<IntegerAttr>(element).getValue().getZExtValue())
                            : cast<IntegerAttr>(element).getValue().getSExtValue());
  return literal;
}

Attribute toAttribute(const ir::Literal &literal, Type type) {
  if (literal.isReal())
    return FloatAttr::get(type, literal.real[0]);
  return IntegerAttr::get(
      type, APInt(type.getIntOrFloatBitWidth(), static_cast<uint64_t>(literal.whole[0]), false));
}

/// Folds an elementwise op on splat constants to a splat constant, whose element the reference rule of the op
/// computes.
struct FoldSplats : RewritePattern {
  explicit FoldSplats(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {
    setDebugName("fold-splats");
  }

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto rule = dyn_cast<ir::InterpretableOp>(op);
    if (!rule || !isExactOnHost(op))
      return failure();
    SmallVector<ir::Literal> operands;
    for (Value operand : op->getOperands()) {
      auto constant = operand.getDefiningOp<ir::ConstantOp>();
      auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
      if (!splat)
        return failure();
      operands.push_back(toLiteral(splat.getSplatValue<Attribute>(), splat.getElementType()));
    }
    SmallVector<const ir::Literal *> pointers;
    for (const ir::Literal &operand : operands)
      pointers.push_back(&operand);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    ir::Literal result(ir::dtypeOf(type), {});
    if (failed(rule.interpret(pointers, result)))
      return failure();
    Attribute element = toAttribute(result, type.getElementType());
    rewriter.replaceOpWithNewOp<ir::ConstantOp>(op, type, ir::splatOf(type, element));
    return success();
  }
};

struct Canonicalize : impl::CanonicalizeBase<Canonicalize> {
  using CanonicalizeBase::CanonicalizeBase;

  void runOnOperation() override {
    ir::FuncOp function = getOperation();
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldSplats>(&getContext());
    for (RegisteredOperationName name : getContext().getRegisteredOperations())
      if (name.getDialectNamespace() == ir::WeftDialect::getDialectNamespace())
        name.getCanonicalizationPatterns(patterns, &getContext());
    GreedyRewriteConfig config;
    config.useTopDownTraversal = true;
    config.enableRegionSimplification = GreedySimplifyRegionLevel::Disabled;
    config.maxIterations = maxIterations;
    bool changed = false;
    if (succeeded(applyPatternsAndFoldGreedily(function, std::move(patterns), config, &changed))) {
      if (!changed)
        markAllAnalysesPreserved();
      return;
    }
    function.emitError() << "the pattern set 'weft-canonicalize' still changes @" << function.getName()
                         << " after " << maxIterations.getValue() << " rounds; please report the program";
    signalPassFailure();
  }
};

} // namespace
} // namespace weft::passes
