//===- SmallTraining.h - A training of a few numbers --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_FRONTEND_SMALLTRAINING_H
#define WEFT_TEST_FRONTEND_SMALLTRAINING_H

#include "Helpers.h"

/// Parameters, filled with 1, whose squares Adam makes small.
struct SmallTraining {
  std::vector<weft::Tensor> parameters;
  weft::optim::Adam adam;

  explicit SmallTraining(const std::vector<int64_t> &sizes)
      : parameters(made(sizes)), adam(parameters, {.lr = 0.1}) {}
  /// Adds the gradients of the first parameters.
  void backward(size_t count) {
    weft::Tensor loss = (parameters[0] * parameters[0]).sum();
    for (size_t i = 1; i < count; ++i)
      loss = loss + (parameters[i] * parameters[i]).sum();
    loss.backward();
  }
  void step(size_t count) {
    backward(count);
    adam.step();
    adam.zero_grad();
  }
  void step() { step(parameters.size()); }
  /// The bits of the parameters and of the optimiser's state.
  std::vector<std::vector<std::byte>> bits() {
    const weft::StateDict state = adam.state_dict();
    std::vector<weft::Tensor> tensors = parameters;
    for (const auto &[name, tensor] : state)
      tensors.push_back(tensor);
    return bitsOf(tensors);
  }

private:
  static std::vector<weft::Tensor> made(const std::vector<int64_t> &sizes) {
    std::vector<weft::Tensor> tensors;
    for (const int64_t size : sizes)
      tensors.push_back(weft::full({size}, 1.0).requires_grad_());
    return tensors;
  }
};

#endif // WEFT_TEST_FRONTEND_SMALLTRAINING_H
