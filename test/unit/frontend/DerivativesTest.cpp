//===- DerivativesTest.cpp - First and second derivatives at special points -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At 0, at ties, and where a function ends. The numbers are PyTorch's, or of the formulas where it says so.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

using namespace weft;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

using Doubles = std::vector<double>;
using Formula = std::function<Tensor(const Tensor &)>;

Tensor leafOf(const Doubles &values, DType dtype = DType::f64) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())}).to(dtype).detach().requires_grad_();
}
/// The gradient of the sum of f(x).
Doubles firstAt(const Formula &f, const Doubles &values, DType dtype = DType::f64) {
  Tensor x = leafOf(values, dtype);
  return grad(f(x).sum(), {x})[0].to_vector<double>();
}
/// The gradient of the sum of that gradient.
Doubles secondAt(const Formula &f, const Doubles &values, DType dtype = DType::f64) {
  Tensor x = leafOf(values, dtype);
  Tensor first = grad(f(x).sum(), {x}, {.create_graph = true})[0];
  return grad(first.sum(), {x})[0].to_vector<double>();
}
/// The gradient of the sum of the gradient of that.
Doubles thirdAt(const Formula &f, const Doubles &values, DType dtype = DType::f64) {
  const Formula second = [&](const Tensor &x) {
    const Tensor first = grad(f(x).sum(), {x}, {.create_graph = true})[0];
    return grad(first.sum(), {x}, {.create_graph = true})[0];
  };
  return firstAt(second, values, dtype);
}

void expectNear(const Doubles &found, const Doubles &expected, double tolerance = 1e-9) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(found[i])) << "element " << i << ": " << found[i];
    else if (std::isinf(expected[i]))
      EXPECT_EQ(found[i], expected[i]) << "element " << i;
    else
      EXPECT_NEAR(found[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "element " << i;
}

} // namespace

TEST(Derivatives, SecondOnesAtZeroOfFormulasOfMagnitudes) {
  const Formula softMargin = [](const Tensor &x) {
    return nn::functional::soft_margin_loss(x, ones_like(x), nn::Reduction::sum);
  };
  const Formula multilabel = [](const Tensor &x) {
    return nn::functional::multilabel_soft_margin_loss(x.unsqueeze(0), ones_like(x).unsqueeze(0));
  };
  const Formula withLogits = [](const Tensor &x) {
    return nn::functional::binary_cross_entropy_with_logits(x, ones_like(x),
                                                            {.reduction = nn::Reduction::sum});
  };
  expectNear(firstAt([](const Tensor &x) { return logsigmoid(x); }, {0, -1, 2}),
             {0.5, 0.7310585786300049, 0.11920292202211755});
  expectNear(secondAt([](const Tensor &x) { return logsigmoid(x); }, {0, -0.0, -1, 2}),
             {-0.25, -0.25, -0.19661193324148185, -0.10499358540350651});
  expectNear(secondAt(softMargin, {0}), {0.25});
  expectNear(secondAt(multilabel, {0, 0}), {0.125, 0.125});
  expectNear(secondAt(withLogits, {0, 0, 1}), {0.25, 0.25, 0.19661193324148185});
  expectNear(secondAt([](const Tensor &x) { return i0(x); }, {0, 1}), {0.5, 0.7009067737595233});
  expectNear(firstAt([](const Tensor &x) { return special::i0e(x); }, {0}), {0});
  expectNear(secondAt([](const Tensor &x) { return special::i0e(x); }, {0}), {0.5});
  expectNear(firstAt([](const Tensor &x) { return special::i1(x); }, {0}), {0.5});
  expectNear(firstAt([](const Tensor &x) { return special::erfcx(x); }, {0, -0.0}),
             {-2 / std::sqrt(std::numbers::pi), -2 / std::sqrt(std::numbers::pi)});
  expectNear(secondAt([](const Tensor &x) { return special::erfcx(x); }, {0}), {2});
  // PyTorch's is NaN.
  expectNear(secondAt([](const Tensor &x) { return sinc(x); }, {0}),
             {-std::numbers::pi * std::numbers::pi / 3});
}

TEST(Derivatives, SecondOnesAtTies) {
  const Doubles values{0, 1.5, -kInf};
  const Tensor same = Tensor::from(Doubles{0, 1.5, 0}, {3});
  expectNear(firstAt([&](const Tensor &x) { return logaddexp(x, same); }, values), {0.5, 0.5, 0});
  expectNear(secondAt([&](const Tensor &x) { return logaddexp(x, same); }, values), {0.25, 0.25, 0});
  expectNear(secondAt([&](const Tensor &x) { return logaddexp(same, x); }, values), {0.25, 0.25, 0});
  expectNear(secondAt([&](const Tensor &x) { return logaddexp2(x, same); }, {0, 1.5, 0}),
             {std::numbers::ln2 / 4, std::numbers::ln2 / 4, std::numbers::ln2 / 4});
  // Of two infinities each has a half; PyTorch's is NaN.
  expectNear(firstAt([](const Tensor &x) { return logaddexp(x, x.detach()); }, {kInf, -kInf}), {0.5, 0.5});
  const Formula second = [](const Tensor &x) { return logcumsumexp(x, 0).select(0, 1); };
  Tensor x = leafOf({1, 1});
  Tensor first = grad(second(x), {x}, {.create_graph = true})[0];
  expectNear(grad(first.select(0, 0), {x})[0].to_vector<double>(), {0.25, -0.25});
}

TEST(Derivatives, OfInverseFunctionsTheValueDoesNotDependOnTheGradient) {
  const Doubles values{1, 0, -0.0, -1, 0.5, 2, kNan};
  for (DType dtype : {DType::f32, DType::f64, DType::f16}) {
    Tensor x = leafOf(values, dtype), plain = x.detach();
    EXPECT_EQ(erfinv(x).to(DType::f64).to_vector<double>()[0], kInf);
    EXPECT_EQ(erfinv(x).slice(0, 0, 5).to_bytes(), erfinv(plain).slice(0, 0, 5).to_bytes());
    EXPECT_EQ(special::ndtri(x).slice(0, 0, 3).to_bytes(), special::ndtri(plain).slice(0, 0, 3).to_bytes());
    const auto compiled = compile([](Tensor a) { return erfinv(a.requires_grad_()).detach(); });
    EXPECT_EQ(compiled(plain).slice(0, 0, 5).to_bytes(), erfinv(plain).slice(0, 0, 5).to_bytes());
  }
  EXPECT_TRUE(std::signbit(erfinv(leafOf({-0.0})).item<double>()));
  const double slope = std::sqrt(std::numbers::pi) / 2, atHalf = 1.1125848189719496;
  expectNear(firstAt([](const Tensor &x) { return erfinv(x); }, values),
             {kInf, slope, slope, kInf, atHalf, kNan, kNan});
  expectNear(secondAt([](const Tensor &x) { return erfinv(x); }, {1, 0, -1, 2}), {kInf, 0, -kInf, kNan});
  expectNear(firstAt([](const Tensor &x) { return special::ndtri(x); }, {0, 0.5, 1, -1, 2, kNan}),
             {kInf, std::sqrt(2 * std::numbers::pi), kInf, kNan, kNan, kNan});
}

TEST(Derivatives, OfProbabilitiesAtTheEdges) {
  const Doubles p{0, 1, 0, 1, 1e-13, 0.3}, t{0, 1, 1, 0, 0, 0.2};
  const Tensor target = Tensor::from(t, {6});
  const Formula loss = [&](const Tensor &x) {
    return nn::functional::binary_cross_entropy(x, target, {}, nn::Reduction::sum);
  };
  expectNear(
      nn::functional::binary_cross_entropy(leafOf(p), target, {}, nn::Reduction::none).to_vector<double>(),
      {0, 0, 100, 100, 1e-13, 0.5261345232722178}, 1e-6);
  expectNear(firstAt(loss, p), {0, 0, -1e12, 1e12, 0.1, 0.47619047619047616});
  expectNear(secondAt(loss, p), {0, 0, 1e24, 1e24, 1e-13 * 1e-13 / (1.1e-12 * 1.1e-12), 3.854875283446712},
             1e-6);
  // With respect to the target, the logarithms that the loss has.
  Tensor given = target.detach().requires_grad_();
  expectNear(grad(nn::functional::binary_cross_entropy(leafOf(p), given, {}, nn::Reduction::sum), {given})[0]
                 .slice(0, 0, 4)
                 .to_vector<double>(),
             {100, -100, 100, -100});
  // Through sigmoid, a probability that is 1 or 0 in f32, and right.
  Tensor x = Tensor::from(Floats{100, -200, 0}, {3}).requires_grad_();
  nn::BCELoss()(sigmoid(x), Tensor::from(Floats{1, 0, 1}, {3})).backward();
  expectNear(x.grad().to_vector<double>(), {0, 0, -1.0 / 6}, 1e-6);
}

TEST(Derivatives, SecondOnesOfRunningProductsWithZeros) {
  const Formula products = [](const Tensor &x) { return cumprod(x, 0); };
  expectNear(secondAt(products, {0, 2, 3}), {6, 4, 2});
  expectNear(secondAt(products, {0, 2, 0}), {3, 1, 2});
  expectNear(secondAt(products, {2, 0, 3, 0, 5}), {4, 42, 2, 36, 0});
  expectNear(secondAt(products, {0, 0, 0, 0}), {1, 1, 0, 0});
  expectNear(firstAt(products, {2, 0, 3, 0, 5}), {1, 8, 0, 0, 0});
  // What is behind a zero has no gradient, whatever follows it.
  expectNear(firstAt(products, {0, kInf, 3}), {kInf, 0, 0});
  expectNear(firstAt(products, {0, 2, kNan, 3}), {kNan, 0, 0, 0});
  // Third ones know two zeros: PyTorch has 3 here.
  Tensor x = leafOf({0, 0, 0});
  Tensor first = grad((cumprod(x, 0) * (arange(3) + 1)).sum(), {x}, {.create_graph = true})[0];
  Tensor second = grad(first[2], {x}, {.create_graph = true})[0];
  expectNear(grad(second[0], {x})[0].to_vector<double>(), {0, 0, 0});
}

TEST(Derivatives, OfAnInfiniteDifferenceAreThoseOfTheLine) {
  const Tensor zero = zeros({3}, DType::f64);
  const auto huber = [&](const Tensor &x) { return nn::huber_loss(x, zero, nn::Reduction::none); };
  expectNear(firstAt(huber, {kInf, -kInf, 0.5}), {1, -1, 0.5});
  const auto smooth = [&](const Tensor &x) { return nn::smooth_l1_loss(x, zero, nn::Reduction::none); };
  expectNear(firstAt(smooth, {kInf, -kInf, 0.5}), {1, -1, 0.5});
}

TEST(Derivatives, TheValueOfADeterminantDoesNotDependOnTheGradient) {
  // The regular matrix beside this one has a determinant that overflows.
  Floats large(64, 0);
  for (size_t i = 0; i < 7; ++i)
    large[9 * i] = 1e5F;
  const Tensor x = Tensor::from(large, {8, 8}).requires_grad_();
  EXPECT_EQ(linalg::det(x.detach()).item<float>(), 0);
  EXPECT_EQ(linalg::det(x).item<float>(), 0);
}

TEST(Derivatives, OfDeterminantsOfSingularMatrices) {
  // The gradient, and that of its elements times 1, 2, ..
  const auto check = [](const Doubles &a, int64_t n, const Doubles &first, const Doubles &second) {
    Tensor x = Tensor::from(a, {n, n}).requires_grad_();
    Tensor value = linalg::det(x), gradient = grad(value, {x}, {.create_graph = true})[0];
    EXPECT_EQ(value.item<double>(), 0);
    expectNear(gradient.to_vector<double>(), first);
    Tensor weights = arange(1, n * n + 1, 1, {.dtype = DType::f64}).reshape({n, n});
    const Doubles found = grad((gradient * weights).sum(), {x})[0].to_vector<double>();
    if (!second.empty())
      expectNear(found, second);
    else // not known, and said so
      EXPECT_TRUE(std::ranges::none_of(found, [](double each) { return std::isfinite(each); }));
  };
  check({0, 1, 0, 2}, 2, {2, 0, -1, 0}, {4, -3, -2, 1});
  check({0, 0, 0, 0}, 2, {0, 0, 0, 0}, {4, -3, -2, 1});
  check({0, 1, 0, 0}, 2, {0, 0, -1, 0}, {4, -3, -2, 1});
  check({1, 2, 2, 4}, 2, {4, -2, -2, 1}, {4, -3, -2, 1});
  // A chain of zeros: the cofactor of the corner. The second derivatives are those of the formula.
  check({0, 1, 0, 0, 0, 1, 0, 0, 0}, 3, {0, 0, 0, 0, 0, 0, 1, 0, 0}, {-8, 7, 0, -9, 0, 7, 8, -1, -4});
  check({0, 0, 0, 0, 0, 0, 0, 0, 0}, 3, Doubles(9), Doubles(9));
  check(Doubles(16), 4, Doubles(16), Doubles(16));
  // A batch, whose regular matrix is not touched by the singular one.
  Tensor batch = Tensor::from(Floats{0, 1, 0, 2, 2, 1, 1, 3}, {2, 2, 2}).requires_grad_();
  linalg::det(batch).sum().backward();
  expectNear(batch.grad().to_vector<double>(), {2, 0, -1, 0, 3, -1, -1, 2}, 1e-6);
  const auto compiled = compile([](Tensor x) {
    x.requires_grad_();
    return grad(linalg::det(x).sum(), {x})[0];
  });
  expectNear(compiled(batch.detach()).to_vector<double>(), {2, 0, -1, 0, 3, -1, -1, 2}, 1e-6);
  // Four zeros, and more in a chain.
  Doubles corner(16), longer(25);
  corner[12] = -1;
  check({0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0}, 4, corner,
        {14, -13, 0, 0, 15, 0, -13, 0, 16, 0, 0, -13, -21, 1, 5, 9});
  check({0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0}, 4, Doubles(16),
        {39, -78, 39, 0, 0, 0, 0, 0, 0, 0, 0, 0, -3, 6, -3, 0});
  longer[20] = 210;
  check({0, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0}, 5, longer, {});
  // With a row and a column that are regular: the others are those of the first matrix.
  Doubles beside(25);
  beside[20] = -3;
  check({0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}, 5, beside,
        {66, -63, 0, 0, 0, 72, 0, 0, -63, 0, 23, 0, -21, 0, 0, 75, 0, 0, 0, -63, -106, 3, 11, 18, 48});
}

TEST(Derivatives, WhereAFunctionIsInfinite) {
  expectNear(firstAt([](const Tensor &x) { return logit(x); }, {0, -0.0, 1, 0.5, -1, 2}),
             {kInf, -kInf, kInf, 4, kNan, kNan});
  expectNear(firstAt([](const Tensor &x) { return lgamma(x); }, {0, -0.0, kInf, 1, -1, -2, -1e10}),
             {-kInf, kInf, kInf, -std::numbers::egamma, kNan, kNan, kNan});
  expectNear(lgamma(leafOf({0, -0.0, kInf, -kInf, 1, -1, -2})).to_vector<double>(),
             {kInf, kInf, kInf, kInf, 0, kInf, kInf});
  expectNear(firstAt([](const Tensor &x) { return special::entr(x); }, {0, -1, 1, kNan}),
             {kInf, kNan, -1, kNan});
  expectNear(special::entr(leafOf({0, -1, 1})).to_vector<double>(), {0, -kInf, 0});
  expectNear(polygamma(1, leafOf({kInf, 1})).to_vector<double>(),
             {0, std::numbers::pi * std::numbers::pi / 6});
  expectNear(special::entr(leafOf({kInf, -kInf, kNan})).to_vector<double>(), {-kInf, -kInf, kNan});
  expectNear(firstAt([](const Tensor &x) { return special::entr(x); }, {kInf, -kInf}), {-kInf, kNan});
  expectNear(digamma(leafOf({0, -0.0, -1, -2})).to_vector<double>(), {-kInf, kInf, kNan, kNan});
  expectNear(firstAt([](const Tensor &x) { return digamma(x); }, {0, -0.0, -1, -2}),
             {kInf, kInf, kInf, kInf});
}

TEST(Derivatives, SecondOnesWhereAFunctionIsInfinite) {
  expectNear(secondAt([](const Tensor &x) { return lgamma(x); }, {0, -0.0, kInf, -1, -2, -1e10, -1.5}),
             {kInf, kInf, 0, kInf, kInf, kInf, 9.379246644989454});
  // PyTorch's are NaN at 0 and 1.
  expectNear(secondAt([](const Tensor &x) { return logit(x); }, {0, 1, 0.25}),
             {-kInf, kInf, -14.222222222222221});
  expectNear(secondAt([](const Tensor &x) { return special::entr(x); }, {0, -0.0, 1, kInf}),
             {-kInf, kInf, -1, 0});
}

TEST(Derivatives, OfLgammaBesideItsPoles) {
  const Formula f = [](const Tensor &x) { return lgamma(x); };
  const Doubles values{1e-100, -1e-100, 1e-160, -1e-160, 1e-310};
  expectNear(firstAt(f, values), {-1e100, 1e100, -1e160, 1e160, -kInf});
  expectNear(secondAt(f, values), {1e200, 1e200, kInf, kInf, kInf});
}

TEST(Derivatives, ThirdOnesOfLgamma) {
  expectNear(thirdAt([](const Tensor &x) { return lgamma(x); }, {0, -1, -2, 1e-160, -1e-160, 1, -0.5}),
             {-kInf, -kInf, -kInf, -kInf, kInf, -2.404113806319188, -0.828796644234}, 1e-7);
}

// Apart from the others, because on a GPU its kernel spills registers.
TEST(Derivatives, SecondOnesOfDigammaAtItsPoles) {
  expectNear(secondAt([](const Tensor &x) { return digamma(x); }, {0, -0.0, -1, 1}),
             {-kInf, -kInf, -kInf, -2.404113806319189});
}

TEST(Derivatives, OfPowersAndLogarithmsTimesZero) {
  // Of the base as in PyTorch, of the exponent 0; PyTorch's second ones of the exponent are NaN.
  expectNear(secondAt([](const Tensor &x) { return pow(x, 2); }, {0, -0.0}), {2, 2});
  expectNear(secondAt([](const Tensor &x) { return pow(x, full_like(x, 3)); }, {0, 2}), {0, 12});
  expectNear(secondAt([](const Tensor &x) { return pow(x, 0.5); }, {0}), {-kInf});
  for (const Formula &f : {Formula([](const Tensor &x) { return pow(zeros_like(x), x); }),
                           Formula([](const Tensor &x) { return pow(0.0, x); })}) {
    expectNear(firstAt(f, {0, 0.5, 1, 2, -1}), {0, 0, 0, 0, -kInf});
    expectNear(secondAt(f, {0, 0.5, 1, 2, -1}), {0, 0, 0, 0, kInf});
  }
  const Tensor none = Tensor::from(Doubles{0, 0, 0}, {3});
  const Formula ofY = [&](const Tensor &y) { return xlogy(none, y); };
  expectNear(firstAt(ofY, {0, -1, 2}), {0, 0, 0});
  expectNear(secondAt(ofY, {0, -1, 2}), {0, 0, 0});
}

TEST(Derivatives, SecondOnesAtTheKinksOfActivations) {
  const Doubles values{0, -0.0, -1, 1};
  const auto check = [&](const Formula &f, const Doubles &first, const Doubles &second) {
    expectNear(firstAt(f, values), first);
    expectNear(secondAt(f, values), second);
    expectNear(f(leafOf({0})).to_vector<double>(), {0});
  };
  check([](const Tensor &x) { return elu(x, 2); }, {2, 2, 0.7357588823428847, 1},
        {0, 0, 0.7357588823428847, 0});
  check([](const Tensor &x) { return celu(x, 2); }, {1, 1, 0.6065306597126334, 1},
        {0, 0, 0.3032653298563167, 0});
  check([](const Tensor &x) { return selu(x); },
        {1.7580993408473766, 1.7580993408473766, 0.646768603034814, 1.0507009873554805},
        {0, 0, 0.646768603034814, 0});
  // Of prelu with respect to the weight, and back.
  Tensor x = leafOf({0, -0.0, -1, 1}), weight = leafOf({0.25});
  std::vector<Tensor> first = grad(prelu(x, weight).sum(), {x, weight}, {.create_graph = true});
  expectNear(first[0].to_vector<double>(), {0.25, 0.25, 0.25, 1});
  EXPECT_EQ(grad(first[0].sum(), {weight})[0].item<double>(), 1);
  expectNear(grad(first[1].sum(), {x})[0].to_vector<double>(), {0, 0, 1, 0});
}

TEST(Derivatives, OfASoftmaxOfHalvesAreRoundedOnce) {
  const Tensor weights = Tensor::from(Doubles{0.75, 2.5}, {2});
  const Formula f = [&](const Tensor &x) { return softmax(x, 0) * weights.to(x.dtype()); };
  const Formula g = [&](const Tensor &x) { return log_softmax(x, 0) * weights.to(x.dtype()); };
  // PyTorch's -0.0388; of f64 it is -0.0393.
  expectNear(firstAt(f, {1.5, -2.25}, DType::bf16), {-0.038818359375, 0.039306640625}, 1e-3);
  const Doubles exact = firstAt(g, {1.5, -2.25});
  expectNear(firstAt(g, {1.5, -2.25}, DType::bf16), exact, 0x1p-8);
}

// Of prod, amax and amin with scatter_reduce and index_reduce. The numbers are PyTorch's.
TEST(Derivatives, OfElementsThatMeetInOnePlace) {
  const auto check = [](const char *reduce, bool include, const Doubles &a, const Doubles &u,
                        const Doubles &ofA, const Doubles &ofU) {
    const Tensor index = Tensor::from(std::vector<int64_t>{0, 0, 1, 0}, {4});
    const Tensor weights = Tensor::from(Doubles{1, 2, 3}, {3});
    for (const bool isIndex : {false, true}) {
      Tensor x = leafOf(a), y = leafOf(u);
      Tensor result = isIndex ? index_reduce(x, 0, index, y, reduce, include)
                              : scatter_reduce(x, 0, index, y, reduce, include);
      (result * weights).sum().backward();
      expectNear(x.grad().to_vector<double>(), ofA);
      expectNear(y.grad().to_vector<double>(), ofU);
    }
  };
  check("amax", true, {1, 2, 3}, {1, 1, 2, 0}, {1. / 3, 1, 3}, {1. / 3, 1. / 3, 1, 0});
  check("amin", true, {1, 2, 3}, {1, 1, 2, 0}, {0, 1, 3}, {0, 0, 1, 1});
  check("amin", false, {1, 2, 3}, {1, 1, 2, 0}, {0, 0, 3}, {0, 0, 2, 1});
  // What is not included has no share; PyTorch's is a third for each, and none for it.
  check("amax", false, {1, 2, 3}, {1, 1, 2, 0}, {0, 0, 3}, {0.5, 0.5, 2, 0});
  check("amax", false, {1, 2, 3}, {-kInf, -kInf, -kInf, -kInf}, {0, 0, 3}, {1. / 3, 1. / 3, 2, 1. / 3});
  check("amin", false, {1, 2, 3}, {kInf, 4, kInf, 4}, {0, 0, 3}, {0, 0.5, 2, 0.5});
  check("amax", true, {1, 2, 3}, {1, kNan, 2, 0}, {kNan, 1, 3}, {kNan, kNan, 1, kNan});
  check("prod", true, {2, 0, 3}, {0, 5, 2, 7}, {0, 4, 3}, {70, 0, 0, 0});
  check("prod", true, {2, 4, 3}, {0, 5, 2, 0}, {0, 4, 3}, {0, 0, 8, 0});
  check("prod", false, {2, 4, 3}, {3, 5, 2, 0}, {0, 0, 3}, {0, 0, 2, 15});
  check("mean", false, {2, 4, 3}, {0, 5, 2, 0}, {0, 0, 3}, {1. / 3, 1. / 3, 2, 1. / 3});
}

TEST(Derivatives, SecondOnesOfProductsThatMeetInOnePlace) {
  // Of y = a u0 u1 u3, with respect to each factor, and then weighted with 1, 2, 3, 4.
  const auto check = [](double a, const Doubles &u, double ofA, const Doubles &ofU) {
    const Tensor index = Tensor::from(std::vector<int64_t>{0, 0, 1, 0}, {4});
    Tensor x = leafOf({a, 1}), y = leafOf(u);
    Tensor result = scatter_reduce(x, 0, index, y, "prod").select(0, 0);
    std::vector<Tensor> first = grad(result, {x, y}, {.create_graph = true});
    Tensor weighted = first[0].select(0, 0) + (first[1] * Tensor::from(Doubles{2, 3, 0, 4}, {4})).sum();
    std::vector<Tensor> second = grad(weighted, {x, y});
    EXPECT_NEAR(second[0].to_vector<double>()[0], ofA, 1e-12);
    expectNear(second[1].to_vector<double>(), ofU);
  };
  // d2/(da du0) = u1 u3 and so on.
  check(2, {3, 5, 1, 7}, 2 * 35 + 3 * 21 + 4 * 15,
        {35 + 3 * 14 + 4 * 10, 21 + 2 * 14 + 4 * 6, 0, 15 + 2 * 10 + 3 * 6});
  check(2, {0, 5, 1, 7}, 2 * 35, {35 + 3 * 14 + 4 * 10, 2 * 14, 0, 2 * 10});
  check(2, {0, 5, 1, 0}, 0, {4 * 10, 0, 0, 2 * 10});
  check(0, {0, 5, 1, 7}, 2 * 35, {35, 0, 0, 0});
  check(2, {0, 0, 1, 0}, 0, {0, 0, 0, 0});
}

TEST(Derivatives, OfAClassAtTheMarginThereIsNone) {
  Tensor x = Tensor::from(Floats{1, 0, 0.5}, {1, 3}).requires_grad_();
  nn::functional::multi_margin_loss(x, Tensor::from(std::vector<int64_t>{0}, {1})).backward();
  expectNear(x.grad().to_vector<double>(), {-1.0 / 3, 0, 1.0 / 3}, 1e-6);
}

TEST(Derivatives, WhereTwoFormulasMeet) {
  // At the distance `delta` of huber_loss there is the line, as in PyTorch.
  const Formula huber = [](const Tensor &x) {
    return nn::functional::huber_loss(x, zeros_like(x), nn::Reduction::sum);
  };
  expectNear(firstAt(huber, {1, -1, 0.5}), {1, -1, 0.5});
  expectNear(secondAt(huber, {1, -1, 0.5}), {0, 0, 1});
  // Of several largest differences each has a share; in PyTorch each has the whole.
  Tensor x = Tensor::from(Doubles{0, 0, 0}, {1, 3}).requires_grad_();
  cdist(x, Tensor::from(Doubles{1, -1, 0.5}, {1, 3}), kInf).sum().backward();
  expectNear(x.grad().to_vector<double>(), {-0.5, 0.5, 0});
}

TEST(Derivatives, TypesOfResults) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    Tensor a = ones({2}, dtype);
    EXPECT_EQ(ldexp(a, Tensor::from(std::vector<int64_t>{1, 2}, {2})).dtype(), dtype);
    EXPECT_EQ(ldexp(a, ones({2}, f32)).dtype(), dtype == DType::f64 ? DType::f64 : DType::f32);
  }
  EXPECT_EQ(ldexp(ones({2}, i64), ones({2}, i64)).dtype(), DType::f32);
  EXPECT_EQ(ones({2, 2}, DType::ui8).any().dtype(), DType::ui8);
  EXPECT_EQ(ones({2, 2}, DType::ui8).all({1}).to_vector<uint8_t>(), (std::vector<uint8_t>{1, 1}));
  EXPECT_EQ(ones({2, 2}, i8).any().dtype(), DType::i1);
  EXPECT_EQ(floats(ldexp(ones({2}, f16), Tensor::from(std::vector<int64_t>{1, 2}, {2}))), (Floats{2, 4}));
  // The power alone is beyond the dtype.
  const Doubles small{1e-40, 1e38, 1, 3};
  const Tensor powers = Tensor::from(std::vector<int64_t>{200, -270, -149, 5000}, {4});
  EXPECT_EQ(floats(ldexp(Tensor::from(small, {4}).to(f32), powers)),
            (Floats{std::ldexp(1e-40f, 200), std::ldexp(1e38f, -270), 0x1p-149f, INFINITY}));
  const std::vector<int64_t> far{2090, -2090, 1023, -1074};
  const Doubles ends{5e-324, 1.5e308, 0.75, 1};
  Doubles expected;
  for (size_t i = 0; i < 4; ++i)
    expected.push_back(std::ldexp(ends[i], static_cast<int>(far[i])));
  EXPECT_EQ(ldexp(Tensor::from(ends, {4}), Tensor::from(far, {4})).to_vector<double>(), expected);
  EXPECT_EQ(firstAt([&](const Tensor &x) { return ldexp(x, Tensor::from(far, {4}).slice(0, 2)); }, {1, 2}),
            (Doubles{0x1p1023, 0x1p-1074}));
  EXPECT_ERROR(nn::functional::kl_div(zeros({2}), Tensor::from(std::vector<int64_t>{1, 0}, {2})),
               "kl_div: Integral inputs not supported");
}

TEST(Derivatives, OfResultsThatDoNotDependOnTheOperandAreZero) {
  const Doubles zeros(4);
  const auto gradientOf = [](const Formula &f, const Doubles &values) {
    Tensor x = Tensor::from(values, {2, 2}).requires_grad_();
    f(x).sum().backward();
    return x.grad().to_vector<double>();
  };
  EXPECT_EQ(gradientOf([](const Tensor &x) { return x.norm(0); }, {1, 0, kInf, kNan}), zeros);
  EXPECT_EQ(gradientOf([](const Tensor &x) { return cdist(x, x.detach() * 2, 0); }, {1, 0, 3, 4}), zeros);
  EXPECT_EQ(gradientOf([](const Tensor &x) { return matrix_power(x, 0); }, {1, 2, kInf, 4}), zeros);
  EXPECT_EQ(matrix_power(Tensor::from(Doubles{1, 2, kNan, 4}, {2, 2}), 0).to_vector<double>(),
            (Doubles{1, 0, 0, 1}));
  EXPECT_EQ(Tensor::from(Doubles{1, 0, kInf, kNan}, {4}).norm(0).item<double>(), 3);
}

TEST(Derivatives, RangesToARealNumberAreReal) {
  EXPECT_EQ(arange(2.5).dtype(), DType::f32);
  EXPECT_EQ(floats(arange(2.5)), (Floats{0, 1, 2}));
  EXPECT_EQ(floats(arange(4.)), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(arange(4.F).dtype(), DType::f32);
  EXPECT_EQ(floats(arange(2.5, f32)), (Floats{0, 1, 2}));
  EXPECT_EQ(arange(2.5, f64).dtype(), DType::f64);
  EXPECT_EQ(arange(2.5, {.dtype = DType::i64}).to_vector<int64_t>(), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(arange(2.5, i32).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(arange(3).dtype(), DType::i64);
  EXPECT_ERROR(arange(-1.5), "upper bound and lower bound inconsistent");
  EXPECT_ERROR(arange(kInf), "unsupported range");
}
