//===- CpuQuota.h - Processors that control groups allow --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A container sees all processors of its machine. Once its threads have used up its share of time, it is
// stopped for the rest of the period. With more threads than processors in the share, all threads, also those
// that hold a lock, are stopped most of the time.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_THREADS_CPUQUOTA_H
#define WEFT_RUNTIME_THREADS_CPUQUOTA_H

#include "weft/export.hpp"

#include <optional>
#include <string>

namespace weft::runtime {

/// The smallest quota of the control groups that this process is in, in whole processors, rounded down and at
/// least 1; empty if none has a quota. Reads /proc/self/cgroup, /proc/self/mountinfo and the files cpu.max
/// (version 2) or cpu.cfs_quota_us (version 1) below `root`, which stands before every path.
WEFT_RUNTIME_API std::optional<int> quota_processors(const std::string &root = "");

} // namespace weft::runtime

#endif // WEFT_RUNTIME_THREADS_CPUQUOTA_H
