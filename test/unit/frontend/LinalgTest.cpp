//===- LinalgTest.cpp - Factorizations and what is made of them --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/parity compares these with PyTorch; here is what it has no samples for: values that have no result,
// compiled functions, errors.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;

namespace {

Tensor positive(int64_t n) {
  Generator generator(3);
  Tensor a = randn({n, n}, generator, {.dtype = f64});
  return matmul(a, a.t()) + eye(n, {}, {.dtype = f64});
}

double largest(const Tensor &a) { return abs(a).max().item<double>(); }

} // namespace

TEST(Linalg, SolvesWhatItFactorizes) {
  Tensor a = positive(12), b = ones({12, 2}, {.dtype = f64});
  EXPECT_LT(largest(matmul(a, linalg::solve(a, b)) - b), 1e-11);
  EXPECT_LT(largest(matmul(a, linalg::inv(a)) - eye(12, {}, {.dtype = f64})), 1e-11);
  Tensor l = linalg::cholesky(a);
  EXPECT_LT(largest(cholesky_solve(b, l) - linalg::solve(a, b)), 1e-11);
  EXPECT_NEAR((logdet(a) - 2 * log(l.diagonal()).sum()).item<double>(), 0, 1e-11);
  auto [w, v] = linalg::eigh(a);
  EXPECT_LT(largest(matmul(v * w, v.t()) - a), 1e-11);
}

TEST(Linalg, ValuesAreComputedWithVectorsWhereAGradientNeedsThem) {
  for (int64_t n : {3, 12}) {
    const Tensor a = positive(n);
    const Tensor values = linalg::eigh(a).eigenvalues, sizes = linalg::svd(a, false).S;
    EXPECT_LT(largest(linalg::eigvalsh(a) - values), 1e-10);
    EXPECT_LT(largest(linalg::svdvals(a.slice(0, 0, n - 1)) - linalg::svd(a.slice(0, 0, n - 1), false).S),
              1e-10);
    EXPECT_LT(largest(linalg::svdvals(a) - sizes), 1e-10);
    auto alone = compile([](Tensor x) { return linalg::eigvalsh(x) + linalg::svdvals(x); });
    EXPECT_LT(largest(alone(a) - values - sizes), 1e-10);
    const std::string text = alone.explain({.full = true});
    EXPECT_TRUE(mentions(text, "eigh of values")) << text;
    EXPECT_TRUE(mentions(text, "svd of values")) << text;
    // The derivative of the sum of the eigenvalues is that of the trace.
    Tensor leaf = a.clone().requires_grad_();
    (linalg::eigvalsh(leaf).sum() + linalg::svdvals(leaf).sum()).backward();
    EXPECT_LT(largest(leaf.grad() - 2 * eye(n, f64)), 1e-10);
    NoGradGuard guard;
    EXPECT_EQ(linalg::eigvalsh(leaf).to_bytes(), linalg::eigvalsh(a).to_bytes());
  }
}

TEST(Linalg, InACompiledFunctionWithADynamicBatch) {
  Dim batch("batch", 1, 8);
  auto solve = compile([](Tensor a, Tensor b) { return linalg::solve_ex(a, b).result; },
                       {spec({batch, 3, 3}), spec({batch, 3, 1})});
  for (int64_t size : {1, 5}) {
    Tensor a = eye(3).expand({size, 3, 3}) * 2 + 0.5, b = ones({size, 3, 1});
    EXPECT_LT(largest(matmul(a, solve(a, b)) - b), 1e-6);
  }
}

TEST(Linalg, SaysWhichMatricesHaveNoResult) {
  Tensor singular = ones({2, 2}), indefinite = tensor({1, 2, 2, 1}, {2, 2});
  EXPECT_ERROR(floats(linalg::inv(singular)),
               "linalg.inv: The solver failed because the input matrix is singular.");
  EXPECT_ERROR(floats(linalg::solve(singular, ones({2}))), "linalg.solve: The solver failed");
  EXPECT_ERROR(floats(linalg::cholesky(indefinite)), "the input is not positive-definite");
  EXPECT_EQ(linalg::inv_ex(singular).info.item<int64_t>(), 2);
  EXPECT_EQ(linalg::cholesky_ex(indefinite).info.item<int64_t>(), 2);
  EXPECT_EQ(linalg::matrix_rank(singular).item<int64_t>(), 1);
  EXPECT_EQ(linalg::det(singular).item<float>(), 0);
}

TEST(Linalg, DerivativeOfTheLogarithmOfTheDeterminantIsTheInverse) {
  Tensor a = positive(3).requires_grad_();
  logdet(a).backward();
  EXPECT_LT(largest(a.grad() - linalg::inv(a.detach()).t()), 1e-12);
}

TEST(Linalg, RefusesWhatDoesNotFit) {
  Tensor a = ones({3, 3}), wide = ones({2, 3});
  EXPECT_ERROR(linalg::inv(wide), "linalg.inv: A must be batches of square matrices, but they are [2, 3]");
  EXPECT_ERROR(linalg::qr(ones({3})), "must have at least 2 dimensions");
  EXPECT_ERROR(linalg::qr(a, "thin"), "qr received unrecognized mode 'thin'");
  EXPECT_ERROR(linalg::svd(a.to(f16)), "Expected a floating point tensor of f32 or f64");
  EXPECT_ERROR(linalg::eigh(a, "lower"), "Expected UPLO argument to be 'L' or 'U'");
  EXPECT_ERROR(linalg::solve(a, ones({4, 1})),
               "Incompatible shapes or dtypes of A and B for the equation AX = B");
  EXPECT_ERROR(linalg::lstsq(a, ones({4, 1})), "input.size(-2) should match other.size(-2)");
  EXPECT_ERROR(linalg::matrix_norm(a, "max"), "Order max not supported");
  EXPECT_ERROR(linalg::matrix_norm(a, 3), "not supported");
  EXPECT_ERROR(linalg::norm(ones({2, 2, 2}), 1), "If dim is specified, it must be of length 1 or 2");
  EXPECT_ERROR(linalg::multi_dot({a}), "expected at least 2 tensors but got 1");
  EXPECT_ERROR(linalg::matrix_power(wide, 2), "batches of square matrices");
  EXPECT_ERROR(linalg::tensorinv(a, 0), "Expected a strictly positive integer for 'ind'");
}
