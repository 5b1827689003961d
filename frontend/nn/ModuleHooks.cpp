//===- ModuleHooks.cpp - Modules with hooks around their calls --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/module_hooks.hpp"

#include "frontend/graph/Recording.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/Ops.h"

#include <algorithm>

namespace weft::nn {

using namespace frontend;

namespace detail {

struct HookLists {
  template <typename Hook> using List = std::vector<std::pair<uint64_t, Hook>>;
  List<PreHook> before;
  List<CallHook> after, backward;
  /// A guard of compiled functions, as that of the hooks of tensors.
  std::shared_ptr<bool> unchanged = std::make_shared<bool>(true);

  void noteChange() {
    *unchanged = false;
    unchanged = std::make_shared<bool>(true);
  }
  template <typename Hook> uint64_t add(List<Hook> &list, Hook hook) {
    GraphLock lock(graphMutex());
    const uint64_t number = nextSerial();
    list.emplace_back(number, std::move(hook));
    noteChange();
    return number;
  }
};

std::shared_ptr<HookLists> makeHookLists() { return std::make_shared<HookLists>(); }
ModuleHookHandle addPreHook(const std::shared_ptr<HookLists> &lists, PreHook hook) {
  return {lists, lists->add(lists->before, std::move(hook))};
}
ModuleHookHandle addForwardHook(const std::shared_ptr<HookLists> &lists, CallHook hook) {
  return {lists, lists->add(lists->after, std::move(hook))};
}
ModuleHookHandle addBackwardHook(const std::shared_ptr<HookLists> &lists, CallHook hook) {
  return {lists, lists->add(lists->backward, std::move(hook))};
}

/// The hooks of a list as they are now: one may remove itself.
template <typename Hook> static std::vector<Hook> hooksOf(const HookLists::List<Hook> &list) {
  GraphLock lock(graphMutex());
  std::vector<Hook> hooks;
  for (const auto &[number, hook] : list)
    hooks.push_back(hook);
  return hooks;
}

/// What backward hooks make of the gradient of an input.
static Tensor called(const std::vector<CallHook> &hooks, const Module &module, Tensor grad_input,
                     const Tensor &grad_output) {
  for (const CallHook &hook : hooks)
    if (const Tensor made = hook(module, grad_input, grad_output); made.defined())
      grad_input = made;
  return grad_input;
}

HookedCall::HookedCall(std::shared_ptr<HookLists> lists, const Module &module, const Tensor &input, Loc loc)
    : lists_(std::move(lists)), module_(module), input_(input), loc_(loc) {
  {
    GraphLock lock(graphMutex());
    if (Trace *trace = Trace::current())
      trace->guard(lists_->unchanged, "a hook of a module was registered or removed");
  }
  for (const PreHook &hook : hooksOf(lists_->before))
    if (const Tensor made = hook(module_, input_); made.defined())
      input_ = made;
  backward_ = hooksOf(lists_->backward);
  if (backward_.empty() || !gradEnabled())
    return;
  grad_output_ = std::make_shared<Tensor>();
  if (!input_.requires_grad(loc))
    return;
  input_ = input_.view_as(input_, loc); // another tensor, with hooks of its own
  input_.register_hook([hooks = backward_, module = module_, grad_output = grad_output_](
                           const Tensor &gradient) { return called(hooks, module, gradient, *grad_output); },
                       loc);
}

Tensor HookedCall::output(const Tensor &made) const {
  Tensor result = made;
  for (const CallHook &hook : hooksOf(lists_->after))
    if (const Tensor other = hook(module_, input_, result); other.defined())
      result = other;
  if (!grad_output_ || !result.requires_grad(loc_))
    return result;
  result = result.view_as(result, loc_);
  const bool isAlone = !input_.requires_grad(loc_);
  result.register_hook(
      [hooks = backward_, module = module_, grad_output = grad_output_, isAlone](const Tensor &gradient) {
        *grad_output = gradient;
        if (isAlone)
          called(hooks, module, {}, gradient);
      },
      loc_);
  return result;
}

} // namespace detail

void ModuleHookHandle::remove() {
  GraphLock lock(graphMutex());
  const auto lists = std::exchange(lists_, {}).lock();
  const auto drop = [&](auto &list) {
    return std::erase_if(list, [&](const auto &each) { return each.first == number_; });
  };
  if (lists && drop(lists->before) + drop(lists->after) + drop(lists->backward) > 0)
    lists->noteChange();
}

} // namespace weft::nn
