//===- Module.cpp - Trees of parameters and buffers ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/module.hpp"

#include "frontend/graph/Trace.h"
#include "frontend/nn/ModuleState.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/State.h"
#include "weft/parametrize.hpp"

#include <algorithm>
#include <cstdio>
#include <unordered_set>

std::atomic<int> weft::detail::clonesUnderWay{0};
void weft::detail::countHandle(const frontend::Slot *slot, int change) noexcept {
  nn::detail::CloneScope::countHandle(slot, change);
}

namespace weft::nn {

using namespace frontend;

namespace detail {
void visit(const ModuleState &state, const std::string &prefix,
           const std::function<void(const std::string &, const ModuleState::Entry &)> &visitor) {
  for (const auto &entry : state.tensors)
    if (!entry.isComputed)
      visitor(prefix + entry.name, entry);
  for (const auto &[name, child] : state.children)
    visit(*child, prefix + name + ".", visitor);
}

//===----------------------------------------------------------------------===//
// Cloning
//===----------------------------------------------------------------------===//

/// A tensor without a value of its own, as the original is.
static Tensor parametrizedCopy(const Tensor &tensor) {
  GraphLock lock(graphMutex());
  const auto &slot = Access::slot(tensor);
  Tensor copy = wrap(leaf(slot->spec(), nullptr, slot->loc), slot->loc);
  Access::slot(copy)->name = slot->name;
  Access::slot(copy)->isParametrized = true;
  return copy;
}

struct CloneScope::Impl {
  Impl *previous = nullptr;
  std::unordered_map<const Slot *, Tensor> tensors;
  std::unordered_map<const ModuleState *, std::shared_ptr<ModuleState>> states;
  struct Original {
    std::string path;
    Tensor tensor;
  };
  std::vector<Original> originals;
  /// How many more handles this thread has on each original than before the copy.
  std::unordered_map<const Slot *, long> handles;

  Tensor twin(const Tensor &tensor) {
    if (!tensor.defined())
      return tensor;
    if (auto it = tensors.find(Access::slot(tensor).get()); it != tensors.end())
      return it->second;
    Tensor copy = Access::slot(tensor)->isParametrized ? parametrizedCopy(tensor) : copyOf(tensor);
    tensors[Access::slot(tensor).get()] = copy;
    tensors[Access::slot(copy).get()] = copy; // a tensor that is a copy already is not copied again
    return copy;
  }
  std::shared_ptr<ModuleState> twin(const std::shared_ptr<ModuleState> &state) {
    if (auto it = states.find(state.get()); it != states.end())
      return it->second;
    auto copy = std::make_shared<ModuleState>(*state);
    copy->training = std::make_shared<bool>(*state->training);
    states[state.get()] = copy;
    states[copy.get()] = copy;
    for (auto &entry : copy->tensors)
      entry.tensor = twin(entry.tensor);
    copy->parents.clear();
    for (auto &[name, child] : copy->children) {
      child = twin(child);
      child->parents.push_back(copy);
    }
    if (current() == this)
      copyParametrizations(*copy);
    return copy;
  }
  /// Gives a copy mappings of its own. Only the current scope finds the twins of what they hold.
  static void copyParametrizations(ModuleState &copy) {
    if (copy.parametrizations)
      copy.parametrizations = std::make_shared<Parametrizations>(*copy.parametrizations);
  }
  void copyParametrizations() {
    std::vector<std::shared_ptr<ModuleState>> copies;
    for (const auto &[state, copy] : states)
      if (state != copy.get())
        copies.push_back(copy);
    for (const auto &copy : copies)
      copyParametrizations(*copy);
  }
  static Impl *&current() {
    thread_local Impl *scope = nullptr;
    return scope;
  }
};

CloneScope::CloneScope(const std::shared_ptr<ModuleState> &original, Loc loc) : impl_(new Impl) {
  refuseInTrace("clone", loc);
  GraphLock lock(graphMutex()); // or a mode could be that of a trace on another thread
  impl_->twin(original);
  visit(*original, "", [&](const std::string &path, const ModuleState::Entry &entry) {
    impl_->originals.push_back({path, entry.tensor});
    impl_->handles.emplace(Access::slot(entry.tensor).get(), 0);
  });
  impl_->previous = std::exchange(Impl::current(), impl_.get());
  ++weft::detail::clonesUnderWay;
  try {
    impl_->copyParametrizations();
  } catch (...) {
    leave();
    throw;
  }
}

CloneScope::~CloneScope() { leave(); }

void CloneScope::leave() noexcept {
  --weft::detail::clonesUnderWay;
  Impl::current() = impl_->previous;
}

void CloneScope::countHandle(const Slot *slot, int change) noexcept {
  for (Impl *scope = Impl::current(); scope; scope = scope->previous)
    if (const auto it = scope->handles.find(slot); it != scope->handles.end())
      it->second += change;
}

void CloneScope::check(Loc loc) const {
  for (const auto &entry : impl_->originals)
    if (impl_->handles.at(Access::slot(entry.tensor).get()) > 0)
      fail("clone: the copy would share '" + entry.path +
               "' with the original, since a member of the module is a plain Tensor: declare that member "
               "as nn::Parameter",
           loc);
}

std::shared_ptr<ModuleState> CloneScope::twinOf(const ModuleState *state) {
  Impl *scope = Impl::current();
  if (!scope)
    return nullptr;
  auto it = scope->states.find(state);
  return it == scope->states.end() ? nullptr : it->second;
}

Tensor cloned(const Tensor &tensor) {
  if (const Tensor *computed = Substitution::of(tensor))
    return *computed;
  CloneScope::Impl *scope = CloneScope::Impl::current();
  return scope ? scope->twin(tensor) : tensor;
}

std::shared_ptr<ModuleState> cloned(const std::shared_ptr<ModuleState> &state) {
  CloneScope::Impl *scope = CloneScope::Impl::current();
  return scope && state ? scope->twin(state) : state;
}
} // namespace detail

using detail::join;
using detail::ModuleState;

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

Module::Module() : state_(std::make_shared<ModuleState>()) {}

Module::Module(std::string type_name, std::string details) : Module() {
  state_->type = std::move(type_name);
  state_->details = std::move(details);
}

static void checkName(const ModuleState &state, const std::string &name, Loc loc) {
  if (name.empty() || name.find('.') != std::string::npos)
    frontend::fail("the name '" + name + "' of a module's part must not be empty or contain a dot", loc);
  for (const auto &entry : state.tensors)
    if (entry.name == name)
      frontend::fail("the module has a tensor named '" + name + "' already", loc);
  for (const auto &[child, unused] : state.children)
    if (child == name)
      frontend::fail("the module has a part named '" + name + "' already", loc);
}

void Module::add_child(const std::string &name, const Module &child, Loc loc) {
  checkName(*state_, name, loc);
  std::vector<ModuleState *> below{child.state_.get()};
  for (size_t i = 0; i < below.size(); ++i) {
    if (below[i] == state_.get())
      frontend::fail("the module cannot be registered as '" + name + "' in itself or in a part of itself",
                     loc);
    for (const auto &[unused, part] : below[i]->children)
      below.push_back(part.get());
  }
  state_->children.emplace_back(name, child.state_->shared_from_this());
  child.state_->parents.push_back(state_->weak_from_this());
  // Slots carry their path in the module, which state dicts, errors and profiles use. A module that is
  // registered in two places keeps its first path.
  if (!child.state_->path.empty())
    return;
  const std::string prefix = join(state_->path, name);
  std::vector<ModuleState *> parts{child.state_.get()};
  std::unordered_set<const ModuleState *> seen{child.state_.get()};
  std::unordered_set<const Slot *> named;
  for (size_t i = 0; i < parts.size(); ++i) {
    ModuleState &part = *parts[i];
    part.path = join(prefix, part.path);
    for (const auto &entry : part.tensors)
      if (const auto &slot = Access::slot(entry.tensor); named.insert(slot.get()).second)
        slot->name = join(prefix, slot->name);
    for (const auto &[unused, below] : part.children)
      if (seen.insert(below.get()).second)
        parts.push_back(below.get());
  }
}

Parameter Module::register_parameter(const std::string &name, Tensor value, Loc loc) {
  checkName(*state_, name, loc);
  if (!value.defined())
    frontend::fail("the parameter '" + name + "' is an undefined tensor", loc);
  value.requires_grad_(true, loc);
  return add_tensor(name, value, /*parameter=*/true);
}

Parameter Module::add_tensor(const std::string &name, const Tensor &value, bool parameter) {
  Access::slot(value)->name = join(state_->path, name);
  state_->tensors.push_back({name, value, parameter});
  Parameter member(value);
  member.module_ = state_->weak_from_this();
  member.entry_ = state_->tensors.size() - 1;
  member.own_ = true;
  return member;
}

Parameter Module::absent_parameter() {
  ++state_->absent;
  Parameter member;
  member.module_ = state_->weak_from_this();
  member.entry_ = Parameter::absent;
  member.own_ = true;
  return member;
}

Parameter Module::register_buffer(const std::string &name, Tensor value, Loc loc) {
  checkName(*state_, name, loc);
  if (!value.defined())
    frontend::fail("the buffer '" + name + "' is an undefined tensor", loc);
  return add_tensor(name, value, /*parameter=*/false);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// All parameters, or all buffers, each once under its first name.
static StateDict namedTensors(const ModuleState &state, bool parameters) {
  StateDict result;
  std::unordered_set<const Slot *> seen;
  detail::visit(state, "", [&](const std::string &path, const ModuleState::Entry &entry) {
    if (entry.parameter == parameters && seen.insert(Access::slot(entry.tensor).get()).second)
      result.emplace_back(path, entry.tensor);
  });
  return result;
}

static std::vector<Tensor> tensorsOf(const StateDict &named) {
  std::vector<Tensor> result;
  for (const auto &[name, tensor] : named)
    result.push_back(tensor);
  return result;
}

StateDict Module::named_parameters() const { return namedTensors(*state_, true); }
StateDict Module::named_buffers() const { return namedTensors(*state_, false); }
std::vector<Tensor> Module::parameters() const { return tensorsOf(named_parameters()); }
std::vector<Tensor> Module::buffers() const { return tensorsOf(named_buffers()); }

std::vector<std::pair<std::string, Module>> Module::named_children() const {
  std::vector<std::pair<std::string, Module>> result;
  for (const auto &[name, child] : state_->children)
    result.emplace_back(name, Module(detail::listed(child)));
  return result;
}

std::vector<Module> Module::children() const {
  std::vector<Module> result;
  for (auto &[name, child] : named_children())
    result.push_back(child);
  return result;
}

std::vector<std::pair<std::string, Module>> Module::named_modules() const {
  std::vector<std::pair<std::string, Module>> result, stack{{"", Module(detail::listed(state_))}};
  std::unordered_set<const ModuleState *> seen;
  while (!stack.empty()) {
    auto [path, module] = stack.back();
    stack.pop_back();
    if (!seen.insert(module.state_.get()).second)
      continue;
    auto parts = module.named_children();
    for (auto it = parts.rbegin(); it != parts.rend(); ++it)
      stack.emplace_back(path.empty() ? it->first : path + "." + it->first, it->second);
    result.emplace_back(path, module);
  }
  return result;
}

std::vector<Module> Module::modules() const {
  std::vector<Module> result;
  for (auto &[path, module] : named_modules())
    result.push_back(module);
  return result;
}

Tensor Module::get_parameter(const std::string &path, Loc loc) const {
  std::string known;
  for (auto &[name, tensor] : named_parameters()) {
    if (name == path)
      return tensor;
    known += (known.empty() ? "" : ", ") + name;
  }
  frontend::fail("the module has no parameter '" + path + "'; it has: " + (known.empty() ? "none" : known),
                 loc);
}

const std::string &Module::type_name() const { return state_->type; }

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

StateDict Module::state_dict() const {
  StateDict result;
  detail::visit(*state_, "", [&](const std::string &path, const ModuleState::Entry &entry) {
    result.emplace_back(path, entry.tensor);
  });
  return result;
}

namespace {
struct Comparison {
  IncompatibleKeys keys;
  std::vector<std::string> misshapen;
};
} // namespace

static Comparison compare(const StateDict &own, const StateDict &state) {
  Comparison result;
  StateIndex theirs(state), ours(own);
  for (const auto &[name, tensor] : own)
    if (const Tensor *found = theirs.find(name); !found)
      result.keys.missing.push_back(name);
    else if (std::string text = shapeComplaint(name, tensor.sizes(), found->sizes()); !text.empty())
      result.misshapen.push_back(text);
  for (const auto &[name, tensor] : state)
    if (!ours.find(name))
      result.keys.unexpected.push_back(name);
  return result;
}

std::vector<std::string> Module::check_state_dict(const StateDict &state) const {
  Comparison found = compare(state_dict(), state);
  std::vector<std::string> complaints;
  for (const std::string &name : found.keys.missing)
    complaints.push_back("missing: " + name);
  complaints.insert(complaints.end(), found.misshapen.begin(), found.misshapen.end());
  for (const std::string &name : found.keys.unexpected)
    complaints.push_back("unexpected: " + name);
  return complaints;
}

IncompatibleKeys Module::load_state_dict(const StateDict &state, bool strict, Loc loc) {
  StateDict own = state_dict();
  Comparison found = compare(own, state);
  throwComplaints("state_dict", strict ? check_state_dict(state) : found.misshapen, loc);
  StateIndex theirs(state);
  for (const auto &[name, tensor] : own)
    if (const Tensor *value = theirs.find(name))
      overwrite(tensor, *value, loc);
  return found.keys;
}

//===----------------------------------------------------------------------===//
// Placement, modes
//===----------------------------------------------------------------------===//

/// Replaces every tensor for which `wanted` is true, and its gradient, by what `moved` returns for it.
template <typename Wanted, typename Moved>
static void moveState(const Module &module, Wanted wanted, Moved moved) {
  GraphLock lock(graphMutex());
  NoGradGuard guard;
  std::unordered_set<const Slot *> seen;
  for (auto &[name, tensor] : module.state_dict()) {
    const auto &slot = Access::slot(tensor);
    if (!seen.insert(slot.get()).second || !wanted(tensor))
      continue;
    assign(slot, moved(tensor));
    if (Trace *trace = Trace::current())
      trace->seeGrad(slot);
    if (slot->grad)
      assign(slot->grad, moved(Access::make(slot->grad)));
  }
}

void Module::to(Device device, Loc loc) {
  device = resolve(device);
  {
    GraphLock lock(graphMutex());
    NoGradGuard guard;
    std::vector<std::shared_ptr<Slot>> slots;
    std::unordered_set<const Slot *> seen;
    for (auto &[name, tensor] : state_dict())
      if (const auto &slot = Access::slot(tensor); seen.insert(slot.get()).second) {
        slots.push_back(slot);
        slots.push_back(slot->grad);
      }
    uploadSlots(slots, device, loc);
  }
  moveState(
      *this, [&](const Tensor &tensor) { return tensor.device() != device; },
      [&](const Tensor &tensor) { return movedTo(tensor, device, loc); });
}

static void requireRealDType(DType dtype, Loc loc) {
  if (!is_floating_point(dtype))
    fail("nn.Module.to only accepts floating point dtypes, but got desired dtype=" + std::string(name(dtype)),
         loc);
}

void Module::to(DType dtype, Loc loc) {
  requireRealDType(dtype, loc);
  moveState(
      *this,
      [&](const Tensor &tensor) { return is_floating_point(tensor.dtype()) && tensor.dtype() != dtype; },
      [&](const Tensor &tensor) { return convertTo(use(tensor, loc), dtype, loc); });
}

void Module::to(Device device, DType dtype, Loc loc) {
  requireRealDType(dtype, loc); // throws before anything is moved
  // Convert on the host if possible: what is left for another device is then a move, which can be undone if
  // the device is missing.
  if (device.is_cpu())
    to(device, loc);
  to(dtype, loc);
  to(device, loc);
}

void Module::train(bool mode) {
  GraphLock lock(graphMutex());
  Trace *trace = Trace::current();
  for (const Module &module : modules())
    if (trace)
      trace->writeMode(module.state_->training, mode);
    else
      *module.state_->training = mode;
}

bool Module::is_training() const {
  GraphLock lock(graphMutex());
  if (Trace *trace = Trace::current())
    trace->readMode(state_->training);
  return *state_->training;
}

void Module::requires_grad_(bool value) {
  for (Tensor &parameter : parameters())
    parameter.requires_grad_(value);
}

void Module::zero_grad(bool set_to_none) { clearGradients(parameters(), set_to_none); }

void Module::apply(const std::function<void(Module &)> &fn) {
  for (Module child : children())
    child.apply(fn);
  fn(*this);
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static std::string grouped(int64_t value) {
  std::string digits = std::to_string(value), text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0)
      text += ',';
    text += digits[i];
  }
  return text;
}

static void printTree(const ModuleState &state, size_t indent, std::string &text) {
  text += state.type + "(" + state.details;
  if (!state.children.empty()) {
    text += "\n";
    for (const auto &[name, child] : state.children) {
      text += std::string(indent + 2, ' ') + "(" + name + "): ";
      printTree(*child, indent + 2, text);
      text += "\n";
    }
    text += std::string(indent, ' ');
  }
  text += ")";
}

std::string to_string(const Module &module) {
  std::string text;
  printTree(*module.state_, 0, text);
  int64_t parameters = 0, trained = 0, bytes = 0;
  auto size = [](const Tensor &tensor) {
    return tensor.numel() * static_cast<int64_t>(itemsize(tensor.dtype()));
  };
  for (const auto &[name, tensor] : module.named_parameters()) {
    parameters += tensor.numel();
    trained += tensor.requires_grad() ? tensor.numel() : 0;
    bytes += size(tensor);
  }
  StateDict buffers = module.named_buffers();
  for (const auto &[name, tensor] : buffers)
    bytes += size(tensor);
  return text + "\n" + grouped(parameters) + " parameters (" + grouped(trained) + " trained), " +
         grouped(static_cast<int64_t>(buffers.size())) + " buffers, " + grouped(bytes) + " bytes";
}

void print(const Module &module) { std::printf("%s\n", to_string(module).c_str()); }

} // namespace weft::nn
