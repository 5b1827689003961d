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

// The cached data of a shape (types in the compiler's context, results of inference) has half a KiB, so
// 40,000 shapes would have 20 MiB. Some thousand shapes are kept, which the first 20,000 have filled.
TEST(EverNewShapes, RecordingThemTakesBoundedMemory) {
  const auto record = [](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i)
      (zeros(shapeOf(i)).t() + 1).sum({0});
  };
  record(0, 20000);
  const int64_t before = residentBytes();
  record(20000, 60000);
  EXPECT_LT((residentBytes() - before) >> 20, 10) << "MiB";
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
