//===- optim.hpp - Optimisers -----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_OPTIM_HPP
#define WEFT_OPTIM_HPP

#include "weft/module.hpp"

#include <array>
#include <optional>
#include <string>

namespace weft::optim {

namespace detail {
struct OptimizerState;
}

/// A shared handle on parameters and their state. Parameters are in groups, each with its own options. State
/// is made, as zeros on the parameter's device, at the first `step()` in which a parameter has a gradient.
/// Hyper-parameters are run-time scalars: changing one recompiles nothing.
class WEFT_API Optimizer {
public:
  /// Updates every parameter that has a gradient. A parameter that has moved to another device or type since
  /// its state was made is an error (WEFT-O003): move the optimiser as well.
  void step(Loc loc = Loc::current());
  /// Sets every gradient to none; with false those that exist to zeros, and a parameter with a gradient of
  /// zeros still steps: decay and momentum move it.
  void zero_grad(bool set_to_none = true);

  /// \name Learning rate, of all groups or of one; an error where it is negative or not finite
  /// @{
  void set_lr(double lr, Loc loc = Loc::current());
  void set_lr(double lr, size_t group, Loc loc = Loc::current());
  double lr(size_t group = 0, Loc loc = Loc::current()) const;
  /// @}

  /// \name The numbers of all groups or of one, by their names in its options: "momentum", "beta1", ..
  /// An error where the options have no such number, where it is out of its range, and where it would be
  /// another formula: momentum from 0 or to 0. Then no group changes.
  /// @{
  void set_option(const std::string &name, double value, Loc loc = Loc::current());
  void set_option(const std::string &name, double value, size_t group, Loc loc = Loc::current());
  double option(const std::string &name, size_t group = 0, Loc loc = Loc::current()) const;
  /// @}

  std::vector<Tensor> parameters() const;
  size_t group_count() const;

  /// Moves the state that exists. (Parameters are moved by their module.)
  void to(Device device);
  /// Converts the state of parameters that exists: after `model.half()`, say.
  void to(DType dtype, Loc loc = Loc::current());

  /// \name State
  /// @{
  /// For each parameter that was updated "<parameter>.step", "<parameter>.exp_avg" and the like, then
  /// "group0.lr" and the other numbers of each group. A parameter's name is its path in its module, or
  /// "param" and its number where that is missing or not unique.
  StateDict state_dict() const;
  /// Writes existing state and makes missing state. Missing, unexpected and misshapen entries are one error
  /// that lists them all, and then nothing is changed. A parameter without entries starts afresh.
  void load_state_dict(const StateDict &state, Loc loc = Loc::current());
  /// The complaints of `load_state_dict`, which this call does not do; empty where it would succeed.
  std::vector<std::string> check_state_dict(const StateDict &state) const;
  /// @}

protected:
  explicit Optimizer(std::shared_ptr<detail::OptimizerState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::OptimizerState> state_;
};

/// `lr` and `weight_decay` are not negative; with `momentum` 0 no buffer is made. `nesterov` needs a
/// momentum, and no dampening. Options out of range throw Error.
struct SGDOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
};
/// torch.optim.SGD: d = g + weight_decay p; buf = momentum buf + (1 - dampening) d, at first d; p -= lr buf.
/// `nesterov`: p -= lr (d + momentum buf).
class WEFT_API SGD : public Optimizer {
public:
  SGD(std::vector<Tensor> parameters, SGDOptions options, Loc loc = Loc::current());
  /// More parameters, with options of their own.
  void add_param_group(std::vector<Tensor> parameters, SGDOptions options, Loc loc = Loc::current());
};

/// `betas` are in [0, 1), the others not negative. Options out of range throw Error. As numbers of a group
/// they are "beta1" and "beta2".
struct AdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8, weight_decay = 0;
  bool amsgrad = false, maximize = false;
};
/// torch.optim.Adam (Kingma and Ba, 2015; amsgrad: Reddi, Kale and Kumar, 2018). Weight decay is added to the
/// gradient.
class WEFT_API Adam : public Optimizer {
public:
  Adam(std::vector<Tensor> parameters, AdamOptions options = {}, Loc loc = Loc::current());
  void add_param_group(std::vector<Tensor> parameters, AdamOptions options, Loc loc = Loc::current());
};

/// As AdamOptions, with another default for `weight_decay`.
struct AdamWOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8, weight_decay = 1e-2;
  bool amsgrad = false, maximize = false;
  operator AdamOptions() const { return {lr, betas, eps, weight_decay, amsgrad, maximize}; }
};
/// torch.optim.AdamW (Loshchilov and Hutter, 2019): each step first multiplies the parameter by
/// 1 - lr weight_decay.
class WEFT_API AdamW : public Optimizer {
public:
  AdamW(std::vector<Tensor> parameters, AdamWOptions options = {}, Loc loc = Loc::current());
  void add_param_group(std::vector<Tensor> parameters, AdamWOptions options, Loc loc = Loc::current());
};

//===----------------------------------------------------------------------===//
// Further rules, as in torch.optim
//===----------------------------------------------------------------------===//
//
// g is the gradient plus weight_decay p, or of a `maximize` group its negative plus that; t counts steps from
// 1 on. Options out of range throw Error.

struct RMSpropOptions {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
  bool centered = false, maximize = false;
};
/// Hinton's lecture 6e, 2012: v = alpha v + (1 - alpha) g^2, d = g / (sqrt(v) + eps), p -= lr d. `centered`
/// (Graves, 2013): v less the square of the mean gradient. With a momentum, buf = momentum buf + d is
/// applied.
class WEFT_API RMSprop : public Optimizer {
public:
  RMSprop(std::vector<Tensor> parameters, RMSpropOptions options = {}, Loc loc = Loc::current());
  void add_param_group(std::vector<Tensor> parameters, RMSpropOptions options, Loc loc = Loc::current());
};

struct AdagradOptions {
  double lr = 1e-2, lr_decay = 0, weight_decay = 0, initial_accumulator_value = 0, eps = 1e-10;
  bool maximize = false;
};
/// Duchi, Hazan and Singer, 2011: s += g^2, p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps).
class WEFT_API Adagrad : public Optimizer {
public:
  Adagrad(std::vector<Tensor> parameters, AdagradOptions options = {}, Loc loc = Loc::current());
  void add_param_group(std::vector<Tensor> parameters, AdagradOptions options, Loc loc = Loc::current());
};

struct AdadeltaOptions {
  double lr = 1, rho = 0.9, eps = 1e-6, weight_decay = 0;
  bool maximize = false;
};
/// Zeiler, 2012: v = rho v + (1 - rho) g^2, d = sqrt(u + eps) / sqrt(v + eps) g, u = rho u + (1 - rho) d^2,
/// p -= lr d.
class WEFT_API Adadelta : public Optimizer {
public:
  Adadelta(std::vector<Tensor> parameters, AdadeltaOptions options = {}, Loc loc = Loc::current());
  void add_param_group(std::vector<Tensor> parameters, AdadeltaOptions options, Loc loc = Loc::current());
};

struct AdamaxOptions {
  double lr = 2e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8, weight_decay = 0;
  bool maximize = false;
};
/// Kingma and Ba, 2015, with the infinity norm: u = max(beta2 u, |g| + eps), p -= lr / (1 - beta1^t) m / u.
class WEFT_API Adamax : public Optimizer {
public:
  Adamax(std::vector<Tensor> parameters, AdamaxOptions options = {}, Loc loc = Loc::current());
  void add_param_group(std::vector<Tensor> parameters, AdamaxOptions options, Loc loc = Loc::current());
};

/// `decoupled_weight_decay` multiplies the parameter by 1 - lr weight_decay instead.
struct NAdamOptions {
  double lr = 2e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8, weight_decay = 0, momentum_decay = 4e-3;
  bool decoupled_weight_decay = false, maximize = false;
};
/// Dozat, 2016: Adam with Nesterov's momentum, whose schedule is beta1 (1 - 0.96^(t momentum_decay) / 2).
class WEFT_API NAdam : public Optimizer {
public:
  NAdam(std::vector<Tensor> parameters, NAdamOptions options = {}, Loc loc = Loc::current());
  void add_param_group(std::vector<Tensor> parameters, NAdamOptions options, Loc loc = Loc::current());
};

/// `decoupled_weight_decay` multiplies the parameter by 1 - lr weight_decay instead.
struct RAdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8, weight_decay = 0;
  bool decoupled_weight_decay = false, maximize = false;
};
/// Liu et al., 2020: Adam whose adaptive rate is rectified, and left out while its variance has no bound.
class WEFT_API RAdam : public Optimizer {
public:
  RAdam(std::vector<Tensor> parameters, RAdamOptions options = {}, Loc loc = Loc::current());
  void add_param_group(std::vector<Tensor> parameters, RAdamOptions options, Loc loc = Loc::current());
};

struct ASGDOptions {
  double lr = 1e-2, lambd = 1e-4, alpha = 0.75, t0 = 1e6, weight_decay = 0;
  bool maximize = false;
};
/// Polyak and Juditsky, 1992: p = (1 - lambd eta) p - eta g with eta = lr / (1 + lambd lr t)^alpha of the
/// step before, and in the state, as "ax", the mean of p from step t0 on.
class WEFT_API ASGD : public Optimizer {
public:
  ASGD(std::vector<Tensor> parameters, ASGDOptions options = {}, Loc loc = Loc::current());
  void add_param_group(std::vector<Tensor> parameters, ASGDOptions options, Loc loc = Loc::current());
};

/// eta_minus is between 0 and 1, eta_plus above 1. There is no weight decay.
struct RpropOptions {
  double lr = 1e-2, eta_minus = 0.5, eta_plus = 1.2, step_size_min = 1e-6, step_size_max = 50;
  bool maximize = false;
};
/// Riedmiller and Braun, 1993: each element has a step size, at first lr, times eta_plus while its gradient
/// keeps the sign, times eta_minus when it changes, in which step the element rests; p -= size sign(g).
class WEFT_API Rprop : public Optimizer {
public:
  Rprop(std::vector<Tensor> parameters, RpropOptions options = {}, Loc loc = Loc::current());
  void add_param_group(std::vector<Tensor> parameters, RpropOptions options, Loc loc = Loc::current());
};

/// `eps1` is the least estimate of a variance, by default the distance of 1 and the next number of the
/// parameter's dtype; `eps2` the least scale of a parameter; `d` is at least 1, and beta2_decay at most 0.
struct AdafactorOptions {
  double lr = 1e-2, beta2_decay = -0.8;
  std::optional<double> eps1 = {};
  double eps2 = 1e-3, d = 1, weight_decay = 0;
  bool maximize = false;
};
/// Shazeer and Stern, 2018: of a matrix, and of the last two dimensions of a larger tensor, the estimate of
/// the variance is the product of a column and a row of means, which take a share t^beta2_decay of the new
/// ones. The step g / sqrt(estimate) is divided by its root mean square over d if that is above 1, and
/// multiplied by min(lr, 1/sqrt(t)) max(eps2, the root mean square of p).
class WEFT_API Adafactor : public Optimizer {
public:
  Adafactor(std::vector<Tensor> parameters, AdafactorOptions options = {}, Loc loc = Loc::current());
  void add_param_group(std::vector<Tensor> parameters, AdafactorOptions options, Loc loc = Loc::current());
};

/// `adjust_lr_fn` multiplies the rate of an m x n matrix: "original" by sqrt(max(1, m / n)),
/// "match_rms_adamw" by 0.2 sqrt(max(m, n)). `ns_steps` is below 100.
struct MuonOptions {
  double lr = 1e-3, weight_decay = 0.1, momentum = 0.95;
  bool nesterov = true;
  std::array<double, 3> ns_coefficients = {3.4445, -4.7750, 2.0315};
  double eps = 1e-7;
  int64_t ns_steps = 5;
  std::string adjust_lr_fn = "original";
};
/// Jordan et al., 2024: buf = momentum buf + (1 - momentum) g, and p -= lr times the matrix next to it whose
/// singular values are about 1, which a few products in bf16 approximate; weight decay as in AdamW. Matrices
/// only: a parameter of another number of dimensions is an error.
class WEFT_API Muon : public Optimizer {
public:
  Muon(std::vector<Tensor> parameters, MuonOptions options = {}, Loc loc = Loc::current());
  void add_param_group(std::vector<Tensor> parameters, MuonOptions options, Loc loc = Loc::current());
};

} // namespace weft::optim

#endif // WEFT_OPTIM_HPP
