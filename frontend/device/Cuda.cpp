//===- Cuda.cpp - -----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/cuda.hpp"

#include "frontend/graph/Message.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/device/Devices.h"
#include "weft/stream.hpp"

namespace weft::cuda {

bool is_available() noexcept { return device_count() > 0; }

int device_count() noexcept { return runtime::visible_devices(); }

std::string unavailable_reason() { return is_available() ? std::string() : runtime::driver().text(); }

int current_device() { return *resolve(Device(DeviceType::cuda)).index(); }

DeviceProperties get_device_properties(Device device, Loc loc) {
  if (!device.is_cuda())
    frontend::fail("'" + device.str() + "' is no CUDA device: name one as \"cuda:0\"", loc, {}, "WEFT-E004");
  Expected<runtime::CudaProperties> found = runtime::cuda_properties(*resolve(device).index());
  if (!found)
    frontend::fail(found.status(), loc);
  DeviceProperties properties;
  properties.name = found->name;
  properties.major = found->capability / 10;
  properties.minor = found->capability % 10;
  properties.total_memory = found->memory_bytes;
  properties.multi_processor_count = found->multiprocessors;
  properties.warp_size = found->warp_threads;
  properties.max_threads_per_multi_processor = found->multiprocessor_threads;
  properties.regs_per_multiprocessor = found->multiprocessor_registers;
  properties.shared_memory_per_block_optin = found->block_shared_bytes;
  properties.shared_memory_per_multiprocessor = found->multiprocessor_shared_bytes;
  properties.l2_cache_size = found->l2_bytes;
  return properties;
}

std::string get_device_name(Device device, Loc loc) { return get_device_properties(device, loc).name; }

std::pair<int, int> get_device_capability(Device device, Loc loc) {
  const DeviceProperties properties = get_device_properties(device, loc);
  return {properties.major, properties.minor};
}

void synchronize(Device device, Loc loc) { weft::synchronize(device, loc); }

} // namespace weft::cuda
