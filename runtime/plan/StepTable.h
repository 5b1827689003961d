//===- StepTable.h - Kernels over a table of tensors ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel of an optimiser's steps does not depend on the number of tensors. A table, which the runtime
// makes from the launch in the plan, has the tensor of each task. The kernel does not check the table, so the
// launch is verified to fit it.
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

/// A group of steps that share their numbers (hyper-parameters) and have equal counts of tensors. The
/// `buffers` of a launch are the numbers of each group, then the tensors that each step of each group reads,
/// then those that it writes.
struct StepGroupCounts {
  size_t steps = 0, numbers = 0, reads = 0, writes = 0;
};

/// The integers of one row of a table, in this order: the first task of the step, the number of elements of
/// its tensors, and the index in KernelFrame::buffers of the first tensor that it reads, and that it writes.
enum class StepField : uint8_t { firstTask, elements, reads, writes, count };

/// KernelFrame::sizes of a launch: for each group, the index of the row after its last one; then the rows of
/// all steps, in the order of the groups; then the number of tasks, as the first task of the row after the
/// last. `elements` has one number per step.
WEFT_RUNTIME_API std::vector<int64_t> step_table(std::span<const StepGroupCounts> groups,
                                                 std::span<const int64_t> elements, int64_t chunk);

/// The same for a launch that check_step_table() has accepted.
WEFT_RUNTIME_API std::vector<int64_t> step_table(const fb::KernelLaunch &launch);

/// The number of chunks of all tensors; nothing if a number is negative or too large.
WEFT_RUNTIME_API std::optional<int64_t> step_tasks(std::span<const int64_t> elements, int64_t chunk);

/// Checks that a launch without symbols fits its own table: the number of sizes is that of the steps, and the
/// numbers of buffers, their bytes, and the number of tasks are those of the table. `operand_bytes` has the
/// bytes of the plan's buffer for each operand. The message says what differs: "has 3 steps, and ...".
Status check_step_table(const fb::KernelLaunch &launch, std::span<const uint64_t> operand_bytes);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_STEPTABLE_H
