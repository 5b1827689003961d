//===- ContractLazyTest.cpp - Slices and messages of lazy execution -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One test for each sentence of the contract of lazy execution (docs/contract.md) about slices, shared
// storage, and failures. ContractRunTest.cpp has the other sentences.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

using namespace weft;
using namespace weft::indexing;

/// 0, 1, 2, .. that are there, and not computed when they are read.
static Tensor given(Shape shape) {
  return generated(std::move(shape), [](size_t i) { return i; });
}

//===----------------------------------------------------------------------===//
// The place of a slice
//===----------------------------------------------------------------------===//

/// How many times something is compiled in `body(0)` to `body(99)`, of which the first does not count.
template <typename Body> static uint64_t compilations(Body body) {
  synchronize(); // what is pending before is computed with what is read first
  body(0);
  uint64_t before = compile_count();
  for (int64_t i = 1; i < 100; ++i)
    body(i);
  return compile_count() - before;
}

TEST(ContractLazySlices, TheirPlaceIsNoPartOfTheKeyWhereTheyAreRead) {
  Tensor x = given({100, 7});
  auto number = [](int64_t i, int64_t j) { return static_cast<float>(7 * i + j); };
  EXPECT_EQ(compilations([&](int64_t i) {
              EXPECT_EQ(floats(x[i] * 2), floats((arange(7, {.dtype = f32}) + number(i, 0)) * 2));
            }),
            0u);
  EXPECT_EQ(
      compilations([&](int64_t i) { EXPECT_EQ((x[i][i % 7] + 1).item<float>(), number(i, i % 7) + 1); }), 0u);
  EXPECT_EQ(compilations([&](int64_t i) {
              EXPECT_EQ(
                  floats(x.narrow(1, i % 5, 3).sum({0}) / 100),
                  Floats({number(0, i % 5) + 346.5f, number(0, i % 5) + 347.5f, number(0, i % 5) + 348.5f}));
            }),
            0u);
  EXPECT_EQ(compilations([&](int64_t i) { // a window that is no piece of memory, from either end
              Tensor corner = x.index({Slice(i % 90, i % 90 + 2), Slice(i % 6, i % 6 + 2)}) + 0.5;
              float first = number(i % 90, i % 6) + 0.5f;
              EXPECT_EQ(floats(corner), Floats({first, first + 1, first + 7, first + 8}));
              EXPECT_EQ((x.select(0, -1 - i) * 1)[6].item<float>(), number(99 - i, 6));
            }),
            0u);
  Tensor pending = countTo(300).reshape({100, 3}); // not computed when it is sliced
  EXPECT_EQ(compilations([&](int64_t i) {
              Tensor y = countTo(300).reshape({100, 3});
              EXPECT_EQ(floats(y[i] + y.select(0, 99 - i)), Floats({297, 299, 301}));
            }),
            0u);
}

TEST(ContractLazySlices, WhatIsOnePieceOfAValueIsReadWithoutAProgram) {
  Tensor x = given({100, 7});
  synchronize(); // what earlier tests left pending is no program of this one
  uint64_t before = compile_count();
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(x[i][2].item<float>(), 7 * i + 2);
    EXPECT_EQ(floats(x.narrow(0, i, 1).flatten())[6], 7 * i + 6);
  }
  EXPECT_EQ(floats(x.narrow(0, 100, 0)), Floats());
  EXPECT_EQ(compile_count(), before);
}

TEST(ContractLazySlices, TheirPlaceIsNoPartOfTheKeyWhereTheyAreWritten) {
  Tensor state = zeros({100, 3}), x = given({100, 3});
  synchronize();
  EXPECT_EQ(compilations([&](int64_t i) {
              state[i] += x[i];
              EXPECT_EQ((state[i] * 1)[2].item<float>(), 3 * i + 2);
            }),
            0u);
  EXPECT_EQ(floats(state), floats(x));
  EXPECT_EQ(compilations([&](int64_t i) {
              state[i][i % 3] = i;
              EXPECT_EQ(state.index({i, i % 3}).item<float>(), i);
              state.slice(1, i % 2, i % 2 + 1).zero_();
              EXPECT_EQ(floats(state.select(1, i % 2)), Floats(100, 0));
            }),
            0u);
}

TEST(ContractLazySlices, TheirPlaceIsNoPartOfTheKeyOfAGradient) {
  Tensor w = given({100, 3}).requires_grad_();
  EXPECT_EQ(compilations([&](int64_t i) {
              w.set_grad({});
              (w[i] * w[i]).sum().backward();
              Floats gradient = floats(w.grad());
              for (size_t j = 0; j < gradient.size(); ++j)
                EXPECT_EQ(gradient[j], j / 3 == static_cast<size_t>(i) ? 2.f * static_cast<float>(j) : 0.f);
            }),
            0u);
}

TEST(ContractLazySlices, APartMayBeginAnywhere) {
  // Kernels assume no more than the alignment of an element.
  Tensor bytes = arange(300, {.dtype = i64}).to(u8), numbers = given({300}), weights = given({4, 4});
  synchronize();
  for (int64_t i = 0; i < 70; ++i) {
    EXPECT_EQ(bytes.narrow(0, i, 100).to(i64).sum().item<int64_t>(), 100 * i + 4950);
    Tensor part = numbers.narrow(0, i, 160);
    EXPECT_EQ((part + 1).sum().item<float>(), 160 * i + 12720 + 160);
    Floats product = floats(part.narrow(0, 0, 16).reshape({4, 4}).matmul(weights));
    EXPECT_EQ(product[0], 4 * (i + 1) + 8 * (i + 2) + 12 * (i + 3));
  }
}

//===----------------------------------------------------------------------===//
// Storage that values share
//===----------------------------------------------------------------------===//

TEST(ContractLazySlices, AWriteOfTheWholeIsSeenByViewsAndByNothingElse) {
  auto add = compile([](Tensor x) { x += 100; });
  Tensor x = given({4, 2}), row = x[2], copied = zeros({2}), kept = x[1].clone();
  EXPECT_EQ(floats(row), Floats({4, 5}));
  copied.copy_(row);
  add(x); // in place
  EXPECT_EQ(floats(row), Floats({104, 105}));
  EXPECT_EQ(floats(copied), Floats({4, 5}));
  EXPECT_EQ(floats(kept), Floats({2, 3}));
  row.fill_(7);
  EXPECT_EQ(floats(x), Floats({100, 101, 102, 103, 7, 7, 106, 107}));
  add(x);
  EXPECT_EQ(floats(row), Floats({107, 107}));
  EXPECT_EQ(floats(copied), Floats({4, 5}));
}

TEST(ContractLazySlices, AGradientStillFindsThePartThatItNeeds) {
  auto add = compile([](Tensor x) { x += 100; });
  Tensor x = given({4, 2}), w = ones({2}).requires_grad_();
  Tensor loss = (w * x[2]).sum();
  EXPECT_EQ(loss.item<float>(), 9);
  add(x);
  loss.backward();
  EXPECT_EQ(floats(w.grad()), Floats({4, 5}));
}

TEST(ContractLazySlices, AGradientStillFindsAComputedValueThatWasWrittenSince) {
  auto add = compile([](Tensor x) { x += 100; });
  Tensor x = countTo(3) * 2, w = ones({3}).requires_grad_();
  Tensor loss = (w * x).sum();
  EXPECT_EQ(loss.item<float>(), 6);
  add(x);
  loss.backward();
  EXPECT_EQ(floats(w.grad()), Floats({0, 2, 4}));
}

TEST(ContractLazySlices, TwoTensorsOfOneComputedValueAreWrittenApart) {
  auto add = compile([](Tensor x) { x += 100; });
  Tensor a = zeros({3}), b = countTo(3) * 2;
  a.copy_(b);
  add(a);
  EXPECT_EQ(floats(a), Floats({100, 102, 104}));
  EXPECT_EQ(floats(b), Floats({0, 2, 4}));
  Tensor c = given({3}), d = c.clone(), e = d.clone();
  synchronize();
  add(c);
  add(e);
  EXPECT_EQ(floats(c), Floats({100, 101, 102}));
  EXPECT_EQ(floats(d), Floats({0, 1, 2}));
  EXPECT_EQ(floats(e), Floats({100, 101, 102}));
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// The lines of this file that a message names.
static std::vector<int> linesIn(const std::string &message) {
  std::vector<int> lines;
  std::string file = "ContractLazyTest.cpp:";
  for (size_t at = message.find(file); at != std::string::npos; at = message.find(file, at + 1))
    lines.push_back(std::atoi(message.c_str() + at + file.size()));
  return lines;
}

static Tensor indices(const std::vector<int64_t> &values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())});
}

TEST(ContractLazyFailures, TheyNameTheLineOfThisProgramOnce) {
  Tensor table = given({4, 2});
  floats(table.index_select(0, indices({0, 3})));
  int line = __LINE__ + 2;
  std::string message = errorOf([&] {
    Tensor row = table.index_select(0, indices({0, 9})); // the same program as above
    floats(row);
  });
  EXPECT_NE(message.find("index 9 is out of bounds for dimension 0 with size 4"), std::string::npos)
      << message;
  EXPECT_EQ(linesIn(message), std::vector<int>({line})) << message;
}

TEST(ContractLazyFailures, OfTwoEqualOperationsTheOneThatFailsIsNamed) {
  Tensor table = given({4, 2});
  auto both = [&](std::vector<int64_t> a, std::vector<int64_t> b, int *lines) {
    Tensor x = table.index_select(0, indices(std::move(a)));
    Tensor y = table.index_select(0, indices(std::move(b)));
    lines[0] = __LINE__ - 2, lines[1] = __LINE__ - 1;
    return floats(x * y + 1);
  };
  int lines[2];
  both({0, 1}, {2, 3}, lines);
  EXPECT_EQ(linesIn(errorOf([&] { both({0, 1}, {2, 4}, lines); })), std::vector<int>({lines[1]}));
  EXPECT_EQ(linesIn(errorOf([&] { both({0, -5}, {2, 3}, lines); })), std::vector<int>({lines[0]}));
  Floats fine = both({1, 1}, {0, 2}, lines);
  EXPECT_EQ(fine[0], 1);
}

TEST(ContractLazyFailures, WritesByIndexToo) {
  Tensor table = given({4, 2});
  for (int64_t at : {1, 7}) {
    Tensor t = zeros({4, 2});
    if (at == 1) {
      t.index_put_({indices({at})}, 5);
      floats(t);
      continue;
    }
    t.index_put_({indices({at})}, 5);
    std::string message = errorOf([&] { floats(t); });
    EXPECT_NE(message.find("index 7 is out of bounds"), std::string::npos) << message;
    EXPECT_EQ(linesIn(message), std::vector<int>({__LINE__ - 3})) << message;
  }
}

//===----------------------------------------------------------------------===//
// State after a failure
//===----------------------------------------------------------------------===//

TEST(ContractLazyUndo, AFailedWriteLeavesTheTensorAsItWas) {
  Tensor x = given({4, 2});
  const Floats before = floats(x);
  x.index_put_({indices({7})}, 5);
  x += 1; // follows from what failed, and happens as little
  EXPECT_ERROR(floats(x), "index 7 is out of bounds");
  EXPECT_EQ(floats(x), before);
  x.index_put_({indices({-1})}, 5);
  EXPECT_EQ(floats(x), Floats({0, 1, 2, 3, 4, 5, 5, 5}));
}

TEST(ContractLazyUndo, WritesBeforeTheOneThatFailsHaveHappened) {
  Tensor x = zeros({3});
  for (int64_t at : {0, 1, 3, 2}) // one line, several operations
    x.index_put_({indices({at})}, at + 1);
  EXPECT_ERROR(floats(x), "index 3 is out of bounds");
  EXPECT_EQ(floats(x), Floats({1, 2, 0}));
  // Also where no later value follows from the earlier one.
  Tensor table = given({4, 3}), row = zeros({3});
  for (int64_t at : {1, 2, 4, 3})
    row.copy_(table.index_select(0, indices({at})).reshape({3}) * 1);
  EXPECT_EQ(floats(row), Floats({9, 10, 11})); // nothing needs the one that would fail
  for (int64_t at : {1, 2, 4})
    row.copy_(table.index_select(0, indices({at})).reshape({3}) * 1);
  EXPECT_ERROR(floats(row), "index 4 is out of bounds");
  EXPECT_EQ(floats(row), Floats({6, 7, 8}));
}

TEST(ContractLazyUndo, ViewsAreAsTheyWere) {
  Tensor x = given({3, 2}), table = given({4, 2}), row = x[1], column = x.select(1, 0);
  row.copy_(table.index_select(0, indices({9})).reshape({2}));
  EXPECT_ERROR(floats(column), "index 9 is out of bounds");
  EXPECT_EQ(floats(row), Floats({2, 3}));
  EXPECT_EQ(floats(column), Floats({0, 2, 4}));
  EXPECT_EQ(floats(x), floats(given({3, 2})));
  row.copy_(table.index_select(0, indices({0})).reshape({2}));
  EXPECT_EQ(floats(x), Floats({0, 1, 0, 1, 4, 5}));
}

TEST(ContractLazyUndo, SoIsEveryTensorThatFollows) {
  Tensor x = given({3}), y = zeros({3}), other = zeros({3});
  x.index_put_({indices({3})}, 1);
  y += 2;
  y.copy_(x);
  y.zero_(); // no longer follows from it
  Tensor z = ones({3});
  z.mul_(x);
  other.index_put_({indices({1})}, 1);
  Tensor made = x * 2;
  EXPECT_ERROR(floats(z), "index 3 is out of bounds");
  EXPECT_EQ(floats(z), Floats({1, 1, 1}));
  EXPECT_EQ(floats(x), Floats({0, 1, 2}));
  EXPECT_EQ(floats(y), Floats({0, 0, 0}));
  EXPECT_EQ(floats(other), Floats({0, 1, 0}));
  for (int i = 0; i < 2; ++i) // it never held anything else
    EXPECT_ERROR(floats(made), "index 3 is out of bounds");
  made.fill_(1);
  EXPECT_EQ(floats(made), Floats({1, 1, 1}));
}

TEST(ContractLazyUndo, WhatAFlushForAnotherReasonMetIsStillAnErrorOfItsRead) {
  Tensor x = given({3});
  x.index_put_({indices({3})}, 1);
  auto f = compile([](Tensor a) { return a * 2; });
  EXPECT_EQ(floats(f(ones({3}))), Floats({2, 2, 2}));
  EXPECT_ERROR(f(x), "index 3 is out of bounds");
  EXPECT_EQ(floats(f(x)), Floats({0, 2, 4}));
  // A trace that reads the failed value, and fails, keeps the value that is restored.
  x.index_put_({indices({5})}, 1);
  auto g = compile([&](Tensor a) {
    x += a;
    return matmul(x, a.reshape({1, 3}));
  });
  EXPECT_ERROR(g(ones({3})), "cannot be multiplied");
  EXPECT_ERROR(floats(x), "index 5 is out of bounds");
  EXPECT_EQ(floats(x), Floats({0, 1, 2}));
}

TEST(ContractLazyUndo, SynchronizeTellsOfEachFailureOnce) {
  Tensor x = given({3}), y = given({3});
  x.index_put_({indices({3})}, 1);
  y.index_put_({indices({4})}, 1);
  Tensor made = given({3}).index_select(0, indices({5}));
  EXPECT_ERROR(synchronize(), "index 3 is out of bounds");
  EXPECT_EQ(floats(x), Floats({0, 1, 2}));
  EXPECT_ERROR(synchronize(), "index 4 is out of bounds");
  EXPECT_ERROR(synchronize(), "index 5 is out of bounds");
  synchronize();
  EXPECT_EQ(floats(y), Floats({0, 1, 2}));
  EXPECT_ERROR(floats(made), "index 5 is out of bounds");
  synchronize();
}

TEST(ContractLazyUndo, GradientsChangeOnlyWithTheStep) {
  nn::Linear layer(2, 3);
  auto loss = [&](int64_t label) { return nn::cross_entropy(layer(ones({1, 2})), indices({label})); };
  loss(3).backward();
  EXPECT_ERROR(floats(layer.weight.grad()), "Target 3 is out of bounds");
  EXPECT_FALSE(layer.weight.grad().defined());
  EXPECT_FALSE(layer.bias.grad().defined());
  loss(0).backward();
  const Floats once = floats(layer.bias.grad());
  loss(-1).backward();
  loss(1).backward();
  EXPECT_ERROR(floats(layer.weight.grad()), "Target -1 is out of bounds");
  EXPECT_EQ(floats(layer.bias.grad()), once);
  loss(0).backward();
  EXPECT_EQ(floats(layer.bias.grad()), Floats({2 * once[0], 2 * once[1], 2 * once[2]}));
}

TEST(ContractLazyUndo, TheGeneratorGoesBackWhereItFollows) {
  manual_seed(3);
  Tensor table = ones({4, 64});
  const Floats expected = floats(dropout(table.index_select(0, indices({1})), 0.5));
  manual_seed(3);
  Tensor lost = dropout(table.index_select(0, indices({4})), 0.5);
  EXPECT_ERROR(floats(lost), "index 4 is out of bounds");
  EXPECT_EQ(floats(dropout(table.index_select(0, indices({1})), 0.5)), expected);
}

TEST(ContractLazyUndo, ItCostsNoCompilationAndKeepsNoStorage) {
  constexpr int64_t n = 1 << 12;
  Tensor table = ones({8, n}), x = zeros({n});
  table.to_bytes(); // both are there, as in every iteration but the first
  x.to_bytes();
  EXPECT_EQ(compilations([&](int64_t i) {
              x.index_put_({indices({i})}, i);
              x.copy_(x + table.index_select(0, indices({i % 8})).reshape({n}));
              EXPECT_EQ(x[1].item<float>(), static_cast<float>(i + 1));
            }),
            0u);
  const uint64_t bytes = memory_allocated();
  for (int64_t i = 0; i < 200; ++i) { // what is written is not read, and is made of something large
    Tensor large = (table[0] + i).clone();
    large[0].item<float>();
    x.copy_(large.index_select(0, arange(n)));
    EXPECT_LT(memory_allocated(), bytes + 32 * n * sizeof(float));
  }
}
