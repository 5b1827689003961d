//===- Devices.h - The CUDA devices of the process -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_DEVICES_H
#define WEFT_RUNTIME_CUDA_DEVICE_DEVICES_H

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstdint>
#include <string>

namespace weft::runtime {

class Device; // runtime/device/Device.h

/// "cuda:N" of the driver, opened by its first caller. An error says why there is none (WEFT-E001), or why it
/// cannot be used (WEFT-E006).
WEFT_RUNTIME_API Expected<Device *> cuda_device(int ordinal);

/// What the driver says of a device that nobody need have opened.
struct CudaDeviceInfo {
  std::string name; ///< "NVIDIA H100 80GB HBM3"
  std::string code; ///< "sm_90"
  uint64_t bytes = 0;
};

/// Device `ordinal` of the driver. Errors as above.
WEFT_RUNTIME_API Expected<CudaDeviceInfo> cuda_device_info(int ordinal);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_DEVICES_H
