//===- ContractChecksTest.cpp - Which checks a program makes --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/contract.md, "A step happens or it does not".
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <functional>

using namespace weft;

namespace {

using Program = std::function<Tensor(Tensor, Tensor)>;

Tensor indices(std::vector<int64_t> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Tensor::from(values, {count});
}

/// The messages of one program on one pair of arguments, run in every way; "" where it succeeds.
std::vector<std::string> messagesOf(const Program &f, const Tensor &x, const Tensor &index) {
  Dim n("n", 1, 64), m("m", 1, 64);
  auto message = [&](auto run) -> std::string {
    try {
      run();
      synchronize();
      return "";
    } catch (const Error &error) {
      const std::string text = error.what();
      return text.substr(0, text.find('\n'));
    }
  };
  auto still = compile([&](Tensor a, Tensor b) { return f(a, b); });
  auto dynamic = compile([&](Tensor a, Tensor b) { return f(a, b); }, {spec({n}), spec({m}, DType::i64)});
  return {message([&] { f(x, index).to_bytes(); }), message([&] { still(x, index).to_bytes(); }),
          message([&] { dynamic(x, index).to_bytes(); })};
}

void expectCheck(const char *what, const Program &f, const Tensor &x, const Tensor &index) {
  SCOPED_TRACE(what);
  for (const std::string &message : messagesOf(f, x, index))
    EXPECT_NE(message.find("out of bounds"), std::string::npos) << message;
}

void expectNoCheck(const char *what, const Program &f, const Tensor &x, const Tensor &index) {
  SCOPED_TRACE(what);
  for (const std::string &message : messagesOf(f, x, index))
    EXPECT_EQ(message, "");
}

} // namespace

TEST(ContractChecks, ACheckIsMadeWhateverSimplificationLeavesOfItsUse) {
  Tensor x = tensor({1, 2, 3}, {3}), beyond = indices({0, 1, 2, 7});
  expectCheck("read", [](Tensor a, Tensor i) { return a.index_select(0, i); }, x, beyond);
  expectCheck(
      "not chosen",
      [](Tensor a, Tensor i) {
        Tensor read = a.index_select(0, i);
        return where(ones_like(i) > 0, {2}, {read});
      },
      x, beyond);
  expectCheck(
      "read in part", [](Tensor a, Tensor i) { return a.index_select(0, i).slice(0, 0, 1); }, x, beyond);
  expectCheck("times zero", [](Tensor a, Tensor i) { return (a.index_select(0, i) * 0).sum(); }, x, beyond);
  expectCheck(
      "the gradient alone",
      [](Tensor a, Tensor i) {
        Tensor leaf = a.detach().requires_grad_();
        leaf.index_select(0, i).sum().backward();
        return leaf.grad();
      },
      x, beyond);
  expectCheck(
      "written, and read elsewhere only",
      [](Tensor a, Tensor i) {
        Tensor b = a.clone();
        b.index_put_({i}, 5);
        return b.slice(0, 0, 1) * 2;
      },
      x, beyond);
  // With one element, a window is the whole tensor.
  expectCheck(
      "of one element", [](Tensor a, Tensor i) { return a.index_select(0, i).prod() * 0 + 1; },
      tensor({4}, {1}), indices({1}));
  // In range, all of them agree on the value too.
  expectNoCheck(
      "in range", [](Tensor a, Tensor i) { return a.index_select(0, i).slice(0, 0, 1); }, x, indices({2, 0}));
}

TEST(ContractChecks, ClassesAreCheckedWhateverBecomesOfTheLoss) {
  Tensor logits = tensor({1, 2, 3, 4}, {2, 2});
  auto f = [](const Tensor &a, const Tensor &target) {
    Tensor loss = nn::cross_entropy(a, target, {.reduction = nn::Reduction::none});
    return where(ones_like(loss) > 0, {1.0}, {loss});
  };
  EXPECT_ERROR(f(logits, indices({0, 2})).to_bytes(), "Target 2 is out of bounds");
  EXPECT_ERROR(compile(f)(logits, indices({0, 2})).to_bytes(), "Target 2 is out of bounds");
  EXPECT_EQ(f(logits, indices({0, -100})).sum().item<float>(), 2);
}

TEST(ContractChecks, WhatNothingNeedsIsNotComputedAndNotChecked) {
  Tensor x = tensor({1, 2, 3}, {3}), beyond = indices({7});
  expectNoCheck(
      "dropped",
      [](Tensor a, Tensor i) {
        Tensor unused = a.index_select(0, i);
        return a * 2;
      },
      x, beyond);
  expectNoCheck(
      "overwritten",
      [](Tensor a, Tensor i) {
        Tensor b = a.clone();
        b.index_put_({i}, 5);
        b.fill_(1);
        return b;
      },
      x, beyond);
}

// A check that an op still makes costs nothing: no launch is added.
TEST(ContractChecks, AnIndexIsCheckedOnce) {
  auto launches = [](const std::string &plan) {
    size_t count = 0;
    for (const char *launch : {" weft.fusion ", " weft.assert "})
      for (size_t at = 0; (at = plan.find(launch, at)) != std::string::npos; ++at)
        ++count;
    return count;
  };
  auto f = compile([](Tensor a, Tensor i) { return a.index_select(0, i) * 2; });
  f(tensor({1, 2, 3}, {3}), indices({1, 2}));
  EXPECT_EQ(launches(f.mlir("plan")), 1U) << f.mlir("plan");
}
