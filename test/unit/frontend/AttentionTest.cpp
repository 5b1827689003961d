//===- AttentionTest.cpp - scaled_dot_product_attention -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include <cmath>

using namespace weft;

namespace {

/// The same from products and a softmax.
Tensor written(const Tensor &q, const Tensor &k, const Tensor &v, const AttentionOptions &options = {}) {
  Tensor scores = matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1)));
  if (options.causal)
    scores = scores.masked_fill(tril(ones({q.size(-2), k.size(-2)})) == 0, -INFINITY);
  if (options.mask.defined())
    scores = options.mask.dtype() == DType::i1 ? scores.masked_fill(logical_not(options.mask), -INFINITY)
                                               : scores + options.mask;
  return matmul(scores.softmax(-1), v);
}

/// The largest difference.
float distance(const Tensor &a, const Tensor &b) { return (a - b).abs().amax().item<float>(); }

struct Operands {
  Tensor q, k, v;
  explicit Operands(Shape batch, int64_t rows, int64_t keys, int64_t features, int64_t values) {
    manual_seed(7);
    const auto make = [&](int64_t first, int64_t second) {
      Shape shape = batch;
      shape.insert(shape.end(), {first, second});
      return randn(shape).requires_grad_();
    };
    q = make(rows, features);
    k = make(keys, features);
    v = make(keys, values);
  }
};

TEST(Attention, IsProductsAndASoftmaxAndSoAreItsGradients) {
  Operands o({2, 3}, 40, 40, 16, 24);
  for (const AttentionOptions &options :
       {AttentionOptions{}, AttentionOptions{.causal = true}, AttentionOptions{.mask = randn({40, 40})},
        AttentionOptions{.mask = randn({2, 1, 1, 40}) > -1}}) {
    Tensor found = scaled_dot_product_attention(o.q, o.k, o.v, options);
    Tensor expected = written(o.q, o.k, o.v, options);
    EXPECT_LT(distance(found, expected), 2e-6);
    std::vector<Tensor> g = grad((found * found).sum(), {o.q, o.k, o.v});
    std::vector<Tensor> h = grad((expected * expected).sum(), {o.q, o.k, o.v});
    for (size_t i = 0; i < 3; ++i)
      EXPECT_LT(distance(g[i], h[i]), 2e-5) << i;
  }
}

TEST(Attention, MasksHaveGradients) {
  Operands o({}, 5, 6, 4, 3);
  Tensor mask = randn({1, 6}).requires_grad_();
  const auto of = [&](auto function) {
    Tensor y = function(o.q, o.k, o.v, AttentionOptions{.mask = mask});
    return grad((y * y).sum(), {mask, o.k});
  };
  const auto found = of([](const auto &...a) { return scaled_dot_product_attention(a...); });
  const auto expected = of([](const auto &...a) { return written(a...); });
  EXPECT_LT(distance(found[0], expected[0]), 1e-5);
  EXPECT_LT(distance(found[1], expected[1]), 1e-5);
}

/// The attention of rows to what comes before them, and its gradients.
const auto causalStep = [](Tensor q, Tensor k, Tensor v) {
  Tensor y = scaled_dot_product_attention(q, k, v, {.causal = true});
  std::vector<Tensor> g = autograd::grad((y * y).sum(), {q, k, v});
  return std::tuple(y, g[0], g[1], g[2]);
};

TEST(Attention, LazyAndCompiledAreTheSameBits) {
  Operands o({20}, 70, 70, 32, 32);
  auto [a, b, c, d] = causalStep(o.q, o.k, o.v);
  auto [e, f, g, h] = compile(causalStep)(o.q, o.k, o.v);
  EXPECT_EQ(bitsOf({a, b, c, d}), bitsOf({e, f, g, h}));
}

// Rows that see no key are 0, and have no gradient, as in PyTorch.
TEST(Attention, RowsThatSeeNothingAreZero) {
  Operands o({2}, 3, 4, 4, 4);
  Tensor mask = tensor({1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0}, {3, 4}) > 0;
  Tensor y = scaled_dot_product_attention(o.q, o.k, o.v, {.mask = mask});
  EXPECT_EQ(floats(y.select(1, 1)), Floats(8, 0));
  std::vector<Tensor> g = grad(y.sum(), {o.q, o.k});
  EXPECT_EQ(floats(g[0].select(1, 1)), Floats(8, 0));
  EXPECT_TRUE(std::isfinite(g[1].abs().sum().item<float>()));
  Tensor none = scaled_dot_product_attention(o.q, zeros({2, 0, 4}), zeros({2, 0, 4}));
  EXPECT_EQ(floats(none), Floats(24, 0));
}

TEST(Attention, BatchesBroadcastAndHeadsAreShared) {
  Operands o({2, 4}, 6, 6, 8, 8);
  Tensor k = o.k.slice(1, 0, 2), v = o.v.slice(1, 0, 2);
  Tensor shared = scaled_dot_product_attention(o.q, k, v, {.enable_gqa = true});
  const auto repeated = [](const Tensor &t) {
    return t.unsqueeze(2).expand({2, 2, 2, 6, 8}).reshape({2, 4, 6, 8});
  };
  EXPECT_EQ(floats(shared), floats(scaled_dot_product_attention(o.q, repeated(k), repeated(v))));
  Tensor one = o.k.select(0, 0);
  EXPECT_LT(distance(scaled_dot_product_attention(o.q, one, one), written(o.q, one, one)), 2e-6);
}

// Of 4 heads of 1,024 rows and keys, whose scores alone would take 16 MiB.
TEST(Attention, NoMatrixOfScoresIsInMemory) {
  constexpr uint64_t scores = uint64_t(4) * 1024 * 1024 * 4;
  Operands o({4}, 1024, 1024, 32, 32);
  auto step = compile(causalStep);
  (void)step(o.q, o.k, o.v);
  synchronize();
  reset_peak_memory_stats();
  const uint64_t before = memory_allocated();
  (void)step(o.q, o.k, o.v);
  synchronize();
  EXPECT_LT(max_memory_allocated() - before, scores / 2);
}

TEST(Attention, DynamicSizesDecompose) {
  Dim length("length", 1, 64);
  auto f = compile([](Tensor x) { return scaled_dot_product_attention(x, x, x, {.causal = true}); },
                   {spec({2, length, 8})});
  for (int64_t rows : {3, 17}) {
    Tensor x = randn({2, rows, 8});
    EXPECT_LT(distance(f(x), written(x, x, x, {.causal = true})), 2e-6);
  }
}

TEST(Attention, SaysWhatDoesNotFit) {
  Tensor q = zeros({2, 5, 8}), k = zeros({2, 7, 8});
  EXPECT_ERROR(
      scaled_dot_product_attention(q, k.to(f16), k),
      "Expected query, key, and value to have the same dtype, but got query.dtype: f32 key.dtype: f16");
  EXPECT_ERROR(scaled_dot_product_attention(zeros({8}), k, k), "to all be at least 2 dimensional");
  EXPECT_ERROR(scaled_dot_product_attention(q, zeros({2, 7, 4}), k),
               "needs keys with as many features as queries");
  EXPECT_ERROR(scaled_dot_product_attention(q, k, q), "needs as many values as keys");
  EXPECT_ERROR(scaled_dot_product_attention(q, zeros({3, 7, 8}), zeros({3, 7, 8})),
               "must match the size of tensor b");
  EXPECT_ERROR(scaled_dot_product_attention(q, k, k, {.mask = zeros({5, 7}), .causal = true}),
               "Explicit mask should not be set when causal=true");
  EXPECT_ERROR(scaled_dot_product_attention(q, k, k, {.mask = zeros({5, 6})}),
               "needs a mask that broadcasts");
  EXPECT_ERROR(scaled_dot_product_attention(q, k, k, {.mask = zeros({5, 7}).to(i32)}),
               "Expected attn_mask dtype to be bool or float or to match query dtype");
  EXPECT_ERROR(scaled_dot_product_attention(q, k, k, {.dropout_p = 0.1}),
               "supports no dropout of probabilities");
  EXPECT_ERROR(scaled_dot_product_attention(q, k, k, {.scale = INFINITY}), "needs a finite scale");
  EXPECT_ERROR(scaled_dot_product_attention(zeros({3, 5, 8}), k, k, {.enable_gqa = true}),
               "Number of heads in key and value must divide the number of heads in query, found 2 and 3");
  EXPECT_ERROR(scaled_dot_product_attention(zeros({2, 5, 8}).to(i32), zeros({2, 5, 8}).to(i32),
                                            zeros({2, 5, 8}).to(i32)),
               "scaled_dot_product_attention()");
}

} // namespace
