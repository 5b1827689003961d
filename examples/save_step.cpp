//===- save_step.cpp - A training step is saved for another program ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trains a small network for a while and writes the whole step, with parameters and optimiser state, to
// step.weft. run_step.c, which links no compiler, trains it further.
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cstdio>

using namespace weft;

struct Mlp : nn::Module {
  nn::Linear fc1 = register_module("fc1", nn::Linear(2, 32));
  nn::Linear fc2 = register_module("fc2", nn::Linear(32, 2));
  Tensor operator()(Tensor x) { return fc2(relu(fc1(x))); }
};

int main() {
  manual_seed(0);
  Mlp model;
  optim::Adam adam(model.parameters(), {.lr = 1e-2});
  auto step = compile(
      [&](Tensor points, Tensor labels) {
        Tensor loss = nn::cross_entropy(model(points), labels);
        loss.backward();
        adam.step();
        adam.zero_grad();
        return loss;
      },
      {.name = "step"});

  // Is a point of the unit square on the diagonal's side where x * y > 0.25?
  std::vector<float> points(64 * 2);
  std::vector<int64_t> labels(64);
  for (size_t i = 0; i < 64; ++i) {
    const size_t row = i / 8, column = i % 8;
    points[2 * i] = static_cast<float>(column) / 7;
    points[2 * i + 1] = static_cast<float>(row) / 7;
    labels[i] = points[2 * i] * points[2 * i + 1] > 0.25f;
  }
  Tensor x = Tensor::from(points, {64, 2}), y = Tensor::from(labels, {64});
  for (int i = 0; i <= 50; ++i)
    if (Tensor loss = step(x, y); i % 25 == 0)
      std::printf("step %d: loss %.4f\n", i, loss.item<float>());
  step.save("step.weft", {.targets = {"cpu"}});
  std::printf("saved step.weft\n");
}
