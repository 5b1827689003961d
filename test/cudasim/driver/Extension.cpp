//===- Extension.cpp - What the driver has for libraries -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Extension.h"

#include "test/cudasim/driver/Capture.h"
#include "test/cudasim/driver/LogText.h"
#include "test/cudasim/driver/Settings.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

namespace weft::cusim {
namespace {

/// An object of a library.
struct Foreign : Object {
  Foreign(const char *kind, void *payload) : Object(kind), payload(payload) {}
  void *const payload;
};

/// The lock of a function of the interface. The call is that of the library.
class Guard {
public:
  Guard() : lock(state().mutex) { currentCall().lock = &lock; }
  ~Guard() { currentCall().lock = nullptr; }
  Guard(const Guard &) = delete;
  Guard &operator=(const Guard &) = delete;

private:
  Schedule::Lock lock;
};

bool begin(const char *function) {
  if (Schedule::isInHostFunction()) {
    cusim::complain(std::string(function) + ": a host function may not call a library of the driver");
    return false;
  }
  const std::lock_guard<std::mutex> lock(state().mutex);
  currentCall() = {function, ++state().calls, nullptr};
  return true;
}

CUresult checkContextOfCall() {
  const Guard guard;
  return checkContext();
}

void complainOfCall(const char *why) {
  const Guard guard;
  refuse(CUDA_ERROR_INVALID_VALUE, why);
}

size_t describe(const void *value, char *text, size_t bytes) {
  const Guard guard;
  const std::string name = state().nameOf(value);
  const std::string found = name.empty() ? addressText(reinterpret_cast<uint64_t>(value)) : name;
  return size_t(std::snprintf(text, bytes, "%s", found.c_str()));
}

void *make(const char *kind, void *payload) {
  const Guard guard;
  return state().make<Foreign>(kind, payload);
}

void *payloadOf(const void *handle, const char *kind) {
  const Guard guard;
  const Foreign *found = state().find<Foreign>(handle);
  return found && !std::strcmp(found->kind, kind) ? found->payload : nullptr;
}

void destroyObject(void *handle) {
  const Guard guard;
  state().destroy(static_cast<const Object *>(handle));
}

CUresult allocate(uint64_t *address, uint64_t bytes) {
  const Guard guard;
  CUresult code = checkContext();
  if (code == CUDA_SUCCESS)
    code = checkSafe();
  if (code != CUDA_SUCCESS)
    return code;
  *address = currentContext()->device.allocate(bytes, nullptr);
  return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult freeMemory(uint64_t address) {
  const Guard guard;
  Device *device = state().deviceOf(address);
  auto found = device ? device->allocations.find(address) : Allocations::iterator();
  if (!device || found == device->allocations.end() || found->second.isGone)
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult code = checkSafe(); code != CUDA_SUCCESS)
    return code;
  waitForAll(*device->primary);
  device->free(found);
  return CUDA_SUCCESS;
}

void describeDevice(uint64_t *cores, uint64_t *computeCapability) {
  const Guard guard;
  *cores = currentContext()->device.numbers.cores;
  *computeCapability = settings().computeCapability;
}

CUresult enqueue(CUstream handle, const NewKernel *kernels, size_t count) {
  const Guard guard;
  std::vector<HostKernel> made;
  for (const NewKernel *one = kernels; one != kernels + count; ++one)
    made.push_back({one->name,
                    nullptr,
                    {one->operands, one->operands + one->operandCount},
                    one->body,
                    {one->payload, one->destroy},
                    one->nanoseconds});
  if (const CUresult code = checkContext(); code != CUDA_SUCCESS)
    return code;
  Stream *stream = state().streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  for (HostKernel &kernel : made) {
    kernel.device = &stream->context.device;
    const std::string what = kernel.name + " of " + currentCall().text();
    if (const CUresult code = submit(*stream, what, std::move(kernel)); code != CUDA_SUCCESS)
      return code;
  }
  return CUDA_SUCCESS;
}

} // namespace
} // namespace weft::cusim

extern "C" __attribute__((visibility("default"))) const weft::cusim::Extension *cusimExtension() {
  using namespace weft::cusim;
  static constexpr Extension made = {begin,      checkContextOfCall, complainOfCall, describe,
                                     make,       payloadOf,          destroyObject,  allocate,
                                     freeMemory, describeDevice,     enqueue};
  return &made;
}
