//===- NvrtcWrapperTest.cpp - The wrapper of NVRTC with the software driver -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareDriver.h"

#include "runtime/cuda/Libraries.h"
#include "test/cudasim/driver/Cubin.h"

#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <nvrtc.h>

using namespace weft::cusim;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

// clang-format off
#define WEFT_NVRTC_USED(X)                                                                                   \
  X(nvrtcCreateProgram) X(nvrtcCompileProgram) X(nvrtcDestroyProgram) X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN)  \
  X(nvrtcGetPTXSize) X(nvrtcGetPTX) X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog)
// clang-format on

struct Nvrtc {
  explicit Nvrtc(const std::string &file) {
    void *library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(library) << ::dlerror();
#define WEFT_FILL(function)                                                                                  \
  function = reinterpret_cast<decltype(function)>(::dlsym(library, #function));                              \
  EXPECT_TRUE(function);
    WEFT_NVRTC_USED(WEFT_FILL)
#undef WEFT_FILL
  }
#define WEFT_FIELD(function) decltype(&::function) function = nullptr;
  WEFT_NVRTC_USED(WEFT_FIELD)
#undef WEFT_FIELD

  nvrtcResult compile(const char *architecture) {
    const char *const source = "extern \"C\" __global__ void __launch_bounds__(128) twice(float *p) {\n"
                               "  p[threadIdx.x] *= 2;\n"
                               "}\n";
    nvrtcProgram program = nullptr;
    EXPECT_EQ(nvrtcCreateProgram(&program, source, "twice.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
    const std::string target = std::string("--gpu-architecture=") + architecture;
    const char *options[] = {target.c_str(), "--ptxas-options=-v"};
    const nvrtcResult result = nvrtcCompileProgram(program, 2, options);
    if (result == NVRTC_SUCCESS) {
      read(program, nvrtcGetCUBINSize, nvrtcGetCUBIN, cubin);
      read(program, nvrtcGetPTXSize, nvrtcGetPTX, ptx);
      read(program, nvrtcGetProgramLogSize, nvrtcGetProgramLog, log);
    }
    nvrtcDestroyProgram(&program);
    return result;
  }
  template <class Size, class Get>
  static void read(nvrtcProgram program, Size size, Get get, std::string &into) {
    size_t bytes = 0;
    EXPECT_EQ(size(program, &bytes), NVRTC_SUCCESS);
    into.resize(bytes);
    EXPECT_EQ(get(program, into.data()), NVRTC_SUCCESS);
  }

  std::string cubin, ptx, log;
};

/// The file of the real NVRTC; empty, with the reason, if there is none.
std::string realNvrtc(std::string &problem) {
  const auto opened =
      weft::runtime::open_cuda_library(weft::runtime::CudaLibrary::nvrtc, CUDA_VERSION / 1000);
  problem = opened.problem;
  return opened.file;
}

class NvrtcWrapper : public testing::Test {
protected:
  void SetUp() override {
    std::string problem;
    real = realNvrtc(problem);
    if (real.empty())
      GTEST_SKIP() << problem;
  }
  std::string wrapper() const { return libraryFolder() + "/libnvrtc.so.13"; }
  std::string real;
};

TEST_F(NvrtcWrapper, AppendsThePtxToTheSameCubin) {
  const Child child = runChild({{"CUSIM_NVRTC", real}}, [&] {
    Nvrtc wrapped(wrapper()), direct(real);
    ASSERT_EQ(wrapped.compile("sm_90"), NVRTC_SUCCESS);
    ASSERT_EQ(direct.compile("sm_90"), NVRTC_SUCCESS);
    ASSERT_GT(wrapped.cubin.size(), direct.cubin.size());
    EXPECT_EQ(wrapped.cubin.substr(0, direct.cubin.size()), direct.cubin);
    EXPECT_EQ(cubinBytes(direct.cubin.data()), direct.cubin.size())
        << "a trailer begins where the headers say";
    EXPECT_EQ(trailerOf(wrapped.cubin.data()) + '\0', wrapped.ptx);
  });
  EXPECT_EQ(child.exitCode, 0) << child.output;
}

TEST_F(NvrtcWrapper, MakesCubinsThatTheDriverRuns) {
  const std::string output = run({{"CUSIM_NVRTC", real}}, [&](SoftwareDriver &driver) {
    driver.start();
    Nvrtc wrapped(wrapper()), direct(real);
    ASSERT_EQ(wrapped.compile("sm_90"), NVRTC_SUCCESS);
    ASSERT_EQ(direct.compile("sm_90"), NVRTC_SUCCESS);
    CUmodule module = nullptr;
    CUfunction twice = nullptr;
    EXPECT_EQ(driver.cuModuleLoadDataEx(&module, direct.cubin.data(), 0, nullptr, nullptr),
              CUDA_ERROR_NO_BINARY_FOR_GPU);
    ASSERT_EQ(driver.cuModuleLoadDataEx(&module, wrapped.cubin.data(), 0, nullptr, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuModuleGetFunction(&twice, module, "twice"), CUDA_SUCCESS);
    int registers = 0;
    EXPECT_EQ(driver.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, twice), CUDA_SUCCESS);
    EXPECT_TRUE(contains(wrapped.log, "Used " + std::to_string(registers) + " registers")) << wrapped.log;
    CUdeviceptr numbers = driver.allocate(512);
    const float three = 3;
    uint32_t bits = 0;
    std::memcpy(&bits, &three, 4);
    driver.cuMemsetD32Async(numbers, bits, 128, nullptr);
    void *parameters[] = {&numbers};
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 128;
    EXPECT_EQ(driver.cuLaunchKernelEx(&config, twice, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    bits = driver.read(numbers + 508);
    float six = 0;
    std::memcpy(&six, &bits, 4);
    EXPECT_EQ(six, 6);
    ASSERT_EQ(wrapped.compile("sm_80"), NVRTC_SUCCESS);
    EXPECT_EQ(driver.cuModuleLoadDataEx(&module, wrapped.cubin.data(), 0, nullptr, nullptr),
              CUDA_ERROR_NO_BINARY_FOR_GPU);
  });
  EXPECT_TRUE(contains(output, "the CUBIN is for sm_80, and the device is of sm_90")) << output;
}

TEST_F(NvrtcWrapper, FailsIfItIsAskedTo) {
  const Child child = runChild({{"CUSIM_NVRTC", real}, {"CUSIM_FAIL", "nvrtcCompileProgram:1:6"}}, [&] {
    Nvrtc wrapped(wrapper());
    EXPECT_EQ(wrapped.compile("sm_90"), NVRTC_ERROR_COMPILATION);
    EXPECT_EQ(wrapped.compile("sm_90"), NVRTC_SUCCESS);
  });
  EXPECT_EQ(child.exitCode, 0) << child.output;
}

TEST(NvrtcWrapperAlone, SaysWhatItNeeds) {
  const Child child = runChild({{"CUSIM_NVRTC", ""}}, [] {
    void *library = ::dlopen((libraryFolder() + "/libnvrtc.so.13").c_str(), RTLD_NOW);
    ASSERT_TRUE(library);
    auto version = reinterpret_cast<decltype(&::nvrtcVersion)>(::dlsym(library, "nvrtcVersion"));
    int major = 0, minor = 0;
    EXPECT_EQ(version(&major, &minor), NVRTC_ERROR_INTERNAL_ERROR);
  });
  EXPECT_EQ(child.exitCode, 0) << child.output;
  EXPECT_TRUE(contains(child.output, "CUSIM_NVRTC is not set")) << child.output;
}

} // namespace
