//===- Loop.cpp - The trips of a loop --------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/Loop.h"

#include "runtime/execution/LaunchRun.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/threads/Executor.h"

namespace weft::runtime {

Expected<std::shared_ptr<const Loop>> Loop::make(std::shared_ptr<const Executable::Impl> body,
                                                 const fb::LoopLaunch &launch, const fb::Plan &plan,
                                                 const Device *device) {
  std::shared_ptr<Loop> loop(new Loop);
  loop->body_ = std::move(body);
  loop->parts_ = loop_parts(launch, plan);
  loop->operands_ = launch.first_result();
  loop->carries_ = launch.carries();
  loop->trips_ = launch.trips();
  loop->reverse_ = launch.reverse();
  for (size_t i = 0; i < loop->carries_; ++i)
    loop->carry_bytes_ += align_line(loop->parts_[i].bytes);
  if (Status status = loop->check_body(device); !status)
    return status;
  return std::shared_ptr<const Loop>(std::move(loop));
}

Status Loop::check_body(const Device *device) const {
  const Signature &signature = body_->signature;
  const auto wrong = [&](const std::string &what) {
    return Status::error("the body '" + signature.function + "' of a loop " + what +
                             ": compile the program again",
                         "WEFT-L008");
  };
  // Beside the host a plan has segments, of which a body has one: it copies nothing between devices.
  if (!signature.symbols.empty() || body_->segments.size() > 1 || body_->devices.size() != 1 ||
      body_->devices[0].device != device || body_->any_fallible || body_->scalar_bytes)
    return wrong("has other devices, scalars, or may fail");
  if (signature.arguments.size() != operands_ || signature.results.size() != parts_.size() - operands_)
    return wrong("takes " + number(signature.arguments.size()) + " arguments and returns " +
                 number(signature.results.size()) + " results, expected " + number(operands_) + " and " +
                 number(parts_.size() - operands_));
  for (size_t i = 0; i < operands_; ++i)
    if (const ArgumentInfo &argument = signature.arguments[i];
        argument.donated || argument.role != ArgumentRole::argument || !argument.type.strides.empty() ||
        argument.type.bytes != parts_[i].bytes)
      return wrong("takes argument " + number(i) + " of " + number(argument.type.bytes) +
                   " bytes, expected plain memory of " + number(parts_[i].bytes));
  for (size_t i = operands_; i < parts_.size(); ++i)
    if (const ResultInfo &result = signature.results[i - operands_];
        result.tied_to >= 0 || result.is_alias() || result.type.bytes != parts_[i].bytes)
      return wrong("returns result " + number(i - operands_) + " of " + number(result.type.bytes) +
                   " bytes, expected memory of its own of " + number(parts_[i].bytes));
  return {};
}

size_t Loop::scratch_bytes(int width) const {
  const size_t bases = parts_.size() + basesOfDevice;
  return align_line(body_->memory_on(body_->devices[0], width).total) + carry_bytes_ +
         align_line((bases + body_->operands.size()) * sizeof(void *));
}

Status Loop::run(void *const *operands, std::byte *scratch, bool serial, const CallOrigin *origin) const {
  const int width = serial ? 1 : executor().width();
  const CallMemory layout = body_->memory_on(body_->devices[0], width);
  std::byte *const second = scratch + align_line(layout.total);
  void **const bases = reinterpret_cast<void **>(second + carry_bytes_);
  void **const of_device = bases + parts_.size();
  void **const pointers = of_device + basesOfDevice;
  of_device[arenaBase] = scratch;
  of_device[constantsBase] = const_cast<std::byte *>(body_->constants);
  of_device[scalarsBase] = nullptr;
  for (size_t i = 0; i < parts_.size(); ++i)
    bases[i] = operands[i];
  LaunchRun run;
  run.function = body_.get();
  run.launches = body_->launches;
  run.pointers = {pointers, body_->operands.size()};
  run.library_scratch = scratch + layout.library_scratch;
  run.scratch = scratch + layout.scratch;
  run.width = width;
  // Launches of one trip that are too short for several threads are so in every trip.
  run.serial = serial || body_->is_serial();
  run.origin = origin;
  for (int64_t trip = 0; trip < trips_; ++trip) {
    const int64_t row = reverse_ ? trips_ - 1 - trip : trip;
    // Carries alternate between two places, so that the last trip writes them where the loop's results are.
    const bool in_second = (trips_ - 1 - trip) % 2 != 0;
    std::byte *next_second = second;
    for (size_t i = 0; i < carries_; ++i) {
      void *const result = operands[operands_ + i];
      if (trip)
        bases[i] = in_second ? result : next_second;
      bases[operands_ + i] = in_second ? next_second : result;
      next_second += align_line(parts_[i].bytes);
    }
    for (size_t i = carries_; i < parts_.size(); ++i)
      if (parts_[i].role == LoopRole::row)
        bases[i] = static_cast<std::byte *>(operands[i]) + static_cast<uint64_t>(row) * parts_[i].bytes;
    for (size_t i = 0; i < body_->operands.size(); ++i)
      pointers[i] = static_cast<std::byte *>(bases[body_->operands[i].base]) + body_->operands[i].offset;
    if (Status status = run_launches(run); !status)
      return status;
  }
  return {};
}

} // namespace weft::runtime
