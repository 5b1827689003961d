//===- HooksTest.cpp - Hooks of gradients, and members that change a tensor ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;
using Floats = std::vector<float>;

namespace {

Tensor leafOf(Floats values) {
  const auto size = static_cast<int64_t>(values.size());
  Tensor t = tensor(std::move(values), {size});
  t.requires_grad_();
  return t;
}

Floats gradOf(const Tensor &t) { return t.grad().to_vector<float>(); }

} // namespace

//===----------------------------------------------------------------------===//
// register_hook
//===----------------------------------------------------------------------===//

TEST(Hooks, OfALeafSeeItsWholeGradientAndMayChangeIt) {
  Tensor a = leafOf({2, 3});
  Floats seen;
  RemovableHandle first = a.register_hook([&](const Tensor &g) { seen = g.to_vector<float>(); });
  RemovableHandle second = a.register_hook([](const Tensor &g) { return g * 10; });
  (a * a + a).sum().backward();
  EXPECT_EQ(seen, (Floats{5, 7}));
  EXPECT_EQ(gradOf(a), (Floats{50, 70}));
  second.remove();
  second.remove(); // has no effect
  (a * 1).sum().backward();
  EXPECT_EQ(seen, (Floats{1, 1}));
  EXPECT_EQ(gradOf(a), (Floats{51, 71}));
  first.remove();
  (a * 2).sum().backward();
  EXPECT_EQ(seen, (Floats{1, 1}));
}

TEST(Hooks, OfAComputedTensorChangeWhatFlowsOn) {
  Tensor a = leafOf({2, 3}), b = leafOf({5, 7}), c = leafOf({1, 4});
  Tensor h = a * b;
  Floats seen;
  int calls = 0;
  h.register_hook([&](const Tensor &g) {
    ++calls;
    seen = g.to_vector<float>();
    return g * 3;
  });
  EXPECT_FALSE(h.is_leaf());
  EXPECT_TRUE(h.requires_grad());
  ((h * c).sum() + h.sum() + a.sum()).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen, (Floats{2, 5}));
  EXPECT_EQ(gradOf(a), (Floats{31, 106})); // 3 (c + 1) b + 1
  EXPECT_EQ(gradOf(b), (Floats{12, 45}));
  EXPECT_EQ(gradOf(c), (Floats{10, 21})); // h, of which the hook says nothing
}

TEST(Hooks, AreCalledFromTheResultToTheLeaves) {
  Tensor x = leafOf({2});
  std::string order;
  Tensor a = x * 2;
  a.register_hook([&](const Tensor &g) {
    order += "a" + std::to_string(static_cast<int>(g.item<float>()));
    return g + 1;
  });
  Tensor b = a * a;
  b.register_hook([&](const Tensor &g) {
    order += "b" + std::to_string(static_cast<int>(g.item<float>()));
    return g * 10;
  });
  x.register_hook([&](const Tensor &) { order += "x"; });
  (a * 5 + b).sum().backward();
  EXPECT_EQ(order, "b1a85x"); // of a: 5 + 10 * 2 a
  EXPECT_EQ(gradOf(x), Floats{172});
}

// The usual reason for one: the gradient is cut, or numbers that are none are replaced, before it flows on.
TEST(Hooks, ReplaceWhatIsNotANumber) {
  Tensor x = leafOf({0, 4});
  Tensor h = x * 1;
  h.register_hook([](const Tensor &g) { return g.nan_to_num(0, 0, 0).clamp(-0.1, 0.1); });
  sqrt(h).sum().backward();
  EXPECT_EQ(gradOf(x), (Floats{0, 0.1F}));
}

TEST(Hooks, StayWithAValueThatIsOverwritten) {
  Tensor x = leafOf({3});
  Tensor h = x * 2;
  h.register_hook([](const Tensor &g) { return g * 100; });
  h += 1;
  h *= h;
  h.sum().backward(); // 2 (2 x + 1) of the hooked value
  EXPECT_EQ(gradOf(x), Floats{2800});
}

TEST(Hooks, OfAViewAreItsOwn) {
  Tensor x = leafOf({1, 2});
  Tensor h = x * 2, row = h[1];
  row.register_hook([](const Tensor &g) { return g * 10; });
  (row * 3 + h[0]).sum().backward();
  EXPECT_EQ(gradOf(x), (Floats{2, 60}));
}

TEST(Hooks, OfATensorThatWasUsedBeforeAreAnErrorWhereTheyWouldBeMissed) {
  Tensor x = leafOf({3});
  Tensor h = x * 2, before = h * 5;
  RemovableHandle handle = h.register_hook([](const Tensor &g) { return g * 100; });
  EXPECT_ERROR(before.sum().backward(), "past the hook that was registered on it");
  EXPECT_ERROR(grad(before.sum(), {x}), "WEFT-G005");
  (h * 5).sum().backward();
  EXPECT_EQ(gradOf(x), Floats{1000});
  handle.remove();
  before.sum().backward();
  EXPECT_EQ(gradOf(x), Floats{1010});
}

TEST(Hooks, SayWhatDoesNotFit) {
  Tensor x = leafOf({3, 4});
  EXPECT_ERROR(ones({2}).register_hook([](const Tensor &) {}), "a tensor that doesn't require gradient");
  EXPECT_ERROR(ones({2}).retain_grad(), "retain_grad(): cannot be called on a tensor that doesn't require");
  RemovableHandle handle = x.register_hook([](const Tensor &g) { return g.sum(); });
  EXPECT_ERROR((x * 2).sum().backward(), "a hook has changed the shape, dtype or device of the gradient");
  handle.remove();
  (x * 2).sum().backward();
  EXPECT_EQ(gradOf(x), (Floats{2, 2}));
}

TEST(Hooks, AreCalledByGradWhereAnInputLiesBelow) {
  Tensor x = leafOf({3}), y = leafOf({5});
  Tensor h = x * 2;
  int calls = 0;
  h.register_hook([&](const Tensor &g) {
    ++calls;
    return g * 10;
  });
  const Tensor loss = (h * y).sum();
  EXPECT_EQ(grad(loss, {y})[0].to_vector<float>(), Floats{6});
  EXPECT_EQ(calls, 0);
  const std::vector<Tensor> found = grad(loss, {x, h, y});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(found[0].to_vector<float>(), Floats{100});
  EXPECT_EQ(found[1].to_vector<float>(), Floats{50}); // after the hook
  EXPECT_EQ(found[2].to_vector<float>(), Floats{6});
  EXPECT_ERROR(grad(loss, {leafOf({1})}), "appears to not have been used in the graph");
  x.register_hook([](const Tensor &g) { return g + 1; });
  EXPECT_EQ(grad(loss, {x})[0].to_vector<float>(), Floats{101});
}

//===----------------------------------------------------------------------===//
// retain_grad, backward
//===----------------------------------------------------------------------===//

TEST(Hooks, RetainedGradientsAddUpAndAreThoseAfterTheHooks) {
  Tensor x = leafOf({2, 3});
  Tensor h = x * x, used = h * 3;
  h.retain_grad().retain_grad(); // also after it was used
  EXPECT_TRUE(h.retains_grad());
  EXPECT_FALSE(h.is_leaf());
  EXPECT_FALSE(x.retain_grad().retains_grad());
  EXPECT_FALSE(h.grad().defined());
  used.sum().backward();
  EXPECT_EQ(gradOf(h), (Floats{3, 3}));
  used.sum().backward();
  EXPECT_EQ(gradOf(h), (Floats{6, 6}));
  EXPECT_EQ(gradOf(x), (Floats{24, 36}));
  Tensor k = x * 2;
  k.register_hook([](const Tensor &g) { return g * 10; });
  k.retain_grad();
  (k * k).sum().backward();
  EXPECT_EQ(gradOf(k), (Floats{80, 120}));
}

// The numbers and the order are PyTorch's: the gradient of what was computed last is found first.
TEST(Hooks, SeeTheGradientsThatYoungerTensorsRetain) {
  Tensor x = leafOf({1, 2});
  Tensor a = x * 2, b = x * 3;
  std::string order;
  const auto note = [&order](const char *name, Tensor &other) {
    return [&order, name, &other](const Tensor &) {
      order += name + std::string(other.grad().defined() ? " sees one, " : " sees none, ");
    };
  };
  b.register_hook(note("b", a));
  a.register_hook(note("a", b));
  a.retain_grad();
  b.retain_grad();
  x.register_hook(note("x", a));
  (a + b).sum().backward();
  EXPECT_EQ(order, "b sees none, a sees one, x sees one, ");
  // One that reads what is retained, and one that is not complete yet when a hook is called.
  for (const bool isCompiled : {false, true}) {
    const auto run = [](Tensor w) {
      Tensor h = w * 2, k;
      h.register_hook([&](const Tensor &g) {
        EXPECT_FALSE(h.grad().defined());
        return g + k.grad();
      });
      h.retain_grad();
      k = h * 3;
      k.retain_grad();
      (k * 5 + h).sum().backward();
      return std::tuple(w.grad().clone(), h.grad(), k.grad());
    };
    const auto [ofW, ofH, ofK] = isCompiled ? compile(run)(leafOf({1, 2})) : run(leafOf({1, 2}));
    EXPECT_EQ(floats(ofW), (Floats{42, 42}));
    EXPECT_EQ(floats(ofH), (Floats{21, 21}));
    EXPECT_EQ(floats(ofK), (Floats{5, 5}));
  }
}

TEST(Hooks, RetainedGradientsAreTakenBackIfAHookFails) {
  Tensor x = leafOf({1, 2}), y = leafOf({3, 4});
  Tensor h = x * 2, k;
  Floats seen;
  bool fails = false;
  h.register_hook([&](const Tensor &) {
    seen = floats(k.grad());
    if (fails)
      throw std::runtime_error("the hook fails");
  });
  k = h * y;
  k.retain_grad();
  k.sum().backward();
  EXPECT_EQ(seen, (Floats{1, 1}));
  Tensor next = h * 7;
  next.retain_grad();
  const Tensor loss = (k * 10 + next).sum();
  fails = true;
  EXPECT_THROW(loss.backward(), std::runtime_error);
  EXPECT_EQ(seen, (Floats{11, 11}));
  EXPECT_EQ(floats(k.grad()), (Floats{1, 1}));
  EXPECT_FALSE(next.grad().defined());
  EXPECT_EQ(floats(y.grad()), (Floats{2, 4}));
  fails = false;
  loss.backward();
  EXPECT_EQ(floats(k.grad()), (Floats{11, 11}));
  EXPECT_EQ(floats(next.grad()), (Floats{1, 1}));
}

namespace {
struct Twice : autograd::Function<Twice> {
  static Tensor forward(autograd::AutogradContext *, const Tensor &x) { return x * 2; }
  static std::vector<Tensor> backward(autograd::AutogradContext *, const std::vector<Tensor> &grads) {
    return {grads[0] * 2};
  }
};
/// Results of rules, and a view of a whole leaf.
std::vector<std::function<Tensor(const Tensor &)>> doublings() {
  return {[](const Tensor &x) { return Twice::apply(x); },
          [](const Tensor &x) { return utils::checkpoint([](const Tensor &x) { return x * 2; }, x); },
          [](const Tensor &x) { return x.view({2}); }};
}
} // namespace

TEST(Hooks, OfRulesAndOfViewsOfLeavesAreRetainedToo) {
  for (const auto &f : doublings())
    for (const bool hookFirst : {false, true}) {
      Tensor x = leafOf({1, 2});
      Tensor y = f(x);
      if (!hookFirst)
        y.retain_grad();
      y.register_hook([](const Tensor &g) { return g * 10; });
      if (hookFirst)
        y.retain_grad();
      const Floats factor = y.to_vector<float>(), one = {factor[0] / 1, factor[1] / 2};
      (y * 3 + x).sum().backward(); // the view's gradient is its own part of the leaf's
      EXPECT_EQ(gradOf(y), (Floats{30, 30})) << hookFirst;
      EXPECT_EQ(gradOf(x), (Floats{30 * one[0] + 1, 30 * one[1] + 1})) << hookFirst;
    }
}

// PyTorch calls them, so that their absence must not pass in silence.
TEST(Hooks, OfATensorThatIsGoneAreAnErrorWhereTheyWouldBeMissed) {
  const auto body = [](Tensor x) {
    Tensor h = x * 2, before = h * 5;
    h.register_hook([](const Tensor &g) { return g * 100; });
    return before;
  };
  const auto checkpointed = [](Tensor x) {
    Tensor h = x * 2, before = utils::checkpoint([](Tensor a) { return a * 5; }, h);
    h.register_hook([](const Tensor &g) { return g * 100; });
    return before;
  };
  const auto ruled = [](Tensor x) {
    Tensor h = x * 2, before = Twice::apply(h);
    h.register_hook([](const Tensor &g) { return g * 100; });
    return before;
  };
  const std::function<Tensor(Tensor)> functions[] = {body, compile(body), checkpointed, compile(ruled),
                                                     ruled};
  for (const auto &function : functions) {
    Tensor x = leafOf({3});
    const Tensor before = function(x);
    EXPECT_ERROR(before.sum().backward(), "WEFT-G005");
    EXPECT_ERROR(grad(before.sum(), {x}), "WEFT-G005");
  }
}

TEST(Hooks, ThatNoGradientMeetsAreNotMissed) {
  for (const bool held : {true, false}) {
    Tensor x = leafOf({1, 2}), w = leafOf({3, 4}), h = x * 2, y = h * w;
    h.register_hook([](const Tensor &g) { return g * 10; });
    EXPECT_ERROR(grad(y.sum(), {x}, {.retain_graph = true}), "WEFT-G005");
    EXPECT_ERROR(grad(y.sum(), {h}, {.retain_graph = true}), "WEFT-G005");
    EXPECT_ERROR(grad(y.sum(), {w, x}, {.retain_graph = true}), "WEFT-G005");
    if (!held)
      h = Tensor();
    EXPECT_EQ(grad(y.sum(), {w})[0].to_vector<float>(), (Floats{2, 4}));
  }
}

TEST(Hooks, ThatAreRemovedLeaveTheTensorAsItWas) {
  Tensor x = leafOf({1, 2}), w = leafOf({3, 4}), h = x * 2, before = h * w;
  h.register_hook([](const Tensor &g) { return g * 10; }).remove();
  const Tensor after = h * 5;
  const auto gradientOf = [&](const Tensor &of) {
    return grad(of.sum(), {h}, {.retain_graph = true})[0].to_vector<float>();
  };
  EXPECT_EQ(gradientOf(before), (Floats{3, 4}));
  EXPECT_EQ(gradientOf(after), (Floats{5, 5}));
  EXPECT_EQ(gradientOf(before + after), (Floats{8, 9}));
  EXPECT_EQ(grad((before + after).sum(), {x})[0].to_vector<float>(), (Floats{16, 18}));
}

TEST(Hooks, OfRulesAndOfViewsOfLeavesAreNotMissedAfterAUse) {
  auto functions = doublings();
  functions.emplace_back([](const Tensor &x) { return (x * 2).view({2}); });
  for (const auto &f : functions) {
    Tensor x = leafOf({1, 2}), y = f(x), used = y * 3;
    y.retain_grad();
    used.sum().backward();
    EXPECT_EQ(gradOf(y), (Floats{3, 3}));
    y.register_hook([](const Tensor &g) { return g * 10; });
    EXPECT_ERROR(used.sum().backward(), "WEFT-G005");
  }
  // A tensor and a view of all of it have hooks, and gradients, of their own.
  Tensor x = leafOf({1, 2}), y = x * 2, view = y.view({2});
  view.register_hook([](const Tensor &g) { return g * 10; });
  view.retain_grad();
  (view * 3 + y).sum().backward();
  EXPECT_EQ(gradOf(view), (Floats{30, 30}));
  EXPECT_EQ(gradOf(x), (Floats{62, 62}));
}

TEST(Hooks, RetainedGradientsAreThoseOfThePresentValue) {
  for (const bool hooked : {false, true}) {
    Tensor x = leafOf({1, 2});
    Tensor y = x * 2;
    if (hooked)
      y.register_hook([](const Tensor &g) { return g * 5; });
    y.retain_grad();
    y.mul_(3);
    y[0] = y[0] * 4;
    (y * y).sum().backward();
    EXPECT_EQ(gradOf(y), (Floats{48, 24}));
    EXPECT_EQ(gradOf(x), (Floats{48 * 24.0f * (hooked ? 5 : 1), 24 * 6.0f * (hooked ? 5 : 1)}));
    no_grad([&] { y.add_(1); }); // has no part in the gradient
    y.sum().backward();
    EXPECT_EQ(gradOf(y), (Floats{49, 25}));
    y.set_grad({});
    compile([](Tensor t) { t.mul_(10); })(y);
    compile([&] { y.mul_(10); })();
    (y * 2).sum().backward();
    EXPECT_EQ(gradOf(y), (Floats{2, 2}));
  }
}

TEST(Hooks, BackwardTakesTheOptionsOfPyTorch) {
  Tensor x = leafOf({2, 3});
  (x * x * x).sum().backward({}, /*retain_graph=*/true, /*create_graph=*/true);
  EXPECT_EQ(gradOf(x), (Floats{12, 27}));
  const Tensor first = x.grad();
  EXPECT_TRUE(first.requires_grad());
  x.set_grad({});
  first.sum().backward();
  EXPECT_EQ(gradOf(x), (Floats{12, 18})); // 6 x
  x.set_grad({});
  (x * x).backward(tensor({1, 10}, {2}), /*retain_graph=*/false);
  EXPECT_EQ(gradOf(x), (Floats{4, 60}));
  EXPECT_FALSE(x.grad().requires_grad());
  EXPECT_ERROR((x * x).backward(Tensor(), true), "grad can be implicitly created only for scalar outputs");
  // What the hook of a leaf records has derivatives as well.
  x.set_grad({});
  RemovableHandle handle = x.register_hook([](const Tensor &g) { return g * g; });
  (x * x).sum().backward({}, true, true);
  const Tensor second = x.grad(); // 4 x x
  handle.remove();
  x.set_grad({});
  second.sum().backward();
  EXPECT_EQ(gradOf(x), (Floats{16, 24}));
}

// PyTorch calls the hooks in the second derivative as well, and so do these: the numbers are its.
TEST(Hooks, OfComputedTensorsHaveDerivatives) {
  Tensor x = leafOf({2, 3});
  const auto second = [&](auto hook) {
    Tensor h = x * x;
    h.register_hook(hook);
    const Tensor first = grad((h * h * x).sum(), {x}, {.create_graph = true})[0];
    return std::pair(floats(first), floats(grad(first.sum(), {x})[0]));
  };
  EXPECT_EQ(second([](const Tensor &g) { return g * g; }),
            (std::pair(Floats{1040, 17577}, Floats{1083136, 91558512})));
  EXPECT_EQ(second([](const Tensor &g) { return g * 3; }), (std::pair(Floats{208, 1053}, Floats{864, 2916})));
}

// A view of a whole tensor has its value, and hooks of its own.
TEST(Hooks, OfAViewOfAWholeTensorAreNotThoseOfTheTensor) {
  Tensor x = leafOf({2, 3});
  Tensor view = x.view_as(x);
  view.retain_grad();
  view.register_hook([](const Tensor &g) { return g * 10; });
  (x * 1 + view * 2).sum().backward();
  EXPECT_EQ(gradOf(x), (Floats{21, 21}));
  EXPECT_EQ(gradOf(view), (Floats{20, 20}));
  EXPECT_FALSE(x.retains_grad());
}

//===----------------------------------------------------------------------===//
// Hooks of modules
//===----------------------------------------------------------------------===//

namespace {
/// A module of the user, whose call is not const.
struct Doubling : nn::Module {
  nn::Parameter scale = register_parameter("scale", full({2}, 2.0));
  Tensor operator()(const Tensor &x) { return x * scale; }
};
} // namespace

TEST(Hooks, OfAModuleAreCalledAroundItsCalls) {
  nn::Hooked<Doubling> module{Doubling()};
  EXPECT_EQ(module.named_parameters()[0].first, "scale");
  std::string order;
  nn::ModuleHookHandle before =
      module.register_forward_pre_hook([&](const nn::Module &, const Tensor &input) {
        order += "pre ";
        return input + 1;
      });
  module.register_forward_hook([&](const nn::Module &self, const Tensor &input, const Tensor &output) {
    order += "forward " + std::to_string(self.parameters().size()) + " ";
    EXPECT_EQ(output.to_vector<float>(), (input * 2).to_vector<float>());
  });
  nn::ModuleHookHandle after = module.register_forward_hook(
      [&](const nn::Module &, const Tensor &, const Tensor &output) { return output * 10; });
  EXPECT_EQ(module(tensor({1, 2}, {2})).to_vector<float>(), (Floats{40, 60}));
  EXPECT_EQ(order, "pre forward 1 ");
  before.remove();
  after.remove();
  after.remove();
  nn::Sequential chain{nn::ReLU(), module};
  EXPECT_EQ(chain(tensor({1, -2}, {2})).to_vector<float>(), (Floats{2, 0}));
  EXPECT_EQ(order, "pre forward 1 forward 1 ");
}

TEST(Hooks, OfAModulesGradientsSeeBothAndChangeThatOfTheInput) {
  nn::Hooked<Doubling> module{Doubling()};
  Tensor x = leafOf({1, 3});
  Floats of_input, of_output;
  int calls = 0;
  module.register_full_backward_hook([&](const nn::Module &, const Tensor &in, const Tensor &out) {
    ++calls;
    of_input = in.defined() ? in.to_vector<float>() : Floats();
    of_output = out.to_vector<float>();
    return in.defined() ? in * 100 : Tensor();
  });
  (module(x) * 5 + x).sum().backward();
  EXPECT_EQ(of_input, (Floats{10, 10}));
  EXPECT_EQ(of_output, (Floats{5, 5}));
  EXPECT_EQ(gradOf(x), (Floats{1001, 1001}));
  EXPECT_EQ(gradOf(module.scale), (Floats{5, 15}));
  module(ones({2})).sum().backward(); // an input without a gradient
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(of_input, Floats());
  EXPECT_EQ(of_output, (Floats{1, 1}));
}

TEST(Hooks, OfAModuleThatChangeAreTracedAgain) {
  nn::Hooked<nn::Linear> module{nn::Linear(2, 2)};
  auto compiled = compile([&](Tensor x) {
    NoGradGuard guard;
    return module(x);
  });
  const Tensor x = ones({1, 2});
  const Floats plain = compiled(x).to_vector<float>();
  nn::ModuleHookHandle handle = module.register_forward_hook(
      [](const nn::Module &, const Tensor &, const Tensor &output) { return output * 0; });
  EXPECT_EQ(compiled(x).to_vector<float>(), (Floats{0, 0}));
  handle.remove();
  EXPECT_EQ(compiled(x).to_vector<float>(), plain);
}

//===----------------------------------------------------------------------===//
// In compiled functions
//===----------------------------------------------------------------------===//

TEST(Hooks, InACompiledFunctionAreRecorded) {
  Tensor w = leafOf({2, 3});
  const auto run = [&](Tensor x) {
    Tensor h = w * x;
    h.register_hook([](const Tensor &g) { return g.clamp(-1, 1); });
    h.retain_grad();
    (h * h).sum().backward();
    Tensor kept = h.grad(), own = w.grad();
    w.set_grad({});
    return std::pair(kept, own.clone());
  };
  auto compiled = compile(run);
  for (const Floats &values : {Floats{1, 0.1F}, Floats{-4, 2}}) {
    const Tensor x = tensor(values, {2});
    const auto [a, b] = compiled(x);
    const auto [c, d] = run(x);
    EXPECT_EQ(a.to_vector<float>(), c.to_vector<float>());
    EXPECT_EQ(b.to_vector<float>(), d.to_vector<float>());
  }
  EXPECT_EQ(compiled.variants().size(), 1U);
}

TEST(Hooks, OfAParameterThatChangeAreTracedAgain) {
  Tensor w = leafOf({2, 3});
  auto step = compile([&](Tensor x) {
    (w * x).sum().backward();
    Tensor made = w.grad().clone();
    w.set_grad({});
    return made;
  });
  const Tensor x = tensor({5, 7}, {2});
  EXPECT_EQ(step(x).to_vector<float>(), (Floats{5, 7}));
  RemovableHandle handle = w.register_hook([](const Tensor &g) { return g * 2; });
  EXPECT_EQ(step(x).to_vector<float>(), (Floats{10, 14}));
  EXPECT_EQ(step(x).to_vector<float>(), (Floats{10, 14}));
  // The variant before fits no call any more, and is not kept.
  ASSERT_EQ(step.variants().size(), 1U);
  EXPECT_EQ(step.variants()[0].number, 1U);
  handle.remove();
  EXPECT_EQ(step(x).to_vector<float>(), (Floats{5, 7}));
  ASSERT_EQ(step.variants().size(), 1U);
  EXPECT_EQ(step.variants()[0].number, 2U);
  EXPECT_EQ(step.variants()[0].code, "WEFT-R004");
}

TEST(Hooks, ThatACompiledFunctionCannotCallAreErrors) {
  Tensor w = leafOf({2, 3});
  auto outside = compile([&](Tensor x) {
    w.register_hook([](const Tensor &) {});
    return w * x;
  });
  EXPECT_ERROR(outside(ones({2})), "register_hook() of a tensor from outside inside a compiled function");
  const auto hooked = [&](const Tensor &x) {
    Tensor h = w * x;
    h.register_hook([](const Tensor &g) { return g * 2; });
    return std::pair(h, h);
  };
  EXPECT_ERROR(scan(hooked, ones({2}), 3),
               "register_hook() is called in the body of a loop, whose derivative is made without it "
               "(WEFT-G005)");
  const auto ofArgument = compile([&](Tensor x) {
    x.register_hook([](const Tensor &g) { return g * 2; });
    return w * x;
  });
  EXPECT_ERROR(ofArgument(leafOf({1, 1})), "register_hook() is called in a compiled function for one of its "
                                           "arguments, whose gradient is computed outside (WEFT-G005)");
  // Where no gradient is wanted, none is missed.
  const auto numbers = [](const Tensor &x) {
    Tensor h = x * 2;
    h.register_hook([](const Tensor &g) { return g * 2; });
    return std::pair(h, h);
  };
  EXPECT_EQ(scan(numbers, tensor({2, 3}, {2}), 3).first.to_vector<float>(), (Floats{16, 24}));
  auto reads = compile([&](Tensor x) {
    Tensor h = w * x;
    h.register_hook([](const Tensor &g) { EXPECT_GT(g.sum().item<float>(), 0); });
    h.sum().backward();
    return h.detach().clone();
  });
  EXPECT_ERROR(reads(ones({2})), "WEFT-C001");
  // On the results of a function they are called as on any tensor.
  auto product = compile([&](Tensor x) { return w * x; });
  Tensor h = product(ones({2}));
  h.register_hook([](const Tensor &g) { return g * 2; });
  h.sum().backward();
  EXPECT_EQ(gradOf(w), (Floats{2, 2}));
}

//===----------------------------------------------------------------------===//
// data, set_data, and other shapes in place
//===----------------------------------------------------------------------===//

TEST(Members, DataIsTheTensorWithoutItsGradient) {
  Tensor w = leafOf({2, 3});
  w.data().mul_(10);
  EXPECT_EQ(w.to_vector<float>(), (Floats{20, 30}));
  EXPECT_FALSE(w.data().requires_grad());
  EXPECT_TRUE(w.is_leaf());
  (w * w).sum().backward();
  EXPECT_EQ(gradOf(w), (Floats{40, 60}));
  w.set_data(tensor({1, 2}, {2}));
  EXPECT_EQ(w.to_vector<float>(), (Floats{1, 2}));
  EXPECT_TRUE(w.requires_grad());
  EXPECT_EQ(gradOf(w), (Floats{40, 60}));
  EXPECT_ERROR(w.set_data(ones({3})), "remove the gradient with set_grad({}) first");
  EXPECT_ERROR(w.set_data(ones({2}, {.dtype = i64})), "floating point dtype");
  w.set_grad({});
  w.set_data(ones({3}));
  EXPECT_EQ(w.sizes(), Shape{3});
  (w * 2).sum().backward();
  EXPECT_EQ(gradOf(w), (Floats{2, 2, 2}));
}

TEST(Members, SetDataIsPartOfACompiledFunction) {
  Tensor w = leafOf({2, 3});
  auto halve = compile([&](Tensor factor) {
    w.set_data(w.data() * factor);
    return w.sum().detach().clone();
  });
  EXPECT_EQ(halve(full({}, 0.5)).item<float>(), 2.5F);
  EXPECT_EQ(halve(full({}, 0.5)).item<float>(), 1.25F);
  EXPECT_EQ(w.to_vector<float>(), (Floats{0.5F, 0.75F}));
}

TEST(Members, ATensorGetsAnotherShapeAndKeepsItsElements) {
  Tensor x = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor row = x[1], alias = x;
  x.t_();
  EXPECT_EQ(x.sizes(), Shape({3, 2}));
  EXPECT_EQ(alias.sizes(), Shape({3, 2})); // a handle on the same tensor
  EXPECT_EQ(x.strides(), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 4, 2, 5, 3, 6}));
  Tensor(row).fill_(0); // still shares them
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 0, 2, 0, 3, 0}));
  x.transpose_(0, 1).unsqueeze_(0).unsqueeze_(-1);
  EXPECT_EQ(x.sizes(), Shape({1, 2, 3, 1}));
  x.select(1, 1).fill_(7);
  EXPECT_EQ(row.to_vector<float>(), (Floats{7, 7, 7}));
  x.squeeze_({0});
  EXPECT_EQ(x.sizes(), Shape({2, 3, 1}));
  x.squeeze_().resize_({3, 2});
  EXPECT_EQ(x.sizes(), Shape({3, 2}));
  Tensor part = x[2];
  part.unsqueeze_(1).fill_(9); // of a view
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2, 3, 7, 9, 9}));
  x.swapaxes_(0, 1);
  EXPECT_EQ(part.sizes(), Shape({2, 1}));
  EXPECT_EQ(part.to_vector<float>(), (Floats{9, 9}));
}

TEST(Members, GradientsFlowThroughAnotherShapeInPlace) {
  Tensor x = leafOf({1, 2, 3});
  Tensor h = x * 2;
  {
    NoGradGuard guard;
    h.unsqueeze_(0).t_();
  }
  (h * tensor({1, 10, 100}, {3, 1})).sum().backward();
  EXPECT_EQ(gradOf(x), (Floats{2, 20, 200}));
}

TEST(Members, AnotherShapeInPlaceIsRefusedWhereItCannotBe) {
  Tensor x = leafOf({1, 2});
  EXPECT_ERROR(x.unsqueeze_(0), "a leaf Variable that requires grad is being used in an in-place operation");
  Tensor y = ones({4});
  EXPECT_ERROR(y.resize_({5}), "resize_() of a tensor of 4 elements to the shape [5]");
  EXPECT_ERROR(y.unsqueeze_(3), "3");
  EXPECT_ERROR(ones({2, 2, 2}).t_(), "2");
  auto outside = compile([&](Tensor t) {
    y.unsqueeze_(0);
    return t + y;
  });
  EXPECT_ERROR(outside(ones({4})), "unsqueeze_() of a tensor from outside inside a compiled function");
  EXPECT_EQ(y.sizes(), Shape{4});
  auto inside = compile([](Tensor t) {
    Tensor made = t * 2;
    made.unsqueeze_(0).t_();
    made[0].fill_(0);
    return made.clone();
  });
  const Tensor result = inside(tensor({1, 2}, {2}));
  EXPECT_EQ(result.sizes(), Shape({2, 1}));
  EXPECT_EQ(result.to_vector<float>(), (Floats{0, 4}));
}

//===----------------------------------------------------------------------===//
// Containers, and parameters as a vector
//===----------------------------------------------------------------------===//

TEST(Members, PartsAndParametersByName) {
  manual_seed(0);
  nn::ModuleDict<nn::Linear> parts({{"first", nn::Linear(2, 3)}, {"second", nn::Linear(3, 1)}});
  parts.insert("third", nn::Linear(1, 1));
  EXPECT_EQ(parts.keys(), (std::vector<std::string>{"first", "second", "third"}));
  EXPECT_TRUE(parts.contains("second"));
  EXPECT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts.named_parameters()[2].first, "second.weight");
  EXPECT_EQ(parts["second"](parts["first"](ones({4, 2}))).sizes(), Shape({4, 1}));
  EXPECT_ERROR(parts["fourth"], "nn::ModuleDict has no part 'fourth'");
  EXPECT_ERROR(parts.insert("third", nn::Linear(1, 1)), "has a part named 'third' already");
  for (auto &[name, part] : parts)
    EXPECT_TRUE(part.weight.defined()) << name;

  nn::ParameterList list({ones({2}), zeros({3})});
  list.append(full({1}, 4.0));
  EXPECT_EQ(list.named_parameters()[2].first, "2");
  EXPECT_TRUE(list[1].requires_grad());
  nn::ParameterDict dict({{"scale", ones({2})}});
  dict.insert("shift", zeros({2}));
  EXPECT_TRUE(dict.contains("shift"));
  EXPECT_EQ(dict.size(), 2U);
  (dict["scale"] * 3 + dict["shift"]).sum().backward();
  EXPECT_EQ(gradOf(dict["scale"]), (Floats{3, 3}));
  EXPECT_ERROR(dict["bias"], "nn::ParameterDict has no parameter 'bias'");
  EXPECT_ERROR(dict.insert("a.b", ones({1})), "must not be empty or contain a dot");
  const nn::ParameterList copied = nn::clone(list);
  EXPECT_EQ(copied.size(), 3U);
  EXPECT_EQ(copied[2].item<float>(), 4);
}

TEST(Members, ParametersAreAVectorAndBack) {
  manual_seed(0);
  nn::Linear from(2, 3), to(2, 3);
  const Tensor vector = nn::utils::parameters_to_vector(from.parameters());
  EXPECT_EQ(vector.sizes(), Shape{9});
  EXPECT_TRUE(vector.requires_grad());
  nn::utils::vector_to_parameters(vector, to.parameters());
  EXPECT_EQ(to.weight.to_vector<float>(), from.weight.to_vector<float>());
  EXPECT_EQ(to.bias.to_vector<float>(), from.bias.to_vector<float>());
  EXPECT_TRUE(to.weight.is_leaf());
  EXPECT_ERROR(nn::utils::vector_to_parameters(ones({8}), to.parameters()), "9 elements, found shape [8]");
  EXPECT_ERROR(nn::utils::parameters_to_vector({}), "there are no parameters");
}
