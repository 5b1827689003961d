//===- IndexingSamplers.cpp -----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Samplers.h"
#include "ir/ElementCount.h"

#include <optional>

using namespace mlir;
namespace weft::randomtest {

static bool hasDims(const Entry &e) { return !e.shape().empty(); }

static uint64_t unsignedOf(int64_t value) { return static_cast<uint64_t>(value); }

/// A value of the program and one of its dimensions.
struct Place {
  Value value;
  DType dtype;
  Shape shape;
  size_t dim;
};

/// A random dimension of an existing value that `wanted` accepts; nothing if there is none.
static std::optional<Place> findPlace(ProgramBuilder &p, bool (*wanted)(const Entry &) = hasDims) {
  const Entry *e = p.find(wanted);
  if (!e)
    return std::nullopt;
  Shape shape(e->shape());
  return Place{e->value, e->dtype(), shape, p.random.below(shape.size())};
}

//===----------------------------------------------------------------------===//
// Joins, windows, bits
//===----------------------------------------------------------------------===//

void sampleConcat(ProgramBuilder &p) {
  auto place = findPlace(p);
  if (!place)
    return;
  auto &[a, dtype, shape, dim] = *place;
  SmallVector<Value> parts{a};
  uint64_t most = oneIn(p.random, 12) ? 12 : 3;
  for (uint64_t i = 0, n = 1 + p.random.below(most); i < n; ++i) {
    Shape other(shape);
    if (!oneIn(p.random, 3))
      other[dim] = p.anySize();
    if (ir::elementCount(other) > p.maxElements) // the other dimensions of an empty tensor may be large
      other[dim] = 0;
    parts.insert(parts.begin() + static_cast<int64_t>(p.random.below(parts.size() + 1)),
                 p.obtain(dtype, other));
  }
  p.add<ir::ConcatOp>(true, parts, dim);
}

void sampleReverse(ProgramBuilder &p) {
  const Entry *e = p.find(hasDims);
  if (!e)
    return;
  Shape dims;
  for (size_t i = 0; i < e->shape().size(); ++i)
    if (oneIn(p.random, 2))
      dims.push_back(static_cast<int64_t>(i));
  p.add<ir::ReverseOp>(true, e->value, dims);
}

/// Offsets of a window. Some are out of range, and are clamped.
static SmallVector<Value> windowStarts(ProgramBuilder &p, size_t rank) {
  SmallVector<Value> starts;
  for (size_t i = 0; i < rank; ++i)
    starts.push_back(oneIn(p.random, 3) ? p.obtain(DType::i64, {}) : p.argument(DType::i64, {}, "index", 6));
  return starts;
}

static Shape windowOf(ProgramBuilder &p, ArrayRef<int64_t> shape) {
  Shape window;
  for (int64_t size : shape) {
    auto [from, to] = anyPiece(p, size);
    window.push_back(oneIn(p.random, 2) ? size : to - from);
  }
  return window;
}

void sampleDynamicSlice(ProgramBuilder &p) {
  const Entry *e = p.find(hasDims);
  if (!e)
    return;
  Value a = e->value;
  Shape window = windowOf(p, e->shape());
  SmallVector<Value> starts = windowStarts(p, window.size());
  p.add<ir::DynamicSliceOp>(true, a, starts, ir::toSizes(window));
}

void sampleDynamicUpdateSlice(ProgramBuilder &p) {
  const Entry *e = p.find(hasDims);
  if (!e)
    return;
  Value a = e->value;
  DType dtype = e->dtype();
  Shape window = windowOf(p, e->shape());
  Value u = p.obtain(dtype, window);
  SmallVector<Value> starts = windowStarts(p, window.size());
  p.add<ir::DynamicUpdateSliceOp>(true, a, u, starts);
}

void sampleBitcast(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return entry.dtype() != DType::i1; });
  if (!e)
    return;
  DType to = kAllDTypes[1 + p.random.below(9)];
  Type element = ir::toElementType(p.context, to);
  // The builder fails if it cannot infer the type, so sizes that do not fit are skipped.
  auto before = static_cast<int64_t>(itemsize(e->dtype())), after = static_cast<int64_t>(itemsize(to));
  if (before != after && (e->shape().empty() || e->shape().back() * before % after != 0))
    return;
  p.add<ir::BitcastOp>(true, e->value, element);
}

void sampleUndef(ProgramBuilder &p) {
  auto type = tensorType(p.context, p.anyDType(), p.anyShape());
  // The elements of an undef, and values that depend on them, are unknown.
  if (p.add<ir::UndefOp>(true, type))
    p.entries.back().literal = nullptr;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// A shape of an index: if `along`, of the operand's rank and not larger outside of `dim`, else any.
static Shape indexShape(ProgramBuilder &p, ArrayRef<int64_t> from, size_t dim, bool along) {
  Shape shape;
  if (along) {
    for (size_t i = 0; i < from.size(); ++i)
      shape.push_back(i == dim             ? p.anySize()
                      : oneIn(p.random, 3) ? static_cast<int64_t>(p.random.below(unsignedOf(from[i] + 1)))
                                           : from[i]);
  } else if (!oneIn(p.random, 4)) {
    shape.push_back(p.anySize());
    if (oneIn(p.random, 6))
      shape.push_back(1 + static_cast<int64_t>(p.random.below(3)));
  }
  return shape;
}

/// An index into a dimension of `size` elements, or null. `kind` as in Inputs.h.
static Value indexInto(ProgramBuilder &p, ArrayRef<int64_t> shape, int64_t size, StringRef kind = "index") {
  int64_t count = ir::elementCount(shape);
  if ((size == 0 && count > 0 && kind == "index") || count > p.maxElements)
    return {};
  DType dtype = oneIn(p.random, 2) ? DType::i64 : DType::i32;
  return p.argument(dtype, shape, kind, std::max<int64_t>(size, 1));
}

/// How an index is checked. Some ops assume that it is in range, which its kind of argument ensures, or clip
/// it.
static ir::IndexMode anyMode(ProgramBuilder &p, int64_t size) {
  if (size == 0 || !oneIn(p.random, 4))
    return ir::IndexMode::check;
  return oneIn(p.random, 2) ? ir::IndexMode::clip : ir::IndexMode::assume;
}

/// An index and a mode that is correct for its values. The index is null if there is none.
static std::pair<Value, ir::IndexMode> anyIndex(ProgramBuilder &p, ArrayRef<int64_t> shape, int64_t size) {
  ir::IndexMode mode = anyMode(p, size);
  return {indexInto(p, shape, size, mode == ir::IndexMode::clip ? "outside" : "index"), mode};
}

void sampleGather(ProgramBuilder &p) {
  auto place = findPlace(p);
  if (!place)
    return;
  auto &[a, dtype, from, dim] = *place;
  bool along = oneIn(p.random, 2);
  auto [index, mode] = anyIndex(p, indexShape(p, from, dim, along), from[dim]);
  if (index)
    p.add<ir::GatherOp>(true, a, index, dim, along ? ir::GatherKind::along : ir::GatherKind::points, mode);
}

void sampleScatter(ProgramBuilder &p) {
  auto place = findPlace(p);
  if (!place)
    return;
  auto &[a, dtype, from, dim] = *place;
  Shape shape = indexShape(p, from, dim, /*along=*/true), written;
  for (int64_t size : shape)
    written.push_back(size + static_cast<int64_t>(oneIn(p.random, 6) ? p.random.below(3) : 0));
  auto [index, mode] = anyIndex(p, shape, from[dim]);
  if (!index || ir::elementCount(written) > p.maxElements)
    return;
  auto kind = dtype == DType::i1 ? ir::ScatterKind::set : static_cast<ir::ScatterKind>(p.random.below(5));
  bool smooth = kind == ir::ScatterKind::add || kind == ir::ScatterKind::set;
  Value u = p.obtain(dtype, written);
  p.add<ir::ScatterOp>(smooth, a, index, u, dim, kind, mode);
}

void sampleIndexUpdate(ProgramBuilder &p) {
  auto place = findPlace(p);
  if (!place)
    return;
  auto &[a, dtype, from, dim] = *place;
  Shape shape = indexShape(p, from, dim, /*along=*/false), written(ArrayRef<int64_t>(from).take_front(dim));
  written.append(shape);
  written.append(from.begin() + static_cast<int64_t>(dim) + 1, from.end());
  auto [index, mode] = anyIndex(p, shape, from[dim]);
  if (!index || ir::elementCount(written) > p.maxElements)
    return;
  bool accumulate = dtype != DType::i1 && oneIn(p.random, 2);
  Value u = p.obtain(dtype, written);
  p.add<ir::IndexUpdateOp>(true, a, u, index, dim, accumulate, mode);
}

void sampleOutOfRange(ProgramBuilder &p) {
  auto place = findPlace(p, [](const Entry &entry) { return hasDims(entry) && entry.count() > 0; });
  if (!place)
    return;
  auto &[a, dtype, from, dim] = *place;
  Shape rows{1 + static_cast<int64_t>(p.random.below(40))}, along(from), written(from);
  along[dim] = rows[0];
  written[dim] = rows[0];
  if (ir::elementCount(written) > p.maxElements)
    return;
  uint64_t how = p.random.below(4);
  // The last element is out of range, and others may be.
  Value index = indexInto(p, how < 2 ? rows : along, from[dim], "outside");
  Operation *op = nullptr;
  switch (how) {
  case 0:
    op = p.builder.create<ir::GatherOp>(p.loc, a, index, dim, ir::GatherKind::points);
    break;
  case 1:
    op = p.builder.create<ir::IndexUpdateOp>(p.loc, a, p.obtain(dtype, written), index, dim, false);
    break;
  case 2:
    op = p.builder.create<ir::GatherOp>(p.loc, a, index, dim, ir::GatherKind::along);
    break;
  default:
    op =
        p.builder.create<ir::ScatterOp>(p.loc, a, index, p.obtain(dtype, written), dim, ir::ScatterKind::set);
    break;
  }
  p.failing = op->getResult(0);
}

} // namespace weft::randomtest
