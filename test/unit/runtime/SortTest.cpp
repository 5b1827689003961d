//===- SortTest.cpp - Sorts of rows ----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/sort/Sort.h"

#include "PlanFixture.h"
#include "runtime/plan/SortPlan.h"
#include "runtime/threads/Executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

/// What a sort gives, by the standard library's stable sort of places.
template <typename T>
std::vector<int64_t> expected(const std::vector<T> &row, bool descending, int64_t count) {
  std::vector<int64_t> places(row.size());
  std::iota(places.begin(), places.end(), 0);
  const auto less = [](T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a < b || (std::isnan(b) && !std::isnan(a));
    else
      return a < b;
  };
  std::vector<int64_t> sorted;
  // Insertion by halves keeps this independent of what is tested.
  for (int64_t place : places) {
    const T element = row[static_cast<size_t>(place)];
    const auto at = std::partition_point(sorted.begin(), sorted.end(), [&](int64_t other) {
      const T there = row[static_cast<size_t>(other)];
      return descending ? !less(there, element) : !less(element, there);
    });
    sorted.insert(at, place);
  }
  sorted.resize(static_cast<size_t>(count));
  return sorted;
}

template <typename T>
void expect_sorted(DType dtype, const std::vector<T> &elements, int64_t rows, int64_t count,
                   bool descending) {
  const auto extent = static_cast<int64_t>(elements.size()) / rows;
  const Sort sort({dtype, rows, extent, count, descending});
  for (const bool serial : {true, false}) {
    std::vector<T> values(static_cast<size_t>(rows * count));
    std::vector<int64_t> indices(values.size(), -1);
    std::vector<uint64_t> scratch(sort.scratch_bytes(executor().width()) / 8 + 1);
    sort.run({elements.data(), values.data(), indices.data()}, scratch.data(), serial);
    for (int64_t row = 0; row < rows; ++row) {
      const std::vector<T> source(elements.begin() + row * extent, elements.begin() + (row + 1) * extent);
      const std::vector<int64_t> places = expected(source, descending, count);
      for (int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<size_t>(row * count + i);
        ASSERT_EQ(indices[at], places[static_cast<size_t>(i)])
            << "element " << i << " of row " << row << " of " << extent << ", serial " << serial;
        const T element = source[static_cast<size_t>(indices[at])];
        ASSERT_EQ(std::memcmp(&values[at], &element, sizeof(T)), 0);
      }
    }
  }
}

/// Few different numbers, so that many are equal, and what is special about floating-point numbers.
template <typename T> std::vector<T> numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> made;
  const int range = seed % 2 ? 40 : 1 << 30;
  for (size_t i = 0; i < count; ++i) {
    const auto drawn = static_cast<int>(random() % static_cast<unsigned>(range)) - range / 2;
    if constexpr (std::is_floating_point_v<T>) {
      constexpr T special[] = {T(0),
                               T(-0.0),
                               std::numeric_limits<T>::infinity(),
                               -std::numeric_limits<T>::infinity(),
                               std::numeric_limits<T>::quiet_NaN(),
                               std::numeric_limits<T>::denorm_min()};
      made.push_back(random() % 8 ? static_cast<T>(drawn) / 4 : special[random() % std::size(special)]);
      if (random() % 64 == 0)
        made.back() = std::copysign(std::numeric_limits<T>::quiet_NaN(), T(-1));
    } else {
      made.push_back(static_cast<T>(drawn));
    }
  }
  return made;
}

template <typename T> void sort_of_every_length(DType dtype) {
  unsigned seed = 0;
  // Around the lengths from which another way is taken.
  for (const int64_t extent : {1, 2, 3, 17, 255, 256, 257, 1024, 1025, 4096})
    for (const int64_t count : {extent, (extent + 1) / 2, extent / 16, int64_t(1), int64_t(0)})
      for (const bool descending : {false, true})
        expect_sorted(dtype, numbers<T>(static_cast<size_t>(3 * extent), ++seed), 3, count, descending);
}

} // namespace

TEST(Sort, OfEveryLengthAndType) {
  sort_of_every_length<float>(DType::f32);
  sort_of_every_length<double>(DType::f64);
  sort_of_every_length<int8_t>(DType::i8);
  sort_of_every_length<uint8_t>(DType::ui8);
  sort_of_every_length<int16_t>(DType::i16);
  sort_of_every_length<int32_t>(DType::i32);
  sort_of_every_length<int64_t>(DType::i64);
}

TEST(Sort, OfHalves) {
  // The numbers of f16 and bf16 that are written here are in order, but for both zeros.
  const std::vector<uint16_t> f16{0xfc00, 0xc000, 0x8001, 0x8000, 0x0000,
                                  0x3c00, 0x7bff, 0x7c00, 0x7e00, 0xfe00};
  const std::vector<uint16_t> bf16{0xff80, 0xc000, 0x8001, 0x8000, 0x0000,
                                   0x3f80, 0x7f7f, 0x7f80, 0x7fc0, 0xffc0};
  for (auto [dtype, ordered] : {std::pair(DType::f16, f16), std::pair(DType::bf16, bf16)})
    for (const bool descending : {false, true}) {
      const Sort sort({dtype, 1, 10, 10, descending});
      std::vector<uint16_t> values(10);
      std::vector<int64_t> indices(10), expected{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
      if (descending)
        expected = {8, 9, 7, 6, 5, 3, 4, 2, 1, 0};
      std::vector<uint64_t> scratch(sort.scratch_bytes(1) / 8 + 1);
      sort.run({ordered.data(), values.data(), indices.data()}, scratch.data(), true);
      EXPECT_EQ(indices, expected);
    }
}

TEST(Sort, OfLongRowsByAllThreads) {
  for (const int64_t extent : {65536, 65537, 100000}) {
    const std::vector<float> elements = numbers<float>(static_cast<size_t>(extent), 6);
    expect_sorted(DType::f32, elements, 1, extent, true);
    expect_sorted(DType::f32, elements, 1, 5, false);
  }
  expect_sorted(DType::f64, numbers<double>(2 * 70000, 8), 2, 70000, false);
  expect_sorted(DType::i64, numbers<int64_t>(70000, 9), 1, 4000, true);
}

TEST(SortPlan, RefusesLaunchesThatAreWrong) {
  const auto verified = [](const std::function<void(fb::SortLaunchT &, fb::LaunchT &)> &change) {
    PlanBuilder b;
    b.argument("x", DType::f32, {3, 10});
    b.result("v", DType::f32, {3, 4});
    b.result("i", DType::i64, {3, 4});
    fb::SortLaunchT sort;
    sort.dtype = static_cast<uint8_t>(DType::f32);
    sort.rows = 3;
    sort.extent = 10;
    sort.count = 4;
    sort.source = b.buffer(fb::Storage::argument, 0, 0, 120);
    sort.values = b.buffer(fb::Storage::result, 0, 0, 48);
    sort.indices = b.buffer(fb::Storage::result, 1, 0, 96);
    fb::LaunchT &launch = b.launch("sort");
    change(sort, launch);
    launch.op.Set(std::move(sort));
    return b.verdict(nullptr);
  };
  const auto expect = [&](const std::function<void(fb::SortLaunchT &, fb::LaunchT &)> &change,
                          const char *text) {
    const Status status = verified(change);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  };
  EXPECT_TRUE(verified([](fb::SortLaunchT &, fb::LaunchT &) {}).ok());
  expect([](fb::SortLaunchT &s, fb::LaunchT &) { s.dtype = 77; },
         "sorts elements of the unknown type number 77");
  expect([](fb::SortLaunchT &s, fb::LaunchT &) { s.count = 11; }, "keeps 11 of each, which is not possible");
  expect([](fb::SortLaunchT &s, fb::LaunchT &) { s.rows = -1; }, "sorts -1 rows of 10 elements");
  expect([](fb::SortLaunchT &s, fb::LaunchT &) { s.rows = INT64_MAX; }, "which is not possible");
  expect([](fb::SortLaunchT &s, fb::LaunchT &) { s.source = 9; }, "has source in buffer 9 of 3");
  expect([](fb::SortLaunchT &s, fb::LaunchT &) { s.count = 5; }, "has values of 48 bytes, expected 60");
  expect([](fb::SortLaunchT &s, fb::LaunchT &) { s.values = s.source; },
         "has values of 120 bytes, expected 48");
  expect([](fb::SortLaunchT &, fb::LaunchT &l) { l.may_fail = true; },
         "sorts, and is marked as one that may fail");
}
