//===- EdgesTest.cpp - Values and gradients where formulas end --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NaN, infinities, zeros, subnormals and numbers that a type does not hold. What differs from PyTorch here is
// in docs/torch-semantics.md.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace weft;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// The gradient of the sum of `f(x)`, at `values` of a type.
std::vector<double> gradientAt(const std::function<Tensor(const Tensor &)> &f, std::vector<double> values,
                               DType dtype = DType::f32) {
  const auto count = static_cast<int64_t>(values.size());
  Tensor x = Tensor::from(values, {count}).to(dtype).detach().requires_grad_();
  f(x).sum().backward();
  return x.grad().to_vector<double>();
}

} // namespace

TEST(Edges, TheGradientOfAnExtremeGoesToItsNan) {
  const std::vector<double> values{1, kNan, 2, kNan}, half{0, 0.5, 0, 0.5};
  EXPECT_EQ(gradientAt([](const Tensor &x) { return x.amax(); }, values), half);
  EXPECT_EQ(gradientAt([](const Tensor &x) { return x.amin(); }, values), half);
  EXPECT_EQ(gradientAt([](const Tensor &x) { return x.amax(0); }, values, DType::f64), half);
  // With an index, to the first of them.
  EXPECT_EQ(gradientAt([](const Tensor &x) { return x.max(0).values; }, values),
            (std::vector<double>{0, 1, 0, 0}));
  // Where there is none, in shares as before.
  EXPECT_EQ(gradientAt([](const Tensor &x) { return x.amax(); }, {1, 3, 3, kInf, 2}),
            (std::vector<double>{0, 0, 0, 1, 0}));
  EXPECT_EQ(gradientAt([](const Tensor &x) { return x.amin(); }, {1, 3, 1}),
            (std::vector<double>{0.5, 0, 0.5}));
}

TEST(Edges, LogSumExpOfNothingButMinusInfinityHasNoGradient) {
  auto f = [](const Tensor &x) { return x.logsumexp(0); };
  EXPECT_EQ(f(tensor({-kInf, -kInf}, {2})).item<float>(), -kInf);
  EXPECT_EQ(gradientAt(f, {-kInf, -kInf}), (std::vector<double>{0, 0}));
  EXPECT_EQ(gradientAt(f, {-kInf, 1}), (std::vector<double>{0, 1}));
}

TEST(Edges, TheWeightOfLerpIsNotRoundedToHalves) {
  for (DType dtype : {DType::f16, DType::bf16}) {
    Tensor start = Tensor::from(std::vector<double>{1, 2, 3}, {3}).to(dtype);
    Tensor end = Tensor::from(std::vector<double>{1001, 2000, -3.3}, {3}).to(dtype);
    const std::vector<double> a = start.to_vector<double>(), b = end.to_vector<double>();
    for (double weight : {0.1, 0.7, -0.3}) {
      std::vector<double> expected;
      for (size_t i = 0; i < a.size(); ++i)
        expected.push_back(a[i] + static_cast<double>(static_cast<float>(weight)) * (b[i] - a[i]));
      Tensor found = lerp(start, end, weight);
      EXPECT_EQ(found.dtype(), dtype);
      EXPECT_EQ(found.to_vector<double>(), Tensor::from(expected, {3}).to(dtype).to_vector<double>())
          << weight;
    }
  }
  // A weight that is a tensor has a type of its own.
  Tensor one = ones({1}, {.dtype = DType::f16});
  EXPECT_EQ(lerp(one, one * 1001, one * 0.5).item<float>(), 501);
}

// PyTorch gives -inf at both zeros, because it differentiates the power and not the formula that it computes.
TEST(Edges, APowerOfMinusOneHalfIsTheRootAtNegativeZeroToo) {
  auto power = [](const Tensor &x) { return pow(x, -0.5); };
  Tensor zeros = tensor({-0.0F, 0.0F}, {2});
  EXPECT_EQ(power(zeros).to_vector<float>(), (std::vector<float>{-kInf, kInf}));
  EXPECT_EQ(gradientAt(power, {-0.0, 0.0}), (std::vector<double>{kInf, -kInf}));
  EXPECT_EQ(gradientAt([](const Tensor &x) { return rsqrt(x); }, {-0.0, 0.0}),
            (std::vector<double>{kInf, -kInf}));
}

TEST(Edges, TheGradientOfARemainderForADivisorOfZeroIsInfinite) {
  struct Case {
    double a, b, expected;
  };
  for (auto remainderOf : {+[](const Tensor &a, const Tensor &b) { return remainder(a, b); },
                           +[](const Tensor &a, const Tensor &b) { return fmod(a, b); }})
    for (const Case &c : {Case{1, 0, -kInf}, Case{1, -0.0, kInf}, Case{-1, 0, kInf}, Case{-1, -0.0, -kInf},
                          Case{kInf, 0, -kInf}, Case{0, 0, kNan}, Case{7, 2, -3}}) {
      Tensor a = Tensor::from(std::vector<double>{c.a}, {1});
      const double found =
          gradientAt([&](const Tensor &b) { return remainderOf(a, b); }, {c.b}, DType::f64)[0];
      EXPECT_TRUE(std::isnan(c.expected) ? std::isnan(found) : found == c.expected)
          << c.a << " % " << c.b << ": " << found << ", expected " << c.expected;
    }
  // One rounds the quotient down, the other toward zero.
  Tensor seven = Tensor::from(std::vector<double>{7}, {1});
  EXPECT_EQ(gradientAt([&](const Tensor &b) { return remainder(seven, b); }, {-2}, DType::f64)[0], 4);
  EXPECT_EQ(gradientAt([&](const Tensor &b) { return fmod(seven, b); }, {-2}, DType::f64)[0], 3);
}

TEST(Edges, GradientsOfPowersOfHalvesDoNotOverflowOnTheWay) {
  // The power of the derivative is 65,536, which is no f16; a third of it is one.
  const double subnormal = std::ldexp(1.0, -24);
  const std::vector<double> gradient =
      gradientAt([](const Tensor &x) { return pow(x, 1.0 / 3); }, {subnormal, 1}, DType::f16);
  EXPECT_NEAR(gradient[0], 65536.0 / 3, 32);
  EXPECT_NEAR(gradient[1], 1.0 / 3, 1e-3);
  EXPECT_NEAR(gradientAt([](const Tensor &x) { return pow(x, 2.5); }, {4}, DType::bf16)[0], 20, 0.2);
}

TEST(Edges, ANumberThatAnIntegerTypeDoesNotHoldIsNoElement) {
  Tensor x = Tensor::from(std::vector<int8_t>{1, -5, 100}, {3}), mask = x > 2;
  const char *words = "value cannot be converted to type i8 without overflow";
  EXPECT_ERROR(clamp(x, -2, 300), words);
  EXPECT_ERROR(clamp(x, -2, 300), "clamp() was given 300, and i8 holds -128 to 127");
  EXPECT_ERROR(clamp(x, -129, 5), words);
  EXPECT_ERROR(clamp_min(x, 300), words);
  EXPECT_ERROR(clamp_max(x, -300), words);
  EXPECT_ERROR(x.clone().fill_(128), words);
  EXPECT_ERROR(full({2}, 1000, {.dtype = DType::i8}), words);
  EXPECT_ERROR(where(mask, x, 300), words);
  EXPECT_ERROR(x.masked_fill(mask, 300), words);
  EXPECT_ERROR(pow(x, 300), words);
  EXPECT_ERROR(full({2}, 1LL << 40, {.dtype = DType::i32}), "i32 holds -2147483648 to 2147483647");
  EXPECT_ERROR(full({2}, NAN, {.dtype = DType::i64}),
               "value cannot be converted to type i64 without overflow");
  // The ends are held, and a real bound makes the result real.
  EXPECT_EQ(clamp(x, -128, 127).to_vector<int64_t>(), (std::vector<int64_t>{1, -5, 100}));
  EXPECT_EQ(clamp(x, -2, 5.5).to_vector<float>(), (std::vector<float>{1, -2, 5.5}));
  // To an unsigned type a negative number wraps, if its magnitude is held.
  EXPECT_EQ(full({1}, -2, {.dtype = DType::ui8}).item<int64_t>(), 254);
  EXPECT_ERROR(full({1}, -300, {.dtype = DType::ui8}), "ui8 holds 0 to 255");
  EXPECT_EQ(full({1}, INT64_MAX, {.dtype = DType::i64}).item<int64_t>(), INT64_MAX);
  EXPECT_EQ(full({1}, 7, {.dtype = DType::i1}).item<bool>(), true);
  // Arithmetic wraps, as in PyTorch.
  EXPECT_EQ((x + 300).to_vector<int64_t>(), (std::vector<int64_t>{45, 39, -112}));
}

TEST(Edges, ANumberBeyondAFloatingPointTypeIsAnErrorOrAnInfinityAsInPyTorch) {
  const double most[] = {65504, std::ldexp(255.0, 120), std::numeric_limits<float>::max()};
  const DType dtypes[] = {DType::f16, DType::bf16, DType::f32};
  for (size_t i = 0; i < 3; ++i) {
    const DType dtype = dtypes[i];
    const double largest = most[i], beyond = std::nextafter(largest, INFINITY), far = largest * 4;
    const std::string words =
        "value cannot be converted to type " + std::string(name(dtype)) + " without overflow: ";
    Tensor x = Tensor::from(std::vector<double>{1, -2}, {2}, {.dtype = dtype}), mask = x > 0;
    for (const double number : {beyond, -beyond, far, -far}) {
      EXPECT_ERROR(clamp(x, 0, number), words + "clamp() was given ");
      EXPECT_ERROR(clamp(x, number, 1), words);
      EXPECT_ERROR(clamp_min(x, number), words);
      EXPECT_ERROR(clamp_max(x, number), words);
      EXPECT_ERROR(x.clone().fill_(number), words);
      EXPECT_ERROR(full_like(x, number), words);
      EXPECT_ERROR(x.masked_fill(mask, number), words);
      EXPECT_ERROR(scatter(x, 0, Tensor::from(std::vector<int64_t>{0}, {1}), number), words);
    }
    // The special values of each type: its largest number, infinities and NaN.
    EXPECT_EQ(clamp(x, -largest, largest).to_vector<double>(), (std::vector<double>{1, -2}));
    EXPECT_EQ(clamp(x, 0, INFINITY).to_vector<double>(), (std::vector<double>{1, 0}));
    EXPECT_EQ(x.clone().fill_(largest).to_vector<double>(), (std::vector<double>{largest, largest}));
    EXPECT_EQ(x.clone().fill_(-INFINITY).to_vector<double>(), (std::vector<double>{-INFINITY, -INFINITY}));
    EXPECT_TRUE(std::isnan(full({1}, NAN, {.dtype = dtype}).item<double>()));
    // Arithmetic gives an infinity.
    EXPECT_EQ((x * far).to_vector<double>(), (std::vector<double>{INFINITY, -INFINITY}));
    // To an element of halves some functions round, to an infinity where it is far enough.
    const auto written = [&] {
      Tensor y = x.clone();
      y[0] = far;
      return y;
    };
    if (dtype == DType::f32) {
      EXPECT_ERROR(full({2}, far, {.dtype = dtype}), words + "full() was given 1.36112939e+39");
      EXPECT_ERROR(where(mask, x, far), words);
      EXPECT_ERROR(written(), words + "an assignment was given ");
      EXPECT_EQ(pow(x, far).to_vector<double>(), (std::vector<double>{1, INFINITY}));
    } else {
      EXPECT_EQ(full({1}, beyond, {.dtype = dtype}).item<double>(), largest);
      EXPECT_EQ(full({1}, -far, {.dtype = dtype}).item<double>(), -INFINITY);
      EXPECT_EQ(where(mask, x, far).to_vector<double>(), (std::vector<double>{1, INFINITY}));
      EXPECT_EQ(written().to_vector<double>(), (std::vector<double>{INFINITY, -2}));
      EXPECT_ERROR(pow(x, far), words);
    }
  }
  EXPECT_ERROR(clamp(ones({2}, {.dtype = DType::f16}), 0, 1000000),
               "clamp() was given 1000000, and f16 holds finite numbers from -65504 to 65504");
}

TEST(Edges, FalseIsNoDivisorOfIntegers) {
  Tensor x = arange(3);
  for (Tensor (*divide)(const Arg &, const Arg &) : {&remainder, &fmod, &floor_divide}) {
    EXPECT_ERROR(divide(x, false), "integer division by zero");
    EXPECT_EQ(divide(x, true).to_vector<int64_t>().size(), 3u);
  }
  EXPECT_ERROR(x.floor_divide_(false), "integer division by zero");
}

TEST(Edges, PowersOfBools) {
  Tensor x = Tensor::from(std::vector<bool>{true, false}, {2});
  const std::vector<bool> both{true, true}, first{true, false};
  EXPECT_EQ(pow(x, false).to_vector<bool>(), both);
  EXPECT_EQ(pow(x, true).to_vector<bool>(), first);
  EXPECT_EQ(x.clone().pow_(false).to_vector<bool>(), both);
  EXPECT_ERROR(pow(x, x), "\"pow\" not implemented for 'i1'");
  EXPECT_ERROR(pow(true, x), "\"pow\" not implemented for 'i1'");
}

TEST(Edges, RemaindersOfBools) {
  const Tensor x = Tensor::from(std::vector<bool>{true, false}, {2});
  EXPECT_ERROR(remainder(x, true), "remainder: remainders of two bool tensors are not supported");
  EXPECT_ERROR(remainder(true, x), "remainder: remainders of two bool tensors are not supported");
  EXPECT_ERROR(fmod(x, false), "fmod: remainders of two bool tensors are not supported");
  EXPECT_ERROR(x.clone().remainder_(x), "remainder: remainders of two bool tensors are not supported");
  EXPECT_EQ(remainder(x, 2).to_vector<int64_t>(), (std::vector<int64_t>{1, 0}));
}

TEST(Edges, ANumberOverATensorIsRoundedOnce) {
  Tensor x = arange(1, 100).to(f32);
  const std::vector<float> quotients = (3.0 / x).to_vector<float>();
  for (size_t i = 0; i < quotients.size(); ++i)
    EXPECT_EQ(quotients[i], 3.0F / static_cast<float>(i + 1));
}

TEST(Edges, GradientsOfQuotientsThatAreRoundedDown) {
  using Doubles = std::vector<double>;
  EXPECT_EQ(gradientAt([](const Tensor &x) { return floor_divide(x, 2.0); }, {3, 5}, DType::f64),
            (Doubles{0, 0}));
  EXPECT_EQ(gradientAt([](const Tensor &x) { return remainder(7.0, x); }, {2, -3}, DType::f64),
            (Doubles{-3, 3}));
}

TEST(Edges, BoolsHaveTheFunctionsOfIntegers) {
  Tensor mask = Tensor::from(std::vector<bool>{true, false}, {2});
  const std::vector<bool> same{true, false};
  EXPECT_EQ(round(mask).to_vector<bool>(), same);
  EXPECT_EQ(mask.cumsum(0, i1).to_vector<bool>(), (std::vector<bool>{true, true}));
  Tensor x = Tensor::from(std::vector<float>{3, 5}, {2}).requires_grad_();
  pow(x, mask).sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{1, 0}));
}
