//===- Slot.cpp - The object that a Tensor refers to ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Slot.h"

#include "frontend/graph/GradHooks.h"
#include "frontend/graph/History.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Recording.h"
#include "frontend/graph/View.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace weft::frontend {

//===----------------------------------------------------------------------===//
// Lists of slots
//===----------------------------------------------------------------------===//

void SlotList::add(Slot &slot) noexcept {
  SlotLink &link = slot.*link_;
  if (link.isLinked)
    return;
  link = {last_, nullptr, true};
  (last_ ? (last_->*link_).next : first_) = &slot;
  last_ = &slot;
  ++size_;
}

bool SlotList::remove(Slot &slot) noexcept {
  SlotLink &link = slot.*link_;
  if (!link.isLinked)
    return false;
  (link.previous ? (link.previous->*link_).next : first_) = link.next;
  (link.next ? (link.next->*link_).previous : last_) = link.previous;
  link = {};
  --size_;
  return true;
}

Slot *SlotList::next(const Slot &slot) const { return (slot.*link_).next; }

/// The slots of a list, which may change meanwhile.
static std::vector<Slot *> all(const SlotList &list) {
  std::vector<Slot *> slots;
  slots.reserve(list.size());
  for (Slot *slot = list.first(); slot; slot = list.next(*slot))
    slots.push_back(slot);
  return slots;
}

/// They outlive every tensor in a global variable.
struct SlotSets {
  static SlotList &pending() {
    static auto *list = new SlotList(&Slot::pendingLink_);
    return *list;
  }
  /// Slots with an earlier value to go back to, and gradients that an undo would remove.
  static SlotList &revocable() {
    static auto *list = new SlotList(&Slot::revocableLink_);
    return *list;
  }
};
static SlotList &pending() { return SlotSets::pending(); }
static SlotList &revocable() { return SlotSets::revocable(); }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

const Spec *Slot::kept(const Spec &spec) {
  if (!hasSpec_) {
    firstSpec_ = spec;
    hasSpec_ = true;
  }
  if (*spec_ == spec)
    return spec_;
  if (firstSpec_ == spec)
    return &firstSpec_;
  for (const Spec &known : otherSpecs_)
    if (known == spec)
      return &known;
  return &otherSpecs_.emplace_front(spec);
}

void Slot::hold(Ref value) noexcept {
  if (value)
    ++value.node->results[value.result].liveSlots;
  if (value_)
    --value_.node->results[value_.result].liveSlots;
  value_ = std::move(value);
  if (value_ && isPending(value_))
    pending().add(*this);
  else
    pending().remove(*this);
}

void Slot::setValue(Ref value) {
  GraphLock lock(graphMutex());
  // A view's value is a cache that can be computed again from the base, so a view never counts as pending.
  if (view_) {
    value_ = std::move(value);
  } else {
    const Spec *spec = value ? kept(value.spec()) : spec_;
    if (spec != spec_)
      cutViews();
    forgetViews();
    hold(std::move(value));
    spec_ = spec;
  }
  if (requiresGrad && value_)
    collectGradient(value_);
}

void Slot::collectGradient(const Ref &value) {
  if (!accumulator_) {
    accumulator_ = std::make_shared<GradAccumulator>();
    accumulator_->slot = weak_from_this();
  }
  // Another thread may be reading the list of a node that has the accumulator already.
  if (value.node->accumulator(value.result) == accumulator_.get())
    return;
  value.node->accumulators.resize(value.node->results.size());
  value.node->accumulators[value.result] = accumulator_;
}

//===----------------------------------------------------------------------===//
// Sides
//===----------------------------------------------------------------------===//

void Slot::open(SlotState &other, Ref value) {
  GraphLock lock(graphMutex());
  other.spec = kept(value.spec());
  if (requiresGrad)
    collectGradient(value);
  sides_.reserve(sides_.size() + 1);
  for (Slot *view = views_.first(); view; view = views_.next(*view))
    view->shelf_.reserve(view->shelf_.size() + 1);
  // Nothing fails from here on.
  other.value = std::move(value);
  other.requiresGrad = requiresGrad;
  other.side = nextSerial();
  sides_.push_back(other.side);
  for (Slot *view = views_.first(); view; view = views_.next(*view))
    view->shelf_.emplace_back(other.side, Ref());
}

void Slot::exchange(SlotState &other) noexcept {
  --value_.node->results[value_.result].liveSlots;
  std::swap(value_, other.value);
  ++value_.node->results[value_.result].liveSlots;
  std::swap(spec_, other.spec);
  std::swap(before_, other.before);
  std::swap(grad, other.grad);
  std::swap(requiresGrad, other.requiresGrad);
  if (isPending(value_))
    pending().add(*this);
  else
    pending().remove(*this);
  const bool wasRevocable = revocable().remove(*this);
  if (std::exchange(other.isRevocable, wasRevocable))
    revocable().add(*this);
  for (Slot *view = views_.first(); view; view = views_.next(*view)) {
    Ref value, hidden = std::exchange(view->value_, {});
    for (auto &[side, shelved] : view->shelf_)
      if (side == other.side) {
        value = std::exchange(shelved, std::move(hidden));
        break;
      }
    // The view may have become a leaf or none meanwhile.
    const GradAccumulator *collector = value ? value.node->accumulator(value.result) : nullptr;
    if (value && (collector && collector == view->accumulator_.get()) == view->requiresGrad)
      view->value_ = std::move(value);
  }
}

Ref Slot::otherValue(const SlotState &ofBase) const {
  for (const auto &[side, shelved] : shelf_)
    if (side == ofBase.side)
      return shelved;
  return {};
}

void Slot::close(SlotState &other) noexcept {
  std::erase(sides_, other.side);
  for (Slot *view = views_.first(); view; view = views_.next(*view))
    std::erase_if(view->shelf_, [&](const auto &shelved) { return shelved.first == other.side; });
  other.side = 0;
}

//===----------------------------------------------------------------------===//
// Computed values, and views
//===----------------------------------------------------------------------===//

void Slot::settle(Ref leaf) {
  if (leaf) {
    std::vector<std::pair<Slot *, Ref>> kept;
    for (Slot *view = views_.first(); view; view = views_.next(*view))
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
  const Ref whole = value;
  for (const ViewStep &step : hasLeft ? view.steps : view.sourceSteps)
    value = step.apply(std::move(value), loc);
  if (stops)
    return withoutHistory(std::move(value), loc);
  // As in makeView().
  return value == whole && value.requiresGrad() ? sameValue(std::move(value), loc) : value;
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
    retainAfterWrite(*this);
  }
  return value_;
}

/// Enters this slot in the list of its base.
void Slot::link(std::shared_ptr<const View> view) noexcept {
  view_ = std::move(view);
  view_->base->views_.add(*this);
}

/// Removes a view from the list of its base.
void Slot::unlink() noexcept { view_->base->views_.remove(*this); }

void Slot::makeView(std::shared_ptr<const View> view, Ref value) {
  GraphLock lock(graphMutex());
  for (const uint64_t side : view->base->sides_)
    shelf_.emplace_back(side, Ref());
  spec_ = kept(view->spec);
  link(std::move(view));
  setValue(std::move(value));
}

void Slot::reshape(const View &given) {
  GraphLock lock(graphMutex());
  const View view = given; // which may be that of a slot that is moved here
  const std::vector<Slot *> others = all(storage()->views_);
  std::shared_ptr<Slot> base = storage();
  const auto self = shared_from_this();
  if (!view_) {
    base = std::make_shared<Slot>();
    base->loc = loc;
    base->name = name;
    base->trace = trace;
    base->setValue(value_);
    hold({});
    before_.clear();
  }
  const auto moved = [&](View made) {
    made.base = base;
    if (!view_ && made.source == self)
      made.source = base;
    return std::make_shared<const View>(std::move(made));
  };
  if (!view_)
    for (Slot *other : others) {
      other->unlink();
      other->link(moved(*other->view_));
    }
  std::shared_ptr<const View> own = moved(view);
  if (view_)
    unlink();
  spec_ = kept(own->spec);
  link(std::move(own));
  value_ = {};
}

std::shared_ptr<Slot> Slot::storage() { return view_ ? view_->base : shared_from_this(); }

void Slot::forgetViews() {
  for (Slot *view = views_.first(); view; view = views_.next(*view))
    view->value_ = {};
}

void Slot::cutViews() {
  for (Slot *view : all(views_))
    view->cut();
}

void Slot::cut() {
  if (!view_)
    return;
  // Views of this view reach the base through it. Their values are computed now, so that gradients still flow
  // through them after the cut.
  for (Slot *view : all(view_->base->views_))
    if (view->view_->source.get() == this)
      view->value();
  const Ref current = value();
  TraceScope *scope = TraceScope::innermost();
  if (!scope || trace == scope || !scope->noteCut(*this))
    shelf_.clear();
  const Spec *spec = spec_;
  cutAgain(view_, current, spec);
  if (requiresGrad)
    collectGradient(value_);
}

bool Slot::cutAgain(const std::shared_ptr<const View> &view, Ref value, const Spec *&spec) noexcept {
  if (view_ != view)
    return false;
  unlink();
  view_ = nullptr;
  value_ = {};
  hold(std::move(value));
  std::swap(spec_, spec);
  return true;
}

Ref Slot::rejoin(std::shared_ptr<const View> view, const Spec *&spec) noexcept {
  Ref own = value_;
  hold({});
  std::swap(spec_, spec);
  link(std::move(view));
  return own;
}

Slot::~Slot() {
  GraphLock lock(graphMutex());
  pending().remove(*this);
  revocable().remove(*this);
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
    revocable().add(*this);
  else
    revocable().remove(*this);
}

//===----------------------------------------------------------------------===//
// Pending slots
//===----------------------------------------------------------------------===//

/// The slots of a list that satisfy `wanted`, in the order in which their values were recorded. Argument
/// numbers and more follow from this order, so it must not depend on the addresses of slots.
template <typename Predicate>
static std::vector<std::shared_ptr<Slot>> slotsInOrder(const SlotList &list, Predicate wanted) {
  std::vector<std::shared_ptr<Slot>> slots;
  for (Slot *slot = list.first(); slot; slot = list.next(*slot))
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
      pending().remove(*slot);
      continue;
    }
    // A gradient leaf keeps its node, so that values computed from it before and after this point have their
    // gradients collected at the same node.
    if (const Ref &own = slot->value(); own.node->accumulator(own.result) && own.node->results.size() == 1) {
      own.node->becomeLeaf();
      slot->settle({});
      pending().remove(*slot);
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
