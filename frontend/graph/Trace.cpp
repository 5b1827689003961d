//===- Trace.cpp ---------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Trace.h"

#include "frontend/graph/Devices.h"
#include "frontend/graph/GradHooks.h"
#include "frontend/graph/Message.h"
#include "frontend/graph/View.h"
#include "frontend/graph/WatchedView.h"

#include <algorithm>
#include <utility>

namespace weft::frontend {

Trace::Trace(Kind kind) : kind_(kind) {
  GraphLock lock(graphMutex());
  enter();
}

Trace::~Trace() {
  GraphLock lock(graphMutex());
  if (active_)
    restore();
  drafts_.clear();
}

//===----------------------------------------------------------------------===//
// The slots of the trace
//===----------------------------------------------------------------------===//

/// A node that stands, in the trace, for a value from outside.
static std::shared_ptr<Node> makeInput(const Trace *trace, Spec spec, Loc loc) {
  auto node = std::make_shared<Node>();
  node->kind = NodeKind::input;
  node->name = "input";
  node->serial = nextSerial();
  node->lacksDevice = !isThere(spec.device);
  node->results.resize(1);
  node->results[0].spec = std::move(spec);
  node->trace = trace;
  node->loc = loc;
  return node;
}

void Trace::add(TouchedSlot touched, std::shared_ptr<Slot> guarded, SlotState state) {
  const size_t count = touched_.size();
  if (count == touched_.capacity() || count == hidden_.capacity()) {
    constexpr size_t least = 8;
    touched_.reserve(std::max(least, 2 * count));
    hidden_.reserve(std::max(least, 2 * count));
  }
  index_.insert_or_assign(touched.slot.get(), count);
  touched_.push_back(std::move(touched));
  hidden_.push_back({.state = std::move(state), .guarded = std::move(guarded), .guards = {}});
}

Tensor Trace::addArgument(int number, const std::shared_ptr<Slot> &caller, Loc loc, const Spec *declared) {
  auto make = [&](const std::shared_ptr<Slot> &original, const std::shared_ptr<Slot> &owner) {
    auto node = makeInput(this, declared ? *declared : original->spec(), loc);
    node->lacksDevice = original->value().node->lacksDevice;
    auto slot = std::make_shared<Slot>();
    slot->loc = loc;
    slot->name = original->name;
    slot->trace = this;
    slot->requiresGrad = original->requiresGrad;
    slot->copiedBy = original->storage()->copiedBy;
    node->requiresGrad = !original->requiresGrad && original->value().requiresGrad();
    slot->setValue({node, 0});
    add({slot, {node, 0}, nullptr, number, owner}, original);
    return slot;
  };
  auto slot = make(caller, nullptr);
  if (caller->grad) {
    size_t index = touched_.size() - 1;
    slot->grad = make(caller->grad, slot);
    touched_[index].gradBefore = slot->grad;
  }
  return Access::make(std::move(slot));
}

Tensor Trace::addInput(const Spec &spec, Loc loc) {
  auto node = makeInput(this, spec, loc);
  node->lacksDevice = !isThere(spec.device);
  node->requiresGrad = gradEnabled() && is_floating_point(spec.dtype);
  auto slot = std::make_shared<Slot>();
  slot->loc = loc;
  slot->trace = this;
  slot->setValue({node, 0});
  return Access::make(std::move(slot));
}

Ref Trace::capture(const std::shared_ptr<Slot> &slot) {
  for (const Capture &known : captures_)
    if (known.slot == slot)
      return known.input;
  auto node = makeInput(this, slot->spec(), slot->loc);
  node->lacksDevice = slot->value().node->lacksDevice;
  node->requiresGrad = slot->needsGrad();
  captures_.push_back({slot, {node, 0}});
  return captures_.back().input;
}

TouchedSlot &Trace::touch(const std::shared_ptr<Slot> &slot, const std::optional<Device> &device) {
  auto it = index_.find(slot.get());
  // A view that was touched and then cut off is a slot of its own in the trace, which is touched now.
  if (it != index_.end() && (touched_[it->second].input || slot->view())) {
    TouchedSlot &known = touched_[it->second];
    // The function reads or writes this gradient, so it depends on its presence.
    if (known.gradientOf)
      touched_[index_.at(known.gradientOf.get())].gradSeen = true;
    return known;
  }
  if (const View *view = slot->view()) {
    // The source may be a leaf that is itself a view. Its gradient is state as well.
    for (const auto &seen : {view->base, view->source})
      if (seen->trace != this)
        touch(seen);
    SlotState state;
    state.grad = slot->grad;
    add({slot, {}, slot->grad, -1, nullptr}, slot, std::move(state));
    watch(touched_.size() - 1);
  } else {
    const Ref before = slot->value();
    Spec spec = before.spec();
    spec.device = device.value_or(spec.device);
    auto node = makeInput(this, std::move(spec), slot->loc);
    node->lacksDevice = before.node->lacksDevice;
    // `open` makes the node of a leaf collect its gradient. A value that was computed from a leaf outside
    // has a history that the trace does not see; `backward` reports that.
    node->requiresGrad = !slot->requiresGrad && before.requiresGrad();
    SlotState state;
    slot->open(state, {node, 0});
    state.grad = slot->grad;
    const uint64_t side = state.side;
    try {
      add({slot, {node, 0}, slot->grad, -1, nullptr}, slot, std::move(state));
    } catch (...) {
      state.side = side;
      slot->close(state);
      throw;
    }
    slot->exchange(hidden_.back().state);
  }
  const size_t index = index_.at(slot.get());
  // An existing gradient is a slot of its own, which the trace may read and write.
  if (slot->grad && !index_.contains(slot->grad.get()))
    touch(slot->grad).gradientOf = slot;
  return touched_[index];
}

void Trace::watch(size_t index) {
  const std::shared_ptr<Slot> slot = touched_[index].slot;
  const View &view = *slot->view();
  const auto base = index_.find(view.base.get());
  if (base == index_.end())
    return;
  const TouchedSlot &ofBase = touched_[base->second];
  const SlotState &outside = hidden_[base->second].state;
  const Ref value = slot->otherValue(outside);
  if (value ? !value.requiresGrad() : !slot->retained)
    return;
  // Without a value, it retains the gradient of the one that it is going to have.
  std::optional<ViewPath> path;
  if (value)
    path.emplace(view, value, outside.value);
  if (path && !path->isWatched())
    return;
  touched_[index].isWatched = true;
  if (view.base->value() != ofBase.input)
    return;
  Ref made;
  if (path && path->isWhole()) {
    made = copyPath(*path, view.source->value(), watchedValues_);
  } else {
    // A path that is not whole leads to no leaf, so that no gradient in the trace may go through it.
    made = slot->value(); // if it had none, it retains the gradient of this one: see noteReread()
    if (!made.requiresGrad())
      return;
  }
  slot->setValue(made);
  touched_[index].watched = made;
  touched_[index].reread = {};
  if (path)
    for (const auto &retaining : path->retaining()) // their gradients are state of the trace
      touch(retaining);
}

void Trace::noteReread(Slot &slot) {
  if (!slot.view() || !index_.contains(&slot))
    return;
  const Ref value = slot.value(); // to read it may note it, and touch others
  const auto found = index_.find(&slot);
  TouchedSlot &touched = touched_[found->second];
  // Of the values that the trace has of it, it keeps the gradient of the present one alone.
  for (const Ref &earlier : {touched.watched, touched.reread})
    if (earlier && earlier.node->watch(earlier.result))
      std::erase(watchOf(earlier).retained, slot.retained);
  touched.reread = value;
  if (value.requiresGrad())
    watchOf(value).retained.push_back(slot.retained);
}

TouchedSlot *Trace::known(const std::shared_ptr<Slot> &slot) {
  if (!slot->trace)
    return &touch(slot);
  auto it = index_.find(slot.get());
  return it == index_.end() ? nullptr : &touched_[it->second];
}

void Trace::seeGrad(const std::shared_ptr<Slot> &slot) {
  if (TouchedSlot *touched = known(slot); touched && !touched->gradDropped)
    touched->gradSeen = true;
}

void Trace::dropGrad(const std::shared_ptr<Slot> &slot) {
  if (TouchedSlot *touched = known(slot); touched && !touched->gradSeen)
    touched->gradDropped = true;
}

void Trace::guard(std::shared_ptr<const bool> unchanged, const char *change) {
  if (knownGuards_.insert(unchanged.get()).second)
    guards_.push_back({std::move(unchanged), change});
}

ModeChange &Trace::mode(const std::shared_ptr<bool> &flag) {
  for (ModeChange &mode : modes_)
    if (mode.flag == flag)
      return mode;
  modes_.push_back({flag, *flag, false, std::nullopt, false});
  return modes_.back();
}

void Trace::readMode(const std::shared_ptr<bool> &flag) {
  ModeChange &change = mode(flag);
  change.read |= !change.after;
}

void Trace::writeMode(const std::shared_ptr<bool> &flag, bool value) {
  mode(flag).after = value;
  *flag = value;
}

//===----------------------------------------------------------------------===//
// State that the trace makes
//===----------------------------------------------------------------------===//

TraceDraft *Trace::draftOf(const void *owner) const {
  for (const auto &[known, draft] : drafts_)
    if (known == owner)
      return draft.get();
  return nullptr;
}

bool Trace::keep() {
  GraphLock lock(graphMutex());
  if (std::any_of(drafts_.begin(), drafts_.end(),
                  [](const auto &entry) { return entry.second->isOutdated(); }))
    return false;
  for (auto &[owner, draft] : drafts_)
    draft->prepare();
  for (auto &[owner, draft] : drafts_)
    draft->publish();
  drafts_.clear();
  return true;
}

//===----------------------------------------------------------------------===//
// Both sides of what the trace changes
//===----------------------------------------------------------------------===//

Trace::Guards Trace::guardsOf(const Slot &slot) noexcept {
  return {&slot.spec(), slot.requiresGrad, slot.hasHistory(), slot.grad != nullptr, slot.sharedView()};
}

void Trace::exchange(size_t index) noexcept {
  const TouchedSlot &touched = touched_[index];
  if (touched.argument >= 0) // no other thread has it
    return;
  SlotState &other = hidden_[index].state;
  if (touched.input)
    touched.slot->exchange(other);
  else
    std::swap(touched.slot->grad, other.grad);
}

bool Trace::noteCut(Slot &view) {
  // What the trace does not touch is state that it makes for the rest of the program.
  if (!touched(*view.view()->base))
    return false;
  auto slot = view.weak_from_this().lock();
  if (!slot) // the view is being destroyed
    return false;
  cuts_.push_back({std::move(slot), view.sharedView(), {}, &view.spec(), touched_.size()});
  return true;
}

void Trace::rejoin(CutView &cut) noexcept {
  if (std::exchange(cut.isCut, false))
    cut.value = cut.slot->rejoin(cut.view, cut.spec);
}

void Trace::cutAgain(CutView &cut) noexcept {
  // If another thread cut the view off, it stays what it is there: the trace is outdated.
  cut.isCut = cut.slot->cutAgain(cut.view, std::exchange(cut.value, {}), cut.spec);
}

void Trace::withdraw() noexcept {
  size_t cut = cuts_.size();
  for (size_t i = touched_.size(); i-- > 0;) {
    while (cut > 0 && cuts_[cut - 1].touched > i)
      rejoin(cuts_[--cut]);
    exchange(i);
  }
  for (auto draft = drafts_.rbegin(); draft != drafts_.rend(); ++draft)
    draft->second->exchange();
  for (Hidden &hidden : hidden_)
    hidden.guards = guardsOf(*hidden.guarded);
  for (const ModeChange &mode : modes_)
    *mode.flag = mode.before;
}

void Trace::install() noexcept {
  for (Hidden &hidden : hidden_) {
    const Guards was = std::exchange(hidden.guards, guardsOf(*hidden.guarded)), &is = hidden.guards;
    hidden.isChanged |= was.spec != is.spec || was.view != is.view || was.requiresGrad != is.requiresGrad ||
                        was.needsGrad != is.needsGrad;
    hidden.isGradChanged |= was.hasGrad != is.hasGrad;
  }
  for (auto &[owner, draft] : drafts_) {
    isDraftOutdated_ |= draft->isOutdated();
    draft->exchange();
  }
  auto cut = cuts_.begin();
  for (size_t i = 0; i < touched_.size(); ++i) {
    for (; cut != cuts_.end() && cut->touched <= i; ++cut)
      cutAgain(*cut);
    exchange(i);
  }
  for (; cut != cuts_.end(); ++cut)
    cutAgain(*cut);
  for (ModeChange &mode : modes_) {
    mode.isChanged |= mode.before != *mode.flag;
    mode.before = *mode.flag;
    if (mode.after)
      *mode.flag = *mode.after;
  }
}

bool Trace::isCaptureOutdated() const {
  return std::any_of(captures_.begin(), captures_.end(), [](const Capture &known) {
    return known.slot->spec() != known.input.spec() ||
           known.slot->needsGrad() != known.input.node->requiresGrad;
  });
}

bool Trace::isOutdated() const {
  if (isDraftOutdated_)
    return true;
  for (size_t i = 0; i < hidden_.size(); ++i)
    if (hidden_[i].isChanged || (hidden_[i].isGradChanged && touched_[i].gradSeen))
      return true;
  if (std::any_of(guards_.begin(), guards_.end(), [](const Guard &guard) { return !*guard.unchanged; }))
    return true;
  return std::any_of(modes_.begin(), modes_.end(),
                     [](const ModeChange &mode) { return mode.isChanged && mode.read; });
}

void Trace::restore() noexcept {
  active_ = false;
  withdraw();
  for (size_t i = 0; i < touched_.size(); ++i)
    if (hidden_[i].state.side != 0)
      touched_[i].slot->close(hidden_[i].state);
  hidden_.clear();
  cuts_.clear();
  leave();
}

const Slot *Trace::changedFlag() const {
  for (size_t i = 0; i < touched_.size(); ++i)
    if (hidden_[i].state.side != 0 && touched_[i].argument < 0 &&
        touched_[i].slot->requiresGrad != hidden_[i].state.requiresGrad)
      return touched_[i].slot.get();
  return nullptr;
}

std::vector<Trace::Change> Trace::finish() {
  GraphLock lock(graphMutex());
  std::vector<Change> changes;
  for (TouchedSlot &touched : touched_) {
    const auto &gradient = touched.slot->grad;
    touched.isReread = touched.reread && touched.slot->hasValue(touched.reread);
    changes.push_back({touched, touched.slot->view() ? Ref() : touched.slot->value(), gradient,
                       gradient && gradient->trace == this ? gradient->value() : Ref()});
  }
  restore();
  return changes;
}

void refuseInTrace(const std::string &what, Loc loc) {
  if (Trace::current())
    fail(what +
             " inside a compiled function would happen once, while it is compiled: call it between the calls",
         loc, {}, "WEFT-C001");
}

} // namespace weft::frontend
