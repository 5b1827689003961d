//===- Loop.cpp - The trips of a loop --------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/Loop.h"

namespace weft::runtime {

Expected<std::shared_ptr<const Loop>> Loop::make(std::shared_ptr<const Executable::Impl> body,
                                                 const fb::LoopLaunch &launch, const fb::Plan &plan,
                                                 const Device *device) {
  std::vector<LoopPart> parts = loop_parts(launch, plan);
  std::vector<uint64_t> bytes;
  for (const LoopPart &part : parts)
    bytes.push_back(part.bytes);
  const std::span<const uint64_t> all(bytes);
  if (std::ranges::any_of(body->launches, &Launch::decides))
    return Status::error("'" + body->signature.function +
                             "', the body of a loop, has a while loop or a branch, which no other loop of a "
                             "device issues: compile the program again",
                         "WEFT-L008");
  Expected<BodyCall> call = BodyCall::make(std::move(body), all.first(launch.first_result()),
                                           all.subspan(launch.first_result()), device, "the body of a loop");
  if (!call)
    return call.status();
  return std::shared_ptr<const Loop>(new Loop(*std::move(call), launch, std::move(parts)));
}

Loop::Loop(BodyCall body, const fb::LoopLaunch &launch, std::vector<LoopPart> parts)
    : body_(std::move(body)), parts_(std::move(parts)), operands_(launch.first_result()),
      carries_(launch.carries()), trips_(launch.trips()), reverse_(launch.reverse()) {
  for (size_t i = 0; i < carries_; ++i)
    carry_bytes_ += align_line(parts_[i].bytes);
}

size_t Loop::scratch_bytes(int width) const {
  return carry_bytes_ + align_line(parts_.size() * sizeof(void *)) + body_.scratch_bytes(width);
}

Status Loop::run(void *const *operands, std::byte *scratch, bool serial, const CallOrigin *origin) const {
  void **const at = reinterpret_cast<void **>(scratch + carry_bytes_); // of each part, in the trip
  std::copy_n(operands, parts_.size(), at);
  BodyCall::Calls body(body_, scratch + carry_bytes_ + align_line(parts_.size() * sizeof(void *)), serial,
                       origin);
  for (int64_t trip = 0; trip < trips_; ++trip) {
    std::byte *second = scratch;
    for (size_t i = 0; i < carries_; ++i) {
      void *const result = operands[operands_ + i];
      if (trip)
        at[i] = writes_second(trip) ? result : second;
      at[operands_ + i] = writes_second(trip) ? second : result;
      second += align_line(parts_[i].bytes);
    }
    for (size_t i = carries_; i < parts_.size(); ++i)
      if (parts_[i].role == LoopRole::row)
        at[i] = static_cast<std::byte *>(operands[i]) + static_cast<uint64_t>(row_of(trip)) * parts_[i].bytes;
    if (Status status = body.run({at, operands_}, {at + operands_, parts_.size() - operands_}); !status)
      return status;
  }
  return {};
}

} // namespace weft::runtime
