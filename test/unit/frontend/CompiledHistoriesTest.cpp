//===- CompiledHistoriesTest.cpp - Histories that calls leave in tensors -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

using namespace weft;

namespace {

Tensor leafOf(Floats values) {
  const auto size = static_cast<int64_t>(values.size());
  return tensor(std::move(values), {size}).requires_grad_();
}

} // namespace

//===----------------------------------------------------------------------===//
// State that is written from a history that the function used up
//===----------------------------------------------------------------------===//

TEST(CompiledHistories, OfStateThatWereUsedUpAreErrors) {
  Tensor x = leafOf({1, 2}), h = zeros({2});
  const auto step = compile([&](Tensor x) {
    const Tensor y = x * x;
    y.sum().backward();
    h.copy_(y * y);
  });
  for (int call = 0; call < 3; ++call) {
    step(x);
    EXPECT_EQ(floats(h), (Floats{1, 16}));
    EXPECT_TRUE(h.requires_grad());
    EXPECT_ERROR((h.sum() + x.sum()).backward(), "WEFT-G009");
    EXPECT_ERROR(grad(h[0], {x}), "WEFT-G009");
  }
  EXPECT_EQ(step.variants().size(), 2U); // h required no gradient before the first call
  EXPECT_EQ(floats(x.grad()), (Floats{6, 12}));
  EXPECT_FALSE(h.detach().requires_grad());
  h.zero_(); // overwritten, it has none
  (h.sum() + x.sum()).backward();
  EXPECT_EQ(floats(x.grad()), (Floats{7, 13}));
  // An argument, a part of a tensor, and a tensor of another type.
  Tensor whole = zeros({3}), number = zeros({2});
  const auto parts = compile([&](Tensor x, Tensor argument) {
    const Tensor y = x * x;
    y.sum().backward();
    whole[2] = (y * 3).sum();
    argument.add_(y * y);
  });
  parts(x, number);
  EXPECT_EQ(floats(whole), (Floats{0, 0, 15}));
  EXPECT_ERROR((whole[2] + x.sum()).backward(), "WEFT-G009");
  EXPECT_EQ(floats(number), (Floats{1, 16}));
  EXPECT_ERROR(number.sum().backward(), "WEFT-G009");
}

TEST(CompiledHistories, OfStateOfWhichNobodyTakesAGradientDisturbNothing) {
  Tensor w = leafOf({1, 2}), mean = zeros({2}), last = zeros({2}), total = zeros({});
  optim::SGD optimizer({w}, {.lr = 0.5, .momentum = 0.5});
  const auto step = compile([&](Tensor x) {
    optimizer.zero_grad();
    const Tensor y = w * x, loss = (y * y).sum();
    loss.backward();
    mean.mul_(0.5).add_(y * 0.5);
    last.copy_(y);
    total += loss;
    optimizer.step();
  });
  const Tensor x = tensor({1, 0.5}, {2});
  step(x);
  step(x);
  const uint64_t compiled = compile_count();
  for (int call = 0; call < 6; ++call)
    step(x);
  EXPECT_EQ(compile_count(), compiled);
  EXPECT_LE(step.variants().size(), 2U);
  // The same program, with y and loss as numbers.
  Tensor v = leafOf({1, 2}), mean2 = zeros({2});
  optim::SGD other({v}, {.lr = 0.5, .momentum = 0.5});
  for (int call = 0; call < 8; ++call) {
    other.zero_grad();
    const Tensor y = v * x;
    (y * y).sum().backward();
    mean2.mul_(0.5).add_(y.detach() * 0.5);
    other.step();
  }
  EXPECT_EQ(floats(w), floats(v));
  EXPECT_EQ(floats(mean), floats(mean2));
}

// PyTorch: "Trying to backward through the graph a second time". Detached, the state is a number.
TEST(CompiledHistories, OfStateThatTheNextStepGoesThroughAreErrors) {
  const auto recurrent = [](bool detaches) {
    Tensor w = leafOf({0.5, 0.5}), h = zeros({2});
    optim::SGD optimizer({w}, {.lr = 0.1});
    const auto step = compile([&](Tensor x) {
      optimizer.zero_grad();
      const Tensor next = tanh(w * h + x);
      (next * next).sum().backward();
      optimizer.step();
      h.copy_(detaches ? next.detach() : next * 1);
    });
    for (int call = 0; call < 3; ++call)
      step(tensor({1, 2}, {2}));
    return floats(h);
  };
  const Floats h = recurrent(true);
  EXPECT_NEAR(h[0], 0.88837, 1e-5);
  EXPECT_NEAR(h[1], 0.98629, 1e-5);
  EXPECT_ERROR(recurrent(false), "WEFT-G003");
}

TEST(CompiledHistories, OfGradientsThatWereUsedUpAreErrors) {
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  const auto step = compile([&](Tensor x) {
    const Tensor y = x * x * w;
    y.sum().backward({}, std::nullopt, /*create_graph=*/true);
    grad((y * y).sum(), {x}); // uses up what y was computed from
  });
  step(x);
  EXPECT_EQ(floats(x.grad()), (Floats{6, 16}));
  EXPECT_TRUE(x.grad().requires_grad());
  EXPECT_ERROR(grad((x.grad() * 2).sum() + w.sum(), {w}), "WEFT-G009");
}

//===----------------------------------------------------------------------===//
// What is beside a history that the function used up
//===----------------------------------------------------------------------===//

// As in PyTorch, only a gradient that needs the history is an error.
TEST(CompiledHistories, AreNotNeededByTheGradientOfAFactor) {
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4}), z = leafOf({5, 6});
  const auto step = compile([](Tensor x) {
    const Tensor y = x * x;
    y.sum().backward();
    return y * 2;
  });
  for (const bool isHooked : {false, true}) {
    Tensor y = step(x);
    if (isHooked)
      y.register_hook([](const Tensor &g) { return g * 10; });
    const Tensor loss = (y * w).sum();
    EXPECT_EQ(floats(grad(loss, {w})[0]), (Floats{2, 8}));
    EXPECT_EQ(floats(grad(loss * z[0], {z})[0]), (Floats{38, 0}));
    const std::vector<Tensor> both = grad(loss, {y, w});
    EXPECT_EQ(floats(both[0]), isHooked ? (Floats{30, 40}) : (Floats{3, 4}));
    EXPECT_EQ(floats(both[1]), (Floats{2, 8}));
    EXPECT_FALSE(grad(loss, {z}, {.allow_unused = true})[0].defined());
    EXPECT_ERROR(grad(loss, {x}), "WEFT-G009");
    EXPECT_ERROR(grad(loss, {w, x}), "WEFT-G009");
    EXPECT_ERROR(grad(loss, {y, x}), "WEFT-G009");
    EXPECT_ERROR(loss.backward(), "WEFT-G009");
    EXPECT_FALSE(w.grad().defined());
  }
}

TEST(CompiledHistories, ThatWereUsedUpLeadToAllThatTheyBeganAt) {
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4}), v = leafOf({1, 1}), h = zeros({2});
  const auto step = compile([&](Tensor x, Tensor other) {
    const Tensor y = x * x;
    grad(y.sum(), {x});
    h.copy_(h + y * 2);
    return std::pair(y, other * 2);
  });
  // What was computed outside, and what that was computed from, also if it is gone.
  Tensor middle = x * 3, t = middle * 1;
  auto [y, beside] = step(t, v);
  t = middle = Tensor();
  const Tensor loss = (h * w + y * w + beside).sum();
  EXPECT_EQ(floats(grad(loss, {w})[0]), (Floats{27, 108}));
  EXPECT_EQ(floats(grad(loss, {v})[0]), (Floats{2, 2}));
  EXPECT_ERROR(grad(loss, {x}), "WEFT-G009");
  EXPECT_ERROR(grad((y * w).sum(), {x}), "WEFT-G009");
  // State leads to what each call wrote from.
  Tensor later = leafOf({1, 1});
  for (int call = 0; call < 2; ++call)
    step(later * 1, v);
  EXPECT_EQ(floats(h), (Floats{22, 76}));
  EXPECT_EQ(floats(grad((h * w).sum(), {w})[0]), (Floats{22, 76}));
  EXPECT_ERROR(grad(h.sum(), {x}), "WEFT-G009");
  EXPECT_ERROR(grad(h.sum(), {later}), "WEFT-G009");
  EXPECT_FALSE(grad((h * w).sum(), {v}, {.allow_unused = true})[0].defined());
  h.zero_();
  EXPECT_FALSE(h.requires_grad());
}

// As in PyTorch, a gradient that does not go through the history that was used up is there.
TEST(CompiledHistories, ThatWereUsedUpAreNotNeededBeside) {
  const auto body = [](Tensor x, Tensor w) {
    const Tensor y = x * x;
    const auto [values, places] = y.max(0, true);
    y.sum().backward();
    grad(values.sum(), {x});
    const Tensor beside = w * w;
    return std::tuple(y * beside + beside, values * places.to(f32) * w, tanh(y) * w.sum(), y * 2);
  };
  const auto run = compile(body);
  for (int call = 0; call < 2; ++call) {
    Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
    auto [both, scaled, curved, passed] = run(x, w);
    EXPECT_EQ(floats(both), (Floats{18, 80}));
    EXPECT_EQ(floats(scaled), (Floats{12, 16}));
    x.sum().backward(); // what the call read may be written
    no_grad([&] { x.fill_(7); });
    EXPECT_EQ(floats(grad(both.sum(), {w})[0]), (Floats{12, 40})); // 2 w (y + 1)
    EXPECT_EQ(floats(grad(scaled.sum(), {w})[0]), (Floats{4, 4}));
    EXPECT_NEAR(floats(grad(curved.sum(), {w})[0])[0], 1.760924, 1e-6); // tanh(1) + tanh(4)
    EXPECT_FALSE(grad(passed.sum(), {w}, {.allow_unused = true})[0].defined());
    for (const Tensor &result : {both, scaled, curved, passed}) {
      EXPECT_TRUE(result.requires_grad());
      EXPECT_ERROR(grad(result.sum(), {x}), "WEFT-G009");
      EXPECT_ERROR(grad(result.sum(), {x, w}), "WEFT-G009");
      EXPECT_ERROR(result.sum().backward(), "WEFT-G009");
    }
    EXPECT_FALSE(w.grad().defined());
  }
  // The same values with `w` before and behind the history.
  const auto again = compile([](Tensor x, Tensor w) {
    const Tensor y = x * w;
    y.sum().backward();
    return y * w;
  });
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  const Tensor result = again(x, w);
  EXPECT_ERROR(grad(result.sum(), {w}), "WEFT-G009");
}

// Gradients in the function go through them.
TEST(CompiledHistories, ThatWereUsedUpAreThereForGradientsInside) {
  const auto run = compile([](Tensor x, Tensor w, bool retains) {
    const Tensor y = x * x, u = y * w;
    Tensor g = grad(u.sum(), {x}, {.retain_graph = retains})[0]; // 2 x w
    y.sum().backward();
    return std::pair(u * g, y * w * g);
  });
  for (const bool retains : {true, false}) {
    Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
    auto [same, again] = run(x, w, retains);
    EXPECT_EQ(floats(same), (Floats{18, 256}));
    EXPECT_EQ(floats(again), (Floats{18, 256}));
    EXPECT_EQ(floats(grad(again.sum(), {w})[0]), (Floats{6, 64})); // y g
    EXPECT_ERROR(grad(same.sum(), {w}), "WEFT-G009");
  }
}

TEST(CompiledHistories, ThatWereUsedUpBesideADynamicSize) {
  const auto run = compile(
      [](Tensor x, Tensor w) {
        const Tensor y = x * x;
        y.sum().backward();
        return (y * w).sum();
      },
      {spec({Dim("n", 1, 8)}), spec({})}, {});
  Tensor w = full({}, 3.0).requires_grad_();
  for (const int64_t n : {2, 5}) {
    Tensor x = full({n}, 2.0).requires_grad_();
    EXPECT_EQ(grad(run(x, w), {w})[0].item<float>(), static_cast<float>(4 * n));
  }
}

namespace {

struct Product : autograd::Function<Product> {
  static Tensor forward(autograd::AutogradContext *ctx, const Tensor &a, const Tensor &b) {
    ctx->save_for_backward({a, b});
    return a * b;
  }
  static std::vector<Tensor> backward(autograd::AutogradContext *ctx, const std::vector<Tensor> &grads) {
    const std::vector<Tensor> saved = ctx->saved_tensors();
    return {grads[0] * saved[1], grads[0] * saved[0]};
  }
};

} // namespace

TEST(CompiledHistories, ThatWereUsedUpAreNeededBesideByRules) {
  const auto run = compile([](Tensor x, Tensor w) {
    const Tensor y = x * x;
    Tensor hooked = y * w;
    hooked.register_hook([](const Tensor &g) { return g * 2; });
    y.sum().backward();
    return std::tuple(Product::apply(y, w), hooked * 3,
                      utils::checkpoint([](Tensor a, Tensor b) { return a * b; }, y, w),
                      y * Product::apply(w, w));
  });
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  const auto [product, hooked, checkpointed, beside] = run(x, w);
  EXPECT_ERROR(grad(product.sum(), {w}), "WEFT-G009");
  EXPECT_EQ(floats(grad(hooked.sum(), {w})[0]), (Floats{6, 24}));      // 6 y
  EXPECT_EQ(floats(grad(checkpointed.sum(), {w})[0]), (Floats{1, 4})); // y
  EXPECT_ERROR(grad(hooked.sum(), {x}), "WEFT-G009");
  EXPECT_ERROR(grad(checkpointed.sum(), {x}), "WEFT-G009");
  EXPECT_EQ(floats(grad(beside.sum(), {w})[0]), (Floats{6, 32})); // 2 w y
}

TEST(CompiledHistories, OfStateGrowWithEachCall) {
  for (const bool isDetached : {false, true}) {
    Tensor mean = zeros({}), w = full({}, 2.0).requires_grad_();
    const auto run = compile([&](Tensor x) {
      mean.copy_((isDetached ? mean.detach() : mean) * 0.5 + x * w);
      return mean;
    });
    Tensor last;
    for (int call = 0; call < 3; ++call)
      last = run(full({}, 4.0));
    EXPECT_EQ(last.item<float>(), 14.0F);
    EXPECT_EQ(grad(last, {w})[0].item<float>(), isDetached ? 4.0F : 7.0F);
  }
}

// As a mean of losses that is written and returned: neither keeps what the calls before read.
TEST(CompiledHistories, ThatWereUsedUpAreNotKeptByStateThatIsReturned) {
  Tensor w = leafOf({1, 2}), total = zeros({});
  optim::SGD optimizer({w}, {.lr = 0.25});
  const auto step = compile([&](Tensor x) {
    optimizer.zero_grad();
    const Tensor loss = (w * x).square().sum();
    loss.backward();
    optimizer.step();
    total += loss;
    return total;
  });
  for (int call = 0; call < 4; ++call)
    step(ones({2}));
  EXPECT_EQ(total.item<float>(), 5 * (1 + 1 / 4.0F + 1 / 16.0F + 1 / 64.0F));
  EXPECT_TRUE(total.requires_grad());
  EXPECT_ERROR(total.backward(), "WEFT-G009");
  EXPECT_FALSE(mentions(step.explain(), "WEFT-D011")) << step.explain();
}

// Also beside a sum: a gradient outside may read the result, and computes it again.
TEST(CompiledHistories, ThatWereUsedUpAreReadByGradientsOfWhatReadsTheResult) {
  const auto run = compile([](Tensor x, Tensor w) {
    const Tensor y = x * x;
    y.sum().backward();
    return (y + w * w) * 0.5;
  });
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  const Tensor z = run(x, w);
  EXPECT_EQ(floats(z), (Floats{5, 10}));
  const Tensor g = grad((z * z).sum(), {w}, {.create_graph = true})[0];
  EXPECT_EQ(floats(g), (Floats{30, 80}));                     // 2 z w
  EXPECT_EQ(floats(grad(g.sum(), {w})[0]), (Floats{28, 52})); // 2 z + 2 w w
  EXPECT_TRUE(mentions(run.explain(), "whose history is used up, is kept for gradients beside it: 8 bytes"));
}

// What the program gets hold of inside of such a history has ways through it, beside those that are kept.
TEST(CompiledHistories, ThatWereUsedUpLeadToWhatTheFunctionMade) {
  const auto leaf = compile([](Tensor x, Tensor w) {
    Tensor made = (x * 2).detach().requires_grad_();
    const Tensor y = made * made;
    y.sum().backward();
    return std::tuple(y * made, y * w, made, made * w);
  });
  const auto computed = compile([](Tensor x, Tensor w) {
    const Tensor made = x * 1.0, y = made * made;
    grad(y.sum(), {made});
    return std::tuple(y * made, y * w, made, made * w);
  });
  for (const auto &run : {leaf, computed})
    for (int call = 0; call < 2; ++call) {
      Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
      auto [both, other, made, beside] = run(x, w);
      EXPECT_ERROR(grad(both.sum(), {made}), "WEFT-G009");
      EXPECT_ERROR(grad(both.sum(), {made}, {.allow_unused = true}), "WEFT-G009");
      EXPECT_ERROR(grad(other.sum(), {made}, {.allow_unused = true}), "WEFT-G009");
      EXPECT_EQ(floats(grad(other.sum(), {w})[0]), floats(made * made));
      EXPECT_EQ(floats(grad(beside.sum(), {made})[0]), (Floats{3, 4}));
    }
  // A gradient ends at the leaf.
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  EXPECT_FALSE(grad(std::get<1>(leaf(x, w)).sum(), {x}, {.allow_unused = true})[0].defined());
  EXPECT_ERROR(grad(std::get<1>(computed(x, w)).sum(), {x}), "WEFT-G009");
  const auto alone = compile([](Tensor x) {
    Tensor made = (x * 2).requires_grad_();
    const Tensor y = made * made;
    y.sum().backward();
    return std::pair(y * 2, made);
  });
  auto [only, made] = alone(ones({2}));
  EXPECT_ERROR(grad(only.sum(), {made}, {.allow_unused = true}), "WEFT-G009");
  EXPECT_EQ(floats(grad((made * made).sum(), {made})[0]), (Floats{4, 4}));
}

TEST(CompiledHistories, ThatWereUsedUpLeadToWhatTheFunctionWrote) {
  Tensor state = zeros({2});
  const auto run = compile([&](Tensor x, Tensor w) {
    state.copy_(x * w);
    const Tensor y = state * state;
    grad(y.sum(), {state});
    return y * state * w;
  });
  for (int call = 0; call < 2; ++call) {
    Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
    const Tensor result = run(x, w);
    EXPECT_EQ(floats(result), (Floats{81, 2048}));
    EXPECT_ERROR(grad(result.sum(), {state}), "WEFT-G009");
    EXPECT_EQ(floats(grad(state.sum(), {x})[0]), (Floats{3, 4}));
  }
}

// A gradient for something else must not make calls copy what they write.
TEST(CompiledHistories, ThatWereUsedUpAreNotKeptWhereTheyReadWhatIsWritten) {
  const auto check = [](const std::function<Tensor(Tensor, Tensor, Tensor)> &of) {
    Tensor p = leafOf({1, 2}), w = leafOf({3, 4});
    optim::SGD optimizer({p}, {.lr = 0.25});
    const auto step = compile(
        [&](Tensor x) {
          optimizer.zero_grad();
          const Tensor y = (p * x).square();
          y.sum().backward();
          const Tensor result = of(y, w, p);
          optimizer.step();
          return result;
        },
        {.strict = Strict::donate});
    Tensor last;
    for (int call = 0; call < 3; ++call)
      last = step(ones({2}));
    EXPECT_EQ(floats(p), (Floats{0.125, 0.25}));
    EXPECT_ERROR(grad(last.sum(), {w}), "WEFT-G009");
    EXPECT_ERROR(last.sum().backward(), "WEFT-G009");
  };
  check([](const Tensor &y, const Tensor &w, const Tensor &p) { return y * w * p.detach().abs().max(); });
  check([](const Tensor &y, const Tensor &w, const Tensor &) { return where(y > 1, y, w); });
  check([](const Tensor &y, const Tensor &w, const Tensor &) { return y * w + y.detach(); });
}

//===----------------------------------------------------------------------===//
// Leaves whose values the function computes
//===----------------------------------------------------------------------===//

TEST(CompiledHistories, OfALeafThatTheFunctionWroteReachIt) {
  // The operations of a training step that clips its weights, and then computes its result.
  const auto clipped = [](Tensor w, Tensor x) {
    no_grad([&] { w.clamp_(-1, 1); });
    return (w * w * x).sum();
  };
  for (const bool isArgument : {true, false}) {
    Tensor w = leafOf({3, 4});
    const Tensor x = tensor({1, 2}, {2});
    std::function<Tensor(Tensor, Tensor)> f = compile(clipped);
    if (!isArgument) {
      const auto captured = compile([&](Tensor x) { return clipped(w, x); });
      f = [captured](Tensor, Tensor x) { return captured(x); };
    }
    for (int call = 0; call < 3; ++call) {
      w.set_grad({});
      const Tensor loss = f(w, x);
      EXPECT_EQ(loss.item<float>(), 3);
      EXPECT_TRUE(w.is_leaf());
      (loss + w.sum()).backward();
      EXPECT_EQ(floats(w.grad()), (Floats{3, 5})); // 2 w x + 1
      EXPECT_EQ(floats(grad(f(w, x), {w})[0]), (Floats{2, 4}));
      no_grad([&] { w.fill_(5); });
    }
  }
}

TEST(CompiledHistories, OfEachValueThatALeafHadReachIt) {
  Tensor w = leafOf({3, 4}), x = leafOf({1, 2});
  const auto run = compile([&](Tensor x) {
    const Tensor first = (w * w * x).sum();
    no_grad([&] { w.sub_(1); });
    const Tensor second = (w * w * w * x).sum();
    no_grad([&] { w.mul_(2); });
    return std::tuple(first, second, (w * w * x).sum());
  });
  for (int call = 0; call < 2; ++call) {
    no_grad([&] { w.copy_(tensor({3, 4}, {2})); });
    auto [first, second, third] = run(x);
    EXPECT_EQ(floats(w), (Floats{4, 6}));
    EXPECT_EQ(floats(grad(first, {w})[0]), (Floats{6, 16}));   // 2 w x at 3, 4
    EXPECT_EQ(floats(grad(second, {w})[0]), (Floats{12, 54})); // 3 w w x at 2, 3
    EXPECT_EQ(floats(grad(third, {w})[0]), (Floats{8, 24}));   // 2 w x at 4, 6
    EXPECT_EQ(floats(grad(second, {x})[0]), (Floats{8, 27}));
    w.set_grad({});
    (first + second + third).backward();
    EXPECT_EQ(floats(w.grad()), (Floats{26, 94}));
  }
}

TEST(CompiledHistories, OfAWrittenLeafThatIsReturnedReachIt) {
  Tensor w = leafOf({3, 4});
  const auto half = compile([&] {
    no_grad([&] { w.mul_(0.5); });
    return w;
  });
  const Tensor result = half();
  (result * result).sum().backward();
  EXPECT_EQ(floats(w.grad()), (Floats{3, 4}));
}

TEST(CompiledHistories, OfALeafBehindAnOptimisersStep) {
  // The loss after a step, as sharpness-aware training computes it, and the norm of the weights.
  Tensor w = leafOf({1, 2});
  optim::Adam optimizer({w}, {.lr = 0.25});
  const auto step = compile([&](Tensor x) {
    optimizer.zero_grad();
    (w * x).square().sum().backward();
    optimizer.step();
    return (w * w * x).sum();
  });
  for (int call = 0; call < 3; ++call) {
    const Tensor behind = step(ones({2}));
    const Floats now = floats(w);
    EXPECT_EQ(floats(grad(behind, {w})[0]), (Floats{2 * now[0], 2 * now[1]}));
  }
}

TEST(CompiledHistories, OfALeafOfADynamicSize) {
  const auto clipped = compile(
      [](Tensor w) {
        no_grad([&] { w.clamp_(-1, 1); });
        return (w * w).sum();
      },
      {spec({Dim("n", 1, 8)})}, {});
  for (int64_t n : {2, 5}) {
    Tensor w = full({n}, 3.0).requires_grad_();
    (clipped(w) + w.sum()).backward();
    EXPECT_EQ(floats(w.grad()), Floats(static_cast<size_t>(n), 3));
  }
}

TEST(CompiledHistories, OfAViewThatIsAWrittenLeafReachIt) {
  for (const bool isCompiled : {false, true}) {
    Tensor base = tensor({3, 4, 5}, {3}), w = base.slice(0, 0, 2).detach().requires_grad_();
    const auto body = [&](Tensor x) {
      const Tensor before = (w * w).sum();
      no_grad([&] { w.clamp_(-1, 1); });
      return std::pair((w * w * x).sum(), before);
    };
    const auto compiled = compile(body);
    for (int call = 0; call < 2; ++call) {
      no_grad([&] { base.copy_(tensor({3, 4, 5}, {3})); });
      w.set_grad({});
      const Tensor x = full({2}, 3.0);
      auto [clipped, before] = isCompiled ? compiled(x) : body(x);
      EXPECT_EQ(floats(base), (Floats{1, 1, 5}));
      EXPECT_EQ(floats(grad(before, {w})[0]), (Floats{6, 8}));
      (clipped + w.sum()).backward();
      EXPECT_EQ(floats(w.grad()), (Floats{7, 7})); // 2 w x + 1
    }
  }
}

TEST(CompiledHistories, OfAViewThatIsALeafReachIt) {
  Tensor base = tensor({1, 2, 3, 4}, {2, 2}), w = base.t().detach().requires_grad_();
  const Tensor part = w[0];
  int hooks = 0;
  w.register_hook([&](const Tensor &) { ++hooks; });
  const auto read = compile([&](Tensor x) { return std::pair((w * w * x).sum() + part.sum(), w); });
  for (int call = 0; call < 2; ++call) {
    w.set_grad({});
    auto [sum, same] = read(full({2, 2}, 2.0));
    EXPECT_EQ(floats(grad(sum, {w})[0]), (Floats{5, 13, 8, 16}));
    EXPECT_FALSE(same.is_leaf());
    (sum + (same * 3).sum()).backward();
    EXPECT_EQ(floats(w.grad()), (Floats{8, 16, 11, 19}));
    EXPECT_EQ(hooks, 2 * call + 2);
    EXPECT_FALSE(base.grad().defined());
  }
  // In a `backward()` inside, and behind one.
  const auto step = compile([&] {
    (w * w).sum().backward();
    return (w * w * w).sum();
  });
  w.set_grad({});
  step().backward();
  EXPECT_EQ(floats(w.grad()), (Floats{5, 33, 16, 56})); // 2 w + 3 w w
}

//===----------------------------------------------------------------------===//
// Tensors that are left twice
//===----------------------------------------------------------------------===//

TEST(CompiledHistories, OfATensorThatIsReturnedTwiceAddUp) {
  Tensor x = leafOf({1, 2}), state = zeros({2});
  const auto twice = compile([&](Tensor x) {
    const Tensor y = x * x;
    state.copy_(y);
    return std::tuple(y, y, state);
  });
  for (int call = 0; call < 2; ++call) {
    auto [a, b, c] = twice(x);
    Floats seen;
    a.register_hook([&](const Tensor &g) { seen = floats(g); });
    b.retain_grad();
    x.set_grad({});
    (a + b * 2 + c * 3 + state * 4).sum().backward();
    EXPECT_EQ(floats(x.grad()), (Floats{20, 40}));
    EXPECT_EQ(seen, (Floats{1, 1}));
    EXPECT_EQ(floats(b.grad()), (Floats{2, 2}));
  }
}

TEST(CompiledHistories, OfAnArgumentAndAViewOfItAddUp) {
  const auto both = compile([](Tensor x) { return std::pair(x, x.view({2, 1})); });
  for (const bool isLeaf : {true, false}) {
    Tensor w = leafOf({1, 2}), x = isLeaf ? w : w * 1;
    auto [same, column] = both(x);
    column.register_hook([](const Tensor &g) { return g * 10; });
    (same * 3).sum().backward();
    (same + column.squeeze(1) + x).sum().backward();
    EXPECT_EQ(floats(w.grad()), (Floats{15, 15}));
  }
}

//===----------------------------------------------------------------------===//
// Graphs that are kept
//===----------------------------------------------------------------------===//

TEST(CompiledHistories, AreKeptByAGradThatRetainsItsGraph) {
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4});
  const auto run = [](std::optional<bool> retain, bool create) {
    return compile([=](Tensor x, Tensor w) {
      const Tensor y = x * x * w;
      const Tensor g = grad(y.sum(), {x}, {.retain_graph = retain, .create_graph = create})[0];
      return std::pair(y * 2, g);
    });
  };
  const auto [kept, number] = run(true, false)(x, w);
  EXPECT_EQ(floats(number), (Floats{6, 16}));
  EXPECT_FALSE(number.requires_grad());
  EXPECT_EQ(floats(grad(kept.sum(), {w})[0]), (Floats{2, 8}));
  EXPECT_ERROR(run(std::nullopt, false)(x, w).first.sum().backward(), "WEFT-G009");
  EXPECT_ERROR(run(false, true)(x, w).first.sum().backward(), "WEFT-G009");
  EXPECT_EQ(floats(grad(run(std::nullopt, true)(x, w).second.sum(), {w})[0]), (Floats{2, 4}));
}
