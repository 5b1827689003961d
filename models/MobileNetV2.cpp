//===- MobileNetV2.cpp - MobileNetV2 ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/models/classifiers.hpp"

#include "weft/init.hpp"
#include "weft/operators.hpp"
#include "weft/status.hpp"

#include <array>

namespace weft::models {

namespace {

nn::Conv2d initialised(nn::Conv2d conv) {
  nn::init::kaiming_normal_(conv.weight, 0, nn::init::FanMode::fan_out);
  return conv;
}

nn::Sequential convNormRelu(int64_t in, int64_t out, int64_t window, int64_t stride, int64_t groups) {
  return nn::Sequential(
      initialised(
          nn::Conv2d(in, out, window, {.stride = stride, .padding = window / 2, .groups = groups}, false)),
      nn::BatchNorm2d(out), nn::ReLU6());
}

/// The multiple of 8 that is nearest to a number, at least 8 and at least nine tenths of it.
int64_t multipleOf8(double channels) {
  const auto nearest = std::max<int64_t>(8, static_cast<int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(nearest) < 0.9 * channels ? nearest + 8 : nearest;
}

} // namespace

InvertedResidual::InvertedResidual(int64_t in, int64_t out, int64_t stride, int64_t expand_ratio)
    : adds_(stride == 1 && in == out) {
  const int64_t hidden = in * expand_ratio;
  nn::Sequential parts;
  if (expand_ratio != 1)
    parts.push_back(convNormRelu(in, hidden, 1, 1, 1));
  parts.push_back(convNormRelu(hidden, hidden, 3, stride, hidden));
  parts.push_back(initialised(nn::Conv2d(hidden, out, 1, {}, false)));
  parts.push_back(nn::BatchNorm2d(out));
  conv = register_module("conv", parts);
}

Tensor InvertedResidual::operator()(const Tensor &x) const { return adds_ ? x + conv(x) : conv(x); }

MobileNetV2::MobileNetV2(MobileNetV2Options options) {
  if (!(options.width_mult > 0))
    throw Error("models::MobileNetV2 needs a width_mult above 0, found " +
                std::to_string(options.width_mult));
  struct Stage {
    int64_t expand_ratio, channels, blocks, stride;
  };
  constexpr std::array<Stage, 7> stages = {{{1, 16, 1, 1},
                                            {6, 24, 2, 2},
                                            {6, 32, 3, 2},
                                            {6, 64, 4, 2},
                                            {6, 96, 3, 1},
                                            {6, 160, 3, 2},
                                            {6, 320, 1, 1}}};
  int64_t channels = multipleOf8(32 * options.width_mult);
  nn::Sequential
      parts; // one part that is itself a Sequential: its copy, where it is given to the constructor
  parts.push_back(convNormRelu(3, channels, 3, 2, 1));
  for (const Stage &stage : stages) {
    const int64_t out = multipleOf8(static_cast<double>(stage.channels) * options.width_mult);
    for (int64_t i = 0; i < stage.blocks; ++i, channels = out)
      parts.push_back(InvertedResidual(channels, out, i == 0 ? stage.stride : 1, stage.expand_ratio));
  }
  const int64_t last = multipleOf8(1280 * std::max(1.0, options.width_mult));
  parts.push_back(convNormRelu(channels, last, 1, 1, 1));
  features = register_module("features", parts);
  nn::Linear head(last, options.num_classes);
  nn::init::normal_(head.weight, 0, 0.01);
  nn::init::zeros_(head.bias);
  classifier = register_module("classifier", nn::Sequential(nn::Dropout(options.dropout), head));
}

Tensor MobileNetV2::operator()(const Tensor &images) const {
  return classifier(features(images).mean({2, 3}));
}

MobileNetV2 mobilenet_v2(MobileNetV2Options options) { return MobileNetV2(options); }

} // namespace weft::models
