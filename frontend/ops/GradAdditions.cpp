//===- GradAdditions.cpp - What one backward() adds to gradients --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/GradAdditions.h"

#include "frontend/graph/History.h"
#include "frontend/graph/Notes.h"
#include "frontend/graph/Recording.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/Ops.h"

namespace weft::frontend {

/// Adds a gradient to that of the tensor of an accumulator.
static void accumulate(const std::shared_ptr<GradAccumulator> &accumulator, const Ref &value,
                       bool create_graph, Loc loc) {
  const auto owner = accumulator->slot.lock();
  if (owner) {
    if (Trace *trace = Trace::current())
      trace->seeGrad(owner);
    noteGradient(owner);
  }
  if (const auto sum = accumulator->gradient()) {
    const Ref before = useSlot(sum, loc);
    const Ref after = record1("add", {before, value}, {}, loc);
    assign(sum, create_graph ? after : keepHistory(before, after, loc));
  } else if (owner) {
    Tensor made = wrap(value, owner->loc);
    owner->grad = Access::slot(made);
    owner->grad->gradOf = accumulator;
    owner->grad->name = owner->name + ".grad";
  }
}

void GradAdditions::add(const std::shared_ptr<GradAccumulator> &accumulator, const Ref &value,
                        uint64_t serial) {
  if (const auto sum = accumulator->gradient()) {
    const Ref before = useSlot(sum, loc_);
    if (before.spec() != value.spec())
      record1("add", {before, value}, {}, loc_);
    checkViewWrite(sum, createGraph_ && (before.requiresGrad() || value.requiresGrad()), loc_,
                   {before, value});
  }
  list_.push_back({accumulator, value, serial});
}

void GradAdditions::writeRetained(uint64_t reach) {
  std::vector<Addition> later;
  for (Addition &each : list_)
    if (each.serial <= reach) {
      later.push_back(std::move(each));
    } else {
      const auto sum = each.accumulator->gradient();
      // A tensor holds the sum before, so that nothing is added to it in place.
      early_.push_back({each.accumulator->slot.lock(), sum, sum ? wrap(useSlot(sum, loc_), loc_) : Tensor()});
      accumulate(each.accumulator, each.value, createGraph_, loc_);
    }
  list_ = std::move(later);
}

void GradAdditions::write() const {
  for (const Addition &each : list_)
    accumulate(each.accumulator, each.value, createGraph_, loc_);
}

void GradAdditions::takeBack() {
  const GradMode recording(true);
  for (; !early_.empty(); early_.pop_back()) {
    const Written &last = early_.back();
    if (last.owner)
      last.owner->grad = last.gradient;
    if (last.gradient)
      assign(last.gradient, use(last.before, loc_));
  }
}

} // namespace weft::frontend
