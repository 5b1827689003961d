//===- SpatialLayers.cpp - Layers over channels and extents ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/spatial_layers.hpp"

#include "frontend/nn/LayerText.h"
#include "frontend/ops/ChannelNorm.h"
#include "frontend/ops/Ops.h"
#include "weft/init.hpp"
#include "weft/math.hpp"

#include <cmath>

namespace weft::nn {

using namespace frontend;

namespace {

/// One number for each extent as Python prints it, "(3, 3)" or "(3,)".
std::string tupleText(const IntList &given, size_t extents) {
  std::string text;
  for (size_t i = 0; i < extents; ++i)
    text += (i ? ", " : "(") + std::to_string(given.size() == 1 ? given[0] : given[i]);
  return text + (extents == 1 ? ",)" : ")");
}

/// A number that is given for all extents, or a tuple.
std::string numbersText(const IntList &given) {
  return given.size() == 1 ? std::to_string(given[0]) : tupleText(given, given.size());
}

void checkNumbers(const std::string &name, const char *what, const IntList &given, size_t extents,
                  int64_t least, Loc loc) {
  bool fits = given.size() == 1 || given.size() == extents;
  for (int64_t number : given)
    fits &= number >= least;
  if (!fits)
    fail("nn::" + name + " needs a " + what + " that is a number or a list of " + std::to_string(extents) +
             ", at least " + std::to_string(least) + ", found " + shapeText(given),
         loc);
}

/// The shape of weights, [first, second / groups, window..].
Shape weightShape(const std::string &name, int64_t first, int64_t second, const IntList &kernel,
                  size_t extents, int64_t groups, Loc loc) {
  if (groups < 1 || first < 1 || second < 1 || first % groups != 0 || second % groups != 0)
    fail("nn::" + name + " needs channels that are at least 1 and divisible by groups, found " +
             std::to_string(first) + " and " + std::to_string(second) + " channels and " +
             std::to_string(groups) + " groups",
         loc);
  checkNumbers(name, "kernel_size", kernel, extents, 1, loc);
  Shape shape{first, second / groups};
  for (size_t i = 0; i < extents; ++i)
    shape.push_back(kernel.size() == 1 ? kernel[0] : kernel[i]);
  return shape;
}

/// PyTorch's kaiming_uniform_ with a = sqrt(5) is uniform in +-1/sqrt(fan in), and so is the bias.
void draw(Parameter &weight, Parameter &bias, Loc loc) {
  double fan = 1;
  for (size_t i = 1; i < weight.sizes(loc).size(); ++i)
    fan *= static_cast<double>(weight.sizes(loc)[i]);
  double bound = 1 / std::sqrt(fan);
  init::uniform_(weight, -bound, bound, loc);
  if (bias.defined())
    init::uniform_(bias, -bound, bound, loc);
}

std::string convText(int64_t in, int64_t out, const IntList &kernel, const IntList &stride, size_t extents) {
  return std::to_string(in) + ", " + std::to_string(out) + ", kernel_size=" + tupleText(kernel, extents) +
         ", stride=" + tupleText(stride, extents);
}

bool isAll(const IntList &given, int64_t number) {
  return std::all_of(given.begin(), given.end(), [&](int64_t each) { return each == number; });
}

} // namespace

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

static std::string detailsOf(int64_t in, int64_t out, const IntList &kernel, const ConvOptions &o, bool bias,
                             size_t extents, Loc loc) {
  std::string name = "Conv" + std::to_string(extents) + "d";
  weightShape(name, out, in, kernel, extents, o.groups, loc);
  checkNumbers(name, "stride", o.stride, extents, 1, loc);
  checkNumbers(name, "dilation", o.dilation, extents, 1, loc);
  const std::string &word = o.padding.word;
  if (word.empty())
    checkNumbers(name, "padding", o.padding.zeros, extents, 0, loc);
  else if (word != "same" && word != "valid")
    fail("nn::" + name + ": Invalid padding string '" + word + "', should be one of \"valid\", \"same\"",
         loc);
  else if (word == "same" && !isAll(o.stride, 1))
    fail("padding='same' is not supported for strided convolutions, found stride " + shapeText(o.stride),
         loc);
  std::string text = convText(in, out, kernel, o.stride, extents);
  if (!word.empty())
    text += ", padding=" + word;
  else if (!isAll(o.padding.zeros, 0))
    text += ", padding=" + tupleText(o.padding.zeros, extents);
  if (!isAll(o.dilation, 1))
    text += ", dilation=" + tupleText(o.dilation, extents);
  if (o.groups != 1)
    text += ", groups=" + std::to_string(o.groups);
  return text + (bias ? "" : ", bias=False");
}

template <size_t Extents>
Conv<Extents>::Conv(int64_t in_channels, int64_t out_channels, IntList kernel_size, ConvOptions options,
                    bool with_bias, Loc loc)
    : Module("Conv" + std::to_string(Extents) + "d",
             detailsOf(in_channels, out_channels, kernel_size, options, with_bias, Extents, loc)),
      options_(std::move(options)) {
  weight = register_parameter("weight", empty(weightShape(type_name(), out_channels, in_channels, kernel_size,
                                                          Extents, options_.groups, loc),
                                              {}, loc));
  bias = with_bias ? register_parameter("bias", empty({out_channels}, {}, loc)) : absent_parameter();
  reset_parameters(loc);
}

template <size_t Extents> void Conv<Extents>::reset_parameters(Loc loc) { draw(weight, bias, loc); }

template <size_t Extents> Tensor Conv<Extents>::operator()(const Tensor &x, Loc loc) const {
  if constexpr (Extents == 1)
    return conv1d(x, weight, bias, options_, loc);
  else if constexpr (Extents == 2)
    return conv2d(x, weight, bias, options_, loc);
  else
    return conv3d(x, weight, bias, options_, loc);
}

static std::string detailsOf(int64_t in, int64_t out, const IntList &kernel, const ConvTransposeOptions &o,
                             bool bias, size_t extents, Loc loc) {
  std::string name = "ConvTranspose" + std::to_string(extents) + "d";
  weightShape(name, in, out, kernel, extents, o.groups, loc);
  checkNumbers(name, "stride", o.stride, extents, 1, loc);
  checkNumbers(name, "padding", o.padding, extents, 0, loc);
  checkNumbers(name, "output_padding", o.output_padding, extents, 0, loc);
  checkNumbers(name, "dilation", o.dilation, extents, 1, loc);
  std::string text = convText(in, out, kernel, o.stride, extents);
  if (!isAll(o.padding, 0))
    text += ", padding=" + tupleText(o.padding, extents);
  if (!isAll(o.dilation, 1))
    text += ", dilation=" + tupleText(o.dilation, extents);
  if (!isAll(o.output_padding, 0))
    text += ", output_padding=" + tupleText(o.output_padding, extents);
  if (o.groups != 1)
    text += ", groups=" + std::to_string(o.groups);
  return text + (bias ? "" : ", bias=False");
}

template <size_t Extents>
ConvTranspose<Extents>::ConvTranspose(int64_t in_channels, int64_t out_channels, IntList kernel_size,
                                      ConvTransposeOptions options, bool with_bias, Loc loc)
    : Module("ConvTranspose" + std::to_string(Extents) + "d",
             detailsOf(in_channels, out_channels, kernel_size, options, with_bias, Extents, loc)),
      options_(std::move(options)) {
  weight = register_parameter("weight", empty(weightShape(type_name(), in_channels, out_channels, kernel_size,
                                                          Extents, options_.groups, loc),
                                              {}, loc));
  bias = with_bias ? register_parameter("bias", empty({out_channels}, {}, loc)) : absent_parameter();
  reset_parameters(loc);
}

template <size_t Extents> void ConvTranspose<Extents>::reset_parameters(Loc loc) { draw(weight, bias, loc); }

template <size_t Extents> Tensor ConvTranspose<Extents>::operator()(const Tensor &x, Loc loc) const {
  if constexpr (Extents == 1)
    return conv_transpose1d(x, weight, bias, options_, loc);
  else if constexpr (Extents == 2)
    return conv_transpose2d(x, weight, bias, options_, loc);
  else
    return conv_transpose3d(x, weight, bias, options_, loc);
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

template <size_t Extents>
MaxPool<Extents>::MaxPool(IntList kernel_size, MaxPoolOptions options)
    : Module("MaxPool" + std::to_string(Extents) + "d",
             "kernel_size=" + numbersText(kernel_size) +
                 ", stride=" + numbersText(options.stride.empty() ? kernel_size : options.stride) +
                 ", padding=" + numbersText(options.padding) + ", dilation=" + numbersText(options.dilation) +
                 ", ceil_mode=" + boolText(options.ceil_mode)),
      kernel_(std::move(kernel_size)), options_(std::move(options)) {}

template <size_t Extents> Tensor MaxPool<Extents>::operator()(const Tensor &x, Loc loc) const {
  if constexpr (Extents == 1)
    return max_pool1d(x, kernel_, options_, loc);
  else if constexpr (Extents == 2)
    return max_pool2d(x, kernel_, options_, loc);
  else
    return max_pool3d(x, kernel_, options_, loc);
}

template <size_t Extents>
AvgPool<Extents>::AvgPool(IntList kernel_size, AvgPoolOptions options)
    : Module("AvgPool" + std::to_string(Extents) + "d",
             "kernel_size=" + numbersText(kernel_size) +
                 ", stride=" + numbersText(options.stride.empty() ? kernel_size : options.stride) +
                 ", padding=" + numbersText(options.padding)),
      kernel_(std::move(kernel_size)), options_(std::move(options)) {}

template <size_t Extents> Tensor AvgPool<Extents>::operator()(const Tensor &x, Loc loc) const {
  if constexpr (Extents == 1)
    return avg_pool1d(x, kernel_, options_, loc);
  else if constexpr (Extents == 2)
    return avg_pool2d(x, kernel_, options_, loc);
  else
    return avg_pool3d(x, kernel_, options_, loc);
}

template <size_t Extents>
AdaptiveAvgPool<Extents>::AdaptiveAvgPool(IntList output_size)
    : Module("AdaptiveAvgPool" + std::to_string(Extents) + "d", "output_size=" + numbersText(output_size)),
      output_(std::move(output_size)) {}

template <size_t Extents> Tensor AdaptiveAvgPool<Extents>::operator()(const Tensor &x, Loc loc) const {
  if constexpr (Extents == 1)
    return adaptive_avg_pool1d(x, output_, loc);
  else if constexpr (Extents == 2)
    return adaptive_avg_pool2d(x, output_, loc);
  else
    return adaptive_avg_pool3d(x, output_, loc);
}

template <size_t Extents>
AdaptiveMaxPool<Extents>::AdaptiveMaxPool(IntList output_size)
    : Module("AdaptiveMaxPool" + std::to_string(Extents) + "d", "output_size=" + numbersText(output_size)),
      output_(std::move(output_size)) {}

template <size_t Extents> Tensor AdaptiveMaxPool<Extents>::operator()(const Tensor &x, Loc loc) const {
  if constexpr (Extents == 1)
    return adaptive_max_pool1d(x, output_, loc);
  else if constexpr (Extents == 2)
    return adaptive_max_pool2d(x, output_, loc);
  else
    return adaptive_max_pool3d(x, output_, loc);
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

template <size_t Extents>
BatchNorm<Extents>::BatchNorm(int64_t num_features, BatchNormLayerOptions options, Loc loc)
    : Module("BatchNorm" + std::to_string(Extents) + "d",
             std::to_string(num_features) + ", eps=" + numberText(options.eps) +
                 ", momentum=" + (options.momentum ? numberText(*options.momentum) : "None") + ", affine=" +
                 boolText(options.affine) + ", track_running_stats=" + boolText(options.track_running_stats)),
      options_(options) {
  if (num_features < 0)
    fail("nn::" + type_name() + " needs a number of features that is not negative, found " +
             std::to_string(num_features),
         loc);
  const Shape shape{num_features};
  weight = options.affine ? register_parameter("weight", ones(shape, {}, loc)) : absent_parameter();
  bias = options.affine ? register_parameter("bias", zeros(shape, {}, loc)) : absent_parameter();
  if (!options.track_running_stats)
    return;
  running_mean = register_buffer("running_mean", zeros(shape, {}, loc), loc);
  running_var = register_buffer("running_var", ones(shape, {}, loc), loc);
  num_batches_tracked = register_buffer("num_batches_tracked", zeros({}, {.dtype = DType::i64}, loc), loc);
}

template <size_t Extents> Tensor BatchNorm<Extents>::operator()(const Tensor &x, Loc loc) const {
  auto rank = static_cast<size_t>(x.dim(loc));
  if (rank != Extents + 2 && !(Extents == 1 && rank == 2))
    fail("nn::" + type_name() + ": expected " +
             (Extents == 1 ? "2D or 3D" : std::to_string(Extents + 2) + "D") + " input (got " +
             std::to_string(rank) + "D input)",
         loc);
  bool tracks = options_.track_running_stats && is_training();
  BatchNormOptions options{.weight = weight,
                           .bias = bias,
                           .training = is_training() || !options_.track_running_stats,
                           .eps = options_.eps};
  Arg share(options_.momentum.value_or(0), loc);
  if (tracks) {
    NoGradGuard guard;
    Tensor batches = num_batches_tracked;
    batches.copy_(add({batches, loc}, {1, loc}), loc);
    if (!options_.momentum) // the mean of all batches so far
      share = Arg(reciprocal(batches.to(DType::f32, loc), loc), loc);
  }
  bool uses = tracks || !options.training;
  return batchNorm(x, uses ? Tensor(running_mean) : Tensor(), uses ? Tensor(running_var) : Tensor(), options,
                   share, loc);
}

GroupNorm::GroupNorm(int64_t num_groups, int64_t num_channels, double eps, bool affine, Loc loc)
    : Module("GroupNorm", std::to_string(num_groups) + ", " + std::to_string(num_channels) +
                              ", eps=" + numberText(eps) + ", affine=" + boolText(affine)),
      groups_(num_groups), eps_(eps) {
  if (num_groups < 1 || num_channels < 0 || num_channels % num_groups != 0)
    fail("num_channels must be divisible by num_groups, found " + std::to_string(num_channels) + " and " +
             std::to_string(num_groups),
         loc);
  weight = affine ? register_parameter("weight", ones({num_channels}, {}, loc)) : absent_parameter();
  bias = affine ? register_parameter("bias", zeros({num_channels}, {}, loc)) : absent_parameter();
}

#define WEFT_LAYER(name)                                                                                     \
  template class name<1>;                                                                                    \
  template class name<2>;                                                                                    \
  template class name<3>;
WEFT_LAYER(Conv)
WEFT_LAYER(ConvTranspose)
WEFT_LAYER(MaxPool)
WEFT_LAYER(AvgPool)
WEFT_LAYER(AdaptiveAvgPool)
WEFT_LAYER(AdaptiveMaxPool)
WEFT_LAYER(BatchNorm)

} // namespace weft::nn
