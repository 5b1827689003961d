//===- TimeLoop.cpp - A loop over the steps of sequences --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/nn/TimeLoop.h"

#include "weft/loops.hpp"

namespace weft::frontend {

TimeLoopResult timeLoop(const TimeBody &body, const std::vector<Tensor> &carries,
                        const std::vector<Tensor> &sequences, bool reversed, Loc loc) {
  auto [last, outputs] = scan(
      [&](const std::vector<Tensor> &before, const std::vector<Tensor> &slices) {
        TimeStep made = body(before, slices);
        return std::pair(std::move(made.carries), std::move(made.output));
      },
      carries, sequences, {.reverse = reversed}, loc);
  return {std::move(last), std::move(outputs)};
}

} // namespace weft::frontend
