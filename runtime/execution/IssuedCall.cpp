//===- IssuedCall.cpp - Calls that overlap on a device ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/IssuedCall.h"

#include "runtime/execution/ProfiledCall.h"

#include <algorithm>

namespace weft::runtime {

int device_of_overlapping_calls(const Executable::Impl &function) {
  int device = -1;
  bool launches = false;
  for (const Segment &segment : function.segments) {
    const Launch &first = function.launches[segment.first];
    const bool acts = first.kind == LaunchKind::print || first.kind == LaunchKind::require;
    if (acts || (segment.is_copy && segment.predicated) || (device >= 0 && device != segment.device))
      return -1;
    device = segment.device;
    launches |= !segment.is_copy;
  }
  if (!launches || function.devices[static_cast<size_t>(device)].device->is_host())
    return -1;
  // What lies in the arena of another device is ordered with that device's own work only.
  for (size_t i = 0; i < function.devices.size(); ++i)
    if (static_cast<int>(i) != device &&
        (function.devices[i].arena_bytes || !function.devices[i].device->is_host()))
      return -1;
  return device;
}

void IssuedCall::issue() noexcept {
  for (const Ticket &ticket : foreign)
    ticket.wait();
  std::shared_ptr<Failure> failure;
  for (size_t i = 0; i < arguments.size() && !failure; ++i)
    failure = arguments[i]->blocking(sequence);
  if (failure)
    return fail(failure);
  Status status = start(/*host_is_told=*/false);
  if (status.ok())
    return;
  failure = abandoned_;
  try {
    if (!failure)
      failure = std::make_shared<Failure>(std::move(status));
  } catch (...) {
    failure = no_memory;
  }
  queue->report(failure);
  fail(failure);
}

Status IssuedCall::issue_here(bool host_sees) {
  Status status;
  for (size_t i = 0; i < arguments.size() && status.ok(); ++i)
    if (arguments[i]->tracked())
      status = arguments[i]->settle(host_sees);
  if (status.ok())
    status = start(/*host_is_told=*/true);
  over_ = !status;
  return status;
}

void IssuedCall::fail(const std::shared_ptr<Failure> &failure) {
  function->note_failure(arguments, results, failure);
  over_ = true;
}

void IssuedCall::clear_if_seen(Buffer &buffer, uint64_t *flag) {
  cleared_of_.reserve(cleared_of_.size() + 1);
  flags_.cleared.reserve(flags_.cleared.size() + 1);
  if (!buffer.take_clear(sequence))
    return;
  cleared_of_.push_back(&buffer);
  flags_.cleared.push_back(flag);
}

void IssuedCall::set_if_failed(Buffer &buffer, uint64_t *flag) {
  flagged_of_.push_back(&buffer);
  flags_.flagged.push_back(flag);
}

Status IssuedCall::collect_flags() {
  const Signature &signature = function->signature;
  Device &device = *function->devices[static_cast<size_t>(function->overlaps_on)].device;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Buffer &argument = *arguments[i];
    if (&argument.device() != &device)
      continue;
    if (signature.arguments[i].donated) {
      const Expected<uint64_t *> flag = argument.make_flag();
      if (!flag)
        return flag.status();
      set_if_failed(argument, *flag);
    }
    if (uint64_t *const flag = argument.flag()) {
      clear_if_seen(argument, flag);
      flags_.blocking.push_back(flag);
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const ResultInfo &info = signature.results[i];
    if (info.tied_to >= 0 || info.is_alias() || &results[i]->device() != &device)
      continue;
    const Expected<uint64_t *> flag = results[i]->make_flag();
    if (!flag)
      return flag.status();
    clear_if_seen(*results[i], *flag);
    set_if_failed(*results[i], *flag);
  }
  return {};
}

Status IssuedCall::start(bool host_is_told) noexcept {
  const ProfiledCall profile{function->signature.function, number, origin ? &*origin : nullptr};
  Status status;
  try {
    status = function->in_call(bind_and_issue(), number, origin);
  } catch (...) {
    status = no_memory->status();
  }
  if (!status)
    abandon(status, host_is_told);
  return status;
}

/// Ends what was issued of a call that could not be issued whole.
void IssuedCall::abandon(const Status &status, bool host_is_told) noexcept {
  // The stream uses the call's memory until it is done.
  if (begun_)
    queue->end_stream(*function->devices[static_cast<size_t>(function->overlaps_on)].device);
  for (Buffer *buffer : cleared_of_)
    buffer->note_flag(buffer->flag_failure(), UINT64_MAX);
  if (!begun_)
    return;
  // The last launches may have set flags, which the next call then has to clear. What earlier calls did to
  // them has to be known first: theirs are not cleared before the host has seen those failures.
  queue->finish_issued();
  std::shared_ptr<Failure> failure = no_memory;
  try {
    failure = std::make_shared<Failure>(status);
  } catch (...) { // NOLINT(bugprone-empty-catch): then it is the one that was made beforehand
  }
  if (host_is_told)
    failure->mark_seen();
  for (Buffer *buffer : flagged_of_)
    if (!buffer->is_flagged())
      buffer->note_flag(failure, UINT64_MAX);
  abandoned_ = std::move(failure);
}

Status IssuedCall::bind_and_issue() {
  const FunctionDevice &own = function->devices[static_cast<size_t>(function->overlaps_on)];
  Expected<DeviceStream *> stream = queue->stream(*own.device);
  if (!stream)
    return stream.status();
  const auto bind = [&] {
    return function->bind_call(arguments.data(), results.data(), *queue, serial, origin ? &*origin : nullptr,
                               pointers_, runs_);
  };
  Status bound = bind();
  if (!bound) {
    queue->finish_issued(); // earlier calls keep their results until they end
    bound = bind();
  }
  if (!bound)
    return bound;
  Expected<std::shared_ptr<Buffer>> record = Buffer::allocate_pinned(sizeof(FailureRecord), *own.device);
  if (!record)
    return record.status();
  record_ = *std::move(record);
  static_cast<FailureRecord *>(record_->data())->key = FailureRecord::unwrittenKey;
  if (own.reads_scalars) {
    Expected<std::shared_ptr<Buffer>> scalars = Buffer::allocate_pinned(function->scalar_bytes, *own.device);
    if (!scalars)
      return scalars.status();
    scalars_ = *std::move(scalars);
    function->write_scalars(arguments.data(), static_cast<std::byte *>(scalars_->data()));
  }
  if (Status status = collect_flags(); !status)
    return status;
  begun_ = true;
  for (const StreamPoint &use : points)
    if (use.stream != (*stream)->id())
      if (Status status = (*stream)->wait_for(use.point); !status)
        return status;
  if (Status status = issue_segments(**stream); !status)
    return status;
  Expected<Point> end = (*stream)->record();
  if (!end)
    return end.status();
  end_ = *end;
  for (const auto *buffers : {&arguments, &results})
    for (const std::shared_ptr<Buffer> &buffer : *buffers)
      if (buffer->is_wrapped())
        buffer->note_point((*stream)->id(), end_);
  return {};
}

Status IssuedCall::issue_segments(DeviceStream &stream) {
  const auto device = static_cast<size_t>(function->overlaps_on);
  const LaunchRun &own = runs_[device];
  if (scalars_)
    if (Status status =
            stream.copy(own.scalars, scalars_->data(), scalars_->bytes(), CopyDirection::host_to_device);
        !status)
      return status;
  size_t last = function->segments.size();
  while (function->segments[last - 1].is_copy)
    --last;
  bool begins = true;
  for (size_t i = 0; i < function->segments.size(); ++i) {
    const Segment &segment = function->segments[i];
    const Launch &first = function->launches[segment.first];
    Status status;
    if (segment.is_copy) {
      void *const *at = own.pointers.data() + first.first_operand;
      if (first.copy_bytes)
        status = stream.copy(at[1], at[0], static_cast<size_t>(first.copy_bytes),
                             first.source_device == device ? CopyDirection::device_to_host
                                                           : CopyDirection::host_to_device);
    } else {
      LaunchRun run = own;
      run.launches = std::span(function->launches).subspan(segment.first, segment.last - segment.first);
      run.begins = std::exchange(begins, false);
      run.ends = i + 1 == last;
      run.flags = &flags_;
      status = stream.issue(run);
    }
    if (!status)
      return status;
  }
  return stream.copy(record_->data(), own.failure, sizeof(FailureRecord), CopyDirection::device_to_host);
}

/// The failure of an earlier call that stopped this one. That call is finished. Null if the host had seen its
/// failure before it issued this call, and does not know which other call was stopped by it.
std::shared_ptr<Failure> IssuedCall::blocked_by() const {
  for (const std::shared_ptr<Buffer> &argument : arguments)
    if (std::shared_ptr<Failure> failure = argument->flag_failure(); failure && failure->blocks(sequence))
      return failure;
  return nullptr;
}

Status IssuedCall::outcome() {
  if (Status status = end_.wait(); !status)
    return status;
  const auto &record = *static_cast<const FailureRecord *>(record_->data());
  if (record.key == FailureRecord::noKey || record.key == FailureRecord::blockedKey)
    return {};
  if (record.key == FailureRecord::unwrittenKey)
    return Status::error("the device did not carry it out, because earlier work on the device failed");
  return function->failure_of(record.key, record.value_of(record.key), origin ? &*origin : nullptr);
}

void IssuedCall::finish() noexcept {
  if (over_)
    return;
  std::shared_ptr<Failure> failure;
  try {
    Status status = function->in_call(outcome(), number, origin);
    const auto &record = *static_cast<const FailureRecord *>(record_->data());
    if (status.ok() && record.key == FailureRecord::noKey)
      return;
    if (status.ok())
      failure = blocked_by();
    if (status.ok() && !failure)
      status = function->in_call(Status::error("an earlier call on its arguments failed"), number, origin);
    if (!failure) {
      failure = std::make_shared<Failure>(std::move(status));
      queue->report(failure);
    }
  } catch (...) {
    end_.wait_passed();
    failure = no_memory;
    queue->report(failure);
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    if (function->signature.arguments[i].donated && arguments[i]->flag())
      arguments[i]->note_flag(failure, sequence);
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i]->flag() && function->signature.results[i].tied_to < 0 &&
        !function->signature.results[i].is_alias())
      results[i]->note_flag(failure, sequence);
  fail(failure);
}

} // namespace weft::runtime
