//===- PartsTest.cpp - Parts of one tensor as arguments --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <random>

using namespace weft;

TEST(Parts, ThatDoNotOverlapMayBeWritten) {
  auto f = compile([](Tensor a, Tensor b) {
    a += b * 10;
    return a - b;
  });
  Tensor rows = arange(8, f32).reshape({4, 2});
  EXPECT_EQ(floats(f(rows.slice(0, 0, 2), rows.slice(0, 2, 4))), Floats({36, 46, 56, 66}));
  EXPECT_EQ(floats(rows), Floats({40, 51, 62, 73, 4, 5, 6, 7}));
  // Columns, whose ranges of memory interleave, and every other element.
  Tensor columns = arange(8, f32).reshape({4, 2});
  f(columns.select(1, 0), columns.select(1, 1));
  EXPECT_EQ(floats(columns), Floats({10, 1, 32, 3, 54, 5, 76, 7}));
  Tensor line = arange(8, f32);
  f(line.slice(0, 1, 8, 2), line.slice(0, 0, 8, 2));
  EXPECT_EQ(floats(line), Floats({0, 1, 2, 23, 4, 45, 6, 67}));
}

TEST(Parts, ThatDoNotOverlapMayBothBeWritten) {
  auto swap = compile([](Tensor a, Tensor b) {
    Tensor kept = a + 0;
    a.copy_(b);
    b.copy_(kept);
  });
  Tensor square = arange(9, f32).reshape({3, 3});
  swap(square.select(0, 0), square.select(0, 2));
  EXPECT_EQ(floats(square), Floats({6, 7, 8, 3, 4, 5, 0, 1, 2}));
  swap(square.t().select(0, 0), square.t().select(0, 2));
  EXPECT_EQ(floats(square), Floats({8, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_LE(swap.variants().size(), 2u);
}

TEST(Parts, ThatOverlapAreAnErrorAlsoWhereAVariantFitsOtherwise) {
  auto f = compile([](Tensor a, Tensor b) { a += b; });
  Tensor x = arange(6, f32);
  f(x.slice(0, 0, 2), x.slice(0, 2, 4)); // a variant for these shapes is there
  EXPECT_ERROR(f(x.slice(0, 0, 2), x.slice(0, 1, 3)),
               "argument 1 shares memory with argument 0, and the function writes that one");
  EXPECT_ERROR(f(x.slice(0, 0, 1), x.slice(0, 0, 1)), "shares memory");
  EXPECT_EQ(floats(x), Floats({2, 4, 2, 3, 4, 5}));
  f(x.slice(0, 2, 4), x.slice(0, 4, 6));
  EXPECT_EQ(floats(x), Floats({2, 4, 6, 8, 4, 5}));
}

// Every pair of parts of a tensor: an error if an element is in both, otherwise the results of lazy
// execution.
TEST(Parts, OfRandomMapsAreRefusedExactlyWhereTheyMeet) {
  std::mt19937 engine(12);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(n)); };
  size_t refused = 0, ran = 0;
  for (int round = 0; round < 60; ++round) {
    const Shape shape = round % 3 == 0 ? Shape{24} : round % 3 == 1 ? Shape{4, 6} : Shape{2, 3, 4};
    // The same map for a tensor of marks, the compiled call and the lazy one.
    struct Cut {
      int64_t dim, start, end, step;
    };
    const auto draw = [&] {
      std::vector<Cut> cuts;
      for (size_t d = 0; d < shape.size(); ++d) {
        const int64_t step = 1 + below(3), length = 1 + below(2), room = shape[d] - (length - 1) * step;
        if (room < 1) {
          cuts.push_back({static_cast<int64_t>(d), below(shape[d]), 0, 1});
          cuts.back().end = cuts.back().start + 1;
        } else {
          const int64_t start = below(room);
          cuts.push_back({static_cast<int64_t>(d), start, start + (length - 1) * step + 1, step});
        }
      }
      return cuts;
    };
    const bool turned = below(2) == 0;
    const auto cut = [&](Tensor x, const std::vector<Cut> &cuts, bool turn) {
      for (const Cut &c : cuts)
        x = x.slice(c.dim, c.start, c.end, c.step);
      return turn ? x.transpose(0, -1) : x;
    };
    const auto first = draw(), second = draw();
    Tensor marks = zeros(shape);
    cut(marks, first, false) += 1;
    cut(marks, second, turned) += 1;
    const bool meet = marks.max().item<float>() > 1;
    auto add = [](Tensor a, Tensor b) { a += b.sum() + 1; };
    auto f = compile(add);
    Tensor x = arange(24, f32).reshape(shape), y = x.clone();
    if (meet) {
      ++refused;
      const std::string message = errorOf([&] { f(cut(x, first, false), cut(x, second, turned)); });
      EXPECT_TRUE(mentions(message, "shares memory")) << "round " << round << ": " << message;
    } else {
      ++ran;
      f(cut(x, first, false), cut(x, second, turned));
      add(cut(y, first, false), cut(y, second, turned));
    }
    EXPECT_EQ(floats(x), floats(y)) << "round " << round;
  }
  EXPECT_GT(refused, 5u);
  EXPECT_GT(ran, 5u);
}
