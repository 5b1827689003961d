//===- UNet.cpp - U-Net ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/models/generators.hpp"

#include "weft/joining.hpp"
#include "weft/status.hpp"

namespace weft::models {

UNet::Double::Double(int64_t in, int64_t out)
    : double_conv(register_module(
          "double_conv", nn::Sequential(nn::Conv2d(in, out, 3, {.padding = 1}, false), nn::BatchNorm2d(out),
                                        nn::ReLU(), nn::Conv2d(out, out, 3, {.padding = 1}, false),
                                        nn::BatchNorm2d(out), nn::ReLU()))) {}

UNet::Down::Down(int64_t in, int64_t out)
    : maxpool_conv(register_module("maxpool_conv", nn::Sequential(nn::MaxPool2d(2), Double(in, out)))) {}

UNet::Up::Up(int64_t in, int64_t out)
    : up(register_module("up", nn::ConvTranspose2d(in, in / 2, 2, {.stride = 2}))),
      conv(register_module("conv", Double(in, out))) {}

Tensor UNet::Up::operator()(const Tensor &x, const Tensor &beside) const {
  return conv(cat({beside, up(x)}, 1));
}

UNet::Out::Out(int64_t in, int64_t out) : conv(register_module("conv", nn::Conv2d(in, out, 1))) {}

UNet::UNet(UNetOptions options)
    : inc_(register_module("inc", Double(options.in_channels, options.width))),
      down1_(register_module("down1", Down(options.width, 2 * options.width))),
      down2_(register_module("down2", Down(2 * options.width, 4 * options.width))),
      down3_(register_module("down3", Down(4 * options.width, 8 * options.width))),
      down4_(register_module("down4", Down(8 * options.width, 16 * options.width))),
      up1_(register_module("up1", Up(16 * options.width, 8 * options.width))),
      up2_(register_module("up2", Up(8 * options.width, 4 * options.width))),
      up3_(register_module("up3", Up(4 * options.width, 2 * options.width))),
      up4_(register_module("up4", Up(2 * options.width, options.width))),
      outc_(register_module("outc", Out(options.width, options.num_classes))) {}

Tensor UNet::operator()(const Tensor &images) const {
  if (images.size(2) % 16 != 0 || images.size(3) % 16 != 0)
    throw Error("models::UNet needs rows and columns that are multiples of 16, found " +
                std::to_string(images.size(2)) + " and " + std::to_string(images.size(3)));
  const Tensor x1 = inc_(images), x2 = down1_(x1), x3 = down2_(x2), x4 = down3_(x3), x5 = down4_(x4);
  return outc_.conv(up4_(up3_(up2_(up1_(x5, x4), x3), x2), x1));
}

} // namespace weft::models
