//===- DevicesTest.cpp - Programs whose tensors lie on a device ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs of the C++ interface on a device whose memory the host cannot read: a read of one of its addresses
// ends the test. Its kernels are those of the host, so every bit must be the same.
//
//===----------------------------------------------------------------------===//
#include "DeviceTraining.h"

#include "runtime/device/Registry.h"
#include "runtime/execution/StatefulExecutable.h"
#include "runtime/package/Package.h"
#include "runtime/queue/Queue.h"
#include "test/unit/TemporaryFolder.h"
#include "test/unit/codegen/SeparateDevice.h"

using namespace weft;

namespace {
using weft::test::TemporaryFolder;
using weft::testing::DeviceNet;
using weft::testing::DeviceTraining;
using weft::testing::numbers;
using weft::testing::seeded;
using weft::testing::SeparateDevice;

class OnADevice : public ::testing::Test {
protected:
  void SetUp() override {
    runtime::register_device("cuda:0", &device);
    runtime::register_device("cuda:1", &next);
  }
  void TearDown() override {
    synchronize();
    runtime::register_device("cuda:0", nullptr);
    runtime::register_device("cuda:1", nullptr);
  }
  SeparateDevice &device = SeparateDevice::get(0), &next = SeparateDevice::get(1);
};
} // namespace

TEST_F(OnADevice, ValuesAreReadAndPrinted) {
  Tensor x = tensor({1, 2, 3, 4}, {2, 2}).to("cuda:0");
  EXPECT_EQ(x.device(), Device("cuda:0"));
  EXPECT_EQ(floats(x), Floats({1, 2, 3, 4}));
  EXPECT_EQ(x[1][0].item<float>(), 3);
  EXPECT_EQ(x.sum().item<double>(), 10);
  EXPECT_EQ(x.to(f64).to_vector<double>(), std::vector<double>({1, 2, 3, 4}));
  EXPECT_EQ(to_string(x), "tensor([[1., 2.],\n        [3., 4.]], device='cuda:0')");
  ::testing::internal::CaptureStdout();
  print("x", x);
  EXPECT_TRUE(mentions(::testing::internal::GetCapturedStdout(), "device='cuda:0'"));
  EXPECT_EQ(bitsOf({x}), bitsOf({tensor({1, 2, 3, 4}, {2, 2})}));
  assert_true(x > 0, "all are positive");
  EXPECT_ERROR(assert_true(x > 1, "all are above 1"), "the condition is false at position 0");
  EXPECT_GT(device.copiesOut, 0u);
  EXPECT_GT(device.launches, 0u);
}

TEST_F(OnADevice, ValuesMoveBetweenDevices) {
  Tensor host = numbers(100), there = host.to("cuda:0"), beyond = there.to("cuda:1");
  EXPECT_EQ(beyond.device(), Device("cuda:1"));
  EXPECT_EQ(bitsOf({beyond}), bitsOf({host}));
  EXPECT_EQ(bitsOf({beyond.cpu()}), bitsOf({host}));
  EXPECT_EQ((there * 2).cpu().device(), Device("cpu"));
  EXPECT_EQ(bitsOf({(there * 2).cpu()}), bitsOf({host * 2}));
  Tensor target = zeros({100}, {.device = "cuda:0"});
  target.copy_(host);
  EXPECT_EQ(bitsOf({target}), bitsOf({host}));
  EXPECT_ERROR((there + host).to_vector<float>(), "WEFT-P001");
  EXPECT_EQ(full({3}, 2, {.device = "cuda"}).device(), Device("cuda:0"));
  const DefaultDeviceGuard guard("cuda:1");
  EXPECT_EQ(floats(ones({2}) + 1), Floats({2, 2}));
  EXPECT_EQ(floats(tensor({5, 6}, {2})), Floats({5, 6}));
}

TEST_F(OnADevice, OperationsGiveTheBitsOfTheHost) {
  const auto program = [](Tensor x) {
    Tensor y = x.reshape({8, 12});
    Tensor z = matmul(y, y.t()) + 0.5;
    z = softmax(z, 1) * exp(y.sum(1, true)) - z.amax(0);
    return std::vector<Tensor>{z,
                               z.cumsum(0),
                               argmax(z, 1),
                               z[1],
                               y.t().contiguous(),
                               (z > 0).to(i32),
                               cat({z, y}, 1),
                               z.mean(),
                               z.index_select(0, arange(3).to(z.device()))};
  };
  EXPECT_EQ(bitsOf(program(numbers(96).to("cuda:0"))), bitsOf(program(numbers(96))));
}

TEST_F(OnADevice, WritesGoThroughViews) {
  const auto program = [](Tensor x) {
    Tensor y = x.reshape({4, 6}) * 1;
    y[1] = 7;
    y.select(1, 2).add_(y.select(1, 3));
    y.t()[0].copy_(numbers(4).to(y.device()));
    y.zero_().add_(2.5);
    y[3][5] -= 1;
    return std::vector<Tensor>{y, y[3]};
  };
  EXPECT_EQ(bitsOf(program(numbers(24).to("cuda:0"))), bitsOf(program(numbers(24))));
}

TEST_F(OnADevice, LazyTrainingGivesTheBitsOfTheHost) {
  DeviceTraining host = seeded("cpu"), there = seeded("cuda:0");
  for (int i = 0; i < 4; ++i) {
    const float expected = host.body(host.images(), host.labels()).item<float>();
    EXPECT_EQ(there.body(there.images(), there.labels()).item<float>(), expected) << i;
  }
  EXPECT_EQ(there.model.fc1.weight.device(), Device("cuda:0"));
  EXPECT_EQ(bitsOf(there.model.parameters()), bitsOf(host.model.parameters()));
}

TEST_F(OnADevice, ACompiledStepTrainsWhereItsParametersAre) {
  DeviceTraining host = seeded("cpu"), there = seeded("cuda:0");
  auto on_host = compile([&](Tensor x, Tensor classes) { return host.body(x, classes); });
  auto on_device = compile([&](Tensor x, Tensor classes) { return there.body(x, classes); });
  Tensor x = there.images(), classes = there.labels();
  for (int i = 0; i < 5; ++i) {
    host.adam->set_lr(0.01 / (1 + i));
    there.adam->set_lr(0.01 / (1 + i));
    const float expected = on_host(host.images(), host.labels()).item<float>();
    EXPECT_EQ(on_device(x, classes).item<float>(), expected) << i;
  }
  EXPECT_EQ(bitsOf(there.model.parameters()), bitsOf(host.model.parameters()));
  // A steady step moves no parameter: numbers of the host, and the record of failures, are fewer bytes.
  uint64_t bytes = 0;
  for (const Tensor &parameter : there.model.parameters())
    bytes += static_cast<uint64_t>(parameter.numel()) * sizeof(float);
  synchronize();
  device.bytesIn = device.bytesOut = 0;
  const uint64_t compiled = compile_count(), held = memory_allocated("cuda:0");
  for (int i = 0; i < 10; ++i)
    on_device(x, classes);
  synchronize();
  EXPECT_LT(device.bytesIn, 10 * bytes);
  EXPECT_LT(device.bytesOut, 10 * bytes);
  EXPECT_EQ(memory_allocated("cuda:0"), held);
  EXPECT_EQ(compile_count(), compiled);
  EXPECT_ERROR(on_device(x.cpu(), classes), "WEFT-P001");
}

TEST_F(OnADevice, StateThatSomethingHoldsIsCopiedWhereItIs) {
  Tensor state = numbers(50).to("cuda:0");
  auto step = compile([&](Tensor x) { state.add_(x); });
  Tensor x = ones({50}, {.device = "cuda:0"});
  step(x);
  const Tensor held = state.clone();
  const std::vector<std::vector<std::byte>> before = bitsOf({held});
  const Tensor view = state.detach();
  step(x);
  EXPECT_EQ(bitsOf({held}), before);
  EXPECT_EQ(bitsOf({state, view}), bitsOf({numbers(50) + 1 + 1, numbers(50) + 1 + 1}));
}

TEST_F(OnADevice, AnArgumentWithStridesIsReadInPlace) {
  auto row_sums = compile([](Tensor x) { return x.sum(1); });
  Tensor base = numbers(60).reshape({6, 10});
  Tensor there = (base * 1).to("cuda:0");
  EXPECT_EQ(bitsOf({row_sums(there.t())}), bitsOf({base.t().contiguous().sum(1)}));
  EXPECT_EQ(bitsOf({row_sums(there.slice(0, 2, 5))}), bitsOf({base.slice(0, 2, 5).contiguous().sum(1)}));
}

TEST_F(OnADevice, StateIsSavedAndLoaded) {
  TemporaryFolder folder;
  DeviceTraining host = seeded("cpu"), there = seeded("cuda:0");
  auto step = compile([&](Tensor x, Tensor classes) { return there.body(x, classes); });
  const auto items = [](DeviceTraining &run) {
    return std::vector<CheckpointItem>{{"model", run.model}, {"adam", *run.adam}};
  };
  step(there.images(), there.labels());
  save_checkpoint(folder / "run.safetensors", items(there));
  const auto saved = bitsOf(there.model.parameters());
  const float expected = step(there.images(), there.labels()).item<float>();
  ASSERT_NE(bitsOf(there.model.parameters()), saved);
  const uint64_t compiled = compile_count();
  load_checkpoint(folder / "run.safetensors", items(there));
  EXPECT_EQ(there.model.fc1.weight.device(), Device("cuda:0"));
  EXPECT_EQ(bitsOf(there.model.parameters()), saved);
  EXPECT_EQ(step(there.images(), there.labels()).item<float>(), expected);
  EXPECT_EQ(compile_count(), compiled);
  // The checkpoint file is the same for every device of the run.
  host.body(host.images(), host.labels());
  load_checkpoint(folder / "run.safetensors", items(host));
  EXPECT_EQ(bitsOf(host.model.parameters()), saved);

  save_npy(folder / "x.npy", there.model.fc1.weight);
  EXPECT_EQ(bitsOf({load_npy(folder / "x.npy")}), bitsOf({there.model.fc1.weight}));
  const auto trained = bitsOf(there.model.parameters());
  save_safetensors(folder / "x.safetensors", there.model.state_dict());
  {
    const NoGradGuard guard;
    there.model.fc1.weight.zero_();
  }
  there.model.load_state_dict(load_safetensors(folder / "x.safetensors"));
  EXPECT_EQ(bitsOf(there.model.parameters()), trained);
  DeviceNet copy = nn::clone(there.model);
  EXPECT_EQ(copy.fc1.weight.device(), Device("cuda:0"));
  EXPECT_EQ(bitsOf(copy.parameters()), bitsOf(there.model.parameters()));
}

TEST_F(OnADevice, AStepIsShippedForTheHost) {
  TemporaryFolder folder;
  DeviceTraining there = seeded("cuda:0");
  auto step = compile([&](Tensor x, Tensor classes) { return there.body(x, classes); }, {.name = "step"});
  step(there.images(), there.labels());
  step.save(folder / "step.weft");
  const auto package = runtime::Package::open(folder / "step.weft").value_or_throw();
  const auto loaded = runtime::StatefulExecutable::load(package, "step").value_or_throw();
  std::vector<std::byte> bytes(8 * 6 * 4);
  ASSERT_TRUE(loaded->get_state("fc1.weight", bytes).ok());
  EXPECT_EQ(bytes, bitsOf({there.model.fc1.weight})[0]);
}

TEST_F(OnADevice, RandomNumbersAndSizesThatACallChooses) {
  const auto draw = [](Device on) {
    manual_seed(11);
    Tensor x = randn({20}, {.device = on});
    return bitsOf({x, dropout(x, 0.5), rand({4}, {.device = on}), randperm(9, {.device = on})});
  };
  EXPECT_EQ(draw("cuda:0"), draw("cpu"));
  Dim n("n", 1, 64);
  auto sums = compile([](Tensor x) { return (x * 2).sum(1); }, {spec({n, 3}, f32, "cuda:0")});
  for (int64_t rows : {1, 5, 64}) {
    Tensor x = numbers(rows * 3).reshape({rows, 3});
    EXPECT_EQ(bitsOf({sums(x.to("cuda:0"))}), bitsOf({(x * 2).sum(1)}));
  }
}

TEST_F(OnADevice, GradientsFlowBetweenDevices) {
  Tensor x = numbers(10).requires_grad_();
  Tensor there = x.to("cuda:0") * 3;
  (there.to("cuda:1") * there.to("cuda:1")).sum().backward();
  EXPECT_EQ(x.grad().device(), Device("cpu"));
  Tensor y = numbers(10).requires_grad_();
  Tensor here = y * 3;
  (here * here).sum().backward();
  EXPECT_EQ(bitsOf({x.grad()}), bitsOf({y.grad()}));
}

TEST_F(OnADevice, MetricsLoadersAndClippingWork) {
  const auto train = [](Device on) {
    manual_seed(5);
    DeviceNet model;
    model.to(on);
    optim::SGD sgd(model.parameters(), {.lr = 0.1, .momentum = 0.9});
    Metric loss;
    data::DataLoader loader(data::TensorDataset(numbers(12 * 6).reshape({12, 6}), arange(12) % 3),
                            {.batch_size = 4, .shuffle = true, .device = on, .seed = 2});
    for (auto &[images, labels] : loader) {
      EXPECT_EQ(images.device(), on);
      Tensor value = nn::cross_entropy(model(images), labels);
      value.backward();
      nn::utils::clip_grad_norm_(model.parameters(), 0.5);
      sgd.step();
      sgd.zero_grad();
      loss.update(value);
    }
    return std::pair(loss.result(), bitsOf(model.parameters()));
  };
  EXPECT_EQ(train("cuda:0"), train("cpu"));
}

TEST_F(OnADevice, GradientsOfSeveralDevicesAreClippedTogether) { // the norm is on the device of the first
  std::vector<Tensor> parameters;
  for (const char *device : {"cuda:0", "cuda:1", "cpu"}) {
    parameters.push_back(ones({1}, Device(device)).requires_grad_());
    parameters.back().set_grad(weft::tensor({double(3 * (1 << parameters.size()))}, Device(device)));
  }
  const Tensor norm = nn::utils::clip_grad_norm_(parameters, 1.0);
  EXPECT_EQ(norm.device(), Device("cuda:0"));
  const float whole = std::sqrt(36.0f + 144 + 576);
  EXPECT_NEAR(norm.item<float>(), whole, 1e-4);
  EXPECT_NEAR(parameters[1].grad().item<float>(), 12 / whole, 1e-5);
  EXPECT_EQ(parameters[2].grad().device(), Device("cpu"));
  EXPECT_NEAR(parameters[2].grad().item<float>(), 24 / whole, 1e-5);
  EXPECT_EQ(nn::utils::get_total_norm({ones({2}, Device("cuda:1")), ones({2})}).device(), Device("cuda:1"));
}

TEST_F(OnADevice, AFailureLeavesStateAsItWas) {
  Tensor state = numbers(8).to("cuda:0"), index = Tensor::from(std::vector<int64_t>{1, 9}, {2}).to("cuda:0");
  EXPECT_ERROR(state.index_select(0, index).to_vector<float>(), "out of bounds for dimension 0 with size 8");
  auto step = compile([&](Tensor i) {
    Tensor read = state.index_select(0, i);
    state.add_(read.sum());
    return read;
  });
  EXPECT_ERROR(step(index).to_vector<float>(), "out of bounds for dimension 0 with size 8");
  EXPECT_EQ(bitsOf({state}), bitsOf({numbers(8)}));
}

TEST_F(OnADevice, MemoryOfFailedStateIsUsedAgain) {
  const Tensor wrong = Tensor::from(std::vector<int64_t>{1, 9}, {2}).to("cuda:0"),
               right = (wrong * 0).contiguous();
  right.to_vector<int64_t>();
  const auto step_of = [](Tensor state) {
    return compile([state](Tensor i) mutable {
      Tensor read = state.index_select(0, i);
      state.add_(read.sum());
      return read;
    });
  };
  {
    Tensor state = numbers(8).to("cuda:0");
    auto step = step_of(state);
    // The second call clears the mark of the first failure, and leaves one of its own.
    for (int i = 0; i < 2; ++i)
      EXPECT_ERROR(step(wrong).to_vector<float>(), "out of bounds");
  }
  Tensor state = numbers(8).to("cuda:0");
  auto step = step_of(state);
  EXPECT_EQ(floats(step(right)), Floats({0, 0}));
}

TEST_F(OnADevice, MemoryIsCountedAndLimitedByDevice) {
  synchronize();
  trim("cuda:0");
  (ones({4}, {.device = "cuda:0"}) * 2).to_vector<float>(); // its arena has the record of failures
  const uint64_t before = memory_allocated("cuda:0"), host = memory_allocated();
  Tensor x = ones({1 << 20}, {.device = "cuda:0"}) * 2;
  x.to_vector<float>();
  EXPECT_EQ(memory_allocated("cuda:0"), before + (4 << 20));
  EXPECT_EQ(memory_allocated(), host);
  EXPECT_EQ(memory_stats("cuda:0").at("allocated_bytes.all.current"),
            static_cast<int64_t>(before + (4 << 20)));
  EXPECT_TRUE(mentions(memory_summary("cuda:0"), "separate:0 memory"));
  EXPECT_TRUE(mentions(memory_snapshot("cuda:0"), "\"device\": \"separate:0\""));
  set_memory_limit(memory_reserved("cuda:0"), "cuda:0");
  EXPECT_ERROR((ones({64 << 20}, {.device = "cuda:0"}) * 2).to_vector<float>(), "separate:0 out of memory");
  set_memory_limit(UINT64_MAX, "cuda:0");
  EXPECT_EQ(floats(x.slice(0, 0, 2)), Floats({2, 2}));
  x = {};
  EXPECT_EQ(memory_allocated("cuda:0"), before);
}

TEST_F(OnADevice, StreamsOrderWorkOfADevice) {
  const Stream side(Device("cuda:0"));
  EXPECT_EQ(side.device(), Device("cuda:0"));
  EXPECT_EQ(Stream::default_stream("cuda:1").device(), Device("cuda:1"));
  Tensor x = numbers(1000).to("cuda:0"), y;
  device.delayUs = 1000;
  {
    const StreamGuard guard(side);
    y = x * 2;
  }
  Stream::current("cuda:0").wait_stream(side);
  EXPECT_EQ(bitsOf({y + 1}), bitsOf({numbers(1000) * 2 + 1}));
  synchronize("cuda:0");
}

TEST_F(OnADevice, WithoutABackendItIsNotThere) {
  runtime::register_device("cuda:1", nullptr);
  EXPECT_ERROR(ones({2}).to("cuda:1").to_vector<float>(), "WEFT-E001");
  EXPECT_ERROR(memory_allocated("cuda:1"), "'cuda:1' is not there");
  // A value that is there already can still be read.
  Tensor there = (ones({2}, {.device = "cuda:0"}) * 3);
  there.to_vector<float>();
  runtime::register_device("cuda:0", nullptr);
  EXPECT_EQ(floats(there), Floats({3, 3}));
  EXPECT_ERROR((there + 1).to_vector<float>(), "WEFT-E001");
}

TEST(NoCudaDevice, IsSaidWithItsReason) {
  if (cuda::is_available())
    GTEST_SKIP() << "there is a CUDA device";
  EXPECT_EQ(cuda::device_count(), 0);
  EXPECT_NE(cuda::unavailable_reason(), "");
  EXPECT_ERROR(cuda::get_device_name(), cuda::unavailable_reason());
  EXPECT_ERROR(cuda::synchronize(), "'cuda:0' is not there (WEFT-E001)");
}
