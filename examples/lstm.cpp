//===- lstm.cpp - An LSTM reads sequences ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells which of two tokens came first in a sequence, by the state that an LSTM has at its end. A second
// training without compile() ends with the same bits.
//
//===----------------------------------------------------------------------===//

#include <weft/weft.hpp>

#include <cstdio>

using namespace weft;

constexpr int64_t batch = 64, length = 5, hidden = 16;

struct Reader : nn::Module {
  nn::LSTM lstm = register_module("lstm", nn::LSTM(3, hidden, {.batch_first = true}));
  nn::Linear head = register_module("head", nn::Linear(hidden, 2));
  Tensor operator()(const Tensor &tokens) {
    auto [outputs, state] = lstm(one_hot(tokens, 3).to(f32));
    return head(state.first.select(0, -1)); // of the last layer
  }
};

/// The losses of a training, then the weights it ends with.
static std::vector<float> train(bool compiled) {
  manual_seed(0);
  Reader model;
  optim::Adam adam(model.parameters(), {.lr = 2e-2});
  auto update = [&](Tensor tokens, Tensor labels) {
    Tensor loss = nn::cross_entropy(model(tokens), labels);
    loss.backward();
    nn::utils::clip_grad_norm_(model.parameters(), 1.0);
    adam.step();
    adam.zero_grad();
    return loss;
  };
  auto step = compile(update);

  std::vector<float> trace;
  Tensor place = arange(length).reshape({1, length});
  for (int i = 0; i < 60; ++i) {
    Tensor first = randint(0, length / 2, {batch, 1}), second = randint(length / 2, length, {batch, 1});
    Tensor labels =
        randint(0, 2, {batch, 1}); // token 1 + label comes first, the other one later, 0 elsewhere
    Tensor tokens = (place == first).to(i64) * (labels + 1) + (place == second).to(i64) * (2 - labels);
    Tensor loss = compiled ? step(tokens, labels.flatten()) : update(tokens, labels.flatten());
    trace.push_back(loss.item<float>());
    if (compiled && (i % 20 == 0 || i == 59))
      std::printf("step %d: loss %.4f\n", i, trace.back());
  }
  for (const Tensor &parameter : model.parameters())
    for (float value : parameter.to_vector<float>())
      trace.push_back(value);
  return trace;
}

int main() {
  std::vector<float> compiled = train(true), lazy = train(false);
  std::puts(compiled == lazy ? "the same bits without compile()" : "other bits without compile()");
  return compiled == lazy && compiled[59] < 0.1F ? 0 : 1;
}
