//===- LaunchTimes.h - How long launches of a stream take ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_LAUNCHTIMES_H
#define WEFT_RUNTIME_CUDA_DEVICE_LAUNCHTIMES_H

#include "runtime/cuda/device/Context.h"
#include "runtime/queue/Profiler.h"

#include <mutex>
#include <string>
#include <vector>

namespace weft::runtime {

/// Times launches by events before and after each. The profiler gets them when it is read, so that a profile
/// makes no launch wait for the host. The first event is waited for once: it says which time of the host is
/// which of the device.
class LaunchTimes final : public ProfileSource {
public:
  LaunchTimes(const CudaContext &context, CUstream stream);
  ~LaunchTimes() override;
  LaunchTimes(const LaunchTimes &) = delete;
  LaunchTimes &operator=(const LaunchTimes &) = delete;

  /// Before and after the launch of one item. The context is current.
  Status begin();
  Status end(std::string name, std::string location, uint64_t bytes, uint64_t flops);
  void collect() noexcept override;

private:
  struct Timed {
    std::string name, location;
    uint64_t bytes = 0, flops = 0;
    CUevent begin = nullptr, end = nullptr;
  };
  Expected<CUevent> record();
  /// Waits for all launches and records them. The mutex is held.
  void collect_all();

  const CudaContext &context_;
  const CUstream stream_;
  const long lane_;
  std::mutex mutex_;
  std::vector<Timed> pending_;
  std::vector<CUevent> events_; ///< that are free
  CUevent begun_ = nullptr;
  CUevent base_ = nullptr; ///< an event at the time `base_ns_` of the host
  int64_t base_ns_ = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_LAUNCHTIMES_H
