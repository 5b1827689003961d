//===- DifferentiateKinksTest.cpp - Derivatives where there is none -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derivatives at kinks, ties, zeros and NaN, where differences are no reference: the values of PyTorch.
//
//===----------------------------------------------------------------------===//
#include "Testing.h"

#include <cmath>
#include <limits>

using namespace weft;
using namespace weft::testing;

namespace {

/// The gradients of the sum of %r by %a, or by %a and %b.
std::vector<ir::Literal> gradientsAt(const std::string &body, const std::vector<ir::Literal> &arguments,
                                     const std::string &result) {
  std::string parameters, names, types, results;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string name = std::string("%") + static_cast<char>('a' + i), type = typeText(arguments[i].shape);
    std::string comma = i ? ", " : "";
    parameters += comma + name + ": " + type;
    names += comma + name;
    types += comma + type;
    results += comma + "%g#" + std::to_string(i);
  }
  Program program("weft.func @f(" + parameters + ") -> (" + types + ") { " + body +
                  " %g:" + std::to_string(arguments.size()) + " = weft.gradient %r wrt " + names + " : " +
                  result + ", " + types + " weft.return " + results + " : " + types + " }");
  EXPECT_TRUE(program.module) << program.messages;
  if (!program.module || !program.run(passes::createDifferentiate()))
    return {};
  return program.call("f", arguments);
}

void expectAll(const ir::Literal &found, std::vector<double> expected) {
  ASSERT_EQ(found.real.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(found.real[i])) << i << ": " << found.real[i];
    else
      EXPECT_EQ(found.real[i], expected[i]) << i;
  }
}

constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

TEST(DifferentiateKinks, AbsAndSignAtZero) {
  expectAll(gradientsAt("%r = weft.abs %a : @3@", {literal({3}, {0, -0.0, -2})}, "@3@").at(0), {0, 0, -1});
  expectAll(gradientsAt("%r = weft.sign %a : @2@", {literal({2}, {0, 3})}, "@2@").at(0), {0, 0});
}

TEST(DifferentiateKinks, MaximumAndMinimumShareATie) {
  for (const char *op : {"max", "min"}) {
    auto g = gradientsAt(std::string("%r = weft.") + op + " %a, %b : @3@",
                         {literal({3}, {1, 0, -0.0}), literal({3}, {1, -0.0, 0})}, "@3@");
    expectAll(g.at(0), {0.5, 0.5, 0.5});
    expectAll(g.at(1), {0.5, 0.5, 0.5});
  }
}

TEST(DifferentiateKinks, MaximumOfNanGivesToBoth) {
  for (const char *op : {"max", "min"}) {
    auto g = gradientsAt(std::string("%r = weft.") + op + " %a, %b : @2@",
                         {literal({2}, {kNan, 1}), literal({2}, {1, kNan})}, "@2@");
    expectAll(g.at(0), {1, 1});
    expectAll(g.at(1), {1, 1});
  }
}

TEST(DifferentiateKinks, RemaindersCountWholeQuotients) {
  // 1 / 0.1 rounds to 10, but 0.1 fits into 1 only nine times.
  auto mod = gradientsAt("%r = weft.mod %a, %b : @4@",
                         {literal({4}, {1, -7, 7, -1}), literal({4}, {0.1, 3, -3, kInf})}, "@4@");
  expectAll(mod.at(0), {1, 1, 1, 1});
  expectAll(mod.at(1), {-9, 3, 3, 1});
  auto rem =
      gradientsAt("%r = weft.rem %a, %b : @3@", {literal({3}, {-7, 7, 6}), literal({3}, {3, -3, 3})}, "@3@");
  expectAll(rem.at(0), {1, 1, 1});
  expectAll(rem.at(1), {2, 2, -2});
}

TEST(DifferentiateKinks, AnglesAndSignsAtZero) {
  auto angle =
      gradientsAt("%r = weft.atan2 %a, %b : @2@", {literal({2}, {0, -0.0}), literal({2}, {0, -0.0})}, "@2@");
  expectAll(angle.at(0), {0, 0});
  expectAll(angle.at(1), {0, 0});
  auto sign = gradientsAt("%r = weft.copysign %a, %b : @4@",
                          {literal({4}, {0, -0.0, 2, -2}), literal({4}, {-1, 1, -0.0, -3})}, "@4@");
  expectAll(sign.at(0), {0, 0, -1, 1});
  expectAll(sign.at(1), {0, 0, 0, 0});
  expectAll(gradientsAt("%r = weft.asin %a : @2@", {literal({2}, {1, 0})}, "@2@").at(0), {kInf, 1});
  expectAll(gradientsAt("%r = weft.acos %a : @2@", {literal({2}, {1, 0})}, "@2@").at(0), {-kInf, -1});
}

TEST(DifferentiateKinks, TheMarkedReluOfNanPassesTheGradient) {
  std::string relu = "%z = weft.constant dense<0.0> : @4@ %r = weft.max %a, %z {weft.relu} : @4@";
  expectAll(gradientsAt(relu, {literal({4}, {-1, 0, 2, kNan})}, "@4@").at(0), {0, 0, 1, 1});
}

TEST(DifferentiateKinks, ReluPassesStrictlyAboveZero) {
  std::string relu = "%z = weft.constant dense<0.0> : @4@ %p = weft.gt %a, %z : @4@ "
                     "%r = weft.select %p, %a, %z : tensor<4xi1, #cpu>, @4@";
  expectAll(gradientsAt(relu, {literal({4}, {-1, 0, -0.0, 1e-300})}, "@4@").at(0), {0, 0, 0, 1});
}

TEST(DifferentiateKinks, ReductionsShareTies) {
  expectAll(gradientsAt("%r = weft.rmax %a, dims = [0] : @4@", {literal({4}, {3, 1, 3, 2})}, "@@").at(0),
            {0.5, 0, 0.5, 0});
  expectAll(
      gradientsAt("%r = weft.rmin %a, dims = [1] : @2x3@", {literal({2, 3}, {1, 1, 1, 0, -1, -1})}, "@2@")
          .at(0),
      {1 / 3., 1 / 3., 1 / 3., 0, 0.5, 0.5});
}

TEST(DifferentiateKinks, SqrtAtZeroIsInfinite) {
  expectAll(gradientsAt("%r = weft.sqrt %a : @2@", {literal({2}, {0, 4})}, "@2@").at(0), {kInf, 0.25});
  // Times a cotangent of zero it is NaN, as in PyTorch.
  expectAll(
      gradientsAt("%s = weft.sqrt %a : @1@ %z = weft.constant dense<0.0> : @1@ %r = weft.mul %s, %z : @1@",
                  {literal({1}, {0})}, "@1@")
          .at(0),
      {kNan});
}

TEST(DifferentiateKinks, PowAtItsEdges) {
  auto g = gradientsAt("%r = weft.pow %a, %b : @5@",
                       {literal({5}, {0, 3, 0, 0, -2}), literal({5}, {0, 0, 2, 1, 2})}, "@5@");
  // With respect to the base: 0 if the exponent is 0, for every base.
  expectAll(g.at(0), {0, 0, 0, 1, -4});
  // By the exponent: 0 where the base is 0 and the exponent is not below 0; else y log(a).
  expectAll(g.at(1), {0, std::log(3.0), 0, 0, kNan});
}

TEST(DifferentiateKinks, SelectGivesTheUnusedBranchZero) {
  auto g = gradientsAt("%c = weft.constant dense<[true, false]> : tensor<2xi1, #cpu> "
                       "%r = weft.select %c, %a, %b : tensor<2xi1, #cpu>, @2@",
                       {literal({2}, {1, kNan}), literal({2}, {kNan, 2})}, "@2@");
  expectAll(g.at(0), {1, 0});
  expectAll(g.at(1), {0, 1});
  // But the rule of the op may give NaN for that zero: guard the argument, not the result.
  auto unguarded =
      gradientsAt("%z = weft.constant dense<0.0> : @1@ %p = weft.gt %a, %z : @1@ %s = weft.sqrt %a : @1@ "
                  "%r = weft.select %p, %s, %z : tensor<1xi1, #cpu>, @1@",
                  {literal({1}, {0})}, "@1@");
  expectAll(unguarded.at(0), {kNan});
}

/// The mean divides by 0, but its gradient is 0, as in PyTorch: a batch of padding changes no parameter.
TEST(DifferentiateKinks, AMeanOverNothingMovesNothing) {
  for (std::string smoothing : {"", " label_smoothing = 0.1"}) {
    std::string body = "%t = weft.constant dense<-100> : tensor<2xi64, #cpu> "
                       "%r, %l = weft.cross_entropy %a, %t, reduction = mean" +
                       smoothing + " : @2x3@, tensor<2xi64, #cpu>";
    expectAll(gradientsAt(body, {literal({2, 3}, {1, 2, 3, 4, 5, 6})}, "@@").at(0), {0, 0, 0, 0, 0, 0});
  }
}

} // namespace
