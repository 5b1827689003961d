//===- dcgan.cpp - Adversarial networks that draw --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two networks, one of which draws small images and the other tells them from real ones, on CIFAR-10 if there
// is a folder with it. Samples are in samples.ppm:
//   dcgan [--data DIR] [--steps N] [--width N] [--output FILE]
//
//===----------------------------------------------------------------------===//
#include "common/options.h"
#include "common/pictures.h"

#include <weft/models.hpp>
#include <weft/weft.hpp>

#include <cstdio>

using namespace weft;

static Tensor lossOf(const Tensor &logits, bool is_real) {
  return nn::binary_cross_entropy_with_logits(logits, is_real ? ones_like(logits) : zeros_like(logits));
}

static int run(const example::Arguments &arguments) {
  const int64_t most = arguments.integer("steps", 1), batch = 32;
  manual_seed(0);
  const Device device = default_device();
  const models::DcganOptions options{.width = arguments.integer("width", 1), .size = 32};
  models::DcganGenerator generator(options);
  models::DcganDiscriminator discriminator(options);
  generator.to(device);
  discriminator.to(device);
  optim::Adam of_generator(generator.parameters(), {.lr = 2e-4, .betas = {0.5, 0.999}});
  optim::Adam of_discriminator(discriminator.parameters(), {.lr = 2e-4, .betas = {0.5, 0.999}});
  auto step = compile([&](Tensor images, Tensor z) {
    const Tensor real = images.to(f32) / 127.5 - 1, fake = generator(z);
    Tensor loss_d = lossOf(discriminator(real), true) + lossOf(discriminator(fake.detach()), false);
    loss_d.backward();
    of_discriminator.step();
    of_discriminator.zero_grad();
    Tensor loss_g = lossOf(discriminator(fake), true);
    loss_g.backward();
    of_generator.step();
    of_generator.zero_grad();
    of_discriminator.zero_grad(); // what the generator's loss left there
    return std::pair(loss_d, loss_g);
  });
  data::DataLoader loader(example::cifar10_or_drawn_digits(arguments.text("data"), data::Split::train),
                          {.batch_size = batch, .shuffle = true, .drop_last = true, .device = device});
  for (int64_t count = 0; count < most;)
    for (auto &[images, labels] : loader) {
      auto [loss_d, loss_g] = step(images, randn({batch, options.latent, 1, 1}, {.device = device}));
      if (count % 50 == 0 || count + 1 == most)
        std::printf("step %lld: discriminator %.4f, generator %.4f\n", (long long)count, loss_d.item<float>(),
                    loss_g.item<float>());
      if (++count == most)
        break;
    }
  auto draw = compile([&](Tensor z) {
    NoGradGuard no_grad;
    return generator(z) * 0.5 + 0.5;
  });
  example::save_pictures(arguments.text("output"),
                         draw(randn({64, options.latent, 1, 1}, {.device = device})));
  std::printf("64 samples are in %s\n", arguments.text("output").c_str());
  return 0;
}

int main(int argc, char **argv) {
  return example::run_program(
      argc, argv, "dcgan --data ~/datasets/cifar10 --steps 2000",
      {{"data", "DIR", "folder with CIFAR-10; without it the program draws digits", ""},
       {"steps", "N", "steps of training", "300"},
       {"width", "N", "channels next to the image", "64"},
       {"output", "FILE", "the picture", "samples.ppm"}},
      run);
}
