//===- cuda.hpp - CUDA devices of the process -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What PyTorch has in torch.cuda. Memory is in weft/memory.hpp, streams and events in weft/stream.hpp; both
// take a device. The first call of any of these functions loads the driver, after which a forked child can
// use no CUDA device.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CUDA_HPP
#define WEFT_CUDA_HPP

#include "weft/device.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace weft::cuda {

/// Whether there is a CUDA device that programs can name. Without one, `unavailable_reason` says why. Starts
/// no driver in this process, which may fork afterwards.
WEFT_API bool is_available() noexcept;
/// How many devices the driver sees, after CUDA_VISIBLE_DEVICES; 0 if there is no driver.
WEFT_API int device_count() noexcept;
/// In a sentence: Weft is built without CUDA, there is no driver, it is too old or does not start, or it sees
/// no device. Empty if there is one.
WEFT_API std::string unavailable_reason();

/// The device of this thread that "cuda" without a number means; set by DeviceGuard.
WEFT_API int current_device();

struct DeviceProperties {
  std::string name;          ///< "NVIDIA H100 80GB HBM3"
  int major = 0, minor = 0;  ///< the compute capability, 9 and 0
  uint64_t total_memory = 0; ///< bytes
  int multi_processor_count = 0;
  int warp_size = 0; ///< threads
  int max_threads_per_multi_processor = 0;
  int regs_per_multiprocessor = 0;               ///< registers of 32 bits
  uint64_t shared_memory_per_block_optin = 0;    ///< bytes
  uint64_t shared_memory_per_multiprocessor = 0; ///< bytes
  uint64_t l2_cache_size = 0;                    ///< bytes
};

/// What the driver says of a device, which it does not open. Throws Error (WEFT-E001) if there is none.
WEFT_API DeviceProperties get_device_properties(Device device = DeviceType::cuda, Loc loc = Loc::current());
WEFT_API std::string get_device_name(Device device = DeviceType::cuda, Loc loc = Loc::current());
/// The compute capability: {9, 0}.
WEFT_API std::pair<int, int> get_device_capability(Device device = DeviceType::cuda,
                                                   Loc loc = Loc::current());

/// Waits for all that was issued to the device; throws the first failure that was not reported yet.
WEFT_API void synchronize(Device device = DeviceType::cuda, Loc loc = Loc::current());

} // namespace weft::cuda

#endif // WEFT_CUDA_HPP
