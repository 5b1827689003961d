//===- DriverPool.cpp - Memory of the driver's own pool -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/DriverPool.h"

namespace weft::runtime {

Expected<std::unique_ptr<DriverPool>> DriverPool::open(const CudaContext &context) {
  std::unique_ptr<DriverPool> made(new DriverPool(context));
  if (Status status = made->prepare(); !status)
    return status;
  return made;
}

Status DriverPool::prepare() {
  const DriverTable &table = context_.table();
  if (Status status = context_.check(table.cuDeviceGetDefaultMemPool(&pool_, context_.device()),
                                     "asking for its pool of memory (backend:cudaMallocAsync)");
      !status)
    return status;
  // The pool gives nothing back before it is asked to.
  cuuint64_t threshold = UINT64_MAX;
  if (Status status =
          context_.check(table.cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
                         "setting what its pool of memory keeps");
      !status)
    return status;
  return context_.check(table.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0),
                        "making a stream");
}

DriverPool::~DriverPool() {
  const ContextScope scope(context_);
  if (scope.status().ok() && stream_)
    (void)context_.table().cuStreamDestroy(stream_);
}

RawAllocator DriverPool::raw() {
  return {
      .user = this,
      .allocate = [](void *user, size_t bytes,
                     size_t) { return static_cast<DriverPool *>(user)->allocate(bytes); },
      .free = [](void *user, void *data, size_t) { static_cast<DriverPool *>(user)->free(data); },
      .measure = [](void *user) { return static_cast<DriverPool *>(user)->measure(); },
      .health = [](void *user) { return ContextScope(static_cast<DriverPool *>(user)->context_).status(); },
      .trim = [](void *user) { static_cast<DriverPool *>(user)->trim(); }};
}

void *DriverPool::allocate(size_t bytes) {
  const DriverTable &table = context_.table();
  const ContextScope scope(context_);
  CUdeviceptr address = 0;
  if (!scope.status().ok() ||
      !context_.check(table.cuMemAllocFromPoolAsync(&address, bytes, pool_, stream_), "allocating memory")
           .ok())
    return nullptr;
  // Nothing but earlier allocations and what is free already is on the stream.
  if (context_.end_wait(table.cuStreamSynchronize(stream_), "allocating memory").ok())
    return reinterpret_cast<void *>(address);
  (void)table.cuMemFreeAsync(address, stream_);
  return nullptr;
}

void DriverPool::free(void *data) {
  const ContextScope scope(context_);
  if (scope.status().ok())
    (void)context_.table().cuMemFreeAsync(address_of(data), stream_);
}

/// What the pool keeps is free, although the driver counts it as used.
MemoryAmount DriverPool::measure() {
  const DriverTable &table = context_.table();
  const ContextScope scope(context_);
  size_t free = 0, total = 0;
  cuuint64_t reserved = 0, used = 0;
  if (!scope.status().ok() || table.cuMemGetInfo(&free, &total) != CUDA_SUCCESS)
    return {};
  if (table.cuMemPoolGetAttribute(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved) == CUDA_SUCCESS &&
      table.cuMemPoolGetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) == CUDA_SUCCESS &&
      reserved > used)
    free += reserved - used;
  return {total, free};
}

void DriverPool::trim() {
  const ContextScope scope(context_);
  if (!scope.status().ok())
    return;
  // What was freed counts as used until the stream has reached it.
  (void)context_.end_wait(context_.table().cuStreamSynchronize(stream_), "giving memory back");
  (void)context_.table().cuMemPoolTrimTo(pool_, 0);
}

} // namespace weft::runtime
