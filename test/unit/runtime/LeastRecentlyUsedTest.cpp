//===- LeastRecentlyUsedTest.cpp - A cache of bounded size ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/LeastRecentlyUsed.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace {

using Cache = weft::runtime::LeastRecentlyUsed<std::string, std::unique_ptr<int>>;

int valueOf(Cache &cache, const std::string &key) {
  const std::unique_ptr<int> *found = cache.find(key);
  return found ? **found : -1;
}

TEST(LeastRecentlyUsed, TheOneThatWasNotAskedForLongestGoes) {
  Cache cache(2);
  EXPECT_EQ(valueOf(cache, "a"), -1);
  cache.insert("a", std::make_unique<int>(1));
  cache.insert("b", std::make_unique<int>(2));
  EXPECT_EQ(valueOf(cache, "a"), 1);
  cache.insert("c", std::make_unique<int>(3));
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(valueOf(cache, "b"), -1);
  EXPECT_EQ(valueOf(cache, "a"), 1);
  EXPECT_EQ(valueOf(cache, "c"), 3);
}

TEST(LeastRecentlyUsed, AKeyHasOneValueAndInsertingUsesIt) {
  Cache cache(2);
  cache.insert("a", std::make_unique<int>(1));
  cache.insert("b", std::make_unique<int>(2));
  cache.insert("a", std::make_unique<int>(3));
  EXPECT_EQ(cache.size(), 2u);
  cache.insert("c", std::make_unique<int>(4));
  EXPECT_EQ(valueOf(cache, "a"), 3);
  EXPECT_EQ(valueOf(cache, "b"), -1);
}

TEST(LeastRecentlyUsed, AValueStaysWhereItIsWhileItIsKept) {
  Cache cache(8);
  cache.insert("a", std::make_unique<int>(1));
  const std::unique_ptr<int> *const first = cache.find("a");
  for (int i = 0; i < 7; ++i)
    cache.insert(std::to_string(i), std::make_unique<int>(i));
  EXPECT_EQ(cache.find("a"), first);
}

} // namespace
