//===- Launch.h - Modules, their kernels, and launches ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_LAUNCH_H
#define WEFT_TEST_CUDASIM_DRIVER_LAUNCH_H

#include "test/cudasim/driver/Cubin.h"
#include "test/cudasim/driver/State.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weft::cusim {

struct Kernel;

/// What cuModuleLoadDataEx or cuLibraryLoadData has loaded.
struct Image : Object {
  explicit Image(const char *kind) : Object(kind) {}
  /// The module on a device, loaded there at first use; null if the device has not enough memory.
  const cudasim::Module *on(Device &device);
  bool leave(Context &context) override;

  std::string ptx;
  std::map<std::string, KernelResources> resources;
  std::unique_ptr<cudasim::Module> unloaded; ///< which no device has yet
  std::map<Device *, std::unique_ptr<cudasim::Module>> modules;
  std::map<std::pair<std::string, Device *>, Kernel *> kernels;
};

/// A kernel of a module; of a library, a kernel that any device may run (null) or that one device runs.
struct Kernel : Object {
  Kernel(Image &image, std::string entry, Device *device)
      : Object("kernel"), image(image), entry(std::move(entry)), device(device) {
    isProgram = false; // it lives as long as the image
  }
  bool leave(Context &context) override { return device == &context.device; }
  /// What the text says of it.
  const cudasim::KernelInfo &info() const;
  uint32_t registers() const;
  uint32_t localBytes() const;
  /// The most threads of a block.
  uint64_t mostThreads() const;

  Image &image;
  const std::string entry;
  Device *const device;
  uint64_t mostDynamicShared = 48 << 10; ///< that a launch may ask for, together with the static bytes
};

/// A launch with the bytes of its parameters.
struct Launch {
  Kernel *kernel = nullptr;
  Device *device = nullptr;
  cudasim::Dim grid, block;
  uint32_t dynamicShared = 0;
  std::vector<std::byte> parameters;
};

/// Kernels that a CUfunction or a CUkernel names, on a device; null after a complaint.
Kernel *kernelOf(const void *handle, Device &device);

/// Checks a launch and reads its parameters, from one of the two forms.
CUresult readLaunch(Launch &launch, void **parameters, void **extra);
Outcome runLaunch(const Launch &launch);

/// How many blocks of a kernel a multiprocessor has at a time.
uint64_t residentBlocks(const Kernel &kernel, uint64_t threads, uint64_t dynamicShared);

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_LAUNCH_H
