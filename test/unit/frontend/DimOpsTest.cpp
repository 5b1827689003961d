//===- DimOpsTest.cpp - Every family of operations over dynamic sizes -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As DimTest.cpp: a function that is compiled once for dynamic sizes gives the bits of its static variants.
// All sums here are shorter than those that a static variant splits.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;

namespace {

Tensor numbers(Shape shape, double scale = 3) {
  return generated(std::move(shape),
                   [&](size_t i) { return std::sin(static_cast<double>(i) * 0.7 + 1) * scale; });
}

Tensor places(int64_t count, int64_t below) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int64_t>(i * 7 + i / 3) % below;
  return Tensor::from(values, {count});
}

/// Compares one function for dynamic sizes with functions for static ones: their bits, or f32 values within
/// `tolerance` if that is not 0. `arguments` makes the arguments of a call.
template <typename Function, typename Arguments>
void expectStaticBits(Function function, const std::vector<ArgumentSpec> &specs, Arguments arguments,
                      const std::vector<int64_t> &sizes = {1, 2, 3, 17, 128}, float tolerance = 0) {
  CompileOptions options;
  options.specs = specs;
  auto dynamic = compile(function, options);
  auto fixed = compile(function);
  for (int64_t n : sizes) {
    manual_seed(7);
    std::vector<Tensor> found = std::apply(dynamic, arguments(n));
    std::vector<std::vector<std::byte>> bits = bitsOf(found);
    manual_seed(7);
    std::vector<Tensor> expected = std::apply(fixed, arguments(n));
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].sizes(), expected[i].sizes()) << "result " << i << ", n = " << n;
      if (tolerance == 0) {
        EXPECT_EQ(bits[i], expected[i].to_bytes()) << "result " << i << ", n = " << n;
        continue;
      }
      const std::vector<float> values = found[i].to_vector<float>(), others = expected[i].to_vector<float>();
      for (size_t j = 0; j < values.size(); ++j)
        EXPECT_NEAR(values[j], others[j], tolerance) << "result " << i << ", n = " << n << ", element " << j;
    }
  }
  EXPECT_EQ(dynamic.variants().size(), 1u);
}

/// Arguments of functions that read or write by index: rows of 5, a place in 13 for each, and a table of 13.
std::tuple<Tensor, Tensor, Tensor> placedRows(int64_t rows) {
  return {numbers({rows, 5}), places(rows, 13), numbers({13, 5})};
}

using Tensors = std::vector<Tensor>;

/// The gradient of a weighted sum of `y`, so that no element has the gradient of another.
Tensor gradientOf(Tensor y, Tensor x) {
  Tensor weight = (y.detach() * 0.37).cos();
  (y * weight).sum().backward();
  return x.grad();
}

} // namespace

// Statistics of a row of dynamic length are computed in the order of a static row of that length.
TEST(DimOps, NormalisationsAndTheirGradients) {
  Dim n("n", 1, 4096);
  Tensor weight = numbers({24}), bias = numbers({24}, 0.5);
  expectStaticBits(
      [&](Tensor x) {
        Tensor leaf = x.detach().requires_grad_();
        Tensor y = layer_norm(leaf, {24}, weight, bias);
        Tensor g = gradientOf(y, leaf);
        auto [variance, mean] = var_mean(x, {1});
        return Tensors{y, g, variance, mean};
      },
      {spec({n, 24})}, [](int64_t rows) { return std::tuple{numbers({rows, 24})}; });
  expectStaticBits(
      [&](Tensor x) {
        Tensor leaf = x.detach().requires_grad_();
        Tensor y = layer_norm(leaf, Shape{leaf.sizes()[1]});
        return Tensors{y, gradientOf(y, leaf), x.var({0}), x.std({1}, 0)};
      },
      {spec({5, n})}, [](int64_t columns) { return std::tuple{numbers({5, columns})}; });
}

// The sizes before and after the dimension, and its own, are dynamic in all combinations. One element after
// it is the exception: a static function of that size reduces along rows.
TEST(DimOps, NormalisationsInTheMiddle) {
  Dim n("n", 0, 4096), m("m", 1, 4096);
  auto f = [](Tensor x) {
    Tensor leaf = x.detach().requires_grad_();
    auto [variance, mean] = var_mean(leaf, {1}, 0, true);
    Tensor y = softmax(leaf, 1), z = log_softmax(leaf, 1), w = (leaf - mean) * rsqrt(variance + 1e-5);
    return Tensors{y, z, w, gradientOf(y + z * w, leaf), x.mean({1}), x.var({1}), x.argmax(1), x.sum({0})};
  };
  expectStaticBits(f, {spec({n, 5, 24})}, [](int64_t outer) { return std::tuple{numbers({outer, 5, 24})}; },
                   {0, 1, 3, 50});
  expectStaticBits(f, {spec({3, m, 24})}, [](int64_t rows) { return std::tuple{numbers({3, rows, 24})}; });
  expectStaticBits(f, {spec({3, 9, m})}, [](int64_t inner) { return std::tuple{numbers({3, 9, inner})}; },
                   {2, 3, 17, 128, 300});
}

// The mask depends on the number of the element, and the generator advances by the numbers that the call has
// drawn.
TEST(DimOps, DropoutDrawsWhatTheSizesOfTheCallDraw) {
  Dim n("n", 1, 4096);
  auto f = [](Tensor x) {
    Tensor leaf = x.detach().requires_grad_();
    Tensor y = dropout(leaf, 0.3, true);
    Tensor g = gradientOf(y, leaf);
    return Tensors{y, g, rand({3})};
  };
  expectStaticBits(f, {spec({n, 7})}, [](int64_t rows) { return std::tuple{numbers({rows, 7})}; });
}

TEST(DimOps, JoinsReversalsAndPads) {
  Dim n("n", 1, 4096), m("m", 1, 64);
  auto arguments = [](int64_t rows) {
    return std::tuple{numbers({rows, 6}), numbers({rows % 5 + 1, 6}), numbers({rows, 2})};
  };
  auto f = [](Tensor x, Tensor y, Tensor z) {
    Tensor leaf = x.detach().requires_grad_();
    Tensor down = cat({leaf, y, leaf * 2}, 0), across = cat({leaf, z, leaf.exp()}, 1);
    Tensor g = gradientOf(cat({across, flip(across, {0})}, 1), leaf);
    return Tensors{down,
                   across,
                   cat({x, z}, 1).t() + 1,
                   cat({x, y}, 0).slice(0, 1).softmax(1),
                   flip(x, {0}),
                   flip(x * 2, {0, 1}) + x,
                   stack({x, x + 1}, 1),
                   pad(x, {1, 2, 3, 0}, 1.5),
                   x.repeat({2, 1}),
                   g};
  };
  expectStaticBits(f, {spec({n, 6}), spec({m, 6}), spec({n, 2})}, arguments);
}

// The result of a concatenation with, or a padding of, an empty tensor is only what was added.
TEST(DimOps, APartMayBeEmpty) {
  Dim n("n", 0, 64);
  expectStaticBits(
      [](Tensor x, Tensor y) {
        return Tensors{cat({x, y}, 0),
                       cat({y, x, y}, 0).t() * 2,
                       pad(x, {0, 0, 1, 2}, -1),
                       cat({x, y}, 0).exp(),
                       x.sum({0}),
                       cat({x, x}, 1)};
      },
      {spec({n, 3}), spec({4, 3})},
      [](int64_t rows) { return std::tuple{numbers({rows, 3}), numbers({4, 3})}; }, {0, 1, 5, 64});
}

TEST(DimOps, ProductsAndPositions) {
  Dim n("n", 1, 4096);
  auto f = [](Tensor x) {
    Tensor leaf = (x / 4 + 1).detach().requires_grad_();
    Tensor g = gradientOf(leaf.prod({1}), leaf);
    return Tensors{x.prod({1}),
                   (x / 4 + 1).prod({0}),
                   (x > 2.9).any({0}),
                   (x > 2.9).any({1}),
                   (x > -3).all(),
                   x.argmin(0),
                   x.argmax(1),
                   x.argmin(),
                   x.min(0).values,
                   x.amax({0}),
                   g};
  };
  expectStaticBits(f, {spec({n, 9})}, [](int64_t rows) { return std::tuple{numbers({rows, 9})}; });
  expectStaticBits(f, {spec({9, n})}, [](int64_t columns) { return std::tuple{numbers({9, columns})}; });
}

// Along a dynamic dimension, before one, and behind one: of size 1 it is a scan of lines.
// The batch is dynamic, and the outer dimension of pooling. A convolution of static sizes is one launch,
// whose sums have an order of their own; groups of one output have one order.
TEST(DimOps, ConvolutionsAndPoolingOfABatch) {
  Dim n("n", 1, 4096);
  const std::vector<int64_t> sizes = {1, 2, 5, 17};
  auto images = [](int64_t batch) { return std::tuple{numbers({batch, 3, 8, 8})}; };
  Tensor weight = numbers({4, 3, 3, 3}, 0.3), each = numbers({3, 1, 2, 2});
  expectStaticBits(
      [&](Tensor x) {
        Tensor leaf = x.detach().requires_grad_(), by = weight.detach().requires_grad_();
        Tensor y = conv2d(leaf, by, {}, {.stride = 2, .padding = 1});
        Tensor g = gradientOf(y, leaf);
        return Tensors{y, g, by.grad()};
      },
      {spec({n, 3, 8, 8})}, images, sizes);
  expectStaticBits(
      [&](Tensor x) {
        Tensor leaf = x.detach().requires_grad_();
        Tensor y = max_pool2d(leaf, 3, {.stride = 1, .padding = 1});
        Tensor z = avg_pool2d(conv2d(y, each, {}, {.groups = 3}), 2);
        return Tensors{y, z, gradientOf(z, leaf), adaptive_avg_pool2d(x, {3, 1}),
                       adaptive_max_pool2d(x, {3, 1})};
      },
      {spec({n, 3, 8, 8})}, images, sizes);
}

// One place for an extent, or as many as it has, need no windows.
TEST(DimOps, AdaptiveMeansOfImagesOfAnySize) {
  Dim h("h", 1, 64), w("w", 1, 64);
  auto f = [](Tensor x) {
    Tensor leaf = x.detach().requires_grad_();
    Tensor y = adaptive_avg_pool2d(leaf, 1), z = adaptive_avg_pool2d(leaf, {1, -1});
    Tensor g = gradientOf(y * z, leaf);
    return Tensors{y, z, g, adaptive_avg_pool2d(x, -1)};
  };
  expectStaticBits(
      f, {spec({2, 3, h, w})}, [](int64_t n) { return std::tuple{numbers({2, 3, n, n + 2})}; }, {1, 2, 5, 17},
      1e-5f);
  expectStaticBits(
      [](Tensor x) { return Tensors{adaptive_avg_pool2d(x, {1, 3}), adaptive_avg_pool2d(x, {-1, 3})}; },
      {spec({2, 3, h, 7})}, [](int64_t n) { return std::tuple{numbers({2, 3, n, 7})}; }, {1, 2, 5, 17},
      1e-5f);
}

TEST(DimOps, NormsOfChannelsOfABatch) {
  Dim n("n", 2, 4096);
  auto f = [](Tensor x) {
    Tensor leaf = x.detach().requires_grad_();
    Tensor y = batch_norm(leaf, {}, {}, {.training = true}).tanh();
    return Tensors{y, gradientOf(y, leaf), x.sum({0, 2})};
  };
  for (int64_t pixels : {64, 48}) // whole blocks of partial results, and parts of them
    expectStaticBits(
        f, {spec({n, 3, pixels})}, [&](int64_t batch) { return std::tuple{numbers({batch, 3, pixels})}; },
        {2, 5, 17}, 1e-4f);
}

TEST(DimOps, Scans) {
  Dim n("n", 1, 4096);
  auto f = [](Tensor x) {
    Tensor leaf = (x / 4 + 1).detach().requires_grad_();
    Tensor y = leaf.cumprod(1) + leaf.cumsum(0).sin();
    return Tensors{x.cumsum(0), x.cumsum(1) * 2, (x / 4 + 1).cumprod(1), gradientOf(y, leaf)};
  };
  const std::vector<int64_t> sizes = {1, 3, 16, 17, 65, 128};
  expectStaticBits(f, {spec({n, 21})}, [](int64_t rows) { return std::tuple{numbers({rows, 21})}; }, sizes);
  expectStaticBits(
      f, {spec({21, n})}, [](int64_t columns) { return std::tuple{numbers({21, columns})}; }, sizes);
  Dim m("m", 1, 512);
  expectStaticBits(
      [](Tensor x) { return Tensors{x.cumsum(0), x.cumsum(1), x.cumsum(2), x.exp().cumprod(1).log()}; },
      {spec({n, 3, m})},
      [](int64_t size) { return std::tuple{numbers({size, 3, size % 70 + (size > 1)}, 0.1)}; }, sizes);
}

// Writes by index, and the gradients of reads by index: in order, so that every sum is the same.
TEST(DimOps, WritesByIndex) {
  Dim n("n", 1, 4096);
  auto f = [](Tensor x, Tensor which, Tensor table) {
    Tensor leaf = table.detach().requires_grad_();
    Tensor g = gradientOf(embedding(which, leaf), leaf);
    Tensor wide = which.unsqueeze(1).expand(x.sizes()) % 5;
    Tensor into = zeros({11, 5});
    return Tensors{g,
                   into.index_add(0, which % 11, x),
                   (into + 1).index_copy(0, which % 11, x),
                   x.scatter_add(1, wide, x * 2),
                   x.scatter(1, wide, x + 1),
                   x.index_add(0, which * 0, x),
                   x.gather(1, wide)};
  };
  expectStaticBits(f, {spec({n, 5}), spec({n}, DType::i64), spec({13, 5})}, placedRows);
}

// Negative indices count from the end of the call's size, and several indices are one.
TEST(DimOps, ReadsByIndex) {
  Dim n("n", 1, 4096);
  auto f = [](Tensor x, Tensor which) {
    Tensor last = which % 3 * 0 - 1;
    return Tensors{index(x, {last}), index(x, {last, which % 5}), index(x, {Tensor(), which % 5 - 5}),
                   take(x, last), x.index_select(0, which * 0)};
  };
  expectStaticBits(f, {spec({n, 5}), spec({n}, DType::i64)},
                   [](int64_t rows) { return std::tuple{numbers({rows, 5}), places(rows, 13)}; });
}

TEST(DimOps, GradientsOfWritesByIndex) {
  Dim n("n", 1, 4096);
  auto f = [](Tensor x, Tensor which, Tensor base) {
    Tensor leaf = x.detach().requires_grad_(), under = base.detach().requires_grad_();
    Tensor wide = which.unsqueeze(1).expand(x.sizes()) % 5;
    Tensor y = leaf.scatter(1, wide, leaf * 3) + leaf.scatter_add(1, wide, leaf.exp());
    Tensor z = under.index_copy(0, which, leaf) * 2;
    (y.cos().sum() + z.sin().sum()).backward();
    return Tensors{leaf.grad(), under.grad()};
  };
  expectStaticBits(f, {spec({n, 5}), spec({n}, DType::i64), spec({13, 5})}, placedRows);
}

// Dynamic bounds and lengths, of dynamic and of static dimensions.
TEST(DimOps, SizesAsBoundsAndLengths) {
  Dim n("n", 1, 128);
  auto dynamic = [](Tensor x, Tensor table) {
    const Size size = x.sym_size(0);
    return Tensors{arange(size) * 2,
                   arange(size, f32),
                   arange(size, size + 3),
                   arange(2, size + 2, {.dtype = f32}),
                   table.slice(0, 0, size) + x,
                   table.narrow(0, 1, size) * x,
                   table.slice(0, size),
                   table.slice(0, size, size + 2),
                   x.slice(0, size - 1, size),
                   x.narrow(0, 0, size).slice(0, 0, -1)};
  };
  auto fixed = compile([](Tensor x, Tensor table) {
    const int64_t size = x.size(0);
    return Tensors{arange(size) * 2,
                   arange(size, f32),
                   arange(size, size + 3),
                   arange(2, size + 2, 1, {.dtype = f32}),
                   table.slice(0, 0, size) + x,
                   table.narrow(0, 1, size) * x,
                   table.slice(0, size),
                   table.slice(0, size, size + 2),
                   x.slice(0, size - 1, size),
                   x.narrow(0, 0, size).slice(0, 0, -1)};
  });
  auto compiled = compile(dynamic, {spec({n, 3}), spec({140, 3})});
  for (int64_t size : {1, 2, 3, 17, 128}) {
    const Tensors found = compiled(numbers({size, 3}), numbers({140, 3}, 2)),
                  expected = fixed(numbers({size, 3}), numbers({140, 3}, 2)),
                  lazy = dynamic(numbers({size, 3}), numbers({140, 3}, 2));
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].sizes(), expected[i].sizes()) << "result " << i << ", n = " << size;
      EXPECT_EQ(found[i].to_bytes(), expected[i].to_bytes()) << "result " << i << ", n = " << size;
      EXPECT_EQ(lazy[i].to_bytes(), expected[i].to_bytes()) << "result " << i << ", n = " << size;
    }
  }
  EXPECT_EQ(compiled.variants().size(), 1u);
  // A bound that may be outside of the dimension for some size is refused when the function is recorded.
  auto refused = [&](auto body) {
    return errorOf([&] { compile(body, {spec({n, 3}), spec({100, 3})}).compile(); });
  };
  EXPECT_NE(refused([](Tensor x, Tensor table) {
              return table.slice(0, 0, x.sym_size(0));
            }).find("the elements from 0 to n of a dimension of size 100 do not lie in it for every value"),
            std::string::npos);
  EXPECT_NE(refused([](Tensor x, Tensor table) {
              return table.narrow(0, 0, x.sym_size(0) - 2);
            }).find("may be negative"),
            std::string::npos);
  EXPECT_NE(refused([](Tensor x, Tensor) { return arange(x.sym_size(0), 1); }).find("fewer than no elements"),
            std::string::npos);
}

// A window of a dynamic tensor is written in place; its size may depend on the same symbols.
TEST(DimOps, WindowsAreWritten) {
  Dim n("n", 2, 4096);
  auto f = [](Tensor x, Tensor y) {
    Tensor leaf = x.detach().requires_grad_();
    Tensor a = leaf * 1, b = x + 0, c = x * 2;
    a.narrow(1, 2, 2).mul_(y);
    b.select(0, -1).fill_(4);
    c.select(1, 3).copy_(y.select(1, 0));
    return Tensors{a.detach(), b, c, gradientOf(a, leaf)};
  };
  expectStaticBits(f, {spec({n, 6}), spec({n, 2})},
                   [](int64_t rows) { return std::tuple{numbers({rows, 6}), numbers({rows, 2})}; },
                   {2, 3, 17, 128});
}

// State of a dynamic size is written through, as state of a size that is a number.
TEST(DimOps, ArgumentsAreWrittenInPlace) {
  Dim n("n", 1, 64);
  auto scale = compile(
      [](Tensor x, Tensor y) {
        x.mul_(2);
        x.add_(y);
        return x.sum();
      },
      {spec({n, 3}), spec({n, 3})});
  for (int64_t rows : {1, 3, 17}) {
    Tensor x = numbers({rows, 3}), y = numbers({rows, 3}, 1);
    Tensor expected = x * 2 + y;
    scale(x, y);
    EXPECT_EQ(x.to_bytes(), expected.to_bytes());
  }
  EXPECT_EQ(scale.variants().size(), 1u);
}

TEST(DimOps, EffectsSeeTheSizesOfTheCall) {
  Dim n("n", 1, 64);
  auto f = compile(
      [](Tensor x) {
        assert_true(x < 10, "too large");
        print("x", x);
        return x + 1;
      },
      {spec({n, 2})});
  testing::internal::CaptureStdout();
  f(tensor({1, 2}, {1, 2}));
  f(tensor({1, 2, 3, 4, 5, 6}, {3, 2}));
  synchronize();
  std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_NE(printed.find("x: tensor([[1., 2.]])"), std::string::npos) << printed;
  EXPECT_NE(printed.find("[5., 6.]])"), std::string::npos) << printed;
  EXPECT_ERROR(f(tensor({1, 2, 3, 11}, {2, 2})).to_bytes(),
               "too large (the condition is false at position 3)");
  EXPECT_EQ(f.variants().size(), 1u);
}

TEST(DimOps, WhatSomeCallsOnlyCouldNotDoIsAnErrorOfTheDeclaration) {
  Dim n("n", 0, 64), few("few", 1, 64), many("many", 2, 64);
  auto one = [](Tensor (*function)(Tensor), const Dim &dim) {
    compile(function, {spec({dim, 2})})(ones({2, 2})).to_vector<float>();
  };
  // A slice that would begin before the first element.
  EXPECT_ERROR(one([](Tensor x) { return x.slice(0, -2) * 1; }, few), "larger min");
  EXPECT_NO_THROW(one([](Tensor x) { return x.slice(0, -2) * 1; }, many));
  EXPECT_ERROR(one([](Tensor x) { return x.select(0, -2) * 1; }, few), "larger min");
  // The number of dimensions does not depend on a call.
  EXPECT_ERROR(one([](Tensor x) { return x.squeeze(0) * 1; }, few), "min of 2");
  EXPECT_ERROR(one([](Tensor x) { return x.squeeze() * 1; }, few), "min of 2");
  EXPECT_NO_THROW(one([](Tensor x) { return x.squeeze() * 1; }, many));
  // Which elements are in a window of a pool is decided when a function is compiled; places of a convolution
  // are a size.
  auto extents = [](Tensor (*function)(Tensor), const Dim &dim) {
    compile(function, {spec({1, 1, dim})})(ones({1, 1, 4})).to_vector<float>();
  };
  EXPECT_ERROR(extents([](Tensor x) { return max_pool1d(x, 2); }, many),
               "pools extents whose sizes are known");
  EXPECT_ERROR(extents([](Tensor x) { return adaptive_avg_pool1d(x, 2); }, many),
               "pools extents whose sizes are known");
  EXPECT_ERROR(extents([](Tensor x) { return adaptive_avg_pool1d(x, 1); }, n), "give its Dim a min of 1");
  EXPECT_ERROR(extents([](Tensor x) { return conv1d(x, ones({1, 1, 3})); }, many),
               "it cannot be proven that it fits");
  EXPECT_ERROR(extents([](Tensor x) { return conv1d(x, ones({1, 1, 2}), {}, {.stride = 2}); }, many),
               "a stride has to divide");
  EXPECT_NO_THROW(extents([](Tensor x) { return conv1d(x, ones({1, 1, 2})); }, many));
  // A dimension that may be empty has no largest element.
  EXPECT_ERROR(one([](Tensor x) { return x.amax(0); }, n), "min of 1");
  EXPECT_ERROR(one([](Tensor x) { return x.amin(); }, n), "min of 1");
  EXPECT_NO_THROW(one([](Tensor x) { return x.amax(0); }, few));
}

TEST(DimOps, SizesAreExpressionsInWhatIsExplained) {
  Dim n("n", 1, 64);
  auto f = compile([](Tensor x) { return (x * 2).sum(-1); }, {spec({n, 2})});
  f(ones({2, 2}));
  std::string text = f.explain({.full = true});
  EXPECT_NE(text.find("launch reads 8 * n and writes 4 * n bytes"), std::string::npos) << text;
}

TEST(DimOps, SizesOutsideOfTheirRangeHaveACode) {
  Dim n("n", 2, 8);
  auto f = compile([](Tensor x) { return x + 1; }, {spec({n, 3})});
  try {
    f(numbers({9, 3}));
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), "WEFT-S001") << error.what();
  }
}
