//===- LrSchedulerTest.cpp - Learning-rate schedules ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/parity/test_optim.py compares the rates with PyTorch's.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

using namespace weft;

namespace {
optim::SGD sgd(double lr = 0.4) {
  return optim::SGD({zeros({2}).requires_grad_()}, {.lr = lr, .momentum = 0.9});
}
} // namespace

TEST(LrScheduler, GroupsHaveBasesOfTheirOwn) {
  optim::SGD optimizer = sgd();
  optimizer.add_param_group({zeros({3}).requires_grad_()}, {.lr = 0.1, .momentum = 0.9});
  optim::LambdaLR schedule(optimizer, [](int64_t epoch) { return epoch == 0 ? 0.5 : 2.0; });
  EXPECT_EQ(optimizer.lr(0), 0.2);
  EXPECT_EQ(optimizer.lr(1), 0.05);
  schedule.step();
  EXPECT_EQ(schedule.get_last_lr(1), 0.2);
  EXPECT_EQ(optimizer.lr(0), 0.8);
  EXPECT_EQ(schedule.last_epoch(), 1);
  EXPECT_ERROR(schedule.get_last_lr(2), "there are 2 groups, and group 2 was asked for");
}

TEST(LrScheduler, NothingIsCompiledAgain) {
  Tensor weight = ones({2}).requires_grad_();
  optim::SGD optimizer({weight}, {.lr = 1});
  optim::ExponentialLR schedule(optimizer, 0.5);
  auto step = compile([&](Tensor x) {
    (weight * x).sum().backward();
    optimizer.step();
    optimizer.zero_grad();
  });
  for (int i = 0; i < 3; ++i) {
    step(ones({2}));
    schedule.step();
  }
  EXPECT_EQ(floats(weight.detach()), (Floats{-0.75, -0.75})); // 1 - 1 - 0.5 - 0.25
  EXPECT_EQ(step.variants().size(), 1U);
  auto wrong = compile([&](Tensor x) {
    schedule.step();
    return x;
  });
  EXPECT_ERROR(wrong(ones({2})), "inside a compiled function would happen once");
}

TEST(LrScheduler, StateResumes) {
  optim::SGD first = sgd(), second = sgd();
  auto make = [](optim::SGD &o) {
    return optim::SequentialLR(o, {optim::LinearLR(o, 0.1, 1, 4), optim::lr_scheduler::StepLR(o, 2, 0.5)},
                               {4});
  };
  auto a = make(first), b = make(second);
  for (int i = 0; i < 7; ++i)
    a.step();
  second.set_lr(first.lr());
  b.load_state_dict(a.state_dict());
  for (int i = 0; i < 5; ++i) {
    a.step();
    b.step();
    EXPECT_EQ(first.lr(), second.lr());
  }
  EXPECT_EQ(b.last_epoch(), 12);
  StateDict state = a.state_dict();
  state[0].first = "epoch";
  EXPECT_ERROR(b.load_state_dict(state), "missing entry last_epoch");
  EXPECT_EQ(b.check_state_dict(state).size(), 2U);
  state = a.state_dict();
  state[0].second = zeros({2});
  EXPECT_ERROR(b.load_state_dict(state), "has shape [2] and not []");
}

TEST(LrScheduler, Errors) {
  optim::SGD o = sgd();
  EXPECT_ERROR(optim::StepLR(o, 0), "a step_size of at least 1, found 0");
  EXPECT_ERROR(optim::ConstantLR(o, 2), "a factor in [0, 1]");
  EXPECT_ERROR(optim::LinearLR(o, 0), "a start_factor in (0, 1]");
  EXPECT_ERROR(optim::PolynomialLR(o, 0), "total_iters of at least 1");
  EXPECT_ERROR(optim::CosineAnnealingLR(o, 0), "T_max of at least 1");
  EXPECT_ERROR(optim::CosineAnnealingWarmRestarts(o, 1, 0), "T_0 and T_mult of at least 1");
  EXPECT_ERROR(optim::OneCycleLR(o, 1, 0), "total_steps of at least 1");
  EXPECT_ERROR(optim::OneCycleLR(o, 1, 5, {.pct_start = 2}), "pct_start in [0, 1]");
  EXPECT_ERROR(optim::CyclicLR(o, 0.1, 1, {.step_size_up = 0}),
               "step_size_up and step_size_down of at least 1");
  EXPECT_ERROR(optim::CyclicLR(o, 0.1, 1, {.mode = "square"}), "found 'square'");
  optim::Adagrad plain({zeros({1}).requires_grad_()});
  EXPECT_ERROR(optim::CyclicLR(plain, 0.1, 1), "optimizer must support momentum or beta1");
  EXPECT_ERROR(optim::OneCycleLR(plain, 1, 5), "'adagrad' has neither");
  optim::CyclicLR alone(plain, 0.1, 1, {.step_size_up = 2, .cycle_momentum = false});
  alone.step();
  EXPECT_EQ(plain.lr(), 0.55);
  optim::RMSprop heavy({zeros({1}).requires_grad_()}, {.momentum = 0.5});
  const optim::CyclicLR both(heavy, 0.1, 1);
  EXPECT_EQ(heavy.option("momentum"), 0.9);
  EXPECT_ERROR(optim::ReduceLROnPlateau(o, {.factor = 1}), "a factor in (0, 1)");
  EXPECT_ERROR(optim::SequentialLR(o, {}, {}), "schedulers and one milestone less");
  optim::SGD other = sgd();
  EXPECT_ERROR(optim::SequentialLR(o, {optim::StepLR(other, 1)}, {}), "schedulers of the optimiser");
  EXPECT_ERROR(optim::ChainedScheduler({}), "at least one scheduler to be chained");
  EXPECT_ERROR(optim::ChainedScheduler({optim::StepLR(o, 1), optim::StepLR(other, 1)}),
               "schedulers of the optimiser");
  optim::OneCycleLR cycle(o, 1, 2);
  cycle.step();
  cycle.step();
  EXPECT_ERROR(cycle.step(), "step 3 is beyond the total_steps of 2");
}
