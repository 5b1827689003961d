//===- ContractTestState.cpp - Values, views, gradients ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One test for each sentence of the contract of values and state, views and gradients (docs/contract.md),
// named after it. What PyTorch defines was compared with PyTorch 2.13.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <algorithm>
#include <random>

using namespace weft;
using namespace weft::indexing;

using Floats = std::vector<float>;

static Floats floats(const Tensor &t) { return t.to_vector<float>(); }
static Tensor count(int64_t n) { return arange(n, {.dtype = f32}); }

//===----------------------------------------------------------------------===//
// Values and state
//===----------------------------------------------------------------------===//

TEST(ContractValues, ATensorIsAHandleOnAValueSlot) {
  Tensor a = count(3), b = a;
  a.copy_(ones({3}));
  EXPECT_EQ(floats(b), Floats({1, 1, 1}));
}

TEST(ContractValues, AssignmentRebindsTheHandle) {
  Tensor a = count(3), b = a;
  a = ones({3});
  EXPECT_EQ(floats(b), Floats({0, 1, 2}));
}

TEST(ContractValues, InPlaceOperatorsCopyIndexAssignmentAndOptimisersWriteTheSlot) {
  Tensor a = count(3), b = a;
  a += 1;
  a -= 2;
  a *= 4;
  a /= 2;
  EXPECT_EQ(floats(b), Floats({-2, 0, 2}));
  a.copy_(full({1}, 7));
  EXPECT_EQ(floats(b), Floats({7, 7, 7}));
  a[1] = 5;
  a[2] = full({}, 6);
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
  EXPECT_EQ(floats(f(full({2}, 3))), Floats({3, 3}));
  w.copy_(full({2}, 5));
  EXPECT_EQ(floats(f(full({2}, 3))), Floats({15, 15}));
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
  Tensor a = count(2);
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
  EXPECT_EQ(floats(f(full({1}, 4))), Floats({40}));
  EXPECT_EQ(floats(f(state)), Floats({30}));
  EXPECT_EQ(floats(state), Floats({3}));
}

TEST(ContractValues, PartsOfAWrittenTensorAsArgumentsAreAnError) {
  Tensor state = zeros({4});
  auto f = compile([&](Tensor x) {
    state += 1;
    return x * 10;
  });
  EXPECT_ERROR(f(state.slice(0, 0, 2)), "shares memory with the captured");
  EXPECT_EQ(floats(state), Floats(4, 0));
  EXPECT_EQ(floats(f(ones({2}))), Floats({10, 10}));
  EXPECT_ERROR(f(state.slice(0, 0, 2)), "shares memory with the captured");
}

TEST(ContractValues, StorageThatSomethingElseHoldsIsCopiedBeforeItIsDonated) {
  Tensor w = ones({3}), loss;
  Tensor v = full({3}, 2);
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
  Tensor v = full({3}, 2);
  v.requires_grad_();
  auto f = compile([&](Tensor x) { w += x; }, {.strict = Strict::donate});
  f(ones({3}));
  loss = (v * w).sum(); // keeps the value of w for the gradient of v
  // As often as it is called: the refused call leaves no copy behind that the next one could write.
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
  EXPECT_ERROR(kept + 1, "ContractTestState.cpp");
  EXPECT_ERROR(kept.t(), "was made while a function was being compiled");
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

TEST(ContractValues, ACapturedNumberIsReadOnceAtTheTrace) {
  double factor = 2;
  auto f = compile([&](Tensor x) { return x * factor; });
  EXPECT_EQ(floats(f(ones({1}))), Floats({2}));
  factor = 3;
  EXPECT_EQ(floats(f(ones({1}))), Floats({2}));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

// A way to make a view, on 2 rows of 3, and where its element 0 lies in them.
struct ViewCase {
  const char *name;
  Tensor (*make)(const Tensor &);
};

TEST(ContractViews, AWriteThroughAnyHandleIsSeenByAll) {
  const ViewCase cases[] = {
      {"view", [](const Tensor &t) { return t.view({3, 2}); }},
      {"reshape", [](const Tensor &t) { return t.reshape({6}); }},
      {"flatten", [](const Tensor &t) { return t.flatten(); }},
      {"t", [](const Tensor &t) { return t.t(); }},
      {"transpose", [](const Tensor &t) { return t.transpose(0, 1); }},
      {"permute", [](const Tensor &t) { return t.permute({1, 0}); }},
      {"slice", [](const Tensor &t) { return t.slice(1, 0, 3, 2); }},
      {"narrow", [](const Tensor &t) { return t.narrow(0, 0, 1); }},
      {"select", [](const Tensor &t) { return t.select(0, 0); }},
      {"[]", [](const Tensor &t) { return t[0]; }},
      {"unsqueeze", [](const Tensor &t) { return t.unsqueeze(1); }},
      {"squeeze", [](const Tensor &t) { return t.unsqueeze(0).squeeze(0); }},
      {"expand", [](const Tensor &t) { return t.expand({1, 2, 3}); }},
      {"detach", [](const Tensor &t) { return t.detach(); }},
      {"index", [](const Tensor &t) { return t.index({Slice(0, 1), None, Ellipsis}); }},
      {"chain", [](const Tensor &t) { return t.t().slice(0, 0, 2).select(1, 0).unsqueeze(0); }},
  };
  for (const ViewCase &c : cases) {
    SCOPED_TRACE(c.name);
    Tensor base = count(6).view({2, 3});
    Tensor view = c.make(base), other = base.view({6});
    float last = floats(view).back();
    view += 100; // through the view
    EXPECT_EQ(floats(view)[0], 100);
    EXPECT_EQ(floats(base)[0], 100);
    EXPECT_EQ(floats(other)[0], 100);
    EXPECT_EQ(floats(view).back(), last + 100);
    base += 1; // through the base
    EXPECT_EQ(floats(view)[0], 101);
    other.zero_(); // through another view
    EXPECT_EQ(floats(view)[0], 0);
    // Exactly the elements of the view were written.
    Tensor again = count(6).view({2, 3});
    c.make(again).fill_(-1);
    Floats values = floats(again);
    int64_t written = std::count(values.begin(), values.end(), -1.f);
    EXPECT_EQ(written, c.make(again).numel());
    for (size_t i = 0; i < 6; ++i)
      EXPECT_TRUE(values[i] == -1 || values[i] == static_cast<float>(i));
  }
}

TEST(ContractViews, StridesAreThoseOfPyTorch) {
  Tensor x = zeros({2, 3, 4});
  EXPECT_EQ(x.strides(), (Shape{12, 4, 1}));
  EXPECT_EQ(x.permute({2, 0, 1}).strides(), (Shape{1, 12, 4}));
  EXPECT_EQ(x.slice(1, 0, 3, 2).strides(), (Shape{12, 8, 1}));
  EXPECT_EQ(x.view({6, 4}).strides(), (Shape{4, 1}));
  EXPECT_EQ(x.select(1, 0).view({8 / 4, 2, 2}).strides(), (Shape{12, 2, 1}));
  EXPECT_EQ(zeros({3, 1}).expand({3, 4}).strides(), (Shape{1, 0}));
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_FALSE(x.permute({2, 1, 0}).is_contiguous());
  EXPECT_TRUE(x.permute({2, 1, 0}).contiguous().is_contiguous());
}

TEST(ContractViews, ReshapeCopiesWhereViewIsAnError) {
  Tensor x = count(6).view({2, 3});
  EXPECT_ERROR(x.t().view({6}), "view size is not compatible with input tensor's size and stride");
  Tensor flat = x.t().reshape({6});
  EXPECT_EQ(floats(flat), Floats({0, 3, 1, 4, 2, 5}));
  flat.zero_(); // a copy
  EXPECT_EQ(floats(x), Floats({0, 1, 2, 3, 4, 5}));
  Tensor mine = x.clone();
  mine.zero_();
  EXPECT_EQ(floats(x), Floats({0, 1, 2, 3, 4, 5}));
}

TEST(ContractViews, AWriteThroughAViewIsAnUpdateOfItsBaseAndOneKernelInPlace) {
  Tensor state = zeros({64, 64});
  auto f = compile([&](Tensor x) { state.slice(0, 8, 16).copy_(x); });
  f(ones({8, 64}));
  f(full({8, 64}, 2));
  Floats values = floats(state);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], i / 64 >= 8 && i / 64 < 16 ? 2 : 0);
  std::string plan = f.mlir("plan");
  size_t launches = 0;
  for (size_t at = plan.find("= weft.fusion"); at != std::string::npos;
       at = plan.find("= weft.fusion", at + 1))
    ++launches;
  EXPECT_EQ(launches, 1u) << plan;
  EXPECT_EQ(plan.find("weft.copy"), std::string::npos) << plan;
}

TEST(ContractViews, ASmallPartIsUpdatedInPlaceWithoutACopyOfItsBase) {
  Tensor state = zeros({64, 64});
  auto f = compile([&](Tensor x) {
    state[3] += x * 2;
    state.slice(0, 8, 10).copy_(x);
  });
  for (int i = 0; i < 3; ++i)
    f(ones({64}));
  Floats values = floats(state);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], i / 64 == 3 ? 6 : i / 64 == 8 || i / 64 == 9 ? 1 : 0);
  EXPECT_EQ(f.explain().find("bytes are copied"), std::string::npos) << f.explain();
}

TEST(ContractViews, AViewReturnedByACompiledFunctionIsACopy) {
  Tensor state = zeros({4});
  auto f = compile([&](Tensor x) {
    state += x;
    return state.slice(0, 0, 2);
  });
  Tensor part = f(ones({4}));
  EXPECT_NE(f.explain().find("WEFT-D010"), std::string::npos) << f.explain();
  part.fill_(9);
  EXPECT_EQ(floats(state), Floats(4, 1));
}

TEST(ContractViews, StrictDonateMakesTheCopyOfAReturnedViewAnError) {
  Tensor state = zeros({4});
  auto part = compile([&](Tensor x) { return (state += x).slice(0, 0, 2); }, {.strict = Strict::donate});
  EXPECT_ERROR(part(ones({4})), "is returned as a copy of 8 bytes (WEFT-D010, an error under strict=donate)");
  EXPECT_EQ(floats(state), Floats(4, 0));
  auto clone =
      compile([&](Tensor x) { return (state += x).slice(0, 0, 2).clone(); }, {.strict = Strict::donate});
  EXPECT_EQ(floats(clone(ones({4}))), Floats(2, 1));
}

TEST(ContractViews, AWriteThroughAViewThatOverlapsItselfIsAnError) {
  const char *text = "more than one element of the written-to tensor refers to a single memory location";
  Tensor x = zeros({3});
  EXPECT_ERROR(x.expand({2, 3}) += 1, text);
  EXPECT_ERROR(x.expand({2, 3}).copy_(ones({2, 3})), text);
  EXPECT_ERROR(x.expand({2, 3}).t()[0].fill_(1), text);
  x.expand({2, 3})[0].fill_(1); // a row of it does not
  EXPECT_EQ(floats(x), Floats(3, 1));
  x.expand({2, 3}).t().slice(0, 1, 3).select(1, 1).fill_(2);
  EXPECT_EQ(floats(x), Floats({1, 2, 2}));
}

TEST(ContractViews, AViewFromOutsideIsPartOfATrace) {
  Tensor base = zeros({4});
  Tensor head = base.slice(0, 0, 2);
  auto f = compile([&](Tensor x) {
    head += x;
    return base * 1;
  });
  EXPECT_EQ(floats(f(ones({2}))), Floats({1, 1, 0, 0}));
  EXPECT_EQ(floats(head), Floats({1, 1}));
  EXPECT_EQ(floats(f(ones({2}))), Floats({2, 2, 0, 0}));
  EXPECT_EQ(floats(head), Floats({2, 2}));
  base.fill_(5);
  EXPECT_EQ(floats(f(ones({2}))), Floats({6, 6, 5, 5}));
  EXPECT_EQ(f.variants().size(), 1u);
  EXPECT_EQ(f.explain().find("WEFT-D011"), std::string::npos) << f.explain(); // a view costs no copy
}

TEST(ContractViews, AViewKeepsTheOldStorageWhenTheBaseChangesItsType) {
  nn::Linear layer(2, 1, false);
  {
    NoGradGuard guard;
    layer.weight.fill_(1);
  }
  Tensor old = layer.weight.detach();
  layer.to(f64);
  EXPECT_EQ(layer.weight.dtype(), f64);
  EXPECT_EQ(old.dtype(), f32);
  old.fill_(2);
  EXPECT_EQ(layer.weight.to_vector<double>(), (std::vector<double>{1, 1}));
}

// Random chains of views against an index map worked out element by element.
TEST(ContractViews, RandomChainsReadAndWriteTheElementsThatTheirStridesName) {
  std::mt19937 engine(5);
  auto pick = [&](int64_t n) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 60; ++round) {
    Tensor base = count(24).view({2, 3, 4}).clone();
    Tensor positions = count(24).view({2, 3, 4}).clone(); // the same map on the numbers of the elements
    Tensor v = base, p = positions;
    auto both = [&](auto step) {
      v = step(v);
      p = step(p);
    };
    for (int i = 0; i < 5; ++i) {
      int64_t rank = v.dim();
      if (rank == 0 || v.numel() == 0)
        break;
      int64_t d = pick(rank), size = v.size(d);
      switch (pick(6)) {
      case 0:
        both([&](const Tensor &t) { return t.transpose(0, d); });
        break;
      case 1:
        if (int64_t a = pick(size), step = 1 + pick(3); rank > 0)
          both([&](const Tensor &t) { return t.slice(d, a, size, step); });
        break;
      case 2:
        if (int64_t a = pick(size); rank > 1)
          both([&](const Tensor &t) { return t.select(d, a); });
        break;
      case 3:
        both([&](const Tensor &t) { return t.unsqueeze(d); });
        break;
      case 4:
        if (v.is_contiguous())
          both([&](const Tensor &t) { return t.view({-1}); });
        break;
      default:
        both([&](const Tensor &t) { return t.detach(); });
      }
    }
    Floats where = floats(p), expected = floats(base), values;
    for (size_t i = 0; i < where.size(); ++i) {
      values.push_back(static_cast<float>(100 + i));
      expected[static_cast<size_t>(where[i])] = values.back();
    }
    EXPECT_EQ(floats(v), where);
    v.copy_(tensor(values, v.sizes()));
    EXPECT_EQ(floats(base), expected) << round;
    EXPECT_EQ(floats(v), values) << round;
    base += 1;
    for (float &value : values)
      value += 1;
    EXPECT_EQ(floats(v), values) << round;
  }
}

TEST(ContractViews, LongChainsOfViewsStayShort) {
  Tensor x = count(6).view({2, 3}), y = x;
  for (int i = 0; i < 20000; ++i)
    y = y.t();
  for (int i = 0; i < 20000; ++i)
    y = y.view({i % 2 ? 2 : 3, i % 2 ? 3 : 2});
  y += 1;
  EXPECT_EQ(floats(x), Floats({1, 2, 3, 4, 5, 6}));
}

TEST(ContractViews, IndicesAreThoseOfLibtorch) {
  Tensor x = count(24).view({2, 3, 4});
  EXPECT_EQ(x.index({1, Slice(1, None), -1}).to_vector<float>(), Floats({19, 23}));
  EXPECT_EQ(x.index({Ellipsis, Slice(None, None, 3)}).sizes(), (Shape{2, 3, 2}));
  EXPECT_EQ(x.index({None, Ellipsis, 0, None}).sizes(), (Shape{1, 2, 3, 1}));
  Tensor rows = Tensor::from(std::vector<int64_t>{2, 0, -1}, {3});
  EXPECT_EQ(x.index({0, rows, 1}).to_vector<float>(), Floats({9, 1, 9}));
  x.index_put_({Slice(), 1}, full({4}, -1));
  EXPECT_EQ(floats(x[1][1]), Floats(4, -1));
  x.index_put_({x < 0}, 7); // a mask and a number need no size that depends on values
  EXPECT_EQ(floats(x[0][1]), Floats(4, 7));
  Tensor mask = Tensor::from(std::vector<uint8_t>{0, 1}, {2}).to(i1);
  x.index_put_({mask}, full({1}, 5));
  EXPECT_EQ(floats(x[1][2]), Floats(4, 5));
  EXPECT_NE(floats(x[0][2]), Floats(4, 5));
  Tensor table = count(12).view({3, 4}), twice = Tensor::from(std::vector<int64_t>{2, 0, -1}, {3});
  EXPECT_EQ(table.index({twice, Tensor::from(std::vector<int64_t>{0, 1, -1}, {3})}).to_vector<float>(),
            Floats({8, 1, 11}));
  table.index_put_({twice}, tensor({-1, -2, -3}, {3, 1})); // row 2 is written twice: the last stays
  EXPECT_EQ(floats(table), Floats({-2, -2, -2, -2, 4, 5, 6, 7, -3, -3, -3, -3}));
  table.index_put_({Slice(1, 3), Tensor::from(std::vector<int64_t>{3}, {1})}, 9); // through a view
  EXPECT_EQ(floats(table), Floats({-2, -2, -2, -2, 4, 5, 6, 9, -3, -3, -3, 9}));
  EXPECT_ERROR(floats(table.index({full({1}, 7, {.dtype = i64})})), "out of bounds");
  table[0].masked_fill_(table[0] < 0, 1);
  EXPECT_EQ(floats(table[0]), Floats(4, 1));
  EXPECT_ERROR(x.index({mask}), "WEFT-C001");
  EXPECT_ERROR(x.index_put_({mask}, ones({1, 3, 4})), "WEFT-C001");
  EXPECT_ERROR(x.index({0, 0, 0, 0}), "too many indices for tensor of dimension 3");
  EXPECT_ERROR(x.index({5}), "index 5 is out of bounds for dimension 0 with size 2");
  EXPECT_ERROR(x.index({Ellipsis, Ellipsis}), "single ellipsis");
  EXPECT_ERROR(x[2], "out of range");
  EXPECT_ERROR(x.narrow(0, 1, 5), "exceeds dimension size (2)");
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

TEST(ContractGradients, BackwardAccumulatesLazyOrCompiled) {
  for (bool compiled : {false, true}) {
    Tensor w = full({2}, 3);
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
  EXPECT_EQ(f(full({2}, 3)).to_vector<float>(), (std::vector<float>{3, 3}));
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
  Tensor w = ones({2}), g = full({2}, 4);
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
    Tensor x = count(6).view({2, 3}).clone();
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

TEST(ContractGradients, OnesThatWouldLeaveAFunctionThatTakesGradientsAreAnError) {
  Tensor w = ones({2});
  w.requires_grad_();
  auto f = compile([](Tensor x) { (x * x).sum().backward(); });
  EXPECT_ERROR(f(w * 2), "WEFT-G003");
  f((w * 2).detach().requires_grad_());
  EXPECT_FALSE(w.grad().defined());
}

TEST(ContractGradients, TheyReachAnArgumentThatRequiresThem) {
  Tensor w = full({2}, 3);
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
  // What a gradient needs is a value, and not storage: PyTorch raises here.
  Tensor w = full({2}, 3);
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
