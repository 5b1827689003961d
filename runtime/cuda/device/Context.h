//===- Context.h - The primary context of a CUDA device ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver's functions act on the context that is current on the calling thread. That is the caller's
// business: another library of the process may have its own. So each entry of ours makes the primary context
// of its device current, and gives the thread back the one that it had.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_CONTEXT_H
#define WEFT_RUNTIME_CUDA_DEVICE_CONTEXT_H

#include "runtime/cuda/DriverTable.h"
#include "weft/status.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace weft::runtime {

/// What the driver says of an error: "CUDA_ERROR_NOT_SUPPORTED (operation not supported)".
std::string cuda_error_text(const DriverTable &table, CUresult code);

class CudaContext {
public:
  /// Retains the primary context of device `ordinal` of a driver that is ready, for the rest of the process.
  static Expected<std::unique_ptr<CudaContext>> open(const DriverTable &table, int ordinal);

  const DriverTable &table() const { return table_; }
  CUcontext handle() const { return context_; }
  CUdevice device() const { return device_; }
  /// "cuda:0"
  const std::string &name() const { return name_; }
  /// Of the device. 0 if the driver does not know the attribute.
  int attribute(CUdevice_attribute which) const;

  /// No error for CUDA_SUCCESS. Otherwise one that names the device, what was tried and what the driver says.
  /// An error of the device itself ends the context: the driver then refuses everything until the process
  /// ends, which the message says (WEFT-E007).
  Status check(CUresult code, const std::string &what) const;
  /// Whether the device has ended the context by an error of its own.
  bool is_lost() const { return lost_.load(std::memory_order_relaxed); }

private:
  CudaContext(const DriverTable &table, int ordinal)
      : table_(table), name_("cuda:" + std::to_string(ordinal)) {}

  const DriverTable &table_;
  const std::string name_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  mutable std::atomic<bool> lost_{false};
};

/// Makes a context current on the thread as long as it exists.
class ContextScope {
public:
  explicit ContextScope(const CudaContext &context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
  /// An error if the context could not be made current, also because this process is a fork of the one that
  /// opened it.
  const Status &status() const { return status_; }

private:
  const CudaContext &context_;
  CUcontext before_ = nullptr;
  bool changed_ = false;
  Status status_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_CONTEXT_H
