//===- ViewSamplers.cpp - Views of views ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites of views match a view of a view. Independent random ops seldom have this form, and still less
// often with offsets and steps in both.
//
//===----------------------------------------------------------------------===//
#include "Samplers.h"

#include <algorithm>

using namespace mlir;
namespace weft::randomtest {

/// Cuts a value into pieces along one dimension and joins them, in their order, or with some pieces
/// exchanged, with a step, or left out.
static void sampleCutAndJoin(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return !entry.shape().empty() && entry.count() > 0; });
  if (!e)
    return;
  Value whole = e->value;
  Shape shape(e->shape()), start(shape.size(), 0), limit(shape), step(shape.size(), 1);
  size_t dim = p.random.below(shape.size());
  // Offsets in the other dimensions, the same for all pieces.
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != dim && oneIn(p.random, 3))
      std::tie(start[i], limit[i]) = anyPiece(p, shape[i]);
  auto below = [&](int64_t count) {
    return static_cast<int64_t>(p.random.below(static_cast<uint64_t>(count)));
  };
  SmallVector<Value> pieces;
  int64_t stride = oneIn(p.random, 4) ? 2 : 1;
  for (int64_t at = oneIn(p.random, 2) ? 0 : below(shape[dim]); at < shape[dim] && pieces.size() < 4;) {
    start[dim] = at;
    at += stride * (1 + below((shape[dim] - at) / stride + 1));
    limit[dim] = std::min(at, shape[dim]);
    step[dim] = oneIn(p.random, 8) ? 3 - stride : stride;
    if (oneIn(p.random, 8))
      ++at; // a gap
    if (p.add<ir::SliceOp>(true, whole, ir::toSizes(start), ir::toSizes(limit), step))
      pieces.push_back(p.entries.back().value);
  }
  if (pieces.size() > 1 && oneIn(p.random, 5))
    std::swap(pieces[0], pieces[p.random.below(pieces.size())]);
  if (!pieces.empty())
    p.add<ir::ConcatOp>(true, pieces, dim);
}

namespace {
struct View {
  unsigned weight;
  void (*sample)(ProgramBuilder &);
};
} // namespace

static constexpr View views[] = {
    {10, sampleSlice},    {4, sampleTranspose},    {3, samplePad},
    {3, sampleConcat},    {3, sampleReverse},      {2, sampleReshape},
    {2, sampleGather},    {3, sampleDynamicSlice}, {2, sampleDynamicUpdateSlice},
    {2, sampleBroadcast}, {3, sampleCutAndJoin},
};

void sampleViewChain(ProgramBuilder &p) {
  unsigned total = 0;
  for (const View &view : views)
    total += view.weight;
  const Entry *e = p.find([](const Entry &entry) { return entry.count() >= 12; });
  Value at = e && !oneIn(p.random, 3) ? e->value : Value();
  if (!at) {
    Shape shape;
    for (uint64_t i = 0, rank = 1 + p.random.below(3); i < rank; ++i)
      shape.push_back(4 + static_cast<int64_t>(p.random.below(rank == 1 ? 40 : 9)));
    at = p.argument(p.anyDType(), shape, "plain");
  }
  for (uint64_t i = 0, length = 2 + p.random.below(4); i < length; ++i) {
    uint64_t drawn = p.random.below(total);
    const View *view = views;
    for (; drawn >= view->weight; ++view)
      drawn -= view->weight;
    Value before = p.entries.back().value;
    p.next = at;
    view->sample(p);
    p.next = {};
    // If the op was removed, the chain stays at the same value.
    if (Value made = p.entries.back().value; made != before && made.getDefiningOp())
      at = made;
  }
}

} // namespace weft::randomtest
