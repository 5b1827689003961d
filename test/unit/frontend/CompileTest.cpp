//===- CompileTest.cpp - What tracing does, and what surprises --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test states a rule of docs/architecture.md, "Values and state". The footguns, silent ones first, are
// marked.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

using namespace weft;

namespace {
struct Net : TwoLayers {
  Net() : TwoLayers(20, 16, 4) {}
};

struct Trainer {
  Net net;
  optim::Adam adam{net.parameters(), {.lr = 0.01}};
  Tensor operator()(Tensor x, Tensor y) {
    Tensor loss = nn::cross_entropy(net(x), y);
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss;
  }
};

std::pair<Tensor, Tensor> batch(int64_t rows) {
  Tensor x = randn({rows, 20});
  std::vector<int64_t> labels(static_cast<size_t>(rows));
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<int64_t>(i % 4);
  Tensor y = Tensor::from(labels, {rows});
  synchronize();
  return {x, y};
}
} // namespace

TEST(Compile, GivesTheSameBitsAsLazyExecution) {
  std::vector<std::vector<float>> losses;
  std::vector<std::vector<std::vector<std::byte>>> states;
  for (bool compiled : {false, true}) {
    manual_seed(3);
    Trainer trainer;
    auto [x, y] = batch(8);
    auto step = compile([&](Tensor a, Tensor b) { return trainer(a, b); });
    std::vector<float> curve;
    for (int i = 0; i < 10; ++i)
      curve.push_back((compiled ? step(x, y) : trainer(x, y)).item<float>());
    losses.push_back(curve);
    states.push_back(bitsOf(trainer.net.parameters()));
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(states[0], states[1]);
  EXPECT_LT(losses[0].back(), losses[0].front());
}

TEST(Compile, ASteadyLoopCompilesNothingAndNewShapesOnceEach) {
  Trainer trainer;
  auto step = compile([&](Tensor a, Tensor b) { return trainer(a, b); });
  auto [x, y] = batch(8);
  auto [x2, y2] = batch(5);
  step(x, y);
  uint64_t before = compile_count();
  for (int i = 0; i < 5; ++i)
    step(x, y);
  EXPECT_EQ(compile_count(), before);
  step(x2, y2);
  step(x, y);
  step(x2, y2);
  EXPECT_EQ(step.variants().size(), 2u);
  EXPECT_NE(
      step.variants()[0].reason.find("argument 0 was tensor<8x20xf32, cpu> and is tensor<5x20xf32, cpu>"),
      std::string::npos)
      << step.variants()[0].reason;
}

TEST(Compile, LearningRateIsARunTimeScalar) {
  Trainer trainer;
  auto [x, y] = batch(8);
  auto step = compile([&](Tensor a, Tensor b) { return trainer(a, b); });
  step(x, y);
  uint64_t before = compile_count();
  auto frozen = bitsOf(trainer.net.parameters());
  trainer.adam.set_lr(0);
  step(x, y);
  EXPECT_EQ(bitsOf(trainer.net.parameters()), frozen);
  trainer.adam.set_lr(0.1);
  step(x, y);
  EXPECT_NE(bitsOf(trainer.net.parameters()), frozen);
  EXPECT_EQ(compile_count(), before);
}

// Footgun, silent: a captured number is read once, when the function is traced.
TEST(Compile, ACapturedNumberIsReadOnce) {
  double factor = 2;
  auto f = compile([&](Tensor x) { return x * factor; });
  Tensor one = ones({1});
  EXPECT_EQ(f(one).item<float>(), 2);
  factor = 3;
  EXPECT_EQ(f(one).item<float>(), 2); // and not 3
  Tensor live = scalar(3);            // a tensor is read at every call
  auto g = compile([&](Tensor x) { return x * live; });
  EXPECT_EQ(g(one).item<float>(), 3);
  live.copy_(scalar(4));
  EXPECT_EQ(g(one).item<float>(), 4);
}

// Footgun, silent elsewhere: results of earlier calls keep their values.
TEST(Compile, ResultsAreNotOverwritten) {
  auto f = compile([](Tensor x) { return x + 1; });
  Tensor a = f(zeros({4})), b = f(ones({4}));
  EXPECT_EQ(a.to_vector<float>(), std::vector<float>(4, 1));
  EXPECT_EQ(b.to_vector<float>(), std::vector<float>(4, 2));
}

TEST(Compile, WritesToCapturedTensorsHappenAtEveryCall) {
  Tensor counter = zeros({});
  auto count = compile([&](Tensor x) {
    counter += 1;
    return x * counter;
  });
  for (int i = 1; i <= 3; ++i)
    EXPECT_EQ(count(ones({})).item<float>(), static_cast<float>(i));
  EXPECT_EQ(counter.item<float>(), 3);
}

TEST(Compile, AValueReadInsideIsAnError) {
  auto f = compile([](Tensor x) {
    if (x.sum().item<float>() > 0)
      return x;
    return -x;
  });
  EXPECT_ERROR(f(ones({2})), "WEFT-C001");
}

TEST(Compile, AValueKeptFromATraceIsAnErrorOutside) {
  Tensor kept;
  auto f = compile([&](Tensor x) {
    kept = x * 2;
    return x + 1;
  });
  f(ones({2}));
  EXPECT_ERROR(kept + 1, "was made while a function was being compiled");
}

TEST(Compile, AFailedTraceRestoresEverySlot) {
  Trainer trainer;
  auto before = bitsOf(trainer.net.parameters());
  auto [x, y] = batch(4);
  auto broken = compile([&](Tensor a, Tensor b) {
    trainer(a, b);
    return matmul(a, a); // 4x20 by 4x20
  });
  EXPECT_ERROR(broken(x, y), "mat1 and mat2 shapes cannot be multiplied");
  EXPECT_EQ(bitsOf(trainer.net.parameters()), before);
  EXPECT_FALSE(trainer.net.parameters()[0].grad().defined());
  EXPECT_EQ(trainer.adam.state_dict().size(), 5u); // the numbers of its group; no state
  auto step = compile([&](Tensor a, Tensor b) { return trainer(a, b); });
  step(x, y);
  EXPECT_NE(bitsOf(trainer.net.parameters()), before);
}

TEST(Compile, TrainAndEvalAreVariants) {
  Net net;
  auto f = compile([&](Tensor x) { return net.is_training() ? net(x) : net(x) * 2; });
  Tensor x = ones({1, 20});
  std::vector<float> train = f(x).to_vector<float>();
  net.eval();
  std::vector<float> eval = f(x).to_vector<float>();
  net.train();
  EXPECT_EQ(f(x).to_vector<float>(), train);
  EXPECT_EQ(eval[0], 2 * train[0]);
  EXPECT_EQ(f.variants().size(), 2u);
}

TEST(Compile, GradientsLeftAtTheEndAreState) {
  Tensor w = ones({2});
  w.requires_grad_();
  auto accumulate = compile([&](Tensor x) {
    Tensor loss = (w * x).sum();
    loss.backward();
    return loss;
  });
  Tensor x = tensor({2, 3}, {2});
  accumulate(x);
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{2, 3}));
  accumulate(x); // its own variant: there is a gradient now
  accumulate(x);
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{6, 9}));
  EXPECT_EQ(accumulate.variants().size(), 2u);
}

TEST(Compile, TuplesKeepTheirType) {
  auto f = compile([](Tensor a, Tensor b) { return std::make_tuple(a + b, a * b); });
  auto [sum, product] = f(full({2}, 3.0), full({2}, 4.0));
  EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{7, 7}));
  EXPECT_EQ(product.to_vector<float>(), (std::vector<float>{12, 12}));
  auto g = compile([](Tensor a) { return a; }); // an argument as result
  EXPECT_EQ(g(full({2}, 5.0)).to_vector<float>(), (std::vector<float>{5, 5}));
}

TEST(Compile, InsideAnotherTraceItContributesItsOperations) {
  auto inner = compile([](Tensor x) { return x * 2; });
  auto outer = compile([&](Tensor x) { return inner(x) + 1; });
  EXPECT_EQ(outer(ones({1})).item<float>(), 3);
  EXPECT_TRUE(inner.variants().empty());
}

TEST(Compile, RandomNumbersAdvanceAsWithout) {
  std::vector<std::vector<float>> draws[2];
  for (int compiled = 0; compiled < 2; ++compiled) {
    manual_seed(11);
    auto f = compile([](Tensor x) { return x + rand({5}); });
    for (int i = 0; i < 3; ++i)
      draws[compiled].push_back((compiled ? f(zeros({5})) : zeros({5}) + rand({5})).to_vector<float>());
  }
  EXPECT_EQ(draws[0], draws[1]);
  EXPECT_NE(draws[0][0], draws[0][1]);
}

// A step happens or it does not.
TEST(Compile, ALabelOutOfRangeUndoesTheStep) {
  Trainer trainer;
  auto step = compile([&](Tensor a, Tensor b) { return trainer(a, b); });
  auto [x, y] = batch(4);
  step(x, y).item<float>();
  auto parameters = bitsOf(trainer.net.parameters());
  std::vector<Tensor> state;
  for (auto &[name, value] : trainer.adam.state_dict())
    state.push_back(value);
  auto moments = bitsOf(state);
  Tensor bad = Tensor::from(std::vector<int64_t>{0, 1, 7, 2}, {4});
  std::string message = errorOf([&] { step(x, bad).item<float>(); });
  EXPECT_NE(message.find("Target 7 is out of bounds: expected a number in [0, 4)"), std::string::npos)
      << message;
  EXPECT_EQ(bitsOf(trainer.net.parameters()), parameters);
  EXPECT_EQ(bitsOf(state), moments);
  step(x, y).item<float>(); // and everything goes on
  EXPECT_NE(bitsOf(trainer.net.parameters()), parameters);
}

TEST(Lazy, ALongLoopIsFlatAndCompilesNothingAfterTheSecondIteration) {
  Trainer trainer;
  auto [x, y] = batch(4);
  for (int i = 0; i < 3; ++i)
    trainer(x, y).item<float>();
  uint64_t compiles = compile_count();
  for (int i = 0; i < 300; ++i)
    trainer(x, y).item<float>();
  EXPECT_EQ(compile_count(), compiles);
}

TEST(Lazy, ADeepGraphIsTakenApartWithoutRecursion) {
  Tensor x = ones({1});
  Tensor y = x;
  {
    auto trace = compile([&](Tensor a) {
      Tensor chain = a;
      for (int i = 0; i < 20000; ++i)
        chain = chain + a;
      return a; // the chain is dropped here
    });
    EXPECT_EQ(trace(x).item<float>(), 1);
  }
}

TEST(Compile, ExplainsItselfAndSavesAPackage) {
  auto f = compile([](Tensor x) { return softmax(x * 2, -1); });
  EXPECT_ERROR(f.explain(), "has not run yet");
  f(ones({4, 8}));
  EXPECT_NE(f.explain().find("row"), std::string::npos) << f.explain();
  EXPECT_NE(f.mlir().find("weft.softmax"), std::string::npos);
  EXPECT_NE(f.mlir("plan").find("#weft.schedule<row"), std::string::npos);
  EXPECT_ERROR(f.mlir("llvm"), "unknown stage 'llvm'");
  std::string path = "/tmp/weft-test-" + std::to_string(::getpid()) + ".weft";
  f.save(path);
  std::remove(path.c_str());
}

TEST(Profile, NamesTheKernelsAndTheirLines) {
  Tensor x = ones({256, 256});
  synchronize();
  Profile p = profile([&] { (x * 3).to_vector<float>(); });
  EXPECT_NE(p.table().find("CompileTest.cpp"), std::string::npos) << p.table();
  EXPECT_NE(p.table().find("GB/s"), std::string::npos) << p.table();
  EXPECT_NE(p.chrome_trace().find("traceEvents"), std::string::npos);
  const std::string path = "/tmp/weft-trace-" + std::to_string(::getpid()) + ".json";
  p.save_chrome_trace(path);
  std::remove(path.c_str());
  EXPECT_ERROR(p.save_chrome_trace("/nowhere/at/all.json"), "/nowhere/at/all.json");
  // Work that throws leaves the profiler off.
  EXPECT_ERROR(profile([] { throw Error("stopped"); }), "stopped");
  (x * 4).to_vector<float>();
  EXPECT_EQ(profile([] {}).table().find("CompileTest.cpp"), std::string::npos);
}

TEST(Module, StateDictsAndErrors) {
  Net net, other;
  StateDict state = net.state_dict();
  ASSERT_EQ(state.size(), 4u);
  EXPECT_EQ(state[0].first, "fc1.weight");
  other.load_state_dict(state);
  EXPECT_EQ(bitsOf(other.parameters()), bitsOf(net.parameters()));
  StateDict wrong{{"fc1.weight", zeros({1})}, {"extra", zeros({1})}};
  std::string message = errorOf([&] { net.load_state_dict(wrong); });
  for (const char *part : {"missing: fc1.bias", "size mismatch: fc1.weight", "unexpected: extra"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_ERROR(net.register_parameter("fc1", zeros({1})), "already");
}

TEST(Module, SequentialNamesItsPartsAndAppliesThemInOrder) {
  nn::Sequential net(nn::Flatten(), nn::Linear(6, 4), nn::ReLU(), nn::Linear(4, 2, /*bias=*/false));
  StateDict state = net.state_dict();
  ASSERT_EQ(state.size(), 3u);
  EXPECT_EQ(state[0].first, "1.weight");
  EXPECT_EQ(state[2].first, "3.weight");
  Tensor x = arange(12).to(f32).reshape({2, 2, 3});
  Tensor hidden = relu(nn::linear(x.flatten(1), state[0].second, state[1].second));
  EXPECT_EQ(net(x).to_vector<float>(), matmul(hidden, state[2].second.t()).to_vector<float>());
  EXPECT_ERROR(net(zeros({2, 5})), "mat1 and mat2 shapes cannot be multiplied (2x5 and 6x4)");
}

// A label is checked by the op that reads it, even if the loss is not used.
TEST(Compile, ALabelOutOfRangeIsFoundWhereTheLossIsNotUsed) {
  nn::Linear net(2, 2);
  optim::SGD sgd(net.parameters(), {.lr = 1});
  auto step = compile([&](Tensor x, Tensor y) {
    nn::cross_entropy(net(x), y).backward();
    sgd.step();
    sgd.zero_grad();
  });
  auto before = bitsOf(net.parameters());
  std::string message = errorOf([&] {
    step(ones({1, 2}), Tensor::from(std::vector<int64_t>{7}, {1}));
    synchronize();
  });
  EXPECT_NE(message.find("Target 7 is out of bounds"), std::string::npos) << message;
  EXPECT_EQ(bitsOf(net.parameters()), before);
}

TEST(Lazy, AFailedStepGivesEverySlotItsValueBack) {
  nn::Linear net(2, 2);
  optim::Adam adam(net.parameters());
  auto before = bitsOf(net.parameters());
  for (bool keepLoss : {false, true}) {
    Tensor loss = nn::cross_entropy(net(ones({1, 2})), Tensor::from(std::vector<int64_t>{9}, {1}));
    loss.backward();
    if (!keepLoss)
      loss = Tensor();
    EXPECT_ERROR(adam.step(), "Target 9 is out of bounds");
    adam.zero_grad();
    EXPECT_EQ(bitsOf(net.parameters()), before);
    EXPECT_EQ((ones({2}) + 1).to_vector<float>(), (std::vector<float>{2, 2})); // others go on
  }
}

TEST(Compile, IndexChecksHoldForUniformTables) {
  Tensor nine = Tensor::from(std::vector<int64_t>{9}, {1});
  EXPECT_ERROR(ones({3}).index_select(0, nine).to_vector<float>(), "index 9 is out of bounds");
  EXPECT_ERROR(full({1}, 4.0).expand({3}).index_select(0, nine).to_vector<float>(),
               "index 9 is out of bounds");
  EXPECT_ERROR(nn::cross_entropy(ones({1, 3}), nine).item<float>(), "Target 9 is out of bounds");
}

TEST(Gradient, TensorsThatSharedAValueCollectTheirOwn) {
  nn::Linear a(2, 1, false), b(2, 1, false);
  b.load_state_dict(a.state_dict());
  a(ones({1, 2})).sum().backward();
  EXPECT_TRUE(a.weight.grad().defined());
  EXPECT_FALSE(b.weight.grad().defined());
  Tensor p = ones({2}), q = p.detach();
  p.requires_grad_();
  q.requires_grad_();
  (p * q * 2).sum().backward();
  EXPECT_EQ(p.grad().to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_EQ(q.grad().to_vector<float>(), (std::vector<float>{2, 2}));
  Tensor copy = zeros({2});
  {
    NoGradGuard guard;
    copy.copy_(p);
  }
  EXPECT_FALSE(copy.requires_grad());
}

TEST(Compile, FreezingAParameterIsAGuard) {
  Tensor w = ones({1});
  w.requires_grad_();
  optim::SGD sgd({w}, {.lr = 0.1});
  auto f = compile([&](Tensor x) {
    Tensor loss = (w * x).sum() + (x * 0).sum();
    if (loss.requires_grad())
      loss.backward();
    sgd.step();
    sgd.zero_grad();
    return loss;
  });
  f(ones({1}));
  float once = w.item<float>();
  w.requires_grad_(false);
  f(ones({1}));
  EXPECT_EQ(w.item<float>(), once);
  EXPECT_EQ(f.variants().size(), 2u);
}

TEST(Compile, WhatIsMadeOfHostDataInsideIsNewAtEveryCall) {
  auto f = compile([](Tensor x) {
    Tensor total = Tensor::from(std::vector<float>{0}, {1});
    total += x;
    return total;
  });
  EXPECT_EQ(f(ones({1})).item<float>(), 1);
  EXPECT_EQ(f(ones({1})).item<float>(), 1);
}

TEST(Compile, LargeIntegersKeepTheirBits) {
  int64_t odd = (int64_t(1) << 53) + 1;
  Tensor x = zeros({1}, {.dtype = i64});
  auto f = compile([&](Tensor a) { return a + odd; });
  EXPECT_EQ(f(x).item<int64_t>(), odd);
  EXPECT_EQ((x + odd).item<int64_t>(), odd);
}

TEST(Compile, ARecursionWithoutEndIsAnError) {
  std::function<Tensor(Tensor)> inner;
  auto f = compile([&](Tensor x) { return inner(x); }, {.name = "f"});
  inner = [&](Tensor x) { return f(x); };
  EXPECT_ERROR(f(ones({2})), "'f' calls itself 500 deep while it is recorded");
  inner = [](Tensor x) { return x + 1; };
  EXPECT_EQ(f(ones({2})).to_vector<float>(), std::vector<float>({2, 2}));
}

TEST(Compile, OptionsOfEveryOptimizerAreWrittenByName) {
  Tensor p = ones({2}).requires_grad_();
  optim::AdamW adamw({p}, {.lr = 3e-4, .weight_decay = 0.1});
  EXPECT_EQ(adamw.lr(), 3e-4);
}

// Gradients flow through the call as if nothing had been asserted.
TEST(Compile, AFunctionThatAssertsIsDifferentiable) {
  Tensor w = full({2}, 3.0);
  w.requires_grad_();
  auto scaled = compile([&](Tensor x) {
    assert_true(x > 0, "positive");
    return w * x;
  });
  for (int i = 0; i < 3; ++i) {
    w.set_grad({});
    scaled(full({2}, 2.0)).sum().backward();
    EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{2, 2}));
  }
  EXPECT_ERROR(scaled(zeros({2})), "positive");
}
