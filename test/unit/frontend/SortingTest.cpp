//===- SortingTest.cpp - Order, selections and special functions -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/parity compares these with PyTorch; here is what it has no samples for: NaN, ties, fixed sizes,
// compiled functions, random numbers, errors.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>
#include <set>

using namespace weft;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using Whole = std::vector<int64_t>;

Whole wholes(const Tensor &tensor) { return tensor.to_vector<int64_t>(); }

} // namespace

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

TEST(Sorting, IsStableInBothDirections) {
  Tensor x = tensor({2, 1, 2, 0, 1});
  EXPECT_EQ(wholes(sort(x).indices), (Whole{3, 1, 4, 0, 2}));
  EXPECT_EQ(wholes(argsort(x, 0, true)), (Whole{0, 2, 1, 4, 3}));
  EXPECT_EQ(wholes(topk(x, 2).indices), (Whole{0, 2}));
  EXPECT_EQ(wholes(topk(x, 2, 0, false).indices), (Whole{3, 1}));
}

TEST(Sorting, NaNIsLargest) {
  Tensor x = tensor({1.0f, kNan, 0.5f});
  EXPECT_EQ(wholes(sort(x).indices), (Whole{2, 0, 1}));
  EXPECT_EQ(wholes(topk(x, 2).indices), (Whole{1, 0}));
  EXPECT_EQ(median(x, 0).indices.item<int64_t>(), 1);
  EXPECT_EQ(nanmedian(x).item<float>(), 0.5f);
  EXPECT_TRUE(std::isnan(quantile(x, 0.1).item<float>()));
  EXPECT_FLOAT_EQ(nanquantile(x, 0.5).item<float>(), 0.75f);
}

TEST(Sorting, OfADynamicDimensionIsThatOfItsSize) {
  Dim batch("batch", 1, 64);
  auto order = compile(
      [](Tensor x) {
        Tensor sorted = sort(x, 0, true).values;
        return std::pair(sorted, searchsorted(sort(x).values, x) + cummax(x, 0).indices);
      },
      {spec({batch})});
  for (int64_t size : {1, 5, 64}) {
    Tensor x = (arange(size) * 37 % 11).to(f32);
    auto [sorted, places] = order(x);
    EXPECT_TRUE(equal(sorted, sort(x, 0, true).values));
    EXPECT_TRUE(equal(places, searchsorted(sort(x).values, x) + cummax(x, 0).indices));
  }
}

TEST(Sorting, PassesItsGradientToTheElements) {
  Tensor x = tensor({3.0, 1.0, 2.0}).requires_grad_();
  (sort(x).values * tensor({1.0, 10.0, 100.0})).sum().backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{100, 1, 10}));
  Tensor y = tensor({1.0, 3.0, 3.0, 2.0}).requires_grad_();
  (cummax(y, 0).values * tensor({1.0, 10.0, 100.0, 1000.0})).sum().backward();
  EXPECT_EQ(y.grad().to_vector<double>(), (std::vector<double>{1, 10, 1100, 0}));
  // A median of equal elements is that of all of them.
  Tensor z = tensor({5.0, 2.0, 2.0, 2.0, 1.0}).requires_grad_();
  median(z).backward();
  for (int64_t i : {1, 2, 3})
    EXPECT_NEAR(z.grad()[i].item<double>(), 1.0 / 3, 1e-7);
}

TEST(Sorting, RefusesWhatIsNotThere) {
  Tensor x = zeros({2, 3});
  EXPECT_ERROR(topk(x, 4), "topk(): selected index k out of range: k is 4, and dimension 1 has size 3");
  EXPECT_ERROR(kthvalue(x, 0), "kthvalue(): selected number k out of range for dimension 1");
  EXPECT_ERROR(sort(x, 2), "Dimension out of range");
  EXPECT_ERROR(median(zeros({2, 0}), 1), "median(): Expected reduction dim 1 to have non-zero size.");
  EXPECT_ERROR(quantile(x, 1.5), "quantile() q must be in the range [0, 1] but got 1.5");
  EXPECT_ERROR(quantile(x, 0.5, 0, false, "cubic"), "interpolation must be one of linear");
  EXPECT_ERROR(quantile(x.to(i64), tensor({0.5f})), "must be either float or double dtype");
  EXPECT_ERROR(searchsorted(zeros({2, 3}), zeros({3, 1})), "boundaries tensor should be 1 dimension");
  EXPECT_ERROR(bucketize(zeros({3}), zeros({1, 2})), "boundaries tensor must be 1 dimension");
  EXPECT_ERROR(logcumsumexp(zeros({3}, i64), 0), "floating-point");
}

//===----------------------------------------------------------------------===//
// Sizes that depend on values
//===----------------------------------------------------------------------===//

TEST(Selection, MasksSelectElementsAndRows) {
  Tensor x = arange(6).reshape({2, 3});
  EXPECT_EQ(wholes(x.index({x > 2})), (Whole{3, 4, 5}));
  EXPECT_EQ(x.index({tensor({false, true})}).sizes(), (Shape{1, 3}));
  EXPECT_EQ(wholes(index(x, {x == 4})), (Whole{4}));
  x.index_put_({x > 3}, tensor({10, 20}));
  EXPECT_EQ(wholes(x), (Whole{0, 1, 2, 3, 10, 20}));
  EXPECT_EQ(nonzero(zeros({2, 2})).sizes(), (Shape{0, 2}));
  EXPECT_EQ(where(tensor({true, false, true}))[0].to_vector<int64_t>(), (Whole{0, 2}));
}

TEST(Selection, OfOtherSizesRunsTheSamePrograms) {
  auto select = [](int64_t count) {
    Tensor x = arange(1000);
    return masked_select(x, x < count).numel();
  };
  for (int64_t count : {300, 290})
    EXPECT_EQ(select(count), count);
  const uint64_t before = compile_count();
  for (int64_t count : {310, 257, 400, 511})
    EXPECT_EQ(select(count), count);
  EXPECT_EQ(compile_count(), before);
}

TEST(Selection, OfAFixedSizeCompiles) {
  auto chosen = compile(
      [](const Tensor &x) { return std::pair(nonzero_static(x > 2, 4), masked_select(x, x > 2, 4, -1)); });
  auto [places, values] = chosen(tensor({1.0f, 3.0f, 2.0f, 5.0f}));
  EXPECT_EQ(wholes(places), (Whole{1, 3, -1, -1}));
  EXPECT_EQ(values.to_vector<float>(), (std::vector<float>{3, 5, -1, -1}));
  auto [more, first] = chosen(tensor({9.0f, 8.0f, 7.0f, 6.0f}));
  EXPECT_EQ(wholes(more), (Whole{0, 1, 2, 3}));
}

TEST(Selection, OfARunTimeSizeIsAnErrorInACompiledFunction) {
  auto refuses = [](auto function, const char *text) {
    auto compiled = compile([function](const Tensor &x) { return function(x); });
    EXPECT_ERROR(compiled(tensor({1.0f, 0.0f})), text);
  };
  refuses([](const Tensor &x) { return nonzero(x); }, "nonzero(): the size of the result depends on values");
  refuses([](const Tensor &x) { return masked_select(x, x > 0); }, "(WEFT-C001)");
  refuses([](const Tensor &x) { return unique(x).values; }, "unique(): the size of the result");
  refuses([](const Tensor &x) { return unique_consecutive(x).values; }, "(WEFT-C001)");
  refuses([](const Tensor &x) { return bincount(x.to(i64)); }, "bincount(): the size of the result");
  refuses([](const Tensor &x) { return x.index({x > 0}); }, "(WEFT-C001)");
  refuses([](const Tensor &x) { return index(x, {x > 0}); }, "(WEFT-C001)");
}

TEST(Selection, RefusesWhatDoesNotFit) {
  Tensor x = tensor({1, 2, -1});
  EXPECT_ERROR(bincount(x), "bincount only supports 1-d non-negative integral inputs.");
  EXPECT_ERROR(bincount(zeros({2, 2}, i64)), "1-d");
  EXPECT_ERROR(bincount(tensor({1, 2}), zeros({3})), "same length as input");
  EXPECT_ERROR(histc(zeros({3}), 0), "bins must be > 0");
  EXPECT_ERROR(histc(zeros({3}), 3, 2, 1), "max must be larger than min");
  EXPECT_ERROR(masked_select(x, x), "expected BoolTensor for mask");
  EXPECT_ERROR(masked_scatter(x, x > 0, zeros({3})), "same dtypes");
  EXPECT_ERROR(masked_scatter(x, x > 0, tensor({7})).to_vector<int64_t>(), "out of");
  EXPECT_ERROR(nonzero_static(x, -1), "non-negative integer");
  EXPECT_ERROR(combinations(zeros({2, 2})), "1D vector");
  EXPECT_ERROR(multinomial(zeros({3}), 4), "without replacement");
  EXPECT_ERROR(multinomial(zeros({3}), 0, true), "cannot sample n_sample <= 0 samples");
}

TEST(Sorting, PlacesOfAnotherDtypeAreFoundInTheCommonOne) { // as PyTorch 2.13 finds them
  const Tensor wanted = tensor({1, 6});
  EXPECT_EQ(wholes(bucketize(wanted, tensor({1., 3., 5.}))), (Whole{0, 3}));
  EXPECT_EQ(wholes(searchsorted(tensor({1, 3, 5}), tensor({1.5, 6.}))), (Whole{1, 3}));
  EXPECT_EQ(wholes(searchsorted(tensor({1, 3, 5}, i32), wanted)), (Whole{0, 3}));
  EXPECT_EQ(wholes(searchsorted(tensor({1., 3., 5.}, f16), tensor({1., 6.}, f64))), (Whole{0, 3}));
  // 2^24 + 1 is 2^24 in f32, and not in f64.
  const Tensor large = tensor({16777217});
  EXPECT_EQ(wholes(bucketize(large, tensor({16777216.}))), Whole{0});
  EXPECT_EQ(wholes(bucketize(large, tensor({16777216.}, f64))), Whole{1});
}

TEST(Multinomial, RefusesWhatIsNoDistribution) {
  const std::string what = "invalid multinomial distribution";
  for (bool replacement : {true, false}) {
    for (const Tensor &weights : {tensor({0., 0.}), tensor({1., -1.}), tensor({1., NAN}),
                                  tensor({1., HUGE_VAL}), tensor({{1., 1.}, {0., 0.}})})
      EXPECT_ERROR(multinomial(weights, 2, replacement), what);
    EXPECT_EQ(wholes(multinomial(tensor({0., 2.}, f16), 1, replacement)), Whole{1});
    EXPECT_EQ(multinomial(zeros({0, 3}), 2, replacement).sizes(), (Shape{0, 2}));
  }
  auto f = compile([](Tensor weights) { return multinomial(weights, 1); });
  EXPECT_EQ(wholes(f(tensor({0., 2.}))), Whole{1});
  EXPECT_ERROR(f(tensor({0., 0.})).to_vector<int64_t>(), what);
}

TEST(Multinomial, DrawsByWeight) {
  Generator generator(7);
  Tensor weights = tensor({1.0f, 0.0f, 3.0f});
  Tensor drawn = multinomial(weights, 4000, true, generator);
  const auto counts = bincount(drawn, {}, 3).to_vector<int64_t>();
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(static_cast<double>(counts[0]), 1000, 120);
  Tensor rows = multinomial(ones({50, 6}), 6, false, generator);
  for (int64_t row = 0; row < 50; ++row) {
    const Whole places = wholes(rows[row]);
    EXPECT_EQ(std::set<int64_t>(places.begin(), places.end()).size(), 6u);
  }
  EXPECT_NE(wholes(rows[0]), wholes(rows[1]));
}

//===----------------------------------------------------------------------===//
// Special functions
//===----------------------------------------------------------------------===//

TEST(SpecialFunctions, AtTheirEdges) {
  const double inf = INFINITY;
  auto at = [](auto function, double x) { return function(tensor({x}, f64)).template item<double>(); };
  auto gamma = [](const Tensor &x) { return lgamma(x); };
  EXPECT_EQ(at(gamma, 0.0), inf);
  EXPECT_EQ(at(gamma, -3.0), inf);
  EXPECT_EQ(at(gamma, inf), inf);
  EXPECT_EQ(at(gamma, 1.0), 0);
  EXPECT_EQ(at(gamma, 2.0), 0);
  EXPECT_NEAR(at(gamma, 1e10), std::lgamma(1e10), 1e-4);
  auto inverse = [](const Tensor &x) { return erfinv(x); };
  EXPECT_EQ(at(inverse, 1.0), inf);
  EXPECT_EQ(at(inverse, -1.0), -inf);
  EXPECT_TRUE(std::isnan(at(inverse, 1.5)));
  EXPECT_NEAR(at([](const Tensor &x) { return erfc(x); }, 10.0), std::erfc(10.0), 1e-58);
  EXPECT_TRUE(std::isnan(at([](const Tensor &x) { return digamma(x); }, -2.0)));
  EXPECT_EQ(at([](const Tensor &x) { return digamma(x); }, 0.0), -inf);
  EXPECT_NEAR(at([](const Tensor &x) { return special::log_ndtr(x); }, -50.0), -1254.831361, 1e-5);
}

TEST(SpecialFunctions, OfTheGammaFamilyAreAsInTheStandardLibrary) {
  for (double x : {-20.5, -3.75, -0.5, 0.25, 0.75, 1.5, 2.4, 2.6, 5.0, 8.4, 8.6, 30.0, 170.5})
    EXPECT_NEAR(lgamma(tensor({x}, f64)).item<double>(), std::lgamma(x),
                4e-15 * (1 + std::abs(std::lgamma(x))))
        << x;
  for (double x : {-3.0, -0.6, -0.4, 0.0, 0.3, 0.7, 2.0, 6.0, 20.0})
    EXPECT_NEAR(erfc(tensor({x}, f64)).item<double>() / std::erfc(x), 1, 1e-14) << x;
  EXPECT_ERROR(polygamma(-1, zeros({1})), "does not support negative n");
  EXPECT_ERROR(mvlgamma(ones({1}), 0), "p has to be greater than or equal to 1");
}

//===----------------------------------------------------------------------===//
// Images, copies
//===----------------------------------------------------------------------===//

TEST(Resampling, RefusesWhatDoesNotFit) {
  Tensor x = zeros({1, 1, 4, 4});
  EXPECT_ERROR(interpolate(x, {.size = {8}, .mode = "linear"}), "mode 'linear' is for 1 extents");
  EXPECT_ERROR(interpolate(x, {}), "only one of size or scale_factor should be defined");
  EXPECT_ERROR(interpolate(x, {.size = {8}, .mode = "lanczos"}), "there is no mode 'lanczos'");
  EXPECT_ERROR(interpolate(zeros({4, 4}), {.size = {8}}), "Only 3D, 4D and 5D input Tensors supported");
  EXPECT_ERROR(interpolate(x, {.scale_factor = {0.1}}), "should be greater than 0");
  EXPECT_ERROR(interpolate(x, {.scale_factor = {1, 1, 1}}), "scale_factor shape must match input shape");
  EXPECT_ERROR(grid_sample(x, zeros({1, 2, 2, 3})), "expected grid to have size 2 in last dimension");
  EXPECT_ERROR(grid_sample(x, zeros({1, 2, 2, 2}), {.mode = "cubic"}), "there is no mode 'cubic'");
  EXPECT_ERROR(unfold(x, 3, 5, 1), "maximum size for tensor at dimension 3 is 4 but size is 5");
  EXPECT_ERROR(unfold(x, 3, 2, 0), "step is 0 but must be > 0");
  EXPECT_ERROR(max_unpool2d(x, zeros({1, 1, 2, 2}, i64), {2}), "Expected shape of indices");
  EXPECT_ERROR(as_strided(x, {4}, {6}), "reach element 18 of 16");
  EXPECT_ERROR(as_strided(x, {4}, {1, 1}), "mismatch in length of strides and shape");
}

TEST(Copies, WindowsThatShareNothingAreViews) { // with the values of PyTorch
  Tensor x = countTo(6);
  x.unfold(0, 2, 2).fill_(7);
  EXPECT_EQ(floats(x), Floats(6, 7));
  x = countTo(9);
  Tensor windows = x.unfold(0, 2, 3);
  EXPECT_EQ(floats(windows), Floats({0, 1, 3, 4, 6, 7}));
  windows.fill_(7);
  EXPECT_EQ(floats(x), Floats({7, 7, 2, 7, 7, 5, 7, 7, 8}));
  x = countTo(12).reshape({2, 3, 2});
  windows = unfold(x, 1, 1, 2);
  EXPECT_EQ(windows.sizes(), (Shape{2, 2, 2, 1}));
  EXPECT_EQ(floats(windows), Floats({0, 1, 4, 5, 6, 7, 10, 11}));
  x = countTo(6);
  x.as_strided({2, 2}, {2, 1}, 1).fill_(9);
  EXPECT_EQ(floats(x), Floats({0, 9, 9, 9, 9, 5}));
  Tensor leaf = countTo(6).requires_grad_();
  (leaf.unfold(0, 2, 2) * weft::tensor({1., 3.})).sum().backward();
  EXPECT_EQ(floats(leaf.grad()), Floats({1, 3, 1, 3, 1, 3}));
}

TEST(Copies, OneWindowAndWindowsOfOneElementAreViews) {
  Tensor x = countTo(5);
  x.unfold(0, 1, 2).fill_(7);
  EXPECT_EQ(floats(x), Floats({7, 1, 7, 3, 7}));
  x.unfold(0, 5, 3).mul_(2);
  EXPECT_EQ(floats(x), Floats({14, 2, 14, 6, 14}));
  EXPECT_EQ(x.unfold(0, 5, 3).sizes(), Shape({1, 5}));
  EXPECT_EQ(as_strided(ones({3}), {0}, {1}, 100).sizes(), Shape({0}));
}

TEST(Copies, WindowsThatShareElementsMayHaveAnySize) {
  const Dim n("n", 1, 8);
  const auto sums = compile([](Tensor x) { return x.unfold(1, 3, 1).sum({2}); }, {spec({n, 4})});
  for (int64_t rows : {1, 3}) {
    const Tensor x = countTo(rows * 4).reshape({rows, 4});
    EXPECT_EQ(floats(sums(x)), floats(x.unfold(1, 3, 1).sum({2})));
  }
}

TEST(Copies, WritingOneThatPyTorchSharesIsAnError) {
  Tensor x = countTo(6);
  EXPECT_EQ(floats(x.unfold(0, 2, 3)), Floats({0, 1, 3, 4}));
  EXPECT_ERROR(x.unfold(0, 2, 1).fill_(7), "the result of unfold() is written, which is a copy here");
  EXPECT_ERROR(x.unfold(0, 4, 1)[0] += 1, "the result of unfold() is written");
  EXPECT_ERROR(x.unfold(0, 2, 4).zero_(), "clone() the result to write to the copy");
  EXPECT_ERROR(x.as_strided({2, 2}, {1, 1}).mul_(2), "the result of as_strided() is written");
  EXPECT_EQ(floats(x), floats(countTo(6)));
  compile([](Tensor copy) { // an argument, too
    EXPECT_ERROR(copy.add_(1), "the result of unfold() is written");
    return copy + 1;
  })(x.unfold(0, 2, 1));
  // A result as well, and a part of one, at every call; a clone may be written.
  const auto windows = compile([](Tensor t) {
    const Tensor made = t.unfold(0, 2, 1);
    return std::tuple(made, made[1], made.clone());
  });
  for (int call = 0; call < 2; ++call) {
    auto [made, row, own] = windows(x);
    EXPECT_ERROR(made.fill_(7), "the result of unfold() is written");
    EXPECT_ERROR(row.fill_(7), "the result of unfold() is written");
    EXPECT_EQ(floats(own.fill_(7)), Floats(10, 7));
  }
  EXPECT_ERROR(x.index({tensor(1)}).fill_(7), "index() with a tensor without dimensions is written");
  EXPECT_EQ(floats(x.unfold(0, 5, 1).clone().fill_(7)), Floats(10, 7));
  EXPECT_EQ(floats(unfold_copy(x, 0, 5, 1).fill_(7)), Floats(10, 7));
  EXPECT_EQ(floats(unfold_copy(x, 0, 3, 3).fill_(7)), Floats(6, 7));
  EXPECT_EQ(floats(as_strided_copy(x, {2}, {1}).fill_(7)), Floats(2, 7));
  EXPECT_EQ(floats(x), floats(countTo(6)));
}

TEST(Resampling, ListsHaveANumberForEachExtent) {
  const Tensor image = ones({1, 1, 4, 4}), line = ones({1, 1, 4});
  const std::string two = "must be one number, or a list of 2, one for each extent; found [2, 2, 2]";
  EXPECT_ERROR(interpolate(image, {.size = {2, 3, 4}}), "size must be one number, or a list of 2");
  EXPECT_ERROR(interpolate(line, {.size = {2, 9}}), "size must be one number, or a list of 1");
  const ValuesIndices most = max_pool2d_with_indices(countTo(16).reshape({1, 1, 4, 4}), 2);
  auto unpooled = [&](IntList kernel, IntList stride = {}, IntList padding = 0, IntList output_size = {}) {
    return max_unpool2d(most.values, most.indices, kernel, stride, padding, output_size);
  };
  EXPECT_ERROR(unpooled({2, 2, 2}), "max_unpool2d(): kernel_size " + two);
  EXPECT_ERROR(unpooled(2, {2, 2, 2}), "max_unpool2d(): stride " + two);
  EXPECT_ERROR(unpooled(2, {}, {2, 2, 2}), "max_unpool2d(): padding " + two);
  EXPECT_ERROR(unpooled(2, {}, 0, {1, 5, 5}), "should be a sequence containing 2 or 4 elements");
  EXPECT_ERROR(unpooled(2, {}, 0, {7, 7}), "invalid output_size [7, 7] (dim 0 must be between 2 and 6)");
  EXPECT_EQ(unpooled(2, {}, 0, {5, 5}).sizes(), (Shape{1, 1, 5, 5}));
  EXPECT_EQ(unpooled(2, {}, 0, {1, 1, 5, 3}).sizes(), (Shape{1, 1, 5, 3}));
  namespace F = nn::functional;
  EXPECT_ERROR(F::unfold(image, {2, 2, 2}), "unfold(): kernel_size " + two);
  EXPECT_ERROR(F::unfold(image, 2, {2, 2, 2}), "unfold(): dilation " + two);
  EXPECT_ERROR(F::unfold(image, 2, 1, {2, 2, 2}), "unfold(): padding " + two);
  EXPECT_ERROR(F::unfold(image, 2, 1, 0, {2, 2, 2}), "unfold(): stride " + two);
  EXPECT_ERROR(F::unfold(image, 5), "a window of kernel_size [5, 5] and dilation [1, 1] does not fit in");
  EXPECT_ERROR(fold(ones({1, 4, 4}), {3, 3, 3}, 2), "fold takes one number or two as output_size");
  EXPECT_ERROR(avg_pool2d(image, {2, 2, 2}), "kernel_size must either be a single int");
  EXPECT_ERROR(adaptive_avg_pool2d(image, {2, 2, 2}), "output_size must either be a single int");
  EXPECT_ERROR(lp_pool2d(image, 2, {2, 2, 2}), "kernel_size must either be a single int");
}

TEST(Sorting, MembersAreTheFunctions) {
  Tensor x = tensor({3.0f, 1.0f, 2.0f, 1.0f});
  EXPECT_EQ(wholes(x.sort().indices), (Whole{1, 3, 2, 0}));
  EXPECT_EQ(wholes(x.argsort(0, true)), (Whole{0, 2, 1, 3}));
  EXPECT_EQ(wholes(x.topk(2).indices), (Whole{0, 2}));
  EXPECT_EQ(x.kthvalue(3).values.item<float>(), 2);
  EXPECT_EQ(x.median().item<float>(), 1);
  EXPECT_EQ(x.median(0).values.item<float>(), 1);
  EXPECT_EQ(x.mode().indices.item<int64_t>(), 3);
  EXPECT_EQ(wholes(x.cummax(0).indices), (Whole{0, 0, 0, 0}));
  EXPECT_EQ(wholes(x.cummin(0).indices), (Whole{0, 1, 1, 3}));
  EXPECT_EQ(floats(x.masked_select(x > 1)), Floats({3, 2}));
  EXPECT_EQ(x.nonzero().sizes(), (Shape{4, 1}));
  EXPECT_EQ(floats(x.masked_scatter(x > 1, tensor({7.0f, 8.0f}))), Floats({7, 1, 8, 1}));
  EXPECT_TRUE(allclose(x.logcumsumexp(0), log(exp(x).cumsum(0))));
  EXPECT_TRUE(allclose(x.lgamma().exp(), tensor({2.0f, 1.0f, 1.0f, 1.0f})));
  EXPECT_TRUE(allclose(x.erfc() + x.erf(), ones({4})));
  EXPECT_TRUE(allclose((x / 4).erfinv().erf(), x / 4));
  EXPECT_TRUE(allclose((x + 1).digamma() - x.digamma(), 1 / x));
}
