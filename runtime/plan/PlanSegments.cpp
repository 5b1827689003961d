//===- PlanSegments.cpp - Launches by who carries them out ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/PlanSegments.h"

#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanDevices.h"
#include "runtime/plan/PlanFields.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace weft::runtime {
namespace {

/// Finds what has to be in order, and either notes what to wait for or says what is missing.
class Order {
public:
  explicit Order(const fb::Plan &plan) : plan_(plan), devices_(plan_devices(plan)) {}

  bool has_segments() const { return devices_.size() > 1 || devices_[0].name != "cpu"; }

  /// Whether a launch is a segment of its own.
  bool is_alone(const fb::Launch &launch) const {
    const bool needs_host =
        launch.op_type() == fb::LaunchOp::HostLaunch || launch.op_type() == fb::LaunchOp::WhileLaunch;
    return is_copy_between(launch) || (needs_host && devices_[launch.device()].name != "cpu");
  }

  /// Whether the host is asked for a copy whose other side it cannot reach.
  bool is_copy_by_host(const fb::Launch &launch) const {
    return is_copy_between(launch) && devices_[launch.device()].name == "cpu";
  }

  /// Looks at the next segment: what it has to wait for, beside what it says it waits for.
  std::vector<uint32_t> missing_waits(const PlanSegment &segment) {
    Seen seen;
    seen.first = segments_.empty() ? 0 : segments_.back().last;
    seen.last = seen.first + segment.launches;
    seen.device = segment.device;
    seen.is_copy = is_copy_between(*plan_.launches()->Get(seen.first));
    for (uint32_t i = seen.first; i < seen.last; ++i)
      for (const BufferAccess &access : accesses_of(*plan_.launches()->Get(i)))
        seen.accesses.push_back(access);
    const auto own = static_cast<uint32_t>(segments_.size());
    // What those before it on its device have waited for is done as well.
    for (uint32_t i = own; i-- > 0;)
      if (segments_[i].device == seen.device) {
        seen.after = segments_[i].after;
        break;
      }
    for (const uint32_t wait : segment.waits)
      follow(seen, wait);
    std::vector<uint32_t> missing;
    for (uint32_t i = own; i-- > 0;) {
      const Seen &other = segments_[i];
      if (other.device == seen.device || seen.after[other.device] > i || !(other.is_copy || seen.is_copy) ||
          !conflict(other, seen))
        continue;
      missing.push_back(i);
      follow(seen, i);
    }
    segments_.push_back(std::move(seen));
    std::ranges::reverse(missing);
    return missing;
  }

private:
  struct Seen {
    uint32_t first = 0, last = 0, device = 0;
    bool is_copy = false;
    /// Of each device, the number after the last segment that is done before this one begins.
    std::array<uint32_t, maxPlanDevices> after = {};
    std::vector<BufferAccess> accesses; ///< of its launches
  };

  bool is_copy_between(const fb::Launch &launch) const {
    const auto *copy = launch.op_as_CopyLaunch();
    return copy && buffer(copy->source()).device() != buffer(copy->destination()).device();
  }

  const fb::Buffer &buffer(uint32_t index) const { return *plan_.buffers()->Get(index); }

  void follow(Seen &seen, uint32_t wait) const {
    const Seen &other = segments_[wait];
    for (size_t i = 0; i < seen.after.size(); ++i)
      seen.after[i] = std::max(seen.after[i], other.after[i]);
    seen.after[other.device] = std::max(seen.after[other.device], wait + 1);
  }

  bool conflict(const Seen &a, const Seen &b) const {
    for (const BufferAccess &one : a.accesses)
      for (const BufferAccess &other : b.accesses)
        if ((one.written || other.written) && buffer(one.buffer).device() == buffer(other.buffer).device() &&
            share_bytes(plan_, buffer(one.buffer), buffer(other.buffer)))
          return true;
    return false;
  }

  const fb::Plan &plan_;
  const std::vector<PlanDevice> devices_;
  std::vector<Seen> segments_;
};

} // namespace

std::vector<PlanSegment> divide_into_segments(const fb::Plan &plan) {
  Order order(plan);
  std::vector<PlanSegment> segments;
  if (!order.has_segments())
    return segments;
  bool alone = false;
  for (uint32_t i = 0; i < length(plan.launches()); ++i) {
    const fb::Launch &launch = *plan.launches()->Get(i);
    const bool is_alone = order.is_alone(launch);
    if (is_alone || alone || segments.empty() || segments.back().device != launch.device())
      segments.push_back({launch.device(), 0, {}});
    ++segments.back().launches;
    alone = is_alone;
  }
  for (PlanSegment &segment : segments)
    segment.waits = order.missing_waits(segment);
  return segments;
}

Status check_segments(const fb::Plan &plan) {
  Order order(plan);
  const uint32_t count = length(plan.segments()), launches = length(plan.launches());
  if (!order.has_segments())
    return count ? Status::error("is for the host alone, and has segments") : Status();
  std::vector<uint32_t> devices;
  uint32_t next = 0;
  int32_t region = -1; // of the last launch before
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Segment &segment = *plan.segments()->Get(i);
    const std::string what = "segment " + number(i) + " ";
    if (segment.launches() == 0 || segment.launches() > launches - next)
      return Status::error(what + "has " + number(segment.launches()) + " launches from number " +
                           number(next) + " on, and there are " + number(launches));
    PlanSegment own{segment.device(), segment.launches(), {}};
    if (region >= 0 && plan.launches()->Get(next)->region() == region)
      return Status::error(what + "goes on with region " + number(region) +
                           " of the segment before it, and a region is issued at once");
    region = plan.launches()->Get(next + own.launches - 1)->region();
    for (uint32_t j = next; j < next + own.launches; ++j) {
      const fb::Launch &launch = *plan.launches()->Get(j);
      if (launch.device() != own.device)
        return Status::error(what + "is of device " + number(own.device) + ", and its launch " + number(j) +
                             " of device " + number(launch.device()));
      if (order.is_copy_by_host(launch))
        return Status::error(what + "is a copy that the host is to carry out, and the device that it is from "
                                    "or to has to");
      if (own.launches > 1 && order.is_alone(launch))
        return Status::error(what + "has " + number(own.launches) + " launches, of which number " +
                             number(j) + " is one that has to be alone");
    }
    for (uint32_t j = 0; j < length(segment.waits()); ++j) {
      const uint32_t wait = segment.waits()->Get(j);
      if (wait >= i || devices[wait] == own.device)
        return Status::error(what + "waits for segment " + number(wait) +
                             ", which is not before it on another device");
      own.waits.push_back(wait);
    }
    if (const std::vector<uint32_t> missing = order.missing_waits(own); !missing.empty())
      return Status::error(what + "does not wait for segment " + number(missing.back()) +
                           ", and they touch the same bytes");
    devices.push_back(own.device);
    next += own.launches;
  }
  if (next != launches)
    return Status::error("its segments have " + number(next) + " of its " + number(launches) + " launches");
  return {};
}

} // namespace weft::runtime
