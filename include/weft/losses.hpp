//===- losses.hpp - Losses, as functions and as modules ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The losses of torch.nn.functional. `none` gives one loss an element (or a row), `mean` their mean, `sum`
// their sum. A target of another shape than the input is broadcast with it, after a warning (WEFT-G010).
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LOSSES_HPP
#define WEFT_LOSSES_HPP

#include "weft/module.hpp"
#include "weft/tensor.hpp"

namespace weft::nn {

/// `batchmean`: the sum over the size of the first dimension; of kl_div only.
enum class Reduction { none, mean, sum, batchmean };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;
  int64_t ignore_index = -100; ///< rows with this target count for nothing
  Tensor weight = {};          ///< one per class, of the logits' dtype
  double label_smoothing = 0;  ///< the share of the target that is spread over all classes
};

/// Negative log-likelihood of `target` under softmax(logits). `logits` is [classes], [rows, classes] or
/// [rows, classes, d1, ..]. `target` has class numbers, in the shape of the logits without classes, or
/// probabilities, of the logits' dtype and shape. The mean divides by the weights of the rows' targets (NaN
/// if all are ignored), with probabilities by the number of rows. A class number out of range is an error of
/// the call.
WEFT_API Tensor cross_entropy(const Tensor &logits, const Tensor &target, CrossEntropyOptions options = {},
                              Loc loc = Loc::current());

struct NllLossOptions {
  Reduction reduction = Reduction::mean;
  int64_t ignore_index = -100;
  Tensor weight = {};
};
/// -input[target], with shapes and weights as cross_entropy has them: `input` holds logarithms of
/// probabilities.
WEFT_API Tensor nll_loss(const Tensor &input, const Tensor &target, NllLossOptions options = {},
                         Loc loc = Loc::current());

/// (input - target)^2.
WEFT_API Tensor mse_loss(const Tensor &input, const Tensor &target, Reduction reduction = Reduction::mean,
                         Loc loc = Loc::current());
/// |input - target|.
WEFT_API Tensor l1_loss(const Tensor &input, const Tensor &target, Reduction reduction = Reduction::mean,
                        Loc loc = Loc::current());
/// With d = input - target: d^2 / (2 beta) where |d| < beta, else |d| - beta / 2; beta is not negative.
WEFT_API Tensor smooth_l1_loss(const Tensor &input, const Tensor &target,
                               Reduction reduction = Reduction::mean, double beta = 1,
                               Loc loc = Loc::current());
/// With d = input - target: d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2); delta is positive.
WEFT_API Tensor huber_loss(const Tensor &input, const Tensor &target, Reduction reduction = Reduction::mean,
                           double delta = 1, Loc loc = Loc::current());

struct BceWithLogitsOptions {
  Reduction reduction = Reduction::mean;
  Tensor weight = {};     ///< of each loss
  Tensor pos_weight = {}; ///< of the positive part, broadcast with the target
};
/// Binary cross entropy of sigmoid(input), without overflow; the shapes must be equal.
WEFT_API Tensor binary_cross_entropy_with_logits(const Tensor &input, const Tensor &target,
                                                 BceWithLogitsOptions options = {}, Loc loc = Loc::current());

/// Binary cross entropy of probabilities: -target log(input) - (1 - target) log(1 - input), where logarithms
/// end at -100. A probability outside of [0, 1] gives NaN. The shapes must be equal.
WEFT_API Tensor binary_cross_entropy(const Tensor &input, const Tensor &target, const Tensor &weight = {},
                                     Reduction reduction = Reduction::mean, Loc loc = Loc::current());

struct PoissonNllOptions {
  bool log_input = true; ///< whether `input` is the logarithm of the rate
  bool full = false;     ///< with Stirling's approximation of log(target!)
  double eps = 1e-8;     ///< added to a rate before its logarithm is taken
  Reduction reduction = Reduction::mean;
};
/// Negative log-likelihood of Poisson's distribution, up to a constant of the target: exp(input) - target
/// input, or input - target log(input).
WEFT_API Tensor poisson_nll_loss(const Tensor &input, const Tensor &target, PoissonNllOptions options = {},
                                 Loc loc = Loc::current());

struct GaussianNllOptions {
  bool full = false; ///< with the constant log(2 pi) / 2
  double eps = 1e-6; ///< the least variance
  Reduction reduction = Reduction::mean;
};
/// Negative log-likelihood of normal distributions: (log(variance) + (input - target)^2 / variance) / 2. The
/// variance has the input's shape, that shape without its last dimension, or with 1 there.
WEFT_API Tensor gaussian_nll_loss(const Tensor &input, const Tensor &target, const Tensor &variance,
                                  GaussianNllOptions options = {}, Loc loc = Loc::current());

/// Kullback and Leibler's divergence, where `input` holds logarithms: target (log(target) - input), 0 where
/// the target is 0; with `log_target` exp(target) (target - input).
WEFT_API Tensor kl_div(const Tensor &input, const Tensor &target, Reduction reduction = Reduction::mean,
                       bool log_target = false, Loc loc = Loc::current());

/// \name The same as modules, with PyTorch's defaults
/// Weights are buffers: they move with `loss.to(device)`, and are part of its state.
/// @{
class WEFT_API CrossEntropyLoss : public Module {
public:
  explicit CrossEntropyLoss(CrossEntropyOptions options = {});
  Tensor operator()(const Tensor &logits, const Tensor &target, Loc loc = Loc::current()) const;
  Parameter weight; ///< undefined if there is none

private:
  CrossEntropyOptions options_; ///< without the weight
};

class WEFT_API NLLLoss : public Module {
public:
  explicit NLLLoss(NllLossOptions options = {});
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const;
  Parameter weight;

private:
  NllLossOptions options_;
};

class WEFT_API BCEWithLogitsLoss : public Module {
public:
  explicit BCEWithLogitsLoss(BceWithLogitsOptions options = {});
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const;
  Parameter weight, pos_weight;

private:
  BceWithLogitsOptions options_;
};

class WEFT_API MSELoss : public Module {
public:
  explicit MSELoss(Reduction reduction = Reduction::mean) : Module("MSELoss"), reduction_(reduction) {}
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const {
    return mse_loss(input, target, reduction_, loc);
  }

private:
  Reduction reduction_;
};

class WEFT_API L1Loss : public Module {
public:
  explicit L1Loss(Reduction reduction = Reduction::mean) : Module("L1Loss"), reduction_(reduction) {}
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const {
    return l1_loss(input, target, reduction_, loc);
  }

private:
  Reduction reduction_;
};

class WEFT_API SmoothL1Loss : public Module {
public:
  explicit SmoothL1Loss(Reduction reduction = Reduction::mean, double beta = 1)
      : Module("SmoothL1Loss"), reduction_(reduction), beta_(beta) {}
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const {
    return smooth_l1_loss(input, target, reduction_, beta_, loc);
  }

private:
  Reduction reduction_;
  double beta_;
};

class WEFT_API HuberLoss : public Module {
public:
  explicit HuberLoss(Reduction reduction = Reduction::mean, double delta = 1)
      : Module("HuberLoss"), reduction_(reduction), delta_(delta) {}
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const {
    return huber_loss(input, target, reduction_, delta_, loc);
  }

private:
  Reduction reduction_;
  double delta_;
};

class WEFT_API BCELoss : public Module {
public:
  explicit BCELoss(Tensor weight = {}, Reduction reduction = Reduction::mean);
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const {
    return binary_cross_entropy(input, target, weight, reduction_, loc);
  }
  Parameter weight;

private:
  Reduction reduction_;
};

class WEFT_API KLDivLoss : public Module {
public:
  explicit KLDivLoss(Reduction reduction = Reduction::mean, bool log_target = false)
      : Module("KLDivLoss"), reduction_(reduction), log_target_(log_target) {}
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const {
    return kl_div(input, target, reduction_, log_target_, loc);
  }

private:
  Reduction reduction_;
  bool log_target_;
};

/// @}

} // namespace weft::nn

#endif // WEFT_LOSSES_HPP
