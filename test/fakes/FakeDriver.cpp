//===- FakeDriver.cpp - A library in the place of the CUDA driver ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A libcuda.so.1 with every function of the table, each under the name that cuda.h gives it. What it says of
// version and devices is in FAKE_DRIVER_VERSION, FAKE_DRIVER_DEVICES and FAKE_DRIVER_ERROR, the code that it
// starts with. With FAKE_DRIVER_LACKS_GRAPHS it is built without the functions of graphs.
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/DriverTable.h"

#include <cstdlib>

#define EXPORTED __attribute__((visibility("default")))

// The library's symbols have the names that the table looks up; those of the sources are others, because
// cuda.h has declared the former with other types.
#define FAKE(function)                                                                                       \
  extern "C" EXPORTED CUresult fake_##function() __asm__(WEFT_DRIVER_NAME(function));                        \
  CUresult fake_##function() { return CUDA_ERROR_NOT_SUPPORTED; }

WEFT_DRIVER_DEVICE_FUNCTIONS(FAKE)
WEFT_DRIVER_MEMORY_FUNCTIONS(FAKE)
WEFT_DRIVER_ORDER_FUNCTIONS(FAKE)
WEFT_DRIVER_LAUNCH_FUNCTIONS(FAKE)
#ifndef FAKE_DRIVER_LACKS_GRAPHS
WEFT_DRIVER_GRAPH_FUNCTIONS(FAKE)
#endif

#define STARTS(function, ...)                                                                                \
  extern "C" EXPORTED CUresult fake_##function(__VA_ARGS__) __asm__(WEFT_DRIVER_NAME(function));             \
  CUresult fake_##function(__VA_ARGS__)

static int numberIn(const char *variable, int otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

STARTS(cuDriverGetVersion, int *value) {
  *value = numberIn("FAKE_DRIVER_VERSION", CUDA_VERSION);
  return CUDA_SUCCESS;
}
STARTS(cuInit, unsigned) { return static_cast<CUresult>(numberIn("FAKE_DRIVER_ERROR", CUDA_SUCCESS)); }
STARTS(cuDeviceGetCount, int *value) {
  *value = numberIn("FAKE_DRIVER_DEVICES", 1);
  return CUDA_SUCCESS;
}
STARTS(cuGetErrorName, CUresult, const char **text) {
  *text = "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
STARTS(cuGetErrorString, CUresult, const char **text) {
  *text = "a fake error";
  return CUDA_SUCCESS;
}
