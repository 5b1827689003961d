//===- InterpreterIndexingTest.cpp - Joins, windows and indices by hand ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Support.h"

using namespace weft;
using namespace weft::ir;
using namespace weft::ir::test;

TEST(Join, PartsFollowEachOther) {
  auto a = reals(DType::f32, {2, 1}, {1, 2}), b = reals(DType::f32, {2, 2}, {3, 4, 5, 6});
  expectReals(evaluate("weft.concat(%a, %b), dim = 1 : T<2x1xf32>, T<2x2xf32>", "T<2x3xf32>", {a, b}),
              {1, 3, 4, 2, 5, 6});
}

TEST(Reverse, OfSomeDimensions) {
  auto a = reals(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  expectReals(evaluate("weft.reverse %a, dims = [1] : T<2x3xf32>", "T<2x3xf32>", {a}), {3, 2, 1, 6, 5, 4});
  expectReals(evaluate("weft.reverse %a, dims = [0, 1] : T<2x3xf32>", "T<2x3xf32>", {a}), {6, 5, 4, 3, 2, 1});
}

TEST(Pad, CropsAndFills) {
  auto a = reals(DType::f32, {4}, {1, 2, 3, 4}), v = reals(DType::f32, {}, {9});
  expectReals(evaluate("weft.pad %a value %b, low = [-1], high = [2], interior = [0] : T<4xf32>, T<f32>",
                       "T<5xf32>", {a, v}),
              {2, 3, 4, 9, 9});
  expectReals(evaluate("weft.pad %a, low = [-1], high = [-2], interior = [1] : T<4xf32>", "T<4xf32>", {a}),
              {0, 2, 0, 3});
}

TEST(Window, StartsAreClamped) {
  auto a = reals(DType::f32, {4}, {1, 2, 3, 4}), u = reals(DType::f32, {2}, {8, 9});
  expectReals(evaluate("weft.dynamic_slice %a, starts(%b), sizes = [2] : T<4xf32>, T<i64>", "T<2xf32>",
                       {a, wholes(DType::i64, {}, {3})}),
              {3, 4});
  expectReals(evaluate("weft.dynamic_update_slice %a, %b, starts(%c) : T<4xf32>, T<2xf32>, T<i64>",
                       "T<4xf32>", {a, u, wholes(DType::i64, {}, {-5})}),
              {8, 9, 3, 4});
}

TEST(Scatter, CombinesInOrder) {
  auto a = reals(DType::f32, {3}, {10, 20, 30}), u = reals(DType::f32, {4}, {1, 2, 3, 4});
  auto i = wholes(DType::i64, {4}, {2, 0, 2, 2});
  auto scatter = [&](const std::string &kind) {
    return evaluate("weft.scatter %a, %b, %c, dim = 0, kind = " + kind + " : T<3xf32>, T<4xi64>, T<4xf32>",
                    "T<3xf32>", {a, i, u});
  };
  expectReals(scatter("set"), {2, 20, 4});
  expectReals(scatter("add"), {12, 20, 38});
  expectReals(scatter("mul"), {20, 20, 360});
  expectReals(scatter("max"), {10, 20, 30});
  expectReals(scatter("min"), {2, 20, 1});
}

TEST(Scatter, EveryStepIsRounded) {
  // 2048 + 1 is 2048 in f16, however often.
  auto a = reals(DType::f16, {1}, {2048}), u = reals(DType::f16, {3}, {1, 1, 1});
  expectReals(evaluate("weft.scatter %a, %b, %c, dim = 0, kind = add : T<1xf16>, T<3xi64>, T<3xf16>",
                       "T<1xf16>", {a, wholes(DType::i64, {3}, {0, 0, 0}), u}),
              {2048});
}

TEST(IndexUpdate, WritesSlices) {
  auto a = reals(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6}), u = reals(DType::f32, {2, 2}, {10, 20, 30, 40});
  auto i = wholes(DType::i64, {2}, {2, 2});
  expectReals(evaluate("weft.index_update %a, %b, %c, dim = 0 : T<3x2xf32>, T<2x2xf32>, T<2xi64>",
                       "T<3x2xf32>", {a, u, i}),
              {1, 2, 3, 4, 30, 40});
  expectReals(evaluate("weft.index_update %a, %b, %c, dim = 0 accumulate : T<3x2xf32>, T<2x2xf32>, T<2xi64>",
                       "T<3x2xf32>", {a, u, i}),
              {1, 2, 3, 4, 45, 66});
}

TEST(Gather, ClipsWhereItIsAsked) {
  expectReals(evaluate("weft.gather %a, %b, dim = 0, kind = points mode = clip : T<3xf32>, T<3xi64>",
                       "T<3xf32>", {reals(DType::f32, {3}, {1, 2, 3}), wholes(DType::i64, {3}, {-7, 1, 9})}),
              {1, 2, 3});
}

TEST(Bitcast, KeepsTheBytes) {
  auto a = reals(DType::f32, {2}, {1, -2});
  auto bits = evaluate("weft.bitcast %a to i32 : T<2xf32>", "T<2xi32>", {a});
  EXPECT_EQ(bits.whole, (std::vector<int64_t>{0x3F800000, static_cast<int32_t>(0xC0000000)}));
}
