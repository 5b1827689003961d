//===- FailureRecord.h - The first violation of a call ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A record in memory of a device that says whether a check of a call has failed, so that later launches of
// the device need not wait for the host. A violation is one number, its key. The record has the smallest key,
// so the reported violation does not depend on the order of threads. The value of the violation does not fit
// into the key. If threads stored the value beside the key, a late thread could overwrite the value of a
// smaller key. So each thread that lowers the key appends key and value to a short log, and readers use the
// final key's entry.
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

/// The host computes addresses in a record of another device, and reads a copy of it.
struct WEFT_RUNTIME_API FailureRecord {
  /// The key if no check of the call has failed.
  static constexpr uint64_t noKey = UINT64_MAX;
  /// The key if a flag of an argument was set. It is smaller than the key of any check.
  static constexpr uint64_t blockedKey = 0;
  /// The key in the host's copy until the device has written that. No check has it.
  static constexpr uint64_t unwrittenKey = UINT64_MAX - 1;
  static constexpr uint64_t logEntries = 8;

  struct Entry {
    uint64_t key;
    int64_t value;
  };

  uint64_t key = noKey;
  uint64_t appended = 0; ///< the number of entries that threads tried to append; the log has the first ones
  Entry log[logEntries] = {};
  /// Keys of the other devices of the call, by device number. They are copied here before a run that reads
  /// them.
  uint64_t foreign[maxPlanDevices] = {};

  void reset();
  /// Whether a check has failed. It is one read of the key.
  bool failed() const { return __atomic_load_n(&key, __ATOMIC_RELAXED) != noKey; }
  /// Lowers the key to `with` if that is smaller, and logs the value. May be called from any thread.
  void note(uint64_t with, int64_t value);
  /// Lowers the key to the smallest of those of other devices, which the bits of `devices` select.
  void merge(uint32_t devices);
  /// The value that was logged with a key; nothing if the log was full.
  std::optional<int64_t> value_of(uint64_t with) const;

private:
  bool lower(uint64_t to);
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_FAILURERECORD_H
