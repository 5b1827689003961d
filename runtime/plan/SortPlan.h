//===- SortPlan.h - Launches of sorts in plans ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_SORTPLAN_H
#define WEFT_RUNTIME_PLAN_SORTPLAN_H

#include "runtime/plan/plan_generated.h"
#include "runtime/sort/Sort.h"
#include "weft/export.hpp"

#include <string>

namespace weft::runtime {

/// Describes what is wrong with a launch, in words that follow the launch's name. Empty if the buffers have
/// the bytes of its numbers, and nothing that is written shares a byte with another buffer of the launch.
std::string sort_problem(const fb::SortLaunch &launch, const fb::Plan &plan);

/// The numbers of a launch for which `sort_problem` found nothing.
WEFT_RUNTIME_API SortShape sort_shape(const fb::SortLaunch &launch);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_SORTPLAN_H
