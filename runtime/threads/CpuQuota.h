//===- CpuQuota.h - Processors that control groups allow --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A container sees all processors of its machine. When its threads have used its share of a period, the
// kernel stops them for the rest of the period. With more threads than processors in the share, all threads,
// also those that hold a lock, are stopped most of the time.
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
/// (version 2) or cpu.cfs_quota_us (version 1). `root` is a prefix of every path, for tests.
WEFT_RUNTIME_API std::optional<int> quota_processors(const std::string &root = "");

} // namespace weft::runtime

#endif // WEFT_RUNTIME_THREADS_CPUQUOTA_H
