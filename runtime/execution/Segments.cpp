//===- Segments.cpp - Calls of functions on several devices -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/Segments.h"

#include "runtime/plan/PlanDevices.h"

#include <algorithm>
#include <array>
#include <exception>
#include <new>

namespace weft::runtime {
namespace {

/// What a call has issued to one device.
struct Issued {
  DeviceStream *stream = nullptr;
  bool any = false;          ///< since the host last waited for it
  bool touches_host = false; ///< a copy from or to memory of the host
};

bool is_host_action(const Launch &launch) {
  return launch.kind == LaunchKind::print || launch.kind == LaunchKind::require;
}

class Driver {
public:
  Driver(const Executable::Impl &function, std::span<LaunchRun> runs, Queue &queue)
      : function_(function), runs_(runs), queue_(queue) {}

  Status run() {
    Status status;
    std::exception_ptr thrown;
    try {
      status = open_streams();
      for (size_t i = 0; i < function_.segments.size() && status.ok(); ++i)
        status = carry_out(function_.segments[i]);
    } catch (...) {
      thrown = std::current_exception();
    }
    // The call's memory is the streams' until they are done, whichever way the call ends.
    for (size_t device = 0; device < runs_.size(); ++device)
      if (Status last = settle(device); status.ok())
        status = std::move(last);
    if (thrown)
      std::rethrow_exception(thrown);
    return status;
  }

private:
  bool is_host(size_t device) const { return function_.devices[device].device->is_host(); }

  Status open_streams() {
    for (size_t i = 0; i < runs_.size(); ++i) {
      Expected<DeviceStream *> stream = queue_.stream(*function_.devices[i].device);
      if (!stream)
        return stream.status();
      issued_[i].stream = *stream;
    }
    return {};
  }

  Status wait_for(size_t device) {
    Issued &issued = issued_[device];
    if (!issued.stream || !issued.any)
      return {};
    Expected<Point> point = issued.stream->record();
    if (!point)
      return point.status();
    Status status = point->wait();
    issued.any = issued.touches_host = false;
    return status;
  }

  /// Waits for a device at the end of a call. Where no point can be recorded, its stream ends, which waits.
  Status settle(size_t device) {
    Status status;
    try {
      status = wait_for(device);
    } catch (const std::bad_alloc &) {
      status = out_of_memory();
    }
    if (issued_[device].any)
      queue_.end_stream(*function_.devices[device].device);
    return status;
  }

  Status carry_out(const Segment &segment) {
    if (segment.is_copy)
      return copy(function_.launches[segment.first]);
    if (is_host(segment.device))
      for (size_t i = 0; i < runs_.size(); ++i)
        if (issued_[i].touches_host)
          if (Status status = wait_for(i); !status)
            return status;
    if (!is_host(segment.device) && is_host_action(function_.launches[segment.first]))
      return act_on_copy(function_.launches[segment.first]);
    LaunchRun run = runs_[segment.device];
    run.launches = std::span(function_.launches).subspan(segment.first, segment.last - segment.first);
    Issued &issued = issued_[segment.device];
    issued.any = true;
    if (Status status = issued.stream->issue(run); !status)
      return status;
    // No later segment writes an argument before this one is known to have gone well.
    return segment.may_fail ? wait_for(segment.device) : Status();
  }

  Status copy(const Launch &launch) {
    void *const *at = runs_[0].pointers.data() + launch.first_operand;
    const size_t from = launch.source_device, to = launch.destination_device;
    const auto bytes = static_cast<size_t>(launch.copy_bytes);
    if (bytes == 0)
      return {};
    const size_t worker = is_host(to) ? from : to;
    Issued &issued = issued_[worker];
    const bool with_host = is_host(from) || is_host(to);
    if (!with_host)
      if (Status status = order(from, to); !status)
        return status;
    // A copy of another device may still read or write the same memory of the host.
    for (size_t i = 0; with_host && i < runs_.size(); ++i)
      if (i != worker && issued_[i].touches_host)
        if (Status status = order(i, worker); !status)
          return status;
    issued.any = true;
    issued.touches_host |= with_host;
    const CopyDirection direction = is_host(from) ? CopyDirection::host_to_device
                                    : is_host(to) ? CopyDirection::device_to_host
                                                  : CopyDirection::device_to_device;
    if (Status status = issued.stream->copy(at[1], at[0], bytes, direction); !status)
      return status;
    // What is written to the source from here on waits for the copy.
    return with_host ? Status() : order(to, from);
  }

  /// What is issued to `later` from now on runs after what was issued to `earlier`.
  Status order(size_t earlier, size_t later) {
    Expected<Point> point = issued_[earlier].stream->record();
    return point ? issued_[later].stream->wait_for(*point) : point.status();
  }

  /// Prints or tests a value of a device, which the host reads from a copy.
  Status act_on_copy(const Launch &launch) {
    if (Status status = wait_for(launch.device); !status)
      return status;
    Expected<std::shared_ptr<Buffer>> value = Buffer::allocate(launch.value_bytes);
    if (!value)
      return value.status();
    const void *const from = runs_[0].pointers[launch.first_operand];
    if (Status status = copy_between(host_device(), (*value)->data(),
                                     *function_.devices[launch.device].device, from, launch.value_bytes);
        !status)
      return status;
    void *pointer = (*value)->data();
    Launch on_copy = launch;
    on_copy.first_operand = 0;
    LaunchRun run = runs_[launch.device];
    run.pointers = {&pointer, 1};
    run.launches = {&on_copy, 1};
    return run_launches(run);
  }

  const Executable::Impl &function_;
  const std::span<LaunchRun> runs_;
  Queue &queue_;
  std::array<Issued, maxPlanDevices> issued_;
};

} // namespace

std::vector<Segment> segments_of(std::span<const Launch> launches, std::span<const FunctionDevice> devices) {
  if (std::ranges::all_of(devices, [](const FunctionDevice &device) { return device.device->is_host(); }))
    return {};
  std::vector<Segment> segments;
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch &launch = launches[i];
    const bool is_copy = launch.kind == LaunchKind::copy && launch.source_device != launch.destination_device;
    const bool alone = is_copy || (is_host_action(launch) && !devices[launch.device].device->is_host());
    if (alone || segments.empty() || segments.back().alone || segments.back().device != launch.device)
      segments.push_back({i, i, launch.device, is_copy, alone, false});
    segments.back().last = i + 1;
    segments.back().may_fail |= launch.may_fail;
  }
  return segments;
}

Status run_segments(const Executable::Impl &function, std::span<LaunchRun> runs, Queue &queue) {
  return Driver(function, runs, queue).run();
}

} // namespace weft::runtime
