//===- IssuedCall.cpp - Calls that overlap on a device ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/IssuedCall.h"

#include "runtime/execution/ProfiledCall.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

namespace weft::runtime {

bool calls_overlap(const Executable::Impl &function) {
  bool launches = false;
  for (const Segment &segment : function.segments) {
    const Launch &first = function.launches[segment.first];
    const bool acts = first.kind == LaunchKind::print || first.kind == LaunchKind::require || first.decides();
    if (acts || (segment.is_copy && segment.predicated) || function.devices[segment.device].device->is_host())
      return false;
    launches |= !segment.is_copy;
  }
  return launches;
}

/// The device's address of a part of its record. The host must not dereference it.
static void *part_of(FailureRecord *record, size_t offset) {
  return reinterpret_cast<std::byte *>(record) + offset;
}

bool IssuedCall::passed() const {
  return over_ || std::ranges::all_of(parts_, [](const Part &part) { return part.end.passed(); });
}

/// The end on each device is that on all.
bool IssuedCall::add_ends(StreamPoints &ends) const {
  const auto any = std::ranges::find_if(parts_, [](const Part &part) { return part.stream; });
  if (any != parts_.end() && !any->end.passed())
    note_point(ends, {any->stream_id, any->end});
  return true;
}

bool IssuedCall::is_ready() const {
  return std::ranges::all_of(awaited, &Ticket::done) && std::ranges::all_of(foreign, &Ticket::is_issued);
}

/// Adds the ends of calls of other queues to the points that the streams wait for.
void IssuedCall::order_after_foreign() {
  std::erase_if(foreign, [](const Ticket &ticket) { return ticket.done(); });
  std::ranges::sort(foreign, &Ticket::sorts_before); // of one stream, the last point counts
  StreamPoints ends;
  for (const Ticket &ticket : foreign)
    if (!ticket.add_ends(ends))
      ticket.wait();
  points.splice(points.end(), ends);
}

void IssuedCall::issue() noexcept {
  for (const Ticket &ticket : awaited)
    ticket.wait();
  for (const Ticket &ticket : foreign)
    ticket.wait_issued();
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

void IssuedCall::clear_if_seen(Buffer &buffer, uint64_t *flag, CallFlags &flags) {
  cleared_of_.reserve(cleared_of_.size() + 1);
  flags.cleared.reserve(flags.cleared.size() + 1);
  if (!buffer.take_clear(sequence))
    return;
  cleared_of_.push_back(&buffer);
  flags.cleared.push_back(flag);
}

void IssuedCall::set_if_failed(Buffer &buffer, uint64_t *flag, CallFlags &flags) {
  flagged_of_.push_back(&buffer);
  flags.flagged.push_back(flag);
}

Status IssuedCall::collect_flags() {
  const Signature &signature = function->signature;
  const auto part_on = [&](const Buffer &buffer) -> Part * {
    for (size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i].stream && function->devices[i].device == &buffer.device())
        return &parts_[i];
    return nullptr; // memory of the host
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    Buffer &argument = *arguments[i];
    Part *const part = part_on(argument);
    if (!part)
      continue;
    if (signature.arguments[i].donated) {
      const Expected<uint64_t *> flag = argument.make_flag();
      if (!flag)
        return flag.status();
      set_if_failed(argument, *flag, part->flags);
    }
    if (uint64_t *const flag = argument.flag()) {
      clear_if_seen(argument, flag, part->flags);
      part->flags.blocking.push_back(flag);
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const ResultInfo &info = signature.results[i];
    Part *const part = part_on(*results[i]);
    if (info.tied_to >= 0 || info.is_alias() || !part)
      continue;
    const Expected<uint64_t *> flag = results[i]->make_flag();
    if (!flag)
      return flag.status();
    clear_if_seen(*results[i], *flag, part->flags);
    set_if_failed(*results[i], *flag, part->flags);
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
  // The streams use the call's memory until they are done.
  for (size_t i = 0; begun_ && i < parts_.size(); ++i)
    if (parts_[i].stream)
      queue->end_stream(*function->devices[i].device);
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

/// Whether somebody reads what becomes of the call. Between devices, records have the order of what ends
/// where. A device whose points tell an error once says with the record that it carried the call out.
bool IssuedCall::needs_record() const {
  const auto is_other = [](const FunctionDevice &own) { return !own.device->is_host(); };
  return may_fail || std::ranges::count_if(function->devices, is_other) > 1 ||
         std::ranges::any_of(function->devices, [&](const FunctionDevice &own) {
           return is_other(own) && !own.device->errors_are_final();
         });
}

Status IssuedCall::make_record(Part &part, Device &device) {
  Expected<std::shared_ptr<Buffer>> record = Buffer::allocate_pinned(sizeof(FailureRecord), device);
  if (!record)
    return record.status();
  part.record = *std::move(record);
  static_cast<FailureRecord *>(part.record->data())->key = FailureRecord::unwrittenKey;
  return {};
}

/// Secures all memory of the call, and opens the streams.
Status IssuedCall::prepare() {
  parts_.resize(function->devices.size());
  marks_.resize(function->segments.size());
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
  const bool recorded = needs_record();
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part &part = parts_[i];
    const FunctionDevice &own = function->devices[i];
    if (own.device->is_host())
      continue;
    // After bind_call(), which ends a stream that cannot tell until when it uses memory that has to grow.
    Expected<DeviceStream *> stream = queue->stream(*own.device);
    if (!stream)
      return stream.status();
    part.stream = *stream;
    part.stream_id = part.stream->id();
    ++streams_;
    if (!recorded)
      runs_[i].failure = nullptr;
    else if (Status status = make_record(part, *own.device); !status)
      return status;
    if (!own.reads_scalars)
      continue;
    std::vector<std::byte> &block = pointers_.scalars;
    block.resize(function->scalar_bytes);
    function->write_scalars(arguments.data(), block.data());
    if (queue->has_scalars(*own.device, runs_[i].scalars, block))
      continue;
    Expected<std::shared_ptr<Buffer>> scalars = Buffer::allocate_pinned(function->scalar_bytes, *own.device);
    if (!scalars)
      return scalars.status();
    part.scalars = *std::move(scalars);
    std::memcpy(part.scalars->data(), block.data(), block.size());
  }
  return recorded ? collect_flags() : Status();
}

Status IssuedCall::bind_and_issue() {
  order_after_foreign();
  if (Status status = prepare(); !status)
    return status;
  begun_ = true;
  if (writes_host_memory)
    if (Status status = wait_for_other_streams(); !status)
      return status;
  for (const Part &part : parts_)
    for (const StreamPoint &use : points)
      if (part.stream && use.stream != part.stream->id())
        if (Status status = part.stream->wait_for(use.point); !status)
          return status;
  if (Status status = join(); !status)
    return status;
  if (Status status = issue_segments(); !status)
    return status;
  if (Status status = join(); !status)
    return status;
  for (Part &part : parts_)
    if (part.stream) {
      Expected<Point> end = part.stream->record();
      if (!end)
        return end.status();
      part.end = *end;
    }
  const auto any = std::ranges::find_if(parts_, [](const Part &part) { return part.stream; });
  for (const auto *buffers : {&arguments, &results})
    for (const std::shared_ptr<Buffer> &buffer : *buffers)
      if (buffer->is_wrapped())
        buffer->note_point(any->stream->id(), any->end);
  return {};
}

/// Earlier calls on devices that this call does not use may still need the host's memory.
Status IssuedCall::wait_for_other_streams() {
  for (DeviceStream *other : queue->streams()) {
    if (std::ranges::any_of(parts_, [&](const Part &part) { return part.stream == other; }))
      continue;
    Expected<Point> point = other->record();
    if (!point)
      return point.status();
    points.push_back({other->id(), *point});
  }
  return {};
}

/// What is issued to any of the streams from now on waits for what has been issued to all of them.
Status IssuedCall::join() {
  for (size_t earlier = 0; streams_ > 1 && earlier < parts_.size(); ++earlier) {
    if (!parts_[earlier].stream)
      continue;
    Expected<Point> point = parts_[earlier].stream->record();
    if (!point)
      return point.status();
    for (size_t later = 0; later < parts_.size(); ++later)
      if (parts_[later].stream && later != earlier)
        if (Status status = parts_[later].stream->wait_for(*point); !status)
          return status;
  }
  return {};
}

Status IssuedCall::order(size_t earlier, size_t later) {
  Expected<Point> point = parts_[earlier].stream->record();
  return point ? parts_[later].stream->wait_for(*point) : point.status();
}

/// Copies the keys of the other devices to a device, which will use them. `sent` gets a bit for each device
/// whose key was copied.
Status IssuedCall::send_keys(size_t to, uint32_t &sent) {
  for (size_t from = 0; from < parts_.size(); ++from) {
    uint32_t &known = parts_[to].known[from];
    if (from == to || known == parts_[from].changes)
      continue;
    if (Status status = order(from, to); !status)
      return status;
    const size_t place = offsetof(FailureRecord, foreign) + from * sizeof(uint64_t);
    if (Status status = parts_[to].stream->copy(part_of(runs_[to].failure, place),
                                                part_of(runs_[from].failure, offsetof(FailureRecord, key)),
                                                sizeof(uint64_t), CopyDirection::device_to_device);
        !status)
      return status;
    if (Status status = order(to, from); !status)
      return status;
    known = parts_[from].changes;
    sent |= uint32_t(1) << from;
  }
  return {};
}

Status IssuedCall::issue_copy(const Launch &launch) {
  if (!launch.copy_bytes)
    return {};
  const CopyDirection direction = !parts_[launch.source_device].stream ? CopyDirection::host_to_device
                                  : !parts_[launch.destination_device].stream
                                      ? CopyDirection::device_to_host
                                      : CopyDirection::device_to_device;
  void *const *at = runs_[launch.device].pointers.data() + launch.first_operand;
  return parts_[launch.device].stream->copy(at[1], at[0], static_cast<size_t>(launch.copy_bytes), direction);
}

Status IssuedCall::issue_run(size_t device, std::span<const Launch> launches, uint32_t foreign, bool begins,
                             bool ends) {
  LaunchRun run = runs_[device];
  run.launches = launches;
  run.foreign_keys = foreign;
  run.begins = begins;
  run.ends = ends;
  if (const std::shared_ptr<Buffer> &record = parts_[device].record) {
    run.flags = &parts_[device].flags;
    run.report = static_cast<FailureRecord *>(record->data());
  }
  return parts_[device].stream->issue(run);
}

Status IssuedCall::issue_segment(size_t number, bool begins, bool ends) {
  const Segment &segment = function->segments[number];
  Part &part = parts_[segment.device];
  for (const uint32_t wait : segment.waits)
    if (Status status = part.stream->wait_for(marks_[wait]); !status)
      return status;
  uint32_t foreign = 0;
  if (segment.predicated)
    if (Status status = send_keys(segment.device, foreign); !status)
      return status;
  const std::span launches =
      std::span(function->launches).subspan(segment.first, segment.last - segment.first);
  if (Status status = segment.is_copy ? issue_copy(launches.front())
                                      : issue_run(segment.device, launches, foreign, begins, ends);
      !status)
    return status;
  part.changes += segment.may_fail;
  if (!segment.awaited)
    return {};
  Expected<Point> mark = part.stream->record();
  if (!mark)
    return mark.status();
  marks_[number] = *mark;
  return {};
}

Status IssuedCall::issue_segments() {
  const bool several = streams_ > 1;
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part &part = parts_[i];
    if (part.scalars) {
      if (Status status = part.stream->copy(runs_[i].scalars, part.scalars->data(), part.scalars->bytes(),
                                            CopyDirection::host_to_device);
          !status)
        return status;
      queue->note_scalars(*function->devices[i].device, runs_[i].scalars, pointers_.scalars);
    }
    // A device may need the record of another one before that one has a launch, if it has any.
    if (!several || !part.stream)
      continue;
    if (Status status = issue_run(i, {}, 0, /*begins=*/true, /*ends=*/false); !status)
      return status;
    part.changes += !part.flags.blocking.empty();
  }
  size_t last = function->segments.size();
  while (function->segments[last - 1].is_copy)
    --last;
  bool begins = !several;
  for (size_t i = 0; i < function->segments.size(); ++i) {
    if (Status status = issue_segment(i, begins, !several && i + 1 == last); !status)
      return status;
    begins &= function->segments[i].is_copy;
  }
  for (size_t i = 0; several && i < parts_.size(); ++i) {
    uint32_t foreign = 0;
    if (!parts_[i].stream)
      continue;
    if (Status status = send_keys(i, foreign); !status)
      return status;
    if (Status status = issue_run(i, {}, foreign, /*begins=*/false, /*ends=*/true); !status)
      return status;
  }
  return {};
}

/// The failure of an earlier call that stopped this one. That call is finished. Null if the host had seen its
/// failure before it issued this call, and does not know which other call was stopped by it.
std::shared_ptr<Failure> IssuedCall::blocked_by() const {
  for (const std::shared_ptr<Buffer> &argument : arguments)
    if (std::shared_ptr<Failure> failure = argument->flag_failure(); failure && failure->blocks(sequence))
      return failure;
  return nullptr;
}

/// Whether a device of the process has ever ended a call by an error of its own. Then its flags say nothing.
static std::atomic<bool> anyDeviceFailed{false};

/// What became of the call. No error if an earlier one has stopped it, which `blocked` then says.
Status IssuedCall::outcome(bool &blocked) {
  Status status;
  uint64_t key = FailureRecord::noKey;
  bool unwritten = false;
  for (Part &part : parts_) {
    if (!part.stream)
      continue;
    if (Status own = part.end.wait(); status.ok())
      status = std::move(own);
    if (!part.record)
      continue;
    const uint64_t own = static_cast<const FailureRecord *>(part.record->data())->key;
    unwritten |= own == FailureRecord::unwrittenKey;
    key = std::min(key, own);
  }
  if (!status || unwritten)
    anyDeviceFailed.store(true, std::memory_order_relaxed);
  if (!status)
    return status;
  if (unwritten)
    return Status::error("the device did not carry it out, because earlier work on the device failed");
  blocked = key == FailureRecord::blockedKey;
  if (blocked || key == FailureRecord::noKey)
    return {};
  // A device also has keys of other devices, without their values.
  std::optional<int64_t> value;
  for (const Part &part : parts_)
    if (part.record && !value)
      value = static_cast<const FailureRecord *>(part.record->data())->value_of(key);
  return function->failure_of(key, value, origin ? &*origin : nullptr);
}

/// Says for later calls on devices that are under way why the buffer has no value.
void IssuedCall::note_flag(Buffer &buffer, const std::shared_ptr<Failure> &failure) const noexcept {
  if (buffer.device().is_host())
    return;
  // A call without a record has made no flags. Where there is no memory for one, the host knows the failure.
  try {
    (void)buffer.make_flag();
    buffer.note_flag(failure, sequence);
  } catch (...) { // NOLINT(bugprone-empty-catch): there is no memory to tell anybody
  }
}

void IssuedCall::finish() noexcept {
  if (over_)
    return;
  // A failure of what this call depends on is known to the buffers when that call is finished.
  for (const Ticket &ticket : foreign)
    ticket.wait();
  std::shared_ptr<Failure> failure;
  try {
    bool blocked = false;
    Status status = function->in_call(outcome(blocked), number, origin);
    // What a call on another device has read is not what a device should have written that has failed.
    if (status.ok() && (blocked || anyDeviceFailed.load(std::memory_order_relaxed)))
      failure = blocked_by();
    if (status.ok() && !blocked && !failure)
      return;
    if (status.ok() && !failure)
      status = function->in_call(Status::error("an earlier call on its arguments failed"), number, origin);
    if (!failure) {
      failure = std::make_shared<Failure>(std::move(status));
      queue->report(failure);
    }
  } catch (...) {
    for (Part &part : parts_)
      part.end.wait_passed();
    failure = no_memory;
    queue->report(failure);
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    if (function->signature.arguments[i].donated)
      note_flag(*arguments[i], failure);
  for (size_t i = 0; i < results.size(); ++i)
    if (function->signature.results[i].tied_to < 0 && !function->signature.results[i].is_alias())
      note_flag(*results[i], failure);
  fail(failure);
}

} // namespace weft::runtime
