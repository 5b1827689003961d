//===- DeviceRows.h - Rows on a device that queues its work -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_BENCH_DEVICEROWS_H
#define WEFT_BENCH_DEVICEROWS_H

#include <string>

namespace weft::bench {

/// Times the rows of peer_device.py whose names match the regular expression on a CUDA device, and writes
/// them to standard output as that program does: JSON with microseconds. A row whose training changes nothing
/// has failed. With `profiled`, where the time of a call goes is written to standard error. Returns whether
/// none failed; throws Error if there is no such device.
bool run_device_rows(const std::string &device, const std::string &pattern, bool profiled);

} // namespace weft::bench

#endif // WEFT_BENCH_DEVICEROWS_H
