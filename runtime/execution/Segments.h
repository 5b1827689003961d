//===- Segments.h - Calls of functions on several devices -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_SEGMENTS_H
#define WEFT_RUNTIME_EXECUTION_SEGMENTS_H

#include "runtime/execution/LaunchRun.h"
#include "runtime/queue/Queue.h"

#include <span>
#include <vector>

namespace weft::runtime {

/// The segments of a plan whose launches and devices these are. None where the host carries out all of them.
/// Launch `i` of the plan is the launches from number `first_of[i]` to number `first_of[i + 1]`.
std::vector<Segment> segments_of(const fb::Plan &plan, std::span<const Launch> launches,
                                 std::span<const size_t> first_of, std::span<const FunctionDevice> devices);

/// Carries a call out, on the thread of `queue`. Segments of devices are issued to their streams without
/// waiting, whether or not they may fail: those after them that write an argument find a failure in the
/// record of their device, to which the keys of other devices are copied. The host waits before a segment of
/// its own for the segments that the plan says it waits for, and, if it writes an argument or prints, for all
/// that may have failed; before a while loop of a device for these too, and in each of its trips; and at the
/// end, where it reads the records. A device that reads scalars of the
/// call gets all of them, `scalars`, with one copy before its first segment. `runs` has one entry for each
/// device of the function, all but the launches filled in.
Status run_segments(const Executable::Impl &function, std::span<LaunchRun> runs,
                    std::span<const std::byte> scalars, Queue &queue);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_SEGMENTS_H
