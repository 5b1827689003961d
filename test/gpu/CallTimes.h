//===- CallTimes.h - What a call costs host and device ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times calls on a CUDA device by the wall clock, by the host's time until a call returns, and by the
// device's events; and the same of what the driver alone does: launches of an empty kernel, graphs of empty
// kernels, and the graph that the last call has launched.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_GPU_CALLTIMES_H
#define WEFT_TEST_GPU_CALLTIMES_H

#include "runtime/cuda/DriverTable.h"
#include "weft/status.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

namespace weft::testing {

/// Microseconds of one call.
struct CallTimes {
  double wall = 0;   ///< of calls that follow each other, until the last one is done
  double host = 0;   ///< until a call returns
  double device = 0; ///< of calls that follow each other, without the device waiting for the host
  int calls = 0;     ///< that were timed
};

class CallTimer {
public:
  static Expected<std::unique_ptr<CallTimer>> make(int ordinal);
  ~CallTimer();
  CallTimer(const CallTimer &) = delete;
  CallTimer &operator=(const CallTimer &) = delete;

  /// Times a call that issues work to a stream. `settle` waits for all calls.
  Expected<CallTimes> time(CUstream stream, const std::function<Status()> &call,
                           const std::function<Status()> &settle) const;
  /// Copies within the device.
  Expected<CallTimes> copy(void *to, const void *from, size_t bytes) const;
  /// Launches of an empty kernel.
  Expected<CallTimes> empty_launch() const;
  /// Launches of a graph of so many empty kernels in a chain.
  Expected<CallTimes> empty_graph(size_t kernels) const;
  /// The graph that the runtime has launched last, launched by the driver alone; none since forget_graph().
  Expected<std::optional<CallTimes>> last_graph() const;
  /// To be called before calls whose graph is to be timed.
  static void forget_graph();

private:
  explicit CallTimer(CUdevice device) : device_(device) {}
  Status prepare();
  Status hold(CUstream stream, double seconds) const;
  Expected<double> device_time(CUstream stream, const std::function<Status()> &call,
                               const std::function<Status()> &settle, int calls, double host) const;
  Expected<CallTimes> time_graph(CUgraphExec graph) const;

  const CUdevice device_;
  double copy_seconds_ = 0; ///< of a copy that holds a stream
  CUcontext context_ = nullptr;
  CUlibrary library_ = nullptr;
  CUfunction empty_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUevent begin_ = nullptr, end_ = nullptr;
};

} // namespace weft::testing

#endif // WEFT_TEST_GPU_CALLTIMES_H
