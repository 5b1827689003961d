//===- TestLevel.h - How much a test does --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_TESTLEVEL_H
#define WEFT_TEST_UNIT_TESTLEVEL_H

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace weft::testing {

/// How much to do: WEFT_TEST_LEVEL, which scripts/test sets to `quick`, `default`, `ci` or `full`.
inline std::string testLevel() {
  const char *level = std::getenv("WEFT_TEST_LEVEL");
  return level ? level : "default";
}

/// Whether to pass over the next of many cases of one kind: in daily work a test does its first and every
/// third.
inline bool passedOver() {
  static const ::testing::TestInfo *last = nullptr;
  static unsigned calls = 0;
  const ::testing::TestInfo *current = ::testing::UnitTest::GetInstance()->current_test_info();
  if (current != last)
    calls = 0;
  last = current;
  return calls++ % 3 != 0 && testLevel() == "quick";
}

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_TESTLEVEL_H
