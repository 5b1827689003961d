//===- mnist.cpp - The demo: MNIST, with everything shown -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trains the network of train_mlp.cpp on real digits if there are any, and shows what the compiler did with
// it:
//   mnist [--data DIR] [--epochs N] [--steps N] [--peer-ms NAME=MS] [--output DIR]
//
//===----------------------------------------------------------------------===//
#include "common/chart.h"
#include "common/digits.h"
#include "common/options.h"
#include "common/timings.h"

#include <weft/weft.hpp>

#include <cstdio>
#include <cstdlib>

using namespace weft;

struct Mlp : nn::Module {
  nn::Linear fc1 = register_module("fc1", nn::Linear(784, 512));
  nn::Linear fc2 = register_module("fc2", nn::Linear(512, 256));
  nn::Linear fc3 = register_module("fc3", nn::Linear(256, 10));
  Tensor operator()(Tensor x) { return fc3(relu(fc2(relu(fc1(x))))); }
};

static int demo(const example::Arguments &arguments) {
  int64_t epochs = arguments.integer("epochs", 1), most = arguments.integer("steps", 0);
  manual_seed(0);
  Device device = default_device();
  Mlp model;
  model.to(device);
  optim::Adam adam(model.parameters(), {.lr = 1e-3});
  auto step = compile([&](Tensor images, Tensor labels) {
    Tensor loss = nn::cross_entropy(model(images.flatten(1).to(f32) / 255), labels);
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss;
  });
  auto correct = compile([&](Tensor images, Tensor labels) {
    NoGradGuard no_grad;
    return (model(images.flatten(1).to(f32) / 255).argmax(1) == labels).sum();
  });

  data::Dataset digits = example::mnist_or_drawn_digits(arguments.text("data"), data::Split::train);
  std::printf("data: %lld images %s\n", (long long)digits.size(), digits.note().c_str());
  data::DataLoader loader(digits, {.batch_size = 128, .shuffle = true, .device = device});
  std::string output = arguments.text("output");
  CsvLogger log(output + "/loss.csv", {"step", "loss"});
  example::ChartSeries curve{"training loss", {}};
  if (most == 0)
    most = epochs * loader.size();
  Progress progress("training", most);
  example::Timings times;
  std::string explanation; // of a full batch; the last batch of an epoch is shorter and has its own variant
  int64_t count = 0;
  for (int64_t epoch = 0; epoch < epochs && count < most; ++epoch)
    for (auto &[images, labels] : loader) {
      if (count == most)
        break;
      times.start();
      float loss = step(images, labels).item<float>();
      if (images.size(0) == 128)
        times.stop();
      if (explanation.empty())
        explanation = step.explain();
      log.log({(double)count, loss});
      curve.points.emplace_back(count, loss);
      progress.update(++count, "loss " + std::to_string(loss));
    }
  progress.finish();

  model.eval();
  data::Dataset held = example::mnist_or_drawn_digits(arguments.text("data"), data::Split::test);
  int64_t hits = 0;
  for (auto &[images, labels] : data::DataLoader(held, {.batch_size = 500, .device = device}))
    hits += correct(images, labels).item<int64_t>();
  std::printf("\ntest accuracy: %.2f %% of %lld images\n", 100.0 * (double)hits / (double)held.size(),
              (long long)held.size());
  std::printf("time per step: %.2f ms on %s (median of %zu, batch 128, compiled once in %.0f ms)\n",
              times.median_ms(), device.str().c_str(), times.count(), step.variants().back().compile_ms);
  for (const std::string &peer : arguments.all("peer-ms")) {
    double ms = std::atof(peer.substr(peer.find('=') + 1).c_str());
    std::printf("               %.2f ms in %s: Weft takes %.2f of its time\n", ms,
                peer.substr(0, peer.find('=')).c_str(), times.median_ms() / ms);
  }
  example::save_svg(output + "/loss.svg", {"MLP on handwritten digits", "step", "cross entropy", {curve}});
  save_safetensors(output + "/mlp.safetensors", model.state_dict());
  std::printf("loss curve:    %s/loss.svg, %s/loss.csv\nweights:       %s/mlp.safetensors\n\n",
              output.c_str(), output.c_str(), output.c_str());
  std::printf("what the compiler made of one training step:\n%s\n", explanation.c_str());
  return 0;
}

int main(int argc, char **argv) {
  return example::run_program(
      argc, argv, "mnist --data ~/datasets/mnist --epochs 3",
      {{"data", "DIR", "folder with MNIST; without it the program draws digits itself", ""},
       {"epochs", "N", "passes over the training images", "10"},
       {"steps", "N", "end after as many steps; 0: after all epochs", "0"},
       {"peer-ms", "NAME=MS", "another program's time, to compare with; may be repeated", ""},
       {"output", "DIR", "where loss.csv, loss.svg and mlp.safetensors go", "demo-output"}},
      demo);
}
