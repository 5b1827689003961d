//===- interp_test.cpp - What each op means --------------------------------===//
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
// Elementwise
//===----------------------------------------------------------------------===//

namespace {
constexpr double pi = 3.14159265358979323846;
struct UnaryCase {
  const char *op;
  std::vector<double> in, out;
};
void PrintTo(const UnaryCase &c, std::ostream *os) { *os << c.op; }
class Unary : public testing::TestWithParam<UnaryCase> {};
} // namespace

TEST_P(Unary, EdgesAndValues) {
  const UnaryCase &c = GetParam();
  auto n = static_cast<int64_t>(c.in.size());
  std::string type = "T<" + std::to_string(n) + "xf64>";
  expectReals(evaluate(std::string("weft.") + c.op + " %a : " + type, type, reals(DType::f64, {n}, c.in)),
              c.out);
}

INSTANTIATE_TEST_SUITE_P(
    Ops, Unary,
    testing::Values(UnaryCase{"neg", {1.5, -0.0, 0.0, inf}, {-1.5, 0.0, -0.0, -inf}},
                    UnaryCase{"abs", {-1.5, -0.0, -inf, NaN}, {1.5, 0.0, inf, NaN}},
                    UnaryCase{"sign", {-2, 0, 3, NaN, -inf}, {-1, 0, 1, 0, -1}},
                    UnaryCase{"ceil", {1.2, -1.2, -0.5, inf}, {2, -1, -0.0, inf}},
                    UnaryCase{"floor", {1.2, -1.2, 2, -inf}, {1, -2, 2, -inf}},
                    UnaryCase{"round",
                              {0.5, 1.5, 2.5, -0.5, -2.5, 2.4, 4503599627370497.0, inf, -inf, NaN},
                              {0, 2, 2, -0.0, -2, 2, 4503599627370497.0, inf, -inf, NaN}},
                    UnaryCase{"trunc", {1.9, -1.9, -0.5, inf}, {1, -1, -0.0, inf}},
                    UnaryCase{"sqrt", {4, 2.25, -1, -0.0, inf}, {2, 1.5, NaN, -0.0, inf}},
                    UnaryCase{"rsqrt", {4, 0.25, 0, inf, -1}, {0.5, 2, inf, 0, NaN}},
                    UnaryCase{"recip", {4, -0.5, 0, -0.0, inf}, {0.25, -2, inf, -inf, 0}},
                    UnaryCase{"exp", {0, -inf, inf, 1000, -1000, NaN}, {1, 0, inf, inf, 0, NaN}},
                    UnaryCase{"expm1", {0, -inf, 1e-300, -0.0}, {0, -1, 1e-300, -0.0}},
                    UnaryCase{"log", {1, 0, -1, inf}, {0, -inf, NaN, inf}},
                    UnaryCase{"log1p", {0, -1, 1e-300, -2}, {0, -inf, 1e-300, NaN}},
                    UnaryCase{"sin", {0, -0.0, inf}, {0, -0.0, NaN}}, UnaryCase{"cos", {0, inf}, {1, NaN}},
                    UnaryCase{"tan", {0, -0.0, inf, NaN}, {0, -0.0, NaN, NaN}},
                    UnaryCase{"asin", {-0.0, 1, -1, 1.5, NaN}, {-0.0, pi / 2, -pi / 2, NaN, NaN}},
                    UnaryCase{"acos", {1, -1, 0, -1.5}, {0, pi, pi / 2, NaN}},
                    UnaryCase{"atan", {-0.0, inf, -inf, 1}, {-0.0, pi / 2, -pi / 2, pi / 4}},
                    UnaryCase{"log2", {8, 0.125, 0, -1, inf}, {3, -3, -inf, NaN, inf}},
                    UnaryCase{"log10", {1000, 1, 0, -1}, {3, 0, -inf, NaN}},
                    UnaryCase{"exp2", {10, -2, 0, -inf, 5000}, {1024, 0.25, 1, 0, inf}},
                    UnaryCase{"sinh", {-0.0, inf, -inf}, {-0.0, inf, -inf}},
                    UnaryCase{"cosh", {0, inf, -inf, NaN}, {1, inf, inf, NaN}},
                    UnaryCase{"asinh", {-0.0, inf, -inf}, {-0.0, inf, -inf}},
                    UnaryCase{"acosh", {1, inf, 0.5, NaN}, {0, inf, NaN, NaN}},
                    UnaryCase{"atanh", {-0.0, 1, -1, 2}, {-0.0, inf, -inf, NaN}},
                    UnaryCase{"tanh", {0, 100, -100, inf, NaN}, {0, 1, -1, 1, NaN}},
                    UnaryCase{"erf", {0, 10, -10, NaN}, {0, 1, -1, NaN}},
                    UnaryCase{"sigmoid", {0, 1000, -1000, -inf, inf, NaN}, {0.5, 1, 0, 0, 1, NaN}}),
    [](const testing::TestParamInfo<UnaryCase> &info) { return std::string(info.param.op); });

TEST(Elementwise, TranscendentalValues) {
  auto f = [](const char *op, double x) {
    return evaluate(std::string("weft.") + op + " %a : T<f64>", "T<f64>", reals(DType::f64, {}, {x})).real[0];
  };
  EXPECT_NEAR(f("exp", 1), 2.718281828459045, 1e-15);
  EXPECT_NEAR(f("log", 10), 2.302585092994046, 1e-15);
  EXPECT_NEAR(f("sin", 1), 0.8414709848078965, 1e-15);
  EXPECT_NEAR(f("cos", 1), 0.5403023058681398, 1e-15);
  EXPECT_NEAR(f("tanh", 0.5), 0.46211715726000975, 1e-15);
  // Digits from tables, not from another run of the same library.
  EXPECT_NEAR(f("tan", 1), 1.5574077246549022305, 1e-15);
  EXPECT_NEAR(f("asin", 0.5), 0.52359877559829887308, 1e-15);
  EXPECT_NEAR(f("acos", 0.3), 1.2661036727794991113, 1e-15);
  EXPECT_NEAR(f("atan", 2), 1.1071487177940905030, 1e-15);
  EXPECT_NEAR(f("log2", 10), 3.3219280948873623479, 1e-15);
  EXPECT_NEAR(f("log10", 2), 0.30102999566398119521, 1e-15);
  EXPECT_NEAR(f("exp2", 0.5), 1.4142135623730950488, 1e-15);
  EXPECT_NEAR(f("sinh", 1), 1.1752011936438014569, 1e-15);
  EXPECT_NEAR(f("cosh", 1), 1.5430806348152437785, 1e-15);
  EXPECT_NEAR(f("asinh", 1), 0.88137358701954302523, 1e-15);
  EXPECT_NEAR(f("acosh", 2), 1.3169578969248167086, 1e-15);
  EXPECT_NEAR(f("atanh", 0.5), 0.54930614433405484570, 1e-15);
  EXPECT_NEAR(f("erf", 0.5), 0.5204998778130465, 1e-15);
  EXPECT_NEAR(f("sigmoid", 1), 0.7310585786300049, 1e-15);
  EXPECT_NEAR(f("expm1", 1e-5), 1.0000050000166667e-5, 1e-20);
}

TEST(Elementwise, RoundsTheResultToItsType) {
  auto third = evaluate("weft.div %a, %b : T<f16>", "T<f16>",
                        {reals(DType::f16, {}, {1}), reals(DType::f16, {}, {3})});
  expectReals(third, {0.333251953125});
  expectReals(evaluate("weft.add %a, %a : T<f32>", "T<f32>", reals(DType::f32, {}, {3e38})), {inf});
}

TEST(Elementwise, UnaryIntegers) {
  expectWholes(evaluate("weft.neg %a : T<3xi8>", "T<3xi8>", wholes(DType::i8, {3}, {5, -128, 0})),
               {-5, -128, 0});
  expectWholes(evaluate("weft.abs %a : T<3xi8>", "T<3xi8>", wholes(DType::i8, {3}, {-5, -128, 7})),
               {5, -128, 7});
  expectWholes(evaluate("weft.neg %a : T<2xui8>", "T<2xui8>", wholes(DType::ui8, {2}, {1, 0})), {255, 0});
  expectWholes(evaluate("weft.sign %a : T<3xi32>", "T<3xi32>", wholes(DType::i32, {3}, {-9, 0, 4})),
               {-1, 0, 1});
  expectWholes(evaluate("weft.sign %a : T<2xui8>", "T<2xui8>", wholes(DType::ui8, {2}, {200, 0})), {1, 0});
  expectWholes(evaluate("weft.bnot %a : T<2xi1>", "T<2xi1>", wholes(DType::i1, {2}, {0, 1})), {1, 0});
  expectWholes(evaluate("weft.bnot %a : T<2xui8>", "T<2xui8>", wholes(DType::ui8, {2}, {0, 0xF0})),
               {255, 0x0F});
  expectWholes(evaluate("weft.isnan %a : T<3xf32>", "T<3xi1>", reals(DType::f32, {3}, {NaN, inf, 0})),
               {1, 0, 0});
}

TEST(Elementwise, BinaryReals) {
  auto f = [](const char *op, std::vector<double> a, std::vector<double> b, std::vector<double> expected) {
    auto n = static_cast<int64_t>(a.size());
    std::string type = "T<" + std::to_string(n) + "xf64>";
    SCOPED_TRACE(op);
    expectReals(evaluate(std::string("weft.") + op + " %a, %b : " + type, type,
                         {reals(DType::f64, {n}, a), reals(DType::f64, {n}, b)}),
                expected);
  };
  f("add", {1, inf, 0.1}, {2, -inf, 0.2}, {3, NaN, 0.1 + 0.2});
  f("sub", {1, inf, 0}, {2, inf, 0}, {-1, NaN, 0});
  f("mul", {3, 0, -2}, {4, inf, 0}, {12, NaN, -0.0});
  f("div", {1, 0, -1, 7}, {0, 0, 0, 2}, {inf, NaN, -inf, 3.5});
  f("pow", {NaN, 1, 2, -2, -8, 0, 0}, {0, NaN, 10, 3, 1.0 / 3, -1, 0}, {1, 1, 1024, -8, NaN, inf, 1});
  f("max", {-0.0, 0.0, NaN, 1, 2}, {0.0, -0.0, 1, NaN, 3}, {0.0, 0.0, NaN, NaN, 3});
  f("rem", {7, -7, 7, 5, inf, 1, -0.0, 1e300}, {3, 3, -3, 0, 2, inf, 3, 3}, {1, -1, 1, NaN, NaN, 1, -0.0, 0});
  f("mod", {7, -7, 7, 5, -1, 1, -7}, {3, 3, -3, 0, inf, inf, -3}, {1, 2, -2, NaN, inf, 1, -1});
  f("atan2", {0, -0.0, 0, -0.0, 1, inf, inf, -1}, {1, 1, -1, -1, 0, inf, -inf, 0},
    {0, -0.0, pi, -pi, pi / 2, pi / 4, 3 * pi / 4, -pi / 2});
  f("copysign", {1, -1, 0, inf, 3}, {-0.0, 0.0, -5, -1, NaN}, {-1, 1, -0.0, -inf, 3});
  f("min", {-0.0, 0.0, NaN, 1, 2}, {0.0, -0.0, 1, NaN, 3}, {-0.0, -0.0, NaN, NaN, 2});
}

TEST(Elementwise, BinaryIntegers) {
  auto f = [](const char *op, DType dtype, int64_t a, int64_t b) {
    std::string type = "T<" + std::string(name(dtype)) + ">";
    return evaluate(std::string("weft.") + op + " %a, %b : " + type, type,
                    {wholes(dtype, {}, {a}), wholes(dtype, {}, {b})})
        .whole[0];
  };
  for (auto [a, b, rem, mod] : {std::array<int64_t, 4>{7, 3, 1, 1},
                                {-7, 3, -1, 2},
                                {7, -3, 1, -2},
                                {-7, -3, -1, -1},
                                {6, -3, 0, 0},
                                {5, 0, 5, 5},
                                {-128, -1, 0, 0}}) {
    EXPECT_EQ(f("rem", DType::i8, a, b), rem) << a << " " << b;
    EXPECT_EQ(f("mod", DType::i8, a, b), mod) << a << " " << b;
  }
  EXPECT_EQ(f("rem", DType::ui8, 250, 7), 5);
  for (auto [a, b, power] : {std::array<int64_t, 3>{3, 4, 81},
                             {-3, 3, -27},
                             {2, 7, -128},
                             {2, 8, 0},
                             {0, 0, 1},
                             {5, -1, 0},
                             {1, -9, 1},
                             {-1, -9, -1},
                             {-1, -8, 1},
                             {0, -1, 0}})
    EXPECT_EQ(f("pow", DType::i8, a, b), power) << a << " " << b;
  EXPECT_EQ(f("add", DType::i8, 127, 1), -128);
  EXPECT_EQ(f("add", DType::i64, INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(f("sub", DType::ui8, 0, 1), 255);
  EXPECT_EQ(f("mul", DType::i16, 300, 300), 90000 - 65536);
  EXPECT_EQ(f("mul", DType::i64, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(f("div", DType::i32, -7, 2), -3);
  EXPECT_EQ(f("div", DType::i32, 7, -2), -3);
  EXPECT_EQ(f("div", DType::i32, 7, 0), -1);
  EXPECT_EQ(f("div", DType::ui8, 7, 0), 255);
  EXPECT_EQ(f("div", DType::ui8, 200, 3), 66);
  EXPECT_EQ(f("div", DType::i32, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(f("div", DType::i64, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(f("max", DType::ui8, 200, 100), 200);
  EXPECT_EQ(f("min", DType::i8, -56, 100), -56);
  EXPECT_EQ(f("and", DType::i8, -1, 0x55), 0x55);
  EXPECT_EQ(f("or", DType::i1, 1, 0), 1);
  EXPECT_EQ(f("xor", DType::ui8, 0xFF, 0x0F), 0xF0);
  EXPECT_EQ(f("xor", DType::i1, 1, 1), 0);
}

TEST(Elementwise, Comparisons) {
  std::vector<double> a = {1, 2, 2, NaN, 0.0}, b = {2, 2, 1, NaN, -0.0};
  auto f = [&](const char *op, std::vector<int64_t> expected) {
    SCOPED_TRACE(op);
    expectWholes(evaluate(std::string("weft.") + op + " %a, %b : T<5xf32>", "T<5xi1>",
                          {reals(DType::f32, {5}, a), reals(DType::f32, {5}, b)}),
                 expected);
  };
  f("eq", {0, 1, 0, 0, 1});
  f("ne", {1, 0, 1, 1, 0});
  f("lt", {1, 0, 0, 0, 0});
  f("le", {1, 1, 0, 0, 1});
  f("gt", {0, 0, 1, 0, 0});
  f("ge", {0, 1, 1, 0, 1});
  // 200 is above 100 as ui8, though its bits are below as i8.
  expectWholes(evaluate("weft.gt %a, %b : T<ui8>", "T<i1>",
                        {wholes(DType::ui8, {}, {200}), wholes(DType::ui8, {}, {100})}),
               {1});
}

TEST(Elementwise, SelectTakesNothingFromTheOtherSide) {
  auto r = evaluate("weft.select %a, %b, %c : T<3xi1>, T<3xf32>", "T<3xf32>",
                    {wholes(DType::i1, {3}, {1, 0, 1}), reals(DType::f32, {3}, {1, NaN, 3}),
                     reals(DType::f32, {3}, {NaN, 5, NaN})});
  expectReals(r, {1, 5, 3});
}

//===----------------------------------------------------------------------===//
// convert
//===----------------------------------------------------------------------===//

TEST(Convert, RealToIntegerSaturatesTowardZero) {
  std::vector<double> in = {1.9, -1.9, 300, -300, NaN, inf, -inf, 0.5};
  auto f = [&](const char *to, std::vector<int64_t> expected) {
    SCOPED_TRACE(to);
    expectWholes(evaluate(std::string("weft.convert %a to ") + to + " : T<8xf64>",
                          std::string("T<8x") + to + ">", reals(DType::f64, {8}, in)),
                 expected);
  };
  f("i8", {1, -1, 127, -128, 0, 127, -128, 0});
  f("ui8", {1, 0, 255, 0, 0, 255, 0, 0});
  f("i16", {1, -1, 300, -300, 0, 32767, -32768, 0});
  f("i32", {1, -1, 300, -300, 0, INT32_MAX, INT32_MIN, 0});
  f("i64", {1, -1, 300, -300, 0, INT64_MAX, INT64_MIN, 0});
  f("i1", {1, 1, 1, 1, 1, 1, 1, 1});
}

TEST(Convert, RealToIntegerAtTheBounds) {
  auto r = evaluate(
      "weft.convert %a to i64 : T<3xf64>", "T<3xi64>",
      reals(DType::f64, {3}, {9223372036854774784.0, 9223372036854775808.0, -9223372036854775808.0}));
  expectWholes(r, {9223372036854774784, INT64_MAX, INT64_MIN});
  expectWholes(evaluate("weft.convert %a to i8 : T<4xf32>", "T<4xi8>",
                        reals(DType::f32, {4}, {127.5, 128, -128.5, -129})),
               {127, 127, -128, -128});
  expectWholes(evaluate("weft.convert %a to i1 : T<2xf32>", "T<2xi1>", reals(DType::f32, {2}, {0, -0.0})),
               {0, 0});
}

TEST(Convert, IntegerToIntegerWraps) {
  auto in = wholes(DType::i32, {4}, {-1, 256, 200, 2});
  expectWholes(evaluate("weft.convert %a to i8 : T<4xi32>", "T<4xi8>", in), {-1, 0, -56, 2});
  expectWholes(evaluate("weft.convert %a to ui8 : T<4xi32>", "T<4xui8>", in), {255, 0, 200, 2});
  expectWholes(evaluate("weft.convert %a to i1 : T<4xi32>", "T<4xi1>", in), {1, 1, 1, 1});
  expectWholes(evaluate("weft.convert %a to i64 : T<4xi32>", "T<4xi64>", in), {-1, 256, 200, 2});
  // ui8 widens without a sign, i1 to 0 and 1.
  expectWholes(evaluate("weft.convert %a to i32 : T<ui8>", "T<i32>", wholes(DType::ui8, {}, {200})), {200});
  expectWholes(evaluate("weft.convert %a to i32 : T<i1>", "T<i32>", wholes(DType::i1, {}, {1})), {1});
}

TEST(Convert, IntegerToRealRoundsOnce) {
  int64_t tie = (int64_t{1} << 60) + (int64_t{1} << 36) + 1; // a double drops the last bit and makes it a tie
  expectReals(evaluate("weft.convert %a to f32 : T<i64>", "T<f32>", wholes(DType::i64, {}, {tie})),
              {std::ldexp(1.0, 60) + std::ldexp(1.0, 37)});
  expectReals(
      evaluate("weft.convert %a to bf16 : T<2xi32>", "T<2xbf16>", wholes(DType::i32, {2}, {257, 259})),
      {256, 260});
  expectReals(
      evaluate("weft.convert %a to f16 : T<2xi32>", "T<2xf16>", wholes(DType::i32, {2}, {65519, 65520})),
      {65504, inf});
  expectReals(evaluate("weft.convert %a to f64 : T<ui8>", "T<f64>", wholes(DType::ui8, {}, {255})), {255});
}

TEST(Convert, RealToRealRoundsOnce) {
  double value = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  expectReals(evaluate("weft.convert %a to f16 : T<f64>", "T<f16>", reals(DType::f64, {}, {value})),
              {1 + std::ldexp(1.0, -10)});
  expectReals(
      evaluate("weft.convert %a to f32 : T<3xf64>", "T<3xf32>", reals(DType::f64, {3}, {1e300, NaN, -0.0})),
      {inf, NaN, -0.0});
}

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
