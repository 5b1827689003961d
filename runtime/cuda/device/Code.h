//===- Code.h - Kernels that a GPU has loaded -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_CODE_H
#define WEFT_RUNTIME_CUDA_DEVICE_CODE_H

#include "runtime/cuda/device/Context.h"
#include "runtime/device/Device.h"
#include "runtime/plan/DeviceImage.h"

#include <unordered_map>
#include <vector>

namespace weft::runtime {

/// Libraries of the driver that are unloaded with this.
class CudaLibraries {
public:
  explicit CudaLibraries(const CudaContext &context) : context_(context) {}
  CudaLibraries(const CudaLibraries &) = delete;
  CudaLibraries &operator=(const CudaLibraries &) = delete;
  ~CudaLibraries();
  /// Loads machine code or the text of PTX. The error is the driver's.
  CUresult load(const void *code, CUlibrary &library);
  /// A kernel of a library as a function of the context, loaded there. The error is the driver's.
  CUresult find(CUlibrary library, const char *kernel, CUfunction &function) const;

private:
  const CudaContext &context_;
  std::vector<CUlibrary> libraries_;
};

/// The kernels of an image of a package.
class CudaCode final : public DeviceCode {
public:
  /// `machine_code`: whether the device runs that of the image. Otherwise, and if the driver refuses it, the
  /// driver compiles the PTX. The context is current.
  static Expected<std::shared_ptr<const CudaCode>>
  load(const CudaContext &context, std::shared_ptr<const DeviceImage> image, bool machine_code);
  /// The function of a kernel of the image.
  CUfunction function(const fb::DeviceKernel *kernel) const { return functions_.at(kernel); }

private:
  CudaCode(const CudaContext &context, std::shared_ptr<const DeviceImage> image)
      : image_(std::move(image)), libraries_(context) {}
  Expected<CUfunction> load_kernel(const CudaContext &context, const fb::DeviceKernel &kernel,
                                   bool machine_code);

  const std::shared_ptr<const DeviceImage> image_;
  CudaLibraries libraries_;
  std::unordered_map<const fb::DeviceKernel *, CUfunction> functions_;
};

/// The runtime's own kernels (CallKernels.h).
struct CallCode {
  explicit CallCode(const CudaContext &context) : libraries(context) {}
  static Expected<std::unique_ptr<const CallCode>> load(const CudaContext &context);

  CudaLibraries libraries;
  CUfunction begin_call = nullptr, end_call = nullptr, merge_keys = nullptr, copy = nullptr;
  /// The same with room for few flags.
  CUfunction begin_call_few = nullptr, end_call_few = nullptr;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_CODE_H
