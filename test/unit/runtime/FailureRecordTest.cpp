//===- FailureRecordTest.cpp - The smallest key wins, with its value -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/FailureRecord.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

using namespace weft::runtime;

namespace {

int64_t value_for(uint64_t key) { return static_cast<int64_t>(key) * 3 + 1; }

TEST(FailureRecord, HasNoKeyUntilAViolationIsNoted) {
  FailureRecord record;
  EXPECT_FALSE(record.failed());
  record.note(40, value_for(40));
  record.note(50, value_for(50));
  EXPECT_TRUE(record.failed());
  EXPECT_EQ(record.key, 40u);
  EXPECT_EQ(record.value_of(40), value_for(40));
  EXPECT_FALSE(record.value_of(50).has_value()) << "it did not lower the key";
  record.reset();
  EXPECT_FALSE(record.failed());
  EXPECT_FALSE(record.value_of(40).has_value());
}

// A thread that lowers the key and is then late must not give its value to a smaller key.
TEST(FailureRecord, TheSmallestKeyOfAnyThreadHasItsOwnValue) {
  for (int round = 0; round < 200; ++round) {
    FailureRecord record;
    std::vector<std::thread> threads;
    for (uint64_t first : {5, 3, 1, 7})
      threads.emplace_back([&, first] {
        record.note(first + 8, value_for(first + 8));
        record.note(first, value_for(first));
      });
    for (std::thread &thread : threads)
      thread.join();
    ASSERT_EQ(record.key, 1u);
    ASSERT_EQ(record.value_of(1), value_for(1));
  }
}

TEST(FailureRecord, AFullLogKeepsTheKeyAndLosesTheValue) {
  FailureRecord record;
  for (uint64_t key = 100; key > 100 - FailureRecord::logEntries; --key)
    record.note(key, value_for(key));
  EXPECT_EQ(record.value_of(record.key), value_for(record.key));
  record.note(50, value_for(50));
  EXPECT_EQ(record.key, 50u);
  EXPECT_FALSE(record.value_of(50).has_value());
}

TEST(FailureRecord, TakesTheSmallestKeyOfOtherDevices) {
  FailureRecord record;
  record.note(9, value_for(9));
  record.foreign[1] = FailureRecord::noKey;
  record.foreign[3] = 4;
  record.foreign[4] = 2;
  record.merge(1u << 1);
  EXPECT_EQ(record.key, 9u);
  record.merge(1u << 1 | 1u << 3);
  EXPECT_EQ(record.key, 4u) << "the key of device 4 was not copied";
  EXPECT_FALSE(record.value_of(4).has_value()) << "that is on device 3";
}

} // namespace
