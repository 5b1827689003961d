//===- ContractLoopsTest.cpp - Steady loops of lazy execution -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contract (docs/contract.md): a steady loop compiles nothing after its second iteration, even if it
// leaves operations pending, and the number of pending operations is bounded.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>
#include <thread>

using namespace weft;

/// How many times something is compiled in `body(2)`, `body(3)` and so on.
template <typename Body> static uint64_t compilesAfterTwo(int64_t count, Body body) {
  synchronize(); // what the test made before is no part of the loop
  body(0);
  body(1);
  const uint64_t before = compile_count();
  for (int64_t i = 2; i < count; ++i)
    body(i);
  return compile_count() - before;
}

TEST(ContractLoops, WhatTheValueReadDoesNotNeed) {
  Tensor s = ones({4});
  EXPECT_EQ(compilesAfterTwo(60,
                             [&](int64_t) {
                               Tensor l = (s * 2).sum();
                               s = tanh(s) + 1;
                               l.item<float>();
                             }),
            0u);
  Tensor expected = ones({4});
  for (int i = 0; i < 60; ++i) {
    expected = tanh(expected) + 1;
    floats(expected);
  }
  EXPECT_EQ(floats(s), floats(expected));
}

TEST(ContractLoops, AProductThatFollowsTheValueRead) {
  Tensor s = ones({4, 4}), x = full({4, 4}, 0.25);
  EXPECT_EQ(compilesAfterTwo(40,
                             [&](int64_t) {
                               Tensor l = s.sum();
                               s = matmul(s, x) * 0.1;
                               l.item<float>();
                             }),
            0u);
}

/// One step of EM for two normal distributions of equal width.
static void em(const Tensor &x, Tensor &mean, Tensor &weight) {
  Tensor distance = pow(x.unsqueeze(1) - mean, 2);
  Tensor share = softmax(weight.log() - distance * 0.5, 1);
  weight = share.mean({0});
  mean = (share * x.unsqueeze(1)).sum({0}) / share.sum({0});
}

TEST(ContractLoops, ABodyThatIsAFunction) {
  manual_seed(1);
  Tensor x = cat({randn({50}) - 3, randn({50}) + 3}), mean = tensor({-1, 1}, {2}), weight = full({2}, 0.5);
  EXPECT_EQ(compilesAfterTwo(30,
                             [&](int64_t) {
                               Tensor before = mean.clone();
                               em(x, mean, weight);
                               (mean - before).abs().max().item<float>();
                             }),
            0u);
  EXPECT_NEAR(floats(mean)[0], -3, 0.5);
  EXPECT_NEAR(floats(mean)[1], 3, 0.5);
}

TEST(ContractLoops, AChainThatIsNeverReadBesideValuesThatAre) {
  Tensor read = ones({3}), never = zeros({5}), counts = zeros({5}, {.dtype = i64});
  EXPECT_EQ(compilesAfterTwo(60,
                             [&](int64_t i) {
                               never = never * 0.5 + static_cast<double>(i);
                               counts += 1;
                               read = read * 0.99;
                               never[0] = 1;
                               read.sum().item<float>();
                             }),
            0u);
  EXPECT_EQ(counts.to_vector<int64_t>(), std::vector<int64_t>(5, 60));
}

TEST(ContractLoops, HandlesThatAreKept) {
  std::vector<Tensor> losses, states;
  Tensor s = ones({4});
  EXPECT_EQ(compilesAfterTwo(60,
                             [&](int64_t) {
                               s = s * 0.9 + 1;
                               states.push_back(s);
                               losses.push_back((s * 3).mean());
                               s.sum().item<float>();
                             }),
            0u);
  const uint64_t before = compile_count();
  for (const Tensor &loss : losses)
    EXPECT_GT(loss.item<float>(), 0);
  EXPECT_EQ(compile_count(), before); // they were computed on the way
}

TEST(ContractLoops, ReadsInEveryKthIteration) {
  for (int64_t k : {2, 5, 7}) {
    Tensor s = ones({4, k}), never = ones({4, k});
    synchronize();
    uint64_t before = 0;
    for (int64_t i = 1; i <= 20 * k; ++i) {
      s = tanh(s) * 0.7 + 0.1;
      never = never + s;
      if (i % k == 0)
        (s * 2).sum().item<float>();
      if (i == 2 * k)
        before = compile_count();
    }
    EXPECT_EQ(compile_count(), before) << "every " << k;
  }
}

TEST(ContractLoops, AStepWithGradientsThatIsReadBeforeItIsTaken) {
  manual_seed(2);
  nn::Linear layer(3, 1);
  Tensor x = randn({8, 3}), y = randn({8, 1}), total = zeros({});
  EXPECT_EQ(compilesAfterTwo(40,
                             [&](int64_t) {
                               Tensor loss = pow(layer(x) - y, 2).mean();
                               for (Tensor &p : layer.parameters())
                                 p.set_grad({});
                               loss.backward();
                               loss.item<float>();
                               total += loss.detach();
                               NoGradGuard guard;
                               for (Tensor &p : layer.parameters())
                                 p -= 0.1 * p.grad();
                             }),
            0u);
}

/// Each iteration begins with the optimiser's step of the one before, so the second iteration is the first
/// with a step, and the third computes what the second leaves pending.
static uint64_t compilesWhereTheStepComesFirst(const Tensor &weight, Tensor argument,
                                               optim::Optimizer &optimizer) {
  return compilesAfterTwo(10, [&](int64_t) {
    optimizer.step();
    optimizer.zero_grad();
    argument.set_grad({});
    (weight * argument).sum().backward();
  });
}

TEST(ContractLoops, ALeafThatNoStepUpdatesBesideOnesThatAStepUpdates) {
  for (bool isWeightOlder : {true, false}) {
    const int64_t size = isWeightOlder ? 31 : 32;
    Tensor first = full({size}, 0.5).requires_grad_(), second = full({size}, 0.25).requires_grad_();
    const Tensor &weight = isWeightOlder ? first : second, &argument = isWeightOlder ? second : first;
    optim::SGD sgd({weight}, {.lr = 0.1});
    EXPECT_EQ(compilesWhereTheStepComesFirst(weight, argument, sgd), 0u);
  }
}

TEST(ContractLoops, StateThatTheFirstStepMakes) {
  Tensor weight = full({33}, 0.5).requires_grad_(), argument = full({33}, 0.25).requires_grad_();
  optim::SGD sgd({weight}, {.lr = 0.1, .momentum = 0.9});
  EXPECT_EQ(compilesWhereTheStepComesFirst(weight, argument, sgd), 0u);
  weight = full({34}, 0.5).requires_grad_();
  argument = full({34}, 0.25).requires_grad_();
  optim::Adam adam({weight}, {.lr = 0.1, .amsgrad = true});
  EXPECT_EQ(compilesWhereTheStepComesFirst(weight, argument, adam), 0u);
}

/// The step that makes the state is the same program as the next one.
TEST(ContractLoops, AStepIsCompiledOnce) {
  Tensor weight = full({35}, 0.5).requires_grad_();
  optim::Adam adam({weight}, {.lr = 0.1});
  synchronize();
  const uint64_t before = compile_count();
  for (int i = 0; i < 5; ++i) {
    (weight * weight).sum().backward();
    adam.step();
    adam.zero_grad();
  }
  EXPECT_EQ(compile_count(), before + 1);
}

TEST(ContractLoops, AFailureInEveryIterationHoldsUpNothing) {
  Tensor table = ones({4, 2}), s = ones({2});
  EXPECT_EQ(compilesAfterTwo(30,
                             [&](int64_t) {
                               Tensor bad =
                                   table.index_select(0, Tensor::from(std::vector<int64_t>{4}, {1})) * 2;
                               s = s * 0.5 + 1;
                               EXPECT_ERROR(floats(bad), "index 4 is out of bounds");
                             }),
            0u);
  EXPECT_NEAR(floats(s)[0], 2, 1e-5);
}

/// Loops that read nothing: after the first flushes, no new program is compiled.
TEST(ContractLoops, NoReadAtAll) {
  for (int ops : {3, 7, 50}) {
    Tensor s = full({ops}, 0.5), kept = zeros({ops});
    synchronize();
    uint64_t compiles = 0;
    const int64_t count = 24000 / ops;
    for (int64_t i = 0; i < count; ++i) {
      for (int k = 0; k + 2 < ops; ++k)
        s = k % 2 ? s.neg() : s.abs();
      kept = kept * 0.5 + s;
      s = kept * 0.25;
      if (i == count / 2)
        compiles = compile_count();
    }
    EXPECT_EQ(compile_count(), compiles) << ops << " operations";
    EXPECT_TRUE(std::isfinite(floats(kept)[0]));
  }
}

TEST(ContractLoops, OneThatReadsWhatIsThereIsBounded) {
  Tensor there = tensor({1, 2}, {2}), s = ones({2});
  synchronize();
  uint64_t before = compile_count();
  for (int i = 0; i < 6000; ++i) {
    s = s * 0.5 + 1;
    EXPECT_EQ(there[0].item<float>(), 1); // computes nothing
  }
  EXPECT_GT(compile_count(), before);
  before = compile_count();
  Floats last = floats(s); // a chain of less than 4,096
  EXPECT_EQ(last[0], 2);
}

TEST(ContractLoops, ThreadsDoNotDisturbEachOther) {
  const auto loop = [](int64_t n, int count) {
    Tensor s = ones({n});
    for (int i = 0; i < count; ++i) {
      Tensor l = (s * 2).sum();
      s = tanh(s) + 1;
      for (int k = 0; k < i % 3; ++k)
        std::this_thread::yield();
      l.item<float>();
    }
  };
  synchronize(); // or the first loop would compute what the test before left pending beside its own
  loop(5, 3);
  loop(6, 3);
  const uint64_t before = compile_count();
  std::thread other([&] { loop(5, 100); });
  loop(6, 100);
  other.join();
  EXPECT_EQ(compile_count(), before);
}

TEST(ContractLoops, AReadComputesWhatIsPendingButNotWhatFails) {
  Tensor table = ones({4, 2});
  Tensor a = table * 2, b = table.index_select(0, Tensor::from(std::vector<int64_t>{7}, {1})), c = table - 1;
  EXPECT_EQ(a.sum().item<float>(), 16);
  const uint64_t before = compile_count();
  EXPECT_EQ(floats(c), Floats(8, 0));
  EXPECT_EQ(compile_count(), before);
  EXPECT_ERROR(floats(b), "index 7 is out of bounds");
}

TEST(ContractThreads, UpdatesInPlaceByManyThreadsAreNotLost) {
  constexpr int threads = 8, updates = 50;
  Tensor sum = zeros({4}), parts = zeros({threads, 2}), counted = zeros({3});
  Tensor weight = ones({2}).requires_grad_();
  const Tensor index = Tensor::from(std::vector<int64_t>{1}, {1});
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int i = 0; i < updates; ++i) {
        sum += 1;
        parts[t] += 1;
        counted.index_add_(0, index, ones({1}));
        (weight * 2).sum().backward();
        if (i % 25 == t)
          sum.to_vector<float>();
      }
    });
  for (std::thread &thread : all)
    thread.join();
  EXPECT_EQ(floats(sum), Floats(4, threads * updates));
  EXPECT_EQ(floats(parts), Floats(2 * threads, updates));
  EXPECT_EQ(floats(counted), Floats({0, threads * updates, 0}));
  EXPECT_EQ(floats(weight.grad()), Floats(2, 2 * threads * updates));
}
