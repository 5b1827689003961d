//===- GradBoundary.cpp - Where a gradient goes on by a rule of its own ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/GradBoundary.h"

#include "frontend/graph/GradHooks.h"
#include "frontend/graph/History.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Recording.h"
#include "frontend/graph/Slot.h"
#include "frontend/graph/Trace.h"

#include <algorithm>
#include <numeric>

namespace weft::frontend {

/// The gradient as a factor. If it has a history, that begins anew at `gradient`, so that the first
/// derivative, which leaves the factor out, is not changed by it.
static Ref factorOf(const Ref &gradient, bool create_graph, Loc loc) {
  if (!create_graph || !gradient.requiresGrad())
    return withoutHistory(gradient, loc);
  const GradMode off(false);
  Ref factor = sameValue(gradient, loc);
  auto made = std::make_shared<GradAccumulator>();
  made->inner = std::make_shared<const Ref>(gradient);
  factor.node->accumulators.push_back(std::move(made));
  return factor;
}

/// The sum of all elements.
static Ref total(Ref value, Loc loc) {
  std::vector<int64_t> dims(value.spec().shape.size());
  if (dims.empty())
    return value;
  std::iota(dims.begin(), dims.end(), 0);
  return record1("sum", {value}, {{"dims", dims}}, loc);
}

void WeightedRoot::add(const Ref &value, const Ref &gradient) {
  const Ref factor = factorOf(gradient, createGraph_, loc_);
  const GradMode recording(true);
  const Ref weighted = record1("mul", {value, factor}, {}, loc_);
  weighted.node->beginsAnew = true;
  add(total(weighted, loc_));
  if (factor.requiresGrad())
    start_.weights.push_back(factor);
}

void WeightedRoot::add(Ref value) {
  const GradMode recording(true);
  if (start_.root) // every dtype has a 1
    value = record1("add",
                    {start_.root, transferTo(convertTo(std::move(value), start_.root.spec().dtype, loc_),
                                             start_.root.spec().device, loc_)},
                    {}, loc_);
  start_.root = std::move(value);
}

std::vector<Ref> below(const GradAccumulator &accumulator) {
  if (accumulator.boundary)
    return accumulator.boundary->below();
  return accumulator.inner ? std::vector<Ref>{*accumulator.inner} : std::vector<Ref>{};
}

std::vector<Ref> readBy(const GradAccumulator &accumulator) {
  return accumulator.boundary ? accumulator.boundary->read() : below(accumulator);
}

bool hasLostWayTo(const GradAccumulator &accumulator, const std::vector<Ref> &values) {
  if (!accumulator.boundary)
    return false;
  return std::ranges::any_of(accumulator.boundary->lost(), [&](const auto &ways) {
    return std::ranges::any_of(values, [&](const Ref &value) {
      return value.node->isGradLeaf(value.result)
                 ? ways->leaves.contains(value.node->accumulators[value.result])
                 : ways->computed.contains(value.node);
    });
  });
}

void setBoundary(const Ref &value, std::shared_ptr<GradBoundary> boundary, size_t index) {
  auto made = std::make_shared<GradAccumulator>();
  made->boundary = std::move(boundary);
  made->index = index;
  value.node->accumulators.resize(value.node->results.size());
  value.node->accumulators[value.result] = std::move(made);
}

Ref resultOf(const Ref &value, std::shared_ptr<GradBoundary> boundary, size_t index) {
  const Loc loc = value.node->loc;
  Ref fresh;
  {
    const GradMode off(false);
    fresh = sameValue(value, loc);
  }
  setBoundary(fresh, std::move(boundary), index);
  const GradMode recording(true);
  return sameValue(fresh, loc);
}

void retainGradOf(const Ref &value, const std::shared_ptr<Slot> &slot) {
  auto made = std::make_shared<GradAccumulator>();
  made->slot = slot;
  watchOf(value).retained.push_back(made);
  if (const auto before = std::exchange(slot->retained, std::move(made)))
    before->slot.reset();
}

void retainAfterWrite(Slot &slot) {
  if (!slot.retained)
    return;
  if (slot.trace != TraceMark(TraceScope::innermost())) {
    if (Trace *trace = Trace::current())
      trace->noteReread(slot);
    return;
  }
  Ref value = slot.value();
  const GradAccumulator *hooked = value.node->accumulator(value.result);
  if (hooked && hooked->inner) // the gradient that is kept is what the hooks made of it
    value = *hooked->inner;
  const GradWatch *watch = value.node->watch(value.result);
  const bool isKept = watch && std::ranges::find(watch->retained, slot.retained) != watch->retained.end();
  if (value.requiresGrad() && !isKept)
    retainGradOf(value, slot.shared_from_this());
}

void BoundaryCopies::copy(const Node &node, Node &made) {
  for (const auto &watch : node.watches) // what is asked about one copy is not asked about the others
    made.watches.push_back(watch ? std::make_shared<GradWatch>(*watch) : nullptr);
  for (uint32_t i = 0; i < node.results.size(); ++i) {
    const GradAccumulator *accumulator = node.accumulator(i);
    if (!accumulator || accumulator->isLeaf())
      continue;
    auto copied = std::make_shared<GradAccumulator>(*accumulator);
    if (accumulator->inner)
      copied->inner = std::make_shared<const Ref>(copyOf_(*accumulator->inner));
    if (accumulator->boundary) {
      auto &boundary = made_[accumulator->boundary.get()];
      if (!boundary)
        boundary = accumulator->boundary->copied(copyOf_, specOf_);
      copied->boundary = boundary;
    }
    made.accumulators.resize(node.results.size());
    made.accumulators[i] = std::move(copied);
  }
}

} // namespace weft::frontend
