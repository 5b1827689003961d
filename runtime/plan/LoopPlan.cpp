//===- LoopPlan.cpp - Launches of loops in plans ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/LoopPlan.h"

#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanFields.h"

namespace weft::runtime {

std::vector<LoopPart> loop_parts(const fb::LoopLaunch &launch, const fb::Plan &plan) {
  std::vector<LoopPart> parts;
  for (uint32_t i = 0; i < length(launch.buffers()); ++i) {
    const uint64_t bytes = plan.buffers()->Get(launch.buffers()->Get(i))->bytes();
    const bool is_result = i >= launch.first_result();
    const uint32_t place = is_result ? i - launch.first_result() : i;
    const LoopRole role = place < launch.carries() ? (is_result ? LoopRole::carry : LoopRole::begin)
                          : is_result || place < launch.carries() + launch.xs() ? LoopRole::row
                                                                                : LoopRole::constant;
    parts.push_back({role, role == LoopRole::row ? bytes / static_cast<uint64_t>(launch.trips()) : bytes});
  }
  return parts;
}

std::string loop_problem(const fb::LoopLaunch &launch, const fb::Plan &plan) {
  if (!launch.body())
    return "is a loop without a body";
  if (launch.trips() < 1)
    return "is a loop of " + number(launch.trips()) + " trips";
  const uint32_t count = length(launch.buffers()), operands = launch.first_result();
  if (operands > count || launch.carries() > count - operands || launch.carries() > operands ||
      launch.xs() > operands - launch.carries())
    return "is a loop of " + number(launch.carries()) + " carries, " + number(launch.xs()) + " stacks and " +
           number(operands) + " operands among " + number(count) + " buffers";
  if (std::string missing = missing_buffer(launch.buffers(), plan); !missing.empty())
    return missing;
  const auto buffer = [&](uint32_t i) -> const fb::Buffer & {
    return *plan.buffers()->Get(launch.buffers()->Get(i));
  };
  const std::vector<LoopPart> parts = loop_parts(launch, plan);
  for (uint32_t i = 0; i < count; ++i)
    if (parts[i].role == LoopRole::row && buffer(i).bytes() % static_cast<uint64_t>(launch.trips()))
      return "has operand " + number(i) + " of " + number(buffer(i).bytes()) + " bytes, which are no " +
             number(launch.trips()) + " rows";
  for (uint32_t i = 0; i < launch.carries(); ++i)
    if (buffer(i).bytes() != buffer(operands + i).bytes())
      return "has carry " + number(i) + " of " + number(buffer(i).bytes()) + " bytes before, and of " +
             number(buffer(operands + i).bytes()) + " after it";
  if (writes_shared_memory(launch.buffers(), operands, plan))
    return "is a loop that writes memory that it also reads, or writes it twice";
  return "";
}

} // namespace weft::runtime
