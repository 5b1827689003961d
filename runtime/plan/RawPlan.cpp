//===- RawPlan.cpp - Launches of kernels that the user wrote --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/RawPlan.h"

#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanFields.h"

#include <array>
#include <vector>

namespace weft::runtime {
namespace {

constexpr uint32_t addressBytes = 8;
/// What every GPU can launch, in each dimension.
constexpr std::array<int64_t, 3> mostBlocks = {INT32_MAX, 65535, 65535}, mostThreads = {1024, 1024, 64};

template <typename Extents> std::string extents_text(const Extents *extents) {
  std::string all;
  for (uint32_t i = 0; i < length(extents); ++i)
    all += (i ? ", " : "") + number(extents->Get(i));
  return "[" + all + "]";
}

template <typename Extents>
bool are_extents(const Extents *extents, int64_t least, const std::array<int64_t, 3> &most) {
  if (length(extents) != most.size())
    return false;
  for (uint32_t i = 0; i < most.size(); ++i)
    if (extents->Get(i) < least || extents->Get(i) > most[i])
      return false;
  return true;
}

template <typename Extents> LaunchExtents extents_of(const Extents &extents) {
  return {static_cast<uint32_t>(extents.Get(0)), static_cast<uint32_t>(extents.Get(1)),
          static_cast<uint32_t>(extents.Get(2))};
}

bool is_number(const fb::RawArgument &argument) {
  return argument.operand() == -1 && argument.result() == -1;
}

/// What is wrong with the arguments by themselves: each buffer of the launch is given once.
std::string arguments_problem(const fb::RawLaunch &launch, const fb::Plan &plan) {
  std::vector<uint32_t> given(length(launch.buffers()));
  const auto take = [&](int index, uint32_t begin, uint32_t end) {
    if (index == -1)
      return true;
    if (index < static_cast<int64_t>(begin) || index >= static_cast<int64_t>(end))
      return false;
    ++given[static_cast<uint32_t>(index)];
    return true;
  };
  for (uint32_t i = 0; i < length(launch.arguments()); ++i) {
    const fb::RawArgument &argument = *launch.arguments()->Get(i);
    const std::string what = "gives parameter " + number(i) + " ";
    if (!take(argument.operand(), 0, launch.first_result()) ||
        !take(argument.result(), launch.first_result(), length(launch.buffers())))
      return what + "operand " + number(argument.operand()) + " and result " + number(argument.result()) +
             ", which are not there";
    const uint64_t bytes = argument.bytes();
    if (is_number(argument) && bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
      return what + "a number of " + number(bytes) + " bytes";
    if (argument.size() != -1 && (!is_number(argument) || bytes != sizeof(int64_t) || argument.size() < 0))
      return what + "the size " + number(argument.size()) + " as a number of " + number(bytes) + " bytes";
    if (argument.operand() == -1 || argument.result() == -1)
      continue;
    for (const int index : {argument.operand(), argument.result()})
      if (plan.buffers()->Get(launch.buffers()->Get(static_cast<uint32_t>(index)))->bytes() != bytes)
        return what + "a buffer that is not of " + number(bytes) + " bytes to change";
  }
  for (uint32_t i = 0; i < given.size(); ++i)
    if (given[i] != 1)
      return "gives its kernel buffer " + number(i) + " of " + number(given.size()) + " for " +
             number(given[i]) + " parameters, expected one";
  return "";
}

/// No buffer that is written shares a byte with another one, but for one that is changed in place.
std::string overlaps_problem(const fb::RawLaunch &launch, const fb::Plan &plan) {
  const auto buffer = [&](uint32_t i) { return launch.buffers()->Get(i); };
  std::vector<bool> in_place(length(launch.buffers()));
  for (uint32_t i = 0; i < length(launch.arguments()); ++i) {
    const fb::RawArgument &argument = *launch.arguments()->Get(i);
    if (argument.operand() >= 0 && argument.result() >= 0)
      if (const auto operand = static_cast<uint32_t>(argument.operand());
          buffer(operand) == buffer(static_cast<uint32_t>(argument.result())))
        in_place[operand] = true;
  }
  // What is changed in place is the buffer of the result.
  std::vector<BufferAccess> accesses;
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < length(launch.buffers()); ++i)
    if (!in_place[i]) {
      accesses.push_back({buffer(i), i >= launch.first_result()});
      numbers.push_back(i);
    }
  if (const std::optional<SharedBytes> found = shared_bytes(accesses, plan))
    return "writes buffer " + number(numbers[found->written]) + ", which shares bytes with its buffer " +
           number(numbers[found->other]);
  return "";
}

} // namespace

std::string raw_kernel_problem(const fb::DeviceKernel &kernel) {
  constexpr uint64_t mostParameterBytes = 4096; // of every driver
  const fb::RawKernel &raw = *kernel.raw();
  if (text(raw.entry()).empty())
    return "is of the user, and names no function of its code";
  if (length(kernel.pointers()) || kernel.sizes() || kernel.takes_table() || kernel.takes_checks() ||
      kernel.takes_predicate())
    return "is of the user, and has parameters of kernels of Weft";
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < length(raw.parameters()); ++i)
    bytes += raw.parameters()->Get(i);
  if (bytes > mostParameterBytes)
    return "has parameters of " + number(bytes) + " bytes, more than " + number(mostParameterBytes);
  return "";
}

std::string raw_launch_problem(const fb::RawLaunch &launch, const fb::Plan &plan) {
  if (launch.first_result() >= length(launch.buffers()))
    return "has the first result " + number(launch.first_result()) + " of " +
           number(length(launch.buffers())) + " buffers: it would write nothing";
  for (uint32_t i = 0; i < length(launch.buffers()); ++i)
    if (launch.buffers()->Get(i) >= length(plan.buffers()))
      return "has buffer " + number(launch.buffers()->Get(i)) + " of " + number(length(plan.buffers()));
  if (!aligned(launch.grid()))
    return "has a misaligned grid";
  if (!are_extents(launch.grid(), 0, mostBlocks))
    return "has a grid of " + extents_text(launch.grid()) + " blocks, which no GPU launches";
  if (!are_extents(launch.block(), 1, mostThreads))
    return "has blocks of " + extents_text(launch.block()) + " threads, which no GPU launches";
  if (std::string problem = arguments_problem(launch, plan); !problem.empty())
    return problem;
  return overlaps_problem(launch, plan);
}

Expected<RawForm> raw_form(const fb::RawLaunch &launch, const fb::DeviceKernel &kernel) {
  RawForm form;
  form.grid = extents_of(*launch.grid());
  form.block = extents_of(*launch.block());
  form.shared_bytes = launch.shared_bytes();
  if (const uint32_t threads = form.block.x * form.block.y * form.block.z; threads > kernel.threads())
    return Status::error("has blocks of " + number(threads) + " threads, and its kernel was made for up to " +
                         number(kernel.threads()));
  if (form.shared_bytes > kernel.shared_bytes())
    return Status::error("asks for " + number(form.shared_bytes) +
                         " bytes of shared memory, and its kernel was made for up to " +
                         number(kernel.shared_bytes()));
  const auto *parameters = kernel.raw()->parameters();
  if (length(launch.arguments()) != length(parameters))
    return Status::error("gives " + number(length(launch.arguments())) +
                         " parameters, and its kernel takes " + number(length(parameters)));
  for (uint32_t i = 0; i < length(parameters); ++i) {
    const fb::RawArgument &argument = *launch.arguments()->Get(i);
    const uint64_t bytes = is_number(argument) ? argument.bytes() : addressBytes;
    if (bytes != parameters->Get(i))
      return Status::error("gives " + number(bytes) + " bytes for parameter " + number(i) +
                           ", and its kernel takes " + number(parameters->Get(i)));
    if (is_number(argument)) {
      form.parameters.push_back(
          {-1, static_cast<uint8_t>(bytes),
           argument.size() == -1 ? argument.bits() : static_cast<uint64_t>(argument.size())});
      continue;
    }
    form.parameters.push_back(
        {argument.result() >= 0 ? argument.result() : argument.operand(), addressBytes, 0});
    const auto from = static_cast<uint32_t>(argument.operand()),
               to = static_cast<uint32_t>(argument.result());
    if (argument.operand() >= 0 && argument.result() >= 0 &&
        launch.buffers()->Get(from) != launch.buffers()->Get(to))
      form.copies.push_back({from, to, argument.bytes()});
  }
  return form;
}

} // namespace weft::runtime
