//===- train_mlp.cpp - A network learns handwritten digits ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cstdio>

using namespace weft;

struct Mlp : nn::Module { // a shared handle: copies share their parameters
  nn::Linear fc1 = register_module("fc1", nn::Linear(784, 512));
  nn::Linear fc2 = register_module("fc2", nn::Linear(512, 256));
  nn::Linear fc3 = register_module("fc3", nn::Linear(256, 10));
  Tensor operator()(Tensor x) { return fc3(relu(fc2(relu(fc1(x))))); }
};

int main() {
  manual_seed(0);
  Device device = default_device(); // cuda:0 if there is one, else cpu
  Mlp model;
  model.to(device);
  optim::Adam adam(model.parameters(), {.lr = 1e-3});

  auto step = compile([&](Tensor images, Tensor labels) {
    Tensor logits = model(images.flatten(1).to(f32) / 255);
    Tensor loss = nn::cross_entropy(logits, labels);
    loss.backward();
    adam.step(); // parameters and state: donated in, tied out
    adam.zero_grad();
    return loss;
  });

  data::DataLoader loader(data::Mnist("mnist/"), {.batch_size = 128, .shuffle = true, .device = device});
  for (int epoch = 0; epoch < 10; ++epoch)
    for (auto &[images, labels] : loader)
      step(images, labels);

  auto correct = compile([&](Tensor images, Tensor labels) {
    NoGradGuard no_grad;
    return (model(images.flatten(1).to(f32) / 255).argmax(1) == labels).sum();
  });
  model.eval(); // train or eval is part of the signature: both variants stay compiled
  data::DataLoader test(data::Mnist("mnist/", {.split = data::Split::test}),
                        {.batch_size = 500, .device = device});
  int64_t hits = 0;
  for (auto &[images, labels] : test)
    hits += correct(images, labels).item<int64_t>();
  std::printf("%lld of %lld right\n", (long long)hits, (long long)test.size() * 500);
  save_safetensors("mlp.safetensors", model.state_dict());
}
