//===- optim.hpp - Optimisers -----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_OPTIM_HPP
#define WEFT_OPTIM_HPP

#include "weft/nn.hpp"

namespace weft::optim {

namespace detail {
struct OptimizerState;
}

/// Parameters, and the state that belongs to them. State is made, as zeros, at the first `step()`.
/// Hyper-parameters are run-time scalars: changing one recompiles nothing.
class WEFT_API Optimizer {
public:
  /// Updates every parameter that has a gradient.
  void step(Loc loc = Loc::current());
  /// Sets every gradient to none.
  void zero_grad();
  void set_lr(double lr);
  double lr() const;
  /// Tensors by name: "step", and "<parameter>.exp_avg" and the like for each parameter that was updated.
  StateDict state_dict() const;

protected:
  explicit Optimizer(std::shared_ptr<detail::OptimizerState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::OptimizerState> state_;
};

struct SGDOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
};
/// torch.optim.SGD.
class WEFT_API SGD : public Optimizer {
public:
  SGD(std::vector<Tensor> parameters, SGDOptions options, Loc loc = Loc::current());
};

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool amsgrad = false, maximize = false;
};
/// torch.optim.Adam: weight decay is added to the gradient.
class WEFT_API Adam : public Optimizer {
public:
  Adam(std::vector<Tensor> parameters, AdamOptions options = {}, Loc loc = Loc::current());
};

struct AdamWOptions : AdamOptions {
  AdamWOptions() { weight_decay = 1e-2; }
};
/// torch.optim.AdamW: weight decay shrinks the parameter.
class WEFT_API AdamW : public Optimizer {
public:
  AdamW(std::vector<Tensor> parameters, AdamWOptions options = {}, Loc loc = Loc::current());
};

} // namespace weft::optim

#endif // WEFT_OPTIM_HPP
