//===- MemoryFunctions.cpp - Memory of devices and of the host --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Capture.h"
#include "test/cudasim/driver/Functions.h"
#include "test/cudasim/driver/Settings.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weft::cusim {
namespace {

/// Allocates; if the device has no bytes left, once more after all work has run, which may free some.
CUresult allocate(CUdeviceptr *address, uint64_t bytes, Device &device, Pool *pool) {
  if (!address || !bytes)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the number of bytes must not be 0");
  CUdeviceptr made = device.allocate(bytes, pool);
  if (!made) {
    waitForAll(*device.primary);
    made = device.allocate(bytes, pool);
  }
  if (!made)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *address = made;
  return CUDA_SUCCESS;
}

/// Items that allocate and free count as writes: what is not ordered with them must not touch the memory.
Accesses writeOf(uint64_t address, uint64_t bytes) { return {{}, {{address, address + bytes}}}; }

/// Allocating and freeing on a stream. A graph of a GPU has nodes for this, which are not known here.
CUresult checkAllocation(Stream &stream) {
  const Capture *capture = stream.place.capture.get();
  CUresult code = capture && capture->isValid ? CUDA_SUCCESS : checkNotCaptured(stream);
  if (capture && code == CUDA_SUCCESS) {
    stream.place.capture->isValid = false;
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "graphs do not allocate here: allocate before the capture");
  }
  return code == CUDA_SUCCESS ? checkSafe() : code;
}

CUresult allocateOn(CUdeviceptr *address, uint64_t bytes, Pool *pool, CUstream handle) {
  Stream *stream = state().streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  CUresult code = checkAllocation(*stream);
  if (code == CUDA_SUCCESS)
    code = allocate(address, bytes, pool->device, pool);
  if (code != CUDA_SUCCESS)
    return code;
  stream->context.enqueue(*stream, currentCall().text(), [at = *address, bytes] {
    Outcome outcome;
    outcome.accesses = writeOf(at, bytes);
    return outcome;
  });
  return CUDA_SUCCESS;
}

/// The allocation that begins at an address and is not freed; null, after a complaint, if there is none.
std::pair<Device *, Allocations::iterator> allocationAt(uint64_t address) {
  Device *device = state().deviceOf(address);
  if (device) {
    auto found = device->allocations.find(address);
    if (found != device->allocations.end() && !found->second.isFreed && !found->second.isGone)
      return {device, found};
  }
  refuse(CUDA_ERROR_INVALID_VALUE, hex(address) + " is not the start of a live allocation" +
                                       (device ? ": " + device->memory.describe(address) : ""));
  return {nullptr, {}};
}

Pool *poolOf(CUmemoryPool handle) {
  Pool *pool = state().find<Pool>(handle);
  if (pool && !pool->isDestroyed)
    return pool;
  refuse(CUDA_ERROR_INVALID_VALUE, "the memory pool does not exist, or was destroyed");
  return nullptr;
}

/// Enqueues a copy. Bytes of the host that are not pinned are read now; a copy to such bytes ends before the
/// call does.
CUresult copyOn(CUstream handle, Copy copy) {
  Stream *stream = state().streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  CUresult code = checkCopy(copy);
  if (code != CUDA_SUCCESS)
    return code;
  // In a graph, memory of the host is read and written by each launch.
  const bool isCaptured = stream->place.capture != nullptr;
  if (!isCaptured && isPageable(copy.from, copy))
    stage(copy);
  const bool blocks = !isCaptured && isPageable(copy.to, copy);
  code = submit(*stream, currentCall().text(), std::move(copy));
  if (code != CUDA_SUCCESS || !blocks)
    return code;
  waitFor({stream->last});
  return stream->context.error;
}

/// The direction is part of the name of a function, and is checked.
CUresult copyBytes(CUstream stream, uint64_t to, bool toDevice, uint64_t from, bool fromDevice,
                   uint64_t bytes) {
  for (auto [address, isDevice] : {std::pair(to, toDevice), std::pair(from, fromDevice)})
    if (bytes && bool(state().deviceOf(address)) != isDevice)
      return refuse(CUDA_ERROR_INVALID_VALUE,
                    hex(address) + " is no address of the " + (isDevice ? "device" : "host"));
    else if (bytes && !address)
      return refuse(CUDA_ERROR_INVALID_VALUE, "the address of the host is null");
  Copy copy;
  copy.to = {to, bytes, bytes};
  copy.from = {from, bytes, bytes};
  copy.width = bytes;
  return copyOn(stream, std::move(copy));
}

CUresult fillOn(CUstream handle, const Fill &fill) {
  Stream *stream = state().streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  const CUresult code = checkFill(fill);
  if (code != CUDA_SUCCESS)
    return code;
  return submit(*stream, currentCall().text(), fill);
}

uint64_t integer(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

template <class T> CUresult give(void *to, T value) {
  std::memcpy(to, &value, sizeof value);
  return CUDA_SUCCESS;
}

} // namespace

namespace functions {

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  *total = settings().memory;
  *free = *total - std::min<uint64_t>(*total, currentContext()->device.usedBytes());
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  return allocate(address, bytes, currentContext()->device, nullptr);
}

/// As a GPU's driver does, this waits for all work.
CUresult cuMemFree(CUdeviceptr address) {
  if (!address)
    return CUDA_SUCCESS;
  auto [device, allocation] = allocationAt(address);
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  waitForAll(*device->primary);
  device->free(allocation);
  return device->primary->error;
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
  return allocateOn(address, bytes, currentContext()->device.defaultPool, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool handle, CUstream stream) {
  Pool *pool = poolOf(handle);
  return pool ? allocateOn(address, bytes, pool, stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  if (!address)
    return CUDA_SUCCESS;
  Stream *stream = state().streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult code = checkAllocation(*stream); code != CUDA_SUCCESS)
    return code;
  auto [device, allocation] = allocationAt(address);
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  allocation->second.isFreed = true;
  stream->context.enqueue(*stream, currentCall().text(), [device, address] {
    auto found = device->allocations.find(address);
    Outcome outcome;
    outcome.accesses = writeOf(address, found->second.bytes);
    device->free(found);
    return outcome;
  });
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *handle, const CUmemPoolProps *properties) {
  if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "pools have pinned memory of a device, without handles");
  if (properties->location.id < 0 || size_t(properties->location.id) >= state().devices.size())
    return refuse(CUDA_ERROR_INVALID_DEVICE, "there is no device " + std::to_string(properties->location.id));
  Device &device = *state().devices[size_t(properties->location.id)];
  Pool *pool = state().make<Pool>(device);
  pool->largest = properties->maxSize;
  device.pools.push_back(pool);
  *handle = handleOf<CUmemoryPool>(pool);
  return CUDA_SUCCESS;
}

/// Memory that is in use stays until it is freed.
CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  Pool *pool = poolOf(handle);
  if (!pool)
    return CUDA_ERROR_INVALID_VALUE;
  if (pool == pool->device.defaultPool)
    return refuse(CUDA_ERROR_NOT_PERMITTED, "the default pool of a device cannot be destroyed");
  pool->trim(0);
  pool->isDestroyed = true;
  pool->isProgram = false;
  if (!pool->used) {
    std::erase(pool->device.pools, pool);
    state().destroy(pool);
  }
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  Pool *pool = poolOf(handle);
  if (!pool || !value)
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t number = 0;
  switch (attribute) {
  case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
    return CUDA_SUCCESS; // no address is used twice
  case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
    std::memcpy(&pool->threshold, value, sizeof pool->threshold);
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
  case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    std::memcpy(&number, value, sizeof number);
    if (number)
      return refuse(CUDA_ERROR_INVALID_VALUE, "a high-water mark can only be set to 0");
    (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool->mostUsed : pool->mostReserved) =
        attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool->used : pool->reserved;
    return CUDA_SUCCESS;
  default:
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "the pool's attribute " + std::to_string(int(attribute)) + " cannot be set");
  }
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  Pool *pool = poolOf(handle);
  if (!pool || !value)
    return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
  case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
    return give(value, pool->threshold);
  case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    return give(value, pool->reserved);
  case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    return give(value, pool->mostReserved);
  case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    return give(value, pool->used);
  case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    return give(value, pool->mostUsed);
  default:
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "the pool's attribute " + std::to_string(int(attribute)) + " is not known");
  }
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
  Pool *pool = poolOf(handle);
  if (!pool)
    return CUDA_ERROR_INVALID_VALUE;
  pool->trim(keep);
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  if (!bytes)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the number of bytes must not be 0");
  *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!*address)
    return CUDA_ERROR_OUT_OF_MEMORY;
  state().pinned[integer(*address)] = {integer(*address) + bytes, true, &currentContext()->device};
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address) {
  if (!address)
    return CUDA_SUCCESS;
  auto found = state().pinned.find(integer(address));
  if (found == state().pinned.end() || !found->second.isOwned || found->second.isGone)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the address is none that cuMemHostAlloc gave");
  waitForAll(*currentContext());
  std::free(address);
  state().pinned.erase(found);
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *address, size_t bytes, unsigned) {
  if (!address || !bytes || state().deviceOf(integer(address)))
    return refuse(CUDA_ERROR_INVALID_VALUE, "these are no bytes of the host");
  const uint64_t begin = integer(address);
  for (const auto &[other, range] : state().pinned)
    if (begin < range.end && other < begin + bytes && !range.isGone)
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  state().pinned[begin] = {begin + bytes, false, &currentContext()->device};
  return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *address) {
  auto found = state().pinned.find(integer(address));
  if (found == state().pinned.end() || found->second.isOwned || found->second.isGone)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  waitForAll(*currentContext());
  state().pinned.erase(found);
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
  Device *device = state().deviceOf(address);
  const bool isPinned = !device && state().isPinned(address, 1);
  auto found = device ? device->find(address) : Allocations::iterator();
  if (device ? found == device->allocations.end() : !isPinned)
    return CUDA_ERROR_INVALID_VALUE; // which programs ask for, to tell memory of their own
  const auto range = device ? found : Allocations::iterator();
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT:
    return give(value, device ? handleOf<CUcontext>(device->primary)
                              : handleOf<CUcontext>(state().devices[0]->primary));
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return give(value, unsigned(device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST));
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    return device ? CUDA_ERROR_INVALID_VALUE : give(value, address);
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    return device ? give(value, address) : CUDA_ERROR_INVALID_VALUE;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    return give(value, 0u);
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return give(value, device ? device->ordinal : 0);
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    return device ? give(value, range->first) : CUDA_ERROR_INVALID_VALUE;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    return device ? give(value, range->second.bytes) : CUDA_ERROR_INVALID_VALUE;
  case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    return give(value, handleOf<CUmemoryPool>(device ? range->second.pool : nullptr));
  default:
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "the pointer's attribute " + std::to_string(int(attribute)) + " is not known");
  }
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copyBytes(stream, to, state().deviceOf(to), from, state().deviceOf(from), bytes);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  return copyBytes(stream, to, true, integer(from), false, bytes);
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copyBytes(stream, integer(to), false, from, true, bytes);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copyBytes(stream, to, true, from, true, bytes);
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *what, CUstream stream) {
  Copy copy;
  const CUresult code = readCopy(*what, copy);
  return code == CUDA_SUCCESS ? copyOn(stream, std::move(copy)) : code;
}

CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream) {
  return fillOn(stream, {{address, count, count}, count, 1, value, 1});
}
CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, size_t count, CUstream stream) {
  return fillOn(stream, {{address, count * 4, count * 4}, count, 1, value, 4});
}

} // namespace functions
} // namespace weft::cusim
