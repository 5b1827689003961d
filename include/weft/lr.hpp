//===- lr.hpp - Learning-rate schedules ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LR_HPP
#define WEFT_LR_HPP

#include <cmath>
#include <cstdint>
#include <numbers>

/// Plain functions of the step: `adam.set_lr(optim::cosine_lr(1e-3, i, steps));` recompiles nothing.
namespace weft::optim {

/// `base` at step 0, falling along half a cosine to `minimum` at step `total` and staying there (Loshchilov
/// and Hutter, SGDR, 2017, without restarts).
inline double cosine_lr(double base, int64_t step, int64_t total, double minimum = 0) {
  if (step >= total)
    return minimum;
  double share = static_cast<double>(step) / static_cast<double>(total);
  return minimum + (base - minimum) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

/// `base` times `gamma` for every `step_size` steps that are done.
inline double step_lr(double base, int64_t step, int64_t step_size, double gamma = 0.1) {
  return base * std::pow(gamma, static_cast<double>(step_size > 0 ? step / step_size : 0));
}

/// Rises in `warmup` equal steps to `base`, which the step `warmup - 1` is the first to have.
inline double linear_warmup_lr(double base, int64_t step, int64_t warmup) {
  return step + 1 >= warmup ? base : base * static_cast<double>(step + 1) / static_cast<double>(warmup);
}

/// A linear rise over `warmup` steps, then half a cosine down to `minimum` at step `total`.
inline double warmup_cosine_lr(double base, int64_t step, int64_t warmup, int64_t total, double minimum = 0) {
  return step < warmup ? linear_warmup_lr(base, step, warmup)
                       : cosine_lr(base, step - warmup, total - warmup, minimum);
}

} // namespace weft::optim

#endif // WEFT_LR_HPP
