//===- DriverPool.h - Memory of the driver's own pool -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// WEFT_ALLOC_CONF=backend:cudaMallocAsync takes memory from the device's default pool, which other libraries
// of the process may use as well. The pool keeps what is freed, so the caching allocator does not. Memory is
// allocated and freed on a stream of the pool's alone: it can be used on every stream as soon as it is
// allocated, and the allocator frees it when all its users are done.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_DRIVERPOOL_H
#define WEFT_RUNTIME_CUDA_DEVICE_DRIVERPOOL_H

#include "runtime/cuda/device/Context.h"
#include "runtime/memory/CachingAllocator.h"

namespace weft::runtime {

class DriverPool {
public:
  /// The context must be current. Error WEFT-E006 for a device without pools.
  static Expected<std::unique_ptr<DriverPool>> open(const CudaContext &context);
  ~DriverPool();
  DriverPool(const DriverPool &) = delete;
  DriverPool &operator=(const DriverPool &) = delete;
  /// The functions of an allocator of segments.
  RawAllocator raw();

private:
  explicit DriverPool(const CudaContext &context) : context_(context) {}
  Status prepare();
  void *allocate(size_t bytes);
  void free(void *data);
  MemoryAmount measure();
  void trim();

  const CudaContext &context_;
  CUmemoryPool pool_ = nullptr;
  CUstream stream_ = nullptr;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_DRIVERPOOL_H
