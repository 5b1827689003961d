//===- MergeSlicedContractions.cpp - One contraction for several slices ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a sequence each multiply their slice of the input by the same weights. Rows of a product do
// not depend on each other, so the product of the whole input has the rows of all steps: one launch that
// reads the weights once. A bias that each step adds is added to the whole product, whose epilogue it can be.
//
// Memory: the result of the whole lives from the first step to the last, where the results of steps would
// live one after the other. All such results of a function together are at most `mostBytes`, or as large as
// the largest value that is sliced.
//
//===----------------------------------------------------------------------===//
#include "ir/Contraction.h"
#include "ir/Decisions.h"
#include "passes/Passes.h"
#include "passes/fusion/OnlyReader.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_MERGESLICEDCONTRACTIONS
#include "passes/Passes.h.inc"

namespace {

/// Up to this length the order of a sum does not depend on the rows and columns of its product.
constexpr int64_t longestSum = 384;
/// Fewer launches are not worth a result that lives longer.
constexpr size_t fewestSlices = 4;
/// A result of this size stays in the cache of a core's neighbourhood until its slices are read.
constexpr int64_t mostBytes = int64_t(4) << 20;

/// A product of a slice, along one dimension of what is sliced.
struct SlicedProduct {
  DotGeneralOp dot;
  SliceOp slice;
  int64_t dim, begin, end;
  bool dropped; ///< the slice has one element along the dimension, and the operand no such dimension

  /// What is sliced. Merging other products may replace it.
  Value whole() const { return SliceOp(slice).getA(); }
};

/// The dimension along which a slice is less than all of its operand, or nothing where there are none or
/// several.
std::optional<int64_t> slicedDim(SliceOp slice) {
  std::optional<int64_t> found;
  ArrayRef<Size> whole = sizesOf(slice.getA().getType());
  for (size_t dim = 0; dim < whole.size(); ++dim) {
    if (slice.getStep()[dim] != 1)
      return std::nullopt;
    if (slice.getStart()[dim] == 0 && slice.getLimit()[dim] == whole[dim])
      continue;
    if (found)
      return std::nullopt;
    found = static_cast<int64_t>(dim);
  }
  return found;
}

/// Whether `reshape` leaves out dimension `dim`, of size 1, and nothing else.
bool dropsOnly(ReshapeOp reshape, int64_t dim) {
  SmallVector<Size> shape(sizesOf(reshape.getA().getType()));
  if (shape[dim] != 1)
    return false;
  shape.erase(shape.begin() + dim);
  return ArrayRef(shape) == sizesOf(reshape.getType());
}

/// The product as one of a slice; empty if its left operand is none, or the slice is not along its rows.
std::optional<SlicedProduct> slicedProduct(DotGeneralOp dot) {
  if (dot.getBias() || dot.getResidual() || dot.getRelu() || !dot.getMore().empty())
    return std::nullopt;
  Value operand = dot.getA();
  auto reshape = operand.getDefiningOp<ReshapeOp>();
  auto slice = (reshape ? reshape.getA() : operand).getDefiningOp<SliceOp>();
  std::optional<int64_t> dim = slice ? slicedDim(slice) : std::nullopt;
  if (!dim || (reshape && !dropsOnly(reshape, *dim)))
    return std::nullopt;
  auto isUsed = [&](ArrayRef<int64_t> dims) { return !reshape && llvm::is_contained(dims, *dim); };
  if (isUsed(dot.getBatchA()) || isUsed(dot.getContractA()))
    return std::nullopt;
  std::optional<int64_t> begin = slice.getStart()[*dim].number(), end = slice.getLimit()[*dim].number();
  if (!begin || !end)
    return std::nullopt;
  return SlicedProduct{dot, slice, *dim, *begin, *end, static_cast<bool>(reshape)};
}

/// Dimensions of the operand of a product as dimensions of what it is a slice of.
SmallVector<int64_t> dimsOfWhole(const SlicedProduct &product, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> mapped;
  for (int64_t dim : dims)
    mapped.push_back(dim + (product.dropped && dim >= product.dim ? 1 : 0));
  return mapped;
}

struct MergeSlicedContractions : impl::MergeSlicedContractionsBase<MergeSlicedContractions> {
  using MergeSlicedContractionsBase::MergeSlicedContractionsBase;
  using Group = SmallVector<SlicedProduct>;
  std::vector<Decision> decisions;

  /// Products of slices of one value with one right operand, by what else they have in common.
  static std::vector<Group> findGroups(FuncOp func) {
    llvm::MapVector<std::pair<Value, Value>, std::vector<Group>> found;
    for (DotGeneralOp dot : func.getBody().front().getOps<DotGeneralOp>()) {
      std::optional<SlicedProduct> product = slicedProduct(dot);
      if (!product)
        continue;
      std::vector<Group> &groups = found[{product->whole(), dot.getB()}];
      auto group = llvm::find_if(groups, [&](const Group &group) { return areAlike(group[0], *product); });
      (group == groups.end() ? groups.emplace_back() : *group).push_back(*product);
    }
    std::vector<Group> all;
    for (auto &[operands, groups] : found)
      for (Group &group : groups)
        if (group.size() >= fewestSlices)
          all.push_back(std::move(group));
    return all;
  }

  static bool areAlike(const SlicedProduct &a, const SlicedProduct &b) {
    DotGeneralOp x = a.dot, y = b.dot;
    return a.dim == b.dim && a.dropped == b.dropped && x.getBatchA() == y.getBatchA() &&
           x.getBatchB() == y.getBatchB() && x.getContractA() == y.getContractA() &&
           x.getContractB() == y.getContractB();
  }

  /// Why the products of a group cannot be merged; empty if they can. The group is in the order of its
  /// slices. `room` is the number of bytes that results of wholes may still take.
  static std::string whyNot(const Group &group, const SymbolRanges &ranges, int64_t &room) {
    const SlicedProduct &first = group.front();
    DotGeneralOp dot = first.dot;
    Type element = dot.getType().getElementType();
    if (!deviceOf(dot.getType()).isCpu())
      return "the order of sums is known for CPUs only";
    if (!element.isF32() && !element.isF64())
      return "the element type is neither f32 nor f64";
    auto type = cast<RankedTensorType>(first.whole().getType());
    if (isDynamic(type) || isDynamic(dot.getB().getType()))
      return "sizes are not known, so it is not known which implementation multiplies";
    int64_t at = 0;
    for (const SlicedProduct &product : group) {
      if (product.begin != at)
        return product.begin < at ? "the slices overlap" : "a part of the value is in no slice";
      at = product.end;
    }
    if (at != type.getDimSize(static_cast<unsigned>(first.dim)))
      return "a part of the value is in no slice";
    SmallVector<int64_t> batch = dimsOfWhole(first, dot.getBatchA()),
                         contract = dimsOfWhole(first, dot.getContractA());
    if (!isContractible(sizesOf(type), batch, contract))
      return "the value would have to be transposed first";
    // Other sums may be in another order in a product of more rows: those of at most four rows, or one
    // column, and long ones, of which small products are cut otherwise than large ones.
    int64_t bytes = 0;
    for (const SlicedProduct &product : group) {
      std::optional<ContractionShape> shape = getContractionShape(product.dot);
      if (!shape || shape->m.asNumber() <= 4 || shape->n.asNumber() <= 1 || shape->k.asNumber() > longestSum)
        return "with so few rows or columns, or such long sums, the merged product may add in another order";
      bytes += ranges.largest(bytesOf(DotGeneralOp(product.dot).getType()));
    }
    if (bytes > room)
      return "the result of the whole has " + std::to_string(bytes) +
             " bytes, all of which would live until the last slice is read";
    room -= bytes;
    return {};
  }

  /// The vector that is added to the rows of every product of the group, if it is there before the first
  /// product, or null.
  static Value commonBias(const Group &group, DotGeneralOp first) {
    Value bias;
    for (const SlicedProduct &product : group) {
      Value vector = biasAddedTo(DotGeneralOp(product.dot).getResult());
      if (!vector || (bias && vector != bias))
        return {};
      bias = vector;
    }
    Operation *maker = bias.getDefiningOp();
    return !maker || maker->isBeforeInBlock(first) ? bias : Value();
  }

  static void merge(const Group &group) {
    // Whole and weights are there before the first product in the text.
    SlicedProduct first = group.front();
    for (const SlicedProduct &product : group)
      if (product.dot->isBeforeInBlock(first.dot))
        first = product;
    DotGeneralOp dot = first.dot;
    OpBuilder builder(dot);
    SmallVector<Location> locations;
    for (const SlicedProduct &product : group)
      locations.push_back(product.dot->getLoc());
    SmallVector<int64_t> batch = dimsOfWhole(first, dot.getBatchA()),
                         contract = dimsOfWhole(first, dot.getContractA());
    auto whole = builder.create<DotGeneralOp>(FusedLoc::get(builder.getContext(), locations), first.whole(),
                                              dot.getB(), Value(), batch, dot.getBatchB(), contract,
                                              dot.getContractB(), false);
    Value rows = whole;
    const Value bias = commonBias(group, dot);
    if (bias) {
      ArrayRef<Size> sizes = sizesOf(whole.getType());
      const int64_t last = whole.getType().getRank() - 1;
      Value repeated = builder.create<BroadcastInDimOp>(whole.getLoc(), bias, ArrayRef(last), sizes);
      rows = builder.create<AddOp>(onlyReader(dot.getResult())->getLoc(), rows, repeated);
    }
    // The dimension of the result that the slices are along.
    auto rank = cast<RankedTensorType>(first.whole().getType()).getRank();
    const SmallVector<int64_t> free = getFreeDims(rank, batch, contract);
    const size_t dim = batch.size() + static_cast<size_t>(llvm::find(free, first.dim) - free.begin());
    for (const SlicedProduct &product : group) {
      DotGeneralOp one = product.dot;
      Operation *last = bias ? onlyReader(one.getResult()) : one.getOperation();
      builder.setInsertionPoint(last);
      SmallVector<Size> start(whole.getType().getRank(), Size(0)), limit(sizesOf(whole.getType()));
      start[dim] = product.begin;
      limit[dim] = product.end;
      Value part =
          builder.create<SliceOp>(one.getLoc(), rows, start, limit, SmallVector<int64_t>(start.size(), 1));
      if (product.dropped)
        part = builder.create<ReshapeOp>(one.getLoc(), part, sizesOf(one.getType()));
      last->getResult(0).replaceAllUsesWith(part);
      if (bias)
        last->erase();
    }
    for (const SlicedProduct &product : group)
      product.dot->erase();
  }

  void runOnOperation() override {
    FuncOp func = getOperation();
    decisions.clear();
    std::vector<Group> groups = func.isExternal() ? std::vector<Group>() : findGroups(func);
    if (groups.empty())
      return markAllAnalysesPreserved();
    SymbolRanges ranges = rangesOf(func);
    int64_t room = mostBytes;
    for (const Group &group : groups)
      room = std::max(room, ranges.largest(bytesOf(group.front().whole().getType())));
    for (Group &group : groups) {
      llvm::sort(group, [](const SlicedProduct &a, const SlicedProduct &b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
      });
      const std::string why = whyNot(group, ranges, room);
      if (report)
        decisions.push_back({why.empty() ? "merged" : "WEFT-F011", locationText(group.front().dot->getLoc()),
                             "weft.slice", "weft.dot_general", 0,
                             amountText(group.size(), "product") + " of slices of one value " +
                                 (why.empty() ? "are one product" : "remain separate: " + why)});
      if (why.empty())
        merge(group);
    }
    recordDecisions(func, decisions);
  }
};

} // namespace
} // namespace weft::passes
