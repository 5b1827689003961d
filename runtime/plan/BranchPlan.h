//===- BranchPlan.h - Launches of branches and while loops ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_BRANCHPLAN_H
#define WEFT_RUNTIME_PLAN_BRANCHPLAN_H

#include "runtime/plan/plan_generated.h"

#include <string>

namespace weft::runtime {

/// Describes what is wrong with a launch, in words that follow the launch's name. Empty if it names its
/// functions, its buffers are a predicate of one byte, operands and results, and nothing that is written
/// shares a byte with another buffer of the launch. What the functions take and return is compared when they
/// are loaded.
std::string branch_problem(const fb::BranchLaunch &launch, const fb::Plan &plan);

/// The same for a while loop: carries before the first trip, constants, and carries of the same bytes after
/// the last.
std::string while_problem(const fb::WhileLaunch &launch, const fb::Plan &plan);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_BRANCHPLAN_H
