//===- Devices.cpp - The CUDA devices of the process ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/Devices.h"

#include "runtime/cuda/Driver.h"

#if WEFT_CUDA
#include "runtime/cuda/device/CudaDevice.h"
#endif

#include <array>
#include <map>
#include <mutex>
#include <string>

namespace weft::runtime {

/// Why there is no CUDA device of this number; no error if there is.
static Status is_there(int ordinal) {
  const Driver &found = driver();
  const std::string name = "'cuda:" + std::to_string(ordinal) + "'";
  if (found.state != DriverState::ready)
    return Status::error(name + " is not there (WEFT-E001): " + found.text() + ", or use \"cpu\"",
                         "WEFT-E001");
  if (ordinal >= 0 && ordinal < found.devices)
    return {};
  return Status::error("invalid device ordinal: " + name + " is not there (WEFT-E001), the driver sees " +
                           std::to_string(found.devices) + (found.devices == 1 ? " device" : " devices") +
                           ": use a smaller number, or check CUDA_VISIBLE_DEVICES",
                       "WEFT-E001");
}

int nearest_cuda_target(int capability) {
  // Those of ir/devices.
  constexpr int targets[] = {75, 80, 86, 89, 90, 100, 120};
  int best = 0;
  for (const int target : targets)
    if (target <= capability)
      best = target;
  return best;
}

Expected<CudaProperties> cuda_properties(int ordinal) {
  if (Status status = is_there(ordinal); !status)
    return status;
  CudaProperties found;
#if WEFT_CUDA
  const DriverTable &table = *driver().table;
  CUdevice device = 0;
  CUresult code = table.cuDeviceGet(&device, ordinal);
  const auto ask = [&](CUdevice_attribute which) {
    int value = 0;
    if (code == CUDA_SUCCESS)
      code = table.cuDeviceGetAttribute(&value, which, device);
    return value;
  };
  found.capability = 10 * ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  found.capability += ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  found.multiprocessors = ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  found.warp_threads = ask(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  found.multiprocessor_threads = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  found.multiprocessor_registers = ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  found.block_shared_bytes =
      static_cast<uint64_t>(ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  found.multiprocessor_shared_bytes =
      static_cast<uint64_t>(ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  found.l2_bytes = static_cast<uint64_t>(ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  std::array<char, 256> name = {};
  size_t bytes = 0;
  if (code == CUDA_SUCCESS)
    code = table.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device);
  if (code == CUDA_SUCCESS)
    code = table.cuDeviceTotalMem(&bytes, device);
  if (code != CUDA_SUCCESS)
    return Status::error("'cuda:" + std::to_string(ordinal) +
                             "', asking for its properties: " + cuda_error_text(table, code),
                         "WEFT-E006");
  found.name = name.data();
  found.memory_bytes = bytes;
#endif
  return found;
}

Expected<Device *> cuda_device(int ordinal) {
  if (Status status = is_there(ordinal); !status)
    return status;
#if WEFT_CUDA
  static std::mutex mutex;
  static auto *const opened = new std::map<int, CudaDevice *>;
  const std::lock_guard lock(mutex);
  if (const auto known = opened->find(ordinal); known != opened->end())
    return static_cast<Device *>(known->second);
  Expected<CudaDevice *> device = CudaDevice::open(*driver().table, ordinal);
  if (!device)
    return device.status();
  opened->emplace(ordinal, *device);
  return static_cast<Device *>(*device);
#else
  return Status::error("there is no CUDA device in this build", "WEFT-E001"); // is_there() has said so
#endif
}

} // namespace weft::runtime
