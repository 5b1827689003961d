//===- CudaStream.h - Work on an NVIDIA GPU --------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_CUDASTREAM_H
#define WEFT_RUNTIME_CUDA_DEVICE_CUDASTREAM_H

#include "runtime/cuda/device/CudaDevice.h"
#include "runtime/execution/LaunchRun.h"

#include <initializer_list>

namespace weft::runtime {

/// Issues a copy to a stream of a context that is current.
Status issue_copy(const CudaContext &context, CUstream stream, void *to, const void *from, size_t bytes,
                  CopyDirection direction);

class CudaStream final : public DeviceStream {
public:
  static Expected<std::unique_ptr<DeviceStream>> make(CudaDevice &device);
  ~CudaStream() override;
  Status copy(void *to, const void *from, size_t bytes, CopyDirection direction) override;
  Status issue(const LaunchRun &run) override;
  Status wait_for(const Point &point) override;
  Expected<Point> record() override;

private:
  /// Memory that what was issued uses until a point passes.
  struct Tables {
    MemoryBlock on_device, pinned;
    uint64_t bytes = 0;
  };

  CudaStream(CudaDevice &device, CUstream stream) : device_(device), stream_(stream) {}
  Status issue_all(const LaunchRun &run, Tables &tables);
  Status begin_call(const LaunchRun &run);
  Status end_call(const LaunchRun &run);
  Status carry_out(const LaunchRun &run, const Launch &launch, uint64_t &table);
  Status launch_code(const LaunchRun &run, const Launch &launch, const DeviceLaunch &own, uint64_t &table);
  Status copy_in_run(const LaunchRun &run, const Launch &launch);
  /// Launches a kernel of one dimension. The context is current. `carried_out` is what an error names; null
  /// for the runtime's own kernels.
  Status launch(CUfunction function, uint32_t blocks, uint32_t threads, uint32_t shared_bytes,
                void *const *parameters, const Launch *carried_out = nullptr);
  Status prepare_tables(const LaunchRun &run, Tables &tables);
  void free_tables(const Tables &tables);

  CudaDevice &device_;
  const CUstream stream_;
  // Parameters of the launch that is being issued, kept so that a steady loop allocates nothing.
  std::vector<uint64_t> numbers_;
  std::vector<void *> parameters_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_CUDASTREAM_H
