//===- RecomputeTest.cpp - Activations that are computed again ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;
using weft::utils::checkpoint;
using weft::utils::checkpoint_sequential;

namespace {

/// A residual block whose hidden layer is four times as wide as its input.
struct Block : nn::Module {
  explicit Block(int64_t width)
      : norm(register_module("norm", nn::LayerNorm(width))),
        up(register_module("up", nn::Linear(width, 4 * width))),
        down(register_module("down", nn::Linear(4 * width, width))),
        dropout(register_module("dropout", nn::Dropout(0.25))) {}
  nn::LayerNorm norm;
  nn::Linear up, down;
  nn::Dropout dropout;
  Tensor operator()(const Tensor &x) { return x + dropout(down(gelu(up(norm(x))))); }
};

struct Tower : nn::Module {
  Tower(int64_t width, size_t depth) {
    for (size_t i = 0; i < depth; ++i)
      blocks.push_back(register_module("block" + std::to_string(i), Block(width)));
  }
  std::vector<Block> blocks;
  Tensor operator()(Tensor x, bool again) {
    for (Block &block : blocks)
      x = again ? checkpoint(block, x) : block(x);
    return x;
  }
};

struct Outcome {
  std::vector<std::vector<std::byte>> bits; ///< of the loss and the gradients
  int64_t temporaries = 0;                  ///< bytes that the plan of a compiled step has for them
};

/// One step of a tower, with or without checkpoints, from one state of the generator.
Outcome stepOf(bool again, bool compiled, int64_t rows, int64_t width, size_t depth) {
  manual_seed(7);
  Tower tower(width, depth);
  const Tensor x = randn({rows, width});
  const auto step = [&](const Tensor &in) {
    tower.zero_grad();
    const Tensor loss = tower(in, again).square().mean();
    loss.backward();
    return loss;
  };
  auto function = compile([&](Tensor in) { return step(in); });
  Outcome outcome;
  for (int i = 0; i < 2; ++i) {
    const Tensor loss = compiled ? function(x) : step(x);
    std::vector<Tensor> values{loss};
    for (const Tensor &parameter : tower.parameters())
      values.push_back(parameter.grad());
    outcome.bits = bitsOf(values);
  }
  if (compiled) {
    const std::string plan = function.mlir("plan"), name = "weft.arena_bytes = ";
    outcome.temporaries = std::stoll(plan.substr(plan.find(name) + name.size()));
  }
  return outcome;
}

} // namespace

//===----------------------------------------------------------------------===//
// Values and memory
//===----------------------------------------------------------------------===//

TEST(Recompute, GivesTheSameBits) {
  for (const bool compiled : {false, true}) {
    const Outcome kept = stepOf(false, compiled, 6, 16, 3), again = stepOf(true, compiled, 6, 16, 3);
    EXPECT_EQ(kept.bits, again.bits) << compiled;
    EXPECT_EQ(kept.bits.size(), 19U);
  }
}

TEST(Recompute, NeedsLessMemory) {
  const Outcome kept = stepOf(false, true, 512, 32, 16), again = stepOf(true, true, 512, 32, 16);
  EXPECT_EQ(kept.bits, again.bits);
  // 16 hidden layers of 512 x 128 are 4 MiB each time that one is kept; of these one is left at a time.
  EXPECT_GT(kept.temporaries, 4 << 20);
  EXPECT_LT(again.temporaries * 2, kept.temporaries);
}

TEST(Recompute, CallsTheFunctionOnce) {
  int calls = 0;
  Tensor x = tensor({1, 2}, {2}).requires_grad_();
  const Tensor y = checkpoint(
      [&](const Tensor &in) {
        ++calls;
        return exp(in) * 2;
      },
      x);
  EXPECT_FALSE(y.is_leaf());
  EXPECT_TRUE(y.requires_grad());
  y.sum().backward();
  y.sum().backward(); // the graph is kept
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(floats(x.grad()), floats((exp(x) * 4).detach()));
}

TEST(Recompute, DrawsTheSameNumbers) {
  manual_seed(3);
  Tensor x = ones({64}).requires_grad_();
  const Tensor y = checkpoint([](const Tensor &in) { return nn::functional::dropout(in * in, 0.5); }, x);
  const Tensor next = rand({4}); // drawn before the gradient
  y.sum().backward();
  EXPECT_EQ(floats(x.grad()), floats(y.detach() * 2)); // 0 or 2 / 0.5
  manual_seed(3);
  nn::functional::dropout(ones({64}), 0.5);
  EXPECT_EQ(floats(next), floats(rand({4})));
}

TEST(Recompute, WritesOnce) {
  nn::BatchNorm1d norm(4);
  const Tensor x = generated({8, 4}, [](size_t i) { return i % 5; });
  checkpoint(norm, x).square().sum().backward();
  EXPECT_EQ(norm.state_dict().back().second.item<int64_t>(), 1); // num_batches_tracked
  nn::BatchNorm1d plain(4);
  plain(x).square().sum().backward();
  EXPECT_EQ(bitsOf({norm.parameters()[0].grad(), norm.state_dict()[2].second}),
            bitsOf({plain.parameters()[0].grad(), plain.state_dict()[2].second}));
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

TEST(Recompute, TakesSeveralArgumentsAndResults) {
  Tensor a = tensor({1, 2}, {2}).requires_grad_(), b = tensor({3, 5}, {2}).requires_grad_();
  const Tensor index = Tensor::from(std::vector<int64_t>{1, 0}, {2});
  const auto [product, chosen, plain] =
      checkpoint([&](const Tensor &x, const Tensor &y, const Tensor &at,
                     int power) { return std::tuple(x * y, pow(x, power).index_select(0, at), at + 1); },
                 a, b, index, 3);
  EXPECT_FALSE(plain.requires_grad());
  (product.sum() + (chosen * tensor({10, 1}, {2})).sum()).backward();
  EXPECT_EQ(floats(a.grad()), (Floats{3 + 3, 5 + 120}));
  EXPECT_EQ(floats(b.grad()), (Floats{1, 2}));
  // Only one of the results is used.
  a.set_grad({});
  checkpoint([](const Tensor &x) { return std::pair(x * 2, x * 3); }, a).second.sum().backward();
  EXPECT_EQ(floats(a.grad()), (Floats{3, 3}));
  checkpoint([] {});
}

TEST(Recompute, FollowsParametersThatTheFunctionCaptures) {
  nn::Linear fc(2, 2);
  const Tensor x = tensor({1, 2}, {1, 2}); // requires no gradient
  checkpoint([&](const Tensor &in) { return tanh(fc(in)); }, x).sum().backward();
  const Floats found = floats(fc.weight.grad());
  fc.zero_grad();
  tanh(fc(x)).sum().backward();
  EXPECT_EQ(found, floats(fc.weight.grad()));
  // Nothing requires a gradient, or gradients are off.
  EXPECT_FALSE(checkpoint([](const Tensor &in) { return in * 2; }, x).requires_grad());
  EXPECT_FALSE(no_grad([&] { return checkpoint(fc, x); }).requires_grad());
  // Results that the function does not compute are what they were.
  EXPECT_TRUE(checkpoint([&](const Tensor &) { return fc.weight; }, x).is_leaf());
}

TEST(Recompute, MayBeNested) {
  Tensor x = tensor({0.5, -1}, {2}).requires_grad_();
  const auto inner = [](const Tensor &in) { return sin(in) * in; };
  const auto outer = [&](const Tensor &in) { return checkpoint(inner, checkpoint(inner, exp(in)) * 2) + in; };
  checkpoint(outer, x).sum().backward();
  const Floats found = floats(x.grad());
  x.set_grad({});
  (inner(inner(exp(x)) * 2) + x).sum().backward();
  EXPECT_EQ(found, floats(x.grad()));
  const auto step = compile([&](Tensor in) { return grad(checkpoint(outer, in).sum(), {in})[0]; });
  EXPECT_EQ(found, floats(step(x)));
}

TEST(Recompute, HasDerivativesOfDerivatives) {
  Tensor x = tensor({0.5, -1}, {2}).requires_grad_();
  const auto cube = [](const Tensor &in) { return in * in * in; };
  const auto second = [&](const Tensor &y) {
    const Tensor first = grad(y.sum(), {x}, {.create_graph = true})[0];
    return floats(grad((first * first).sum(), {x})[0]); // 2 (3 x^2) (6 x)
  };
  EXPECT_EQ(second(checkpoint(cube, x)), (Floats{4.5, -36}));
  const Floats found = second(checkpoint(cube, checkpoint([](const Tensor &in) { return exp(in); }, x))),
               wanted = second(cube(exp(x)));
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-5 * wanted[i]);
  const auto step = compile([&](Tensor in) {
    const Tensor first = grad(checkpoint(cube, in).sum(), {in}, {.create_graph = true})[0];
    return grad((first * first).sum(), {in})[0];
  });
  EXPECT_EQ(floats(step(x)), (Floats{4.5, -36}));
}

TEST(Recompute, KeepsHooksInside) {
  Tensor x = tensor({1, 2}, {2}).requires_grad_();
  int calls = 0;
  Tensor inside;
  const Tensor y = checkpoint(
      [&](const Tensor &in) {
        inside = in * 2;
        inside.register_hook([&](const Tensor &g) {
          ++calls;
          return g * 10;
        });
        return inside * inside;
      },
      x);
  y.sum().backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(floats(x.grad()), (Floats{80, 160}));
  // What the function gave away is a tensor like any other.
  x.set_grad({});
  inside.sum().backward();
  EXPECT_EQ(floats(x.grad()), (Floats{20, 20}));
}

TEST(Recompute, ResultsStayTheTensorsThatTheyAre) {
  for (const bool requiresGrad : {false, true}) {
    Tensor leaf = tensor({1, 2, 3, 4}, {4}).requires_grad_(requiresGrad), x = leaf * 1;
    // A view of an argument is one.
    Tensor part = checkpoint([](const Tensor &in) { return in.slice(0, 0, 2); }, x);
    part.mul_(10);
    EXPECT_EQ(floats(x), (Floats{10, 20, 3, 4})) << requiresGrad;
    x.add_(1);
    EXPECT_EQ(floats(part), (Floats{11, 21})) << requiresGrad;
    // What the function gave away is the result.
    Tensor inside;
    Tensor result = checkpoint(
        [&](const Tensor &in) {
          inside = in * 2;
          return inside;
        },
        x);
    result.mul_(3);
    EXPECT_EQ(floats(inside), (Floats{66, 126, 24, 30})) << requiresGrad;
    if (!requiresGrad)
      continue;
    (result.sum() + part.sum()).backward();
    EXPECT_EQ(floats(leaf.grad()), (Floats{70, 70, 6, 6}));
  }
}

TEST(Recompute, OfACompiledFunctionWhoseResultsAreDifferentiatedOutside) {
  Tensor x = tensor({1, 2, 3}, {3}).requires_grad_();
  const auto part = [](const Tensor &in) { return sin(in) * exp(in); };
  const auto compiled = compile([&](Tensor in) { return checkpoint(part, checkpoint(part, in)); });
  for (int i = 0; i < 2; ++i) {
    x.set_grad({});
    compiled(x).sum().backward();
    const Floats found = floats(x.grad());
    x.set_grad({});
    part(part(x)).sum().backward();
    EXPECT_EQ(found, floats(x.grad()));
  }
}

TEST(Recompute, OfDynamicSizes) {
  const Dim batch("batch", 1, 8);
  Tensor w = tensor({2, 3}, {2}).requires_grad_();
  const auto part = [&](const Tensor &t) { return exp(t * w); };
  const auto step =
      compile([&](Tensor in) { return grad(checkpoint(part, in).sum(), {w})[0]; }, {spec({batch, 2}, f32)});
  for (const int64_t rows : {1, 5}) {
    const Tensor in = generated({rows, 2}, [](size_t i) { return 0.125 * static_cast<double>(i); });
    EXPECT_EQ(floats(step(in)), floats(grad(part(in).sum(), {w})[0]));
  }
}

TEST(Recompute, InTheBodyOfALoopIsAPlainCall) {
  Tensor x = tensor({0.5, 0.25}, {2}).requires_grad_();
  const auto run = [&](bool again) {
    const auto [last, all] = scan(
        [&](const Tensor &carry, const Tensor &in) {
          const Tensor next =
              again ? checkpoint([&](const Tensor &t) { return tanh(t * in); }, carry) : tanh(carry * in);
          return std::pair(next, next);
        },
        x, tensor({1, 2, 3}, {3}));
    return floats(grad(last.sum(), {x})[0]);
  };
  EXPECT_EQ(run(true), run(false));
}

//===----------------------------------------------------------------------===//
// checkpoint_sequential
//===----------------------------------------------------------------------===//

TEST(Recompute, OfASequenceInSegments) {
  manual_seed(1);
  nn::Sequential layers(nn::Linear(4, 8), nn::Tanh(), nn::Linear(8, 8), nn::Tanh(), nn::Linear(8, 2));
  const Tensor x = randn({3, 4});
  layers(x).square().sum().backward();
  const auto gradients = [&] {
    std::vector<Tensor> found;
    for (const Tensor &parameter : layers.parameters())
      found.push_back(parameter.grad().clone());
    layers.zero_grad();
    return bitsOf(found);
  };
  const auto wanted = gradients();
  for (int64_t segments = 1; segments <= 5; ++segments) {
    checkpoint_sequential(layers, segments, x).square().sum().backward();
    EXPECT_EQ(gradients(), wanted) << segments;
  }
  const std::vector<std::function<Tensor(const Tensor &)>> functions(3,
                                                                     [](const Tensor &in) { return in * 2; });
  EXPECT_EQ(floats(checkpoint_sequential(functions, 2, tensor({1}, {1}))), Floats{8});
  EXPECT_ERROR(checkpoint_sequential(layers, 0, x),
               "expected from 1 segment to 5, one for each layer, found 0");
  EXPECT_ERROR(checkpoint_sequential(layers, 6, x), "found 6");
}
