//===- LowerAttention.cpp - Makes attention launches ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Attention.h"
#include "ir/Decisions.h"
#include "ir/FunctionAttributes.h"
#include "ir/Target.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_LOWERATTENTION
#include "passes/Passes.h.inc"

namespace {

/// Where an operand can be read.
ViewedValue sourceOf(Value value) { return ir::sourceOf(value, *numbersOf(sizesOf(value)), false); }

/// Why the runtime does not compute this attention in one launch; empty if it does.
template <typename Op> std::string whyNot(Op op, const TargetDescription &target) {
  auto q = op.getQ().getType();
  if (q.getElementType().isF64())
    return "a launch of attention computes in f32, and this is f64";
  if (isDynamic(q) || isDynamic(op.getK().getType()) || isDynamic(op.getV().getType()) ||
      (op.getMask() && isDynamic(op.getMask().getType())))
    return "a launch of attention has sizes that are numbers, and these are known at run time only";
  const int64_t mostColumns = target.isCpu() ? maxAttentionColumns : maxCudaAttentionColumns;
  for (Value matrix : {Value(op.getQ()), Value(op.getV())})
    if (Size columns = sizesOf(matrix.getType()).back(); columns.asNumber() > mostColumns)
      return "a launch of attention has up to " + std::to_string(mostColumns) + " columns on " +
             deviceOf(q).str() + ", and this has " + sizeText(columns);
  if (elementsOf(q) == 0 || elementsOf(op.getK().getType()) == 0 || elementsOf(op.getV().getType()) == 0)
    return "there is nothing to attend to";
  Size work = productOf(sizesOf(q).drop_back()) * sizesOf(op.getK().getType()).drop_back().back() *
              (sizesOf(q).back() + sizesOf(op.getV().getType()).back());
  if (work.number().value_or(INT64_MAX) > maxProductWork)
    return "it is larger than any launch";
  // A block of a GPU has at least one row, or one key.
  Size rows = sizesOf(q).drop_back().back(), keys = sizesOf(op.getK().getType()).drop_back().back();
  Size blocks = productOf(sizesOf(q).drop_back(2)) * (rows + keys);
  if (!target.isCpu() && (rows.asNumber() > maxCudaAttentionRows || keys.asNumber() > maxCudaAttentionRows ||
                          blocks.number().value_or(INT64_MAX) > INT32_MAX))
    return "it has more rows and keys than a launch of " + deviceOf(q).str();
  return {};
}

/// The attribute `shape` of weft.attention: [batch.., L, S, E, Ev].
template <typename Op> SmallVector<int64_t> attentionShape(Op op) {
  SmallVector<int64_t> shape = *numbersOf(sizesOf(op.getQ().getType()).drop_back());
  SmallVector<int64_t> k = *numbersOf(sizesOf(op.getK().getType()).take_back(2));
  shape.append({k[0], k[1], sizesOf(op.getV().getType()).back().asNumber()});
  return shape;
}

/// The source of a mask, with stride 0 in dimensions of size 1, along which the mask repeats for the scores.
ViewedValue maskSource(Value mask) {
  ViewedValue source = sourceOf(mask);
  for (auto [stride, extent] : llvm::zip(source.view.strides, sizesOf(mask.getType())))
    stride = extent == 1 ? 0 : stride;
  return source;
}

template <typename Op> void lowerToLaunch(Op op) {
  OpBuilder b(op);
  ViewedValue q = sourceOf(op.getQ()), k = sourceOf(op.getK()), v = sourceOf(op.getV()), mask;
  if (op.getMask())
    mask = maskSource(op.getMask());
  // Results get the queries' order of dimensions, because later ops are likely to read them in that order.
  SmallVector<int64_t> order = orderOf(q.view);
  auto columns = static_cast<int64_t>(order.size()) - 1;
  if (order.back() != columns)
    order = orderOf(rowMajorView(*numbersOf(sizesOf(op.getQ().getType()))));
  ViewedValue out, grad;
  Value lse;
  if constexpr (std::is_same_v<Op, SdpaBackwardOp>) {
    out = sourceOf(op.getOut());
    grad = sourceOf(op.getGrad());
    lse = op.getLse();
  }
  auto view = [&](const ViewedValue &source) {
    return source.base ? b.getDenseI64ArrayAttr(source.view.write()) : DenseI64ArrayAttr();
  };
  auto launch = b.create<AttentionOp>(op.getLoc(), q.base, k.base, v.base, mask.base, out.base, lse,
                                      grad.base, b.getDenseI64ArrayAttr(attentionShape(op)),
                                      b.getDenseI64ArrayAttr(order), view(q), view(k), view(v), view(mask),
                                      view(out), view(grad), op.getScaleAttr(), op.getCausalAttr());
  SmallVector<int64_t> back(order.size());
  for (auto [i, dim] : llvm::enumerate(order))
    back[dim] = static_cast<int64_t>(i);
  SmallVector<Value> results(launch.getResults());
  for (Value &result : results) // lse, of another rank, is always row-major
    if (!llvm::is_sorted(back) && cast<RankedTensorType>(result.getType()).getRank() == columns + 1)
      result = b.create<TransposeOp>(op.getLoc(), result, back);
  op->replaceAllUsesWith(results);
  op->erase();
}

struct LowerAttention : impl::LowerAttentionBase<LowerAttention> {
  using LowerAttentionBase::LowerAttentionBase;

  void runOnOperation() override {
    const std::optional<Target> machine = parseTarget(getOperation(), target);
    if (!machine)
      return signalPassFailure();
    std::vector<Decision> decisions;
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<SdpaOp, SdpaBackwardOp>(op))
        ops.push_back(op);
    });
    auto lower = [&](auto op) {
      const TargetDescription *description = describe(op, deviceOf(op.getQ().getType()), *machine);
      if (!description)
        return false;
      std::string refusal = whyNot(op, *description);
      const Type element = op.getQ().getType().getElementType();
      auto note = [&](const char *code, const std::string &message) {
        if (report)
          decisions.push_back(
              {code, locationText(op.getLoc()), "", op->getName().getStringRef().str(), 0, message});
      };
      if (!refusal.empty()) {
        note("WEFT-N009", refusal + "; it is several kernels, which hold all scores");
        return true;
      }
      if (!description->isCpu() && hasFastNumerics(op) && !element.isF32())
        note("WEFT-N010", "probabilities, and the gradients of scores, may be rounded to " +
                              std::string(name(dtypeOf(op.getQ().getType()))) +
                              " before they are multiplied");
      lowerToLaunch(op);
      return true;
    };
    // Lower in the order of the text, so that a derivative reads the results of the forward launch.
    for (Operation *op : ops) {
      auto forward = dyn_cast<SdpaOp>(op);
      if (!(forward ? lower(forward) : lower(cast<SdpaBackwardOp>(op))))
        return signalPassFailure();
    }
    recordDecisions(getOperation(), decisions);
  }
};

} // namespace
} // namespace weft::passes
