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

/// WEFT_TEST_LEVEL, which determines how much a test does. scripts/test sets it to `quick`, `default`, `ci`
/// or `full`.
inline std::string testLevel() {
  const char *level = std::getenv("WEFT_TEST_LEVEL");
  return level ? level : "default";
}

/// Whether a test skips the next of many similar cases. In daily work it does the first and every third one.
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
