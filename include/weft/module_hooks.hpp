//===- module_hooks.hpp - Modules with hooks around their calls -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_MODULE_HOOKS_HPP
#define WEFT_MODULE_HOOKS_HPP

#include "weft/module.hpp"

namespace weft::nn {

namespace detail {

/// Gets the module and its input, or the input and the output, or the gradients of both. An undefined result
/// changes nothing.
using PreHook = std::function<Tensor(const Module &, const Tensor &)>;
using CallHook = std::function<Tensor(const Module &, const Tensor &, const Tensor &)>;

struct HookLists;

/// What happens around one call of a module.
class WEFT_API HookedCall {
public:
  HookedCall(std::shared_ptr<HookLists> lists, const Module &module, const Tensor &input, Loc loc);
  /// What the module is to be called with.
  const Tensor &input() const { return input_; }
  /// What the call returns for what the module gave.
  Tensor output(const Tensor &made) const;

private:
  std::shared_ptr<HookLists> lists_;
  Module module_;
  Tensor input_;
  std::vector<CallHook> backward_;
  std::shared_ptr<Tensor> grad_output_; ///< known before the gradient of the input
  Loc loc_;
};

/// `hook` as one that returns a tensor, if it returns none.
template <typename Hook, typename... Operands> auto asHook(Hook hook) {
  if constexpr (std::is_void_v<std::invoke_result_t<Hook &, const Module &, Operands...>>)
    return [hook = std::move(hook)](const Module &module, Operands... operands) mutable {
      hook(module, operands...);
      return Tensor();
    };
  else
    return hook;
}

} // namespace detail

/// A hook of a module that was registered. Dropping it leaves the hook where it is.
class WEFT_API ModuleHookHandle {
public:
  ModuleHookHandle() = default;
  ModuleHookHandle(std::weak_ptr<detail::HookLists> lists, uint64_t number)
      : lists_(std::move(lists)), number_(number) {}
  /// The hook is not called any more. Does nothing if it was removed before.
  void remove();

private:
  std::weak_ptr<detail::HookLists> lists_;
  uint64_t number_ = 0;
};

namespace detail {
WEFT_API std::shared_ptr<HookLists> makeHookLists();
WEFT_API ModuleHookHandle addPreHook(const std::shared_ptr<HookLists> &lists, PreHook hook);
WEFT_API ModuleHookHandle addForwardHook(const std::shared_ptr<HookLists> &lists, CallHook hook);
WEFT_API ModuleHookHandle addBackwardHook(const std::shared_ptr<HookLists> &lists, CallHook hook);
} // namespace detail

/// A module of type M whose calls have hooks: `nn::Hooked<nn::Linear> fc = register_module("fc",
/// nn::Hooked(nn::Linear(3, 4)));`. It is an M, with its names of parameters. A call takes a tensor first,
/// and gives one. A module is called by an operator of its own type, so a type without this wrapper cannot
/// have hooks. In a compiled function hooks are called while it is traced; registering or removing one
/// compiles the function again. Copies, and clones, share the hooks.
template <typename M> class Hooked : public M {
public:
  explicit Hooked(M module) : M(std::move(module)) {}

  /// `hook(module, input)` before each call; a tensor that it returns takes the input's place.
  template <typename Hook> ModuleHookHandle register_forward_pre_hook(Hook hook) {
    return detail::addPreHook(lists_, detail::asHook<Hook, const Tensor &>(std::move(hook)));
  }
  /// `hook(module, input, output)` after each call; a tensor that it returns takes the output's place.
  template <typename Hook> ModuleHookHandle register_forward_hook(Hook hook) {
    return detail::addForwardHook(lists_,
                                  detail::asHook<Hook, const Tensor &, const Tensor &>(std::move(hook)));
  }
  /// `hook(module, grad_input, grad_output)` when the gradients of a call are computed; a tensor that it
  /// returns takes the place of the input's gradient, which is undefined if the input requires none.
  template <typename Hook> ModuleHookHandle register_full_backward_hook(Hook hook) {
    return detail::addBackwardHook(lists_,
                                   detail::asHook<Hook, const Tensor &, const Tensor &>(std::move(hook)));
  }

  Tensor operator()(const Tensor &input, Loc loc = Loc::current()) { return call<M>(*this, input, loc); }
  Tensor operator()(const Tensor &input, Loc loc = Loc::current()) const
    requires std::is_invocable_v<const M &, const Tensor &>
  {
    return call<const M>(*this, input, loc);
  }

private:
  template <typename Called> Tensor call(Called &module, const Tensor &input, Loc loc) const {
    const detail::HookedCall around(lists_, module, input, loc);
    if constexpr (std::is_invocable_v<Called &, const Tensor &, Loc>)
      return around.output(module(around.input(), loc));
    else
      return around.output(module(around.input()));
  }
  std::shared_ptr<detail::HookLists> lists_ = detail::makeHookLists();
};

} // namespace weft::nn

#endif // WEFT_MODULE_HOOKS_HPP
