//===- TimeLoop.cpp - A loop over the steps of sequences --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/nn/TimeLoop.h"

#include "weft/joining.hpp"

namespace weft::frontend {

TimeLoopResult timeLoop(const TimeBody &body, std::vector<Tensor> carries,
                        const std::vector<Tensor> &sequences, bool reversed, Loc loc) {
  const int64_t length = sequences.front().size(0, loc);
  std::vector<Tensor> outputs(static_cast<size_t>(length));
  for (int64_t step = 0; step < length; ++step) {
    const int64_t at = reversed ? length - 1 - step : step;
    std::vector<Tensor> slices;
    for (const Tensor &sequence : sequences)
      slices.push_back(sequence.select(0, at, loc));
    TimeStep made = body(carries, slices);
    carries = std::move(made.carries);
    outputs[static_cast<size_t>(at)] = std::move(made.output);
  }
  return {std::move(carries), stack(outputs, 0, loc)};
}

} // namespace weft::frontend
