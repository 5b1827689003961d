//===- DimTest.cpp - Functions compiled once for dynamic sizes --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function compiled for a dynamic batch gives the bits of its static variants; reductions over the batch
// agree within their error bound.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <array>
#include <cmath>

using namespace weft;

namespace {
constexpr int64_t rowCounts[] = {1, 2, 3, 17, 128};

struct Net : nn::Module {
  nn::Linear fc1 = register_module("fc1", nn::Linear(784, 128));
  nn::Linear fc2 = register_module("fc2", nn::Linear(128, 64));
  nn::Linear fc3 = register_module("fc3", nn::Linear(64, 10));
  Tensor operator()(Tensor x) { return fc3(relu(fc2(relu(fc1(x))))); }
};

std::pair<Tensor, Tensor> images(int64_t rows) {
  std::vector<uint8_t> pixels(static_cast<size_t>(rows) * 784);
  std::vector<int64_t> labels(static_cast<size_t>(rows));
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<uint8_t>((i * 2654435761u) >> 13);
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<int64_t>(i * 7 % 10);
  return {Tensor::from(pixels, {rows, 28, 28}), Tensor::from(labels, {rows})};
}

struct Trainer {
  Net net;
  optim::Adam adam{net.parameters(), {.lr = 0.01}};
  Tensor operator()(Tensor x, Tensor y) {
    Tensor loss = nn::cross_entropy(net(x.flatten(1).to(DType::f32) / 255), y);
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss;
  }
};

Tensor numbers(Shape shape) {
  return generated(std::move(shape),
                   [](size_t i) { return static_cast<float>(std::sin(static_cast<double>(i) * 0.7)) * 3; });
}
} // namespace

// Nothing in the forward pass reduces over rows: every element has the bits of the static variant.
TEST(Dim, TheForwardPassHasTheBitsOfItsStaticVariants) {
  manual_seed(1);
  Net net;
  auto forward = [&](Tensor x) {
    NoGradGuard guard;
    Tensor logits = net(x.flatten(1).to(DType::f32) / 255);
    return std::pair{logits.softmax(1), logits.argmax(1)};
  };
  Dim batch("batch", 1, 4096);
  auto dynamic = compile(forward, {spec({batch, 28, 28}, DType::ui8)});
  auto fixed = compile(forward);
  synchronize(); // the parameters' values are compiled too
  uint64_t before = compile_count();
  dynamic.compile();
  EXPECT_EQ(compile_count(), before + 1);
  for (int64_t rows : rowCounts) {
    auto [x, y] = images(rows);
    auto [p, a] = dynamic(x);
    auto [q, b] = fixed(x);
    EXPECT_EQ(p.sizes(), q.sizes());
    EXPECT_EQ(p.to_bytes(), q.to_bytes()) << rows << " rows";
    EXPECT_EQ(a.to_bytes(), b.to_bytes()) << rows << " rows";
  }
  EXPECT_EQ(dynamic.variants().size(), 1u);
  EXPECT_EQ(fixed.variants().size(), 5u);
}

// The derivatives of weights and biases and the loss reduce over rows: a contraction and kernels whose order
// is that of the static variant up to where that splits long sums.
TEST(Dim, TheTrainingStepFollowsItsStaticVariants) {
  std::vector<std::vector<float>> losses;
  std::vector<std::vector<std::vector<std::byte>>> states;
  for (bool isDynamic : {false, true}) {
    manual_seed(3);
    Trainer trainer;
    auto step = [&](Tensor x, Tensor y) { return trainer(x, y); };
    Dim batch("batch", 1, 4096);
    auto compiled = isDynamic ? compile(step, {spec({batch, 28, 28}, DType::ui8), spec({batch}, DType::i64)},
                                        {.name = "step"})
                              : compile(step, {.name = "step"});
    std::vector<float> curve;
    for (int round = 0; round < 2; ++round)
      for (int64_t rows : rowCounts) {
        auto [x, y] = images(rows);
        curve.push_back(compiled(x, y).item<float>());
      }
    EXPECT_EQ(compiled.variants().size(), isDynamic ? 1u : 5u);
    losses.push_back(curve);
    states.push_back(bitsOf(trainer.net.parameters()));
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(states[0], states[1]);
}

// A mean over the dynamic dimension divides by the size in the call.
TEST(Dim, MeansDivideByTheSizeOfTheCall) {
  Dim n("n", 1, 100000);
  auto f = [](Tensor x) { return std::tuple{x.mean(), x.mean({0}), (x - x.mean({0})).exp().mean({1})}; };
  auto dynamic = compile(f, {spec({n, 5})});
  for (int64_t rows : {1, 2, 7, 63, 64, 65, 1000, 20000}) {
    Tensor x = numbers({rows, 5});
    auto [all, columns, spread] = dynamic(x);
    auto [all2, columns2, spread2] = f(x);
    double bound = 1e-6 * std::sqrt(static_cast<double>(rows)) + 1e-6;
    EXPECT_NEAR(all.item<float>(), all2.item<float>(), bound);
    EXPECT_EQ(columns.to_bytes(), columns2.to_bytes());
    EXPECT_EQ(spread.to_bytes(), spread2.to_bytes());
  }
}

// Shapes that are made of a dynamic size: reshapes with and without -1, parts, padding by assignment, new
// tensors.
TEST(Dim, ShapesAreMadeOfSizes) {
  Dim n("n", 2, 500);
  auto f = [](Tensor x) {
    Tensor flat = x.reshape({-1});
    Tensor back = flat.reshape(shape({x.sym_size(0), -1}));
    Tensor rows = back.slice(0, 1) * 2 + back.slice(0, 0, -1);
    Tensor last = x.select(0, -1);
    Tensor grown = zeros(shape({x.sym_size(0) * 2, 3})) + 1;
    return std::array{flat.exp(), rows,      last + 0,
                      grown,      x.t() + 1, x.unsqueeze(1).expand(shape({x.sym_size(0), 4, 6})) * 1};
  };
  auto dynamic = compile(f, {spec({n, 6})});
  for (int64_t rows : {2, 3, 16, 17, 128}) {
    Tensor x = numbers({rows, 6});
    auto found = dynamic(x);
    auto expected = f(x);
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].sizes(), expected[i].sizes());
      EXPECT_EQ(found[i].to_bytes(), expected[i].to_bytes()) << "result " << i << ", " << rows << " rows";
    }
  }
}

// Several symbols, products of them, and batches that broadcast: attention.
// The stride of a static dimension is an expression where a later one is dynamic.
TEST(Dim, StaticDimensionsBeforeADynamicOneAreSlicedWithSteps) {
  const Dim n("n", 1, 64);
  const auto third = compile([](Tensor x) { return x.slice(0, 0, 9, 3).unsqueeze(-1); }, {spec({9, n})});
  const auto diagonal =
      compile([](Tensor x) { return x.diagonal(0, 0, 2).reshape({-1}); }, {spec({2, n, 2})});
  for (const int64_t size : {1, 5}) {
    const Tensor x = arange(9 * size).to(f32).reshape({9, size}),
                 y = arange(4 * size).to(f32).reshape({2, size, 2});
    EXPECT_EQ(third(x).to_vector<float>(), x.slice(0, 0, 9, 3).to_vector<float>());
    EXPECT_EQ(diagonal(y).to_vector<float>(), y.diagonal(0, 0, 2).reshape({-1}).to_vector<float>());
  }
}

TEST(Dim, SeveralSymbolsWorkTogether) {
  Dim b("b", 1, 64), s("s", 1, 300);
  auto attend = [](Tensor q, Tensor k) {
    Tensor scores = matmul(q, k.transpose(1, 2)) / 2.0;
    return matmul(scores.softmax(-1), k);
  };
  auto dynamic = compile(attend, {spec({b, s, 8}), spec({b, s, 8})});
  auto fixed = compile(attend);
  for (auto [batch, length] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 3}, {3, 17}, {5, 64}, {2, 130}}) {
    Tensor q = numbers({batch, length, 8}), k = numbers({batch, length, 8}) * 0.5;
    EXPECT_EQ(dynamic(q, k).to_bytes(), fixed(q, k).to_bytes()) << batch << " x " << length;
  }
  EXPECT_EQ(dynamic.variants().size(), 1u);
}

// A backward() outside of the function uses the recorded operations of the function, with the sizes of the
// call.
TEST(Dim, GradientsFlowThroughCalls) {
  Dim n("n", 1, 64);
  nn::Linear linear(6, 4);
  auto layer = [&](Tensor x) { return linear(x).tanh(); };
  auto dynamic = compile(layer, {spec({n, 6})});
  for (int64_t rows : {3, 17}) {
    Tensor x = numbers({rows, 6});
    std::vector<std::vector<std::byte>> gradients;
    for (bool isDynamic : {true, false}) {
      linear.zero_grad();
      (isDynamic ? dynamic(x) : layer(x)).sum().backward();
      gradients.push_back(linear.parameters()[0].grad().to_bytes());
    }
    EXPECT_EQ(gradients[0], gradients[1]);
  }
}

// An argument that does not match its spec is an error that names the difference, and nothing is compiled.
TEST(Dim, WhatDoesNotFitItsSpecIsAnError) {
  Dim n("n", 2, 8);
  auto f = compile([](Tensor x, Tensor y) { return x + y.unsqueeze(1); }, {spec({n, 3}), spec({n})});
  f(numbers({4, 3}), numbers({4}));
  uint64_t before = compile_count();
  EXPECT_ERROR(f(numbers({9, 3}), numbers({9})), "dimension 0 has size 9, and 'n' goes from 2 to 8");
  EXPECT_ERROR(f(numbers({4, 3}), numbers({5})),
               "dimension 0 has size 5, and 'n' is 4 by an argument before it");
  EXPECT_ERROR(f(numbers({4, 2}), numbers({4})), "dimension 1 has size 2, expected 3");
  EXPECT_ERROR(f(numbers({4, 3, 1}), numbers({4})), "the number of dimensions differs");
  EXPECT_ERROR(f(numbers({4, 3}).to(DType::f64), numbers({4})), "the dtype differs");
  EXPECT_EQ(compile_count(), before);
  EXPECT_EQ(f.variants().size(), 1u);
}

// A dynamic size is no number in the trace.
TEST(Dim, ASizeIsNoNumber) {
  Dim n("n", 1, 8);
  auto reads = [&](auto body) {
    auto f = compile(
        [&](Tensor x) {
          body(x);
          return x;
        },
        {spec({n, 3})});
    return errorOf([&] { f.compile(); });
  };
  EXPECT_NE(
      reads([](Tensor x) { (void)x.size(0); }).find("the size of this dimension is n, a size that each call"),
      std::string::npos);
  EXPECT_NE(reads([](Tensor x) { (void)x.numel(); }).find("the number of elements of this tensor is 3 * n"),
            std::string::npos);
  EXPECT_NE(reads([](Tensor x) { (void)x.sym_size(0).number(); }).find("the size n is no number"),
            std::string::npos);
  EXPECT_NE(
      reads([](Tensor x) {
        einsum("ij,ij->i", {x, ones({5, 3})});
      }).find("subscript i has size 5 for operand 1 which does not broadcast with previously seen size n"),
      std::string::npos);
  EXPECT_EQ(reads([](Tensor x) {
              (void)x.size(1);
              throw Error("3 is one");
            }),
            "3 is one");
  EXPECT_NE(reads([](Tensor x) {
              x.slice(0, 0, 3);
            }).find("it cannot be proven that this is inside for every value of the symbols"),
            std::string::npos);
}

TEST(Dim, DimsAndSpecsAreChecked) {
  EXPECT_ERROR(Dim("2n", 1, 2), "cannot be the name of a Dim");
  EXPECT_ERROR(Dim("i64", 1, 2), "cannot be the name of a Dim");
  EXPECT_ERROR(Dim("n", 3, 2), "needs 0 <= min <= max, found 3 and 2");
  EXPECT_ERROR(spec({Dim("n", 1, 2), -3}), "found -3");
  auto f = [](Tensor x, Tensor y) { return x + y; };
  EXPECT_ERROR(compile(f, {spec({Dim("n", 1, 4)}), spec({Dim("n", 1, 5)})}), "in one spec and from 1 to 5");
  EXPECT_ERROR(compile([](Tensor x) { return x; }, {spec({Dim("n", 1, 4) * 2})}),
               "no argument has a dimension of size 'n'");
  EXPECT_ERROR(compile(f).compile(), "give compile() some");
  Size size = Dim("n", 1, 4) * 3 + 1;
  EXPECT_EQ(size.str(), "3 * n + 1");
  EXPECT_FALSE(size.is_number());
  EXPECT_EQ((Size(2) * 3 - 1).number(), 5);
}

// A size that cannot be expressed is an error where it is computed.
TEST(Dim, SizesThatCannotBeExpressedAreErrors) {
  Dim n("n", 1, 64);
  EXPECT_ERROR(Size(INT64_MAX) + 1, "(9223372036854775807) + (1) cannot be expressed as a size");
  EXPECT_ERROR(Size(-2) - INT64_MAX, "(-2) - (9223372036854775807) cannot be expressed");
  EXPECT_ERROR(Size(n) * INT64_MAX * 2, "(9223372036854775807 * n) * (2) cannot be expressed");
  Size power = 1;
  for (int i = 0; i < 8; ++i)
    power = power * n;
  EXPECT_ERROR(power * n, "at most 32 products of at most 8 Dims");
  EXPECT_ERROR(Size(UINT64_MAX), "a number from -2^61 to 2^63 - 1, found 18446744073709551615");
  EXPECT_ERROR(Size(INT64_MIN), "found -9223372036854775808");
  EXPECT_ERROR(Size(Size(n).entry()), "a number from -2^61"); // and not the Dim whose entry it is
  EXPECT_EQ(Size(uint64_t(INT64_MAX)).number(), INT64_MAX);
  auto same = [](Tensor x) { return x; };
  EXPECT_ERROR(compile(same, {spec({n, power})}), "has a number of bytes that cannot be expressed");

  // The number of every other row is a rounded quotient, to which nothing can be concatenated; the error
  // names the line.
  constexpr int64_t all = INT64_MAX;
  const int line = __LINE__ + 1;
  Tensor (*joined)(Tensor) = [](Tensor x) { return cat({x.slice(0, 0, all, 2), x.slice(0, 1, all, 2)}, 0); };
  Tensor (*padded)(Tensor) = [](Tensor x) { return pad(x.slice(0, 0, x.sym_size(0), 2), {0, 0, 1, 1}); };
  for (auto [function, at] : {std::pair(joined, line), std::pair(padded, line + 1)}) {
    try {
      compile(function, {spec({n, 2})})(ones({4, 2})).to_vector<float>();
      ADD_FAILURE() << "no error was thrown";
    } catch (const Error &error) {
      const std::string said = error.what();
      EXPECT_NE(said.find("slice step must be 1 along a dynamic dimension, found 2"), std::string::npos)
          << said;
      EXPECT_NE(said.find("DimTest.cpp:" + std::to_string(at)), std::string::npos) << said;
    }
  }
}

// A function with specs shows its text, and saves a package, before it is called.
TEST(Dim, TextAndPackagesNeedNoCall) {
  Dim n("n", 1, 8);
  auto f = compile([](Tensor x) { return x.softmax(1); }, {spec({n, 3})}, {.name = "soft"});
  EXPECT_NE(f.mlir().find("tensor<?x3xf32, #weft.device<cpu, [n]>>"), std::string::npos) << f.mlir();
  EXPECT_NE(f.mlir().find("#weft.symbol<\"n\", 1, 8>"), std::string::npos);
  EXPECT_NE(f.mlir("plan").find("tasks = n"), std::string::npos) << f.mlir("plan");
  std::string path = testing::TempDir() + "/dim-" + std::to_string(getpid()) + ".weft";
  f.save(path);
  EXPECT_EQ(unlink(path.c_str()), 0);
}

TEST(Dim, OneTensorForTwoDeclaredArgumentsIsTwo) {
  Dim b("b", 1, 1024);
  auto f = compile([](Tensor x, Tensor w) { return matmul(x, w).sum(); }, {spec({b, 8}), spec({8, 8})});
  Tensor x = ones({8, 8});
  EXPECT_EQ(f(x, x).item<float>(), 512);
  EXPECT_EQ(f(ones({3, 8}), x).item<float>(), 192);
  EXPECT_EQ(f.variants().size(), 1u);
}
