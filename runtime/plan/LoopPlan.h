//===- LoopPlan.h - Launches of loops in plans ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_LOOPPLAN_H
#define WEFT_RUNTIME_PLAN_LOOPPLAN_H

#include "runtime/plan/plan_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::runtime {

/// The most launches that a function with loops has on a device, where each trip has its own.
inline constexpr uint64_t mostLaunches = 1 << 16;
/// The most operands that these have in all: 128 MiB of descriptions.
inline constexpr uint64_t mostOperands = 1 << 22;

/// The most loops and branches that a body of one is in.
inline constexpr int mostNested = 32;

/// Describes what is wrong with a launch, in words that follow the launch's name. Empty if its buffers are
/// carries, stacks of as many rows as it has trips, and constants, and nothing that is written shares a byte
/// with another buffer of the launch. What the body takes and returns is compared when that is loaded.
std::string loop_problem(const fb::LoopLaunch &launch, const fb::Plan &plan);

/// What a loop does with one of its buffers.
enum class LoopRole : uint8_t {
  begin,    ///< the carry before the first trip
  row,      ///< a stack, of which each trip reads or writes a row
  constant, ///< what each trip reads
  carry     ///< the carry after the last trip
};

/// A buffer of a loop: its role, and the bytes of it that each trip reads or writes.
struct LoopPart {
  LoopRole role;
  uint64_t bytes;
};

/// The parts of a launch for which `loop_problem` found nothing: operands, then results, as the arguments and
/// results of its body.
std::vector<LoopPart> loop_parts(const fb::LoopLaunch &launch, const fb::Plan &plan);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_LOOPPLAN_H
