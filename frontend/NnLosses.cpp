//===- NnLosses.cpp - Losses as modules ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/losses.hpp"

#include <utility>

namespace weft::nn {

CrossEntropyLoss::CrossEntropyLoss(CrossEntropyOptions options)
    : Module("CrossEntropyLoss"), options_(std::move(options)) {
  if (Tensor given = std::exchange(options_.weight, {}); given.defined())
    weight = register_buffer("weight", given);
}
Tensor CrossEntropyLoss::operator()(const Tensor &logits, const Tensor &target, Loc loc) const {
  CrossEntropyOptions options = options_;
  options.weight = weight;
  return cross_entropy(logits, target, options, loc);
}

NLLLoss::NLLLoss(NllLossOptions options) : Module("NLLLoss"), options_(std::move(options)) {
  if (Tensor given = std::exchange(options_.weight, {}); given.defined())
    weight = register_buffer("weight", given);
}
Tensor NLLLoss::operator()(const Tensor &input, const Tensor &target, Loc loc) const {
  NllLossOptions options = options_;
  options.weight = weight;
  return nll_loss(input, target, options, loc);
}

BCEWithLogitsLoss::BCEWithLogitsLoss(BceWithLogitsOptions options)
    : Module("BCEWithLogitsLoss"), options_(std::move(options)) {
  if (Tensor given = std::exchange(options_.weight, {}); given.defined())
    weight = register_buffer("weight", given);
  if (Tensor given = std::exchange(options_.pos_weight, {}); given.defined())
    pos_weight = register_buffer("pos_weight", given);
}
Tensor BCEWithLogitsLoss::operator()(const Tensor &input, const Tensor &target, Loc loc) const {
  BceWithLogitsOptions options = options_;
  options.weight = weight;
  options.pos_weight = pos_weight;
  return binary_cross_entropy_with_logits(input, target, options, loc);
}

} // namespace weft::nn
