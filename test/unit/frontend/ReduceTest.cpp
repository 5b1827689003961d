//===- ReduceTest.cpp - Reductions, scans, normalisation, losses ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/parity compares these with PyTorch; here is what it has no samples for: zeros, NaN, random state,
// errors.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace weft;

namespace {

Tensor leafOf(std::vector<double> values, Shape shape) {
  return Tensor::from(values, std::move(shape)).requires_grad_();
}

/// The gradient of a sum with weights 1, 2, .. against central differences in f64.
void expectDerivative(const std::function<Tensor(const Tensor &)> &f, std::vector<double> at, Shape shape,
                      double tolerance = 1e-6) {
  auto weighted = [&](const Tensor &x) {
    Tensor y = f(x);
    return (y * (arange(y.numel(), {.dtype = DType::f64}) + 1).reshape(y.sizes())).sum();
  };
  Tensor x = leafOf(at, shape);
  weighted(x).backward();
  std::vector<double> gradient = x.grad().to_vector<double>();
  constexpr double h = 1e-5;
  for (size_t i = 0; i < at.size(); ++i) {
    auto shifted = [&](double by) {
      std::vector<double> values = at;
      values[i] += by;
      return weighted(Tensor::from(values, shape)).item<double>();
    };
    EXPECT_NEAR(gradient[i], (shifted(h) - shifted(-h)) / (2 * h), tolerance) << "element " << i;
  }
}

const std::vector<double> kSome{0.3, -1.2, 0.7, 2.1, -0.4, 1.5};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

} // namespace

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

TEST(ReduceGradient, AgreesWithCentralDifferences) {
  expectDerivative([](const Tensor &x) { return x.prod({1}); }, kSome, {2, 3});
  expectDerivative([](const Tensor &x) { return x.prod({0, 2}); }, kSome, {2, 3, 1});
  expectDerivative([](const Tensor &x) { return x.cumsum(0); }, kSome, {2, 3});
  expectDerivative([](const Tensor &x) { return x.cumprod(1); }, kSome, {2, 3});
  expectDerivative([](const Tensor &x) { return x.var({1}); }, kSome, {2, 3});
  expectDerivative([](const Tensor &x) { return x.std({0, 1}, 0); }, kSome, {2, 3});
  expectDerivative([](const Tensor &x) { return x.norm(2, {1}); }, kSome, {2, 3});
  expectDerivative([](const Tensor &x) { return x.norm(3, {1}); }, kSome, {2, 3});
  expectDerivative([](const Tensor &x) { return x.norm(INFINITY, {1}); }, kSome, {2, 3});
  expectDerivative([](const Tensor &x) { return x.logsumexp({1}); }, kSome, {2, 3});
  expectDerivative([](const Tensor &x) { return x.max() + x.min(); }, kSome, {6});
}

// With one zero, and with two, the gradients are exact products of the other elements, without a division.
TEST(ReduceGradient, OfProductsWithZeros) {
  Tensor one = leafOf({2, 0, 5}, {3}), two = leafOf({2, 0, 0}, {3});
  (one.prod() + two.prod()).backward();
  EXPECT_EQ(one.grad().to_vector<double>(), (std::vector<double>{0, 10, 0}));
  EXPECT_EQ(two.grad().to_vector<double>(), (std::vector<double>{0, 0, 0}));
  expectDerivative([](const Tensor &x) { return x.cumprod(0); }, {2, 0, 5, 0, 3}, {5});
  expectDerivative([](const Tensor &x) { return x.cumprod(0); }, {0, 2, 5}, {3});
}

TEST(ReduceGradient, AtZeroOfRootsIsZero) {
  Tensor x = leafOf({0, 0, 0}, {3});
  (x.norm() + x.norm(1) + x.norm(INFINITY) + x.std()).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{0, 0, 0}));
}

TEST(ReduceGradient, OfLayerNorm) {
  Tensor weight = Tensor::from(std::vector<double>{0.5, -1, 2}, {3}),
         bias = Tensor::from(std::vector<double>{1, 2, 3}, {3});
  Tensor x = Tensor::from(kSome, {2, 3});
  expectDerivative([&](const Tensor &a) { return layer_norm(a, {3}, weight, bias); }, kSome, {2, 3});
  expectDerivative([&](const Tensor &a) { return layer_norm(a, {2, 3}); }, kSome, {2, 3});
  expectDerivative([&](const Tensor &w) { return layer_norm(x, {3}, w, bias); }, {0.5, -1, 2}, {3});
  expectDerivative([&](const Tensor &b) { return layer_norm(x, {3}, {}, b); }, {0.5, -1, 2}, {3});
}

TEST(ReduceGradient, OfCrossEntropyWithWeightsAndSmoothing) {
  Tensor target = Tensor::from(std::vector<int64_t>{2, -100}, {2});
  Tensor weight = Tensor::from(std::vector<double>{0.5, 1, 2}, {3});
  for (nn::Reduction reduction : {nn::Reduction::none, nn::Reduction::mean, nn::Reduction::sum})
    expectDerivative(
        [&](const Tensor &x) {
          return nn::cross_entropy(x, target,
                                   {.reduction = reduction, .weight = weight, .label_smoothing = 0.2});
        },
        kSome, {2, 3});
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TEST(Reduce, DtypesOfResults) {
  Tensor whole = Tensor::from(std::vector<uint8_t>{200, 100, 3}, {3});
  EXPECT_EQ(whole.sum().item<int64_t>(), 303);
  EXPECT_EQ(whole.prod().item<int64_t>(), 60000);
  EXPECT_EQ(whole.cumsum(0).to_vector<int64_t>(), (std::vector<int64_t>{200, 300, 303}));
  EXPECT_EQ((whole > 50).sum().item<int64_t>(), 2);
  EXPECT_EQ(whole.count_nonzero().item<int64_t>(), 3);
  EXPECT_EQ(whole.any().dtype(), DType::ui8);
  EXPECT_EQ((whole > 2).all().item<bool>(), true);
  EXPECT_EQ((whole > 3).all({0}, true).sizes(), Shape{1});
  EXPECT_ERROR(whole.mean(), "mean(): could not infer output dtype");
  EXPECT_ERROR(whole.var(), "only supports floating-point dtypes, found ui8");
}

TEST(Reduce, OverNothing) {
  Tensor none = zeros({2, 0});
  EXPECT_EQ(none.prod({1}).to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_FALSE(none.any().item<bool>());
  EXPECT_TRUE(none.all().item<bool>());
  EXPECT_TRUE(std::isnan(none.var().item<float>()));
  EXPECT_EQ(none.logsumexp({1}).to_vector<float>(), (std::vector<float>{-kInf, -kInf}));
  EXPECT_EQ(none.cumsum(1).sizes(), (Shape{2, 0}));
  EXPECT_ERROR(none.argmin(1), "size 0");
  EXPECT_ERROR(none.argmax(), "Specify the reduction dim");
}

TEST(Reduce, ThePlaceOfAnExtreme) {
  Tensor x = tensor({3, kNan, 1, 1, 2, 1}, {2, 3});
  EXPECT_EQ(x.argmax().item<int64_t>(), 1);
  EXPECT_EQ(x.argmin().item<int64_t>(), 1);
  EXPECT_EQ(x.argmin(1).to_vector<int64_t>(), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(x.argmin(0, true).sizes(), (Shape{1, 3}));
  auto [values, indices] = x.min(0);
  EXPECT_EQ(indices.to_vector<int64_t>(), (std::vector<int64_t>{1, 0, 0}));
  EXPECT_EQ(values.to_vector<float>()[0], 1);
  EXPECT_TRUE(std::isnan(values.to_vector<float>()[1]));
}

TEST(Reduce, ScansAreExactAtEveryLength) {
  for (int64_t n : {1, 15, 16, 17, 64, 1000, 40000, 70001}) {
    std::vector<int64_t> sums = (arange(n) + 1).cumsum(0).to_vector<int64_t>();
    std::vector<float> real = ones({n}).cumsum(0).to_vector<float>();
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(sums[i], (i + 1) * (i + 2) / 2) << n;
      ASSERT_EQ(real[i], static_cast<float>(i + 1)) << n;
    }
  }
}

TEST(Reduce, MomentsOfLargeNumbersDoNotCancel) {
  Tensor x = tensor({1e4f + 1, 1e4f + 2, 1e4f + 3, 1e4f + 4}, {4});
  EXPECT_NEAR(x.var().item<float>(), 5.0 / 3, 1e-6);
  auto [variance, mean] = var_mean(x, {}, 0);
  EXPECT_NEAR(variance.item<float>(), 1.25, 1e-6);
  EXPECT_EQ(mean.item<float>(), 1e4f + 2.5f);
}

TEST(Reduce, NormsOfNothingAreErrorsOfTheNorm) {
  EXPECT_ERROR(zeros({0}).norm(INFINITY), "norm(): Expected reduction dim to be specified");
  EXPECT_ERROR(zeros({2, 0}).norm(-INFINITY, {1}), "norm(): Expected reduction dim 1 to have non-zero size");
  EXPECT_ERROR(zeros({0}).amax(), "amax(): Expected reduction dim to be specified");
  EXPECT_EQ(zeros({0}).norm().item<float>(), 0);
  EXPECT_EQ(zeros({0, 2}).norm(INFINITY, {1}).sizes(), Shape{0});
}

TEST(LayerNorm, ChecksItsShapes) {
  EXPECT_ERROR(layer_norm(zeros({2, 3}), {2}),
               "Given normalized_shape=[2], expected input with shape [*, 2]");
  EXPECT_ERROR(layer_norm(zeros({2, 3}), {}), "at least 1-dimensional");
  EXPECT_ERROR(layer_norm(zeros({2, 3}), {3}, zeros({2})),
               "Expected weight to be of same shape as normalized_shape, but got weight of shape [2]");
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

TEST(Dropout, KeepsScalesAndRepeats) {
  Tensor x = ones({64, 33});
  manual_seed(7);
  Tensor y = dropout(x, 0.25);
  std::vector<float> first = y.to_vector<float>();
  double kept = 0;
  for (float value : first) {
    EXPECT_TRUE(value == 0 || value == static_cast<float>(1 / 0.75)) << value;
    kept += value != 0;
  }
  EXPECT_NEAR(kept / static_cast<double>(first.size()), 0.75, 0.04);
  EXPECT_NE(dropout(x, 0.25).to_vector<float>(), first);
  manual_seed(7);
  EXPECT_EQ(dropout(x, 0.25).to_vector<float>(), first);
}

// The mask is uniform < p of the numbers that rand would have given.
TEST(Dropout, DrawsWhatRandDraws) {
  manual_seed(11);
  std::vector<float> uniform = rand({10, 7}).to_vector<float>();
  manual_seed(11);
  std::vector<float> kept = dropout(ones({10, 7}), 0.4).to_vector<float>();
  for (size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(kept[i] == 0, uniform[i] < 0.4f) << i;
}

TEST(Dropout, TheGradientHasTheSameMask) {
  manual_seed(3);
  Tensor x = ones({100});
  x.requires_grad_();
  Tensor y = dropout(x, 0.5);
  y.sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), y.to_vector<float>());
}

TEST(Dropout, AdvancesTheGeneratorInACompiledFunction) {
  auto step = compile([](Tensor x) { return dropout(x, 0.5); });
  Tensor x = ones({256});
  manual_seed(5);
  std::vector<float> a = step(x).to_vector<float>(), b = step(x).to_vector<float>();
  manual_seed(5);
  EXPECT_EQ(dropout(x, 0.5).to_vector<float>(), a);
  EXPECT_EQ(dropout(x, 0.5).to_vector<float>(), b);
  EXPECT_NE(a, b);
}

TEST(Dropout, TheEdges) {
  Tensor x = ones({5});
  EXPECT_EQ(dropout(x, 0.5, false).to_vector<float>(), std::vector<float>(5, 1));
  EXPECT_EQ(dropout(x, 0).to_vector<float>(), std::vector<float>(5, 1));
  EXPECT_EQ(dropout(x, 1).to_vector<float>(), std::vector<float>(5, 0));
  EXPECT_ERROR(dropout(x, 1.5), "has to be between 0 and 1");
  EXPECT_ERROR(dropout(arange(5), 0.5), "floating-point");
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

TEST(Losses, CrossEntropyOfNothingThatCounts) {
  Tensor logits = tensor({1, 2, 3, 4}, {2, 2}), ignored = Tensor::from(std::vector<int64_t>{-100, -100}, {2});
  EXPECT_TRUE(std::isnan(nn::cross_entropy(logits, ignored).item<float>()));
  EXPECT_EQ(nn::cross_entropy(logits, ignored, {.reduction = nn::Reduction::sum}).item<float>(), 0);
  // A batch that consists of padding must not change parameters: the loss is NaN and the gradient 0, as in
  // PyTorch.
  for (double smoothing : {0.0, 0.1}) {
    Tensor w = ones({2, 2}, {.requires_grad = true});
    nn::cross_entropy(matmul(logits, w), ignored, {.label_smoothing = smoothing}).backward();
    EXPECT_TRUE(equal(w.grad(), zeros({2, 2})));
  }
  Tensor w = tensor({1, NAN, 3, 4}, {2, 2}).requires_grad_();
  nn::cross_entropy(w, Tensor::from(std::vector<int64_t>{-100, 0}, {2})).backward();
  EXPECT_EQ(w.grad()[0].to_vector<float>(), (std::vector<float>{0, 0})); // nor what is in an ignored row
}

TEST(Losses, CrossEntropyOfLargeLogits) {
  Tensor logits = tensor({1e4f, 0}, {1, 2}), target = Tensor::from(std::vector<int64_t>{1}, {1});
  EXPECT_EQ(nn::cross_entropy(logits, target).item<float>(), 1e4f);
}

TEST(Losses, RefuseWhatDoesNotFit) {
  Tensor logits = zeros({2, 3});
  EXPECT_ERROR(nn::cross_entropy(logits, Tensor::from(std::vector<int64_t>{0}, {1})),
               "needs a target of shape [2]");
  EXPECT_ERROR(
      nn::cross_entropy(logits, Tensor::from(std::vector<int64_t>{0, 1}, {2}), {.weight = zeros({2})}),
      "all 3 classes");
  EXPECT_ERROR(nn::l1_loss(logits, logits, nn::Reduction::batchmean), "no reduction 'batchmean'");
  EXPECT_ERROR(nn::huber_loss(logits, logits, nn::Reduction::mean, 0), "non-positive");
  EXPECT_ERROR(nn::binary_cross_entropy_with_logits(logits, zeros({3})), "must be the same as input size");
}

// The keyword `dtype` of PyTorch is the last argument, with the values of 2.13.
TEST(Reduce, InADtypeElementsAreConvertedBefore) {
  const Tensor x = weft::tensor({{60, 120}, {180, 240}}, u8), y = weft::tensor({1.5, -2.25, 300.7});
  EXPECT_EQ(x.sum(u8).dtype(), u8);
  EXPECT_EQ(x.sum(u8).item<int64_t>(), 88);
  EXPECT_EQ(x.sum(f64).dtype(), f64);
  EXPECT_EQ(x.sum(i1).to_vector<bool>(), std::vector<bool>{true});
  EXPECT_EQ(x.sum({0}, true, f16).sizes(), (Shape{1, 2}));
  EXPECT_EQ(floats(weft::sum(x, {0}, true, f16)), Floats({240, 360}));
  EXPECT_EQ(x.prod(i32).item<int64_t>(), 311040000);
  EXPECT_EQ(x.cumsum(0, u8).to_vector<int64_t>(), (std::vector<int64_t>{60, 120, 240, 104}));
  EXPECT_EQ(weft::cumprod(x, 1, i16).to_vector<int64_t>(), (std::vector<int64_t>{60, 7200, 180, -22336}));
  EXPECT_EQ(x.mean(f32).item<float>(), 150);
  EXPECT_EQ(weft::mean(x, {1}, false, f64).to_vector<double>(), (std::vector<double>{90, 210}));
  EXPECT_EQ(y.sum(i64).item<int64_t>(), 299);
  EXPECT_EQ(y.sum(f16).item<float>(), 300);
  EXPECT_NEAR(weft::nansum(y, f64).item<double>(), 299.95, 1e-4);
  EXPECT_EQ(weft::softmax(y.to(f16), 0, f32).dtype(), f32);
  EXPECT_NEAR(nn::functional::log_softmax(y, 0, f64)[0].item<double>(), -299.2, 1e-4);
  EXPECT_TRUE(equal(nn::functional::softmin(y, 0, f64), weft::softmax(y.to(f64).neg(), 0)));
  EXPECT_EQ(x.sum({}).dtype(), i64);
  for (const DType dtype : {i64, u8, i1}) {
    EXPECT_ERROR(y.softmax(0, dtype), "softmax_lastdim_kernel_impl not implemented for");
    EXPECT_ERROR(weft::log_softmax(y, 0, dtype), "log_softmax_lastdim_kernel_impl not implemented for");
    EXPECT_ERROR(nn::functional::softmin(y, 0, dtype), "softmax_lastdim_kernel_impl not implemented for");
  }
  Tensor leaf = y.clone().requires_grad_();
  leaf.sum(f64).backward();
  EXPECT_EQ(floats(leaf.grad()), Floats({1, 1, 1}));
}

TEST(Reduce, ADtypeComesBehindTheDimensionsToo) {
  const Tensor x = weft::tensor({{60, 120}, {180, 240}}, u8);
  EXPECT_EQ(x.sum(0, f64).to_vector<double>(), (std::vector<double>{240, 360}));
  EXPECT_EQ(x.sum({0}, f64).to_vector<double>(), (std::vector<double>{240, 360}));
  EXPECT_EQ(weft::sum(x, -1, u8).to_vector<int64_t>(), (std::vector<int64_t>{180, 164}));
  EXPECT_EQ(weft::sum(x, {0, 1}, f32).item<float>(), 600);
  EXPECT_EQ(x.mean(0, f64).to_vector<double>(), (std::vector<double>{120, 180}));
  EXPECT_EQ(weft::mean(x, 1, f32).dtype(), f32);
  EXPECT_EQ(x.prod(0, i32).to_vector<int64_t>(), (std::vector<int64_t>{10800, 28800}));
  EXPECT_EQ(weft::nansum(x, 0, f64).dtype(), f64);
  EXPECT_EQ(x.nanmean({1}, f64).to_vector<double>(), (std::vector<double>{90, 210}));
  EXPECT_EQ(x.sum(0, true).sizes(), (Shape{1, 2}));
}

TEST(Reduce, OptionsComeBehindTheNumbersThatAreGiven) {
  EXPECT_EQ(arange(0, 5, {.dtype = f64}).dtype(), f64);
  EXPECT_EQ(arange(2, 5, {.dtype = f64}).to_vector<double>(), (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(arange(0, 5, 2, {.dtype = f16}).sizes(), Shape{3});
  EXPECT_EQ(arange(0.5, 3., {.dtype = f64}).to_vector<double>(), (std::vector<double>{0.5, 1.5, 2.5}));
  EXPECT_EQ(arange(0, 5, 2).dtype(), i64);
  EXPECT_EQ(eye(3, {.dtype = f64}).dtype(), f64);
  EXPECT_EQ(eye(3, {.dtype = f64}).sizes(), (Shape{3, 3}));
  EXPECT_EQ(eye(3, {}).sizes(), (Shape{3, 3}));
  EXPECT_EQ(eye(3, 2).sizes(), (Shape{3, 2}));
  EXPECT_EQ(eye(3, std::nullopt, {.dtype = f64}).sizes(), (Shape{3, 3}));
  EXPECT_EQ(eye(3, 2, {.dtype = i64}).sizes(), (Shape{3, 2}));
  EXPECT_TRUE(eye(2, {.requires_grad = true}).requires_grad());
  EXPECT_EQ(linspace(0, 1, 3, {.dtype = f64}).dtype(), f64);
  EXPECT_EQ(logspace(0, 2, 3, {.dtype = f64}).to_vector<double>(), (std::vector<double>{1, 10, 100}));
  EXPECT_EQ(full({2}, 7, {.dtype = f64}).dtype(), f64);
  EXPECT_EQ(zeros({2}, {.dtype = f64}).dtype(), f64);
}

TEST(Reduce, LikeAnotherTensorButForTheOptions) {
  const Tensor x = weft::tensor({{1, 2}, {3, 4}}, u8);
  EXPECT_EQ(zeros_like(x, f16).dtype(), f16);
  EXPECT_EQ(zeros_like(x, {.dtype = f16, .requires_grad = true}).requires_grad(), true);
  EXPECT_EQ(zeros_like(x, Device("cuda:0")).dtype(), u8);
  EXPECT_EQ(zeros_like(x, Device("cuda:0")).device(), Device("cuda:0"));
  EXPECT_EQ(ones_like(zeros({2}, Device("cuda:0")), f64).device(), Device("cuda:0"));
  EXPECT_EQ(full_like(x, 2.5, f64).to_vector<double>(), std::vector<double>(4, 2.5));
  EXPECT_EQ(full_like(x, 300, i64).to_vector<int64_t>(), std::vector<int64_t>(4, 300));
  EXPECT_ERROR(full_like(x, 300), "without overflow");
  EXPECT_EQ(empty_like(x, f32).sizes(), (Shape{2, 2}));
  EXPECT_EQ(rand_like(x, f32).dtype(), f32);
  EXPECT_EQ(randn_like(x, f64).dtype(), f64);
}
