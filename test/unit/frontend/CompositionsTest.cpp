//===- CompositionsTest.cpp - Functions that are made of others -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors, limits and members of the functions whose values and gradients test/parity compares with PyTorch.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>
#include <limits>

using namespace weft;
namespace F = weft::nn::functional;

namespace {
constexpr float inf = std::numeric_limits<float>::infinity();
Tensor ramp(Shape shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return arange(count, f32).reshape(shape);
}
} // namespace

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

TEST(Compositions, ExponentialsAreAddedAtTheLimits) {
  Tensor a = tensor({-inf, inf, 1000.0, -inf}), b = tensor({-inf, inf, 1000.0, 2.0});
  EXPECT_EQ(logaddexp(a, b).to_vector<float>(), (Floats{-inf, inf, 1000 + std::log(2.0F), 2}));
  EXPECT_EQ(logaddexp2(a, b).to_vector<float>(), (Floats{-inf, inf, 1001, 2}));
  EXPECT_EQ(hypot(tensor({3e38, inf, 0.0}), tensor({0.0, NAN, 0.0})).to_vector<float>(),
            (Floats{3e38F, inf, 0}));
}

TEST(Compositions, XlogyIsZeroAtZero) {
  Tensor a = tensor({0.0, 0.0, 0.0}), b = tensor({0.0, inf, -1.0});
  a.requires_grad_();
  Tensor y = xlogy(a, b);
  y.sum().backward();
  EXPECT_EQ(y.to_vector<float>(), (Floats{0, 0, 0}));
  EXPECT_EQ(a.grad().to_vector<float>(), (Floats{0, 0, 0}));
  EXPECT_TRUE(std::isnan(xlogy(tensor({0.0}), tensor({NAN})).item<float>()));
}

TEST(Compositions, ErrorsOfActivations) {
  EXPECT_ERROR(glu(ramp({3})), "glu: halving dimension must be even, but dimension 0 is size 3");
  EXPECT_ERROR(glu(scalar(1)), "glu does not support 0-dimensional tensors");
  EXPECT_ERROR(prelu(ramp({2, 3}), ramp({2})), "Found parameter numbers = 2 and channel size = 3");
  EXPECT_ERROR(prelu(ramp({3}), ramp({3})), "Found parameter numbers = 3 and channel size = 1");
  EXPECT_ERROR(prelu(scalar(1), ramp({3})), "Not allow zero-dim input tensor");
  EXPECT_ERROR(prelu(ramp({2, 3}), ramp({1, 3})), "Expected `weight` to be a scalar or 1D tensor");
  EXPECT_ERROR(prelu(ramp({2, 3}), ramp({3}).to(f64)), "prelu: Type promoting not supported");
  EXPECT_ERROR(heaviside(ramp({2}), ramp({2}).to(i64)), "different dtypes: found f32 and i64");
  EXPECT_ERROR(positive(ramp({2}) > 0), "not supported on bool");
  EXPECT_ERROR(frac(arange(3)), "frac()");
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

TEST(Compositions, PaddingOfEveryMode) {
  Tensor x = ramp({1, 4});
  EXPECT_EQ(pad(x, {2, 1}, "reflect").to_vector<float>(), (Floats{2, 1, 0, 1, 2, 3, 2}));
  EXPECT_EQ(pad(x, {2, 1}, "replicate").to_vector<float>(), (Floats{0, 0, 0, 1, 2, 3, 3}));
  EXPECT_EQ(pad(x, {2, 1}, "circular").to_vector<float>(), (Floats{2, 3, 0, 1, 2, 3, 0}));
  EXPECT_EQ(pad(x, {-1, 2}, "reflect").to_vector<float>(), (Floats{1, 2, 3, 2, 1}));
  EXPECT_EQ(pad(x, {1, 0}, "constant", 7).to_vector<float>(), (Floats{7, 0, 1, 2, 3}));
  EXPECT_ERROR(pad(x, {4, 0}, "reflect"),
               "Padding size should be less than the corresponding input dimension");
  EXPECT_ERROR(pad(x, {5, 0}, "circular"), "wrapping around more than once");
  EXPECT_ERROR(pad(x, {1, 0}, "mirror"), "found \"mirror\"");
  EXPECT_ERROR(pad(x, {1, 0, 1, 0}, "reflect"), "one or two dimensions more");
  EXPECT_ERROR(pad(x, {-5, 1}, "reflect"), "takes more than the input size 4 away");
  EXPECT_ERROR(pad(empty({1, 0}), {1, 0}, "replicate"), "needs a dimension with elements");
}

TEST(Compositions, ErrorsOfShapes) {
  Tensor x = ramp({2, 3});
  EXPECT_ERROR(hsplit(x, 2), "hsplit attempted to split along dimension 1, but the size of the dimension 3");
  EXPECT_ERROR(vsplit(ramp({3}), 1), "vsplit requires a tensor with at least 2 dimensions");
  EXPECT_ERROR(dsplit(x, 1), "dsplit requires a tensor with at least 3 dimensions");
  EXPECT_ERROR(tensor_split(x, 0), "number of sections must be larger than 0, got 0");
  EXPECT_ERROR(block_diag({ramp({1, 1, 1})}), "Input 0 has 3 dimensions");
  EXPECT_ERROR(cartesian_prod({x}), "Expect a 1D vector");
  EXPECT_ERROR(broadcast_tensors({ramp({2}), ramp({3})}), "must match the size of tensor");
  EXPECT_ERROR(rot90(x, 1, {0, 0}), "expected rotation dims to be different");
  EXPECT_ERROR(fliplr(ramp({3})), "Input must be >= 2-d");
  EXPECT_ERROR(pixel_shuffle(ramp({1, 3, 2, 2}), 2), "input.size(-3)=3 is not divisible by 4");
  EXPECT_ERROR(pixel_unshuffle(ramp({1, 3, 3, 2}), 2), "3 x 2 is not divisible by 2");
  EXPECT_ERROR(channel_shuffle(ramp({1, 3, 2}), 2), "Got 3 channels and 2 groups");
  EXPECT_ERROR(diag_embed(x, 0, 1, 1), "diagonal dimensions cannot be identical 1, 1");
  EXPECT_ERROR(select_scatter(x, ramp({2}), 0, 0), "src size = [2], part size = [3]");
  EXPECT_ERROR(slice_scatter(x, x, 0, 1), "src size = [2, 3], part size = [1, 3]");
  EXPECT_ERROR(tril_indices(-1, 2), "row and col must be non-negative, found -1 and 2");
  EXPECT_ERROR(index_fill(x, 0, tensor({0}), x), "0-dimensional value tensor");
  EXPECT_ERROR(take_along_dim(x, tensor({0}), 0), "should have the same number of dimensions");
}

//===----------------------------------------------------------------------===//
// Products and distances
//===----------------------------------------------------------------------===//

TEST(Compositions, ErrorsOfProducts) {
  Tensor x = ramp({2, 3});
  EXPECT_ERROR(tensordot(x, x, 1), "first has size 3 in dim 1 and second has size 2 in dim 0");
  EXPECT_ERROR(tensordot(x, x, 3), "got dims=3 for [2, 3] and [2, 3]");
  EXPECT_ERROR(tensordot(x, x, {0, 0}, {0, 0}), "appears multiple times");
  EXPECT_ERROR(tensordot(x, x, {0}, {0, 1}), "both dimension lists should have same length");
  EXPECT_ERROR(tensordot(x, x.to(f64), {0}, {0}), "same dtype, found f32 and f64");
  EXPECT_ERROR(cross(ramp({2}), ramp({2})), "dimension of size 3 missing");
  EXPECT_ERROR(cross(x, x, 0), "inputs dimension 0 must have length 3");
  EXPECT_ERROR(cdist(x, ramp({2, 2})), "same number of columns");
  EXPECT_ERROR(cdist(x, x, -1), "non-negative p values");
  EXPECT_ERROR(cosine_similarity(arange(3), arange(3), 0), "cosine_similarity()");
  EXPECT_ERROR(cov(ramp({1, 1, 1})), "two or fewer dimensions");
  EXPECT_ERROR(diff(scalar(1)), "at least one-dimensional");
  EXPECT_EQ(tensordot(ramp({2, 3}), ramp({4, 3}), {1}, {1}).sizes(), (Shape{2, 4}));
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

TEST(Compositions, ErrorsOfLosses) {
  Tensor x = ramp({2, 3});
  EXPECT_ERROR(nn::binary_cross_entropy(x, ramp({3})), "Please ensure they have the same size");
  const Tensor outside = tensor({1.5, 1.5, -0.5, -0.5, NAN}), target = tensor({1., 0., 1., 0., 1.});
  for (const bool requires_grad : {false, true}) {
    const Tensor p = outside.clone().requires_grad_(requires_grad);
    EXPECT_TRUE(isnan(nn::binary_cross_entropy(p, target, {}, nn::Reduction::none)).all().item<bool>());
  }
  EXPECT_ERROR(nn::gaussian_nll_loss(x, x, ramp({3})), "var is of incorrect size [3]");
  EXPECT_ERROR(nn::multi_margin_loss(x, tensor({0, 1}), {.p = 3}), "only p == 1 and p == 2");
  EXPECT_ERROR(nn::multi_margin_loss(x, tensor({0})), "inconsistent target size, expected [2]");
  EXPECT_ERROR(nn::multi_margin_loss(x, tensor({0, 1}), {.weight = ramp({2})}), "inconsistent weight size");
  EXPECT_ERROR(nn::cosine_embedding_loss(x, x, scalar(1)), "0D target tensor expects 1D input tensors");
  EXPECT_ERROR(nn::triplet_margin_loss(x, x, ramp({3})), "anchor 2D, positive 2D, and negative 1D");
  EXPECT_ERROR(nn::margin_ranking_loss(x, x, x, 0, nn::Reduction::batchmean), "no reduction 'batchmean'");
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

TEST(Compositions, ModulesPrintAsInPyTorch) {
  nn::Sequential net(nn::PReLU(), nn::Hardtanh(), nn::Softplus(), nn::GLU(), nn::RMSNorm(4), nn::Mish(),
                     nn::PixelShuffle(2), nn::Threshold(0.1, 20), nn::Hardshrink());
  EXPECT_EQ(nn::to_string(net), "Sequential(\n"
                                "  (0): PReLU(num_parameters=1)\n"
                                "  (1): Hardtanh(min_val=-1.0, max_val=1.0)\n"
                                "  (2): Softplus(beta=1.0, threshold=20.0)\n"
                                "  (3): GLU(dim=-1)\n"
                                "  (4): RMSNorm([4], eps=None, elementwise_affine=True)\n"
                                "  (5): Mish()\n"
                                "  (6): PixelShuffle(upscale_factor=2)\n"
                                "  (7): Threshold(threshold=0.1, value=20.0)\n"
                                "  (8): Hardshrink(0.5)\n"
                                ")\n"
                                "5 parameters (5 trained), 0 buffers, 20 bytes");
  EXPECT_EQ(net.parameters().size(), 2U);
  EXPECT_ERROR(nn::PReLU(0), "at least one parameter");
}

TEST(Compositions, ANetworkOfThemTrains) {
  manual_seed(3);
  nn::Linear in(4, 8), out(4, 1);
  nn::RMSNorm norm(8);
  nn::Sequential net(in, norm, nn::GLU(), nn::Mish(), out);
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  Tensor x = randn({64, 4}), y = (x.select(1, 0) > 0).to(f32).unsqueeze(1);
  auto step = compile([&](const Tensor &a, const Tensor &b) {
    sgd.zero_grad();
    Tensor loss = F::binary_cross_entropy(F::sigmoid(net(a)), b);
    loss.backward();
    sgd.step();
    return loss;
  });
  float first = step(x, y).item<float>(), last = 0;
  for (int i = 0; i < 150; ++i)
    last = step(x, y).item<float>();
  EXPECT_LT(last, first / 3) << first;
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

TEST(Compositions, LeavesAreToldApart) {
  Tensor a = ramp({2}), b = ramp({2});
  b.requires_grad_();
  EXPECT_TRUE(a.is_leaf());
  EXPECT_TRUE(b.is_leaf());
  EXPECT_TRUE((a * 2).is_leaf());
  EXPECT_FALSE((b * 2).is_leaf());
  EXPECT_TRUE((b * 2).detach().is_leaf());
}

TEST(Compositions, NewTensorsFollowAnother) {
  Tensor a = ramp({2}).to(f64);
  EXPECT_EQ(a.new_zeros({3}).dtype(), f64);
  EXPECT_EQ(a.new_full({2}, 5, i64).to_vector<int64_t>(), (std::vector<int64_t>{5, 5}));
  EXPECT_EQ(a.new_ones({1, 2}).sizes(), (Shape{1, 2}));
  EXPECT_EQ(ramp({2}).type_as(a).dtype(), f64);
  EXPECT_EQ(a.half().dtype(), f16);
  EXPECT_EQ(a.nbytes(), 16);
  EXPECT_TRUE(a.is_floating_point());
}

TEST(Compositions, DrawsInPlace) {
  manual_seed(5);
  Tensor a = empty({4096});
  a.uniform_(2, 4);
  EXPECT_GE(a.min().item<float>(), 2);
  EXPECT_LT(a.max().item<float>(), 4);
  EXPECT_NEAR(a.mean().item<float>(), 3, 0.05);
  a.normal_(1, 0.5);
  EXPECT_NEAR(a.mean().item<float>(), 1, 0.05);
  EXPECT_NEAR(a.std().item<float>(), 0.5, 0.03);
  Tensor bits = zeros({4096}, i64);
  bits.bernoulli_(0.25);
  EXPECT_NEAR(static_cast<double>(bits.sum().item<int64_t>()) / 4096, 0.25, 0.03);
  EXPECT_ERROR(bits.bernoulli_(2), "to be in [0, 1], but got p=2");
  Tensor leaf = zeros({2});
  leaf.requires_grad_();
  EXPECT_ERROR(leaf.uniform_(), "leaf");
}

//===----------------------------------------------------------------------===//
// A batch whose size is the call's
//===----------------------------------------------------------------------===//

TEST(Compositions, WithADynamicBatch) {
  Dim batch("batch", 1, 64);
  auto program = [](const Tensor &x) {
    Tensor image = pixel_shuffle(pad(x, {1, 1, 1, 1}, "reflect"), 2);
    Tensor rows = normalize(image.flatten(1), 2, {1});
    return rms_norm(rows, {100}).sum({1}) + logaddexp(rows, rows.flip({1})).mean({1});
  };
  auto dynamic = compile(program, {spec({batch, 4, 3, 3}, f32)});
  for (int64_t n : {1, 3}) {
    Tensor x = ramp({n, 4, 3, 3});
    EXPECT_EQ(dynamic(x).to_vector<float>(), program(x).to_vector<float>()) << n;
  }
}
