//===- ContractionPlan.h - Launches of contractions in plans ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_CONTRACTIONPLAN_H
#define WEFT_RUNTIME_PLAN_CONTRACTIONPLAN_H

#include "runtime/plan/plan_generated.h"

#include <string>

namespace weft::runtime {

/// Describes what is wrong with a launch, in words that follow the launch's name at once. Empty if every
/// operand is inside of its buffer, no two elements of the result have the same address, and the result
/// overlaps no operand. The library that computes it is checked by the plan verifier.
std::string contraction_problem(const fb::ContractionLaunch &launch, const fb::Plan &plan);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_CONTRACTIONPLAN_H
