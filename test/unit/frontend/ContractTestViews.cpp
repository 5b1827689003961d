//===- ContractTestViews.cpp - Views -------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One test for each sentence of the contract of views (docs/contract.md), named after it. What PyTorch
// defines was compared with PyTorch 2.13.
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
