//===- WindowSamplers.cpp - Random windows, convolutions, transforms ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Samplers.h"
#include "ir/ElementCount.h"

using namespace mlir;
namespace weft::randomtest {

namespace {

/// Windows along some extents, at least one of which fits into each.
struct SomeWindows {
  Shape size, stride, dilation, places;

  /// A window along an extent that is not empty.
  void add(ProgramBuilder &p, int64_t extent) {
    auto below = [&](int64_t bound) {
      return static_cast<int64_t>(p.random.below(static_cast<uint64_t>(bound)));
    };
    int64_t most = oneIn(p.random, 8) ? extent : std::min<int64_t>(extent, 3);
    size.push_back(1 + below(most));
    dilation.push_back(1 + below(3));
    if ((size.back() - 1) * dilation.back() >= extent)
      dilation.back() = 1;
    stride.push_back(oneIn(p.random, 2) ? 1 : 1 + below(4));
    places.push_back((extent - (size.back() - 1) * dilation.back() - 1) / stride.back() + 1);
  }
};

/// One to three of the last dimensions, none of which is empty; 0 if there are none.
size_t someExtents(ProgramBuilder &p, ArrayRef<int64_t> shape) {
  size_t extents = 0, most = 1 + p.random.below(3);
  while (extents < most && extents < shape.size() && shape[shape.size() - 1 - extents] > 0)
    ++extents;
  return extents;
}

} // namespace

void sampleWindows(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return !entry.shape().empty(); });
  size_t extents = e ? someExtents(p, e->shape()) : 0;
  if (extents == 0)
    return;
  SomeWindows windows;
  for (int64_t extent : e->shape().take_back(extents))
    windows.add(p, extent);
  p.add<ir::WindowsOp>(true, e->value, ir::toSizes(windows.size), windows.stride, windows.dilation);
}

void sampleOverlapAdd(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return isNumber(entry) && !entry.shape().empty(); });
  size_t extents = e ? someExtents(p, e->shape()) : 0;
  if (extents == 0)
    return;
  SomeWindows windows;
  Shape target(e->shape().take_back(extents)), shape(e->shape().drop_back(extents));
  for (int64_t extent : target)
    windows.add(p, extent);
  llvm::append_range(shape, windows.size);
  llvm::append_range(shape, windows.places);
  if (ir::elementCount(shape) > p.maxElements)
    return;
  Value a = p.obtain(e->dtype(), shape);
  p.add<ir::OverlapAddOp>(true, a, ir::toSizes(target), windows.stride, windows.dilation);
}

void sampleConvolution(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) {
    return isNumber(entry) && entry.shape().size() >= 3 && entry.shape().size() <= 5;
  });
  Value a = e && !oneIn(p.random, 4) ? e->value : Value();
  if (!a) {
    Shape shape;
    for (uint64_t i = 0, rank = 3 + p.random.below(2); i < rank; ++i)
      shape.push_back(1 + static_cast<int64_t>(p.random.below(6)));
    a = p.obtain(p.anyDType(), shape);
    if (!isNumber(p.entryOf(a)))
      return;
  }
  Shape from(p.entryOf(a).shape());
  SomeWindows windows;
  Shape low, high, base;
  for (int64_t extent : ArrayRef(from).drop_front(2)) {
    base.push_back(oneIn(p.random, 3) ? 2 : 1);
    low.push_back(static_cast<int64_t>(p.random.below(4)) - (oneIn(p.random, 4) ? 2 : 0));
    high.push_back(static_cast<int64_t>(p.random.below(4)) - (oneIn(p.random, 4) ? 2 : 0));
    int64_t whole = (extent == 0 ? 0 : (extent - 1) * base.back() + 1) + low.back() + high.back();
    if (whole < 1)
      return;
    windows.add(p, whole);
  }
  int64_t groups = 1;
  for (int64_t each : {2, 3, 5})
    if (from[1] % each == 0 && oneIn(p.random, 3))
      groups = each;
  if (from[1] > 0 && oneIn(p.random, 6))
    groups = from[1];
  int64_t outputs = groups * (oneIn(p.random, 3) ? 1 : 1 + static_cast<int64_t>(p.random.below(4)));
  Shape shape{outputs, from[1] / groups};
  llvm::append_range(shape, windows.size);
  int64_t work = std::max<int64_t>(from[0], 1) * std::max<int64_t>(ir::elementCount(shape), 1);
  for (int64_t places : windows.places)
    work *= places;
  if (work > 200000 || ir::elementCount(shape) > p.maxElements)
    return;
  Value w = p.obtain(p.entryOf(a).dtype(), shape);
  p.add<ir::ConvolutionOp>(true, a, w, windows.stride, ir::toSizes(low), ir::toSizes(high), base,
                           windows.dilation, groups);
}

void sampleFft(ProgramBuilder &p) {
  using Kind = ir::FourierKind;
  constexpr Kind kinds[] = {Kind::r2c, Kind::c2c, Kind::c2r};
  const Kind kind = kinds[p.random.below(3)];
  const Entry *e = p.find([&](const Entry &entry) {
    ArrayRef<int64_t> shape = entry.shape();
    if ((entry.dtype() != DType::f32 && entry.dtype() != DType::f64) || shape.empty())
      return false;
    return kind == Kind::r2c || (shape.back() == 2 && shape.size() > 1);
  });
  const auto size = static_cast<int64_t>(1 + p.random.below(9));
  Value a = e ? e->value : p.argument(oneIn(p.random, 2) ? DType::f32 : DType::f64, {size, 2, 2}, "plain");
  ArrayRef<ir::Size> shape = ir::sizesOf(a.getType());
  const size_t dim = p.random.below(shape.size() - (kind == Kind::r2c ? 0 : 1));
  if (!shape[dim].isNumber() || shape[dim].asNumber() == 0)
    return;
  const int64_t extent = shape[dim].asNumber();
  const int64_t length = kind == Kind::c2r ? 2 * extent - 1 - (extent > 1 && oneIn(p.random, 2)) : extent;
  p.add<ir::FftOp>(true, a, kind, static_cast<int64_t>(dim), length, APFloat(oneIn(p.random, 2) ? 1.0 : 0.25),
                   oneIn(p.random, 2), kind != Kind::c2c && oneIn(p.random, 3));
}

} // namespace weft::randomtest
