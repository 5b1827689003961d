//===- Windows.cpp - windows, overlap_add ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/ops/Windows.h"

#include "ir/ops/Common.h"

using namespace mlir;
namespace weft::ir {

FailureOr<Size> countWindows(std::optional<Location> loc, StringRef op, size_t i,
                             const WindowPlaces &places) {
  auto refuse = [&](const Twine &why) {
    return emitOptionalError(loc, "'", op, "' op puts windows of ", sizeText(places.size),
                             " elements with stride ", places.stride, " and dilation ", places.dilation,
                             " along extent ", i, ", which has size ", sizeText(places.whole), why);
  };
  if (places.stride < 1 || places.dilation < 1 || !places.size.isCount() || places.size == 0)
    return refuse(": size, stride and dilation are at least 1");
  Size room = places.whole - places.extent();
  if (room.isNumber() && room.asNumber() < 0)
    return refuse(": no window of " + Twine(sizeText(places.extent())) + " elements fits");
  if (room.isNumber())
    return Size(room.asNumber() / places.stride + 1);
  std::optional<Size> steps = divide(room, places.stride);
  if (!steps)
    return refuse("; a stride has to divide what a dynamic size leaves behind the first window");
  return *steps + 1;
}

LogicalResult verifyWindowsFit(Operation *op, size_t i, const WindowPlaces &places) {
  if (rangesOf(op).isAtMost(places.extent(), places.whole))
    return success();
  return op->emitOpError() << "puts a window of " << sizeText(places.extent()) << " elements along extent "
                           << i << ", which has size " << sizeText(places.whole)
                           << "; it cannot be proven that it fits for every value of the symbols";
}

Type sumType(RankedTensorType type) {
  return isa<FloatType>(type.getElementType()) ? statisticsType(type) : type.getElementType();
}

Sym padded(Sym a, ArrayRef<Size> low, ArrayRef<Size> high, ArrayRef<int64_t> interior) {
  auto none = [](Size added) { return added == 0; };
  if (llvm::all_of(low, none) && llvm::all_of(high, none) && llvm::all_of(interior, none))
    return a;
  return a.vjp->make<PadOp>(a.value, low, high, interior);
}

/// Whether there is one number for each of `count` dimensions, of which the tensor has enough.
static LogicalResult checkWindowed(std::optional<Location> loc, StringRef op, size_t count,
                                   ArrayRef<int64_t> stride, ArrayRef<int64_t> dilation, int64_t dims) {
  if (count != 0 && stride.size() == count && dilation.size() == count && static_cast<int64_t>(count) <= dims)
    return success();
  return emitOptionalError(loc, "'", op, "' op needs a size, a stride and a dilation for each of the last ",
                           "dimensions, at least one and at most ", dims, "; found ", count, ", ",
                           stride.size(), " and ", dilation.size());
}

//===----------------------------------------------------------------------===//
// windows
//===----------------------------------------------------------------------===//

LogicalResult WindowsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                          DictionaryAttr attributes, OpaqueProperties properties,
                                          RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  ArrayRef<Size> from = sizesOf(operands[0].getType());
  size_t count = op.getSize().size();
  if (failed(checkWindowed(loc, getOperationName(), count, op.getStride(), op.getDilation(),
                           static_cast<int64_t>(from.size()))))
    return failure();
  SmallVector<Size> shape(from.drop_back(count));
  llvm::append_range(shape, op.getSize());
  for (size_t i = 0; i < count; ++i) {
    auto windows = countWindows(
        loc, getOperationName(), i,
        {from[from.size() - count + i], op.getSize()[i], op.getStride()[i], op.getDilation()[i]});
    if (failed(windows))
      return failure();
    shape.push_back(*windows);
  }
  return inferShaped(loc, getOperationName(), operands[0], shape, types);
}

LogicalResult WindowsOp::verify() {
  ArrayRef<Size> from = sizesOf(getA().getType()).take_back(getSize().size());
  for (auto [i, whole] : llvm::enumerate(from))
    if (failed(verifyWindowsFit(*this, i, {whole, getSize()[i], getStride()[i], getDilation()[i]})))
      return failure();
  return verifyDeclared(*this, getSize());
}

LogicalResult WindowsOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.make<OverlapAddOp>(vjp.cotangent(0).value,
                                      sizesOf(getA().getType()).take_back(getSize().size()), getStride(),
                                      getDilation()));
  return success();
}

//===----------------------------------------------------------------------===//
// overlap_add
//===----------------------------------------------------------------------===//

LogicalResult OverlapAddOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                             DictionaryAttr attributes, OpaqueProperties properties,
                                             RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  ArrayRef<Size> from = sizesOf(operands[0].getType());
  size_t count = op.getShape().size();
  if (failed(checkWindowed(loc, getOperationName(), count, op.getStride(), op.getDilation(),
                           static_cast<int64_t>(from.size() / 2))))
    return failure();
  ArrayRef<Size> sizes = from.drop_back(count).take_back(count), places = from.take_back(count);
  for (size_t i = 0; i < count; ++i) {
    if (!sizes[i].isNumber())
      return emitOptionalError(loc, "'weft.overlap_add' op adds windows of a dynamic size, ",
                               sizeText(sizes[i]), ", along extent ", i, "; expected a number");
    auto windows = countWindows(loc, getOperationName(), i,
                                {op.getShape()[i], sizes[i], op.getStride()[i], op.getDilation()[i]});
    if (failed(windows))
      return failure();
    if (*windows != places[i])
      return emitOptionalError(loc, "'weft.overlap_add' op adds ", sizeText(places[i]),
                               " windows along extent ", i, "; expected the ", sizeText(*windows),
                               " that fit into its size, ", sizeText(op.getShape()[i]));
  }
  SmallVector<Size> shape(from.drop_back(2 * count));
  llvm::append_range(shape, op.getShape());
  return inferShaped(loc, getOperationName(), operands[0], shape, types);
}

LogicalResult OverlapAddOp::verify() {
  ArrayRef<Size> from = sizesOf(getA().getType());
  size_t count = getShape().size();
  for (size_t i = 0; i < count; ++i)
    if (failed(verifyWindowsFit(
            *this, i, {getShape()[i], from[from.size() - 2 * count + i], getStride()[i], getDilation()[i]})))
      return failure();
  return verifyDeclared(*this, getShape());
}

LogicalResult OverlapAddOp::buildVjp(VjpBuilder &vjp) {
  ArrayRef<Size> from = sizesOf(getA().getType());
  size_t count = getShape().size();
  if (vjp.needs(0))
    vjp.set(0, vjp.make<WindowsOp>(vjp.cotangent(0).value, from.drop_back(count).take_back(count),
                                   getStride(), getDilation()));
  return success();
}

namespace {

/// The windows of a `weft.overlap_add`, whose decomposition depends on how they lie.
struct OverlappingWindows {
  VjpBuilder &v;
  ArrayRef<Size> outer, places, shape;
  SmallVector<int64_t> size;
  ArrayRef<int64_t> stride, dilation;

  OverlappingWindows(OverlapAddOp op, VjpBuilder &v)
      : v(v), shape(op.getShape()), stride(op.getStride()), dilation(op.getDilation()) {
    ArrayRef<Size> from = sizesOf(op.getA().getType());
    outer = from.drop_back(2 * count());
    places = from.take_back(count());
    for (Size each : from.drop_back(count()).take_back(count()))
      size.push_back(each.asNumber());
  }

  size_t count() const { return shape.size(); }
  int64_t rank() const { return static_cast<int64_t>(outer.size() + count()); }
  SmallVector<Size> with(ArrayRef<Size> rest) const {
    SmallVector<Size> all(outer);
    llvm::append_range(all, rest);
    return all;
  }
  SmallVector<int64_t> steps(int64_t outside, ArrayRef<int64_t> inside) const {
    SmallVector<int64_t> all(outer.size(), outside);
    llvm::append_range(all, inside);
    return all;
  }

  /// Whether no two windows share an element.
  bool areDisjoint() const {
    for (size_t i = 0; i < count(); ++i)
      if (size[i] != 1 && (dilation[i] != 1 || size[i] > stride[i]))
        return false;
    return true;
  }

  /// Windows that share no element lie beside each other.
  Sym join(Sym a) const {
    SmallVector<int64_t> perm = allDims(static_cast<int64_t>(outer.size()));
    SmallVector<Size> apart = with({}), joined = with({}), begin(rank(), 0), high;
    for (size_t i = 0; i < count(); ++i) {
      perm.push_back(static_cast<int64_t>(outer.size() + count() + i));
      perm.push_back(static_cast<int64_t>(outer.size() + i));
      llvm::append_values(apart, Size(0), Size(stride[i] - size[i]));
      joined.push_back(places[i] * stride[i]);
    }
    Sym y = v.make<TransposeOp>(a.value, perm);
    SmallVector<Size> none(apart.size(), 0);
    std::fill_n(apart.begin(), outer.size(), Size(0));
    y = v.reshape(padded(y, none, apart, SmallVector<int64_t>(apart.size(), 0)), joined);
    // Of the last window's stride, the result has a part, or it goes on behind it.
    SmallVector<Size> limit(joined), behind(outer.size(), 0);
    for (size_t i = 0; i < count(); ++i) {
      Size more = shape[i] - joined[outer.size() + i];
      bool cut = more.isNumber() && more.asNumber() < 0;
      if (cut)
        limit[outer.size() + i] = shape[i];
      behind.push_back(cut ? Size(0) : more);
    }
    if (limit != joined)
      y = v.make<SliceOp>(y.value, begin, limit, SmallVector<int64_t>(rank(), 1));
    return padded(y, begin, behind, SmallVector<int64_t>(rank(), 0));
  }

  /// One summand for each element of a window: its values from all windows, at their places.
  Sym addElements(Sym a) const {
    Sym sum;
    int64_t elements = product(size);
    for (int64_t flat = 0; flat < elements; ++flat) {
      SmallVector<Size> begin(outer.size(), 0), end(outer), low(outer.size(), 0), high(outer.size(), 0);
      SmallVector<int64_t> at(count());
      for (int64_t rest = flat, i = static_cast<int64_t>(count()) - 1; i >= 0; rest /= size[i--])
        at[i] = rest % size[i];
      for (int64_t s : at) {
        begin.push_back(s);
        end.push_back(s + 1);
      }
      for (size_t i = 0; i < count(); ++i) {
        low.push_back(at[i] * dilation[i]);
        high.push_back(shape[i] - low.back() - ((places[i] - 1) * stride[i] + 1));
      }
      begin.append(count(), 0);
      llvm::append_range(end, places);
      Sym part = v.make<SliceOp>(a.value, begin, end, SmallVector<int64_t>(end.size(), 1));
      SmallVector<int64_t> between;
      for (int64_t step : stride)
        between.push_back(step - 1);
      part = padded(v.reshape(part, with(places)), low, high, steps(0, between));
      sum = sum ? sum + part : part;
    }
    return sum;
  }

  /// A sum over a diagonal. With the windows reversed and their places spread out, element i of the result is
  /// the sum, over the elements s of a window, of row s at i + s dilation: the diagonal of the windows of all
  /// rows.
  Sym addDiagonal(Sym a) const {
    int64_t elements = product(size), lead = static_cast<int64_t>(outer.size());
    SmallVector<int64_t> dims, interior(outer.size() + count(), 0);
    SmallVector<Size> low(outer.size() + count(), 0), high(low), windows;
    for (size_t i = 0; i < count(); ++i) {
      dims.push_back(lead + static_cast<int64_t>(i));
      windows.push_back(size[i]);
      low.push_back((size[i] - 1) * dilation[i]);
      high.push_back(shape[i] - ((places[i] - 1) * stride[i] + 1));
      interior.push_back(stride[i] - 1);
    }
    Sym y = padded(v.make<ReverseOp>(a.value, dims), low, high, interior);
    y = v.make<WindowsOp>(y.value, windows, SmallVector<int64_t>(count(), 1), dilation);
    SmallVector<Size> pairs = with({Size(elements * elements)}), begin(outer.size() + 1 + count(), 0);
    llvm::append_range(pairs, shape);
    SmallVector<int64_t> step(pairs.size(), 1);
    step[outer.size()] = elements + 1;
    y = v.make<SliceOp>(v.reshape(y, pairs).value, begin, pairs, step);
    return v.sum(y, {lead});
  }

  static int64_t product(ArrayRef<int64_t> numbers) {
    int64_t all = 1;
    for (int64_t number : numbers)
      all *= number;
    return all;
  }
};

/// The most elements of a window for which a kernel has a summand of its own for each.
constexpr int64_t mostSummands = 49;

} // namespace

SmallVector<Value> OverlapAddOp::decompose(OpBuilder &builder) {
  VjpBuilder v = decompositionBuilder(builder, *this);
  OverlappingWindows windows(*this, v);
  Sym a{getA(), &v};
  if (elementsOf(a.type()) == 0 && !isDynamic(getType()))
    return {v.like({getResult(), &v}, 0).value};
  if (windows.areDisjoint())
    return {windows.join(a).value};
  Type element = getA().getType().getElementType();
  a = v.convert(a, sumType(a.type()));
  Sym sum = OverlappingWindows::product(windows.size) <= mostSummands ? windows.addElements(a)
                                                                      : windows.addDiagonal(a);
  return {v.convert(sum, element).value};
}

} // namespace weft::ir
