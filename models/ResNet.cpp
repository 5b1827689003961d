//===- ResNet.cpp - Residual networks --------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/models/classifiers.hpp"

#include "models/Checks.h"
#include "weft/init.hpp"
#include "weft/math.hpp"
#include "weft/operators.hpp"
#include "weft/pooling.hpp"

namespace weft::models {

namespace {

nn::Conv2d convolution(int64_t in, int64_t out, int64_t window, int64_t stride) {
  nn::Conv2d made(in, out, window, {.stride = stride, .padding = window / 2}, /*bias=*/false);
  nn::init::kaiming_normal_(made.weight, 0, nn::init::FanMode::fan_out, "relu");
  return made;
}

nn::Sequential stageOf(int64_t &channels, int64_t planes, int64_t blocks, int64_t stride, bool bottleneck) {
  nn::Sequential stage;
  for (int64_t i = 0; i < blocks; ++i) {
    stage.push_back(ResidualBlock(channels, planes, i == 0 ? stride : 1, bottleneck));
    channels = planes * ResidualBlock::expansion(bottleneck);
  }
  return stage;
}

} // namespace

ResidualBlock::ResidualBlock(int64_t in, int64_t planes, int64_t stride, bool bottleneck)
    : conv1(register_module("conv1",
                            bottleneck ? convolution(in, planes, 1, 1) : convolution(in, planes, 3, stride))),
      bn1(register_module("bn1", nn::BatchNorm2d(planes))),
      conv2(register_module("conv2", convolution(planes, planes, 3, bottleneck ? stride : 1))),
      bn2(register_module("bn2", nn::BatchNorm2d(planes))) {
  const int64_t out = planes * expansion(bottleneck);
  if (bottleneck) {
    conv3 = register_module("conv3", convolution(planes, out, 1, 1));
    bn3 = register_module("bn3", nn::BatchNorm2d(out));
  }
  if (stride != 1 || in != out)
    downsample =
        register_module("downsample", nn::Sequential(convolution(in, out, 1, stride), nn::BatchNorm2d(out)));
}

Tensor ResidualBlock::operator()(const Tensor &x) const {
  Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
  if (conv3)
    y = (*bn3)((*conv3)(relu(y)));
  return relu(y + (downsample ? (*downsample)(x) : x));
}

ResNet::ResNet(bool bottleneck, std::vector<int64_t> blocks, ResNetOptions options)
    : conv1(register_module("conv1", options.small_images
                                         ? convolution(options.in_channels, options.width, 3, 1)
                                         : convolution(options.in_channels, options.width, 7, 2))),
      bn1(register_module("bn1", nn::BatchNorm2d(options.width))),
      fc(8 * options.width * ResidualBlock::expansion(bottleneck), options.num_classes),
      pools_(!options.small_images) {
  checkCounts("ResNet", "numbers of blocks", blocks, 4);
  int64_t channels = options.width;
  layer1 = register_module("layer1", stageOf(channels, options.width, blocks[0], 1, bottleneck));
  layer2 = register_module("layer2", stageOf(channels, 2 * options.width, blocks[1], 2, bottleneck));
  layer3 = register_module("layer3", stageOf(channels, 4 * options.width, blocks[2], 2, bottleneck));
  layer4 = register_module("layer4", stageOf(channels, 8 * options.width, blocks[3], 2, bottleneck));
  register_module("fc", fc);
}

Tensor ResNet::operator()(const Tensor &images) const {
  Tensor x = relu(bn1(conv1(images)));
  if (pools_)
    x = max_pool2d(x, 3, {.stride = 2, .padding = 1});
  x = layer4(layer3(layer2(layer1(x))));
  return fc(x.mean({2, 3}));
}

ResNet resnet18(ResNetOptions options) { return ResNet(false, {2, 2, 2, 2}, options); }
ResNet resnet34(ResNetOptions options) { return ResNet(false, {3, 4, 6, 3}, options); }
ResNet resnet50(ResNetOptions options) { return ResNet(true, {3, 4, 6, 3}, options); }

} // namespace weft::models
