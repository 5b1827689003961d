//===- BodyCall.cpp - Calls of functions that launches run ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/BodyCall.h"

#include "runtime/execution/LaunchRun.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/threads/Executor.h"

namespace weft::runtime {

Expected<BodyCall> BodyCall::make(std::shared_ptr<const Executable::Impl> body,
                                  std::span<const uint64_t> argument_bytes,
                                  std::span<const uint64_t> result_bytes, const std::string &what) {
  const Signature &signature = body->signature;
  const auto wrong = [&](const std::string &problem) {
    return Status::error("'" + signature.function + "', " + what + ", " + problem +
                             ": compile the program again",
                         "WEFT-L008");
  };
  if (!signature.symbols.empty() || !body->segments.empty() || body->devices.size() != 1 ||
      !body->devices[0].device->is_host() || body->any_fallible || body->scalar_bytes)
    return wrong("has other devices, scalars, or may fail");
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

Status BodyCall::run(std::span<void *const> arguments, std::span<void *const> results, std::byte *scratch,
                     bool serial, const CallOrigin *origin) const {
  const int width = serial ? 1 : executor().width();
  const CallMemory layout = body_->memory_on(body_->devices[0], width);
  void **const bases = reinterpret_cast<void **>(scratch + align_line(layout.total));
  void **const of_device = std::ranges::copy(results, std::ranges::copy(arguments, bases).out).out;
  void **const pointers = of_device + basesOfDevice;
  of_device[arenaBase] = scratch;
  of_device[constantsBase] = const_cast<std::byte *>(body_->constants);
  of_device[scalarsBase] = nullptr;
  for (size_t i = 0; i < body_->operands.size(); ++i)
    pointers[i] = static_cast<std::byte *>(bases[body_->operands[i].base]) + body_->operands[i].offset;
  LaunchRun run;
  run.function = body_.get();
  run.launches = body_->launches;
  run.pointers = {pointers, body_->operands.size()};
  run.library_scratch = scratch + layout.library_scratch;
  run.scratch = scratch + layout.scratch;
  run.width = width;
  // Launches that are too short for several threads are so in every call.
  run.serial = serial || body_->is_serial();
  run.origin = origin;
  return run_launches(run);
}

} // namespace weft::runtime
