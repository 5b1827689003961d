//===- InterpreterCompositeTest.cpp - What composites and functions mean --===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Support.h"

using namespace weft;
using namespace weft::ir;
using namespace weft::ir::test;

//===----------------------------------------------------------------------===//
// softmax, log_softmax
//===----------------------------------------------------------------------===//

TEST(Softmax, RowsSumToOne) {
  std::vector<double> values;
  for (int i = 0; i < 60; ++i)
    values.push_back(std::sin(i) * 50);
  auto a = reals(DType::f64, {3, 5, 4}, values);
  auto y = evaluate("weft.softmax %a, dim = 1 : T<3x5x4xf64>", "T<3x5x4xf64>", a);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t k = 0; k < 4; ++k) {
      double sum = 0;
      for (int64_t j = 0; j < 5; ++j)
        sum += y.real[i * 20 + j * 4 + k];
      EXPECT_NEAR(sum, 1, 1e-15);
    }
}

TEST(Softmax, Values) {
  auto a = reals(DType::f64, {1, 3}, {std::log(1.0), std::log(2.0), std::log(5.0)});
  expectNear(evaluate("weft.softmax %a, dim = 1 : T<1x3xf64>", "T<1x3xf64>", a), {0.125, 0.25, 0.625}, 1e-15);
  expectNear(evaluate("weft.log_softmax %a, dim = 1 : T<1x3xf64>", "T<1x3xf64>", a),
             {std::log(0.125), std::log(0.25), std::log(0.625)}, 1e-15);
  // Along a dimension of size 1 all is certain.
  expectReals(evaluate("weft.softmax %a, dim = 0 : T<1x3xf64>", "T<1x3xf64>", a), {1, 1, 1});
  expectReals(evaluate("weft.log_softmax %a, dim = 0 : T<1x3xf64>", "T<1x3xf64>", a), {0, 0, 0});
}

TEST(Softmax, LargeAndInfiniteLogits) {
  auto a = reals(DType::f32, {4, 2}, {1000, 1000, -inf, 0, -inf, -inf, inf, 0});
  expectReals(evaluate("weft.softmax %a, dim = 1 : T<4x2xf32>", "T<4x2xf32>", a),
              {0.5, 0.5, 0, 1, NaN, NaN, NaN, NaN});
  expectReals(
      evaluate("weft.log_softmax %a, dim = 1 : T<4x2xf32>", "T<4x2xf32>", a),
      {static_cast<float>(-std::log(2.0)), static_cast<float>(-std::log(2.0)), -inf, 0, NaN, NaN, NaN, NaN});
  // A NaN affects its own row only.
  auto b = reals(DType::f32, {2, 2}, {NaN, 0, 3, 3});
  expectReals(evaluate("weft.softmax %a, dim = 1 : T<2x2xf32>", "T<2x2xf32>", b), {NaN, NaN, 0.5, 0.5});
}

TEST(Softmax, NothingToNormalise) {
  expectReals(evaluate("weft.softmax %a, dim = 1 : T<3x0xf32>", "T<3x0xf32>", reals(DType::f32, {3, 0}, {})),
              {});
  expectReals(
      evaluate("weft.log_softmax %a, dim = 0 : T<0x2xf32>", "T<0x2xf32>", reals(DType::f32, {0, 2}, {})), {});
}

TEST(Softmax, OnlyTheResultIsRounded) {
  // exp(-12) is 6.1e-6, below what a bf16 sum near 1 can hold, but a result of its own.
  auto y = evaluate("weft.softmax %a, dim = 0 : T<2xbf16>", "T<2xbf16>", reals(DType::bf16, {2}, {0, -12}));
  expectReals(y, {1, roundTo(DType::bf16, std::exp(-12.0) / (1 + std::exp(-12.0)))});
}

//===----------------------------------------------------------------------===//
// cross_entropy
//===----------------------------------------------------------------------===//

namespace {
struct Entropy {
  Literal loss, lse;
};
Entropy crossEntropy(const std::string &rest, const std::string &loss, const Literal &logits,
                     std::vector<int64_t> targets) {
  auto rows = static_cast<int64_t>(targets.size());
  std::string n = std::to_string(rows), type = std::string(name(logits.dtype)),
              statistics = itemsize(logits.dtype) < 4 ? "f32" : type;
  auto r = evaluate("weft.cross_entropy %a, %b, reduction = " + rest + " : T<" + n + "x" +
                        std::to_string(logits.shape[1]) + "x" + type + ">, T<" + n + "xi64>",
                    std::vector{loss, "T<" + n + "x" + statistics + ">"},
                    {logits, wholes(DType::i64, {rows}, targets)});
  return {r[0], r[1]};
}
} // namespace

TEST(CrossEntropy, ReductionsAndIgnoredRows) {
  double l1 = std::log(1.0), l2 = std::log(2.0), l3 = std::log(3.0), l4 = std::log(4.0);
  // Rows of probabilities 1/4, 3/4 and 1/2, 1/2 and 1/5, 4/5.
  auto logits = reals(DType::f64, {3, 2}, {l1, l3, l2, l2, l1, l4});
  auto each = crossEntropy("none", "T<3xf64>", logits, {0, 1, 1});
  expectNear(each.loss, {std::log(4.0), std::log(2.0), std::log(1.25)}, 1e-15);
  expectNear(each.lse, {std::log(4.0), std::log(4.0), std::log(5.0)}, 1e-15);
  expectNear(crossEntropy("sum", "T<f64>", logits, {0, 1, 1}).loss, {std::log(10.0)}, 1e-15);
  expectNear(crossEntropy("mean", "T<f64>", logits, {0, 1, 1}).loss, {std::log(10.0) / 3}, 1e-15);
  // An ignored row is counted neither in the sum nor in the divisor.
  expectNear(crossEntropy("mean", "T<f64>", logits, {0, -100, 1}).loss, {std::log(5.0) / 2}, 1e-15);
  expectNear(crossEntropy("none", "T<3xf64>", logits, {-100, 1, 1}).loss, {0, std::log(2.0), std::log(1.25)},
             1e-15);
  // A class may be the one that is ignored, and then -100 is no longer.
  expectNear(crossEntropy("mean ignore_index = 1", "T<f64>", logits, {0, 1, 1}).loss, {std::log(4.0)}, 1e-15);
}

TEST(CrossEntropy, NothingCounts) {
  auto logits = reals(DType::f32, {2, 2}, {1, 2, 3, 4});
  expectReals(crossEntropy("mean", "T<f32>", logits, {-100, -100}).loss, {NaN});
  expectReals(crossEntropy("sum", "T<f32>", logits, {-100, -100}).loss, {0});
  auto empty = reals(DType::f32, {0, 2}, {});
  expectReals(crossEntropy("mean", "T<f32>", empty, {}).loss, {NaN});
  expectReals(crossEntropy("sum", "T<f32>", empty, {}).loss, {0});
}

TEST(CrossEntropy, InfiniteLogits) {
  // The target has all the probability; the other class is impossible.
  auto logits = reals(DType::f32, {1, 2}, {0, -inf});
  expectReals(crossEntropy("none", "T<1xf32>", logits, {0}).loss, {0});
  expectReals(crossEntropy("none", "T<1xf32>", logits, {1}).loss, {inf});
  expectReals(crossEntropy("none", "T<1xf32>", reals(DType::f32, {1, 2}, {-inf, -inf}), {1}).loss, {NaN});
}

TEST(CrossEntropy, HalvesKeepStatisticsInSinglePrecision) {
  auto r = crossEntropy("mean", "T<f16>", reals(DType::f16, {1, 2}, {0, 0}), {1});
  EXPECT_EQ(r.lse.dtype, DType::f32);
  expectReals(r.lse, {static_cast<float>(std::log(2.0))});
  expectReals(r.loss, {roundTo(DType::f16, std::log(2.0))});
}

//===----------------------------------------------------------------------===//
// Optimisers
//===----------------------------------------------------------------------===//

namespace {
Literal real(double value) { return reals(DType::f64, {}, {value}); }
Literal vec(std::vector<double> values) {
  auto n = static_cast<int64_t>(values.size());
  return reals(DType::f64, {n}, std::move(values));
}
Literal count(int64_t value) { return wholes(DType::i64, {}, {value}); }

llvm::SmallVector<Literal> sgd(const std::string &flags, Literal p, Literal g, Literal buf, int64_t step,
                               double lr, double momentum, double dampening, double decay) {
  return evaluate("weft.sgd_step (%a, %b buf %c, step %d, lr %e, momentum %f, dampening %g, decay %h) " +
                      flags + " : T<2xf64>, T<2xf64> buf T<2xf64>, T<i64>, T<f64>",
                  std::vector<std::string>(2, "T<2xf64>"),
                  {p, g, buf, count(step), real(lr), real(momentum), real(dampening), real(decay)});
}

struct Adam {
  double lr = 0.1, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 0;
};
llvm::SmallVector<Literal> adam(const std::string &flags, Literal p, Literal g, Literal m, Literal v,
                                int64_t step, Adam o) {
  return evaluate(
      "weft.adam_step (%a, %b, m %c, v %d, step %e, lr %f, betas %g, %h, eps %i, decay %j) " + flags +
          " : T<2xf64>, T<2xf64>, T<2xf64>, T<2xf64>, T<i64>, T<f64>",
      std::vector<std::string>(3, "T<2xf64>"),
      {p, g, m, v, count(step), real(o.lr), real(o.beta1), real(o.beta2), real(o.eps), real(o.decay)});
}
} // namespace

TEST(Sgd, Plain) {
  auto r = evaluate("weft.sgd_step (%a, %b, step %c, lr %d, momentum %e, dampening %e, decay %f)"
                    " : T<2xf64>, T<2xf64>, T<i64>, T<f64>",
                    "T<2xf64>", {vec({1, 2}), vec({10, -10}), count(0), real(0.5), real(0), real(0)});
  expectReals(r, {-4, 7});
}

TEST(Sgd, MomentumStartsWithTheGradientAndDampsLater) {
  auto first = sgd("", vec({1, 2}), vec({10, -10}), vec({99, 99}), 0, 0.5, 0.5, 0.25, 0);
  expectReals(first[1], {10, -10});
  expectReals(first[0], {-4, 7});
  // buf = 0.5 * 10 + 0.75 * 4 = 8; p = -4 - 0.5 * 8.
  auto second = sgd("", first[0], vec({4, 0}), first[1], 1, 0.5, 0.5, 0.25, 0);
  expectReals(second[1], {8, -5});
  expectReals(second[0], {-8, 9.5});
}

TEST(Sgd, NesterovDecayMaximize) {
  // d = 4 + 0.5 * 2 = 5; buf = 0.5 * 2 + 5 = 6; nesterov d = 5 + 0.5 * 6 = 8.
  auto nesterov = sgd("nesterov", vec({2, 2}), vec({4, 4}), vec({2, 2}), 3, 0.25, 0.5, 0, 0.5);
  expectReals(nesterov[1], {6, 6});
  expectReals(nesterov[0], {0, 0});
  // Maximising turns the gradient around, not the decay: d = -4 + 1 = -3.
  auto maximize = sgd("maximize", vec({2, 2}), vec({4, 4}), vec({0, 0}), 0, 1, 0.5, 0, 0.5);
  expectReals(maximize[1], {-3, -3});
  expectReals(maximize[0], {5, 5});
}

TEST(Adam, FirstStepIsTheSignOfTheGradient) {
  // At t = 1 both corrections undo the averages: p' = p - lr g / (|g| + eps).
  Adam o;
  auto r = adam("", vec({1, 2}), vec({0.5, -3}), vec({0, 0}), vec({0, 0}), 0, o);
  expectNear(r[0], {1 - o.lr * 0.5 / (0.5 + o.eps), 2 + o.lr * 3 / (3 + o.eps)}, 1e-13);
  expectNear(r[1], {0.05, -0.3}, 1e-15);
  expectNear(r[2], {0.00025, 0.009}, 1e-15);
}

TEST(Adam, ManyStepsFollowTheSeries) {
  // With a constant gradient m_t / (1 - beta1^t) = g and v_t / (1 - beta2^t) = g^2 at every step.
  Adam o{.lr = 0.01};
  Literal p = vec({1, 2}), g = vec({0.5, -3}), m = vec({0, 0}), v = vec({0, 0});
  for (int64_t step = 0; step < 50; ++step) {
    auto r = adam("", p, g, m, v, step, o);
    p = r[0], m = r[1], v = r[2];
  }
  expectNear(p, {1 - 50 * 0.01 * 0.5 / (0.5 + o.eps), 2 + 50 * 0.01 * 3 / (3 + o.eps)}, 1e-11);
  expectNear(m, {0.5 * (1 - std::pow(0.9, 50)), -3 * (1 - std::pow(0.9, 50))}, 1e-13);
}

TEST(Adam, DecayIsAddedOrDecoupled) {
  Adam o{.eps = 0, .decay = 0.5};
  // g' = g + 0.5 p has the sign of 0.5 + 0.5 and of -3 + 1.
  expectNear(adam("", vec({1, 2}), vec({0.5, -3}), vec({0, 0}), vec({0, 0}), 0, o)[0], {0.9, 2.1}, 1e-13);
  // p (1 - lr decay) first, then the step.
  expectNear(adam("decoupled", vec({1, 2}), vec({0.5, -3}), vec({0, 0}), vec({0, 0}), 0, o)[0],
             {0.95 - 0.1, 1.9 + 0.1}, 1e-13);
  expectNear(adam("maximize", vec({1, 2}), vec({3, -3}), vec({0, 0}), vec({0, 0}), 0, o)[0], {1.1, 1.9},
             1e-13);
}

TEST(Adam, LargestSecondMoment) {
  auto step = [&](Literal vmax) {
    return evaluate(
        "weft.adam_step (%a, %b, m %c, v %d vmax %e, step %f, lr %g, betas %h, %h, eps %i, decay %i)"
        " : T<2xf64>, T<2xf64>, T<2xf64>, T<2xf64> vmax T<2xf64>, T<i64>, T<f64>",
        std::vector<std::string>(4, "T<2xf64>"),
        {vec({0, 0}), vec({2, 2}), vec({0, 0}), vec({0, 0}), vmax, count(0), real(1), real(0.5), real(0)});
  };
  // v' = 2 everywhere; vmax' = max(vmax, 2) takes its place: denominator sqrt(vmax') / sqrt(1/2).
  auto r = step(vec({8, 1}));
  expectReals(r[2], {2, 2});
  expectReals(r[3], {8, 2});
  expectNear(r[0], {-2.0 / 4, -2.0 / 2}, 1e-15);
}

TEST(Adam, ScalarsAreDoubleAndTheResultIsRounded) {
  auto single = [](double value) { return reals(DType::f32, {}, {value}); };
  auto r = evaluate("weft.adam_step (%a, %b, m %c, v %d, step %e, lr %f, betas %g, %h, eps %i, decay %j)"
                    " : T<f32>, T<f32>, T<f32>, T<f32>, T<i64>, T<f64>",
                    std::vector<std::string>(3, "T<f32>"),
                    {single(1), single(0.3), single(0), single(0), count(0), real(1e-3), real(0.9),
                     real(0.999), real(1e-8), real(0)});
  double g = static_cast<float>(0.3);
  expectReals(r[0], {static_cast<float>(1 - 1e-3 * g / (g + 1e-8))});
  EXPECT_EQ(r[1].real[0], static_cast<float>((1 - 0.9) * g));
}

//===----------------------------------------------------------------------===//
// Functions and fusions
//===----------------------------------------------------------------------===//

TEST(Functions, ArgumentsResultsAndCalls) {
  Program program(R"(
    weft.func @f(%a: T<2xf32>, %b: T<2xf32>) -> (T<2xf32>, T<2xf32>, T<2xf32>) {
      %p, %q = weft.call @g(%b, %a) : (T<2xf32>, T<2xf32>) -> (T<2xf32>, T<2xf32>)
      %r, %s = weft.call @g(%p, %p) : (T<2xf32>, T<2xf32>) -> (T<2xf32>, T<2xf32>)
      weft.return %q, %s, %a : T<2xf32>, T<2xf32>, T<2xf32>
    }
    weft.func private @g(%x: T<2xf32>, %y: T<2xf32>) -> (T<2xf32>, T<2xf32>) {
      %d = weft.sub %x, %y : T<2xf32>
      weft.return %x, %d : T<2xf32>, T<2xf32>
    })");
  auto r = program.run({reals(DType::f32, {2}, {1, 2}), reals(DType::f32, {2}, {10, 20})});
  ASSERT_EQ(r.size(), 3u) << program.said();
  expectReals(r[0], {9, 18});
  expectReals(r[1], {0, 0});
  expectReals(r[2], {1, 2});
}

TEST(Functions, NoDepthOfCallsAndNoLengthEndsTheProcess) {
  std::string text = "weft.func @f(%a: T<i64>) -> T<i64> {\n  %r = weft.call @g0(%a) : (T<i64>) -> T<i64>\n"
                     "  weft.return %r : T<i64>\n}\n";
  constexpr int depth = 5000;
  for (int i = 0; i < depth; ++i)
    text += "weft.func @g" + std::to_string(i) + "(%a: T<i64>) -> T<i64> {\n  %r = weft.call @g" +
            std::to_string(i + 1) + "(%a) : (T<i64>) -> T<i64>\n  weft.return %r : T<i64>\n}\n";
  text += "weft.func @g" + std::to_string(depth) +
          "(%a: T<i64>) -> T<i64> {\n  %one = weft.constant dense<1> : T<i64>\n  %v0 = weft.add %a, %one : "
          "T<i64>\n";
  constexpr int length = 20000;
  for (int i = 0; i < length; ++i)
    text += "  %v" + std::to_string(i + 1) + " = weft.add %v" + std::to_string(i) + ", %one : T<i64>\n";
  text += "  weft.return %v" + std::to_string(length) + " : T<i64>\n}\n";
  Program program(text);
  auto r = program.run(wholes(DType::i64, {}, {5}));
  ASSERT_EQ(r.size(), 1u) << program.said();
  expectWholes(r[0], {5 + length + 1});
}

TEST(Functions, Generators) {
  Program program(R"(weft.func @f() -> T<6xi32> {
    %key, %counter = weft.rng_state_load "g" : T<i64>, T<i64>
    %bits, %next = weft.rng_bits_philox %key, %counter, shape = [6] : T<i64>
    weft.rng_state_store %next, "g" : T<i64>
    weft.return %bits : T<6xi32>
  })");
  program.options.generators["g"] = {0, 0};
  program.options.generators["other"] = {3, 4};
  auto first = program.run();
  ASSERT_EQ(first.size(), 1u) << program.said();
  EXPECT_EQ(static_cast<uint32_t>(first[0].whole[0]), 0x6627e8d5u);
  EXPECT_EQ(program.options.generators["g"].counter, 2);
  EXPECT_EQ(program.options.generators["other"].counter, 4);
  auto second = program.run();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(program.options.generators["g"].counter, 4);
  EXPECT_NE(first[0].whole, second[0].whole);
}

TEST(Functions, AFailureLeavesGeneratorsAsTheyWere) {
  Program program(R"(weft.func @f(%a: T<2xf32>, %i: T<1xi64>) -> T<1xf32> {
    %key, %counter = weft.rng_state_load "g" : T<i64>, T<i64>
    %bits, %next = weft.rng_bits_philox %key, %counter, shape = [4] : T<i64>
    weft.rng_state_store %next, "g" : T<i64>
    %r = weft.gather %a, %i, dim = 0, kind = points : T<2xf32>, T<1xi64>
    weft.return %r : T<1xf32>
  })");
  program.options.generators["g"] = {1, 10};
  EXPECT_TRUE(program.run({reals(DType::f32, {2}, {1, 2}), wholes(DType::i64, {1}, {2})}).empty());
  EXPECT_EQ(program.options.generators["g"].counter, 10);
  EXPECT_EQ(program.run({reals(DType::f32, {2}, {1, 2}), wholes(DType::i64, {1}, {1})}).size(), 1u);
  EXPECT_EQ(program.options.generators["g"].counter, 11);
}

TEST(Fusion, RunsItsBody) {
  Program program(R"(weft.func @f(%x: T<2x3xf64>) -> (T<2x3xf64>, T<2xf64>) {
    %r:2 = weft.fusion row (%x) : (T<2x3xf64>) -> (T<2x3xf64>, T<2xf64>) {
    ^bb0(%a: T<2x3xf64>):
      %m = weft.rmax %a, dims = [1] : T<2x3xf64>
      %w = weft.broadcast_in_dim %m, dims = [0] : T<2xf64> -> T<2x3xf64>
      %d = weft.sub %a, %w : T<2x3xf64>
      %s = weft.sum %d, dims = [1] : T<2x3xf64>
      weft.yield %d, %s : T<2x3xf64>, T<2xf64>
    }
    weft.return %r#0, %r#1 : T<2x3xf64>, T<2xf64>
  })");
  auto r = program.run(reals(DType::f64, {2, 3}, {1, 2, 4, -3, -1, -2}));
  ASSERT_EQ(r.size(), 2u) << program.said();
  expectReals(r[0], {-3, -2, 0, -2, 0, -1});
  expectReals(r[1], {-5, -3});
}

TEST(Attention, LargeScoresAreEqualScores) {
  // A mask so large that the scores beside it do not count gives each key the same part.
  Program program(R"(weft.func @f(%q: T<1x1x1xf32>, %k: T<1x3x1xf32>, %v: T<1x3x1xf32>, %m: T<1x1x1xf32>)
      -> T<1x1x1xf32> {
    %out, %lse = weft.sdpa %q, %k, %v mask %m, scale = 1.0
        : T<1x1x1xf32>, T<1x3x1xf32>, T<1x3x1xf32> mask T<1x1x1xf32>
    weft.return %out : T<1x1x1xf32>
  })");
  for (const double mask : {3e38, -3e38, 0.0}) {
    auto results =
        program.run({reals(DType::f32, {1, 1, 1}, {0}), reals(DType::f32, {1, 3, 1}, {1, 2, 3}),
                     reals(DType::f32, {1, 3, 1}, {3, 6, 9}), reals(DType::f32, {1, 1, 1}, {mask})});
    ASSERT_EQ(results.size(), 1u) << program.said();
    expectReals(results[0], {6});
  }
}

//===----------------------------------------------------------------------===//
// fft
//===----------------------------------------------------------------------===//

TEST(Fft, ValuesByHand) {
  auto a = reals(DType::f64, {4}, {1, 2, 3, 4});
  expectNear(evaluate("weft.fft %a, kind = r2c dim = 0 length = 4 scale = 1.0 : T<4xf64>", "T<3x2xf64>", a),
             {10, 0, -2, 2, -2, 0}, 1e-14);
  // The value that stands for two is doubled; the inverse gives conjugates.
  expectNear(evaluate("weft.fft %a, kind = r2c dim = 0 length = 4 scale = 1.0 inverse adjoint : T<4xf64>",
                      "T<3x2xf64>", a),
             {10, 0, -4, -4, -2, 0}, 1e-14);
  // Imaginary parts at both ends are not read.
  auto half = reals(DType::f64, {3, 2}, {10, 7, -2, 2, -2, 7});
  expectNear(evaluate("weft.fft %a, kind = c2r dim = 0 length = 4 scale = 0.25 inverse : T<3x2xf64>",
                      "T<4xf64>", half),
             {1, 2, 3, 4}, 1e-14);
  expectNear(evaluate("weft.fft %a, kind = c2r dim = 0 length = 4 scale = 1.0 inverse adjoint : T<3x2xf64>",
                      "T<4xf64>", half),
             {6, 10, 10, 14}, 1e-14);
  // The columns are (1 + 2i, 5 + 6i) and (3 + 4i, 7 + 8i).
  auto columns = reals(DType::f32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  expectNear(evaluate("weft.fft %a, kind = c2c dim = 0 length = 2 scale = 0.5 : T<2x2x2xf32>", "T<2x2x2xf32>",
                      columns),
             {3, 4, 5, 6, -2, -2, -2, -2}, 1e-6);
  // No lines.
  expectReals(evaluate("weft.fft %a, kind = r2c dim = 1 length = 4 scale = 1.0 : T<0x4xf32>", "T<0x3x2xf32>",
                       reals(DType::f32, {0, 4}, {})),
              {});
}
