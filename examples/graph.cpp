//===- graph.cpp - A training step as one launch ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a GPU, calls of a compiled function are one CUDA graph each from the third on: nothing is captured or
// replayed by hand, arguments may lie anywhere, and every result is kept. On a CPU the same program runs its
// launches one by one.
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cstdio>
#include <string>
#include <vector>

using namespace weft;

int main() {
  const Device device = default_device(); // cuda:0 if there is a GPU
  manual_seed(2);
  nn::Linear hidden(16, 32), output(32, 1);
  hidden.to(device);
  output.to(device);
  std::vector<Tensor> parameters = hidden.parameters();
  for (const Tensor &parameter : output.parameters())
    parameters.push_back(parameter);
  optim::Adam adam(parameters, {.lr = 0.01});
  auto step = compile([&](Tensor x, Tensor y) {
    Tensor loss = nn::mse_loss(output(relu(hidden(x))), y);
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss;
  });

  std::vector<Tensor> losses; // each step has one of its own, though the graph is the same
  uint64_t compiled = 0;
  for (int i = 0; i < 60; ++i) {
    Tensor x = randn({64, 16}, {.device = device}); // at another address than the batch before
    Tensor y = x.slice(1, 0, 4).sum({1}, /*keepdim=*/true);
    adam.set_lr(i < 40 ? 0.01 : 0.002); // a number of the call, no part of the graph
    losses.push_back(step(x, y));
    if (i == 5)
      compiled = compile_count();
  }
  const bool steady = compile_count() == compiled;
  for (size_t i = 0; i < losses.size(); i += 20)
    std::printf("step %2zu  loss %.4f\n", i, losses[i].item<double>());
  std::printf("last     loss %.4f, compiled again: %s\n", losses.back().item<double>(),
              steady ? "no" : "yes");
  const std::string report = step.explain();
  if (const size_t begin = report.find("capture: "); begin != std::string::npos) // of a GPU
    std::printf("%s\n", report.substr(begin, report.find('\n', begin) - begin).c_str());
  return steady && losses.back().item<double>() < 0.3 * losses.front().item<double>() ? 0 : 1;
}
