//===- ScanTest.cpp - Loops that are compiled as loops ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each loop beside the same trips written out. Beside PyTorch they are in test/parity.
//
//===----------------------------------------------------------------------===//
#include "CloseTensors.h"

#include <cmath>

using namespace weft;

namespace {
using weft::testing::expectClose;
using weft::testing::someNumbers;
using Tensors = std::vector<Tensor>;

struct Recurrence {
  int64_t length = 12; // unrolled below 4
  Tensor h0 = someNumbers({3, 4}, 1), xs = someNumbers({length, 3, 5}, 2), w = someNumbers({4, 4}, 3),
         u = someNumbers({5, 4}, 4);
  Tensor step(const Tensor &h, const Tensor &x) const { return tanh(matmul(x, u) + matmul(h, w)); }
  std::pair<Tensor, Tensor> loop(bool reverse = false) const {
    return scan(
        [this](const Tensor &h, const Tensor &x) {
          Tensor next = step(h, x);
          return std::pair(next, next * 2);
        },
        h0, xs, {.reverse = reverse});
  }
  std::pair<Tensor, Tensor> written(bool reverse = false) const {
    Tensor h = h0;
    std::vector<Tensor> ys(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) {
      const int64_t row = reverse ? length - 1 - i : i;
      h = step(h, xs[row]);
      ys[static_cast<size_t>(row)] = h * 2;
    }
    return {h, stack(ys)};
  }
  std::vector<Tensor> inputs() const { return {h0, xs, w, u}; }
  void require() const {
    for (Tensor tensor : inputs())
      tensor.requires_grad_();
  }
};

/// A reader of tokens: each trip reads an embedding, and adds the loss of the next token.
struct Reader {
  int64_t length = 12;
  Tensor table = someNumbers({7, 4}, 1), w = someNumbers({4, 4}, 2), head = someNumbers({4, 7}, 3);
  Tensor tokens = (arange(length * 3) * 5 % 7).reshape({length, 3}),
         next = (arange(length * 3) * 3 % 7).reshape({length, 3});

  std::pair<Tensor, Tensor> trip(const Tensor &h, const Tensor &token, const Tensor &target) const {
    const Tensor after = tanh(embedding(token, table) + matmul(h, w));
    return {after, nn::cross_entropy(matmul(after, head), target)};
  }
  /// The state, the sum of losses, and the states of all trips.
  std::tuple<Tensor, Tensor, Tensor> loop(bool reverse = false) const {
    const auto [carry, states] = scan(
        [this](const std::pair<Tensor, Tensor> &before, const std::pair<Tensor, Tensor> &row) {
          const auto [h, loss] = trip(before.first, row.first, row.second);
          return std::pair(std::pair(h, before.second + loss), h);
        },
        std::pair(zeros({3, 4}), zeros({})), std::pair(tokens, next), {.reverse = reverse});
    return {carry.first, carry.second, states};
  }
  std::tuple<Tensor, Tensor, Tensor> written(bool reverse = false) const {
    Tensor h = zeros({3, 4}), sum = zeros({});
    std::vector<Tensor> states(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) {
      const int64_t row = reverse ? length - 1 - i : i;
      const auto [after, loss] = trip(h, tokens[row], next[row]);
      h = after;
      sum = sum + loss;
      states[static_cast<size_t>(row)] = h;
    }
    return {h, sum, stack(states)};
  }
  std::vector<Tensor> weights() const { return {table, w, head}; }
  std::vector<Tensor> gradientsOf(const std::tuple<Tensor, Tensor, Tensor> &results) const {
    const auto &[h, loss, states] = results;
    return grad((h * h).sum() + loss + states.sum(), weights());
  }
};

/// The loss of both results, with different weights for their elements.
Tensor lossOf(const std::pair<Tensor, Tensor> &results) {
  return (results.first * someNumbers(results.first.sizes(), 7)).sum() +
         (results.second * results.second * someNumbers(results.second.sizes(), 8)).sum();
}

} // namespace

TEST(Scan, HasTheValuesOfItsTripsWrittenOut) {
  for (const bool reverse : {false, true})
    for (const int64_t length : {1, 3, 8, 13}) {
      const Recurrence r{.length = length};
      const auto [last, ys] = r.loop(reverse);
      const auto [expectedLast, expectedYs] = r.written(reverse);
      expectClose(last, expectedLast);
      expectClose(ys, expectedYs);
    }
}

TEST(Scan, IsPartOfCompiledFunctions) {
  Recurrence r;
  auto run = compile([&](const Tensor &h0, const Tensor &xs) {
    Recurrence inner = r;
    inner.h0 = h0 * 2;
    inner.xs = xs;
    const auto [last, ys] = inner.loop();
    return std::pair(last + 1, ys);
  });
  uint64_t compiled = 0;
  for (int i = 0; i < 3; ++i) {
    Recurrence other;
    other.h0 = someNumbers({3, 4}, 10 + i);
    other.xs = someNumbers({12, 3, 5}, 20 + i);
    const uint64_t before = compile_count();
    const auto [last, ys] = run(other.h0, other.xs);
    compiled += compile_count() - before;
    other.h0 = other.h0 * 2;
    const auto [expectedLast, expectedYs] = other.written();
    expectClose(last, expectedLast + 1);
    expectClose(ys, expectedYs);
  }
  EXPECT_EQ(compiled, 1);
}

TEST(Scan, HasTheGradientsOfItsTripsWrittenOut) {
  for (const auto &[reverse, length] : {std::pair(false, 3), {false, 12}, {true, 3}, {true, 13}}) {
    const Recurrence a{.length = length}, b{.length = length};
    a.require();
    b.require();
    lossOf(a.loop(reverse)).backward();
    lossOf(b.written(reverse)).backward();
    for (size_t i = 0; i < a.inputs().size(); ++i)
      expectClose(a.inputs()[i].grad(), b.inputs()[i].grad());
  }
}

TEST(Scan, HasTheGradientsOfItsTripsInACompiledStep) {
  const Recurrence a, b;
  a.require();
  b.require();
  auto step = compile([&] {
    for (Tensor input : a.inputs())
      input.set_grad({});
    Tensor loss = lossOf(a.loop());
    loss.backward();
    return loss;
  });
  Tensor expected = lossOf(b.written());
  expected.backward();
  expectClose(step(), expected);
  expectClose(step(), expected);
  for (size_t i = 0; i < a.inputs().size(); ++i)
    expectClose(a.inputs()[i].grad(), b.inputs()[i].grad());
}

TEST(Scan, HasGradientsOfLeavesThatAreViews) {
  Tensor base = someNumbers({2, 4}, 1), w = base.detach()[1].detach().requires_grad_(),
         xs = someNumbers({9, 4}, 2);
  auto step = compile([&] {
    Tensor loss = scan([&](const Tensor &h, const Tensor &x) { return std::pair(h * w + x + base[0], h); },
                       zeros({4}), xs)
                      .first.sum();
    w.set_grad({});
    loss.backward();
    return loss;
  });
  step();
  Tensor v = base[1].detach().clone().requires_grad_(), h = zeros({4});
  for (int64_t i = 0; i < 9; ++i)
    h = h * v + xs[i] + base[0];
  h.sum().backward();
  expectClose(w.grad(), v.grad());
}

TEST(Scan, HasDerivativesOfDerivatives) {
  const auto penalty = [](const Recurrence &r, const std::pair<Tensor, Tensor> &results) {
    const std::vector<Tensor> first = grad(lossOf(results), r.inputs(), {.create_graph = true});
    Tensor sum = zeros({});
    for (const Tensor &g : first)
      sum = sum + (g * g).sum();
    return grad(sum, r.inputs());
  };
  const Recurrence a, b;
  a.require();
  b.require();
  const std::vector<Tensor> found = penalty(a, a.loop()), expected = penalty(b, b.written());
  for (size_t i = 0; i < found.size(); ++i)
    expectClose(found[i], expected[i], 1e-4);
}

TEST(Scan, TakesTreesAndNumbersOfTrips) {
  // Fibonacci numbers: a carry of two tensors, no xs.
  const Tensor one = ones({}, {.dtype = i64});
  const auto [last, all] = scan(
      [](const std::tuple<Tensor, Tensor> &pair) {
        const auto &[a, b] = pair;
        return std::pair(std::tuple(b, a + b), a);
      },
      std::tuple(one, one), 10);
  EXPECT_EQ(all.to_vector<int64_t>(), (std::vector<int64_t>{1, 1, 2, 3, 5, 8, 13, 21, 34, 55}));
  EXPECT_EQ(std::get<1>(last).item<int64_t>(), 144);
  // No trip at all.
  const auto [same, none] = scan([](const Tensor &h) { return std::pair(h + 1, h); }, one, 0);
  EXPECT_EQ(same.item<int64_t>(), 1);
  EXPECT_EQ(none.sizes(), (Shape{0}));
  // No ys.
  const auto sum = scan([](const Tensor &s, const Tensor &x) { return std::pair(s + x, std::tuple<>{}); },
                        zeros({4}), someNumbers({5, 4}, 3))
                       .first;
  expectClose(sum, someNumbers({5, 4}, 3).sum(0));
}

TEST(Scan, MayBeInTheBodyOfAScan) {
  Tensor xs = someNumbers({4, 3, 2}, 5), w = someNumbers({2}, 6);
  w.requires_grad_();
  const auto outer = scan(
      [&](const Tensor &h, const Tensor &rows) {
        const auto inner =
            scan([&](const Tensor &g, const Tensor &x) { return std::pair(tanh(g * w + x), std::tuple<>{}); },
                 h, rows);
        return std::pair(inner.first, inner.first);
      },
      zeros({2}), xs);
  outer.second.sum().backward();
  Tensor v = w.detach().clone();
  v.requires_grad_();
  Tensor h = zeros({2}), sum = zeros({});
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 3; ++j)
      h = tanh(h * v + xs[i][j]);
    sum = sum + h.sum();
  }
  sum.backward();
  expectClose(outer.first, h);
  expectClose(w.grad(), v.grad());
}

TEST(Scan, TakesGradientsInItsBody) {
  // Steps of gradient descent on a quadratic function.
  const Tensor target = someNumbers({4}, 2);
  const auto [found, losses] = scan(
      [&](const Tensor &x) {
        Tensor loss = ((x - target) * (x - target)).sum();
        return std::pair(x - grad(loss, {x})[0] * 0.25, loss);
      },
      zeros({4}), 12);
  expectClose(found, target * (1 - std::pow(0.5, 12)));
  EXPECT_EQ(losses.size(0), 12);
}

TEST(Scan, RefusesEffectsOfItsBody) {
  Tensor h = zeros({2}), outside = zeros({2});
  const auto bodyWith = [&](auto effect) {
    return [&, effect] {
      scan(
          [&](const Tensor &x) {
            effect();
            return std::pair(x + 1, std::tuple<>{});
          },
          h, 3);
    };
  };
  EXPECT_ERROR(bodyWith([&] { outside += 1; })(), "the body of a loop writes");
  EXPECT_ERROR(bodyWith([&] { (void)rand({2}); })(), "draws random numbers");
  EXPECT_ERROR(bodyWith([&] { print("x", outside); })(), "has the effect 'print'");
  Tensor leaf = ones({2}).requires_grad_();
  EXPECT_ERROR(bodyWith([&] { (leaf * leaf).sum().backward(); })(),
               "sets gradients with backward() (WEFT-T001)");
  EXPECT_ERROR(bodyWith([&] { leaf.set_grad(outside); })(), "sets the gradient of");
  EXPECT_ERROR(bodyWith([&] { leaf.requires_grad_(false); })(), "sets requires_grad");
  EXPECT_ERROR(bodyWith([&] { (void)outside.sum().item<float>(); })(), "WEFT-C001");
  const std::string text = errorOf(bodyWith([&] { outside += 1; }));
  EXPECT_TRUE(mentions(text, "WEFT-T001")) << text;
  EXPECT_TRUE(mentions(text, "ScanTest.cpp")) << text;
  // Nothing of the loop is left behind.
  EXPECT_EQ(floats(outside), Floats({0, 0}));
  expectClose(scan([](const Tensor &x) { return std::pair(x + 1, std::tuple<>{}); }, h, 3).first, h + 3);
}

TEST(Scan, RefusesWritesToWhatItsBodyGets) {
  Tensor h = zeros({2}), rows = ones({3, 2});
  const auto bodyWith = [&](auto write) {
    return [&, write] {
      scan(
          [&](Tensor carry, Tensor row) {
            write(carry, row);
            return std::pair(carry, row);
          },
          h, rows);
    };
  };
  const std::string text = errorOf(bodyWith([](Tensor &carry, Tensor &) { carry += 1; }));
  EXPECT_TRUE(mentions(text, "the body of a loop writes its argument 0 at ")) << text;
  EXPECT_TRUE(mentions(text, "(WEFT-T001)")) << text;
  EXPECT_TRUE(mentions(text, "ScanTest.cpp")) << text;
  EXPECT_ERROR(bodyWith([](Tensor &, Tensor &row) { row.mul_(2); })(), "writes its argument 1");
  EXPECT_ERROR(bodyWith([](Tensor &carry, Tensor &) { carry[0] = 5; })(), "writes its argument 0");
  EXPECT_ERROR(bodyWith([](Tensor &carry, Tensor &) { carry.view({2, 1}).zero_(); })(),
               "writes its argument 0");
  EXPECT_ERROR(while_loop([](const Tensor &n) { return n < 3; },
                          [](Tensor n) {
                            n += 1;
                            return n;
                          },
                          zeros({})),
               "writes its argument 0");
  EXPECT_ERROR(
      while_loop([](Tensor n) { return n.add_(1) < 3; }, [](const Tensor &n) { return n + 1; }, zeros({})),
      "the condition of a while loop writes its argument 0");
  EXPECT_EQ(floats(h), Floats({0, 0}));
  EXPECT_EQ(floats(rows), Floats(6, 1));
  // What the body made is its own.
  const auto last = scan(
                        [](const Tensor &carry, const Tensor &row) {
                          Tensor next = carry.clone();
                          next += row;
                          next[0] = 7;
                          return std::pair(next, row);
                        },
                        h, rows)
                        .first;
  EXPECT_EQ(floats(last), Floats({7, 3}));
}

TEST(Scan, RefusesWhatIsNoLoop) {
  const auto same = [](const Tensor &h, const Tensor &x) { return std::pair(h + x.sum(), x); };
  const Tensor h = zeros({2});
  EXPECT_ERROR(scan(same, h, zeros({})), "WEFT-T003");
  const auto both = [](const Tensor &h, const std::tuple<Tensor, Tensor> &) { return std::pair(h, h); };
  EXPECT_ERROR(scan(both, h, std::tuple(zeros({4, 2}), zeros({5, 2}))),
               "the xs of scan have different first dimensions, 4 and 5 (WEFT-T003)");
  const auto grows = [](const Tensor &h) { return std::pair(stack({h, h}), h); };
  EXPECT_ERROR(scan(grows, h, 2),
               "carry 0 of a loop begins as f32[2], and is f32[2, 2] after a trip (WEFT-T002)");
  EXPECT_ERROR(scan([](const Tensor &h) { return std::pair(h, h); }, h, -1), "WEFT-T003");
}

TEST(Scan, HasRowsOfAnySize) {
  const Recurrence r;
  r.require();
  Dim batch("batch", 1, 64);
  const auto run = [&](const Tensor &h0, const Tensor &xs) {
    Recurrence inner = r;
    inner.h0 = h0;
    inner.xs = xs;
    const auto results = inner.loop();
    for (Tensor weight : {r.w, r.u})
      weight.set_grad({});
    (results.second * results.second).sum().backward();
    return results.second;
  };
  auto dynamic = compile(run, {spec({batch, 4}), spec({12, batch, 5})});
  for (const int64_t rows : {3, 1, 17}) {
    const Tensor h0 = someNumbers({rows, 4}, 30), xs = someNumbers({12, rows, 5}, 31);
    auto fixed = compile(run);
    expectClose(dynamic(h0, xs), fixed(h0, xs));
    const Tensor ofFixed = r.w.grad().clone();
    dynamic(h0, xs);
    expectClose(r.w.grad(), ofFixed);
  }
  EXPECT_TRUE(mentions(dynamic.explain({.full = true}), "loop of 12 trips")) << dynamic.explain();
}

/// A loop over rows with a loop and a condition in each trip, of sizes that a call chooses.
Tensor nested(const Tensor &x, const Tensor &w) {
  const auto inner = [&](const Tensor &h) { return std::pair(tanh(matmul(h, w) + x), h.sum(0)); };
  const auto first = [](const Tensor &h) { return h * 2 + h.mean(0); };
  const auto second = [](const Tensor &h) { return sin(h); };
  const auto [last, ys] = scan(
      [&](const Tensor &h, const Tensor &factor) {
        const auto [next, sums] = scan(inner, h * factor, 5);
        Tensor chosen = cond(next.sum() > 0, first, second, next);
        return std::pair(chosen, sums);
      },
      x, linspace(0.5, 1.5, 6));
  return (last * last).sum() + ys.square().sum();
}

TEST(Scan, GivesGradientsThroughCallsOfAnySize) {
  const Tensor w = someNumbers({4, 4}, 8).requires_grad_();
  Dim rows("rows", 1, 64);
  const auto dynamic = compile(nested, {spec({rows, 4}), spec({4, 4})});
  // Two sizes in one program, whose bodies differ in their sizes alone.
  const auto check = [&](const std::vector<int64_t> &sizes) {
    const auto gradients = [&](const auto &f) {
      Tensors inputs = {w};
      Tensor sum = zeros({});
      for (const int64_t size : sizes) {
        inputs.push_back(someNumbers({size, 4}, static_cast<uint32_t>(size)).requires_grad_());
        sum = sum + f(inputs.back(), w);
      }
      Tensors made = grad(sum, inputs);
      made.push_back(sum.detach());
      return made;
    };
    const Tensors found = gradients(dynamic), expected = gradients(nested);
    for (size_t i = 0; i < expected.size(); ++i)
      expectClose(found[i], expected[i]);
  };
  check({3});
  check({7});
  check({1, 5, 3});
  EXPECT_EQ(dynamic.variants().size(), 1u);
}

TEST(Scan, MayReadByIndexInItsTrips) {
  const Reader r;
  for (Tensor weight : r.weights())
    weight.requires_grad_();
  for (const bool reverse : {false, true}) {
    const auto found = r.loop(reverse), expected = r.written(reverse);
    expectClose(std::get<0>(found), std::get<0>(expected));
    expectClose(std::get<1>(found), std::get<1>(expected));
    expectClose(std::get<2>(found), std::get<2>(expected));
    const std::vector<Tensor> gradients = r.gradientsOf(found), wanted = r.gradientsOf(expected);
    for (size_t i = 0; i < wanted.size(); ++i)
      expectClose(gradients[i], wanted[i]);
  }
}

TEST(Scan, FailsForTheFirstIndexThatIsRefused) {
  Reader r;
  auto run = compile([](const Tensor &tokens, const Tensor &next) {
    Reader at;
    at.tokens = tokens;
    at.next = next;
    return std::get<1>(at.loop());
  });
  const auto errorWith = [&](const Tensor &tokens, const Tensor &next) {
    const std::string lazy = errorOf([&] {
      Reader at;
      at.tokens = tokens;
      at.next = next;
      (void)std::get<1>(at.loop()).item<float>();
    });
    const std::string compiled = errorOf([&] { (void)run(tokens, next).item<float>(); });
    EXPECT_TRUE(mentions(lazy, "ScanTest.cpp")) << lazy;
    EXPECT_TRUE(mentions(compiled, "ScanTest.cpp")) << compiled;
    EXPECT_TRUE(mentions(compiled, lazy.substr(0, lazy.find('\n')))) << compiled;
    return lazy;
  };
  const auto with = [](const Tensor &tensor, int64_t row, int64_t value) {
    Tensor changed = tensor.clone();
    changed[row][1].fill_(value);
    return changed;
  };
  const std::string token = "index 9 is out of bounds for dimension 0 with size 7",
                    target = "Target 8 is out of bounds";
  const float good = run(r.tokens, r.next).item<float>();
  EXPECT_TRUE(mentions(errorWith(with(r.tokens, 5, 9), r.next), token));
  EXPECT_TRUE(mentions(errorWith(r.tokens, with(r.next, 11, 8)), target));
  // In the first trip that has one, and in the order of its operations.
  EXPECT_TRUE(mentions(errorWith(with(r.tokens, 5, 9), with(r.next, 3, 8)), target));
  EXPECT_TRUE(mentions(errorWith(with(r.tokens, 5, 9), with(r.next, 5, 8)), token));
  EXPECT_TRUE(mentions(errorWith(with(with(r.tokens, 2, -3), 5, 9), r.next), "index -3 is out of bounds"));
  EXPECT_EQ(run(r.tokens, r.next).item<float>(), good);
  // A target that is ignored is none.
  EXPECT_TRUE(std::isfinite(run(r.tokens, with(r.next, 3, -100)).item<float>()));
}

TEST(Scan, NamesThePositionOfAnIndexAmongThoseOfAllTrips) {
  const Tensor table = someNumbers({7, 4}, 1);
  const auto looked = [&](const Tensor &at, bool reverse) {
    const auto add = [&](const Tensor &sum, const Tensor &row) {
      return std::pair(sum + table.index_select(0, row).sum(), std::tuple<>());
    };
    return scan(add, zeros({}), at, {.reverse = reverse}).first;
  };
  const Tensor good = (arange(36) % 7).reshape({12, 3});
  const auto with = [&](std::vector<std::pair<int64_t, int64_t>> wrong) {
    Tensor at = good.clone();
    for (const auto &[position, index] : wrong)
      at.view({36})[position].fill_(index);
    return at;
  };
  Dim width("width", 1, 8), none("none", 0, 8);
  const auto check = [&](const auto &run) {
    EXPECT_TRUE(std::isfinite(run(good, false).template item<float>()));
    const auto fails = [&](const Tensor &at, bool reverse, const std::string &text) {
      EXPECT_ERROR((void)run(at, reverse).template item<float>(), text);
    };
    const std::string of9 = "index 9 is out of bounds for dimension 0 with size 7 (at position ",
                      of8 = "index 8 is out of bounds for dimension 0 with size 7 (at position ";
    for (const bool reverse : {false, true}) {
      fails(with({{0, 9}}), reverse, of9 + "0)");
      fails(with({{16, 9}, {17, 8}}), reverse, of9 + "16)");
      fails(with({{35, -1}}), reverse,
            "index -1 is out of bounds for dimension 0 with size 7 (at position 35)");
    }
    // The first trip counts.
    fails(with({{5, 9}, {20, 8}}), false, of9 + "5)");
    fails(with({{5, 9}, {20, 8}}), true, of8 + "20)");
  };
  check(looked);
  const auto forward = [&](const Tensor &at) { return looked(at, false); };
  const auto backward = [&](const Tensor &at) { return looked(at, true); };
  auto compiled = compile(forward), compiledBack = compile(backward);
  check([&](const Tensor &at, bool reverse) { return reverse ? compiledBack(at) : compiled(at); });
  for (const Dim &dim : {width, none}) {
    auto any = compile(forward, {spec({12, dim}, i64)}), anyBack = compile(backward, {spec({12, dim}, i64)});
    check([&](const Tensor &at, bool reverse) { return reverse ? anyBack(at) : any(at); });
    const Tensor one = (arange(12) % 7).reshape({12, 1});
    EXPECT_TRUE(std::isfinite(any(one).item<float>()));
    EXPECT_ERROR((void)any(one + 1).template item<float>(),
                 "index 7 is out of bounds for dimension 0 with size 7 (at position 6)");
  }
  EXPECT_EQ(compile(forward, {spec({12, none}, i64)})(zeros({12, 0}, {.dtype = i64})).item<float>(), 0);
}

TEST(Scan, NamesThePositionOfAnIndexInLoopsAndBranchesOfItsTrips) {
  const Tensor table = someNumbers({7, 4}, 1);
  const auto run = compile([&](const Tensor &at, const Tensor &chosen) {
    const auto read = [&](const Tensor &row) { return table.index_select(0, row).sum(); };
    const auto first = [&](const Tensor &row) { return read(row); };
    const auto second = [](const Tensor &) { return zeros({}); };
    const auto inner = [&](const Tensor &sum, const Tensor &row) {
      return std::pair(sum + read(row), std::tuple<>());
    };
    return scan(
               [&](const Tensor &sum, const std::pair<Tensor, Tensor> &row) {
                 Tensor more = cond(row.second, first, second, row.first.view({10}));
                 return std::pair(scan(inner, sum, row.first).first + more, std::tuple<>());
               },
               zeros({}), std::pair(at, chosen))
        .first;
  });
  const Tensor good = (arange(60) % 7).reshape({6, 5, 2}), all = ones({6}, {.dtype = DType::i1}), none = ~all;
  Tensor wrong = good.clone();
  wrong[4][2][1].fill_(9);
  EXPECT_TRUE(std::isfinite(run(good, all).item<float>()));
  for (const Tensor &chosen : {all, none})
    EXPECT_ERROR((void)run(wrong, chosen).item<float>(),
                 "index 9 is out of bounds for dimension 0 with size 7 (at position 45)");
}

TEST(Scan, ReadsRowsOfAnyNumber) {
  Dim rows("rows", 1, 64);
  const auto loop = [](const Tensor &table, const Tensor &at, const Tensor &logits) {
    return scan(
               [&](const Tensor &sum, const Tensor &row) {
                 const Tensor read = table.index_select(0, row).sum();
                 return std::pair(sum + read + nn::cross_entropy(logits, row), std::tuple<>());
               },
               zeros({}), at)
        .first;
  };
  auto run = compile(loop, {spec({rows, 3}), spec({6, 2}, i64), spec({2, 10})});
  for (const int64_t count : {1, 4, 9}) {
    const Tensor table = someNumbers({count, 3}, 2), logits = someNumbers({2, 10}, 3);
    const Tensor good = (arange(12) % count).reshape({6, 2});
    expectClose(run(table, good, logits), loop(table, good, logits));
    Tensor wrong = good.clone();
    wrong[4].fill_(count);
    EXPECT_ERROR((void)run(table, wrong, logits).item<float>(),
                 "index " + std::to_string(count) + " is out of bounds for dimension 0 with size " +
                     std::to_string(count));
    wrong[4].fill_(11);
    EXPECT_ERROR((void)run(someNumbers({12, 3}, 2), wrong, logits).item<float>(),
                 "Target 11 is out of bounds");
  }
  EXPECT_EQ(run.explain().find("WEFT-T004"), std::string::npos);
  Dim none("none", 0, 8);
  auto refused = compile(loop, {spec({none, 3}), spec({6, 2}, i64), spec({2, 10})});
  EXPECT_ERROR((void)refused(zeros({0, 3}), zeros({6, 2}, {.dtype = i64}), zeros({2, 10})),
               "which may be 0: give its symbols a min of 1");
}

TEST(Scan, WhatMayFailDoesNotGrowWithItsTrips) {
  const auto count = [](const std::string &text, const std::string &part) {
    int64_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++found;
    return found;
  };
  std::vector<int64_t> lines, kernels;
  for (const int64_t length : {10, 500}) {
    const Reader r{.length = length};
    for (Tensor weight : r.weights())
      weight.requires_grad_();
    auto step = compile([&] {
      for (Tensor weight : r.weights())
        weight.set_grad({});
      Tensor loss = std::get<1>(r.loop());
      loss.backward();
      return loss;
    });
    step();
    const std::string plan = step.mlir("plan");
    lines.push_back(count(plan, "\n"));
    kernels.push_back(count(plan, "weft.fusion"));
    EXPECT_EQ(count(plan, "weft.scan"), 2) << plan;
    EXPECT_FALSE(mentions(step.explain({.full = true}), "WEFT-T004"));
  }
  EXPECT_EQ(lines[0], lines[1]);
  EXPECT_EQ(kernels[0], kernels[1]);
}

TEST(Scan, TextAndKernelsDoNotGrowWithItsTrips) {
  const auto lines = [](const std::string &text) { return std::count(text.begin(), text.end(), '\n'); };
  std::vector<int64_t> recorded, planned, kernels;
  for (const int64_t length : {10, 1000}) {
    const Recurrence r{.length = length};
    r.require();
    auto step = compile([&] {
      for (Tensor input : r.inputs())
        input.set_grad({});
      Tensor loss = lossOf(r.loop());
      loss.backward();
      return loss;
    });
    step();
    recorded.push_back(lines(step.mlir()));
    planned.push_back(lines(step.mlir("plan")));
    const std::string plan = step.mlir("plan");
    kernels.push_back(0);
    for (size_t at = plan.find("weft.fusion"); at != std::string::npos; at = plan.find("weft.fusion", at + 1))
      ++kernels.back();
    EXPECT_TRUE(mentions(plan, "weft.scan")) << plan;
  }
  EXPECT_EQ(recorded[0], recorded[1]);
  EXPECT_EQ(planned[0], planned[1]);
  EXPECT_EQ(kernels[0], kernels[1]);
}
