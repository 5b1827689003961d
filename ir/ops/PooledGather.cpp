//===- PooledGather.cpp ---------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/ops/PooledGather.h"

#include "ir/ops/Common.h"
#include "ir/ops/Windows.h"

using namespace mlir;
namespace weft::ir {

namespace {

/// The windows along one extent.
struct PooledExtent {
  int64_t size, window, stride, padding, dilation, places;
};

constexpr llvm::StringLiteral pooled = "weft.pooled";
/// How many numbers each extent has.
constexpr int64_t numbersOfExtent = 6;

/// The windows of a gather; none if it says nothing, or what does not fit its operands.
SmallVector<PooledExtent> pooledExtents(GatherOp op) {
  constexpr int64_t largest = int64_t(1) << 31;
  auto numbers = op->getAttrOfType<DenseI64ArrayAttr>(pooled);
  ArrayRef<Size> a = sizesOf(op.getA()), index = sizesOf(op.getIndex());
  if (!numbers || op.getDim() + 1 != a.size() || a.drop_back() != index.drop_back())
    return {};
  SmallVector<PooledExtent> extents;
  Size size = 1, places = 1;
  for (ArrayRef<int64_t> rest = numbers; !rest.empty(); rest = rest.drop_front(numbersOfExtent)) {
    const auto isCount = [](int64_t number) { return number >= 1 && number <= largest; };
    if (!llvm::all_of(rest.take_front(3), isCount) || rest[3] < 0 || rest[3] > largest || !isCount(rest[4]) ||
        !isCount(rest[5]))
      return {};
    extents.push_back({rest[0], rest[1], rest[2], rest[3], rest[4], rest[5]});
    size = size * rest[0];
    places = places * rest[5];
  }
  return size == a.back() && places == index.back() ? extents : SmallVector<PooledExtent>();
}

/// Whether windows have so few elements that a sum over them takes less time than a scatter.
bool areSmall(ArrayRef<PooledExtent> extents) {
  constexpr int64_t mostElements = 49;
  Size elements = 1;
  for (const PooledExtent &each : extents)
    elements = elements * each.window;
  return elements.number().value_or(mostElements + 1) <= mostElements;
}

/// Whether the element at `position` lies in the window of place `place`, both numbers of all extents.
bool liesInWindow(ArrayRef<PooledExtent> extents, int64_t position, int64_t place) {
  for (const PooledExtent &each : llvm::reverse(extents)) {
    const int64_t along = position % each.size - (place % each.places * each.stride - each.padding);
    if (along < 0 || along % each.dilation != 0 || along / each.dilation >= each.window)
      return false;
    position /= each.size;
    place /= each.places;
  }
  return true;
}

/// The numbers of a gather from windows, and the ops of its derivative.
struct PooledWindows {
  VjpBuilder &v;
  ArrayRef<PooledExtent> extents;
  ArrayRef<Size> outer; ///< the dimensions before those of the extents

  SmallVector<Size> with(llvm::function_ref<int64_t(const PooledExtent &)> number) const {
    SmallVector<Size> shape(outer);
    for (const PooledExtent &each : extents)
      shape.push_back(number(each));
    return shape;
  }
  /// The numbers of the elements of the operand, as indices have them.
  Sym positions(Sym index) const {
    const SmallVector<Size> sizes = with([](const PooledExtent &each) { return each.size; });
    ArrayRef<Size> inner = ArrayRef(sizes).drop_front(outer.size());
    const Sym number = v.make<IotaOp>(withShape(index.type(), {productOf(inner)}), 0);
    return v.make<BroadcastInDimOp>(
        v.reshape(number, inner).value,
        llvm::to_vector(llvm::seq(static_cast<int64_t>(outer.size()), static_cast<int64_t>(sizes.size()))),
        sizes);
  }

  /// What the elements `at` of the windows add to elements of the operand: the cotangent, where the index is
  /// theirs.
  Sym summand(Sym index, Sym g, Sym positions, ArrayRef<int64_t> at) const {
    SmallVector<Size> low(outer.size(), 0), high(low);
    SmallVector<int64_t> between(outer.size(), 0);
    for (const auto &[i, each] : llvm::enumerate(extents)) {
      low.push_back(at[i] * each.dilation - each.padding);
      high.push_back(each.size - low.back() - ((each.places - 1) * each.stride + 1));
      between.push_back(each.stride - 1);
    }
    // Between places, indices and cotangents are 0.
    const Sym isChosen = v.compare<EqOp>(padded(index, low, high, between), positions);
    const Sym there = padded(g, low, high, between);
    return v.select(isChosen, there, v.like(there, 0.0));
  }

  /// The sum of all of them. An element is the last one of the first window that has it: in this order it
  /// adds windows from the first to the last, to 0 as a scatter does, so that -0 alone gives 0.
  Sym sum(Sym index, Sym g) const {
    const Sym own = positions(index);
    SmallVector<int64_t> at;
    for (const PooledExtent &each : extents)
      at.push_back(each.window - 1);
    Sym total;
    while (true) {
      const Sym next = summand(index, g, own, at);
      total = (total ? total : v.like(next, 0.0)) + next;
      size_t i = extents.size();
      while (i-- > 0 && at[i]-- == 0)
        at[i] = extents[i].window - 1;
      if (i == SIZE_MAX)
        return total;
    }
  }
};

} // namespace

LogicalResult verifyPooled(GatherOp op) {
  const Attribute stated = op->getAttr(pooled);
  if (!stated)
    return success();
  constexpr int64_t mostExtents = 3;
  auto numbers = dyn_cast<DenseI64ArrayAttr>(stated);
  if (!numbers || numbers.empty() || numbers.size() % numbersOfExtent != 0 ||
      numbers.size() > mostExtents * numbersOfExtent)
    return op.emitOpError() << pooled << " has " << numbersOfExtent
                            << " numbers of type i64 for each of one to " << mostExtents << " extents, found "
                            << stated;
  if (op.getKind() != GatherKind::along)
    return op.emitOpError() << pooled << " is of a gather along a dimension, found kind = "
                            << stringifyGatherKind(op.getKind());
  return success();
}

LogicalResult verifyInWindows(GatherOp op, ArrayRef<int64_t> indices) {
  const SmallVector<PooledExtent> extents = pooledExtents(op);
  if (extents.empty())
    return success();
  const int64_t places = sizesOf(op.getIndex()).back().asNumber();
  for (const auto &[i, index] : llvm::enumerate(indices))
    if (const int64_t place = static_cast<int64_t>(i) % places; !liesInWindow(extents, index, place))
      return op.emitOpError() << "index " << index << " of place " << place
                              << " lies outside of its window, which " << pooled << " states";
  return success();
}

Sym pooledCotangent(GatherOp op, VjpBuilder &vjp) {
  // On a CPU, a scatter that adds a row at a time is faster.
  const SmallVector<PooledExtent> extents = pooledExtents(op);
  if (extents.empty() || !areSmall(extents) || deviceOf(op.getType()).isCpu())
    return {};
  const PooledWindows windows{vjp, extents, sizesOf(op.getA()).drop_back()};
  const SmallVector<Size> places = windows.with([](const PooledExtent &each) { return each.places; });
  const Sym sum = windows.sum(vjp.reshape(vjp.operand(1), places), vjp.reshape(vjp.cotangent(0), places));
  return vjp.reshape(sum, sizesOf(op.getA()));
}

} // namespace weft::ir
