//===- TextbookTest.cpp - Kernels of textbooks, by two compilers ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/cudasim/fixtures/textbook.cu, compiled by NVRTC for three targets and by clang, in three orders, with
// and without race mode. Expected values are computed here.
//
//===----------------------------------------------------------------------===//
#include "Device.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace weft::cudasim {
namespace {

class Textbook : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { module = parsed(cudasimFile(std::string("fixtures/") + GetParam())); }

  /// Runs a kernel in every mode; `prepare` gives the parameters and `check` looks at the results.
  template <class Prepare, class Check>
  void run(const char *kernel, Dim grid, Dim block, Prepare prepare, Check check) {
    ASSERT_TRUE(module);
    for (const LaunchOptions &options : everyMode(grid, block)) {
      Memory memory;
      ASSERT_TRUE(module->load(memory));
      Parameters parameters = prepare(memory);
      LaunchResult result = launch(*module, kernel, memory, options, parameters);
      ASSERT_TRUE(result.ok()) << result.fault->str();
      check(memory);
      module->unload(memory);
    }
  }

  std::unique_ptr<Module> module;
  std::mt19937 random{5};
};

std::vector<float> smallIntegers(std::mt19937 &random, size_t count) {
  std::vector<float> values(count);
  for (float &value : values)
    value = float(int(random() % 17) - 8);
  return values;
}

TEST_P(Textbook, ReduceAddsTheBlocksAfterAFence) {
  std::vector<float> x = smallIntegers(random, 5001);
  uint64_t out = 0;
  run(
      "reduce", {6}, {256},
      [&](Memory &memory) {
        uint64_t in = upload(memory, x), partial = memory.allocate(6 * 4);
        out = memory.allocate(4);
        return Parameters(in, partial, out, upload(memory, std::vector<int>{0}), int(x.size()));
      },
      [&](Memory &memory) {
        // Sums of small integers are exact in any order.
        EXPECT_EQ(download<float>(memory, out, 1)[0], std::accumulate(x.begin(), x.end(), 0.0f));
      });
}

TEST_P(Textbook, ScansGiveRunningSumsOfBlocks) {
  std::vector<int> x(3 * 256);
  for (int &value : x)
    value = int(random());
  std::vector<int> expected(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    expected[i] = int(unsigned(x[i]) + (i % 256 ? unsigned(expected[i - 1]) : 0));
  for (const char *kernel : {"scan", "scanShared"}) {
    uint64_t out = 0;
    run(
        kernel, {3}, {256},
        [&](Memory &memory) {
          uint64_t in = upload(memory, x);
          out = memory.allocate(x.size() * 4);
          return Parameters(in, out);
        },
        [&](Memory &memory) { EXPECT_EQ(download<int>(memory, out, x.size()), expected) << kernel; });
  }
}

TEST_P(Textbook, HistogramCountsBytes) {
  std::vector<uint8_t> x(4000);
  std::vector<int> expected(256);
  for (uint8_t &value : x)
    ++expected[value = uint8_t(random() % 97)];
  uint64_t out = 0;
  run(
      "histogram", {3}, {256},
      [&](Memory &memory) {
        uint64_t in = upload(memory, x);
        out = upload(memory, std::vector<int>(256));
        return Parameters(in, out, int(x.size()));
      },
      [&](Memory &memory) { EXPECT_EQ(download<int>(memory, out, 256), expected); });
}

TEST_P(Textbook, MatmulOfOddSizes) {
  int m = 37, n = 21, k = 45;
  std::vector<float> a = smallIntegers(random, size_t(m * k)), b = smallIntegers(random, size_t(k * n));
  std::vector<float> expected(size_t(m * n));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l)
        expected[size_t(i * n + j)] += a[size_t(i * k + l)] * b[size_t(l * n + j)];
  uint64_t out = 0;
  run(
      "matmul", {3 * 2}, {256},
      [&](Memory &memory) {
        uint64_t x = upload(memory, a), y = upload(memory, b);
        out = memory.allocate(expected.size() * 4);
        return Parameters(x, y, out, m, n, k);
      },
      [&](Memory &memory) { EXPECT_EQ(download<float>(memory, out, expected.size()), expected); });
}

int collatzSteps(uint64_t v) {
  int count = 0;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    if (++count > 500)
      break;
  }
  return count;
}
int32_t wrapped(int64_t value) { return int32_t(uint32_t(uint64_t(value))); }
int32_t caseOf(int32_t v) {
  switch (v & 7) {
  case 0:
    return wrapped(int64_t(v) * 3);
  case 1:
    return v / 7;
  case 2: {
    int32_t r = v % 11;
    for (int k = 0; k < (v & 15); ++k)
      r = wrapped(int64_t(r) * 31 + k);
    return r;
  }
  case 3:
    return ~v;
  case 4:
    return v ^ 0x55555555;
  case 5:
    return v >> 3;
  default:
    return wrapped(int64_t(v) * v);
  }
}

TEST_P(Textbook, LanesPartAndMeet) {
  std::vector<int> x(999), steps(x.size()), results(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = int(random() >> 1) | 1;
    steps[i] = collatzSteps(uint64_t(x[i]));
  }
  uint64_t out = 0;
  auto prepare = [&](Memory &memory) {
    uint64_t in = upload(memory, x);
    out = memory.allocate(x.size() * 4);
    return Parameters(in, out, int(x.size()));
  };
  run("collatz", {16}, {64}, prepare,
      [&](Memory &memory) { EXPECT_EQ(download<int>(memory, out, x.size()), steps); });
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = int(random());
    results[i] = caseOf(x[i]);
  }
  run("cases", {11}, {96}, prepare,
      [&](Memory &memory) { EXPECT_EQ(download<int>(memory, out, x.size()), results); });
}

TEST_P(Textbook, QuotientsOf64Bits) {
  std::vector<int64_t> a(130), b(a.size()), expected;
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = int64_t(uint64_t(random()) << 32 | random());
    b[i] = int64_t(uint64_t(random()) << 32 | random()) >> (i % 63);
    b[i] += b[i] == 0;
    uint64_t x = uint64_t(a[i]), y = uint64_t(b[i]);
    int64_t parts[] = {a[i] / b[i], a[i] % b[i], int64_t(x / y), int64_t(x % y)};
    for (size_t k = 0; k < 4; ++k)
      expected.push_back(parts[(k + i) & 3]);
  }
  uint64_t out = 0;
  run(
      "quotients", {3}, {64},
      [&](Memory &memory) {
        uint64_t x = upload(memory, a), y = upload(memory, b);
        out = memory.allocate(expected.size() * 8);
        return Parameters(x, y, out, int(a.size()));
      },
      [&](Memory &memory) { EXPECT_EQ(download<int64_t>(memory, out, expected.size()), expected); });
}

/// A small integer as an f16.
uint16_t halfOf(int value) {
  if (!value)
    return 0;
  int magnitude = std::abs(value), exponent = 31 - __builtin_clz(unsigned(magnitude));
  return uint16_t((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 |
                  ((magnitude << (10 - exponent)) & 0x3FF));
}

TEST_P(Textbook, MatrixInstructionsOfOneTile) {
  std::vector<uint16_t> a(16 * 16), b(8 * 16);
  std::vector<int> wholeA(a.size()), wholeB(b.size());
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = halfOf(wholeA[i] = int(random() % 41) - 20);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = halfOf(wholeB[i] = int(random() % 41) - 20);
  std::vector<float> expected(16 * 8);
  for (size_t row = 0; row < 16; ++row)
    for (size_t column = 0; column < 8; ++column)
      for (size_t k = 0; k < 16; ++k)
        expected[row * 8 + column] += float(wholeA[row * 16 + k] * wholeB[column * 16 + k]);
  uint64_t out = 0;
  run(
      "tile", {1}, {32},
      [&](Memory &memory) {
        uint64_t x = upload(memory, a), y = upload(memory, b);
        out = memory.allocate(expected.size() * 4);
        return Parameters(x, y, out);
      },
      [&](Memory &memory) { EXPECT_EQ(download<float>(memory, out, expected.size()), expected); });
}

TEST_P(Textbook, ElementwiseInFours) {
  std::vector<float> x(4 * 333), y(x.size()), expected(x.size());
  std::uniform_real_distribution<float> values(-3, 3);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = values(random);
    y[i] = values(random);
    volatile float sum = x[i] * 2 + y[i]; // twice a float is exact, so this is rounded once in any case
    expected[i] = sum * x[i];
  }
  uint64_t out = 0;
  run(
      "elementwise", {3}, {128},
      [&](Memory &memory) {
        uint64_t in = upload(memory, x), other = upload(memory, y);
        out = memory.allocate(x.size() * 4);
        return Parameters(in, other, out, 333);
      },
      [&](Memory &memory) { EXPECT_EQ(download<float>(memory, out, x.size()), expected); });
}

INSTANTIATE_TEST_SUITE_P(Compilers, Textbook,
                         testing::Values("textbook.nvrtc.sm_80.ptx", "textbook.nvrtc.sm_90.ptx",
                                         "textbook.nvrtc.sm_100.ptx", "textbook.clang.sm_90.ptx"));

TEST(Races, AMissingFenceIsOneBetweenBlocks) {
  std::unique_ptr<Module> module = parsed(cudasimFile("fixtures/no-fence.sm_90.ptx"));
  ASSERT_TRUE(module);
  Memory memory;
  ASSERT_TRUE(module->load(memory));
  uint64_t x = upload(memory, std::vector<float>(600, 1)), partial = memory.allocate(12),
           out = memory.allocate(4);
  Parameters parameters(x, partial, out, upload(memory, std::vector<int>{0}), 600);
  LaunchResult result =
      launch(*module, "reduce", memory, {.grid = {3}, .block = {256}, .race = true}, parameters);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.fault->kind, FaultKind::globalRace) << result.fault->str();
}

//===----------------------------------------------------------------------===//
// The bugs of softmax.cu
//===----------------------------------------------------------------------===//

/// What a launch of a softmax gave: its fault, or whether the result is right.
struct Outcome {
  std::optional<Fault> fault;
  bool right = false;
};
Outcome softmax(int bug, Order order, bool race) {
  const uint32_t rows = 3, columns = 700;
  std::unique_ptr<Module> module = parsed(cudasimFile("fixtures/softmax." + std::to_string(bug) + ".ptx"));
  std::vector<float> x(rows * columns);
  std::mt19937 random(11);
  std::uniform_real_distribution<float> values(-5, 5);
  for (float &value : x)
    value = values(random);
  Memory memory;
  uint64_t in = upload(memory, x), out = memory.allocate(x.size() * 4);
  LaunchOptions options{.grid = {rows}, .block = {256}, .order = order, .seed = 3, .race = race};
  LaunchResult result = launch(*module, "softmax", memory, options, Parameters(in, out, int(columns)));
  std::vector<float> y = download<float>(memory, out, x.size());
  double worst = 0;
  for (size_t row = 0; row < rows; ++row) {
    const float *r = x.data() + row * columns;
    double most = *std::max_element(r, r + columns), sum = 0;
    for (size_t c = 0; c < columns; ++c)
      sum += std::exp(double(r[c]) - most);
    for (size_t c = 0; c < columns; ++c) {
      double error = std::fabs(double(y[row * columns + c]) * sum / std::exp(double(r[c]) - most) - 1);
      worst = error >= 0 ? std::max(worst, error) : 1; // a NaN is wrong
    }
  }
  return {result.fault, worst < 1e-5};
}

TEST(SeededBugs, TheKernelWithoutBugIsRightInEveryMode) {
  for (Order order : {Order::forward, Order::reverse, Order::shuffled})
    for (bool race : {false, true}) {
      Outcome outcome = softmax(0, order, race);
      EXPECT_FALSE(outcome.fault) << outcome.fault->str();
      EXPECT_TRUE(outcome.right);
    }
}

TEST(SeededBugs, EachIsFoundInRaceModeInEveryOrder) {
  const FaultKind expected[] = {FaultKind::badLaunch,   FaultKind::sharedRace,       FaultKind::sharedRace,
                                FaultKind::sharedRace,  FaultKind::sharedRace,       FaultKind::warpMask,
                                FaultKind::outOfBounds, FaultKind::divergentBarrier, FaultKind::uninitialized,
                                FaultKind::outOfBounds};
  for (int bug = 1; bug <= 9; ++bug)
    for (Order order : {Order::forward, Order::reverse, Order::shuffled}) {
      Outcome outcome = softmax(bug, order, true);
      ASSERT_TRUE(outcome.fault) << "bug " << bug;
      FaultKind kind = outcome.fault->kind;
      // Without the first barrier, or beside it, a warp that is first reads what nothing has written.
      bool reads = kind == FaultKind::uninitialized && (bug <= 4 || bug == 7);
      reads |= kind == FaultKind::sharedRace && bug == 7;
      EXPECT_TRUE(kind == expected[bug] || reads) << "bug " << bug << ": " << outcome.fault->str();
      EXPECT_GT(outcome.fault->line, 0);
      EXPECT_EQ(outcome.fault->kernel, "softmax");
    }
}

TEST(SeededBugs, WhatAPlainRunSees) {
  // Removed barriers show as wrong results in some order, the slot that nothing wrote does not show.
  for (int bug = 1; bug <= 9; ++bug) {
    bool seen = false;
    for (Order order : {Order::forward, Order::reverse, Order::shuffled}) {
      Outcome outcome = softmax(bug, order, false);
      seen |= outcome.fault || !outcome.right;
    }
    EXPECT_EQ(seen, bug != 8) << "bug " << bug;
    if (bug == 7) {
      EXPECT_EQ(softmax(bug, Order::forward, false).fault->kind, FaultKind::divergentBarrier);
    }
  }
}

} // namespace
} // namespace weft::cudasim
