//===- InterpreterElementwiseTest.cpp - What each elementwise op means ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As InterpreterTest.cpp: results against values worked out by hand.
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
  f("after", {1, -0.0, NaN, inf}, {NaN, 2, 3, inf}, {1, -0.0, NaN, inf});
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
