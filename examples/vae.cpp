//===- vae.cpp - An auto-encoder that draws --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Learns a distribution of handwritten digits and draws new ones into samples.ppm, on MNIST if there is a
// folder with it:
//   vae [--data DIR] [--steps N] [--output FILE]
//
//===----------------------------------------------------------------------===//
#include "common/digits.h"
#include "common/options.h"
#include "common/pictures.h"

#include <weft/models.hpp>
#include <weft/weft.hpp>

#include <cstdio>

using namespace weft;

static int run(const example::Arguments &arguments) {
  const int64_t most = arguments.integer("steps", 1), batch = 128;
  manual_seed(0);
  const Device device = default_device();
  models::Vae model;
  model.to(device);
  optim::Adam adam(model.parameters(), {.lr = 1e-3});
  auto step = compile([&](Tensor images) {
    const Tensor x = images.flatten(1).to(f32) / 255;
    Tensor loss = models::Vae::loss(model(x), x) / batch;
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss;
  });
  data::DataLoader loader(example::mnist_or_drawn_digits(arguments.text("data"), data::Split::train),
                          {.batch_size = batch, .shuffle = true, .drop_last = true, .device = device});
  for (int64_t count = 0; count < most;)
    for (auto &[images, labels] : loader) {
      const float loss = step(images).item<float>();
      if (count % 100 == 0 || count + 1 == most)
        std::printf("step %lld: loss %.2f\n", (long long)count, loss);
      if (++count == most)
        break;
    }
  auto draw = compile([&](Tensor z) {
    NoGradGuard no_grad;
    return model.decode(z).unflatten(1, {1, 28, 28});
  });
  example::save_pictures(arguments.text("output"), draw(randn({64, 20}, {.device = device})));
  std::printf("64 samples are in %s\n", arguments.text("output").c_str());
  return 0;
}

int main(int argc, char **argv) {
  return example::run_program(
      argc, argv, "vae --data ~/datasets/mnist --steps 2000",
      {{"data", "DIR", "folder with MNIST; without it the program draws digits itself", ""},
       {"steps", "N", "steps of training", "300"},
       {"output", "FILE", "the picture", "samples.ppm"}},
      run);
}
