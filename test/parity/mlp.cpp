//===- mlp.cpp - One side of a comparison with PyTorch ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weft-parity-mlp FOLDER: writes initial weights and batches there, takes 20 training steps with each
// optimiser from these weights, compiled, and writes the losses and the final weights. test_mlp.py does the
// same in PyTorch.
//
//===----------------------------------------------------------------------===//
#include "common/digits.h"
#include "weft/weft.hpp"

#include <cstdio>

using namespace weft;

namespace {
struct Mlp : nn::Module {
  nn::Linear fc1 = register_module("fc1", nn::Linear(784, 512));
  nn::Linear fc2 = register_module("fc2", nn::Linear(512, 256));
  nn::Linear fc3 = register_module("fc3", nn::Linear(256, 10));
  Tensor operator()(Tensor x) { return fc3(relu(fc2(relu(fc1(x))))); }
};

void train(const std::string &folder, const std::string &name, Mlp &model, optim::Optimizer &optimizer) {
  model.load_state_dict(load_safetensors(folder + "/initial.safetensors"));
  auto step = compile([&](Tensor images, Tensor labels) {
    Tensor loss = nn::cross_entropy(model(images.flatten(1).to(f32) / 255), labels);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss;
  });
  std::vector<float> losses;
  data::DataLoader loader(example::drawn_digits(data::Split::train, 20 * 128), {.batch_size = 128});
  for (auto &[images, labels] : loader)
    losses.push_back(step(images, labels).item<float>());
  save_npy(folder + "/" + name + ".npy", Tensor::from(losses, {static_cast<int64_t>(losses.size())}));
  save_safetensors(folder + "/" + name + ".safetensors", model.state_dict());
}
} // namespace

int main(int argc, char **argv) try {
  if (argc != 2)
    return std::fprintf(stderr, "usage: weft-parity-mlp FOLDER\n"), 2;
  std::string folder = argv[1];
  manual_seed(0);
  Mlp model;
  save_safetensors(folder + "/initial.safetensors", model.state_dict());
  data::Dataset digits = example::drawn_digits(data::Split::train, 20 * 128);
  save_npy(folder + "/images.npy", digits.images());
  save_npy(folder + "/labels.npy", digits.labels());

  optim::Adam adam(model.parameters(), {.lr = 1e-3});
  train(folder, "adam", model, adam);
  optim::AdamWOptions decayed;
  decayed.lr = 1e-3;
  decayed.weight_decay = 0.1;
  optim::AdamW adamw(model.parameters(), decayed);
  train(folder, "adamw", model, adamw);
  optim::SGD sgd(model.parameters(), {.lr = 0.05, .momentum = 0.9, .weight_decay = 1e-3, .nesterov = true});
  train(folder, "sgd", model, sgd);
} catch (const Error &error) {
  std::fprintf(stderr, "weft-parity-mlp: %s\n", error.what());
  return 1;
}
