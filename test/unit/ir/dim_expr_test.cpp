//===- dim_expr_test.cpp - Sizes as polynomials ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/DimExpr.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

using namespace weft::ir;

namespace {
const int64_t a = symbolSize("a"), b = symbolSize("b");

std::optional<int64_t> at(int64_t size, int64_t va, int64_t vb) {
  return evaluate(size, [&](std::string_view name) -> std::optional<int64_t> {
    return name == "a" ? std::optional(va) : name == "b" ? std::optional(vb) : std::nullopt;
  });
}

SymbolRanges ranges(int64_t minA, int64_t maxA, int64_t minB, int64_t maxB) {
  SymbolRanges made;
  made.set("a", {minA, maxA});
  made.set("b", {minB, maxB});
  return made;
}
} // namespace

TEST(DimExpr, NumbersSaturate) {
  EXPECT_EQ(mulSizes(int64_t(1) << 62, 2), INT64_MAX);
  EXPECT_EQ(mulSizes(int64_t(1) << 62, -4), -INT64_MAX);
  EXPECT_EQ(addSizes(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(mulSizes(int64_t(1) << 31, int64_t(1) << 31), int64_t(1) << 62);
}

TEST(DimExpr, NumbersAreNumbers) {
  EXPECT_FALSE(isSymbolic(0));
  EXPECT_FALSE(isSymbolic(-1));
  EXPECT_FALSE(isSymbolic(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(addSizes(3, 4), 7);
  EXPECT_EQ(mulSizes(3, 4), 12);
  EXPECT_EQ(ceilDivSizes(9, 4), 3);
  EXPECT_EQ(divideSizes(12, 4), 3);
  EXPECT_EQ(divideSizes(12, 5), std::nullopt);
  EXPECT_EQ(divideSizes(12, 0), std::nullopt);
  EXPECT_EQ(sizeText(12), "12");
}

// Whatever the order of operations, one polynomial has one handle and one text.
TEST(DimExpr, FormsAreCanonical) {
  EXPECT_TRUE(isSymbolic(a));
  EXPECT_EQ(symbolSize("a"), a);
  EXPECT_EQ(addSizes(mulSizes(a, 3), mulSizes(b, a)), addSizes(mulSizes(a, b), addSizes(a, mulSizes(2, a))));
  EXPECT_EQ(sizeText(addSizes(addSizes(1, mulSizes(a, 3)), mulSizes(b, a))), "a * b + 3 * a + 1");
  EXPECT_EQ(subSizes(addSizes(a, 1), a), 1);
  EXPECT_EQ(subSizes(a, a), 0);
  EXPECT_EQ(mulSizes(a, 0), 0);
  EXPECT_EQ(mulSizes(1, a), a);
  EXPECT_EQ(sizeText(subSizes(a, 1)), "a + -1");
  EXPECT_EQ(symbolOf(a), "a");
  EXPECT_EQ(symbolOf(mulSizes(a, 2)), "");
  EXPECT_EQ(symbolsOf(mulSizes(b, a)), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(isKnownSize(a));
  EXPECT_FALSE(isKnownSize(firstSizeHandle + 12345));
  EXPECT_FALSE(isKnownSize(-2));
}

TEST(DimExpr, DivisionIsExactOrNothing) {
  int64_t sum = addSizes(mulSizes(mulSizes(a, a), 6), mulSizes(a, 9));
  EXPECT_EQ(divideSizes(sum, 3), addSizes(mulSizes(mulSizes(a, a), 2), mulSizes(a, 3)));
  EXPECT_EQ(divideSizes(sum, a), addSizes(mulSizes(a, 6), 9));
  EXPECT_EQ(divideSizes(sum, addSizes(mulSizes(a, 2), 3)), mulSizes(a, 3));
  EXPECT_EQ(divideSizes(sum, 2), std::nullopt);
  EXPECT_EQ(divideSizes(sum, b), std::nullopt);
  EXPECT_EQ(divideSizes(4, a), std::nullopt);
  EXPECT_EQ(divideSizes(a, a), 1);
  EXPECT_EQ(ceilDivSizes(mulSizes(a, 64), 64), a);
  EXPECT_EQ(sizeText(ceilDivSizes(mulSizes(a, 10), 64)), "ceildiv(10 * a, 64)");
  EXPECT_TRUE(isMultipleOf(mulSizes(a, 64), 16));
  EXPECT_FALSE(isMultipleOf(addSizes(mulSizes(a, 64), 8), 16));
  EXPECT_EQ(contentOf(addSizes(mulSizes(a, 12), 18)), 6);
}

// Random sums and products have the value of the same sums and products of numbers.
TEST(DimExpr, ArithmeticAgreesWithNumbers) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    int64_t va = random() % 50, vb = random() % 50;
    std::vector<std::pair<int64_t, int64_t>> values{{a, va}, {b, vb}, {2, 2}, {5, 5}};
    for (int step = 0; step < 5; ++step) {
      auto [x, vx] = values[random() % values.size()];
      auto [y, vy] = values[random() % values.size()];
      if (random() % 2)
        values.push_back({addSizes(x, y), vx + vy});
      else if (std::abs(vx) < 1000 && std::abs(vy) < 1000)
        values.push_back({mulSizes(x, y), vx * vy});
    }
    for (auto [size, value] : values) {
      EXPECT_EQ(at(size, va, vb), value) << sizeText(size);
      EXPECT_EQ(at(ceilDivSizes(size, 7), va, vb), (value + 6) / 7);
    }
  }
}

TEST(DimExpr, EvaluationSaysWhatItCannot) {
  EXPECT_EQ(at(mulSizes(a, b), int64_t(1) << 40, int64_t(1) << 40), std::nullopt);
  EXPECT_EQ(evaluate(a, [](std::string_view) -> std::optional<int64_t> { return std::nullopt; }),
            std::nullopt);
  EXPECT_EQ(evaluate(firstSizeHandle + 12345, [](std::string_view) { return std::optional<int64_t>(1); }),
            std::nullopt);
}

// A comparison holds for all values in range, or is not claimed.
TEST(DimExpr, ComparisonsHoldInTheWholeRange) {
  SymbolRanges r = ranges(1, 64, 0, 8);
  EXPECT_TRUE(r.isAtLeast(subSizes(a, 1), 0));
  EXPECT_FALSE(r.isAtLeast(subSizes(b, 1), 0));
  EXPECT_TRUE(r.isAtMost(a, mulSizes(a, 2)));
  EXPECT_TRUE(r.isAtMost(a, mulSizes(a, a)));
  EXPECT_FALSE(r.isAtMost(b, mulSizes(b, a)) && !r.isAtLeast(mulSizes(b, subSizes(a, 1)), 0));
  EXPECT_TRUE(r.isAtMost(a, 64));
  EXPECT_FALSE(r.isAtMost(a, 63));
  EXPECT_FALSE(r.isAtMost(b, a));
  EXPECT_TRUE(r.isAtLeast(ceilDivSizes(mulSizes(a, 3), 4), 0));
  // Nothing is known of a symbol without a range but that it is a size.
  EXPECT_TRUE(r.isAtLeast(symbolSize("c"), 0));
  EXPECT_FALSE(r.isAtLeast(symbolSize("c"), 1));
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    auto poly = [&] {
      auto c = [&] { return static_cast<int64_t>(random() % 7) - 3; };
      return addSizes(addSizes(mulSizes(mulSizes(a, b), c()), mulSizes(a, c())),
                      addSizes(mulSizes(b, c()), c()));
    };
    int64_t x = poly(), y = poly();
    if (!r.isAtMost(x, y))
      continue;
    for (int64_t va = 1; va <= 64; ++va)
      for (int64_t vb = 0; vb <= 8; ++vb)
        ASSERT_LE(*at(x, va, vb), *at(y, va, vb)) << sizeText(x) << " and " << sizeText(y);
  }
}

TEST(DimExpr, BoundsAreTakenAtTheLargestValues) {
  SymbolRanges r = ranges(1, 64, 0, 8);
  EXPECT_EQ(r.largest(addSizes(mulSizes(a, b), 1)), 513);
  EXPECT_EQ(r.largest(7), 7);
  SymbolRanges huge = ranges(1, int64_t(1) << 40, 0, int64_t(1) << 40);
  EXPECT_EQ(huge.largest(mulSizes(a, b)), int64_t(1) << 62);
}

TEST(DimExpr, ProductsAreBounded) {
  EXPECT_EQ(checkedProduct(std::vector<int64_t>{}), 1);
  EXPECT_EQ(checkedProduct(std::vector<int64_t>{2, a, 3}), mulSizes(a, 6));
  EXPECT_EQ(checkedProduct(std::vector<int64_t>{int64_t(1) << 40, int64_t(1) << 40}), std::nullopt);
  EXPECT_EQ(checkedProduct(std::vector<int64_t>{mulSizes(a, int64_t(1) << 40), int64_t(1) << 40}),
            std::nullopt);
  EXPECT_EQ(checkedProduct(std::vector<int64_t>(9, a)), std::nullopt);
}

TEST(DimExpr, NamesAreIdentifiers) {
  for (const char *name : {"n", "batch", "_x", "Seq2", "in", "i"})
    EXPECT_TRUE(isSymbolName(name)) << name;
  for (const char *name : {"", "2n", "a b", "i8", "ui64", "si1", "ceildiv", "a.b", "\xc3\xa4"})
    EXPECT_FALSE(isSymbolName(name)) << name;
}
