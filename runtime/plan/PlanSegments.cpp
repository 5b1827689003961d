//===- PlanSegments.cpp - Launches by who carries them out ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/PlanSegments.h"

#include "runtime/plan/DynamicPlan.h"
#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanDevices.h"
#include "runtime/plan/PlanFields.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace weft::runtime {
namespace {

/// The largest of the numbers that ranges were given, where later numbers are larger.
class LatestOfRanges {
public:
  explicit LatestOfRanges(size_t places)
      : size_(std::bit_ceil(std::max<size_t>(places, 1))), of_(2 * size_), all_(2 * size_) {}

  /// Gives the places of [begin, end) a number, which is larger than those before.
  void set(size_t begin, size_t end, uint32_t number) {
    for (size_t low = begin + size_, high = end + size_; low < high; low /= 2, high /= 2) {
      if (low % 2)
        of_[low] = all_[low] = number, ++low;
      if (high % 2)
        --high, of_[high] = all_[high] = number;
    }
    for (size_t node : {begin + size_, end - 1 + size_})
      for (node /= 2; node; node /= 2)
        of_[node] = number;
  }
  /// The largest number of a place in [begin, end); 0 if none has one.
  uint32_t get(size_t begin, size_t end) const {
    uint32_t found = 0;
    for (size_t low = begin + size_, high = end + size_; low < high; low /= 2, high /= 2) {
      if (low % 2)
        found = std::max(found, of_[low++]);
      if (high % 2)
        found = std::max(found, of_[--high]);
    }
    for (size_t node : {begin + size_, end - 1 + size_}) // ranges that hold all of it
      for (; node; node /= 2)
        found = std::max(found, all_[node]);
    return found;
  }

private:
  const size_t size_;
  std::vector<uint32_t> of_;  ///< of each node: the largest number of a place below it
  std::vector<uint32_t> all_; ///< the largest number that all places below it were given at once
};

/// The last segments that read or wrote the bytes of a plan, of each device, and of copies between devices
/// apart.
class LastAccesses {
public:
  explicit LastAccesses(const fb::Plan &plan) : plan_(plan) {
    for (uint32_t i = 0; i < length(plan.buffers()); ++i) {
      const auto [key, begin, end] = range_of(i);
      std::vector<uint64_t> &bounds = places_[key].bounds;
      bounds.insert(bounds.end(), {begin, end});
    }
    for (auto &[key, place] : places_) {
      std::ranges::sort(place.bounds);
      place.bounds.erase(std::ranges::unique(place.bounds).begin(), place.bounds.end());
    }
  }

  /// Notes that segment `number` accesses a buffer.
  void note(const BufferAccess &access, uint32_t number, uint32_t device, bool is_copy) {
    each_range(access.buffer, [&](Place &place, size_t begin, size_t end) {
      for (const bool written : {false, true})
        if (access.written || !written)
          place.latest.try_emplace(Kind{device, is_copy, written}, place.bounds.size())
              .first->second.set(begin, end, number + 1);
    });
  }

  /// Calls `found(number, device)` with the last segment of each device that has to be done before an access.
  template <typename Found> void before(const BufferAccess &access, bool is_copy, Found &&found) {
    each_range(access.buffer, [&](Place &place, size_t begin, size_t end) {
      for (const auto &[kind, latest] : place.latest)
        if ((is_copy || kind.is_copy) && kind.written != access.written)
          if (const uint32_t number = latest.get(begin, end))
            found(number - 1, kind.device);
    });
  }

private:
  struct Kind {
    uint32_t device;
    bool is_copy;
    bool written; ///< of what was written; else of all that was accessed
    auto operator<=>(const Kind &) const = default;
  };
  struct Place {
    std::vector<uint64_t> bounds; ///< where buffers of it begin and end, in order
    std::map<Kind, LatestOfRanges> latest;
  };
  using Key = std::tuple<uint32_t, fb::Storage, uint32_t>;

  std::tuple<Key, uint64_t, uint64_t> range_of(uint32_t number) const {
    const fb::Buffer &buffer = *plan_.buffers()->Get(number);
    const auto [storage, index] = place_of(plan_, buffer);
    const Key key{buffer.device(), storage, index};
    for (const uint64_t size : {buffer.offset(), buffer.bytes()})
      if (is_expression(static_cast<int64_t>(size))) // which may be any byte
        return {key, 0, UINT64_MAX};
    return {key, buffer.offset(), buffer.offset() + buffer.bytes()};
  }

  /// Calls `visit` with the place of a buffer and the ranges between bounds that it is.
  template <typename Visit> void each_range(uint32_t number, Visit &&visit) {
    const auto [key, begin, end] = range_of(number);
    if (begin >= end)
      return;
    Place &place = places_.at(key);
    const auto at = [&](uint64_t bound) {
      return static_cast<size_t>(std::ranges::lower_bound(place.bounds, bound) - place.bounds.begin());
    };
    visit(place, at(begin), at(end));
  }

  const fb::Plan &plan_;
  std::map<Key, Place> places_;
};

/// Finds what has to be in order, and either notes what to wait for or says what is missing.
class Order {
public:
  explicit Order(const fb::Plan &plan) : plan_(plan), devices_(plan_devices(plan)) {}

  bool has_segments() const { return devices_.size() > 1 || devices_[0].name != "cpu"; }

  /// Whether a launch is a segment of its own.
  bool is_alone(const fb::Launch &launch) const {
    const fb::LaunchOp op = launch.op_type();
    const bool needs_host =
        op == fb::LaunchOp::HostLaunch || op == fb::LaunchOp::BranchLaunch || op == fb::LaunchOp::WhileLaunch;
    return is_copy_between(launch) || (needs_host && devices_[launch.device()].name != "cpu");
  }

  /// Whether the host is asked for a copy whose other side it cannot reach.
  bool is_copy_by_host(const fb::Launch &launch) const {
    return is_copy_between(launch) && devices_[launch.device()].name == "cpu";
  }

  /// Looks at the next segment: what it has to wait for, beside what it says it waits for.
  std::vector<uint32_t> missing_waits(const PlanSegment &segment) {
    Seen seen;
    if (!last_)
      last_.emplace(plan_);
    const auto own = static_cast<uint32_t>(segments_.size());
    const uint32_t first = own ? segments_.back().last : 0;
    seen.last = first + segment.launches;
    seen.device = segment.device;
    const bool is_copy = is_copy_between(*plan_.launches()->Get(first));
    // What those before it on its device have waited for is done as well.
    if (const auto before = last_of_device_.find(seen.device); before != last_of_device_.end())
      seen.after = segments_[before->second].after;
    for (const uint32_t wait : segment.waits)
      follow(seen, wait);
    // Of each device, the last one that has to be done before: those before that are done then, too.
    std::array<uint32_t, maxPlanDevices> needed = {};
    std::vector<BufferAccess> accesses;
    for (uint32_t i = first; i < seen.last; ++i)
      for (const BufferAccess &access : accesses_of(*plan_.launches()->Get(i)))
        accesses.push_back(access);
    for (const BufferAccess &access : accesses)
      last_->before(access, is_copy, [&](uint32_t number, uint32_t device) {
        if (device != seen.device)
          needed[device] = std::max(needed[device], number + 1);
      });
    for (const BufferAccess &access : accesses)
      last_->note(access, own, seen.device, is_copy);
    std::vector<uint32_t> order; // from the last one on
    for (const uint32_t number : needed)
      if (number)
        order.push_back(number - 1);
    std::ranges::sort(order, std::greater());
    std::vector<uint32_t> missing;
    for (const uint32_t i : order) {
      if (seen.after[segments_[i].device] > i)
        continue;
      missing.push_back(i);
      follow(seen, i);
    }
    last_of_device_[seen.device] = own;
    segments_.push_back(std::move(seen));
    std::ranges::reverse(missing);
    return missing;
  }

private:
  struct Seen {
    uint32_t last = 0, device = 0; ///< its launches end before number `last`
    /// Of each device, the number after the last segment that is done before this one begins.
    std::array<uint32_t, maxPlanDevices> after = {};
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

  const fb::Plan &plan_;
  const std::vector<PlanDevice> devices_;
  std::vector<Seen> segments_;
  std::map<uint32_t, uint32_t> last_of_device_;
  std::optional<LastAccesses> last_; ///< of a plan that has segments
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
