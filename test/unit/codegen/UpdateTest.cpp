//===- UpdateTest.cpp - Kernels that join, reverse and write by index ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are moved or combined one at a time, each rounded: kernels agree with the interpreter in every
// bit.
//
//===----------------------------------------------------------------------===//
#include "ExecuteHarness.h"

#include "gtest/gtest.h"

namespace weft::testing {
namespace {

/// `text` with $N replaced by `size`, $M by twice that, and $T by `type`.
std::string with(const std::string &text, int64_t size, const std::string &type = "f32") {
  return replaced(text, {{"$N", std::to_string(size)}, {"$M", std::to_string(2 * size)}, {"$T", type}});
}

void expectSame(const std::string &text, ir::FusionKind kind = ir::FusionKind::loop) {
  FusedProgram program(text, kind);
  ASSERT_TRUE(program.valid());
  auto arguments = program.randomArguments(7);
  auto expected = program.interpret(arguments);
  std::vector<int> inPlace;
  if (kind == ir::FusionKind::update)
    inPlace = {0};
  for (auto target : runnableTargets()) {
    auto found = program.run(arguments, target, inPlace);
    ASSERT_EQ(found.size(), expected.size()) << text;
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(expected[i].real, found[i].real) << target.cpu() << "\n"
                                                 << text << "\n"
                                                 << program.kernelText;
      EXPECT_EQ(expected[i].whole, found[i].whole) << target.cpu() << "\n"
                                                   << text << "\n"
                                                   << program.kernelText;
    }
  }
}

const int64_t sizes[] = {0, 1, 7, 15, 16, 17, 64, 65, 1025};
const char *const types[] = {"i1", "i8", "i16", "i32", "i64", "ui8", "f16", "bf16", "f32", "f64"};

TEST(Join, AlongEveryDimension) {
  for (int64_t size : sizes) {
    expectSame(with(
        R"(weft.func @main(%x: tensor<3x$Nxf32, #cpu>, %y: tensor<2x$Nxf32, #cpu>) -> tensor<8x$Nxf32, #cpu> {
      %0 = weft.concat(%x, %y, %x), dim = 0 : tensor<3x$Nxf32, #cpu>, tensor<2x$Nxf32, #cpu>, tensor<3x$Nxf32, #cpu>
      weft.return %0 : tensor<8x$Nxf32, #cpu>
    })",
        size));
    expectSame(with(
        R"(weft.func @main(%x: tensor<5x$Nxf32, #cpu>, %y: tensor<5x$Mxf32, #cpu>, %z: tensor<5x3xf32, #cpu>, %b: tensor<5x$Mxf32, #cpu>)
        -> (tensor<5x$Mxf32, #cpu>) {
      %0 = weft.concat(%x, %x), dim = 1 : tensor<5x$Nxf32, #cpu>, tensor<5x$Nxf32, #cpu>
      %1 = weft.add %0, %y : tensor<5x$Mxf32, #cpu>
      weft.return %1 : tensor<5x$Mxf32, #cpu>
    })",
        size));
  }
}

TEST(Join, EveryType) {
  for (const char *type : types)
    expectSame(with(
        R"(weft.func @main(%x: tensor<2x$Nx3x$T, #cpu>, %y: tensor<2x5x3x$T, #cpu>) -> tensor<2x22x3x$T, #cpu> {
      %0 = weft.concat(%x, %y), dim = 1 : tensor<2x$Nx3x$T, #cpu>, tensor<2x5x3x$T, #cpu>
      weft.return %0 : tensor<2x22x3x$T, #cpu>
    })",
        17, type));
}

// One join along rows and one along columns: the second is read by comparing indices.
TEST(Join, TwoDimensionsInOneKernel) {
  expectSame(
      R"(weft.func @main(%x: tensor<3x40xf32, #cpu>, %y: tensor<6x20xf32, #cpu>) -> tensor<6x40xf32, #cpu> {
    %0 = weft.concat(%x, %x), dim = 0 : tensor<3x40xf32, #cpu>, tensor<3x40xf32, #cpu>
    %1 = weft.concat(%y, %y), dim = 1 : tensor<6x20xf32, #cpu>, tensor<6x20xf32, #cpu>
    %2 = weft.add %0, %1 : tensor<6x40xf32, #cpu>
    weft.return %2 : tensor<6x40xf32, #cpu>
  })");
}

TEST(Reverse, EveryDimension) {
  for (int64_t size : sizes)
    for (const char *dims : {"0", "1", "0, 1"})
      expectSame(with(std::string("weft.func @main(%x: tensor<3x$Nxf32, #cpu>) -> tensor<3x$Nxf32, #cpu> {\n"
                                  "  %0 = weft.reverse %x, dims = [") +
                          dims + "] : tensor<3x$Nxf32, #cpu>\n  weft.return %0 : tensor<3x$Nxf32, #cpu>\n}",
                      size));
}

TEST(Windows, EveryStrideAndDilation) {
  struct {
    int64_t size, stride, dilation;
  } const cases[] = {{3, 1, 1}, {7, 1, 1}, {2, 1, 5}, {3, 2, 1}, {2, 3, 2}, {1, 4, 1}};
  for (int64_t size : {7, 15, 16, 17, 40})
    for (auto [window, stride, dilation] : cases)
      expectSame(replaced(
          R"(weft.func @main(%x: tensor<3x$Nxf32, #cpu>, %y: tensor<3x$Nxf32, #cpu>) -> tensor<3x$Wx$Pxf32, #cpu> {
      %0 = weft.mul %x, %y : tensor<3x$Nxf32, #cpu>
      %1 = weft.windows %0, size = [$W], stride = [$S], dilation = [$D] : tensor<3x$Nxf32, #cpu>
      weft.return %1 : tensor<3x$Wx$Pxf32, #cpu>
    })",
          {{"$N", std::to_string(size)},
           {"$W", std::to_string(window)},
           {"$S", std::to_string(stride)},
           {"$D", std::to_string(dilation)},
           {"$P", std::to_string((size - (window - 1) * dilation - 1) / stride + 1)}}));
}

// An image of two extents, padded and transposed, as a convolution reads it.
TEST(Windows, OfAPaddedImageInAnotherOrder) {
  expectSame(
      R"(weft.func @main(%x: tensor<2x3x9x10xf32, #cpu>) -> tensor<3x3x2x2x5x11xf32, #cpu> {
    %0 = weft.pad %x, low = [0, 0, 1, 1], high = [0, 0, 1, 1], interior = [0, 0, 0, 0] : tensor<2x3x9x10xf32, #cpu>
    %1 = weft.windows %0, size = [3, 2], stride = [2, 1], dilation = [1, 1] : tensor<2x3x11x12xf32, #cpu>
    %2 = weft.transpose %1, perm = [1, 2, 3, 0, 4, 5] : tensor<2x3x3x2x5x11xf32, #cpu>
    weft.return %2 : tensor<3x3x2x2x5x11xf32, #cpu>
  })");
}

TEST(Pad, CropsAndFills) {
  for (int64_t size : {1, 15, 16, 40})
    expectSame(with(
        R"(weft.func @main(%x: tensor<5x$Nxf32, #cpu>, %v: tensor<f32, #cpu>, %y: tensor<5x$Nxf32, #cpu>) -> tensor<5x$Nxf32, #cpu> {
      %0 = weft.pad %x value %v, low = [-1, 1], high = [1, -1], interior = [0, 0] : tensor<5x$Nxf32, #cpu>, tensor<f32, #cpu>
      %1 = weft.mul %0, %y : tensor<5x$Nxf32, #cpu>
      weft.return %1 : tensor<5x$Nxf32, #cpu>
    })",
        size));
}

// The size stays, and the elements do not.
TEST(Pad, SpreadsAndCropsToTheSameSize) {
  expectSame(R"(weft.func @main(%x: tensor<5x2xf32, #cpu>, %v: tensor<f32, #cpu>) -> tensor<5x2xf32, #cpu> {
    %0 = weft.pad %x value %v, low = [0, 0], high = [0, -1], interior = [0, 1] : tensor<5x2xf32, #cpu>, tensor<f32, #cpu>
    weft.return %0 : tensor<5x2xf32, #cpu>
  })");
}

TEST(Window, IsReadAndWrittenInsideOfTheTensor) {
  for (int64_t size : {1, 15, 16, 17, 65}) {
    expectSame(with(
        R"(weft.func @main(%x: tensor<9x$Mxf32, #cpu>, %i: tensor<i64, #cpu>, %j: tensor<i64, #cpu>) -> tensor<4x$Nxf32, #cpu> {
      %0 = weft.dynamic_slice %x, starts(%i, %j), sizes = [4, $N] : tensor<9x$Mxf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
      weft.return %0 : tensor<4x$Nxf32, #cpu>
    })",
        size));
    expectSame(
        with(
            R"(weft.func @main(%x: tensor<9x$Mx2xf32, #cpu>, %u: tensor<4x$Nx1xf32, #cpu>, %i: tensor<i64, #cpu>, %j: tensor<i64, #cpu>) -> tensor<9x$Mx2xf32, #cpu> {
      %1 = weft.neg %u : tensor<4x$Nx1xf32, #cpu>
      %0 = weft.dynamic_update_slice %x, %1, starts(%i, %j, %i) : tensor<9x$Mx2xf32, #cpu>, tensor<4x$Nx1xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
      weft.return %0 : tensor<9x$Mx2xf32, #cpu>
    })",
            size),
        ir::FusionKind::update);
  }
}

// Rows of every length, many of them the same row, so that their order shows; enough for ranges and blocks.
TEST(IndexUpdate, RowsOfEverySize) {
  for (int64_t size : sizes)
    for (const char *how : {"", " accumulate"})
      expectSame(
          with(
              std::string("weft.func @main(%x: tensor<8x$Nxf32, #cpu>, %u: tensor<300x$Nxf32, #cpu>, %i: "
                          "tensor<300xi64, #cpu>) -> tensor<8x$Nxf32, #cpu> {\n"
                          "  %0 = weft.index_update %x, %u, %i, dim = 0") +
                  how +
                  " mode = assume : tensor<8x$Nxf32, #cpu>, tensor<300x$Nxf32, #cpu>, tensor<300xi64, #cpu>\n"
                  "  weft.return %0 : tensor<8x$Nxf32, #cpu>\n}",
              size),
          ir::FusionKind::update);
}

TEST(IndexUpdate, EveryTypeInAMiddleDimension) {
  for (const char *type : types)
    expectSame(
        with(
            R"(weft.func @main(%x: tensor<3x8x$Nx$T, #cpu>, %u: tensor<3x20x$Nx$T, #cpu>, %i: tensor<20xi32, #cpu>) -> tensor<3x8x$Nx$T, #cpu> {
      %0 = weft.index_update %x, %u, %i, dim = 1 mode = clip : tensor<3x8x$Nx$T, #cpu>, tensor<3x20x$Nx$T, #cpu>, tensor<20xi32, #cpu>
      weft.return %0 : tensor<3x8x$Nx$T, #cpu>
    })",
            19, type),
        ir::FusionKind::update);
}

TEST(Scatter, EveryKindAndType) {
  for (const char *type : types)
    for (const char *kind : {"add", "set", "max", "min", "mul"}) {
      if (std::string(type) == "i1" && std::string(kind) != "set")
        continue;
      expectSame(
          with(std::string("weft.func @main(%x: tensor<5x8x3x$T, #cpu>, %i: tensor<4x$Nx3xi64, #cpu>, %u: "
                           "tensor<5x$Nx4x$T, #cpu>) -> tensor<5x8x3x$T, #cpu> {\n"
                           "  %0 = weft.scatter %x, %i, %u, dim = 1, kind = ") +
                   kind +
                   " mode = assume : tensor<5x8x3x$T, #cpu>, tensor<4x$Nx3xi64, #cpu>, tensor<5x$Nx4x$T, "
                   "#cpu>\n  weft.return %0 : tensor<5x8x3x$T, #cpu>\n}",
               33, type),
          ir::FusionKind::update);
    }
}

// Long enough to be cut into ranges of places.
TEST(Scatter, OneDimension) {
  expectSame(
      R"(weft.func @main(%x: tensor<8xf32, #cpu>, %i: tensor<40000xi64, #cpu>, %u: tensor<40000xf32, #cpu>) -> tensor<8xf32, #cpu> {
    %0 = weft.scatter %x, %i, %u, dim = 0, kind = add mode = assume : tensor<8xf32, #cpu>, tensor<40000xi64, #cpu>, tensor<40000xf32, #cpu>
    weft.return %0 : tensor<8xf32, #cpu>
  })",
      ir::FusionKind::update);
}

} // namespace
} // namespace weft::testing
