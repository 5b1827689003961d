//===- IndexExprTest.cpp - Quotients and remainders of indices ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What IndexSpace makes of divisions, beside divisions of the numbers.
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/IndexExpr.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>

namespace weft::testing {
namespace {

using codegen::IndexExpr;
using codegen::IndexSpace;
using codegen::IndexVar;
using codegen::VarId;

/// Two loop variables and their values.
struct Loops {
  VarId row, column;
  int64_t atRow = 0, atColumn = 0;
};

int64_t valueOf(const IndexSpace &space, const IndexExpr &e, const Loops &loops, int64_t lane) {
  int64_t value = e.constant.asNumber() + e.lane.asNumber() * lane;
  for (auto [id, coefficient] : e.terms) {
    const IndexVar &var = space.var(id);
    int64_t one = id == loops.row ? loops.atRow : loops.atColumn;
    // A variable that is the same for all lanes has the value of the first.
    if (var.kind != IndexVar::loop)
      one = valueOf(space, var.of, loops, var.perLane ? lane : 0);
    if (var.kind == IndexVar::quotient)
      one /= var.by.asNumber();
    else if (var.kind == IndexVar::remainder)
      one %= var.by.asNumber();
    EXPECT_LE(one, var.maximum.asNumber());
    EXPECT_EQ(one % var.multipleOf, 0);
    value += coefficient.asNumber() * one;
  }
  return value;
}

class Divisions : public ::testing::TestWithParam<bool> {
protected:
  /// Compares (a row + b column + c + lane) / by and % by with numbers, for all values of the variables and
  /// lanes; of large extents, for the first and last ones. `dividedRows` counts the variables that divide
  /// something with the row in it.
  void compare(int64_t rows, int64_t columns, std::array<int64_t, 3> numbers, int64_t by, int64_t lanes) {
    IndexSpace space{ir::SymbolRanges()};
    space.splitsSums = GetParam();
    space.lanes = lanes;
    Loops loops{space.addLoop(rows - 1), space.addLoop(columns - 1, lanes)};
    const auto [a, b, c] = numbers;
    IndexExpr e = add(add(space.expr(loops.row, a), space.expr(loops.column, b)), IndexExpr(c));
    if (lanes > 1)
      e.lane = b;
    const IndexExpr quotient = space.divide(e, by), remainder = space.modulo(e, by),
                    both = space.linear(quotient, by, remainder);
    for (VarId id = 2; id < static_cast<VarId>(space.numVars()); ++id)
      dividedRows += coefficientOf(space.var(id).of, loops.row) == 0 ? 0 : 1;
    auto each = [](int64_t extent, int64_t step, auto visit) {
      for (int64_t at = 0; at < extent; at += step)
        if (at < 40 || at >= extent - 40)
          visit(at);
        else
          at = (extent - 41) / step * step;
    };
    each(rows, 1, [&](int64_t row) {
      each(columns, lanes, [&](int64_t column) {
        for (int64_t lane = 0; lane < lanes; ++lane) {
          loops.atRow = row;
          loops.atColumn = column;
          const int64_t plain = a * row + b * (column + lane) + c;
          EXPECT_EQ(valueOf(space, quotient, loops, lane), plain / by) << plain << " / " << by;
          EXPECT_EQ(valueOf(space, remainder, loops, lane), plain % by) << plain << " % " << by;
          EXPECT_EQ(valueOf(space, both, loops, lane), plain);
          ++compared;
        }
      });
    });
  }
  int64_t compared = 0, dividedRows = 0;
};

TEST_P(Divisions, AreThoseOfNumbers) {
  for (int64_t by = 1; by <= 12 && !HasFailure(); ++by)
    for (const int64_t a : {0, 1, 5, 12, 24, 36})
      for (const int64_t b : {1, 2, 6})
        for (const int64_t c : {0, 1, 7, 12})
          for (const int64_t lanes : {1, 4})
            compare(5, 12, {a, b, c}, by, b == 1 ? lanes : 1);
  EXPECT_GT(compared, 50000);
}

TEST_P(Divisions, AreThoseOfLargeNumbers) {
  const int64_t large = int64_t(1) << 31;
  for (const int64_t by : {int64_t(7), large - 1, large, large + 1, int64_t(1) << 40})
    for (const int64_t factor : {int64_t(1), int64_t(3)}) {
      const int64_t rows = std::min(large / 2, (int64_t(1) << 61) / (by * factor)); // of numbers of 62 bits
      compare(rows, large - 1, {by * factor, 1, by - 1}, by, 1);
      compare(3, large, {large, 1, 0}, by, 4);
    }
  EXPECT_GT(compared, 50000);
}

/// A row of 480 elements is five of 96, so what is divided changes with the column alone, but for division
/// by 7.
TEST_P(Divisions, LeaveOutWhatTheyDivide) {
  for (const int64_t by : {96, 480, 5})
    compare(70, 480, {480, 1, 0}, by, 1);
  EXPECT_EQ(dividedRows, GetParam() ? 0 : 4);
  dividedRows = 0;
  compare(70, 480, {480, 1, 0}, 7, 1);
  EXPECT_EQ(dividedRows, 2);
}

INSTANTIATE_TEST_SUITE_P(IndexSpace, Divisions, ::testing::Bool(),
                         [](const auto &info) { return info.param ? "SumsAreSplit" : "SumsAreWhole"; });

} // namespace
} // namespace weft::testing
