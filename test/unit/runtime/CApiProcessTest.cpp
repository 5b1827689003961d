//===- CApiProcessTest.cpp - What a process has once, in the C interface -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApiFixture.h"

#include "runtime/cuda/Driver.h"
#include "runtime/threads/Executor.h"
#include "test/unit/TestLevel.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

TEST(CApiMemory, LimitsStatisticsAndCallbacks) {
  ASSERT_EQ(weft_trim(), WEFT_OK);
  weft_memory_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(weft_memory_get(&info), WEFT_OK);
  ASSERT_EQ(info.allocated, 0u) << "other tests leave nothing behind";
  struct Counter {
    size_t allocated = 0, freed = 0;
  } counter;
  weft_allocator allocator = {};
  allocator.struct_size = sizeof allocator;
  EXPECT_STATUS(weft_set_allocator(&allocator), WEFT_ERROR_ARGUMENT, "both functions");
  allocator.user = &counter;
  allocator.allocate = [](void *user, size_t bytes, size_t alignment) {
    static_cast<Counter *>(user)->allocated += bytes;
    return std::aligned_alloc(alignment, bytes);
  };
  allocator.free = [](void *user, void *data, size_t bytes) {
    static_cast<Counter *>(user)->freed += bytes;
    std::free(data);
  };
  ASSERT_EQ(weft_set_allocator(&allocator), WEFT_OK) << weft_last_error();
  {
    const auto buffer = Buffer::allocate(3 << 20).value_or_throw();
    EXPECT_EQ(counter.allocated, 20u << 20);
    EXPECT_STATUS(weft_set_allocator(nullptr), WEFT_ERROR_MEMORY, "cannot change while 3.00 MiB are in use");
    EXPECT_STREQ(weft_last_error_code(), "WEFT-M003");
    char *text = nullptr;
    ASSERT_EQ(weft_memory_stats_json(&text), WEFT_OK);
    EXPECT_NE(std::string(text).find("\"allocated_bytes.all.current\": 3145728"), std::string::npos) << text;
    weft_text_free(text);
    ASSERT_EQ(weft_memory_snapshot_json(&text), WEFT_OK);
    EXPECT_NE(std::string(text).find("\"active_allocated\""), std::string::npos);
    weft_text_free(text);
  }
  ASSERT_EQ(weft_memory_empty_cache(), WEFT_OK);
  EXPECT_EQ(counter.freed, counter.allocated);
  ASSERT_EQ(weft_set_allocator(nullptr), WEFT_OK);
  // With a limit below the memory that the step needs, the call fails before it runs; without the limit it
  // works again.
  const uint64_t limit = info.limit;
  const std::vector<std::byte> bytes = step_package();
  weft_package *package = nullptr;
  weft_executable *step = nullptr;
  ASSERT_EQ(weft_package_open_memory(bytes.data(), bytes.size(), nullptr, &package), WEFT_OK);
  ASSERT_EQ(weft_executable_load(package, "step", nullptr, &step), WEFT_OK);
  ASSERT_EQ(weft_memory_get(&info), WEFT_OK);
  ASSERT_EQ(weft_memory_set_limit(info.allocated), WEFT_OK);
  Values x = counted(1), state(16);
  weft_buffer in[] = {describe(x)}, out[] = {nothing()};
  EXPECT_STATUS(weft_executable_run(step, nullptr, in, 1, out, 1), WEFT_ERROR_MEMORY, "CPU out of memory");
  EXPECT_STREQ(weft_last_error_code(), "WEFT-M001");
  EXPECT_NE(std::string(weft_last_error()).find("state 'fc.weight' of 'step'"), std::string::npos)
      << weft_last_error();
  ASSERT_EQ(weft_memory_set_limit(limit), WEFT_OK);
  ASSERT_EQ(weft_executable_state_get(step, "fc.weight", state.data(), 64), WEFT_OK);
  EXPECT_EQ(state[0], 2);
  EXPECT_EQ(weft_executable_run(step, nullptr, in, 1, out, 1), WEFT_OK) << weft_last_error();
  weft_buffer_release(&out[0]);
  weft_executable_destroy(step);
  weft_package_close(package);
  EXPECT_EQ(weft_synchronize(), WEFT_OK);
}

TEST(CApiMisc, DevicesVersionExecutorAndProfiler) {
  weft_device device = {};
  device.struct_size = sizeof device;
  ASSERT_EQ(weft_device_parse("cuda:3", &device), WEFT_OK);
  EXPECT_EQ(device.type, WEFT_CUDA);
  EXPECT_EQ(device.index, 3);
  ASSERT_EQ(weft_device_parse("cuda", &device), WEFT_OK);
  EXPECT_EQ(device.index, -1);
  for (const char *wrong :
       {"cuda:",    "cuda:01",  "cuda:00", "cuda:-1", "cuda:+1",  "cuda: 1", "cuda:1 ",  " cuda",
        "cuda ",    "cuda\n",   ":0",      ":",       "cuda:x",   "cu da",   "cuda:0:1", "cuda::1",
        "cuda:1.0", "cuda:0x1", "cuda,0",  "cuda0",   "cuda-0",   "tpu:01",  "cpu:00",   "c\xc3\xbc",
        "CUDA:0 ",  "gpu",      "CUDA",    "cpu:1",   "cuda:128", "cuda:999"})
    EXPECT_EQ(weft_device_parse(wrong, &device), WEFT_ERROR_DEVICE) << wrong;
  EXPECT_STATUS(weft_device_parse("", &device), WEFT_ERROR_DEVICE, "Device string must not be empty");
  EXPECT_STATUS(weft_device_parse("cuda:01", &device), WEFT_ERROR_DEVICE, "Invalid device string: 'cuda:01'");
  int32_t count = -1;
  ASSERT_EQ(weft_device_count(WEFT_CPU, &count), WEFT_OK);
  EXPECT_EQ(count, 1);
  ASSERT_EQ(weft_device_count(WEFT_CUDA, &count), WEFT_OK);
  EXPECT_EQ(count, runtime::driver().devices);
  EXPECT_STREQ(weft_version(), "0.1.0");
  EXPECT_EQ(weft_version_number(), 1000);

  struct Threads {
    std::atomic<int> calls{0};
  } threads;
  weft_executor executor = {};
  executor.struct_size = sizeof executor;
  executor.user = &threads;
  EXPECT_STATUS(weft_set_executor(&executor), WEFT_ERROR_ARGUMENT, "width of at least 1");
  executor.width = 2;
  executor.parallel_for = [](void *user, int64_t tasks, int64_t grain,
                             void (*run)(void *, int64_t, int64_t, int32_t), void *work) {
    ++static_cast<Threads *>(user)->calls;
    const int64_t middle = tasks / 2 / grain * grain;
    std::thread other([&] { run(work, 0, middle, 1); });
    run(work, middle, tasks, 0);
    other.join();
  };
  ASSERT_EQ(weft_set_executor(&executor), WEFT_OK);
  std::atomic<int64_t> covered{0};
  runtime::executor().parallel_for(100, 3, [&](int64_t begin, int64_t end, int) { covered += end - begin; });
  EXPECT_EQ(covered, 100);
  EXPECT_EQ(threads.calls, 1);
  ASSERT_EQ(weft_set_executor(nullptr), WEFT_OK);

  ASSERT_EQ(weft_profiler_clear(), WEFT_OK);
  ASSERT_EQ(weft_profiler_start(), WEFT_OK);
  ASSERT_EQ(weft_profiler_stop(), WEFT_OK);
  char *text = nullptr;
  ASSERT_EQ(weft_profiler_table(&text), WEFT_OK);
  EXPECT_NE(std::string(text).find("GB/s"), std::string::npos);
  weft_text_free(text);
  ASSERT_EQ(weft_profiler_chrome_trace(&text), WEFT_OK);
  EXPECT_NE(std::string(text).find("traceEvents"), std::string::npos);
  weft_text_free(text);
  EXPECT_STATUS(weft_profiler_table(nullptr), WEFT_ERROR_ARGUMENT, "is NULL");
}

/// Writes the package of a step to a file, and runs a C program with its path, whose output is part of the
/// test's.
int run_program(const std::string &before, const std::string &program, const std::string &after = "") {
  const std::string path = "/tmp/weft-capi-" + std::to_string(::getpid()) + ".weft";
  const std::vector<std::byte> bytes = step_package();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const int result = std::system((before + " " + program + " " + path + " " + after).c_str());
  std::remove(path.c_str());
  return result;
}

// The same header and library from C11.
TEST(CApiMisc, AProgramInC) { EXPECT_EQ(run_program("", WEFT_C_PROGRAM), 0); }

// From every request on in its turn, there is no memory any more.
TEST(CApiMemory, EveryRequestMayBeTheLast) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer has an allocator of its own";
#endif
  const std::string step = weft::testing::testLevel() == "quick" ? "7" : "1";
  for (const char *mode : {"WEFT_CPU_QUEUE=auto", "WEFT_CPU_QUEUE=async", "WEFT_CPU_QUEUE=inline"})
    EXPECT_EQ(run_program(mode, WEFT_EXHAUSTED_PROGRAM, step), 0) << mode;
}

} // namespace
