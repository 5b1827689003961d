//===- Indexing.cpp - Rewrites of joins, windows, pads and indices --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules for ops that move elements and could move fewer, or none. Elements are copied, or have a zero added
// as before, so every rule keeps every bit.
//
//===----------------------------------------------------------------------===//
#include "ir/Updates.h"
#include "passes/simplify/Rules.h"

using namespace mlir;

namespace weft::passes {

template <typename T> static bool allAre(ArrayRef<T> numbers, int64_t value) {
  return llvm::all_of(numbers, [&](T number) { return number == value; });
}

/// Whether the bounds of a slice are numbers. They may depend on symbols even if the operand is static.
static bool takesNumbers(ir::SliceOp slice) {
  return ir::numbersOf(slice.getStart()) && ir::numbersOf(slice.getLimit());
}

/// The whole number that a constant repeats.
static std::optional<int64_t> wholeSplat(Value value) {
  auto element = dyn_cast_or_null<IntegerAttr>(getSplat(value));
  return element ? std::optional(element.getValue().getSExtValue()) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// slice, concat
//===----------------------------------------------------------------------===//

static Value sliceOfSlice(Operation *op, PatternRewriter &rewriter) {
  auto slice = dyn_cast<ir::SliceOp>(op);
  auto inner = slice ? slice.getA().getDefiningOp<ir::SliceOp>() : ir::SliceOp();
  if (!inner || ir::isDynamic(inner.getA().getType()) || !takesNumbers(slice) || !takesNumbers(inner))
    return {};
  SmallVector<ir::Size> start, limit;
  SmallVector<int64_t> step;
  for (size_t i = 0; i < slice.getStart().size(); ++i) {
    const int64_t count = ir::sizesOf(slice.getType())[i].asNumber();
    // The start of an empty slice and the step of a slice of one element have no meaning, and both could
    // overflow.
    step.push_back(count > 1 ? slice.getStep()[i] * inner.getStep()[i] : 1);
    start.push_back(count == 0 ? ir::Size(0)
                               : inner.getStart()[i] + slice.getStart()[i] * inner.getStep()[i]);
    limit.push_back(count == 0 ? ir::Size(0) : start[i] + ir::Size(count - 1) * step[i] + 1);
  }
  return rewriter.create<ir::SliceOp>(op->getLoc(), inner.getA(), start, limit, step);
}

// A slice that is contained in one part is a slice of that part.
static Value sliceOfConcat(Operation *op, PatternRewriter &rewriter) {
  auto slice = dyn_cast<ir::SliceOp>(op);
  auto concat = slice ? slice.getA().getDefiningOp<ir::ConcatOp>() : ir::ConcatOp();
  if (!concat || ir::isDynamic(concat.getType()) || !takesNumbers(slice) ||
      ir::elementsOf(slice.getType()) == 0)
    return {};
  auto dim = static_cast<size_t>(concat.getDim());
  int64_t begin = 0, first = slice.getStart()[dim].asNumber(),
          last = first + (slice.getType().getShape()[dim] - 1) * slice.getStep()[dim];
  for (Value part : concat.getParts()) {
    int64_t size = typeOf(part).getShape()[dim];
    if (first >= begin && last < begin + size) {
      SmallVector<ir::Size> start(slice.getStart()), limit(slice.getLimit());
      start[dim] = first - begin;
      limit[dim] = last + 1 - begin;
      return rewriter.create<ir::SliceOp>(op->getLoc(), part, start, limit, slice.getStep());
    }
    begin += size;
  }
  return {};
}

// concat(concat(a, b), c) is concat(a, b, c).
static Value flattenConcat(Operation *op, PatternRewriter &rewriter) {
  constexpr size_t mostParts = 64;
  auto concat = dyn_cast<ir::ConcatOp>(op);
  if (!concat)
    return {};
  SmallVector<Value> parts;
  bool changed = false;
  for (Value part : concat.getParts()) {
    auto inner = part.getDefiningOp<ir::ConcatOp>();
    if (inner && inner.getDim() == concat.getDim() && inner->hasOneUse()) {
      llvm::append_range(parts, inner.getParts());
      changed = true;
    } else {
      parts.push_back(part);
    }
  }
  return changed && parts.size() <= mostParts
             ? rewriter.create<ir::ConcatOp>(op->getLoc(), parts, concat.getDim())
             : Value();
}

/// Whether `b` continues `a` along `dim`, in the same tensor.
static bool continues(ir::SliceOp a, ir::SliceOp b, size_t dim) {
  if (!a || !b || a.getA() != b.getA() || !allAre(a.getStep(), 1) || !allAre(b.getStep(), 1) ||
      a.getLimit()[dim] != b.getStart()[dim])
    return false;
  for (size_t i = 0; i < a.getStart().size(); ++i)
    if (i != dim && (a.getStart()[i] != b.getStart()[i] || a.getLimit()[i] != b.getLimit()[i]))
      return false;
  return true;
}

// A concat of adjacent slices of one tensor is one slice.
static Value joinSlices(Operation *op, PatternRewriter &rewriter) {
  auto concat = dyn_cast<ir::ConcatOp>(op);
  if (!concat)
    return {};
  auto dim = static_cast<size_t>(concat.getDim());
  auto sliceAt = [&](size_t i) { return concat.getParts()[i].getDefiningOp<ir::SliceOp>(); };
  size_t count = concat.getParts().size();
  size_t at = 0;
  while (at + 1 < count && !continues(sliceAt(at), sliceAt(at + 1), dim))
    ++at;
  if (at + 1 >= count)
    return {};
  SmallVector<Value> parts;
  for (size_t i = 0; i < count;) {
    size_t end = i + 1;
    while (end < count && continues(sliceAt(end - 1), sliceAt(end), dim))
      ++end;
    if (end == i + 1) {
      parts.push_back(concat.getParts()[i]);
    } else {
      ir::SliceOp first = sliceAt(i), last = sliceAt(end - 1);
      parts.push_back(rewriter.create<ir::SliceOp>(op->getLoc(), first.getA(), first.getStart(),
                                                   last.getLimit(), first.getStep()));
    }
    i = end;
  }
  return rewriter.create<ir::ConcatOp>(op->getLoc(), parts, concat.getDim());
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

static Value padNothing(Operation *op, PatternRewriter &) {
  auto pad = dyn_cast<ir::PadOp>(op);
  return pad && allAre(pad.getLow(), 0) && allAre(pad.getHigh(), 0) && pad.getA().getType() == pad.getType()
             ? Value(pad.getA())
             : Value();
}

// Padding that a slice removes again is not needed.
static Value sliceOfPad(Operation *op, PatternRewriter &rewriter) {
  auto slice = dyn_cast<ir::SliceOp>(op);
  auto pad = slice ? slice.getA().getDefiningOp<ir::PadOp>() : ir::PadOp();
  if (!pad || ir::isDynamic(pad.getA().getType()) || !takesNumbers(slice) || !ir::numbersOf(pad.getLow()) ||
      !allAre(pad.getInterior(), 0))
    return {};
  SmallVector<ir::Size> start, limit;
  for (size_t i = 0; i < pad.getLow().size(); ++i) {
    start.push_back(slice.getStart()[i] - pad.getLow()[i]);
    limit.push_back(slice.getLimit()[i] - pad.getLow()[i]);
    if (!start[i].isCount() || !ir::SymbolRanges().isAtMost(limit[i], pad.getA().getType().getShape()[i]))
      return {};
  }
  return rewriter.create<ir::SliceOp>(op->getLoc(), pad.getA(), start, limit, slice.getStep());
}

// Two pads with the same element are one pad.
static Value padOfPad(Operation *op, PatternRewriter &rewriter) {
  auto pad = dyn_cast<ir::PadOp>(op);
  auto inner = pad ? pad.getA().getDefiningOp<ir::PadOp>() : ir::PadOp();
  if (!inner || ir::isDynamic(pad.getType()) || pad.getValue() != inner.getValue() ||
      !allAre(pad.getInterior(), 0))
    return {};
  SmallVector<ir::Size> low, high;
  for (size_t i = 0; i < pad.getLow().size(); ++i) {
    ir::Size added[] = {pad.getLow()[i], pad.getHigh()[i], inner.getLow()[i], inner.getHigh()[i]};
    if (!llvm::all_of(added, [](ir::Size size) { return size.isCount(); }))
      return {};
    low.push_back(pad.getLow()[i] + inner.getLow()[i]);
    high.push_back(pad.getHigh()[i] + inner.getHigh()[i]);
  }
  return rewriter.create<ir::PadOp>(op->getLoc(), inner.getA(), pad.getValue(), low, high,
                                    inner.getInterior());
}

/// A part of a tensor along one dimension, and zeros around it.
struct PaddedPart {
  Value part;
  int64_t dim, begin, end;
};

/// What `value` is a part of, if zeros are added along one dimension only.
static std::optional<PaddedPart> paddedPart(Value value) {
  auto pad = value.getDefiningOp<ir::PadOp>();
  if (!pad || pad.getValue() || ir::isDynamic(pad.getType()) || !ir::numbersOf(pad.getLow()) ||
      !allAre(pad.getInterior(), 0))
    return std::nullopt;
  std::optional<PaddedPart> found;
  for (size_t dim = 0; dim < pad.getLow().size(); ++dim) {
    int64_t low = pad.getLow()[dim].asNumber(),
            size = pad.getA().getType().getDimSize(static_cast<unsigned>(dim)),
            whole = pad.getType().getDimSize(static_cast<unsigned>(dim));
    if (low == 0 && size == whole)
      continue;
    if (found || low < 0 || low + size > whole)
      return std::nullopt;
    found = {pad.getA(), static_cast<int64_t>(dim), low, low + size};
  }
  return found;
}

// The gradient of what was taken apart is a sum of parts, each with zeros around it. Where no two parts meet
// it is their concatenation. Each element has zeros added, which makes a zero of -0, and so has each part.
static Value joinPaddedParts(Operation *op, PatternRewriter &rewriter) {
  constexpr size_t mostParts = 8; // of which a kernel makes a concatenation without copying it
  auto add = dyn_cast<ir::AddOp>(op);
  std::optional<PaddedPart> last = add ? paddedPart(add.getB()) : std::nullopt;
  if (!last)
    return {};
  // Only the whole chain is looked at, once.
  if (add->hasOneUse())
    if (auto next = dyn_cast<ir::AddOp>(*add->user_begin()); next && paddedPart(next.getB()))
      return {};
  SmallVector<PaddedPart> found{*last};
  Value rest = add.getA();
  for (auto inner = rest.getDefiningOp<ir::AddOp>(); inner && inner->hasOneUse();
       inner = rest.getDefiningOp<ir::AddOp>()) {
    std::optional<PaddedPart> part = paddedPart(inner.getB());
    if (!part || found.size() == mostParts)
      return {};
    found.push_back(*part);
    rest = inner.getA();
  }
  std::optional<PaddedPart> first = paddedPart(rest);
  if (!first)
    return {};
  found.push_back(*first);
  llvm::sort(found, [](const PaddedPart &a, const PaddedPart &b) { return a.begin < b.begin; });
  // With the gaps between them, which are zero.
  auto type = cast<RankedTensorType>(add.getType());
  SmallVector<Value> parts;
  auto zeros = [&](int64_t size) {
    SmallVector<ir::Size> shape(ir::sizesOf(type));
    shape[last->dim] = size;
    return makeSplat(ir::withShape(type, shape), rewriter.getZeroAttr(type.getElementType()), op->getLoc(),
                     rewriter);
  };
  int64_t at = 0;
  size_t gaps = 0;
  for (const PaddedPart &part : found) {
    if (part.dim != last->dim || part.begin < at)
      return {};
    gaps += part.begin > at;
    at = part.end;
  }
  const int64_t whole = type.getDimSize(static_cast<unsigned>(last->dim));
  if (found.size() + gaps + (at < whole) > mostParts)
    return {};
  at = 0;
  for (const PaddedPart &part : found) {
    if (part.begin > at)
      parts.push_back(zeros(part.begin - at));
    if (part.begin < part.end)
      parts.push_back(rewriter.create<ir::AddOp>(op->getLoc(), part.part, zeros(part.end - part.begin)));
    at = part.end;
  }
  if (at < whole)
    parts.push_back(zeros(whole - at));
  return rewriter.create<ir::ConcatOp>(op->getLoc(), parts, last->dim);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

// A window at a known place is a slice.
static Value sliceAtConstant(Operation *op, PatternRewriter &rewriter) {
  auto window = dyn_cast<ir::DynamicSliceOp>(op);
  if (!window || ir::isDynamic(window.getA().getType()) || !ir::numbersOf(window.getSizes()))
    return {};
  auto from = window.getA().getType();
  SmallVector<ir::Size> start, limit;
  SmallVector<int64_t> step(static_cast<size_t>(from.getRank()), 1);
  for (auto [i, size] : llvm::enumerate(window.getSizes())) {
    int64_t room = from.getShape()[i] - size.asNumber();
    std::optional<int64_t> at = room == 0 ? 0 : wholeSplat(window.getStarts()[i]);
    if (!at)
      return {};
    start.push_back(std::clamp<int64_t>(*at, 0, room));
    limit.push_back(start.back() + size);
  }
  return rewriter.create<ir::SliceOp>(op->getLoc(), window.getA(), start, limit, step);
}

// An update by a window as large as the tensor is the window.
static Value updateWhole(Operation *op, PatternRewriter &) {
  auto update = dyn_cast<ir::DynamicUpdateSliceOp>(op);
  return update && update.getU().getType() == update.getType() ? Value(update.getU()) : Value();
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

// A gather whose indices are all one known number is a slice, repeated.
static Value gatherAtConstant(Operation *op, PatternRewriter &rewriter) {
  auto gather = dyn_cast<ir::GatherOp>(op);
  std::optional<int64_t> at =
      gather && gather.getKind() == ir::GatherKind::points ? wholeSplat(gather.getIndex()) : std::nullopt;
  if (!at || *at < 0 || *at >= ir::indexedSize(op).number().value_or(0))
    return {};
  int64_t dim = ir::indexedDim(op);
  auto from = gather.getA().getType();
  SmallVector<ir::Size> start(static_cast<size_t>(from.getRank()), 0), limit(ir::sizesOf(from));
  SmallVector<int64_t> step(static_cast<size_t>(from.getRank()), 1);
  start[dim] = *at;
  limit[dim] = *at + 1;
  Value row = rewriter.create<ir::SliceOp>(op->getLoc(), gather.getA(), start, limit, step);
  SmallVector<ir::Size> kept(ir::sizesOf(from));
  SmallVector<int64_t> dims;
  kept.erase(kept.begin() + dim);
  if (ArrayRef(kept) != ir::sizesOf(from))
    row = rewriter.create<ir::ReshapeOp>(op->getLoc(), row, kept);
  int64_t inserted = gather.getIndex().getType().getRank();
  for (int64_t i = 0, e = static_cast<int64_t>(kept.size()); i < e; ++i)
    dims.push_back(i < dim ? i : i + inserted);
  return rewriter.create<ir::BroadcastInDimOp>(op->getLoc(), row, dims, ir::sizesOf(gather.getType()));
}

// A gather of slices 0, 1, .. in order is the tensor itself.
static Value gatherInOrder(Operation *op, PatternRewriter &) {
  auto gather = dyn_cast<ir::GatherOp>(op);
  if (!gather || gather.getKind() != ir::GatherKind::points || gather.getType() != gather.getA().getType())
    return {};
  auto order = gather.getIndex().getDefiningOp<ir::IotaOp>();
  return order && order.getType().getRank() == 1 ? Value(gather.getA()) : Value();
}

// A scatter whose index is the same all over the other dimensions writes whole slices.
static Value scatterSlices(Operation *op, PatternRewriter &rewriter) {
  auto scatter = dyn_cast<ir::ScatterOp>(op);
  if (!scatter || (scatter.getKind() != ir::ScatterKind::add && scatter.getKind() != ir::ScatterKind::set))
    return {};
  auto broadcast = scatter.getIndex().getDefiningOp<ir::BroadcastInDimOp>();
  auto a = scatter.getA().getType(), u = scatter.getU().getType(), index = scatter.getIndex().getType();
  int64_t dim = ir::indexedDim(op);
  ir::IndexedShape shape(ir::sizesOf(a), dim);
  ir::Size elements = shape.outer * shape.inner; // of a slice
  if (!broadcast || elements == 0 || elements == 1 || ir::sizesOf(u) != ir::sizesOf(index))
    return {};
  for (int64_t i = 0; i < a.getRank(); ++i)
    if (i != dim && ir::sizesOf(index)[i] != ir::sizesOf(a)[i])
      return {};
  // Only that dimension of the operand which becomes `dim` may have another size than 1.
  auto from = broadcast.getA().getType();
  for (auto [i, to] : llvm::enumerate(broadcast.getDims()))
    if (to != dim && ir::sizesOf(from)[i] != 1)
      return {};
  if (ir::elementsOf(from) != ir::sizesOf(index)[dim])
    return {};
  Value line = broadcast.getA();
  if (from.getRank() != 1)
    line = rewriter.create<ir::ReshapeOp>(op->getLoc(), line, ArrayRef<ir::Size>{ir::sizesOf(index)[dim]});
  auto made =
      rewriter.create<ir::IndexUpdateOp>(op->getLoc(), scatter.getA(), scatter.getU(), line, scatter.getDim(),
                                         scatter.getKind() == ir::ScatterKind::add, scatter.getMode());
  made->setDiscardableAttrs(scatter->getDiscardableAttrDictionary());
  return made;
}

ArrayRef<Rule> getIndexingRules() {
  using enum Exactness;
  static constexpr Rule rules[] = {
      {"flatten-concat", bitExact, flattenConcat},
      {"gather-at-constant", bitExact, gatherAtConstant},
      {"gather-in-order", bitExact, gatherInOrder},
      {"join-padded-parts", bitExact, joinPaddedParts},
      {"join-slices", bitExact, joinSlices},
      {"pad-nothing", bitExact, padNothing},
      {"pad-of-pad", bitExact, padOfPad},
      {"scatter-slices", bitExact, scatterSlices},
      {"slice-at-constant", bitExact, sliceAtConstant},
      {"slice-of-concat", bitExact, sliceOfConcat},
      {"slice-of-pad", bitExact, sliceOfPad},
      {"slice-of-slice", bitExact, sliceOfSlice},
      {"update-whole", bitExact, updateWhole},
  };
  return rules;
}

} // namespace weft::passes
