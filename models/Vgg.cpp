//===- Vgg.cpp - VGG networks ----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/models/classifiers.hpp"

#include "models/Checks.h"
#include "weft/init.hpp"
#include "weft/pooling.hpp"

namespace weft::models {

Vgg::Vgg(std::vector<int64_t> stages, VggOptions options) {
  checkCounts("Vgg", "numbers of convolutions", stages, 5);
  nn::Sequential convolutions;
  int64_t in = 3;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const int64_t out = options.width << std::min<size_t>(stage, 3);
    for (int64_t i = 0; i < stages[stage]; ++i, in = out) {
      nn::Conv2d conv(in, out, 3, {.padding = 1});
      nn::init::kaiming_normal_(conv.weight, 0, nn::init::FanMode::fan_out, "relu");
      nn::init::zeros_(conv.bias);
      convolutions.push_back(conv);
      if (options.batch_norm)
        convolutions.push_back(nn::BatchNorm2d(out));
      convolutions.push_back(nn::ReLU());
    }
    convolutions.push_back(nn::MaxPool2d(2));
  }
  features = register_module("features", convolutions);
  const auto linear = [](int64_t from, int64_t to) {
    nn::Linear made(from, to);
    nn::init::normal_(made.weight, 0, 0.01);
    nn::init::zeros_(made.bias);
    return made;
  };
  classifier = register_module("classifier", nn::Sequential(linear(in * 7 * 7, options.hidden), nn::ReLU(),
                                                            nn::Dropout(options.dropout),
                                                            linear(options.hidden, options.hidden),
                                                            nn::ReLU(), nn::Dropout(options.dropout),
                                                            linear(options.hidden, options.num_classes)));
}

Tensor Vgg::operator()(const Tensor &images) const {
  return classifier(adaptive_avg_pool2d(features(images), 7).flatten(1));
}

Vgg vgg11(VggOptions options) { return Vgg({1, 1, 2, 2, 2}, options); }
Vgg vgg13(VggOptions options) { return Vgg({2, 2, 2, 2, 2}, options); }
Vgg vgg16(VggOptions options) { return Vgg({2, 2, 3, 3, 3}, options); }
Vgg vgg19(VggOptions options) { return Vgg({2, 2, 4, 4, 4}, options); }

} // namespace weft::models
