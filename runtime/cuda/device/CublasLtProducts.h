//===- CublasLtProducts.h - Matrix products of a GPU's library --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuBLASLt is asked once for a contraction, when a function is loaded: which algorithm, and how much
// workspace. A call then only launches that algorithm. An algorithm is taken only if it computes what the
// contraction says: f32 in f32, without TF32, and sums of halves in f32. Where the library is missing, is
// told by its environment to compute otherwise, or has no such algorithm, a kernel of our own is used.
//
// If the plan has algorithms that were recorded for this GPU, the library checks them, and is asked for no
// others. Their words mean something to the release that gave them alone.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_CUBLASLTPRODUCTS_H
#define WEFT_RUNTIME_CUDA_DEVICE_CUBLASLTPRODUCTS_H

#include "runtime/cuda/CublasLtTable.h"
#include "runtime/cuda/device/Context.h"
#include "runtime/cuda/device/WorkList.h"
#include "runtime/device/Device.h"
#include "runtime/gemm/Contraction.h"

#include <mutex>

namespace weft::runtime {

/// The library in the context of one device.
class CublasLtProducts {
public:
  /// `aligned` is an address in memory of the device, aligned as allocations are.
  CublasLtProducts(const CudaContext &context, int capability, CUdeviceptr aligned)
      : context_(context), capability_(capability), aligned_(aligned) {}
  /// The library keeps memory in the context until then.
  ~CublasLtProducts();
  CublasLtProducts(const CublasLtProducts &) = delete;
  CublasLtProducts &operator=(const CublasLtProducts &) = delete;

  /// See Device::contraction(). The context is current.
  Expected<DeviceContraction> find(const ContractionShape &shape, const ContractionChoice &choice,
                                   const ContractionAlignment &alignment);

private:
  /// An error, if the library cannot be used. The mutex is held.
  Status open();

  const CudaContext &context_;
  const int capability_; ///< as 90
  const CUdeviceptr aligned_;
  std::mutex mutex_;
  const cublaslt::Table *table_ = nullptr;
  cublaslt::Handle handle_ = nullptr;
};

/// Bytes that a product of the library reads or writes of each operand; 0 of the workspace, which is its own.
std::array<size_t, productOperands> product_bytes(const Contraction &product);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_CUBLASLTPRODUCTS_H
