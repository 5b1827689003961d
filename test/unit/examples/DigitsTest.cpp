//===- DigitsTest.cpp - Digits that the examples draw --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "common/digits.h"

#include "test/unit/TemporaryFolder.h"
#include "weft/weft.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <span>
#include <vector>

using namespace example;
using weft::data::Split;

namespace {

struct Digits {
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
  Digits(uint64_t seed, uint64_t first, size_t count) : pixels(count * 784) {
    for (size_t i = 0; i < count; ++i)
      labels.push_back(draw_digit(seed, first + i, std::span(pixels).subspan(i * 784).first<784>()));
  }
};

TEST(Digits, DependOnSeedAndIndexAlone) {
  const Digits all(1, 0, 50), part(1, 20, 10), other(2, 0, 50);
  EXPECT_TRUE(std::equal(part.pixels.begin(), part.pixels.end(), all.pixels.begin() + 20 * 784));
  EXPECT_EQ(part.labels[3], all.labels[23]);
  EXPECT_NE(all.pixels, other.pixels);
}

TEST(Digits, SameBytesEverywhere) {
  // FNV-1a over 1,000 images: another compiler, option or library must not change one pixel.
  const Digits digits(0, 0, 1000);
  uint64_t hash = 0xcbf29ce484222325;
  for (uint8_t byte : digits.pixels)
    hash = (hash ^ byte) * 0x100000001b3;
  EXPECT_EQ(hash, uint64_t{0x1a0f025c148f4bfa}) << std::hex << hash;
}

TEST(Digits, AreADatasetInTheFormatOfMnist) {
  const Digits expected(7, 0, 5);
  const weft::data::Dataset train = drawn_digits(Split::train, 5, 7), test = drawn_digits(Split::test, 5, 7);
  EXPECT_EQ(train.size(), 5);
  EXPECT_EQ(train.images().sizes(), (weft::Shape{5, 28, 28}));
  EXPECT_EQ(train.images().to_vector<uint8_t>(), expected.pixels);
  EXPECT_EQ(train.labels().to_vector<int64_t>(), expected.labels);
  EXPECT_NE(train.note().find("drawn by the program"), std::string::npos);
  EXPECT_NE(test.images().to_vector<uint8_t>(), expected.pixels);
  EXPECT_EQ(drawn_digits(Split::train, 0).size(), 0);
  EXPECT_THROW(drawn_digits(Split::train, -1), weft::Error);
}

TEST(Digits, AreDrawnWhereThereIsNoMnist) {
  const weft::test::TemporaryFolder folder;
  ASSERT_EQ(unsetenv("WEFT_DATA_DIR"), 0);
  EXPECT_EQ(mnist_or_drawn_digits("", Split::test).size(), 2000);
  // A given folder without MNIST is an error; digits are not drawn instead.
  EXPECT_THROW(mnist_or_drawn_digits(folder / "none", Split::test), weft::Error);
  std::filesystem::create_directory(folder / "mnist");
  ASSERT_EQ(setenv("WEFT_DATA_DIR", std::string(folder.path()).c_str(), 1), 0);
  try {
    mnist_or_drawn_digits("", Split::test);
    FAIL() << "an empty folder was accepted";
  } catch (const weft::Error &error) {
    EXPECT_NE(std::string(error.what()).find(folder / "mnist"), std::string::npos) << error.what();
  }
  ASSERT_EQ(unsetenv("WEFT_DATA_DIR"), 0);
}

/// The share of `test` that a rule gets right.
template <typename Rule> double accuracy(const Digits &test, Rule rule) {
  size_t right = 0;
  for (size_t i = 0; i < test.labels.size(); ++i)
    right += rule(std::span(test.pixels).subspan(i * 784, 784)) == test.labels[i];
  return static_cast<double>(right) / static_cast<double>(test.labels.size());
}

TEST(Digits, AreLearnableButNotTrivial) {
  const Digits train(0, 0, 4000), test(0, 1000000, 300);
  const std::vector<uint8_t> &pixels = train.pixels;
  const std::vector<int64_t> &labels = train.labels;
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

} // namespace
