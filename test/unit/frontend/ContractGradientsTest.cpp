//===- ContractGradientsTest.cpp - Gradients ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One test for each sentence of the contract of gradients (docs/contract.md), named after it. What PyTorch
// defines was compared with PyTorch 2.13.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <algorithm>
#include <random>

using namespace weft;
using namespace weft::indexing;

TEST(ContractGradients, BackwardAccumulatesLazyOrCompiled) {
  for (bool compiled : {false, true}) {
    Tensor w = full({2}, 3.0);
    w.requires_grad_();
    auto body = [&](Tensor x) {
      Tensor loss = (w * w * x).sum();
      loss.backward();
      return loss;
    };
    auto f = compile(body);
    for (int i = 1; i <= 3; ++i) {
      compiled ? f(ones({2})) : body(ones({2}));
      EXPECT_EQ(floats(w.grad()), Floats(2, 6.f * static_cast<float>(i)));
    }
  }
}

TEST(ContractGradients, GradReturnsGradientsAndWritesNone) {
  Tensor w = ones({2}).requires_grad_();
  EXPECT_EQ(grad((w * w).sum(), {w})[0].to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_FALSE(w.grad().defined());
  auto f = compile([&](Tensor x) { return grad((w * x).sum(), {w})[0]; });
  EXPECT_EQ(f(full({2}, 3.0)).to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_FALSE(w.grad().defined());
}

TEST(ContractGradients, ZeroGradSetsToNone) {
  nn::Linear layer(2, 1);
  layer(ones({1, 2})).sum().backward();
  EXPECT_TRUE(layer.weight.grad().defined());
  layer.zero_grad();
  EXPECT_FALSE(layer.weight.grad().defined());
}

TEST(ContractGradients, AGradientThatIsNoneAtTheEndIsNeverStored) {
  nn::Linear layer(8, 8);
  optim::SGD sgd(layer.parameters(), {.lr = 0.1});
  auto f = compile([&](Tensor x) {
    layer(x).sum().backward();
    sgd.step();
    sgd.zero_grad();
  });
  f(ones({1, 8}));
  EXPECT_EQ(f.mlir().find("weight.grad"), std::string::npos) << f.mlir();
  EXPECT_FALSE(layer.weight.grad().defined());
}

TEST(ContractGradients, OneThatIsLeftIsAStateOutputAndExplainReportsItsBytes) {
  nn::Linear layer(8, 4, false);
  auto f = compile([&](Tensor x) { layer(x).sum().backward(); });
  f(ones({1, 8}));
  EXPECT_NE(f.explain().find("a gradient of weight is left at the end and kept: 128 bytes"),
            std::string::npos)
      << f.explain();
  f(ones({1, 8}));
  EXPECT_EQ(floats(layer.weight.grad()), Floats(32, 2));
  layer.zero_grad();
  f(ones({1, 8})); // no gradient again: the first variant, and the gradient is that of the tensor now
  layer(ones({1, 8})).sum().backward();
  EXPECT_EQ(floats(layer.weight.grad()), Floats(32, 2));
  f(ones({1, 8}));
  EXPECT_EQ(floats(layer.weight.grad()), Floats(32, 3));
  EXPECT_EQ(f.variants().size(), 2u);
}

TEST(ContractGradients, AGradientSetFromOutsideIsThatTensor) {
  Tensor w = ones({2}), g = full({2}, 4.0);
  w.requires_grad_();
  auto f = compile([&](Tensor x) {
    Tensor seen = g * x; // read before: the same slot is an input, too
    w.set_grad(g);
    return seen;
  });
  f(ones({2}));
  ASSERT_TRUE(w.grad().defined());
  EXPECT_EQ(floats(w.grad()), Floats(2, 4));
  g.fill_(5);
  EXPECT_EQ(floats(w.grad()), Floats(2, 5)); // one slot
  w.set_grad({});
  f(ones({2}));
  EXPECT_EQ(floats(w.grad()), Floats(2, 5));
}

TEST(ContractGradients, TheyFlowThroughTheCallOfACompiledFunction) {
  for (bool compiled : {false, true}) {
    manual_seed(4);
    nn::Linear a(3, 4), b(4, 2);
    auto body = [&](Tensor x) { return relu(a(x)); };
    auto f = compile(body);
    Tensor x = countTo(6).view({2, 3}).clone();
    x.requires_grad_();
    std::vector<Floats> seen;
    for (int i = 0; i < 2; ++i) {
      Tensor hidden = compiled ? f(x) : body(x);
      EXPECT_TRUE(hidden.requires_grad());
      (b(hidden) * b(hidden)).sum().backward();
      for (const Tensor &t : std::vector<Tensor>{x, a.weight, a.bias, b.weight})
        seen.push_back(floats(t.grad()));
    }
    static std::vector<Floats> lazy;
    if (compiled)
      EXPECT_EQ(seen, lazy);
    else
      lazy = seen;
    if (compiled) {
      NoGradGuard guard;
      EXPECT_FALSE(f(x).requires_grad());
    }
  }
}

TEST(ContractGradients, BackwardCompilesForwardAndBackwardOfACallTogether) {
  Tensor w = full({7}, 3.0).requires_grad_();
  auto f = compile([&](Tensor x) { return w * w * x; });
  for (int i = 0; i < 3; ++i) {
    Tensor y = f(ones({7}));
    const uint64_t before = compile_count();
    y.sum().backward();
    EXPECT_EQ(floats(w.grad()), Floats(7, 6));
    // One program gives the gradient from the arguments of the call, and serves the later calls too.
    EXPECT_EQ(compile_count(), before + (i == 0 ? 1 : 0));
    w.set_grad({});
  }
}

TEST(ContractGradients, ResultsOfAFunctionThatCallsBackwardNeedNone) {
  Tensor w = full({2}, 3.0).requires_grad_(), state = zeros({2});
  const auto body = [&](Tensor x) {
    Tensor y = w * w * x;
    y.sum().backward();
    no_grad([&] { state.copy_(y); });
    return y;
  };
  auto f = compile(body);
  for (int i = 1; i <= 3; ++i) { // also of the variant for a gradient that is there
    Tensor y = f(ones({2}));
    EXPECT_FALSE(y.requires_grad());
    EXPECT_FALSE(state.requires_grad());
    EXPECT_EQ(floats(y), Floats({9, 9}));
    EXPECT_EQ(floats(w.grad()), Floats(2, 6.f * static_cast<float>(i)));
  }
  EXPECT_TRUE(body(ones({2})).requires_grad()); // not compiled, it is what PyTorch has
}

TEST(ContractGradients, OnesThatWouldLeaveAFunctionThatTakesGradientsAreAnError) {
  Tensor w = ones({2});
  w.requires_grad_();
  auto f = compile([](Tensor x) { (x * x).sum().backward(); });
  EXPECT_ERROR(f(w * 2), "WEFT-G003");
  f((w * 2).detach().requires_grad_());
  EXPECT_FALSE(w.grad().defined());
}

TEST(ContractGradients, TheyReachAnArgumentThatRequiresThem) {
  Tensor w = full({2}, 3.0);
  w.requires_grad_();
  auto f = compile([](Tensor p) {
    Tensor loss = (p * p).sum();
    loss.backward();
    return loss;
  });
  f(w);
  EXPECT_EQ(floats(w.grad()), Floats({6, 6}));
  f(w);
  EXPECT_EQ(floats(w.grad()), Floats({12, 12}));
}

TEST(ContractGradients, InPlaceWritesOfLeavesAreTheErrorsOfPyTorch) {
  Tensor w = zeros({4});
  w.requires_grad_();
  EXPECT_ERROR(w += 1, "a leaf Variable that requires grad is being used in an in-place operation");
  EXPECT_ERROR(w[0] = 1,
               "a view of a leaf Variable that requires grad is being used in an in-place operation");
  Tensor quiet;
  {
    NoGradGuard guard;
    quiet = w.slice(0, 0, 2);
    quiet += 1;
  }
  EXPECT_EQ(floats(w), Floats({1, 1, 0, 0}));
  EXPECT_ERROR(quiet += 1, "A view was created in no_grad mode and is being modified inplace");
  w.detach().fill_(3);
  EXPECT_EQ(floats(w), Floats(4, 3));
  EXPECT_TRUE(w.requires_grad());
  w.sum().backward();
  EXPECT_EQ(floats(w.grad()), Floats(4, 1));
  EXPECT_ERROR(zeros({2}).detach() += w.slice(0, 0, 2), "WEFT-G004");
}

TEST(ContractGradients, TheyFlowThroughWritesOfViewsAsInPyTorch) {
  Tensor x = zeros({2, 2}), v = tensor({1, 2}, {2});
  x.requires_grad_();
  v.requires_grad_();
  Tensor y = x * 1;
  y[0] = v * 2;
  (y * tensor({1, 2, 3, 4}, {2, 2})).sum().backward();
  EXPECT_EQ(floats(x.grad()), Floats({0, 0, 3, 4}));
  EXPECT_EQ(floats(v.grad()), Floats({2, 4}));
  // A gradient needs values and not storage, so a write in between is allowed; PyTorch raises an error.
  Tensor w = full({2}, 3.0);
  w.requires_grad_();
  Tensor a = w * w, b = a * a;
  a += 1;
  b.sum().backward();
  EXPECT_EQ(floats(w.grad()), Floats({108, 108}));
}

TEST(ContractGradients, ADetachedViewIsALeafOfItsOwn) {
  Tensor p = ones({2});
  p.requires_grad_();
  Tensor q = p.detach();
  q.requires_grad_();
  (p * q * 2).sum().backward();
  EXPECT_EQ(floats(p.grad()), Floats({2, 2}));
  EXPECT_EQ(floats(q.grad()), Floats({2, 2}));
  {
    NoGradGuard guard;
    q += 1;
  }
  EXPECT_EQ(floats(p), Floats({2, 2}));
  (p * q).sum().backward();
  EXPECT_EQ(floats(q.grad()), Floats({4, 4}));
}

/// A leaf of gradients that shares the elements of another tensor.
static std::vector<Tensor> leavesThatAreViews() {
  Tensor storage = tensor({1, 2, 3, 4}, {2, 2});
  Tensor quiet = no_grad([&] { return storage.view({2, 2}); });
  return {tensor({1, 2, 3, 4}, {2, 2}).detach().requires_grad_(), quiet.requires_grad_(),
          tensor({1, 2, 3, 4, 5, 6}, {3, 2}).slice(0, 0, 2).requires_grad_()};
}

TEST(ContractGradients, TheyFlowThroughViewsOfALeafThatIsAView) {
  auto loss = [](Tensor w, Tensor row) {
    return w.sum() + (row * 10).sum() + (w.t()[1].slice(0, 1, 2) * 100).sum();
  };
  for (const Tensor &w : leavesThatAreViews()) {
    loss(w, w[0]).backward();
    EXPECT_EQ(floats(w.grad()), Floats({11, 11, 1, 101}));
  }
  // Captured by a compiled function, as its argument, and with a view from outside.
  for (Tensor w : leavesThatAreViews()) {
    Tensor row = w[0];
    auto captured = compile([&] { loss(w, w[0]).backward(); });
    captured();
    EXPECT_EQ(floats(w.grad()), Floats({11, 11, 1, 101}));
    captured();
    EXPECT_EQ(floats(w.grad()), Floats({22, 22, 2, 202}));
    w.set_grad({});
    auto argument = compile([&](Tensor a) { loss(a, a[0]).backward(); });
    argument(w);
    EXPECT_EQ(floats(w.grad()), Floats({11, 11, 1, 101}));
    w.set_grad({});
    auto outside = compile([&] { (row * 10).sum().backward(); });
    outside();
    EXPECT_EQ(floats(w.grad()), Floats({10, 10, 0, 0}));
    outside();
    EXPECT_EQ(floats(w.grad()), Floats({20, 20, 0, 0}));
  }
  auto inside = compile([](Tensor x) {
    Tensor w = x.detach().requires_grad_();
    return grad(w.sum() + (w[0] * 10).sum(), {w})[0];
  });
  EXPECT_EQ(floats(inside(ones({2, 2}))), Floats({11, 11, 1, 1}));
}

// torch.autograd.grad(l, v) differentiates with respect to the value of v that l was computed from, not a
// later one.
TEST(ContractGradients, AViewIsWhatALossWasComputedFromAlsoWhenItsLeafIsComputed) {
  for (bool read : {false, true}) {
    Tensor w = (countTo(4) + 1).detach().requires_grad_(), v = w.slice(0, 1, 3), loss = (v * v).sum();
    if (read) {
      EXPECT_EQ(loss.item<float>(), 13);
      EXPECT_EQ(floats(w), Floats({1, 2, 3, 4}));
    }
    std::vector<Tensor> slopes = grad(loss, {v, w});
    EXPECT_EQ(floats(slopes[0]), Floats({4, 6}));
    EXPECT_EQ(floats(slopes[1]), Floats({0, 4, 6, 0}));
    // A view of something that was computed, and one that is made afterwards.
    Tensor y = w * 2, u = y[1], other = (u * u + y[2]);
    if (read)
      EXPECT_EQ(other.item<float>(), 22);
    EXPECT_EQ(grad(other, {u})[0].item<float>(), 8);
    Tensor later = w.slice(0, 1, 3);
    EXPECT_ERROR(grad(loss, {later}), "appears to not have been used in the graph");
    // A write to the leaf is visible through the view.
    no_grad([&] { w += 1; });
    EXPECT_EQ(floats(v), Floats({3, 4}));
    EXPECT_EQ(floats(grad((v * v).sum(), {v})[0]), Floats({6, 8}));
  }
}

TEST(ContractGradients, ViewsOfALeafThatIsAViewStillShareItsElements) {
  Tensor base = tensor({1, 2, 3, 4}, {2, 2}), w = base.detach().requires_grad_(), row = w[0];
  EXPECT_ERROR(row += 1,
               "a view of a leaf Variable that requires grad is being used in an in-place operation");
  no_grad([&] { row += 1; });
  EXPECT_EQ(floats(base), Floats({2, 3, 3, 4}));
  EXPECT_EQ(floats(w), Floats({2, 3, 3, 4}));
  (row * row).sum().backward();
  EXPECT_EQ(floats(w.grad()), Floats({4, 6, 0, 0}));
  base[0] = 5;
  EXPECT_EQ(floats(row), Floats({5, 5}));
  w.set_grad({});
  (row * row).sum().backward();
  EXPECT_EQ(floats(w.grad()), Floats({10, 10, 0, 0}));
  EXPECT_FALSE(base.requires_grad());
  // Between the view and its leaf, gradients stop where they always do.
  EXPECT_FALSE(row.detach().requires_grad());
  EXPECT_FALSE(no_grad([&] { return w[1]; }).requires_grad());
}

/// Also where the value was read in between, which makes it a number like any other.
TEST(ContractGradients, NoGradientFlowsThroughAGradient) {
  for (bool reads : {false, true}) {
    const auto seen = [&](Tensor value) {
      if (reads)
        (void)value.to_vector<float>();
      return value;
    };
    Tensor w = tensor({2, 3}, {2}).requires_grad_(), x = tensor({1, 1}, {2}).requires_grad_();
    Tensor adversarial = x.detach() + 0.5 * seen(grad((w * x * x).sum(), {x})[0]);
    EXPECT_FALSE(adversarial.requires_grad());
    (w * adversarial * adversarial).sum().backward();
    EXPECT_EQ(floats(w.grad()), Floats({9, 16}));

    Tensor v = tensor({2, 3}, {2}).requires_grad_();
    (v * v).sum().backward();
    Tensor g = seen(v.grad().detach().clone());
    v.set_grad({});
    (v * g).sum().backward();
    EXPECT_EQ(floats(v.grad()), Floats({4, 6}));
    Tensor leaf = seen(grad((v * v).sum(), {v})[0]).requires_grad_(); // a leaf of its own
    v.set_grad({});
    (leaf * leaf * v).sum().backward();
    EXPECT_EQ(floats(leaf.grad()), Floats({16, 36}));
    EXPECT_EQ(floats(v.grad()), Floats({16, 36}));
  }
  Tensor w = tensor({2, 3}, {2}).requires_grad_();
  auto scaled = compile([&](Tensor x) {
    Tensor g = grad((w * w * x).sum(), {w})[0];
    return grad((w * g).sum(), {w})[0];
  });
  EXPECT_EQ(floats(scaled(tensor({1, 1}, {2}))), Floats({4, 6}));
}

TEST(ContractGradients, OverwrittenWholeAValueForgetsItsHistory) {
  Tensor w = ones({2, 2}).requires_grad_(), data = full({2, 2}, 5.0);
  for (const auto &write : {std::function<void(Tensor)>([](Tensor y) { y.fill_(3); }),
                            {[](Tensor y) { y.zero_(); }},
                            {[&](Tensor y) { y.copy_(data); }},
                            {[](Tensor y) { y.t().fill_(3); }}}) {
    Tensor y = w * 2;
    write(y);
    EXPECT_FALSE(y.requires_grad());
  }
  Tensor y = w * 2, row = y[0];
  row.fill_(3);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_TRUE(row.requires_grad()); // it is a part of what requires one
  y.sum().backward();
  EXPECT_EQ(floats(w.grad()), Floats({0, 0, 2, 2}));
}

TEST(ContractGradients, AGradientThatIsPartOfAGraphStaysOneWhenMoreIsAdded) {
  Tensor w = ones({2}).requires_grad_(), v = full({2}, 3.0).requires_grad_();
  (w * 2).sum().backward();
  Tensor gradient = w.grad();
  gradient += v * v;
  (w * 2).sum().backward();
  EXPECT_TRUE(gradient.requires_grad());
  EXPECT_EQ(floats(gradient), Floats(2, 13));
  gradient.sum().backward();
  EXPECT_EQ(floats(v.grad()), Floats(2, 6));
}

TEST(ContractGradients, WhatHasNothingToDoIsAnOperationToo) {
  Tensor w = full({}, 2.0).requires_grad_();
  for (const auto &function :
       {std::function<Tensor()>([&] { return w.sum(); }), {[&] { return w.cumsum(0); }}}) {
    EXPECT_FALSE(no_grad(function).requires_grad());
    Tensor same = function();
    EXPECT_ERROR(same.requires_grad_(false), "you can only change requires_grad flags of leaf variables");
    w.set_grad({});
    (same * 3).backward();
    EXPECT_EQ(w.grad().item<float>(), 3);
    EXPECT_FALSE(same.grad().defined());
  }
}

TEST(ContractGradients, AViewThatNoGradientLeavesRequiresNone) {
  Tensor early = ones({2}), before = early.narrow(0, 0, 1);
  early.requires_grad_();
  Tensor late = ones({2}).requires_grad_(), after = late.narrow(0, 0, 1);
  late.requires_grad_(false);
  Tensor made = ones({2}).requires_grad_() * 2, inside = no_grad([&] { return made.narrow(0, 0, 1); });
  for (const Tensor &view : {before, after, inside})
    EXPECT_FALSE(view.requires_grad());
  EXPECT_ERROR(Tensor(inside).mul_(2), "A view was created in no_grad mode");
}

TEST(ContractGradients, WithRespectToAWrittenViewItIsThatOfWhatWasWritten) {
  Tensor base = ones({2, 2}).requires_grad_() * 1, row = base[0], same = base[0];
  row.copy_(ones({2}).requires_grad_() * 3);
  EXPECT_EQ(floats(grad((same * same).sum(), {row})[0]), Floats(2, 6));
}

TEST(ContractGradients, WhatIsWrittenMayOverlapWhatIsRead) {
  Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}});
  x += x[0];
  EXPECT_EQ(floats(x), Floats({2, 4, 4, 6}));
}

TEST(ContractGradients, ACopyIsNotItsSource) {
  Tensor source = ones({2}).requires_grad_() * 2, copy = zeros({2});
  copy.copy_(source);
  EXPECT_ERROR(grad((source * 3).sum(), {copy}), "appears to not have been used in the graph");
  EXPECT_EQ(floats(grad((copy * 3).sum(), {source})[0]), Floats(2, 3));
}

TEST(ContractGradients, ALeafThatIsOverwrittenByAViewMakesNoLeafOfIt) {
  Tensor w = zeros({2, 2}).requires_grad_(), x = tensor({{1.0, 2.0}, {3.0, 4.0}}), view = x.t();
  no_grad([&] { w.copy_(view); });
  EXPECT_FALSE(view.requires_grad());
  (w * view).sum().backward();
  EXPECT_EQ(floats(w.grad()), Floats({1, 3, 2, 4}));
}

TEST(ContractGradients, WrittenWithGradientsOffAValueKeepsItsHistory) {
  for (bool compiled : {false, true}) {
    Tensor w = tensor({2, 3}, {2}).requires_grad_(), written;
    const auto gradientAfter = [&](const std::function<void(Tensor)> &write) {
      w.set_grad({});
      const auto run = [&](Tensor scale) {
        Tensor y = w * scale;
        write(y);
        EXPECT_TRUE(y.requires_grad());
        ((y * y).sum() + w.sum()).backward();
        return y.detach().clone();
      };
      written = compiled ? compile(run)(tensor({4}, {1})) : run(tensor({4}, {1}));
      return floats(w.grad());
    };
    EXPECT_EQ(gradientAfter([](Tensor y) { no_grad([&] { y -= 0.5; }); }), Floats({61, 93}));
    EXPECT_EQ(gradientAfter([](Tensor y) { no_grad([&] { y[0].zero_(); }); }), Floats({1, 97}));
    EXPECT_EQ(gradientAfter([](Tensor y) {
                Tensor row = y[0]; // a view that gradients flow through
                no_grad([&] { row.fill_(1); });
                EXPECT_TRUE(row.requires_grad());
              }),
              Floats({9, 97}));
    EXPECT_EQ(gradientAfter([](Tensor y) { y.detach().mul_(0.5); }), Floats({33, 49}));
    EXPECT_EQ(gradientAfter([](Tensor y) { no_grad([&] { y.copy_(y * y); }); }), Floats({513, 1153}));
    // Written values keep every bit, such as the sign of a zero, and infinities.
    EXPECT_EQ(gradientAfter([](Tensor y) { no_grad([&] { y.copy_(tensor({-0.0F, INFINITY}, {2})); }); }),
              Floats({1, INFINITY}));
    EXPECT_TRUE(equal(signbit(written), weft::tensor({true, false})));
    EXPECT_EQ(floats(written), Floats({0, INFINITY}));
  }
}

TEST(ContractGradients, WhatWasComputedBeforeALeafWasOneIsANumber) {
  for (bool reads : {false, true}) {
    Tensor x = tensor({2, 3}, {2}), w = tensor({5, 7}, {2}).requires_grad_(), twice = x * 2, product = x * w;
    if (reads)
      synchronize();
    x.requires_grad_();
    product.sum().backward();
    EXPECT_FALSE(x.grad().defined());
    EXPECT_EQ(floats(w.grad()), Floats({2, 3}));
    (twice * x).sum().backward();
    EXPECT_EQ(floats(x.grad()), Floats({4, 6}));
    optim::SGD({x}, {.lr = 1}).step(); // what reads the elements still reads the old ones
    EXPECT_EQ(floats(x), Floats({-2, -3}));
    EXPECT_EQ(floats(product), Floats({10, 21}));
  }
  Tensor x = tensor({1, 2, 3}, {3}), before = x.slice(0, 0, 2), part = before[0];
  x.requires_grad_();
  Tensor after = x.slice(0, 0, 2);
  (before * after).sum().backward();
  EXPECT_EQ(floats(x.grad()), Floats({1, 2, 0}));
  EXPECT_FALSE(before.requires_grad() || part.requires_grad() || before[1].requires_grad());
  EXPECT_TRUE(after.requires_grad());
}

/// Captured or an argument, written by a function that calls no backward() itself.
TEST(ContractGradients, AWrittenTensorRemembersTheOperationsOfTheCall) {
  const auto gradientAfter = [](const std::function<void(Tensor, Tensor)> &call) {
    Tensor w = tensor({1, 2, 3}, {3}).requires_grad_(), v = w * 2;
    call(w, v);
    EXPECT_TRUE(v.requires_grad());
    (v + w).sum().backward();
    return floats(w.grad());
  };
  EXPECT_EQ(gradientAfter([](Tensor, Tensor v) { compile([&] { v *= 3; })(); }), Floats({7, 7, 7}));
  EXPECT_EQ(gradientAfter([](Tensor, Tensor v) { compile([](Tensor x) { x *= 3; })(v); }), Floats({7, 7, 7}));
  EXPECT_EQ(gradientAfter([](Tensor w, Tensor v) { compile([&] { v.copy_(w * w); })(); }), Floats({3, 5, 7}));
  EXPECT_EQ(gradientAfter([](Tensor, Tensor v) {
              compile([&] { no_grad([&] { v *= 3; }); })();
              EXPECT_EQ(floats(v), Floats({6, 12, 18}));
            }),
            Floats({3, 3, 3}));
  EXPECT_EQ(gradientAfter([](Tensor, Tensor v) { compile([&] { v.detach().mul_(3); })(); }),
            Floats({3, 3, 3}));
  Tensor w = tensor({1, 2, 3}, {3}).requires_grad_(), plain = zeros({3});
  auto square = compile([&] { plain.copy_(w * w); });
  for (int i = 1; i <= 3; ++i) {
    square();
    w.set_grad({});
    (plain + w).sum().backward();
    EXPECT_EQ(floats(w.grad()), Floats({3, 5, 7}));
  }
}

TEST(ContractGradients, AGradientThatWouldFlowThroughTheOutsideIsAnError) {
  Tensor w = tensor({1, 2}, {2}).requires_grad_(), v = w * 0.5, y = v * 0.5;
  EXPECT_EQ(floats(grad((y * w).sum(), {v})[0]), Floats({0.5, 1}));
  auto within = compile([&] { return grad((y * w).sum(), {v})[0]; });
  EXPECT_ERROR(within(), "(WEFT-G003)");
  auto unused = compile([&] { return grad((w * w).sum(), {v})[0]; });
  EXPECT_ERROR(unused(), "appears to not have been used in the graph");
}
