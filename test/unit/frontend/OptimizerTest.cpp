//===- OptimizerTest.cpp - Optimisers, schedules, clipping ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <algorithm>
#include <cmath>

using namespace weft;

namespace {
/// The update rules of torch.optim for one number, in double.
struct SgdReference {
  optim::SGDOptions o;
  double x, buffer = 0;
  bool started = false;
  void step(double g) {
    g = (o.maximize ? -g : g) + o.weight_decay * x;
    if (o.momentum != 0) {
      buffer = started ? o.momentum * buffer + (1 - o.dampening) * g : g;
      started = true;
      g = o.nesterov ? g + o.momentum * buffer : buffer;
    }
    x -= o.lr * g;
  }
};

struct AdamReference {
  optim::AdamOptions o;
  bool decoupled;
  double x, m = 0, v = 0, top = 0;
  int t = 0;
  void step(double g) {
    ++t;
    if (o.maximize)
      g = -g;
    if (decoupled)
      x *= 1 - o.lr * o.weight_decay;
    else
      g += o.weight_decay * x;
    m += (1 - o.betas[0]) * (g - m);
    v = o.betas[1] * v + (1 - o.betas[1]) * g * g;
    top = std::max(top, v);
    double root = std::sqrt(o.amsgrad ? top : v) / std::sqrt(1 - std::pow(o.betas[1], t));
    x -= o.lr / (1 - std::pow(o.betas[0], t)) * m / (root + o.eps);
  }
};

Tensor leaf64(std::vector<double> values) {
  auto size = static_cast<int64_t>(values.size());
  return Tensor::from(values, {size}).requires_grad_();
}
/// The gradient is 2x - sin(i): it changes sign on the way.
Tensor lossOf(const Tensor &p, const Tensor &phase) { return (p * p).sum() - (p * sin(phase)).sum(); }
double gradientAt(double x, int i) { return 2 * x - std::sin(i); }
Tensor phase(int i) { return Tensor::from(std::vector<double>{double(i)}, Shape{}); }

/// 100 steps of `optimizer` on `p`, compiled, beside as many of references.
template <typename Optimizer, typename Reference>
void compareSteps(Optimizer optimizer, Tensor p, std::vector<Reference> references, const std::string &what) {
  auto step = compile([&](Tensor i) {
    lossOf(p, i).backward();
    optimizer.step();
    optimizer.zero_grad();
  });
  for (int i = 0; i < 100; ++i) {
    step(phase(i));
    for (Reference &reference : references)
      reference.step(gradientAt(reference.x, i));
  }
  EXPECT_EQ(step.variants().size(), 1u) << what;
  std::vector<double> values = p.to_vector<double>();
  for (size_t k = 0; k < values.size(); ++k)
    EXPECT_NEAR(values[k], references[k].x, 1e-12 * std::max(1.0, std::abs(references[k].x))) << what;
}
} // namespace

// In f64 so that a wrong formula cannot hide behind rounding.
TEST(Optimizer, SgdIsThatOfPyTorchOver100Steps) {
  std::vector<std::pair<const char *, optim::SGDOptions>> cases{
      {"plain", {.lr = 0.05}},
      {"decay", {.lr = 0.05, .weight_decay = 0.1}},
      {"momentum", {.lr = 0.02, .momentum = 0.9}},
      {"dampening", {.lr = 0.02, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.01}},
      {"nesterov", {.lr = 0.02, .momentum = 0.8, .weight_decay = 0.01, .nesterov = true}},
      {"maximize", {.lr = 0.001, .momentum = 0.5, .weight_decay = 0.01, .maximize = true}}};
  for (auto &[name, options] : cases) {
    Tensor p = leaf64({1, -2, 0.5});
    std::vector<SgdReference> references{{options, 1}, {options, -2}, {options, 0.5}};
    compareSteps(optim::SGD({p}, options), p, references, name);
  }
}

TEST(Optimizer, AdamAndAdamWAreThoseOfPyTorchOver100Steps) {
  std::vector<std::pair<const char *, optim::AdamOptions>> cases{
      {"plain", {.lr = 0.05}},
      {"decay", {.lr = 0.05, .weight_decay = 0.1}},
      {"betas", {.lr = 0.05, .betas = {0.5, 0.9}, .eps = 1e-3}},
      {"amsgrad", {.lr = 0.05, .betas = {0.9, 0.5}, .weight_decay = 0.1, .amsgrad = true}},
      {"maximize", {.lr = 0.001, .weight_decay = 0.1, .maximize = true}}};
  for (auto &[name, options] : cases) {
    for (bool decoupled : {false, true}) {
      Tensor p = leaf64({1, -2, 0.5});
      std::vector<AdamReference> references;
      for (double x : {1.0, -2.0, 0.5})
        references.push_back({options, decoupled, x});
      const optim::AdamWOptions decayed{options.lr,           options.betas,   options.eps,
                                        options.weight_decay, options.amsgrad, options.maximize};
      if (decoupled)
        compareSteps(optim::AdamW({p}, decayed), p, references, std::string(name) + " decoupled");
      else
        compareSteps(optim::Adam({p}, options), p, references, name);
    }
  }
}

TEST(Optimizer, GroupsHaveOptionsOfTheirOwn) {
  Tensor a = leaf64({1}), b = leaf64({1}), c = leaf64({1});
  optim::Adam adam({a}, {.lr = 0.1});
  adam.add_param_group({b}, {.lr = 0.01, .amsgrad = true});
  adam.add_param_group({c}, {.lr = 0});
  EXPECT_EQ(adam.group_count(), 3u);
  EXPECT_EQ(adam.parameters().size(), 3u);
  AdamReference ra{{.lr = 0.1}, false, 1}, rb{{.lr = 0.01, .amsgrad = true}, false, 1};
  for (int i = 0; i < 20; ++i) {
    (lossOf(a, phase(i)) + lossOf(b, phase(i)) + lossOf(c, phase(i))).backward();
    if (i == 10) {
      adam.set_lr(0.2, 1);
      rb.o.lr = 0.2;
    }
    adam.step();
    adam.zero_grad();
    ra.step(gradientAt(ra.x, i));
    rb.step(gradientAt(rb.x, i));
  }
  EXPECT_NEAR(a.to_vector<double>()[0], ra.x, 1e-12);
  EXPECT_NEAR(b.to_vector<double>()[0], rb.x, 1e-12);
  EXPECT_EQ(c.to_vector<double>()[0], 1);
  EXPECT_EQ(adam.lr(0), 0.1);
  EXPECT_EQ(adam.lr(1), 0.2);
  adam.set_lr(0.5);
  EXPECT_EQ(adam.lr(2), 0.5);
  EXPECT_ERROR(adam.add_param_group({a}, {}), "more than one parameter group");
  EXPECT_ERROR(optim::SGD({b, b}, {}), "or twice in one");
  EXPECT_ERROR(adam.set_lr(0.1, 3), "there is no group 3");
}

TEST(Optimizer, OptionsAndRatesAreChecked) {
  Tensor p = leaf64({1});
  EXPECT_ERROR(optim::SGD({p}, {.lr = -1}), "Invalid learning rate: -1");
  EXPECT_ERROR(optim::Adam({p}, {.betas = {1, 0.999}}), "beta parameter at index 0");
  EXPECT_ERROR(optim::SGD({p}, {.momentum = 0.9, .dampening = 0.1, .nesterov = true}), "Nesterov momentum");
  EXPECT_ERROR(optim::SGD({}, {}), "empty parameter list");
  optim::Adam adam({p});
  for (double wrong : {-1e-3, double(NAN), double(INFINITY)})
    EXPECT_ERROR(adam.set_lr(wrong), "Invalid learning rate");
  EXPECT_EQ(adam.lr(), 1e-3);
}

TEST(Optimizer, NumbersOfGroupsChangeAndCompileNothing) {
  for (bool compiled : {false, true}) {
    Tensor p = leaf64({2}), twin = leaf64({2});
    optim::AdamW adam({p}, {.lr = 0.1}),
        same({twin}, {.lr = 0.1, .betas = {0.5, 0.999}, .weight_decay = 0.3});
    adam.set_option("beta1", 0.5);
    adam.set_option("weight_decay", 0.3, 0);
    EXPECT_EQ(adam.option("weight_decay"), 0.3);
    const std::function<void(const Tensor &, optim::AdamW &)> body = [](const Tensor &x, optim::AdamW &o) {
      o.zero_grad();
      (x * x).sum().backward();
      o.step();
    };
    auto f = compile([&](Tensor) { body(p, adam); });
    auto g = compile([&](Tensor) { body(twin, same); });
    uint64_t count = 0;
    for (int i = 0; i < 4; ++i) {
      compiled ? f(zeros({1})) : body(p, adam);
      compiled ? g(zeros({1})) : body(twin, same);
      if (i == 1)
        count = compile_count();
      adam.set_option("eps", 1e-3 * i);
      same.set_option("eps", 1e-3 * i);
    }
    EXPECT_EQ(compile_count(), count);
    EXPECT_EQ(p.to_vector<double>(), twin.to_vector<double>());
  }
  Tensor p = leaf64({1});
  optim::SGD plain({p}, {}), heavy({p}, {.momentum = 0.9, .nesterov = true});
  heavy.set_option("momentum", 0.5);
  EXPECT_ERROR(plain.set_option("momentum", 0.5), "with and without momentum are two formulas");
  EXPECT_ERROR(heavy.set_option("momentum", 0), "with and without momentum are two formulas");
  EXPECT_ERROR(heavy.set_option("dampening", 0.5), "zero dampening");
  EXPECT_ERROR(heavy.set_option("weight_decay", -1), "Invalid weight_decay value: -1");
  EXPECT_ERROR(heavy.set_option("beta1", 0.5), "there are lr, momentum, dampening, weight_decay");
  EXPECT_EQ(heavy.option("momentum"), 0.5);
  // All groups or none, and the line is the caller's.
  Tensor q = leaf64({1});
  heavy.add_param_group({q}, {.momentum = 0});
  EXPECT_ERROR(heavy.set_option("momentum", 0.25), "OptimizerTest.cpp");
  EXPECT_EQ(heavy.option("momentum", 0), 0.5);
}

// As in PyTorch, each parameter has a step count: for one that requires a gradient only later, the bias
// corrections start then, and one without a gradient does not change.
TEST(Optimizer, EachParameterCountsItsOwnSteps) {
  for (bool compiled : {false, true}) {
    Tensor a = leaf64({1}), b = leaf64({1}), c = leaf64({1});
    optim::Adam adam({a, b, c}, {.lr = 0.05});
    AdamReference ra{{.lr = 0.05}, false, 1}, rb = ra, rc = ra;
    auto both = [&](Tensor i) {
      (lossOf(a, i) + lossOf(b, i)).backward();
      adam.step();
      adam.zero_grad();
    };
    auto one = [&](Tensor i) {
      lossOf(b, i).backward();
      adam.step();
      adam.zero_grad();
    };
    auto all = [&](Tensor i) {
      (lossOf(a, i) + lossOf(b, i) + lossOf(c, i)).backward();
      adam.step();
      adam.zero_grad();
    };
    auto bothCompiled = compile(both), oneCompiled = compile(one), allCompiled = compile(all);
    for (int i = 0; i < 40; ++i) {
      bool together = i % 4 < 2, late = i >= 30;
      Tensor x = phase(i);
      if (late)
        compiled ? allCompiled(x) : all(x);
      else if (together)
        compiled ? bothCompiled(x) : both(x);
      else
        compiled ? oneCompiled(x) : one(x);
      rb.step(gradientAt(rb.x, i));
      if (late || together)
        ra.step(gradientAt(ra.x, i));
      if (late)
        rc.step(gradientAt(rc.x, i));
    }
    EXPECT_NEAR(a.to_vector<double>()[0], ra.x, 1e-12) << compiled;
    EXPECT_NEAR(b.to_vector<double>()[0], rb.x, 1e-12) << compiled;
    EXPECT_NEAR(c.to_vector<double>()[0], rc.x, 1e-12) << compiled;
    // Once the counts are split, nothing compiles again.
    uint64_t before = compile_count();
    for (int i = 40; i < 50; ++i)
      allCompiled(phase(i));
    if (compiled)
      EXPECT_EQ(compile_count(), before);
  }
}

TEST(Optimizer, AFailedTraceTakesItsStateWithIt) {
  Tensor p = leaf64({1}), q = leaf64({2});
  optim::Adam adam({p, q});
  auto broken = compile([&] {
    (p * p).sum().backward();
    adam.step();
    return matmul(zeros({2, 3}), zeros({2, 3}));
  });
  EXPECT_ERROR(broken(), "cannot be multiplied");
  EXPECT_EQ(adam.state_dict().size(), 5u);
  (p * p + q * q).sum().backward();
  adam.step();
  EXPECT_EQ(adam.state_dict().size(), 11u);
  EXPECT_EQ(adam.state_dict()[0].second.item<int64_t>(), 1);
}

// State that was made before the parameter moved is an error that says what to do.
TEST(Optimizer, StateThatStayedBehindIsAnError) {
  nn::Linear linear(2, 1);
  optim::Adam adam(linear.parameters());
  auto backward = [&] {
    linear(ones({1, 2}, {.dtype = linear.weight.dtype(), .device = linear.weight.device()})).sum().backward();
  };
  linear.half(); // before the first step: state follows
  backward();
  adam.step();
  linear.float_();
  std::string message = errorOf([&] { adam.step(); });
  for (const char *part : {"WEFT-O003", "'weight' is f16", "the parameter is f32", "optimizer.to(weft::f32)"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  adam.to(f32);
  adam.step();
  EXPECT_EQ(adam.state_dict()[0].second.item<int64_t>(), 2) << "the step that failed did not count";
  linear.to("cuda:0");
  message = errorOf([&] { adam.step(); });
  for (const char *part : {"WEFT-O003", "on cpu", "on cuda:0 now", "optimizer.to(\"cuda:0\")"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

// Gradients are undefined until backward() makes them: a step does not fill them, and a parameter without one
// does not change. With zero_grad(false) they are zeros, and weight decay is applied.
TEST(Optimizer, GradientsAreSetToNoneOrToZeros) {
  for (bool compiled : {false, true}) {
    Tensor w = leaf64({4});
    optim::SGD sgd({w}, {.lr = 0.5, .weight_decay = 1});
    auto decay = [&] { sgd.step(); };
    auto zeros = [&] { sgd.zero_grad(false); };
    auto decayCompiled = compile(decay), zerosCompiled = compile(zeros);
    auto step = [&] { compiled ? decayCompiled() : decay(); };
    step();
    EXPECT_EQ(w.item<double>(), 4);
    sgd.zero_grad(false);
    EXPECT_FALSE(w.grad().defined()) << "what is not there stays away";
    (w * 2).sum().backward();
    compiled ? zerosCompiled() : zeros();
    EXPECT_EQ(w.grad().item<double>(), 0);
    step();
    EXPECT_EQ(w.item<double>(), 2);
    sgd.zero_grad();
    EXPECT_FALSE(w.grad().defined());
    step();
    EXPECT_EQ(w.item<double>(), 2);
  }
  nn::Linear linear(3, 2);
  linear(ones({1, 3})).sum().backward();
  linear.zero_grad(false);
  EXPECT_EQ(linear.bias.grad().to_vector<float>(), (std::vector<float>{0, 0}));
  linear.zero_grad();
  EXPECT_FALSE(linear.bias.grad().defined());
}

TEST(Optimizer, AStepFillsNoGradient) {
  nn::Linear linear(3, 2);
  optim::SGD sgd(linear.parameters(), {.lr = 0.1, .momentum = 0.9});
  auto step = compile([&](Tensor x, bool toNone) {
    Tensor loss = (linear(x) * x.sum()).sum();
    loss.backward();
    sgd.step();
    sgd.zero_grad(toNone);
    return loss;
  });
  // Zeros of a parameter's shape are in the plan where they were asked for, and nowhere else.
  for (bool toNone : {true, false}) {
    step(ones({5, 3}), toNone);
    const std::string plan = step.mlir("plan");
    for (const char *shape : {"2x3xf32", "2xf32"})
      EXPECT_EQ(plan.find("dense<0.000000e+00> : tensor<" + std::string(shape)) == std::string::npos, toNone)
          << shape << "\n"
          << plan;
  }
}

TEST(Optimizer, TheRateChangesAThousandTimesWithoutCompiling) {
  Tensor p = leaf64({1});
  optim::SGD sgd({p}, {.lr = 0.1});
  auto step = compile([&] {
    (p * p).sum().backward();
    sgd.step();
    sgd.zero_grad();
  });
  step();
  double expected = 1 - 0.1 * 2;
  uint64_t before = compile_count();
  for (int i = 0; i < 1000; ++i) {
    double lr = optim::cosine_lr(0.1, i, 1000);
    sgd.set_lr(lr);
    step();
    expected -= lr * 2 * expected;
  }
  EXPECT_EQ(compile_count(), before);
  EXPECT_NEAR(p.to_vector<double>()[0] / expected, 1, 1e-10);
}

TEST(Optimizer, StateIsSavedAndRestored) {
  auto train = [](optim::Adam &adam, Tensor &p, int from, int to) {
    for (int i = from; i < to; ++i) {
      lossOf(p, phase(i)).backward();
      adam.step();
      adam.zero_grad();
    }
  };
  Tensor p = leaf64({1, 2}), q = leaf64({0, 0});
  optim::Adam a({p}, {.lr = 0.1}), b({q}, {.lr = 0.3});
  train(a, p, 0, 5);
  StateDict saved = to_host(a.state_dict());
  {
    NoGradGuard guard;
    q.copy_(p);
  }
  train(a, p, 5, 10);
  b.load_state_dict(saved); // before any step: state is made
  EXPECT_EQ(b.lr(), 0.1);
  train(b, q, 5, 10);
  EXPECT_EQ(q.to_vector<double>(), p.to_vector<double>());
  // Loading into existing state compiles nothing again.
  {
    NoGradGuard guard;
    q.copy_(Tensor::from(std::vector<double>{1, 2}, {2}));
  }
  synchronize();
  uint64_t before = compile_count();
  StateDict fresh = optim::Adam({leaf64({1, 2})}, {.lr = 0.1}).state_dict();
  b.load_state_dict(fresh);
  train(b, q, 0, 10);
  EXPECT_EQ(q.to_vector<double>(), p.to_vector<double>());
  EXPECT_LE(compile_count(), before + 1) << "zeros for the state that starts afresh";
  std::erase_if(saved, [](const auto &entry) { return entry.first == "group0.lr"; });
  saved[2].second = zeros({3});
  saved.emplace_back("other", zeros({}));
  auto bits = bitsOf({b.state_dict()[0].second, b.state_dict()[2].second});
  std::string message = errorOf([&] { b.load_state_dict(saved); });
  for (const char *part :
       {"missing: group0.lr", "size mismatch: param0.exp_avg_sq has shape [2], the state has [3]",
        "unexpected: other"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(bitsOf({b.state_dict()[0].second, b.state_dict()[2].second}), bits);
}

TEST(Schedules, HaveTheirValues) {
  EXPECT_DOUBLE_EQ(optim::cosine_lr(1, 0, 10), 1);
  EXPECT_DOUBLE_EQ(optim::cosine_lr(1, 5, 10, 0.2), 0.6);
  EXPECT_DOUBLE_EQ(optim::cosine_lr(1, 99, 10, 0.2), 0.2);
  EXPECT_DOUBLE_EQ(optim::step_lr(1, 29, 10), 0.01);
  EXPECT_DOUBLE_EQ(optim::linear_warmup_lr(1, 0, 4), 0.25);
  EXPECT_DOUBLE_EQ(optim::linear_warmup_lr(1, 3, 4), 1);
  EXPECT_DOUBLE_EQ(optim::warmup_cosine_lr(1, 1, 4, 14), 0.5);
  EXPECT_DOUBLE_EQ(optim::warmup_cosine_lr(1, 9, 4, 14), 0.5);
}

TEST(Clip, ScalesByTheNormOfAllGradients) {
  auto gradients = [](std::vector<Tensor> &p) {
    p = {leaf64({1, 1}), leaf64({1}), leaf64({1})};
    p[0].set_grad(Tensor::from(std::vector<double>{3, -4}, {2}));
    p[1].set_grad(Tensor::from(std::vector<double>{12}, {1})); // the third has none
  };
  std::vector<Tensor> p;
  for (auto [type, norm] :
       {std::pair{2.0, 13.0}, {1.0, 19.0}, {double(INFINITY), 12.0}, {3.0, std::cbrt(1819.0)}}) {
    gradients(p);
    Tensor found = nn::utils::clip_grad_norm_(p, 2, type);
    EXPECT_NEAR(found.item<double>(), norm, 1e-12);
    double factor = 2 / (norm + 1e-6);
    EXPECT_NEAR(p[0].grad().to_vector<double>()[1], -4 * factor, 1e-12);
    EXPECT_NEAR(p[1].grad().to_vector<double>()[0], 12 * factor, 1e-12);
    EXPECT_FALSE(p[2].grad().defined());
    gradients(p);
    nn::utils::clip_grad_norm_(p, 100, type); // below the bound nothing changes
    EXPECT_EQ(p[0].grad().to_vector<double>(), (std::vector<double>{3, -4}));
  }
  gradients(p);
  nn::utils::clip_grad_value_(p, 3.5);
  EXPECT_EQ(p[0].grad().to_vector<double>(), (std::vector<double>{3, -3.5}));
  EXPECT_EQ(p[1].grad().item<double>(), 3.5);
  EXPECT_EQ(nn::utils::clip_grad_norm_({leaf64({1})}, 1).item<float>(), 0);
  EXPECT_ERROR(nn::utils::clip_grad_norm_(p, -1), "max_norm must not be negative");
  EXPECT_ERROR(nn::utils::clip_grad_norm_(p, 1, 0), "norm_type must be positive");
  EXPECT_ERROR(nn::utils::clip_grad_value_(p, -1), "clip_value must not be negative");
}

TEST(Clip, IsPartOfACompiledStepAndGivesTheSameBits) {
  std::vector<std::vector<float>> results;
  for (bool compiled : {false, true}) {
    manual_seed(4);
    nn::Sequential net(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 1));
    optim::SGD sgd(net.parameters(), {.lr = 0.1, .momentum = 0.9});
    Tensor x = randn({32, 8});
    auto body = [&](Tensor in) {
      (net(in) * 100).sum().backward();
      Tensor norm = nn::utils::clip_grad_norm_(net.parameters(), 1.0);
      sgd.step();
      sgd.zero_grad();
      return norm;
    };
    auto step = compile(body);
    std::vector<float> norms;
    for (int i = 0; i < 5; ++i)
      norms.push_back((compiled ? step(x) : body(x)).item<float>());
    EXPECT_GT(norms[0], 1);
    results.push_back(norms);
    results.back().push_back(net(x).sum().item<float>());
  }
  EXPECT_EQ(results[0], results[1]);
}
