//===- GradientTest.cpp - backward, lazily and compiled ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;

static Tensor leafOf(std::vector<float> values, Shape shape) {
  Tensor t = tensor(std::move(values), std::move(shape));
  t.requires_grad_();
  return t;
}

TEST(Gradient, OfAProduct) {
  Tensor a = leafOf({2, 3}, {2}), b = leafOf({5, 7}, {2});
  (a * b).sum().backward();
  EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{5, 7}));
  EXPECT_EQ(b.grad().to_vector<float>(), (std::vector<float>{2, 3}));
}

TEST(Gradient, AccumulatesUntilItIsSetToNone) {
  Tensor a = leafOf({2}, {1});
  (a * 3).sum().backward();
  (a * 4).sum().backward();
  EXPECT_EQ(a.grad().to_vector<float>(), std::vector<float>{7});
  a.set_grad({});
  EXPECT_FALSE(a.grad().defined());
}

TEST(Gradient, AfterTheLossWasRead) {
  Tensor a = leafOf({2}, {1});
  Tensor loss = (a * a).sum();
  EXPECT_EQ(loss.item<float>(), 4); // the forward part has run already
  loss.backward();
  EXPECT_EQ(a.grad().to_vector<float>(), std::vector<float>{4});
}

TEST(Gradient, StopsAtDetachAndNoGrad) {
  Tensor a = leafOf({3}, {1});
  (a.detach() * a).sum().backward();
  EXPECT_EQ(a.grad().to_vector<float>(), std::vector<float>{3});
  a.set_grad({});
  Tensor frozen;
  {
    NoGradGuard guard;
    frozen = a * 10;
  }
  EXPECT_FALSE(frozen.requires_grad());
  (frozen * a).sum().backward();
  EXPECT_EQ(a.grad().to_vector<float>(), std::vector<float>{30});
}

TEST(Gradient, AtKinks) {
  Tensor a = leafOf({-1, 0, 2}, {3});
  relu(a).sum().backward();
  EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{0, 0, 1}));
  a.set_grad({});
  maximum(a, zeros({3})).sum().backward(); // ties share
  EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{0, 0.5, 1}));
  a.set_grad({});
  abs(a).sum().backward();
  EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{-1, 0, 1}));
}

TEST(Gradient, OfCrossEntropyIgnoresWhatIsIgnored) {
  Tensor logits = leafOf({1, 2, 3, 1, 1, 1}, {2, 3});
  Tensor target = Tensor::from(std::vector<int64_t>{2, -100}, {2});
  nn::cross_entropy(logits, target).backward();
  std::vector<float> g = logits.grad().to_vector<float>();
  double z = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  EXPECT_NEAR(g[0], std::exp(1.0) / z, 1e-6);
  EXPECT_NEAR(g[2], std::exp(3.0) / z - 1, 1e-6);
  EXPECT_EQ(g[3], 0);
}

TEST(Gradient, Errors) {
  Tensor a = leafOf({1, 2}, {2});
  EXPECT_ERROR((a * 2).backward(), "grad can be implicitly created only for scalar outputs");
  EXPECT_ERROR(zeros({}).backward(), "does not require grad");
  EXPECT_ERROR(arange(2).requires_grad_(), "only Tensors of floating point dtype can require gradients");
  EXPECT_ERROR(a += 1, "a leaf Variable that requires grad is being used in an in-place operation");
  Tensor result = a * 2;
  EXPECT_ERROR(result.requires_grad_(false), "you can only change requires_grad flags of leaf variables");
}

TEST(Optimizer, SgdWithMomentumFollowsTheFormula) {
  for (bool nesterov : {false, true}) {
    Tensor p = leafOf({1, -2}, {2});
    optim::SGD sgd({p}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = nesterov});
    double expected[2] = {1, -2}, buffer[2] = {0, 0};
    for (int step = 0; step < 20; ++step) {
      (p * p).sum().backward();
      sgd.step();
      sgd.zero_grad();
      for (int i = 0; i < 2; ++i) {
        double d = 2 * expected[i] + 0.01 * expected[i];
        buffer[i] = step == 0 ? d : 0.9 * buffer[i] + d;
        expected[i] -= 0.1 * (nesterov ? d + 0.9 * buffer[i] : buffer[i]);
      }
    }
    std::vector<float> value = p.to_vector<float>();
    EXPECT_NEAR(value[0], expected[0], 1e-5);
    EXPECT_NEAR(value[1], expected[1], 1e-5);
  }
}

TEST(Optimizer, AdamFollowsTheFormula) {
  Tensor p = leafOf({1, -2}, {2});
  optim::Adam adam({p}, {.lr = 0.05, .weight_decay = 0.1, .amsgrad = true});
  double x[2] = {1, -2}, m[2] = {}, v[2] = {}, top[2] = {};
  for (int t = 1; t <= 30; ++t) {
    (p * p).sum().backward();
    adam.step();
    adam.zero_grad();
    for (int i = 0; i < 2; ++i) {
      double g = 2 * x[i] + 0.1 * x[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.999 * v[i] + 0.001 * g * g;
      top[i] = std::max(top[i], v[i]);
      x[i] -= 0.05 / (1 - std::pow(0.9, t)) * m[i] /
              (std::sqrt(top[i]) / std::sqrt(1 - std::pow(0.999, t)) + 1e-8);
    }
  }
  std::vector<float> value = p.to_vector<float>();
  EXPECT_NEAR(value[0], x[0], 1e-5);
  EXPECT_NEAR(value[1], x[1], 1e-5);
  EXPECT_ERROR(optim::Adam({p}, {.lr = -1}), "Invalid learning rate");
  EXPECT_ERROR(optim::Adam({}, {}), "empty parameter list");
}
