//===- FailureRecord.h - The first violation of a call ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a check of a call has failed, in memory of the device that checks: launches after it find out
// without the host. A violation is one number, its key, and the smallest key wins, so that the violation that
// is reported does not depend on the order of threads. Its value does not fit into the key. A thread that
// stored it after it had lowered the key could overwrite the value of a smaller key, so each appends key and
// value to a short log, and whoever reads the record takes the entry of the final key.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_FAILURERECORD_H
#define WEFT_RUNTIME_EXECUTION_FAILURERECORD_H

#include "runtime/plan/PlanDevices.h"
#include "weft/export.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::runtime {

/// Lies in memory of a device: the host computes addresses in it, and reads a copy.
struct WEFT_RUNTIME_API FailureRecord {
  /// Of a call none of whose checks has failed.
  static constexpr uint64_t noKey = UINT64_MAX;
  static constexpr uint64_t logEntries = 8;

  struct Entry {
    uint64_t key;
    int64_t value;
  };

  uint64_t key = noKey;
  uint64_t appended = 0; ///< entries that threads asked for; those beyond `logEntries` are not there
  Entry log[logEntries] = {};
  /// Keys of the other devices of the call, by their number; copied here before a run that looks at them.
  uint64_t foreign[maxPlanDevices] = {};

  void reset();
  /// One read of the key.
  bool failed() const { return __atomic_load_n(&key, __ATOMIC_RELAXED) != noKey; }
  /// Lowers the key. From any thread.
  void note(uint64_t with, int64_t value);
  /// Lowers the key to those of other devices, one bit of `devices` each.
  void merge(uint32_t devices);
  /// What was logged with a key; none if the log was full.
  std::optional<int64_t> value_of(uint64_t with) const;

private:
  bool lower(uint64_t to);
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_FAILURERECORD_H
