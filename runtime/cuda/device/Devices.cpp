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

Expected<CudaDeviceInfo> cuda_device_info(int ordinal) {
  if (Status status = is_there(ordinal); !status)
    return status;
  CudaDeviceInfo info;
#if WEFT_CUDA
  const DriverTable &table = *driver().table;
  CUdevice device = 0;
  char name[256] = "";
  int major = 0, minor = 0;
  size_t bytes = 0;
  CUresult code = table.cuDeviceGet(&device, ordinal);
  if (code == CUDA_SUCCESS)
    code = table.cuDeviceGetName(name, sizeof name, device);
  if (code == CUDA_SUCCESS)
    code = table.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (code == CUDA_SUCCESS)
    code = table.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  if (code == CUDA_SUCCESS)
    code = table.cuDeviceTotalMem(&bytes, device);
  if (code != CUDA_SUCCESS)
    return Status::error("'cuda:" + std::to_string(ordinal) +
                             "', asking what it is: " + cuda_error_text(table, code),
                         "WEFT-E006");
  info = {name, "sm_" + std::to_string(10 * major + minor), bytes};
#endif
  return info;
}

} // namespace weft::runtime
