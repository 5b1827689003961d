//===- ContractLeavesTest.cpp - Leaves of gradients that are gone ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contract of leaves (docs/contract.md): a recorded gradient does not depend on whether the leaf still
// has a handle, nor on which values are read before it.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

using namespace weft;

namespace {
/// A loss of a weight without a handle, and what was recorded with the weight before.
struct Lost {
  Tensor loss, asked;
};

/// `makeWeight` gives two elements, both of them 1; the loss is (weight * [3, 5]).sum().
template <typename Make, typename Ask> Lost losing(Make makeWeight, Ask ask) {
  Tensor weight = makeWeight();
  Tensor loss = (weight * tensor({3, 5}, {2})).sum();
  return {loss, ask(weight, loss)};
}

/// The gradient is the same whether the forward value is read first, last or never.
template <typename Ask> void expectInAnyOrder(Ask ask, const Floats &expected) {
  const auto given = [] { return tensor({1, 1}, {2}).requires_grad_(); };
  const auto pending = [] { return ones({2}).requires_grad_(); };
  const auto computed = [] { return (ones({2}) * 3 - 2).detach().clone().requires_grad_(); };
  const auto part = [] { return ones({3, 2})[1].detach().requires_grad_(); };
  const auto check = [&](auto make, const char *what) {
    for (int order = 0; order < 3; ++order) {
      Lost lost = losing(make, ask);
      if (order == 0)
        EXPECT_EQ(lost.loss.template item<float>(), 8) << what;
      EXPECT_EQ(floats(lost.asked), expected) << what << ", order " << order;
      if (order == 1)
        EXPECT_EQ(lost.loss.template item<float>(), 8) << what;
    }
  };
  check(given, "a leaf that is there");
  check(pending, "a leaf that is pending");
  check(computed, "a computed leaf");
  check(part, "a leaf that is a view");
}
} // namespace

TEST(ContractLeaves, AGradientOutlivesTheLastHandleOfItsLeaf) {
  Tensor loss, gradient;
  {
    nn::Linear layer(2, 1, false);
    nn::init::ones_(layer.weight);
    loss = layer(ones({1, 2})).sum();
    loss.backward();
    gradient = layer.weight.grad();
  }
  EXPECT_EQ(loss.item<float>(), 2);
  EXPECT_EQ(floats(gradient), Floats({1, 1}));
}

TEST(ContractLeaves, SoDoesWhatIsComputedFromIt) {
  expectInAnyOrder(
      [](Tensor &weight, Tensor &loss) {
        loss.backward();
        return weight.grad();
      },
      {3, 5});
  expectInAnyOrder([](Tensor &weight, Tensor &loss) { return grad(loss, {weight})[0]; }, {3, 5});
  expectInAnyOrder(
      [](Tensor &weight, Tensor &loss) {
        loss.backward();
        return weight.grad().clone();
      },
      {3, 5});
  expectInAnyOrder(
      [](Tensor &weight, Tensor &loss) {
        loss.backward();
        return weight.grad() * 2;
      },
      {6, 10});
  expectInAnyOrder(
      [](Tensor &weight, Tensor &) {
        (weight * weight).backward(tensor({2, 4}, {2}));
        return weight.grad();
      },
      {4, 8});
}

TEST(ContractLeaves, ALeafLivesAsLongAsItsGradientCanBeSeen) {
  Tensor loss, gradient, other = ones({2}).requires_grad_();
  {
    Tensor weight = ones({2}).requires_grad_();
    loss = (weight * other * tensor({3, 5}, {2})).sum();
    loss.backward();
    gradient = weight.grad();
  }
  loss.item<float>();
  loss.backward(); // as in PyTorch: it adds to the gradient, though nobody has the leaf
  EXPECT_EQ(floats(gradient), Floats({6, 10}));
  EXPECT_EQ(floats(other.grad()), Floats({6, 10}));
  gradient = {};
  loss.backward();
  EXPECT_EQ(floats(other.grad()), Floats({9, 15}));
}

TEST(ContractLeaves, BackwardIsNoErrorWhereNobodyCanSeeTheGradient) {
  Tensor loss;
  {
    Tensor weight = ones({2}).requires_grad_();
    loss = (weight * weight).sum();
  }
  loss.backward();
  EXPECT_EQ(loss.item<float>(), 2);
}

TEST(ContractLeaves, OneThatRequiresNoGradientAnyMoreGetsNone) {
  Tensor weight = ones({2}).requires_grad_(), other = ones({2}).requires_grad_();
  Tensor loss = (weight * other * 2).sum();
  weight.requires_grad_(false);
  Tensor later = weight * 3;
  EXPECT_FALSE(later.requires_grad());
  loss.backward();
  EXPECT_FALSE(weight.grad().defined());
  EXPECT_EQ(floats(other.grad()), Floats({2, 2}));
  // Once it requires a gradient again, operations that were recorded before are differentiated.
  weight.requires_grad_();
  loss.backward();
  EXPECT_EQ(floats(weight.grad()), Floats({2, 2}));
  EXPECT_EQ(floats(other.grad()), Floats({4, 4}));
}

TEST(ContractLeaves, AGradientThatFailedIsNoneForTheNextOne) {
  Tensor loss, gradient, fine;
  const auto label = [](int64_t value) { return Tensor::from(std::vector<int64_t>{value}, {1}); };
  {
    Tensor weight = zeros({1, 2}).requires_grad_();
    loss = nn::cross_entropy(weight, label(2));
    fine = (weight * 7).sum();
    loss.backward();
    gradient = weight.grad();
  }
  EXPECT_ERROR(floats(gradient), "Target 2 is out of bounds");
  EXPECT_EQ(fine.item<float>(), 0);
  fine.backward(); // the leaf is gone, and its gradient has no value
  EXPECT_ERROR(floats(gradient), "Target 2 is out of bounds");
}

// A view that was read has its own memory: the product then reads an operand in rows instead of columns, or
// without gaps between the rows.
TEST(ContractLeaves, ReadingAViewInBetweenChangesNoBitOfAProduct) {
  if (!__builtin_cpu_supports("avx512f"))
    GTEST_SKIP() << "without AVX-512 a transposed operand is another product (docs/numerics.md)";
  manual_seed(1);
  const Tensor base = randn({31, 4096}), wide = randn({40, 6000}), g = randn({2048, 512}),
               start = randn({31, 512});
  const auto run = [&](bool reads, bool compiles) {
    Tensor w = start.clone().requires_grad_();
    Tensor a = (base * 1).narrow(1, 7, 2048).t(), b = (wide * 2).narrow(0, 3, 31).narrow(1, 5, 2048).t();
    if (reads)
      a.to_bytes(), b.to_bytes();
    const auto loss = [&](Tensor w, Tensor a, Tensor b) {
      return (a.matmul(w) * g).sum() + b.matmul(w).square().sum();
    };
    Tensor result = compiles ? compile(loss)(w, a, b) : loss(w, a, b);
    result.backward();
    return bitsOf({result.detach(), w.grad()});
  };
  const auto expected = run(false, false);
  EXPECT_EQ(run(true, false), expected);
  EXPECT_EQ(run(false, true), expected);
  EXPECT_EQ(run(true, true), expected);
}

/// The contributions to a gradient are added in one order, even if values were read in between.
TEST(ContractLeaves, ReadingInBetweenChangesNoBitOfAGradient) {
  const auto run = [](bool reads) {
    manual_seed(5);
    Tensor weight = randn({257}).requires_grad_();
    Tensor loss = zeros({});
    for (int i = 0; i < 5; ++i) {
      loss = loss + (weight * randn({257})).sum() * 0.3 + (weight * weight * 0.7).sum();
      if (reads)
        loss.item<float>();
    }
    loss.backward();
    return weight.grad().to_bytes();
  };
  EXPECT_EQ(run(false), run(true));
}
