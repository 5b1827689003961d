//===- LaunchRun.h - Launches that a device carries out ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_LAUNCHRUN_H
#define WEFT_RUNTIME_EXECUTION_LAUNCHRUN_H

#include "runtime/execution/ExecutableImpl.h"
#include "runtime/execution/FailureRecord.h"
#include "runtime/package/Kernel.h"

#include <optional>
#include <span>
#include <vector>

namespace weft::runtime {

/// The violations of one thread, on a separate cache line.
struct alignas(64) CheckSlot {
  CheckRecord record;                  ///< of the running launch
  uint64_t key = FailureRecord::noKey; ///< the smallest key of the thread in this call,
  int64_t value = 0;                   ///< and its value, in case the log is full
};

/// Flags of buffers, by their addresses on the device (FailureFlags). The first run of a call clears
/// `cleared`, and then stops the call, with FailureRecord::blockedKey, if one of `blocking` is set. The last
/// run sets `flagged` if the call has failed.
struct CallFlags {
  std::vector<uint64_t *> cleared, blocking, flagged;
};

/// Consecutive launches of a function on one device, with the memory of one call.
struct LaunchRun {
  const Executable::Impl *function = nullptr;
  std::span<const Launch> launches;
  /// The addresses of all operands of the function, on their devices. Those of a launch begin at
  /// `first_operand`.
  std::span<void *> pointers;
  /// Scratch of contractions, attention, convolutions, sorts and matrices.
  std::byte *library_scratch = nullptr;
  std::byte *scratch = nullptr; ///< scratch of kernels: `kernel_scratch` bytes for each thread
  std::byte *scalars = nullptr; ///< the block of the call's scalars; null if no launch reads it
  /// The call's record in memory of the device; null if the call cannot fail.
  FailureRecord *failure = nullptr;
  CheckSlot *checks = nullptr; ///< one for each thread; null if no launch of the device can fail
  /// Whether this is the first run of the call on the device, which initialises the record and the slots.
  bool begins = true;
  /// Whether the run ends at a failure. Otherwise only predicated launches are skipped, and the results of
  /// the others are not used.
  bool stops = true;
  const CallFlags *flags = nullptr;   ///< null if the call waits for those before it
  bool ends = false;                  ///< whether this is the last run of the call on the device
  FailureRecord *report = nullptr;    ///< memory of the host that the last run copies the record to; or null
  uint32_t foreign_keys = 0;          ///< devices whose keys were copied to FailureRecord::foreign, as bits
  int width = 1;                      ///< threads
  bool serial = true;                 ///< whether all launches run on the calling thread alone
  const CallOrigin *origin = nullptr; ///< the caller, for errors; may be null
};

/// Runs launches on the calling thread and the pool. A device whose kernels are code of the host can call it
/// with addresses of the host. A violation is recorded in the failure record and is not an error of this
/// function.
WEFT_RUNTIME_API Status run_launches(const LaunchRun &run);

/// The value of the violation in a record of the host. It is in the log or, if that was full, in the slot of
/// the thread that found it. Slots of other devices are not read: a later call may already have them.
std::optional<int64_t> failed_value(const FailureRecord &record, std::span<const CheckSlot> checks);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_LAUNCHRUN_H
