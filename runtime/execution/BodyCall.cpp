//===- BodyCall.cpp - Calls of functions that launches run ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/BodyCall.h"

#include "runtime/plan/PlanFields.h"
#include "runtime/threads/Executor.h"

namespace weft::runtime {

Expected<BodyCall> BodyCall::make(std::shared_ptr<const Executable::Impl> body,
                                  std::span<const uint64_t> argument_bytes,
                                  std::span<const uint64_t> result_bytes, const Device *device,
                                  const std::string &what) {
  const Signature &signature = body->signature;
  const auto wrong = [&](const std::string &problem) {
    return Status::error("'" + signature.function + "', " + what + ", " + problem +
                             ": compile the program again",
                         "WEFT-L008");
  };
  const auto acts = [](const Launch &launch) { return launch.kind == LaunchKind::print; };
  if (!signature.symbols.empty() || body->devices.size() != 1 || body->devices[0].device != device ||
      body->any_fallible || body->scalar_bytes || std::ranges::any_of(body->launches, acts))
    return wrong("has other devices, scalars, or effects, or may fail");
  if (signature.arguments.size() != argument_bytes.size() || signature.results.size() != result_bytes.size())
    return wrong("takes " + number(signature.arguments.size()) + " arguments and returns " +
                 number(signature.results.size()) + " results, expected " + number(argument_bytes.size()) +
                 " and " + number(result_bytes.size()));
  for (size_t i = 0; i < argument_bytes.size(); ++i)
    if (const ArgumentInfo &argument = signature.arguments[i];
        argument.donated || argument.role != ArgumentRole::argument || !argument.type.strides.empty() ||
        argument.type.bytes != argument_bytes[i])
      return wrong("takes argument " + number(i) + " of " + number(argument.type.bytes) +
                   " bytes, expected plain memory of " + number(argument_bytes[i]));
  for (size_t i = 0; i < result_bytes.size(); ++i)
    if (const ResultInfo &result = signature.results[i];
        result.tied_to >= 0 || result.is_alias() || result.type.bytes != result_bytes[i])
      return wrong("returns result " + number(i) + " of " + number(result.type.bytes) +
                   " bytes, expected memory of its own of " + number(result_bytes[i]));
  return BodyCall(std::move(body));
}

size_t BodyCall::scratch_bytes(int width) const {
  constexpr int byteBits = 48;
  std::atomic<uint64_t> &known = width == 1 ? scratch_->of_one : scratch_->of_many;
  if (const uint64_t found = known.load(std::memory_order_relaxed);
      found >> byteBits == static_cast<uint64_t>(width))
    return found & ((uint64_t(1) << byteBits) - 1);
  const size_t bases = body_->signature.arguments.size() + body_->signature.results.size() + basesOfDevice;
  const size_t bytes = align_line(body_->memory_on(body_->devices[0], width).total) +
                       align_line((bases + body_->operands.size()) * sizeof(void *));
  if (bytes >> byteBits == 0)
    known.store(static_cast<uint64_t>(width) << byteBits | bytes, std::memory_order_relaxed);
  return bytes;
}

BodyCall::Calls::Calls(const BodyCall &body, std::byte *scratch, bool serial, const CallOrigin *origin)
    : arena_(scratch) {
  const Executable::Impl &function = body.function();
  run_.width = serial ? 1 : executor().width();
  const CallMemory layout = function.memory_on(function.devices[0], run_.width);
  bases_ = reinterpret_cast<void **>(scratch + align_line(layout.total));
  run_.function = &function;
  run_.launches = function.launches;
  run_.pointers = {bases_ + function.signature.arguments.size() + function.signature.results.size() +
                       basesOfDevice,
                   function.operands.size()};
  run_.library_scratch = scratch + layout.library_scratch;
  run_.scratch = scratch + layout.scratch;
  // Launches that are too short for several threads are so in every call.
  run_.serial = serial || function.is_serial();
  run_.origin = origin;
}

Status BodyCall::Calls::run(std::span<void *const> arguments, std::span<void *const> results) {
  const Executable::Impl &function = *run_.function;
  void **const of_device = std::ranges::copy(results, std::ranges::copy(arguments, bases_).out).out;
  of_device[arenaBase] = arena_;
  of_device[constantsBase] = const_cast<std::byte *>(function.constants);
  of_device[scalarsBase] = nullptr;
  for (size_t i = 0; i < function.operands.size(); ++i)
    run_.pointers[i] =
        static_cast<std::byte *>(bases_[function.operands[i].base]) + function.operands[i].offset;
  return run_launches(run_);
}

} // namespace weft::runtime
