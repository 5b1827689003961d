//===- KernelAlignments.cpp - Where a kernel's operands begin ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/KernelAlignments.h"

#include "runtime/memory/Layout.h"
#include "runtime/plan/DeviceImage.h"
#include "runtime/plan/DynamicPlan.h"
#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanDevices.h"
#include "runtime/plan/PlanFields.h"

#include <algorithm>
#include <bit>

namespace weft::runtime {
namespace {

/// The alignments of a plan's buffers.
class Addresses {
public:
  explicit Addresses(const fb::Plan &plan) : plan_(plan), devices_(plan_devices(plan)) {}

  uint32_t alignment_of(uint32_t number) const {
    constexpr uint64_t most = 256;
    const fb::Buffer &buffer = *plan_.buffers()->Get(number);
    const auto [storage, index] = place_of(plan_, buffer);
    uint64_t base = most; // of memory of the runtime
    if (storage == fb::Storage::argument) {
      const fb::Argument &argument = *plan_.arguments()->Get(index);
      base = std::max<uint64_t>(argument.alignment(), itemsize(static_cast<DType>(argument.type()->dtype())));
    } else if (storage == fb::Storage::result) {
      // The caller may give its memory. Of a loop's body it is a row.
      const uint32_t own = plan_.results()->Get(index)->alignment();
      base = own ? own : widestAccess;
    }
    // The memory of a device begins with its part of the arena.
    const uint64_t before = storage == fb::Storage::arena ? devices_[buffer.device()].arena_begin : 0;
    const uint64_t all = base | (buffer.offset() - before);
    return static_cast<uint32_t>(std::min(all & (~all + 1), most));
  }

  /// What is wrong with an operand of which a kernel reads so many bytes at once.
  std::string problem_of(uint32_t number, uint32_t bytes) const {
    const fb::Buffer &buffer = *plan_.buffers()->Get(number);
    // One that is shorter is read by elements; the plan of the sizes of a call has numbers.
    if (is_expression(static_cast<int64_t>(buffer.offset())) ||
        is_expression(static_cast<int64_t>(buffer.bytes())) || buffer.bytes() < bytes ||
        alignment_of(number) >= bytes)
      return "";
    return "begins at a multiple of " + runtime::number(alignment_of(number)) +
           " bytes, and its kernel needs one of " + runtime::number(bytes);
  }

private:
  const fb::Plan &plan_;
  const std::vector<PlanDevice> devices_;
};

/// The same for a launch of one of our kernels, whose operands are `buffers`.
std::string launch_problem(const Addresses &addresses, const DeviceLaunch &made,
                           const std::vector<uint32_t> &buffers) {
  const auto *alignments = made.kernel->alignments();
  if (length(alignments) == 0)
    return "";
  const bool is_table = made.kernel->takes_table();
  for (uint32_t i = 0; i < (is_table ? buffers.size() : made.pointers.size()); ++i) {
    const uint32_t operand = is_table ? i : made.pointers[i];
    const std::string problem = addresses.problem_of(buffers[operand], alignments->Get(is_table ? 0 : i));
    if (!problem.empty())
      return "has operand " + number(operand) + " in buffer " + number(buffers[operand]) + ", which " +
             problem;
  }
  return "";
}

} // namespace

uint32_t address_alignment(const fb::Plan &plan, uint32_t buffer) {
  return Addresses(plan).alignment_of(buffer);
}

std::string alignments_problem(const fb::DeviceKernel &kernel) {
  const uint32_t count = length(kernel.alignments());
  if (count != 0 && count != (kernel.takes_table() ? 1 : length(kernel.pointers())))
    return "has " + number(count) + " alignments of its " + number(length(kernel.pointers())) + " pointers";
  for (uint32_t i = 0; i < count; ++i)
    if (const uint32_t bytes = kernel.alignments()->Get(i);
        !std::has_single_bit(bytes) || bytes > widestAccess)
      return "needs an operand at a multiple of " + number(bytes) + " bytes, expected a power of two up to " +
             number(widestAccess);
  return "";
}

Status check_kernel_alignments(const fb::Plan &plan, const DeviceImage &image) {
  const Addresses addresses(plan);
  for (uint32_t i = 0; i < length(plan.launches()); ++i) {
    const fb::Launch &launch = *plan.launches()->Get(i);
    if (!is_device_launch(plan, launch))
      continue;
    std::vector<uint32_t> buffers;
    for (const BufferAccess &access : accesses_of(launch))
      buffers.push_back(access.buffer);
    std::vector<DeviceLaunch> all;
    if (const fb::KernelLaunch *kernel = launch.op_as_KernelLaunch()) {
      Expected<DeviceLaunch> made = image.launch_of(*kernel);
      if (!made)
        return made.status();
      all.push_back(*std::move(made));
    } else if (length(launch.own())) {
      Expected<std::vector<DeviceLaunch>> made = image.own_launches(launch);
      if (!made)
        return made.status();
      all = *std::move(made);
    }
    for (const DeviceLaunch &made : all)
      if (const std::string problem = launch_problem(addresses, made, buffers); !problem.empty())
        return Status::error("launch " + number(i) + " '" + text(launch.name()) + "' " + problem);
  }
  return {};
}

} // namespace weft::runtime
