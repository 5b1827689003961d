//===- DataTest.cpp - Philox, batch order ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing.h"
#include "frontend/io/BatchOrder.h"

#include <algorithm>
#include <limits>

using namespace weft;
using namespace weft::io;
using namespace weft::io::testing;

namespace {

TEST(Philox, KnownAnswers) {
  using Block = std::array<uint32_t, 4>;
  constexpr Block zeros = philox4x32_10({0, 0, 0, 0}, {0, 0});
  static_assert(zeros == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32_10({ones, ones, ones, ones}, {ones, ones}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  // 64-bit halves, low word first.
  EXPECT_EQ(philox_block(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, SequenceAndRanges) {
  PhiloxSequence sequence(7, 9);
  for (uint64_t block = 0; block < 3; ++block)
    for (uint32_t lane : philox_block(7, 9, block))
      EXPECT_EQ(sequence.next32(), lane);
  EXPECT_EQ(philox_uniform(0xffffffff), 1.0f - 0x1p-24f);
  EXPECT_EQ(philox_uniform(0xff), 0.0f);
  EXPECT_EQ(philox_below(UINT64_MAX, 10), 9u);
  EXPECT_EQ(philox_below(0, 10), 0u);
  EXPECT_EQ(philox_below(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
}

TEST(BatchOrder, CoversEveryExampleOnce) {
  for (bool shuffle : {false, true})
    for (bool drop_last : {false, true}) {
      const auto order =
          BatchOrder::create(103, {.batch_size = 10, .shuffle = shuffle, .drop_last = drop_last, .seed = 3});
      ASSERT_TRUE(order.ok());
      EXPECT_EQ(order->batches(), drop_last ? 10 : 11);
      std::vector<int64_t> seen;
      for (int64_t i = 0; i < order->batches(); ++i) {
        const auto batch = order->batch(i);
        EXPECT_EQ(batch.size(), i < 10 ? 10u : 3u);
        seen.insert(seen.end(), batch.begin(), batch.end());
      }
      EXPECT_EQ(std::is_sorted(seen.begin(), seen.end()), !shuffle);
      std::sort(seen.begin(), seen.end());
      EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
      EXPECT_EQ(seen.size(), drop_last ? 100u : 103u);
    }
}

TEST(BatchOrder, DependsOnSeedAndEpochAlone) {
  auto a = BatchOrder::create(100, {.batch_size = 100, .shuffle = true, .seed = 5});
  auto b = BatchOrder::create(100, {.batch_size = 7, .shuffle = true, .seed = 5});
  const auto of = [](const BatchOrder &order) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < order.batches(); ++i)
      all.insert(all.end(), order.batch(i).begin(), order.batch(i).end());
    return all;
  };
  const std::vector<int64_t> first = of(*a);
  EXPECT_EQ(first, of(*b));
  a->start_epoch(1);
  EXPECT_NE(first, of(*a));
  b->start_epoch(4);
  b->start_epoch(1); // a resumed run jumps to its epoch
  EXPECT_EQ(of(*a), of(*b));
  a->start_epoch(0);
  EXPECT_EQ(first, of(*a));
  EXPECT_NE(first, epoch_permutation(100, 6, 0));
}

TEST(BatchOrder, IsUniform) {
  // Each of 5 examples in each of 5 places: 1,000 times expected of 5,000, with a standard deviation of 28.
  int count[5][5] = {};
  for (uint64_t epoch = 0; epoch < 5000; ++epoch) {
    const std::vector<int64_t> order = epoch_permutation(5, 0, epoch);
    for (size_t place = 0; place < 5; ++place)
      ++count[place][order[place]];
  }
  for (const auto &row : count)
    for (int times : row)
      EXPECT_NEAR(times, 1000, 150);
}

TEST(BatchOrder, EdgesAndErrors) {
  EXPECT_EQ(BatchOrder::create(0, {.batch_size = 4})->batches(), 0);
  EXPECT_EQ(BatchOrder::create(3, {.batch_size = INT64_MAX})->batches(), 1);
  EXPECT_EQ(BatchOrder::create(3, {.batch_size = 4, .drop_last = true})->batches(), 0);
  EXPECT_NE(BatchOrder::create(3, {.batch_size = 0}).status().message().find("batch_size=0"),
            std::string::npos);
  EXPECT_FALSE(BatchOrder::create(-3, {.batch_size = 1}).ok());
  EXPECT_FALSE(BatchOrder::create(INT64_MAX, {.batch_size = 1}).ok());
}

} // namespace
