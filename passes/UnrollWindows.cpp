//===- UnrollWindows.cpp - Reductions of small windows as slices ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction over sliding windows reads, for neighbouring results, elements that are a stride apart. A
// kernel for reductions down columns takes the places of windows as one dimension, and divides to find the
// rows and columns of each lane. As a chain of elementwise ops over slices, one for each element of the
// window, it has loops over rows and columns, and reads vectors.
//
// Sums are in the order of column kernels (EmitColumn.cpp), so that the bits are the same. Extremes have
// none.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "ir/Schedule.h"
#include "ir/Vjp.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_UNROLLWINDOWS
#include "passes/Passes.h.inc"

namespace {

/// Up to 4 x 4: a chain for each element of a larger window would be a large kernel.
constexpr int64_t mostElements = 16;

/// The windows that `op` reduces, all elements of each, or null.
WindowsOp reducedWindows(Operation *op) {
  auto reshape = op->getOperand(0).getDefiningOp<ReshapeOp>();
  auto windows = (reshape ? reshape.getA() : op->getOperand(0)).getDefiningOp<WindowsOp>();
  if (!windows || !deviceOf(windows.getType()).isCpu())
    return {};
  const auto extents = static_cast<int64_t>(windows.getStride().size());
  ArrayRef<Size> shape = sizesOf(windows.getType());
  const int64_t lead = static_cast<int64_t>(shape.size()) - 2 * extents;
  const std::optional<int64_t> count = productOf(windows.getSize()).number(),
                               places = productOf(shape.take_back(extents)).number();
  // With one place the elements of a window are a row, whose sum has another order.
  if (!count || !places || *count < 2 || *count > mostElements || *places < 2)
    return {};
  auto all = llvm::to_vector(llvm::seq<int64_t>(lead, lead + (reshape ? 1 : extents)));
  if (reducedDims(op) != all)
    return {};
  if (reshape) {
    SmallVector<Size> merged(shape.take_front(lead));
    merged.push_back(*count);
    llvm::append_range(merged, shape.take_back(extents));
    if (sizesOf(reshape.getType()) != ArrayRef(merged))
      return {};
  }
  return windows;
}

/// The elements of the windows in row-major order, each [.., places..].
SmallVector<Sym> elementsOf(WindowsOp windows, VjpBuilder &v) {
  const size_t extents = windows.getStride().size();
  ArrayRef<Size> shape = sizesOf(windows.getType()), from = sizesOf(windows.getA().getType());
  const size_t lead = from.size() - extents;
  SmallVector<Size> start(from.size(), 0), limit(from);
  SmallVector<int64_t> step(lead, 1), within(extents, 0);
  llvm::append_range(step, windows.getStride());
  SmallVector<Sym> elements;
  while (true) {
    for (size_t i = 0; i < extents; ++i) {
      const int64_t places = shape[lead + extents + i].asNumber();
      const int64_t first = within[i] * windows.getDilation()[i];
      start[lead + i] = first;
      limit[lead + i] = first + (places - 1) * windows.getStride()[i] + 1;
    }
    elements.push_back(v.make<SliceOp>(windows.getA(), start, limit, step));
    size_t i = extents;
    while (i-- > 0 && ++within[i] == windows.getSize()[i].asNumber())
      within[i] = 0;
    if (i == SIZE_MAX)
      return elements;
  }
}

struct UnrollWindows : impl::UnrollWindowsBase<UnrollWindows> {
  using UnrollWindowsBase::UnrollWindowsBase;

  void runOnOperation() override {
    SmallVector<Operation *> reductions;
    for (Operation &op : getOperation().getBody().front())
      if (isa<SumOp, RmaxOp, RminOp, ArgmaxOp, ArgminOp>(op))
        reductions.push_back(&op);
    bool changed = false;
    for (Operation *op : reductions) {
      WindowsOp windows = reducedWindows(op);
      if (!windows)
        continue;
      OpBuilder builder(op);
      VjpBuilder v(builder, op, {Value()}, {false});
      SmallVector<Sym> elements = elementsOf(windows, v);
      Value result = isa<SumOp>(op)      ? sum(v, elements)
                     : isa<RmaxOp>(op)   ? extreme<MaxOp>(v, elements)
                     : isa<RminOp>(op)   ? extreme<MinOp>(v, elements)
                     : isa<ArgmaxOp>(op) ? position<GtOp>(v, elements)
                                         : position<LtOp>(v, elements);
      op->replaceAllUsesWith(ValueRange(result));
      op->erase();
      changed = true;
    }
    if (!changed)
      markAllAnalysesPreserved();
  }

private:
  /// Eight at a time in pairs, then one by one. Halves are added in f32 and rounded once.
  static Value sum(VjpBuilder &v, MutableArrayRef<Sym> elements) {
    Type element = elements[0].type().getElementType();
    const bool half = element.isF16() || element.isBF16();
    if (half)
      for (Sym &one : elements)
        one = v.convert(one, v.builder.getF32Type());
    Sym total = v.like(elements[0], 0.0);
    while (elements.size() >= columnRows) {
      Sym pairs[columnRows];
      std::copy_n(elements.begin(), columnRows, pairs);
      for (int64_t count = columnRows; count > 1; count /= 2)
        for (int64_t i = 0; i < count / 2; ++i)
          pairs[i] = v.binary<AddOp>(pairs[2 * i], pairs[2 * i + 1]);
      total = v.binary<AddOp>(total, pairs[0]);
      elements = elements.drop_front(columnRows);
    }
    for (Sym one : elements)
      total = v.binary<AddOp>(total, one);
    return v.convert(total, element).value;
  }

  /// In pairs, of which few wait for each other: an extreme has no order.
  template <typename Choice> static Value extreme(VjpBuilder &v, MutableArrayRef<Sym> elements) {
    while (elements.size() > 1) {
      const size_t pairs = elements.size() / 2;
      for (size_t i = 0; i < pairs; ++i)
        elements[i] = v.binary<Choice>(elements[2 * i], elements[2 * i + 1]);
      if (elements.size() % 2)
        elements[pairs] = elements.back();
      elements = elements.take_front(pairs + elements.size() % 2);
    }
    return elements[0].value;
  }

  /// The number of the first element that `Beyond` all others, of which NaN is one.
  template <typename Beyond> static Value position(VjpBuilder &v, ArrayRef<Sym> elements) {
    // There are few elements: numbers of 32 bits, of which a register holds more, suffice until the end.
    Sym best = elements[0], zero = v.like(v.convert(best, v.builder.getI32Type()), 0.0), found = zero;
    const bool real = isa<FloatType>(best.type().getElementType());
    for (auto [number, one] : llvm::enumerate(elements.drop_front())) {
      Sym better = v.compare<Beyond>(one, best);
      if (real) // not a number, and the first of these
        better =
            v.binary<OrOp>(better, v.binary<AndOp>(v.compare<NeOp>(one, one), v.compare<EqOp>(best, best)));
      best = v.select(better, one, best);
      found = v.select(better, v.like(zero, static_cast<double>(number + 1)), found);
    }
    return v.convert(found, v.builder.getI64Type()).value;
  }
};

} // namespace
} // namespace weft::passes
