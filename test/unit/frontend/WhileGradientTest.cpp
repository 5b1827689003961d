//===- WhileGradientTest.cpp - Gradients of while_loop ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside the same trips of C++ loops, and beside formulas in doubles where there are many. Beside PyTorch
// they are in test/parity.
//
//===----------------------------------------------------------------------===//
#include "CloseTensors.h"

#include <cmath>

using namespace weft;

namespace {
using weft::testing::expectClose;
using weft::testing::someNumbers;

Tensor number(int64_t value) { return full({}, value, {.dtype = i64}); }

/// `trips` times x = sin(x * w) + x / 2, by a loop that counts them down.
Tensor waves(const Tensor &x, const Tensor &w, const Tensor &trips) {
  return std::get<0>(while_loop(
      [](const Tensor &, const Tensor &left) { return left > 0; },
      [&](const Tensor &at, const Tensor &left) { return std::tuple(sin(at * w) + at * 0.5, left - 1); },
      std::tuple(x, trips)));
}

/// What `waves` has for one element, and its derivatives with respect to x and w.
struct Wave {
  double value, ofX, ofW;
};
Wave waveOf(double x, double w, int64_t trips) {
  Wave at{x, 1, 0};
  for (int64_t trip = 0; trip < trips; ++trip) {
    const double slope = w * std::cos(at.value * w) + 0.5;
    at = {std::sin(at.value * w) + at.value * 0.5, at.ofX * slope,
          at.ofW * slope + at.value * std::cos(at.value * w)};
  }
  return at;
}

/// The derivatives of `ofW` with respect to x and w.
std::pair<double, double> secondOf(double x, double w, int64_t trips) {
  double value = x, ofX = 1, ofW = 0, ofXW = 0, ofWW = 0;
  for (int64_t trip = 0; trip < trips; ++trip) {
    const double s = std::sin(value * w), c = std::cos(value * w);
    const double x1 = ofX * w, w1 = ofW * w + value; // of value * w
    const double xw = ofXW * w + ofX, ww = ofWW * w + 2 * ofW;
    ofXW = -s * x1 * w1 + c * xw + ofXW * 0.5;
    ofWW = -s * w1 * w1 + c * ww + ofWW * 0.5;
    ofX = c * x1 + ofX * 0.5;
    ofW = c * w1 + ofW * 0.5;
    value = s + value * 0.5;
  }
  return {ofXW, ofWW};
}

/// The gradients of a loss of a loop that ends when its carry is large, in which nothing is counted.
Tensor grown(const Tensor &x, const Tensor &w, const Tensor &limit) {
  return while_loop([&](const Tensor &at) { return at.abs().sum() < limit; },
                    [&](const Tensor &at) { return matmul(at, w) + at; }, x);
}
Tensor grownByHand(Tensor x, const Tensor &w, double limit, int &trips) {
  for (trips = 0; x.abs().sum().item<double>() < limit; ++trips)
    x = matmul(x, w) + x;
  return x;
}

Tensor lossOf(const Tensor &result) { return (result * result * someNumbers(result.sizes(), 7)).sum(); }

Tensor leaf(Shape shape, int seed) { return someNumbers(std::move(shape), seed).requires_grad_(); }

} // namespace

TEST(WhileGradient, IsThatOfItsTripsHoweverMany) {
  auto run = compile([](const Tensor &x, const Tensor &w, const Tensor &trips) {
    const Tensor last = waves(x, w, trips);
    return std::pair(last, grad(last.sum(), {x, w}));
  });
  uint64_t compiled = 0;
  // None; around the rows of a stack, around those of two levels and of three; and more.
  for (const int64_t trips : {0, 1, 2, 15, 16, 17, 33, 255, 256, 257, 259, 1000, 4096, 4097, 9000}) {
    const Tensor x = (someNumbers({4}, 1) * 0.5).requires_grad_(),
                 w = (someNumbers({4}, 2) * 0.25 + 0.75).requires_grad_(), count = number(trips);
    const Floats begin = floats(x), factor = floats(w);
    const uint64_t before = compile_count();
    const auto [last, gradients] = run(x, w, count);
    compiled += compile_count() - before;
    const Floats values = floats(last), ofX = floats(gradients[0]), ofW = floats(gradients[1]);
    for (size_t i = 0; i < begin.size(); ++i) {
      const Wave expected = waveOf(begin[i], factor[i], trips);
      EXPECT_NEAR(values[i], expected.value, 1e-4) << trips;
      EXPECT_NEAR(ofX[i], expected.ofX, 1e-3 * (1 + std::abs(expected.ofX))) << trips;
      EXPECT_NEAR(ofW[i], expected.ofW, 1e-3 * (1 + std::abs(expected.ofW))) << trips;
    }
  }
  EXPECT_EQ(compiled, 1U);
}

TEST(WhileGradient, OfALoopThatDoesNotCountItsTrips) {
  for (const double limit : {0.0, 1.0, 50.0, 1e4}) {
    Tensor x = leaf({3, 4}, 5), w = leaf({4, 4}, 2), a = leaf({3, 4}, 5), b = leaf({4, 4}, 2);
    int trips = 0;
    const Tensor loss = lossOf(grownByHand(a, b, limit, trips));
    lossOf(grown(x, w, full({}, limit))).backward();
    loss.backward();
    expectClose(x.grad(), a.grad(), 1e-4);
    if (trips)
      expectClose(w.grad(), b.grad(), 1e-4);
    else
      expectClose(w.grad(), zeros({4, 4}));
  }
}

TEST(WhileGradient, ReachesWhatACarryBeginsWithoutAndItsOtherUses) {
  // The sum begins as a number that wants no gradient. Its loop is used twice, and so is what it begins with.
  const auto losses = [](const Tensor &x, const Tensor &scale, bool isLoop) {
    const Tensor begin = tanh(x);
    Tensor at = begin, sum = zeros({3});
    if (isLoop)
      std::tie(at, sum, std::ignore) =
          while_loop([](const Tensor &, const Tensor &, const Tensor &i) { return i < 5; },
                     [&](const Tensor &at, const Tensor &sum, const Tensor &i) {
                       const Tensor next = at * scale;
                       return std::tuple(next, sum + next * i, i + 1);
                     },
                     std::tuple(begin, zeros({3}), number(0)));
    else
      for (int i = 0; i < 5; ++i) {
        at = at * scale;
        sum = sum + at * i;
      }
    return (sum * begin).sum() + (at * at).sum() + (begin * 3).sum();
  };
  Tensor x = leaf({3}, 1), scale = leaf({3}, 2), y = leaf({3}, 1), other = leaf({3}, 2);
  losses(x, scale, true).backward();
  losses(y, other, false).backward();
  expectClose(x.grad(), y.grad());
  expectClose(scale.grad(), other.grad());
}

TEST(WhileGradient, OfNestedLoops) {
  const auto outer = [](const Tensor &x, const Tensor &w, const Tensor &trips) {
    return std::get<0>(while_loop([&](const Tensor &, const Tensor &i) { return i < trips; },
                                  [&](const Tensor &at, const Tensor &i) {
                                    // As many trips as those of the loop around it so far.
                                    return std::tuple(waves(at, w, i) * 0.75 + at * w, i + 1);
                                  },
                                  std::tuple(x, number(0))));
  };
  for (const int64_t trips : {0, 1, 4}) {
    Tensor x = leaf({3}, 1), w = leaf({3}, 2), a = leaf({3}, 1), b = leaf({3}, 2);
    lossOf(outer(x, w, number(trips))).backward();
    Tensor at = a * 1;
    for (int64_t i = 0; i < trips; ++i) {
      Tensor inner = at;
      for (int64_t k = 0; k < i; ++k)
        inner = sin(inner * b) + inner * 0.5;
      at = inner * 0.75 + at * b;
    }
    lossOf(at).backward();
    expectClose(x.grad(), a.grad());
    expectClose(w.grad(), trips ? b.grad() : zeros({3}));
  }
}

TEST(WhileGradient, HasDerivativesOfDerivatives) {
  const auto penalty = [](const Tensor &last, const std::vector<Tensor> &inputs) {
    Tensor sum = zeros({});
    for (const Tensor &g : grad(lossOf(last), inputs, {.create_graph = true}))
      sum = sum + (g * g).sum();
    return grad(sum, inputs);
  };
  for (const int64_t trips : {1, 3}) {
    const Tensor x = leaf({3}, 1), w = leaf({3}, 2), a = leaf({3}, 1), b = leaf({3}, 2);
    Tensor at = a;
    for (int64_t i = 0; i < trips; ++i)
      at = sin(at * b) + at * 0.5;
    const std::vector<Tensor> found = penalty(waves(x, w, number(trips)), {x, w}),
                              expected = penalty(at, {a, b});
    expectClose(found[0], expected[0], 1e-4);
    expectClose(found[1], expected[1], 1e-4);
  }
}

TEST(WhileGradient, HasDerivativesOfDerivativesOfManyTrips) {
  auto run = compile([](const Tensor &x, const Tensor &w, const Tensor &trips) {
    const Tensor last = waves(x, w, trips);
    return grad(grad(last.sum(), {w}, {.create_graph = true})[0].sum(), {x, w});
  });
  for (const int64_t trips : {0, 2, 16, 17, 40, 257, 600, 4500}) {
    const Tensor x = (someNumbers({4}, 1) * 0.5).requires_grad_(),
                 w = (someNumbers({4}, 2) * 0.25 + 0.75).requires_grad_(), count = number(trips);
    const std::vector<Tensor> found = run(x, w, count);
    const Floats begin = floats(x), factor = floats(w), ofX = floats(found[0]), ofW = floats(found[1]);
    for (size_t i = 0; i < begin.size(); ++i) {
      const auto [expectedOfX, expectedOfW] = secondOf(begin[i], factor[i], trips);
      EXPECT_NEAR(ofX[i], expectedOfX, 1e-3 * (1 + std::abs(expectedOfX))) << trips;
      EXPECT_NEAR(ofW[i], expectedOfW, 1e-3 * (1 + std::abs(expectedOfW))) << trips;
    }
  }
}

TEST(WhileGradient, OfLoopsInBranchesAndInLoopsOfKnownLength) {
  const auto losses = [](const Tensor &x, const Tensor &w, const Tensor &taken) {
    const Tensor chosen = cond(
        taken, [&](const Tensor &at) { return waves(at, w, number(3)); },
        [&](const Tensor &at) { return at * w; }, x);
    const auto [last, all] = scan(
        [&](const Tensor &at, const Tensor &row) {
          const Tensor next = waves(at + row, w, number(2));
          return std::pair(next, next);
        },
        chosen, someNumbers({5, 3}, 4));
    return (last * all.sum(0)).sum();
  };
  const auto byHand = [](const Tensor &x, const Tensor &w, bool taken) {
    const auto turned = [&](Tensor at, int trips) {
      for (int i = 0; i < trips; ++i)
        at = sin(at * w) + at * 0.5;
      return at;
    };
    Tensor at = taken ? turned(x, 3) : x * w, sum = zeros({3});
    const Tensor rows = someNumbers({5, 3}, 4);
    for (int64_t i = 0; i < 5; ++i) {
      at = turned(at + rows[i], 2);
      sum = sum + at;
    }
    return (at * sum).sum();
  };
  for (const bool taken : {true, false}) {
    Tensor x = leaf({3}, 1), w = leaf({3}, 2), a = leaf({3}, 1), b = leaf({3}, 2);
    losses(x, w, full({}, taken, {.dtype = DType::i1})).backward();
    byHand(a, b, taken).backward();
    expectClose(x.grad(), a.grad());
    expectClose(w.grad(), b.grad());
  }
}

TEST(WhileGradient, OfTripsThatReadByIndex) {
  // A list: each element is the number of the next one, and -1 of the last.
  const auto sumOf = [](const Tensor &next, const Tensor &table) {
    return std::get<1>(while_loop([](const Tensor &at, const Tensor &) { return at >= 0; },
                                  [&](const Tensor &at, const Tensor &sum) {
                                    const Tensor place = at.reshape({1});
                                    const Tensor row = table.index_select(0, place).reshape({2});
                                    return std::tuple(next.index_select(0, place).reshape({}),
                                                      sum * 0.5 + row * row);
                                  },
                                  std::tuple(number(2), zeros({2}))));
  };
  const Tensor good = Tensor::from(std::vector<int64_t>{-1, 0, 3, 1}, {4}),
               wrong = Tensor::from(std::vector<int64_t>{-1, 9, 3, 1}, {4});
  Tensor table = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}).requires_grad_();
  sumOf(good, table).sum().backward();
  // In the order 2, 3, 1, 0.
  EXPECT_EQ(floats(table.grad()), Floats({2, 4, 3, 4, 1.25, 1.5, 3.5, 4}));
  table.set_grad({});
  const std::string text = errorOf([&] {
    sumOf(wrong, table).sum().backward();
    (void)table.grad().sum().item<float>();
  });
  EXPECT_TRUE(mentions(text, "index 9 is out of bounds for dimension 0 with size 4")) << text;
}

TEST(WhileGradient, IsPartOfATrainingStep) {
  // Refined until it changes little, with as many trips as the data and the weights say.
  const auto refined = [](const Tensor &x, const Tensor &w) {
    return std::get<0>(
        while_loop([](const Tensor &, const Tensor &change) { return change.abs().max() > 1e-3; },
                   [&](const Tensor &at, const Tensor &) {
                     const Tensor next = tanh(matmul(at, w) * 0.25 + x);
                     return std::tuple(next, next - at);
                   },
                   std::tuple(zeros_like(x), ones_like(x))));
  };
  Tensor w = leaf({4, 4}, 2);
  optim::SGD optimizer({w}, {.lr = 0.1});
  auto step = compile([&](const Tensor &x, const Tensor &target) {
    const Tensor off = refined(x, w) - target, loss = (off * off).mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    return loss;
  });
  const Tensor x = someNumbers({3, 4}, 5), target = someNumbers({3, 4}, 6);
  const float first = step(x, target).item<float>();
  float last = first;
  for (int i = 0; i < 30; ++i)
    last = step(x, target).item<float>();
  EXPECT_LT(last, first);
  EXPECT_TRUE(mentions(step.explain({.full = true}), "loop while")) << step.explain({.full = true});
}

TEST(WhileGradient, RowsMayHaveAnySize) {
  Dim batch("batch", 1, 64);
  Tensor w = leaf({4}, 2), other = leaf({4}, 2);
  auto run = compile(
      [&](const Tensor &x, const Tensor &trips) {
        w.set_grad({});
        const Tensor last = waves(x, w, trips);
        lossOf(last.sum(0)).backward();
        return last;
      },
      {spec({batch, 4}), spec({}, i64)});
  for (const int64_t rows : {3, 1, 17}) {
    const Tensor x = someNumbers({rows, 4}, 5);
    (void)run(x, number(6));
    Tensor at = x;
    for (int i = 0; i < 6; ++i)
      at = sin(at * other) + at * 0.5;
    other.set_grad({});
    lossOf(at.sum(0)).backward();
    expectClose(w.grad(), other.grad(), 1e-4);
  }
}

TEST(WhileGradient, FlowsThroughCallsOfCompiledFunctions) {
  auto run = compile([](const Tensor &x, const Tensor &w) { return waves(x * 2, w, number(3)); });
  Tensor x = leaf({3}, 1), w = leaf({3}, 2), a = leaf({3}, 1), b = leaf({3}, 2);
  lossOf(run(x, w)).backward();
  lossOf(waves(a * 2, b, number(3))).backward();
  expectClose(x.grad(), a.grad());
  expectClose(w.grad(), b.grad());
}

TEST(WhileGradient, BesideNumbersThatAreNotFinite) {
  const float infinity = INFINITY;
  auto run = compile([](const Tensor &x, const Tensor &w, const Tensor &trips) {
    const auto [last, sum, left] =
        while_loop([](const Tensor &, const Tensor &, const Tensor &left) { return left > 0; },
                   [&](const Tensor &at, const Tensor &sum, const Tensor &left) {
                     return std::tuple(at * w, sum + at, left - 1);
                   },
                   std::tuple(x, zeros({3}), trips));
    return std::pair(grad(last.sum(), {x, w}), grad(sum.sum(), {x, w}));
  });
  const auto gradients = [&](int64_t trips) {
    const Tensor x = ones({3}).requires_grad_(),
                 w = Tensor::from(std::vector<float>{0.5, infinity, NAN}, {3}).requires_grad_();
    const auto [ofLast, ofSum] = run(x, w, number(trips));
    return std::vector<Floats>{floats(ofLast[0]), floats(ofLast[1]), floats(ofSum[0]), floats(ofSum[1])};
  };
  // Trips that do not run, and states that are not kept, add nothing.
  EXPECT_EQ(gradients(0), (std::vector<Floats>{{1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}));
  for (const int64_t trips : {1, 2, 17, 300}) {
    const std::vector<Floats> found = gradients(trips);
    // w^n and n * w^(n - 1).
    const auto n = static_cast<float>(trips);
    EXPECT_FLOAT_EQ(found[0][0], std::pow(0.5F, n));
    EXPECT_FLOAT_EQ(found[1][0], n * std::pow(0.5F, n - 1));
    EXPECT_EQ(found[0][1], infinity);
    EXPECT_EQ(found[1][1], trips == 1 ? 1 : infinity);
    EXPECT_TRUE(std::isnan(found[0][2]));
    EXPECT_EQ(std::isnan(found[1][2]), trips > 1);
    // As in PyTorch's loop, nothing after the last trip is zero, which times an infinity is NaN.
    EXPECT_FLOAT_EQ(found[2][0], 2 - std::pow(0.5F, n - 1));
    EXPECT_TRUE(std::isnan(found[2][1]));
    EXPECT_TRUE(std::isnan(found[2][2]));
  }
}

TEST(WhileGradient, RefusesHooksInItsBody) {
  const Tensor x = leaf({2}, 1);
  EXPECT_ERROR(while_loop([](const Tensor &at) { return at.sum() < 10; },
                          [](const Tensor &at) {
                            Tensor next = at * 2;
                            next.register_hook([](const Tensor &g) { return g * 2; });
                            return next;
                          },
                          x),
               "WEFT-G005");
}
