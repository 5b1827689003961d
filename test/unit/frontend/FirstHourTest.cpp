//===- FirstHourTest.cpp - Programs of the first hour ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first programs of a user of PyTorch, with PyTorch's names: each must compile as it is and give the
// expected values.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>
#include <sstream>

using namespace weft;
using Wholes = std::vector<int64_t>;

TEST(FirstHour, TensorsFromNumbers) {
  Tensor a = weft::tensor({1., 2.}), b = weft::tensor({1, 2}), c = weft::tensor({true, false});
  EXPECT_EQ(a.dtype(), f32);
  EXPECT_EQ(b.dtype(), i64);
  EXPECT_EQ(c.dtype(), i1);
  EXPECT_EQ(weft::tensor({1, 2.5}).to_vector<float>(), (Floats{1, 2.5}));
  Tensor m = weft::tensor({{1., 2.}, {3., 4.}, {5., 6.}});
  EXPECT_EQ(m.sizes(), (Shape{3, 2}));
  EXPECT_EQ(m[1].to_vector<float>(), (Floats{3, 4}));
  EXPECT_EQ(weft::tensor({{{1}}, {{2}}}).sizes(), (Shape{2, 1, 1}));
  EXPECT_EQ(weft::tensor({{5}}).sizes(), (Shape{1, 1}));
  EXPECT_EQ(weft::tensor(3.5).item<float>(), 3.5);
  EXPECT_EQ(weft::tensor(7).dtype(), i64);
  EXPECT_EQ(weft::tensor({0.1}, {.dtype = f64}).item<double>(), 0.1);
  EXPECT_EQ(weft::tensor({1.9, -1.9}, {.dtype = i32}).to_vector<int32_t>(), (std::vector<int32_t>{1, -1}));
  EXPECT_EQ(weft::tensor({9007199254740993}).item<int64_t>(), 9007199254740993);
  EXPECT_EQ(weft::tensor(std::vector<double>{1, 2}).dtype(), f32);
  EXPECT_EQ(weft::tensor(std::vector<int>{1, 2}).dtype(), i64);
  EXPECT_TRUE(weft::tensor({1., 2.}, {.requires_grad = true}).requires_grad());
  EXPECT_EQ(Tensor::from({1, 2, 3, 4}, {2, 2}).dtype(), i64);
  EXPECT_EQ(Tensor::from({1., 2., 3.}, 3).to_vector<float>(), (Floats{1, 2, 3}));
  EXPECT_ERROR(weft::tensor({{1, 2}, {3}}),
               "expected rows of shape [2], as the first one, and found one of shape [1]");
  EXPECT_ERROR(Tensor::from({1, 2, 3}, {2, 2}), "the data has 3 elements, but the shape [2, 2] needs 4");
}

TEST(FirstHour, OneNumberForAListOfThem) {
  Tensor x = arange(6).to(f32).reshape({2, 3});
  EXPECT_EQ(x.sum(-1).to_vector<float>(), (Floats{3, 12}));
  EXPECT_EQ(x.sum({}).item<float>(), 15);
  EXPECT_EQ(x.sum({0, 1}).item<float>(), 15);
  EXPECT_EQ(x.sum({}, true).sizes(), (Shape{1, 1}));
  EXPECT_EQ(x.mean(0).to_vector<float>(), (Floats{1.5, 2.5, 3.5}));
  EXPECT_EQ(x.mean(0, true).sizes(), (Shape{1, 3}));
  EXPECT_EQ(x.amax(1).to_vector<float>(), (Floats{2, 5}));
  EXPECT_EQ(x.amin(0).to_vector<float>(), (Floats{0, 1, 2}));
  EXPECT_EQ(x.prod(1).to_vector<float>(), (Floats{0, 60}));
  EXPECT_EQ(x.var(1).to_vector<float>(), (Floats{1, 1}));
  EXPECT_EQ(x.std(0, 0).to_vector<float>(), (Floats{1.5, 1.5, 1.5}));
  EXPECT_EQ(x.norm(1, -1).to_vector<float>(), (Floats{3, 12}));
  EXPECT_NEAR(x.logsumexp(1).to_vector<float>()[0], 2.4076059f, 1e-6);
  EXPECT_EQ((x > 4).any(1).to(i64).to_vector<int64_t>(), (Wholes{0, 1}));
  EXPECT_EQ((x > 2).all(1).to(i64).to_vector<int64_t>(), (Wholes{0, 1}));
  EXPECT_EQ(x.count_nonzero(0).to_vector<int64_t>(), (Wholes{1, 2, 2}));
  EXPECT_EQ(sum(x, -1).to_vector<float>(), (Floats{3, 12}));
  EXPECT_EQ(var_mean(x, 1).second.to_vector<float>(), (Floats{1, 4}));
  EXPECT_EQ(x.reshape(-1).sizes(), Shape{6});
  EXPECT_EQ(x.view(6).sizes(), Shape{6});
  EXPECT_EQ(zeros(3).sizes(), Shape{3});
  EXPECT_EQ(randn(4).sizes(), Shape{4});
  EXPECT_EQ(full(2, 7.0).to_vector<float>(), (Floats{7, 7}));
  EXPECT_EQ(x.flip(0)[0].to_vector<float>(), (Floats{3, 4, 5}));
  EXPECT_EQ(roll(arange(4), 1).to_vector<int64_t>(), (Wholes{3, 0, 1, 2}));
  EXPECT_EQ(zeros({}).sizes(), Shape{});
  EXPECT_EQ(ones({}).sum({}).item<float>(), 1);
  Shape shape{2, 3};
  EXPECT_EQ(zeros(shape).sizes(), shape);
  EXPECT_EQ(weft::max(x, 1).indices.to_vector<int64_t>(), (Wholes{2, 2}));
  EXPECT_EQ(weft::max(x).item<float>(), 5);
  Tensor dice = randint(6, {100});
  EXPECT_TRUE((dice >= 0).all().item<bool>() && (dice < 6).all().item<bool>());
}

TEST(FirstHour, PrintingAndMoving) {
  std::ostringstream out;
  Tensor x = weft::tensor({1, 2});
  out << x << ' ' << x.dtype() << ' ' << x.device() << ' ' << Tensor();
  EXPECT_EQ(out.str(), "tensor([1, 2]) i64 cpu undefined");
  EXPECT_EQ(x.to(Device("cpu"), f64).dtype(), f64);
  Tensor p = ones(2), g = weft::tensor({1., 3.});
  p.add_(g, -0.5);
  EXPECT_EQ(p.to_vector<float>(), (Floats{0.5, -0.5}));
  EXPECT_EQ(p.sub(g, 0.5).to_vector<float>(), (Floats{0, -2}));
}

TEST(FirstHour, ComparingTensors) {
  Tensor a = weft::tensor({1., 2., NAN}), b = weft::tensor({1., 2. + 1e-6, NAN});
  EXPECT_FALSE(allclose(a, b));
  EXPECT_TRUE(allclose(a, b, 1e-5, 1e-8, /*equal_nan=*/true));
  EXPECT_EQ(isclose(a, b).to(i64).to_vector<int64_t>(), (Wholes{1, 1, 0}));
  EXPECT_TRUE(equal(arange(3), arange(3)));
  EXPECT_FALSE(equal(arange(3), arange(4)));
  EXPECT_TRUE(allclose(weft::tensor({INFINITY}), weft::tensor({INFINITY})));
  EXPECT_FALSE(allclose(weft::tensor({INFINITY}), weft::tensor({1.})));
}

TEST(FirstHour, LinearRegressionByHand) {
  manual_seed(0);
  Tensor x = linspace(-1, 1, 64), y = 3 * x + 2;
  Tensor w = zeros({}, {.requires_grad = true}), b = zeros({}, {.requires_grad = true});
  for (int i = 0; i < 200; ++i) {
    Tensor loss = (w * x + b - y).pow(2).mean();
    loss.backward();
    NoGradGuard no_grad;
    w -= 0.3 * w.grad();
    b -= 0.3 * b.grad();
    w.set_grad({});
    b.set_grad({});
  }
  EXPECT_NEAR(w.item<float>(), 3, 1e-3);
  EXPECT_NEAR(b.item<float>(), 2, 1e-3);
}

TEST(FirstHour, LeastSquaresByNormalEquations) {
  manual_seed(1);
  Tensor a = randn({50, 3}), truth = weft::tensor({1., -2., 0.5}), y = mv(a, truth);
  // Conjugate gradients on the normal equations.
  Tensor m = a.T().mm(a), r = a.T().mv(y), p = r.clone(), s = zeros_like(r);
  for (int i = 0; i < 3; ++i) {
    Tensor mp = m.mv(p), rr = r.dot(r), step = rr / p.dot(mp);
    s = s + step * p;
    r = r - step * mp;
    p = r + (r.dot(r) / rr) * p;
  }
  EXPECT_TRUE(allclose(s, truth, 1e-3, 1e-3));
}

TEST(FirstHour, LogisticRegression) {
  manual_seed(2);
  Tensor x = randn({200, 2}), y = (x.select(1, 0) + 2 * x.select(1, 1) > 0).to(f32);
  nn::Linear model(2, 1);
  optim::SGD sgd(model.parameters(), {.lr = 1.0});
  nn::BCEWithLogitsLoss criterion;
  for (int epoch = 0; epoch < 100; ++epoch) {
    sgd.zero_grad();
    Tensor loss = criterion(model(x).squeeze(), y);
    loss.backward();
    sgd.step();
  }
  Tensor predicted = (sigmoid(model(x)).squeeze(-1) > 0.5).to(f32);
  EXPECT_GT((predicted == y).to(f32).mean().item<float>(), 0.97f);
}

TEST(FirstHour, AClassifierWithValidation) {
  manual_seed(3);
  Tensor x = randn({300, 2}), y = (x.norm(2, 1) > 1.2).to(i64);
  nn::Sequential model(nn::Linear(2, 32), nn::Tanh(), nn::Linear(32, 2));
  optim::Adam adam(model.parameters(), {.lr = 0.05});
  nn::CrossEntropyLoss criterion;
  for (int epoch = 0; epoch < 60; ++epoch) {
    Tensor loss = criterion(model(x.slice(0, 0, 200)), y.slice(0, 0, 200));
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  model.eval();
  Tensor accuracy =
      no_grad([&] { return (model(x.slice(0, 200)).argmax(1) == y.slice(0, 200)).to(f32).mean(); });
  EXPECT_FALSE(accuracy.requires_grad());
  EXPECT_GT(accuracy.item<float>(), 0.85f);
}

TEST(FirstHour, AttentionFromScratch) {
  manual_seed(4);
  Tensor q = randn({2, 4, 5, 8}), k = randn({2, 4, 5, 8}), v = randn({2, 4, 5, 8});
  Tensor scores = matmul(q, k.transpose(-2, -1)) / std::sqrt(8.0);
  Tensor mask = tril(ones({5, 5})) == 0;
  Tensor weights = softmax(scores.masked_fill(mask, -INFINITY), -1);
  Tensor out = matmul(weights, v);
  Tensor same = einsum(
      "bhqk,bhkd->bhqd",
      {softmax(einsum("bhqd,bhkd->bhqk", {q, k}).div(std::sqrt(8.0)).masked_fill(mask, -INFINITY), -1), v});
  EXPECT_TRUE(allclose(out, same, 1e-4, 1e-5));
  EXPECT_TRUE(allclose(weights.sum(-1), ones({2, 4, 5})));
  EXPECT_TRUE(allclose(out.select(2, 0), v.select(2, 0), 1e-5, 1e-6)); // the first sees itself only
}

TEST(FirstHour, AnRnnOverTime) {
  manual_seed(5);
  Tensor x = randn({6, 10, 3}), target = x.sum(-1).cumsum(1).select(1, -1);
  nn::Linear in(3, 16), hidden(16, 16), out(16, 1);
  std::vector<Tensor> parameters = in.parameters();
  for (const auto &layer : {hidden, out})
    for (const Tensor &parameter : layer.parameters())
      parameters.push_back(parameter);
  optim::Adam adam(parameters, {.lr = 0.02});
  auto step = compile([&](Tensor x, Tensor target) {
    Tensor h = zeros({x.size(0), 16});
    for (const Tensor &xt : x.unbind(1))
      h = tanh(in(xt) + hidden(h));
    Tensor loss = nn::mse_loss(out(h).squeeze(1), target);
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss;
  });
  float first = step(x, target).item<float>(), last = 0;
  for (int i = 0; i < 100; ++i)
    last = step(x, target).item<float>();
  EXPECT_LT(last, first / 20);
}

TEST(FirstHour, KMeans) {
  manual_seed(6);
  Tensor centers = weft::tensor({{-5., 0.}, {5., 0.}, {0., 6.}});
  Tensor points = (centers.unsqueeze(1) + 0.3 * randn({3, 40, 2})).reshape({-1, 2});
  Tensor means = points.index_select(0, weft::tensor({0, 50, 100})).clone();
  for (int i = 0; i < 5; ++i) {
    Tensor distance = (points.unsqueeze(1) - means.unsqueeze(0)).pow(2).sum(-1);
    Tensor nearest = distance.argmin(1);
    means = scatter_reduce(means, 0, nearest.unsqueeze(1).expand({-1, 2}), points, "mean",
                           /*include_self=*/false);
  }
  EXPECT_TRUE(allclose(means, centers, 0, 0.3));
}

TEST(FirstHour, PrincipalComponentByPowerIteration) {
  manual_seed(7);
  Tensor direction = weft::tensor({3., 4.}) / 5;
  Tensor x = outer(randn(500), direction) * 3 + 0.2 * randn({500, 2});
  x = x - x.mean(0);
  Tensor covariance = x.t().mm(x) / (x.size(0) - 1), v = ones(2);
  for (int i = 0; i < 20; ++i) {
    v = covariance.mv(v);
    v = v / v.norm();
  }
  EXPECT_NEAR(std::abs(dot(v, direction).item<float>()), 1, 1e-3);
}

TEST(FirstHour, GradientsCheckedByDifferences) {
  Tensor x = weft::tensor({0.3, -1.2, 2.0}, {.dtype = f64, .requires_grad = true});
  auto f = [](const Tensor &x) { return (x.sin() * x.exp()).sum(); };
  std::vector<double> gradient = grad(f(x), {x})[0].to_vector<double>();
  EXPECT_FALSE(x.grad().defined());
  for (int64_t i = 0; i < 3; ++i) {
    auto shifted = [&](double by) {
      Tensor y = x.detach().clone();
      y[i] += by;
      return f(y).item<double>();
    };
    EXPECT_NEAR(gradient[static_cast<size_t>(i)], (shifted(1e-5) - shifted(-1e-5)) / 2e-5, 1e-8);
  }
}

TEST(FirstHour, GradientsOfWhatWasComputed) {
  Tensor x = weft::tensor({1., 2.}, {.requires_grad = true}), h = x * x, y = (h * 3).sum();
  std::vector<Tensor> gradients = grad(y, {h, x});
  EXPECT_EQ(gradients[0].to_vector<float>(), (Floats{3, 3}));
  EXPECT_EQ(gradients[1].to_vector<float>(), (Floats{6, 12}));
  Tensor other = ones(2, {.requires_grad = true});
  EXPECT_ERROR(grad(y, {other}), "appears to not have been used in the graph: input 0");
  EXPECT_ERROR(grad(y, {ones(2)}), "does not require grad");
  EXPECT_ERROR(grad(h, {x}), "only for scalar outputs");
  // Vectors take the weights of their elements.
  h.backward(weft::tensor({1., 10.}));
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{2, 40}));
  EXPECT_ERROR(h.backward(ones(3)), "Mismatch in shape: grad_output has a shape of [3]");
  auto compiled = compile([](Tensor x) { return grad((x * x * x).sum(), {x})[0]; });
  EXPECT_EQ(compiled(x).to_vector<float>(), (Floats{3, 12}));
}

TEST(FirstHour, DescentWithALineSearch) {
  auto bowl = [](const Tensor &p) { return (p[0] - 1).pow(2) + 10 * (p[1] + 2).pow(2); };
  Tensor p = weft::tensor({-1., 1.5}, {.dtype = f64, .requires_grad = true});
  double value = bowl(p).item<double>();
  for (int i = 0; i < 40; ++i) {
    Tensor g = grad(bowl(p), {p})[0];
    double step = 2;
    while ((step /= 2) > 1e-8) {
      Tensor next = (p.detach() - step * g).requires_grad_();
      if (double there = bowl(next).item<double>(); there < value) {
        value = there;
        p = next;
        break;
      }
    }
  }
  EXPECT_LT(value, 1e-3);
}

TEST(FirstHour, AHarmonicOscillator) {
  Tensor position = weft::tensor({1., 0.}, {.dtype = f64}), velocity = weft::tensor({0., 1.}, {.dtype = f64});
  double dt = 0.01;
  auto step = compile([&](Tensor x, Tensor v) {
    v = v - dt * x;
    x = x + dt * v;
    return std::tuple(x, v);
  });
  for (int i = 0; i < 628; ++i)
    std::tie(position, velocity) = step(position, velocity);
  EXPECT_TRUE(allclose(position, weft::tensor({1., 0.}, {.dtype = f64}), 0, 0.02));
}

TEST(FirstHour, HeatOnARod) {
  Tensor u = zeros(21);
  u[10] = 1;
  for (int i = 0; i < 50; ++i) {
    Tensor inner = u.slice(0, 1, -1) + 0.25 * (u.slice(0, 2) - 2 * u.slice(0, 1, -1) + u.slice(0, 0, -2));
    u.slice(0, 1, -1).copy_(inner);
  }
  EXPECT_TRUE(allclose(u, u.flip(0), 0, 1e-6));
  EXPECT_GT(u[10].item<float>(), u[5].item<float>());
}

TEST(FirstHour, MovingAverages) {
  Tensor x = arange(10).to(f32);
  Tensor sums = pad(x.cumsum(0), {1, 0});
  Tensor mean = (sums.slice(0, 3) - sums.slice(0, 0, -3)) / 3;
  EXPECT_EQ(mean.to_vector<float>(), (Floats{1, 2, 3, 4, 5, 6, 7, 8}));
  Tensor smooth = x[0];
  double expected = 0;
  for (int64_t i = 1; i < 10; ++i) {
    smooth = 0.9 * smooth + 0.1 * x[i];
    expected = 0.9 * expected + 0.1 * static_cast<double>(i);
  }
  EXPECT_NEAR(smooth.item<float>(), expected, 1e-5);
}

TEST(FirstHour, StandardisedFeaturesAndOneHotLabels) {
  manual_seed(8);
  Tensor x = randn({50, 4}) * weft::tensor({1., 10., 100., 0.1}) + 5;
  Tensor z = (x - x.mean(0, true)) / x.std(0, 1, true);
  EXPECT_TRUE(allclose(z.mean(0), zeros(4), 0, 1e-5));
  EXPECT_TRUE(allclose(z.std(0), ones(4), 1e-4));
  Tensor labels = weft::tensor({0, 2, 1});
  EXPECT_TRUE(equal(one_hot(labels, 3).to(f32), eye(3).index({labels})));
}

TEST(FirstHour, AssignmentByMaskAndIndex) {
  Tensor x = weft::tensor({{-1., 2.}, {3., -4.}});
  x.index_put_({x < 0}, 0);
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 2, 3, 0}));
  Tensor rows = x.select(1, 0) > 1;
  x.index_put_({rows}, weft::tensor({7., 8.})); // a row for each row of the mask
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 2, 7, 8}));
  x.index_put_({weft::tensor({0, 0})}, weft::tensor({5., 6.}));
  EXPECT_EQ(x[0].to_vector<float>(), (Floats{5, 6}));
  x[1][0] = 9;
  EXPECT_EQ(x[1][0].item<float>(), 9);
  EXPECT_EQ(where(x > 6, {1}, {0}).sum().item<int64_t>(), 2);
  EXPECT_EQ(x.index({x > 6}).to_vector<float>(), (Floats{9, 8}));
  auto chosen = compile([](Tensor a) { return a.index({a > 0}); });
  EXPECT_ERROR(chosen(x), "WEFT-C001");
  EXPECT_ERROR(chosen(x), "where(mask, x, other)");
}

TEST(FirstHour, MonteCarloPi) {
  manual_seed(9);
  Tensor points = rand({200000, 2});
  Tensor inside = (points * points).sum(1) <= 1;
  EXPECT_NEAR(4 * inside.to(f64).mean().item<double>(), 3.14159, 0.02);
}

TEST(FirstHour, ATransformerBlock) {
  manual_seed(10);
  struct Block : nn::Module {
    nn::LayerNorm norm1 = register_module("norm1", nn::LayerNorm(16)),
                  norm2 = register_module("norm2", nn::LayerNorm(16));
    nn::Linear qkv = register_module("qkv", nn::Linear(16, 48)),
               out = register_module("out", nn::Linear(16, 16));
    nn::Linear up = register_module("up", nn::Linear(16, 64)),
               down = register_module("down", nn::Linear(64, 16));
    Tensor operator()(Tensor x) {
      int64_t batch = x.size(0), time = x.size(1);
      auto heads = [&](const Tensor &t) { return t.reshape({batch, time, 4, 4}).transpose(1, 2); };
      std::vector<Tensor> parts = qkv(norm1(x)).chunk(3, -1);
      Tensor weights = softmax(heads(parts[0]).matmul(heads(parts[1]).mT()) / 2, -1);
      Tensor mixed = weights.matmul(heads(parts[2])).transpose(1, 2).reshape({batch, time, 16});
      x = x + out(mixed);
      return x + down(gelu(up(norm2(x))));
    }
  };
  Block block;
  optim::AdamW adam(block.parameters(), {.lr = 1e-2});
  Tensor x = randn({2, 6, 16}), target = x.flip(1);
  float first = 0, last = 0;
  for (int i = 0; i < 30; ++i) {
    Tensor loss = nn::mse_loss(block(x), target);
    adam.zero_grad();
    loss.backward();
    nn::utils::clip_grad_norm_(block.parameters(), 1.0);
    adam.step();
    (i == 0 ? first : last) = loss.item<float>();
  }
  EXPECT_LT(last, first / 2);
}

TEST(FirstHour, AGeneratorOfSequences) {
  manual_seed(11);
  Tensor text = weft::tensor({0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0});
  nn::Embedding embed(4, 8);
  nn::Linear out(8, 4);
  std::vector<Tensor> parameters{embed.weight, out.weight, out.bias};
  optim::Adam adam(parameters, {.lr = 0.1});
  for (int i = 0; i < 40; ++i) {
    Tensor loss = nn::cross_entropy(out(embed(text.slice(0, 0, -1))), text.slice(0, 1));
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  Tensor token = weft::tensor(0);
  Wholes written;
  for (int i = 0; i < 5; ++i) {
    token = out(embed(token)).argmax(-1);
    written.push_back(token.item<int64_t>());
  }
  EXPECT_EQ(written, (Wholes{1, 2, 3, 0, 1}));
}

TEST(FirstHour, AnOptimiserOfWhatIsNoLeaf) {
  Tensor w = randn({2, 2}, {.requires_grad = true}), scaled = w * 2;
  EXPECT_ERROR(optim::SGD({scaled}, {.lr = 0.1}), "can't optimize a non-leaf Tensor");
  EXPECT_ERROR(optim::Adam({w.t()}), "can't optimize a non-leaf Tensor");
  EXPECT_ERROR(optim::Adam({arange(3)}), "floating-point tensors, found i64");
  optim::SGD fine({scaled.detach().clone().requires_grad_()}, {.lr = 0.1});
}

TEST(FirstHour, ProbabilitiesOfBernoulli) {
  EXPECT_ERROR(bernoulli(full({3}, 2.0)), "Expected p_in >= 0 && p_in <= 1");
  EXPECT_ERROR(bernoulli(weft::tensor({0.5, NAN})), "at position 1");
  EXPECT_EQ(bernoulli(weft::tensor({0., 1.})).to_vector<float>(), (Floats{0, 1}));
  auto draw = compile([](Tensor p) { return bernoulli(p); });
  EXPECT_EQ(draw(weft::tensor({1., 0.})).to_vector<float>(), (Floats{1, 0}));
  EXPECT_ERROR(draw(weft::tensor({1., -0.5})).to_vector<float>(), "Expected p_in >= 0 && p_in <= 1");
}

TEST(FirstHour, NumbersThatDoNotFitAreErrors) {
  EXPECT_ERROR(tensor({256, 1}, {.dtype = u8}), "the number 256 does not fit in ");
  EXPECT_ERROR(tensor({0, -1}, {.dtype = u8}), "-1");
  EXPECT_ERROR(tensor({uint64_t{1} << 63}), "9223372036854775808 does not fit in i64");
  EXPECT_EQ(tensor({255, 0}, {.dtype = u8}).to(i64).to_vector<int64_t>(), (std::vector<int64_t>{255, 0}));
  EXPECT_EQ(tensor({-128, 127}, {.dtype = i8}).to(i64).to_vector<int64_t>(),
            (std::vector<int64_t>{-128, 127}));
}

TEST(FirstHour, AConditionIsATruthValue) {
  Tensor x = weft::tensor({0.0, 2.0});
  EXPECT_ERROR(where(x, {1}, {0}),
               "where expected condition to be a boolean tensor, but got a tensor with dtype f32: write a");
  EXPECT_ERROR(where(x.to(i64), {1}, {0}), "dtype i64");
  EXPECT_EQ(where(x != 0, {1}, {0}).to_vector<int64_t>(), (Wholes{0, 1}));
  EXPECT_EQ(where(x.to(u8), {1}, {0}).to_vector<int64_t>(), (Wholes{0, 1})); // a mask of an old program
}

/// Also from functions that compute nothing: each of these is called once, each on a separate line.
TEST(FirstHour, EveryErrorNamesTheLineThatAsked) {
  auto step = compile([](Tensor x) { return x + 1; }, {.name = "step"});
  step(zeros({2}));
  nn::Linear layer(2, 2);
  optim::SGD optimizer(layer.parameters(), {.lr = 0.1});
  Generator generator(1);
  Event untimed;
  int line = 0;
  const auto atLine = [&] { return "FirstHourTest.cpp:" + std::to_string(line); };
  EXPECT_ERROR((line = __LINE__, Device(DeviceType::cuda, 200)), atLine());
  EXPECT_ERROR((line = __LINE__, Stream(Device("cuda:97"))), atLine());
  EXPECT_ERROR((line = __LINE__, Stream::current("cuda:97")), atLine());
  EXPECT_ERROR((line = __LINE__, Stream::default_stream("cuda:97")), atLine());
  EXPECT_ERROR((line = __LINE__, Stream::external({}, nullptr)), atLine());
  EXPECT_ERROR((line = __LINE__, untimed.elapsed_time(untimed)), atLine());
  EXPECT_ERROR((line = __LINE__, synchronize("cuda:97")), atLine());
  EXPECT_ERROR((line = __LINE__, memory_allocated("cuda:97")), atLine());
  EXPECT_ERROR((line = __LINE__, set_per_process_memory_fraction(2)), atLine());
  EXPECT_ERROR((line = __LINE__, step.explain({.variant = 7})), atLine());
  EXPECT_ERROR((line = __LINE__, optimizer.to(i64)), atLine());
  EXPECT_ERROR((line = __LINE__, generator.set_state(zeros({3}))), atLine());
  EXPECT_ERROR((line = __LINE__, nn::init::calculate_gain("softmax")), atLine());
  EXPECT_ERROR((line = __LINE__, profile([] {}).save_chrome_trace("/no/such/folder/trace.json")), atLine());
  EXPECT_ERROR((line = __LINE__, CsvLogger("/proc/no/such.csv", {"loss"})), atLine());
  auto seeds = compile([&](Tensor x) { return line = __LINE__, manual_seed(3), x + 1; });
  EXPECT_ERROR(seeds(zeros({2})), atLine());
  auto copies = compile([&](Tensor x) { return line = __LINE__, clone(layer)(x); });
  EXPECT_ERROR(copies(zeros({2, 2})), atLine());
}
