//===- CudaWhileGradientTest.cpp - Gradients of while loops on a GPU -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values are those of the same loop on the host. That these are right is tested in WhileGradientTest.cpp.
//
//===----------------------------------------------------------------------===//
#include "test/unit/frontend/CloseTensors.h"

using namespace weft;

namespace {

Tensor number(int64_t value, const char *device) { return full({}, value, {.dtype = i64}).to(device); }

Tensor leaf(Shape shape, int seed, const char *device) {
  return weft::testing::someNumbers(std::move(shape), seed).to(device).requires_grad_();
}

/// `trips` times x = sin(x * w) + x / 2.
Tensor waves(const Tensor &x, const Tensor &w, const Tensor &trips) {
  return std::get<0>(while_loop(
      [](const Tensor &, const Tensor &left) { return left > 0; },
      [&](const Tensor &at, const Tensor &left) { return std::tuple(sin(at * w) + at * 0.5, left - 1); },
      std::tuple(x, trips)));
}

Tensor lossOf(const Tensor &result) { return (result * result * result).sum(); }

/// Compares what a function computes on both devices.
template <typename Function> void expectSame(const Function &function, double bound = 1e-5) {
  const std::vector<Tensor> found = function("cuda:0"), expected = function("cpu");
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].device(), Device("cuda:0"));
    weft::testing::expectClose(found[i].cpu(), expected[i], bound);
  }
}

} // namespace

TEST(CudaWhileGradient, IsThatOfItsTripsHoweverMany) {
  auto run = compile([](const Tensor &x, const Tensor &w, const Tensor &trips) {
    return grad(lossOf(waves(x, w, trips)), {x, w});
  });
  for (const int64_t trips : {0, 1, 15, 16, 17, 40, 300, 4097})
    expectSame([&](const char *device) {
      return run(leaf({4}, 1, device), leaf({4}, 2, device), number(trips, device));
    });
}

TEST(CudaWhileGradient, OfNestedLoopsWithProducts) {
  expectSame([](const char *device) {
    const Tensor x = leaf({3, 4}, 1, device), w = leaf({4, 4}, 2, device), b = leaf({4}, 3, device);
    const Tensor last =
        std::get<0>(while_loop([](const Tensor &, const Tensor &i) { return i < 4; },
                               [&](const Tensor &at, const Tensor &i) {
                                 return std::tuple(waves(tanh(matmul(at, w)), b, i) + at * 0.5, i + 1);
                               },
                               std::tuple(x, number(0, device))));
    return grad(lossOf(last), {x, w, b});
  });
}

TEST(CudaWhileGradient, HasDerivativesOfDerivatives) {
  expectSame([](const char *device) {
    const Tensor x = leaf({3}, 1, device), w = leaf({3}, 2, device);
    Tensor sum = zeros({}).to(device);
    for (const Tensor &g : grad(lossOf(waves(x, w, number(3, device))), {x, w}, {.create_graph = true}))
      sum = sum + (g * g).sum();
    return grad(sum, {x, w});
  });
}

// The gradient of the loop in the body is written in it, and is differentiated again with the loop around it.
TEST(CudaWhileGradient, OfGradientsInItsBody) {
  expectSame([](const char *device) {
    const Tensor x = leaf({2}, 1, device), w = leaf({2}, 2, device);
    const Tensor last = std::get<0>(
        while_loop([](const Tensor &, const Tensor &left) { return left > 0; },
                   [&](const Tensor &at, const Tensor &left) {
                     const Tensor loss = lossOf(waves(at, w, number(2, device)));
                     return std::tuple(at - grad(loss, {at}, {.create_graph = true})[0] * 0.1, left - 1);
                   },
                   std::tuple(x, number(2, device))));
    return grad(lossOf(last), {x, w});
  });
}

// Both branches are computed. The loop of the one that is not taken would never end.
TEST(CudaWhileGradient, OfALoopInABranch) {
  for (const double begin : {3.0, -5.0})
    expectSame([begin](const char *device) {
      Tensor x = full({3}, begin).to(device).requires_grad_();
      const Tensor last = cond(
          x.sum() > 0,
          [](const Tensor &x) {
            return while_loop([](const Tensor &at) { return at.sum() < 100; },
                              [](const Tensor &at) { return at * at; }, x);
          },
          [](const Tensor &x) { return x * 3; }, x);
      return grad(lossOf(last), {x});
    });
}

TEST(CudaWhileGradient, RowsMayHaveAnySize) {
  const auto gradients = [](const char *device) {
    Dim batch("batch", 1, 64);
    const Tensor w = leaf({4}, 2, device);
    auto run = compile(
        [w](const Tensor &x, const Tensor &trips) { return grad(lossOf(waves(x, w, trips).sum(0)), {w}); },
        {spec({batch, 4}, f32, device), spec({}, i64, device)});
    std::vector<Tensor> all;
    for (const int64_t rows : {3, 1, 17})
      all.push_back(run(weft::testing::someNumbers({rows, 4}, 5).to(device), number(20, device))[0]);
    return all;
  };
  expectSame(gradients, 1e-4);
}

TEST(CudaWhileGradient, EndsWhereATripFails) {
  const auto sumOf = [](const std::vector<int64_t> &next, Tensor table) {
    const Tensor list = Tensor::from(next, {4}).to("cuda:0");
    const Tensor sum = std::get<1>(while_loop([](const Tensor &at, const Tensor &) { return at >= 0; },
                                              [&](const Tensor &at, const Tensor &sum) {
                                                const Tensor place = at.reshape({1});
                                                const Tensor row = table.index_select(0, place).reshape({2});
                                                return std::tuple(list.index_select(0, place).reshape({}),
                                                                  sum * 0.5 + row * row);
                                              },
                                              std::tuple(number(2, "cuda:0"), zeros({2}).to("cuda:0"))));
    return grad(sum.sum(), {table})[0];
  };
  const Tensor table =
      Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}).to("cuda:0").requires_grad_();
  EXPECT_EQ(floats(sumOf({-1, 0, 3, 1}, table)), Floats({2, 4, 3, 4, 1.25, 1.5, 3.5, 4}));
  EXPECT_ERROR((void)floats(sumOf({-1, 9, 3, 1}, table)),
               "index 9 is out of bounds for dimension 0 with size 4");
}
