//===- InterpreterOrderTest.cpp - Sorts and running extremes by hand -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Support.h"

using namespace weft;
using namespace weft::ir;
using namespace weft::ir::test;

using Types = std::vector<std::string>;

TEST(Sort, KeepsTheOrderOfEqualElements) {
  auto a = reals(DType::f32, {5}, {2, 1, 2, 0, 1});
  auto up = evaluate("weft.sort %a, count = 5 : T<5xf32>", Types{"T<5xf32>", "T<5xi64>"}, {a});
  expectReals(up[0], {0, 1, 1, 2, 2});
  expectWholes(up[1], {3, 1, 4, 0, 2});
  auto down = evaluate("weft.sort %a, count = 3 descending : T<5xf32>", Types{"T<3xf32>", "T<3xi64>"}, {a});
  expectReals(down[0], {2, 2, 1});
  expectWholes(down[1], {0, 2, 1});
}

TEST(Sort, NaNIsLargestAndZerosAreEqual) {
  auto a = reals(DType::f64, {2, 4}, {NaN, 0.0, -0.0, inf, -0.0, 0.0, NaN, -inf});
  auto up = evaluate("weft.sort %a, count = 4 : T<2x4xf64>", Types{"T<2x4xf64>", "T<2x4xi64>"}, {a});
  expectReals(up[0], {0.0, -0.0, inf, NaN, -inf, -0.0, 0.0, NaN});
  expectWholes(up[1], {1, 2, 3, 0, 3, 0, 1, 2});
  auto down =
      evaluate("weft.sort %a, count = 2 descending : T<2x4xf64>", Types{"T<2x2xf64>", "T<2x2xi64>"}, {a});
  expectReals(down[0], {NaN, inf, NaN, -0.0});
  expectWholes(down[1], {0, 3, 2, 0});
}

TEST(Sort, OfIntegersBoolsAndNothing) {
  auto i = wholes(DType::ui8, {4}, {200, 3, 255, 0});
  expectWholes(evaluate("weft.sort %a, count = 4 : T<4xui8>", Types{"T<4xui8>", "T<4xi64>"}, {i})[0],
               {0, 3, 200, 255});
  auto b = wholes(DType::i1, {3}, {1, 0, 1});
  expectWholes(evaluate("weft.sort %a, count = 3 : T<3xi1>", Types{"T<3xi1>", "T<3xi64>"}, {b})[1],
               {1, 0, 2});
  auto none = reals(DType::f32, {0, 3}, {});
  expectReals(evaluate("weft.sort %a, count = 2 : T<0x3xf32>", Types{"T<0x2xf32>", "T<0x2xi64>"}, {none})[0],
              {});
}

TEST(RunningExtremes, OfBothDirections) {
  auto a = reals(DType::f32, {5}, {1, 3, 2, NaN, 4});
  expectReals(evaluate("weft.cummax %a, dim = 0 : T<5xf32>", "T<5xf32>", {a}), {1, 3, 3, NaN, NaN});
  expectReals(evaluate("weft.cummin %a, dim = 0 reverse : T<5xf32>", "T<5xf32>", {a}),
              {NaN, NaN, NaN, NaN, 4});
}

TEST(RunningExtremes, BeginWithTheIdentity) {
  auto a = reals(DType::f16, {3}, {1, 3, 2});
  expectReals(evaluate("weft.cummax %a, dim = 0 exclusive : T<3xf16>", "T<3xf16>", {a}), {-inf, 1, 3});
  auto i = wholes(DType::i8, {2}, {5, 7});
  expectWholes(evaluate("weft.cummin %a, dim = 0 exclusive : T<2xi8>", "T<2xi8>", {i}), {127, 5});
  expectWholes(evaluate("weft.cummax %a, dim = 0 reverse exclusive : T<2xi8>", "T<2xi8>", {i}), {7, -128});
  auto u = wholes(DType::ui8, {2}, {5, 7});
  expectWholes(evaluate("weft.cummin %a, dim = 0 exclusive : T<2xui8>", "T<2xui8>", {u}), {255, 5});
}
