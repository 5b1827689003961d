//===- DataTest.cpp - Philox, drawn digits, batch order ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing.h"
#include "frontend/io/BatchOrder.h"
#include "frontend/io/Digits.h"

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

TEST(Digits, DependOnSeedAndIndexAlone) {
  const auto all = draw_digits(1, 0, 50), part = draw_digits(1, 20, 10), other = draw_digits(2, 0, 50);
  ASSERT_TRUE(all.ok() && part.ok() && other.ok());
  EXPECT_TRUE(
      std::equal(part->images.bytes.begin(), part->images.bytes.end(), all->images.bytes.begin() + 20 * 784));
  EXPECT_EQ(part->labels.values<int64_t>()[3], all->labels.values<int64_t>()[23]);
  EXPECT_FALSE(all->images.bytes == other->images.bytes);
  EXPECT_FALSE(draw_digits(1, -1, 5).ok());
  EXPECT_FALSE(draw_digits(1, 0, -5).ok());
  EXPECT_FALSE(draw_digits(1, std::numeric_limits<int64_t>::max(), 1).ok());
}

TEST(Digits, SameBytesEverywhere) {
  // FNV-1a over 1,000 images: another compiler, option or library must not change one pixel.
  const auto digits = draw_digits(0, 0, 1000);
  uint64_t hash = 0xcbf29ce484222325;
  for (std::byte byte : digits->images.bytes)
    hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  EXPECT_EQ(hash, uint64_t{0x1a0f025c148f4bfa}) << std::hex << hash;
}

/// The share of `test` that a rule gets right.
template <typename Rule> double accuracy(const LabelledImages &test, Rule rule) {
  int64_t right = 0;
  const int64_t count = test.labels.elements();
  for (int64_t i = 0; i < count; ++i)
    right += rule(test.images.values<uint8_t>().subspan(static_cast<size_t>(i) * 784, 784)) ==
             test.labels.values<int64_t>()[static_cast<size_t>(i)];
  return static_cast<double>(right) / static_cast<double>(count);
}

TEST(Digits, AreLearnableButNotTrivial) {
  const LabelledImages train = *draw_digits(0, 0, 4000), test = *draw_digits(0, 1000000, 300);
  const auto pixels = train.images.values<uint8_t>();
  const auto labels = train.labels.values<int64_t>();
  std::array<std::array<double, 784>, 10> mean{};
  std::array<int, 10> count{};
  for (size_t i = 0; i < labels.size(); ++i) {
    ++count[static_cast<size_t>(labels[i])];
    for (size_t k = 0; k < 784; ++k)
      mean[static_cast<size_t>(labels[i])][k] += pixels[i * 784 + k];
  }
  for (size_t c = 0; c < 10; ++c) {
    EXPECT_GT(count[c], 320);
    EXPECT_LT(count[c], 480);
    for (double &value : mean[c])
      value /= count[c];
  }
  const double by_mean = accuracy(test, [&](std::span<const uint8_t> image) {
    int64_t best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < 10; ++c) {
      double distance = 0;
      for (size_t k = 0; k < 784; ++k)
        distance += (image[k] - mean[c][k]) * (image[k] - mean[c][k]);
      if (distance < least) {
        least = distance;
        best = static_cast<int64_t>(c);
      }
    }
    return best;
  });
  const double by_neighbour = accuracy(test, [&](std::span<const uint8_t> image) {
    int64_t best = -1;
    int least = std::numeric_limits<int>::max();
    for (size_t i = 0; i < labels.size(); ++i) {
      int distance = 0;
      for (size_t k = 0; k < 784; ++k)
        distance += (image[k] - pixels[i * 784 + k]) * (image[k] - pixels[i * 784 + k]);
      if (distance < least) {
        least = distance;
        best = labels[i];
      }
    }
    return best;
  });
  RecordProperty("by_mean", std::to_string(by_mean));
  RecordProperty("by_neighbour", std::to_string(by_neighbour));
  EXPECT_GT(by_mean, 0.4);
  EXPECT_LT(by_mean, 0.9);
  EXPECT_GT(by_neighbour, 0.85);
  EXPECT_GT(by_neighbour, by_mean + 0.05);
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
