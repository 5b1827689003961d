//===- InlinedBody.cpp - Launches of a body in a function ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/InlinedBody.h"

#include "runtime/memory/Layout.h"
#include "runtime/plan/LoopPlan.h"
#include "runtime/plan/PlanFields.h"

#include <algorithm>
#include <tuple>

namespace weft::runtime {

static uint32_t bases_of(const Executable::Impl &function, uint8_t device) {
  return static_cast<uint32_t>(function.signature.arguments.size() + function.signature.results.size() +
                               size_t(basesOfDevice) * device);
}

Status wrong_loop(const Executable::Impl &function, const Executable::Impl &body, const std::string &what) {
  return Status::error("the loop or branch with the body '" + body.signature.function + "' in '" +
                           function.signature.function + "' " + what + ": compile the program again",
                       "WEFT-L008");
}

uint64_t share_memory(FunctionDevice &device, uint64_t bytes) {
  if (!device.loop_memory)
    device.loop_memory = align_to(placeAlignment, device.arena_bytes);
  device.arena_bytes = std::max(device.arena_bytes, *device.loop_memory + bytes);
  return device.arena_begin + *device.loop_memory;
}

Status check_size(const Executable::Impl &function, const Executable::Impl &body, uint64_t launches,
                  uint64_t operands) {
  for (const auto &[more, known, most, what] :
       {std::tuple(launches, function.launches.size(), mostLaunches, "launches"),
        std::tuple(operands, function.operands.size(), mostOperands, "operands of launches")})
    if (known > most || more > most - known)
      return wrong_loop(function, body,
                        "has " + number(more) + " " + what + " after " + number(known) +
                            ", and a function has at most " + number(most) + " on a device");
  return {};
}

Operand place_in_arena(const Executable::Impl &function, uint8_t device, uint64_t at) {
  return {bases_of(function, device) + arenaBase, at};
}

InlinedBody::InlinedBody(Executable::Impl &function, const Executable::Impl &body, const Launch &around)
    : function_(function), body_(body), device_(around.device), region_(around.region),
      bases_of_device_(bases_of(function, around.device)), first_constants_(function.loop_constants.size()) {
  FunctionDevice &device = function.devices[device_];
  const FunctionDevice &of_body = body.devices[0];
  device.kernel_scratch = std::max(device.kernel_scratch, of_body.kernel_scratch);
  device.workspace_bytes = std::max(device.workspace_bytes, of_body.workspace_bytes);
  if (!device.code)
    device.code = of_body.code;
  // Constants of the body, and of loops in it.
  function.loop_constants.push_back(of_body.constants);
  function.loop_constants.insert(function.loop_constants.end(), body.loop_constants.begin(),
                                 body.loop_constants.end());
}

/// Bytes of which the address of an operand of the function is a multiple in each call.
uint64_t InlinedBody::alignment_of(const Operand &operand) const {
  const Signature &signature = function_.signature;
  const size_t arguments = signature.arguments.size();
  uint64_t base = placeAlignment;
  if (operand.base < arguments)
    base = std::max<uint64_t>(signature.arguments[operand.base].type.alignment, 1);
  else if (operand.base < arguments + signature.results.size())
    base = signature.results[operand.base - arguments].type.alignment;
  // The memory of a device begins with its part of the arena.
  const uint64_t before =
      operand.base == bases_of_device_ + arenaBase ? function_.devices[device_].arena_begin : 0;
  const uint64_t all = base | (operand.offset - before);
  return all & (~all + 1);
}

Status InlinedBody::check_alignment(size_t value, const Operand &place, uint64_t step) const {
  const size_t arguments = body_.signature.arguments.size();
  const bool is_result = value >= arguments;
  const TensorInfo &type =
      is_result ? body_.signature.results[value - arguments].type : body_.signature.arguments[value].type;
  if (type.alignment <= itemsize(type.dtype) ||
      (alignment_of(place) >= type.alignment && step % type.alignment == 0))
    return {};
  return wrong_loop(function_, body_,
                    "passes " + std::string(is_result ? "a result" : "an argument") +
                        " at an address that is no multiple of " + number(type.alignment) +
                        ", for which its body is compiled (number " + number(value) + ")");
}

/// An operand of the body as one of the function.
Operand InlinedBody::operand_for(std::span<const Operand> values, const Operand &own) const {
  if (own.base < values.size())
    return {values[own.base].base, values[own.base].offset + own.offset};
  const size_t base = own.base - values.size();
  if (base == arenaBase)
    return {bases_of_device_ + arenaBase, arena_ + own.offset};
  const size_t constants = base == constantsBase ? 0 : base - basesOfDevice + 1;
  return {static_cast<uint32_t>(function_.signature.arguments.size() + function_.signature.results.size() +
                                basesOfDevice * function_.devices.size() + first_constants_ + constants),
          own.offset};
}

std::vector<LaunchRange> InlinedBody::add_segments(std::span<const Operand> values, size_t around) const {
  const auto next = static_cast<uint32_t>(function_.launches.size() - around);
  std::vector<LaunchRange> ranges;
  for (const Segment &segment : body_.segments)
    ranges.push_back({next + static_cast<uint32_t>(segment.first), next + static_cast<uint32_t>(segment.last),
                      body_.launches[segment.first].decides()});
  add(values);
  return ranges;
}

void InlinedBody::add(std::span<const Operand> values) const {
  for (size_t i = 0; i < body_.launches.size(); ++i) {
    const size_t first = body_.launches[i].first_operand;
    const size_t end =
        i + 1 < body_.launches.size() ? body_.launches[i + 1].first_operand : body_.operands.size();
    Launch launch = body_.launches[i];
    launch.first_operand = static_cast<uint32_t>(function_.operands.size());
    launch.device = device_;
    launch.region = region_;
    for (size_t operand = first; operand < end; ++operand) {
      function_.operands.push_back(operand_for(values, body_.operands[operand]));
      function_.uses.push_back(body_.uses[operand]);
    }
    function_.launches.push_back(std::move(launch));
  }
}

} // namespace weft::runtime
