//===- LbfgsTest.cpp - An optimiser that evaluates its function itself -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;
using weft::optim::LBFGS;
using weft::optim::LBFGSOptions;

namespace {

/// Rosenbrock's function, whose least value, 0, is at (1, 1).
struct Valley {
  Tensor p = Tensor::from(std::vector<double>{-1.2, 1}, {2}).requires_grad_();
  int evaluations = 0;
  Tensor loss() const { return 100 * (p[1] - p[0].square()).square() + (1 - p[0]).square(); }
  std::function<Tensor()> closure() {
    return [this] {
      ++evaluations;
      p.set_grad({});
      const Tensor value = loss();
      value.backward();
      return value;
    };
  }
};

} // namespace

TEST(Lbfgs, FindsTheLeastValue) {
  Valley valley;
  LBFGS optimizer({valley.p}, {.max_iter = 50, .line_search_fn = "strong_wolfe"});
  const Tensor first = optimizer.step(valley.closure());
  EXPECT_NEAR(first.item<double>(), 24.2, 1e-12);
  EXPECT_FALSE(first.requires_grad());
  for (int i = 0; i < 3; ++i)
    optimizer.step(valley.closure());
  const auto found = valley.p.to_vector<double>();
  EXPECT_NEAR(found[0], 1, 1e-4);
  EXPECT_NEAR(found[1], 1, 1e-4);
}

TEST(Lbfgs, HoldsToItsBudget) {
  Valley valley;
  LBFGS optimizer({valley.p}, {.max_iter = 4});
  optimizer.step(valley.closure());
  EXPECT_EQ(valley.evaluations, 4); // the last iteration is not evaluated
  Valley searched;
  LBFGS search({searched.p}, {.max_iter = 100, .max_eval = 7, .line_search_fn = "strong_wolfe"});
  search.step(searched.closure());
  EXPECT_GE(searched.evaluations, 7);
  EXPECT_LE(searched.evaluations, 9);
}

TEST(Lbfgs, CompilesNothingForALongerHistory) {
  Valley valley;
  LBFGS optimizer({valley.p}, {.lr = 0.01, .max_iter = 6});
  optimizer.step(valley.closure());
  synchronize();
  const uint64_t before = compile_count();
  optimizer.step(valley.closure());
  EXPECT_EQ(compile_count(), before);
}

TEST(Lbfgs, StateResumes) {
  Valley one, other;
  const LBFGSOptions options{.max_iter = 3, .history_size = 2, .line_search_fn = "strong_wolfe"};
  LBFGS whole({one.p}, options), first({other.p}, options);
  EXPECT_EQ(namesOf(first.state_dict()), (Names{"n_iter", "func_evals", "lr"}));
  for (int i = 0; i < 4; ++i)
    whole.step(one.closure());
  for (int i = 0; i < 2; ++i)
    first.step(other.closure());
  LBFGS second({other.p}, options);
  second.load_state_dict(first.state_dict());
  for (int i = 0; i < 2; ++i)
    second.step(other.closure());
  EXPECT_EQ(one.p.to_bytes(), other.p.to_bytes());
  EXPECT_EQ(bitsOf({whole.state_dict()[6].second}), bitsOf({second.state_dict()[6].second}));
  StateDict state = first.state_dict();
  state.pop_back();
  EXPECT_ERROR(second.load_state_dict(state), "missing: old_stps");
  state = first.state_dict();
  state[6].second = ones({3}, {.dtype = f64});
  EXPECT_ERROR(second.load_state_dict(state), "size mismatch: d");
}

TEST(Lbfgs, AStateIsTakenWholeOrNotAtAll) {
  Valley one, other;
  const auto optionsOf = [](int64_t history) {
    return LBFGSOptions{.max_iter = 6, .history_size = history, .line_search_fn = "strong_wolfe"};
  };
  LBFGS wide({one.p}, optionsOf(5)), narrow({other.p}, optionsOf(2));
  wide.step(one.closure());
  const StateDict state = wide.state_dict();
  const Tensor &changes = state[10].second;
  const int64_t count = changes.size(0);
  ASSERT_GT(count, 2);
  // The newest pairs of a longer history.
  narrow.load_state_dict(state);
  EXPECT_EQ(floats(narrow.state_dict()[10].second), floats(changes.narrow(0, count - 2, 2)));
  narrow.step(other.closure());
  EXPECT_EQ(narrow.state_dict()[10].second.size(0), 2);
  const StateDict before = narrow.state_dict();
  for (const double lr : {double(NAN), -1.0}) {
    StateDict bad = state;
    bad[2].second = Tensor::from(std::vector<double>{lr}, Shape{});
    EXPECT_EQ(narrow.check_state_dict(bad).size(), 1U);
    EXPECT_ERROR(narrow.load_state_dict(bad), "it must be finite and not negative");
  }
  const StateDict after = narrow.state_dict();
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(before[i].second.to_bytes(), after[i].second.to_bytes()) << before[i].first;
}

TEST(Lbfgs, Errors) {
  Valley valley;
  EXPECT_ERROR(LBFGS({}, {}), "empty parameter list");
  EXPECT_ERROR(LBFGS({valley.p}, {.lr = -1}), "Invalid learning rate: -1");
  EXPECT_ERROR(LBFGS({valley.p}, {.max_iter = 0}), "max_iter must be above 0");
  EXPECT_ERROR(LBFGS({valley.p}, {.history_size = 0}), "history_size must be above 0");
  EXPECT_ERROR(LBFGS({valley.p}, {.line_search_fn = "wolfe"}), "only 'strong_wolfe' is supported");
  EXPECT_ERROR(LBFGS({valley.p, ones({2}).requires_grad_()}, {}), "of one dtype and on one device");
  LBFGS optimizer({valley.p}, {});
  EXPECT_ERROR(optimizer.set_lr(NAN), "Invalid learning rate");
  EXPECT_ERROR(compile([&](Tensor x) {
                 optimizer.step(valley.closure());
                 return x;
               })(ones({1})),
               "LBFGS::step");
}
