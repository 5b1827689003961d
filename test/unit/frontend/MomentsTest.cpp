//===- MomentsTest.cpp - Variance and mean, to the last bits ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `var`, `std` and `var_mean` accumulate in f64, as PyTorch does on a CPU. The reference is a sum in two
// passes over long doubles.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include "test/unit/TestLevel.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <sstream>

using namespace weft;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Exact {
  long double mean = 0, m2 = 0;
  double variance(double correction = 1) const {
    return static_cast<double>(m2 / std::max(0.0L, static_cast<long double>(count) - correction));
  }
  size_t count = 0;
};

Exact exactly(const std::vector<double> &values) {
  Exact exact;
  exact.count = values.size();
  for (double value : values)
    exact.mean += value;
  exact.mean /= static_cast<long double>(values.size());
  for (double value : values)
    exact.m2 += (value - exact.mean) * (value - exact.mean);
  return exact;
}

/// f32 numbers around `mean`, uniform within `spread` of it, as doubles.
std::vector<double> around(double mean, double spread, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(mean - spread, mean + spread);
  std::vector<double> values(count);
  for (double &value : values)
    value = static_cast<float>(draw(random));
  return values;
}

/// How far a result of f64 arithmetic, rounded once to f32, may be from the exact one: half a unit of f32,
/// and n roundings of f64 of a number with the condition of a variance, (1 + mean^2 n / m2)^(1/2).
double boundOf(double expected, const Exact &exact) {
  const double unit = std::ldexp(1.0, std::ilogb(expected) - 23);
  const auto n = static_cast<double>(exact.count);
  const auto condition =
      static_cast<double>(std::sqrt(1 + exact.mean * exact.mean * exact.count / std::max(exact.m2, 1e-300L)));
  return unit / 2 + n * condition * 0x1p-53 * std::fabs(expected);
}

/// [n] values as `layout` of a tensor, whose moments over `dims` are those of the values in element `at`.
struct Layout {
  std::string name;
  std::function<Tensor(const std::vector<double> &)> tensor;
  IntList dims;
  size_t at;
};

/// Each length with several columns, so that both vectors and their remainder have elements.
std::vector<Layout> layouts(DType dtype) {
  auto beside = [dtype](const std::vector<double> &values, int64_t width, int64_t place, bool columns) {
    const auto n = static_cast<int64_t>(values.size());
    std::vector<double> all(static_cast<size_t>(n * width));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j)
        all[static_cast<size_t>(columns ? i * width + j : j * n + i)] =
            j == place ? values[static_cast<size_t>(i)] : static_cast<double>((i * 7 + j * 3) % 11);
    return Tensor::from(all, columns ? Shape{n, width} : Shape{width, n}).to(dtype);
  };
  return {
      {"everything",
       [dtype](const auto &v) { return Tensor::from(v, {static_cast<int64_t>(v.size())}).to(dtype); },
       {},
       0},
      {"rows", [beside](const auto &v) { return beside(v, 3, 1, false); }, {1}, 1},
      {"columns, a vector", [beside](const auto &v) { return beside(v, 35, 9, true); }, {0}, 9},
      {"columns, what is left", [beside](const auto &v) { return beside(v, 35, 34, true); }, {0}, 34},
      {"one column", [beside](const auto &v) { return beside(v, 1, 0, true); }, {0}, 0},
  };
}

} // namespace

//===----------------------------------------------------------------------===//
// Far from zero
//===----------------------------------------------------------------------===//

TEST(Moments, AreAsExactAsSumsInDoublePrecision) {
  struct Case {
    double mean, spread;
    size_t count;
  };
  // The third has a variance of 1/2; that of the last is no f32, but its root is.
  for (const Case &c : {Case{1e8, 10, 1000}, Case{0, 1, 777}, Case{1e4, std::sqrt(1.5), 200'000},
                        Case{-3e6, 5, 4099}, Case{1e4, 1, 7}, Case{1e30, 1e28, 100}}) {
    const std::vector<double> values = around(c.mean, c.spread, c.count, 3);
    const Exact exact = exactly(values);
    for (const Layout &layout : layouts(DType::f32)) {
      if (c.count > 100'000 && layout.name.starts_with("columns"))
        continue; // 7 million elements show no more than 200,000
      SCOPED_TRACE(layout.name + ", " + std::to_string(c.count) + " around " + std::to_string(c.mean));
      auto moments = compile([&](const Tensor &x) {
        return std::vector{x.var(layout.dims, 0), x.var(layout.dims, 1), x.std(layout.dims, 0),
                           x.std(layout.dims, 1), var_mean(x, layout.dims).second};
      });
      std::vector<double> found;
      for (const Tensor &result : moments(layout.tensor(values)))
        found.push_back(result.reshape({-1}).to_vector<double>()[layout.at]);
      for (size_t correction : {0, 1}) {
        const double expected = exact.variance(static_cast<double>(correction)), root = std::sqrt(expected);
        if (expected < std::numeric_limits<float>::max())
          EXPECT_NEAR(found[correction], expected, boundOf(expected, exact));
        else
          EXPECT_EQ(found[correction], kInf);
        EXPECT_NEAR(found[2 + correction], root, boundOf(root, exact));
      }
      const auto mean = static_cast<double>(exact.mean);
      const double scale = std::max(std::fabs(mean), c.spread);
      EXPECT_NEAR(found[4], mean,
                  std::ldexp(1.0, std::ilogb(mean) - 24) + static_cast<double>(c.count) * 0x1p-53 * scale);
    }
  }
}

TEST(Moments, OfHalvesRoundOnce) {
  for (DType dtype : {DType::f16, DType::bf16}) {
    std::vector<double> values;
    for (int i = 0; i < 3000; ++i)
      values.push_back(2048 + (i * 37 % 5) * 16);
    const double expected = exactly(values).variance();
    const double half = std::ldexp(1.0, std::ilogb(expected) - (dtype == DType::f16 ? 11 : 8));
    for (const Layout &layout : layouts(dtype)) {
      Tensor variance = layout.tensor(values).var(layout.dims);
      EXPECT_EQ(variance.dtype(), dtype);
      EXPECT_NEAR(variance.reshape({-1}).to_vector<double>()[layout.at], expected, half * 1.0001)
          << layout.name;
    }
  }
}

// The gradient is computed in f64 too: 2 (x - mean) / (n - 1).
TEST(Moments, GradientsKeepTheirDigitsFarFromZero) {
  const std::vector<double> values = around(1e8, 100, 257, 5);
  const Exact exact = exactly(values);
  Tensor x = Tensor::from(values, {257}).to(DType::f32).requires_grad_();
  x.var().backward();
  const std::vector<double> gradient = x.grad().to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    const auto expected = static_cast<double>(2 * (values[i] - exact.mean) / 256);
    EXPECT_NEAR(gradient[i], expected, std::fabs(expected) * 0x1p-23 + 1e-9);
  }
}

TEST(Moments, GradientsWithoutDegreesOfFreedomAreThoseOfTheQuotient) {
  const float infinite = std::numeric_limits<float>::infinity();
  for (double correction : {3.0, 4.0}) { // of three elements: something over zero
    Tensor x = weft::tensor({{1., 2., 4.}}).requires_grad_();
    x.var({1}, correction).sum().backward();
    EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{-infinite, -infinite, infinite}));
  }
  for (float element : {infinite, -infinite}) {
    Tensor x = Tensor::from(std::vector<float>{1, 2, element}, {3}).requires_grad_();
    x.var().backward();
    for (float gradient : x.grad().to_vector<float>())
      EXPECT_TRUE(std::isnan(gradient)) << gradient;
  }
}

// A computed operand is stored as f32; only values within a kernel are wider.
TEST(Moments, NothingIsStoredInDoublePrecision) {
  auto step = compile([](const Tensor &x) {
    Tensor y = (x * 3).tanh();
    Tensor spread = ((y - y.mean(0)) / (y.var(0) + 1e-5).sqrt()).square().sum();
    return std::vector{grad(spread, {x})[0], y.std(0, 0)};
  });
  step(tensor(std::vector<float>(64 * 100, 0.5F), {64, 100}).requires_grad_());
  // A kernel's first line has its operands and results; the lines after it have its ops.
  std::istringstream plan(step.mlir("plan"));
  size_t kernels = 0;
  for (std::string line; std::getline(plan, line);)
    if (line.find("weft.fusion") != std::string::npos) {
      ++kernels;
      EXPECT_EQ(line.find("64x100xf64"), std::string::npos) << line;
    }
  EXPECT_GT(kernels, 0U);
}

//===----------------------------------------------------------------------===//
// Special values
//===----------------------------------------------------------------------===//

// An infinity or NaN makes variance and mean NaN, wherever it is.
TEST(Moments, WhatIsNotFiniteIsNanAtEveryPosition) {
  // Around the rows that columns take at once (8), the lanes (16) and the partial results of a row (64).
  std::vector<size_t> lengths{1, 2, 3, 5, 8, 9, 17, 70};
  if (weft::testing::testLevel() != "quick")
    lengths.insert(lengths.end(), {4, 6, 7, 10, 15, 16, 18, 64, 65, 83});
  for (DType dtype : {DType::f32, DType::f64, DType::bf16})
    for (size_t n : lengths) {
      if (dtype != DType::f32 && n > 3 && n != 17 && n != 70)
        continue;
      for (const Layout &layout : layouts(dtype)) {
        auto moments = compile([&](const Tensor &x) { return var_mean(x, layout.dims, 0); });
        for (size_t at = 0; at < n; ++at)
          for (double special : {kInf, -kInf, kNan}) {
            if (n > 20 && special != kInf)
              continue;
            std::vector<double> values(n);
            for (size_t i = 0; i < n; ++i)
              values[i] = static_cast<double>(i % 5);
            values[at] = special;
            auto [variance, mean] = moments(layout.tensor(values));
            const std::vector<double> variances = variance.to_vector<double>(),
                                      means = mean.to_vector<double>();
            EXPECT_TRUE(std::isnan(variances[layout.at]) && std::isnan(means[layout.at]))
                << layout.name << ", " << name(dtype) << ", " << special << " at " << at << " of " << n
                << ": variance " << variances[layout.at] << ", mean " << means[layout.at];
            // The elements beside it do not change.
            for (size_t i = 0; i < variances.size(); ++i)
              if (i != layout.at)
                EXPECT_TRUE(std::isfinite(variances[i]) && std::isfinite(means[i])) << layout.name;
          }
      }
    }
}

TEST(Moments, WhatIsNotFiniteIsNanForEveryDynamicSize) {
  Dim n("n", 1, 256), m("m", 1, 64);
  auto rows = compile([](Tensor x) { return std::vector{x.var({1}, 0), var_mean(x, {1}, 0).second}; },
                      {spec({m, n})});
  auto columns = compile([](Tensor x) { return std::vector{x.var({0}, 0), var_mean(x, {0}, 0).second}; },
                         {spec({n, m})});
  for (int64_t length : {1, 2, 3, 7, 8, 9, 16, 17, 64, 65, 79})
    for (int64_t at = 0; at < length; ++at) {
      std::vector<float> values(static_cast<size_t>(2 * length), 1.5F);
      values[static_cast<size_t>(at)] = INFINITY;
      Tensor x = tensor(values, {2, length});
      for (const std::vector<Tensor> &found : {rows(x), columns(x.t().contiguous())})
        for (const Tensor &result : found) {
          const std::vector<double> each = result.to_vector<double>();
          EXPECT_TRUE(std::isnan(each[0])) << at << " of " << length;
          EXPECT_TRUE(std::isfinite(each[1])) << at << " of " << length;
        }
    }
}

TEST(Moments, OfFewElementsAndLargeCorrections) {
  for (DType dtype : {DType::f16, DType::f32, DType::f64}) {
    for (const Layout &layout : layouts(dtype)) {
      auto variance = [&](const std::vector<double> &values, double correction) {
        return layout.tensor(values)
            .var(layout.dims, correction)
            .reshape({-1})
            .to_vector<double>()[layout.at];
      };
      EXPECT_TRUE(std::isnan(variance({7}, 1))) << layout.name;
      EXPECT_EQ(variance({7}, 0), 0) << layout.name;
      EXPECT_EQ(variance({1, 3}, 1), 2) << layout.name;
      EXPECT_EQ(variance({1, 3}, 2), kInf) << layout.name;
      EXPECT_EQ(variance({1, 3}, 5), kInf) << layout.name;
      EXPECT_TRUE(std::isnan(variance({3, 3, 3}, 4))) << layout.name;
    }
    for (IntList dims : {IntList{0}, IntList{}}) {
      auto [variance, mean] = var_mean(zeros({0, 1}, {.dtype = dtype}), dims);
      EXPECT_TRUE(std::isnan(variance.reshape({-1}).to_vector<double>()[0]));
      EXPECT_TRUE(std::isnan(mean.reshape({-1}).to_vector<double>()[0]));
    }
  }
  auto [variance, mean] = var_mean(Tensor::from(std::vector<double>{2.5}, {}), {}, 0);
  EXPECT_EQ(variance.item<double>(), 0);
  EXPECT_EQ(mean.item<double>(), 2.5);
}

// A program has the same bits with and without `compile`, of a number and of a dynamic size.
TEST(Moments, HaveOneValueHoweverTheyAreRun) {
  const std::vector<double> values = around(1e6, 3, 1031, 9);
  auto f = [](Tensor x) { return std::vector{x.var(), x.std({0}), var_mean(x * 1.5).second}; };
  Dim n("n", 1, 4096);
  Tensor x = Tensor::from(values, {1031}).to(DType::f32);
  const auto lazy = bitsOf(f(x));
  EXPECT_EQ(bitsOf(compile(f)(x)), lazy);
  EXPECT_EQ(bitsOf(compile(f, {spec({n})})(x)), lazy);
}
