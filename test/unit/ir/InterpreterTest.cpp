//===- InterpreterTest.cpp - What each op means ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results of the interpreter against values worked out by hand. The interpreter is what backends are compared
// with, so nothing here may come from it.
//
//===----------------------------------------------------------------------===//
#include "Support.h"

#include "ir/interp/Rules.h"

using namespace weft;
using namespace weft::ir;
using namespace weft::ir::test;

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

TEST(Creation, Constants) {
  expectReals(evaluate("weft.constant dense<[[1.0, 2.0], [3.0, 0x7FC00000]]> : T<2x2xf32>", "T<2x2xf32>", {}),
              {1, 2, 3, NaN});
  expectReals(evaluate("weft.constant dense<1.5> : T<3xbf16>", "T<3xbf16>", {}), {1.5, 1.5, 1.5});
  expectWholes(evaluate("weft.constant dense<[true, false]> : T<2xi1>", "T<2xi1>", {}), {1, 0});
  expectWholes(evaluate("weft.constant dense<true> : T<2xi1>", "T<2xi1>", {}), {1, 1});
  expectWholes(evaluate("weft.constant dense<[200, 5]> : T<2xui8>", "T<2xui8>", {}), {200, 5});
  expectWholes(evaluate("weft.constant dense<-7> : T<i64>", "T<i64>", {}), {-7});
  expectReals(evaluate("weft.constant dense<> : T<0x3xf32>", "T<0x3xf32>", {}), {});
}

TEST(Creation, ConstantOfResource) {
  Program program(R"(weft.func @f() -> T<2xf32> {
    %r = weft.constant dense_resource<w> : T<2xf32>
    weft.return %r : T<2xf32>
  }
  {-# dialect_resources: { builtin: { w: "0x040000000000803F000000C0" } } #-})");
  auto results = program.run();
  ASSERT_EQ(results.size(), 1u) << program.said();
  expectReals(results[0], {1, -2});
}

TEST(Creation, FullAndIota) {
  expectReals(evaluate("weft.full %a, shape = [2, 2] : T<f32>", "T<2x2xf32>", reals(DType::f32, {}, {2.5})),
              {2.5, 2.5, 2.5, 2.5});
  expectWholes(evaluate("weft.full %a, shape = [3] : T<i8>", "T<3xi8>", wholes(DType::i8, {}, {-3})),
               {-3, -3, -3});
  expectWholes(evaluate("weft.iota dim = 1 : T<2x3xi64>", "T<2x3xi64>", {}), {0, 1, 2, 0, 1, 2});
  expectWholes(evaluate("weft.iota dim = 0 : T<2x3xi64>", "T<2x3xi64>", {}), {0, 0, 0, 1, 1, 1});
  auto wrapped = evaluate("weft.iota dim = 0 : T<130xi8>", "T<130xi8>", {});
  EXPECT_EQ(wrapped.whole[127], 127);
  EXPECT_EQ(wrapped.whole[129], -127);
}

TEST(Philox, KnownAnswers) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

static std::vector<int64_t> asI32(std::vector<uint32_t> words) {
  std::vector<int64_t> result;
  for (uint32_t word : words)
    result.push_back(static_cast<int32_t>(word));
  return result;
}

TEST(Philox, WordsOfKeyCounterAndStream) {
  auto key = wholes(DType::i64, {}, {0x299f31d0a4093822}),
       counter = wholes(DType::i64, {}, {static_cast<int64_t>(0x85a308d3243f6a88u)});
  auto r = evaluate("weft.rng_bits_philox %a, %b, shape = [2, 2] stream = 247824715720788526 : T<i64>",
                    std::vector<std::string>{"T<2x2xi32>", "T<i64>"}, {key, counter});
  static_assert(247824715720788526 == 0x0370734413198a2e);
  expectWholes(r[0], asI32({0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  expectWholes(r[1], {static_cast<int64_t>(0x85a308d3243f6a89u)});
}

TEST(Philox, FourElementsTakeOneBlock) {
  auto zero = wholes(DType::i64, {}, {0}), one = wholes(DType::i64, {}, {1});
  auto bits = [&](const Literal &counter, int64_t n) {
    std::string size = std::to_string(n);
    return evaluate("weft.rng_bits_philox %a, %b, shape = [" + size + "] : T<i64>",
                    std::vector<std::string>{"T<" + size + "xi32>", "T<i64>"}, {zero, counter});
  };
  auto ten = bits(zero, 10), four = bits(zero, 4), next = bits(one, 4), none = bits(one, 0);
  EXPECT_EQ(std::vector(ten[0].whole.begin(), ten[0].whole.begin() + 4), four[0].whole);
  EXPECT_EQ(std::vector(ten[0].whole.begin() + 4, ten[0].whole.begin() + 8), next[0].whole);
  expectWholes(four[0], asI32({0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  expectWholes(ten[1], {3});
  expectWholes(four[1], {1});
  expectWholes(none[1], {1});
  EXPECT_EQ(bits(wholes(DType::i64, {}, {-1}), 5)[0].whole[4], four[0].whole[0]) << "the counter wraps";
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

TEST(Shape, Broadcast) {
  expectReals(evaluate("weft.broadcast_in_dim %a, dims = [1] : T<3xf32> -> T<2x3xf32>", "T<2x3xf32>",
                       reals(DType::f32, {3}, {1, 2, 3})),
              {1, 2, 3, 1, 2, 3});
  expectReals(evaluate("weft.broadcast_in_dim %a, dims = [0] : T<2xf32> -> T<2x3xf32>", "T<2x3xf32>",
                       reals(DType::f32, {2}, {1, 2})),
              {1, 1, 1, 2, 2, 2});
  expectWholes(evaluate("weft.broadcast_in_dim %a, dims = [0, 2] : T<2x1xi8> -> T<2x2x3xi8>", "T<2x2x3xi8>",
                        wholes(DType::i8, {2, 1}, {4, 5})),
               {4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5});
  expectReals(evaluate("weft.broadcast_in_dim %a, dims = [0] : T<1xf32> -> T<0xf32>", "T<0xf32>",
                       reals(DType::f32, {1}, {1})),
              {});
}

TEST(Shape, ReshapeAndTranspose) {
  auto a = wholes(DType::i32, {2, 3}, {1, 2, 3, 4, 5, 6});
  expectWholes(evaluate("weft.reshape %a : T<2x3xi32> -> T<3x2xi32>", "T<3x2xi32>", a), {1, 2, 3, 4, 5, 6});
  expectWholes(evaluate("weft.transpose %a, perm = [1, 0] : T<2x3xi32>", "T<3x2xi32>", a),
               {1, 4, 2, 5, 3, 6});
  // Dimension i of the result is dimension perm[i] of the operand: element [i, j, k] is a[j, k, i].
  auto b = wholes(DType::i32, {2, 3, 2}, {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121});
  expectWholes(evaluate("weft.transpose %a, perm = [2, 0, 1] : T<2x3x2xi32>", "T<2x2x3xi32>", b),
               {0, 10, 20, 100, 110, 120, 1, 11, 21, 101, 111, 121});
}

TEST(Shape, SliceAndPad) {
  auto a = wholes(DType::i32, {3, 4}, {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23});
  expectWholes(
      evaluate("weft.slice %a, start = [0, 1], limit = [3, 4], step = [2, 2] : T<3x4xi32>", "T<2x2xi32>", a),
      {1, 3, 21, 23});
  expectWholes(
      evaluate("weft.slice %a, start = [3, 0], limit = [3, 4], step = [1, 1] : T<3x4xi32>", "T<0x4xi32>", a),
      {});
  auto b = reals(DType::f32, {2, 2}, {1, 2, 3, 4});
  expectReals(
      evaluate("weft.pad %a, low = [1, 0], high = [0, 1], interior = [0, 2] : T<2x2xf32>", "T<3x5xf32>", b),
      {0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 3, 0, 0, 4, 0});
  expectReals(evaluate("weft.pad %a, low = [1], high = [2], interior = [5] : T<0xf32>", "T<3xf32>",
                       reals(DType::f32, {0}, {})),
              {0, 0, 0});
}

TEST(Shape, TransferKeepsValues) {
  Program program(R"(weft.func @f(%a: T<2xf32>) -> T<2xf32> {
    %b = weft.transfer %a to <cuda:0> : T<2xf32>
    %c = weft.neg %b : tensor<2xf32, #weft.device<cuda:0>>
    %d = weft.transfer %c to <cpu> non_blocking : tensor<2xf32, #weft.device<cuda:0>>
    weft.return %d : T<2xf32>
  })");
  auto results = program.run(reals(DType::f32, {2}, {1, -2}));
  ASSERT_EQ(results.size(), 1u) << program.said();
  expectReals(results[0], {-1, 2});
}

//===----------------------------------------------------------------------===//
// Reductions and indexing
//===----------------------------------------------------------------------===//

TEST(Reduction, Sum) {
  auto a = reals(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  expectReals(evaluate("weft.sum %a, dims = [0] : T<2x3xf32>", "T<3xf32>", a), {5, 7, 9});
  expectReals(evaluate("weft.sum %a, dims = [1] : T<2x3xf32>", "T<2xf32>", a), {6, 15});
  expectReals(evaluate("weft.sum %a, dims = [0, 1] : T<2x3xf32>", "T<f32>", a), {21});
  expectReals(evaluate("weft.sum %a, dims = [] : T<2x3xf32>", "T<2x3xf32>", a), {1, 2, 3, 4, 5, 6});
  expectReals(evaluate("weft.sum %a, dims = [0] : T<0x2xf32>", "T<2xf32>", reals(DType::f32, {0, 2}, {})),
              {0, 0});
  expectWholes(
      evaluate("weft.sum %a, dims = [0] : T<3xi8>", "T<i8>", wholes(DType::i8, {3}, {100, 100, 100})), {44});
  // Only the result is rounded: in f32 the ones would all be lost.
  std::vector<double> values(1001, 1);
  values[0] = 16777216;
  expectReals(evaluate("weft.sum %a, dims = [0] : T<1001xf32>", "T<f32>", reals(DType::f32, {1001}, values)),
              {16778216});
}

TEST(Reduction, Extremes) {
  auto a = reals(DType::f32, {2, 3}, {1, NaN, 3, -4, 6, 5});
  expectReals(evaluate("weft.rmax %a, dims = [1] : T<2x3xf32>", "T<2xf32>", a), {NaN, 6});
  expectReals(evaluate("weft.rmin %a, dims = [0] : T<2x3xf32>", "T<3xf32>", a), {-4, NaN, 3});
  auto zeros = reals(DType::f32, {2}, {-0.0, 0.0});
  expectReals(evaluate("weft.rmax %a, dims = [0] : T<2xf32>", "T<f32>", zeros), {0.0});
  expectReals(evaluate("weft.rmin %a, dims = [0] : T<2xf32>", "T<f32>", zeros), {-0.0});
  auto low = reals(DType::f32, {2}, {-inf, -inf});
  expectReals(evaluate("weft.rmax %a, dims = [0] : T<2xf32>", "T<f32>", low), {-inf});
  expectWholes(
      evaluate("weft.rmax %a, dims = [0] : T<3xui8>", "T<ui8>", wholes(DType::ui8, {3}, {1, 200, 100})),
      {200});
  expectWholes(evaluate("weft.rmin %a, dims = [0] : T<3xi8>", "T<i8>", wholes(DType::i8, {3}, {1, -56, 100})),
               {-56});
  expectReals(evaluate("weft.rmax %a, dims = [1] : T<0x3xf32>", "T<0xf32>", reals(DType::f32, {0, 3}, {})),
              {});
}

TEST(Reduction, ArgmaxTakesTheFirstAndNaN) {
  auto a = reals(DType::f32, {4, 3}, {1, 3, 3, NaN, 9, NaN, 5, 2, NaN, -inf, -inf, -inf});
  expectWholes(evaluate("weft.argmax %a, dim = 1 : T<4x3xf32>", "T<4xi64>", a), {1, 0, 2, 0});
  expectWholes(evaluate("weft.argmax %a, dim = 0 : T<4x3xf32>", "T<3xi64>", a), {1, 1, 1});
  expectWholes(
      evaluate("weft.argmax %a, dim = 0 : T<3xui8>", "T<i64>", wholes(DType::ui8, {3}, {100, 200, 200})),
      {1});
}

TEST(Gather, Along) {
  auto a = reals(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  expectReals(evaluate("weft.gather %a, %b, dim = 1, kind = along : T<2x3xf32>, T<2x2xi64>", "T<2x2xf32>",
                       {a, wholes(DType::i64, {2, 2}, {2, 0, 1, 1})}),
              {3, 1, 5, 5});
  // The index may be smaller in the other dimensions, and longer along `dim`.
  expectReals(evaluate("weft.gather %a, %b, dim = 0, kind = along : T<2x3xf32>, T<3x2xi32>", "T<3x2xf32>",
                       {a, wholes(DType::i32, {3, 2}, {1, 0, 0, 1, 1, 1})}),
              {4, 2, 1, 5, 4, 5});
}

TEST(Gather, Points) {
  auto a = reals(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6});
  expectReals(evaluate("weft.gather %a, %b, dim = 0, kind = points : T<3x2xf32>, T<2x2xi64>", "T<2x2x2xf32>",
                       {a, wholes(DType::i64, {2, 2}, {2, 0, 1, 2})}),
              {5, 6, 1, 2, 3, 4, 5, 6});
  expectReals(evaluate("weft.gather %a, %b, dim = 1, kind = points : T<3x2xf32>, T<3xi64>", "T<3x3xf32>",
                       {a, wholes(DType::i64, {3}, {1, 1, 0})}),
              {2, 2, 1, 4, 4, 3, 6, 6, 5});
  expectReals(evaluate("weft.gather %a, %b, dim = 0, kind = points : T<3x2xf32>, T<i64>", "T<2xf32>",
                       {a, wholes(DType::i64, {}, {1})}),
              {3, 4});
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

TEST(DotGeneral, MatrixProducts) {
  auto a = reals(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}),
       b = reals(DType::f32, {3, 2}, {7, 8, 9, 10, 11, 12}),
       t = reals(DType::f32, {2, 3}, {7, 9, 11, 8, 10, 12});
  expectReals(evaluate("weft.dot_general %a, %b, contract = [1] x [0] : T<2x3xf32>, T<3x2xf32>", "T<2x2xf32>",
                       {a, b}),
              {58, 64, 139, 154});
  expectReals(evaluate("weft.dot_general %a, %b, contract = [1] x [1] : T<2x3xf32>, T<2x3xf32>", "T<2x2xf32>",
                       {a, t}),
              {58, 64, 139, 154});
  expectReals(evaluate("weft.dot_general %a, %b, contract = [0, 1] x [0, 1] : T<2x3xf32>, T<2x3xf32>",
                       "T<f32>", {a, t}),
              {7 + 18 + 33 + 32 + 50 + 72});
  expectReals(evaluate("weft.dot_general %a, %b, contract = [] x [] : T<2xf32>, T<2xf32>", "T<2x2xf32>",
                       {reals(DType::f32, {2}, {1, 2}), reals(DType::f32, {2}, {3, 5})}),
              {3, 5, 6, 10});
  expectReals(evaluate("weft.dot_general %a, %b, contract = [1] x [0] : T<2x0xf32>, T<0x2xf32>", "T<2x2xf32>",
                       {reals(DType::f32, {2, 0}, {}), reals(DType::f32, {0, 2}, {})}),
              {0, 0, 0, 0});
}

TEST(DotGeneral, BatchComesFirstWhereverItStands) {
  // a[m, n, k] with batch n at 1; b[k, n] with batch n at 1; result [n, m].
  auto a = reals(DType::f32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
       b = reals(DType::f32, {2, 2}, {1, 10, 100, 1000});
  expectReals(
      evaluate("weft.dot_general %a, %b, batch = [1] x [1], contract = [2] x [0] : T<2x2x2xf32>, T<2x2xf32>",
               "T<2x2xf32>", {a, b}),
      {201, 605, 4030, 8070});
}

TEST(DotGeneral, EpilogueAndRounding) {
  auto a = reals(DType::f32, {2, 1}, {1, -2}), b = reals(DType::f32, {1, 2}, {3, 4}),
       bias = reals(DType::f32, {2}, {-4, 1});
  expectReals(
      evaluate("weft.dot_general %a, %b, bias %c, contract = [1] x [0] : T<2x1xf32>, T<1x2xf32>, T<2xf32>",
               "T<2x2xf32>", {a, b, bias}),
      {-1, 5, -10, -7});
  expectReals(
      evaluate(
          "weft.dot_general %a, %b, bias %c, relu, contract = [1] x [0] : T<2x1xf32>, T<1x2xf32>, T<2xf32>",
          "T<2x2xf32>", {a, b, bias}),
      {0, 5, 0, 0});
  expectReals(evaluate("weft.dot_general %a, %b, relu, contract = [0] x [0] : T<1xf32>, T<1xf32>", "T<f32>",
                       {reals(DType::f32, {1}, {NaN}), reals(DType::f32, {1}, {1})}),
              {NaN});
  expectReals(evaluate("weft.dot_general %a, %b, bias %c, residual %d, relu, contract = [1] x [0] : "
                       "T<2x1xf32>, T<1x2xf32>, "
                       "T<2xf32>, T<2x2xf32>",
                       "T<2x2xf32>", {a, b, bias, reals(DType::f32, {2, 2}, {10, -20, 20, 7})}),
              {9, 0, 10, 0});
  expectWholes(
      evaluate(
          "weft.dot_general %a, %b, residual %c, contract = [0] x [0] : T<2xi8>, T<2xi8>, T<i8>", "T<i8>",
          {wholes(DType::i8, {2}, {100, 27}), wholes(DType::i8, {2}, {1, 1}), wholes(DType::i8, {}, {1})}),
      {-128});
  // 1 + 2^-12 is exact in the accumulator, and rounds once.
  expectReals(evaluate("weft.dot_general %a, %b, contract = [0] x [0] : T<3xf16>, T<3xf16>", "T<f16>",
                       {reals(DType::f16, {3}, {1, 0.015625, -1}), reals(DType::f16, {3}, {1, 0.015625, 1})}),
              {std::ldexp(1.0, -12)});
}

TEST(DotGeneral, IntegersWrap) {
  expectWholes(evaluate("weft.dot_general %a, %b, contract = [0] x [0] : T<2xi8>, T<2xi8>", "T<i8>",
                        {wholes(DType::i8, {2}, {100, 100}), wholes(DType::i8, {2}, {2, 1})}),
               {44});
  // relu looks at the wrapped sum, which is negative here.
  expectWholes(evaluate("weft.dot_general %a, %b, relu, contract = [0] x [0] : T<1xi8>, T<1xi8>", "T<i8>",
                        {wholes(DType::i8, {1}, {100}), wholes(DType::i8, {1}, {2})}),
               {0});
}
