//===- LiteralTest.cpp - Rounding, wrapping, bytes ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Support.h"

#include <cstring>

using namespace weft;
using namespace weft::ir;
using namespace weft::ir::test;

TEST(Literal, RoundsHalvesOnceToNearestEven) {
  EXPECT_EQ(roundTo(DType::f16, 2049), 2048);
  EXPECT_EQ(roundTo(DType::f16, 2051), 2052);
  EXPECT_EQ(roundTo(DType::f16, 65519.99), 65504);
  EXPECT_EQ(roundTo(DType::f16, 65520), inf);
  EXPECT_EQ(roundTo(DType::f16, -65520), -inf);
  EXPECT_EQ(roundTo(DType::f16, std::ldexp(1.0, -25)), 0);
  EXPECT_EQ(roundTo(DType::f16, std::ldexp(1.5, -25)), std::ldexp(1.0, -24));
  EXPECT_TRUE(std::isnan(roundTo(DType::f16, NaN)));
  EXPECT_TRUE(std::signbit(roundTo(DType::f16, -0.0)));
  EXPECT_EQ(roundTo(DType::bf16, 1 + std::ldexp(1.0, -8)), 1);
  EXPECT_EQ(roundTo(DType::bf16, 1 + std::ldexp(3.0, -8)), 1 + std::ldexp(4.0, -8));
  EXPECT_EQ(roundTo(DType::bf16, 3.4e38), inf);
  EXPECT_EQ(roundTo(DType::bf16, std::ldexp(1.0, -133)), std::ldexp(1.0, -133));
  EXPECT_EQ(roundTo(DType::bf16, std::ldexp(1.0, -134)), 0);
  // By way of f32 these would be ties that go to the even neighbour.
  EXPECT_EQ(roundTo(DType::f16, 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)), 1 + std::ldexp(1.0, -10));
  EXPECT_EQ(roundTo(DType::bf16, 1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40)), 1 + std::ldexp(1.0, -7));
  EXPECT_EQ(roundTo(DType::f32, 16777217.0), 16777216.0);
  EXPECT_EQ(roundTo(DType::f64, 0.1), 0.1);
}

TEST(Literal, WrapsIntegers) {
  EXPECT_EQ(wrapTo(DType::i8, 128), -128);
  EXPECT_EQ(wrapTo(DType::i8, -129), 127);
  EXPECT_EQ(wrapTo(DType::ui8, -1), 255);
  EXPECT_EQ(wrapTo(DType::ui8, 256), 0);
  EXPECT_EQ(wrapTo(DType::i16, 40000), 40000 - 65536);
  EXPECT_EQ(wrapTo(DType::i32, int64_t{1} << 31), -(int64_t{1} << 31));
  EXPECT_EQ(wrapTo(DType::i64, -5), -5);
  EXPECT_EQ(wrapTo(DType::i1, 2), 0);
  EXPECT_EQ(wrapTo(DType::i1, -1), 1);
}

TEST(Literal, CountsAndStrides) {
  Literal literal(DType::f32, {2, 3, 4});
  EXPECT_EQ(literal.count(), 24);
  EXPECT_EQ(literal.rank(), 3);
  EXPECT_EQ(literal.strides(), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(Literal(DType::i1, {}).count(), 1);
  EXPECT_EQ(Literal(DType::i1, {5, 0}).count(), 0);
}

TEST(Literal, VisitsIndicesInRowMajorOrder) {
  std::vector<std::vector<int64_t>> seen;
  forEachIndex({2, 3}, [&](llvm::ArrayRef<int64_t> index, int64_t linear) {
    EXPECT_EQ(linear, static_cast<int64_t>(seen.size()));
    seen.push_back(index.vec());
  });
  EXPECT_EQ(seen, (std::vector<std::vector<int64_t>>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
  int visits = 0;
  forEachIndex({}, [&](llvm::ArrayRef<int64_t> index, int64_t) { visits += index.empty(); });
  EXPECT_EQ(visits, 1);
  forEachIndex({3, 0, 2}, [&](llvm::ArrayRef<int64_t>, int64_t) { ++visits; });
  EXPECT_EQ(visits, 1);
}

/// All 65,536 patterns survive a trip through doubles; a NaN stays a NaN.
static void expectPatternsSurvive(DType dtype, uint16_t exponentMask) {
  std::vector<uint16_t> patterns(65536), back(65536);
  for (size_t i = 0; i < patterns.size(); ++i)
    patterns[i] = static_cast<uint16_t>(i);
  Literal literal = Literal::fromBytes(dtype, {65536}, patterns.data());
  literal.toBytes(back.data());
  for (size_t i = 0; i < patterns.size(); ++i) {
    bool isNan = (i & exponentMask) == exponentMask && (i & 0x7FFF & ~exponentMask) != 0;
    EXPECT_EQ(std::isnan(literal.real[i]), isNan) << i;
    if (!isNan)
      EXPECT_EQ(back[i], patterns[i]);
  }
}

TEST(Literal, HalvesSurviveMemory) {
  expectPatternsSurvive(DType::f16, 0x7C00);
  expectPatternsSurvive(DType::bf16, 0x7F80);
  uint16_t one = 0x3C00, third = 0x3555, bfloat = 0x4049;
  EXPECT_EQ(Literal::fromBytes(DType::f16, {}, &one).real[0], 1.0);
  EXPECT_EQ(Literal::fromBytes(DType::f16, {}, &third).real[0], 0.333251953125);
  EXPECT_EQ(Literal::fromBytes(DType::bf16, {}, &bfloat).real[0], 3.140625);
}

template <typename T> static void expectBytes(DType dtype, const std::vector<T> &memory) {
  Literal literal = Literal::fromBytes(dtype, {static_cast<int64_t>(memory.size())}, memory.data());
  for (size_t i = 0; i < memory.size(); ++i) {
    if (literal.isReal())
      EXPECT_EQ(literal.real[i], static_cast<double>(memory[i]));
    else
      EXPECT_EQ(literal.whole[i], static_cast<int64_t>(memory[i]));
  }
  std::vector<T> back(memory.size());
  literal.toBytes(back.data());
  EXPECT_EQ(back, memory);
  EXPECT_EQ(sizeof(T), itemsize(dtype));
}

TEST(Literal, EveryTypeSurvivesMemory) {
  expectBytes<uint8_t>(DType::i1, {0, 1, 1, 0});
  expectBytes<int8_t>(DType::i8, {-128, -1, 0, 127});
  expectBytes<uint8_t>(DType::ui8, {0, 127, 128, 255});
  expectBytes<int16_t>(DType::i16, {-32768, -1, 0, 32767});
  expectBytes<int32_t>(DType::i32, {INT32_MIN, -1, 0, INT32_MAX});
  expectBytes<int64_t>(DType::i64, {INT64_MIN, -1, 0, INT64_MAX});
  expectBytes<float>(DType::f32, {-1.5f, 0.1f, 3e38f, 1e-45f});
  expectBytes<double>(DType::f64, {-1.5, 0.1, 1e308, 5e-324});
}

TEST(Literal, AnyByteThatIsNotZeroIsTrue) {
  uint8_t bytes[] = {0, 1, 2, 255}, back[4];
  Literal literal = Literal::fromBytes(DType::i1, {4}, bytes);
  expectWholes(literal, {0, 1, 1, 1});
  literal.toBytes(back);
  EXPECT_EQ(back[3], 1);
}

TEST(Literal, MemoryNeedsNoAlignment) {
  char bytes[9] = {};
  double value = 2.5;
  std::memcpy(bytes + 1, &value, sizeof(value));
  EXPECT_EQ(Literal::fromBytes(DType::f64, {}, bytes + 1).real[0], 2.5);
}
