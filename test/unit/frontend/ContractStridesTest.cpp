//===- ContractStridesTest.cpp - Arguments that are not row-major ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

using namespace weft;

namespace {
Tensor counted(Shape shape) {
  return generated(std::move(shape), [](size_t i) { return static_cast<float>(i % 97) - 40; });
}

} // namespace

// Every kind of view, read by an elementwise kernel and by reductions over either dimension.
TEST(ContractStrides, AViewIsReadInPlace) {
  Tensor x = counted({24, 40, 6});
  const std::vector<std::pair<const char *, std::function<Tensor()>>> views = {
      {"transposed", [&] { return x.permute({2, 0, 1}); }},
      {"columns", [&] { return x.narrow(1, 3, 20); }},
      {"every second", [&] { return x.slice(1, 1, 40, 2); }},
      {"one of the last", [&] { return x.select(2, 5); }},
      {"one of the first", [&] { return x.select(0, 7).t(); }},
      {"expanded", [&] { return x.select(0, 2).unsqueeze(0).expand({5, 40, 6}); }},
      {"a column repeated", [&] { return x.select(2, 1).narrow(1, 4, 1).expand({24, 9}); }},
      {"reshaped rows", [&] { return x.view({24, 240}).narrow(1, 10, 100).t(); }},
  };
  for (const auto &[name, view] : views) {
    SCOPED_TRACE(name);
    auto scale = compile([](Tensor a) { return a * 2 + 1; });
    auto rows = compile([](Tensor a) { return a.sum({-1}); });
    auto columns = compile([](Tensor a) { return a.sum({0}); });
    Tensor own = view().clone();
    const auto scaled = (own * 2 + 1).to_bytes(), summedRows = own.sum({-1}).to_bytes(),
               summedColumns = own.sum({0}).to_bytes();
    uint64_t before = compile_count();
    Tensor v = view();
    EXPECT_EQ(scale(v).to_bytes(), scaled);
    EXPECT_EQ(rows(v).to_bytes(), summedRows);
    EXPECT_EQ(columns(v).to_bytes(), summedColumns);
    EXPECT_EQ(compile_count(), before + 3) << "three functions, and nothing that copies the view";
    EXPECT_TRUE(mentions(scale.mlir(), "weft.strides")) << scale.mlir();
    EXPECT_FALSE(mentions(scale.explain(), "WEFT-D0")) << scale.explain();
  }
}

TEST(ContractStrides, StridesAreAGuardAndTheirPlaceIsNot) {
  auto f = compile([](Tensor a) { return a + 1; });
  Tensor x = counted({8, 8});
  f(x);
  f(x.t());
  ASSERT_EQ(f.variants().size(), 2u);
  EXPECT_EQ(f.variants()[0].code, "WEFT-R007");
  EXPECT_TRUE(
      mentions(f.variants()[0].reason, "argument 0 was row-major and is in memory with the strides [1, 8]"))
      << f.variants()[0].reason;
  f(x.t());
  f(x);
  EXPECT_EQ(f.variants().size(), 2u);

  auto strict = compile([](Tensor a) { return a + 1; }, {.strict = Strict::recompile});
  strict(x);
  EXPECT_ERROR(strict(x.t()),
               "in memory with the strides [1, 8] (WEFT-R007, an error under strict=recompile)");

  // A loop over rows, and over blocks of columns, is one variant each.
  auto row = compile([](Tensor a) { return a.sum(); });
  Tensor wide = counted({6, 40});
  synchronize();
  uint64_t before = compile_count();
  for (int64_t i = 0; i < 6; ++i)
    row(wide.select(0, i));
  for (int64_t i = 0; i < 8; ++i)
    row(wide.narrow(1, 5 * i, 5));
  EXPECT_EQ(compile_count(), before + 2);
  EXPECT_EQ(row(wide.narrow(1, 35, 5)).item<float>(), wide.narrow(1, 35, 5).clone().sum().item<float>());
}

TEST(ContractStrides, AProductTakesATranspositionAndCopiesWhatHasGaps) {
  auto product = compile([](Tensor a, Tensor b) { return matmul(a, b); });
  Tensor x = counted({32, 24}), y = counted({32, 16});
  Tensor expected = matmul(x.t().clone(), y);
  EXPECT_EQ(product(x.t(), y).to_bytes(), expected.to_bytes());
  EXPECT_FALSE(mentions(product.explain(), "WEFT-D014")) << product.explain();
  Tensor wide = counted({24, 48});
  expected = matmul(wide.narrow(1, 8, 32).clone(), y);
  EXPECT_EQ(product(wide.narrow(1, 8, 32), y).to_bytes(), expected.to_bytes());
  EXPECT_TRUE(mentions(product.explain(), "WEFT-D014")) << product.explain();
  EXPECT_TRUE(mentions(product.explain(), "3072 bytes are copied")) << product.explain();
}

TEST(ContractStrides, WhatACallWritesIsCopiedWithItsBytes) {
  auto f = compile([](Tensor a) { a += 1; });
  Tensor x = zeros({4, 6});
  f(x.t());
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(24, 1));
  EXPECT_TRUE(mentions(f.explain(), "WEFT-D013")) << f.explain();
  EXPECT_TRUE(mentions(f.explain(), "argument 0, 96 bytes")) << f.explain();
  auto strict = compile([](Tensor a) { a += 1; }, {.strict = Strict::donate});
  EXPECT_ERROR(strict(x.t()),
               "would copy 96 bytes of argument 0, which is not row-major in memory (WEFT-D013");
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(24, 1));
}

TEST(ContractStrides, WhatASpecDeclaresIsRowMajor) {
  auto f = compile([](Tensor a) { return a * 3; }, {.specs = {spec({4, 6})}});
  Tensor x = counted({6, 4});
  EXPECT_EQ(f(x.t()).to_bytes(), (x.t().clone() * 3).to_bytes());
  EXPECT_TRUE(mentions(f.explain(), "WEFT-D013")) << f.explain();
  EXPECT_EQ(f.variants().size(), 1u);
}

TEST(ContractStrides, AWriteToTheBaseIsSeen) {
  auto f = compile([](Tensor a) { return a * 2; });
  Tensor x = counted({4, 6}), v = x.t();
  f(v);
  x += 5;
  EXPECT_EQ(f(v).to_bytes(), (x.t().clone() * 2).to_bytes());
  v += 1; // and through the view
  EXPECT_EQ(f(v).to_bytes(), (x.t().clone() * 2).to_bytes());
  EXPECT_EQ(f.variants().size(), 1u);
}

TEST(ContractStrides, GradientsFlowToTheBase) {
  Tensor x = counted({4, 6}).requires_grad_();
  auto f = compile([](Tensor a) { return (a * a).sum(); });
  f(x.t()).backward();
  EXPECT_EQ(x.grad().to_bytes(), (x.detach() * 2).to_bytes());
}

TEST(ContractStrides, ViewsOfOneTensorMayBeSeveralArguments) {
  auto f = compile([](Tensor a, Tensor b) { return a - b; });
  Tensor x = counted({6, 6});
  EXPECT_EQ(f(x, x.t()).to_bytes(), (x - x.t().clone()).to_bytes());
  EXPECT_EQ(f(x.narrow(0, 0, 3), x.narrow(0, 3, 3)).to_bytes(),
            (x.narrow(0, 0, 3).clone() - x.narrow(0, 3, 3).clone()).to_bytes());
}
