//===- CudaMutantsTest.cpp - Waits and edges that are missing -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver leaves out one edge of a graph, or one wait of a stream, at a time (docs/cudasim.md). Each has
// to be missed: the driver reports two accesses of the same bytes that nothing orders. What it does not
// report, it has looked at in vain, so no bytes needed that order; the tests say how many these are.
//
//===----------------------------------------------------------------------===//
#include "test/unit/TemporaryFolder.h"
#include "test/unit/cuda/ChildProcess.h"
#include "test/unit/frontend/DeviceTraining.h"

#include <cmath>
#include <numeric>
#include <set>

using namespace weft;

namespace {
using weft::test::TemporaryFolder;
using weft::testing::callsIn;
using weft::testing::Child;
using weft::testing::edgesIn;
using weft::testing::numbers;
using weft::testing::runChild;

constexpr const char *settings = "CUSIM_RACE=1 WEFT_TEST_STEPS=4 WEFT_CUDA_GRAPHS=1 WEFT_LAUNCH_BLOCKING=0 ";

bool isRace(const Child &child) { return mentions(child.output, "race: "); }

} // namespace

TEST(CudaMutants, EveryEdgeOfAStepsGraphIsNeeded) {
  TemporaryFolder folder;
  const Child whole = runChild("--train", settings + ("CUSIM_LOG=" + (folder / "log")));
  ASSERT_TRUE(mentions(whole.output, "works finite")) << whole.output;
  ASSERT_FALSE(isRace(whole)) << whole.output;
  ASSERT_EQ(callsIn(folder / "log")["cuGraphInstantiate"], 1);
  const std::vector<int> edgesOfNodes = edgesIn(folder / "log");
  const int edges = std::accumulate(edgesOfNodes.begin(), edgesOfNodes.end(), 0);
  ASSERT_GT(edges, 8);
  // A kernel with checks touches the record of failures only if one of them fails.
  const std::string failing = std::string(settings) + "WEFT_TEST_BAD_LABEL=3 ";
  for (int edge = 1; edge <= edges; ++edge) {
    SCOPED_TRACE("edge " + std::to_string(edge) + " of " + std::to_string(edges));
    const std::string mutant = "CUSIM_FAIL=edge:" + std::to_string(edge) + ":0";
    Child child = runChild("--train", settings + mutant);
    if (!isRace(child))
      child = runChild("--train", failing + mutant);
    EXPECT_TRUE(isRace(child)) << child.output;
    EXPECT_TRUE(mentions(child.output, "WEFT-E007")) << child.output;
  }
}

/// A function on two devices, which pass values to each other. Writes whether they are right.
int weft::testing::passBetweenDevices() {
  Tensor sum = zeros({256}, {.device = "cuda:0"}), start = numbers(256).to("cuda:0") * 1;
  auto pass = compile([&](Tensor number) {
    Tensor there = (start * number).to("cuda:1");
    Tensor more = (there + 1).to("cuda:0");
    sum += more;
    return (there * more.to("cuda:1")).mean();
  });
  try {
    std::vector<Tensor> means;
    for (int i = 1; i <= 4; ++i)
      means.push_back(pass(full({}, i, {.device = "cuda:0"})));
    means.back().item<float>();
    const Floats found = floats(sum.cpu()), expected = floats(numbers(256) * 10 + 4);
    double most = 0;
    for (size_t i = 0; i < found.size(); ++i)
      most = std::max<double>(most, std::abs(found[i] - expected[i]));
    std::printf("%s\n", most < 1e-5 ? "right" : "wrong");
  } catch (const Error &error) {
    std::printf("error %s: %s\n", error.code().c_str(), error.what());
  }
  return 0;
}

TEST(CudaMutants, EveryWaitBetweenDevicesIsNeeded) {
  TemporaryFolder folder;
  const Child whole = runChild("--pass", "CUSIM_DEVICES=2 CUSIM_RACE=1 CUSIM_LOG=" + (folder / "log"));
  ASSERT_TRUE(mentions(whole.output, "right")) << whole.output;
  ASSERT_FALSE(isRace(whole)) << whole.output;
  const int waits = callsIn(folder / "log")["cuStreamWaitEvent"];
  ASSERT_GE(waits, 4);
  int found = 0;
  for (int wait = 1; wait <= waits; ++wait) {
    SCOPED_TRACE("wait " + std::to_string(wait) + " of " + std::to_string(waits));
    const Child child = runChild(
        "--pass", "CUSIM_DEVICES=2 CUSIM_RACE=1 CUSIM_FAIL=cuStreamWaitEvent:" + std::to_string(wait) + ":0");
    found += isRace(child);
    // The devices of a call wait for each other where it begins and ends, whatever it does. Some of these
    // waits order nothing that the others do not: then no bytes are in a race, and the values are right.
    EXPECT_NE(isRace(child), mentions(child.output, "right")) << child.output;
  }
  std::printf("%d of %d waits order bytes that nothing else does\n", found, waits);
  EXPECT_GE(found, 8); // two in each of four calls
}
