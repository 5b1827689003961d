//===- Segments.cpp - Calls of functions on several devices -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/Segments.h"

#include "runtime/execution/BranchParts.h"
#include "runtime/execution/WhileTrips.h"
#include "runtime/plan/PlanDevices.h"
#include "runtime/plan/PlanFields.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace weft::runtime {
namespace {

/// The work that a call has issued to one device.
struct Issued {
  DeviceStream *stream = nullptr;
  bool any = false;         ///< since the host last waited for it
  bool begun = false;       ///< the call's record is ready in its memory
  uint32_t checks = 0;      ///< segments that may fail,
  uint32_t seen_checks = 0; ///< and how many of them the host has looked at
  /// How many segments that may fail of each other device it knows the key after.
  std::array<uint32_t, maxPlanDevices> known_checks = {};
  std::shared_ptr<Buffer> predicate; ///< the host's copy of that of a branch or a loop, in pinned memory
};

/// The device's address of a part of its record. The host must not dereference it.
void *part_of(FailureRecord *record, size_t offset) { return reinterpret_cast<std::byte *>(record) + offset; }
void *key_in(FailureRecord *record) { return part_of(record, offsetof(FailureRecord, key)); }
void *foreign_key_in(FailureRecord *record, size_t device) {
  return part_of(record, offsetof(FailureRecord, foreign) + device * sizeof(uint64_t));
}

bool is_host_action(const Launch &launch) {
  return launch.kind == LaunchKind::print || launch.kind == LaunchKind::require;
}

class Driver {
public:
  Driver(const Executable::Impl &function, std::span<LaunchRun> runs, std::span<const std::byte> scalars,
         Queue &queue)
      : function_(function), runs_(runs), scalars_(scalars), queue_(queue) {
    // Violations that the host finds, in its launches and in copies of values, are in one record.
    for (size_t i = 0; i < runs.size(); ++i)
      if (is_host(i) && function.any_fallible)
        runs[i].failure = &found_;
  }

  Status run() {
    Status status;
    std::exception_ptr thrown;
    try {
      status = open_streams();
      for (size_t i = 0; i < runs_.size() && status.ok(); ++i)
        status = send_scalars(i);
      // Once the host knows of a failure it issues nothing more. Where it does not, predicates hold.
      points_.resize(function_.segments.size());
      for (size_t i = 0; i < function_.segments.size() && status.ok() && !found_.failed(); ++i) {
        status = carry_out(function_.segments[i]);
        if (status.ok() && function_.segments[i].awaited)
          status = mark(i);
      }
      for (size_t i = 0; i < runs_.size() && status.ok(); ++i)
        status = fetch_record(i);
    } catch (...) {
      thrown = std::current_exception();
    }
    // The streams use the call's memory until they are done, also if the call fails.
    for (size_t device = 0; device < runs_.size(); ++device)
      if (Status last = settle(device); status.ok())
        status = std::move(last);
    if (thrown)
      std::rethrow_exception(thrown);
    return status.ok() ? first_failure() : status;
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

  Status send_scalars(size_t device) {
    if (is_host(device) || !runs_[device].scalars)
      return {};
    issued_[device].any = true;
    return issued_[device].stream->copy(runs_[device].scalars, scalars_.data(), scalars_.size(),
                                        CopyDirection::host_to_device);
  }

  Status wait_for(size_t device) {
    Issued &issued = issued_[device];
    if (!issued.stream || !issued.any)
      return {};
    Expected<Point> point = issued.stream->record();
    if (!point)
      return point.status();
    Status status = point->wait();
    issued.any = false;
    return status;
  }

  /// Waits for a device at the end of a call. If no point can be recorded, the stream is destroyed, which
  /// waits.
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

  /// Marks the end of a segment of a device. What the host carries out is done.
  Status mark(size_t segment) {
    const uint8_t device = function_.segments[segment].device;
    if (is_host(device))
      return {};
    Expected<Point> point = issued_[device].stream->record();
    if (!point)
      return point.status();
    points_[segment] = *point;
    return {};
  }

  Status carry_out(const Segment &segment) {
    for (const uint32_t wait : segment.waits) {
      const Point &point = points_[wait];
      if (Status status =
              is_host(segment.device) ? point.wait() : issued_[segment.device].stream->wait_for(point);
          !status)
        return status;
    }
    const bool acts = is_host_action(function_.launches[segment.first]);
    // A copy cannot be predicated on a device, so the host reads the keys before it issues one.
    const bool host_looks = is_host(segment.device) || acts || segment.is_copy;
    uint32_t foreign_keys = 0;
    if (segment.predicated)
      if (Status status = host_looks ? see_failures() : send_keys(segment.device, foreign_keys);
          !status || found_.failed())
        return status;
    if (segment.is_copy)
      return copy(function_.launches[segment.first]);
    if (function_.launches[segment.first].decides())
      return carry_out_conditional(segment);
    if (!is_host(segment.device) && acts)
      return act_on_copy(function_.launches[segment.first]);
    issued_[segment.device].checks += segment.may_fail && !is_host(segment.device);
    return issue(segment.device, segment.first, segment.last, foreign_keys);
  }

  /// Issues consecutive launches of a device.
  Status issue(size_t device, size_t first, size_t last, uint32_t foreign_keys) {
    LaunchRun run = runs_[device];
    run.launches = std::span(function_.launches).subspan(first, last - first);
    Issued &issued = issued_[device];
    run.begins = !std::exchange(issued.begun, true);
    run.foreign_keys = foreign_keys;
    issued.any = true;
    return issued.stream->issue(run);
  }

  /// Issues a branch or a while loop as one graph where the device decides, and otherwise what the host
  /// decides. What a loop reads that comes after a failure may never let it end: a graph looks at the
  /// device's own record. The host looks at those of other devices, and at all of them if it decides.
  Status carry_out_conditional(const Segment &segment) {
    Issued &issued = issued_[segment.device];
    if (!knows_all_checks(segment.device))
      if (Status status = see_failures(); !status || found_.failed())
        return status;
    LaunchRun run = runs_[segment.device];
    run.launches = std::span(function_.launches).subspan(segment.first, segment.last - segment.first);
    run.begins = !issued.begun;
    issued.any = true;
    const Expected<bool> as_graph = issued.stream->issue_conditional(run);
    if (!as_graph)
      return as_graph.status();
    if (*as_graph) {
      issued.begun = true;
      return {};
    }
    if (Status status = see_failures(); !status || found_.failed())
      return status;
    return decide(segment.first);
  }

  /// Whether every check that may have failed is one of a device, or was seen by the host.
  bool knows_all_checks(size_t device) const {
    for (size_t i = 0; i < runs_.size(); ++i)
      if (i != device && issued_[i].checks != issued_[i].seen_checks)
        return false;
    return true;
  }

  /// Issues what a launch of a device with this number decides on. The launches cannot fail, and write no
  /// argument.
  Status decide(size_t number) { return function_.launches[number].parts ? choose(number) : repeat(number); }

  /// Issues the one branch that the predicate chooses.
  Status choose(size_t branch) {
    const Launch &launch = function_.launches[branch];
    const Expected<bool> taken = read_predicate(launch);
    if (!taken)
      return taken.status();
    return issue_ranges(branch, *taken ? launch.parts->if_true : launch.parts->if_false);
  }

  /// Issues the trips of a while loop until its predicate is false.
  Status repeat(size_t loop) {
    const Launch &launch = function_.launches[loop];
    const WhileTrips &trips = *launch.trips;
    if (Status status = issue_ranges(loop, trips.begin); !status)
      return status;
    for (size_t place = WhileTrips::result;; place = WhileTrips::after(place)) {
      if (Status status = issue_ranges(loop, trips.at[place].condition); !status)
        return status;
      const Expected<bool> goes_on = read_predicate(launch);
      if (!goes_on)
        return goes_on.status();
      if (Status status = issue_ranges(loop, *goes_on ? trips.at[place].body : trips.at[place].finish);
          !status || !*goes_on)
        return status;
    }
  }

  /// Issues launches that are counted from a launch with this number.
  Status issue_ranges(size_t around, const std::vector<LaunchRange> &ranges) {
    for (const LaunchRange &range : ranges)
      if (Status status = range.decides ? decide(around + range.first)
                                        : issue(function_.launches[around].device, around + range.first,
                                                around + range.last, /*foreign_keys=*/0);
          !status)
        return status;
    return {};
  }

  /// The predicate of a branch or a while loop, for which the host waits.
  Expected<bool> read_predicate(const Launch &launch) {
    Issued &issued = issued_[launch.device];
    if (!issued.predicate) {
      Expected<std::shared_ptr<Buffer>> made =
          Buffer::allocate_pinned(1, *function_.devices[launch.device].device);
      if (!made)
        return made.status();
      issued.predicate = *std::move(made);
    }
    issued.any = true;
    Status status =
        issued.stream->copy(issued.predicate->data(), runs_[launch.device].pointers[launch.first_operand], 1,
                            CopyDirection::device_to_host);
    if (status.ok())
      status = wait_for(launch.device);
    if (!status)
      return status;
    return *static_cast<const uint8_t *>(issued.predicate->data()) != 0;
  }

  /// Reads the keys of all devices that may have failed since the host last read them. Called before the host
  /// prints, or writes an argument.
  Status see_failures() {
    for (size_t i = 0; i < runs_.size(); ++i) {
      Issued &issued = issued_[i];
      if (issued.checks == issued.seen_checks)
        continue;
      uint64_t &key = found_.foreign[i];
      issued.any = true;
      if (Status status =
              issued.stream->copy(&key, key_in(runs_[i].failure), sizeof key, CopyDirection::device_to_host);
          !status)
        return status;
      if (Status status = wait_for(i); !status)
        return status;
      issued.seen_checks = issued.checks;
      found_.merge(uint32_t(1) << i);
    }
    return {};
  }

  /// Copies the keys of the other devices to a device that will write an argument, without waiting for them.
  /// `sent` gets a bit for each device whose key was copied.
  Status send_keys(size_t to, uint32_t &sent) {
    for (size_t from = 0; from < runs_.size(); ++from) {
      uint32_t &known = issued_[to].known_checks[from];
      if (from == to || known == issued_[from].checks)
        continue;
      if (Status status = order(from, to); !status)
        return status;
      issued_[to].any = true;
      if (Status status =
              issued_[to].stream->copy(foreign_key_in(runs_[to].failure, from), key_in(runs_[from].failure),
                                       sizeof(uint64_t), CopyDirection::device_to_device);
          !status)
        return status;
      if (Status status = order(to, from); !status)
        return status;
      known = issued_[from].checks;
      sent |= uint32_t(1) << from;
    }
    return {};
  }

  /// Issues the copy of the record of a device that may have failed, at the end of a call. The host then
  /// waits for it.
  Status fetch_record(size_t device) {
    if (issued_[device].checks == 0)
      return {};
    issued_[device].any = true;
    return issued_[device].stream->copy(&records_[device], runs_[device].failure, sizeof(FailureRecord),
                                        CopyDirection::device_to_host);
  }

  /// The first failure of all devices, in the order of the program. All devices must be done.
  Status first_failure() {
    uint64_t key = found_.key;
    for (size_t i = 0; i < runs_.size(); ++i)
      if (issued_[i].checks)
        key = std::min(key, records_[i].key);
    if (key == FailureRecord::noKey)
      return {};
    // A device also has keys of other devices, without their values.
    std::optional<int64_t> value = found_.value_of(key);
    for (size_t i = 0; i < runs_.size() && !value; ++i)
      if (issued_[i].checks)
        value = records_[i].value_of(key);
    return function_.failure_of(key, value, runs_[0].origin);
  }

  Status copy(const Launch &launch) {
    void *const *at = runs_[0].pointers.data() + launch.first_operand;
    const size_t from = launch.source_device, to = launch.destination_device;
    const auto bytes = static_cast<size_t>(launch.copy_bytes);
    if (bytes == 0)
      return {};
    Issued &issued = issued_[launch.device];
    issued.any = true;
    const CopyDirection direction = is_host(from) ? CopyDirection::host_to_device
                                    : is_host(to) ? CopyDirection::device_to_host
                                                  : CopyDirection::device_to_device;
    return issued.stream->copy(at[1], at[0], bytes, direction);
  }

  /// Work that is issued to `later` from now on waits for the work that was issued to `earlier`.
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
    run.failure = function_.any_fallible ? &found_ : nullptr;
    run.checks = nullptr;
    run.begins = false;
    return run_launches(run);
  }

  const Executable::Impl &function_;
  const std::span<LaunchRun> runs_;
  const std::span<const std::byte> scalars_;
  Queue &queue_;
  std::array<Issued, maxPlanDevices> issued_;
  std::vector<Point> points_;                         ///< the ends of segments that later ones wait for
  FailureRecord found_;                               ///< by the host, and what it has seen of devices
  std::array<FailureRecord, maxPlanDevices> records_; ///< of the devices, at the end of the call
};

} // namespace

std::vector<Segment> segments_of(const fb::Plan &plan, std::span<const Launch> launches,
                                 std::span<const size_t> first_of, std::span<const FunctionDevice> devices) {
  std::vector<Segment> segments;
  if (std::ranges::all_of(devices, [](const FunctionDevice &device) { return device.device->is_host(); }))
    return segments;
  size_t next = 0;
  for (uint32_t i = 0; i < length(plan.segments()); ++i) {
    const fb::Segment &source = *plan.segments()->Get(i);
    Segment segment;
    segment.first = first_of[next];
    segment.last = first_of[next += source.launches()];
    segment.device = static_cast<uint8_t>(source.device());
    const auto own = launches.subspan(segment.first, segment.last - segment.first);
    segment.is_copy = own[0].kind == LaunchKind::copy && own[0].source_device != own[0].destination_device;
    for (const Launch &launch : own) {
      segment.may_fail |= launch.may_fail;
      segment.predicated |= launch.predicated;
    }
    for (uint32_t j = 0; j < length(source.waits()); ++j) {
      segment.waits.push_back(source.waits()->Get(j));
      segments[segment.waits.back()].awaited = true;
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

Status run_segments(const Executable::Impl &function, std::span<LaunchRun> runs,
                    std::span<const std::byte> scalars, Queue &queue) {
  return Driver(function, runs, scalars, queue).run();
}

} // namespace weft::runtime
