//===- Nn.cpp ------------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/nn.hpp"

#include "frontend/Ops.h"
#include "frontend/Trace.h"
#include "weft/random.hpp"

#include <algorithm>
#include <cmath>

namespace weft::nn {

using namespace frontend;

namespace detail {
struct ModuleState {
  struct Entry {
    std::string name;
    Tensor tensor;
    bool parameter;
  };
  std::vector<Entry> tensors;
  std::vector<std::pair<std::string, std::shared_ptr<ModuleState>>> children;
  /// Shared with the guards of compiled functions that read it.
  std::shared_ptr<bool> training = std::make_shared<bool>(true);
};

static void visit(const ModuleState &state, const std::string &prefix,
                  const std::function<void(const std::string &, ModuleState::Entry)> &visitor) {
  for (const auto &entry : state.tensors)
    visitor(prefix + entry.name, entry);
  for (const auto &[name, child] : state.children)
    visit(*child, prefix + name + ".", visitor);
}
} // namespace detail

using detail::ModuleState;

Module::Module() : state_(std::make_shared<ModuleState>()) {}

static void checkName(const ModuleState &state, const std::string &name) {
  if (name.empty() || name.find('.') != std::string::npos)
    throw Error("the name '" + name + "' of a module's part must not be empty or contain a dot");
  for (const auto &entry : state.tensors)
    if (entry.name == name)
      throw Error("the module has a tensor named '" + name + "' already");
  for (const auto &[child, unused] : state.children)
    if (child == name)
      throw Error("the module has a part named '" + name + "' already");
}

void Module::add_child(const std::string &name, const Module &child) {
  checkName(*state_, name);
  state_->children.emplace_back(name, child.state_);
  // Slots carry their path, so that state, errors and profiles name them as the user does.
  detail::visit(*child.state_, "", [&](const std::string &, ModuleState::Entry entry) {
    auto &slotName = Access::slot(entry.tensor)->name;
    slotName = name + "." + slotName;
  });
}

Tensor Module::register_parameter(const std::string &name, Tensor value) {
  checkName(*state_, name);
  if (!value.defined())
    throw Error("the parameter '" + name + "' is an undefined tensor");
  value.requires_grad_();
  Access::slot(value)->name = name;
  state_->tensors.push_back({name, value, true});
  return value;
}

Tensor Module::register_buffer(const std::string &name, Tensor value) {
  checkName(*state_, name);
  if (!value.defined())
    throw Error("the buffer '" + name + "' is an undefined tensor");
  Access::slot(value)->name = name;
  state_->tensors.push_back({name, value, false});
  return value;
}

StateDict Module::named_parameters() const {
  StateDict result;
  detail::visit(*state_, "", [&](const std::string &path, ModuleState::Entry entry) {
    if (entry.parameter)
      result.emplace_back(path, entry.tensor);
  });
  return result;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> result;
  for (auto &[name, tensor] : named_parameters())
    result.push_back(tensor);
  return result;
}

StateDict Module::state_dict() const {
  StateDict result;
  detail::visit(*state_, "", [&](const std::string &path, ModuleState::Entry entry) {
    result.emplace_back(path, entry.tensor);
  });
  return result;
}

void Module::load_state_dict(const StateDict &state) {
  StateDict own = state_dict();
  std::string problems;
  auto find = [](const StateDict &dict, const std::string &name) {
    return std::find_if(dict.begin(), dict.end(), [&](const auto &entry) { return entry.first == name; });
  };
  for (const auto &[name, tensor] : own) {
    auto it = find(state, name);
    if (it == state.end())
      problems += "\n  missing: " + name;
    else if (it->second.sizes() != tensor.sizes())
      problems += "\n  size mismatch: " + name + " has shape " + shapeText(tensor.sizes()) +
                  ", the state has " + shapeText(it->second.sizes());
  }
  for (const auto &[name, tensor] : state)
    if (find(own, name) == own.end())
      problems += "\n  unexpected: " + name;
  if (!problems.empty())
    throw Error("Error(s) in loading state_dict:" + problems);
  NoGradGuard guard;
  for (auto &[name, tensor] : own)
    tensor.copy_(find(state, name)->second);
}

void Module::to(Device device) {
  NoGradGuard guard;
  for (auto &[name, tensor] : state_dict()) {
    const auto &slot = Access::slot(tensor);
    assign(slot, Access::slot(tensor.to(device))->value());
    if (slot->grad)
      assign(slot->grad, Access::slot(Access::make(slot->grad).to(device))->value());
  }
}

void Module::to(DType dtype) {
  if (!is_floating_point(dtype))
    throw Error("nn.Module.to only accepts floating point dtypes, but got desired dtype=" +
                std::string(name(dtype)));
  NoGradGuard guard;
  for (auto &[name, tensor] : state_dict()) {
    if (!is_floating_point(tensor.dtype()))
      continue;
    const auto &slot = Access::slot(tensor);
    assign(slot, Access::slot(tensor.to(dtype))->value());
    if (slot->grad)
      assign(slot->grad, Access::slot(Access::make(slot->grad).to(dtype))->value());
  }
}

void Module::train(bool mode) {
  if (Trace *trace = Trace::current())
    trace->writeMode(state_->training, mode);
  else
    *state_->training = mode;
  for (const auto &[name, child] : state_->children) {
    Module part;
    part.state_ = child;
    part.train(mode);
  }
}

bool Module::is_training() const {
  if (Trace *trace = Trace::current())
    trace->readMode(state_->training);
  return *state_->training;
}

void Module::zero_grad() {
  for (Tensor &parameter : parameters())
    parameter.set_grad({});
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Uniform in [-bound, bound).
static Tensor uniform(Shape shape, double bound, Loc loc) {
  NoGradGuard guard;
  return sub({mul({rand(std::move(shape), {}, loc), loc}, {2 * bound, loc}), loc}, {bound, loc});
}

Linear::Linear(int64_t in_features, int64_t out_features, bool with_bias, Loc loc) {
  if (in_features < 0 || out_features < 0)
    fail("nn::Linear needs sizes that are not negative, found " + std::to_string(in_features) + " and " +
             std::to_string(out_features),
         loc);
  // kaiming_uniform with a = sqrt(5) is uniform in +-1/sqrt(in), and so is the bias.
  double bound = in_features > 0 ? 1 / std::sqrt(static_cast<double>(in_features)) : 0;
  weight = register_parameter("weight", uniform({out_features, in_features}, bound, loc));
  if (with_bias)
    bias = register_parameter("bias", uniform({out_features}, bound, loc));
}

Tensor Linear::operator()(const Tensor &x, Loc loc) const { return linear(x, weight, bias, loc); }

Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias, Loc loc) {
  Tensor y = matmul(x, weight.t(loc), loc);
  return bias.defined() ? add({y, loc}, {bias, loc}) : y;
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

static std::string keyword(Reduction reduction) {
  return reduction == Reduction::none ? "none" : reduction == Reduction::mean ? "mean" : "sum";
}

Tensor cross_entropy(const Tensor &logits, const Tensor &target, CrossEntropyOptions options, Loc loc) {
  GraphLock lock(graphMutex());
  Ref a = use(logits, loc), t = use(target, loc);
  if (is_floating_point(t.spec().dtype) || t.spec().dtype == DType::i1)
    fail("cross_entropy needs class numbers as targets, an integer tensor, found " +
             std::string(name(t.spec().dtype)),
         loc, {a, t});
  return wrap(record1("cross_entropy", {a, convertTo(t, DType::i64, loc)},
                      {{"reduction", keyword(options.reduction)}, {"ignore_index", options.ignore_index}},
                      loc),
              loc);
}

Tensor mse_loss(const Tensor &input, const Tensor &target, Reduction reduction, Loc loc) {
  if (input.sizes() != target.sizes())
    std::fprintf(
        stderr,
        "weft: Using a target size (%s) that is different to the input size (%s): the smaller is broadcast "
        "(WEFT-G010), at %s\n",
        shapeText(target.sizes()).c_str(), shapeText(input.sizes()).c_str(), str(loc).c_str());
  Tensor difference = sub({input, loc}, {target, loc});
  Tensor square = mul({difference, loc}, {difference, loc});
  return reduction == Reduction::none   ? square
         : reduction == Reduction::mean ? square.mean({}, false, loc)
                                        : square.sum({}, false, loc);
}

} // namespace weft::nn
