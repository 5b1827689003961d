//===- DriverEnvironmentTest.cpp - What controls the software driver --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareDriver.h"

#include "test/unit/TemporaryFolder.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <tuple>

using namespace weft::cusim;
using weft::test::TemporaryFolder;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

std::string textOf(const std::string &file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// Calls a function with zeros, which it must not look at.
template <class... Arguments> CUresult callWithZeros(CUresult (*function)(Arguments...)) {
  return function(Arguments()...);
}

TEST(DriverEnvironment, EachFunctionFailsIfItIsAskedTo) {
  std::string rules;
#define WEFT_RULE(function) rules += (rules.empty() ? "" : ",") + std::string(#function) + ":1:999";
  CUSIM_FUNCTIONS(WEFT_RULE)
#undef WEFT_RULE
  run({{"CUSIM_FAIL", rules}}, [](SoftwareDriver &driver) {
#define WEFT_CALL(function) EXPECT_EQ(callWithZeros(driver.function), CUDA_ERROR_UNKNOWN) << #function;
    CUSIM_FUNCTIONS(WEFT_CALL)
#undef WEFT_CALL
    driver.start(); // the second calls succeed
    EXPECT_STREQ(driver.report(), "");
  });
}

TEST(DriverEnvironment, ALaterCallFailsAndDoesNothing) {
  run({{"CUSIM_FAIL", "cuMemAlloc:3:2"}}, [](SoftwareDriver &driver) {
    driver.start();
    CUdeviceptr address = 0;
    driver.allocate(8);
    driver.allocate(8);
    EXPECT_EQ(driver.cuMemAlloc(&address, 8), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(address, 0u);
    driver.allocate(8);
  });
}

TEST(DriverEnvironment, TheLogHasALineForEachCall) {
  TemporaryFolder folder;
  run({{"CUSIM_LOG", folder / "log"}, {"CUSIM_FAIL", "cuMemGetInfo:1:2"}}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    const CUdeviceptr device = driver.allocate(256);
    uint32_t host = 0;
    driver.cuMemcpyHtoDAsync(device, &host, 4, stream);
    driver.add(stream, device, 1, 1);
    driver.cuMemGetInfo(nullptr, nullptr);
    driver.cuMemFree(device);
    driver.cuStreamDestroy(stream);
  });
  EXPECT_EQ(textOf(folder / "log"), R"(cuInit(0) = 0
cuDevicePrimaryCtxRetain(-> context 1, 0) = 0
cuCtxSetCurrent(context 1) = 0
cuStreamCreateWithPriority(-> stream 1, 1, 0) = 0
cuMemAlloc(-> 0xf00000000100, 256) = 0
cuMemcpyHtoDAsync(0xf00000000100, host, 4, stream 1) = 0
cuModuleLoadDataEx(-> module 1, host, 0, null, null) = 0
cuModuleGetFunction(-> kernel 1, module 1, 'add') = 0
cuLaunchKernelEx(grid 1x1x1, block 128x1x1, shared 0, stream 1, kernel 1, host, null) = 0
cuMemGetInfo(null, null) = 2 by CUSIM_FAIL
cuMemFree(0xf00000000100) = 0
cuStreamDestroy(stream 1) = 0
leak: module 1
)");
}

TEST(DriverEnvironment, LeaksAreReported) {
  auto leave = [](SoftwareDriver &driver) {
    driver.start();
    driver.allocate(24);
    driver.pinned(1);
    driver.event();
    driver.stream();
    EXPECT_STREQ(driver.report(),
                 "allocation of 24 bytes at 0xf00000000100\nallocated host memory of 4 bytes\n"
                 "event 1\nstream 1\n");
  };
  EXPECT_EQ(run({}, leave), "");
  EXPECT_TRUE(contains(run({{"CUSIM_LEAKS", "1"}}, leave), "cusim: leak: allocation of 24 bytes at 0x"));
}

TEST(DriverEnvironment, ChoosesDevices) {
  run({{"CUSIM_DEVICES", "3"},
       {"CUSIM_CC", "86"},
       {"CUSIM_MEM", "12345"},
       {"CUDA_VISIBLE_DEVICES", "2,0,9,1"}},
      [](SoftwareDriver &driver) {
        driver.start(1);
        int count = 0, major = 0, minor = 0, bus[2] = {};
        size_t bytes = 0;
        char name[64];
        CUuuid first, second;
        EXPECT_EQ(driver.cuDeviceGetCount(&count), CUDA_SUCCESS);
        EXPECT_EQ(count, 2) << "the list ends at the first entry that is no device";
        driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
        driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
        for (int device : {0, 1})
          driver.cuDeviceGetAttribute(bus + device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
        EXPECT_EQ(major * 10 + minor, 86);
        EXPECT_EQ(bus[0], 3);
        EXPECT_EQ(bus[1], 1);
        EXPECT_EQ(driver.cuDeviceTotalMem(&bytes, 0), CUDA_SUCCESS);
        EXPECT_EQ(bytes, 12345u);
        EXPECT_EQ(driver.cuDeviceGetName(name, sizeof name, 0), CUDA_SUCCESS);
        EXPECT_STREQ(name, "Weft software device sm_86");
        EXPECT_EQ(driver.cuDeviceGetUuid(&first, 0), CUDA_SUCCESS);
        EXPECT_EQ(driver.cuDeviceGetUuid(&second, 1), CUDA_SUCCESS);
        EXPECT_EQ(first.bytes[15], 2);
        EXPECT_EQ(second.bytes[15], 0);
        EXPECT_EQ(driver.cuDeviceGetName(name, sizeof name, 2), CUDA_ERROR_INVALID_DEVICE);
      });
  run({{"CUDA_VISIBLE_DEVICES", ""}},
      [](SoftwareDriver &driver) { EXPECT_EQ(driver.cuInit(0), CUDA_ERROR_NO_DEVICE); });
}

TEST(DriverEnvironment, HasTheNumbersOfTheCompilersDescriptions) {
  run({{"CUSIM_CC", "90"}}, [](SoftwareDriver &driver) {
    driver.start();
    std::map<std::string, int> fields;
    std::ifstream file(std::string(WEFT_DEVICES_DIR) + "/sm_90.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string field;
      words >> field;
      words >> fields[field];
    }
    auto value = [&](CUdevice_attribute attribute) {
      int found = 0;
      EXPECT_EQ(driver.cuDeviceGetAttribute(&found, attribute, 0), CUDA_SUCCESS);
      return found;
    };
    EXPECT_EQ(value(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), fields["cores"]);
    EXPECT_EQ(value(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE), fields["lastLevelBytes"]);
    EXPECT_EQ(value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR), fields["coreWarps"] * 32);
    EXPECT_EQ(value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), fields["blockSharedBytes"]);
    EXPECT_EQ(value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), fields["coreSharedBytes"]);
  });
}

TEST(DriverEnvironment, AWaitThatIsLeftOutIsARace) {
  const auto program = [](SoftwareDriver &driver) {
    driver.start();
    const CUdeviceptr memory = driver.allocate(64);
    const CUstream first = driver.stream(), second = driver.stream();
    const CUevent event = driver.event();
    ASSERT_EQ(driver.cuMemsetD8Async(memory, 1, 64, first), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuEventRecord(event, first), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemsetD8Async(memory, 2, 64, second), CUDA_SUCCESS);
    driver.cuStreamSynchronize(first);
    driver.cuStreamSynchronize(second);
  };
  EXPECT_FALSE(contains(run({}, program), "race"));
  EXPECT_TRUE(contains(run({{"CUSIM_FAIL", "cuStreamWaitEvent:1:0"}}, program), "race"));
  EXPECT_FALSE(contains(run({{"CUSIM_FAIL", "cuStreamWaitEvent:2:0"}}, program), "race"));
}

TEST(DriverEnvironment, RefusesWhatItDoesNotUnderstand) {
  for (auto [variable, value, message] :
       {std::tuple("CUSIM_CC", "60", "CUSIM_CC is '60': it must be a number from 75 to 120"),
        std::tuple("CUSIM_FAIL", "cuMemAlloc:0:2", "CUSIM_FAIL is 'cuMemAlloc:0:2'"),
        std::tuple("CUSIM_ORDER", "sideways", "it must be forward, reverse or a number")}) {
    const std::string output = run({{variable, value}}, [](SoftwareDriver &driver) {
      EXPECT_EQ(driver.cuInit(0), CUDA_ERROR_INVALID_VALUE);
    });
    EXPECT_TRUE(contains(output, message)) << output;
  }
}

TEST(DriverEnvironment, NeedsAStartAndAContext) {
  run({}, [](SoftwareDriver &driver) {
    int count = 0;
    CUdeviceptr address = 0;
    CUcontext context = nullptr;
    EXPECT_EQ(driver.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc(&address, 4), CUDA_ERROR_INVALID_CONTEXT);
    driver.start();
    EXPECT_EQ(driver.cuCtxGetCurrent(&context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc(&address, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(driver.cuStreamDestroy(reinterpret_cast<CUstream>(context)), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    driver.start();
    EXPECT_EQ(driver.cuStreamDestroy(reinterpret_cast<CUstream>(context)), CUDA_ERROR_INVALID_HANDLE)
        << "a handle of another type";
  });
}

TEST(DriverEnvironment, ExportsWhatNvrtcAndLoadersAskFor) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    const void *found = nullptr;
    const CUuuid id{};
    EXPECT_EQ(driver.cuGetExportTable(&found, &id), CUDA_ERROR_NOT_FOUND);
    void *function = nullptr;
    EXPECT_EQ(driver.cuGetProcAddress("cuMemAlloc", &function, CUDA_VERSION, 0, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(function, reinterpret_cast<void *>(driver.cuMemAlloc));
    EXPECT_EQ(driver.cuGetProcAddress("cuTexObjectCreate", &function, CUDA_VERSION, 0, nullptr),
              CUDA_ERROR_NOT_FOUND);
  });
  EXPECT_TRUE(contains(output, "there is no cuTexObjectCreate")) << output;
}

TEST(DriverEnvironment, TheRuntimeFindsItByTheLoadersPath) {
  const Child child = runChild(
      {{"LD_LIBRARY_PATH", libraryFolder()}, {"WEFT_CUDA_PATH", libraryFolder()}, {"CUSIM_DEVICES", "2"}},
      nullptr, "--driver");
  EXPECT_EQ(child.exitCode, 0);
  EXPECT_EQ(child.output, "ready: version 13.0, 2 devices\nversion 13.1.0 in '" + libraryFolder() +
                              "/libcublasLt.so.13'\n");
}

} // namespace
