//===- linear_regression.cpp - The smallest training loop -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cmath>
#include <cstdio>

using namespace weft;

int main() {
  manual_seed(1);
  Tensor x = randn({256, 3});
  Tensor truth = Tensor::from(std::vector<float>{2, -3, 0.5}, {1, 3});
  Tensor y = (x * truth).sum({1}, /*keepdim=*/true) + 1.5;

  nn::Linear model(3, 1);
  optim::SGD sgd(model.parameters(), {.lr = 0.1});
  auto step = compile([&](Tensor inputs, Tensor targets) {
    Tensor loss = nn::mse_loss(model(inputs), targets);
    loss.backward();
    sgd.step();
    sgd.zero_grad();
    return loss;
  });

  float loss = 0;
  for (int i = 0; i <= 200; ++i) {
    Tensor result = step(x, y);
    if (i % 50 == 0)
      std::printf("step %3d  loss %.6f\n", i, loss = result.item<float>());
  }
  std::printf("weight ");
  print(model.weight.detach());
  std::printf("bias   ");
  print(model.bias.detach());
  return loss < 1e-6 ? 0 : 1;
}
