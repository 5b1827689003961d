//===- MoreLayersTest.cpp - Functions as modules ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module gives what its function gives, and prints as PyTorch's. Functions that draw have their limits and
// means here; test/parity compares the others.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;
namespace F = weft::nn::functional;

namespace {
Tensor image() { return sin(arange(2 * 4 * 6 * 6, f32)).reshape({2, 4, 6, 6}); }
Tensor rows() { return sin(arange(2 * 4 * 6, f32)).reshape({2, 4, 6}); }
Tensor volume() { return sin(arange(2 * 4 * 4 * 4, f32)).reshape({1, 2, 4, 4, 4}); }
void expectEqual(const Tensor &a, const Tensor &b, const char *what) {
  EXPECT_EQ(a.sizes(), b.sizes()) << what;
  EXPECT_EQ(floats(a), floats(b)) << what;
}
std::string textOf(const nn::Module &module) {
  std::string text = nn::to_string(module);
  return text.substr(0, text.find('\n'));
}
} // namespace

#define WEFT_SAME(module, function) expectEqual(module, function, #module)

TEST(MoreLayers, Padding) {
  Tensor x = image(), y = rows(), z = volume();
  WEFT_SAME(nn::ConstantPad2d({1, 2, 3, 4}, 0.5)(x), pad(x, {1, 2, 3, 4}, 0.5));
  WEFT_SAME(nn::ConstantPad1d(1, 0.5)(y), pad(y, {1, 1}, 0.5));
  WEFT_SAME(nn::ConstantPad3d(1, 0.5)(z), pad(z, {1, 1, 1, 1, 1, 1}, 0.5));
  WEFT_SAME(nn::ZeroPad1d(2)(y), pad(y, {2, 2}));
  WEFT_SAME(nn::ZeroPad2d(2)(x), pad(x, {2, 2, 2, 2}));
  WEFT_SAME(nn::ZeroPad3d(2)(z), pad(z, {2, 2, 2, 2, 2, 2}));
  WEFT_SAME(nn::ReflectionPad1d(2)(y), pad(y, {2, 2}, "reflect"));
  WEFT_SAME(nn::ReflectionPad2d({1, 2, 0, 1})(x), pad(x, {1, 2, 0, 1}, "reflect"));
  WEFT_SAME(nn::ReflectionPad3d(1)(z), pad(z, {1, 1, 1, 1, 1, 1}, "reflect"));
  WEFT_SAME(nn::ReplicationPad1d({2, 0})(y), pad(y, {2, 0}, "replicate"));
  WEFT_SAME(nn::ReplicationPad2d(1)(x), pad(x, {1, 1, 1, 1}, "replicate"));
  WEFT_SAME(nn::ReplicationPad3d(1)(z), pad(z, {1, 1, 1, 1, 1, 1}, "replicate"));
  WEFT_SAME(nn::CircularPad1d(1)(y), pad(y, {1, 1}, "circular"));
  WEFT_SAME(nn::CircularPad2d(1)(x), pad(x, {1, 1, 1, 1}, "circular"));
  WEFT_SAME(nn::CircularPad3d(1)(z), pad(z, {1, 1, 1, 1, 1, 1}, "circular"));
  EXPECT_EQ(textOf(nn::ConstantPad2d(1, 0.5)), "ConstantPad2d(padding=(1, 1, 1, 1), value=0.5)");
  EXPECT_EQ(textOf(nn::ReflectionPad1d(2)), "ReflectionPad1d((2, 2))");
  EXPECT_ERROR(nn::ZeroPad2d({1, 2, 3}), "one number for all sides or 4 numbers");
}

TEST(MoreLayers, Images) {
  Tensor x = image(), y = rows();
  WEFT_SAME(nn::Upsample({.scale_factor = {2}})(x), interpolate(x, {.scale_factor = {2}}));
  WEFT_SAME(nn::Upsample({.scale_factor = 2})(x), interpolate(x, {.scale_factor = {2, 2}}));
  WEFT_SAME(nn::UpsamplingNearest2d({9, 8})(x), upsample_nearest(x, {9, 8}));
  WEFT_SAME(nn::UpsamplingBilinear2d({9, 8})(x), upsample_bilinear(x, {9, 8}));
  WEFT_SAME(upsample(x, {.size = 3}), interpolate(x, {.size = 3}));
  WEFT_SAME(nn::ChannelShuffle(2)(x), channel_shuffle(x, 2));
  WEFT_SAME(nn::Unfold(3, 1, 1)(x), F::unfold(x, 3, 1, 1));
  EXPECT_EQ(F::unfold(x, 3, 1, 1).sizes(), (Shape{2, 36, 36}));
  WEFT_SAME(nn::LPPool1d(2, 3)(y), lp_pool1d(y, 2, 3));
  WEFT_SAME(nn::LPPool2d(2, {2, 3}, {.stride = 1})(x), lp_pool2d(x, 2, {2, 3}, {.stride = 1}));
  WEFT_SAME(nn::LPPool3d(2, 2)(volume()), lp_pool3d(volume(), 2, 2));
  auto [values, indices] = max_pool2d_with_indices(x, 2);
  WEFT_SAME(nn::MaxUnpool2d(2)(values, indices), max_unpool2d(values, indices, 2));
  auto [lines, places] = max_pool1d_with_indices(y, 2);
  WEFT_SAME(nn::MaxUnpool1d(2)(lines, places), max_unpool1d(lines, places, 2));
  auto [boxes, corners] = max_pool3d_with_indices(volume(), 2);
  WEFT_SAME(nn::MaxUnpool3d(2)(boxes, corners), max_unpool3d(boxes, corners, 2));
  WEFT_SAME(nn::Softmax2d()(x), softmax(x, 1));
  WEFT_SAME(nn::LocalResponseNorm(3)(x), local_response_norm(x, 3));
  EXPECT_EQ(textOf(nn::Upsample({.scale_factor = {2}, .mode = "bilinear"})),
            "Upsample(scale_factor=2.0, mode='bilinear')");
  EXPECT_EQ(textOf(nn::Fold({4, 5}, 2)),
            "Fold(output_size=(4, 5), kernel_size=2, dilation=1, padding=0, stride=1)");
  EXPECT_EQ(textOf(nn::LPPool2d(2, 3)),
            "LPPool2d(norm_type=2.0, kernel_size=3, stride=None, ceil_mode=False)");
  EXPECT_EQ(textOf(nn::MaxUnpool1d(2)), "MaxUnpool1d(kernel_size=(2,), stride=(2,), padding=(0,))");
}

// Each element is in as many windows as its image has when it is cut and put together.
TEST(MoreLayers, FoldIsTheAdjointOfUnfold) {
  for (auto [dilation, padding, stride] : {std::tuple{1, 0, 1}, {2, 1, 1}, {1, 1, 2}}) {
    Tensor x = image(), cut = F::unfold(x, {2, 3}, dilation, padding, stride);
    Tensor y = cos(arange(cut.numel(), f32)).reshape(cut.sizes());
    Tensor folded = nn::Fold({6, 6}, {2, 3}, dilation, padding, stride)(y);
    EXPECT_EQ(folded.sizes(), x.sizes());
    EXPECT_NEAR((cut * y).sum().item<float>(), (x * folded).sum().item<float>(), 2e-3);
    Tensor counts = fold(F::unfold(ones_like(x), {2, 3}, dilation, padding, stride), {6, 6}, {2, 3}, dilation,
                         padding, stride);
    Tensor again = fold(cut, {6, 6}, {2, 3}, dilation, padding, stride);
    EXPECT_LT((again - x * counts).abs().amax().item<float>(), 1e-5);
    WEFT_SAME(fold(y[0], {6, 6}, {2, 3}, dilation, padding, stride), folded[0]);
  }
  EXPECT_ERROR(fold(zeros({1, 7, 25}), {6, 6}, 2), "fold takes [batch, channels * 4, 25]");
  EXPECT_ERROR(fold(zeros({1, 4, 24}), {6, 6}, 2), "fold takes [batch, channels * 4, 25]");
  EXPECT_ERROR(fold(zeros({1, 4, 25}), {6, 6}, 0), "at least 1");
  EXPECT_ERROR(fold(zeros({1, 4, 25}), {6, 6, 6}, 2), "one number or two");
}

TEST(MoreLayers, InstanceNorm) {
  Tensor x = image();
  nn::InstanceNorm2d plain(4);
  WEFT_SAME(plain(x), instance_norm(x));
  EXPECT_TRUE(plain.parameters().empty());
  nn::InstanceNorm2d tracked(4, {.affine = true, .track_running_stats = true});
  EXPECT_EQ(tracked.parameters().size(), 2U);
  EXPECT_EQ(tracked.buffers().size(), 3U);
  Tensor mean = zeros({4}), variance = ones({4});
  WEFT_SAME(tracked(x),
            instance_norm(x, mean, variance, {.weight = ones({4}), .bias = zeros({4}), .training = true}));
  WEFT_SAME(tracked.running_mean, mean);
  WEFT_SAME(tracked.running_var, variance);
  tracked.eval();
  WEFT_SAME(tracked(x),
            instance_norm(x, mean, variance, {.weight = ones({4}), .bias = zeros({4}), .training = false}));
  WEFT_SAME(plain(x[0]), plain(x)[0]);
  WEFT_SAME(nn::InstanceNorm1d(4)(rows()), instance_norm(rows()));
  WEFT_SAME(nn::InstanceNorm3d(2)(volume()), instance_norm(volume()));
  EXPECT_EQ(textOf(plain),
            "InstanceNorm2d(4, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False)");
  EXPECT_ERROR(nn::InstanceNorm2d(0), "at least 1");
  EXPECT_ERROR(plain(rows()[0]), "takes 3 or 4 dimensions");
}

TEST(MoreLayers, TwoOperands) {
  Tensor a = rows(), b = cos(rows());
  WEFT_SAME(nn::CosineSimilarity(2)(a, b), cosine_similarity(a, b, 2));
  WEFT_SAME(nn::PairwiseDistance(1)(a, b), pairwise_distance(a, b, 1));
  nn::Bilinear layer(6, 6, 3);
  EXPECT_EQ(layer.weight.sizes(), (Shape{3, 6, 6}));
  WEFT_SAME(layer(a, b), bilinear(a, b, layer.weight, layer.bias));
  EXPECT_LE(layer.weight.abs().amax().item<float>(), 1 / std::sqrt(6.0F));
  EXPECT_EQ(nn::Bilinear(2, 3, 4, false).parameters().size(), 1U);
  EXPECT_EQ(textOf(layer), "Bilinear(in1_features=6, in2_features=6, out_features=3, bias=True)");
  EXPECT_ERROR(nn::Bilinear(0, 1, 1), "at least 1");
}

TEST(MoreLayers, Losses) {
  using nn::Reduction;
  Tensor a = rows()[0], b = cos(rows())[0], sign = where(a > 0, 1.0, -1.0).select(1, 0),
         signs = where(b > 0, 1.0, -1.0);
  Tensor zeroOne = (b > 0).to(f32), classes = Tensor::from({1, 0, 5, 2}, {4});
  WEFT_SAME(nn::CosineEmbeddingLoss(0.1)(a, b, sign), nn::cosine_embedding_loss(a, b, sign, 0.1));
  WEFT_SAME(nn::MarginRankingLoss(0.1)(a, b, signs), nn::margin_ranking_loss(a, b, signs, 0.1));
  WEFT_SAME(nn::HingeEmbeddingLoss(0.5)(a, signs), nn::hinge_embedding_loss(a, signs, 0.5));
  WEFT_SAME(nn::SoftMarginLoss(Reduction::sum)(a, signs), nn::soft_margin_loss(a, signs, Reduction::sum));
  WEFT_SAME(nn::PoissonNLLLoss()(a, zeroOne), nn::poisson_nll_loss(a, zeroOne));
  WEFT_SAME(nn::GaussianNLLLoss()(a, b, ones({4, 6})), nn::gaussian_nll_loss(a, b, ones({4, 6})));
  WEFT_SAME(nn::TripletMarginLoss()(a, b, a * b), nn::triplet_margin_loss(a, b, a * b));
  auto distance = [](const Tensor &x, const Tensor &y) { return (x - y).abs().sum(-1); };
  WEFT_SAME(nn::TripletMarginWithDistanceLoss(distance)(a, b, a * b),
            nn::triplet_margin_with_distance_loss(a, b, a * b, distance));
  Tensor weight = arange(6, f32);
  nn::MultiLabelSoftMarginLoss weighted(weight);
  WEFT_SAME(weighted(a, zeroOne), nn::multilabel_soft_margin_loss(a, zeroOne, weight));
  EXPECT_EQ(weighted.buffers().size(), 1U);
  WEFT_SAME(nn::MultiLabelSoftMarginLoss()(a, zeroOne), nn::multilabel_soft_margin_loss(a, zeroOne));
  nn::MultiMarginLoss margin({.p = 2, .weight = weight});
  WEFT_SAME(margin(a, classes), nn::multi_margin_loss(a, classes, {.p = 2, .weight = weight}));
  EXPECT_EQ(margin.buffers().size(), 1U);
  Tensor targets =
      Tensor::from({1, 0, -1, 2, 3, 4, 5, -1, 0, 0, 0, 0, -1, 1, 1, 1, 1, 1, 0, 1, 2, 3, 4, 5}, {4, 6});
  WEFT_SAME(nn::MultiLabelMarginLoss()(a, targets), nn::multilabel_margin_loss(a, targets));
  EXPECT_ERROR(nn::multilabel_margin_loss(a, classes), "class numbers of that shape");
  EXPECT_ERROR(nn::multilabel_margin_loss(a, targets, Reduction::batchmean), "none, mean or sum");
}

// What is dropped is a whole channel, and the mean stays: 4,000 channels, four standard errors.
TEST(MoreLayers, DropoutOfChannels) {
  manual_seed(1);
  Tensor x = ones({50, 80, 2, 3});
  for (const Tensor &y : {nn::Dropout2d(0.25)(x), dropout1d(x.flatten(2), 0.25).reshape({50, 80, 2, 3}),
                          dropout3d(x.unsqueeze(2), 0.25).squeeze(2)}) {
    EXPECT_TRUE((y == y.slice(3, 0, 1).slice(2, 0, 1)).all().item<bool>());
    EXPECT_TRUE(((y == 0) | (abs(y - 1 / 0.75) < 1e-6)).all().item<bool>());
    EXPECT_NEAR(y.mean().item<float>(), 1, 4 * std::sqrt(0.25 / 0.75 / 4000));
  }
  EXPECT_EQ(floats(dropout1d(ones({3, 4}), 1)), Floats(12, 0)); // without a batch
  nn::Dropout1d layer;
  layer.eval();
  WEFT_SAME(layer(x), x);
  EXPECT_EQ(textOf(layer), "Dropout1d(p=0.5, inplace=False)");
  EXPECT_ERROR(dropout2d(ones({3}), 0.5), "batch and channels");
  EXPECT_ERROR(dropout2d(x, 1.5), "between 0 and 1");
  EXPECT_ERROR(alpha_dropout(arange(3), 0.5, true), "floating-point");
}

TEST(MoreLayers, DrawsThatKeepMoments) {
  manual_seed(2);
  const int64_t n = 40000;
  Tensor x = selu(randn({n}));
  Tensor y = nn::AlphaDropout(0.3)(x);
  EXPECT_NEAR(y.mean().item<float>(), x.mean().item<float>(), 4 * 1.0 / 200);
  EXPECT_NEAR(y.std().item<float>(), x.std().item<float>(), 0.03);
  Tensor channels = nn::FeatureAlphaDropout(0.5)(ones({10, 10, 4}));
  EXPECT_TRUE((channels == channels.slice(2, 0, 1)).all().item<bool>());
  WEFT_SAME(feature_alpha_dropout(x.reshape({10, -1})), x.reshape({10, -1}));
  Tensor slopes = -nn::RReLU(0.1, 0.3)(full({n}, -1.0));
  EXPECT_GE(slopes.amin().item<float>(), 0.1F);
  EXPECT_LE(slopes.amax().item<float>(), 0.3F);
  EXPECT_NEAR(slopes.mean().item<float>(), 0.2, 4 * 0.2 / std::sqrt(12.0) / 200);
  EXPECT_EQ(textOf(nn::RReLU()), "RReLU(lower=0.125, upper=0.3333333333333333)");
  EXPECT_ERROR(rrelu(x, 1, 0), "Lower bound should be less");
}

// The first of two classes of logits 0 and 1 is chosen with probability 1 / (1 + e).
TEST(MoreLayers, GumbelSoftmax) {
  manual_seed(3);
  Tensor logits = Tensor::from(std::vector<float>{0, 1}, {1, 2}).expand({20000, 2}).clone().requires_grad_();
  Tensor hard = gumbel_softmax(logits, 0.5, /*hard=*/true);
  Tensor rounded = hard.round();
  EXPECT_LT((hard - rounded).abs().amax().item<float>(), 1e-6);
  EXPECT_NEAR(rounded.select(1, 0).mean().item<float>(), 1 / (1 + std::exp(1.0)),
              4 * 0.45 / std::sqrt(20000.0));
  hard.select(1, 0).sum().backward();
  EXPECT_GT(logits.grad().abs().sum().item<float>(), 0);
  Tensor soft = gumbel_softmax(logits, 2);
  EXPECT_LT((soft.sum(1) - 1).abs().amax().item<float>(), 1e-5);
  EXPECT_ERROR(gumbel_softmax(logits, 0), "tau must be positive");
}

TEST(MoreLayers, Windows) {
  EXPECT_EQ(floats(bartlett_window(4)), (Floats{0, 0.5, 1, 0.5}));
  EXPECT_EQ(floats(hann_window(1)), (Floats{1}));
  EXPECT_EQ(hamming_window(0).sizes(), (Shape{0}));
  EXPECT_EQ(blackman_window(3, true, {.dtype = f64}).dtype(), f64);
  EXPECT_ERROR(hann_window(-1), "non-negative window_length");
  EXPECT_ERROR(kaiser_window(3, true, 12, {.dtype = i64}), "floating point");
}

TEST(MoreLayers, Histograms) {
  Tensor x = Tensor::from(std::vector<float>{1, 2, 1}, {3});
  auto [counts, edges] = histogram(x, 4, {.min = 0, .max = 3});
  EXPECT_EQ(floats(counts), (Floats{0, 2, 1, 0}));
  EXPECT_EQ(floats(edges), (Floats{0, 0.75, 1.5, 2.25, 3}));
  EXPECT_EQ(floats(histogram(x, 2).hist), (Floats{2, 1})); // from the smallest to the largest
  EXPECT_ERROR(histogram(x, 0), "bins must be > 0");
  EXPECT_ERROR(histogram(x, 2, {.min = 1}), "both min and max");
  EXPECT_ERROR(histogram(x, 2, {.min = 1, .max = 0}), "rise");
  EXPECT_ERROR(histogram(arange(3), x), "of f32 or f64");
  EXPECT_ERROR(histogram(x, x, {.weight = ones({2})}), "a weight for each element");
}

TEST(MoreLayers, PartsOfNumbers) {
  Tensor x = Tensor::from(std::vector<float>{0, 1, -3, 0.25, INFINITY, 1e-40F, 3e38F}, {7});
  auto [mantissa, exponent] = frexp(x);
  EXPECT_EQ(exponent.dtype(), i32);
  const Floats numbers = floats(x), parts = floats(mantissa);
  const auto powers = exponent.to_vector<int>();
  for (size_t i = 0; i < numbers.size(); ++i) {
    int power = 0;
    float part = std::frexp(numbers[i], &power);
    EXPECT_EQ(parts[i], part) << numbers[i];
    if (std::isfinite(numbers[i]))
      EXPECT_EQ(powers[i], power) << numbers[i];
  }
  EXPECT_ERROR(frexp(arange(3)), "only supports floating-point dtypes");
  EXPECT_ERROR(linalg::householder_product(zeros({2, 3}), zeros({3})), "n at most m");
}

TEST(MoreLayers, AffineGrid) {
  // The identity: the centres of the pixels.
  Tensor theta = Tensor::from(std::vector<float>{1, 0, 0, 0, 1, 0}, {1, 2, 3}), x = image().slice(0, 0, 1);
  Tensor grid = affine_grid(theta, {1, 4, 6, 6});
  EXPECT_EQ(grid.sizes(), (Shape{1, 6, 6, 2}));
  EXPECT_LT((grid_sample(x, grid) - x).abs().amax().item<float>(), 1e-5);
  Tensor corners = affine_grid(theta, {1, 4, 3, 3}, true);
  EXPECT_EQ(floats(corners[0][0]), (Floats{-1, -1, 0, -1, 1, -1}));
  Tensor solid = affine_grid(eye(3, 4).unsqueeze(0), {1, 2, 4, 4, 4});
  EXPECT_LT((grid_sample(volume(), solid) - volume()).abs().amax().item<float>(), 1e-5);
  EXPECT_ERROR(affine_grid(theta, {2, 4, 6, 6}), "affine_grid takes theta [n, 2, 3]");
}

TEST(Transformer, ChecksFeaturesAndBatchesAndDrawsItsWeights) {
  manual_seed(0);
  nn::Transformer model({.d_model = 8,
                         .nhead = 2,
                         .num_encoder_layers = 1,
                         .num_decoder_layers = 1,
                         .layer = {.dim_feedforward = 16, .dropout = 0}});
  EXPECT_EQ(model(ones({5, 2, 8}), ones({3, 2, 8})).sizes(), Shape({3, 2, 8}));
  EXPECT_EQ(model(ones({5, 8}), ones({3, 8})).sizes(), Shape({3, 8}));
  EXPECT_ERROR(model(ones({5, 2, 7}), ones({3, 2, 8})),
               "the feature number of src and tgt must be equal to d_model, 8");
  EXPECT_ERROR(model(ones({5, 2, 8}), ones({3, 4, 8})), "the batch number of src and tgt must be equal");
  EXPECT_ERROR(model(ones({5, 2, 8}), ones({3, 8})), "the batch number of src and tgt must be equal");
  EXPECT_ERROR(nn::Transformer({.d_model = 9, .nhead = 2, .num_encoder_layers = 1}),
               "divisible by num_heads");
  EXPECT_ERROR(nn::Transformer({.d_model = 8, .nhead = 2, .num_encoder_layers = 1, .num_decoder_layers = -1}),
               "not negative, found -1");
  // Uniform between -1 and 1 times sqrt(6 / (rows + columns)), biases of attention 0.
  const Tensor weight = model.get_parameter("encoder.layers.0.linear1.weight");
  EXPECT_LE(weight.abs().max().item<float>(), std::sqrt(6.0 / 24));
  EXPECT_GT(weight.abs().max().item<float>(), 0.8 * std::sqrt(6.0 / 24));
  EXPECT_EQ(model.get_parameter("decoder.layers.0.self_attn.in_proj_bias").abs().max().item<float>(), 0);
}

TEST(MoreLayers, TakeSizesInBraces) {
  nn::LayerNorm norm({3, 4}), one({4}), exact({3, 4}, 1e-6), number{4, 1e-6};
  EXPECT_EQ(norm.weight.sizes(), (Shape{3, 4}));
  EXPECT_EQ(norm(ones({2, 3, 4})).sizes(), (Shape{2, 3, 4}));
  EXPECT_EQ(one.weight.sizes(), Shape{4});
  EXPECT_EQ(exact.weight.sizes(), (Shape{3, 4}));
  EXPECT_EQ(number.weight.sizes(), Shape{4});
  nn::RMSNorm rms({3, 4});
  EXPECT_EQ(rms.weight.sizes(), (Shape{3, 4}));
  const Tensor x = countTo(16).reshape({1, 1, 4, 4});
  nn::Unfold windows({2, 2}), wide({2, 2}, 1, 1, {2, 2});
  EXPECT_TRUE(equal(windows(x), nn::functional::unfold(x, 2)));
  EXPECT_TRUE(equal(wide(x), nn::functional::unfold(x, 2, 1, 1, 2)));
  const ValuesIndices most = max_pool2d_with_indices(x, 2);
  nn::MaxUnpool2d unpool({2, 2});
  EXPECT_TRUE(equal(unpool(most.values, most.indices), max_unpool2d(most.values, most.indices, 2)));
  nn::UpsamplingNearest2d nearest({8, 8});
  nn::UpsamplingBilinear2d bilinear({8, 8});
  EXPECT_TRUE(equal(nearest(x), interpolate(x, {.size = 8})));
  EXPECT_EQ(bilinear(x).sizes(), (Shape{1, 1, 8, 8}));
  nn::MaxPool2d pool({2, 2});
  nn::AdaptiveAvgPool2d adaptive({2, 2});
  nn::ZeroPad2d padded({1, 1, 2, 2});
  EXPECT_TRUE(equal(pool(x), most.values));
  EXPECT_EQ(adaptive(x).sizes(), (Shape{1, 1, 2, 2}));
  EXPECT_EQ(padded(x).sizes(), (Shape{1, 1, 8, 6}));
}

TEST(MoreLayers, AnEmbeddingIsGivenItsTable) { // as by PyTorch's from_pretrained
  nn::Embedding module(3, 2);
  const Tensor table = countTo(6).reshape({3, 2}), index = weft::tensor({2, 0});
  module.weight.set_data(table);
  module.weight.requires_grad_(false);
  EXPECT_EQ(floats(module(index)), Floats({4, 5, 0, 1}));
  EXPECT_FALSE(module(index).requires_grad());
}
