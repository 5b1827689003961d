//===- resnet_cifar10.cpp - ResNet-18 on CIFAR-10 --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells ten classes of small images apart, on CIFAR-10 if there is a folder with it:
//   resnet_cifar10 [--data DIR] [--epochs N] [--batch N] [--width N] [--steps N] [--numerics MODE]
//
//===----------------------------------------------------------------------===//
#include "common/options.h"
#include "common/pictures.h"

#include <weft/models.hpp>
#include <weft/weft.hpp>

#include <chrono>
#include <cstdio>

using namespace weft;

/// Bytes as numbers around 0, by the mean and deviation of each channel of CIFAR-10.
static Tensor prepared(const Tensor &images) {
  return data::normalize(images, {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616});
}

/// "eager" or "fast", with which convolutions take fewer products.
static Numerics numerics_of(const std::string &mode) {
  if (mode != "eager" && mode != "fast")
    throw Error("--numerics needs eager or fast, found '" + mode + "'");
  return mode == "fast" ? Numerics::fast : Numerics::eager;
}

static int run(const example::Arguments &arguments) {
  const int64_t epochs = arguments.integer("epochs", 1), batch = arguments.integer("batch", 2),
                most = arguments.integer("steps", 0);
  manual_seed(0);
  const Device device = default_device();
  models::ResNet model =
      models::resnet18({.num_classes = 10, .width = arguments.integer("width", 1), .small_images = true});
  model.to(device);
  const data::Dataset train = example::cifar10_or_drawn_digits(arguments.text("data"), data::Split::train);
  const data::Dataset test = example::cifar10_or_drawn_digits(arguments.text("data"), data::Split::test);
  data::DataLoader loader(train, {.batch_size = batch, .shuffle = true, .drop_last = true, .device = device});
  optim::SGD sgd(model.parameters(), {.lr = 0.05, .momentum = 0.9, .weight_decay = 5e-4});
  optim::OneCycleLR schedule(sgd, /*max_lr=*/0.05, epochs * loader.size());
  const Numerics numerics = numerics_of(arguments.text("numerics"));
  const auto train_on = [&](Tensor images, Tensor labels) {
    const Tensor x = prepared(images), mirrored = rand({batch, 1, 1, 1}, {.device = device}) < 0.5;
    Tensor loss = nn::cross_entropy(model(where(mirrored, x.flip({3}), x)), labels);
    loss.backward();
    sgd.step();
    sgd.zero_grad();
    return loss;
  };
  const auto count_correct = [&](Tensor images, Tensor labels) {
    NoGradGuard no_grad;
    return (model(prepared(images)).argmax(1) == labels).sum();
  };
  auto step = compile(train_on, {.numerics = numerics});
  auto correct = compile(count_correct, {.numerics = numerics});

  int64_t count = 0;
  for (int64_t epoch = 1; epoch <= epochs && (!most || count < most); ++epoch) {
    model.train();
    const auto start = std::chrono::steady_clock::now();
    double sum = 0;
    int64_t steps = 0;
    for (auto &[images, labels] : loader) {
      const float loss = step(images, labels).item<float>();
      schedule.step();
      sum += loss;
      ++steps;
      if (steps % 20 == 0)
        std::printf("step %lld: loss %.4f\n", (long long)steps, loss);
      if (++count == most)
        break;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    model.eval(); // the running statistics replace those of the batch
    int64_t hits = 0, seen = 0;
    for (auto &[images, labels] :
         data::DataLoader(test, {.batch_size = batch, .drop_last = true, .device = device})) {
      hits += correct(images, labels).item<int64_t>();
      seen += batch;
      if (most && seen >= most * batch) // a short training has a short test
        break;
    }
    std::printf("epoch %lld: loss %.4f, test accuracy %.2f %%, %.1f ms a step\n", (long long)epoch,
                sum / static_cast<double>(steps),
                100.0 * static_cast<double>(hits) / static_cast<double>(seen),
                1000 * seconds.count() / static_cast<double>(steps));
    std::fflush(stdout);
  }
  return 0;
}

int main(int argc, char **argv) {
  return example::run_program(
      argc, argv, "resnet_cifar10 --data ~/datasets/cifar10 --epochs 5",
      {{"data", "DIR", "folder with CIFAR-10; without it the program draws digits", ""},
       {"epochs", "N", "passes over the training images", "5"},
       {"batch", "N", "images of a step", "32"},
       {"width", "N", "channels of the first stage", "64"},
       {"steps", "N", "steps of training at most; 0: all of them", "0"},
       {"numerics", "MODE", "eager, or fast: convolutions take fewer products (docs/numerics.md)", "eager"}},
      run);
}
