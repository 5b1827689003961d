//===- Slot.cpp - The object that a Tensor refers to ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Slot.h"

#include "frontend/graph/History.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Recording.h"
#include "frontend/graph/View.h"

#include <algorithm>
#include <unordered_set>

namespace weft::frontend {

static std::unordered_set<Slot *> &pending() {
  static auto *set = new std::unordered_set<Slot *>;
  return *set;
}

/// Slots with an earlier value to go back to, and gradients that an undo would remove.
static std::unordered_set<Slot *> &revocable() {
  static auto *set = new std::unordered_set<Slot *>;
  return *set;
}

void Slot::setValue(Ref value) {
  GraphLock lock(graphMutex());
  // A view's value is a cache that can be computed again from the base, so a view never counts as pending.
  if (view_) {
    value_ = std::move(value);
  } else {
    if (!views_.empty() && value && value.spec() != spec_)
      for (Slot *view : std::vector<Slot *>(views_))
        view->cut();
    forgetViews();
    if (value)
      ++value.node->results[value.result].liveSlots;
    if (value_)
      --value_.node->results[value_.result].liveSlots;
    value_ = std::move(value);
    if (value_ && isPending(value_))
      pending().insert(this);
    else
      pending().erase(this);
    if (value_ && spec_ != value_.spec())
      spec_ = value_.spec();
  }
  if (requiresGrad && value_)
    collectGradient();
}

void Slot::collectGradient() {
  if (!accumulator_) {
    accumulator_ = std::make_shared<GradAccumulator>();
    accumulator_->slot = weak_from_this();
  }
  // Another thread may be reading the list of a node that has the accumulator already.
  if (value_.node->accumulator(value_.result) == accumulator_.get())
    return;
  value_.node->accumulators.resize(value_.node->results.size());
  value_.node->accumulators[value_.result] = accumulator_;
}

void Slot::exchange(SlotState &other) {
  GraphLock lock(graphMutex());
  std::vector<std::pair<std::weak_ptr<Slot>, Ref>> views;
  for (Slot *view : views_)
    if (view->value_)
      views.emplace_back(view->weak_from_this(), std::exchange(view->value_, {}));
  --value_.node->results[value_.result].liveSlots;
  std::swap(value_, other.value);
  ++value_.node->results[value_.result].liveSlots;
  std::swap(before_, other.before);
  std::swap(grad, other.grad);
  if (spec_ != value_.spec())
    spec_ = value_.spec();
  isPending(value_) ? (void)pending().insert(this) : (void)pending().erase(this);
  const bool wasRevocable = revocable().erase(this) > 0;
  if (std::exchange(other.isRevocable, wasRevocable))
    revocable().insert(this);
  if (requiresGrad)
    collectGradient();
  for (const auto &[weak, value] : other.views) {
    // A view may be gone by now, have been cut off, or have become a leaf or none.
    const auto view = weak.lock();
    if (!view || !view->view_ || view->view_->base.get() != this)
      continue;
    const GradAccumulator *collector = value.node->accumulator(value.result);
    if ((collector && collector == view->accumulator_.get()) == view->requiresGrad)
      view->value_ = value;
  }
  other.views = std::move(views);
}

void Slot::settle(Ref leaf) {
  if (leaf) {
    std::vector<std::pair<Slot *, Ref>> kept;
    for (Slot *view : views_)
      if (view->value_ && view->value_.requiresGrad())
        kept.emplace_back(view, view->value_);
    setValue(std::move(leaf));
    for (auto &[view, value] : kept)
      view->value_ = std::move(value);
  }
  forgetBefore();
}

/// The value of a view, computed from the current value of its source.
static Ref read(const View &view, Loc loc) {
  // A source that was cut off its base has storage of its own, which writes to the base no longer reach.
  bool hasLeft = view.source != view.base && !view.source->view();
  // If the source became a leaf only after this view was made, no gradient flows from the view to it.
  bool stops = view.stopsGrad() || hasLeft || (view.source->requiresGrad && !view.madeOfLeaf);
  Ref value = hasLeft ? view.base->value() : view.source->value();
  // How the view was made decides whether gradients are recorded, not the mode of the thread that reads it.
  GradMode mode(!stops);
  for (const ViewStep &step : hasLeft ? view.steps : view.sourceSteps)
    value = step.apply(std::move(value), loc);
  return stops ? withoutHistory(std::move(value), loc) : value;
}

const Ref &Slot::value() {
  if (!value_ && view_) {
    Ref value = read(*view_, loc);
    // This view is a leaf: its gradient is collected at a node of its own.
    if (requiresGrad) {
      GradMode off(false);
      value = sameValue(value, loc);
    }
    setValue(std::move(value));
  }
  return value_;
}

/// Enters this slot in the list of its base.
void Slot::link(std::shared_ptr<const View> view) {
  view_ = std::move(view);
  viewIndex_ = view_->base->views_.size();
  view_->base->views_.push_back(this);
}

/// Removes a view from the list of its base.
void Slot::unlink() {
  std::vector<Slot *> &views = view_->base->views_;
  views[viewIndex_] = views.back();
  views[viewIndex_]->viewIndex_ = viewIndex_;
  views.pop_back();
}

void Slot::makeView(std::shared_ptr<const View> view, Ref value) {
  GraphLock lock(graphMutex());
  link(std::move(view));
  spec_ = view_->spec;
  setValue(std::move(value));
}

std::shared_ptr<Slot> Slot::storage() { return view_ ? view_->base : shared_from_this(); }

void Slot::forgetViews() {
  for (Slot *view : views_)
    view->value_ = {};
}

void Slot::cut() {
  if (!view_)
    return;
  // Views of this view reach the base through it. Their values are computed now, so that gradients still flow
  // through them after the cut.
  for (Slot *view : view_->base->views_)
    if (view->view_->source.get() == this)
      view->value();
  const Ref current = value();
  if (TraceScope *scope = TraceScope::innermost(); scope && trace != scope)
    scope->noteCut(*this);
  cutAgain(view_, current);
}

bool Slot::cutAgain(const std::shared_ptr<const View> &view, Ref value) {
  if (view_ != view)
    return false;
  unlink();
  view_ = nullptr;
  value_ = {};
  setValue(std::move(value));
  return true;
}

Ref Slot::rejoin(std::shared_ptr<const View> view) {
  Ref own = value_;
  setValue({});
  link(std::move(view));
  return own;
}

Slot::~Slot() {
  GraphLock lock(graphMutex());
  pending().erase(this);
  revocable().erase(this);
  if (view_)
    unlink();
  else if (value_)
    --value_.node->results[value_.result].liveSlots;
  value_ = {};
  if (accumulator_)
    accumulator_->grad = grad;
  grad.reset();
}

//===----------------------------------------------------------------------===//
// Earlier values
//===----------------------------------------------------------------------===//

/// Whether `later` is computed from `earlier`; also true if the search would take long.
static bool isComputedFrom(const Ref &later, const Ref &earlier) {
  constexpr size_t longest = 256;
  std::unordered_set<const Node *> seen;
  std::vector<const Node *> stack{later.node.get()};
  while (!stack.empty() && seen.size() < longest) {
    const Node *node = stack.back();
    stack.pop_back();
    if (node == earlier.node.get())
      return true;
    if (node->serial > earlier.node->serial && seen.insert(node).second)
      for (const Ref &operand : node->operands)
        stack.push_back(operand.node.get());
  }
  return !stack.empty();
}

bool Slot::shouldComputeBefore(const Ref &value) const {
  return !view_ && value_ && value != value_ && mayBeLost(value) && isPending(value_) &&
         value_.node->fallible && !isComputedFrom(value, value_);
}

void Slot::write(Ref value) {
  GraphLock lock(graphMutex());
  if (view_ || !value_ || value == value_) {
    setValue(std::move(value));
    return;
  }
  if (!mayBeLost(value)) {
    before_.clear();
  } else {
    // While the program runs ahead of its queue, every write adds an earlier value. An undo stops at the
    // latest one that cannot fail, so older ones are dropped.
    constexpr size_t some = 8;
    if (!mayBeLost(value_))
      before_.clear();
    else if (before_.size() >= some && before_.size() % some == 0)
      if (auto certain = std::find_if_not(before_.rbegin(), before_.rend(), mayBeLost);
          certain != before_.rend())
        before_.erase(before_.begin(), std::prev(certain.base()));
    if (!value.buffer() || value.buffer() != value_.buffer()) // otherwise the call wrote in place
      before_.push_back(value_);
  }
  setValue(std::move(value));
  forgetBefore();
}

bool Slot::undoWrites(const std::function<bool(const Ref &)> &isLost) {
  while (!before_.empty()) {
    Ref last = std::move(before_.back());
    before_.pop_back();
    if (isLost(last))
      continue;
    // No slot held the value when it was computed, so it may lie in the storage of another value. It needs
    // storage of its own.
    if (last.node->kind == NodeKind::op && last.node->computed(last.result)) {
      GradMode mode(!requiresGrad);
      last = sameValue(last, loc);
    }
    setValue(std::move(last));
    return true;
  }
  return false;
}

void Slot::forgetBefore() {
  if (isPending(value_))
    return;
  const bool uncertain = mayBeLost(value_);
  if (!uncertain)
    before_.clear();
  if (uncertain && (!before_.empty() || !gradOf.expired()))
    revocable().insert(this);
  else
    revocable().erase(this);
}

//===----------------------------------------------------------------------===//
// Pending slots
//===----------------------------------------------------------------------===//

/// The slots of a set that satisfy `wanted`, in the order in which their values were recorded. Argument
/// numbers and more follow from this order, so it must not depend on the addresses of slots.
template <typename Predicate>
static std::vector<std::shared_ptr<Slot>> slotsInOrder(const std::unordered_set<Slot *> &set,
                                                       Predicate wanted) {
  std::vector<std::shared_ptr<Slot>> slots;
  for (Slot *slot : set)
    if (wanted(*slot))
      if (auto shared = slot->weak_from_this().lock())
        slots.push_back(std::move(shared));
  std::sort(slots.begin(), slots.end(), [](const auto &a, const auto &b) {
    return std::pair(a->value().node->serial, a->value().result) <
           std::pair(b->value().node->serial, b->value().result);
  });
  return slots;
}

std::vector<std::shared_ptr<Slot>> pendingSlots() {
  return slotsInOrder(pending(), [](Slot &) { return true; });
}

std::vector<std::shared_ptr<Slot>> uncertainSlots() {
  return slotsInOrder(revocable(), [](Slot &slot) { return !isPending(slot.value()); });
}

void forgetCertain() {
  GraphLock lock(graphMutex());
  for (const auto &slot : uncertainSlots())
    slot->forgetBefore();
}

void settleSlots() {
  auto computed = [](Slot &slot) { return slot.value().node->computed(slot.value().result); };
  Ref value, settled; // slots of one value are neighbours in the order, and share one leaf
  forgetCertain();
  for (const auto &slot : slotsInOrder(pending(), computed)) {
    if (slot->value().node->requiresGrad) {
      slot->settle({});
      pending().erase(slot.get());
      continue;
    }
    // A gradient leaf keeps its node, so that values computed from it before and after this point have their
    // gradients collected at the same node.
    if (const Ref &own = slot->value(); own.node->accumulator(own.result) && own.node->results.size() == 1) {
      own.node->becomeLeaf();
      slot->settle({});
      pending().erase(slot.get());
      continue;
    }
    if (slot->value() != value) {
      value = slot->value();
      settled = leaf(value.spec(), value.buffer(), value.node->loc);
      settled.node->source = value.node;
    }
    slot->settle(settled);
  }
}

size_t pendingCount() { return pending().size(); }

} // namespace weft::frontend
