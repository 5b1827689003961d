//===- GradHooks.cpp - Hooks of gradients, and gradients that are kept ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/GradHooks.h"

#include "frontend/graph/Recording.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/Ops.h"

#include <algorithm>

namespace weft {

using namespace frontend;

/// The value of a tensor about whose gradient the program asks something. Throws Error if it has none, and in
/// a trace if the tensor is older: a call could not repeat what is asked.
static Ref watched(const Tensor &tensor, const char *function, Loc loc) {
  const Ref value = use(tensor, loc);
  if (!value.requiresGrad())
    fail(std::string(function) + ": cannot be called on a tensor that doesn't require gradient", loc,
         {value});
  if (Trace *trace = Trace::current()) {
    if (Access::slot(tensor)->trace != TraceMark(trace))
      refuseInTrace(std::string(function) + " of a tensor from outside", loc);
    if (trace->isBody())
      trace->noteUnknownRule({std::string(function) + " is called",
                              "call it for what the loop or cond gets or returns",
                              loc,
                              {value},
                              {value}});
    else if (value.node->kind == NodeKind::input)
      trace->noteUnknownRule({std::string(function) + " is called",
                              "call it between the calls, for the tensor itself",
                              loc,
                              {value},
                              {value}});
  }
  return value;
}

/// The accumulator that has the hooks of a tensor: a leaf's own; of a computed tensor, and of a view of all
/// of a leaf, that of a new value.
static GradAccumulator &hookedAccumulator(const std::shared_ptr<Slot> &slot, const Ref &value, Loc loc) {
  if (GradAccumulator *own = value.node->accumulator(value.result);
      own && !own->boundary && own->slot.lock() == slot)
    return *own;
  // A leaf of which this is a view, and the result of a function with a rule of its own, collect gradients
  // themselves. What this tensor retains is its own part, so it is that of a value between.
  Ref inner = value;
  if (value.node->accumulator(value.result)) {
    const GradMode recording(true);
    inner = sameValue(value, loc);
  }
  Ref fresh;
  {
    const GradMode off(false);
    fresh = sameValue(inner, loc);
  }
  auto made = std::make_shared<GradAccumulator>();
  made->slot = slot;
  made->inner = std::make_shared<const Ref>(std::move(inner));
  made->hooks = watchOf(value).hooks = std::make_shared<GradHooks>();
  GradAccumulator &result = *made;
  fresh.node->accumulators.resize(fresh.node->results.size());
  fresh.node->accumulators[fresh.result] = std::move(made);
  slot->setValue(std::move(fresh));
  return result;
}

RemovableHandle Tensor::add_hook(std::function<Tensor(const Tensor &)> hook, Loc loc) {
  GraphLock lock(graphMutex());
  const Ref value = watched(*this, "register_hook()", loc);
  GradAccumulator &accumulator = hookedAccumulator(slot_, value, loc);
  if (!accumulator.hooks)
    accumulator.hooks = std::make_shared<GradHooks>();
  const uint64_t number = nextSerial();
  accumulator.hooks->list.emplace_back(number, std::move(hook));
  accumulator.hooks->noteChange();
  return {accumulator.hooks, number};
}

void RemovableHandle::remove() {
  GraphLock lock(graphMutex());
  const auto hooks = std::exchange(hooks_, {}).lock();
  if (hooks && std::erase_if(hooks->list, [&](const auto &each) { return each.first == number_; }) > 0)
    hooks->noteChange();
}

Tensor &Tensor::retain_grad(Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  if (slot_->requiresGrad || slot_->retained)
    return *this;
  value = watched(*this, "retain_grad()", loc);
  const GradAccumulator *collector = value.node->accumulator(value.result);
  if (collector && collector->inner && collector->slot.lock() == slot_) {
    value = *collector->inner; // the gradient that is kept is what the hooks made of it
  } else if (collector) {      // that of a tensor of which this is a view
    const GradMode recording(true);
    value = sameValue(value, loc);
    slot_->setValue(value);
  }
  retainGradOf(value, slot_);
  return *this;
}

bool Tensor::retains_grad(Loc loc) const {
  GraphLock lock(graphMutex());
  use(*this, loc);
  return slot_->retained && !slot_->requiresGrad;
}

} // namespace weft
