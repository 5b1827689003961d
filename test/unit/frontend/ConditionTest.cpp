//===- ConditionTest.cpp - cond and while_loop ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conditions and loops by data beside C++'s `if` and `while`. Beside PyTorch they are in test/parity.
//
//===----------------------------------------------------------------------===//
#include "CloseTensors.h"

#include <ctime>

using namespace weft;

namespace {
using weft::testing::expectClose;
using weft::testing::someNumbers;

/// Two layers, one of which is taken. Both have parameters from outside, of which one is of both.
struct Layers {
  Tensor x = someNumbers({3, 4}, 1), w = someNumbers({4, 4}, 2), b = someNumbers({4}, 3),
         u = someNumbers({4}, 4);
  Tensor first(const Tensor &at) const { return tanh(matmul(at, w) + b); }
  Tensor second(const Tensor &at) const { return exp(at * u) - b; }
  Tensor chosen(const Tensor &pred) const {
    return cond(
        pred, [this](const Tensor &at) { return first(at); }, [this](const Tensor &at) { return second(at); },
        x);
  }
  Tensor written(bool pred) const { return pred ? first(x) : second(x); }
  std::vector<Tensor> inputs() const { return {x, w, b, u}; }
  void require() const {
    for (Tensor tensor : inputs())
      tensor.requires_grad_();
  }
};

Tensor truth(bool value) { return full({}, value, {.dtype = DType::i1}); }

Tensor lossOf(const Tensor &result) { return (result * result * someNumbers(result.sizes(), 7)).sum(); }

} // namespace

TEST(Cond, TakesTheBranchOfItsPredicate) {
  const Layers layers;
  for (const bool pred : {true, false}) {
    expectClose(layers.chosen(truth(pred)), layers.written(pred));
    // Of one element, and computed.
    expectClose(layers.chosen(truth(pred).reshape({1, 1})), layers.written(pred));
    const Tensor sum = layers.x.sum();
    expectClose(layers.chosen(pred ? sum < 1000 : sum > 1000), layers.written(pred));
  }
}

TEST(Cond, OfABoolIsTakenAtOnce) {
  bool called = false;
  const Tensor x = someNumbers({4}, 1);
  const auto other = [&](const Tensor &at) {
    called = true;
    return at;
  };
  expectClose(cond(true, [](const Tensor &at) { return at + 1; }, other, x), x + 1);
  expectClose(cond(false, other, [](const Tensor &at) { return at - 1; }, x), x - 1);
  EXPECT_FALSE(called);
}

TEST(Cond, IsPartOfCompiledFunctions) {
  const Layers layers;
  auto run = compile([&](const Tensor &x, const Tensor &limit) {
    Layers inner = layers;
    inner.x = x * 2;
    return inner.chosen(x.sum() > limit) + 1;
  });
  uint64_t compiled = 0;
  for (const double limit : {-1000.0, 1000.0, -1000.0}) {
    Layers other = layers;
    other.x = layers.x * 2;
    const Tensor given = full({}, limit);
    ASSERT_EQ(given.item<double>(), limit); // computed before the call
    const uint64_t before = compile_count();
    const Tensor found = run(layers.x, given);
    compiled += compile_count() - before;
    expectClose(found, other.written(limit < 0) + 1);
  }
  EXPECT_EQ(compiled, 1U);
  EXPECT_TRUE(mentions(run.explain({.full = true}), "branch to")) << run.explain({.full = true});
}

TEST(Cond, ComputesOnlyTheBranchThatIsTaken) {
  auto run = compile([](const Tensor &pred, const Tensor &x) {
    return cond(
        pred, [](const Tensor &at) { return at + 1; },
        [](const Tensor &at) {
          Tensor y = at;
          for (int i = 0; i < 40; ++i)
            y = tanh(matmul(y, at));
          return y;
        },
        x);
  });
  const Tensor x = someNumbers({192, 192}, 3);
  const auto secondsOf = [&](bool pred) {
    const Tensor which = truth(pred);
    double least = 1e9;
    for (int i = 0; i < 4; ++i) {
      synchronize();
      const std::clock_t begin = std::clock(); // of all threads, whatever else the machine does
      (void)run(which, x).sum().item<float>();
      least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    return least;
  };
  EXPECT_LT(secondsOf(true) * 4, secondsOf(false)); // 40 products or none
}

TEST(Cond, HasTheGradientsOfTheBranchThatIsTaken) {
  for (const bool pred : {true, false}) {
    const Layers a, b;
    a.require();
    b.require();
    lossOf(a.chosen(truth(pred))).backward();
    lossOf(b.written(pred)).backward();
    for (size_t i = 0; i < a.inputs().size(); ++i) {
      // A condition has a gradient of everything that either branch reads: zero where C++ has none.
      const Tensor expected = b.inputs()[i].grad();
      expectClose(a.inputs()[i].grad(), expected.defined() ? expected : zeros_like(b.inputs()[i]));
    }
  }
}

TEST(Cond, HasGradientsInACompiledStep) {
  const Layers a, b;
  a.require();
  b.require();
  auto step = compile([&](const Tensor &pred) {
    for (Tensor input : a.inputs())
      input.set_grad({});
    Tensor loss = lossOf(a.chosen(pred));
    loss.backward();
    return loss;
  });
  for (const bool pred : {true, false, true}) {
    for (Tensor input : b.inputs())
      input.set_grad({});
    Tensor expected = lossOf(b.written(pred));
    expected.backward();
    expectClose(step(truth(pred)), expected);
    for (size_t i = 0; i < a.inputs().size(); ++i) {
      const Tensor grad = b.inputs()[i].grad();
      expectClose(a.inputs()[i].grad(), grad.defined() ? grad : zeros_like(b.inputs()[i]));
    }
  }
}

TEST(Cond, HasDerivativesOfDerivatives) {
  for (const bool pred : {true, false}) {
    const auto penalty = [](const Layers &layers, const Tensor &result) {
      const std::vector<Tensor> first = grad(lossOf(result), {layers.x, layers.b}, {.create_graph = true});
      return grad((first[0] * first[0]).sum() + (first[1] * first[1]).sum(), {layers.x, layers.b});
    };
    const Layers a, b;
    a.require();
    b.require();
    const std::vector<Tensor> found = penalty(a, a.chosen(truth(pred))),
                              expected = penalty(b, b.written(pred));
    for (size_t i = 0; i < found.size(); ++i)
      expectClose(found[i], expected[i], 1e-4);
  }
}

TEST(Cond, KeepsWhatIsNotTakenOutOfGradients) {
  // The root of the other branch is not a number, and its derivative infinite.
  Tensor x = zeros({3}).requires_grad_();
  Tensor y = cond((x > 0).all(), [](const Tensor &at) { return sqrt(at); },
                  [](const Tensor &at) { return at * 2; }, x);
  y.sum().backward();
  EXPECT_EQ(floats(x.grad()), Floats({2, 2, 2}));
}

TEST(Cond, TakesTreesAndMayBeNested) {
  const auto run = [](const Tensor &a, const Tensor &b) {
    return cond(
        a.sum() > b.sum(), [](const Tensor &x, const Tensor &y) { return std::pair(x - y, x.sum()); },
        [](const Tensor &x, const Tensor &y) {
          return cond(
              y.sum() > 10, [&](const Tensor &z) { return std::pair(x + z, z.sum()); },
              [&](const Tensor &z) { return std::pair(x * z, x.max()); }, y);
        },
        std::tuple(a, b));
  };
  const Tensor small = full({2}, 1.0), middle = full({2}, 3.0), large = full({2}, 7.0);
  EXPECT_EQ(floats(run(large, small).first), Floats({6, 6}));
  EXPECT_EQ(run(large, small).second.item<float>(), 14);
  EXPECT_EQ(floats(run(middle, large).first), Floats({10, 10}));
  EXPECT_EQ(floats(run(small, middle).first), Floats({3, 3}));
  EXPECT_EQ(run(small, middle).second.item<float>(), 1);
  // Without operands, and what a branch returns as it got it.
  EXPECT_EQ(floats(cond(truth(true), [&] { return small; }, [&] { return large; })), Floats({1, 1}));
  EXPECT_EQ(
      floats(cond(
          truth(false), [](const Tensor &x) { return x; }, [&](const Tensor &) { return large; }, small)),
      Floats({7, 7}));
}

TEST(Cond, MayBeInTheBodyOfAScan) {
  Tensor xs = someNumbers({9, 4}, 5), w = someNumbers({4}, 6), v = w.detach().clone();
  w.requires_grad_();
  v.requires_grad_();
  const auto ys = scan(
                      [&](const Tensor &h, const Tensor &x) {
                        Tensor next = cond(
                            x.sum() > h.sum(), [&](const Tensor &at) { return tanh(at * w + x); },
                            [&](const Tensor &at) { return at - x; }, h);
                        return std::pair(next, next);
                      },
                      zeros({4}), xs)
                      .second;
  lossOf(ys).backward();
  Tensor h = zeros({4});
  std::vector<Tensor> rows;
  int64_t taken = 0;
  for (int64_t i = 0; i < 9; ++i) {
    const bool first = (xs[i].sum() > h.sum()).item<bool>();
    taken += first;
    h = first ? tanh(h * v + xs[i]) : h - xs[i];
    rows.push_back(h);
  }
  ASSERT_TRUE(taken > 0 && taken < 9);
  lossOf(stack(rows)).backward();
  expectClose(ys, stack(rows));
  expectClose(w.grad(), v.grad());
}

TEST(Cond, HasTensorsOfAnySize) {
  const Layers layers;
  layers.require();
  Dim batch("batch", 1, 64);
  auto dynamic = compile(
      [&](const Tensor &x, const Tensor &limit) {
        Layers inner = layers;
        inner.x = x;
        Tensor result = inner.chosen(x.sum() > limit);
        for (Tensor weight : {layers.w, layers.b, layers.u})
          weight.set_grad({});
        (result * result).sum().backward();
        return result;
      },
      {spec({batch, 4}), spec({})});
  for (const int64_t rows : {3, 1, 17})
    for (const double limit : {-1000.0, 1000.0}) {
      Layers fixed = layers;
      fixed.x = someNumbers({rows, 4}, 30);
      const Tensor found = dynamic(fixed.x, full({}, limit));
      const Tensor gradient = layers.b.grad().clone();
      const Tensor expected = fixed.written(limit < 0);
      expectClose(found, expected);
      Tensor(layers.b).set_grad({});
      (expected * expected).sum().backward();
      expectClose(gradient, layers.b.grad());
    }
}

TEST(Cond, RefusesWhatIsNoCondition) {
  const Tensor x = zeros({2});
  const auto same = [](const Tensor &at) { return at + 1; };
  EXPECT_ERROR(cond(x, same, same, x), "the predicate of cond is f32[2], expected a bool");
  EXPECT_ERROR(cond(x > 0, same, same, x), "WEFT-T006");
  EXPECT_ERROR(cond(zeros({}), same, same, x), "WEFT-T006");
  EXPECT_ERROR(cond(
                   truth(true), same, [](const Tensor &at) { return at.sum(); }, x),
               "result 0 of cond is f32[2] in the first branch, and f32[] in the second (WEFT-T007)");
  EXPECT_ERROR(cond(truth(true), same, [](const Tensor &at) { return at.to(DType::f64); }, x), "WEFT-T007");
  EXPECT_ERROR(cond(
                   truth(true), [](const Tensor &at) { return std::vector{at}; },
                   [](const Tensor &at) { return std::vector{at, at}; }, x),
               "the branches of cond return other structures, of 1 and of 2 tensors (WEFT-T007)");
}

TEST(Cond, FailsForTheBranchThatIsTakenOnly) {
  const Tensor table = someNumbers({5, 2}, 1);
  const auto looked = [&](const Tensor &pred, const Tensor &index) {
    return cond(
        pred, [&](const Tensor &at) { return table.index_select(0, at); },
        [](const Tensor &at) { return zeros({at.size(0), 2}); }, index);
  };
  const Tensor good = Tensor::from(std::vector<int64_t>{1, 4, 0}, {3}),
               high = Tensor::from(std::vector<int64_t>{1, 5, 0}, {3}),
               low = Tensor::from(std::vector<int64_t>{-7, 1, 0}, {3});
  auto compiled = compile(looked);
  const auto lazy = [&](const Tensor &pred, const Tensor &index) { return looked(pred, index); };
  const auto check = [&](const auto &run) {
    expectClose(run(truth(true), good), table.index_select(0, good));
    for (const Tensor &wrong : {high, low}) {
      EXPECT_EQ(floats(run(truth(false), wrong)), Floats(6));
      EXPECT_ERROR((void)run(truth(true), wrong).sum().template item<float>(), "out of bounds");
    }
    const std::string text = errorOf([&] { (void)run(truth(true), high).sum().template item<float>(); });
    EXPECT_TRUE(mentions(text, "index 5 is out of bounds for dimension 0 with size 5 (at position 1)"))
        << text;
    EXPECT_TRUE(mentions(text, "ConditionTest.cpp")) << text;
    expectClose(run(truth(true), good), table.index_select(0, good));
  };
  check(lazy);
  check(compiled);
}

TEST(Cond, FailsForAnEmptyDimensionInTheBranchThatIsTaken) {
  const Tensor none = zeros({0, 2}), at = zeros({3}, {.dtype = i64}), u = ones({3, 2});
  const auto read = [&](const Tensor &pred) {
    return cond(
        pred, [&](const Tensor &i) { return none.index_select(0, i); },
        [](const Tensor &) { return ones({3, 2}); }, at);
  };
  const auto write = [&](const Tensor &pred) {
    return cond(
        pred, [&](const Tensor &i) { return none.index_add(0, i, u).sum(); },
        [](const Tensor &) { return ones({}); }, at);
  };
  const auto nested = [&](const Tensor &pred) {
    return scan([&](const Tensor &sum,
                    const Tensor &row) { return std::pair(sum + read(pred) + row, std::tuple<>()); },
                zeros({3, 2}), zeros({5, 3, 2}))
        .first;
  };
  const auto check = [&](const auto &run, size_t elements, float value) {
    EXPECT_EQ(floats(run(truth(false))), Floats(elements, value));
    EXPECT_ERROR((void)floats(run(truth(true))), "index is out of bounds for dimension 0 with size 0");
    EXPECT_EQ(floats(run(truth(false))), Floats(elements, value));
  };
  check(read, 6, 1);
  check(compile(read), 6, 1);
  check(write, 1, 1);
  check(nested, 6, 5);
  check(compile(nested), 6, 5);
  // Without an index nothing is read.
  const Tensor nowhere = zeros({0}, {.dtype = i64});
  EXPECT_EQ(cond(
                truth(true), [&](const Tensor &i) { return none.index_select(0, i); },
                [](const Tensor &) { return ones({0, 2}); }, nowhere)
                .numel(),
            0);
}

TEST(Cond, FailsForRowsOfAnyNumber) {
  Dim rows("rows", 1, 64);
  auto run = compile(
      [](const Tensor &pred, const Tensor &table, const Tensor &index) {
        return cond(
            pred, [&](const Tensor &at) { return table.index_select(0, at); },
            [&](const Tensor &at) { return table.sum(0).expand({at.size(0), 3}); }, index);
      },
      {spec({}, DType::i1), spec({rows, 3}), spec({2}, i64)});
  for (const int64_t count : {1, 4, 9}) {
    const Tensor table = someNumbers({count, 3}, 2),
                 last = Tensor::from(std::vector<int64_t>{0, count - 1}, {2}), after = last + 1;
    expectClose(run(truth(true), table, last), table.index_select(0, last));
    expectClose(run(truth(false), table, after), table.sum(0).expand({2, 3}));
    EXPECT_ERROR((void)run(truth(true), table, after).sum().item<float>(),
                 "index " + std::to_string(count) + " is out of bounds for dimension 0 with size " +
                     std::to_string(count));
  }
}

TEST(Cond, FailsForTheFirstOfAnyNumberOfIndices) {
  Dim count("count", 0, 16);
  const Tensor table = someNumbers({5, 3}, 2);
  auto run = compile(
      [&](const Tensor &pred, const Tensor &index) {
        return cond(
            pred, [&](const Tensor &at) { return table.index_select(0, at); },
            [&](const Tensor &at) { return table.sum(0).expand(shape({at.sym_size(0), 3})); }, index);
      },
      {spec({}, DType::i1), spec({count}, i64)});
  const auto indices = [](const std::vector<int64_t> &numbers) {
    return Tensor::from(numbers, {static_cast<int64_t>(numbers.size())});
  };
  EXPECT_EQ(run(truth(true), indices({})).sizes(), (Shape{0, 3}));
  for (const std::vector<int64_t> &good : {std::vector<int64_t>{4}, {0, 3, 1, 4}})
    expectClose(run(truth(true), indices(good)), table.index_select(0, indices(good)));
  EXPECT_EQ(run(truth(false), indices({7, -1})).sizes(), (Shape{2, 3}));
  const auto fails = [&](const std::vector<int64_t> &wrong, const char *text) {
    EXPECT_ERROR((void)run(truth(true), indices(wrong)).sum().item<float>(), text);
    EXPECT_ERROR((void)cond(
                     truth(true), [&](const Tensor &at) { return table.index_select(0, at); },
                     [&](const Tensor &at) { return table.sum(0).expand({at.size(0), 3}); }, indices(wrong))
                     .sum()
                     .item<float>(),
                 text);
  };
  fails({1, -2, 9, 0}, "index -2 is out of bounds for dimension 0 with size 5 (at position 1)");
  fails({1, 6, -2, 9}, "index 6 is out of bounds for dimension 0 with size 5 (at position 1)");
  fails({0, 1, 5}, "index 5 is out of bounds for dimension 0 with size 5 (at position 2)");
  fails({5}, "index 5 is out of bounds for dimension 0 with size 5 (at position 0)");
}

TEST(Cond, HasGradientsOfWhatMayFail) {
  Tensor table = someNumbers({5, 2}, 1).requires_grad_(), logits = someNumbers({3, 4}, 2).requires_grad_();
  const Tensor index = Tensor::from(std::vector<int64_t>{1, 4, 1}, {3}), labels = index.remainder(4);
  const auto loss = [&](const Tensor &pred, const Tensor &classes) {
    return cond(
        pred, [&](const Tensor &at) { return (table.index_select(0, at) * someNumbers({3, 2}, 5)).sum(); },
        [&](const Tensor &) {
          return cond(
              classes.sum() > 0, [&] { return nn::cross_entropy(logits, classes); },
              [&] { return logits.sum(); });
        },
        index);
  };
  loss(truth(true), labels).backward();
  Tensor expected = zeros({5, 2});
  expected.index_add_(0, index, someNumbers({3, 2}, 5));
  expectClose(table.grad(), expected);
  EXPECT_EQ(logits.grad().abs().sum().item<float>(), 0);
  table.set_grad({});
  logits.set_grad({});
  loss(truth(false), labels).backward();
  Tensor same = logits.detach().clone().requires_grad_();
  nn::cross_entropy(same, labels).backward();
  expectClose(logits.grad(), same.grad());
  EXPECT_EQ(table.grad().abs().sum().item<float>(), 0);
  EXPECT_ERROR((void)loss(truth(false), labels + 7).item<float>(), "out of bounds");
  EXPECT_EQ(loss(truth(true), labels + 7).isfinite().item<bool>(), true);
}

TEST(Cond, RefusesEffectsOfItsBranches) {
  Tensor x = zeros({2}), outside = zeros({2}), leaf = ones({2}).requires_grad_();
  const auto branchWith = [&](auto effect) {
    return [&, effect] {
      cond(
          truth(true), [](const Tensor &at) { return at; },
          [&](const Tensor &at) {
            effect();
            return at + 1;
          },
          x);
    };
  };
  EXPECT_ERROR(branchWith([&] { outside += 1; })(), "a branch of cond writes");
  EXPECT_ERROR(branchWith([&] { (void)rand({2}); })(), "draws random numbers");
  EXPECT_ERROR(branchWith([&] { print("x", outside); })(), "has the effect 'print'");
  EXPECT_ERROR(branchWith([&] { (leaf * leaf).sum().backward(); })(),
               "sets gradients with backward() (WEFT-T001)");
  EXPECT_ERROR(branchWith([&] { leaf.set_grad(outside); })(), "sets the gradient of");
  EXPECT_ERROR(branchWith([&] { (void)outside.sum().item<float>(); })(), "WEFT-C001");
  EXPECT_EQ(floats(outside), Floats({0, 0}));
}

TEST(Cond, RefusesWritesToItsOperands) {
  Tensor x = ones({2});
  const auto doubled = [](Tensor at) { return at.mul_(2); };
  const auto same = [](const Tensor &at) { return at; };
  EXPECT_ERROR(cond(truth(true), doubled, same, x), "a branch of cond writes its argument 0 at ");
  EXPECT_ERROR(cond(truth(true), same, doubled, x), "(WEFT-T001)");
  EXPECT_EQ(floats(x), Floats({1, 1}));
  const auto own = [](const Tensor &at) {
    Tensor made = at * 3;
    made += 1;
    return made;
  };
  EXPECT_EQ(floats(cond(truth(true), own, same, x)), Floats({4, 4}));
}

TEST(Cond, OfAKnownPredicateIsACall) {
  Tensor x = ones({2}), outside = zeros({2});
  const auto effects = [&](Tensor at) {
    outside += 1;
    return at.mul_(2);
  };
  const auto fails = [](const Tensor &at) -> Tensor { throw std::runtime_error("not taken"); };
  EXPECT_EQ(floats(cond(true, effects, fails, x)), Floats({2, 2}));
  EXPECT_EQ(floats(x), Floats({2, 2}));
  EXPECT_EQ(floats(outside), Floats({1, 1}));
}

TEST(WhileLoop, HasAsManyTripsAsItsDataSay) {
  // The numbers of steps of Collatz's sequence, and another loop that carries the constant of its condition.
  const auto steps = [](int64_t begin) {
    const auto [n, count] =
        while_loop([](const Tensor &n, const Tensor &) { return n != 1; },
                   [](const Tensor &n, const Tensor &count) {
                     return std::tuple(where(n % 2 == 0, n.floor_divide(2), n * 3 + 1), count + 1);
                   },
                   std::tuple(full({}, begin, {.dtype = i64}), zeros({}, {.dtype = i64})));
    EXPECT_EQ(n.item<int64_t>(), 1);
    return count.item<int64_t>();
  };
  EXPECT_EQ(steps(1), 0);
  EXPECT_EQ(steps(2), 1);
  EXPECT_EQ(steps(7), 16);
  EXPECT_EQ(steps(27), 111);
}

TEST(WhileLoop, IsPartOfCompiledFunctions) {
  const Tensor w = someNumbers({4, 4}, 2) * 2;
  auto run = compile([&](const Tensor &x, const Tensor &limit) {
    return while_loop([&](const Tensor &at) { return at.abs().sum() < limit; },
                      [&](const Tensor &at) { return matmul(at, w) + at; }, x * 1);
  });
  uint64_t compiled = 0;
  for (const double limit : {0.0, 1.0, 50.0, 1e6}) {
    const Tensor x = someNumbers({3, 4}, 5);
    Tensor expected = x;
    int trips = 0;
    for (; trips < 1000 && expected.abs().sum().item<float>() < limit; ++trips)
      expected = matmul(expected, w) + expected;
    ASSERT_LT(trips, 1000);
    const Tensor given = full({}, limit);
    ASSERT_EQ(given.item<double>(), limit); // computed before the call
    const uint64_t before = compile_count();
    const Tensor found = run(x, given);
    compiled += compile_count() - before;
    expectClose(found, expected);
  }
  EXPECT_EQ(compiled, 1U);
  EXPECT_TRUE(mentions(run.explain({.full = true}), "loop while")) << run.explain({.full = true});
}

TEST(WhileLoop, MayHoldAConditionAndTakesGradientsInItsBody) {
  // Gradient descent until the gradient is small.
  const Tensor target = someNumbers({4}, 2);
  const auto [found, slope] =
      while_loop([](const Tensor &, const Tensor &gradient) { return gradient.abs().max() > 1e-3; },
                 [&](const Tensor &x, const Tensor &) {
                   const Tensor gradient = grad(((x - target) * (x - target)).sum(), {x})[0];
                   const Tensor next = cond(
                       gradient.abs().max() > 0.5, [&](const Tensor &at) { return at - gradient * 0.25; },
                       [&](const Tensor &at) { return at - gradient * 0.4; }, x);
                   return std::tuple(next, gradient);
                 },
                 std::tuple(zeros({4}), ones({4})));
  expectClose(found, target, 1e-3);
  EXPECT_LE(slope.abs().max().item<float>(), 1e-3);
}

TEST(WhileLoop, EndsWhereItFails) {
  // A list: each element is the number of the next one, and -1 of the last.
  const auto last = [](const Tensor &next, const Tensor &begin) {
    const auto [at, trips] =
        while_loop([](const Tensor &at, const Tensor &) { return at >= 0; },
                   [&](const Tensor &at, const Tensor &trips) {
                     return std::tuple(next.index_select(0, at.reshape({1})).reshape({}), trips + 1);
                   },
                   std::tuple(begin, zeros({}, {.dtype = i64})));
    return trips;
  };
  const Tensor begin = full({}, 2, {.dtype = i64});
  const Tensor good = Tensor::from(std::vector<int64_t>{-1, 0, 3, 1}, {4}),
               wrong = Tensor::from(std::vector<int64_t>{-1, 9, 3, 1}, {4});
  EXPECT_EQ(last(good, begin).item<int64_t>(), 4);
  const std::string text = errorOf([&] { (void)last(wrong, begin).item<int64_t>(); });
  EXPECT_TRUE(mentions(text, "index 9 is out of bounds for dimension 0 with size 4")) << text;
  EXPECT_EQ(last(good, begin).item<int64_t>(), 4);
}

TEST(WhileLoop, RefusesWhatIsNoLoop) {
  const Tensor x = zeros({2}), index = zeros({2}, {.dtype = i64});
  const auto never = [](const Tensor &at) { return (at > 0).any(); };
  const auto same = [](const Tensor &at) { return at + 1; };
  EXPECT_ERROR(while_loop([](const Tensor &at) { return at.sum(); }, same, x),
               "the condition of a while loop is f32[], expected a bool");
  EXPECT_ERROR(while_loop([](const Tensor &at) { return at > 0; }, same, x), "WEFT-T006");
  EXPECT_ERROR(while_loop(
                   never, [](const Tensor &at) { return stack({at, at}); }, x),
               "carry 0 of a loop begins as f32[2], and is f32[2, 2] after a trip (WEFT-T002)");
  const Tensor truths = ones({2}, {.dtype = DType::i1});
  EXPECT_ERROR(
      while_loop([&](const Tensor &at) { return truths.index_select(0, at); }, same, index.slice(0, 0, 1)),
      "which may fail (WEFT-T008)");
  EXPECT_ERROR(
      while_loop(never, [&](const Tensor &at) { return at + rand({2}); }, x), "draws random numbers");
}

TEST(WhileLoop, PassesGradientsByWhatItDoesNotCarry) {
  // The limit wants a gradient, and no carry depends on it.
  Tensor limit = full({}, 10.0).requires_grad_(), y = ones({2}).requires_grad_();
  const Tensor last = while_loop([&](const Tensor &at) { return at.sum() < limit; },
                                 [](const Tensor &at) { return at * 2; }, ones({2}));
  (last * y).sum().backward();
  EXPECT_EQ(floats(y.grad()), Floats({8, 8}));
}
