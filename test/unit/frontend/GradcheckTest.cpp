//===- GradcheckTest.cpp - Derivatives compared with differences ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

using namespace weft;
using weft::autograd::AutogradContext;
using weft::autograd::gradcheck;
using weft::autograd::gradgradcheck;
using Tensors = std::vector<Tensor>;

namespace {

Tensor leafOf(std::vector<double> values, Shape shape) {
  return Tensor::from(values, std::move(shape)).requires_grad_();
}

/// The square, with a derivative that is wrong where x is above 2.
struct WrongSquare : autograd::Function<WrongSquare> {
  static Tensor forward(AutogradContext *ctx, const Tensor &x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static Tensors backward(AutogradContext *ctx, const Tensors &grads) {
    const Tensor x = ctx->saved_tensors()[0];
    return {grads[0] * where(x > 2, x * 3, x * 2)};
  }
};

/// The cube, whose derivative is right and has none itself.
struct DetachedCube : autograd::Function<DetachedCube> {
  static Tensor forward(AutogradContext *ctx, const Tensor &x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static Tensors backward(AutogradContext *ctx, const Tensors &grads) {
    const Tensor x = ctx->saved_tensors()[0].detach();
    return {grads[0] * 3 * x * x};
  }
};

/// Twice x, whose derivative is the same whatever it is given.
struct Unmultiplied : autograd::Function<Unmultiplied> {
  static Tensor forward(AutogradContext *, const Tensor &x) { return x * 2; }
  static Tensors backward(AutogradContext *, const Tensors &grads) { return {zeros_like(grads[0]) + 2}; }
};

/// Twice x, whose derivative has another value each time.
struct Drawn : autograd::Function<Drawn> {
  static Tensor forward(AutogradContext *, const Tensor &x) { return x * 2; }
  static Tensors backward(AutogradContext *, const Tensors &grads) {
    return {grads[0] * (2 + 1e-7 * rand_like(grads[0]))};
  }
};

/// x and x squared, whose derivative takes a gradient that is not there for zeros.
struct Pair : autograd::Function<Pair> {
  static std::pair<Tensor, Tensor> forward(AutogradContext *ctx, const Tensor &x) {
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({x});
    return {x * 1, x * x};
  }
  static Tensors backward(AutogradContext *ctx, const Tensors &grads) {
    Tensor sum = zeros_like(ctx->saved_tensors()[0]);
    if (grads[0].defined())
      sum = sum + grads[0];
    if (grads[1].defined())
      sum = sum + grads[1] * 2 * ctx->saved_tensors()[0];
    return {sum};
  }
};

} // namespace

TEST(Gradcheck, PassesDerivativesThatAreRight) {
  const Tensor x = leafOf({1, 2, 3, 4, 5, 6}, {2, 3}), y = leafOf({0.5, 1.5, -1}, {3});
  const auto product = [](const Tensor &a, Tensor b) { return a * sin(b); };
  EXPECT_TRUE(gradcheck(product, {x, y}));
  EXPECT_TRUE(gradgradcheck(product, {x, y}));
  EXPECT_TRUE(gradcheck([](Tensor a) { return std::pair(a.sum(), a.argmax()); }, x));
  EXPECT_TRUE(gradcheck([](const Tensors &all) { return all[0].matmul(all[1]); }, Tensors{x, y}));
  EXPECT_TRUE(gradcheck(compile([](Tensor a) { return tanh(a); }), y));
  EXPECT_TRUE(gradcheck([](const Tensor &a) { return Pair::apply(a); }, y));
  // The inputs have their values, and no gradient of their own.
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{0.5, 1.5, -1}));
  EXPECT_FALSE(x.grad().defined() || y.grad().defined());
  // Not those that require none, and a parameter of a module, which is an input that the function does not
  // read.
  nn::Linear net(3, 2);
  net.to(f64);
  EXPECT_TRUE(
      gradcheck([&](Tensor a, Tensor, Tensor) { return net(a); }, {x.detach(), net.weight, net.bias}));
}

// The history of an input that was computed, or what it is a view of, is none of the function's.
TEST(Gradcheck, OfInputsThatAreNoLeaves) {
  const Tensor x = leafOf({1, 2}, {2}), y = x * 2, part = x[1];
  const auto cube = [](Tensor a) { return a * a * a; };
  EXPECT_TRUE(gradcheck(cube, y) && gradgradcheck(cube, y));
  EXPECT_TRUE(gradgradcheck(cube, y, {.grad_outputs = {x * 3}}));
  EXPECT_TRUE(gradcheck([](Tensor a, Tensor b) { return a * b; }, {x, part}));
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{2, 4}));
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(autograd::grad({y.sum()}, {x})[0].to_vector<double>(), (std::vector<double>{2, 2}));
}

TEST(Gradcheck, OfGenericFunctionsAndParametersWithDefaults) {
  const Tensor x = leafOf({1, 2}, {2}), y = leafOf({3, 4}, {2});
  EXPECT_TRUE(gradcheck([](auto a) { return a * a; }, x));
  EXPECT_TRUE(gradcheck([](const auto &a, const auto &b) { return a * b.sin(); }, {x, y}));
  EXPECT_TRUE(gradcheck([](auto... all) { return (all * ...); }, {x, y}));
  size_t given = 0;
  const auto scaled = [&](Tensor a, Tensor by = {}) {
    given = by.defined() ? 2 : 1;
    return by.defined() ? a * by : a * 2;
  };
  EXPECT_TRUE(gradcheck(scaled, x));
  EXPECT_EQ(given, 1U);
  EXPECT_TRUE(gradcheck(scaled, {x, y}));
  EXPECT_EQ(given, 2U);
  EXPECT_ERROR(gradcheck(scaled, {x, y, x}), "the function takes 1 to 2 tensors, and 3 inputs are given");
}

TEST(Gradcheck, SaysNothingOfItsPrograms) {
  const std::string text = stderrOf([] {
    for (int64_t n = 1; n < 5; ++n) {
      const Tensor x = ones({n}, f64).requires_grad_(), y = ones({n, 1}, f64).requires_grad_();
      const auto fn = [](Tensor a, Tensor b) { return std::pair(a * b, a.sum()); };
      EXPECT_TRUE(gradcheck(fn, {x, y}) && gradgradcheck(fn, {x, y}));
    }
  });
  EXPECT_EQ(text, "");
}

TEST(Gradcheck, NamesTheLargestDifferenceAndItsPlace) {
  const Tensor x = leafOf({1, 2, 3, 4}, {2, 2}), y = leafOf({1, 1}, {2});
  const auto wrong = [](Tensor y, Tensor x) { return std::pair(y * 2, WrongSquare::apply(x)); };
  EXPECT_ERROR(gradcheck(wrong, {y, x}),
               "Jacobian mismatch for output 1 with respect to input 1: the largest difference is 4");
  EXPECT_ERROR(gradcheck(wrong, {y, x}), "of element [1, 1] with respect to element [1, 1]: numerical 8");
  EXPECT_ERROR(gradcheck(wrong, {y, x}), "analytical 12 (WEFT-G011)");
  EXPECT_FALSE(gradcheck(wrong, {y, x}, {.raise_exception = false}));
  EXPECT_TRUE(gradcheck(wrong, {y, x}, {.atol = 5}));
  EXPECT_TRUE(gradcheck([](Tensor x) { return WrongSquare::apply(x); }, leafOf({1, 1.5}, {2})));
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2, 3, 4}));
}

TEST(Gradcheck, OfSecondDerivatives) {
  const Tensor x = leafOf({1, 2}, {2});
  const auto cube = [](Tensor x) { return DetachedCube::apply(x); };
  EXPECT_TRUE(gradcheck(cube, x));
  EXPECT_ERROR(gradgradcheck(cube, x),
               "gradgradcheck: Jacobian mismatch for output 0 with respect to input 0");
  EXPECT_FALSE(gradgradcheck(cube, x, {.raise_exception = false}));
  EXPECT_ERROR(gradgradcheck(cube, x, {.grad_outputs = {leafOf({1, 1}, {2})}}),
               "of element [1] with respect to element [1]: numerical 12.0000000");
  EXPECT_TRUE(gradgradcheck([](Tensor x) { return x * x * x; }, x));
}

TEST(Gradcheck, OfDerivativesThatIgnoreTheirGradientOrChange) {
  const Tensor x = leafOf({3}, {});
  EXPECT_ERROR(gradcheck([](Tensor x) { return Unmultiplied::apply(x); }, x),
               "backward not multiplied by grad_output");
  const auto drawn = [](Tensor x) { return Drawn::apply(x); };
  EXPECT_ERROR(gradcheck(drawn, x), "backward is not reentrant");
  EXPECT_TRUE(gradcheck(drawn, x, {.nondet_tol = 1e-6}));
  EXPECT_ERROR(gradcheck([](Tensor x) { return x.detach() * 2; }, x),
               "Numerical gradient for function expected to be zero");
  EXPECT_TRUE(gradcheck([](Tensor x) { return x.detach() * 0; }, x));
}

TEST(Gradcheck, ErrorsOfInputs) {
  const auto one = [](Tensor x) { return x * 2; };
  EXPECT_ERROR(gradcheck(one, leafOf({1}, {1}).detach()),
               "gradcheck expects at least one input tensor to require gradient");
  EXPECT_ERROR(gradcheck(one, ones({1}).requires_grad_()), "input 0 requires a gradient and is f32");
  EXPECT_ERROR(gradcheck(one, leafOf({1}, {1}).expand({2})), "input 0 has a dimension with stride 0");
  EXPECT_ERROR(gradcheck(one, {leafOf({1}, {1}), leafOf({1}, {1})}),
               "the function takes 1 tensors, and 2 inputs are given");
  EXPECT_ERROR(gradgradcheck(one, leafOf({1}, {1}), {.grad_outputs = {ones({1}).requires_grad_()}}),
               "gradgradcheck: grad_outputs[0] requires a gradient and is f32");
  EXPECT_ERROR(gradgradcheck([](Tensor x) { return x.detach(); }, leafOf({1}, {1})),
               "gradgradcheck: none of the outputs of the function requires a gradient");
  // After an error of the function, the input has its value.
  const Tensor x = leafOf({1}, {1});
  EXPECT_ERROR(gradcheck([](Tensor x) { return x.item<double>() > 1 ? x : x.expand({2}); }, x),
               "returned output 0 of shape [2] and returns one of shape [1] when an input is changed by eps");
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1}));
  EXPECT_ERROR(compile([&] { gradcheck(one, x); })(), "WEFT-C001");
}
