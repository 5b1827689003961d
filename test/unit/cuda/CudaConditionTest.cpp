//===- CudaConditionTest.cpp - Conditions on a GPU ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values and gradients are those of the host. A GPU computes both branches if they are small, and otherwise
// the one that is taken (CudaBranchTest.cpp).
//
//===----------------------------------------------------------------------===//
#include "test/unit/frontend/Helpers.h"

#include <cmath>
#include <functional>

using namespace weft;

namespace {

struct Layers {
  Tensor x, w, b;
  explicit Layers(Device device)
      : x(arange(12).to(f32).reshape({3, 4}).div(7).sub(1).to(device)),
        w(arange(16).to(f32).reshape({4, 4}).div(9).sub(1).to(device)),
        b(arange(4).to(f32).sub(2).to(device)) {
    for (Tensor tensor : {x, w, b})
      tensor.requires_grad_();
  }
  Tensor chosen(const Tensor &pred) const {
    return cond(
        pred,
        [this](const Tensor &at) {
          const auto step = [this](const Tensor &h) { return std::pair(tanh(matmul(h, w)), std::tuple<>{}); };
          return scan(step, at, 2).first + b;
        },
        [this](const Tensor &at) { return sqrt(at) * b; }, x);
  }
  /// Without the loop, for which a GPU chooses: it computes both branches.
  Tensor selected(const Tensor &pred) const {
    return cond(
        pred, [this](const Tensor &at) { return tanh(matmul(at, w)) + b; },
        [this](const Tensor &at) { return sqrt(at) * b; }, x);
  }
};

} // namespace

TEST(CudaCondition, HasTheValuesAndGradientsOfTheHost) {
  for (const auto form : {&Layers::chosen, &Layers::selected})
    for (const bool pred : {true, false}) {
      Layers host("cpu"), there("cuda:0");
      const auto limitOf = [&](const Layers &layers) {
        return layers.x.detach().sum() > (pred ? -100.0 : 100.0);
      };
      const Tensor expected = (host.*form)(limitOf(host)), found = (there.*form)(limitOf(there));
      EXPECT_EQ(found.device(), Device("cuda:0"));
      if (pred) { // the root of the other branch is not a number for some elements, and so are its gradients
        expected.sum().backward();
        found.sum().backward();
        EXPECT_TRUE(allclose(there.x.grad().cpu(), host.x.grad(), 1e-4, 1e-5));
        EXPECT_TRUE(allclose(there.w.grad().cpu(), host.w.grad(), 1e-4, 1e-5));
        EXPECT_TRUE(allclose(there.b.grad().cpu(), host.b.grad(), 1e-4, 1e-5));
      }
      EXPECT_TRUE(allclose(found.cpu(), expected, 1e-4, 1e-5, true));
    }
}

TEST(CudaCondition, SaysWhetherBothBranchesAreComputed) {
  const Layers there("cuda:0");
  auto run = compile([&](const Tensor &pred) { return there.chosen(pred); });
  // A predicate of the host is moved.
  EXPECT_EQ(run(full({}, true, {.dtype = DType::i1})).device(), Device("cuda:0"));
  const std::string text = run.explain({.full = true});
  EXPECT_FALSE(mentions(text, "WEFT-T009")) << text;
  EXPECT_TRUE(mentions(text, "branch to")) << text;
  auto small = compile([&](const Tensor &pred) { return there.selected(pred); });
  (void)small(full({}, true, {.dtype = DType::i1}));
  const std::string both = small.explain({.full = true});
  EXPECT_TRUE(mentions(both, "WEFT-T009")) << both;
  EXPECT_TRUE(mentions(both, "together they take less time than a decision")) << both;
  EXPECT_FALSE(mentions(both, "branch to")) << both;
}

// Each order of gradients, as a graph from the third call on. The root in the other branch has no gradient.
TEST(CudaCondition, ItsGradientsAreConditionsToo) {
  const Layers host("cpu"), there("cuda:0");
  const auto of = [](const Layers &layers) {
    return [&layers](const Tensor &limit) {
      const Tensor made = layers.chosen(layers.x.detach().sum() < limit);
      const std::vector<Tensor> first =
          grad((made * made).sum(), {layers.x, layers.w, layers.b}, {.create_graph = true});
      std::vector<Tensor> all = grad(first[0].sum(), {layers.x, layers.b}, {.allow_unused = true});
      all.insert(all.end(), first.begin(), first.end());
      return all;
    };
  };
  auto run = compile(of(there));
  // The elements are -1 to 4/7: roots of those below 0 are not numbers, and neither are their gradients.
  for (const double limit : {100.0, 100.0, 100.0, -100.0, 100.0}) {
    const std::vector<Tensor> expected = of(host)(full({}, limit)), found = run(full({}, limit).to("cuda:0"));
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(allclose(found[i].cpu(), expected[i], 1e-4, 1e-5, true)) << i << " at " << limit;
  }
  EXPECT_TRUE(mentions(run.explain({.full = true}), "WEFT-C009"));
}

// A plan is in at most 32 loops and branches. Those of the innermost conditions are both computed.
TEST(CudaCondition, MayBeInManyOthers) {
  const std::function<Tensor(const Tensor &, const Tensor &, int)> ladder =
      [&](const Tensor &x, const Tensor &level, int deep) {
        if (!deep)
          return x.sort(0).values;
        return cond(
            level > double(deep), [&](const Tensor &at) { return at * double(deep); },
            [&](const Tensor &at) { return ladder(at, level, deep - 1); }, x);
      };
  auto run = compile([&](const Tensor &x, const Tensor &level) { return ladder(x, level, 34); });
  const Tensor x = tensor({3.0, 1.0, 2.0}).to("cuda:0");
  for (int call = 0; call < 4; ++call)
    for (const double level : {0.0, 1.5, 2.5, 30.5}) {
      const double factor = std::floor(level);
      EXPECT_EQ(floats(run(x, full({}, level).to("cuda:0"))),
                level < 1 ? Floats({1, 2, 3}) : floats(x.cpu() * factor))
          << level;
    }
  EXPECT_TRUE(mentions(run.explain({.full = true}), "they are in 32 loops and branches"));
}

TEST(CudaCondition, FailsForTheBranchThatIsTakenOnly) {
  const Tensor table = arange(10).to(f32).reshape({5, 2}).to("cuda:0");
  const auto run = [&](bool pred, int64_t at) {
    const Tensor index = Tensor::from(std::vector<int64_t>{0, 1, at}, {3}).to("cuda:0");
    return floats(cond(
        full({}, pred, {.dtype = DType::i1}), [&](const Tensor &i) { return table.index_select(0, i); },
        [&](const Tensor &) { return table.slice(0, 0, 3); }, index));
  };
  EXPECT_EQ(run(true, 3), Floats({0, 1, 2, 3, 6, 7}));
  EXPECT_EQ(run(false, 9), Floats({0, 1, 2, 3, 4, 5}));
  EXPECT_ERROR((void)run(true, 9), "index 9 is out of bounds for dimension 0 with size 5 (at position 2)");
  EXPECT_EQ(run(true, 4), Floats({0, 1, 2, 3, 8, 9}));
}

TEST(CudaCondition, AnEmptyDimensionFailsForTheBranchThatIsTakenOnly) {
  const Tensor none = zeros({0, 2}, {.device = "cuda:0"}),
               at = zeros({3}, {.dtype = i64, .device = "cuda:0"});
  const auto run = [&](bool pred) {
    return floats(cond(
        full({}, pred, {.dtype = DType::i1}), [&](const Tensor &i) { return none.index_select(0, i); },
        [](const Tensor &) { return ones({3, 2}, {.device = "cuda:0"}); }, at));
  };
  EXPECT_EQ(run(false), Floats(6, 1));
  EXPECT_ERROR((void)run(true), "index is out of bounds for dimension 0 with size 0");
  EXPECT_EQ(run(false), Floats(6, 1));
}

TEST(CudaCondition, TakesWhatItsBranchesMakeOfTheHost) {
  const Tensor x = ones({3}, {.device = "cuda:0"});
  Tensor onHost = tensor({4.0, 5.0, 6.0});
  onHost.requires_grad_();
  const auto shift = [] { return tensor({1, 2, 3}, {.device = "cuda:0"}); };
  const auto run = [&](const Tensor &in) {
    return cond(
        in.sum() > 0,
        [&](const Tensor &a) {
          return cond(
              a.sum() > 0, [&](const Tensor &b) { return (b + shift()) * onHost.to("cuda:0"); },
              [](const Tensor &b) { return b; }, a);
        },
        [&](const Tensor &a) { return shift().to(f32) - a; }, in);
  };
  EXPECT_EQ(floats(run(x)), Floats({8, 15, 24}));
  EXPECT_EQ(floats(run(-x)), Floats({2, 3, 4}));
  auto compiled = compile(run);
  EXPECT_EQ(floats(compiled(x)), Floats({8, 15, 24}));
  run(x).sum().backward();
  EXPECT_EQ(floats(onHost.grad()), Floats({2, 3, 4}));
  const auto [last, all] = scan(
      [&](const Tensor &h, const Tensor &row) {
        const Tensor next = h + row * shift();
        return std::pair(next, next);
      },
      x, ones({5, 3}, {.device = "cuda:0"}));
  EXPECT_EQ(floats(last), Floats({6, 11, 16}));
  EXPECT_EQ(floats(all[0]), Floats({2, 3, 4}));
}
