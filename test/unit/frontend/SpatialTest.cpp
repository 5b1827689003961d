//===- SpatialTest.cpp - Convolutions, pooling, norms of channels ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values and gradients are compared with PyTorch's in test/parity. Here are values from plain loops, what
// PyTorch's samples do not reach, modules and their state, and errors.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>
#include <limits>

using namespace weft;

namespace {

Tensor waves(Shape shape, double phase = 0) {
  return generated(std::move(shape),
                   [&](size_t i) { return std::sin(static_cast<double>(i) * 0.7 + phase); });
}

/// A two-dimensional convolution without groups and dilation, in double precision.
std::vector<double> convolved(const Tensor &x, const Tensor &w, int64_t stride, int64_t padding) {
  Shape a = x.sizes(), k = w.sizes();
  Floats from = floats(x), weight = floats(w);
  int64_t rows = (a[2] + 2 * padding - k[2]) / stride + 1, columns = (a[3] + 2 * padding - k[3]) / stride + 1;
  std::vector<double> result;
  for (int64_t n = 0; n < a[0]; ++n)
    for (int64_t o = 0; o < k[0]; ++o)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (int64_t c = 0; c < a[1]; ++c)
            for (int64_t s = 0; s < k[2]; ++s)
              for (int64_t t = 0; t < k[3]; ++t) {
                int64_t row = i * stride + s - padding, column = j * stride + t - padding;
                if (row >= 0 && row < a[2] && column >= 0 && column < a[3])
                  sum += static_cast<double>(
                             from[static_cast<size_t>(((n * a[1] + c) * a[2] + row) * a[3] + column)]) *
                         weight[static_cast<size_t>(((o * k[1] + c) * k[2] + s) * k[3] + t)];
              }
          result.push_back(sum);
        }
  return result;
}

void expectClose(const Tensor &found, const std::vector<double> &expected, double tolerance = 1e-5) {
  Floats values = floats(found);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], tolerance) << "element " << i;
}

} // namespace

TEST(Convolution, IsTheSumOfItsDefinition) {
  struct {
    Shape x, w;
    int64_t stride, padding;
  } const cases[] = {{{2, 3, 9, 8}, {4, 3, 3, 3}, 1, 1},
                     {{1, 16, 12, 12}, {8, 16, 3, 3}, 2, 1},
                     {{3, 5, 7, 7}, {6, 5, 1, 1}, 1, 0},
                     {{1, 3, 32, 32}, {8, 3, 7, 7}, 2, 3},
                     {{2, 4, 4, 4}, {1, 4, 4, 4}, 1, 0}};
  for (const auto &[x, w, stride, padding] : cases) {
    Tensor a = waves(x), b = waves(w, 1);
    expectClose(conv2d(a, b, {}, {.stride = stride, .padding = padding}), convolved(a, b, stride, padding),
                2e-5);
  }
}

TEST(Convolution, BatchGroupsAndDepthwise) {
  Tensor x = waves({4, 6, 6}), w = waves({8, 2, 3, 3}, 1);
  Tensor grouped = conv2d(x, w, {}, {.padding = "same", .groups = 2});
  EXPECT_EQ(grouped.sizes(), (Shape{8, 6, 6}));
  Tensor halves = cat({conv2d(x.narrow(0, 0, 2), w.narrow(0, 0, 4), {}, {.padding = 1}),
                       conv2d(x.narrow(0, 2, 2), w.narrow(0, 4, 4), {}, {.padding = 1})},
                      0);
  EXPECT_TRUE(allclose(grouped, halves));
  Tensor each = waves({4, 1, 3, 3}, 2), depthwise = conv2d(x, each, {}, {.groups = 4});
  for (int64_t c = 0; c < 4; ++c)
    EXPECT_TRUE(allclose(depthwise.narrow(0, c, 1), conv2d(x.narrow(0, c, 1), each.narrow(0, c, 1))));
}

// The zeros of a padding are elements, as in PyTorch: times an infinite weight they are no numbers.
TEST(Convolution, PaddingMeetsInfiniteWeights) {
  Tensor w = tensor({INFINITY, 1.0F, 1.0F}).reshape({1, 1, 3});
  std::vector<float> y = conv1d(ones({1, 1, 3}), w, {}, {.padding = 1}).to_vector<float>();
  EXPECT_TRUE(std::isnan(y[0])) << y[0];
  EXPECT_EQ(y[1], INFINITY);
  EXPECT_EQ(y[2], INFINITY);
}

// The zeros between elements that a transposed convolution has are none, and neither is what lies around
// them: an infinite weight meets elements alone. Numbers are PyTorch's.
TEST(Convolution, ZerosBetweenElementsMeetNoInfiniteWeights) {
  constexpr float infinity = INFINITY;
  for (const DType type : {f32, bf16}) {
    SCOPED_TRACE(std::string(name(type)));
    Tensor x = arange(8).to(type).reshape({1, 2, 4}) + 1,
           w = tensor({1.0F, infinity, 2.0F, 3.0F, 4.0F, -infinity}).to(type).reshape({2, 1, 3});
    x = x.detach();
    x.requires_grad_();
    w.requires_grad_();
    // Groups with one channel each, and one group with two: each has one output.
    Tensor y = conv_transpose1d(x, w, {}, {.stride = 2, .padding = 1, .groups = 2});
    const Floats depthwise = {infinity, 4,         infinity, 7,         infinity, 10,        infinity,
                              20,       -infinity, 24,       -infinity, 28,       -infinity, 32};
    EXPECT_EQ(floats(y.to(f32)), depthwise);
    EXPECT_EQ(floats(conv_transpose1d(x, w.abs(), {}, {.stride = 2, .padding = 1}).to(f32)),
              (Floats{infinity, infinity, infinity, infinity, infinity, infinity, infinity}));
    y.sum().backward();
    EXPECT_EQ(floats(w.grad().to(f32)), (Floats{9, 10, 6, 21, 26, 18}));
    // The derivative with respect to the operand of one with a stride is a transposed one.
    Tensor image = ones({1, 2, 7}, {.dtype = type});
    image.requires_grad_();
    conv1d(image, w.detach(), {}, {.stride = 2, .padding = 1, .groups = 2}).sum().backward();
    EXPECT_EQ(floats(image.grad().to(f32)), (Floats{infinity, 3, infinity, 3, infinity, 3, infinity, 4,
                                                    -infinity, 4, -infinity, 4, -infinity, 4}));
    // Infinite elements, of the operand and of the derivative with respect to weights.
    Tensor far = tensor({infinity, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F, infinity, 8.0F}).to(type).reshape({1, 2, 4}),
           finite = (arange(6).to(type) + 1).reshape({2, 1, 3}).detach();
    far.requires_grad_();
    finite.requires_grad_();
    Tensor z = conv_transpose1d(far, finite, {}, {.stride = 2, .padding = 1, .groups = 2});
    EXPECT_EQ(floats(z.to(f32)),
              (Floats{infinity, infinity, 4, 9, 6, 13, 8, 25, 54, 30, infinity, infinity, infinity, 40}));
    z.sum().backward();
    EXPECT_EQ(floats(far.grad().to(f32)), (Floats{5, 6, 6, 3, 11, 15, 15, 9}));
    EXPECT_EQ(floats(finite.grad().to(f32)), (Floats{9, infinity, infinity, infinity, infinity, infinity}));
  }
}

/// A GPU adds the channels of few results in pieces. Those of 128 channels are 2,049 and -2,048 here, of
/// which f16 has the second alone.
TEST(Convolution, LongSumsOfHalvesAreRoundedOnce) {
  std::vector<float> weights(1024, 0.0F);
  for (size_t i = 0; i < 256; ++i) {
    weights[i] = i == 0 ? 9.0F : 8.0F;
    weights[256 + i] = -8.0F;
  }
  Tensor w = Tensor::from(weights, {1, 512, 2}).to(f16);
  Tensor y = conv1d(ones({2, 512, 3}, {.dtype = f16}), cat({w, -w}, 0));
  EXPECT_EQ(floats(y.to(f32)), (Floats{1, 1, -1, -1, 1, 1, -1, -1}));
}

/// A residual block in evaluation is launches of its convolutions, with the bits of single ops.
TEST(Convolution, ItsLaunchHasTheBiasNormResidualAndRelu) {
  const Tensor x = waves({3, 4, 9, 9}), w = waves({4, 4, 3, 3}, 0.2), bias = waves({4}, 1),
               mean = waves({4}, 2), variance = waves({4}, 3).square() + 0.1, weight = waves({4}, 4),
               shift = waves({4}, 5);
  auto norm = [&](const Tensor &y) {
    return batch_norm(y, mean, variance, {.weight = weight, .bias = shift});
  };
  auto first = [&](const Tensor &a) { return conv2d(a, w, bias, {.padding = 1}); };
  auto second = [&](const Tensor &a) { return conv2d(a, w, {}, {.padding = 1}); };
  auto block =
      compile([&](Tensor a) { return relu(norm(second(relu(norm(first(a))))) + a); }, {.name = "block"});
  const Tensor found = block(x);
  const std::string text = block.explain();
  EXPECT_NE(text.find("convolution+add+sub+mul+mul+add+relu"), std::string::npos) << text;
  EXPECT_NE(text.find("convolution+sub+mul+mul+add+residual+relu"), std::string::npos) << text;
  // Each op by itself.
  auto alone = [](Tensor t) { return Tensor::from(floats(t), t.sizes()); };
  Tensor y = alone(first(x));
  const Shape channels = {4, 1, 1};
  auto normAlone = [&](Tensor t) {
    const Tensor scale = alone(alone(variance.reshape(channels) + 1e-5).rsqrt());
    t = alone(t - mean.reshape(channels));
    t = alone(alone(t * scale) * weight.reshape(channels));
    return alone(t + shift.reshape(channels));
  };
  y = alone(second(alone(relu(normAlone(y)))));
  y = alone(relu(alone(normAlone(y) + x)));
  EXPECT_EQ(floats(found), floats(y));
}

TEST(Convolution, TheTransposedOneIsTheDerivative) {
  Tensor x = waves({2, 4, 5, 6}), w = waves({3, 4, 3, 2}, 1), g = waves({2, 3, 3, 3}, 2);
  Tensor a = x.clone();
  a.requires_grad_();
  (conv2d(a, w, {}, {.stride = {2, 3}, .padding = {1, 1}}) * g).sum().backward();
  Tensor back = conv_transpose2d(g, w, {}, {.stride = {2, 3}, .padding = {1, 1}, .output_padding = {0, 0}});
  // The last column is in no window.
  EXPECT_EQ(back.sizes(), (Shape{2, 4, 5, 6}));
  EXPECT_TRUE(allclose(a.grad(), back));
}

TEST(Convolution, ErrorsSayWhatDoesNotFit) {
  Tensor x = waves({1, 3, 8, 8}), w = waves({4, 3, 3, 3});
  EXPECT_ERROR(conv2d(waves({3, 8}), w), "Expected 3D (unbatched) or 4D (batched) input to conv2d");
  EXPECT_ERROR(conv2d(x, waves({4, 2, 3, 3})), "expected input[1, 3, 8, 8] to have 2 channels, but got 3");
  EXPECT_ERROR(conv2d(x, waves({4, 3, 3})), "expected weight to be 4-dimensional");
  EXPECT_ERROR(conv2d(x, w.to(f64)), "Input type (f32) and weight type (f64) should be the same");
  EXPECT_ERROR(conv2d(x > 0, w > 0), "not implemented for 'Bool'");
  EXPECT_ERROR(conv2d(x, w, waves({3})), "expected bias to be 1-dimensional with 4 elements");
  EXPECT_ERROR(conv2d(x, w, {}, {.stride = 0}), "stride must be at least 1");
  EXPECT_ERROR(conv2d(x, w, {}, {.stride = {1, 1, 1}}), "a list of 2 values");
  EXPECT_ERROR(conv2d(x, w, {}, {.padding = -1}), "padding must be at least 0");
  EXPECT_ERROR(conv2d(x, w, {}, {.dilation = 0}), "dilation must be at least 1");
  EXPECT_ERROR(conv2d(x, w, {}, {.padding = "full"}), "\"same\" or \"valid\", found \"full\"");
  EXPECT_ERROR(conv2d(x, w, {}, {.stride = 2, .padding = "same"}), "not supported for strided convolutions");
  EXPECT_ERROR(conv2d(x, w, {}, {.groups = 0}), "groups must be at least 1");
  EXPECT_ERROR(conv2d(waves({1, 4, 8, 8}), waves({3, 2, 3, 3}), {}, {.groups = 2}),
               "divisible by 2 at dimension 0");
  EXPECT_ERROR(conv2d(waves({1, 3, 2, 2}), w), "Kernel size can't be greater than actual input size");
  EXPECT_ERROR(conv2d(waves({1, 3, 0, 8}), w), "at least 1 element");
  EXPECT_ERROR(conv2d(x, w, {}, {.dilation = INT64_MAX}), "larger than 2^63");
  EXPECT_ERROR(conv_transpose2d(x, waves({4, 3, 3, 3})), "to have 4 channels, but got 3");
  EXPECT_ERROR(conv_transpose2d(x, waves({3, 4, 3, 3}), {}, {.output_padding = 1}),
               "output padding must be smaller");
  EXPECT_ERROR(conv_transpose2d(x, waves({3, 4, 3, 3}), {}, {.padding = 9}),
               "output size per channel is too small");
}

TEST(Pooling, TheFirstMaximumIsChosen) {
  Tensor x = tensor({1, 1, 1, 1, 1, 1}, {1, 1, 6});
  x.requires_grad_();
  auto [values, indices] = max_pool1d_with_indices(x, 3, {.stride = 2, .padding = 1});
  EXPECT_EQ(indices.to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 3}));
  values.sum().backward();
  EXPECT_EQ(floats(x.grad()), (Floats{1, 1, 0, 1, 0, 0}));
}

TEST(Pooling, AnElementAddsTheGradientsOfItsWindows) {
  // Nine windows of 3 x 3 have the element of row 1 and column 2, which is the largest; elements around it
  // are chosen by the windows without it. Places count 1, 2, 4, .., so that each sum says which windows it
  // has.
  constexpr int64_t rows = 4, columns = 5;
  Tensor x = arange(rows * columns).to(f32).reshape({1, rows, columns});
  x.index_put_(
      {tensor(std::vector<int64_t>{0}), tensor(std::vector<int64_t>{1}), tensor(std::vector<int64_t>{2})},
      full({1}, 99));
  x = x.detach();
  x.requires_grad_();
  const Floats values = floats(x);
  Tensor weights = exp2(arange(rows * columns).to(f32)).reshape({1, rows, columns});
  (max_pool2d(x, 3, {.stride = 1, .padding = 1}) * weights).sum().backward();
  Floats expected(size_t(rows * columns), 0.0f);
  for (int64_t place = 0; place < rows * columns; ++place) {
    int64_t chosen = -1;
    for (int64_t at = 0; at < rows * columns; ++at)
      if (std::abs(at / columns - place / columns) <= 1 && std::abs(at % columns - place % columns) <= 1 &&
          (chosen < 0 || values[size_t(at)] > values[size_t(chosen)]))
        chosen = at;
    expected[size_t(chosen)] += std::exp2(float(place));
  }
  EXPECT_EQ(floats(x.grad()), expected);
}

TEST(Pooling, WindowsAreCountedWhereTheyAreRead) {
  // A table of where they begin, or of their elements, would be state of the function, which a GPU gets with
  // each call.
  Tensor x = waves({1, 5, 4});
  for (Tensor (*pool)(const Tensor &) : {
           +[](const Tensor &x) { return max_pool2d(x, 3, {.stride = 2, .padding = 1}); },
           +[](const Tensor &x) { return avg_pool2d(x, 3, {.stride = 2, .ceil_mode = true}); },
           +[](const Tensor &x) { return avg_pool2d(x, 3, {.padding = 1, .count_include_pad = false}); },
           +[](const Tensor &x) { return adaptive_avg_pool2d(x, {3, 7}); },
           +[](const Tensor &x) { return adaptive_max_pool2d(x, {3, 7}); },
       }) {
    auto gradient = compile([&](const Tensor &x) {
      Tensor own = x.detach();
      own.requires_grad_();
      return grad(pool(own).sum(), {own})[0];
    });
    EXPECT_EQ(floats(gradient(x)).size(), 20u);
    EXPECT_EQ(gradient.mlir().find("state"), std::string::npos) << gradient.mlir();
  }
}

TEST(Pooling, AMeanIsTheSumOfAWindowDividedOnce) {
  // Elements in the operand, and with `count_include_pad` those in the padding, but none behind it. A window
  // of 3 x 3 at a corner has 4 of 9, and its number divides once: a third of a third is not a ninth of f32.
  const auto ones = [](double number) { return full({1, 1, 4, 4}, {number, Loc::current()}); };
  for (bool isCounted : {true, false}) {
    const AvgPoolOptions options = {
        .stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = isCounted};
    Floats expected;
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 3; ++j) {
        float elements = 1, counted = 1;
        for (int64_t place : {i, j}) {
          const int64_t begin = 2 * place - 1, end = std::min<int64_t>(begin + 3, isCounted ? 5 : 4);
          elements *= float(std::min<int64_t>(begin + 3, 4) - std::max<int64_t>(begin, 0));
          counted *= float(end - (isCounted ? begin : std::max<int64_t>(begin, 0)));
        }
        expected.push_back(elements * 7 / counted);
      }
    EXPECT_EQ(floats(avg_pool2d(ones(7), 3, options)), expected) << isCounted;
  }
}

TEST(Pooling, WhatAShorterWindowDoesNotHaveIsNotMultiplied) {
  // Windows 0..2, 1..4 and 3..5 of five elements: the longest has three, and the first ends with an infinity.
  const float infinity = std::numeric_limits<float>::infinity();
  Tensor x = tensor({1, infinity, 3, 4, 5}, {1, 1, 5});
  EXPECT_EQ(floats(adaptive_avg_pool1d(x, 3)), (Floats{infinity, infinity, 4.5f}));
  x = tensor({1, 2, 4, 8, 16}, {1, 1, 5}).detach();
  x.requires_grad_();
  Tensor y = adaptive_avg_pool1d(x, 3);
  EXPECT_EQ(floats(y), (Floats{1.5f, 14.0f / 3, 12}));
  (y * tensor({2, 3, 8}, {1, 1, 3})).sum().backward();
  EXPECT_EQ(floats(x.grad()), (Floats{1, 2, 1, 5, 4}));
  EXPECT_EQ(adaptive_avg_pool2d(waves({1, 2, 3, 4}), {0, 3}).sizes(), (Shape{1, 2, 0, 3}));
  EXPECT_EQ(adaptive_max_pool2d(waves({1, 2, 3, 4}), {0, 3}).sizes(), (Shape{1, 2, 0, 3}));
}

TEST(Pooling, PaddingIsNeverChosen) {
  const float least = -std::numeric_limits<float>::infinity();
  Tensor x = full({1, 1, 3, 3}, {least, Loc::current()});
  auto [values, indices] = max_pool2d_with_indices(x, 3, {.stride = 1, .padding = 1, .dilation = 1});
  EXPECT_EQ(indices.to_vector<int64_t>(), (std::vector<int64_t>{0, 0, 1, 0, 0, 1, 3, 3, 4}));
  EXPECT_EQ(floats(values), Floats(9, least));
  Tensor whole = Tensor::from(std::vector<int64_t>{INT64_MIN, INT64_MIN, 5}, {1, 1, 3});
  auto [most, where] = max_pool1d_with_indices(whole, 2, {.stride = 2, .padding = 1});
  EXPECT_EQ(where.to_vector<int64_t>(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(most.to_vector<int64_t>(), (std::vector<int64_t>{INT64_MIN, 5}));
}

TEST(Pooling, WindowsOfPaddingAloneHaveNoGradient) {
  // Rows -1 and 2 of an operand of two: indices are those behind the plane, as in PyTorch.
  const float least = -std::numeric_limits<float>::infinity();
  const MaxPoolOptions options = {.stride = 1, .padding = {1, 0}, .dilation = {3, 1}};
  Tensor x = arange(8).to(f32).reshape({1, 1, 2, 4}).detach();
  x.requires_grad_();
  auto [values, indices] = max_pool2d_with_indices(x, {2, 2}, options);
  EXPECT_EQ(floats(values), Floats(3, least));
  EXPECT_EQ(floats(max_pool2d(x.detach(), {2, 2}, options)), Floats(3, least));
  EXPECT_EQ(indices.to_vector<int64_t>(), (std::vector<int64_t>{8, 9, 10}));
  values.sum().backward();
  EXPECT_EQ(floats(x.grad()), Floats(8, 0.0f));
}

TEST(Pooling, ErrorsSayWhatDoesNotFit) {
  Tensor x = waves({1, 2, 4, 4});
  EXPECT_ERROR(max_pool2d(waves({4}), 2), "Expected 3D or 4D (batch mode) tensor");
  EXPECT_ERROR(max_pool2d(x, {2, 2, 2}), "kernel_size must either be a single int, or a list of 2 ints");
  EXPECT_ERROR(max_pool2d(x, 0), "kernel_size must be at least 1");
  EXPECT_ERROR(max_pool2d(x, 2, {.padding = 2}), "pad should be at most half of kernel size");
  EXPECT_ERROR(max_pool2d(x, 3, {.padding = 2, .dilation = 2}), "pad should be at most half of kernel size");
  EXPECT_ERROR(max_pool2d(x, 5), "Calculated output size is too small");
  EXPECT_ERROR(max_pool2d(x > 0, 2), "not implemented for 'Bool'");
  EXPECT_ERROR(max_pool2d(x, INT64_MAX), "at most 2^31");
  EXPECT_ERROR(avg_pool2d(x.to(i64), 2), "avg_pool2d()");
  EXPECT_ERROR(avg_pool2d(x, 2, {.divisor_override = 0}), "divisor must be not zero");
  EXPECT_ERROR(avg_pool2d(waves({1, 2, 0, 4}), 2), "extents are not empty");
  EXPECT_ERROR(adaptive_avg_pool2d(x, {1, 2, 3}), "output_size must either be a single int");
  EXPECT_ERROR(adaptive_max_pool2d(x, -2), "output_size must be at least -1");
}

TEST(ChannelNorm, RunningStatisticsFollowTheBatches) {
  nn::BatchNorm2d norm(2), mean(2, {.momentum = {}});
  double running = 0, spread = 1, total = 0;
  for (int64_t step = 1; step <= 3; ++step) {
    Tensor x = waves({3, 2, 4, 5}, static_cast<double>(step)) * static_cast<float>(step);
    norm(x);
    mean(x);
    Floats values = floats(x);
    double sum = 0, squares = 0;
    for (int64_t n = 0; n < 3; ++n)
      for (int64_t i = 0; i < 20; ++i)
        sum += values[static_cast<size_t>(n * 40 + 20 + i)];
    for (int64_t n = 0; n < 3; ++n)
      for (int64_t i = 0; i < 20; ++i)
        squares += std::pow(values[static_cast<size_t>(n * 40 + 20 + i)] - sum / 60, 2);
    running = 0.9 * running + 0.1 * sum / 60;
    spread = 0.9 * spread + 0.1 * squares / 59;
    total += sum / 60;
    EXPECT_NEAR(floats(norm.running_mean)[1], running, 1e-5);
    EXPECT_NEAR(floats(norm.running_var)[1], spread, 1e-5);
    EXPECT_NEAR(floats(mean.running_mean)[1], total / static_cast<double>(step), 1e-5);
    EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), step);
  }
  norm.eval();
  Tensor x = waves({1, 2, 1, 2});
  double expected = (floats(x)[2] - running) / std::sqrt(spread + 1e-5);
  EXPECT_NEAR(floats(norm(x))[2], expected, 1e-5);
  EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), 3);
}

/// Channels lie in pieces that are read where they are, if a piece is a number of vectors.
TEST(ChannelNorm, ValuesAndGradientsOfChannelsInPieces) {
  for (const Shape &shape : {Shape{3, 5, 4, 16}, Shape{2, 3, 3, 16}, Shape{4, 2, 128}, Shape{2, 3, 5, 7}}) {
    Tensor x = waves(shape), g = waves(shape, 1), w = waves({shape[1]}, 2), b = waves({shape[1]}, 3);
    auto f = compile([](Tensor x, Tensor g, Tensor w, Tensor b) {
      for (Tensor *t : {&x, &w, &b})
        *t = t->detach().requires_grad_();
      Tensor y = relu(batch_norm(x, {}, {}, {.weight = w, .bias = b, .training = true}));
      std::vector<Tensor> results = grad({y}, {x, w, b}, {.grad_outputs = {g}});
      results.push_back(y.detach());
      return results;
    });
    const Floats from = floats(x), cotangent = floats(g), scale = floats(w), shift = floats(b);
    const auto batch = static_cast<size_t>(shape[0]), channels = static_cast<size_t>(shape[1]),
               pixels = from.size() / batch / channels;
    const auto count = static_cast<double>(batch * pixels);
    std::vector<double> y(from.size()), dx(from.size()), dw(channels), db(channels);
    for (size_t c = 0; c < channels; ++c) {
      const auto each = [&](auto use) {
        for (size_t n = 0; n < batch; ++n)
          for (size_t i = 0; i < pixels; ++i)
            use((n * channels + c) * pixels + i);
      };
      double mean = 0, variance = 0, product = 0;
      each([&](size_t i) { mean += static_cast<double>(from[i]) / count; });
      each([&](size_t i) { variance += std::pow(static_cast<double>(from[i]) - mean, 2) / count; });
      const double root = 1 / std::sqrt(variance + 1e-5), factor = static_cast<double>(scale[c]);
      const auto normal = [&](size_t i) { return (static_cast<double>(from[i]) - mean) * root; };
      const auto before = [&](size_t i) { return normal(i) * factor + static_cast<double>(shift[c]); };
      const auto arriving = [&](size_t i) { return before(i) > 0 ? static_cast<double>(cotangent[i]) : 0.0; };
      each([&](size_t i) {
        y[i] = std::max(before(i), 0.0);
        db[c] += arriving(i);
        product += arriving(i) * normal(i);
      });
      dw[c] = product;
      each([&](size_t i) {
        dx[i] = factor * root * (arriving(i) - db[c] / count - normal(i) * product / count);
      });
    }
    const std::vector<Tensor> found = f(x, g, w, b);
    expectClose(found[0], dx);
    expectClose(found[1], dw, 1e-4);
    expectClose(found[2], db, 1e-4);
    expectClose(found[3], y);
  }
}

TEST(ChannelNorm, CompiledStepsMoveTheStatisticsAsEagerOnesDo) {
  manual_seed(1);
  nn::BatchNorm1d eager(3), compiled = clone(eager);
  auto step = compile([&](Tensor x) { return compiled(x); });
  for (int i = 0; i < 3; ++i) {
    Tensor x = waves({8, 3}, i);
    EXPECT_TRUE(allclose(step(x), eager(x)));
  }
  EXPECT_TRUE(allclose(compiled.running_var, eager.running_var));
  EXPECT_EQ(compiled.num_batches_tracked.item<int64_t>(), 3);
  EXPECT_EQ(step.variants().size(), 1u);
}

TEST(ChannelNorm, ErrorsSayWhatDoesNotFit) {
  Tensor x = waves({2, 4, 3, 3});
  EXPECT_ERROR(batch_norm(x, {}, {}), "Expected running_mean and running_var to be defined");
  EXPECT_ERROR(batch_norm(x, waves({3}), waves({4})), "running_mean should contain 4 elements not [3]");
  EXPECT_ERROR(batch_norm(x, {}, {}, {.weight = waves({5}), .training = true}),
               "weight should contain 4 elements");
  EXPECT_ERROR(batch_norm(waves({4}), {}, {}, {.training = true}), "at least 2 dimensions");
  EXPECT_ERROR(batch_norm(waves({1, 4}), {}, {}, {.training = true}),
               "Expected more than 1 value per channel");
  EXPECT_ERROR(batch_norm(x.to(i64), {}, {}, {.training = true}), "batch_norm()");
  EXPECT_ERROR(group_norm(x, 3), "divisible by num_groups");
  EXPECT_ERROR(group_norm(x, 2, waves({2})), "weight should contain 4 elements");
  EXPECT_ERROR(nn::BatchNorm2d(4)(waves({2, 4})), "nn::BatchNorm2d: expected 4D input (got 2D input)");
  EXPECT_ERROR(nn::BatchNorm1d(4)(x), "nn::BatchNorm1d: expected 2D or 3D input (got 4D input)");
  EXPECT_ERROR(nn::BatchNorm2d(-1), "not negative");
  EXPECT_ERROR(nn::GroupNorm(3, 4), "num_channels must be divisible by num_groups");
}

TEST(SpatialLayers, PrintAndNameTheirStateAsPyTorchDoes) {
  nn::Sequential net(nn::Conv2d(3, 8, 3, {.stride = 2, .padding = 1}), nn::BatchNorm2d(8), nn::ReLU(),
                     nn::MaxPool2d(2), nn::Conv2d(8, 8, {3, 1}, {.padding = "same", .groups = 4}, false),
                     nn::ConvTranspose2d(8, 4, 2, {.stride = 2}), nn::AvgPool2d(3, {.stride = 1}),
                     nn::AdaptiveAvgPool2d({1, 1}), nn::AdaptiveMaxPool2d(1), nn::GroupNorm(2, 4),
                     nn::Conv1d(2, 2, 3));
  std::string text = to_string(net);
  for (const char *line :
       {"Conv2d(3, 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))",
        "BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)",
        "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
        "Conv2d(8, 8, kernel_size=(3, 1), stride=(1, 1), padding=same, groups=4, bias=False)",
        "ConvTranspose2d(8, 4, kernel_size=(2, 2), stride=(2, 2))",
        "AvgPool2d(kernel_size=3, stride=1, padding=0)", "AdaptiveAvgPool2d(output_size=(1, 1))",
        "AdaptiveMaxPool2d(output_size=1)", "GroupNorm(2, 4, eps=1e-05, affine=True)",
        "Conv1d(2, 2, kernel_size=(3,), stride=(1,))"})
    EXPECT_TRUE(mentions(text, line)) << line << "\n" << text;
  EXPECT_EQ(namesOf(nn::BatchNorm2d(8).state_dict()),
            (Names{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}));
  EXPECT_EQ(namesOf(nn::Conv2d(8, 8, 3, {}, false).named_parameters()), (Names{"weight"}));
  EXPECT_EQ(nn::BatchNorm1d(4, {.affine = false, .track_running_stats = false}).state_dict().size(), 0u);
}

TEST(SpatialLayers, WeightsBeginWithinPyTorchsBounds) {
  manual_seed(3);
  nn::Conv2d conv(16, 32, 3, {.groups = 2});
  EXPECT_EQ(conv.weight.sizes(), (Shape{32, 8, 3, 3}));
  double bound = 1 / std::sqrt(8.0 * 9);
  float most = abs(conv.weight).max().item<float>();
  EXPECT_LE(most, bound);
  EXPECT_GT(most, 0.99 * bound);
  EXPECT_LE(abs(conv.bias).max().item<float>(), bound);
  nn::ConvTranspose1d back(16, 32, 5, {.groups = 2});
  EXPECT_EQ(back.weight.sizes(), (Shape{16, 16, 5}));
  EXPECT_GT(abs(back.weight).max().item<float>(), 0.99 / std::sqrt(16.0 * 5));
  EXPECT_LE(abs(back.weight).max().item<float>(), 1 / std::sqrt(16.0 * 5));
}

TEST(SpatialLayers, ErrorsSayWhatDoesNotFit) {
  EXPECT_ERROR(nn::Conv2d(3, 8, 3, {.groups = 2}), "divisible by groups");
  EXPECT_ERROR(nn::Conv2d(3, 8, {3, 3, 3}), "a list of 2");
  EXPECT_ERROR(nn::Conv2d(3, 8, 0), "at least 1");
  EXPECT_ERROR(nn::Conv2d(3, 8, 3, {.padding = "full"}), "Invalid padding string 'full'");
  EXPECT_ERROR(nn::Conv2d(3, 8, 3, {.stride = 2, .padding = "same"}), "strided convolutions");
  EXPECT_ERROR(nn::ConvTranspose2d(3, 8, 3, {.padding = -1}), "at least 0");
}
