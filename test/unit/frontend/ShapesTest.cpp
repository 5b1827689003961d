//===- ShapesTest.cpp - Programs with ever new shapes -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"
#include "test/unit/TestLevel.h"

using namespace weft;

/// The number of a shape as a shape.
static Shape shapeOf(int64_t i) { return {i % 331 + 1, i / 331 + 1}; }

#if !__has_feature(address_sanitizer) // keeps what is freed for a while

// What is cached for a shape (results of inference, types in the compiler's context) has half a KiB, so
// 40,000 shapes would have 20 MiB. It is kept for some thousand shapes, which the first 20,000 have filled.
// Reading a number starts the count of recorded operations again, so no flush is due and nothing is compiled
// for a shape: the programs of flushes are kept as well, 1,024 of them, which the next test fills.
TEST(EverNewShapes, RecordingThemTakesBoundedMemory) {
  const auto record = [](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      (zeros(shapeOf(i)).t() + 1).sum({0});
      if (i % 100 == 0)
        EXPECT_EQ((ones({2}) + 1).sum().item<float>(), 4);
    }
  };
  record(0, 20000);
  const int64_t before = residentBytes();
  const uint64_t compiled = compile_count();
  record(20000, 60000);
  EXPECT_LT((residentBytes() - before) >> 20, 10) << "MiB";
  EXPECT_EQ(compile_count(), compiled);
}

// Every compilation leaves some KiB of types, locations and attributes in its context. At most 1,024 flushes
// and 4,096 kernels are kept, so 5,000 shapes have filled both.
TEST(EverNewShapes, ComputingThemTakesBoundedMemory) {
  if (weft::testing::testLevel() != "full")
    GTEST_SKIP() << "100,000 compilations take most of an hour: WEFT_TEST_LEVEL=full";
  const auto compute = [](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i)
      EXPECT_EQ((full(shapeOf(i), 2) * 0.5).sum().item<float>(),
                static_cast<float>((i % 331 + 1) * (i / 331 + 1)));
  };
  compute(0, 5000);
  const int64_t before = residentBytes();
  compute(5000, 100000);
  EXPECT_LT((residentBytes() - before) >> 20, 64) << "MiB";
}

#endif
