//===- CudaPackagesTest.cpp - Packages on a GPU --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One package with plans for the host and for a GPU, loaded with each kind of device map.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/Registry.h"
#include "runtime/execution/StatefulExecutable.h"
#include "test/unit/TemporaryFolder.h"
#include "test/unit/frontend/Helpers.h"

using namespace weft;

namespace {
using runtime::Buffer, runtime::StatefulExecutable;
using weft::test::TemporaryFolder;

Tensor numbers(int64_t count) { return sin(arange(count).to(f32)); }

/// The class of each of five rows, without one that is out of range.
const std::vector<int64_t> classes = {0, 1, 2, 1, 0};

struct CudaPackages : testing::Test {
  TemporaryFolder folder;
  const std::string path = folder / "step.weft";

  /// A training step on cuda:0, whose rows come from the host.
  void save(const std::vector<std::string> &targets) {
    manual_seed(3);
    TwoLayers net(6, 8, 3);
    net.to("cuda:0");
    optim::SGD sgd(net.parameters(), {.lr = 0.1});
    auto step = compile(
        [&](Tensor x, Tensor labels) {
          Tensor loss = nn::cross_entropy(net(x.to("cuda:0")), labels);
          loss.backward();
          sgd.step();
          sgd.zero_grad();
          return loss;
        },
        {.name = "step"});
    step(rows(), Tensor::from(classes, {5}).to("cuda:0")).item<float>();
    step.save(path, {.targets = targets});
  }
  static Tensor rows() { return numbers(30).reshape({5, 6}); }

  Expected<std::shared_ptr<StatefulExecutable>> load(std::string_view devices) const {
    return StatefulExecutable::load(runtime::Package::open(path).value_or_throw(), "step", devices);
  }
};

template <typename T>
std::shared_ptr<Buffer> bufferOf(const std::vector<T> &values, runtime::Device &device) {
  auto buffer = Buffer::allocate(values.size() * sizeof(T), 0, device).value_or_throw();
  buffer->write(0, std::as_bytes(std::span(values))).throw_if_failed();
  return buffer;
}

/// The loss of one step.
Expected<float> stepOf(StatefulExecutable &step, const std::vector<int64_t> &labels = classes) {
  std::vector<float> x = floats(CudaPackages::rows());
  const std::shared_ptr<Buffer> inputs[] = {
      bufferOf(x, step.executable().argument_device(step.inputs()[0])),
      bufferOf(labels, step.executable().argument_device(step.inputs()[1]))};
  std::shared_ptr<Buffer> results[1];
  if (Status status = step.run(inputs, {}, results); !status)
    return status;
  if (Status status = results[0]->wait(); !status)
    return status;
  float loss = 0;
  results[0]->read(0, std::as_writable_bytes(std::span(&loss, 1))).throw_if_failed();
  return loss;
}

std::vector<float> stateOf(StatefulExecutable &step, std::string_view name, size_t count) {
  std::vector<float> values(count);
  step.get_state(name, std::as_writable_bytes(std::span(values))).throw_if_failed();
  return values;
}

runtime::Device &labelsDevice(const StatefulExecutable &step) {
  return step.executable().argument_device(step.inputs()[1]);
}

std::string messageOf(const Expected<std::shared_ptr<StatefulExecutable>> &loaded) {
  return loaded.status().code() + " " + loaded.status().message();
}

} // namespace

TEST_F(CudaPackages, RunWhereTheMapSays) {
  save({"cpu", "cuda:sm_80", "cuda:sm_90"});
  const auto host = load("cpu").value_or_throw();
  EXPECT_EQ(labelsDevice(*host).name(), "cpu");
  EXPECT_EQ(host->signature().target, "cpu");
  std::vector<float> expected;
  for (int i = 0; i < 4; ++i)
    expected.push_back(stepOf(*host).value_or_throw());
  EXPECT_LT(expected.back(), expected.front());
  for (const auto &[map, device] : {std::pair("", "cuda:0"),
                                    {"cuda", "cuda:0"},
                                    {"cuda:1", "cuda:1"},
                                    {"cuda:0=cuda:1", "cuda:1"},
                                    {"cuda=cuda:0,cuda:5=cpu", "cuda:0"}}) {
    SCOPED_TRACE(map);
    const auto step = load(map).value_or_throw();
    EXPECT_EQ(step->signature().target, "cuda:sm_90");
    EXPECT_EQ(labelsDevice(*step).name(), device);
    EXPECT_EQ(step->executable().argument_device(step->inputs()[0]).name(), "cpu") << "the program says so";
    EXPECT_EQ(step->executable().result_device(step->outputs()[0]).name(), device);
    for (const float loss : expected)
      EXPECT_NEAR(stepOf(*step).value_or_throw(), loss, 1e-5);
    const auto found = stateOf(*step, "fc1.weight", 48), wanted = stateOf(*host, "fc1.weight", 48);
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], wanted[i], 1e-5) << i;
  }
}

TEST_F(CudaPackages, StateIsCopiedInAndOut) {
  save({"cuda:sm_90"});
  const auto step = load("cuda:0").value_or_throw(), other = load("cuda:1").value_or_throw();
  const auto weight = stateOf(*step, "fc1.weight", 48);
  const float first = stepOf(*step).value_or_throw();
  EXPECT_NE(stateOf(*step, "fc1.weight", 48), weight);
  EXPECT_EQ(stateOf(*other, "fc1.weight", 48), weight) << "each load has state of its own";
  for (const auto &[name, entry] : step->state()) {
    std::vector<std::byte> bytes(step->signature().arguments[entry.argument].type.bytes);
    ASSERT_TRUE(other->get_state(name, bytes).ok());
    ASSERT_TRUE(step->set_state(name, bytes).ok());
  }
  EXPECT_EQ(stepOf(*step).value_or_throw(), first);
  // A rate of 0 changes nothing.
  ASSERT_TRUE(step->set_scalar("sgd.lr", 0).ok());
  const auto before = stateOf(*step, "fc1.weight", 48);
  EXPECT_NE(stepOf(*step).value_or_throw(), first);
  EXPECT_EQ(stateOf(*step, "fc1.weight", 48), before);
}

TEST_F(CudaPackages, AFailedCallChangesNoState) {
  save({"cpu", "cuda:sm_90"});
  const auto step = load("cuda:0").value_or_throw();
  const auto before = stateOf(*step, "fc1.weight", 48);
  const auto failed = stepOf(*step, {0, 1, 99, 1, 0});
  ASSERT_FALSE(failed);
  EXPECT_TRUE(mentions(failed.status().message(), "99"));
  EXPECT_EQ(stateOf(*step, "fc1.weight", 48), before);
  EXPECT_TRUE(stepOf(*step).ok());
}

TEST_F(CudaPackages, WhatIsNotThereIsAnError) {
  save({"cuda:sm_90"});
  EXPECT_TRUE(mentions(messageOf(load("cpu")), "WEFT-L007 package '"));
  EXPECT_TRUE(
      mentions(messageOf(load("cpu")), "has no plan of 'step' for the target 'cpu'; it has 'cuda:sm_90'"));
  EXPECT_TRUE(mentions(messageOf(load("cuda:7")), "WEFT-E001 device map: "));
  EXPECT_TRUE(
      mentions(messageOf(load("cuda:0=cuda:7")), "'cuda:7' is not there (WEFT-E001), the driver sees 2"));
  EXPECT_TRUE(mentions(messageOf(load("cuda:1=cuda:0")), "WEFT-L017 package '"));
  EXPECT_TRUE(mentions(messageOf(load("cuda:1=cuda:0")), "runs on 'cuda:0', which is mapped to no device"));
  EXPECT_TRUE(mentions(messageOf(load("gpu")), "WEFT-E004 device map: "));
  EXPECT_TRUE(mentions(messageOf(load("cuda:0=cuda:1,cpu")), "WEFT-E004 device map: expected logical=real"));
  save({"cpu"});
  EXPECT_EQ(load("").value_or_throw()->signature().target, "cpu");
  EXPECT_TRUE(mentions(
      messageOf(load("cuda:0")),
      "has no plan of 'step' that 'cuda:0' runs, which takes kernels for 'cuda:sm_90'; it has 'cpu'"));
  save({"cpu", "cuda:sm_100"});
  EXPECT_EQ(load("").value_or_throw()->signature().target, "cpu") << "the GPU is too old for the other plan";
  EXPECT_TRUE(mentions(messageOf(load("cuda:0")), "it has 'cpu', 'cuda:sm_100'"));
  save({"cuda:sm_100"});
  EXPECT_TRUE(mentions(messageOf(load("")), "has no plan of 'step' that 'cuda:0' runs"));
}

TEST_F(CudaPackages, DevicesOfOneNameStayApart) {
  auto f = compile([](Tensor x) { return (x * 2).to("cuda:1") + 1; }, {.name = "step"});
  f(numbers(8).to("cuda:0")).to_vector<float>();
  f.save(path, {.targets = {"cpu", "cuda:sm_90"}});
  EXPECT_TRUE(mentions(messageOf(load("cuda:0")), "apart, and both are mapped to 'cuda:0'"));
  for (const char *map : {"", "cuda:0=cuda:1,cuda:1=cuda:0"}) {
    const auto step = load(map).value_or_throw();
    const std::shared_ptr<Buffer> inputs[] = {
        bufferOf(floats(numbers(8)), step->executable().argument_device(step->inputs()[0]))};
    std::shared_ptr<Buffer> results[1];
    step->run(inputs, {}, results).throw_if_failed();
    results[0]->wait().throw_if_failed();
    EXPECT_EQ(results[0]->device().name(), *map ? "cuda:0" : "cuda:1");
    std::vector<float> found(8);
    results[0]->read(0, std::as_writable_bytes(std::span(found))).throw_if_failed();
    EXPECT_EQ(found, floats(numbers(8) * 2 + 1));
  }
}
