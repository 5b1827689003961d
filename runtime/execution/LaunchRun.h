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

#include <span>

namespace weft::runtime {

/// What one thread's checks found, on a cache line of its own.
struct alignas(64) CheckSlot {
  CheckRecord record;                  ///< of the launch that runs
  uint64_t key = FailureRecord::noKey; ///< the smallest that the thread found in this call,
  int64_t value = 0;                   ///< and its value, which the call's log may have no room for
};

/// Consecutive launches of a function on one device, with the memory of one call.
struct LaunchRun {
  const Executable::Impl *function = nullptr;
  std::span<const Launch> launches;
  /// Of all operands of the function, as their devices address them: a launch's begin at `first_operand`.
  std::span<void *> pointers;
  std::byte *library_scratch = nullptr; ///< what contractions and attention use
  std::byte *scratch = nullptr;         ///< of kernels: `kernel_scratch` bytes for each thread
  std::byte *scalars = nullptr;         ///< the block of the call's scalars; null where nothing reads it
  /// Of the call, in memory of the device; null where no launch of the function can fail.
  FailureRecord *failure = nullptr;
  CheckSlot *checks = nullptr; ///< one for each thread; null where no launch of the device can fail
  /// Whether the call has asked the device for nothing before, so that its record and checks are not ready.
  bool begins = true;
  /// Whether nothing at all runs after a failure. Otherwise what is predicated does not, and the rest
  /// computes what nobody will see.
  bool stops = true;
  uint32_t foreign_keys = 0;          ///< devices whose keys were copied to FailureRecord::foreign, as bits
  int width = 1;                      ///< threads
  bool serial = true;                 ///< everything on the calling thread
  const CallOrigin *origin = nullptr; ///< who calls, for errors; null for nobody
};

/// Carries launches out on the calling thread and the pool. A device whose kernels are code of the host uses
/// it with pointers that the host can follow. What a check finds is in the failure record afterwards, and no
/// error here.
WEFT_RUNTIME_API Status run_launches(const LaunchRun &run);

/// The value of the violation that a record has, which is in its log or, if that was full, in what the
/// thread that found it has kept.
int64_t failed_value(const FailureRecord &record, std::span<const CheckSlot> checks);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_LAUNCHRUN_H
