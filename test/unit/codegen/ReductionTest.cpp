//===- ReductionTest.cpp - Row and column kernels, optimiser steps ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ExecuteHarness.h"
#include "ir/Schedule.h"

#include "gtest/gtest.h"

#include <cmath>

namespace weft::testing {
namespace {

/// `text` with $R replaced by `rows`, $N by `columns`, and $T by `type`.
std::string with(const std::string &text, int64_t rows, int64_t columns, const std::string &type = "f32") {
  return replaced(text, {{"$R", std::to_string(rows)}, {"$N", std::to_string(columns)}, {"$T", type}});
}

/// `floor`: the magnitude of the summed terms, for sums whose result is small because terms cancel.
void expectClose(const std::string &text, ir::FusionKind kind, double units, double floor = 1e-30,
                 double low = -2, double high = 2, std::vector<int> inPlace = {}) {
  if (passedOver())
    return;
  FusedProgram program(text, kind);
  ASSERT_TRUE(program.valid());
  auto arguments = program.randomArguments(11, low, high);
  auto expected = program.interpret(arguments);
  std::vector<ir::Literal> first;
  for (auto target : runnableTargets()) {
    auto found = program.run(arguments, target, inPlace);
    ASSERT_EQ(found.size(), expected.size()) << text;
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_LE(distance(expected[i], found[i], floor), units) << target.cpu() << " result " << i << "\n"
                                                               << text << "\n"
                                                               << program.kernelText;
    // The order of a sum does not depend on the level of the target.
    if (!first.empty())
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(distance(first[i], found[i]), 0) << text;
    first = std::move(found);
  }
}

const int64_t lengths[] = {1, 2, 10, 15, 16, 17, 31, 48, 63, 64, 65, 100, 1023, 1024, 1025};

/// Roundings along the longest path of a row's sum: 1/64 of its blocks, the tree and the rest.
double sumUnits(int64_t n) { return 2.0 + static_cast<double>(n) / 64 + 6 + std::min<int64_t>(n, 16); }

const char *rowReductions = R"(weft.func @main(%x: tensor<$Rx$Nx$T, #cpu>)
    -> (tensor<$Rx$T, #cpu>, tensor<$Rx$T, #cpu>, tensor<$Rx$T, #cpu>, tensor<$Rxi64, #cpu>) {
  %0 = weft.sum %x, dims = [1] : tensor<$Rx$Nx$T, #cpu>
  %1 = weft.rmax %x, dims = [1] : tensor<$Rx$Nx$T, #cpu>
  %2 = weft.rmin %x, dims = [1] : tensor<$Rx$Nx$T, #cpu>
  %3 = weft.argmax %x, dim = 1 : tensor<$Rx$Nx$T, #cpu>
  weft.return %0, %1, %2, %3 : tensor<$Rx$T, #cpu>, tensor<$Rx$T, #cpu>, tensor<$Rx$T, #cpu>, tensor<$Rxi64, #cpu>
})";

const char *columnReductions = R"(weft.func @main(%x: tensor<$Rx$Nx$T, #cpu>)
    -> (tensor<$Nx$T, #cpu>, tensor<$Nx$T, #cpu>, tensor<$Nx$T, #cpu>, tensor<$Nxi64, #cpu>) {
  %0 = weft.sum %x, dims = [0] : tensor<$Rx$Nx$T, #cpu>
  %1 = weft.rmax %x, dims = [0] : tensor<$Rx$Nx$T, #cpu>
  %2 = weft.rmin %x, dims = [0] : tensor<$Rx$Nx$T, #cpu>
  %3 = weft.argmax %x, dim = 0 : tensor<$Rx$Nx$T, #cpu>
  weft.return %0, %1, %2, %3 : tensor<$Nx$T, #cpu>, tensor<$Nx$T, #cpu>, tensor<$Nx$T, #cpu>, tensor<$Nxi64, #cpu>
})";

TEST(Row, ReductionsOverLengths) {
  for (int64_t n : lengths)
    expectClose(with(rowReductions, 3, n), ir::FusionKind::row, sumUnits(n), static_cast<double>(n));
}

TEST(Row, ReductionsOverTypes) {
  for (const char *type : {"f64", "f16", "bf16", "i8", "i16", "i32", "i64", "ui8"})
    for (int64_t n : {5, 77})
      expectClose(with(rowReductions, 4, n, type), ir::FusionKind::row, sumUnits(n), static_cast<double>(n));
}

TEST(Row, NothingToSum) {
  expectClose(R"(weft.func @main(%x: tensor<3x0xf32, #cpu>) -> tensor<3xf32, #cpu> {
    %0 = weft.sum %x, dims = [1] : tensor<3x0xf32, #cpu>
    weft.return %0 : tensor<3xf32, #cpu>
  })",
              ir::FusionKind::row, 0);
  expectClose(R"(weft.func @main(%x: tensor<0x5xf32, #cpu>) -> tensor<0xf32, #cpu> {
    %0 = weft.sum %x, dims = [1] : tensor<0x5xf32, #cpu>
    weft.return %0 : tensor<0xf32, #cpu>
  })",
              ir::FusionKind::row, 0);
  expectClose(R"(weft.func @main(%x: tensor<0x5xf32, #cpu>) -> tensor<5xf32, #cpu> {
    %0 = weft.sum %x, dims = [0] : tensor<0x5xf32, #cpu>
    weft.return %0 : tensor<5xf32, #cpu>
  })",
              ir::FusionKind::column, 0);
}

TEST(Row, NanWinsAndTheFirstOfEquals) {
  for (auto kind : {ir::FusionKind::row, ir::FusionKind::column})
    for (int64_t n : {7, 100}) {
      bool row = kind == ir::FusionKind::row;
      FusedProgram program(row ? with(rowReductions, 4, n) : with(columnReductions, n, 4), kind);
      ASSERT_TRUE(program.valid());
      auto arguments = program.randomArguments(5);
      auto at = [&](int64_t group, int64_t i) { return row ? group * n + i : i * 4 + group; };
      for (int64_t i = 0; i < n; ++i) {
        arguments[0].setReal(at(0, i), 1.0);
        arguments[0].setReal(at(1, i), -INFINITY);
      }
      arguments[0].setReal(at(2, 3), NAN);
      arguments[0].setReal(at(2, 5), NAN);
      arguments[0].setReal(at(3, n - 1), INFINITY);
      auto expected = program.interpret(arguments);
      for (auto target : runnableTargets()) {
        auto found = program.run(arguments, target);
        for (size_t i = 1; i < 4; ++i)
          EXPECT_EQ(distance(expected[i], found[i]), 0) << program.kernelText;
        EXPECT_TRUE(std::isnan(found[0].real[2]));
        EXPECT_EQ(found[3].whole[0], 0);
        EXPECT_EQ(found[3].whole[2], 3);
      }
    }
}

const char *softmax = R"(weft.func @main(%x: tensor<$Rx$Nxf32, #cpu>) -> tensor<$Rx$Nxf32, #cpu> {
  %0 = weft.rmax %x, dims = [1] : tensor<$Rx$Nxf32, #cpu>
  %1 = weft.broadcast_in_dim %0, dims = [0] : tensor<$Rxf32, #cpu> -> tensor<$Rx$Nxf32, #cpu>
  %2 = weft.sub %x, %1 : tensor<$Rx$Nxf32, #cpu>
  %3 = weft.exp %2 : tensor<$Rx$Nxf32, #cpu>
  %4 = weft.sum %3, dims = [1] : tensor<$Rx$Nxf32, #cpu>
  %5 = weft.broadcast_in_dim %4, dims = [0] : tensor<$Rxf32, #cpu> -> tensor<$Rx$Nxf32, #cpu>
  %6 = weft.div %3, %5 : tensor<$Rx$Nxf32, #cpu>
  weft.return %6 : tensor<$Rx$Nxf32, #cpu>
})";

TEST(Row, Softmax) {
  for (int64_t n : lengths) {
    expectClose(with(softmax, 5, n), ir::FusionKind::row, 3 + sumUnits(n));
    expectClose(with(softmax, 5, n), ir::FusionKind::row, 3 + sumUnits(n), 1e-30, -2, 2, {0});
  }
}

/// The maximum of a softmax may be a zero of either sign; nothing else may differ.
TEST(Row, SoftmaxOfSpecialValues) {
  for (int64_t n : {7, 70, 1024}) {
    FusedProgram program(with(softmax, 6, n), ir::FusionKind::row);
    ASSERT_TRUE(program.valid());
    for (int64_t at : {int64_t(1), n - 1}) {
      auto arguments = program.randomArguments(5);
      ir::Literal &x = arguments[0];
      x.setReal(at, NAN);
      x.setReal(n + at, INFINITY);
      for (int64_t i = 0; i < n; ++i) {
        x.setReal(2 * n + i, i == at ? 0.0 : -0.0);
        x.setReal(3 * n + i, -INFINITY);
        x.setReal(4 * n + i, i == at ? 200.0 : -INFINITY);
      }
      auto expected = program.interpret(arguments);
      for (auto target : runnableTargets()) {
        auto found = program.run(arguments, target);
        EXPECT_LE(distance(expected[0], found[0]), 3 + sumUnits(n)) << program.kernelText;
        for (int64_t i = 0; i < n; ++i) {
          EXPECT_TRUE(std::isnan(found[0].real[i]));
          EXPECT_TRUE(std::isnan(found[0].real[n + at]));
          EXPECT_TRUE(std::isnan(found[0].real[3 * n + i]));
          EXPECT_EQ(found[0].real[4 * n + i], i == at ? 1.0 : 0.0);
        }
      }
    }
  }
}

/// Statistics of a row, an affine map by columns, the row's deviation as another result.
const char *layerNorm =
    R"(weft.func @main(%x: tensor<$Rx$Nx$T, #cpu>, %r: tensor<$Rx$Nx$T, #cpu>, %w: tensor<$Nx$T, #cpu>,
    %n: tensor<$T, #cpu>) -> (tensor<$Rx$Nx$T, #cpu>, tensor<$Rx$Nx$T, #cpu>, tensor<$Rx$T, #cpu>) {
  %h = weft.add %x, %r : tensor<$Rx$Nx$T, #cpu>
  %s = weft.sum %h, dims = [1] : tensor<$Rx$Nx$T, #cpu>
  %c = weft.full %n, shape = [$R] : tensor<$T, #cpu>
  %m = weft.div %s, %c : tensor<$Rx$T, #cpu>
  %b = weft.broadcast_in_dim %m, dims = [0] : tensor<$Rx$T, #cpu> -> tensor<$Rx$Nx$T, #cpu>
  %d = weft.sub %h, %b : tensor<$Rx$Nx$T, #cpu>
  %q = weft.mul %d, %d : tensor<$Rx$Nx$T, #cpu>
  %v = weft.sum %q, dims = [1] : tensor<$Rx$Nx$T, #cpu>
  %u = weft.add %v, %c : tensor<$Rx$T, #cpu>
  %i = weft.rsqrt %u : tensor<$Rx$T, #cpu>
  %j = weft.broadcast_in_dim %i, dims = [0] : tensor<$Rx$T, #cpu> -> tensor<$Rx$Nx$T, #cpu>
  %y = weft.mul %d, %j : tensor<$Rx$Nx$T, #cpu>
  %g = weft.broadcast_in_dim %w, dims = [1] : tensor<$Nx$T, #cpu> -> tensor<$Rx$Nx$T, #cpu>
  %z = weft.mul %y, %g : tensor<$Rx$Nx$T, #cpu>
  weft.return %h, %z, %i : tensor<$Rx$Nx$T, #cpu>, tensor<$Rx$Nx$T, #cpu>, tensor<$Rx$T, #cpu>
})";

TEST(Row, LayerNorm) {
  for (int64_t n : {7, 64, 100, 1024})
    expectClose(with(layerNorm, 6, n), ir::FusionKind::row, 4 * sumUnits(n), static_cast<double>(n), 1, 2);
  expectClose(with(layerNorm, 6, 100, "f64"), ir::FusionKind::row, 4 * sumUnits(100), 100, 1, 2);
  // In place: the first result over the residual, the second over the input.
  expectClose(with(layerNorm, 6, 100), ir::FusionKind::row, 4 * sumUnits(100), 100, 1, 2, {1, 0, -1});
}

TEST(Row, SeveralDimensionsAndBroadcastInside) {
  expectClose(
      R"(weft.func @main(%x: tensor<2x3x4x16xf32, #cpu>, %w: tensor<4xf32, #cpu>, %k: tensor<3x1xf32, #cpu>)
      -> (tensor<2x3xf32, #cpu>, tensor<2x3x4x16xf32, #cpu>) {
    %0 = weft.broadcast_in_dim %w, dims = [2] : tensor<4xf32, #cpu> -> tensor<2x3x4x16xf32, #cpu>
    %1 = weft.mul %x, %0 : tensor<2x3x4x16xf32, #cpu>
    %2 = weft.sum %1, dims = [2, 3] : tensor<2x3x4x16xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0, 1] : tensor<2x3xf32, #cpu> -> tensor<2x3x4x16xf32, #cpu>
    %4 = weft.reshape %k : tensor<3x1xf32, #cpu> -> tensor<3xf32, #cpu>
    %5 = weft.broadcast_in_dim %4, dims = [1] : tensor<3xf32, #cpu> -> tensor<2x3x4x16xf32, #cpu>
    %6 = weft.mul %3, %5 : tensor<2x3x4x16xf32, #cpu>
    weft.return %2, %6 : tensor<2x3xf32, #cpu>, tensor<2x3x4x16xf32, #cpu>
  })",
      ir::FusionKind::row, sumUnits(64) + 2, 64, 0.5, 2);
}

/// A row in pieces has the bits of the same row after a transposition: in pieces with whole blocks of partial
/// results and without, one piece or many, and kept dimensions between them.
TEST(Row, PiecesHaveTheOrderOfARow) {
  const std::string pieces = R"(weft.func @main(%x: tensor<2x$Rx3x$Nx$T, #cpu>)
      -> (tensor<2x3x$T, #cpu>, tensor<2x3x$T, #cpu>, tensor<2x3x$T, #cpu>, tensor<2x$Rx3x$Nx$T, #cpu>) {
    %0 = weft.sum %x, dims = [1, 3] : tensor<2x$Rx3x$Nx$T, #cpu>
    %1, %2, %n = weft.welford %x, dims = [1, 3] : tensor<2x$Rx3x$Nx$T, #cpu>
    %3 = weft.broadcast_in_dim %0, dims = [0, 2] : tensor<2x3x$T, #cpu> -> tensor<2x$Rx3x$Nx$T, #cpu>
    %4 = weft.mul %x, %3 : tensor<2x$Rx3x$Nx$T, #cpu>
    weft.return %0, %1, %2, %4 : tensor<2x3x$T, #cpu>, tensor<2x3x$T, #cpu>, tensor<2x3x$T, #cpu>, tensor<2x$Rx3x$Nx$T, #cpu>
  })";
  const std::string whole = R"(weft.func @main(%x: tensor<2x$Rx3x$Nx$T, #cpu>)
      -> (tensor<2x3x$T, #cpu>, tensor<2x3x$T, #cpu>, tensor<2x3x$T, #cpu>) {
    %t = weft.transpose %x, perm = [0, 2, 1, 3] : tensor<2x$Rx3x$Nx$T, #cpu>
    %0 = weft.sum %t, dims = [2, 3] : tensor<2x3x$Rx$Nx$T, #cpu>
    %1, %2, %n = weft.welford %t, dims = [2, 3] : tensor<2x3x$Rx$Nx$T, #cpu>
    weft.return %0, %1, %2 : tensor<2x3x$T, #cpu>, tensor<2x3x$T, #cpu>, tensor<2x3x$T, #cpu>
  })";
  for (const char *type : {"f32", "f64"})
    for (int64_t length : {16, 48, 64, 80, 256})
      for (int64_t count : {1, 2, 7}) {
        FusedProgram inPieces(with(pieces, count, length, type), ir::FusionKind::row);
        FusedProgram inOne(with(whole, count, length, type), ir::FusionKind::row);
        ASSERT_TRUE(inPieces.valid() && inOne.valid());
        EXPECT_TRUE(ir::rowShape(inPieces.fusion).isInPieces());
        EXPECT_FALSE(ir::rowShape(inOne.fusion).isInPieces());
        auto arguments = inPieces.randomArguments(9);
        auto expected = inPieces.interpret(arguments);
        for (auto target : runnableTargets()) {
          auto a = inPieces.run(arguments, target), b = inOne.run(arguments, target);
          for (size_t i = 0; i < 3; ++i)
            EXPECT_EQ(a[i].real, b[i].real) << type << " " << count << " x " << length << " result " << i;
          EXPECT_LE(distance(expected[3], a[3], static_cast<double>(count * length)),
                    sumUnits(count * length) + 1);
        }
      }
}

/// A sum has the same bits for every fusion that contains it.
TEST(Row, FusionNeverChangesASum) {
  for (int64_t n : {10, 100, 1000}) {
    FusedProgram alone(with(R"(weft.func @main(%x: tensor<$Rx$Nxf32, #cpu>) -> tensor<$Rxf32, #cpu> {
      %0 = weft.sum %x, dims = [1] : tensor<$Rx$Nxf32, #cpu>
      weft.return %0 : tensor<$Rxf32, #cpu>
    })",
                            4, n),
                       ir::FusionKind::row);
    // The doubles make vectors of 8.
    FusedProgram fused(with(R"(weft.func @main(%x: tensor<$Rx$Nxf32, #cpu>, %y: tensor<$Rx$Nxf64, #cpu>)
        -> (tensor<$Rxf32, #cpu>, tensor<$Rx$Nxf64, #cpu>, tensor<$Rx$Nxf64, #cpu>) {
      %0 = weft.sum %x, dims = [1] : tensor<$Rx$Nxf32, #cpu>
      %1 = weft.convert %x to f64 : tensor<$Rx$Nxf32, #cpu>
      %2 = weft.mul %1, %y : tensor<$Rx$Nxf64, #cpu>
      weft.return %0, %1, %2 : tensor<$Rxf32, #cpu>, tensor<$Rx$Nxf64, #cpu>, tensor<$Rx$Nxf64, #cpu>
    })",
                            4, n),
                       ir::FusionKind::row);
    ASSERT_TRUE(alone.valid() && fused.valid());
    EXPECT_EQ(fused.fusion.getSchedule()->getVector(), 8);
    auto arguments = fused.randomArguments(9);
    for (auto target : runnableTargets()) {
      auto a = alone.run({arguments[0]}, target), b = fused.run(arguments, target);
      EXPECT_EQ(a[0].real, b[0].real);
    }
  }
}

TEST(Column, ReductionsOverShapes) {
  for (int64_t columns : {1, 10, 16, 17, 300, 1025})
    for (int64_t rows : {1, 7, 8, 9, 100})
      expectClose(with(columnReductions, rows, columns), ir::FusionKind::column, 4.0 + rows / 8.0 + 8,
                  static_cast<double>(rows));
}

TEST(Column, ReductionsOverTypes) {
  for (const char *type : {"f64", "f16", "bf16", "i8", "i16", "i32", "i64", "ui8"})
    expectClose(with(columnReductions, 21, 40, type), ir::FusionKind::column, 16, 21);
}

TEST(Column, PrologueEpilogueAndResultsOnTheWay) {
  for (int64_t columns : {5, 33, 600})
    expectClose(
        with(
            R"(weft.func @main(%g: tensor<$Rx$Nxf32, #cpu>, %x: tensor<$Rx$Nxf32, #cpu>, %s: tensor<$Nxf32, #cpu>)
        -> (tensor<$Nxf32, #cpu>, tensor<$Rx$Nxf32, #cpu>, tensor<$Nxf32, #cpu>, tensor<$Rx$Nxf32, #cpu>) {
      %0 = weft.mul %g, %x : tensor<$Rx$Nxf32, #cpu>
      %1 = weft.sum %0, dims = [0] : tensor<$Rx$Nxf32, #cpu>
      %2 = weft.sum %g, dims = [0] : tensor<$Rx$Nxf32, #cpu>
      %3 = weft.mul %2, %s : tensor<$Nxf32, #cpu>
      %4 = weft.broadcast_in_dim %1, dims = [1] : tensor<$Nxf32, #cpu> -> tensor<$Rx$Nxf32, #cpu>
      %5 = weft.sub %0, %4 : tensor<$Rx$Nxf32, #cpu>
      weft.return %1, %0, %3, %5 : tensor<$Nxf32, #cpu>, tensor<$Rx$Nxf32, #cpu>, tensor<$Nxf32, #cpu>, tensor<$Rx$Nxf32, #cpu>
    })",
            37, columns),
        ir::FusionKind::column, 24, 37, 0.5, 2);
}

/// With rows in the middle: `O` matrices.
std::string withMatrices(const std::string &text, int64_t matrices, int64_t rows, int64_t columns,
                         const std::string &type = "f32") {
  std::string replaced = text;
  for (size_t at = 0; (at = replaced.find("$O", at)) != std::string::npos;)
    replaced.replace(at, 2, std::to_string(matrices));
  return with(replaced, rows, columns, type);
}

/// Roundings along the longest path of a column's sum.
double columnUnits(int64_t rows) { return 4.0 + static_cast<double>(rows) / 8 + 8; }

const char *middleReductions = R"(weft.func @main(%x: tensor<$Ox$Rx$Nx$T, #cpu>)
    -> (tensor<$Ox$Nx$T, #cpu>, tensor<$Ox$Nx$T, #cpu>, tensor<$Ox$Nx$T, #cpu>, tensor<$Ox$Nxi64, #cpu>) {
  %0 = weft.sum %x, dims = [1] : tensor<$Ox$Rx$Nx$T, #cpu>
  %1 = weft.rmax %x, dims = [1] : tensor<$Ox$Rx$Nx$T, #cpu>
  %2 = weft.rmin %x, dims = [1] : tensor<$Ox$Rx$Nx$T, #cpu>
  %3 = weft.argmax %x, dim = 1 : tensor<$Ox$Rx$Nx$T, #cpu>
  weft.return %0, %1, %2, %3 : tensor<$Ox$Nx$T, #cpu>, tensor<$Ox$Nx$T, #cpu>, tensor<$Ox$Nx$T, #cpu>, tensor<$Ox$Nxi64, #cpu>
})";

TEST(Column, RowsInTheMiddle) {
  for (int64_t matrices : {1, 5})
    for (int64_t columns : {2, 17, 300})
      for (int64_t rows : {1, 8, 21})
        expectClose(withMatrices(middleReductions, matrices, rows, columns), ir::FusionKind::column,
                    columnUnits(rows), static_cast<double>(rows));
  for (const char *type : {"f64", "f16", "bf16", "i8", "i64", "ui8"})
    expectClose(withMatrices(middleReductions, 3, 21, 40, type), ir::FusionKind::column, 16, 21);
}

TEST(Column, NothingInTheMiddle) {
  const char *sum =
      R"(weft.func @main(%x: tensor<$Ox$Rx$Nxf32, #cpu>) -> (tensor<$Ox$Nxf32, #cpu>, tensor<$Ox$Rx$Nxf32, #cpu>) {
    %0 = weft.sum %x, dims = [1] : tensor<$Ox$Rx$Nxf32, #cpu>
    %1 = weft.broadcast_in_dim %0, dims = [0, 2] : tensor<$Ox$Nxf32, #cpu> -> tensor<$Ox$Rx$Nxf32, #cpu>
    %2 = weft.sub %x, %1 : tensor<$Ox$Rx$Nxf32, #cpu>
    weft.return %0, %2 : tensor<$Ox$Nxf32, #cpu>, tensor<$Ox$Rx$Nxf32, #cpu>
  })";
  expectClose(withMatrices(sum, 0, 3, 20), ir::FusionKind::column, 0);
  expectClose(withMatrices(sum, 3, 0, 20), ir::FusionKind::column, 0);
  expectClose(withMatrices(sum, 3, 4, 0), ir::FusionKind::column, 0);
}

const char *middleSoftmax = R"(weft.func @main(%x: tensor<$Ox$Rx$Nx$T, #cpu>) -> tensor<$Ox$Rx$Nx$T, #cpu> {
  %0 = weft.rmax %x, dims = [1] : tensor<$Ox$Rx$Nx$T, #cpu>
  %1 = weft.broadcast_in_dim %0, dims = [0, 2] : tensor<$Ox$Nx$T, #cpu> -> tensor<$Ox$Rx$Nx$T, #cpu>
  %2 = weft.sub %x, %1 : tensor<$Ox$Rx$Nx$T, #cpu>
  %3 = weft.exp %2 : tensor<$Ox$Rx$Nx$T, #cpu>
  %4 = weft.sum %3, dims = [1] : tensor<$Ox$Rx$Nx$T, #cpu>
  %5 = weft.recip %4 : tensor<$Ox$Nx$T, #cpu>
  %6 = weft.broadcast_in_dim %5, dims = [0, 2] : tensor<$Ox$Nx$T, #cpu> -> tensor<$Ox$Rx$Nx$T, #cpu>
  %7 = weft.mul %3, %6 : tensor<$Ox$Rx$Nx$T, #cpu>
  weft.return %7 : tensor<$Ox$Rx$Nx$T, #cpu>
})";

TEST(Column, Softmax) {
  for (int64_t columns : {1, 5, 16, 33, 200})
    for (int64_t rows : {1, 7, 8, 50}) {
      const std::string text = withMatrices(middleSoftmax, 3, rows, columns);
      expectClose(text, ir::FusionKind::column, 4 + columnUnits(rows));
      expectClose(text, ir::FusionKind::column, 4 + columnUnits(rows), 1e-30, -2, 2, {0});
    }
  expectClose(withMatrices(middleSoftmax, 3, 20, 40, "f64"), ir::FusionKind::column, 16);
  // One rounding an op, of numbers up to 20.
  expectClose(withMatrices(middleSoftmax, 3, 20, 40, "bf16"), ir::FusionKind::column, 8);
}

TEST(Column, SoftmaxOfSpecialValues) {
  const int64_t rows = 21, columns = 20;
  FusedProgram program(withMatrices(middleSoftmax, 2, rows, columns), ir::FusionKind::column);
  ASSERT_TRUE(program.valid());
  auto arguments = program.randomArguments(5);
  ir::Literal &x = arguments[0];
  auto at = [&](int64_t row, int64_t column) { return (rows + row) * columns + column; };
  x.setReal(at(3, 1), NAN);
  x.setReal(at(20, 2), INFINITY);
  for (int64_t row = 0; row < rows; ++row)
    x.setReal(at(row, 3), -INFINITY);
  auto expected = program.interpret(arguments);
  for (auto target : runnableTargets()) {
    auto found = program.run(arguments, target);
    EXPECT_LE(distance(expected[0], found[0]), 4 + columnUnits(rows)) << program.kernelText;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column : {1, 3})
        EXPECT_TRUE(std::isnan(found[0].real[at(row, column)]));
    EXPECT_FALSE(std::isnan(found[0].real[at(0, 0)]));
  }
}

/// Moments in f64 of the sum of two tensors, with a factor for each matrix, row and column. The mean and the
/// sum of the tensors are results too. Rows and columns consist of two dimensions each.
const char *middleNorm =
    R"(weft.func @main(%x: tensor<3x$Rx2x4x$Nx$T, #cpu>, %r: tensor<3x$Rx2x4x$Nx$T, #cpu>,
    %o: tensor<3x$T, #cpu>, %k: tensor<$Rx2x$T, #cpu>, %w: tensor<4x$Nx$T, #cpu>)
    -> (tensor<3x$Rx2x4x$Nx$T, #cpu>, tensor<3x4x$Nxf64, #cpu>, tensor<3x$Rx2x4x$Nx$T, #cpu>) {
  %h = weft.add %x, %r : tensor<3x$Rx2x4x$Nx$T, #cpu>
  %d = weft.convert %h to f64 : tensor<3x$Rx2x4x$Nx$T, #cpu>
  %mean, %m2, %n = weft.welford %d, dims = [1, 2] : tensor<3x$Rx2x4x$Nxf64, #cpu>
  %one = weft.constant dense<1.0> : tensor<3x4x$Nxf64, #cpu>
  %v = weft.add %m2, %one : tensor<3x4x$Nxf64, #cpu>
  %s = weft.rsqrt %v : tensor<3x4x$Nxf64, #cpu>
  %mb = weft.broadcast_in_dim %mean, dims = [0, 3, 4] : tensor<3x4x$Nxf64, #cpu> -> tensor<3x$Rx2x4x$Nxf64, #cpu>
  %sb = weft.broadcast_in_dim %s, dims = [0, 3, 4] : tensor<3x4x$Nxf64, #cpu> -> tensor<3x$Rx2x4x$Nxf64, #cpu>
  %c = weft.sub %d, %mb : tensor<3x$Rx2x4x$Nxf64, #cpu>
  %y = weft.mul %c, %sb : tensor<3x$Rx2x4x$Nxf64, #cpu>
  %z = weft.convert %y to $T : tensor<3x$Rx2x4x$Nxf64, #cpu>
  %ob = weft.broadcast_in_dim %o, dims = [0] : tensor<3x$T, #cpu> -> tensor<3x$Rx2x4x$Nx$T, #cpu>
  %kb = weft.broadcast_in_dim %k, dims = [1, 2] : tensor<$Rx2x$T, #cpu> -> tensor<3x$Rx2x4x$Nx$T, #cpu>
  %wb = weft.broadcast_in_dim %w, dims = [3, 4] : tensor<4x$Nx$T, #cpu> -> tensor<3x$Rx2x4x$Nx$T, #cpu>
  %1 = weft.mul %z, %ob : tensor<3x$Rx2x4x$Nx$T, #cpu>
  %2 = weft.mul %1, %kb : tensor<3x$Rx2x4x$Nx$T, #cpu>
  %3 = weft.mul %2, %wb : tensor<3x$Rx2x4x$Nx$T, #cpu>
  weft.return %3, %mean, %h : tensor<3x$Rx2x4x$Nx$T, #cpu>, tensor<3x4x$Nxf64, #cpu>, tensor<3x$Rx2x4x$Nx$T, #cpu>
})";

TEST(Column, NormOfSeveralDimensions) {
  for (int64_t columns : {1, 3, 4, 40})
    for (int64_t rows : {1, 6, 17})
      expectClose(with(middleNorm, rows, columns), ir::FusionKind::column, 20, static_cast<double>(rows), 1,
                  2);
  for (const char *type : {"f16", "bf16", "f64"})
    expectClose(with(middleNorm, 9, 20, type), ir::FusionKind::column, 24, 9, 1, 2);
  expectClose(with(middleNorm, 9, 20), ir::FusionKind::column, 20, 9, 1, 2, {0, -1, 1});
}

/// y (g - sum(g y)) and, in a third pass, the mean of that.
TEST(Column, GradientAndAThirdPass) {
  for (int64_t columns : {7, 64})
    expectClose(withMatrices(
                    R"(weft.func @main(%y: tensor<$Ox$Rx$Nxf32, #cpu>, %g: tensor<$Ox$Rx$Nxf32, #cpu>)
        -> (tensor<$Ox$Rx$Nxf32, #cpu>, tensor<$Ox$Nxi1, #cpu>) {
      %0 = weft.mul %g, %y : tensor<$Ox$Rx$Nxf32, #cpu>
      %1 = weft.sum %0, dims = [1] : tensor<$Ox$Rx$Nxf32, #cpu>
      %2 = weft.broadcast_in_dim %1, dims = [0, 2] : tensor<$Ox$Nxf32, #cpu> -> tensor<$Ox$Rx$Nxf32, #cpu>
      %3 = weft.sub %g, %2 : tensor<$Ox$Rx$Nxf32, #cpu>
      %4 = weft.mul %y, %3 : tensor<$Ox$Rx$Nxf32, #cpu>
      %5 = weft.rmin %4, dims = [1] : tensor<$Ox$Rx$Nxf32, #cpu>
      %6 = weft.lt %5, %1 : tensor<$Ox$Nxf32, #cpu>
      %7 = weft.broadcast_in_dim %6, dims = [0, 2] : tensor<$Ox$Nxi1, #cpu> -> tensor<$Ox$Rx$Nxi1, #cpu>
      %8 = weft.select %7, %4, %2 : tensor<$Ox$Rx$Nxi1, #cpu>, tensor<$Ox$Rx$Nxf32, #cpu>
      weft.return %8, %6 : tensor<$Ox$Rx$Nxf32, #cpu>, tensor<$Ox$Nxi1, #cpu>
    })",
                    4, 19, columns),
                ir::FusionKind::column, 40, 19, 0.5, 2);
}

/// A sum down columns has the same bits for every fusion that contains it, and for one matrix those of a sum
/// over leading dimensions.
TEST(Column, FusionNeverChangesASum) {
  const char *alone = R"(weft.func @main(%x: tensor<$Ox$Rx$Nxf32, #cpu>) -> tensor<$Ox$Nxf32, #cpu> {
    %0 = weft.sum %x, dims = [1] : tensor<$Ox$Rx$Nxf32, #cpu>
    weft.return %0 : tensor<$Ox$Nxf32, #cpu>
  })";
  const char *fused =
      R"(weft.func @main(%x: tensor<$Ox$Rx$Nxf32, #cpu>) -> (tensor<$Ox$Nxf32, #cpu>, tensor<$Ox$Rx$Nxf32, #cpu>) {
    %0 = weft.sum %x, dims = [1] : tensor<$Ox$Rx$Nxf32, #cpu>
    %1 = weft.broadcast_in_dim %0, dims = [0, 2] : tensor<$Ox$Nxf32, #cpu> -> tensor<$Ox$Rx$Nxf32, #cpu>
    %2 = weft.exp %1 : tensor<$Ox$Rx$Nxf32, #cpu>
    weft.return %0, %2 : tensor<$Ox$Nxf32, #cpu>, tensor<$Ox$Rx$Nxf32, #cpu>
  })";
  const char *leading = R"(weft.func @main(%x: tensor<$Rx$Nxf32, #cpu>) -> tensor<$Nxf32, #cpu> {
    %0 = weft.sum %x, dims = [0] : tensor<$Rx$Nxf32, #cpu>
    weft.return %0 : tensor<$Nxf32, #cpu>
  })";
  for (int64_t rows : {3, 50, 1000}) {
    FusedProgram one(withMatrices(alone, 1, rows, 70), ir::FusionKind::column);
    FusedProgram two(withMatrices(fused, 1, rows, 70), ir::FusionKind::column);
    FusedProgram three(with(leading, rows, 70), ir::FusionKind::column);
    ASSERT_TRUE(one.valid() && two.valid() && three.valid());
    auto arguments = one.randomArguments(9);
    auto flat = three.randomArguments(9);
    ASSERT_EQ(arguments[0].real, flat[0].real);
    for (auto target : runnableTargets()) {
      auto a = one.run(arguments, target), b = two.run(arguments, target), c = three.run(flat, target);
      EXPECT_EQ(a[0].real, b[0].real);
      EXPECT_EQ(a[0].real, c[0].real);
    }
  }
}

TEST(MultiTensor, AdamInPlace) {
  for (const char *type : {"f32", "f64", "bf16"})
    for (const char *flags : {"", " decoupled", " maximize"}) {
      std::string t = type;
      std::string small = "tensor<5x" + t + ", #cpu>", large = "tensor<9000x" + t + ", #cpu>";
      std::string numbers =
          "%t: tensor<i64, #cpu>, %l: tensor<f64, #cpu>, %b: tensor<f64, #cpu>, %c: tensor<f64, #cpu>, "
          "%e: tensor<f64, #cpu>, %d: tensor<f64, #cpu>";
      auto tensors = [](const std::string &p, const std::string &type) {
        std::string text;
        for (const char *name : {"p", "g", "m", "v"})
          text += "%" + p + name + ": " + type + ", ";
        return text;
      };
      auto step = [&](const std::string &p, const std::string &type) {
        return "%" + p + "x, %" + p + "y, %" + p + "z = weft.adam_step(%" + p + "p, %" + p + "g, m %" + p +
               "m, v %" + p + "v, step %t, lr %l, betas %b, %c, eps %e, decay %d)" + flags + " : " + type +
               ", " + type + ", " + type + ", " + type + ", tensor<i64, #cpu>, tensor<f64, #cpu>\n";
      };
      std::string results = small + ", " + small + ", " + small + ", " + large + ", " + large + ", " + large;
      std::string text = "weft.func @main(" + tensors("a", small) + tensors("b", large) + numbers + ") -> (" +
                         results + ") {\n" + step("a", small) + step("b", large) +
                         "weft.return %ax, %ay, %az, %bx, %by, %bz : " + results + "\n}";
      FusedProgram program(text, ir::FusionKind::multi_tensor);
      ASSERT_TRUE(program.valid());
      auto arguments = program.randomArguments(2, 0.1, 0.9);
      arguments[8].setWhole(0, 2);
      double values[] = {0.01, 0.9, 0.999, 1e-8, 0.1};
      for (int i = 0; i < 5; ++i)
        arguments[9 + i].setReal(0, values[i]);
      auto expected = program.interpret(arguments);
      for (auto target : runnableTargets()) {
        auto found = program.run(arguments, target, {0, 2, 3, 4, 6, 7});
        ASSERT_EQ(found.size(), 6u);
        for (size_t i = 0; i < 6; ++i)
          EXPECT_LE(distance(expected[i], found[i], 0.1), 4) << type << flags << i << program.kernelText;
      }
    }
}

TEST(MultiTensor, SgdFirstAndLaterSteps) {
  for (int64_t stepsDone : {0, 3})
    for (const char *flags : {"", " nesterov", " maximize"}) {
      FusedProgram program(
          std::string(R"(weft.func @main(%p: tensor<100xf32, #cpu>, %g: tensor<100xf32, #cpu>,
          %b: tensor<100xf32, #cpu>, %t: tensor<i64, #cpu>, %l: tensor<f64, #cpu>, %m: tensor<f64, #cpu>, %a: tensor<f64, #cpu>,
          %d: tensor<f64, #cpu>) -> (tensor<100xf32, #cpu>, tensor<100xf32, #cpu>) {
        %0, %1 = weft.sgd_step(%p, %g buf %b, step %t, lr %l, momentum %m, dampening %a, decay %d))") +
              flags +
              R"( : tensor<100xf32, #cpu>, tensor<100xf32, #cpu> buf tensor<100xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
        weft.return %0, %1 : tensor<100xf32, #cpu>, tensor<100xf32, #cpu>
      })",
          ir::FusionKind::multi_tensor);
      ASSERT_TRUE(program.valid());
      auto arguments = program.randomArguments(2, 0.1, 0.9);
      arguments[3].setWhole(0, stepsDone);
      auto expected = program.interpret(arguments);
      for (auto target : runnableTargets()) {
        auto found = program.run(arguments, target, {0, 2});
        for (size_t i = 0; i < 2; ++i)
          EXPECT_LE(distance(expected[i], found[i], 1), 4) << program.kernelText;
      }
    }
}

} // namespace
} // namespace weft::testing
