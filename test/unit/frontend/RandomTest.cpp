//===- RandomTest.cpp - Generators and distributions ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include "weft/philox.hpp"

#include <algorithm>
#include <cmath>

using namespace weft;

// The contract: element i of a draw is a function of key, counter and i alone.
TEST(Random, NumbersFollowTheContract) {
  Generator generator(42);
  auto lane = [](uint64_t counter, size_t i) { return philox_block(42, 0, counter + i / 4)[i % 4]; };
  std::vector<float> u = rand({10}, generator).to_vector<float>(); // 3 blocks
  for (size_t i = 0; i < 10; ++i)
    EXPECT_EQ(u[i], philox_uniform(lane(0, i)));
  EXPECT_EQ(generator.counter().item<int64_t>(), 3);
  std::vector<double> wide = rand({3}, generator, {.dtype = f64}).to_vector<double>(); // 2 blocks
  for (size_t i = 0; i < 3; ++i) {
    uint64_t bits = lane(3, 2 * i) | uint64_t{lane(3, 2 * i + 1)} << 32;
    EXPECT_EQ(wide[i], static_cast<double>(bits >> 11) * 0x1p-53);
  }
  EXPECT_EQ(generator.counter().item<int64_t>(), 5);
  for (int64_t range : {int64_t{1}, int64_t{6}, int64_t{1000003}, int64_t{1} << 31}) {
    generator.manual_seed(42);
    std::vector<int64_t> whole = randint(-5, range - 5, {9}, generator).to_vector<int64_t>();
    for (size_t i = 0; i < 9; ++i) {
      uint64_t bits = lane(0, 2 * i) | uint64_t{lane(0, 2 * i + 1)} << 32;
      EXPECT_EQ(whole[i], static_cast<int64_t>(philox_below(bits, static_cast<uint64_t>(range))) - 5);
    }
    EXPECT_EQ(generator.counter().item<int64_t>(), 5);
  }
  generator.manual_seed(42);
  std::vector<float> normals = randn({5}, generator).to_vector<float>();
  for (size_t i = 0; i < 5; ++i) {
    double first = (lane(0, 2 * i) >> 8) + 1.0, second = lane(0, 2 * i + 1) >> 8;
    double expected = std::sqrt(-2 * std::log(first * 0x1p-24)) * std::cos(2 * M_PI * second * 0x1p-24);
    EXPECT_NEAR(normals[i], expected, 2e-6);
  }
}

TEST(Random, HalvesAreRoundedOnceAndStayBelowOne) {
  for (DType dtype : {f16, bf16}) {
    Generator a(9), b(9);
    std::vector<float> narrow = rand({20000}, a, {.dtype = dtype}).to_vector<float>();
    std::vector<float> wide = rand({20000}, b).to(dtype).to_vector<float>();
    float top = dtype == f16 ? 1 - 0x1p-11f : 1 - 0x1p-8f;
    for (size_t i = 0; i < narrow.size(); ++i)
      EXPECT_EQ(narrow[i], std::min(wide[i], top));
    EXPECT_EQ(*std::max_element(wide.begin(), wide.end()), 1) << "the clamp was needed";
  }
}

// A negative seed v stands for 0xffffffffffffffff + v.
TEST(Random, NegativeSeedsAreThoseOfPyTorch) {
  EXPECT_EQ(Generator(-1).initial_seed(), 0xfffffffffffffffeu);
  EXPECT_EQ(Generator(int64_t{-5}).initial_seed(), 0xfffffffffffffffau);
  EXPECT_EQ(Generator(uint64_t{0xfffffffffffffffe}).initial_seed(), 0xfffffffffffffffeu);
  Generator a(-1), b(uint64_t{0xfffffffffffffffe});
  EXPECT_EQ(rand({4}, a).to_vector<float>(), rand({4}, b).to_vector<float>());
}

TEST(Random, StatesAreSavedAndRestored) {
  Generator generator(3);
  rand({5}, generator).to_vector<float>();
  Tensor state = generator.get_state();
  std::vector<float> a = rand({7}, generator).to_vector<float>();
  generator.set_state(state);
  EXPECT_EQ(rand({7}, generator).to_vector<float>(), a);
  EXPECT_ERROR(generator.set_state(zeros({2})), "an i64 tensor of 2 elements");
  uint64_t seed = generator.seed();
  EXPECT_EQ(generator.initial_seed(), seed);
  EXPECT_EQ(generator.counter().item<int64_t>(), 0);
  // A copy of the handle is the same stream; a fork is a separate stream, the same one for the same state.
  Generator same = generator;
  EXPECT_NE(rand({4}, same).to_vector<float>(), rand({4}, generator).to_vector<float>());
  state = generator.get_state();
  Generator child = generator.fork();
  generator.set_state(state);
  Generator twin = generator.fork();
  EXPECT_EQ(child.initial_seed(), twin.initial_seed());
  EXPECT_NE(child.initial_seed(), generator.initial_seed());
}

TEST(Random, AForkGuardHidesDraws) {
  manual_seed(5);
  std::vector<float> expected = rand({3}).to_vector<float>();
  manual_seed(5);
  {
    ForkRngGuard guard;
    rand({100}).to_vector<float>();
  }
  EXPECT_EQ(rand({3}).to_vector<float>(), expected);
}

// Five calls of a compiled function give what five runs without it give, for every distribution.
TEST(Random, CompiledCallsDrawAsEagerOnes) {
  Tensor p = full({6}, 0.3);
  auto draw = [&] {
    Tensor a = rand({6}) + randn({6}) + randint(0, 100, {6}).to(f32) + bernoulli(p);
    return a + rand({6}, {.dtype = f64}).to(f32);
  };
  manual_seed(77);
  std::vector<std::vector<float>> eager, compiled;
  for (int i = 0; i < 5; ++i)
    eager.push_back(draw().to_vector<float>());
  manual_seed(77);
  auto step = compile(draw);
  for (int i = 0; i < 5; ++i)
    compiled.push_back(step().to_vector<float>());
  EXPECT_EQ(compiled, eager);
  EXPECT_NE(eager[0], eager[1]);
}

TEST(Random, Permutations) {
  Generator generator(8);
  std::vector<int64_t> a = randperm(100, generator).to_vector<int64_t>();
  EXPECT_EQ(generator.counter().item<int64_t>(), 50);
  std::vector<int64_t> b = randperm(100, generator).to_vector<int64_t>();
  EXPECT_NE(a, b);
  generator.manual_seed(8);
  EXPECT_EQ(randperm(100, generator).to_vector<int64_t>(), a);
  std::sort(a.begin(), a.end());
  EXPECT_EQ(a, arange(100).to_vector<int64_t>());
  EXPECT_EQ(randperm(0).numel(), 0);
  EXPECT_EQ(randperm(5, {.dtype = i32}).dtype(), i32);
  // Every element comes to every place about equally often: 6,000 permutations of 6, of which 1,000 each.
  int count[6][6] = {};
  for (int k = 0; k < 6000; ++k) {
    std::vector<int64_t> order = randperm(6, generator).to_vector<int64_t>();
    for (int i = 0; i < 6; ++i)
      ++count[i][order[static_cast<size_t>(i)]];
  }
  for (auto &row : count)
    for (int seen : row)
      EXPECT_NEAR(seen, 1000, 160); // 5.5 deviations
}

TEST(Random, DistributionsHaveTheirMoments) {
  manual_seed(10);
  Tensor p = Tensor::from(std::vector<float>{0, 0.25, 1}, {3, 1}).expand({3, 4000});
  std::vector<float> share = bernoulli(p).mean({1}).to_vector<float>();
  EXPECT_EQ(share[0], 0);
  EXPECT_NEAR(share[1], 0.25, 0.035);
  EXPECT_EQ(share[2], 1);
  std::vector<double> n = normal(3, 2, {10000}, {.dtype = f64}).to_vector<double>();
  double mean = 0, square = 0;
  for (double v : n) {
    mean += v / 10000;
    square += v * v / 10000;
  }
  EXPECT_NEAR(mean, 3, 0.1);
  EXPECT_NEAR(std::sqrt(square - mean * mean), 2, 0.1);
  std::vector<int64_t> dice = randint(1, 7, {6000}).to_vector<int64_t>();
  for (int64_t face = 1; face <= 6; ++face)
    EXPECT_NEAR(std::count(dice.begin(), dice.end(), face), 1000, 160);
  EXPECT_EQ(rand_like(zeros({2, 3}, {.dtype = f64})).dtype(), f64);
  EXPECT_EQ(randn_like(zeros({2, 3})).sizes(), (Shape{2, 3}));
}

TEST(Random, Errors) {
  EXPECT_ERROR(rand({2}, {.dtype = i32}), "use randint for integers");
  EXPECT_ERROR(rand({-2}), "-2");
  EXPECT_ERROR(randint(3, 3, {1}), "'from' to be less than 'to'");
  EXPECT_ERROR(randint(0, int64_t{1} << 40, {1}), "at most 2^31 integers");
  EXPECT_ERROR(randperm(-1), "non-negative, got -1");
  EXPECT_ERROR(bernoulli(zeros({1}, {.dtype = i64})), "floating-point dtype, found i64");
  EXPECT_ERROR(normal(0, -1, {1}), "std >= 0.0");
  auto permute = compile([] { return randperm(4); });
  EXPECT_ERROR(permute(), "WEFT-C013");
  auto seed = compile([] {
    manual_seed(1);
    return rand({1});
  });
  EXPECT_ERROR(seed(), "seeding a generator inside a compiled function");
}
