//===- Context.cpp - The primary context of a CUDA device -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/Context.h"

#include "runtime/cuda/Driver.h"

#include <unistd.h>

namespace weft::runtime {
namespace {

/// Whether an error is one of work on the device, after which the driver refuses everything.
bool ends_context(CUresult code) {
  switch (code) {
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_CONTAINED:
  case CUDA_ERROR_TENSOR_MEMORY_LEAK:
  case CUDA_ERROR_MPS_CLIENT_TERMINATED:
  case CUDA_ERROR_EXTERNAL_DEVICE:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    return true;
  default:
    return false;
  }
}

} // namespace

Expected<std::unique_ptr<CudaContext>> CudaContext::open(const DriverTable &table, int ordinal) {
  std::unique_ptr<CudaContext> made(new CudaContext(table, ordinal));
  if (Status status = made->check(table.cuDeviceGet(&made->device_, ordinal), "asking for the device");
      !status)
    return status;
  if (Status status = made->check(table.cuDevicePrimaryCtxRetain(&made->context_, made->device_),
                                  "opening its primary context");
      !status)
    return status;
  return made;
}

CudaContext::~CudaContext() {
  if (!context_)
    return;
  CUcontext current = nullptr; // a thread must not keep what may be gone
  if (table_.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context_)
    (void)table_.cuCtxSetCurrent(nullptr);
  (void)table_.cuDevicePrimaryCtxRelease(device_);
}

Status CudaContext::check(CUresult code, std::string_view what) const {
  if (code == CUDA_SUCCESS)
    return {};
  const std::string said = cuda_error_text(table_, code);
  if (!ends_context(code))
    return Status::error("'" + name_ + "', " + std::string(what) + ": " + said, "WEFT-E006");
  lose(std::string(what) + ": " + said);
  return lost();
}

void CudaContext::lose(const std::string &why) const {
  const std::lock_guard lock(mutex_);
  if (lost_text_.empty())
    lost_text_ = why;
  lost_.store(true, std::memory_order_release);
}

Status CudaContext::lost() const {
  return Status::error("'" + name_ + "' has failed, " + lost_text_ +
                           "; nothing more runs on it in this process: find the launch with "
                           "WEFT_LAUNCH_BLOCKING=1, and start the process again",
                       "WEFT-E007");
}

Status CudaContext::end_wait(CUresult code, std::string_view what) const {
  Status status = check(code, what);
  if (status.ok() || is_lost())
    return status;
  status = check(table_.cuCtxSynchronize(), what);
  if (status.ok() || is_lost())
    return status;
  // Nobody can tell any more when the work ends.
  lose(status.message());
  return lost();
}

Status CudaContext::usable() const {
  if (is_forked_from_driver())
    return Status::error(
        "Cannot re-initialize CUDA in forked subprocess: '" + name_ + "' was opened by process " +
            std::to_string(driver_process()) + ", of which this process, " + std::to_string(::getpid()) +
            ", is a fork; start the child without fork, or use the device in the child alone "
            "(WEFT-E005)",
        "WEFT-E005");
  return is_lost() ? lost() : Status();
}

ContextScope::ContextScope(const CudaContext &context) : context_(context) {
  const DriverTable &table = context.table();
  status_ = context.usable();
  if (!status_.ok())
    return;
  CUresult code = table.cuCtxGetCurrent(&before_);
  if (code == CUDA_SUCCESS && before_ != context.handle()) {
    code = table.cuCtxSetCurrent(context.handle());
    changed_ = code == CUDA_SUCCESS && before_;
  }
  // While another thread captures, this one may not allocate or wait, and would end that capture if it did,
  // unless it says that what it does is no part of it.
  if (code == CUDA_SUCCESS) {
    code = table.cuThreadExchangeStreamCaptureMode(&capture_mode_);
    relaxed_ = code == CUDA_SUCCESS;
  }
  status_ = context.check(code, "making its context current");
}

ContextScope::~ContextScope() {
  if (relaxed_)
    (void)context_.table().cuThreadExchangeStreamCaptureMode(&capture_mode_);
  // The thread's own context may be gone by now, which is not for us to report.
  if (changed_)
    (void)context_.table().cuCtxSetCurrent(before_);
}

} // namespace weft::runtime
