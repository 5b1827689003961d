//===- TimeLoop.h - A loop over the steps of sequences ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_NN_TIMELOOP_H
#define WEFT_FRONTEND_NN_TIMELOOP_H

#include "weft/tensor.hpp"

#include <functional>
#include <vector>

namespace weft::frontend {

/// What a step gives: the values that go to the next step, of the shapes that they came in, and an output.
struct TimeStep {
  std::vector<Tensor> carries;
  Tensor output;
};
/// Computes a step from what the step before gave, and from the slices of the sequences at it.
using TimeBody =
    std::function<TimeStep(const std::vector<Tensor> &carries, const std::vector<Tensor> &slices)>;

/// What a loop gives: the last carries, and the outputs of all steps, [length, ...].
struct TimeLoopResult {
  std::vector<Tensor> carries;
  Tensor outputs;
};

/// Runs `body` for each slice of the first dimension of `sequences`, of which there is at least one and which
/// all have the same length, not 0: from the first slice to the last, or `reversed`. The output of a step is
/// at the place of its slice. The body is recorded once.
TimeLoopResult timeLoop(const TimeBody &body, const std::vector<Tensor> &carries,
                        const std::vector<Tensor> &sequences, bool reversed, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_NN_TIMELOOP_H
