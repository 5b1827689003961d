//===- cnn.cpp - A convolutional network -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells handwritten digits apart with convolutions, batch norm and pooling, on MNIST if there is a folder
// with it:
//   cnn [--data DIR] [--steps N] [--batch N]
//
//===----------------------------------------------------------------------===//
#include "common/digits.h"
#include "common/options.h"

#include <weft/weft.hpp>

#include <cstdio>

using namespace weft;

/// Two convolutions and the input, which a convolution with windows of one pixel brings to the same shape.
struct Block : nn::Module {
  Block(int64_t in, int64_t out)
      : conv1(register_module("conv1", nn::Conv2d(in, out, 3, {.stride = 2, .padding = 1}, false))),
        bn1(register_module("bn1", nn::BatchNorm2d(out))),
        conv2(register_module("conv2", nn::Conv2d(out, out, 3, {.padding = 1}, false))),
        bn2(register_module("bn2", nn::BatchNorm2d(out))),
        shortcut(register_module("shortcut", nn::Conv2d(in, out, 1, {.stride = 2}))) {}
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Conv2d shortcut;
  Tensor operator()(const Tensor &x) { return relu(bn2(conv2(relu(bn1(conv1(x))))) + shortcut(x)); }
};

struct Cnn : nn::Module {
  nn::Conv2d stem = register_module("stem", nn::Conv2d(1, 8, 5, {.padding = 2}));
  nn::MaxPool2d pool = register_module("pool", nn::MaxPool2d(2));
  Block block = register_module("block", Block(8, 16));
  nn::AdaptiveAvgPool2d average = register_module("average", nn::AdaptiveAvgPool2d(2));
  nn::Linear head = register_module("head", nn::Linear(64, 10));
  Tensor operator()(const Tensor &images) {
    Tensor x = images.unsqueeze(1).to(f32) / 255; // [batch, channels, rows, columns]
    return head(average(block(pool(relu(stem(x))))).flatten(1));
  }
};

static int run(const example::Arguments &arguments) {
  int64_t most = arguments.integer("steps", 1), batch = arguments.integer("batch", 1);
  manual_seed(0);
  Device device = default_device();
  Cnn model;
  model.to(device);
  optim::Adam adam(model.parameters(), {.lr = 1e-2});
  auto step = compile([&](Tensor images, Tensor labels) {
    Tensor loss = nn::cross_entropy(model(images), labels);
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss;
  });
  auto correct = compile([&](Tensor images, Tensor labels) {
    NoGradGuard no_grad;
    return (model(images).argmax(1) == labels).sum();
  });

  data::Dataset digits = example::mnist_or_drawn_digits(arguments.text("data"), data::Split::train);
  data::DataLoader loader(digits,
                          {.batch_size = batch, .shuffle = true, .drop_last = true, .device = device});
  for (int64_t count = 0; count < most;)
    for (auto &[images, labels] : loader) {
      float loss = step(images, labels).item<float>();
      if (count % 20 == 0 || count + 1 == most)
        std::printf("step %lld: loss %.4f\n", (long long)count, loss);
      if (++count == most)
        break;
    }

  model.eval(); // the running statistics replace those of the batch
  data::Dataset held = example::mnist_or_drawn_digits(arguments.text("data"), data::Split::test);
  int64_t hits = 0, seen = 0;
  for (auto &[images, labels] :
       data::DataLoader(held, {.batch_size = batch, .drop_last = true, .device = device})) {
    hits += correct(images, labels).item<int64_t>();
    seen += batch;
    if (seen >= most * batch) // a short training has a short test
      break;
  }
  std::printf("test accuracy: %.2f %% of %lld images\n", 100.0 * (double)hits / (double)seen,
              (long long)seen);
  return 0;
}

int main(int argc, char **argv) {
  return example::run_program(
      argc, argv, "cnn --data ~/datasets/mnist --steps 900",
      {{"data", "DIR", "folder with MNIST; without it the program draws digits itself", ""},
       {"steps", "N", "steps of training", "200"},
       {"batch", "N", "images of a step", "64"}},
      run);
}
