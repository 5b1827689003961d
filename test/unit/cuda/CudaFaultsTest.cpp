//===- CudaFaultsTest.cpp - Calls of the driver that fail -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step, in a process of its own, whose driver fails at one of its calls. The program then has an
// error with a code, or goes on; later steps work, or say that the device is lost; and nothing is left
// behind.
//
//===----------------------------------------------------------------------===//
#include "test/unit/cuda/DriverFaults.h"
#include "test/unit/frontend/DeviceTraining.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

using namespace weft;

namespace {
using weft::test::TemporaryFolder;
using weft::testing::attempt;
using weft::testing::callsIn;
using weft::testing::Child;
using weft::testing::runChild;

Child train(const std::string &environment) { return runChild("--train", environment); }

} // namespace

/// Steps, WEFT_TEST_STEPS of them, each of which may fail, and two more of which one has to work. Step
/// WEFT_TEST_BAD_LABEL, from 0 on, has a label that is no class. Writes a line for each failure, and the end.
int weft::testing::trainForFaults() {
  weft::testing::DeviceNet model;
  std::optional<optim::Adam> adam;
  Tensor x = weft::testing::numbers(96).reshape({16, 6}), classes = arange(16) % 3;
  const auto prepare = [&] {
    model.to("cuda:0");
    if (!adam)
      adam.emplace(model.parameters(), optim::AdamOptions{.lr = 0.01});
    x = x.to("cuda:0");
    classes = classes.to("cuda:0");
  };
  auto step = compile([&](Tensor images, Tensor labels) {
    Tensor loss = nn::cross_entropy(model(images), labels);
    loss.backward();
    adam->step();
    adam->zero_grad();
    return loss;
  });
  const char *const steps = std::getenv("WEFT_TEST_STEPS"), *const bad = std::getenv("WEFT_TEST_BAD_LABEL");
  const int badStep = bad ? std::atoi(bad) : -1;
  for (int i = 0; i < std::atoi(steps ? steps : "5"); ++i)
    attempt("step", [&] {
      prepare();
      step(x, i == badStep ? classes + 2 : classes).item<float>();
    });
  float loss = NAN;
  bool works = false;
  for (int i = 0; i < 2 && !works; ++i)
    works = attempt("last", [&] {
      prepare();
      loss = step(x, classes).item<float>();
    });
  std::printf("%s %s %a\n", works ? "works" : "fails", std::isfinite(loss) ? "finite" : "no loss", loss);
  return 0;
}

TEST(CudaFaults, EveryFunctionOfTheDriverFails) {
  TemporaryFolder folder;
  // The last call of these three steps is not one of the last step of the others.
  const Child good = train("WEFT_TEST_STEPS=2 CUSIM_LOG=" + (folder / "log"));
  ASSERT_EQ(good.code, 0) << good.output;
  ASSERT_TRUE(mentions(good.output, "works finite")) << good.output;
  const std::map<std::string, int> calls = callsIn(folder / "log");
  ASSERT_GT(calls.size(), 15u);
  const int cases = weft::testing::tryEveryFault(
      calls, "works finite", [](int count) { return std::set<int>{1, 2, count}; }, train);
  EXPECT_GT(cases, 40);
}

TEST(CudaGraphs, AWarmStepIsOneLaunch) {
  TemporaryFolder folder;
  const Child graphs = train("WEFT_TEST_STEPS=6 WEFT_CUDA_GRAPHS=1 CUSIM_LOG=" + (folder / "log"));
  EXPECT_TRUE(mentions(graphs.output, "works finite")) << graphs.output;
  const std::vector<std::string> calls = weft::testing::namesIn(folder / "log");
  // The last step: the graph, its event, and the loss, which the program reads.
  const std::vector<std::string> step = {"cuGraphLaunch", "cuEventRecord", "cuEventSynchronize",
                                         "cuMemcpyDtoHAsync", "cuStreamSynchronize"};
  ASSERT_GT(calls.size(), 2 * step.size());
  for (size_t i = 0; i < 2 * step.size(); ++i)
    EXPECT_EQ(calls[calls.size() - 2 * step.size() + i], step[i % step.size()]) << i;
  // Twice for what writes arguments in the first two calls, and once for all of a call.
  EXPECT_EQ(callsIn(folder / "log")["cuGraphInstantiate"], 3);
}

TEST(CudaGraphs, GiveTheBitsOfLaunches) {
  const Child graphs = train("WEFT_TEST_STEPS=6 WEFT_CUDA_GRAPHS=1"),
              launches = train("WEFT_TEST_STEPS=6 WEFT_CUDA_GRAPHS=0");
  EXPECT_TRUE(mentions(graphs.output, "works finite 0x1.")) << graphs.output;
  EXPECT_EQ(graphs.output, launches.output);
  TemporaryFolder folder;
  train("WEFT_TEST_STEPS=6 WEFT_CUDA_GRAPHS=0 CUSIM_LOG=" + (folder / "log"));
  EXPECT_FALSE(callsIn(folder / "log").contains("cuGraphLaunch"));
}

TEST(CudaFaults, ADeviceThatHasFailedStaysFailed) {
  const Child child = train("CUSIM_FAIL=cuMemcpyDtoHAsync:5:700");
  EXPECT_EQ(child.code, 0) << child.output;
  EXPECT_TRUE(mentions(child.output, "error WEFT-E007: ")) << child.output;
  EXPECT_TRUE(mentions(child.output, "CUDA_ERROR_ILLEGAL_ADDRESS")) << child.output;
  EXPECT_TRUE(mentions(child.output, "nothing more runs on it in this process")) << child.output;
  EXPECT_TRUE(mentions(child.output, "fails no loss")) << child.output;
}

// Otherwise the error of a launch is seen where the host waits.
TEST(CudaFaults, BlockingLaunchesNameTheLaunchThatFails) {
  TemporaryFolder folder;
  const Child good = train("WEFT_TEST_STEPS=2 WEFT_LAUNCH_BLOCKING=1 CUSIM_LOG=" + (folder / "log"));
  const std::map<std::string, int> calls = callsIn(folder / "log");
  ASSERT_TRUE(calls.contains("cuStreamSynchronize")) << good.output;
  const std::string last = std::to_string(calls.at("cuStreamSynchronize") - 3);
  const Child child = train("WEFT_LAUNCH_BLOCKING=1 CUSIM_FAIL=cuStreamSynchronize:" + last + ":700");
  EXPECT_TRUE(mentions(child.output, "'cuda:0' has failed, running 'main.")) << child.output;
  EXPECT_TRUE(mentions(child.output, "CudaFaultsTest.cpp:")) << child.output;
}

TEST(CudaFaults, LittleMemoryIsAnErrorOrEnough) {
  int errors = 0, successes = 0;
  for (int kilobytes : {1, 512, 2048, 4096, 8192, 24000, 65536}) {
    SCOPED_TRACE(std::to_string(kilobytes) + " KiB");
    const Child child = train("CUSIM_MEM=" + std::to_string(kilobytes * 1024));
    EXPECT_EQ(child.code, 0) << child.output;
    const bool works = mentions(child.output, "works finite");
    ++(works ? successes : errors);
    EXPECT_NE(works, mentions(child.output, "WEFT-M001")) << child.output;
  }
  EXPECT_GT(errors, 0);
  EXPECT_GT(successes, 0);
}

// The driver has no memory for one allocation after the other, of the device and of the host, nor when it is
// asked again after all that is kept was given back. Each block is one of the driver's here.
TEST(CudaFaults, NoMemoryForAnyOneAllocation) {
  TemporaryFolder folder;
  const std::string settings = "WEFT_NO_MEMORY_CACHING=1 WEFT_TEST_STEPS=4 ";
  const Child good = train(settings + "CUSIM_LOG=" + (folder / "log"));
  ASSERT_TRUE(mentions(good.output, "works finite")) << good.output;
  std::map<std::string, int> calls = callsIn(folder / "log");
  ASSERT_GT(calls["cuMemAlloc"], 10);
  ASSERT_GT(calls["cuMemHostAlloc"], 5);
  int errors = 0;
  for (const std::string function : {"cuMemAlloc", "cuMemHostAlloc"})
    for (int call = 1; call <= calls[function]; ++call) {
      SCOPED_TRACE(function + ", call " + std::to_string(call));
      const auto refused = [&](int number) { return function + ":" + std::to_string(number) + ":2"; };
      const Child child = train(settings + "CUSIM_FAIL=" + refused(call) + "," + refused(call + 1));
      EXPECT_EQ(child.code, 0) << child.output;
      // The next step has the memory.
      EXPECT_TRUE(mentions(child.output, "works finite")) << child.output;
      const bool failed = mentions(child.output, "error ");
      EXPECT_EQ(failed, mentions(child.output, "error WEFT-M001")) << child.output;
      errors += failed;
    }
  EXPECT_GT(errors, 10);
}

/// Calls of a function that adds to two tensors, in two launches. Writes the errors, and what the tensors
/// are.
int weft::testing::addToTwo() {
  Tensor first = zeros({64}, {.device = "cuda:0"}) * 1, second = zeros({3, 5}, {.device = "cuda:0"}) * 1;
  first.to_vector<float>();
  second.to_vector<float>();
  auto add = compile([&](Tensor x) {
    first += x;
    second += sin(x);
  });
  Tensor x = full({}, 2.0F, {.device = "cuda:0"}) * 1;
  x.item<float>();
  try {
    add(x);
    first.to_vector<float>();
  } catch (const Error &error) {
    std::printf("%s: %s\n", error.code().c_str(), error.what());
  }
  std::printf("%g %g\n", double(first.to_vector<float>()[0]), double(second.to_vector<float>()[0]));
  return 0;
}

// What writes arguments is launched last and as one graph, so that the driver refuses all of it or nothing.
TEST(CudaFaults, ACallThatIsRefusedWritesNothing) {
  TemporaryFolder folder;
  const Child good = runChild("--add-to-two", "CUSIM_LOG=" + (folder / "log"));
  ASSERT_TRUE(good.output.starts_with("2 0.9")) << good.output;
  const std::map<std::string, int> calls = callsIn(folder / "log");
  ASSERT_EQ(calls.at("cuGraphLaunch"), 1);
  const auto refused = [](const std::string &function, int call) {
    return runChild("--add-to-two", "CUSIM_FAIL=" + function + ":" + std::to_string(call) + ":999").output;
  };
  const std::string output = refused("cuGraphLaunch", 1);
  EXPECT_TRUE(output.starts_with("WEFT-E006: ") && output.ends_with("\n0 0\n")) << output;
  EXPECT_FALSE(mentions(output, "no longer valid")) << output;
  // A driver that makes no graph of them gets them one by one.
  for (const char *function :
       {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiate", "cuGraphUpload"})
    EXPECT_EQ(refused(function, 1), good.output) << function;
}

// Without graphs, the driver may take one launch and refuse the next.
TEST(CudaFaults, ACallWithoutGraphsThatIsRefusedInTheMiddleNamesWhatItWrote) {
  TemporaryFolder folder;
  const std::string settings = "WEFT_CUDA_GRAPHS=0 ";
  const Child good = runChild("--add-to-two", settings + "CUSIM_LOG=" + (folder / "log"));
  ASSERT_TRUE(good.output.starts_with("2 0.9")) << good.output;
  // The last launches are those of the two kernels.
  const int launches = callsIn(folder / "log")["cuLaunchKernelEx"];
  const auto refused = [&](int fromEnd) {
    return runChild("--add-to-two",
                    settings + "CUSIM_FAIL=cuLaunchKernelEx:" + std::to_string(launches - fromEnd) + ":999")
        .output;
  };
  const std::string none = refused(1);
  EXPECT_FALSE(mentions(none, "no longer valid")) << none;
  EXPECT_TRUE(mentions(none, "WEFT-E006") && none.ends_with("\n0 0\n")) << none;
  const std::string one = refused(0);
  EXPECT_TRUE(mentions(one, "running 'main.loop.1'")) << one;
  EXPECT_TRUE(mentions(one, ", these donated arguments are no longer valid: argument 1 'state0': CUDA"))
      << one;
  EXPECT_TRUE(one.ends_with("\n2 0\n")) << one;
}
