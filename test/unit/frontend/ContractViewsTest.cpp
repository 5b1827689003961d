//===- ContractViewsTest.cpp - Views --------------------------------------===//
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
    Tensor base = countTo(6).view({2, 3});
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
    Tensor again = countTo(6).view({2, 3});
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
  Tensor x = countTo(6).view({2, 3});
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
  f(full({8, 64}, 2.0));
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

TEST(ContractViews, APartOfAnExpansionThatHoldsNoElementTwiceIsWritten) {
  Tensor x = zeros({3});
  Tensor wide = x.unsqueeze(0).expand({4, 3});
  wide.slice(0, 1, 2).copy_(tensor({1, 2, 3}, {1, 3}));
  EXPECT_EQ(floats(x), Floats({1, 2, 3}));
  // Through a reshape, which keeps it a view.
  Tensor y = countTo(6).view({2, 3}).clone();
  Tensor blocks = y.unsqueeze(1).expand({2, 2, 3}).reshape({2, 2, 3, 1}); // rows, twice each
  blocks.select(1, 1).fill_(7);
  EXPECT_EQ(floats(y), Floats(6, 7));
  EXPECT_ERROR(blocks.select(2, 1).fill_(1), "more than one element of the written-to tensor");
  Tensor pairs = y.unsqueeze(0).expand({3, 2, 3}).unflatten(2, {3, 1}).select(0, 2).slice(1, 0, 3, 2);
  pairs.copy_(tensor({1, 2, 3, 4}, {2, 2, 1}));
  EXPECT_EQ(floats(y), Floats({1, 7, 2, 3, 7, 4}));
  // A diagonal of equal rows is the row.
  Tensor row = zeros({3});
  row.expand({3, 3}).diagonal().copy_(tensor({1, 2, 3}, {3}));
  EXPECT_EQ(floats(row), Floats({1, 2, 3}));
  row.expand({4, 3}).diagonal(-1).mul_(2);
  EXPECT_EQ(floats(row), Floats({2, 4, 6}));
  EXPECT_ERROR(row.expand({3, 3}).t().diagonal().expand({2, 3}).fill_(1), "more than one element");
  // Gradients flow to written values.
  Tensor leaf = ones({3}).requires_grad_(), sum = zeros({3});
  sum.expand({3, 3}).diagonal().copy_(leaf * 5);
  (sum * tensor({1, 2, 3}, {3})).sum().backward();
  EXPECT_EQ(floats(leaf.grad()), Floats({5, 10, 15}));
  // And in a compiled function.
  Tensor state = zeros({3});
  auto f = compile([&](Tensor a) { state.expand({3, 3}).diagonal().add_(a); });
  f(ones({3}));
  f(ones({3}));
  EXPECT_EQ(floats(state), Floats({2, 2, 2}));
}

TEST(ContractViews, ADiagonalIsAViewWhateverTheStrides) {
  Tensor x = zeros({4, 4});
  x.t().diagonal(1).fill_(1);
  EXPECT_EQ(floats(x.diagonal(-1)), Floats(3, 1));
  EXPECT_EQ(x.t().diagonal(1).strides(), (Shape{5}));
  x.slice(1, 0, 3).diagonal().fill_(2);
  EXPECT_EQ(floats(x.diagonal()), Floats({2, 2, 2, 0}));
  Tensor y = zeros({2, 3, 4});
  y.diagonal(0, 2, 0).fill_(1); // elements (i, j, i)
  EXPECT_EQ(y.diagonal(0, 2, 0).sizes(), (Shape{3, 2}));
  EXPECT_EQ(y.diagonal(0, 2, 0).strides(), (Shape{4, 13}));
  EXPECT_EQ(floats(y.sum({1})), Floats({3, 0, 0, 0, 0, 3, 0, 0}));
  EXPECT_TRUE(floats(y.diagonal(9)).empty());
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

namespace {
/// A view as PyTorch has it: where its elements lie in memory.
struct Strided {
  Shape sizes = {2, 3, 4}, strides = {12, 4, 1};
  int64_t offset = 0;

  std::vector<size_t> places() const {
    std::vector<size_t> list{static_cast<size_t>(offset)};
    for (size_t d = 0; d < sizes.size(); ++d) {
      std::vector<size_t> longer;
      for (size_t at : list)
        for (int64_t i = 0; i < sizes[d]; ++i)
          longer.push_back(at + static_cast<size_t>(i * strides[d]));
      list = std::move(longer);
    }
    return list;
  }
  bool isContiguous() const {
    int64_t expected = 1;
    for (size_t d = sizes.size(); d-- > 0; expected *= sizes[d])
      if (sizes[d] != 1 && strides[d] != expected)
        return false;
    return true;
  }
  bool overlaps() const {
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d] > 1 && strides[d] == 0)
        return true;
    return false;
  }
  void insert(size_t d, int64_t size, int64_t stride) {
    sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(d), size);
    strides.insert(strides.begin() + static_cast<ptrdiff_t>(d), stride);
  }
  void erase(size_t d) {
    sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(d));
    strides.erase(strides.begin() + static_cast<ptrdiff_t>(d));
  }
};
} // namespace

// Random chains of views against their strides, worked out here: read, written, and read through the base.
TEST(ContractViews, RandomChainsReadAndWriteTheElementsThatTheirStridesName) {
  std::mt19937 engine(5);
  auto pick = [&](int64_t n) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(n)); };
  int written = 0, refused = 0, expanded = 0;
  for (int round = 0; round < 200; ++round) {
    Tensor base = countTo(24).view({2, 3, 4}).clone();
    std::vector<std::pair<Tensor, Strided>> chain{{base, {}}};
    bool stretched = false;
    for (int i = 0; i < 6; ++i) {
      auto [v, m] = chain.back();
      auto rank = static_cast<int64_t>(m.sizes.size());
      if (rank == 0)
        break;
      int64_t d = pick(rank);
      auto at = static_cast<size_t>(d);
      int64_t size = m.sizes[at], start = size > 0 ? pick(size) : 0;
      switch (pick(8)) {
      case 0:
        v = v.transpose(0, d);
        std::swap(m.sizes[0], m.sizes[at]);
        std::swap(m.strides[0], m.strides[at]);
        break;
      case 1: {
        int64_t step = 1 + pick(3), stop = start + pick(size - start + 1);
        v = v.slice(d, start, stop, step);
        m.offset += start * m.strides[at];
        m.sizes[at] = (stop - start + step - 1) / step;
        m.strides[at] *= step;
        break;
      }
      case 2:
        if (size == 0)
          break;
        v = v.select(d, start);
        m.offset += start * m.strides[at];
        m.erase(at);
        break;
      case 3:
        v = v.unsqueeze(d);
        m.insert(at, 1, 0);
        break;
      case 4:
        if (!m.isContiguous())
          break;
        v = v.view({-1});
        m.sizes = {static_cast<int64_t>(m.places().size())};
        m.strides = {1};
        break;
      case 5: {
        Shape wide = v.sizes();
        for (size_t k = 0; k < wide.size(); ++k)
          if (wide[k] == 1 && pick(2)) {
            wide[k] = m.sizes[k] = 2;
            m.strides[k] = 0;
            stretched = true;
          }
        if (pick(2)) {
          wide.insert(wide.begin(), 3);
          m.insert(0, 3, 0);
          stretched = true;
        }
        v = v.expand(wide);
        break;
      }
      case 6: {
        int64_t e = pick(rank), offset = pick(3) - 1;
        if (e == d)
          break;
        v = v.diagonal(offset, d, e);
        int64_t rows = size - std::max<int64_t>(-offset, 0),
                columns = m.sizes[static_cast<size_t>(e)] - std::max<int64_t>(offset, 0);
        int64_t length = std::max<int64_t>(0, std::min(rows, columns));
        int64_t down = m.strides[at], right = m.strides[static_cast<size_t>(e)];
        if (length > 0)
          m.offset += offset > 0 ? offset * right : -offset * down;
        m.erase(static_cast<size_t>(std::max(d, e)));
        m.erase(static_cast<size_t>(std::min(d, e)));
        m.insert(m.sizes.size(), length, down + right);
        break;
      }
      default:
        v = v.detach();
      }
      ASSERT_EQ(v.sizes(), m.sizes) << round;
      chain.emplace_back(v, m);
    }
    Floats elements = floats(base);
    auto expectAll = [&] {
      for (const auto &[v, m] : chain) {
        Floats expected;
        for (size_t place : m.places())
          expected.push_back(elements[place]);
        EXPECT_EQ(floats(v), expected) << round;
      }
    };
    if (pick(2)) // or everything is recorded before anything is read
      expectAll();
    // The write goes through any handle of the chain, and views of that handle must show it.
    auto &[v, m] = chain[static_cast<size_t>(pick(static_cast<int64_t>(chain.size())))];
    Floats values(m.places().size());
    for (float &value : values)
      value = static_cast<float>(100 + pick(1000));
    if (m.overlaps() && !values.empty()) {
      EXPECT_ERROR(v.copy_(tensor(values, m.sizes)), "more than one element of the written-to tensor");
      ++refused;
      continue;
    }
    v.copy_(tensor(values, m.sizes));
    for (size_t i = 0; i < values.size(); ++i)
      elements[m.places()[i]] = values[i];
    expectAll();
    base += 1;
    for (float &element : elements)
      element += 1;
    expectAll();
    ++written;
    expanded += stretched && !values.empty();
  }
  EXPECT_GT(written, 100);
  EXPECT_GT(refused, 10);
  EXPECT_GT(expanded, 10);
}

// An empty slice at the end of a slice with a step has no position in the base.
TEST(ContractViews, AnEmptyPartOfAStridedPartIsReadAgainAndWritten) {
  Tensor x = countTo(9).view({3, 3});
  Tensor none = x.diagonal().slice(0, 3), every = x.view({9}).slice(0, 1, 8, 3).slice(0, 3);
  EXPECT_EQ(none.sizes(), Shape({0}));
  EXPECT_EQ(every.sizes(), Shape({0}));
  x += 1; // they are read of the base again
  none += 1;
  every.fill_(7);
  EXPECT_EQ(floats(none), Floats());
  EXPECT_EQ(floats(every), Floats());
  EXPECT_EQ(floats(x), Floats({1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(ContractViews, LongChainsOfViewsStayShort) {
  Tensor x = countTo(6).view({2, 3}), y = x;
  for (int i = 0; i < 20000; ++i)
    y = y.t();
  for (int i = 0; i < 20000; ++i)
    y = y.view({i % 2 ? 2 : 3, i % 2 ? 3 : 2});
  y += 1;
  EXPECT_EQ(floats(x), Floats({1, 2, 3, 4, 5, 6}));
}

TEST(ContractViews, IndicesAreThoseOfLibtorch) {
  Tensor x = countTo(24).view({2, 3, 4});
  EXPECT_EQ(x.index({1, Slice(1, None), -1}).to_vector<float>(), Floats({19, 23}));
  EXPECT_EQ(x.index({Ellipsis, Slice(None, None, 3)}).sizes(), (Shape{2, 3, 2}));
  EXPECT_EQ(x.index({None, Ellipsis, 0, None}).sizes(), (Shape{1, 2, 3, 1}));
  Tensor rows = Tensor::from(std::vector<int64_t>{2, 0, -1}, {3});
  EXPECT_EQ(x.index({0, rows, 1}).to_vector<float>(), Floats({9, 1, 9}));
  x.index_put_({Slice(), 1}, full({4}, -1.0));
  EXPECT_EQ(floats(x[1][1]), Floats(4, -1));
  x.index_put_({x < 0}, 7); // a mask and a number need no size that depends on values
  EXPECT_EQ(floats(x[0][1]), Floats(4, 7));
  Tensor mask = Tensor::from(std::vector<uint8_t>{0, 1}, {2}).to(i1);
  x.index_put_({mask}, full({1}, 5.0));
  EXPECT_EQ(floats(x[1][2]), Floats(4, 5));
  EXPECT_NE(floats(x[0][2]), Floats(4, 5));
  Tensor table = countTo(12).view({3, 4}), twice = Tensor::from(std::vector<int64_t>{2, 0, -1}, {3});
  EXPECT_EQ(table.index({twice, Tensor::from(std::vector<int64_t>{0, 1, -1}, {3})}).to_vector<float>(),
            Floats({8, 1, 11}));
  table.index_put_({twice}, tensor({-1, -2, -3}, {3, 1})); // row 2 is written twice: the last stays
  EXPECT_EQ(floats(table), Floats({-2, -2, -2, -2, 4, 5, 6, 7, -3, -3, -3, -3}));
  table.index_put_({Slice(1, 3), Tensor::from(std::vector<int64_t>{3}, {1})}, 9); // through a view
  EXPECT_EQ(floats(table), Floats({-2, -2, -2, -2, 4, 5, 6, 9, -3, -3, -3, 9}));
  EXPECT_ERROR(floats(table.index({full({1}, 7, {.dtype = i64})})), "out of bounds");
  table[0].masked_fill_(table[0] < 0, 1);
  EXPECT_EQ(floats(table[0]), Floats(4, 1));
  EXPECT_EQ(x.index({mask}).sizes(), (Shape{1, 3, 4}));
  x.index_put_({mask}, ones({1, 3, 4}));
  EXPECT_EQ(floats(x[1][2]), Floats(4, 1));
  EXPECT_ERROR(compile([&](Tensor y) { return y.index({y > 0}); })(x), "WEFT-C001");
  EXPECT_ERROR(x.index({0, 0, 0, 0}), "too many indices for tensor of dimension 3");
  EXPECT_ERROR(x.index({5}), "index 5 is out of bounds for dimension 0 with size 2");
  EXPECT_ERROR(x.index({Ellipsis, Ellipsis}), "single ellipsis");
  EXPECT_ERROR(x[2], "out of range");
  EXPECT_ERROR(x.narrow(0, 1, 5), "exceeds dimension size (2)");
}

TEST(ContractViews, EveryResultOfACompiledFunctionHasStorageOfItsOwn) {
  const auto increased = [](Tensor x) {
    x += 1;
    return x;
  };
  Tensor same = zeros({2}), argument = zeros({2});
  increased(same) += 10; // not compiled, it is the argument
  EXPECT_EQ(floats(same), Floats({11, 11}));
  Tensor result = compile(increased)(argument);
  result += 10;
  EXPECT_EQ(floats(argument), Floats({1, 1}));
  EXPECT_EQ(floats(result), Floats({11, 11}));
  Tensor captured = ones({2});
  auto twice = compile([&](Tensor x) {
    Tensor y = x * 2;
    return std::vector<Tensor>{y, y, captured};
  });
  std::vector<Tensor> results = twice(ones({2}));
  results[0] += 1;
  results[2] += 1;
  EXPECT_EQ(floats(results[1]), Floats({2, 2}));
  EXPECT_EQ(floats(captured), Floats({1, 1}));
  // The kernel writes all three. Where it cannot, as a sum or of another shape, a launch copies.
  EXPECT_NE(twice.explain().find("1 launch (1 loop)"), std::string::npos) << twice.explain();
  auto copied = compile([&](Tensor x) {
    Tensor y = x.sum();
    return std::vector<Tensor>{y, y, captured};
  });
  results = copied(ones({2}));
  results[0] += 1;
  results[2] += 1;
  EXPECT_EQ(floats(results[1]), Floats({2}));
  EXPECT_EQ(floats(captured), Floats({1, 1}));
  EXPECT_NE(copied.explain().find("WEFT-D005"), std::string::npos) << copied.explain();
  EXPECT_NE(copied.explain().find("WEFT-D004"), std::string::npos) << copied.explain();
}
