//===- SoftwareDriver.cpp - The software driver in a child process ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareDriver.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::cusim {
namespace {

std::string textOf(std::FILE *file) {
  std::string text;
  std::rewind(file);
  char part[4096];
  while (const size_t bytes = std::fread(part, 1, sizeof part, file))
    text.append(part, bytes);
  return text;
}

[[noreturn]] void becomeChild(int output, const Environment &environment, const std::function<void()> &body,
                              const std::string &argument) {
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  for (const auto &[name, value] : environment)
    ::setenv(name.c_str(), value.c_str(), 1);
  if (!body) {
    ::execl("/proc/self/exe", "weft-cusim-tests", argument.c_str(), static_cast<char *>(nullptr));
    ::_exit(127);
  }
  body();
  std::exit(testing::Test::HasFailure());
}

} // namespace

Child runChild(const Environment &environment, const std::function<void()> &body,
               const std::string &argument) {
  Child child;
  std::FILE *output = std::tmpfile();
  if (!output) {
    ADD_FAILURE() << "no temporary file can be made";
    return child;
  }
  std::fflush(nullptr);
  const pid_t process = ::fork();
  if (process == 0)
    becomeChild(::fileno(output), environment, body, argument);
  int status = 0;
  if (process < 0 || ::waitpid(process, &status, 0) != process)
    ADD_FAILURE() << "no child process can be made";
  else if (WIFEXITED(status))
    child.exitCode = WEXITSTATUS(status);
  else
    child.signal = WTERMSIG(status);
  child.output = textOf(output);
  std::fclose(output);
  return child;
}

SoftwareDriver::SoftwareDriver() {
  const std::string file = libraryFolder() + "/libcuda.so.1";
  void *library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::exit(1);
  }
#define WEFT_FILL(function)                                                                                  \
  function = reinterpret_cast<decltype(function)>(::dlsym(library, WEFT_DRIVER_NAME(function)));             \
  EXPECT_TRUE(function) << #function;
  CUSIM_FUNCTIONS(WEFT_FILL)
#undef WEFT_FILL
  report = reinterpret_cast<const char *(*)()>(::dlsym(library, "cusimReport"));
}

void SoftwareDriver::start(int device) {
  CUcontext context = nullptr;
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
}

CUdeviceptr SoftwareDriver::allocate(size_t bytes) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, bytes), CUDA_SUCCESS);
  return address;
}

CUstream SoftwareDriver::stream(unsigned flags) {
  CUstream made = nullptr;
  EXPECT_EQ(cuStreamCreateWithPriority(&made, flags, 0), CUDA_SUCCESS);
  return made;
}

CUevent SoftwareDriver::event() {
  CUevent made = nullptr;
  EXPECT_EQ(cuEventCreate(&made, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  return made;
}

CUfunction SoftwareDriver::kernel(const char *name) {
  CUfunction found = nullptr;
  if (!module) {
    const std::string text = kernelText();
    EXPECT_EQ(cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuModuleGetFunction(&found, module, name), CUDA_SUCCESS);
  return found;
}

uint32_t *SoftwareDriver::pinned(size_t count) {
  void *made = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&made, count * 4, 0), CUDA_SUCCESS);
  return static_cast<uint32_t *>(made);
}

CUresult SoftwareDriver::add(CUstream stream, CUdeviceptr numbers, uint32_t value, uint32_t count) {
  CUlaunchConfig config{};
  config.gridDimX = (count + 127) / 128;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 128;
  config.hStream = stream;
  void *parameters[] = {&numbers, &value, &count};
  return cuLaunchKernelEx(&config, kernel("add"), parameters, nullptr);
}

CUresult SoftwareDriver::count(CUstream stream, CUdeviceptr counter, uint32_t threads) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = threads;
  config.hStream = stream;
  void *parameters[] = {&counter};
  return cuLaunchKernelEx(&config, kernel("count"), parameters, nullptr);
}

uint32_t SoftwareDriver::read(CUdeviceptr address) {
  uint32_t value = 0;
  CUstream own = stream();
  EXPECT_EQ(cuMemcpyDtoHAsync(&value, address, sizeof value, own), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(own), CUDA_SUCCESS);
  return value;
}

CUgraphExec SoftwareDriver::endCapture(CUstream stream) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  return executable;
}

size_t SoftwareDriver::nodeCount(CUgraph graph) {
  size_t count = 0;
  EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
  return count;
}

std::string run(const Environment &environment, const std::function<void(SoftwareDriver &)> &body) {
  Child child = runChild(environment, [&] {
    SoftwareDriver driver;
    body(driver);
  });
  EXPECT_EQ(child.exitCode, 0) << "signal " << child.signal << "\n" << child.output;
  return child.output;
}

std::string kernelText(const std::string &target) {
  return ".version 8.0\n.target " + target + R"(
.address_size 64
.visible .entry add(.param .u64 add_0, .param .u32 add_1, .param .u32 add_2)
.maxntid 256, 1, 1
{
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [add_0];
  ld.param.u32 %r1, [add_1];
  ld.param.u32 %r2, [add_2];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r2;
  @%p1 bra $END;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r6, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r7, [%rd4];
  add.s32 %r8, %r7, %r1;
  st.global.u32 [%rd4], %r8;
$END:
  ret;
}
.visible .entry outside()
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  mov.u64 %rd1, 4096;
  mov.u32 %r1, 0;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry stop()
{
  trap;
}
.visible .entry shared()
{
  .shared .align 16 .b8 words[16];
  ret;
}
.visible .entry count(.param .u64 count_0)
{
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [count_0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u64 %rd3, 1;
  red.global.add.u64 [%rd2], %rd3;
  ret;
}
)";
}

std::string libraryFolder() { return WEFT_CUDASIM_LIBRARIES; }

} // namespace weft::cusim
