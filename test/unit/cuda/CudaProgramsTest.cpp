//===- CudaProgramsTest.cpp - Programs whose tensors lie on a GPU ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise results have the host's bits. Sums are in another order there, so results of reductions and
// products are compared within a bound.
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/Devices.h"
#include "runtime/device/Registry.h"
#include "test/unit/TemporaryFolder.h"
#include "test/unit/frontend/DeviceTraining.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <set>

using namespace weft;

namespace {
using weft::test::TemporaryFolder;
using weft::testing::DeviceTraining;
using weft::testing::numbers;
using weft::testing::seeded;

void expectNear(const Floats &found, const Floats &expected, double bound) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], bound * (1 + std::abs(expected[i]))) << "element " << i;
}

void expectNear(const std::vector<Tensor> &found, const std::vector<Tensor> &expected, double bound) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE("tensor " + std::to_string(i));
    EXPECT_EQ(found[i].device(), Device("cuda:0"));
    expectNear(floats(found[i].to(f32)), floats(expected[i].to(f32)), bound);
  }
}

} // namespace

TEST(CudaPrograms, ValuesAreReadAndPrinted) {
  Tensor x = tensor({1, 2, 3, 4}, {2, 2}).to("cuda:0");
  EXPECT_EQ(x.device(), Device("cuda:0"));
  EXPECT_EQ(floats(x), Floats({1, 2, 3, 4}));
  EXPECT_EQ(x[1][0].item<float>(), 3);
  EXPECT_EQ(x.sum().item<double>(), 10);
}

TEST(CudaPrograms, ElementwiseResultsHaveTheBitsOfTheHost) {
  const auto program = [](Tensor x) {
    Tensor y = x.reshape({8, 125});
    return bitsOf({exp(x) * 2 + 1, tanh(y.t()).contiguous(), (y > 0).to(i32), cat({y, y * 2}, 1), y[3],
                   y.index_select(0, arange(3).to(x.device())), sqrt(abs(x)).to(f16), x.to(f64) / 3});
  };
  EXPECT_EQ(program(numbers(1000).to("cuda:0")), program(numbers(1000)));
}

TEST(CudaPrograms, SumsProductsAndScansAreNearTheHosts) {
  const auto program = [](Tensor x) {
    Tensor y = x.reshape({8, 12});
    Tensor z = matmul(y, y.t()) + 0.5;
    z = softmax(z, 1) * exp(y.sum(1, true)) - z.amax(0);
    return std::vector<Tensor>{z, z.cumsum(0), argmax(z, 1), z.mean(), y.sum(0), y.var(1)};
  };
  expectNear(program(numbers(96).to("cuda:0")), program(numbers(96)), 1e-5);
}

TEST(CudaPrograms, WritesGoThroughViews) {
  const auto program = [](Tensor x) {
    Tensor y = x.reshape({4, 6}) * 1;
    y[1] = 7;
    y.select(1, 2).add_(y.select(1, 3));
    y.t()[0].copy_(numbers(4).to(y.device()));
    y[3][5] -= 1;
    return bitsOf({y, y[3]});
  };
  EXPECT_EQ(program(numbers(24).to("cuda:0")), program(numbers(24)));
}

// More writes than a block lists at a time: to few places, of which blocks have one each; to many, of which
// they have several; and all to one of the places, so that the lists are full.
TEST(CudaPrograms, WritesByIndexAreDoneInTheirOrder) {
  constexpr int64_t writes = 2500, width = 36;
  Tensor values = numbers(writes * width).reshape({writes, width});
  const Floats source = floats(values);
  for (auto [places, step] : {std::array<int64_t, 2>{65, 7}, {1100, 7}, {65, 0}, {1100, 0}}) {
    SCOPED_TRACE(std::to_string(places) + " places, " + std::to_string(step));
    std::vector<int64_t> at(writes);
    Floats sums(static_cast<size_t>(places * width)), last = sums;
    for (int64_t i = 0; i < writes; ++i) {
      at[static_cast<size_t>(i)] = (i * step + i / 9 * step + 3) % places;
      for (int64_t column = 0; column < width; ++column) {
        const auto to = static_cast<size_t>(at[static_cast<size_t>(i)] * width + column);
        last[to] = source[static_cast<size_t>(i * width + column)];
        sums[to] += last[to];
      }
    }
    Tensor index = Tensor::from(at, {writes}).to("cuda:0"), there = values.to("cuda:0"),
           base = zeros({places, width}, {.device = "cuda:0"});
    EXPECT_EQ(floats(base.index_add(0, index, there)), sums);
    EXPECT_EQ(floats(base.index_copy(0, index, there)), last);
    // A NaN (0 / 0), of which devices have different bits, halves, which are rounded at each write, whole
    // numbers and bits.
    const auto others = [&](const Device &device) {
      Tensor zero = base.to(device), i = index.to(device), x = values.to(device);
      Tensor some = zero.index_add(0, i, x / x - 1 + x), isNan = isnan(some);
      return bitsOf({isNan, where(isNan, zero, some), (zero - 0.5).to(f16).index_add(0, i, x.to(f16)),
                     zero.to(i32).index_add(0, i, (x * 99).to(i32)), zero.to(i1).index_copy(0, i, x > 0.25)});
    };
    EXPECT_EQ(others("cuda:0"), others("cpu"));
    // A write that fails, behind the first list.
    at[2300] = places;
    Tensor state = base + 1, wrong = Tensor::from(at, {writes}).to("cuda:0");
    auto accumulate = compile([&](Tensor i, Tensor x) { state.index_add_(0, i, x); });
    EXPECT_ERROR((accumulate(wrong, there), state.to_vector<float>()), "out of bounds");
    EXPECT_EQ(floats(state), Floats(static_cast<size_t>(places * width), 1));
    accumulate(index, there);
    EXPECT_EQ(bitsOf({state}), bitsOf({(base + 1).index_add(0, index, there)}));
  }
}

TEST(CudaPrograms, ValuesMoveBetweenDevices) {
  Tensor host = numbers(100), there = host.to("cuda:0"), beyond = there.to("cuda:1");
  EXPECT_EQ(beyond.device(), Device("cuda:1"));
  EXPECT_EQ(bitsOf({beyond}), bitsOf({host}));
  EXPECT_EQ(bitsOf({(there * 2).cpu()}), bitsOf({host * 2}));
  EXPECT_EQ(bitsOf({beyond * 2 + there.to("cuda:1")}), bitsOf({host * 2 + host}));
  Tensor target = zeros({100}, {.device = "cuda:0"});
  target.copy_(host);
  EXPECT_EQ(bitsOf({target}), bitsOf({host}));
  EXPECT_ERROR((there + host).to_vector<float>(), "WEFT-P001");
  EXPECT_ERROR(ones({2}, {.device = "cuda:5"}).to_vector<float>(), "the driver sees 2 devices");
  const DefaultDeviceGuard guard("cuda:1");
  EXPECT_EQ(floats(ones({2}) + 1), Floats({2, 2}));
}

TEST(CudaPrograms, TheHostAndTwoGpusAreInOneFunction) {
  Tensor counter = zeros({1}, {.device = "cuda:1"});
  auto mixed = compile([&](Tensor x) {
    Tensor first = exp(x.to("cuda:0")) * 2;
    Tensor second = first.to("cuda:1") + 1;
    Tensor host = second.cpu() - 3;
    counter.add_(second.sum() * 0 + 1);
    return std::array<Tensor, 2>{host.to("cuda:0") * first, host};
  });
  Tensor x = numbers(300);
  Tensor first = exp(x) * 2, host = first + 1 - 3;
  for (int i = 1; i <= 4; ++i) {
    const auto [there, here] = mixed(x);
    EXPECT_EQ(bitsOf({there, here}), bitsOf({host * first, host})) << i;
    EXPECT_EQ(floats(counter), Floats({float(i)}));
  }
}

TEST(CudaPrograms, GradientsFlowBetweenDevices) {
  Tensor x = numbers(10).requires_grad_();
  Tensor there = x.to("cuda:0") * 3;
  (there.to("cuda:1") * there.to("cuda:1")).sum().backward();
  EXPECT_EQ(x.grad().device(), Device("cpu"));
  Tensor y = numbers(10).requires_grad_();
  Tensor here = y * 3;
  (here * here).sum().backward();
  EXPECT_EQ(bitsOf({x.grad()}), bitsOf({y.grad()}));
}

TEST(CudaPrograms, TrainingFollowsTheHosts) {
  DeviceTraining host = seeded("cpu"), lazy = seeded("cuda:0"), compiled = seeded("cuda:0");
  auto step = compile([&](Tensor x, Tensor classes) { return compiled.body(x, classes); });
  Tensor x = compiled.images(), classes = compiled.labels();
  for (int i = 0; i < 5; ++i) {
    for (DeviceTraining *run : {&host, &lazy, &compiled})
      run->adam->set_lr(0.01 / (1 + i));
    const float expected = host.body(host.images(), host.labels()).item<float>();
    EXPECT_NEAR(lazy.body(lazy.images(), lazy.labels()).item<float>(), expected, 1e-5) << i;
    EXPECT_NEAR(step(x, classes).item<float>(), expected, 1e-5) << i;
  }
  expectNear(compiled.model.parameters(), host.model.parameters(), 1e-5);
  // A steady step compiles and allocates nothing.
  synchronize();
  const uint64_t count = compile_count(), held = memory_allocated("cuda:0");
  std::vector<Tensor> losses;
  for (int i = 0; i < 10; ++i)
    losses.push_back(step(x, classes));
  synchronize();
  EXPECT_LT(losses.back().item<float>(), losses.front().item<float>());
  losses.clear();
  EXPECT_EQ(memory_allocated("cuda:0"), held);
  EXPECT_EQ(compile_count(), count);
  EXPECT_ERROR(step(x.cpu(), classes), "WEFT-P001");
}

namespace {
/// What five steps with a rule make of a parameter on a device, one compiled function.
template <typename Optimizer> std::vector<float> trainedBy(const std::string &device) {
  Tensor p = Tensor::from(std::vector<float>{1, -2, 0.5f, 3, 0}, {5}).to(device).detach().requires_grad_();
  Optimizer optimizer({p}, {.lr = 0.1});
  auto step = compile([&](Tensor shift) {
    ((p * p).sum() - (p * shift).sum()).backward();
    optimizer.step();
    optimizer.zero_grad();
  });
  for (int i = 0; i < 5; ++i) {
    optimizer.set_lr(0.1 / (1 + i));
    step(full({5}, 0.5 * i, {.device = device}));
  }
  return p.to_vector<float>();
}

template <typename... Optimizers> void expectOptimizersNearTheHosts() {
  const auto check = [](const std::vector<float> &device, const std::vector<float> &host) {
    ASSERT_EQ(device.size(), host.size());
    for (size_t i = 0; i < host.size(); ++i)
      EXPECT_NEAR(device[i], host[i], 1e-5) << i;
  };
  (check(trainedBy<Optimizers>("cuda:0"), trainedBy<Optimizers>("cpu")), ...);
}
} // namespace

TEST(CudaPrograms, OptimisersAreNearTheHosts) {
  expectOptimizersNearTheHosts<optim::RMSprop, optim::Adagrad, optim::Adadelta, optim::Adamax, optim::NAdam,
                               optim::RAdam, optim::ASGD, optim::Rprop, optim::Adafactor>();
}

TEST(CudaPrograms, MuonIsNearTheHosts) {
  const auto trained = [](const std::string &device) {
    std::vector<float> values(12);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = std::sin(static_cast<float>(i));
    Tensor p = Tensor::from(values, {3, 4}).to(device).detach().requires_grad_();
    optim::Muon optimizer({p}, {.lr = 0.1});
    auto step = compile([&](Tensor shift) {
      ((p * p).sum() - (p * shift).sum()).backward();
      optimizer.step();
      optimizer.zero_grad();
    });
    for (int i = 0; i < 5; ++i)
      step(full({4}, 0.5 * i, {.device = device}));
    return p.to_vector<float>();
  };
  const std::vector<float> device = trained("cuda:0"), host = trained("cpu");
  for (size_t i = 0; i < host.size(); ++i)
    EXPECT_NEAR(device[i], host[i], 2e-2) << i; // products of bf16
}

TEST(CudaPrograms, CheckpointsGiveTheGradientsOfTheHost) {
  const auto gradient = [](const std::string &device) {
    manual_seed(5);
    nn::Linear up(16, 64), down(64, 16);
    up.to(device);
    down.to(device);
    const auto block = [&](const Tensor &x) { return x + down(gelu(up(x))); };
    auto step = compile([&](Tensor x) {
      for (int i = 0; i < 3; ++i)
        x = utils::checkpoint(block, x);
      return grad(x.square().mean(), {up.weight, down.weight});
    });
    const std::vector<Tensor> found = step((arange(8 * 16) * 0.01).reshape({8, 16}).to(device));
    return std::pair(found[0].to_vector<float>(), found[1].to_vector<float>());
  };
  const auto device = gradient("cuda:0"), host = gradient("cpu");
  for (size_t i = 0; i < host.first.size(); ++i)
    EXPECT_NEAR(device.first[i], host.first[i], 1e-4) << i;
  for (size_t i = 0; i < host.second.size(); ++i)
    EXPECT_NEAR(device.second[i], host.second[i], 1e-4) << i;
}

TEST(CudaPrograms, AnAverageOfAModelIsOnItsDevice) {
  nn::Linear model(3, 2);
  model.to("cuda:0");
  optim::AveragedModel average(model, {.decay = 0.5});
  EXPECT_EQ(average.n_averaged.device(), Device("cuda:0"));
  optim::SGD sgd(model.parameters(), {.lr = 0.1});
  auto step = compile([&](Tensor x) {
    model(x).sum().backward();
    sgd.step();
    sgd.zero_grad();
    average.update_parameters(model);
  });
  const Tensor x = ones({1, 3}, {.device = "cuda:0"});
  step(x);
  const std::vector<float> first = model.weight.to_vector<float>();
  step(x);
  const std::vector<float> second = model.weight.to_vector<float>(),
                           mean = average.module.weight.to_vector<float>();
  for (size_t i = 0; i < mean.size(); ++i)
    EXPECT_FLOAT_EQ(mean[i], (first[i] + second[i]) / 2);
  EXPECT_EQ(average.n_averaged.item<int64_t>(), 2);
}

TEST(CudaPrograms, AFailedStepChangesNothing) {
  DeviceTraining run = seeded("cuda:0");
  auto step = compile([&](Tensor x, Tensor classes) { return run.body(x, classes); });
  Tensor x = run.images(), classes = run.labels();
  Tensor wrong = (arange(16) % 3 + (arange(16) == 11).to(i64) * 7).to("cuda:0");
  step(x, classes);
  const auto state = [&] {
    std::vector<Tensor> all = run.model.parameters();
    for (const auto &[name, value] : run.adam->state_dict())
      all.push_back(value);
    return bitsOf(all);
  };
  const auto before = state();
  EXPECT_ERROR(step(x, wrong).item<float>(), "out of bounds");
  EXPECT_EQ(state(), before);
  // A call that was issued before the host knew does nothing either. One that is issued later is refused.
  Tensor first = step(x, wrong);
  EXPECT_ERROR(step(x, classes).item<float>(), "out of bounds");
  EXPECT_ERROR(first.item<float>(), "out of bounds");
  EXPECT_EQ(state(), before);
  const float loss = step(x, classes).item<float>();
  DeviceTraining other = seeded("cuda:0");
  other.body(x, classes).item<float>();
  EXPECT_EQ(loss, other.body(x, classes).item<float>());
}

TEST(CudaPrograms, AFailureNamesTheFirstViolation) {
  Tensor state = numbers(8).to("cuda:0"),
         index = Tensor::from(std::vector<int64_t>{1, 9, 12}, {3}).to("cuda:0");
  EXPECT_ERROR(state.index_select(0, index).to_vector<float>(),
               "index 9 is out of bounds for dimension 0 with size 8");
  auto step = compile([&](Tensor i) {
    Tensor read = state.index_select(0, i);
    state.add_(read.sum());
    return read;
  });
  EXPECT_ERROR(step(index).to_vector<float>(), "index 9 is out of bounds for dimension 0 with size 8");
  EXPECT_EQ(bitsOf({state}), bitsOf({numbers(8)}));
}

TEST(CudaPrograms, ArgumentsAtAnyAddressAreReadInPlace) {
  auto twice = compile([](Tensor x) { return x * 2; });
  Tensor base = numbers(600).reshape({60, 10}), there = (base * 1).to("cuda:0");
  // Rows begin at multiples of 40 bytes, and elements at multiples of 4.
  for (int64_t first : {0, 1, 2, 4, 3})
    EXPECT_EQ(bitsOf({twice(there.slice(0, first, first + 50))}),
              bitsOf({base.slice(0, first, first + 50) * 2}))
        << first;
  Tensor line = there.reshape({600}), host = base.reshape({600});
  for (int64_t first : {1, 2, 3, 5})
    EXPECT_EQ(bitsOf({twice(line.slice(0, first, first + 128))}),
              bitsOf({host.slice(0, first, first + 128) * 2}))
        << first;
  EXPECT_EQ(bitsOf({twice(there.t())}), bitsOf({base.t().contiguous() * 2}));
}

// Parts of computed values that begin anywhere are operands of lazy programs, too, and of declared functions.
TEST(CudaPrograms, PartsOfComputedValuesAreOperands) {
  const auto program = [](Device on) {
    Tensor x = numbers(1000).to(on).reshape({8, 125}) * 1;
    x.to_vector<float>();
    Tensor row = x[1], part = x.reshape({1000}).slice(0, 3, 203);
    return bitsOf({row + 1, part * row[0], x[3], part});
  };
  EXPECT_EQ(program("cuda:0"), program("cpu"));
  Dim n("n", 1, 256);
  auto twice = compile([](Tensor x) { return x * 2; }, {spec({n}, f32, "cuda:0")});
  Tensor x = numbers(1000).cuda() * 1;
  x.to_vector<float>();
  for (int64_t first : {0, 1, 8, 5})
    EXPECT_EQ(bitsOf({twice(x.slice(0, first, first + 64))}),
              bitsOf({numbers(1000).slice(0, first, first + 64) * 2}));
}

// The table of an optimiser's tensors is sent from pinned memory, which the next call must not take before.
TEST(CudaPrograms, CallsRunAheadWithTablesOfTheirOwn) {
  DeviceTraining one = seeded("cuda:0"), two = seeded("cuda:0");
  auto first = compile([&](Tensor x, Tensor classes) { return one.body(x, classes); });
  auto second = compile([&](Tensor x, Tensor classes) { return two.body(x, classes); });
  Tensor x = one.images(), classes = one.labels();
  const std::vector<Tensor> losses = {first(x, classes), second(x, classes)};
  EXPECT_EQ(bitsOf(one.model.parameters()), bitsOf(two.model.parameters()));
  DeviceTraining alone = seeded("cuda:0");
  auto step = compile([&](Tensor images, Tensor labels) { return alone.body(images, labels); });
  EXPECT_EQ(step(x, classes).item<float>(), losses[0].item<float>());
  EXPECT_EQ(bitsOf(alone.model.parameters()), bitsOf(one.model.parameters()));
}

TEST(CudaPrograms, RandomNumbersAndSizesThatACallChooses) {
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
    expectNear(floats(sums(x.to("cuda:0"))), floats((x * 2).sum(1)), 1e-6);
  }
}

TEST(CudaPrograms, StateIsSavedAndLoaded) {
  TemporaryFolder folder;
  DeviceTraining there = seeded("cuda:0"), host = seeded("cpu");
  auto step = compile([&](Tensor x, Tensor classes) { return there.body(x, classes); });
  const auto items = [](DeviceTraining &run) {
    return std::vector<CheckpointItem>{{"model", run.model}, {"adam", *run.adam}};
  };
  step(there.images(), there.labels());
  save_checkpoint(folder / "run.safetensors", items(there));
  const auto saved = bitsOf(there.model.parameters());
  const float expected = step(there.images(), there.labels()).item<float>();
  load_checkpoint(folder / "run.safetensors", items(there));
  EXPECT_EQ(bitsOf(there.model.parameters()), saved);
  EXPECT_EQ(step(there.images(), there.labels()).item<float>(), expected);
  host.body(host.images(), host.labels());
  load_checkpoint(folder / "run.safetensors", items(host));
  EXPECT_EQ(bitsOf(host.model.parameters()), saved);
}

TEST(CudaPrograms, MemoryIsCountedAndLimitedByDevice) {
  synchronize();
  trim("cuda:0");
  (ones({4}, {.device = "cuda:0"}) * 2).to_vector<float>(); // its arena has the record of failures
  const uint64_t before = memory_allocated("cuda:0"), host = memory_allocated();
  Tensor x = ones({1 << 20}, {.device = "cuda:0"}) * 2;
  x.to_vector<float>();
  EXPECT_EQ(memory_allocated("cuda:0"), before + (4 << 20));
  EXPECT_EQ(memory_allocated(), host);
  EXPECT_TRUE(mentions(memory_summary("cuda:0"), "cuda:0 memory"));
  set_memory_limit(memory_reserved("cuda:0"), "cuda:0");
  EXPECT_ERROR((ones({64 << 20}, {.device = "cuda:0"}) * 2).to_vector<float>(),
               "cuda:0 out of memory. Tried to allocate 256.00 MiB");
  set_memory_limit(UINT64_MAX, "cuda:0");
  EXPECT_EQ(floats(x.slice(0, 0, 2)), Floats({2, 2}));
  x = {};
  EXPECT_EQ(memory_allocated("cuda:0"), before);
}

TEST(CudaPrograms, StreamsAndEventsOrderWork) {
  const Stream side(Device("cuda:0"));
  EXPECT_EQ(side.device(), Device("cuda:0"));
  Tensor x = numbers(1000).to("cuda:0"), y;
  {
    const StreamGuard guard(side);
    y = x * 2;
  }
  Stream::current("cuda:0").wait_stream(side);
  EXPECT_EQ(bitsOf({y + 1}), bitsOf({numbers(1000) * 2 + 1}));
  synchronize("cuda:0");
}

TEST(CudaDevices, AreCountedAndDescribed) {
  EXPECT_TRUE(cuda::is_available());
  EXPECT_EQ(cuda::device_count(), 2);
  EXPECT_EQ(cuda::unavailable_reason(), "");
  const cuda::DeviceProperties properties = cuda::get_device_properties(1);
  EXPECT_EQ(properties.name, cuda::get_device_name("cuda:1"));
  EXPECT_EQ(std::pair(properties.major, properties.minor), cuda::get_device_capability());
  EXPECT_GE(properties.major, 7);
  EXPECT_EQ(properties.warp_size, 32);
  EXPECT_GT(properties.total_memory, 0u);
  EXPECT_GT(properties.shared_memory_per_block_optin, 48u << 10);
  EXPECT_ERROR(cuda::get_device_properties("cpu"), "is no CUDA device");
  EXPECT_ERROR(cuda::get_device_name(7), "'cuda:7' is not there");
  EXPECT_EQ(default_device(), Device("cuda:0"));
}

TEST(CudaDevices, AreNamedByNumberAndByThread) {
  EXPECT_EQ(Device(1), Device("cuda:1"));
  Tensor x = ones({3});
  EXPECT_EQ(x.to(1).device(), Device("cuda:1"));
  EXPECT_EQ(x.cuda().device(), Device("cuda:0"));
  EXPECT_EQ(x.cuda(1).device(), Device("cuda:1"));
  EXPECT_EQ(cuda::current_device(), 0);
  {
    const DeviceGuard guard(1);
    EXPECT_EQ(cuda::current_device(), 1);
    EXPECT_EQ(x.cuda().device(), Device("cuda:1"));
  }
  EXPECT_EQ(floats(x.cuda(1) + 1), Floats({2, 2, 2}));
  cuda::synchronize(1);
  // A tensor computes where it lies, whatever the thread's device is.
  Tensor there = x.cuda(0);
  const DeviceGuard guard(1);
  EXPECT_EQ((there + 1).device(), Device("cuda:0"));
}

TEST(CudaDevices, AGpuBetweenTwoTargetsHasTheOlderOne) {
  std::set<int> targets;
  for (const auto &entry : std::filesystem::directory_iterator(WEFT_DEVICES_DIR))
    if (const std::string name = entry.path().stem(); name.starts_with("sm_"))
      targets.insert(std::stoi(name.substr(3)));
  ASSERT_GE(targets.size(), 7u);
  for (const int target : targets)
    EXPECT_EQ(runtime::nearest_cuda_target(target), target);
  EXPECT_EQ(runtime::nearest_cuda_target(103), 100);
  EXPECT_EQ(runtime::nearest_cuda_target(87), 86);
  EXPECT_EQ(runtime::nearest_cuda_target(70), 0);
}

TEST(CudaPrograms, AProfileHasTheTimeOfEachLaunch) {
  DeviceTraining training = seeded("cuda:0");
  auto step = compile([&](Tensor x, Tensor classes) { return training.body(x, classes); });
  Tensor x = training.images(), classes = training.labels();
  for (int i = 0; i < 4; ++i)
    step(x, classes);
  const Floats before = floats(training.model.parameters()[0].cpu());
  const Profile profiled = profile([&] {
    for (int i = 0; i < 3; ++i)
      step(x, classes);
  });
  EXPECT_NE(floats(training.model.parameters()[0].cpu()), before);
  const std::string table = profiled.table(), trace = profiled.chrome_trace();
  // Products, kernels and the record of failures, each three times, with the line in the program.
  for (const char *part : {"matmul 16x8x3 + bias", "Helpers.h:", "record of failures", "calls: 3"})
    EXPECT_TRUE(mentions(table, part)) << table;
  EXPECT_TRUE(mentions(trace, "\"name\": \"cuda:0 stream ")) << trace;
  EXPECT_TRUE(mentions(trace, "matmul 16x8x3 + bias")) << trace;
  // Nothing of the step runs on the host.
  EXPECT_FALSE(mentions(trace, "cpu launches")) << trace;
  const Profile ofHost = profile([&] { (void)floats(x.cpu() * 2); });
  EXPECT_TRUE(mentions(ofHost.chrome_trace(), "cpu launches")) << ofHost.chrome_trace();
  // Nothing of it is left for the next profile.
  EXPECT_FALSE(mentions(profile([] {}).table(), "matmul"));
}
