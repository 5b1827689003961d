//===- ArenaPackingTest.cpp - The arena's packing -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/launch/ArenaPacking.h"

#include <gtest/gtest.h>
#include <random>

using namespace weft::passes;

namespace {

void expectSound(const std::vector<ArenaBuffer> &buffers, const ArenaPlan &plan) {
  EXPECT_GE(plan.bytes, plan.lowerBound);
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % arenaAlignment, 0);
    EXPECT_LE(plan.offsets[i] + buffers[i].bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      const ArenaBuffer &a = buffers[i], &b = buffers[j];
      if (!a.bytes || !b.bytes || a.end < b.begin || b.end < a.begin)
        continue;
      EXPECT_TRUE(plan.offsets[i] + a.bytes <= plan.offsets[j] ||
                  plan.offsets[j] + b.bytes <= plan.offsets[i])
          << i << " and " << j;
    }
  }
}

TEST(Packing, NothingTakesNothing) {
  EXPECT_EQ(packArena({}).bytes, 0);
  EXPECT_EQ(packArena({{0, 0, 3}}).bytes, 0);
}

TEST(Packing, ValuesOfDifferentTimesShare) {
  ArenaPlan plan = packArena({{100, 0, 1}, {100, 2, 3}, {50, 1, 2}});
  EXPECT_EQ(plan.bytes, 192);
  EXPECT_EQ(plan.lowerBound, 192);
  EXPECT_EQ(plan.offsets[0], plan.offsets[1]);
}

TEST(Packing, RandomPlansAreSoundAndTight) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<ArenaBuffer> buffers;
    for (unsigned i = 0; i < 200; ++i) {
      unsigned begin = random() % 300;
      buffers.push_back(
          {static_cast<int64_t>(random() % 100000), begin, begin + static_cast<unsigned>(random() % 20)});
    }
    ArenaPlan plan = packArena(buffers);
    expectSound(buffers, plan);
    EXPECT_LE(plan.bytes, plan.lowerBound * 5 / 4);
  }
}

// The temporaries of training a deep perceptron: an activation per layer from its forward step to its
// backward step, two gradients that alternate, and the gradients of the weights, which are all live at the
// end.
TEST(Packing, TrainingOfAPerceptronIsWithinTwoPercent) {
  for (unsigned layers : {3u, 8u, 40u}) {
    std::vector<ArenaBuffer> buffers;
    unsigned end = 4 * layers;
    for (unsigned l = 0; l < layers; ++l) {
      int64_t width = 256 << (l % 3);
      buffers.push_back({width * 512, l, end - 2 * l - 1});
      buffers.push_back({width * 512, end - 2 * l - 2, end - 2 * l});
      buffers.push_back({width * width, end - 2 * l - 1, end + 1});
      buffers.push_back({width * 4, end - 2 * l - 1, end + 1});
    }
    ArenaPlan plan = packArena(buffers);
    expectSound(buffers, plan);
    EXPECT_LE(plan.bytes * 100, plan.lowerBound * 102) << layers << " layers";
  }
}

// Dynamic sizes: for every value of the symbols, the plan with these numbers is sound, and the arena has the
// size that the plan says.
TEST(Packing, DynamicPlansAreSoundAtEverySize) {
  using namespace weft::ir;
  Size batch = Size::symbol("batch"), length = Size::symbol("length");
  SymbolRanges ranges;
  ranges.set("batch", {1, 512});
  ranges.set("length", {0, 40});
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    auto number = [&](unsigned most) { return static_cast<int64_t>(random() % most); };
    std::vector<DynamicBuffer> buffers;
    for (unsigned i = 0; i < 60; ++i) {
      Size bytes = number(1000);
      switch (random() % 5) {
      case 0:
        break;
      case 1:
        bytes = bytes * batch;
        break;
      case 2:
        bytes = bytes * batch * length;
        break;
      case 3:
        bytes = (bytes + 1) * batch + number(100) - 1;
        break;
      default:
        bytes = (bytes + 1) * batch * length + number(50) * batch;
        break;
      }
      unsigned begin = random() % 80;
      buffers.push_back({bytes, begin, begin + static_cast<unsigned>(random() % 10)});
    }
    DynamicArenaPlan plan = packDynamicArena(buffers, ranges);
    for (auto [b, l] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {1, 1}, {3, 40}, {17, 5}, {512, 40}}) {
      auto at = [&](Size size) {
        return *evaluate(size, [&](std::string_view name) { return std::optional(name == "batch" ? b : l); });
      };
      std::vector<ArenaBuffer> values;
      ArenaPlan numbers{{}, at(plan.bytes), 0};
      for (size_t i = 0; i < buffers.size(); ++i) {
        values.push_back({at(buffers[i].bytes), buffers[i].begin, buffers[i].end});
        numbers.offsets.push_back(at(plan.offsets[i]));
      }
      expectSound(values, numbers);
    }
  }
}

} // namespace
