//===- MoreLayers.cpp - Functions as modules ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/more_layers.hpp"

#include "frontend/nn/LayerText.h"
#include "frontend/ops/Ops.h"
#include "weft/init.hpp"
#include "weft/more_losses.hpp"

#include <cmath>

namespace weft::nn {

using namespace frontend;

//===----------------------------------------------------------------------===//
// How they print
//===----------------------------------------------------------------------===//

/// Numbers as Python prints a tuple, or the number that is given for all.
static std::string numbersText(const IntList &given) {
  if (given.size() == 1)
    return std::to_string(given[0]);
  std::string text;
  for (size_t i = 0; i < given.size(); ++i)
    text += (i ? ", " : "(") + std::to_string(given[i]);
  return text + ")";
}
/// The same number as many times as there are sides or extents.
static IntList forEach(IntList given, size_t count) {
  if (given.size() == 1)
    given.resize(count, given[0]);
  return given;
}
/// All digits of a number.
static std::string digitsText(double value) {
  char text[32];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value)
      break;
  }
  return text;
}
static std::string upsampleText(const InterpolateOptions &options) {
  std::string text = "size=" + numbersText(options.size);
  if (!options.scale_factor.empty()) {
    text = "scale_factor=";
    for (size_t i = 0; i < options.scale_factor.size(); ++i)
      text += (i ? ", " : options.scale_factor.size() > 1 ? "(" : "") + numberText(options.scale_factor[i]);
    text += options.scale_factor.size() > 1 ? ")" : "";
  }
  return text + ", mode='" + options.mode + "'";
}
static std::string lpPoolText(double norm, const IntList &kernel, const LpPoolOptions &options) {
  return "norm_type=" + numberText(norm) + ", kernel_size=" + numbersText(kernel) +
         ", stride=" + (options.stride.empty() ? "None" : numbersText(options.stride)) +
         ", ceil_mode=" + boolText(options.ceil_mode);
}
static std::string unpoolText(const IntList &kernel, const IntList &stride, const IntList &padding,
                              size_t extents) {
  auto text = [&](const IntList &given) {
    return extents == 1 ? "(" + std::to_string(given[0]) + ",)" : numbersText(forEach(given, extents));
  };
  return "kernel_size=" + text(kernel) + ", stride=" + text(stride.empty() ? kernel : stride) +
         ", padding=" + text(padding);
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

static IntList sides(const char *name, const IntList &padding, size_t extents, Loc loc) {
  if (padding.size() != 1 && padding.size() != 2 * extents)
    fail("nn::" + std::string(name) + std::to_string(extents) + "d takes one number for all sides or " +
             std::to_string(2 * extents) + " numbers, found " + shapeText(padding),
         loc);
  return forEach(padding, 2 * extents);
}
static std::string padName(const char *name, size_t extents) { return name + std::to_string(extents) + "d"; }

template <size_t Extents>
ConstantPad<Extents>::ConstantPad(IntList padding, double value, Loc loc)
    : Module(padName("ConstantPad", Extents),
             "padding=" + numbersText(sides("ConstantPad", padding, Extents, loc)) +
                 ", value=" + digitsText(value)),
      padding_(sides("ConstantPad", padding, Extents, loc)), value_(value) {}
template <size_t Extents>
ZeroPad<Extents>::ZeroPad(IntList padding, Loc loc)
    : Module(padName("ZeroPad", Extents), numbersText(sides("ZeroPad", padding, Extents, loc))),
      padding_(sides("ZeroPad", padding, Extents, loc)) {}
template <size_t Extents>
ReflectionPad<Extents>::ReflectionPad(IntList padding, Loc loc)
    : Module(padName("ReflectionPad", Extents), numbersText(sides("ReflectionPad", padding, Extents, loc))),
      padding_(sides("ReflectionPad", padding, Extents, loc)) {}
template <size_t Extents>
ReplicationPad<Extents>::ReplicationPad(IntList padding, Loc loc)
    : Module(padName("ReplicationPad", Extents), numbersText(sides("ReplicationPad", padding, Extents, loc))),
      padding_(sides("ReplicationPad", padding, Extents, loc)) {}
template <size_t Extents>
CircularPad<Extents>::CircularPad(IntList padding, Loc loc)
    : Module(padName("CircularPad", Extents), numbersText(sides("CircularPad", padding, Extents, loc))),
      padding_(sides("CircularPad", padding, Extents, loc)) {}
template class ConstantPad<1>;
template class ConstantPad<2>;
template class ConstantPad<3>;
template class ZeroPad<1>;
template class ZeroPad<2>;
template class ZeroPad<3>;
template class ReflectionPad<1>;
template class ReflectionPad<2>;
template class ReflectionPad<3>;
template class ReplicationPad<1>;
template class ReplicationPad<2>;
template class ReplicationPad<3>;
template class CircularPad<1>;
template class CircularPad<2>;
template class CircularPad<3>;

//===----------------------------------------------------------------------===//
// Functions with options
//===----------------------------------------------------------------------===//

Upsample::Upsample(InterpolateOptions options)
    : Module("Upsample", upsampleText(options)), options_(std::move(options)) {}
UpsamplingNearest2d::UpsamplingNearest2d(IntList size, DoubleList scale_factor)
    : Module("UpsamplingNearest2d",
             upsampleText({.size = size, .scale_factor = scale_factor, .mode = "nearest"})),
      size_(std::move(size)), scale_factor_(std::move(scale_factor)) {}
UpsamplingBilinear2d::UpsamplingBilinear2d(IntList size, DoubleList scale_factor)
    : Module("UpsamplingBilinear2d",
             upsampleText({.size = size, .scale_factor = scale_factor, .mode = "bilinear"})),
      size_(std::move(size)), scale_factor_(std::move(scale_factor)) {}
ChannelShuffle::ChannelShuffle(int64_t groups)
    : Module("ChannelShuffle", "groups=" + std::to_string(groups)), groups_(groups) {}
Unfold::Unfold(IntList kernel_size, IntList dilation, IntList padding, IntList stride)
    : Module("Unfold", "kernel_size=" + numbersText(kernel_size) + ", dilation=" + numbersText(dilation) +
                           ", padding=" + numbersText(padding) + ", stride=" + numbersText(stride)),
      kernel_size_(std::move(kernel_size)), dilation_(std::move(dilation)), padding_(std::move(padding)),
      stride_(std::move(stride)) {}
Fold::Fold(IntList output_size, IntList kernel_size, IntList dilation, IntList padding, IntList stride)
    : Module("Fold", "output_size=" + numbersText(output_size) + ", " +
                         "kernel_size=" + numbersText(kernel_size) + ", dilation=" + numbersText(dilation) +
                         ", padding=" + numbersText(padding) + ", stride=" + numbersText(stride)),
      output_size_(std::move(output_size)), kernel_size_(std::move(kernel_size)),
      dilation_(std::move(dilation)), padding_(std::move(padding)), stride_(std::move(stride)) {}
LPPool1d::LPPool1d(double norm_type, IntList kernel_size, LpPoolOptions options)
    : Module("LPPool1d", lpPoolText(norm_type, kernel_size, options)), norm_type_(norm_type),
      kernel_size_(std::move(kernel_size)), options_(std::move(options)) {}
LPPool2d::LPPool2d(double norm_type, IntList kernel_size, LpPoolOptions options)
    : Module("LPPool2d", lpPoolText(norm_type, kernel_size, options)), norm_type_(norm_type),
      kernel_size_(std::move(kernel_size)), options_(std::move(options)) {}
LPPool3d::LPPool3d(double norm_type, IntList kernel_size, LpPoolOptions options)
    : Module("LPPool3d", lpPoolText(norm_type, kernel_size, options)), norm_type_(norm_type),
      kernel_size_(std::move(kernel_size)), options_(std::move(options)) {}
MaxUnpool1d::MaxUnpool1d(IntList kernel_size, IntList stride, IntList padding)
    : Module("MaxUnpool1d", unpoolText(kernel_size, stride, padding, 1)),
      kernel_size_(std::move(kernel_size)), stride_(std::move(stride)), padding_(std::move(padding)) {}
MaxUnpool2d::MaxUnpool2d(IntList kernel_size, IntList stride, IntList padding)
    : Module("MaxUnpool2d", unpoolText(kernel_size, stride, padding, 2)),
      kernel_size_(std::move(kernel_size)), stride_(std::move(stride)), padding_(std::move(padding)) {}
MaxUnpool3d::MaxUnpool3d(IntList kernel_size, IntList stride, IntList padding)
    : Module("MaxUnpool3d", unpoolText(kernel_size, stride, padding, 3)),
      kernel_size_(std::move(kernel_size)), stride_(std::move(stride)), padding_(std::move(padding)) {}
LocalResponseNorm::LocalResponseNorm(int64_t size, double alpha, double beta, double k)
    : Module("LocalResponseNorm", std::to_string(size) + ", alpha=" + numberText(alpha) +
                                      ", beta=" + numberText(beta) + ", k=" + numberText(k)),
      size_(size), alpha_(alpha), beta_(beta), k_(k) {}
Softmax2d::Softmax2d() : Module("Softmax2d") {}
Dropout1d::Dropout1d(double p) : Module("Dropout1d", "p=" + numberText(p) + ", inplace=False"), p_(p) {}
Dropout2d::Dropout2d(double p) : Module("Dropout2d", "p=" + numberText(p) + ", inplace=False"), p_(p) {}
Dropout3d::Dropout3d(double p) : Module("Dropout3d", "p=" + numberText(p) + ", inplace=False"), p_(p) {}
AlphaDropout::AlphaDropout(double p)
    : Module("AlphaDropout", "p=" + numberText(p) + ", inplace=False"), p_(p) {}
FeatureAlphaDropout::FeatureAlphaDropout(double p)
    : Module("FeatureAlphaDropout", "p=" + numberText(p) + ", inplace=False"), p_(p) {}
RReLU::RReLU(double lower, double upper)
    : Module("RReLU", "lower=" + digitsText(lower) + ", upper=" + digitsText(upper)), lower_(lower),
      upper_(upper) {}
CosineSimilarity::CosineSimilarity(int64_t dim, double eps)
    : Module("CosineSimilarity"), dim_(dim), eps_(eps) {}
PairwiseDistance::PairwiseDistance(double p, double eps, bool keepdim)
    : Module("PairwiseDistance"), p_(p), eps_(eps), keepdim_(keepdim) {}

//===----------------------------------------------------------------------===//
// Parameters and buffers
//===----------------------------------------------------------------------===//

template <size_t Extents>
InstanceNorm<Extents>::InstanceNorm(int64_t num_features, InstanceNormLayerOptions options, Loc loc)
    : Module("InstanceNorm" + std::to_string(Extents) + "d",
             std::to_string(num_features) + ", eps=" + numberText(options.eps) +
                 ", momentum=" + numberText(options.momentum) + ", affine=" + boolText(options.affine) +
                 ", track_running_stats=" + boolText(options.track_running_stats)),
      options_(options) {
  if (num_features < 1)
    fail("nn::InstanceNorm needs a number of features of at least 1, found " + std::to_string(num_features),
         loc);
  const bool isTracked = options.track_running_stats;
  weight =
      options.affine ? register_parameter("weight", ones({num_features}, {}, loc), loc) : absent_parameter();
  bias =
      options.affine ? register_parameter("bias", zeros({num_features}, {}, loc), loc) : absent_parameter();
  running_mean =
      isTracked ? register_buffer("running_mean", zeros({num_features}, {}, loc), loc) : absent_parameter();
  running_var =
      isTracked ? register_buffer("running_var", ones({num_features}, {}, loc), loc) : absent_parameter();
  num_batches_tracked =
      isTracked ? register_buffer("num_batches_tracked", zeros({}, {.dtype = DType::i64}, loc), loc)
                : absent_parameter();
}

template <size_t Extents> Tensor InstanceNorm<Extents>::operator()(const Tensor &x, Loc loc) const {
  const auto rank = static_cast<size_t>(x.dim(loc));
  if (rank == Extents + 1) // without a batch
    return (*this)(x.unsqueeze(0, loc), loc).squeeze(0, loc);
  if (rank != Extents + 2)
    fail("nn::InstanceNorm" + std::to_string(Extents) + "d takes " + std::to_string(Extents + 1) + " or " +
             std::to_string(Extents + 2) + " dimensions, found shape " + shapeText(x.sizes(loc)),
         loc, {use(x, loc)});
  return instance_norm(x, running_mean, running_var,
                       {.weight = weight,
                        .bias = bias,
                        .training = is_training() || !options_.track_running_stats,
                        .momentum = options_.momentum,
                        .eps = options_.eps},
                       loc);
}
template class InstanceNorm<1>;
template class InstanceNorm<2>;
template class InstanceNorm<3>;

Bilinear::Bilinear(int64_t in1_features, int64_t in2_features, int64_t out_features, bool has_bias, Loc loc)
    : Module("Bilinear", "in1_features=" + std::to_string(in1_features) + ", in2_features=" +
                             std::to_string(in2_features) + ", out_features=" + std::to_string(out_features) +
                             ", bias=" + boolText(has_bias)) {
  for (int64_t features : {in1_features, in2_features, out_features})
    if (features < 1)
      fail("nn::Bilinear needs numbers of features of at least 1, found " + std::to_string(features), loc);
  weight = register_parameter("weight", zeros({out_features, in1_features, in2_features}, {}, loc), loc);
  bias = has_bias ? register_parameter("bias", zeros({out_features}, {}, loc), loc) : absent_parameter();
  reset_parameters(loc);
}

void Bilinear::reset_parameters(Loc loc) {
  const double bound = 1 / std::sqrt(static_cast<double>(weight.size(1, loc)));
  init::uniform_(weight, -bound, bound, loc);
  if (bias.defined())
    init::uniform_(bias, -bound, bound, loc);
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

CosineEmbeddingLoss::CosineEmbeddingLoss(double margin, Reduction reduction)
    : Module("CosineEmbeddingLoss"), margin_(margin), reduction_(reduction) {}
MarginRankingLoss::MarginRankingLoss(double margin, Reduction reduction)
    : Module("MarginRankingLoss"), margin_(margin), reduction_(reduction) {}
HingeEmbeddingLoss::HingeEmbeddingLoss(double margin, Reduction reduction)
    : Module("HingeEmbeddingLoss"), margin_(margin), reduction_(reduction) {}
SoftMarginLoss::SoftMarginLoss(Reduction reduction) : Module("SoftMarginLoss"), reduction_(reduction) {}
MultiLabelMarginLoss::MultiLabelMarginLoss(Reduction reduction)
    : Module("MultiLabelMarginLoss"), reduction_(reduction) {}
PoissonNLLLoss::PoissonNLLLoss(PoissonNllOptions options)
    : Module("PoissonNLLLoss"), options_(std::move(options)) {}
GaussianNLLLoss::GaussianNLLLoss(GaussianNllOptions options)
    : Module("GaussianNLLLoss"), options_(std::move(options)) {}
TripletMarginLoss::TripletMarginLoss(TripletMarginOptions options)
    : Module("TripletMarginLoss"), options_(std::move(options)) {}
TripletMarginWithDistanceLoss::TripletMarginWithDistanceLoss(DistanceFunction distance,
                                                             TripletMarginOptions options)
    : Module("TripletMarginWithDistanceLoss"), distance_(std::move(distance)), options_(std::move(options)) {}

MultiLabelSoftMarginLoss::MultiLabelSoftMarginLoss(Tensor given, Reduction reduction)
    : Module("MultiLabelSoftMarginLoss"), reduction_(reduction) {
  if (given.defined())
    weight = register_buffer("weight", std::move(given));
}
MultiMarginLoss::MultiMarginLoss(MultiMarginOptions options) : Module("MultiMarginLoss"), options_(options) {
  if (options.weight.defined())
    weight = register_buffer("weight", options.weight);
  options_.weight = {};
}
Tensor MultiMarginLoss::operator()(const Tensor &input, const Tensor &target, Loc loc) const {
  MultiMarginOptions options = options_;
  options.weight = weight;
  return multi_margin_loss(input, target, options, loc);
}

} // namespace weft::nn
