//===- Steps.h - The training steps of the benchmark ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_BENCH_STEPS_H
#define WEFT_BENCH_STEPS_H

#include <weft/weft.hpp>

#include <functional>
#include <string>

namespace weft::bench {

/// 784-512-256-10: of `mlp_step` a part, and `one_row` by itself.
struct Mlp : nn::Module {
  nn::Linear fc1 = register_module("fc1", nn::Linear(784, 512));
  nn::Linear fc2 = register_module("fc2", nn::Linear(512, 256));
  nn::Linear fc3 = register_module("fc3", nn::Linear(256, 10));
  Tensor operator()(Tensor x) { return fc3(relu(fc2(relu(fc1(x))))); }
};

/// A training step with its model, its optimiser and one batch, at initial values that are the same for each.
struct Step {
  std::string name;
  std::function<Tensor(Tensor, Tensor)> body; ///< forward, backward, update; gives the loss
  Tensor x, y;
  auto compiled(Numerics numerics = Numerics::eager) const {
    return compile(body, {.name = name, .numerics = numerics});
  }
};

/// "mlp_step", "deep_step", "lstm_step", "lstm_layers_step", "gpt_step", "gpt_long_step" or "resnet_step";
/// another name throws.
Step make_step(const std::string &name);

/// Adam over `count` matrices of 64 x 64, each with a gradient that stays as it is.
struct Update {
  explicit Update(int64_t count);
  std::vector<Tensor> gradients, parameters;
  optim::Adam adam;
  auto compiled() const {
    return compile([adam = adam]() mutable { adam.step(); }, {.name = "adam"});
  }
};

} // namespace weft::bench

#endif // WEFT_BENCH_STEPS_H
