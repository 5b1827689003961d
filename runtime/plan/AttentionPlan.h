//===- AttentionPlan.h - Attention as plans have it --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_ATTENTIONPLAN_H
#define WEFT_RUNTIME_PLAN_ATTENTIONPLAN_H

#include "runtime/gemm/Attention.h"
#include "runtime/plan/plan_generated.h"

#include <string>

namespace weft::runtime {

/// What is wrong with a launch, as it follows the launch's name; empty where every part lies in its buffer
/// and results have a place for each of their elements. That results overlap nothing else is for the plan to
/// check.
std::string attention_problem(const fb::AttentionLaunch &launch, const fb::Plan &plan);

/// The shape of a launch without a problem.
AttentionShape attention_shape(const fb::AttentionLaunch &launch);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_ATTENTIONPLAN_H
