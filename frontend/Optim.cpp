//===- Optim.cpp ---------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/optim.hpp"

#include "frontend/Lazy.h"
#include "frontend/Ops.h"
#include "frontend/Trace.h"

#include <cmath>

namespace weft::optim {

using namespace frontend;

namespace detail {
/// A 0-dimensional run-time scalar. The value is kept on the host as well, where it was set.
struct Scalar {
  const char *name;
  double value;
  Tensor tensor;
};

struct OptimizerState {
  virtual ~OptimizerState() = default;
  /// Records the update of one parameter.
  virtual void update(size_t index, const Tensor &gradient, Loc loc) = 0;

  std::string kind; ///< "adam": the prefix of the state's names
  std::vector<Tensor> parameters;
  std::vector<Scalar> scalars;
  Tensor step; ///< i64, the number of steps done; undefined before the first
  /// Per parameter: name and tensor of each piece of state, empty before the first update.
  std::vector<std::vector<std::pair<const char *, Tensor>>> slots;

  /// What the step under way wrote, with the values before it.
  std::vector<std::pair<std::shared_ptr<Slot>, Ref>> written;
  void write(const Tensor &tensor, Ref value) {
    const auto &slot = Access::slot(tensor);
    use(tensor, slot->loc);
    auto storage = slot->storage();
    written.emplace_back(storage, storage->value());
    assign(slot, std::move(value));
  }

  const Tensor &scalar(const char *name) const {
    for (const Scalar &s : scalars)
      if (std::string_view(s.name) == name)
        return s.tensor;
    throw Error(std::string("no hyper-parameter named ") + name);
  }
  /// The piece of state, made as zeros on the parameter's device at its first use. It counts as older than a
  /// trace under way, and vanishes again if that fails.
  Tensor state(size_t index, const char *name) {
    for (auto &[own, tensor] : slots[index])
      if (std::string_view(own) == name)
        return tensor;
    Tensor made;
    {
      SuspendTrace suspend;
      const auto &slot = Access::slot(parameters[index]);
      const Spec spec = slot->spec();
      made = zeros(spec.shape, {.dtype = spec.dtype, .device = spec.device}, slot->loc);
      Access::slot(made)->name = kind + "." + slot->name + "." + name;
    }
    slots[index].emplace_back(name, made);
    if (Trace *trace = Trace::current())
      trace->onFailure([this, index] {
        if (!slots[index].empty())
          slots[index].pop_back();
      });
    return made;
  }
};
} // namespace detail

using detail::OptimizerState;

static void setUp(OptimizerState &state, const char *kind, std::vector<Tensor> parameters,
                  std::initializer_list<std::pair<const char *, double>> scalars, Loc loc) {
  if (parameters.empty())
    fail("optimizer got an empty parameter list", loc);
  state.kind = kind;
  for (const Tensor &parameter : parameters)
    if (!parameter.defined() || !is_floating_point(parameter.dtype()))
      fail("an optimiser updates floating-point tensors", loc);
  state.parameters = std::move(parameters);
  state.slots.resize(state.parameters.size());
  for (auto [name, value] : scalars) {
    if (!std::isfinite(value))
      fail(std::string("Invalid ") + name + ": " + std::to_string(value), loc);
    Tensor tensor = Tensor::from(&value, Shape{}, {}, loc);
    Access::slot(tensor)->name = std::string(kind) + "." + name;
    state.scalars.push_back({name, value, tensor});
  }
}

static void checkRange(const char *name, double value, double low, double high, Loc loc) {
  if (!(value >= low && value < high))
    fail(std::string("Invalid ") + name + ": " + std::to_string(value), loc);
}

void Optimizer::step(Loc loc) {
  GraphLock lock(graphMutex());
  NoGradGuard guard;
  OptimizerState &state = *state_;
  std::vector<std::pair<size_t, Tensor>> gradients;
  for (size_t i = 0; i < state.parameters.size(); ++i)
    if (Tensor gradient = state.parameters[i].grad(); gradient.defined())
      gradients.emplace_back(i, gradient);
  if (gradients.empty())
    return;
  state.written.clear();
  if (!state.step.defined()) {
    SuspendTrace suspend;
    int64_t zero = 0;
    state.step = Tensor::from(&zero, Shape{}, {}, loc);
    Access::slot(state.step)->name = state.kind + ".step";
  }
  for (auto &[index, gradient] : gradients)
    state.update(index, gradient, loc);
  Tensor next = add({state.step, loc}, {1, loc});
  state.write(state.step, use(next, loc));
  if (Trace::current())
    return;
  // A step happens or it does not: where it fails, every slot gets its value back.
  std::vector<Ref> values;
  for (const auto &[slot, before] : state.written)
    values.push_back(slot->value());
  try {
    flush(values);
    state.written.clear();
  } catch (...) {
    for (const auto &[slot, before] : state.written)
      slot->setValue(before);
    throw;
  }
}

void Optimizer::zero_grad() {
  for (Tensor &parameter : state_->parameters)
    parameter.set_grad({});
}

void Optimizer::set_lr(double lr) {
  GraphLock lock(graphMutex());
  if (Trace::current())
    throw Error(
        "set_lr inside a compiled function would set it once, while it is compiled: call it between calls");
  for (auto &scalar : state_->scalars)
    if (std::string_view(scalar.name) == "lr") {
      scalar.value = lr;
      Tensor fresh = Tensor::from(&lr, Shape{});
      Access::slot(scalar.tensor)->setValue(use(fresh, Access::slot(fresh)->loc));
    }
}

double Optimizer::lr() const {
  for (const auto &scalar : state_->scalars)
    if (std::string_view(scalar.name) == "lr")
      return scalar.value;
  return 0;
}

StateDict Optimizer::state_dict() const {
  StateDict dict;
  if (state_->step.defined())
    dict.emplace_back("step", state_->step);
  for (size_t i = 0; i < state_->parameters.size(); ++i)
    for (const auto &[name, tensor] : state_->slots[i])
      dict.emplace_back(Access::slot(tensor)->name.substr(state_->kind.size() + 1), tensor);
  return dict;
}

//===----------------------------------------------------------------------===//
// SGD
//===----------------------------------------------------------------------===//

namespace {
struct SgdState : OptimizerState {
  SGDOptions options;
  void update(size_t index, const Tensor &gradient, Loc loc) override {
    Tensor &parameter = parameters[index];
    std::vector<Ref> operands{use(parameter, loc), use(gradient, loc)};
    Tensor buffer;
    if (options.momentum != 0) {
      buffer = state(index, "momentum_buffer");
      operands.push_back(use(buffer, loc));
    }
    operands.push_back(use(step, loc));
    for (const char *name : {"lr", "momentum", "dampening", "weight_decay"})
      operands.push_back(use(scalar(name), loc));
    auto node =
        record("sgd_step", operands, {{"nesterov", options.nesterov}, {"maximize", options.maximize}}, loc);
    write(parameter, {node, 0});
    if (buffer.defined())
      write(buffer, {node, 1});
  }
};

struct AdamState : OptimizerState {
  bool amsgrad = false, maximize = false, decoupled = false;
  void update(size_t index, const Tensor &gradient, Loc loc) override {
    Tensor &parameter = parameters[index];
    Tensor m = state(index, "exp_avg"), v = state(index, "exp_avg_sq"), vmax;
    std::vector<Ref> operands{use(parameter, loc), use(gradient, loc), use(m, loc), use(v, loc)};
    if (amsgrad) {
      vmax = state(index, "max_exp_avg_sq");
      operands.push_back(use(vmax, loc));
    }
    operands.push_back(use(step, loc));
    for (const char *name : {"lr", "beta1", "beta2", "eps", "weight_decay"})
      operands.push_back(use(scalar(name), loc));
    auto node = record("adam_step", operands, {{"decoupled", decoupled}, {"maximize", maximize}}, loc);
    write(parameter, {node, 0});
    write(m, {node, 1});
    write(v, {node, 2});
    if (vmax.defined())
      write(vmax, {node, 3});
  }
};

std::shared_ptr<OptimizerState> makeAdam(const char *kind, std::vector<Tensor> parameters,
                                         const AdamOptions &o, bool decoupled, Loc loc) {
  checkRange("learning rate", o.lr, 0, INFINITY, loc);
  checkRange("epsilon value", o.eps, 0, INFINITY, loc);
  checkRange("beta parameter at index 0", o.beta1, 0, 1, loc);
  checkRange("beta parameter at index 1", o.beta2, 0, 1, loc);
  checkRange("weight_decay value", o.weight_decay, 0, INFINITY, loc);
  auto state = std::make_shared<AdamState>();
  state->amsgrad = o.amsgrad;
  state->maximize = o.maximize;
  state->decoupled = decoupled;
  setUp(*state, kind, std::move(parameters),
        {{"lr", o.lr},
         {"beta1", o.beta1},
         {"beta2", o.beta2},
         {"eps", o.eps},
         {"weight_decay", o.weight_decay}},
        loc);
  return state;
}

std::shared_ptr<OptimizerState> makeSgd(std::vector<Tensor> parameters, const SGDOptions &o, Loc loc) {
  checkRange("learning rate", o.lr, 0, INFINITY, loc);
  checkRange("momentum value", o.momentum, 0, INFINITY, loc);
  checkRange("weight_decay value", o.weight_decay, 0, INFINITY, loc);
  if (o.nesterov && (o.momentum <= 0 || o.dampening != 0))
    fail("Nesterov momentum requires a momentum and zero dampening", loc);
  auto state = std::make_shared<SgdState>();
  state->options = o;
  setUp(
      *state, "sgd", std::move(parameters),
      {{"lr", o.lr}, {"momentum", o.momentum}, {"dampening", o.dampening}, {"weight_decay", o.weight_decay}},
      loc);
  return state;
}
} // namespace

SGD::SGD(std::vector<Tensor> parameters, SGDOptions options, Loc loc)
    : Optimizer(makeSgd(std::move(parameters), options, loc)) {}
Adam::Adam(std::vector<Tensor> parameters, AdamOptions options, Loc loc)
    : Optimizer(makeAdam("adam", std::move(parameters), options, false, loc)) {}
AdamW::AdamW(std::vector<Tensor> parameters, AdamWOptions options, Loc loc)
    : Optimizer(makeAdam("adamw", std::move(parameters), options, true, loc)) {}

} // namespace weft::optim
