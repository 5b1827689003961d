//===- InitTest.cpp - Initial values of parameters -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <algorithm>
#include <cmath>

using namespace weft;
using namespace weft::nn;

namespace {
struct Moments {
  double mean = 0, std = 0, low = INFINITY, high = -INFINITY;
};
Moments momentsOf(const Tensor &tensor) {
  std::vector<double> values = tensor.to_vector<double>();
  Moments m;
  for (double v : values) {
    m.mean += v / static_cast<double>(values.size());
    m.low = std::min(m.low, v);
    m.high = std::max(m.high, v);
  }
  for (double v : values)
    m.std += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size());
  m.std = std::sqrt(m.std);
  return m;
}

/// 40,000 samples: a mean is off by more than 5 std / 200, or a deviation by 5 %, in one case of millions.
void expectUniform(const Tensor &tensor, double bound, const char *what) {
  Moments m = momentsOf(tensor);
  EXPECT_NEAR(m.mean, 0, 5 * bound / std::sqrt(3.0) / 200) << what;
  EXPECT_NEAR(m.std, bound / std::sqrt(3.0), 0.05 * bound / std::sqrt(3.0)) << what;
  EXPECT_GE(m.low, -bound) << what;
  EXPECT_LE(m.high, bound) << what;
  EXPECT_GT(m.high, 0.99 * bound) << what;
}
void expectNormal(const Tensor &tensor, double mean, double std, const char *what) {
  Moments m = momentsOf(tensor);
  EXPECT_NEAR(m.mean, mean, 5 * std / 200) << what;
  EXPECT_NEAR(m.std, std, 0.05 * std) << what;
  EXPECT_GT(m.high, mean + 3 * std) << what;
}
Tensor blank() { return empty({100, 200, 2}); } // fan in 400, fan out 200
} // namespace

TEST(Init, DistributionsHaveTheirMoments) {
  manual_seed(1);
  EXPECT_EQ(init::fan_in_and_fan_out(blank()), (std::pair<int64_t, int64_t>{400, 200}));
  Moments m = momentsOf(init::uniform_(blank(), -1, 3));
  EXPECT_NEAR(m.mean, 1, 0.03);
  EXPECT_GE(m.low, -1);
  EXPECT_LT(m.high, 3);
  expectNormal(init::normal_(blank(), 2, 0.5), 2, 0.5, "normal_");
  expectUniform(init::xavier_uniform_(blank(), 2), 2 * std::sqrt(6.0 / 600), "xavier_uniform_");
  expectNormal(init::xavier_normal_(blank()), 0, std::sqrt(2.0 / 600), "xavier_normal_");
  expectUniform(init::kaiming_uniform_(blank()), std::sqrt(2.0) * std::sqrt(3.0 / 400), "kaiming_uniform_");
  expectUniform(init::kaiming_uniform_(blank(), 1, init::FanMode::fan_out), std::sqrt(3.0 / 200), "fan_out");
  expectNormal(init::kaiming_normal_(blank(), 0, init::FanMode::fan_in, "tanh"), 0, 5.0 / 3 / 20,
               "kaiming_normal_");
}

TEST(Init, TruncatedNormalStaysInside) {
  manual_seed(2);
  Moments m = momentsOf(init::trunc_normal_(blank()));
  EXPECT_GE(m.low, -2);
  EXPECT_LE(m.high, 2);
  // The deviation of a standard normal between -2 and 2.
  EXPECT_NEAR(m.mean, 0, 0.022);
  EXPECT_NEAR(m.std, 0.87962566, 0.02);
  // Bounds far in the tail, and bounds that contain all of the distribution.
  m = momentsOf(init::trunc_normal_(blank(), 0, 1, 3, 4));
  EXPECT_GE(m.low, 3);
  EXPECT_LE(m.high, 4);
  EXPECT_NEAR(m.mean, 3.2600, 0.02); // (pdf(3) - pdf(4)) / (cdf(4) - cdf(3))
  expectNormal(init::trunc_normal_(blank(), 1, 0.1, -50, 50), 1, 0.1, "nothing cut");
}

TEST(Init, ConstantsAndMatrices) {
  EXPECT_EQ(init::constant_(empty({2}), 1.5).to_vector<float>(), (std::vector<float>{1.5, 1.5}));
  EXPECT_EQ(init::ones_(empty({2}, {.dtype = f16})).to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(init::zeros_(empty({1})).item<float>(), 0);
  EXPECT_EQ(init::eye_(empty({2, 3})).to_vector<float>(), (std::vector<float>{1, 0, 0, 0, 1, 0}));
  for (const Shape &shape : {Shape{5, 8}, Shape{8, 5}, Shape{4, 3, 2}}) {
    Tensor q = init::orthogonal_(empty(shape, {.dtype = f64}), 2).flatten(1);
    int64_t rows = q.size(0), columns = q.size(1), few = std::min(rows, columns);
    Tensor product = rows <= columns ? matmul(q, q.t()) : matmul(q.t(), q);
    std::vector<double> gram = product.to_vector<double>();
    for (int64_t i = 0; i < few * few; ++i)
      EXPECT_NEAR(gram[static_cast<size_t>(i)], i % (few + 1) == 0 ? 4 : 0, 1e-12);
  }
}

TEST(Init, DefaultsOfLayersAreThoseOfPyTorch) {
  manual_seed(3);
  nn::Linear linear(400, 100);
  expectUniform(linear.weight, 1 / 20.0, "Linear.weight"); // 40,000 samples
  Moments m = momentsOf(linear.bias);
  EXPECT_LE(m.high, 1 / 20.0);
  EXPECT_GE(m.low, -1 / 20.0);
  EXPECT_NEAR(m.std, 1 / 20.0 / std::sqrt(3.0), 0.005);
  EXPECT_TRUE(linear.weight.requires_grad());
}

TEST(Init, WritesTheSlotAndRecordsNoGradient) {
  nn::Linear linear(2, 2);
  Tensor weight = linear.weight;
  init::xavier_uniform_(linear.weight);
  EXPECT_EQ(weight.to_vector<float>(), linear.weight.to_vector<float>());
  (weight * weight).sum().backward();
  EXPECT_TRUE(linear.weight.grad().defined());
}

TEST(Init, Errors) {
  EXPECT_ERROR(init::kaiming_normal_(empty({3})), "fewer than 2 dimensions, found shape [3]");
  EXPECT_ERROR(init::calculate_gain("cubic"), "Unsupported nonlinearity 'cubic'");
  EXPECT_ERROR(init::uniform_(empty({1}), 1, 0), "from=1");
  EXPECT_ERROR(init::uniform_(zeros({1}, {.dtype = i32})), "floating-point tensors, found i32");
  EXPECT_ERROR(init::normal_(empty({1}), 0, -1), "std >= 0.0");
  EXPECT_ERROR(init::trunc_normal_(empty({1}), 0, 1, 2, 1), "a < b");
  EXPECT_ERROR(init::eye_(empty({2})), "2 dimensions");
  EXPECT_ERROR(init::orthogonal_(empty({2})), "2 or more dimensions");
  EXPECT_DOUBLE_EQ(init::calculate_gain("leaky_relu", 0.5), std::sqrt(1.6));
  EXPECT_DOUBLE_EQ(init::calculate_gain("selu"), 0.75);
}
