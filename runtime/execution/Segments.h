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

/// The launches of a function as segments, in order; empty if all launches run on the host.
std::vector<Segment> segments_of(std::span<const Launch> launches, std::span<const FunctionDevice> devices);

/// Runs a call, on the thread of `queue`. Segments of devices are issued to their streams without waiting,
/// even if they may fail: later segments that write an argument read the record of their device, to which the
/// keys of other devices are copied. The host waits before a segment of its own if a copy between it and a
/// device is under way, or if the segment writes an argument or prints and a device may have failed. It also
/// waits at the end, and reads the records. A device that reads scalars of the call gets all of them,
/// `scalars`, with one copy before its first segment. `runs` has one entry for each device of the function,
/// without the launches.
Status run_segments(const Executable::Impl &function, std::span<LaunchRun> runs,
                    std::span<const std::byte> scalars, Queue &queue);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_SEGMENTS_H
