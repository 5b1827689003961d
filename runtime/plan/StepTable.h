//===- StepTable.h - Kernels over a table of tensors ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel of an optimiser's steps is the same whatever the number of its tensors: which of them a task
// works on is in a table, which the runtime makes from a plan's launch. The kernel trusts the table, so that
// the launch is proven to fit it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_STEPTABLE_H
#define WEFT_RUNTIME_PLAN_STEPTABLE_H

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft::fb {
struct KernelLaunch;
} // namespace weft::fb

namespace weft::runtime {

/// Steps that share their numbers and have as many tensors: `buffers` of a launch are the numbers of each
/// group, then what each step of each group reads, then what each writes.
struct StepGroupCounts {
  size_t steps = 0, numbers = 0, reads = 0, writes = 0;
};

/// The integers of one row of a table, in their order: the first task of the step, the elements of its
/// tensors, and where in KernelFrame::buffers the tensors begin that it reads, and that it writes.
enum class StepField : uint8_t { firstTask, elements, reads, writes, count };

/// KernelFrame::sizes of a launch: for each group the number of the row after its last; then the rows of all
/// steps, in the order of the groups; then the number of tasks, as first task of the row after the last.
/// `elements` has one number a step.
WEFT_RUNTIME_API std::vector<int64_t> step_table(std::span<const StepGroupCounts> groups,
                                                 std::span<const int64_t> elements, int64_t chunk);

/// The same of a launch that check_step_table() has accepted.
WEFT_RUNTIME_API std::vector<int64_t> step_table(const fb::KernelLaunch &launch);

/// The chunks of all tensors; none where a number is negative or too large.
WEFT_RUNTIME_API std::optional<int64_t> step_tasks(std::span<const int64_t> elements, int64_t chunk);

/// Whether a launch of numbers fits its own table: as many steps as sizes, as many buffers as the steps have,
/// of as many bytes, and as many tasks. `operand_bytes`, one an operand, are those of the plan's buffers. The
/// message says what differs: "has 3 steps, and ...".
Status check_step_table(const fb::KernelLaunch &launch, std::span<const uint64_t> operand_bytes);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_STEPTABLE_H
