//===- losses.hpp - Losses as modules ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LOSSES_HPP
#define WEFT_LOSSES_HPP

#include "weft/loss.hpp"
#include "weft/module.hpp"

/// The functions of loss.hpp as modules, with PyTorch's defaults. Weights are buffers: they move with
/// `loss.to(device)`, and are part of its state.
namespace weft::nn {

class WEFT_API CrossEntropyLoss : public Module {
public:
  explicit CrossEntropyLoss(CrossEntropyOptions options = {});
  Tensor operator()(const Tensor &logits, const Tensor &target, Loc loc = Loc::current()) const;
  Parameter weight; ///< undefined where there is none

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

} // namespace weft::nn

#endif // WEFT_LOSSES_HPP
