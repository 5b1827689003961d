//===- ContractValuesTest.cpp - Values and state --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One test for each sentence of the contract of values and state (docs/contract.md), named after it. What
// PyTorch defines was compared with PyTorch 2.13.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <algorithm>
#include <random>

using namespace weft;
using namespace weft::indexing;

TEST(ContractValues, ATensorIsAHandleOnAValueSlot) {
  Tensor a = countTo(3), b = a;
  a.copy_(ones({3}));
  EXPECT_EQ(floats(b), Floats({1, 1, 1}));
}

TEST(ContractValues, AssignmentRebindsTheHandle) {
  Tensor a = countTo(3), b = a;
  a = ones({3});
  EXPECT_EQ(floats(b), Floats({0, 1, 2}));
}

TEST(ContractValues, InPlaceOperatorsCopyIndexAssignmentAndOptimisersWriteTheSlot) {
  Tensor a = countTo(3), b = a;
  a += 1;
  a -= 2;
  a *= 4;
  a /= 2;
  EXPECT_EQ(floats(b), Floats({-2, 0, 2}));
  a.copy_(full({1}, 7.0));
  EXPECT_EQ(floats(b), Floats({7, 7, 7}));
  a[1] = 5;
  a[2] = full({}, 6.0);
  EXPECT_EQ(floats(b), Floats({7, 5, 6}));
  a.index_put_({0}, 4);
  EXPECT_EQ(floats(b), Floats({4, 5, 6}));
  a.fill_(3).add_(1).mul_(2);
  EXPECT_EQ(floats(b), Floats({8, 8, 8}));
  a.requires_grad_();
  optim::SGD sgd({a}, {.lr = 1});
  a.sum().backward();
  sgd.step();
  EXPECT_EQ(floats(b), Floats({7, 7, 7}));
}

TEST(ContractValues, ASlotThatIsReadIsAHiddenInputBoundAnewAtEachCall) {
  Tensor w = ones({2});
  auto f = compile([&](Tensor x) { return x * w; });
  EXPECT_EQ(floats(f(full({2}, 3.0))), Floats({3, 3}));
  w.copy_(full({2}, 5.0));
  EXPECT_EQ(floats(f(full({2}, 3.0))), Floats({15, 15}));
  EXPECT_EQ(f.variants().size(), 1u);
}

TEST(ContractValues, ASlotThatIsWrittenIsDonatedAndTied) {
  Tensor w = ones({64});
  auto f = compile([&](Tensor x) { w += x; });
  f(ones({64}));
  EXPECT_NE(f.mlir().find("weft.donated"), std::string::npos) << f.mlir();
  EXPECT_NE(f.mlir().find("weft.tied"), std::string::npos) << f.mlir();
  f(ones({64}));
  EXPECT_EQ(floats(w), Floats(64, 3));
}

TEST(ContractValues, AnArgumentThatIsWrittenIsTheCallersTensor) {
  auto f = compile([](Tensor x) {
    x += 1;
    return x * 10;
  });
  Tensor a = countTo(2);
  EXPECT_EQ(floats(f(a)), Floats({10, 20}));
  EXPECT_EQ(floats(a), Floats({1, 2}));
  EXPECT_EQ(floats(f(a)), Floats({20, 30}));
  EXPECT_EQ(floats(a), Floats({2, 3}));
  Tensor big = zeros({4}); // a part of a tensor, too
  f(big.slice(0, 1, 3));
  EXPECT_EQ(floats(big), Floats({0, 1, 1, 0}));
  EXPECT_EQ(f.variants().size(), 1u);
}

TEST(ContractValues, OneSlotUnderTwoNamesIsOneLeaf) {
  auto f = compile([](Tensor a, Tensor b) {
    a += 1;
    return a + b;
  });
  Tensor x = zeros({1}), y = zeros({1});
  EXPECT_EQ(floats(f(x, x)), Floats({2}));
  EXPECT_EQ(floats(x), Floats({1}));
  EXPECT_EQ(floats(f(x, y)), Floats({2})); // another pattern, another variant
  EXPECT_EQ(floats(x), Floats({2}));
  EXPECT_EQ(f.variants().size(), 2u);
  EXPECT_EQ(f.variants()[0].code, "WEFT-R005");
}

TEST(ContractValues, OneSlotAsArgumentAndCaptureIsOneLeaf) {
  Tensor state = zeros({1});
  auto f = compile([&](Tensor x) {
    state += 1;
    return x * 10;
  });
  EXPECT_EQ(floats(f(state)), Floats({10})); // x sees what state is given
  EXPECT_EQ(floats(state), Floats({1}));
  EXPECT_EQ(floats(f(full({1}, 4.0))), Floats({40}));
  EXPECT_EQ(floats(f(state)), Floats({30}));
  EXPECT_EQ(floats(state), Floats({3}));
}

/// How often a function runs is how often it is traced: calls run kernels.
TEST(ContractValues, AFunctionIsTracedOnceAndTwiceWhereAnArgumentIsACaptureToo) {
  Tensor state = zeros({1});
  int traces = 0;
  auto plain = compile([&] {
    ++traces;
    return state + 1;
  });
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(floats(plain()), Floats({1}));
  EXPECT_EQ(traces, 1);
  traces = 0;
  auto both = compile([&](Tensor x) {
    ++traces;
    return x + state;
  });
  EXPECT_EQ(floats(both(ones({1}))), Floats({1}));
  EXPECT_EQ(traces, 1);
  EXPECT_EQ(floats(both(state)), Floats({0}));
  EXPECT_EQ(traces, 1) << "nothing is written: what serves two tensors serves one";
  traces = 0;
  auto writes = compile([&](Tensor x) {
    ++traces;
    state += 1;
    return x * 10;
  });
  for (int i = 1; i <= 3; ++i)
    EXPECT_EQ(floats(writes(state)), Floats({10.f * static_cast<float>(i)}));
  EXPECT_EQ(traces, 2);
}

TEST(ContractValues, OverlappingPartsOfOneTensorAsArgumentsOfWhichOneIsWrittenAreAnError) {
  auto f = compile([](Tensor a, Tensor b) {
    a += 1;
    return b * 10;
  });
  auto reads = compile([](Tensor a, Tensor b) { return a + b; });
  Tensor base = countTo(6);
  for (auto [first, second] : {std::pair(0, 2), {2, 0}, {1, 2}})
    EXPECT_ERROR(f(base.slice(0, first, first + 3), base.slice(0, second, second + 3)), "shares memory with");
  EXPECT_EQ(floats(base), Floats({0, 1, 2, 3, 4, 5})); // no call has happened
  EXPECT_EQ(floats(reads(base.slice(0, 0, 3), base.slice(0, 1, 4))), Floats({1, 3, 5}));
  EXPECT_EQ(floats(f(base.slice(0, 0, 3), base.slice(0, 1, 4).clone())), Floats({10, 20, 30}));
  EXPECT_EQ(floats(base), Floats({1, 2, 3, 3, 4, 5}));
}

TEST(ContractValues, PartsOfAWrittenTensorAsArgumentsAreAnError) {
  Tensor state = zeros({4});
  auto f = compile([&](Tensor x) {
    state += 1;
    return x * 10;
  });
  EXPECT_ERROR(f(state.slice(0, 0, 2)), "which the function captured, and one of them is written");
  EXPECT_EQ(floats(state), Floats(4, 0));
  EXPECT_EQ(floats(f(ones({2}))), Floats({10, 10}));
  EXPECT_ERROR(f(state.slice(0, 0, 2)), "which the function captured, and one of them is written");
}

TEST(ContractValues, StorageThatSomethingElseHoldsIsCopiedBeforeItIsDonated) {
  Tensor w = ones({3}), loss;
  Tensor v = full({3}, 2.0);
  v.requires_grad_();
  auto f = compile([&](Tensor x) { w += x; });
  f(ones({3}));
  EXPECT_EQ(f.explain().find("WEFT-D011"), std::string::npos);
  loss = (v * w).sum(); // keeps the value of w for the gradient of v
  f(ones({3}));
  EXPECT_NE(f.explain().find("WEFT-D011"), std::string::npos) << f.explain();
  EXPECT_EQ(floats(w), Floats(3, 3));
  loss.backward();
  EXPECT_EQ(floats(v.grad()), Floats(3, 2));
}

TEST(ContractValues, StrictDonateMakesTheCopyOfHeldStorageAnError) {
  Tensor w = ones({3}), loss;
  Tensor v = full({3}, 2.0);
  v.requires_grad_();
  auto f = compile([&](Tensor x) { w += x; }, {.strict = Strict::donate});
  f(ones({3}));
  loss = (v * w).sum(); // keeps the value of w for the gradient of v
  // Every call is refused: none leaves a copy that the next call could write.
  for (int i = 0; i < 2; ++i)
    EXPECT_ERROR(f(ones({3})), "would copy 12 bytes of");
  EXPECT_ERROR(f(ones({3})), "(WEFT-D011, an error under strict=donate)");
  EXPECT_EQ(floats(w), Floats(3, 2));
  loss = Tensor();
  f(ones({3}));
  EXPECT_EQ(floats(w), Floats(3, 3));
}

TEST(ContractValues, AValueMadeInATraceIsAnErrorAfterItThatNamesItsLine) {
  Tensor kept;
  auto f = compile([&](Tensor x) {
    kept = x * 2;
    return x;
  });
  f(ones({2}));
  EXPECT_ERROR(kept + 1, "was made while a function was being compiled");
  EXPECT_ERROR(kept + 1, "ContractValuesTest.cpp");
  EXPECT_ERROR(kept.t(), "was made while a function was being compiled");
  // Nor is it a value of another trace, be it of the same function for other shapes.
  auto g = compile([&](Tensor x) { return x + kept; });
  EXPECT_ERROR(g(ones({2})), "was made while a function was being compiled");
  Tensor cache;
  auto h = compile([&](Tensor x) {
    if (!cache.defined())
      cache = ones({2}) * 3;
    return x.sum() + cache;
  });
  EXPECT_EQ(floats(h(ones({2}))), Floats(2, 5));
  EXPECT_EQ(floats(h(zeros({2}))), Floats(2, 3)); // recorded once, as a number that the lambda captures
  EXPECT_ERROR(h(ones({3})), "was made while a function was being compiled");
  EXPECT_ERROR(h(ones({3})), "ContractValuesTest.cpp");
}

TEST(ContractValues, GradientsAndOptimiserStateMadeInATraceHaveAnOwner) {
  Tensor w = ones({2});
  w.requires_grad_();
  optim::SGD sgd({w}, {.lr = 1, .momentum = 0.5});
  auto f = compile([&](Tensor x) {
    (w * x).sum().backward();
    sgd.step();
  });
  f(ones({2}));
  EXPECT_EQ(floats(w.grad()), Floats({1, 1}));
  EXPECT_EQ(floats(sgd.state_dict()[1].second), Floats({1, 1}));
}

TEST(ContractValues, AnExceptionRemovesThemAgainAndRestoresEverySlot) {
  Tensor w = ones({2}), other = zeros({2});
  w.requires_grad_();
  optim::SGD sgd({w}, {.lr = 1, .momentum = 0.5});
  Tensor part = other.slice(0, 0, 1);
  auto f = compile([&](Tensor x) {
    (w * x).sum().backward();
    sgd.step();
    part += 5;
    throw std::runtime_error("stop");
  });
  EXPECT_THROW(f(ones({2})), std::runtime_error);
  EXPECT_EQ(floats(w), Floats({1, 1}));
  EXPECT_FALSE(w.grad().defined());
  EXPECT_EQ(sgd.state_dict().size(), 4u) << "the numbers of its group, and no state";
  EXPECT_EQ(floats(other), Floats({0, 0}));
  EXPECT_EQ(floats(part), Floats({0}));
}

TEST(ContractValues, SoDoesAnErrorOfItsCompilation) {
  using Function = std::function<Tensor(Tensor, Tensor)>;
  const Tensor memory = ones({6});
  const Tensor whole = ones({6});
  struct Case {
    const char *message;
    Strict strict;
    Function rest;
    Tensor a, b;
  };
  const std::vector<Case> cases = {
      {"shares memory with argument", Strict::none, [](Tensor a, Tensor b) { return a += b; },
       memory.slice(0, 0, 4), memory.slice(0, 2, 6)},
      {"cuda", Strict::none, [](Tensor a, Tensor b) { return a.to("cuda:0") * b.to("cuda:0"); }, whole,
       whole.clone()},
      {"an error under strict=fusion", Strict::fusion,
       [](Tensor a, Tensor b) {
         const Tensor x = a.reshape({2, 3}) * b.reshape({2, 3});
         return cat({x.sum(0), x.sum(1)});
       },
       whole, whole.clone()},
      {"is a view", Strict::donate, [](Tensor a, Tensor) { return a.slice(0, 0, 2); }, whole, whole.clone()},
  };
  for (const Case &one : cases) {
    SCOPED_TRACE(one.message);
    Tensor w = ones({one.a.size(0)}).requires_grad_();
    optim::Adam adam({w}, {.lr = 1});
    const size_t numbers = adam.state_dict().size();
    auto f = compile(
        [&](Tensor a, Tensor b) {
          (w * a).sum().backward();
          adam.step();
          return one.rest(a, b);
        },
        {.strict = one.strict});
    for (int i = 0; i < 2; ++i)
      EXPECT_ERROR(f(one.a, one.b), one.message);
    EXPECT_EQ(adam.state_dict().size(), numbers);
    EXPECT_FALSE(w.grad().defined());
    EXPECT_EQ(floats(w), Floats(static_cast<size_t>(one.a.size(0)), 1));
    // The first step that happens is the first.
    w.set_grad(ones(w.sizes()));
    adam.step();
    for (float value : floats(w))
      EXPECT_NEAR(value, 0, 1e-6);
    EXPECT_GT(adam.state_dict().size(), numbers);
  }
  EXPECT_EQ(floats(memory), Floats(6, 1));
}

TEST(ContractValues, ACapturedNumberIsReadOnceAtTheTrace) {
  double factor = 2;
  auto f = compile([&](Tensor x) { return x * factor; });
  EXPECT_EQ(floats(f(ones({1}))), Floats({2}));
  factor = 3;
  EXPECT_EQ(floats(f(ones({1}))), Floats({2}));
}
