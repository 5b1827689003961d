//===- CudaDevice.h - An NVIDIA GPU ----------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The device interface on the CUDA driver. Memory comes in segments of cuMemAlloc, from which the caching
// allocator serves requests. Streams are non-blocking ones of the primary context: nothing is issued to the
// legacy stream, and nothing waits for it. A point is an event.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_CUDADEVICE_H
#define WEFT_RUNTIME_CUDA_DEVICE_CUDADEVICE_H

#include "runtime/cuda/device/Code.h"
#include "runtime/cuda/device/Context.h"
#include "runtime/cuda/device/CublasLtProducts.h"
#include "runtime/cuda/device/DriverPool.h"
#include "runtime/cuda/device/GraphLoops.h"
#include "runtime/device/Device.h"

#include <map>
#include <mutex>
#include <vector>

namespace weft::runtime {

class CudaDevice final : public Device {
public:
  /// Opens device `ordinal` of a driver that is ready.
  static Expected<CudaDevice *> open(const DriverTable &table, int ordinal);

  std::string_view code() const override { return code_; }
  /// 0 for a target of a newer GPU. Machine code runs within a major version; for older ones there is PTX.
  int suits(std::string_view target) const override;
  Expected<std::shared_ptr<const DeviceCode>> load(const std::shared_ptr<const DeviceImage> &image) override;
  Expected<DeviceContraction> contraction(const ContractionShape &shape, const ContractionChoice &choice,
                                          const ContractionAlignment &alignment) override;
  CachingAllocator &allocator() override { return *allocator_; }
  CachingAllocator &pinned_allocator() override { return *pinned_; }
  Expected<std::unique_ptr<DeviceStream>> make_stream() override { return make_stream_with_priority(0); }
  Expected<std::unique_ptr<DeviceStream>> make_stream_with_priority(int priority) override;
  Expected<int> first_priority() override;
  Expected<std::unique_ptr<DeviceStream>> adopt_stream(void *native) override;
  Status copy_now(void *to, const void *from, size_t bytes, CopyDirection direction) override;
  std::string refuses_loops() override;
  /// The driver refuses everything after one.
  bool errors_are_final() const override { return true; }

  const CudaContext &context() const { return *context_; }
  /// The runtime's own kernels.
  const CallCode &call_code() const { return *call_code_; }
  /// A word of the device's memory that says of no call that it has failed.
  CUdeviceptr never_failed() const { return never_failed_; }
  /// Whether each launch is waited for, so that an error is that of the launch (WEFT_LAUNCH_BLOCKING=1).
  bool is_blocking() const { return blocking_; }

  /// Whether runs that repeat become graphs: not where each launch is waited for, or with WEFT_CUDA_GRAPHS=0.
  bool makes_graphs() const { return graphs_; }
  /// Loops in graphs, which the first caller tries, and a later one again if they were refused. The context
  /// is current.
  const GraphLoops &graph_loops();

  /// An event with or without a time, which nothing has been recorded for.
  Expected<CUevent> take_event(bool timed);
  /// Takes an event back. Nobody waits for it any more.
  void give_event(CUevent event, bool timed) noexcept;

private:
  CudaDevice(std::unique_ptr<CudaContext> context, int capability);
  /// Of one that could not be prepared.
  ~CudaDevice() override;
  Status prepare();
  Status prepare_memory();

  static void *allocate_segment(void *device, size_t bytes, size_t alignment);
  static void free_segment(void *device, void *data, size_t bytes);
  static MemoryAmount measure(void *device);
  static Status health(void *device);
  static void *allocate_pinned(void *device, size_t bytes, size_t alignment);
  static void free_pinned(void *device, void *data, size_t bytes);

  const std::unique_ptr<CudaContext> context_;
  const int capability_;   ///< 90 for compute capability 9.0
  const std::string code_; ///< "cuda:sm_90"
  const bool blocking_, graphs_, loops_;
  std::unique_ptr<DriverPool> pool_; ///< with backend:cudaMallocAsync
  std::unique_ptr<CachingAllocator> allocator_, pinned_;
  std::unique_ptr<const CallCode> call_code_;
  CUdeviceptr never_failed_ = 0; ///< and behind it what GraphLoops counts in
  std::unique_ptr<CublasLtProducts> products_;

  std::mutex loops_mutex_;
  /// The last one counts; the others stay, because other threads may read them.
  std::vector<std::unique_ptr<const GraphLoops>> trials_;
  size_t asked_ = 0; ///< how often loops asked since they are refused

  std::mutex copies_mutex_;
  CUstream copies_ = nullptr; ///< of copy_now()

  std::mutex events_mutex_;
  std::vector<CUevent> events_, timed_events_;

  std::mutex code_mutex_;
  std::map<const DeviceImage *, std::weak_ptr<const DeviceCode>> loaded_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_CUDADEVICE_H
