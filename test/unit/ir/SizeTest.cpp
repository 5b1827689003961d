//===- SizeTest.cpp - Sizes as numbers and expressions --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Size.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <type_traits>

using namespace weft::ir;

// A number becomes a size by itself, and no size becomes a number, a truth value or an order by itself.
static_assert(std::is_convertible_v<int, Size> && std::is_convertible_v<int64_t, Size> &&
              std::is_convertible_v<size_t, Size>);
static_assert(!std::is_convertible_v<bool, Size> && !std::is_convertible_v<double, Size>);
static_assert(!std::is_convertible_v<Size, int64_t> && !std::is_constructible_v<int64_t, Size> &&
              !std::is_convertible_v<Size, bool> && !std::is_constructible_v<bool, Size>);
template <typename T>
concept Ordered = requires(T a, T b) { a < b; } || requires(T a, T b) { a <= b; } ||
                  requires(T a, T b) { a > b; } || requires(T a, T b) { a >= b; };
template <typename T>
concept Divisible = requires(T a, T b) { a / b; } || requires(T a, T b) { a % b; };
static_assert(Ordered<int64_t> && !Ordered<Size> && Divisible<int64_t> && !Divisible<Size>);
static_assert(std::is_trivially_copyable_v<Size> && sizeof(Size) == 8);

namespace {
const Size a = Size::symbol("a"), b = Size::symbol("b"), none = Size::inexpressible();
constexpr int64_t most = std::numeric_limits<int64_t>::max();

std::optional<int64_t> at(Size size, int64_t va, int64_t vb) {
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

TEST(Sizes, NumbersAreNumbers) {
  EXPECT_TRUE(Size(0).isNumber() && Size(-1).isNumber() && Size(most).isNumber());
  EXPECT_TRUE(Size() == 0);
  EXPECT_EQ(Size(7).asNumber(), 7);
  EXPECT_EQ(Size(7).number(), 7);
  EXPECT_EQ(a.number(), std::nullopt);
  EXPECT_EQ(Size(3) + 4, 7);
  EXPECT_EQ(3 * Size(4), 12);
  EXPECT_EQ(3 - Size(4), -1);
  EXPECT_EQ(ceilDiv(9, 4), 3);
  EXPECT_EQ(divide(12, 4), Size(3));
  EXPECT_EQ(divide(12, 5), std::nullopt);
  EXPECT_EQ(divide(12, 0), std::nullopt);
  EXPECT_EQ(sizeText(12), "12");
  EXPECT_TRUE(Size(0).isCount() && a.isCount());
  EXPECT_FALSE(Size(-1).isCount() || none.isCount());
}

// Integers that represent expressions are no numbers: they are refused, and not taken for an expression.
TEST(Sizes, NumbersOutOfRangeAreInexpressible) {
  EXPECT_FALSE(Size(std::numeric_limits<int64_t>::min()).isExpressible());
  EXPECT_FALSE(Size(a.raw()).isExpressible());
  EXPECT_FALSE(Size(uint64_t(most) + 1).isExpressible());
  EXPECT_EQ(Size(uint64_t(most)), most);
  EXPECT_FALSE(Size::fromRaw(a.raw() ^ 12345).isExpressible());
  EXPECT_EQ(Size::fromRaw(a.raw()), a);
  EXPECT_EQ(Size::fromRaw(12), 12);
  EXPECT_FALSE(Size::fromRaw(none.raw()).isExpressible());
}

TEST(Sizes, OverflowIsInexpressible) {
  EXPECT_FALSE((Size(int64_t(1) << 62) * 2).isExpressible());
  EXPECT_FALSE((Size(int64_t(1) << 62) * -4).isExpressible());
  EXPECT_FALSE((Size(most) + 1).isExpressible());
  EXPECT_FALSE((Size(-most) - 1).isExpressible());
  EXPECT_EQ(Size(int64_t(1) << 31) * (int64_t(1) << 31), int64_t(1) << 62);
  EXPECT_FALSE((a * most + a).isExpressible());
  EXPECT_FALSE((a * most * 2).isExpressible());
  EXPECT_FALSE(ceilDiv(ceilDiv(a, int64_t(1) << 40), int64_t(1) << 40).isExpressible());
  EXPECT_FALSE(ceilDiv(a, 0).isExpressible());
  // The way through a large number is not forgiven either.
  EXPECT_FALSE((Size(most) + 1 - 1).isExpressible());
}

TEST(Sizes, GrowthIsInexpressible) {
  Size power = 1, sum = 0;
  for (int i = 0; i < 8; ++i)
    power *= a;
  EXPECT_TRUE(power.isExpressible());
  EXPECT_FALSE((power * b).isExpressible());
  EXPECT_TRUE((power * 3).isExpressible());
  for (int i = 0; i < 32; ++i)
    sum += Size::symbol("s" + std::to_string(i));
  EXPECT_TRUE(sum.isExpressible());
  EXPECT_FALSE((sum + a).isExpressible());
  EXPECT_EQ(sum - sum, 0);
}

TEST(Sizes, WhatIsInexpressibleStaysSo) {
  const Size quotient = ceilDiv(a, 3);
  for (Size other : {Size(0), Size(1), a, quotient, none}) {
    for (Size made : {none + other, other + none, none - other, other - none, none * other, other * none})
      EXPECT_FALSE(made.isExpressible()) << sizeText(other);
    EXPECT_FALSE(none == other || other == none);
    EXPECT_TRUE(none != other && other != none);
    EXPECT_EQ(divide(none, other), std::nullopt);
    EXPECT_EQ(divide(other, none), std::nullopt);
  }
  EXPECT_FALSE(ceilDiv(none, 2).isExpressible());
  EXPECT_FALSE(productOf(std::vector<Size>{0, none}).isExpressible());
  EXPECT_EQ(at(none, 1, 1), std::nullopt);
  EXPECT_EQ(none.number(), std::nullopt);
  EXPECT_FALSE(none.isNumber() || none.isSymbolic() || isPolynomial(none));
  EXPECT_FALSE(isMultipleOf(none, 1));
  EXPECT_EQ(contentOf(none), 1);
  SymbolRanges r = ranges(0, 4, 0, 4);
  EXPECT_FALSE(r.isAtLeast(none, std::numeric_limits<int64_t>::min()));
  EXPECT_FALSE(r.isAtMost(none, most) || r.isAtMost(0, none) || r.isAtMost(none, none));
  EXPECT_EQ(r.largest(none), int64_t(1) << 62);
  EXPECT_EQ(sizesText(std::vector<Size>{4, none}), "4, <inexpressible>");
  EXPECT_TRUE(symbolsOf(none).empty() && symbolOf(none).empty());
}

// Equal polynomials are equal sizes with equal texts, for every order of operations.
TEST(Sizes, FormsAreCanonical) {
  EXPECT_TRUE(a.isSymbolic() && !a.isNumber());
  EXPECT_EQ(Size::symbol("a"), a);
  EXPECT_EQ(a * 3 + b * a, a * b + (a + 2 * a));
  EXPECT_EQ(sizeText(1 + a * 3 + b * a), "a * b + 3 * a + 1");
  EXPECT_EQ(a + 1 - a, 1);
  EXPECT_EQ(a - a, 0);
  EXPECT_EQ(a * 0, 0);
  EXPECT_EQ(1 * a, a);
  EXPECT_EQ(sizeText(a - 1), "a + -1");
  EXPECT_EQ(symbolOf(a), "a");
  EXPECT_EQ(symbolOf(a * 2), "");
  EXPECT_EQ(symbolsOf(b * a), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(Size::of({{{2, {"b", "a"}}, {1, {}}, {-1, {"a", "b"}}}, 1}), a * b + 1);
}

TEST(Sizes, DivisionIsExactOrNothing) {
  Size sum = a * a * 6 + a * 9;
  EXPECT_EQ(divide(sum, 3), a * a * 2 + a * 3);
  EXPECT_EQ(divide(sum, a), a * 6 + 9);
  EXPECT_EQ(divide(sum, a * 2 + 3), a * 3);
  EXPECT_EQ(divide(sum, 2), std::nullopt);
  EXPECT_EQ(divide(sum, b), std::nullopt);
  EXPECT_EQ(divide(4, a), std::nullopt);
  EXPECT_EQ(divide(a, a), Size(1));
  EXPECT_EQ(divide(ceilDiv(a, 3), 1), std::nullopt);
  EXPECT_EQ(ceilDiv(a * 64, 64), a);
  EXPECT_EQ(ceilDiv(a, 1), a);
  EXPECT_EQ(sizeText(ceilDiv(a * 10, 64)), "ceildiv(10 * a, 64)");
  EXPECT_TRUE(isMultipleOf(a * 64, 16));
  EXPECT_FALSE(isMultipleOf(a * 64 + 8, 16));
  EXPECT_EQ(contentOf(a * 12 + 18), 6);
}

// Of a rounded quotient only such sums are sizes as can be taken under the rounding.
TEST(Sizes, RoundedQuotientsAreExactOrInexpressible) {
  const Size third = ceilDiv(a, 3), other = ceilDiv(b, 3);
  EXPECT_EQ(third + 0, third);
  EXPECT_EQ(third * 1, third);
  EXPECT_EQ(third * 0, 0);
  EXPECT_EQ(third - third, 0);
  EXPECT_EQ(sizeText(third + 2), "ceildiv(a + 6, 3)");
  EXPECT_EQ(sizeText(b + third), "ceildiv(a + 3 * b, 3)");
  EXPECT_EQ(third + 2 - third, 2);
  EXPECT_EQ(third - (third - b), b);
  EXPECT_EQ(third + b - b, third);
  EXPECT_EQ(ceilDiv(third, 4), ceilDiv(a, 12));
  for (Size size : {third + third, third + other, third - other, third * 2, third * -1, third * a,
                    third * other, 0 - third, a - third, ceilDiv(a, 3) - ceilDiv(a, 4)})
    EXPECT_FALSE(size.isExpressible()) << sizeText(size);
}

// Every operation on random expressions either cannot be expressed, or has at random values of the symbols
// the value that the operation has on numbers without bounds.
TEST(Sizes, OperationsAgreeWithNumbersOrAreInexpressible) {
  using Wide = __int128;
  std::mt19937_64 random(7);
  size_t expressed = 0, lost = 0;
  auto up = [](Wide value, Wide by) { return value / by + (value % by > 0); };
  for (int round = 0; round < 2000; ++round) {
    int64_t va = static_cast<int64_t>(random() % 50), vb = static_cast<int64_t>(random() % 50);
    const int64_t big = static_cast<int64_t>(random() >> (2 + random() % 60));
    struct Known {
      Size size;
      Wide value;
    };
    std::vector<Known> known{{a, va}, {b, vb}, {2, 2}, {-3, -3}, {ceilDiv(a, 4), up(va, 4)}, {big, big}};
    for (int step = 0; step < 6; ++step) {
      const Known x = known[random() % known.size()], y = known[random() % known.size()];
      const auto by = static_cast<int64_t>(1 + random() % 9);
      Known made;
      switch (random() % 5) {
      case 0:
        made = {x.size + y.size, x.value + y.value};
        break;
      case 1:
        made = {x.size - y.size, x.value - y.value};
        break;
      case 2:
        made = {x.size * y.size, x.value * y.value};
        break;
      case 3:
        made = {ceilDiv(x.size, by), up(x.value, by)};
        break;
      default: {
        std::optional<Size> quotient = divide(x.size, y.size);
        if (!quotient || y.value == 0)
          continue;
        ASSERT_EQ(x.value % y.value, 0) << sizeText(x.size) << " / " << sizeText(y.size);
        made = {*quotient, x.value / y.value};
      }
      }
      if (!made.size.isExpressible()) {
        ++lost;
        continue;
      }
      ++expressed;
      // A step of the evaluation may overflow; if there is a value, it is right.
      if (auto value = at(made.size, va, vb))
        ASSERT_TRUE(*value == made.value)
            << sizeText(made.size) << " of " << sizeText(x.size) << " and " << sizeText(y.size);
      ASSERT_EQ(Size::fromRaw(made.size.raw()), made.size);
      if (made.value <= most / 4 && made.value >= -most / 4)
        known.push_back(made);
    }
  }
  EXPECT_GT(expressed, 5000u);
  EXPECT_GT(lost, 500u);
}

TEST(Sizes, EvaluationSaysWhatItCannot) {
  EXPECT_EQ(at(a * b, int64_t(1) << 40, int64_t(1) << 40), std::nullopt);
  EXPECT_EQ(evaluate(a, [](std::string_view) -> std::optional<int64_t> { return std::nullopt; }),
            std::nullopt);
}

// A comparison is proven only if it holds for all values in range.
TEST(Sizes, ComparisonsHoldInTheWholeRange) {
  SymbolRanges r = ranges(1, 64, 0, 8);
  EXPECT_TRUE(r.isAtLeast(a - 1, 0));
  EXPECT_FALSE(r.isAtLeast(b - 1, 0));
  EXPECT_TRUE(r.isAtMost(a, a * 2));
  EXPECT_TRUE(r.isAtMost(a, a * a));
  EXPECT_FALSE(r.isAtMost(b, b * a) && !r.isAtLeast(b * (a - 1), 0));
  EXPECT_TRUE(r.isAtMost(a, 64));
  EXPECT_FALSE(r.isAtMost(a, 63));
  EXPECT_FALSE(r.isAtMost(b, a));
  EXPECT_TRUE(r.isAtLeast(ceilDiv(a * 3, 4), 0));
  EXPECT_TRUE(r.isAtLeast(ceilDiv(a * 3, 4), 1));
  EXPECT_FALSE(r.isAtLeast(ceilDiv(a * 3, 4), 2));
  EXPECT_TRUE(r.isAtMost(ceilDiv(a * 3, 4), a));
  EXPECT_FALSE(r.isAtMost(ceilDiv(a * 5, 4), a));
  EXPECT_TRUE(r.isAtMost(ceilDiv(a, 3), ceilDiv(a, 3)));
  // A symbol without a range is only known to be a size.
  EXPECT_TRUE(r.isAtLeast(Size::symbol("c"), 0));
  EXPECT_FALSE(r.isAtLeast(Size::symbol("c"), 1));
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    auto poly = [&] {
      auto c = [&] { return static_cast<int64_t>(random() % 7) - 3; };
      Size sum = a * b * c() + a * c() + b * c() + c();
      return random() % 3 ? sum : ceilDiv(sum, 1 + static_cast<int64_t>(random() % 5));
    };
    Size x = poly(), y = poly();
    for (int64_t va = 1; va <= 64; ++va)
      for (int64_t vb = 0; vb <= 8; ++vb)
        ASSERT_LE(*at(x, va, vb), r.largest(x)) << sizeText(x);
    if (!r.isAtMost(x, y))
      continue;
    for (int64_t va = 1; va <= 64; ++va)
      for (int64_t vb = 0; vb <= 8; ++vb)
        ASSERT_LE(*at(x, va, vb), *at(y, va, vb)) << sizeText(x) << " and " << sizeText(y);
  }
}

// A symbol with a negative coefficient has its lowest value where the size is largest.
TEST(Sizes, BoundsHoldForSizesThatFall) {
  SymbolRanges r = ranges(1, 64, 0, 8);
  EXPECT_EQ(r.largest(100 - a), 99);
  EXPECT_EQ(r.largest(a * b - a), 511);
  EXPECT_EQ(r.largest(ceilDiv(101 - a, 3)), 34);
  EXPECT_EQ(r.largest(-1 * a), -1);
  EXPECT_EQ(r.atLargest(100 - a), 36);
  EXPECT_EQ(r.atLargest(Size::symbol("unknown")), std::nullopt);
  EXPECT_EQ(r.largest(Size::symbol("unknown")), int64_t(1) << 62);
  EXPECT_EQ(r.largest(5 - Size::symbol("unknown")), 5);
  SymbolRanges huge = ranges(1, int64_t(1) << 40, 0, int64_t(1) << 40);
  EXPECT_EQ(huge.largest(7 - a * b), 7);
  EXPECT_EQ(huge.largest(a * b - a * b * b), int64_t(1) << 62);
  EXPECT_EQ(huge.atLargest(a * b), std::nullopt);
}

TEST(Sizes, BoundsAreTakenAtTheLargestValues) {
  SymbolRanges r = ranges(1, 64, 0, 8);
  EXPECT_EQ(r.largest(a * b + 1), 513);
  EXPECT_EQ(r.largest(7), 7);
  EXPECT_EQ(r.largest(std::vector<Size>{2, a}), (std::vector<int64_t>{2, 64}));
  SymbolRanges huge = ranges(1, int64_t(1) << 40, 0, int64_t(1) << 40);
  EXPECT_EQ(huge.largest(a * b), int64_t(1) << 62);
}

TEST(Sizes, Products) {
  EXPECT_EQ(productOf({}), 1);
  EXPECT_EQ(productOf(std::vector<Size>{2, a, 3}), a * 6);
  EXPECT_FALSE(productOf(std::vector<Size>{int64_t(1) << 40, int64_t(1) << 40}).isExpressible());
  EXPECT_FALSE(productOf(std::vector<Size>{a * (int64_t(1) << 40), int64_t(1) << 40}).isExpressible());
  EXPECT_FALSE(productOf(std::vector<Size>(9, a)).isExpressible());
}

TEST(Sizes, NamesAreIdentifiers) {
  for (const char *name : {"n", "batch", "_x", "Seq2", "in", "i"})
    EXPECT_TRUE(isSymbolName(name)) << name;
  for (const char *name : {"", "2n", "a b", "i8", "ui64", "si1", "ceildiv", "a.b", "\xc3\xa4"})
    EXPECT_FALSE(isSymbolName(name)) << name;
}
