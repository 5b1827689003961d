//===- LaunchRun.h - Launches that a device carries out ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_LAUNCHRUN_H
#define WEFT_RUNTIME_EXECUTION_LAUNCHRUN_H

#include "runtime/execution/ExecutableImpl.h"
#include "runtime/package/Kernel.h"

#include <span>

namespace weft::runtime {

/// What one thread's checks found, on a cache line of its own.
struct alignas(64) CheckSlot {
  CheckRecord record;
};

/// Consecutive launches of a function on one device, with the memory of one call.
struct LaunchRun {
  const Executable::Impl *function = nullptr;
  std::span<const Launch> launches;
  /// Of all operands of the function, as their devices address them: a launch's begin at `first_operand`.
  std::span<void *> pointers;
  std::byte *library_scratch = nullptr; ///< what contractions and attention use
  std::byte *scratch = nullptr;         ///< of kernels: `kernel_scratch` bytes for each thread
  CheckSlot *checks = nullptr;          ///< one for each thread; null where no launch can fail
  int width = 1;                        ///< threads
  bool serial = true;                   ///< everything on the calling thread
  const CallOrigin *origin = nullptr;   ///< who calls, for errors; null for nobody
};

/// Carries launches out on the calling thread and the pool. A device whose kernels are code of the host uses
/// it with pointers that the host can follow. After a launch whose check failed it does nothing more.
WEFT_RUNTIME_API Status run_launches(const LaunchRun &run);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_LAUNCHRUN_H
