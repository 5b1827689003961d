//===- InterpreterWindowsTest.cpp - Windows and convolutions by hand ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Support.h"

using namespace weft;
using namespace weft::ir;
using namespace weft::ir::test;

TEST(Windows, StrideAndDilation) {
  auto a = reals(DType::f32, {7}, {1, 2, 3, 4, 5, 6, 7});
  // Windows begin at 0, 2 and 4; the elements of one are two apart.
  expectReals(
      evaluate("weft.windows %a, size = [2], stride = [2], dilation = [2] : T<7xf32>", "T<2x3xf32>", {a}),
      {1, 3, 5, 3, 5, 7});
}

TEST(Windows, OfTwoExtents) {
  auto a = wholes(DType::i64, {2, 3}, {1, 2, 3, 4, 5, 6});
  expectWholes(evaluate("weft.windows %a, size = [2, 2], stride = [1, 1], dilation = [1, 1] : T<2x3xi64>",
                        "T<2x2x1x2xi64>", {a}),
               {1, 2, 2, 3, 4, 5, 5, 6});
}

TEST(OverlapAdd, AddsWhereWindowsOverlap) {
  auto a = reals(DType::f32, {2, 3}, {1, 2, 3, 10, 20, 30});
  expectReals(evaluate("weft.overlap_add %a, shape = [5], stride = [1], dilation = [2] : T<2x3xf32>",
                       "T<5xf32>", {a}),
              {1, 2, 13, 20, 30});
  // The last element is in no window.
  auto i = wholes(DType::i8, {2, 2}, {100, 1, 100, 2});
  expectWholes(evaluate("weft.overlap_add %a, shape = [4], stride = [1], dilation = [1] : T<2x3xi8>",
                        "T<4xi8>", {wholes(DType::i8, {2, 3}, {100, 100, 3, 100, 5, 6})}),
               {100, -56, 8, 6});
  expectWholes(
      evaluate("weft.overlap_add %a, shape = [5], stride = [2], dilation = [1] : T<2x2xi8>", "T<5xi8>", {i}),
      {100, 100, 1, 2, 0});
}

TEST(OverlapAdd, RoundsOnce) {
  // 2048 + 1 is 2048 in f16, 2048 + 2 is not.
  auto a = reals(DType::f16, {3, 3}, {0, 0, 2048, 0, 1, 0, 1, 0, 0});
  auto sum = evaluate("weft.overlap_add %a, shape = [5], stride = [1], dilation = [1] : T<3x3xf16>",
                      "T<5xf16>", {a});
  expectReals(sum, {0, 0, 2050, 0, 0});
}

TEST(Convolution, PaddingStrideDilation) {
  auto a = reals(DType::f32, {1, 1, 5}, {1, 2, 3, 4, 5}), w = reals(DType::f32, {1, 1, 2}, {1, 10});
  auto convolve = [&](const std::string &numbers, const std::string &result) {
    return evaluate("weft.convolution %a, %b, " + numbers + ", groups = 1 : T<1x1x5xf32>, T<1x1x2xf32>",
                    result, {a, w});
  };
  expectReals(convolve("stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1]",
                       "T<1x1x4xf32>"),
              {21, 32, 43, 54});
  expectReals(convolve("stride = [2], low = [1], high = [1], base_dilation = [1], window_dilation = [2]",
                       "T<1x1x3xf32>"),
              {20, 42, 4});
  // Zeros between the elements: 1 0 2 0 3 0 4 0 5, of which the first is removed.
  expectReals(convolve("stride = [1], low = [-1], high = [0], base_dilation = [2], window_dilation = [1]",
                       "T<1x1x7xf32>"),
              {20, 2, 30, 3, 40, 4, 50});
}

TEST(Convolution, PaddingMeetsInfiniteWeights) {
  auto a = reals(DType::f32, {1, 1, 2}, {1, 1}), w = reals(DType::f32, {1, 1, 2}, {INFINITY, 1});
  expectReals(evaluate("weft.convolution %a, %b, stride = [1], low = [1], high = [0], base_dilation = [1], "
                       "window_dilation = [1], groups = 1 : T<1x1x2xf32>, T<1x1x2xf32>",
                       "T<1x1x2xf32>", {a, w}),
              {NAN, INFINITY});
}

TEST(Convolution, GroupsSeeTheirChannels) {
  auto a = wholes(DType::i32, {1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
       w = wholes(DType::i32, {2, 2, 1, 1}, {1, 10, 100, 1000});
  expectWholes(
      evaluate("weft.convolution %a, %b, stride = [1, 1], low = [0, 0], high = [0, 0], base_dilation = "
               "[1, 1], window_dilation = [1, 1], groups = 2 : T<1x4x1x2xi32>, T<2x2x1x1xi32>",
               "T<1x2x1x2xi32>", {a, w}),
      {31, 42, 7500, 8600});
}
