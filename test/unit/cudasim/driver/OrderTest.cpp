//===- OrderTest.cpp - Streams, events and what is not ordered --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareDriver.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace weft::cusim;

namespace {

bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

TEST(Streams, RunNothingBeforeSomethingWaits) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    const CUdeviceptr device = driver.allocate(4);
    uint32_t *host = driver.pinned(1);
    *host = 1;
    EXPECT_EQ(driver.cuMemsetD32Async(device, 7, 1, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(host, device, 4, stream), CUDA_SUCCESS);
    EXPECT_EQ(*host, 1u) << "nobody has waited";
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(*host, 7u);
  });
}

TEST(Streams, RunAtOnceIfTheyAreEager) {
  run({{"CUSIM_EAGER", "1"}}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    const CUdeviceptr device = driver.allocate(4);
    uint32_t *host = driver.pinned(1);
    driver.cuMemsetD32Async(device, 7, 1, stream);
    driver.cuMemcpyDtoHAsync(host, device, 4, stream);
    EXPECT_EQ(*host, 7u);
  });
}

TEST(Streams, AQueryRunsOneItem) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    const CUdeviceptr device = driver.allocate(4);
    driver.cuMemsetD32Async(device, 7, 1, stream);
    driver.cuMemsetD32Async(device, 8, 1, stream);
    driver.cuMemsetD32Async(device, 9, 1, stream);
    EXPECT_EQ(driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(driver.cuStreamQuery(stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.read(device), 9u);
  });
}

TEST(Streams, ReadPinnedSourcesLateAndOthersAtOnce) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    const CUdeviceptr device = driver.allocate(8);
    uint32_t pageable = 1, *pinned = driver.pinned(1);
    *pinned = 1;
    EXPECT_EQ(driver.cuMemcpyHtoDAsync(device, &pageable, 4, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyHtoDAsync(device + 4, pinned, 4, stream), CUDA_SUCCESS);
    pageable = *pinned = 2;
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.read(device), 1u);
    EXPECT_EQ(driver.read(device + 4), 2u) << "the copy read what was written after it was enqueued";
  });
}

TEST(Streams, TheLegacyStreamIsOrderedWithBlockingStreamsAlone) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream blocking = driver.stream(CU_STREAM_DEFAULT), other = driver.stream();
    const CUdeviceptr a = driver.allocate(4), b = driver.allocate(4);
    uint32_t *host = driver.pinned(2);
    host[0] = host[1] = 1;
    driver.cuMemsetD32Async(a, 7, 1, blocking);
    driver.cuMemsetD32Async(b, 8, 1, other);
    driver.cuMemcpyDtoHAsync(host, a, 4, blocking);
    driver.cuMemcpyDtoHAsync(host + 1, b, 4, other);
    EXPECT_EQ(driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(host[0], 7u);
    EXPECT_EQ(host[1], 1u) << "a stream that does not block is not waited for";
    driver.cuMemsetD32Async(a, 9, 1, nullptr);
    driver.cuMemcpyDtoHAsync(host, a, 4, blocking);
    EXPECT_EQ(driver.cuStreamSynchronize(blocking), CUDA_SUCCESS);
    EXPECT_EQ(host[0], 9u);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(host[1], 8u);
  });
}

TEST(Streams, CallHostFunctionsInOrderWhichMayNotCallTheDriver) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    driver.start();
    struct Seen {
      SoftwareDriver *driver;
      CUdeviceptr address;
      int calls;
      CUresult code;
    } seen{&driver, 0, 0, CUDA_SUCCESS};
    CUstream stream = driver.stream();
    auto function = [](void *data) {
      auto *seen = static_cast<Seen *>(data);
      ++seen->calls;
      seen->code = seen->driver->cuMemAlloc(&seen->address, 4);
    };
    EXPECT_EQ(driver.cuLaunchHostFunc(stream, function, &seen), CUDA_SUCCESS);
    EXPECT_EQ(seen.calls, 0);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(seen.calls, 1);
    EXPECT_EQ(seen.code, CUDA_ERROR_NOT_PERMITTED);
  });
  EXPECT_TRUE(contains(output, "cuMemAlloc: a host function may not call the driver")) << output;
}

TEST(Events, OrderStreamsAndTheHost) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream first = driver.stream(), second = driver.stream();
    CUevent event = driver.event();
    const CUdeviceptr device = driver.allocate(512);
    uint32_t *host = driver.pinned(1);
    driver.cuMemsetD32Async(device, 1, 128, first);
    EXPECT_EQ(driver.add(first, device, 4, 128), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuEventRecord(event, first), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(host, device + 508, 4, second), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(second), CUDA_SUCCESS);
    EXPECT_EQ(*host, 5u);
    EXPECT_EQ(driver.cuEventQuery(event), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(second, driver.event(), 0), CUDA_SUCCESS) << "it was never recorded";
  });
}

TEST(Events, HaveTimesThatGrow) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    CUevent start = driver.event(), end = driver.event();
    const CUdeviceptr device = driver.allocate(1 << 20);
    float milliseconds = -1;
    driver.cuEventRecord(start, stream);
    driver.cuMemsetD8Async(device, 1, 1 << 20, stream);
    driver.cuEventRecord(end, stream);
    EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(driver.cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, start, end), CUDA_SUCCESS);
    EXPECT_GT(milliseconds, 0);
  });
}

/// Two streams write the same bytes; `ordered` says whether an event is between.
std::string writeTwice(const Environment &environment, bool ordered, bool kernels) {
  return run(environment, [=](SoftwareDriver &driver) {
    driver.start();
    CUstream first = driver.stream(), second = driver.stream();
    CUevent event = driver.event();
    const CUdeviceptr device = driver.allocate(1024);
    EXPECT_EQ(driver.cuMemsetD32Async(device, 1, 128, first), CUDA_SUCCESS);
    if (ordered) {
      driver.cuEventRecord(event, first);
      driver.cuStreamWaitEvent(second, event, 0);
    }
    EXPECT_EQ(kernels ? driver.add(second, device, 1, 100)
                      : driver.cuMemsetD32Async(device + 508, 2, 1, second),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), ordered ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED);
  });
}

TEST(Races, BetweenStreamsAreFound) {
  const std::string output = writeTwice({}, false, false);
  EXPECT_TRUE(contains(output, "race: cuMemsetD32Async (call 9) on stream 2 writes 4 bytes at 0x")) << output;
  EXPECT_TRUE(contains(output, "that cuMemsetD32Async (call 8) on stream 1 writes")) << output;
  EXPECT_EQ(writeTwice({}, true, false), "");
}

TEST(Races, OfKernelsAreFoundByTheBytesThatTheyTouchInRaceMode) {
  const std::string output = writeTwice({{"CUSIM_RACE", "1"}}, false, true);
  EXPECT_TRUE(contains(output, "race: kernel 'add' of cuLaunchKernelEx")) << output;
  EXPECT_TRUE(contains(output, "writes 400 bytes at 0x")) << output;
  EXPECT_EQ(writeTwice({{"CUSIM_RACE", "1"}}, true, true), "");
}

TEST(Races, AreNotBetweenReadersNorDisjointBytes) {
  const std::string output = run({{"CUSIM_RACE", "1"}}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream first = driver.stream(), second = driver.stream();
    const CUdeviceptr device = driver.allocate(1024), copies = driver.allocate(1024);
    driver.cuMemsetD32Async(device, 1, 256, first);
    EXPECT_EQ(driver.cuStreamSynchronize(first), CUDA_SUCCESS); // the host orders what follows
    driver.cuMemcpyDtoDAsync(copies, device, 512, first);
    driver.cuMemcpyDtoDAsync(copies + 512, device, 512, second);
    driver.add(first, copies, 1, 128);
    driver.add(second, copies + 512, 1, 128);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  EXPECT_EQ(output, "");
}

TEST(Races, AreNotBetweenAtomicOperations) {
  const auto updates = [](bool filled) {
    return run({{"CUSIM_RACE", "1"}}, [=](SoftwareDriver &driver) {
      driver.start();
      CUstream first = driver.stream(), second = driver.stream();
      const CUdeviceptr counter = driver.allocate(8);
      driver.cuMemsetD32Async(counter, 0, 2, first);
      EXPECT_EQ(driver.cuStreamSynchronize(first), CUDA_SUCCESS);
      driver.count(first, counter, 5);
      driver.count(second, counter, 7);
      if (filled)
        driver.cuMemsetD32Async(counter, 0, 1, second);
      EXPECT_EQ(driver.cuCtxSynchronize(), filled ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS);
      if (!filled)
        EXPECT_EQ(driver.read(counter), 12u);
    });
  };
  EXPECT_EQ(updates(false), "");
  const std::string output = updates(true);
  EXPECT_TRUE(contains(output, "writes 4 bytes at 0x")) << output;
  EXPECT_TRUE(contains(output, "that kernel 'count' of cuLaunchKernelEx (call 11) on stream 1 updates"))
      << output;
}

TEST(Races, AreNotWithADestroyedStreamOnceTheHostHasWaited) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream first = driver.stream(), second = driver.stream();
    const CUdeviceptr device = driver.allocate(64);
    driver.cuMemsetD32Async(device, 1, 16, first);
    EXPECT_EQ(driver.cuStreamDestroy(first), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    driver.cuMemsetD32Async(device, 2, 16, second);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    first = driver.stream();
    driver.cuMemsetD32Async(device, 1, 16, first);
    EXPECT_EQ(driver.cuStreamDestroy(first), CUDA_SUCCESS);
    driver.cuMemsetD32Async(device, 2, 16, second);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED) << "a destroyed stream orders nothing";
  });
  EXPECT_TRUE(contains(output, "on stream 3 writes")) << output;
}

TEST(Races, WithMemoryThatIsAllocatedOnAnotherStreamAreFound) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream first = driver.stream(), second = driver.stream();
    CUdeviceptr device = 0;
    EXPECT_EQ(driver.cuMemAllocAsync(&device, 64, first), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemsetD32Async(device, 1, 16, second), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  });
  EXPECT_TRUE(contains(output, "that cuMemAllocAsync (call 6) on stream 1 writes")) << output;
}

TEST(Order, OfUnorderedStreamsIsChosen) {
  auto last = [](const char *order) {
    return run({{"CUSIM_ORDER", order}}, [](SoftwareDriver &driver) {
      driver.start();
      static std::string order;
      static char names[] = "abc";
      CUstream streams[3] = {driver.stream(), driver.stream(), driver.stream()};
      for (int k = 0; k < 3; ++k)
        EXPECT_EQ(driver.cuLaunchHostFunc(
                      streams[k], [](void *name) { order += *static_cast<char *>(name); }, names + k),
                  CUDA_SUCCESS);
      CUstream joined = driver.stream();
      for (CUstream stream : streams) {
        CUevent event = driver.event();
        driver.cuEventRecord(event, stream);
        driver.cuStreamWaitEvent(joined, event, 0);
      }
      EXPECT_EQ(driver.cuStreamSynchronize(joined), CUDA_SUCCESS);
      std::printf("%s", order.c_str());
    });
  };
  EXPECT_EQ(last("forward"), "abc");
  EXPECT_EQ(last("reverse"), "cba");
  std::map<std::string, int> seen;
  for (int seed = 1; seed <= 16; ++seed)
    ++seen[last(std::to_string(seed).c_str())];
  EXPECT_GE(seen.size(), 3u);
  EXPECT_EQ(last("5"), last("5")) << "a seed gives one order";
}

} // namespace
