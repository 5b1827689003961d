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

/// What the driver says of a device. Memory is in bytes, registers are of 32 bits.
struct CudaProperties {
  std::string name;
  int capability = 0; ///< 90 for compute capability 9.0
  uint64_t memory_bytes = 0;
  int multiprocessors = 0, warp_threads = 0, multiprocessor_threads = 0, multiprocessor_registers = 0;
  uint64_t block_shared_bytes = 0; ///< that a launch may ask for at most
  uint64_t multiprocessor_shared_bytes = 0, l2_bytes = 0;
};
/// Opens no device. Errors are those of cuda_device().
WEFT_RUNTIME_API Expected<CudaProperties> cuda_properties(int ordinal);

/// The compute capability of the targets that there are kernels for which fits a GPU best: the largest that
/// is not larger than its own, 100 for 103; 0 if it is older than all of them.
WEFT_RUNTIME_API int nearest_cuda_target(int capability);

/// "cuda:N" of the driver, opened by its first caller. An error says why there is none (WEFT-E001), or why it
/// cannot be used (WEFT-E006).
WEFT_RUNTIME_API Expected<Device *> cuda_device(int ordinal);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_DEVICES_H
