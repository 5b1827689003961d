//===- lbfgs.hpp - An optimiser that evaluates its function itself ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LBFGS_HPP
#define WEFT_LBFGS_HPP

#include "weft/module.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace weft::optim {

/// `max_eval` is max_iter * 5 / 4 by default. `line_search_fn` is "" or "strong_wolfe".
struct LBFGSOptions {
  double lr = 1;
  int64_t max_iter = 20;
  std::optional<int64_t> max_eval = {};
  double tolerance_grad = 1e-7, tolerance_change = 1e-9;
  int64_t history_size = 100;
  std::string line_search_fn = {};
};

/// torch.optim.LBFGS (Nocedal, 1980): each step makes up to `max_iter` iterations, whose direction is the
/// gradient times an estimate of the inverse Hessian, from the last `history_size` changes of parameters and
/// gradients. A handle on its state, as every optimiser. All parameters are in one group, and of one dtype
/// and device.
///
/// A step reads numbers on the host and decides with them, so that it cannot be part of a compiled function;
/// the closure may call one.
class WEFT_API LBFGS {
public:
  /// Throws Error for options out of range, and for parameters of several dtypes or devices.
  LBFGS(std::vector<Tensor> parameters, LBFGSOptions options = {}, Loc loc = Loc::current());
  /// `closure` sets the gradients of the parameters to those of a new evaluation, and returns the loss, of
  /// one element: it calls zero_grad() and backward(). Returns the loss of the first evaluation.
  Tensor step(const std::function<Tensor()> &closure, Loc loc = Loc::current());
  void zero_grad(bool set_to_none = true);
  double lr() const;
  void set_lr(double lr, Loc loc = Loc::current());
  std::vector<Tensor> parameters() const;

  /// \name State: "n_iter", "func_evals", "lr", and after the first step "t", "prev_loss", "H_diag", "ro",
  /// "d", "prev_flat_grad", and "old_dirs" and "old_stps", which have a row for each change
  /// @{
  StateDict state_dict() const;
  /// Missing, unexpected and misshapen entries are one error, and then nothing is changed.
  void load_state_dict(const StateDict &state, Loc loc = Loc::current());
  std::vector<std::string> check_state_dict(const StateDict &state) const;
  /// @}

private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace weft::optim

#endif // WEFT_LBFGS_HPP
