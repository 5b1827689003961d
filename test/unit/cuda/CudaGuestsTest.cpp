//===- CudaGuestsTest.cpp - Other users of the driver in one process ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part of the program that knows nothing of Weft captures a graph, uses the legacy stream, and has another
// context current, while Weft allocates, trains, and makes graphs of its own. Neither disturbs the other.
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/DriverTable.h"
#include "test/unit/frontend/DeviceTraining.h"

#include <array>
#include <thread>

using namespace weft;

namespace {
using weft::testing::seeded;

/// Memory and a stream of the driver's, of a device's primary context.
struct Guest {
  const int ordinal;
  const runtime::DriverTable &driver = *runtime::driver().table;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  static constexpr size_t count = 128;

  explicit Guest(int ordinal) : ordinal(ordinal) {
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, ordinal), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    // Blocking, so that the legacy stream and this one wait for each other.
    EXPECT_EQ(driver.cuStreamCreateWithPriority(&stream, CU_STREAM_DEFAULT, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc(&memory, count * sizeof(int)), CUDA_SUCCESS);
  }
  ~Guest() {
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFree(memory), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(ordinal), CUDA_SUCCESS);
  }
  Guest(const Guest &) = delete;
  Guest &operator=(const Guest &) = delete;

  CUcontext current() const {
    CUcontext found = nullptr;
    EXPECT_EQ(driver.cuCtxGetCurrent(&found), CUDA_SUCCESS);
    return found;
  }
  std::array<int, count> values(CUstream after) const {
    std::array<int, count> found = {};
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(found.data(), memory, sizeof found, after), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(after), CUDA_SUCCESS);
    return found;
  }
};

/// Losses of some steps on `cuda:0`, and of the host where nobody disturbs it. With new memory, and from the
/// third call on as a graph.
void trains() {
  weft::testing::DeviceTraining there = seeded("cuda:0"), host = seeded("cpu");
  auto step = compile([&](Tensor x, Tensor classes) { return there.body(x, classes); });
  Tensor x = there.images(), classes = there.labels();
  for (int i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    EXPECT_NEAR(step(x, classes).item<float>(), host.body(host.images(), host.labels()).item<float>(), 1e-5);
  }
  // Larger than anything that is kept.
  Tensor fresh = ones({1 << 20}, {.device = "cuda:0"});
  EXPECT_EQ((fresh * 2).sum().item<float>(), 2.f * (1 << 20));
}

} // namespace

// In the mode in which nothing unsafe may happen, as frameworks capture, on its thread or on another one.
TEST(CudaGuests, AGlobalCaptureIsLeftAlone) {
  Guest guest(0);
  for (const bool same_thread : {true, false}) {
    SCOPED_TRACE(same_thread ? "one thread" : "two threads");
    ASSERT_EQ(guest.driver.cuStreamBeginCapture(guest.stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    ASSERT_EQ(guest.driver.cuMemsetD32Async(guest.memory, 7, Guest::count, guest.stream), CUDA_SUCCESS);
    if (same_thread)
      trains();
    else
      std::thread(trains).join();
    synchronize();
    trim();
    ASSERT_EQ(guest.driver.cuMemsetD32Async(guest.memory, 9, Guest::count / 2, guest.stream), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    ASSERT_EQ(guest.driver.cuStreamEndCapture(guest.stream, &graph), CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    ASSERT_EQ(guest.driver.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(guest.driver.cuGraphLaunch(exec, guest.stream), CUDA_SUCCESS);
    const auto found = guest.values(guest.stream);
    EXPECT_EQ(found.front(), 9);
    EXPECT_EQ(found.back(), 7);
    EXPECT_EQ(guest.driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    EXPECT_EQ(guest.driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  }
}

// Nothing of Weft's is on the legacy stream or waits for it: work that is there stays undone while Weft
// trains.
TEST(CudaGuests, TheLegacyStreamIsTheirs) {
  // What earlier tests left is freed now: the driver waits for all streams when it frees memory.
  synchronize();
  trim();
  Guest guest(0);
  for (const int value : {1, 2, 3})
    ASSERT_EQ(guest.driver.cuMemsetD32Async(guest.memory, value, Guest::count, nullptr), CUDA_SUCCESS);
  trains();
  // A query runs one of them; in another order, they may have run.
  if (!std::getenv("CUSIM_EAGER") && !std::getenv("CUSIM_ORDER"))
    EXPECT_EQ(guest.driver.cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(guest.driver.cuMemsetD32Async(guest.memory, 4, Guest::count / 2, guest.stream), CUDA_SUCCESS);
  const auto found = guest.values(nullptr);
  EXPECT_EQ(found.front(), 4);
  EXPECT_EQ(found.back(), 3);
}

TEST(CudaGuests, TheContextOfAThreadStaysCurrent) {
  Guest guest(1);
  ASSERT_EQ(guest.current(), guest.context);
  trains();
  EXPECT_EQ(guest.current(), guest.context);
  Tensor five = full({1}, 5, {.dtype = i64}).to("cuda:0");
  EXPECT_ERROR(ones({4}, {.device = "cuda:0"}).index_select(0, five).item<float>(), "out of bounds");
  EXPECT_EQ(guest.current(), guest.context);
  synchronize();
  trim();
  EXPECT_EQ(guest.current(), guest.context);
  EXPECT_EQ(guest.driver.cuMemsetD32Async(guest.memory, 5, Guest::count, guest.stream), CUDA_SUCCESS);
  EXPECT_EQ(guest.values(guest.stream).front(), 5);
}

TEST(CudaGuests, MemoryOfTheHostIsReadWhenACallIsMade) {
  std::vector<float> given(1024, 1.f);
  Tensor there = Tensor::from(given, {1024}).to("cuda:0");
  auto doubled = compile([](Tensor x) { return x * 2; });
  std::vector<Tensor> results;
  for (int i = 0; i < 5; ++i) {
    std::fill(given.begin(), given.end(), static_cast<float>(i));
    Tensor x = Tensor::from(given, {1024}).to("cuda:0");
    results.push_back(doubled(x));
    std::fill(given.begin(), given.end(), -100.f);
  }
  // What earlier calls gave stays as it was, whatever was called since.
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(results[static_cast<size_t>(i)].to_vector<float>(), Floats(1024, 2.f * static_cast<float>(i)));
  EXPECT_EQ(there.to_vector<float>(), Floats(1024, 1.f));
}

TEST(CudaGuests, MemoryThatIsFreedWhileAnotherStreamUsesItIsNotReused) {
  const Stream side("cuda:0");
  Tensor sum;
  {
    Tensor x = ones({4096}, {.device = "cuda:0"}) * 3;
    synchronize();
    const StreamGuard guard(side);
    sum = (x * x).sum(); // x ends here, before anything of this has run
  }
  for (int i = 0; i < 3; ++i) {
    Tensor other = zeros({4096}, {.device = "cuda:0"}) + static_cast<float>(i);
    EXPECT_EQ(other.sum().item<float>(), 4096.f * static_cast<float>(i));
  }
  Stream::current("cuda:0").wait_stream(side);
  EXPECT_EQ(sum.item<float>(), 9.f * 4096.f);
}
