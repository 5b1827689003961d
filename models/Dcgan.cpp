//===- Dcgan.cpp - Generative adversarial networks -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/init.hpp"
#include "weft/models/generators.hpp"
#include "weft/status.hpp"

namespace weft::models {

namespace {

/// Doublings of the extents from 4 to the image's.
int64_t doublings(const char *model, const DcganOptions &options) {
  if (options.size != 32 && options.size != 64)
    throw Error(std::string("models::") + model + " makes images of 32 x 32 and 64 x 64, found size " +
                std::to_string(options.size));
  return options.size == 64 ? 4 : 3;
}

template <typename Conv> Conv normal(Conv conv) {
  nn::init::normal_(conv.weight, 0, 0.02);
  return conv;
}

nn::BatchNorm2d norm(int64_t channels) {
  nn::BatchNorm2d made(channels);
  nn::init::normal_(made.weight, 1, 0.02);
  return made;
}

} // namespace

DcganGenerator::DcganGenerator(DcganOptions options) {
  nn::Sequential parts;
  const int64_t steps = doublings("DcganGenerator", options);
  int64_t channels = options.width << (steps - 1);
  parts.push_back(normal(nn::ConvTranspose2d(options.latent, channels, 4, {}, false)));
  parts.push_back(norm(channels));
  parts.push_back(nn::ReLU());
  for (int64_t step = 1; step < steps; ++step, channels /= 2) {
    parts.push_back(
        normal(nn::ConvTranspose2d(channels, channels / 2, 4, {.stride = 2, .padding = 1}, false)));
    parts.push_back(norm(channels / 2));
    parts.push_back(nn::ReLU());
  }
  parts.push_back(
      normal(nn::ConvTranspose2d(channels, options.channels, 4, {.stride = 2, .padding = 1}, false)));
  parts.push_back(nn::Tanh());
  main = register_module("main", parts);
}

DcganDiscriminator::DcganDiscriminator(DcganOptions options) {
  nn::Sequential parts;
  const int64_t steps = doublings("DcganDiscriminator", options);
  int64_t channels = options.width;
  parts.push_back(normal(nn::Conv2d(options.channels, channels, 4, {.stride = 2, .padding = 1}, false)));
  parts.push_back(nn::LeakyReLU(0.2));
  for (int64_t step = 1; step < steps; ++step, channels *= 2) {
    parts.push_back(normal(nn::Conv2d(channels, 2 * channels, 4, {.stride = 2, .padding = 1}, false)));
    parts.push_back(norm(2 * channels));
    parts.push_back(nn::LeakyReLU(0.2));
  }
  parts.push_back(normal(nn::Conv2d(channels, 1, 4, {}, false)));
  main = register_module("main", parts);
}

} // namespace weft::models
