//===- AttentionPlan.h - Launches of attention in plans ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_ATTENTIONPLAN_H
#define WEFT_RUNTIME_PLAN_ATTENTIONPLAN_H

#include "runtime/gemm/Attention.h"
#include "runtime/plan/plan_generated.h"
#include "weft/export.hpp"

#include <string>

namespace weft::runtime {

/// Describes what is wrong with a launch, in words that follow the launch's name. Empty if every part is
/// inside of its buffer and no two elements of a result have the same address. Overlaps of results with other
/// parts are checked by the plan verifier.
std::string attention_problem(const fb::AttentionLaunch &launch, const fb::Plan &plan);

/// The shape of a launch for which `attention_problem` found nothing.
WEFT_RUNTIME_API AttentionShape attention_shape(const fb::AttentionLaunch &launch);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_ATTENTIONPLAN_H
