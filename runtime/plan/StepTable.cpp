//===- StepTable.cpp - Kernels over a table of tensors --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/StepTable.h"

#include "runtime/plan/PlanFields.h"

#include <string>

namespace weft::runtime {
namespace {

std::vector<StepGroupCounts> counts_of(const fb::KernelLaunch &launch) {
  std::vector<StepGroupCounts> counts;
  for (uint32_t i = 0; i < length(launch.groups()); ++i) {
    const fb::StepGroup &group = *launch.groups()->Get(i);
    counts.push_back({group.steps(), length(group.number_bytes()), group.reads(), group.writes()});
  }
  return counts;
}

std::span<const int64_t> elements_of(const fb::KernelLaunch &launch) {
  return {launch.sizes() ? launch.sizes()->data() : nullptr, length(launch.sizes())};
}

Status differs(const std::string &what, auto found, auto expected) {
  return Status::error("has " + std::to_string(found) + " " + what + ", and its table of tensors has " +
                       std::to_string(expected));
}

/// Checks that the numbers of sizes and buffers are those of the groups' steps.
Status check_counts(const fb::KernelLaunch &launch, size_t buffers) {
  uint64_t steps = 0, read = 0, written = 0;
  for (uint32_t i = 0; i < length(launch.groups()); ++i) {
    const fb::StepGroup &group = *launch.groups()->Get(i);
    constexpr uint32_t most = 64; // more than an optimiser has
    if (!aligned(group.number_bytes()) || group.reads() > most || group.writes() > most || group.item() < 1 ||
        group.item() > most)
      return Status::error("has the group of steps " + std::to_string(i) + " of " +
                           std::to_string(group.reads()) + " and " + std::to_string(group.writes()) +
                           " tensors of " + std::to_string(group.item()) +
                           " bytes an element, or with misaligned numbers");
    steps += group.steps();
    read += length(group.number_bytes()) + uint64_t(group.steps()) * group.reads();
    written += uint64_t(group.steps()) * group.writes();
  }
  if (length(launch.sizes()) != steps)
    return differs("run-time sizes", length(launch.sizes()), steps);
  if (buffers != read + written)
    return differs("operands and results", buffers, read + written);
  if (launch.first_result() != read)
    return differs("operands that it reads", launch.first_result(), read);
  return {};
}

} // namespace

std::vector<int64_t> step_table(std::span<const StepGroupCounts> groups, std::span<const int64_t> elements,
                                int64_t chunk) {
  std::vector<int64_t> table;
  table.reserve(groups.size() + elements.size() * static_cast<size_t>(StepField::count) + 1);
  size_t end = 0, reads = 0, writes = 0, step = 0;
  for (const StepGroupCounts &group : groups) {
    table.push_back(static_cast<int64_t>(end += group.steps));
    reads += group.numbers;
    writes += group.numbers + group.steps * group.reads;
  }
  int64_t task = 0;
  for (const StepGroupCounts &group : groups)
    for (size_t i = 0; i < group.steps; ++i, ++step) {
      table.insert(table.end(),
                   {task, elements[step], static_cast<int64_t>(reads), static_cast<int64_t>(writes)});
      task += elements[step] / chunk + (elements[step] % chunk != 0);
      reads += group.reads;
      writes += group.writes;
    }
  table.push_back(task);
  return table;
}

std::vector<int64_t> step_table(const fb::KernelLaunch &launch) {
  return step_table(counts_of(launch), elements_of(launch), launch.chunk());
}

std::optional<int64_t> step_tasks(std::span<const int64_t> elements, int64_t chunk) {
  if (chunk < 1)
    return std::nullopt;
  int64_t tasks = 0;
  for (const int64_t count : elements)
    if (count < 0 || __builtin_add_overflow(tasks, count / chunk + (count % chunk != 0), &tasks))
      return std::nullopt;
  return tasks;
}

Status check_step_table(const fb::KernelLaunch &launch, std::span<const uint64_t> operand_bytes) {
  if (launch.chunk() < 1)
    return Status::error("has a table of tensors in chunks of " + std::to_string(launch.chunk()) +
                         " elements");
  if (Status status = check_counts(launch, operand_bytes.size()); !status)
    return status;
  size_t at = 0;
  const auto holds = [&](uint64_t bytes) {
    const bool right = operand_bytes[at] == bytes;
    at += right;
    return right;
  };
  const auto wrong = [&](auto bytes) {
    return differs("bytes for operand " + std::to_string(at), operand_bytes[at], bytes);
  };
  for (uint32_t i = 0; i < length(launch.groups()); ++i) {
    const auto *numbers = launch.groups()->Get(i)->number_bytes();
    for (uint32_t j = 0; j < length(numbers); ++j)
      if (!holds(static_cast<uint64_t>(numbers->Get(j))))
        return wrong(numbers->Get(j));
  }
  const std::span<const int64_t> elements = elements_of(launch);
  for (const bool written : {false, true}) {
    size_t step = 0;
    for (uint32_t i = 0; i < length(launch.groups()); ++i) {
      const fb::StepGroup &group = *launch.groups()->Get(i);
      for (uint32_t j = 0; j < group.steps(); ++j, ++step) {
        uint64_t bytes = 0;
        if (elements[step] < 0 ||
            __builtin_mul_overflow(static_cast<uint64_t>(elements[step]), uint64_t(group.item()), &bytes))
          return Status::error("has the size " + std::to_string(elements[step]) + " in its table of tensors");
        for (uint32_t k = 0; k < (written ? group.writes() : group.reads()); ++k)
          if (!holds(bytes))
            return wrong(bytes);
      }
    }
  }
  const std::optional<int64_t> tasks = step_tasks(elements, launch.chunk());
  if (!tasks || launch.tasks() != *tasks)
    return differs("tasks", launch.tasks(), tasks.value_or(-1));
  return {};
}

} // namespace weft::runtime
