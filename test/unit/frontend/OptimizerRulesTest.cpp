//===- OptimizerRulesTest.cpp - Optimisers that are formulas --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Their values are compared with PyTorch's over 100 steps (test/parity/test_optim.py). Here is what they
// share: options, state, programs.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;

namespace {

Tensor leafOf(std::vector<double> values) {
  const auto size = static_cast<int64_t>(values.size());
  return Tensor::from(values, {size}).requires_grad_();
}

/// A test of an optimiser whose options are the default ones but for the rate.
template <typename Optimizer> struct Rule {
  static Optimizer make(const Tensor &p, double lr = 0.1) { return Optimizer({p}, {.lr = lr}); }
};

/// Calls `test` with each of them.
void forEachRule(auto test) {
  test.template operator()<optim::RMSprop>("rmsprop");
  test.template operator()<optim::Adagrad>("adagrad");
  test.template operator()<optim::Adadelta>("adadelta");
  test.template operator()<optim::Adamax>("adamax");
  test.template operator()<optim::NAdam>("nadam");
  test.template operator()<optim::RAdam>("radam");
  test.template operator()<optim::ASGD>("asgd");
  test.template operator()<optim::Rprop>("rprop");
  test.template operator()<optim::Adafactor>("adafactor");
}

template <typename Optimizer> void train(Optimizer &optimizer, const Tensor &p, int from, int to) {
  for (int i = from; i < to; ++i) {
    ((p * p).sum() - (p * std::sin(i)).sum()).backward();
    optimizer.step();
    optimizer.zero_grad();
  }
}

} // namespace

TEST(OptimizerRules, OptionsAreChecked) {
  const Tensor p = leafOf({1});
  forEachRule([&]<typename Kind>(const char *) {
    EXPECT_ERROR(Rule<Kind>::make(p, -1), "Invalid learning rate: -1");
    EXPECT_ERROR(Rule<Kind>::make(p, NAN), "Invalid learning rate: nan");
  });
  EXPECT_ERROR(optim::RMSprop({p}, {.alpha = -0.1}), "Invalid alpha value: -0.1");
  EXPECT_ERROR(optim::RMSprop({p}, {.eps = -1}), "Invalid epsilon value");
  EXPECT_ERROR(optim::RMSprop({p}, {.momentum = -1}), "Invalid momentum value");
  EXPECT_ERROR(optim::RMSprop({p}, {.weight_decay = -1}), "Invalid weight_decay value");
  EXPECT_ERROR(optim::Adagrad({p}, {.lr_decay = -1}), "Invalid lr_decay value: -1");
  EXPECT_ERROR(optim::Adagrad({p}, {.initial_accumulator_value = -1}), "Invalid initial_accumulator_value");
  EXPECT_ERROR(optim::Adadelta({p}, {.rho = 1.5}), "Invalid rho value: 1.5");
  EXPECT_ERROR(optim::Adamax({p}, {.betas = {1, 0.999}}), "Invalid beta parameter at index 0");
  EXPECT_ERROR(optim::NAdam({p}, {.momentum_decay = -1}), "Invalid momentum_decay value");
  EXPECT_ERROR(optim::RAdam({p}, {.betas = {0.9, -0.5}}), "Invalid beta parameter at index 1");
  EXPECT_ERROR(optim::ASGD({p}, {.lambd = NAN}), "Invalid lambd value");
  EXPECT_ERROR(optim::ASGD({p}, {.t0 = INFINITY}), "Invalid t0 value");
  EXPECT_ERROR(optim::Rprop({p}, {.eta_minus = 0}), "Invalid eta value at index 0");
  EXPECT_ERROR(optim::Rprop({p}, {.eta_plus = 1}), "Invalid eta value at index 1");
  EXPECT_ERROR(optim::Rprop({p}, {.step_size_max = -1}), "Invalid step size at index 1");
  EXPECT_ERROR(optim::Rprop(std::vector<Tensor>()), "empty parameter list");
  // An error names the caller's line.
  EXPECT_ERROR(optim::Adadelta({p}, {.rho = -1}), "OptimizerRulesTest.cpp");
}

TEST(OptimizerRules, AdafactorKeepsRowsAndColumns) {
  const Tensor matrix = generated({3, 4}, [](size_t i) { return i; }).requires_grad_(), p = leafOf({1, 2});
  optim::Adafactor optimizer({matrix, p});
  ((matrix * matrix).sum() + p.sum()).backward();
  optimizer.step();
  const StateDict state = optimizer.state_dict();
  EXPECT_EQ(namesOf(state)[1], "param0.row_var");
  EXPECT_EQ(state[1].second.sizes(), (Shape{3, 1}));
  EXPECT_EQ(state[2].second.sizes(), (Shape{1, 4}));
  EXPECT_EQ(namesOf(state)[4], "param1.variance");
  EXPECT_EQ(state[4].second.sizes(), Shape{2});
  optim::Adafactor resumed({matrix, p});
  resumed.load_state_dict(state);
  EXPECT_EQ(floats(resumed.state_dict()[2].second), floats(state[2].second));
  optim::Adafactor vectors({leafOf({1, 2})});
  EXPECT_ERROR(vectors.load_state_dict(state), "unexpected: param0.row_var");
  EXPECT_ERROR(optim::Adafactor({p}, {.beta2_decay = 0.1}), "Invalid beta2_decay value: 0.1");
  EXPECT_ERROR(optim::Adafactor({p}, {.eps1 = -1}), "Invalid epsilon1 value: -1");
  EXPECT_ERROR(optim::Adafactor({p}, {.eps2 = -1}), "Invalid epsilon2 value: -1");
  EXPECT_ERROR(optim::Adafactor({p}, {.d = 0.5}), "Invalid clipping threshold d: 0.5");
}

TEST(OptimizerRules, MuonTakesMatrices) {
  const Tensor matrix = generated({3, 2}, [](size_t i) { return i; }).requires_grad_(), p = leafOf({1, 2});
  optim::Muon optimizer({matrix}, {.lr = 0.1, .weight_decay = 0});
  const Tensor before = matrix.detach().clone();
  (matrix * generated({3, 2}, [](size_t i) { return std::sin(double(i)); })).sum().backward();
  optimizer.step();
  // The change is about a matrix with orthonormal columns, times the rate and sqrt(3 / 2).
  const Tensor change = (before - matrix.detach()) / (0.1 * std::sqrt(1.5));
  const Floats values = floats(linalg::svdvals(change));
  for (float value : values)
    EXPECT_NEAR(value, 1, 0.35);
  EXPECT_ERROR(optim::Muon({p}),
               "Muon only supports 2D parameters whereas we found a parameter with size: [2]");
  EXPECT_ERROR(optim::Muon({matrix}, {.ns_steps = 100}), "Number of steps must be less than 100");
  EXPECT_ERROR(optim::Muon({matrix}, {.adjust_lr_fn = "none"}), "Adjust learning rate function none");
  EXPECT_ERROR(optim::Muon({matrix}, {.momentum = -1}), "Invalid momentum value");
  EXPECT_ERROR(optim::Muon({matrix}, {.eps = -1}), "Invalid epsilon value");
}

TEST(OptimizerRules, AMomentumIsAnotherFormula) {
  const Tensor p = leafOf({1});
  optim::RMSprop plain({p}), heavy({p}, {.momentum = 0.9});
  EXPECT_ERROR(plain.set_option("momentum", 0.5), "with and without momentum are two formulas");
  EXPECT_ERROR(heavy.set_option("momentum", 0), "with and without momentum are two formulas");
  heavy.set_option("momentum", 0.5);
  EXPECT_EQ(heavy.option("momentum"), 0.5);
}

TEST(OptimizerRules, DefaultsAreThoseOfPyTorch) {
  const Tensor p = leafOf({1});
  EXPECT_EQ(optim::RMSprop({p}).lr(), 1e-2);
  EXPECT_EQ(optim::Adagrad({p}).option("eps"), 1e-10);
  EXPECT_EQ(optim::Adadelta({p}).lr(), 1);
  EXPECT_EQ(optim::Adadelta({p}).option("eps"), 1e-6);
  EXPECT_EQ(optim::Adamax({p}).lr(), 2e-3);
  EXPECT_EQ(optim::NAdam({p}).option("momentum_decay"), 4e-3);
  EXPECT_EQ(optim::RAdam({p}).lr(), 1e-3);
  EXPECT_EQ(optim::ASGD({p}).option("t0"), 1e6);
  EXPECT_EQ(optim::Rprop({p}).option("eta_plus"), 1.2);
}

TEST(OptimizerRules, CompiledAndLazyStepsHaveTheSameBits) {
  forEachRule([&]<typename Kind>(const char *name) {
    const Tensor p = leafOf({1, -2, 0.5}), q = leafOf({1, -2, 0.5});
    Kind lazy = Rule<Kind>::make(p), inside = Rule<Kind>::make(q);
    auto step = compile([&](Tensor shift) {
      ((q * q).sum() - (q * shift).sum()).backward();
      inside.step();
      inside.zero_grad();
    });
    uint64_t count = 0;
    for (int i = 0; i < 6; ++i) {
      const Tensor shift = Tensor::from(std::vector<double>{std::sin(i)}, Shape{});
      ((p * p).sum() - (p * shift).sum()).backward();
      lazy.step();
      lazy.zero_grad();
      step(shift);
      if (i == 2)
        count = compile_count();
      // Rates and counts are data.
      lazy.set_lr(0.1 / (i + 1));
      inside.set_lr(0.1 / (i + 1));
    }
    EXPECT_EQ(compile_count(), count) << name;
    EXPECT_EQ(bitsOf({q}), bitsOf({p})) << name;
  });
}

TEST(OptimizerRules, StateIsSavedAndRestored) {
  forEachRule([&]<typename Kind>(const char *name) {
    Tensor p = leafOf({1, 2}), q = leafOf({0, 0});
    Kind a = Rule<Kind>::make(p), b = Rule<Kind>::make(q, 0.3);
    train(a, p, 0, 5);
    const StateDict saved = to_host(a.state_dict());
    {
      NoGradGuard guard;
      q.copy_(p);
    }
    train(a, p, 5, 10);
    b.load_state_dict(saved); // before any step: state is made
    EXPECT_EQ(b.lr(), 0.1) << name;
    train(b, q, 5, 10);
    EXPECT_EQ(bitsOf({q}), bitsOf({p})) << name;
    StateDict damaged = saved;
    damaged[1].second = zeros({7});
    EXPECT_ERROR(b.load_state_dict(damaged), "size mismatch: param0.");
  });
}

// The averages of a step are of the parameter's type, and numbers of a parameter stay f32.
TEST(OptimizerRules, StateFollowsTheTypeButItsNumbersDoNot) {
  Tensor p = Tensor::from(std::vector<float>{1, 2}, {2}).requires_grad_();
  optim::NAdam nadam({p}, {.lr = 0.1});
  train(nadam, p, 0, 2);
  p.set_data(p.detach().to(f64));
  EXPECT_ERROR(train(nadam, p, 2, 3), "WEFT-O003");
  nadam.to(f64);
  train(nadam, p, 2, 4);
  for (const auto &[name, tensor] : nadam.state_dict()) {
    if (name == "param0.exp_avg")
      EXPECT_EQ(tensor.dtype(), f64);
    if (name == "param0.mu_product")
      EXPECT_EQ(tensor.dtype(), f32);
  }
}

TEST(OptimizerRules, OptionsBelongToTheirGroup) {
  const Tensor p = leafOf({1}), q = leafOf({1}), twin = leafOf({1});
  optim::Adagrad both({p}, {.lr = 0.1}), alone({twin}, {.lr = 0.5, .initial_accumulator_value = 2});
  both.add_param_group({q}, {.lr = 0.5, .initial_accumulator_value = 2});
  for (int i = 0; i < 3; ++i) {
    (p * p + q * q + twin * twin).sum().backward();
    both.step();
    alone.step();
    both.zero_grad();
    alone.zero_grad();
  }
  EXPECT_EQ(bitsOf({q}), bitsOf({twin}));
  EXPECT_NE(bitsOf({p}), bitsOf({q}));
}

// A decay of zero leaves a gradient as it is, though 0 times infinity is NaN.
TEST(OptimizerRules, NoDecayReadsNoParameter) {
  Tensor p = leafOf({INFINITY, 1});
  optim::Adadelta adadelta({p});
  p.set_grad(Tensor::from(std::vector<double>{1, 1}, {2}));
  adadelta.step();
  EXPECT_EQ(p.to_vector<double>()[0], INFINITY);
}

// State is made at the first step, from the rate of that time: as PyTorch's.
TEST(OptimizerRules, AScheduleMayComeBeforeTheFirstStep) {
  const auto first = [](auto make) {
    Tensor p = leafOf({0});
    auto optimizer = make(p);
    const optim::LinearLR warmup(optimizer, 0.1, 1, 5);
    p.set_grad(Tensor::from(std::vector<double>{1}, {1}));
    optimizer.step();
    return p.to_vector<double>()[0];
  };
  EXPECT_NEAR(first([](const Tensor &p) { return optim::Rprop({p}, {.lr = 0.1}); }), -0.01, 1e-12);
  EXPECT_NEAR(first([](const Tensor &p) { return optim::ASGD({p}, {.lr = 0.1}); }), -0.01, 1e-9);
}

// A square of 300 is no f16; PyTorch rounds once, after it was multiplied by 1 - alpha.
TEST(OptimizerRules, SquaresOfHalvesDoNotOverflow) {
  for (const DType dtype : {f16, bf16}) {
    Tensor p = zeros({1}, {.dtype = dtype}).requires_grad_();
    optim::RMSprop rmsprop({p}, {.lr = 0.1});
    p.set_grad(full({1}, 300, {.dtype = dtype}));
    rmsprop.step();
    EXPECT_NEAR(p.detach().to(f32).item<float>(), -1, 0.01);
    EXPECT_NEAR(rmsprop.state_dict()[1].second.to(f32).item<float>(), 900, 4);
  }
}

TEST(OptimizerRules, RpropRestsAfterAnInfiniteGradient) {
  Tensor p = leafOf({0});
  optim::Rprop rprop({p}, {.lr = 0.1});
  for (const double gradient : {1.0, -double(INFINITY)}) {
    p.set_grad(Tensor::from(std::vector<double>{gradient}, {1}));
    rprop.step();
  }
  EXPECT_EQ(p.to_vector<double>()[0], -0.1);
  const StateDict state = rprop.state_dict();
  EXPECT_EQ(state[1].second.item<double>(), 0); // the gradient that counts as the one before
  EXPECT_EQ(state[2].second.item<double>(), 0.05);
}

TEST(OptimizerRules, LoadedNumbersAreChecked) {
  const Tensor p = leafOf({1});
  optim::Adadelta adadelta({p});
  StateDict state = to_host(adadelta.state_dict());
  for (auto &[name, tensor] : state)
    if (name == "group0.rho")
      tensor = full({}, 2.0, {.dtype = f64});
  EXPECT_ERROR(adadelta.load_state_dict(state), "invalid: group0.rho: Invalid rho value: 2.0");
  optim::RMSprop plain({p}), heavy({p}, {.momentum = 0.9});
  EXPECT_ERROR(plain.load_state_dict(to_host(heavy.state_dict())),
               "with and without momentum are two formulas");
}
