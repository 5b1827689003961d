//===- PlanSegments.h - Launches by who carries them out --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan for several devices is a list of segments. Each is issued to the queue of one device, and those of
// one device run one after the other. A segment says which segments of other devices it waits for: those that
// touch the same bytes, where one of the two writes them, and that come before it in the program. Only copies
// touch memory of two devices, so that one of any such two is a copy.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_PLANSEGMENTS_H
#define WEFT_RUNTIME_PLAN_PLANSEGMENTS_H

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstdint>
#include <vector>

namespace weft::fb {
struct Plan;
} // namespace weft::fb

namespace weft::runtime {

struct PlanSegment {
  uint32_t device = 0;
  uint32_t launches = 0;
  std::vector<uint32_t> waits; ///< earlier segments, of other devices
};

/// Divides the launches of a plan, which may have sizes that are not known yet; none for a plan of the host
/// alone.
WEFT_RUNTIME_API std::vector<PlanSegment> divide_into_segments(const fb::Plan &plan);

/// Checks the segments of a plan of numbers, and returns what is wrong without a code: there are some exactly
/// if it has several devices, they are all of its launches in order, a copy between devices and an action of
/// the host on a value of a device are segments of their own, every two that touch the same bytes are in
/// order, and a region is within one of them. What launches and devices refer to has been checked before.
Status check_segments(const fb::Plan &plan);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_PLANSEGMENTS_H
