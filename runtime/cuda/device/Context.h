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
#include <mutex>
#include <string>
#include <string_view>

namespace weft::runtime {

/// The address of memory as the driver's functions take it.
inline CUdeviceptr address_of(const void *pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

class CudaContext {
public:
  /// Retains the primary context of device `ordinal` of a driver that is ready.
  static Expected<std::unique_ptr<CudaContext>> open(const DriverTable &table, int ordinal);

  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  const DriverTable &table() const { return table_; }
  CUcontext handle() const { return context_; }
  CUdevice device() const { return device_; }
  /// "cuda:0"
  const std::string &name() const { return name_; }

  /// No error for CUDA_SUCCESS. Otherwise one that names the device, what was tried and what the driver says.
  /// An error of the device itself ends the context: the driver then refuses everything until the process
  /// ends, which the message says (WEFT-E007).
  Status check(CUresult code, std::string_view what) const;
  /// The outcome of a wait, `code`. What is still running uses memory, so an error that does not end the
  /// context is no end of the wait: it goes on until all work of the context is done.
  Status end_wait(CUresult code, std::string_view what) const;
  /// Whether the device has ended the context by an error of its own.
  bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  /// The error of a context that is lost.
  Status lost() const;
  /// An error if nothing can run on the context any more: it is lost, or this process is a fork of the one
  /// that opened it. Asks nothing of the driver.
  Status usable() const;

private:
  void lose(const std::string &why) const;
  CudaContext(const DriverTable &table, int ordinal)
      : table_(table), name_("cuda:" + std::to_string(ordinal)) {}

  const DriverTable &table_;
  const std::string name_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::string lost_text_; ///< of the first error, written once before `lost_`
  mutable std::atomic<bool> lost_{false};
};

/// Makes a context current on the thread, and gives the thread back the one that it had. A thread that had
/// none keeps this one, so that a steady loop does not change it all the time. In between, captures of other
/// parts of the program forbid the thread nothing.
class ContextScope {
public:
  explicit ContextScope(const CudaContext &context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
  /// An error if the context could not be made current: it is lost, or this process is a fork of the one that
  /// opened it.
  const Status &status() const { return status_; }

private:
  const CudaContext &context_;
  CUcontext before_ = nullptr;
  bool changed_ = false;
  CUstreamCaptureMode capture_mode_ = CU_STREAM_CAPTURE_MODE_RELAXED; ///< then that of the thread before
  bool relaxed_ = false;
  Status status_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_CONTEXT_H
