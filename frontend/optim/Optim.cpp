//===- Optim.cpp - Optimisers: rules and interface --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/optim.hpp"

#include "frontend/graph/Notes.h"
#include "frontend/graph/Trace.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/State.h"
#include "frontend/optim/OptimState.h"

#include <cmath>

namespace weft::optim {

using namespace frontend;
using detail::OptimizerState;

std::string detail::rangeProblem(std::string_view name, double value) {
  struct Range {
    std::string_view name;
    const char *what;
    double low, high;
    const char *text; ///< value >= low && value < high, in words
  };
  static constexpr const char *notNegative = "finite and not negative", *belowOne = "at least 0 and below 1";
  static const Range ranges[] = {
      {"lr", "learning rate", 0, INFINITY, notNegative},
      {"momentum", "momentum value", 0, INFINITY, notNegative},
      {"dampening", "dampening", -INFINITY, INFINITY, "finite"},
      {"beta1", "beta parameter at index 0", 0, 1, belowOne},
      {"beta2", "beta parameter at index 1", 0, 1, belowOne},
      {"eps", "epsilon value", 0, INFINITY, notNegative},
      {"weight_decay", "weight_decay value", 0, INFINITY, notNegative},
      {"alpha", "alpha value", -INFINITY, INFINITY, "finite"},
      {"lr_decay", "lr_decay value", 0, INFINITY, notNegative},
      {"initial_accumulator_value", "initial_accumulator_value value", 0, INFINITY, notNegative},
      {"beta2_decay", "beta2_decay value", -INFINITY, std::nextafter(0.0, 1.0), "finite and not positive"},
      {"eps2", "epsilon2 value", 0, INFINITY, notNegative},
      {"d", "clipping threshold d", 1, INFINITY, "at least 1 and finite"},
      {"rho", "rho value", 0, std::nextafter(1.0, 2.0), "from 0 to 1"},
      {"momentum_decay", "momentum_decay value", 0, INFINITY, notNegative},
      {"lambd", "lambd value", -INFINITY, INFINITY, "finite"},
      {"t0", "t0 value", -INFINITY, INFINITY, "finite"},
      {"eta_minus", "eta value at index 0", std::nextafter(0.0, 1.0), 1, "above 0 and below 1"},
      {"eta_plus", "eta value at index 1", std::nextafter(1.0, 2.0), INFINITY, "above 1 and finite"},
      {"step_size_min", "step size at index 0", 0, INFINITY, notNegative},
      {"step_size_max", "step size at index 1", 0, INFINITY, notNegative}};
  for (const Range &range : ranges)
    if (range.name == name && !(value >= range.low && value < range.high && std::isfinite(value)))
      return std::string("Invalid ") + range.what + ": " + std::to_string(value) + "; it must be " +
             range.text;
  return "";
}

std::string detail::momentumRefusal(const char *optimizer, double present, double value) {
  if ((value != 0) == (present != 0))
    return "";
  return "the momentum of an " + std::string(optimizer) + " group that was made with " +
         std::to_string(present) + " cannot become " + std::to_string(value) +
         ": with and without momentum are two formulas; make the group with the one that it needs";
}

void detail::checkNumber(std::string_view name, double value, Loc loc) {
  if (const std::string problem = rangeProblem(name, value); !problem.empty())
    fail(problem, loc);
}

void detail::checkRule(const Rule &rule, std::string_view name, double value, Loc loc) {
  if (const std::string problem = rule.refusal(name, value); !problem.empty())
    fail(problem, loc);
}

//===----------------------------------------------------------------------===//
// The interface that optimisers share
//===----------------------------------------------------------------------===//

void Optimizer::step(Loc loc) {
  GraphLock lock(graphMutex());
  NoGradGuard guard;
  std::vector<OptimizerState::Written> written = state_->record(loc);
  noteUntakenGradients();
  if (Trace::current() || written.empty())
    return;
  // A step is done as a whole or not at all: if it fails, every slot gets its old value back.
  std::vector<Ref> values;
  for (const auto &entry : written)
    values.push_back(entry.slot->value());
  try {
    flush(values);
  } catch (...) {
    // If an operation failed on data, some writes are undone already, some even to values from before this
    // step.
    std::vector<bool> isBack;
    for (size_t i = 0; i < written.size(); ++i)
      isBack.push_back(written[i].slot->value() != values[i]);
    for (size_t i = written.size(); i-- > 0;)
      if (!isBack[i])
        written[i].slot->setValue(written[i].before);
    throw;
  }
}

void Optimizer::zero_grad(bool set_to_none) { clearGradients(parameters(), set_to_none); }

static detail::Hyperparameter &numberOf(OptimizerState &state, size_t group, const std::string &name,
                                        Loc loc) {
  if (group >= state.groups.size())
    fail("the optimiser has " + std::to_string(state.groups.size()) +
             " parameter groups, numbered from 0: there is no group " + std::to_string(group),
         loc);
  std::string known;
  for (detail::Hyperparameter &number : state.groups[group].numbers) {
    if (number.name == name)
      return number;
    known += (known.empty() ? "" : ", ") + std::string(number.name);
  }
  fail("the options of '" + state.kind + "' have no number '" + name + "'; there are " + known, loc);
}

/// Sets a number of the groups [begin, end): of all of them, or of none if one refuses.
static void setNumber(OptimizerState &state, const std::string &name, double value, size_t begin, size_t end,
                      Loc loc) {
  GraphLock lock(graphMutex());
  refuseInTrace("set_option", loc);
  for (size_t i = begin; i < end; ++i) {
    numberOf(state, i, name, loc);
    detail::checkNumber(name, value, loc);
    detail::checkRule(*state.groups[i].rule, name, value, loc);
  }
  for (size_t i = begin; i < end; ++i) {
    detail::Hyperparameter &number = numberOf(state, i, name, loc);
    number.value = value;
    // A new buffer, so that queued calls keep the value that they were called with.
    overwrite(number.tensor, Tensor::from(&value, Shape{}, onHost(), loc), loc);
  }
}

void Optimizer::set_option(const std::string &name, double value, size_t group, Loc loc) {
  setNumber(*state_, name, value, group, group + 1, loc);
}
void Optimizer::set_option(const std::string &name, double value, Loc loc) {
  setNumber(*state_, name, value, 0, state_->groups.size(), loc);
}
double Optimizer::option(const std::string &name, size_t group, Loc loc) const {
  GraphLock lock(graphMutex());
  return numberOf(*state_, group, name, loc).value;
}

void Optimizer::set_lr(double lr, Loc loc) { set_option("lr", lr, loc); }
void Optimizer::set_lr(double lr, size_t group, Loc loc) { set_option("lr", lr, group, loc); }
double Optimizer::lr(size_t group, Loc loc) const { return option("lr", group, loc); }

std::vector<Tensor> Optimizer::parameters() const {
  GraphLock lock(graphMutex()); // or they could be those of a trace on another thread
  std::vector<Tensor> list;
  for (const detail::Member &member : state_->members)
    list.push_back(member.parameter);
  return list;
}

size_t Optimizer::group_count() const { return state_->groups.size(); }

/// Replaces the value of a tensor's slot by what `moved` returns for it.
template <typename Moved> static void moveSlot(const Tensor &tensor, Moved moved) {
  const auto &slot = Access::slot(tensor);
  assign(slot, moved(tensor, slot->loc));
}

void Optimizer::to(Device device) {
  device = resolve(device);
  GraphLock lock(graphMutex());
  if (!Trace::current())
    ++state_->changes;
  NoGradGuard guard;
  auto move = [&](const Tensor &tensor) {
    if (tensor.device() != device)
      moveSlot(tensor, [&](const Tensor &t, Loc loc) { return movedTo(t, device, loc); });
  };
  for (detail::Member &member : state_->members) {
    if (member.counter)
      move(member.counter->steps);
    for (detail::Piece &piece : member.pieces)
      move(piece.tensor);
  }
}

void Optimizer::to(DType dtype, Loc loc) {
  GraphLock lock(graphMutex());
  if (!is_floating_point(dtype))
    fail("an optimiser's state is converted to floating-point types only, found " + std::string(name(dtype)),
         loc);
  if (!Trace::current())
    ++state_->changes;
  NoGradGuard guard;
  for (detail::Member &member : state_->members)
    for (detail::Piece &piece : member.pieces)
      if (piece.tensor.dtype() != dtype && !piece.kind.isNumber)
        moveSlot(piece.tensor, [&](const Tensor &t, Loc loc) { return convertTo(use(t, loc), dtype, loc); });
}

StateDict Optimizer::state_dict() const {
  GraphLock lock(graphMutex());
  return state_->save();
}

std::vector<std::string> Optimizer::check_state_dict(const StateDict &state) const {
  GraphLock lock(graphMutex());
  return state_->check(state);
}

void Optimizer::load_state_dict(const StateDict &state, Loc loc) {
  GraphLock lock(graphMutex());
  refuseInTrace("load_state_dict", loc);
  throwComplaints("the state of '" + state_->kind + "'", state_->check(state), loc);
  state_->load(state, loc);
}

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

namespace {
struct SgdRule : detail::OpRule {
  SGDOptions options;
  std::vector<detail::PieceKind> pieces() const override {
    return std::vector<detail::PieceKind>(options.momentum != 0, {"momentum_buffer"});
  }
  const char *op() const override { return "sgd_step"; }
  std::vector<Attr> attributes() const override {
    return {{"nesterov", options.nesterov},
            {"maximize", options.maximize},
            // p, g, the buffer, step, lr, momentum, dampening, decay; no found_inf
            {"operandSegmentSizes", std::vector<int64_t>{1, 1, options.momentum != 0, 1, 1, 1, 1, 1, 0}}};
  }
  std::string refusal(std::string_view name, double value) const override {
    std::string problem = name == "momentum" ? detail::momentumRefusal("SGD", options.momentum, value) : "";
    if (!problem.empty())
      return problem;
    if (options.nesterov && ((name == "momentum" && value <= 0) || (name == "dampening" && value != 0)))
      return "Nesterov momentum requires a momentum and zero dampening";
    return "";
  }
};

struct AdamRule : detail::OpRule {
  bool amsgrad = false, maximize = false, decoupled = false;
  std::vector<detail::PieceKind> pieces() const override {
    std::vector<detail::PieceKind> kinds{{"exp_avg"}, {"exp_avg_sq"}};
    if (amsgrad)
      kinds.push_back({"max_exp_avg_sq"});
    return kinds;
  }
  const char *op() const override { return "adam_step"; }
  std::vector<Attr> attributes() const override {
    return {{"decoupled", decoupled},
            {"maximize", maximize},
            // p, g, m, v, vmax, step, lr, betas, eps, decay; no found_inf
            {"operandSegmentSizes", std::vector<int64_t>{1, 1, 1, 1, amsgrad, 1, 1, 1, 1, 1, 1, 0}}};
  }
};
} // namespace

static void addAdamGroup(OptimizerState &state, std::vector<Tensor> parameters, const AdamOptions &o,
                         bool decoupled, Loc loc) {
  auto rule = std::make_shared<AdamRule>();
  rule->amsgrad = o.amsgrad;
  rule->maximize = o.maximize;
  rule->decoupled = decoupled;
  state.addGroup(std::move(rule), std::move(parameters),
                 {{"lr", o.lr},
                  {"beta1", o.betas[0]},
                  {"beta2", o.betas[1]},
                  {"eps", o.eps},
                  {"weight_decay", o.weight_decay}},
                 loc);
}

static void addSgdGroup(OptimizerState &state, std::vector<Tensor> parameters, const SGDOptions &o, Loc loc) {
  auto rule = std::make_shared<SgdRule>();
  rule->options = o;
  state.addGroup(
      std::move(rule), std::move(parameters),
      {{"lr", o.lr}, {"momentum", o.momentum}, {"dampening", o.dampening}, {"weight_decay", o.weight_decay}},
      loc);
}

SGD::SGD(std::vector<Tensor> parameters, SGDOptions options, Loc loc)
    : Optimizer(OptimizerState::make("sgd")) {
  add_param_group(std::move(parameters), options, loc);
}
void SGD::add_param_group(std::vector<Tensor> parameters, SGDOptions options, Loc loc) {
  addSgdGroup(*state_, std::move(parameters), options, loc);
}

Adam::Adam(std::vector<Tensor> parameters, AdamOptions options, Loc loc)
    : Optimizer(OptimizerState::make("adam")) {
  add_param_group(std::move(parameters), options, loc);
}
void Adam::add_param_group(std::vector<Tensor> parameters, AdamOptions options, Loc loc) {
  addAdamGroup(*state_, std::move(parameters), options, false, loc);
}

AdamW::AdamW(std::vector<Tensor> parameters, AdamWOptions options, Loc loc)
    : Optimizer(OptimizerState::make("adamw")) {
  add_param_group(std::move(parameters), options, loc);
}
void AdamW::add_param_group(std::vector<Tensor> parameters, AdamWOptions options, Loc loc) {
  addAdamGroup(*state_, std::move(parameters), options, true, loc);
}

} // namespace weft::optim
