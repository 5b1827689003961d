//===- Driver.h - The driver of CUDA devices, loaded at first use -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver's library is not linked. Its functions are in a table that is filled by `dlopen` at the first
// call of driver(), so one build of Weft runs with a driver and without it, and a program that uses no CUDA
// device opens nothing. The library is part of the system's driver, so it is opened by its bare name alone.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DRIVER_H
#define WEFT_RUNTIME_CUDA_DRIVER_H

#include "weft/export.hpp"

#include <string>

namespace weft::runtime {

struct DriverTable; // runtime/cuda/DriverTable.h

/// What the search for a driver found.
enum class DriverState {
  ready,              ///< a driver that is new enough, and at least one device
  built_without_cuda, ///< this Weft has no table (-DWEFT_CUDA=OFF)
  no_library,         ///< the loader finds no libcuda.so.1
  too_old,            ///< the driver is older than the least that Weft takes
  no_device,          ///< the driver sees no device
  failed,             ///< the library lacks a function, or does not start
};

struct Driver {
  /// The least driver, as cuDriverGetVersion() counts: that of CUDA 13.0, whose functions the table has.
  static constexpr int leastVersion = 13000;

  DriverState state = DriverState::built_without_cuda;
  int version = 0;                    ///< of the driver, as 13000; 0 if it is not known
  int devices = 0;                    ///< that the driver sees
  std::string problem;                ///< what the loader or the driver said
  const DriverTable *table = nullptr; ///< filled if the state is `ready`, for the rest of the process

  /// The state in a sentence: what was found, what is needed, and what to do.
  WEFT_RUNTIME_API std::string text() const;
};

/// The release of CUDA whose headers Weft was built with, as 13000; 0 if it is built without CUDA.
WEFT_RUNTIME_API int cuda_build_version();

/// "13.0" for 13000.
WEFT_RUNTIME_API std::string cuda_version_text(int version);

/// The driver of this process, loaded and started by the first caller.
WEFT_RUNTIME_API const Driver &driver();

/// Whether this process is a fork of one that had started the driver: nothing of the driver works in it.
WEFT_RUNTIME_API bool is_forked_from_driver();
/// The process that has called driver() first; 0 if none has.
int driver_process();
/// How many devices there are. If nobody has called driver(), a child process asks, once: this process may
/// still fork and use devices in the children.
WEFT_RUNTIME_API int visible_devices();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DRIVER_H
