//===- GradientTest.cpp - backward, lazily and compiled ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <algorithm>
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

// PyTorch frees the graph at the first backward(); here it lives as long as the values that were computed.
TEST(Gradient, OfOneGraphTwice) {
  Tensor a = leafOf({2}, {1});
  Tensor loss = (a * a).sum();
  loss.backward();
  loss.backward();
  EXPECT_EQ(a.grad().to_vector<float>(), std::vector<float>{8});
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

TEST(Gradient, OfLeavesWhoseValueWasReadOrWrittenSince) {
  Tensor w = leafOf({1, 2}, {2});
  Tensor fresh = ones({2}, {.requires_grad = true}), loss = (fresh * fresh * w).sum();
  EXPECT_EQ(loss.item<float>(), 3);
  std::vector<Tensor> gradients = grad(loss, {fresh, w});
  EXPECT_EQ(gradients[0].to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(gradients[1].to_vector<float>(), (std::vector<float>{1, 1}));
  Tensor before = (w * w).sum();
  no_grad([&] { w -= 0.5; });
  EXPECT_EQ(grad(before, {w})[0].to_vector<float>(), (std::vector<float>{2, 4}));
  // Gradients of values that were computed before and after the write are added, as in backward().
  Tensor both = before + (w * 10).sum();
  EXPECT_EQ(grad(both, {w, w})[1].to_vector<float>(), (std::vector<float>{12, 14}));
  both.backward();
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{12, 14}));

  nn::Linear layer(3, 2);
  Tensor printed = layer(ones({1, 3})).sum();
  printed.item<float>();
  EXPECT_EQ(grad(printed, {layer.bias})[0].to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(Gradient, OfALeafBeyondAFlush) {
  Tensor w = ones({2}, {.requires_grad = true}), sum = w * 0;
  for (int i = 0; i < 5000; ++i)
    sum = sum + w;
  EXPECT_EQ(grad(sum.sum(), {w})[0].to_vector<float>(), (std::vector<float>{5000, 5000}));
}

TEST(Gradient, OfValuesComputedFromOneAnother) {
  for (bool read : {false, true}) {
    Tensor x = leafOf({1, 2}, {2}), h = x * x, k = x * 5, g = h * h, loss = (g * 3 + k).sum();
    if (read)
      loss.item<float>(); // everything before the gradient is there already
    std::vector<Tensor> gradients = grad(loss, {g, x, h, k, g});
    EXPECT_EQ(gradients[0].to_vector<float>(), (std::vector<float>{3, 3}));
    EXPECT_EQ(gradients[1].to_vector<float>(), (std::vector<float>{17, 101}));
    EXPECT_EQ(gradients[2].to_vector<float>(), (std::vector<float>{6, 24}));
    EXPECT_EQ(gradients[3].to_vector<float>(), (std::vector<float>{1, 1}));
    EXPECT_EQ(gradients[4].to_vector<float>(), (std::vector<float>{3, 3}));
  }
}

TEST(Gradient, OfManyInputs) {
  std::vector<Tensor> inputs;
  Tensor sum = zeros({});
  for (int i = 0; i < 1000; ++i) {
    inputs.push_back(ones({}, {.requires_grad = true}));
    sum = sum + inputs.back() * i;
  }
  std::vector<Tensor> gradients = grad(sum, inputs);
  ASSERT_EQ(gradients.size(), inputs.size());
  EXPECT_EQ(gradients[0].item<float>(), 0);
  EXPECT_EQ(gradients[999].item<float>(), 999);
}

TEST(Gradient, OfConstantGradientsAreZeros) {
  Tensor x = tensor({1, 2}, {2}).requires_grad_();
  const Tensor g = grad((2 * x).sum(), {x}, {.create_graph = true})[0];
  EXPECT_TRUE(g.requires_grad()); // PyTorch has none here, and refuses the next line
  EXPECT_EQ(grad(g.sum(), {x})[0].to_vector<float>(), (std::vector<float>{0, 0}));
  (g * x).sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{2, 2}));
}

TEST(Gradient, OfGradients) {
  for (bool compiled : {false, true}) {
    Tensor p = leafOf({1, 2, 3}, {3}), v = tensor({1, 1, 2}, {3});
    auto run = [&](auto body) {
      return compiled ? compile(body)().template to_vector<float>() : body().template to_vector<float>();
    };
    // The Hessian of the sum of p^4 has 12 p^2 on its diagonal; times v, by both ways to say it.
    auto first = [&] { return grad((p * p * p * p).sum(), {p}, {.create_graph = true})[0]; };
    EXPECT_EQ(run([&] { return grad(first(), {p}, {.grad_outputs = {v}})[0]; }), (Floats{12, 48, 216}));
    EXPECT_EQ(run([&] { return grad((first() * v).sum(), {p})[0]; }), (Floats{12, 48, 216}));
    // And its derivative.
    EXPECT_EQ(run([&] {
                Tensor second = grad((first() * v).sum(), {p}, {.create_graph = true})[0];
                return grad(second.sum(), {p})[0];
              }),
              (Floats{24, 48, 144}));
  }
}

// The norm of the gradient with respect to the inputs as a part of the loss (Gulrajani et al., 2017).
TEST(Gradient, PenaltiesTrain) {
  manual_seed(0);
  nn::Linear first(3, 8), second(8, 1);
  const Tensor images = randn({4, 3});
  auto penalty = [&] {
    Tensor x = images.detach();
    x.requires_grad_();
    Tensor slope = grad(second(tanh(first(x))).sum(), {x}, {.create_graph = true})[0].norm(2, {1});
    return ((slope - 1) * (slope - 1)).mean();
  };
  penalty().backward();
  const Floats lazy = floats(second.weight.grad());
  second.zero_grad();
  auto step = compile([&] {
    Tensor loss = penalty();
    loss.backward();
    return loss;
  });
  step();
  const Floats compiled = floats(second.weight.grad()), weights = floats(second.weight);
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(compiled[i], lazy[i], 1e-6);
    const auto at = [&](float change) {
      Floats moved = weights;
      moved[i] += change;
      no_grad([&] { second.weight.copy_(Tensor::from(moved, {1, 8})); });
      return penalty().item<float>();
    };
    EXPECT_NEAR((at(1e-2F) - at(-1e-2F)) / 2e-2, lazy[i], 2e-3);
    at(0);
  }
}

TEST(Gradient, HasTheOptionsOfPyTorch) {
  Tensor p = leafOf({1, 2}, {2}), unused = leafOf({3}, {1}), v = tensor({2, 5}, {2});
  EXPECT_ERROR(grad(p.sum(), {p, unused}), "input 1 of grad(); with allow_unused its gradient is undefined");
  std::vector<Tensor> gradients = grad(p.sum(), {unused, p}, {.allow_unused = true});
  EXPECT_FALSE(gradients[0].defined());
  EXPECT_EQ(floats(gradients[1]), (Floats{1, 1}));
  gradients = grad(p.sum(), {unused, p}, {.materialize_grads = true});
  EXPECT_EQ(floats(gradients[0]), Floats{0});
  EXPECT_FALSE(gradients[0].requires_grad());
  // With a graph, zeros are leaves, as in PyTorch: a penalty of them alone has a gradient.
  Tensor none = grad(p.sum(), {unused}, {.create_graph = true, .materialize_grads = true})[0];
  ((none + 1) * (none + 1)).sum().backward();
  EXPECT_EQ(floats(none.grad()), Floats{2});
  EXPECT_FALSE(unused.grad().defined());
  EXPECT_FALSE(grad((p * 2).sum(), {unused}, {.allow_unused = true})[0].defined());
  // Several outputs: their gradients are added. An undefined factor is 1.
  gradients = grad(std::vector<Tensor>{p * p, p.sum()}, {p}, {.grad_outputs = {v, Tensor()}});
  EXPECT_EQ(floats(gradients[0]), (Floats{5, 21}));
  EXPECT_ERROR(grad(p * p, {p}), "grad can be implicitly created only for scalar outputs");
  EXPECT_ERROR(grad(p * p, {p}, {.grad_outputs = {v.reshape({1, 2})}}), "grad_output has a shape of (1, 2)");
  EXPECT_ERROR(grad(p.sum(), {p}, {.grad_outputs = {v, v}}), "1 outputs and 2 grad_outputs");
  EXPECT_ERROR(grad(std::vector<Tensor>{}, {p}), "non-empty outputs");
  EXPECT_ERROR(grad(v, {p}, {.grad_outputs = {v}}), "does not require grad and does not have a grad_fn");
  // What is computed while gradients are off has none; a gradient may be asked for then.
  Tensor sum = (p * v).sum();
  no_grad([&] { EXPECT_EQ(floats(grad(sum, {p})[0]), (Floats{2, 5})); });
  EXPECT_FALSE(grad(sum, {p})[0].requires_grad());
  EXPECT_TRUE(grad((p * p).sum(), {p}, {.create_graph = true})[0].requires_grad());
}

// Factors are constants of the derivative. With create_graph they keep their history, which must not be part
// of it.
TEST(Gradient, FactorsThatDependOnTheInput) {
  Tensor p = leafOf({1, 2}, {2}), v = leafOf({3, 4}, {2});
  EXPECT_EQ(floats(grad(p * p, {p}, {.grad_outputs = {p}})[0]), (Floats{2, 8}));
  // Factors that depend on the input: the gradient is that of the outputs alone, and its derivative is of
  // both.
  const Tensor both = grad(p * p, {p}, {.grad_outputs = {p * 2}, .create_graph = true})[0];
  EXPECT_EQ(floats(both), (Floats{4, 16})); // 2 p 2 p
  EXPECT_EQ(floats(grad(both.sum(), {p})[0]), (Floats{8, 16}));
  p.set_grad({});
  (p * p).backward(p * 2, /*retain_graph=*/true, /*create_graph=*/true);
  const Tensor first = p.grad();
  p.set_grad({});
  first.sum().backward();
  EXPECT_EQ(floats(p.grad()), (Floats{8, 16}));
  p.set_grad({});
  // The transpose of the derivative, as products with its columns are computed.
  const Tensor gradient = grad(p * p, {p}, {.grad_outputs = {v}, .create_graph = true})[0];
  EXPECT_EQ(floats(grad(gradient.sum(), {v})[0]), (Floats{2, 4}));
  (p * p).backward(v, true, true);
  EXPECT_FALSE(v.grad().defined());
  const Tensor third = p.grad();
  p.set_grad({});
  third.sum().backward();
  EXPECT_EQ(floats(p.grad()), (Floats{6, 8}));
  EXPECT_EQ(floats(v.grad()), (Floats{2, 4}));
}

TEST(Gradient, OfNothingAndOfGradientsWithoutAGraph) {
  Tensor w = leafOf({1, 2}, {2}), loss = (w * w).sum();
  EXPECT_TRUE(grad(loss, {}).empty());
  EXPECT_ERROR(grad(grad(loss, {w})[0].sum(), {w}), "it was computed from a gradient without create_graph");
  auto f = compile([](Tensor x) {
    x.requires_grad_();
    return (x * x).sum();
  });
  EXPECT_ERROR(f(ones({2})).backward(), "requires_grad_() was called inside a compiled function");
}

// What fails adds to no gradient, whether it was there or not.
TEST(Gradient, OfABackwardThatFailsAreNotAdded) {
  Tensor a = leafOf({1}, {1}), b = leafOf({2}, {1}), c = leafOf({3}, {1});
  a.set_grad(ones({1}));
  const auto loss = [&] {
    Tensor h = b * c;
    h.retain_grad();
    return std::pair(h, (a * h).sum());
  };
  const auto expectNone = [&](const Tensor &h) {
    EXPECT_EQ(a.grad().item<float>(), 1);
    EXPECT_FALSE(b.grad().defined() || c.grad().defined() || h.grad().defined());
  };
  // The hook of a leaf, and that of a value in between.
  auto [h, product] = loss();
  RemovableHandle handle =
      c.register_hook([](const Tensor &) -> Tensor { throw std::runtime_error("the hook fails"); });
  EXPECT_THROW(product.backward(), std::runtime_error);
  expectNone(h);
  handle.remove();
  auto [k, other] = loss();
  Tensor middle = k * 1;
  middle.register_hook([](const Tensor &g) { return g.reshape({1, 1}); });
  EXPECT_ERROR((other + middle.sum()).backward(), "a hook has changed the shape");
  expectNone(k);
  // An index that is out of range, though some of the gradients do not depend on it.
  auto [l, third] = loss();
  (third + l.index_select(0, Tensor::from(std::vector<int64_t>{4}, {1})).sum()).backward();
  EXPECT_ERROR(floats(b.grad()), "out of bounds");
  EXPECT_EQ(a.grad().item<float>(), 1);
  EXPECT_FALSE(b.grad().defined() || c.grad().defined() || l.grad().defined());
  // A gradient that cannot be written.
  c.set_grad(ones({1}).detach());
  EXPECT_ERROR((a * b * c).sum().backward({}, true, /*create_graph=*/true), "WEFT-G004");
  EXPECT_EQ(a.grad().item<float>(), 1);
  EXPECT_FALSE(b.grad().defined());
  EXPECT_EQ(c.grad().item<float>(), 1);
  (a * b * c).sum().backward();
  EXPECT_EQ(a.grad().item<float>(), 7);
  EXPECT_EQ(c.grad().item<float>(), 3);
}

TEST(Gradient, ErrorsOfFactoriesNameTheCallersLine) {
  TensorOptions wrong{.dtype = DType::i64, .requires_grad = true};
  EXPECT_ERROR(ones({2}, wrong), "GradientTest.cpp");
  EXPECT_ERROR(full({2}, 1, wrong), "GradientTest.cpp");
  EXPECT_ERROR(arange(0., 4., 1., wrong), "GradientTest.cpp");
  EXPECT_ERROR(linspace(0., 4., 5, wrong), "GradientTest.cpp");
  EXPECT_ERROR(eye(2, {}, wrong), "GradientTest.cpp");
  EXPECT_ERROR(weft::tensor({1, 2}, wrong), "GradientTest.cpp");
  EXPECT_ERROR(randint(0, 4, {2}, wrong), "GradientTest.cpp");
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
