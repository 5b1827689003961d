//===- Function.cpp - Functions with a derivative of the program's own ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/function.hpp"

#include "frontend/graph/GradBoundary.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/Ops.h"

#include <algorithm>

namespace weft::autograd {

using namespace frontend;

namespace {

/// What a function keeps for its derivative: a value, or one of the results, which has a history by then.
struct Kept {
  Ref value; ///< null for an undefined tensor
  int result = -1;
};

} // namespace

struct detail::FunctionState {
  std::string name;
  std::vector<Ref> arguments; ///< null for what is no tensor
  std::vector<bool> needed;
  std::vector<Kept> kept;
  std::vector<std::shared_ptr<Slot>> withoutGradient; ///< results
  bool materializes = true;
};

//===----------------------------------------------------------------------===//
// The context
//===----------------------------------------------------------------------===//

void AutogradContext::save_for_backward(const std::vector<Tensor> &tensors, Loc loc) {
  GraphLock lock(graphMutex());
  state_->kept.clear();
  for (const Tensor &tensor : tensors)
    state_->kept.push_back({tensor.defined() ? use(tensor, loc) : Ref()});
}

std::vector<Tensor> AutogradContext::saved_tensors(Loc loc) const {
  GraphLock lock(graphMutex());
  std::vector<Tensor> tensors;
  for (const Kept &each : state_->kept)
    tensors.push_back(each.value ? wrap(each.value, loc) : Tensor());
  return tensors;
}

void AutogradContext::mark_non_differentiable(const std::vector<Tensor> &results) {
  for (const Tensor &result : results)
    state_->withoutGradient.push_back(Access::slot(result));
}

void AutogradContext::set_materialize_grads(bool value) { state_->materializes = value; }

bool AutogradContext::needs_input_grad(size_t index) const {
  return index < state_->needed.size() && state_->needed[index];
}

//===----------------------------------------------------------------------===//
// The derivative
//===----------------------------------------------------------------------===//

namespace {

/// The results of one call, whose gradients the user's `backward` passes on.
class UserFunction final : public GradBoundary {
public:
  UserFunction(detail::FunctionState state, std::map<std::string, std::any> data, detail::Backward backward,
               std::vector<Spec> results)
      : GradBoundary(results.size()), state_(std::move(state)), data_(std::move(data)), backward_(backward),
        specs_(std::move(results)) {}

  std::vector<Ref> below() const override {
    std::vector<Ref> values;
    for (size_t i = 0; i < state_.arguments.size(); ++i)
      if (state_.needed[i])
        values.push_back(state_.arguments[i]);
    return values;
  }
  std::vector<Ref> read() const override {
    std::vector<Ref> values = below();
    for (const Kept &each : state_.kept)
      if (each.value)
        values.push_back(each.value);
    return values;
  }
  GradStart goOn(const std::vector<Ref> &values, const std::vector<Ref> &gradients, bool create_graph,
                 Loc loc) override;
  std::shared_ptr<GradBoundary> copied(const RefMap &copyOf, const SpecMap &specOf) const override;

private:
  /// What `backward` gets and gives, with the graph's lock released.
  std::vector<Tensor> called(const std::vector<Ref> &values, const std::vector<Ref> &gradients,
                             Loc loc) const;
  /// The gradient of an argument, with its shape, dtype and device.
  Ref fitted(size_t argument, const Tensor &gradient, Loc loc) const;
  [[noreturn]] void refuse(const std::string &why, Loc loc) const {
    fail("function " + state_.name + "::backward " + why, loc, {}, "WEFT-G006");
  }

  const detail::FunctionState state_;
  const std::map<std::string, std::any> data_;
  const detail::Backward backward_;
  const std::vector<Spec> specs_;
};

GradStart UserFunction::goOn(const std::vector<Ref> &values, const std::vector<Ref> &gradients,
                             bool create_graph, Loc loc) {
  std::vector<Tensor> made;
  {
    const GradMode recording(create_graph);
    made = called(values, gradients, loc);
  }
  const size_t expected = state_.arguments.size();
  size_t count = made.size();
  while (count > expected && !made[count - 1].defined())
    --count;
  if (count != expected)
    refuse("returned an incorrect number of gradients (expected " + std::to_string(expected) + ", got " +
               std::to_string(count) +
               ") (WEFT-G006): return one for each argument of apply(), undefined for what is no tensor",
           loc);
  WeightedRoot root(create_graph, loc);
  for (size_t i = 0; i < expected; ++i) {
    if (!made[i].defined())
      continue;
    if (!state_.arguments[i])
      refuse("returned a gradient at position " + std::to_string(i) +
                 ", but the corresponding argument of apply() is no tensor (WEFT-G006): return an undefined "
                 "tensor there",
             loc);
    if (!state_.needed[i])
      continue;
    const GradMode recording(create_graph);
    root.add(state_.arguments[i], fitted(i, made[i], loc));
  }
  return root.take();
}

std::vector<Tensor> UserFunction::called(const std::vector<Ref> &values, const std::vector<Ref> &gradients,
                                         Loc loc) const {
  auto state = std::make_shared<detail::FunctionState>(state_);
  for (Kept &each : state->kept)
    if (each.result >= 0 && values[static_cast<size_t>(each.result)])
      each = {values[static_cast<size_t>(each.result)]};
  std::vector<Tensor> given;
  for (size_t i = 0; i < specs_.size(); ++i)
    given.push_back(gradients[i]          ? wrap(gradients[i], loc)
                    : state_.materializes ? wrap(constant(specs_[i], 0, loc), loc)
                                          : Tensor());
  AutogradContext context = detail::FunctionCall::contextOf(std::move(state));
  context.saved_data = data_;
  const GraphRelease release;
  return backward_(&context, given);
}

Ref UserFunction::fitted(size_t argument, const Tensor &gradient, Loc loc) const {
  const Spec &spec = state_.arguments[argument].spec();
  const Spec found = use(gradient, loc).spec();
  const auto at = [&] { return "returned an invalid gradient at index " + std::to_string(argument); };
  if (found.device != spec.device)
    refuse(at() + " - expected device " + spec.device.str() + " but got " + found.device.str() +
               " (WEFT-G006): compute it from the gradients that backward() gets",
           loc);
  Tensor fitting = gradient;
  if (found.shape != spec.shape) {
    bool expands = found.shape.size() >= spec.shape.size();
    for (size_t i = 1; expands && i <= spec.shape.size(); ++i) {
      const int64_t size = spec.shape[spec.shape.size() - i];
      expands = size == 1 || size == found.shape[found.shape.size() - i];
    }
    if (!expands)
      refuse(at() + " - got " + shapeText(found.shape) + " but expected shape compatible with " +
                 shapeText(spec.shape) + " (WEFT-G006): it has the shape of the argument",
             loc);
    fitting = fitting.sum_to_size(spec.shape, loc);
  }
  return convertTo(use(fitting, loc), spec.dtype, loc);
}

std::shared_ptr<GradBoundary> UserFunction::copied(const RefMap &copyOf, const SpecMap &specOf) const {
  detail::FunctionState state = state_;
  std::vector<Spec> specs;
  std::ranges::transform(specs_, std::back_inserter(specs), specOf);
  for (Ref &argument : state.arguments)
    argument = argument ? copyOf(argument) : argument;
  for (Kept &each : state.kept)
    each.value = each.value ? copyOf(each.value) : each.value;
  return std::make_shared<UserFunction>(std::move(state), data_, backward_, std::move(specs));
}

} // namespace

//===----------------------------------------------------------------------===//
// A call
//===----------------------------------------------------------------------===//

detail::FunctionCall::FunctionCall(std::string_view name, Loc loc)
    : name_(name), loc_(loc), context_(std::make_shared<FunctionState>()) {
  context_.state_->name = name_;
}

AutogradContext detail::FunctionCall::contextOf(std::shared_ptr<FunctionState> state) {
  return AutogradContext(std::move(state));
}

void detail::FunctionCall::addArgument(const Tensor &tensor) {
  GraphLock lock(graphMutex());
  FunctionState &state = *context_.state_;
  state.arguments.push_back(tensor.defined() ? use(tensor, loc_) : Ref());
  state.needed.push_back(gradEnabled() && state.arguments.back() && state.arguments.back().requiresGrad());
}

void detail::FunctionCall::addOther() {
  context_.state_->arguments.emplace_back();
  context_.state_->needed.push_back(false);
}

void detail::FunctionCall::take(std::vector<Tensor> &results, Backward backward) {
  GraphLock lock(graphMutex());
  FunctionState state = *context_.state_;
  if (std::ranges::none_of(state.needed, [](bool needed) { return needed; }))
    return;
  std::vector<Ref> values;
  std::vector<Spec> specs;
  for (const Tensor &result : results) {
    values.push_back(result.defined() ? use(result, loc_) : Ref());
    specs.push_back(values.back() ? values.back().spec() : Spec());
  }
  if (Trace *trace = Trace::current(); trace && trace->isBody()) {
    std::vector<Ref> made, needed;
    std::ranges::copy_if(values, std::back_inserter(made), [](const Ref &value) { return bool(value); });
    for (size_t i = 0; i < state.needed.size(); ++i)
      if (state.needed[i])
        needed.push_back(state.arguments[i]);
    trace->noteUnknownRule({"function " + name_ + " is called",
                            "call it outside of that, or write its formula", loc_, made, needed});
  }
  for (Kept &each : state.kept)
    for (size_t i = 0; i < values.size(); ++i)
      if (each.value && each.value == values[i] && !values[i].requiresGrad())
        each.result = static_cast<int>(i);
  const std::vector<std::shared_ptr<Slot>> without = std::exchange(state.withoutGradient, {});
  const auto boundary =
      std::make_shared<UserFunction>(std::move(state), context_.saved_data, backward, specs);
  const GradMode off(false);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!values[i])
      continue;
    const bool passes = is_floating_point(values[i].spec().dtype) &&
                        std::ranges::find(without, Access::slot(results[i])) == without.end();
    // A result that is an argument, or keeps a history that the function did not make, is a tensor of its
    // own.
    if (!passes && !values[i].requiresGrad())
      continue;
    const Loc loc = values[i].node->loc;
    results[i] = wrap(passes ? resultOf(values[i], boundary, i) : sameValue(values[i], loc), loc);
  }
}

} // namespace weft::autograd
