//===- CompiledGradientsTest.cpp - Gradients in and of compiled functions ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

using namespace weft;
using autograd::AutogradContext;
using Floats = std::vector<float>;
using Tensors = std::vector<Tensor>;

namespace {

Tensor leafOf(Floats values) {
  const auto size = static_cast<int64_t>(values.size());
  return tensor(std::move(values), {size}).requires_grad_();
}

/// The gradient of the sum of a tensor, through which gradients flow.
Tensor slope(const Tensor &y, const Tensor &x) { return grad(y.sum(), {x}, {.create_graph = true})[0]; }

/// x * x * x, with a derivative of its own that has derivatives.
struct Cubed : autograd::Function<Cubed> {
  static Tensor forward(AutogradContext *ctx, const Tensor &x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static Tensors backward(AutogradContext *ctx, const Tensors &grads) {
    return {grads[0] * 3 * ctx->saved_tensors()[0].square()};
  }
};

/// Twice the argument; gradients of both results are added.
struct Both : autograd::Function<Both> {
  static std::pair<Tensor, Tensor> forward(AutogradContext *, const Tensor &x) { return {x * 2, x * 3}; }
  static Tensors backward(AutogradContext *, const Tensors &grads) { return {grads[0] * 2 + grads[1] * 3}; }
};

using Function = std::function<Tensor(Tensor, Tensor)>;

/// The gradients with respect to x and w of a program that has the function as a part.
std::pair<Floats, Floats> gradientsOf(const Function &f) {
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  for (int call = 0; call < 2; ++call) { // the second one finds the function compiled
    x.set_grad({});
    w.set_grad({});
    ((w * w).sum() + (x * f(x, w)).sum()).backward();
  }
  return {floats(x.grad()), floats(w.grad())};
}

/// Checks that a compiled function passes the gradients on that it passes on when it is called.
void expectGradientsOfThePlainFunction(const Function &f) {
  const auto [plainX, plainW] = gradientsOf(f);
  const auto [x, w] = gradientsOf(compile([&](Tensor a, Tensor b) { return f(a, b); }));
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(x[i], plainX[i], 1e-5 * std::abs(plainX[i]));
    EXPECT_NEAR(w[i], plainW[i], 1e-5 * std::abs(plainW[i]));
  }
}

} // namespace

TEST(CompiledGradients, FlowThroughAGradientThatTheFunctionTakes) {
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  const auto penalty = compile([](Tensor x, Tensor w) {
    const Tensor g = slope(x * x * w, x);
    return (g * g).sum();
  });
  for (int call = 0; call < 2; ++call) {
    w.set_grad({});
    x.set_grad({});
    ((w * w).sum() + penalty(x, w)).backward();
    EXPECT_EQ(floats(w.grad()), (Floats{30, 136})); // 2 w + 8 x x w
    EXPECT_EQ(floats(x.grad()), (Floats{72, 256})); // 8 x w w
  }
  // Once more, with respect to a tensor that was computed outside.
  const Tensor y = x * 1;
  EXPECT_EQ(floats(grad(penalty(y, w), {y})[0]), (Floats{72, 256}));
}

TEST(CompiledGradients, FlowThroughGradientsOfEveryKind) {
  // The gradient itself, the gradient of a gradient, and several of them.
  expectGradientsOfThePlainFunction([](Tensor x, Tensor w) { return slope(sin(x) * w, x); });
  expectGradientsOfThePlainFunction([](Tensor x, Tensor w) { return slope(slope(exp(x * w), x), x); });
  expectGradientsOfThePlainFunction([](Tensor x, Tensor w) {
    const Tensors g = grad((x * x * w * w * w).sum(), {x, w}, {.create_graph = true});
    return slope(g[0] * g[1], w) + g[0];
  });
  // Factors with a history.
  expectGradientsOfThePlainFunction([](Tensor x, Tensor w) {
    return grad({x * x * w}, {x}, {.grad_outputs = {w * x}, .create_graph = true})[0];
  });
  // A product with the Jacobian, by the gradient with respect to a factor that the function made.
  expectGradientsOfThePlainFunction([](Tensor x, Tensor w) {
    const Tensor v = ones({2}).requires_grad_();
    const Tensor g = grad({x * x * w}, {x}, {.grad_outputs = {v}, .create_graph = true})[0];
    return grad({g}, {v}, {.grad_outputs = {w}, .create_graph = true})[0];
  });
  // What has no part in it is no part of the derivative either.
  expectGradientsOfThePlainFunction(
      [](Tensor x, Tensor w) { return slope((x.detach() * w).square(), w) * x; });
  expectGradientsOfThePlainFunction([](Tensor x, Tensor w) {
    const Tensor kept = no_grad([&] { return x * w; });
    return slope(kept * x * x * w, x);
  });
}

TEST(CompiledGradients, OfThirdOrder) {
  const auto second = [](Tensor x, Tensor w) { return slope(slope(x.pow(4) * w, x), x); }; // 12 x x w
  const auto compiled = compile(second);
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  const Tensor third = slope(compiled(x, w), x);
  EXPECT_EQ(floats(third), (Floats{72, 192}));          // 24 x w
  EXPECT_EQ(floats(slope(third, x)), (Floats{72, 96})); // 24 w
  EXPECT_EQ(floats(slope(third, w)), (Floats{24, 48})); // 24 x
  expectGradientsOfThePlainFunction(second);
}

TEST(CompiledGradients, FlowThroughRulesOfTheProgram) {
  expectGradientsOfThePlainFunction([](Tensor x, Tensor w) { return Cubed::apply(x * w); });
  expectGradientsOfThePlainFunction([](Tensor x, Tensor w) { return slope(Cubed::apply(x * w), x); });
  expectGradientsOfThePlainFunction([](Tensor x, Tensor w) { return Both::apply(x * w).second * x; });
  expectGradientsOfThePlainFunction([](Tensor x, Tensor w) {
    return utils::checkpoint([](const Tensor &x, const Tensor &w) { return sin(x * w) * x; }, x, w);
  });
  expectGradientsOfThePlainFunction([](Tensor x, Tensor w) {
    const auto part = [](const Tensor &x, const Tensor &w) { return sin(Cubed::apply(x) * w) * x; };
    return slope(utils::checkpoint(part, x, w), x);
  });
  expectGradientsOfThePlainFunction([](Tensor x, Tensor w) {
    Tensor h = x * x;
    h.register_hook([](const Tensor &g) { return g * g; });
    return slope(h * w, x);
  });
}

TEST(CompiledGradients, FlowThroughRulesOfDynamicSizes) {
  const Dim n("n", 1, 8);
  const auto f = [](Tensor x) { return Both::apply(x * x).second * slope(Cubed::apply(x), x); };
  const auto compiled = compile(f, {spec({n}, f32)});
  for (const int64_t size : {2, 5}) {
    Tensor x = generated({size}, [](size_t i) { return 0.5 * static_cast<double>(i); }).requires_grad_();
    EXPECT_EQ(floats(grad(compiled(x).sum(), {x})[0]), floats(grad(f(x).sum(), {x})[0]));
  }
  EXPECT_EQ(compiled.variants().size(), 1u);
}

TEST(CompiledGradients, CallHooksAndFunctionsInsideForEachGradient) {
  int calls = 0;
  const auto f = compile([&](Tensor x, Tensor w) {
    Tensor h = x * w;
    h.register_hook([&](const Tensor &g) {
      ++calls;
      return g * 10;
    });
    return h * x;
  });
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  for (int call = 1; call <= 2; ++call) {
    w.set_grad({});
    f(x, w).sum().backward();
    EXPECT_EQ(floats(w.grad()), (Floats{10, 40}));
    EXPECT_EQ(calls, call);
  }
}

TEST(CompiledGradients, OfResultsAreRetained) {
  const auto f = compile([](Tensor x) {
    Tensor h = Cubed::apply(x);
    h.register_hook([](const Tensor &g) { return g * 10; });
    h.retain_grad();
    return std::pair(h, h * 2);
  });
  Tensor x = leafOf({1, 2});
  auto [h, y] = f(x);
  EXPECT_TRUE(h.retains_grad());
  EXPECT_FALSE(y.retains_grad());
  h.sum().backward();
  EXPECT_EQ(floats(h.grad()), (Floats{10, 10}));
  EXPECT_EQ(floats(x.grad()), (Floats{30, 120}));
  // Those of another call are others, and so are hooks.
  auto [again, z] = f(x);
  again.register_hook([](const Tensor &g) { return g * 2; });
  z.sum().backward();
  EXPECT_EQ(floats(again.grad()), (Floats{40, 40}));
  f(x).second.sum().backward();
  EXPECT_EQ(floats(again.grad()), (Floats{40, 40}));
  EXPECT_EQ(floats(h.grad()), (Floats{10, 10}));
  EXPECT_EQ(floats(x.grad()), (Floats{30 + 120 + 60, 120 + 480 + 240}));
}

TEST(CompiledGradients, AreReturnedWithWhatTheFunctionMade) {
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  const auto f = compile([](Tensor x, Tensor w) {
    Tensor leaf = x.detach().clone().requires_grad_(), h = leaf * w;
    h.retain_grad();
    (h * h).sum().backward({}, std::nullopt, /*create_graph=*/true);
    return std::tuple(leaf, h, leaf * 2, leaf.detach());
  });
  for (int call = 0; call < 2; ++call) {
    w.set_grad({});
    auto [leaf, h, twice, number] = f(x, w);
    EXPECT_TRUE(leaf.is_leaf() && leaf.requires_grad());
    EXPECT_EQ(floats(leaf.grad()), (Floats{18, 64})); // 2 leaf w w
    EXPECT_EQ(floats(h.grad()), (Floats{6, 16}));
    EXPECT_FALSE(twice.grad().defined());
    EXPECT_FALSE(number.requires_grad());
    EXPECT_EQ(floats(grad(leaf.grad().sum(), {w})[0]), (Floats{12, 32}));    // 4 leaf w
    EXPECT_EQ(floats(grad(leaf.grad().sum(), {leaf})[0]), (Floats{18, 32})); // 2 w w
    leaf.set_grad({});
    twice.sum().backward();
    EXPECT_EQ(floats(leaf.grad()), (Floats{2, 2}));
    leaf.set_grad({});
    (leaf * leaf).sum().backward();
    EXPECT_EQ(floats(leaf.grad()), (Floats{2, 4}));
  }
  const auto step = compile([](Tensor x) {
    Tensor h = x * 2;
    h.retain_grad();
    (h * h).sum().backward();
    return h;
  });
  EXPECT_EQ(floats(step(x).grad()), (Floats{4, 8}));
}

TEST(CompiledGradients, OfAFunctionInAFunction) {
  const auto inner = compile([](Tensor x, Tensor w) { return slope(x * x * w, x); });
  expectGradientsOfThePlainFunction([&](Tensor x, Tensor w) { return slope(inner(x, w) * x, w); });
  expectGradientsOfThePlainFunction([&](Tensor x, Tensor w) { return inner(inner(x, w), w); });
  // A training step around it takes all of them.
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  const auto step = compile([&](Tensor x) {
    w.set_grad({});
    const Tensor loss = inner(x, w).square().sum() + (w * w).sum();
    loss.backward();
    return loss;
  });
  const Tensor loss = step(x);
  EXPECT_EQ(floats(w.grad()), (Floats{30, 136}));
  EXPECT_FALSE(loss.requires_grad());
}

TEST(CompiledGradients, ThatBackwardLeavesHaveAHistory) {
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  const auto sweep = compile([](Tensor x, Tensor w) {
    (x * x * w).sum().backward({}, std::nullopt, /*create_graph=*/true);
    return x * 1;
  });
  sweep(x, w);
  EXPECT_TRUE(x.grad().requires_grad());
  EXPECT_EQ(floats(x.grad()), (Floats{6, 16}));
  EXPECT_EQ(floats(grad(x.grad().square().sum(), {w})[0]), (Floats{24, 128})); // 8 x x w
  // One that is there is added to.
  sweep(x, w);
  EXPECT_EQ(floats(x.grad()), (Floats{12, 32}));
  EXPECT_EQ(floats(grad(x.grad().sum(), {w})[0]), (Floats{4, 8}));
}

TEST(CompiledGradients, WithoutAGraphHaveNoHistory) {
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  const auto plain = compile([](Tensor x, Tensor w) { return grad((x * x * w).sum(), {x})[0]; });
  EXPECT_FALSE(plain(x, w).requires_grad());
  // They are numbers in what follows, which has a history of its own.
  const auto sign = compile([](Tensor x, Tensor w) {
    const Tensor g = grad((x * x * w).sum(), {x})[0];
    return (x * g.detach()).sum() * w;
  });
  EXPECT_EQ(floats(grad(sign(x, w).sum(), {w})[0]), (Floats{38, 38}));
  // Neither has a gradient that is computed while the function records none.
  const auto off = compile([](Tensor x, Tensor w) {
    const Tensor y = (x * x * w).sum();
    return no_grad([&] { return grad(y, {x}, {.create_graph = true})[0] * 1; });
  });
  EXPECT_FALSE(off(x, w).requires_grad());
}

TEST(CompiledGradients, BesideALeafThatTheFunctionWrote) {
  Tensor w = leafOf({3, 4});
  const auto clipped = compile([&](Tensor x) {
    no_grad([&] { w.clamp_(-1, 1); });
    return (w * x).sum().detach();
  });
  const Tensor number = clipped(tensor({1, 2}, {.dtype = f32}));
  EXPECT_EQ(number.item<float>(), 3);
  (number + w.sum()).backward();
  EXPECT_EQ(floats(w.grad()), (Floats{1, 1}));
  // What reads the leaf before it is written has its gradient.
  w.set_grad({});
  const auto before = compile([&](Tensor x) {
    const Tensor y = (w * w * x).sum();
    no_grad([&] { w.sub_(1); });
    return y;
  });
  before(tensor({1, 2}, {.dtype = f32})).backward();
  EXPECT_EQ(floats(w), (Floats{0, 0}));
  EXPECT_EQ(floats(w.grad()), (Floats{2, 4}));
}

TEST(CompiledGradients, OfALeafThatTheFunctionMadeAndWrote) {
  const auto adapted = compile([](Tensor x) {
    Tensor w = (x.detach() + 1).requires_grad_();
    const Tensor loss = (w * x).sum();
    no_grad([&] { w.mul_(2); });
    return std::pair(w, loss);
  });
  for (int i = 0; i < 3; ++i) {
    Tensor x = leafOf({1, 2});
    auto [w, loss] = adapted(x);
    std::vector<Tensor> others; // that take the memory of what is gone
    for (int k = 0; k < 20; ++k)
      others.push_back(x.detach() * k);
    EXPECT_EQ(floats(w), (Floats{4, 6}));
    loss.backward();
    EXPECT_EQ(floats(x.grad()), (Floats{2, 3}));
  }
}

TEST(CompiledGradients, ThroughAHistoryThatTheFunctionUsedUpAreAnError) {
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  const auto again = compile([](Tensor x, Tensor w) {
    const Tensor y = x * x * w;
    y.sum().backward();
    return std::tuple(y, y * 2, x * w);
  });
  auto [passed, behind, beside] = again(x, w);
  EXPECT_FALSE(passed.requires_grad());
  EXPECT_TRUE(behind.requires_grad());
  EXPECT_EQ(floats(behind), (Floats{6, 32}));
  EXPECT_ERROR((behind.sum() + (w * w).sum()).backward(), "WEFT-G009");
  EXPECT_ERROR(grad(behind.sum(), {w}), "WEFT-G009");
  EXPECT_FALSE(behind.detach().requires_grad());
  EXPECT_EQ(floats(grad(beside.sum(), {w})[0]), (Floats{1, 2}));
  // grad() uses up what lies on its way, and no more.
  const auto one = compile([](Tensor x, Tensor w) {
    const Tensor square = x * x, h = w * w;
    const Tensor g = grad((square * h).sum(), {x})[0];
    return std::pair(h * g, square * h);
  });
  auto [kept, spent] = one(x, w);
  EXPECT_EQ(floats(grad(kept.sum(), {w})[0]), (Floats{108, 512})); // 2 w, times 2 x w w
  EXPECT_ERROR(spent.sum().backward(), "WEFT-G009");
  // A graph that is kept is there.
  const auto twice = compile([](Tensor x, Tensor w) {
    const Tensor y = x * x * w;
    y.sum().backward({}, /*retain_graph=*/true);
    return y * 2;
  });
  EXPECT_EQ(floats(grad(twice(x, w).sum(), {w})[0]), (Floats{2, 8}));
}

TEST(CompiledGradients, FlowThroughAnArgumentThatIsReturned) {
  const auto same = compile([](Tensor x) { return x; });
  Tensor x = leafOf({1, 2});
  const Tensor y = same(x);
  EXPECT_TRUE(y.requires_grad());
  (y * 3).sum().backward();
  EXPECT_EQ(floats(x.grad()), (Floats{3, 3}));
}
