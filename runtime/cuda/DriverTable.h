//===- DriverTable.h - The functions of the CUDA driver ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which functions the runtime calls. Types and names are those of cuda.h, which renames functions whose
// interface has changed, as cuMemAlloc to cuMemAlloc_v2: the name that a function has in the library is made
// after this replacement, through a second macro.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DRIVERTABLE_H
#define WEFT_RUNTIME_CUDA_DRIVERTABLE_H

#include <cuda.h>
#include <string>

#define WEFT_DRIVER_NAME(function) WEFT_DRIVER_QUOTE(function)
#define WEFT_DRIVER_QUOTE(function) #function

// clang-format off
// The driver itself.
#define WEFT_DRIVER_START_FUNCTIONS(X)                                                                       \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGetCount)
// Devices and their primary contexts.
#define WEFT_DRIVER_DEVICE_FUNCTIONS(X)                                                                      \
  X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDeviceTotalMem) X(cuDeviceGetUuid)           \
  X(cuDeviceGetDefaultMemPool) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease)                      \
  X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuCtxSynchronize) X(cuCtxGetStreamPriorityRange)
// Memory of devices and of the host.
#define WEFT_DRIVER_MEMORY_FUNCTIONS(X)                                                                      \
  X(cuMemGetInfo) X(cuMemAlloc) X(cuMemFree) X(cuMemAllocAsync) X(cuMemFreeAsync) X(cuMemPoolCreate)         \
  X(cuMemPoolDestroy) X(cuMemPoolSetAttribute) X(cuMemPoolGetAttribute) X(cuMemPoolTrimTo)                   \
  X(cuMemAllocFromPoolAsync) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemHostRegister)                         \
  X(cuMemHostUnregister) X(cuPointerGetAttribute) X(cuMemcpyAsync) X(cuMemcpyHtoDAsync)                      \
  X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemcpy2DAsync) X(cuMemsetD8Async) X(cuMemsetD32Async)
// Streams and events.
#define WEFT_DRIVER_ORDER_FUNCTIONS(X)                                                                       \
  X(cuStreamCreateWithPriority) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamQuery)                   \
  X(cuStreamWaitEvent) X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuLaunchHostFunc)                     \
  X(cuThreadExchangeStreamCaptureMode)                                                                       \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize)                  \
  X(cuEventElapsedTime)
// Code and its launches.
#define WEFT_DRIVER_LAUNCH_FUNCTIONS(X)                                                                      \
  X(cuLibraryLoadData) X(cuLibraryUnload) X(cuLibraryGetKernel) X(cuKernelGetFunction)                       \
  X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuFuncGetAttribute)                       \
  X(cuFuncSetAttribute) X(cuFuncLoad) X(cuLaunchKernelEx) X(cuOccupancyMaxActiveBlocksPerMultiprocessor)
// Graphs.
#define WEFT_DRIVER_GRAPH_FUNCTIONS(X)                                                                       \
  X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphAddKernelNode) X(cuGraphAddMemcpyNode)                         \
  X(cuGraphAddMemsetNode) X(cuGraphAddEmptyNode) X(cuGraphAddChildGraphNode) X(cuGraphAddDependencies)       \
  X(cuGraphAddNode) X(cuGraphConditionalHandleCreate)                                                        \
  X(cuGraphInstantiate) X(cuGraphUpload) X(cuGraphLaunch) X(cuGraphExecDestroy)                              \
  X(cuGraphExecKernelNodeSetParams) X(cuGraphExecMemcpyNodeSetParams) X(cuGraphExecMemsetNodeSetParams)
#define WEFT_DRIVER_FUNCTIONS(X)                                                                             \
  WEFT_DRIVER_START_FUNCTIONS(X)                                                                             \
  WEFT_DRIVER_DEVICE_FUNCTIONS(X)                                                                            \
  WEFT_DRIVER_MEMORY_FUNCTIONS(X)                                                                            \
  WEFT_DRIVER_ORDER_FUNCTIONS(X)                                                                             \
  WEFT_DRIVER_LAUNCH_FUNCTIONS(X)                                                                            \
  WEFT_DRIVER_GRAPH_FUNCTIONS(X)
// clang-format on

namespace weft::runtime {

struct DriverTable {
#define WEFT_DRIVER_FIELD(function) decltype(&::function) function = nullptr;
  WEFT_DRIVER_FUNCTIONS(WEFT_DRIVER_FIELD)
#undef WEFT_DRIVER_FIELD
};

/// What the driver says of an error: "CUDA_ERROR_NOT_SUPPORTED (operation not supported)".
std::string cuda_error_text(const DriverTable &table, CUresult code);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DRIVERTABLE_H
