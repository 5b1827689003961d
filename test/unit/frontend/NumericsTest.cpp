//===- NumericsTest.cpp - Eager and fast numerics ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include "test/unit/TestLevel.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace weft;

namespace {

constexpr int64_t count = 4099; // with a rest that no vector fills

std::vector<float> values(uint64_t seed) {
  manual_seed(seed);
  return randn({count}).to_vector<float>();
}
} // namespace

TEST(Numerics, EagerIsTheDefaultAndKeepsTheBitsOfSingleOps) {
  Tensor a = Tensor::from(values(1), {count}), b = Tensor::from(values(2), {count}),
         c = Tensor::from(values(3), {count});
  auto f = compile([](Tensor x, Tensor y, Tensor z) { return x * y + z / 3; });
  EXPECT_EQ(f(a, b, c).to_bytes(), (a * b + c / 3).to_bytes());
  EXPECT_FALSE(mentions(f.mlir(), "weft.numerics"));
  EXPECT_FALSE(mentions(f.explain(), "WEFT-N00")) << f.explain();
}

/// Programs whose operations are handed to `each`, which may compute them one by one.
template <typename Each> std::vector<Tensor> operations(Each each, Tensor x, Tensor y, const Tensor &w) {
  std::vector<Tensor> results;
  const auto keep = [&](const Tensor &t) { results.push_back(t); };
  // Elementwise: products with sums, divisions, functions, comparisons.
  Tensor p = each(x * y), q = each(y / 3), s = each(p + q);
  Tensor t = each(tanh(s)), e = each(exp(t)), g = each(sigmoid(e)), r = each(relu(s));
  Tensor m = each(x > y), c = each(where(m, g, r)), d = each(c - x);
  keep(d);
  keep(each(sqrt(each(d * d))));
  // Reductions along rows, columns and all, beside what is fused with them.
  Tensor rows = each(d.sum({1}, true)), columns = each(e.sum({0})), top = each(d.amax({1}, true));
  Tensor shifted = each(d - top), weights = each(exp(shifted)), total = each(weights.sum({1}, true));
  keep(each(weights / total));
  keep(each(rows * columns));
  keep(each(each(d * d).sum()));
  keep(each(softmax(d, 1)));
  keep(each(cumsum(d, 1)));
  // Products, with what follows them.
  Tensor product = each(matmul(d, w)), biased = each(product + columns.slice(0, 0, w.sizes()[1]));
  keep(each(relu(biased)));
  keep(each(each(matmul(d, d.t())) * 0.5));
  // Moves and joins.
  Tensor joined = each(cat({d, each(r * 2)}, 0)), turned = each(each(joined.t()) + 1);
  keep(each(turned.sum({1})));
  return results;
}

// Each operation is computed before the next one is recorded, so that none is fused with another.
void expectTheBitsOfOperationsAlone(DType dtype, const Shape &shape) {
  manual_seed(11);
  Tensor x = randn(shape).to(dtype), y = randn(shape).to(dtype), w = randn({shape[1], 24}).to(dtype);
  synchronize();
  size_t computed = 0;
  const auto alone = [&](Tensor t) {
    t.to_bytes();
    ++computed;
    return t;
  };
  const auto together = [](Tensor t) { return t; };
  auto f = compile([&](Tensor a, Tensor b, Tensor c) { return operations(together, a, b, c); });
  const std::vector<Tensor> expected = operations(alone, x, y, w), compiled = f(x, y, w),
                            lazy = operations(together, x, y, w);
  EXPECT_GT(computed, 30u);
  ASSERT_EQ(compiled.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(compiled[i].to_bytes() == expected[i].to_bytes())
        << name(dtype) << ", compiled, result " << i;
    EXPECT_TRUE(lazy[i].to_bytes() == expected[i].to_bytes()) << name(dtype) << ", lazy, result " << i;
  }
}

TEST(Numerics, ResultsAreTheBitsOfOperationsThatRunAlone) {
  expectTheBitsOfOperationsAlone(f32, {33, 70});
  if (weft::testing::testLevel() == "quick")
    return;
  expectTheBitsOfOperationsAlone(f16, {128, 256});
  expectTheBitsOfOperationsAlone(f64, {33, 70});
}

// docs/numerics.md: the sum of a product rounds once.
TEST(Numerics, OfAFunctionAndWhatItCallsAreOne) {
  Tensor x = ones({3});
  auto eager = compile([](Tensor a) { return a * 3 + 1; }, {.name = "inner"});
  auto fast = compile([](Tensor a) { return a * 3 + 1; }, {.name = "quick", .numerics = Numerics::fast});
  auto outer = compile([&](Tensor a) { return eager(a) * 2; });
  auto outerFast =
      compile([&](Tensor a) { return fast(a) * 2; }, {.name = "step", .numerics = Numerics::fast});
  EXPECT_EQ(outer(x).to_vector<float>(), std::vector<float>(3, 8));
  EXPECT_EQ(outerFast(x).to_vector<float>(), std::vector<float>(3, 8));
  auto calls = compile([&](Tensor a) { return eager(a); }, {.name = "step", .numerics = Numerics::fast});
  EXPECT_ERROR(calls(x), "'inner' was compiled with eager numerics and is called inside of 'step', which has "
                         "fast: a compiled function and what it calls have one mode; give both the same");
  auto called = compile([&](Tensor a) { return fast(a); });
  EXPECT_ERROR(called(x), "'quick' was compiled with fast numerics and is called inside of 'main', which has "
                          "eager");
  EXPECT_EQ(fast(x).to_vector<float>(), std::vector<float>(3, 4)); // from outside both are as they were
}

TEST(Numerics, FastRoundsASumWithAProductOnce) {
  std::vector<float> a = values(1), b = values(2), c = values(3);
  auto f = compile([](Tensor x, Tensor y, Tensor z) { return x * y + z; }, {.numerics = Numerics::fast});
  std::vector<float> got =
      f(Tensor::from(a, {count}), Tensor::from(b, {count}), Tensor::from(c, {count})).to_vector<float>();
  size_t other = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(got[i], std::fma(a[i], b[i], c[i])) << i;
    volatile float product = a[i] * b[i];
    other += got[i] != product + c[i];
  }
  EXPECT_GT(other, 0u) << "some bits are other than those of single ops, or this tests nothing";
  EXPECT_TRUE(mentions(f.explain(), "WEFT-N006")) << f.explain();
  EXPECT_TRUE(mentions(f.mlir(), "weft.numerics = \"fast\"")) << f.mlir();
}

// docs/numerics.md: within 1.5 units in the last place.
TEST(Numerics, FastDividesByAConstantWithinItsBound) {
  std::vector<float> a = values(4);
  for (double divisor : {3.0, 255.0, 0.1, -7.7, 1e-30, 1e30}) {
    auto f = compile([&](Tensor x) { return x / divisor; }, {.numerics = Numerics::fast});
    std::vector<float> got = f(Tensor::from(a, {count})).to_vector<float>();
    double worst = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      double exact = static_cast<double>(a[i]) / static_cast<double>(static_cast<float>(divisor));
      float rounded = std::fabs(static_cast<float>(exact));
      double unit =
          static_cast<double>(std::nextafter(rounded, std::numeric_limits<float>::infinity())) - rounded;
      worst = std::max(worst, std::fabs(got[i] - exact) / unit);
    }
    EXPECT_LE(worst, 1.5) << divisor;
    EXPECT_TRUE(mentions(f.explain(), "WEFT-N008")) << f.explain();
  }
  // 1e-39 is subnormal in f32, which has fewer digits.
  auto exact = compile([](Tensor x) { return x / 1e-39; }, {.numerics = Numerics::fast});
  exact(ones({4}));
  EXPECT_FALSE(mentions(exact.explain(), "WEFT-N008")) << exact.explain();
}

/// Within the bound of docs/numerics.md; eager numerics have none of it.
TEST(Numerics, FastConvolutionsTakeFewerProducts) {
  manual_seed(6);
  Tensor x = randn({4, 32, 14, 14}), w = randn({48, 32, 3, 3});
  auto fn = [](Tensor a, Tensor m) {
    Tensor image = a.detach(), weights = m.detach();
    image.requires_grad_();
    weights.requires_grad_();
    Tensor y = nn::functional::conv2d(image, weights, {}, {.padding = 1});
    y.square().sum().backward();
    return std::tuple(y.detach(), image.grad(), weights.grad());
  };
  auto eager = compile(fn), fast = compile(fn, {.numerics = Numerics::fast});
  const auto [a, b, c] = fast(x, w);
  const auto [d, e, f] = eager(x, w);
  EXPECT_TRUE(mentions(fast.explain(), "WEFT-N013")) << fast.explain();
  EXPECT_TRUE(mentions(fast.explain(), "winograd convolution")) << fast.explain();
  EXPECT_FALSE(mentions(eager.explain(), "WEFT-N013")) << eager.explain();
  EXPECT_FALSE(mentions(eager.explain(), "winograd")) << eager.explain();
  const auto [exact, of_x, of_w] = compile(fn)(x.to(f64), w.to(f64));
  for (const auto &[found, expected, plain] :
       {std::tuple(a, exact, d), std::tuple(b, of_x, e), std::tuple(c, of_w, f)}) {
    const double size = expected.abs().max().item<double>();
    EXPECT_LE((found.to(f64) - expected).abs().max().item<double>(), 1e-5 * size);
    EXPECT_LE((plain.to(f64) - expected).abs().max().item<double>(), 1e-5 * size);
    EXPECT_NE(found.to_bytes(), plain.to_bytes());
  }
}

TEST(Numerics, FastAddsTheBiasOfAHalfProductBeforeItRounds) {
  manual_seed(5);
  Tensor x = randn({32, 24}).to(f16), w = randn({24, 16}).to(f16), b = randn({16}).to(f16);
  auto fn = [](Tensor a, Tensor m, Tensor v) { return relu(matmul(a, m) + v); };
  auto eager = compile(fn), fast = compile(fn, {.numerics = Numerics::fast});
  Tensor reference = relu(matmul(x.to(f64), w.to(f64)) + b.to(f64));
  EXPECT_EQ(eager(x, w, b).to_bytes(), fn(x, w, b).to_bytes());
  EXPECT_TRUE(mentions(eager.explain(), "WEFT-N001")) << eager.explain();
  std::vector<double> got = fast(x, w, b).to(f64).to_vector<double>(), exact = reference.to_vector<double>();
  EXPECT_TRUE(mentions(fast.explain(), "WEFT-N007")) << fast.explain();
  // One rounding to f16 of a sum in f32: half a unit, and what 24 additions in f32 lose.
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_LE(std::fabs(got[i] - exact[i]), 0x1p-11 * std::fabs(exact[i]) + 1e-4) << i;
}
