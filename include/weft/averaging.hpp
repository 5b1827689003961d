//===- averaging.hpp - Averages of a model's parameters --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch.optim.swa_utils: a copy of a model whose parameters are averages of those that training goes through,
// equal ones (Izmailov et al., 2018) or exponential ones (Polyak and Juditsky, 1992).
//
//   optim::AveragedModel average(model, {.decay = 0.999});
//   ... optimizer.step(); average.update_parameters(model);   // in a compiled step or outside
//   Tensor logits = average(images);
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_AVERAGING_HPP
#define WEFT_AVERAGING_HPP

#include "weft/module.hpp"

#include <functional>
#include <optional>
#include <utility>

namespace weft::optim {

struct AveragingOptions {
  /// In [0, 1]: an exponential average, decay * average + (1 - decay) * value. Left out: the mean of all.
  std::optional<double> decay = {};
  /// The next average from the present one, the value, and how many values are in it (an i64 of shape []).
  /// Only one of `avg_fn` and `decay` may be given.
  std::function<Tensor(const Tensor &average, const Tensor &value, const Tensor &count)> avg_fn = {};
  /// Whether floating-point buffers are averaged too; else they are copied, and the others always are.
  bool use_buffers = false;
};

namespace detail {
/// What does not depend on the type of the model.
class WEFT_API AveragedModule : public nn::Module {
public:
  /// How many updates there were, an i64 of shape [].
  nn::Parameter n_averaged;

protected:
  AveragedModule(const nn::Module &model, AveragingOptions options, Loc loc);
  void update(const nn::Module &average, const nn::Module &model, Loc loc);

private:
  AveragingOptions options_;
};
} // namespace detail

/// A deep copy of a model, `module`, which is called as the model is. Its state has the names "module..." and
/// "n_averaged".
template <typename Model> class AveragedModel : public detail::AveragedModule {
public:
  /// Throws Error if options are out of range, or both `decay` and `avg_fn` are given.
  explicit AveragedModel(const Model &model, AveragingOptions options = {}, Loc loc = Loc::current())
      : AveragedModule(model, std::move(options), loc),
        module(register_module("module", nn::clone(model, loc), loc)) {}
  Model module;
  /// Takes the parameters of `model` into the averages; the first time, they are copied. Throws Error if the
  /// names or shapes of its parameters or buffers differ, and then changes nothing.
  void update_parameters(const Model &model, Loc loc = Loc::current()) { update(module, model, loc); }
  template <typename... Arguments> decltype(auto) operator()(Arguments &&...arguments) {
    return module(std::forward<Arguments>(arguments)...);
  }
};

} // namespace weft::optim

#endif // WEFT_AVERAGING_HPP
