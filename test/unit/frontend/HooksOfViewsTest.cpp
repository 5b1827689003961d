//===- HooksOfViewsTest.cpp - Gradients of views that change, and of bases ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers are PyTorch's: hooks stay with the value on which they were registered, and a gradient that is
// kept is that of the present value, from its next use on.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

using namespace weft;

namespace {

/// x = (1, 2), h = 2 x, and v, the second element of h.
struct Parts {
  Tensor x = tensor({1, 2}, {2}).requires_grad_();
  Tensor h = x * 2;
  Tensor v = h[1];
  std::vector<Floats> seen;

  /// Registers a hook that notes what it sees, and multiplies it by ten.
  void hook(Tensor &of) {
    of.register_hook([this](const Tensor &g) {
      seen.push_back(floats(g));
      return g * 10;
    });
  }
};

} // namespace

TEST(HooksOfViews, StayWithAValueWhoseBaseIsWritten) {
  Parts p;
  p.hook(p.v);
  const Tensor before = p.v + 1;
  p.h.mul_(3);
  (before + p.v * 5 + p.h.sum()).backward();
  EXPECT_EQ(floats(p.x.grad()), (Floats{6, 56}));
  EXPECT_EQ(p.seen, (std::vector<Floats>{{1}}));
  // With gradients off, and through another view.
  Parts off;
  off.hook(off.v);
  const Tensor used = off.v + 1;
  no_grad([&] { off.h.mul_(3); });
  (used + off.h.sum() + off.v * 7).backward();
  EXPECT_EQ(floats(off.x.grad()), (Floats{2, 36}));
  EXPECT_EQ(off.seen, (std::vector<Floats>{{1}}));
  Parts other;
  other.hook(other.v);
  other.h.slice(0, 0, 2).mul_(3);
  (other.h.sum() + other.v * 7).backward();
  EXPECT_EQ(floats(other.x.grad()), (Floats{6, 48}));
  EXPECT_TRUE(other.seen.empty());
}

// PyTorch computes the gradient of a written view from the base alone, and calls no hook here.
TEST(HooksOfViews, OfAViewThatIsWrittenItselfSeeTheGradientOfTheValueBefore) {
  Parts p;
  p.hook(p.v);
  p.v.mul_(3);
  (p.h.sum() + p.v * 7).backward();
  EXPECT_EQ(floats(p.x.grad()), (Floats{2, 480}));
  EXPECT_EQ(p.seen, (std::vector<Floats>{{24}}));
}

TEST(HooksOfViews, OfABaseSeeWhatAWrittenViewPassesOn) {
  Parts p;
  p.hook(p.h);
  p.v = p.h[1];
  p.v.mul_(3);
  (p.h.sum() + p.v).backward();
  EXPECT_EQ(floats(p.x.grad()), (Floats{20, 120}));
  EXPECT_EQ(p.seen, (std::vector<Floats>{{1, 6}}));
  Parts copied;
  copied.hook(copied.h);
  copied.v = copied.h[1];
  copied.v.copy_(copied.x[0] * 5);
  (copied.h.sum() + copied.v).backward();
  EXPECT_EQ(floats(copied.x.grad()), (Floats{30, 0}));
  EXPECT_EQ(copied.seen, (std::vector<Floats>{{1, 0}}));
}

TEST(HooksOfViews, AViewKeepsTheGradientOfItsPresentValue) {
  const auto kept = [](const std::function<Tensor(Parts &)> &body) {
    Parts p;
    p.v.retain_grad();
    body(p).backward();
    EXPECT_TRUE(p.v.retains_grad());
    return std::pair(floats(p.x.grad()), p.v.grad().item<float>());
  };
  EXPECT_EQ(kept([](Parts &p) {
              p.h.mul_(3);
              return p.v * 5;
            }),
            (std::pair(Floats{0, 30}, 5.0F)));
  EXPECT_EQ(kept([](Parts &p) {
              const Tensor before = p.v + 1;
              p.h.mul_(3);
              return before + p.v * 5 + p.h.sum();
            }),
            (std::pair(Floats{6, 38}, 5.0F)));
  // Not used since, it is that of the value before.
  EXPECT_EQ(kept([](Parts &p) {
              const Tensor before = p.v + 1;
              p.h.mul_(3);
              return before + p.h.sum();
            }),
            (std::pair(Floats{6, 8}, 1.0F)));
  EXPECT_EQ(kept([](Parts &p) {
              p.h.slice(0, 0, 2).mul_(3);
              return p.h.sum() + p.v * 7;
            }),
            (std::pair(Floats{6, 48}, 7.0F)));
  EXPECT_EQ(kept([](Parts &p) {
              const Tensor before = p.v + 1;
              no_grad([&] { p.h.mul_(3); });
              return before + p.h.sum() + p.v * 7;
            }),
            (std::pair(Floats{2, 18}, 7.0F)));
  EXPECT_EQ(kept([](Parts &p) {
              p.h.copy_(p.x * p.x);
              return p.h.sum() + p.v * 7;
            }),
            (std::pair(Floats{2, 32}, 7.0F)));
  EXPECT_EQ(kept([](Parts &p) {
              p.v.mul_(3);
              return p.h.sum() + p.v * 7;
            }),
            (std::pair(Floats{2, 48}, 7.0F)));
  EXPECT_EQ(kept([](Parts &p) { // the hook stays
              p.v.register_hook([](const Tensor &g) { return g * 10; });
              p.h.mul_(3);
              return p.v * 5;
            }),
            (std::pair(Floats{0, 30}, 5.0F)));
  // Written by a compiled function.
  EXPECT_EQ(kept([](Parts &p) {
              compile([&] { p.h.mul_(3); })();
              return p.v * 5;
            }),
            (std::pair(Floats{0, 30}, 5.0F)));
  // Read and computed in between.
  EXPECT_EQ(kept([](Parts &p) {
              const Tensor loss = p.v * 5;
              EXPECT_EQ(floats(p.h), (Floats{2, 4}));
              EXPECT_EQ(p.v.item<float>(), 4);
              return loss;
            }),
            (std::pair(Floats{0, 10}, 5.0F)));
}

TEST(HooksOfViews, ABaseKeepsTheGradientOfItsPresentValue) {
  const auto kept = [](const std::function<Tensor(Parts &)> &body) {
    Parts p;
    p.h.retain_grad();
    body(p).backward();
    return std::pair(floats(p.x.grad()), floats(p.h.grad()));
  };
  EXPECT_EQ(kept([](Parts &p) {
              p.v.mul_(3);
              return (p.h * 5).sum();
            }),
            (std::pair(Floats{10, 30}, Floats{5, 5})));
  EXPECT_EQ(kept([](Parts &p) {
              const Tensor before = p.h + 1;
              p.v.mul_(3);
              return (p.h * 5).sum() + before.sum() + p.v * 7;
            }),
            (std::pair(Floats{12, 74}, Floats{5, 12})));
  EXPECT_EQ(kept([](Parts &p) {
              no_grad([&] { p.v.mul_(3); });
              return p.h.sum() + p.v * 7;
            }),
            (std::pair(Floats{2, 16}, Floats{1, 8})));
  EXPECT_EQ(kept([](Parts &p) {
              p.v.zero_();
              return p.h.sum() + p.v * 7;
            }),
            (std::pair(Floats{2, 0}, Floats{1, 8})));
  // A base and a view of all of it, both written.
  Parts p;
  Tensor column = p.h.view({2, 1});
  column.retain_grad();
  p.h.retain_grad();
  p.h.mul_(3);
  column.mul_(2);
  (p.h.sum() + (column * 7).sum()).backward();
  EXPECT_EQ(floats(p.x.grad()), (Floats{96, 96}));
  EXPECT_EQ(floats(column.grad()), (Floats{7, 7}));
  EXPECT_EQ(floats(p.h.grad()), (Floats{8, 8}));
}

TEST(HooksOfViews, InACompiledFunctionAreCalledForTheGradientsOutside) {
  Tensor w = tensor({1, 2}, {2}).requires_grad_();
  const auto run = compile([&](Tensor x) {
    Tensor h = w * x, v = h[1];
    v.register_hook([](const Tensor &g) { return g * 10; });
    const Tensor before = v + 1;
    h.mul_(3);
    return h.sum() + v * 5 + before;
  });
  for (int call = 0; call < 2; ++call) {
    w.set_grad({});
    run(tensor({3, 4}, {2})).backward();
    EXPECT_EQ(floats(w.grad()), (Floats{9, 112}));
  }
}

TEST(HooksOfViews, InACompiledFunctionAreThoseOfItsValues) {
  Tensor x = tensor({1, 2}, {2}).requires_grad_();
  const auto run = [&](Tensor scale) {
    Tensor h = x * 2, v = h[1];
    v.retain_grad();
    h.mul_(scale);
    (v * 5).backward();
    const Tensor made = x.grad().clone();
    x.set_grad({});
    return std::pair(v.grad(), made);
  };
  const auto [ofView, ofLeaf] = compile(run)(full({}, 3.0));
  EXPECT_EQ(ofView.item<float>(), 5);
  EXPECT_EQ(floats(ofLeaf), (Floats{0, 30}));
}

//===----------------------------------------------------------------------===//
// Views that a compiled function captures
//===----------------------------------------------------------------------===//

namespace {

/// What two calls of `body` and backward() from what it returns leave: the gradients of x and v, and what the
/// hook saw.
using Left = std::tuple<Floats, Floats, std::vector<Floats>>;
Left leftBy(const std::function<void(Parts &)> &prepare, const std::function<Tensor(Parts &)> &body,
            bool isCompiled) {
  Parts p;
  prepare(p);
  std::function<Tensor()> run = [&] { return body(p); };
  const auto compiled = compile([&] { return body(p); });
  if (isCompiled)
    run = [&] { return compiled(); };
  for (int call = 0; call < 2; ++call)
    (run() + p.v * 2).backward();
  if (isCompiled)
    EXPECT_EQ(compiled.variants().size(), 1U);
  return {floats(p.x.grad()), p.v.grad().defined() ? floats(p.v.grad()) : Floats(), p.seen};
}

} // namespace

TEST(HooksOfViews, ThatACompiledFunctionCapturesAreCalled) {
  const auto expect = [](const Left &left, const std::function<void(Parts &)> &prepare,
                         const std::function<Tensor(Parts &)> &body) {
    EXPECT_EQ(leftBy(prepare, body, false), left);
    EXPECT_EQ(leftBy(prepare, body, true), left);
  };
  const auto hooked = [](Parts &p) {
    p.hook(p.v);
    p.v.retain_grad();
  };
  // Once, with the gradients from inside and outside.
  expect({{4, 204}, {100}, {{5}, {5}}}, hooked, [](Parts &p) { return p.v * 3 + p.h.sum(); });
  expect({{4, 84}, {40}, {{2}, {2}}}, hooked, [](Parts &p) { return p.h.sum(); });
  // A base that is read first, and a view of the view.
  expect({{4, 204}, {100}, {{5}, {5}}}, hooked, [](Parts &p) {
    const Tensor sum = p.h.sum();
    return sum + p.v * 3;
  });
  Tensor part;
  expect(
      {{4, 204}, {100}, {{5}, {5}}},
      [&](Parts &p) {
        hooked(p);
        part = p.v.view({1});
      },
      [&](Parts &p) { return (part * 3).sum() + p.h.sum(); });
  // Retained alone, before the base is written, too.
  const auto retained = [](Parts &p) { p.v.retain_grad(); };
  expect({{4, 24}, {10}, {}}, retained, [](Parts &p) { return p.v * 3 + p.h.sum(); });
  expect(
      {{12, 72}, {10}, {}},
      [](Parts &p) {
        p.v.retain_grad();
        p.h.mul_(3);
      },
      [](Parts &p) { return p.v * 3 + p.h.sum(); });
  // The view itself is returned.
  expect({{0, 120}, {60}, {{3}, {3}}}, hooked, [](Parts &p) { return p.v; });
}

TEST(HooksOfViews, ThatACompiledFunctionCapturesAreCalledInside) {
  for (const bool isCompiled : {false, true}) {
    Tensor w = tensor({1, 2, 3}, {3}).requires_grad_(), v = w[1];
    v.register_hook([](const Tensor &g) { return g * 10; });
    v.retain_grad();
    const Tensor part = v.view({1});
    const auto body = [&](Tensor factor) { (v * v + (part * factor).sum() + w.sum()).backward(); };
    const auto compiled = compile(body);
    for (int call = 0; call < 2; ++call) {
      w.set_grad({});
      v.set_grad({});
      const Tensor factor = full({}, 3.0);
      isCompiled ? compiled(factor) : body(factor);
      EXPECT_EQ(floats(w.grad()), (Floats{1, 71, 1})); // 10 * (2 v + 3) + 1
      EXPECT_EQ(floats(v.grad()), Floats{70});
    }
    RemovableHandle second = v.register_hook([](const Tensor &g) { return g + 1; });
    for (const float expected : {72.0F, 71.0F}) {
      w.set_grad({});
      v.set_grad({});
      const Tensor factor = full({}, 3.0);
      isCompiled ? compiled(factor) : body(factor);
      EXPECT_EQ(floats(w.grad()), (Floats{1, expected, 1}));
      second.remove();
    }
  }
}

TEST(HooksOfViews, ThatACompiledFunctionWritesStayWithTheValueBefore) {
  const auto left = [](bool isCompiled, const std::function<Tensor(Parts &)> &body) {
    Parts p;
    p.hook(p.v);
    const Tensor result = isCompiled ? compile([&] { return body(p); })() : body(p);
    (result + p.v * 2).backward();
    return std::pair(floats(p.x.grad()), p.seen);
  };
  const std::function<Tensor(Parts &)> bodies[] = {[](Parts &p) {
                                                     p.v.mul_(3);
                                                     return p.h.sum() + p.v * 7;
                                                   },
                                                   [](Parts &p) {
                                                     const Tensor before = p.v + 1;
                                                     p.h.mul_(3);
                                                     return before + p.v * 5 + p.h.sum();
                                                   },
                                                   [](Parts &p) {
                                                     p.h.mul_(3);
                                                     return p.v * 5;
                                                   }};
  const std::pair<Floats, std::vector<Floats>> expected[] = {
      {{2, 600}, {{30}}}, {{6, 68}, {{1}}}, {{0, 42}, {}}};
  for (size_t i = 0; i < std::size(bodies); ++i)
    for (const bool isCompiled : {false, true})
      EXPECT_EQ(left(isCompiled, bodies[i]), expected[i]) << i << isCompiled;
}

TEST(HooksOfViews, ThatACompiledFunctionReadsAgainKeepTheGradientOfThat) {
  const auto kept = [](bool isCompiled, const std::function<Tensor(Parts &)> &body) {
    Parts p;
    p.v.retain_grad();
    const Tensor before = p.v * 100, result = isCompiled ? compile([&] { return body(p); })() : body(p);
    (result + p.v * 2 + before).backward();
    return std::pair(floats(p.x.grad()), p.v.grad().item<float>());
  };
  for (const bool isCompiled : {false, true}) {
    EXPECT_EQ(kept(isCompiled,
                   [](Parts &p) {
                     p.h.mul_(3);
                     return p.v * 5;
                   }),
              (std::pair(Floats{0, 242}, 7.0F)));
    EXPECT_EQ(kept(isCompiled,
                   [](Parts &p) {
                     p.v.mul_(3);
                     return p.h.sum() + p.v * 7;
                   }),
              (std::pair(Floats{2, 260}, 9.0F)));
    EXPECT_EQ(kept(isCompiled,
                   [](Parts &p) { // and is then written once more
                     p.h.mul_(3);
                     const Tensor read = p.v * 5;
                     p.h.mul_(2);
                     return read + p.h.sum();
                   }),
              (std::pair(Floats{12, 266}, 2.0F)));
  }
}

TEST(HooksOfViews, ThatACompiledFunctionReadsAgainKeepTheGradientOfItsBackward) {
  const auto write = [](Tensor &w) { no_grad([&] { w.mul_(2); }); };
  using Grads = std::vector<std::pair<Floats, Floats>>;
  const auto kept = [](bool isCompiled, const std::function<void(Tensor &, Tensor &)> &body) {
    Tensor w = tensor({1, 2, 3}, {3}).requires_grad_(), v = w.slice(0, 0, 2);
    v.retain_grad();
    const auto compiled = compile([&] { body(w, v); });
    Grads grads;
    for (int call = 0; call < 2; ++call) {
      isCompiled ? compiled() : body(w, v);
      grads.emplace_back(floats(w.grad()), floats(v.grad()));
    }
    return grads;
  };
  for (const bool isCompiled : {false, true}) {
    EXPECT_EQ(kept(isCompiled,
                   [&](Tensor &w, Tensor &v) {
                     write(w);
                     (v * v).sum().backward();
                   }),
              (Grads{{{4, 8, 0}, {4, 8}}, {{12, 24, 0}, {12, 24}}}));
    // Not that of a value before.
    EXPECT_EQ(kept(isCompiled,
                   [&](Tensor &w, Tensor &v) {
                     const Tensor before = (v * 3).sum();
                     write(w);
                     (v * v).sum().backward();
                     before.backward();
                   }),
              (Grads{{{7, 11, 0}, {4, 8}}, {{18, 30, 0}, {12, 24}}}));
    EXPECT_EQ(kept(isCompiled,
                   [&](Tensor &w, Tensor &v) {
                     write(w);
                     const Tensor before = (v * v).sum();
                     write(w);
                     (v * v + v).sum().backward();
                     before.backward();
                   }),
              (Grads{{{13, 25, 0}, {9, 17}}, {{62, 122, 0}, {42, 82}}}));
    // The view, or a view of it, is written.
    EXPECT_EQ(kept(isCompiled,
                   [&](Tensor &, Tensor &v) {
                     write(v);
                     (v * v).sum().backward();
                   }),
              (Grads{{{4, 8, 0}, {4, 8}}, {{12, 24, 0}, {12, 24}}}));
    EXPECT_EQ(kept(isCompiled,
                   [&](Tensor &, Tensor &v) {
                     Tensor part = v[1];
                     write(part);
                     (v * v).sum().backward();
                   }),
              (Grads{{{2, 8, 0}, {2, 8}}, {{4, 24, 0}, {4, 24}}}));
  }
}

TEST(HooksOfViews, OfACapturedViewThatComeLaterAreCompiledFor) {
  Parts p;
  const auto run = compile([&] { return p.v * 3 + p.h.sum(); });
  run().backward();
  EXPECT_EQ(floats(p.x.grad()), (Floats{2, 8}));
  p.hook(p.v);
  for (int call = 0; call < 2; ++call) {
    p.x.set_grad({});
    run().backward();
    EXPECT_EQ(floats(p.x.grad()), (Floats{2, 62}));
  }
  ASSERT_EQ(run.variants().size(), 2U);
  EXPECT_EQ(run.variants()[0].code, "WEFT-R004");
  EXPECT_TRUE(mentions(run.variants()[0].reason, "is given to a hook or retained, and was not"))
      << run.variants()[0].reason;
  p.h.mul_(1); // the hook stays with the value before
  p.x.set_grad({});
  run().backward();
  EXPECT_EQ(floats(p.x.grad()), (Floats{2, 8}));
  EXPECT_EQ(p.seen.size(), 2U);
  EXPECT_EQ(run.variants().size(), 2U);
}
