//===- ContractRunTest.cpp - Lazy execution; a step happens or it does not -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One test for each sentence of the contract of lazy execution and of failing steps (docs/contract.md), named
// after it. They run in both queue modes: a failure that the call throws in one mode is thrown later in the
// other.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include "runtime/queue/Queue.h"

#include <algorithm>

using namespace weft;

//===----------------------------------------------------------------------===//
// Lazy execution
//===----------------------------------------------------------------------===//

TEST(ContractLazy, ItFlushesWhenAValueIsRead) {
  Tensor x = ones({11, 3});
  synchronize();
  uint64_t before = compile_count();
  Tensor y = x * 3 - 1;
  EXPECT_EQ(compile_count(), before);
  EXPECT_EQ(floats(y), Floats(33, 2));
  EXPECT_EQ(compile_count(), before + 1);
}

TEST(ContractLazy, ItFlushesAtAnOptimisersStep) {
  Tensor w = ones({11, 4});
  w.requires_grad_();
  optim::SGD sgd({w}, {.lr = 1});
  (w * w).sum().backward();
  uint64_t before = compile_count();
  sgd.step();
  EXPECT_EQ(compile_count(), before + 1);
}

TEST(ContractLazy, ItFlushesBeforeACompiledFunctionIsCalled) {
  auto f = compile([](Tensor x) { return x; });
  f(ones({1}));
  Tensor y = ones({11, 5}) * 3 - 1;
  uint64_t before = compile_count();
  f(ones({1}));
  EXPECT_EQ(compile_count(), before + 1);
}

TEST(ContractLazy, ItFlushesAtFourThousandPendingOperations) {
  Tensor kept = ones({11, 6}) * 3;
  uint64_t before = compile_count();
  for (int i = 0; i < 4200; ++i)
    ones({2}).t(); // made and dropped: counted, and never computed
  for (int i = 0; i < 4200; ++i)
    Tensor dropped = ones({2}) * 2;
  EXPECT_GT(compile_count(), before);
  EXPECT_EQ(floats(kept), Floats(66, 3));
}

TEST(ContractLazy, NoMoreThan4096OperationsAreEverPending) {
  Tensor x = ones({11, 7});
  synchronize();
  // Only computed values use memory of the allocator; recording uses none.
  const auto taken = [] { return memory_stats().at("allocation.all.allocated"); };
  int64_t before = taken(), pending = 0, longest = 0;
  for (int i = 0; i < 20000; ++i) {
    x = x + 1;
    ++pending;
    runtime::Queue::synchronize_all().throw_if_failed(); // waits for what runs, and computes nothing
    if (int64_t now = taken(); now != before) {
      before = now;
      pending = 0;
    }
    longest = std::max(longest, pending);
  }
  EXPECT_LE(longest, 4096);
  EXPECT_GT(longest, 100) << "what nobody reads is recorded, and not computed one by one";
  EXPECT_EQ(floats(x)[0], 20001);
}

TEST(ContractLazy, ItFlushesAtAByteLimitOfHostData) {
  constexpr int64_t bytes = 16 << 20;
  std::vector<float> data(bytes / sizeof(float), 1);
  Tensor sum = zeros({});
  synchronize();
  const auto before = static_cast<int64_t>(memory_allocated());
  int64_t most = 0;
  for (int i = 0; i < 64; ++i) { // 1 GiB in all
    sum += Tensor::from(data, {static_cast<int64_t>(data.size())}).sum();
    runtime::Queue::synchronize_all().throw_if_failed(); // what was flushed has run, and keeps nothing
    most = std::max(most, static_cast<int64_t>(memory_allocated()) - before);
  }
  // The tensor that exceeds the limit is there before the flush, and a few bytes of sums.
  EXPECT_LE(most, (int64_t(256) << 20) + bytes + (1 << 20));
  EXPECT_GT(most, 2 * bytes);
  EXPECT_EQ(sum.item<float>(), 64.f * static_cast<float>(data.size()));
}

TEST(ContractLazy, NumbersAreNoPartOfTheKeySoThatASteadyLoopCompilesNothingAfterItsSecondIteration) {
  Tensor x = ones({11, 8});
  Tensor part = x.slice(0, 0, 3);
  uint64_t before = 0;
  for (int i = 0; i < 20; ++i) {
    if (i == 2)
      before = compile_count();
    x = x * (1.0 + i) - i;
    x += full({8}, i * 0.5);
    x[2] = i;
    part.fill_(i);
    pow(x, 2).sum().item<float>();
  }
  EXPECT_EQ(compile_count(), before);
}

TEST(ContractLazy, PendingReadersRunBeforeABufferIsWrittenInPlace) {
  Tensor w = ones({4});
  auto f = compile([&](Tensor x) { w += x; });
  f(ones({4}));
  Tensor reader = w * 10;
  f(ones({4}));
  EXPECT_EQ(floats(reader), Floats(4, 20));
  EXPECT_EQ(floats(w), Floats(4, 3));
}

TEST(ContractLazy, AFlushKeepsWhatLiveGradientNodesNeed) {
  Tensor w = full({2}, 3.0);
  w.requires_grad_();
  Tensor square = w * w;
  Tensor loss = (square * square).sum();
  EXPECT_EQ(loss.item<float>(), 162);
  EXPECT_EQ(floats(square), Floats({9, 9}));
  loss.backward();
  EXPECT_EQ(floats(w.grad()), Floats({108, 108}));
}

TEST(ContractLazy, DestructionOfALongGraphIsIterative) {
  auto f = compile([](Tensor x) {
    Tensor chain = x, views = x;
    for (int i = 0; i < 100000; ++i) {
      chain = chain + x;
      if (i % 10 == 0)
        views = views.unsqueeze(0).clone().squeeze(0);
    }
    return x;
  });
  EXPECT_EQ(floats(f(ones({1}))), Floats({1}));
}

namespace {
struct Step {
  nn::Linear fc1{6, 8}, fc2{8, 3};
  optim::Adam adam;
  Step() : adam(parameters(), {.lr = 0.01}) {}
  std::vector<Tensor> parameters() {
    std::vector<Tensor> all = fc1.parameters();
    for (const Tensor &p : fc2.parameters())
      all.push_back(p);
    return all;
  }
  Tensor operator()(const Tensor &x, const Tensor &y) {
    Tensor loss = nn::cross_entropy(fc2(relu(fc1(x))), y);
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss;
  }
  std::vector<std::vector<std::byte>> bits() {
    std::vector<Tensor> all = parameters();
    for (auto &[name, tensor] : adam.state_dict())
      all.push_back(tensor);
    return bitsOf(all);
  }
};

Tensor labels(std::vector<int64_t> values) {
  auto n = static_cast<int64_t>(values.size());
  return Tensor::from(values, {n});
}

} // namespace

TEST(ContractLazy, TenThousandUncompiledStepsRunInFlatMemory) {
  Step step;
  Tensor x = randn({4, 6}), y = labels({0, 1, 2, 0});
  for (int i = 0; i < 500; ++i)
    step(x, y);
  synchronize();
  [[maybe_unused]] int64_t before = residentBytes();
  uint64_t compiles = compile_count();
  for (int i = 0; i < 10000; ++i)
    step(x, y);
  synchronize();
#if !__has_feature(address_sanitizer) // keeps what is freed for a while
  EXPECT_LT(residentBytes() - before, 4096 * 1024) << "bytes more than " << before;
#endif
  EXPECT_EQ(compile_count(), compiles);
}

TEST(ContractLazy, AProgramGivesTheSameBitsWithAndWithoutCompile) {
  std::vector<std::vector<std::byte>> states[2];
  for (int compiled = 0; compiled < 2; ++compiled) {
    manual_seed(8);
    Step step;
    Tensor x = randn({4, 6}), y = labels({0, 1, 2, 0});
    Tensor history = zeros({5});
    auto body = [&](Tensor a, Tensor b, Scalar row) {
      Tensor loss = step(a, b);
      history.slice(0, 0, 2) += loss.detach() * row;
      return loss;
    };
    auto f = compile(body);
    for (int i = 0; i < 6; ++i)
      compiled ? f(x, y, i * 0.1) : body(x, y, i * 0.1);
    states[compiled] = step.bits();
    states[compiled].push_back(history.to_bytes());
  }
  EXPECT_EQ(states[0], states[1]);
}

//===----------------------------------------------------------------------===//
// A step happens or it does not
//===----------------------------------------------------------------------===//

namespace {
struct FailingStep : ::testing::Test {
  Step step;
  Tensor x = randn({4, 6}), good = labels({0, 1, 2, 0}), bad = labels({0, 7, 2, 0});
  CompiledFunction<Tensor, std::tuple<Tensor, Tensor>> f =
      compile([this](Tensor a, Tensor b) { return step(a, b); }, {.name = "train"});
  std::vector<std::vector<std::byte>> before;
  unsigned badLine = 0;

  void SetUp() override {
    f(x, good);
    synchronize();
    before = step.bits();
  }
  void expectUntouched(const std::string &message) {
    EXPECT_NE(message.find("Target 7 is out of bounds"), std::string::npos) << message;
    EXPECT_NE(message.find("call 2 of 'train'"), std::string::npos) << message;
    EXPECT_NE(message.find("ContractRunTest.cpp:" + std::to_string(badLine)), std::string::npos) << message;
    EXPECT_EQ(step.bits(), before);
  }
};
} // namespace

using ContractStep = FailingStep;

TEST_F(ContractStep, TheErrorIsThrownAtTheReadOfAResultAndNamesNumberAndLineOfTheCall) {
  expectUntouched(errorOf([&] {
    badLine = __LINE__ + 1;
    f(x, bad).item<float>();
  }));
}

TEST_F(ContractStep, TheErrorIsThrownAtSynchronize) {
  expectUntouched(errorOf([&] {
    badLine = __LINE__ + 1;
    f(x, bad);
    synchronize();
  }));
}

TEST_F(ContractStep, TheErrorIsThrownAtTheReadOfTheState) {
  expectUntouched(errorOf([&] {
    badLine = __LINE__ + 1;
    f(x, bad);
    step.fc1.weight.to_vector<float>();
  }));
}

TEST_F(ContractStep, LaterCallsOnTheStateDoNothingUntilTheHostSawTheError) {
  expectUntouched(errorOf([&] {
    badLine = __LINE__ + 1;
    f(x, bad);
    for (int i = 0; i < 3; ++i)
      f(x, good);
    synchronize();
  }));
}

TEST_F(ContractStep, ThenTheMarkIsClearedAndEverythingGoesOn) {
  (void)errorOf([&] {
    f(x, bad);
    synchronize();
  });
  synchronize(); // seen once
  f(x, good).item<float>();
  EXPECT_NE(step.bits(), before);
  Step twin = step; // and the step is the second one
  EXPECT_EQ(step.adam.state_dict()[0].second.item<int64_t>(), 2);
}

TEST_F(ContractStep, AResultOfTheFailedCallHasNoValue) {
  Tensor loss;
  try {
    loss = f(x, bad);
    synchronize();
  } catch (const Error &) { // NOLINT(bugprone-empty-catch): either of the two
  }
  if (loss.defined()) // queued: the call itself threw nothing
    for (int i = 0; i < 2; ++i)
      EXPECT_ERROR(loss.item<float>(), "Target 7 is out of bounds");
}

TEST_F(ContractStep, LazyWritesOfWhatFollowsFromItAreUndone) {
  Tensor total = ones({2}), copied = ones({}), part = total[0], grown = full({2}, 2.0);
  synchronize();
  expectUntouched(errorOf([&] {
    badLine = __LINE__ + 1;
    Tensor loss = f(x, bad).detach();
    copied.copy_(loss);
    total += 1;
    total += loss;
    total.to_vector<float>();
  }));
  EXPECT_EQ(copied.item<float>(), 1);
  const float base = floats(total)[0]; // a call that fails at once came before the sum
  EXPECT_TRUE(base == 1 || base == 2) << base;
  EXPECT_EQ(part.item<float>(), base);
  total += f(x, good).detach();
  EXPECT_TRUE(std::isfinite(total[1].item<float>()));
  EXPECT_EQ(part.item<float>(), floats(total)[1]);
}

TEST_F(ContractStep, SoAreThoseThatTheQueueComputedBehindIt) {
  Tensor total = full({2}, 2.0), kept = total * 1;
  synchronize();
  expectUntouched(errorOf([&] {
    badLine = __LINE__ + 1;
    total += f(x, bad).detach();
    for (int i = 0; i < 20; ++i) { // the host knows nothing yet
      total += f(x, good).detach();
      kept += 1;
    }
    synchronize();
  }));
  EXPECT_EQ(floats(total), Floats({2, 2}));
  EXPECT_EQ(floats(kept)[0], floats(kept)[1]);
  total += f(x, good).detach() * 0;
  EXPECT_EQ(floats(total), Floats({2, 2}));
}

TEST_F(ContractStep, GradientsOfWhatFollowsFromItAreUndone) {
  Tensor w = ones({2});
  w.requires_grad_();
  Tensor held = ones({2});
  held.requires_grad_();
  (held * 3).sum().backward();
  EXPECT_EQ(floats(held.grad()), Floats({3, 3}));
  expectUntouched(errorOf([&] {
    badLine = __LINE__ + 1;
    Tensor loss = f(x, bad).detach();
    (w * held * loss).sum().backward();
    synchronize();
    held.grad().to_vector<float>();
  }));
  EXPECT_FALSE(w.grad().defined());
  EXPECT_EQ(floats(held.grad()), Floats({3, 3}));
  // Backward through the call that failed.
  nn::Linear layer(6, 3);
  auto forward = compile([&](Tensor a, Tensor b) { return nn::cross_entropy(layer(a), b); });
  EXPECT_ERROR((forward(x, bad).backward(), synchronize()), "Target 7 is out of bounds");
  EXPECT_FALSE(layer.weight.grad().defined());
  forward(x, good).backward();
  const Floats once = floats(layer.bias.grad());
  EXPECT_ERROR((forward(x, bad).backward(), floats(layer.bias.grad())), "Target 7 is out of bounds");
  EXPECT_EQ(floats(layer.bias.grad()), once);
}

TEST_F(ContractStep, TheErrorIsNotLostWhereAFlushForAnotherReasonMeetsIt) {
  auto g = compile([](Tensor a) { return a * 2; });
  g(ones({3}));
  Tensor other = ones({2});
  expectUntouched(errorOf([&] {
    badLine = __LINE__ + 1;
    f(x, bad);
    while (!Stream::current().query())
      ;
    Tensor sum = step.fc1.weight.sum(), more = other + 1;
    EXPECT_EQ(floats(g(ones({3}))), Floats({2, 2, 2}));
    EXPECT_EQ(floats(more), Floats({2, 2}));
    synchronize();
  }));
}

TEST_F(ContractStep, SumsOfResultsRunAheadInFlatMemory) {
  Tensor total = zeros({1 << 14}), row = ones({1 << 14});
  total.to_bytes();
  f(x, good).item<float>();
  const uint64_t bytes = memory_allocated();
  for (int i = 0; i < 3000; ++i) {
    total += f(x, good).detach() * row;
    if (i % 100 == 99) // what came before is certain, and nothing of it is kept
      total[0].item<float>();
  }
  total.to_bytes();
  EXPECT_LT(memory_allocated(), bytes + (4 << 16));
}

TEST_F(ContractStep, GradientsAndModesChangeOnlyWithTheStep) {
  nn::Linear layer(2, 2);
  auto g = compile([&](Tensor a, Tensor b) {
    layer.eval();
    nn::cross_entropy(layer(a), b).backward();
  });
  EXPECT_ERROR((g(ones({1, 2}), labels({5})), synchronize()), "Target 5 is out of bounds");
  EXPECT_FALSE(layer.weight.grad().defined());
  EXPECT_TRUE(layer.is_training());
}

TEST_F(ContractStep, ALazyFailureSpeaksOfWhatWasRecordedAndOfNoCall) {
  std::string message = errorOf([&] { step(x, bad).item<float>(); });
  EXPECT_NE(message.find("Target 7 is out of bounds"), std::string::npos) << message;
  EXPECT_EQ(message.find("call "), std::string::npos) << message;
  EXPECT_EQ(step.bits(), before);
}

TEST_F(ContractStep, MemoryIsSecuredBeforeTheFirstLaunch) {
  Tensor state = zeros({4});
  auto g = compile([&](Tensor a) {
    state += 1;
    return a.expand({int64_t(1) << 30, int64_t(1) << 12}) + state.sum(); // 16 TiB
  });
  EXPECT_ERROR(g(ones({1})), "CPU out of memory. Tried to allocate 16.00 TiB");
  EXPECT_EQ(floats(state), Floats(4, 0));
}

//===----------------------------------------------------------------------===//
// Tensors that are too large
//===----------------------------------------------------------------------===//

TEST(ContractLimits, ValuesThatDoNotFitAreErrors) {
  Tensor wide = ones({1}).expand({int64_t(1) << 30, int64_t(1) << 12});
  EXPECT_ERROR(wide.to_vector<float>(), "CPU out of memory. Tried to allocate 16.00 TiB");
  EXPECT_ERROR(zeros({0, int64_t(1) << 62, int64_t(1) << 62}), "more than 2^63 bytes");
  EXPECT_ERROR(zeros({int64_t(1) << 62, int64_t(1) << 62}), "more than 2^63 bytes");
  EXPECT_EQ(zeros({0, int64_t(1) << 30}).numel(), 0);
}

TEST(ContractLimits, IntegersBeyondTheDoublesArePrintedExactly) {
  Tensor x = Tensor::from(std::vector<int64_t>{(int64_t(1) << 53) + 1, -5}, {2});
  EXPECT_EQ(to_string(x), "tensor([9007199254740993,               -5])");
  EXPECT_EQ(to_string(x[0]), "tensor(9007199254740993)");
}
