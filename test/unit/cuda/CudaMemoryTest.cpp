//===- CudaMemoryTest.cpp - The driver's pools ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/TemporaryFolder.h"
#include "test/unit/cuda/ChildProcess.h"
#include "test/unit/frontend/DeviceTraining.h"

using namespace weft;
using weft::test::TemporaryFolder;
using weft::testing::callsIn;
using weft::testing::Child;
using weft::testing::runChild;

/// A training step, and memory that is given back. Writes what the device has.
int weft::testing::useDriverPools() {
  try {
    weft::testing::DeviceTraining training = weft::testing::seeded("cuda:0");
    auto step = compile([&](Tensor x, Tensor classes) { return training.body(x, classes); });
    Tensor x = training.images(), classes = training.labels();
    float loss = 0;
    for (int i = 0; i < 4; ++i)
      loss = step(x, classes).item<float>();
    synchronize();
    const uint64_t before = memory_allocated("cuda:0");
    {
      Tensor large = ones({1 << 20}, {.device = "cuda:0"}) * 2;
      large.to_vector<float>();
      std::printf("large %d\n", memory_allocated("cuda:0") >= before + (4 << 20));
    }
    synchronize();
    const bool kept = memory_reserved("cuda:0") != memory_allocated("cuda:0");
    empty_cache("cuda:0");
    std::printf("loss %a, kept %d\n", loss, kept);
    set_memory_limit(memory_reserved("cuda:0") + (1 << 20), "cuda:0");
    (ones({4 << 20}, {.device = "cuda:0"}) * 2).to_vector<float>();
  } catch (const Error &error) {
    std::printf("error %s: %s\n", error.code().c_str(), error.what());
  }
  return 0;
}

TEST(CudaMemory, ThePoolsOfTheDriverAreABackEnd) {
  TemporaryFolder folder;
  const std::string settings = "CUSIM_RACE=1 CUSIM_LOG=";
  const Child own = runChild("--pools", settings + (folder / "own")),
              pool = runChild("--pools",
                              "WEFT_ALLOC_CONF=backend:cudaMallocAsync " + settings + (folder / "pool"));
  std::map<std::string, int> own_calls = callsIn(folder / "own"), calls = callsIn(folder / "pool");
  EXPECT_EQ(own_calls["cuMemAllocFromPoolAsync"], 0);
  EXPECT_GT(own_calls["cuMemAlloc_v2"] + own_calls["cuMemAlloc"], 0);
  EXPECT_GT(calls["cuMemAllocFromPoolAsync"], 10);
  EXPECT_GT(calls["cuMemFreeAsync"], 10);
  EXPECT_EQ(calls["cuMemPoolTrimTo"], 1);
  EXPECT_EQ(calls["cuMemAlloc_v2"] + calls["cuMemAlloc"], 0);
  const auto loss = [](const Child &child) {
    const size_t at = child.output.find("loss ");
    return at == std::string::npos ? child.output : child.output.substr(at, child.output.find(',', at) - at);
  };
  EXPECT_EQ(loss(own), loss(pool));
  EXPECT_TRUE(mentions(own.output, "large 1") && mentions(own.output, "kept 1")) << own.output;
  EXPECT_TRUE(mentions(pool.output, "large 1") && mentions(pool.output, "kept 0")) << pool.output;
  for (const Child *child : {&own, &pool}) {
    EXPECT_TRUE(mentions(child->output, "error WEFT-M001: cuda:0 out of memory")) << child->output;
    EXPECT_FALSE(mentions(child->output, "race: ")) << child->output;
  }
}

// Where a function of the pool fails, the program has an error with a code, or goes on.
TEST(CudaMemory, FunctionsOfThePoolFail) {
  for (const char *failure :
       {"cuDeviceGetDefaultMemPool:1:801", "cuMemPoolSetAttribute:1:999", "cuMemAllocFromPoolAsync:1:2",
        "cuMemAllocFromPoolAsync:4:2", "cuMemFreeAsync:1:999", "cuMemPoolTrimTo:1:999",
        "cuMemPoolGetAttribute:1:999"}) {
    SCOPED_TRACE(failure);
    const Child child =
        runChild("--pools", "WEFT_ALLOC_CONF=backend:cudaMallocAsync CUSIM_FAIL=" + std::string(failure));
    EXPECT_EQ(child.code, 0) << child.output;
    EXPECT_TRUE(mentions(child.output, "error WEFT-M001: ") || mentions(child.output, "error WEFT-E006: "))
        << child.output;
  }
}

TEST(CudaMemory, ExpandableSegmentsAreRefused) {
  const Child child = runChild("--pools", "WEFT_ALLOC_CONF=expandable_segments:True ");
  EXPECT_TRUE(mentions(child.output, "error WEFT-M002")) << child.output;
  EXPECT_TRUE(mentions(child.output, "WEFT_ALLOC_CONF: 'cuda:0' has no 'expandable_segments'"))
      << child.output;
  EXPECT_TRUE(mentions(runChild("--pools", "WEFT_ALLOC_CONF=expandable_segments:False").output, "large 1"));
}
