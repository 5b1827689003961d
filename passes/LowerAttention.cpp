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

//===----------------------------------------------------------------------===//
// Views of operands
//===----------------------------------------------------------------------===//

/// A value in row-major memory, and the offset and strides of another value's elements in it.
struct Source {
  Value base;
  AttentionView view;
};

AttentionView rowMajor(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> order;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    order.push_back(static_cast<int64_t>(dim));
  return orderedView(shape, order);
}

/// The strides for shape `to` of elements that have `strides` in the shape `from`. None if no strides
/// describe them. The shapes have the same number of elements, which is not 0.
std::optional<SmallVector<int64_t>> reshapedStrides(ArrayRef<int64_t> from, ArrayRef<int64_t> strides,
                                                    ArrayRef<int64_t> to) {
  SmallVector<std::pair<int64_t, int64_t>> dims; // of sizes other than 1
  for (auto [extent, stride] : llvm::zip(from, strides))
    if (extent != 1)
      dims.emplace_back(extent, stride);
  SmallVector<int64_t> result(to.size(), 0);
  size_t next = 0;
  for (size_t i = 0; i < to.size();) {
    if (to[i] == 1) {
      ++i;
      continue;
    }
    // Find the smallest groups of dimensions of both shapes that have equally many elements. The dimensions
    // of `from` in a group must have strides like one dimension.
    size_t first = next, begin = i;
    int64_t have = dims[next++].first, want = to[i++];
    while (have != want) {
      if (have < want)
        have *= dims[next++].first;
      else
        want *= to[i++];
    }
    for (size_t j = first; j + 1 < next; ++j)
      if (dims[j].second != dims[j + 1].first * dims[j + 1].second)
        return std::nullopt;
    int64_t step = dims[next - 1].second;
    for (size_t j = i; j-- > begin;) {
      result[j] = step;
      step *= to[j];
    }
  }
  return result;
}

/// The view of the result of `op`, if `view` is that of its operand. None if strides cannot express it.
std::optional<AttentionView> through(Operation *op, const AttentionView &view) {
  auto shapeOf = [](Value value) { return *numbersOf(sizesOf(value)); };
  AttentionView result{view.offset, {}};
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (int64_t dim : transpose.getPerm())
      result.strides.push_back(view.strides[dim]);
    return result;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    if (anySymbolic(slice.getStart()))
      return std::nullopt;
    for (auto [stride, start, step] : llvm::zip(view.strides, slice.getStart(), slice.getStep())) {
      result.offset += start.asNumber() * stride;
      result.strides.push_back(stride * step);
    }
    return result;
  }
  if (auto broadcast = dyn_cast<BroadcastInDimOp>(op)) {
    SmallVector<int64_t> from = shapeOf(broadcast.getA()), to = shapeOf(broadcast.getResult());
    result.strides.assign(to.size(), 0);
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
      result.strides[dim] = from[i] == to[dim] ? view.strides[i] : 0;
    return result;
  }
  auto reshape = cast<ReshapeOp>(op);
  auto strides = reshapedStrides(shapeOf(reshape.getA()), view.strides, shapeOf(reshape.getResult()));
  if (!strides)
    return std::nullopt;
  result.strides = *strides;
  return result;
}

/// Whether reading `part` from `whole` needs no additional memory: `whole` is in memory in any case, or is
/// not larger.
bool isThere(Value whole, Value part) {
  Operation *op = whole.getDefiningOp();
  return !op || isa<DotGeneralOp, AttentionOp>(op) || !llvm::hasSingleElement(whole.getUsers()) ||
         elementsOf(whole.getType()).asNumber() <= elementsOf(part.getType()).asNumber();
}

/// The first value in the chain of views before `value` from which `value` can be read.
Source sourceOf(Value value) {
  SmallVector<Operation *> views;
  Source found{value, rowMajor(*numbersOf(sizesOf(value)))};
  Value current = value;
  while (Operation *op = current.getDefiningOp()) {
    if (!isa<TransposeOp, SliceOp, BroadcastInDimOp, ReshapeOp>(op))
      break;
    // The operand of a slice with static sizes may have dynamic sizes.
    if (isDynamic(op->getOperand(0).getType()))
      break;
    views.push_back(op);
    current = op->getOperand(0);
    std::optional<AttentionView> view = rowMajor(*numbersOf(sizesOf(current.getType())));
    for (Operation *step : llvm::reverse(views))
      if (view)
        view = through(step, *view);
    if (view && isThere(current, value))
      found = {current, *view};
  }
  return found;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

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
Source maskSource(Value mask) {
  Source source = sourceOf(mask);
  for (auto [stride, extent] : llvm::zip(source.view.strides, sizesOf(mask.getType())))
    stride = extent == 1 ? 0 : stride;
  return source;
}

template <typename Op> void lowerToLaunch(Op op) {
  OpBuilder b(op);
  Source q = sourceOf(op.getQ()), k = sourceOf(op.getK()), v = sourceOf(op.getV()), mask;
  if (op.getMask())
    mask = maskSource(op.getMask());
  // Results get the queries' order of dimensions, because later ops are likely to read them in that order.
  SmallVector<int64_t> order = orderOf(q.view);
  auto columns = static_cast<int64_t>(order.size()) - 1;
  if (order.back() != columns)
    order = orderOf(rowMajor(*numbersOf(sizesOf(op.getQ().getType()))));
  Source out, grad;
  Value lse;
  if constexpr (std::is_same_v<Op, SdpaBackwardOp>) {
    out = sourceOf(op.getOut());
    grad = sourceOf(op.getGrad());
    lse = op.getLse();
  }
  auto view = [&](const Source &source) {
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
