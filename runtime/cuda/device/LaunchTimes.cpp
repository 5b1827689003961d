//===- LaunchTimes.cpp - How long launches of a stream take ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/LaunchTimes.h"

#include <atomic>

namespace weft::runtime {
namespace {

long new_lane(const CudaContext &context) {
  static std::atomic<int> streams{0};
  return Profiler::get().add_lane(context.name() + " stream " + std::to_string(++streams));
}

} // namespace

LaunchTimes::LaunchTimes(const CudaContext &context, CUstream stream)
    : context_(context), stream_(stream), lane_(new_lane(context)) {
  Profiler::get().add_source(this);
}

LaunchTimes::~LaunchTimes() {
  Profiler::get().remove_source(this);
  collect();
  const ContextScope scope(context_);
  if (!scope.status().ok())
    return;
  for (const CUevent event : events_)
    (void)context_.table().cuEventDestroy(event);
  for (const CUevent event : {base_, begun_})
    if (event)
      (void)context_.table().cuEventDestroy(event);
}

Expected<CUevent> LaunchTimes::record() {
  CUevent event = nullptr;
  if (!events_.empty()) {
    event = events_.back();
    events_.pop_back();
  } else if (Status status =
                 context_.check(context_.table().cuEventCreate(&event, CU_EVENT_DEFAULT), "making an event");
             !status) {
    return status;
  }
  if (Status status = context_.check(context_.table().cuEventRecord(event, stream_), "recording an event");
      !status) {
    events_.push_back(event);
    return status;
  }
  return event;
}

Status LaunchTimes::begin() {
  const std::lock_guard lock(mutex_);
  if (!base_) {
    const Expected<CUevent> event = record();
    if (!event)
      return event.status();
    base_ = *event;
    if (Status status = context_.end_wait(context_.table().cuEventSynchronize(base_), "waiting for its work");
        !status)
      return status;
    base_ns_ = Profiler::now();
  }
  if (begun_) // of a launch that failed
    events_.push_back(std::exchange(begun_, nullptr));
  const Expected<CUevent> event = record();
  if (!event)
    return event.status();
  begun_ = *event;
  return {};
}

Status LaunchTimes::end(std::string name, std::string location, uint64_t bytes, uint64_t flops) {
  constexpr size_t mostPending = 10000;
  const std::lock_guard lock(mutex_);
  const Expected<CUevent> event = record();
  if (!event)
    return event.status();
  pending_.push_back(
      {std::move(name), std::move(location), bytes, flops, std::exchange(begun_, nullptr), *event});
  if (pending_.size() >= mostPending)
    collect_all();
  return {};
}

void LaunchTimes::collect() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    const ContextScope scope(context_);
    if (scope.status().ok())
      collect_all();
  } catch (...) { // NOLINT(bugprone-empty-catch): the launches count, their records do not
  }
}

void LaunchTimes::collect_all() {
  const DriverTable &table = context_.table();
  constexpr double nsOfMs = 1e6;
  const auto since_base = [&](CUevent event, int64_t &ns) {
    float ms = 0;
    if (table.cuEventElapsedTime(&ms, base_, event) != CUDA_SUCCESS)
      return false;
    ns = base_ns_ + static_cast<int64_t>(static_cast<double>(ms) * nsOfMs);
    return true;
  };
  for (const Timed &timed : pending_) {
    int64_t begin_ns = 0, end_ns = 0;
    // A launch that has failed has no time; who waits for it reports it.
    if (table.cuEventSynchronize(timed.end) == CUDA_SUCCESS && since_base(timed.begin, begin_ns) &&
        since_base(timed.end, end_ns)) {
      Profiler::get().record(timed.name, timed.location, begin_ns, end_ns, timed.bytes, timed.flops, lane_);
      // A number of milliseconds has 24 bits: time is counted from the last launch on.
      events_.push_back(std::exchange(base_, timed.end));
      base_ns_ = end_ns;
    } else {
      events_.push_back(timed.end);
    }
    events_.push_back(timed.begin);
  }
  pending_.clear();
}

} // namespace weft::runtime
