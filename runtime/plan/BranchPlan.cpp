//===- BranchPlan.cpp - Launches of branches and while loops --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/BranchPlan.h"

#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanFields.h"

namespace weft::runtime {

namespace {

/// The buffers of a launch: operands, then results.
struct Buffers {
  const fb::Plan &plan;
  const flatbuffers::Vector<uint32_t> *numbers;
  uint32_t first_result;

  const fb::Buffer &at(uint32_t i) const { return *plan.buffers()->Get(numbers->Get(i)); }

  /// Empty if all are there, and no result shares a byte with another of them.
  std::string problem() const {
    const uint32_t count = length(numbers);
    if (first_result > count)
      return "has " + number(first_result) + " operands among " + number(count) + " buffers";
    if (std::string missing = missing_buffer(numbers, plan); !missing.empty())
      return missing;
    if (writes_shared_memory(numbers, first_result, plan))
      return "writes memory that it also reads, or writes it twice";
    return "";
  }
};

} // namespace

std::string branch_problem(const fb::BranchLaunch &launch, const fb::Plan &plan) {
  if (!launch.then_body() || !launch.else_body())
    return "is a branch to no function";
  const Buffers buffers{plan, launch.buffers(), launch.first_result()};
  if (std::string problem = buffers.problem(); !problem.empty())
    return problem;
  if (buffers.first_result < 1)
    return "is a branch without a predicate";
  if (buffers.at(0).bytes() != 1)
    return "has a predicate of " + number(buffers.at(0).bytes()) + " bytes";
  return "";
}

std::string while_problem(const fb::WhileLaunch &launch, const fb::Plan &plan) {
  if (!launch.condition() || !launch.body())
    return "is a loop without a condition or a body";
  const Buffers buffers{plan, launch.buffers(), launch.first_result()};
  if (std::string problem = buffers.problem(); !problem.empty())
    return problem;
  const uint32_t carries = length(buffers.numbers) - buffers.first_result;
  if (carries > buffers.first_result)
    return "is a loop of " + number(carries) + " carries and " + number(buffers.first_result) + " operands";
  for (uint32_t i = 0; i < carries; ++i)
    if (buffers.at(i).bytes() != buffers.at(buffers.first_result + i).bytes())
      return "has carry " + number(i) + " of " + number(buffers.at(i).bytes()) + " bytes before, and of " +
             number(buffers.at(buffers.first_result + i).bytes()) + " after it";
  return "";
}

} // namespace weft::runtime
