//===- CudaRandomTest.cpp - Random numbers that a GPU draws ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counter of a generator lies where the generator drew last. What it gives does not depend on that.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/Registry.h"
#include "runtime/execution/StatefulExecutable.h"
#include "test/unit/TemporaryFolder.h"
#include "test/unit/cuda/ChildProcess.h"
#include "test/unit/frontend/DeviceTraining.h"

#include <cmath>

using namespace weft;

namespace {
using weft::test::TemporaryFolder;
using weft::testing::Child;
using weft::testing::DeviceTraining;
using weft::testing::expectLastCalls;
using weft::testing::numbers;
using weft::testing::runChild;
using weft::testing::seeded;

/// A step whose inputs a dropout thins out.
Tensor thinnedStep(DeviceTraining &training, Tensor x, Tensor classes) {
  return training.body(dropout(x, 0.25), classes);
}

std::string counterDevice() { return default_generator().counter().device().str(); }
int64_t count() { return default_generator().counter().item<int64_t>(); }

/// Numbers of each distribution, on the device.
Tensor drawEach(Device on) {
  Tensor p = full({6}, 0.3F, {.device = on});
  Tensor sum = rand({6}, on) + randint(0, 100, {6}, {.device = on}).to(f32) + bernoulli(p);
  return sum + dropout(ones({6}, on), 0.5) + rand({6}, {.dtype = f64, .device = on}).to(f32) +
         randn({6}, on) + rand({6}, {.dtype = bf16, .device = on}).to(f32);
}

} // namespace

/// Steps that draw, on the host and on the device. Writes whether the last loss and the counters are equal.
int weft::testing::drawOnDevice() {
  float expected = 0, found = 0;
  int64_t counted = 0;
  {
    DeviceTraining host = seeded("cpu");
    for (int i = 0; i < 7; ++i)
      expected = thinnedStep(host, host.images(), host.labels()).item<float>();
    counted = count();
  }
  DeviceTraining there = seeded("cuda:0");
  Tensor x = there.images(), classes = there.labels();
  auto step = compile([&](Tensor images, Tensor labels) { return thinnedStep(there, images, labels); });
  for (int i = 0; i < 7; ++i) {
    if (i == 5) // too little to see in the loss
      there.adam->set_lr(0.01 + 1e-9);
    Tensor loss = step(x, classes);
    synchronize();
    if (i == 6) // the calls before stand alone in the log
      found = loss.item<float>();
  }
  std::printf("%s, %s\n", std::abs(found - expected) < 1e-5 ? "right" : "wrong",
              count() == counted ? "counted" : "miscounted");
  return 0;
}

TEST(CudaRandom, AStepThatDrawsIsOneGraphThatWaitsForNothing) {
  TemporaryFolder folder;
  const Child child = runChild("--draw", "CUSIM_RACE=1 CUSIM_LOG=" + (folder / "log"));
  EXPECT_TRUE(mentions(child.output, "right, counted")) << child.output;
  // The last two calls, the first of them with another rate; after each the host waits. Then it reads the
  // loss and the counter.
  std::vector<std::string> expected = {"cuMemcpyHtoDAsync"};
  for (int i = 0; i < 2; ++i)
    for (const char *each : {"cuGraphLaunch", "cuEventRecord", "cuEventSynchronize"})
      expected.emplace_back(each);
  for (int i = 0; i < 2; ++i)
    for (const char *each : {"cuMemcpyDtoHAsync", "cuStreamSynchronize"})
      expected.emplace_back(each);
  expectLastCalls(folder / "log", expected);
}

TEST(CudaRandom, LazyAndCompiledDrawsHaveTheBitsOfTheHost) {
  const auto draw = [](Device on, bool compiled) {
    manual_seed(41);
    auto function = compile([=] { return drawEach(on); });
    std::vector<Tensor> all;
    for (int i = 0; i < 4; ++i)
      all.push_back(compiled ? function() : drawEach(on));
    all.push_back(default_generator().get_state());
    return bitsOf(all);
  };
  const auto expected = draw("cpu", false);
  for (const char *on : {"cuda:0", "cuda:1", "cpu"})
    for (const bool compiled : {false, true}) {
      EXPECT_EQ(draw(on, compiled), expected) << on << compiled;
      EXPECT_EQ(counterDevice(), on);
    }
}

TEST(CudaRandom, SeedsAndStatesAreSetWhereTheGeneratorIs) {
  const auto some = [] { return rand({5}, Device("cuda:0")).to_vector<float>(); };
  manual_seed(9);
  const auto first = some();
  const Tensor state = default_generator().get_state();
  EXPECT_EQ(state.device(), Device("cpu"));
  const auto second = some();
  EXPECT_NE(first, second);
  default_generator().set_state(state);
  EXPECT_EQ(some(), second);
  manual_seed(9);
  EXPECT_EQ(some(), first);
  {
    ForkRngGuard guard;
    (void)some();
  }
  EXPECT_EQ(some(), second);
  EXPECT_EQ(counterDevice(), "cuda:0");
  // What the host makes of it is the same stream.
  manual_seed(9);
  const Tensor order = randperm(9);
  const Generator child = default_generator().fork();
  EXPECT_EQ(counterDevice(), "cuda:0");
  manual_seed(9);
  (void)rand({1}).item<float>();
  EXPECT_EQ(counterDevice(), "cpu");
  manual_seed(9);
  EXPECT_EQ(bitsOf({randperm(9)}), bitsOf({order}));
  EXPECT_EQ(default_generator().fork().initial_seed(), child.initial_seed());
}

// The function is compiled once, wherever the counter is before a call; the calls leave it on the device.
TEST(CudaRandom, DrawsOfTheHostBetweenCallsCompileNothing) {
  const auto losses = [](Device on) {
    manual_seed(5);
    Tensor x = numbers(12).to(on) * 1;
    auto thin = compile([](Tensor given) { return dropout(given, 0.5); });
    std::vector<std::vector<float>> all;
    for (int i = 0; i < 5; ++i) {
      all.push_back(thin(x).to_vector<float>());
      EXPECT_EQ(counterDevice(), on.str());
      if (i % 2)
        all.push_back(rand({3}).to_vector<float>());
    }
    EXPECT_EQ(thin.variants().size(), 1U);
    return all;
  };
  EXPECT_EQ(losses("cuda:0"), losses("cpu"));
}

// In one function the counter stays where it is drawn from first.
TEST(CudaRandom, OneFunctionDrawsOnSeveralDevices) {
  const auto run = [](Device one, Device other) {
    manual_seed(6);
    auto mixed = compile(
        [=] { return std::tuple(rand({4}, one).cpu(), rand({4}, other).cpu(), rand({4}, one).cpu()); });
    std::vector<Tensor> all;
    for (int i = 0; i < 4; ++i) {
      auto [a, b, c] = mixed();
      all.insert(all.end(), {a, b, c});
    }
    EXPECT_EQ(counterDevice(), one.str());
    return bitsOf(all);
  };
  const auto expected = run("cpu", "cpu");
  EXPECT_EQ(run("cuda:0", "cpu"), expected);
  EXPECT_EQ(run("cpu", "cuda:1"), expected);
  EXPECT_EQ(run("cuda:0", "cuda:1"), expected);
}

// A check that fails is seen by what advances the counter, as launches (the first two calls) and as a graph.
TEST(CudaRandom, AFailedCallLeavesTheGenerator) {
  DeviceTraining there = seeded("cuda:0");
  Tensor x = there.images(), classes = there.labels();
  const Tensor wrong = (arange(16) % 3 + (arange(16) == 7).to(i64) * 50).to("cuda:0");
  auto step = compile([&](Tensor images, Tensor labels) { return thinnedStep(there, images, labels); });
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    step(x, classes).item<float>();
    const auto before = bitsOf({default_generator().get_state()});
    EXPECT_ERROR(step(x, wrong).item<float>(), "out of bounds");
    EXPECT_EQ(bitsOf({default_generator().get_state()}), before);
    step(x, classes).item<float>();
    EXPECT_NE(bitsOf({default_generator().get_state()}), before);
  }
  // So does a lazy program, whose draw follows the check.
  const auto before = bitsOf({default_generator().get_state()});
  EXPECT_ERROR(dropout(x.index_select(0, wrong), 0.5).sum().item<float>(), "out of bounds");
  EXPECT_EQ(bitsOf({default_generator().get_state()}), before);
}

TEST(CudaRandom, CheckpointsResumeToTheBit) {
  TemporaryFolder folder;
  const std::string path = folder / "run.safetensors";
  const auto run = [&](Device on, int from, int to, bool saves) {
    manual_seed(100 + from); // a run that resumes has another state before it loads
    DeviceTraining training(on);
    const auto items = [&] {
      return std::vector<CheckpointItem>{
          {"model", training.model}, {"adam", *training.adam}, {"rng", default_generator()}};
    };
    if (from > 0)
      load_checkpoint(path, items());
    Tensor x = training.images(), classes = training.labels();
    auto step = compile([&](Tensor images, Tensor labels) { return thinnedStep(training, images, labels); });
    std::vector<float> losses;
    for (int i = from; i < to; ++i) {
      if (saves && i == 3)
        save_checkpoint(path, items());
      losses.push_back(step(x, classes).item<float>());
    }
    return losses;
  };
  const std::vector<float> whole = run("cuda:0", 0, 6, true);
  const std::vector<float> resumed = run("cuda:0", 3, 6, false);
  EXPECT_EQ(resumed, std::vector<float>(whole.begin() + 3, whole.end()));
  const std::vector<float> moved = run("cpu", 3, 6, false);
  for (size_t i = 0; i < moved.size(); ++i)
    EXPECT_NEAR(moved[i], resumed[i], 1e-5);
}

namespace {

/// What calls of a saved function give that has no inputs.
std::vector<std::vector<float>> callSaved(const std::string &path, std::string_view devices, int calls) {
  auto drawn =
      runtime::StatefulExecutable::load(runtime::Package::open(path).value_or_throw(), "drawn", devices)
          .value_or_throw();
  std::vector<std::vector<float>> all;
  for (int i = 0; i < calls; ++i) {
    std::shared_ptr<runtime::Buffer> results[1];
    drawn->run({}, {}, results).throw_if_failed();
    results[0]->wait().throw_if_failed();
    std::vector<float> &values = all.emplace_back(6);
    results[0]->read(0, std::as_writable_bytes(std::span(values))).throw_if_failed();
  }
  return all;
}

} // namespace

TEST(CudaRandom, PackagesGoOnWithTheStateThatTheyHave) {
  TemporaryFolder folder;
  for (const char *on : {"cuda:0", "cpu"}) {
    const std::string path = folder / "drawn.weft";
    manual_seed(8);
    auto drawn = compile([&] { return drawEach(on); }, {.name = "drawn"});
    (void)drawn().to_vector<float>();
    drawn.save(path, {.targets = {"cpu", "cuda:sm_90"}});
    std::vector<std::vector<float>> expected;
    for (int i = 0; i < 4; ++i)
      expected.push_back(drawn().to_vector<float>());
    for (const char *devices : {"cpu", "cuda:0", "cuda:1"})
      EXPECT_EQ(callSaved(path, devices, 4), expected) << on << " on " << devices;
  }
}
