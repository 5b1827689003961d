//===- Parameter.cpp - Members of modules that are copied and assigned -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module computes with the members of its C++ object, but the tensors that are registered in its state are
// trained and saved. An assignment to a member must therefore change both, or throw before it changes
// anything: a network must never compute with a tensor that is not trained.
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Notes.h"
#include "frontend/graph/Trace.h"
#include "frontend/nn/ModuleState.h"
#include "frontend/ops/Ops.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace weft::nn {

using namespace frontend;
using detail::ModuleState;

//===----------------------------------------------------------------------===//
// Objects that are copied as a whole
//===----------------------------------------------------------------------===//

static ptrdiff_t distance(const void *to, const void *from) {
  return static_cast<ptrdiff_t>(reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from));
}

void detail::Transfers::begin(const Module *to, const Module *from, size_t members, bool copiesElements,
                              std::weak_ptr<const ModuleState> replaced) {
  std::lock_guard lock(mutex_);
  latest_[next_++ % latest_.size()] = {distance(to, from),  to, members, copiesElements,
                                       std::move(replaced), {}, {}};
}

bool detail::Transfers::includes(const Parameter *to, const Parameter *from, size_t entry) {
  std::lock_guard lock(mutex_);
  for (Transfer &transfer : latest_)
    if (transfer.members > 0 && transfer.distance == distance(to, from) &&
        std::less<>()(transfer.last, static_cast<const void *>(to))) {
      transfer.last = to;
      --transfer.members;
      transfer.entries.insert(entry);
      return true;
    }
  return false;
}

bool detail::Transfers::includes(const std::weak_ptr<ModuleState> *replaced, size_t entry) {
  // Compared by owner, because the replaced state may be gone. A new object has no former state.
  const auto isSame = [](const auto &a, const auto &b) { return !a.owner_before(b) && !b.owner_before(a); };
  if (replaced && isSame(*replaced, std::weak_ptr<ModuleState>()))
    return false;
  std::lock_guard lock(mutex_);
  for (Transfer &transfer : latest_)
    if (transfer.last && transfer.copiesElements && (!replaced || isSame(*replaced, transfer.replaced)) &&
        transfer.entries.insert(entry).second)
      return true;
  return false;
}

bool detail::Transfers::includes(const Module *to, const Module *from, const ModuleState *part) {
  std::lock_guard lock(mutex_);
  for (Transfer &transfer : latest_)
    if (transfer.last && transfer.distance == distance(to, from) &&
        std::less<>()(transfer.last, static_cast<const void *>(to))) {
      transfer.last = to;
      transfer.followed.push_back(part);
      return true;
    }
  return false;
}

bool detail::Transfers::includes(const ModuleState *replaced, const ModuleState *part) {
  std::lock_guard lock(mutex_);
  for (Transfer &transfer : latest_)
    if (transfer.last && transfer.replaced.lock().get() == replaced &&
        std::find(transfer.followed.begin(), transfer.followed.end(), part) == transfer.followed.end()) {
      transfer.followed.push_back(part);
      return true;
    }
  return false;
}

static void beginTransfer(ModuleState &state, const Module *to, const Module *from, bool copiesElements,
                          std::weak_ptr<const ModuleState> replaced = {}) {
  state.transfers.begin(to, from, state.tensors.size() + state.absent, copiesElements, std::move(replaced));
}

/// The first name under which `part` is registered in `whole`; null if it is not.
static const std::string *nameOf(const ModuleState &part, const ModuleState &whole) {
  for (const auto &[name, child] : whole.children)
    if (child.get() == &part)
      return &name;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

Module::Module(const Module &other, bool isHandle)
    : state_(detail::cloned(other.state_)), isHandle_(isHandle) {
  // A clone has a new state, in which its parameters find their own tensors.
  beginTransfer(*state_, this, &other, /*copiesElements=*/!isHandle && state_ == other.state_);
}

/// Whether `to`, whose present state is `old`, is part of an object that is being assigned as a whole.
static bool followsItsParent(const ModuleState &state, const ModuleState &old, const Module *to,
                             const Module *from) {
  for (const auto &parent : state.parents) {
    const auto whole = parent.lock();
    if (whole && whole->transfers.includes(to, from, &state))
      return true;
    for (const auto &before : old.parents)
      if (const auto replaced = before.lock(); whole && replaced && replaced != whole) {
        const std::string *name = nameOf(state, *whole), *oldName = nameOf(old, *replaced);
        if (name && oldName && *name == *oldName && whole->transfers.includes(replaced.get(), &state))
          return true;
      }
  }
  return false;
}

Module &Module::assign(const Module &other, bool copiesElements) {
  if (this == &other)
    return *this;
  if (state_ != other.state_ && !detail::isListed(state_) &&
      !followsItsParent(*other.state_, *state_, this, &other)) {
    const bool registered = std::any_of(state_->parents.begin(), state_->parents.end(),
                                        [](const auto &parent) { return !parent.expired(); });
    if (registered)
      throw Error("the part '" + state_->path + "' of a module, a " + state_->type +
                  ", is assigned another module, and the module that it is registered in would keep the one "
                  "that is there, train it and save it: assign its parameters, as in 'weight = "
                  "nn::Parameter(..)', load their values with load_state_dict(), or make the part before "
                  "register_module; a variable that is to be any part is a pointer");
    detail::visit(*state_, "", [](const std::string &, const ModuleState::Entry &entry) {
      if (const auto &slot = Access::slot(entry.tensor); !slot->optimizer.expired())
        noteOnce("the module that has the parameter " + nameOf(*slot) +
                 " is assigned another, and an optimiser that was made before goes on with the old "
                 "parameters: make the optimiser anew");
    });
  }
  const auto replaced = std::exchange(state_, other.state_);
  beginTransfer(*state_, this, &other, copiesElements, replaced);
  return *this;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static std::string nameOf(const Tensor &tensor) {
  const auto &slot = Access::slot(tensor);
  return slot ? frontend::nameOf(*slot) : "an undefined tensor";
}

Parameter::Parameter(const Parameter &other)
    : Tensor(detail::cloned(other)), module_(other.module_), entry_(other.entry_) {
  const auto state = module_.lock();
  if (auto twin = detail::CloneScope::twinOf(state.get())) {
    module_ = twin;
    own_ = other.own_;
  } else if (state) {
    own_ = state->transfers.includes(this, &other, entry_) ||
           (entry_ != absent && state->transfers.includes(nullptr, entry_));
  }
}

void Parameter::tie(const Parameter &other) {
  const auto state = module_.lock();
  const std::string name = nameOf(*this);
  if (Trace::current())
    throw Error("the parameter " + name +
                " is assigned another inside of a compiled function: parameters are tied before a function "
                "that uses them is compiled");
  if (!other.defined())
    throw Error("the parameter " + name +
                " is assigned an undefined tensor, and the module would keep one that nobody uses: make the "
                "layer without it, as in nn::Linear(in, out, /*bias=*/false)");
  if (Access::slot(other)->isParametrized)
    throw Error(
        "the parameter " + name + " cannot be made " + nameOf(other) +
            ", which is parametrized, and computed in each call of its module (WEFT-G007): leave the two "
            "untied, and give the function of this layer computed(..) of that module",
        "WEFT-G007");
  if (!isSole())
    throw Error("the parameter " + name + " cannot be made " + nameOf(other) +
                ": an optimiser, a compiled function, a list of parameters(), a copy of the module, a "
                "parameter that it is tied to or a variable, as std::swap has one, holds its tensor as well, "
                "and would go on with that; assign parameters before any of these are made, or exchange the "
                "values with copy_() under a NoGradGuard");
  const auto source = other.module_.lock();
  if (source && sizes() != other.sizes())
    throw Error("the parameter " + name + " has shape " + shapeText(sizes()) + " and cannot be tied to " +
                nameOf(other) + ", which has shape " + shapeText(other.sizes()) +
                ": two that are tied are one tensor");
  ModuleState::Entry &entry = state->tensors[entry_];
  entry.tensor = other;
  const auto &slot = Access::slot(entry.tensor);
  if (!source && entry.parameter)
    entry.tensor.requires_grad_(true, slot->loc);
  // A parameter of a network keeps its name there. A layer without a parent and children counts as no
  // network.
  if (!source || (source != state && source->path.empty() && source->children.empty()))
    slot->name = detail::join(state->path, entry.name);
  static_cast<Tensor &>(*this) = other;
}

bool Parameter::isSole() const {
  constexpr long hereAndInTheModule = 2;
  const auto state = module_.lock();
  return state && entry_ != absent && defined() &&
         Access::slot(state->tensors[entry_].tensor) == Access::slot(*this) &&
         Access::slot(*this).use_count() == hereAndInTheModule;
}

bool Parameter::isMember() const { return !module_.expired() && (own_ || isSole()); }

void Parameter::refuseWhereAbsent() const {
  if (const auto state = module_.lock(); state && own_ && entry_ == absent)
    throw Error("a parameter that " + (state->path.empty() ? "a layer" : "'" + state->path + "'") + " (" +
                state->type +
                ") was made without is assigned a tensor, which nobody would train or save: make the layer "
                "with it, as in nn::Linear(in, out, /*bias=*/true), and assign it then");
}

Parameter &Parameter::assign(const Parameter &other, bool moved) {
  GraphLock lock(graphMutex());
  if (this == &other)
    return *this;
  const auto source = other.module_.lock();
  const bool whole =
      source && (source->transfers.includes(this, &other, other.entry_) ||
                 (other.entry_ != absent && source->transfers.includes(&module_, other.entry_)));
  if (!whole && !module_.expired()) {
    if (Access::slot(*this) == Access::slot(other) && (defined() || entry_ == absent))
      return *this;
    if (isMember()) {
      refuseWhereAbsent();
      tie(other);
      return *this;
    }
    if (defined() && source)
      noteOnce("a copy of the parameter " + nameOf(*this) + " was assigned " + nameOf(other) +
               ", and the module keeps its own: to tie the two, assign the member of the module itself; a "
               "variable that is to be any tensor is declared Tensor, and not auto");
  }
  static_cast<Tensor &>(*this) = other;
  module_ = other.module_;
  entry_ = other.entry_;
  own_ = whole || (moved && other.own_);
  return *this;
}

void Parameter::assign(const Tensor &tensor) {
  if (Access::slot(*this) == Access::slot(tensor) && isMember())
    return;
  refuseWhereAbsent();
  if (isMember())
    throw Error("the parameter " + nameOf(*this) +
                " is assigned a tensor, and the module would keep the parameter as it is: give it the values "
                "with copy_() under a NoGradGuard, or make the tensor the parameter with nn::Parameter(..)");
  static_cast<Tensor &>(*this) = tensor;
  module_.reset();
  own_ = false;
}

} // namespace weft::nn
