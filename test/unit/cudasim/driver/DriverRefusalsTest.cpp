//===- DriverRefusalsTest.cpp - What the software driver does not take -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses that are null, and what a program made in a context that it has released since.
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareDriver.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace weft::cusim;

namespace {

/// Calls a function with a zero for each argument.
template <class... Arguments> CUresult callWithZeros(CUresult (*function)(Arguments...)) {
  return function(Arguments()...);
}

/// Functions for which zeros are no mistake.
const std::set<std::string> takeZeros = {"cuInit",
                                         "cuDevicePrimaryCtxRelease",
                                         "cuCtxSetCurrent",
                                         "cuCtxSynchronize",
                                         "cuMemFree",
                                         "cuMemFreeAsync",
                                         "cuMemFreeHost",
                                         "cuMemcpyAsync",
                                         "cuMemcpyHtoDAsync",
                                         "cuMemcpyDtoHAsync",
                                         "cuMemcpyDtoDAsync",
                                         "cuMemsetD8Async",
                                         "cuMemsetD32Async",
                                         "cuStreamSynchronize",
                                         "cuStreamQuery",
                                         "cuCtxGetStreamPriorityRange"};
/// Functions whose first mistake is a handle that is null, or a stream that is not captured.
const std::map<std::string, CUresult> otherCodes = {
    {"cuStreamDestroy", CUDA_ERROR_INVALID_HANDLE},
    {"cuStreamWaitEvent", CUDA_ERROR_INVALID_HANDLE},
    {"cuStreamBeginCapture", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"cuStreamEndCapture", CUDA_ERROR_ILLEGAL_STATE},
    {"cuEventDestroy", CUDA_ERROR_INVALID_HANDLE},
    {"cuEventRecord", CUDA_ERROR_INVALID_HANDLE},
    {"cuEventRecordWithFlags", CUDA_ERROR_INVALID_HANDLE},
    {"cuEventQuery", CUDA_ERROR_INVALID_HANDLE},
    {"cuEventSynchronize", CUDA_ERROR_INVALID_HANDLE},
    {"cuLibraryUnload", CUDA_ERROR_INVALID_HANDLE},
    {"cuModuleUnload", CUDA_ERROR_INVALID_HANDLE},
    {"cuFuncSetAttribute", CUDA_ERROR_INVALID_HANDLE},
    {"cuFuncLoad", CUDA_ERROR_INVALID_HANDLE},
    {"cuGraphDestroy", CUDA_ERROR_INVALID_HANDLE},
    {"cuGraphAddDependencies", CUDA_ERROR_INVALID_HANDLE},
    {"cuGraphUpload", CUDA_ERROR_INVALID_HANDLE},
    {"cuGraphLaunch", CUDA_ERROR_INVALID_HANDLE},
    {"cuGraphExecDestroy", CUDA_ERROR_INVALID_HANDLE},
};

/// Calls a function with zeros in a process that has a context.
template <class... Arguments>
void expectRefusal(SoftwareDriver &driver, const char *name, CUresult (*function)(Arguments...)) {
  driver.start();
  const auto other = otherCodes.find(name);
  const CUresult expected = takeZeros.contains(name)    ? CUDA_SUCCESS
                            : other != otherCodes.end() ? other->second
                                                        : CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(callWithZeros(function), expected) << name;
}

} // namespace

// No function looks where nothing is.
TEST(DriverRefusals, AddressesThatAreNull) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
#define WEFT_CALL(function) expectRefusal(driver, #function, driver.function);
    CUSIM_FUNCTIONS(WEFT_CALL)
#undef WEFT_CALL
  });
  EXPECT_NE(output.find("cuMemAlloc (call "), std::string::npos);
  EXPECT_NE(output.find("argument 1 is null"), std::string::npos) << output;
}

TEST(DriverRefusals, AddressesBehindOthersThatAreNull) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    driver.start();
    const CUdeviceptr memory = driver.allocate(64);
    CUstream stream = driver.stream();
    EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, nullptr, 64, stream), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(nullptr, memory, 64, stream), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, nullptr, 0, stream), CUDA_SUCCESS);
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    void *parameters[] = {nullptr, nullptr, nullptr};
    EXPECT_EQ(driver.cuLaunchKernelEx(&config, driver.kernel("add"), parameters, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    ASSERT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphAddEmptyNode(&node, graph, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuGraphAddEmptyNode(&node, graph, nullptr, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphAddDependencies(graph, nullptr, &node, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  });
  EXPECT_NE(output.find("kernel 'add': the address of parameter 0 is null"), std::string::npos) << output;
}

namespace {

/// What a program makes in a context.
struct Made {
  explicit Made(SoftwareDriver &driver)
      : stream(driver.stream()), event(driver.event()), memory(driver.allocate(64)), pinned(driver.pinned(4)),
        kernel(driver.kernel("add")) {
    EXPECT_EQ(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(driver.add(stream, memory, 1, 4), CUDA_SUCCESS);
    executable = driver.endCapture(stream);
    EXPECT_EQ(driver.cuEventRecord(event, stream), CUDA_SUCCESS);
  }
  CUstream stream;
  CUevent event;
  CUdeviceptr memory;
  uint32_t *pinned;
  CUfunction kernel;
  CUgraphExec executable = nullptr;
};

/// Each use of it is refused.
void expectGone(SoftwareDriver &driver, const Made &made) {
  constexpr CUresult handle = CUDA_ERROR_INVALID_HANDLE, value = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(driver.cuStreamSynchronize(made.stream), handle);
  EXPECT_EQ(driver.cuStreamDestroy(made.stream), handle);
  EXPECT_EQ(driver.cuEventQuery(made.event), handle);
  EXPECT_EQ(driver.cuEventDestroy(made.event), handle);
  EXPECT_EQ(driver.cuFuncLoad(made.kernel), handle);
  EXPECT_EQ(driver.cuGraphLaunch(made.executable, nullptr), handle);
  EXPECT_EQ(driver.cuMemFree(made.memory), value);
  EXPECT_EQ(driver.cuMemFreeHost(made.pinned), value);
  unsigned type = 0;
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, made.memory), value);
}

} // namespace

TEST(DriverRefusals, WhatTheLastReleaseOfAContextLeft) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUcontext context = nullptr;
    ASSERT_EQ(driver.cuCtxGetCurrent(&context), CUDA_SUCCESS);
    size_t free = 0, freeBefore = 0, total = 0;
    driver.cuMemGetInfo(&freeBefore, &total);
    const Made made(driver);
    // While another user has the context, all of it is there.
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(made.executable, made.stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(made.stream), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(made.stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_ERROR_INVALID_CONTEXT);
    // A context that is made anew has none of it.
    driver.start();
    expectGone(driver, made);
    driver.cuMemGetInfo(&free, &total);
    EXPECT_EQ(free, freeBefore);
    const std::string report = driver.report();
    for (const char *left : {"allocation of 64 bytes", "allocated host memory of 16 bytes", "stream 1",
                             "event 1", "module 1", "executable graph 1"})
      EXPECT_NE(report.find(left), std::string::npos)
          << "what a program leaves is a leak: " << left << report;
    // It works like the first one.
    SoftwareDriver next;
    EXPECT_EQ(next.read(next.allocate(4)), UINT32_MAX);
    const Made again(next);
    EXPECT_EQ(next.cuGraphLaunch(again.executable, again.stream), CUDA_SUCCESS);
    EXPECT_EQ(next.cuStreamSynchronize(again.stream), CUDA_SUCCESS);
  });
  EXPECT_NE(output.find("the stream does not exist, or was destroyed"), std::string::npos) << output;
}

TEST(DriverRefusals, ALibraryIsLoadedAgainAfterTheRelease) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    const std::string text = kernelText();
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction before = nullptr, after = nullptr;
    ASSERT_EQ(driver.cuLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(driver.cuLibraryGetKernel(&kernel, library, "add"), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuKernelGetFunction(&before, kernel), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    driver.start();
    EXPECT_EQ(driver.cuFuncLoad(before), CUDA_ERROR_INVALID_HANDLE);
    ASSERT_EQ(driver.cuKernelGetFunction(&after, kernel), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuFuncLoad(after), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuLibraryUnload(library), CUDA_SUCCESS);
  });
}

TEST(DriverRefusals, AnotherDevicesContextIsNotReleasedWithIt) {
  run({{"CUSIM_DEVICES", "2"}}, [](SoftwareDriver &driver) {
    driver.start(1);
    CUstream other = driver.stream();
    const CUdeviceptr memory = driver.allocate(8);
    driver.start(0);
    ASSERT_EQ(driver.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    driver.start(1);
    EXPECT_EQ(driver.cuStreamSynchronize(other), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFree(memory), CUDA_SUCCESS);
  });
}
