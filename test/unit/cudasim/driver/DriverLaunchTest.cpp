//===- DriverLaunchTest.cpp - Modules and launches of the software driver ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareDriver.h"

#include <gtest/gtest.h>
#include <vector>

using namespace weft::cusim;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

CUlaunchConfig oneBlock(unsigned threads = 1) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = threads;
  return config;
}

TEST(DriverLaunch, TakesTheParametersWhenItIsEnqueued) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUdeviceptr numbers = driver.allocate(4);
    driver.cuMemsetD32Async(numbers, 1, 1, nullptr);
    uint32_t value = 4, count = 1;
    void *parameters[] = {&numbers, &value, &count};
    CUlaunchConfig config = oneBlock();
    const CUfunction add = driver.kernel("add");
    EXPECT_EQ(driver.cuLaunchKernelEx(&config, add, parameters, nullptr), CUDA_SUCCESS);
    value = 100;
    struct {
      CUdeviceptr numbers;
      uint32_t value = 2, count = 1;
    } packed{numbers};
    size_t bytes = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    EXPECT_EQ(driver.cuLaunchKernelEx(&config, add, nullptr, extra), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.read(numbers), 7u);
    bytes = 12;
    EXPECT_EQ(driver.cuLaunchKernelEx(&config, add, nullptr, extra), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(DriverLaunch, TheOneThatIsAskedForIsSpoilt) {
  const char *const messages[] = {"", "CUSIM_SPOIL: launch 1, of 'add', has another bit in the byte at 0x",
                                  "CUSIM_SPOIL: launch 2, of 'add', has another bit in the byte at 0x",
                                  "CUSIM_SPOIL: launch 3, of 'shared', wrote nothing"};
  for (unsigned number = 1; number <= 3; ++number) {
    const std::string output = run({{"CUSIM_SPOIL", std::to_string(number)}}, [&](SoftwareDriver &driver) {
      driver.start();
      const CUdeviceptr numbers = driver.allocate(8);
      driver.cuMemsetD32Async(numbers, 1, 2, nullptr);
      EXPECT_EQ(driver.add(nullptr, numbers, 2, 1), CUDA_SUCCESS);
      EXPECT_EQ(driver.add(nullptr, numbers, 3, 2), CUDA_SUCCESS);
      CUlaunchConfig config = oneBlock();
      EXPECT_EQ(driver.cuLaunchKernelEx(&config, driver.kernel("shared"), nullptr, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
      // The last byte of what each wrote.
      EXPECT_EQ(driver.read(numbers), number == 1 ? 0x01000006u : 6u);
      EXPECT_EQ(driver.read(numbers + 4), number == 2 ? 0x01000004u : 4u);
    });
    EXPECT_TRUE(contains(output, messages[number])) << output;
  }
}

TEST(DriverLaunch, FaultsPoisonTheContext) {
  struct Case {
    const char *kernel;
    CUresult code;
    const char *message;
  };
  for (const Case &one : {Case{"outside", CUDA_ERROR_ILLEGAL_ADDRESS, "4 bytes at 0x1000, by thread (0,0,0)"},
                          Case{"stop", CUDA_ERROR_LAUNCH_FAILED, "trap"}}) {
    const std::string output = run({}, [&](SoftwareDriver &driver) {
      driver.start();
      CUlaunchConfig config = oneBlock();
      CUdeviceptr more = 0;
      int count = 0;
      EXPECT_EQ(driver.cuLaunchKernelEx(&config, driver.kernel(one.kernel), nullptr, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuCtxSynchronize(), one.code);
      EXPECT_EQ(driver.cuCtxSynchronize(), one.code);
      EXPECT_EQ(driver.cuMemAlloc(&more, 4), one.code);
      EXPECT_EQ(driver.cuDeviceGetCount(&count), CUDA_SUCCESS);
    });
    EXPECT_TRUE(contains(output, std::string("kernel '") + one.kernel + "' of cuLaunchKernelEx (call "))
        << output;
    EXPECT_TRUE(contains(output, one.message)) << output;
    EXPECT_TRUE(contains(output, "returns error " + std::to_string(int(one.code)))) << output;
  }
}

TEST(DriverLaunch, UseOfFreedMemoryIsAFault) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    CUdeviceptr numbers = 0;
    driver.cuMemAllocAsync(&numbers, 64, stream);
    EXPECT_EQ(driver.cuMemFreeAsync(numbers, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.add(stream, numbers, 1, 16), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  EXPECT_TRUE(contains(output, "freed")) << output;
}

TEST(DriverLaunch, ChecksSizes) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    driver.start();
    const CUfunction shared = driver.kernel("shared"), add = driver.kernel("add");
    auto launch = [&](CUfunction kernel, CUlaunchConfig config) {
      CUdeviceptr numbers = 0;
      uint32_t value = 0, count = 0;
      void *parameters[] = {&numbers, &value, &count};
      return driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr);
    };
    EXPECT_EQ(launch(add, oneBlock(256)), CUDA_SUCCESS);
    EXPECT_EQ(launch(add, oneBlock(257)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(launch(shared, oneBlock(1025)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(launch(shared, oneBlock(0)), CUDA_ERROR_INVALID_VALUE);
    CUlaunchConfig config = oneBlock();
    config.gridDimY = 65536;
    EXPECT_EQ(launch(shared, config), CUDA_ERROR_INVALID_VALUE);
    config = oneBlock();
    config.sharedMemBytes = 49152;
    EXPECT_EQ(launch(shared, config), CUDA_ERROR_INVALID_VALUE) << "16 bytes are static";
    auto set = [&](int bytes) {
      return driver.cuFuncSetAttribute(shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
    };
    EXPECT_EQ(set(232448), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(set(232432), CUDA_SUCCESS);
    config.sharedMemBytes = 232432;
    EXPECT_EQ(launch(shared, config), CUDA_SUCCESS);
    CUlaunchAttribute cooperative{};
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
    config.attrs = &cooperative;
    config.numAttrs = 1;
    EXPECT_EQ(launch(shared, config), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  EXPECT_TRUE(contains(output, "block 257x1x1 has more than the 256 threads")) << output;
  EXPECT_TRUE(contains(output, "the launch attribute 2 is not supported")) << output;
}

TEST(DriverLaunch, SaysWhatAKernelNeeds) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    const CUfunction shared = driver.kernel("shared");
    int value = 0, blocks = 0;
    EXPECT_EQ(driver.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, shared), CUDA_SUCCESS);
    EXPECT_EQ(value, 16);
    EXPECT_EQ(
        driver.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, driver.kernel("add")),
        CUDA_SUCCESS);
    EXPECT_EQ(value, 256);
    auto occupancy = [&](int threads, size_t bytes) {
      EXPECT_EQ(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, threads, bytes),
                CUDA_SUCCESS);
      return blocks;
    };
    // On sm_90: 64 warps, 32 blocks, 228 KiB, of which a block has 1 KiB for the driver.
    EXPECT_EQ(occupancy(256, 0), 8);
    EXPECT_EQ(occupancy(32, 0), 32);
    EXPECT_EQ(occupancy(32, 100 << 10), 2);
    EXPECT_EQ(occupancy(32, 112 << 10), 2);
    EXPECT_EQ(occupancy(32, 114 << 10), 1);
  });
}

TEST(DriverModules, ForAnotherArchitectureAreRefused) {
  const std::string output = run({{"CUSIM_CC", "80"}}, [](SoftwareDriver &driver) {
    driver.start();
    CUmodule module = nullptr;
    EXPECT_EQ(driver.cuModuleLoadDataEx(&module, kernelText("sm_90").c_str(), 0, nullptr, nullptr),
              CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_EQ(driver.cuModuleLoadDataEx(&module, kernelText("sm_80").c_str(), 0, nullptr, nullptr),
              CUDA_SUCCESS);
  });
  EXPECT_TRUE(contains(output, "the PTX is for sm_90, and the device is of sm_80")) << output;
}

TEST(DriverModules, ThatTheEngineCannotReadNameLineAndOpcode) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUmodule module = nullptr;
    std::string text = kernelText();
    text.replace(text.find("trap;"), 5, "wgmma.fence.sync.aligned;");
    EXPECT_EQ(driver.cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr), CUDA_ERROR_INVALID_PTX);
    EXPECT_EQ(driver.cuModuleLoadDataEx(&module, "no text", 0, nullptr, nullptr), CUDA_ERROR_INVALID_IMAGE);
  });
  EXPECT_TRUE(contains(output, "PTX line 39, wgmma.fence.sync.aligned")) << output;
}

TEST(DriverModules, OfLibrariesRunOnAnyDevice) {
  run({{"CUSIM_DEVICES", "2"}}, [](SoftwareDriver &driver) {
    driver.start(0);
    const std::string text = kernelText();
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    EXPECT_EQ(driver.cuLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuLibraryGetKernel(&kernel, library, "no kernel"), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(driver.cuLibraryGetKernel(&kernel, library, "add"), CUDA_SUCCESS);
    std::vector<CUfunction> functions;
    for (int device : {0, 1}) {
      driver.start(device);
      CUfunction function = nullptr;
      EXPECT_EQ(driver.cuKernelGetFunction(&function, kernel), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuFuncLoad(function), CUDA_SUCCESS);
      functions.push_back(function);
      CUdeviceptr numbers = driver.allocate(4);
      driver.cuMemsetD32Async(numbers, 1, 1, nullptr);
      uint32_t value = 4, count = 1;
      void *parameters[] = {&numbers, &value, &count};
      CUlaunchConfig config = oneBlock();
      EXPECT_EQ(driver.cuLaunchKernelEx(&config, function, parameters, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
      EXPECT_EQ(driver.read(numbers), 5u);
    }
    CUlaunchConfig config = oneBlock();
    EXPECT_EQ(driver.cuLaunchKernelEx(&config, functions[0], nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE)
        << "device 1 is current";
    EXPECT_EQ(driver.cuLibraryUnload(library), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuFuncLoad(functions[1]), CUDA_ERROR_INVALID_HANDLE);
  });
}

} // namespace
