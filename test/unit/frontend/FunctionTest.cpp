//===- FunctionTest.cpp - Functions with a derivative of the program's own ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;
using weft::autograd::AutogradContext;
using Tensors = std::vector<Tensor>;

namespace {

struct Cube : autograd::Function<Cube> {
  static Tensor forward(AutogradContext *ctx, const Tensor &x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static Tensors backward(AutogradContext *ctx, const Tensors &grads) {
    return {grads[0] * 3 * ctx->saved_tensors()[0].square()};
  }
};

/// Keeps its result, as torch.autograd.Function's documentation does.
struct Exp : autograd::Function<Exp> {
  static Tensor forward(AutogradContext *ctx, const Tensor &x) {
    Tensor y = exp(x);
    ctx->save_for_backward({y});
    return y;
  }
  static Tensors backward(AutogradContext *ctx, const Tensors &grads) {
    return {grads[0] * ctx->saved_tensors()[0]};
  }
};

/// a b^T scaled by a number, and the sign of a.
struct Outer : autograd::Function<Outer> {
  static std::pair<Tensor, Tensor> forward(AutogradContext *ctx, const Tensor &a, double scale,
                                           const Tensor &b) {
    ctx->save_for_backward({a, b});
    ctx->saved_data["scale"] = scale;
    Tensor signs = sign(a);
    ctx->mark_non_differentiable({signs});
    needed = {ctx->needs_input_grad(0), ctx->needs_input_grad(1), ctx->needs_input_grad(2)};
    return {outer(a, b) * scale, signs};
  }
  static Tensors backward(AutogradContext *ctx, const Tensors &grads) {
    const auto scale = std::any_cast<double>(ctx->saved_data["scale"]);
    const Tensors saved = ctx->saved_tensors();
    return {mv(grads[0], saved[1]) * scale, Tensor(), mv(grads[0].t(), saved[0]) * scale};
  }
  static inline std::vector<bool> needed;
};

/// The identity, with what `made` makes as its derivative.
struct Probe : autograd::Function<Probe> {
  static Tensor forward(AutogradContext *ctx, const Tensor &x, int /*other*/) {
    ctx->set_materialize_grads(materializes);
    return x.clone();
  }
  static Tensors backward(AutogradContext *, const Tensors &grads) { return made(grads); }
  static inline std::function<Tensors(const Tensors &)> made;
  static inline bool materializes = true;
};

Tensor leafOf(Floats values) {
  const auto size = static_cast<int64_t>(values.size());
  return tensor(std::move(values), {size}).requires_grad_();
}

/// The largest difference of a gradient from central differences.
double gradientError(const std::function<Tensor(const Tensor &)> &f, const Tensor &x) {
  const Tensor leaf = x.detach().clone().requires_grad_();
  const auto found = grad(f(leaf).sum(), {leaf})[0].to_vector<double>();
  auto values = x.to_vector<double>();
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    constexpr double step = 1e-6;
    const auto at = [&](double offset) {
      auto moved = values;
      moved[i] += offset;
      return f(Tensor::from(moved, x.sizes())).sum().item<double>();
    };
    worst = std::max(worst, std::abs((at(step) - at(-step)) / (2 * step) - found[i]));
  }
  return worst;
}

} // namespace

// Braces between two arguments would shift those behind them.
struct Sum : autograd::Function<Sum> {
  static Tensor forward(AutogradContext *, const Tensor &a, const Tensor &b) { return a + b; }
  static Tensors backward(AutogradContext *, const Tensors &grads) { return {grads[0], grads[0]}; }
};
template <typename T>
concept TakesBraces = requires(T x) { Sum::apply(x, {}, x); };
template <typename T>
concept TakesTwo = requires(T x) { Sum::apply(x, x); };
static_assert(TakesTwo<Tensor> && !TakesBraces<Tensor>);

TEST(Function, GivesItsOwnGradient) {
  Tensor x = leafOf({1, -2});
  Tensor y = Cube::apply(x);
  EXPECT_EQ(floats(y), (Floats{1, -8}));
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(y.is_leaf());
  (y * tensor({1, 10}, {2})).sum().backward();
  EXPECT_EQ(floats(x.grad()), (Floats{3, 120}));
  const Tensor points = Tensor::from(std::vector<double>{0.5, -1.25, 2}, {3});
  EXPECT_LT(gradientError([](const Tensor &t) { return Cube::apply(sin(t)) * t; }, points), 1e-8);
  EXPECT_LT(gradientError([](const Tensor &t) { return Exp::apply(t * t); }, points * 0.5), 1e-8);
}

TEST(Function, OfSeveralArgumentsAndResults) {
  Tensor a = leafOf({1, -2}), b = tensor({3, 5}, {2});
  auto [product, signs] = Outer::apply(a, 2.0, b);
  EXPECT_EQ(Outer::needed, (std::vector<bool>{true, false, false}));
  EXPECT_FALSE(signs.requires_grad());
  EXPECT_EQ(floats(product), (Floats{6, 10, -12, -20}));
  (product.sum() + signs.sum()).backward();
  EXPECT_EQ(floats(a.grad()), (Floats{16, 16}));
  b.requires_grad_();
  a.set_grad({});
  Outer::apply(a, 2.0, b).first.sum().backward();
  EXPECT_EQ(Outer::needed, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(floats(b.grad()), (Floats{-2, -2}));
}

TEST(Function, RecordsNothingWhereNoGradientIsNeeded) {
  EXPECT_FALSE(Cube::apply(tensor({2}, {1})).requires_grad());
  Tensor x = leafOf({2});
  EXPECT_FALSE(no_grad([&] { return Cube::apply(x); }).requires_grad());
}

TEST(Function, InACompiledFunctionIsRecorded) {
  Tensor w = leafOf({0.5, 2});
  const auto step = compile([&](Tensor x) {
    const Tensor loss = Exp::apply(Cube::apply(x * w)).sum();
    loss.backward();
    return loss;
  });
  const Tensor x = tensor({1, -0.25}, {2});
  step(x);
  const Floats found = floats(w.grad());
  w.set_grad({});
  const Tensor t = x * w;
  exp(t * t * t).sum().backward();
  const Floats wanted = floats(w.grad());
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-6);
}

TEST(Function, InABodyIsAnErrorWhereAGradientMayFlow) {
  const auto loop = [](const Tensor &first) {
    return scan([](const Tensor &h) { return std::pair(Cube::apply(h), h); }, first, 2).first;
  };
  const auto branch = [](const Tensor &x) {
    return cond(
        x.sum() > 0, [](const Tensor &x) { return Cube::apply(x); }, [](const Tensor &x) { return x; }, x);
  };
  Tensor w = leafOf({0.5, 2});
  const Tensor x = tensor({0.5, 2}, {2});
  EXPECT_ERROR(loop(w), "function Cube is called in the body of a loop, whose derivative is made without it "
                        "(WEFT-G005)");
  EXPECT_ERROR(branch(w), "function Cube is called in a branch of cond, whose derivative is made without it "
                          "(WEFT-G005)");
  EXPECT_ERROR(scan([&](const Tensor &h) { return std::pair(Cube::apply(h * w), h); }, x, 2), "WEFT-G005");
  EXPECT_EQ(floats(loop(x)), (Floats{1.0f / 512, 512}));
  EXPECT_EQ(floats(branch(x)), (Floats{0.125, 8}));
  EXPECT_EQ(floats(no_grad([&] { return loop(w); })), (Floats{1.0f / 512, 512}));
  // A gradient that the body takes itself goes by the rule.
  const auto slopes =
      scan([](const Tensor &h) { return std::pair(h, grad(Cube::apply(h).sum(), {h})[0]); }, x, 1);
  EXPECT_EQ(floats(slopes.second), (Floats{0.75, 12}));
}

TEST(Function, InABodyIsNoErrorWhereNoGradientGetsToIt) {
  const Tensor x = tensor({0.5, 2}, {2});
  const auto check = [&](const auto &f) { // whose result is x^3 w, or x^3 without the gradient
    Tensor w = leafOf({3, 5});
    const Tensor made = f(w);
    EXPECT_EQ(floats(made), (Floats{0.375, 40}));
    EXPECT_EQ(floats(grad(made.sum(), {w})[0]), (Floats{0.125, 8}));
  };
  const auto once = [&](const auto &step, const Tensor &w) {
    return scan([&](const Tensor &h) { return std::pair(h, step(h, w)); }, x, 1).second[0];
  };
  // The argument needs no gradient outside,
  check([&](const Tensor &w) {
    return once([](const Tensor &h, const Tensor &w) { return Cube::apply(h) * w; }, w);
  });
  // or the result is detached, or not used, or has been differentiated in the body.
  check([&](const Tensor &w) {
    return once([](const Tensor &h, const Tensor &w) { return Cube::apply(h * w / w).detach() * w; }, w);
  });
  check([&](const Tensor &w) {
    return once(
        [](const Tensor &h, const Tensor &w) {
          (void)Cube::apply(h * w);
          return h * h * h * w;
        },
        w);
  });
  check([&](const Tensor &w) {
    return once(
        [](const Tensor &h, const Tensor &w) { return grad(Cube::apply(h).sum(), {h})[0] * h / 3 * w; }, w);
  });
  check([&](const Tensor &w) {
    return cond(
        x.sum() > 0, [&](const Tensor &at) { return Cube::apply(at) * w; },
        [](const Tensor &at) { return at; }, x);
  });
  // In a loop of a loop, too.
  const auto nested = [&](const Tensor &w, const auto &rule) {
    return once(
        [&](const Tensor &h, const Tensor &w) {
          const auto cubed = [&](const Tensor &g) { return std::pair(rule(g), std::tuple<>()); };
          return scan(cubed, h, 1).first * w;
        },
        w);
  };
  check([&](const Tensor &w) { return nested(w, [](const Tensor &g) { return Cube::apply(g); }); });
  Tensor w = leafOf({3, 5});
  EXPECT_ERROR(nested(w, [&](const Tensor &g) { return Cube::apply(g * w); }), "WEFT-G005");
  // The second trip has the weight in its carry.
  EXPECT_ERROR(scan([&](const Tensor &h) { return std::pair(Cube::apply(h) * w, std::tuple<>()); }, x, 2),
               "WEFT-G005");
}

TEST(Function, ErrorsNameTheCall) {
  const std::string file = __FILE__;
  const auto at = [&](int line) { return file + ":" + std::to_string(line); };
  Tensor w = leafOf({0.5, 2});
  const int inLoop = __LINE__ + 1;
  EXPECT_ERROR(scan([](const Tensor &h) { return std::pair(Cube::apply(h), h); }, w, 2), at(inLoop));
  Tensor kept;
  (void)compile([&](Tensor x) { return kept = x * 2; })(w);
  const int again = __LINE__ + 1;
  EXPECT_ERROR(utils::checkpoint([&](const Tensor &) { return kept; }, w), at(again));
}

TEST(Function, HasDerivativesOfDerivatives) {
  for (const bool keepsResult : {false, true}) {
    Tensor x = leafOf({0.5, -1});
    const auto f = [&](const Tensor &t) { return keepsResult ? Exp::apply(t) : Cube::apply(t); };
    const auto second = [&](const Tensor &y) {
      const Tensor first = grad(y.sum(), {x}, {.create_graph = true})[0];
      return floats(grad((first * first).sum(), {x})[0]);
    };
    const Floats found = second(f(x)), wanted = second(keepsResult ? exp(x) : x * x * x);
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_NEAR(found[i], wanted[i], 1e-5);
  }
}

TEST(Function, WorksInsideOfACheckpoint) {
  Tensor x = leafOf({0.5, -1});
  utils::checkpoint([](const Tensor &t) { return Exp::apply(Cube::apply(t)) * t; }, x).sum().backward();
  const Floats found = floats(x.grad());
  x.set_grad({});
  (Exp::apply(Cube::apply(x)) * x).sum().backward();
  EXPECT_EQ(found, floats(x.grad()));
}

TEST(Function, GetsZerosOrUndefinedGradients) {
  struct Two : autograd::Function<Two> {
    static std::pair<Tensor, Tensor> forward(AutogradContext *ctx, const Tensor &x, bool materializes) {
      ctx->set_materialize_grads(materializes);
      return {x * 2, x * 3};
    }
    static Tensors backward(AutogradContext *, const Tensors &grads) {
      if (!grads[1].defined())
        return {grads[0] * 100, Tensor()};
      return {grads[0] * 2 + grads[1] * 3, Tensor()};
    }
  };
  Tensor x = leafOf({1});
  Two::apply(x, true).first.sum().backward();
  EXPECT_EQ(floats(x.grad()), Floats{2});
  x.set_grad({});
  Two::apply(x, false).first.sum().backward();
  EXPECT_EQ(floats(x.grad()), Floats{100});
}

TEST(Function, OfGradientsThatDoNotFit) {
  Tensor x = leafOf({1, 2});
  const auto run = [&](std::function<Tensors(const Tensors &)> made) {
    Probe::made = std::move(made);
    Probe::apply(x, 3).sum().backward();
  };
  EXPECT_ERROR(run([](const Tensors &g) { return g; }),
               "function Probe::backward returned an incorrect number of gradients (expected 2, got 1)");
  EXPECT_ERROR(run([](const Tensors &g) { return Tensors{g[0], g[0]}; }),
               "returned a gradient at position 1, but the corresponding argument of apply() is no tensor");
  EXPECT_ERROR(run([](const Tensors &) { return Tensors{ones({3}), Tensor()}; }),
               "returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2] "
               "(WEFT-G006)");
  EXPECT_FALSE(x.grad().defined());
  // What broadcasts is summed, and what is undefined is none.
  run([](const Tensors &g) { return Tensors{g[0].expand({4, 2}), Tensor(), Tensor()}; });
  EXPECT_EQ(floats(x.grad()), (Floats{4, 4}));
  run([](const Tensors &) { return Tensors{Tensor(), Tensor()}; });
  EXPECT_EQ(floats(x.grad()), (Floats{4, 4}));
}

TEST(Function, KeepsValuesFromBeforeAWrite) {
  Tensor x = leafOf({2});
  Tensor h = x * 1, y = Cube::apply(h);
  h.mul_(100);
  y.sum().backward();
  EXPECT_EQ(floats(x.grad()), Floats{12});
}
