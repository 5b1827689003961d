//===- lstm_shakespeare.cpp - An LSTM that writes ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Learns to write character by character from a text file, and then writes:
//   lstm_shakespeare [--data FILE] [--steps N] [--layers N] [--features N] [--write N]
// Each step of training goes on where the one before ended: the state behind it is an operand of the next.
// Writing has a compiled function of its own for one character, which carries its state along.
//
//===----------------------------------------------------------------------===//
#include "common/letters.h"
#include "common/options.h"

#include <weft/models.hpp>
#include <weft/weft.hpp>

#include <cstdio>

using namespace weft;

static int run(const example::Arguments &arguments) {
  manual_seed(0);
  const auto [text, letters, numbers] = example::read_letters(arguments.text("data"));
  const int64_t length = 32, batch = 16, steps = arguments.integer("steps", 1);
  const Device device = default_device();
  const int64_t features = arguments.integer("features", 1);
  models::LstmLm model = models::lstm_lm({.vocab_size = static_cast<int64_t>(letters.size()),
                                          .embedding = features,
                                          .hidden = features,
                                          .num_layers = arguments.integer("layers", 1),
                                          .dropout = 0.1,
                                          .tie_weights = true});
  model.to(device);
  optim::AdamW adam(model.parameters(), {.lr = 4e-3});
  auto step = compile([&](Tensor tokens, Tensor targets, nn::LSTMState state) {
    auto [logits, last] = model(tokens, state);
    Tensor loss = nn::cross_entropy(logits.flatten(0, 1), targets.flatten());
    loss.backward();
    nn::utils::clip_grad_norm_(model.parameters(), 1.0);
    adam.step();
    adam.zero_grad();
    return std::pair(loss, nn::LSTMState{last.first.detach(), last.second.detach()});
  });
  // Each row of the batch reads its own part of the text, from the beginning to the end and then again.
  const int64_t columns = static_cast<int64_t>(numbers.size()) / batch, windows = (columns - 1) / length;
  const Tensor all = Tensor::from(numbers, {static_cast<int64_t>(numbers.size())})
                         .narrow(0, 0, batch * columns)
                         .reshape({batch, columns})
                         .to(device);
  nn::LSTMState state = model.state(batch, device);
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = i % windows * length;
    if (at == 0)
      state = model.state(batch, device);
    auto [loss, last] =
        step(all.narrow(1, at, length).contiguous(), all.narrow(1, at + 1, length).contiguous(), state);
    state = last;
    if (i % 50 == 0 || i + 1 == steps)
      std::printf("step %lld: loss %.4f\n", (long long)i, loss.item<float>());
  }

  // Each character is drawn by the Gumbel trick: the largest of logits plus noise.
  model.eval();
  auto next = compile([&](Tensor token, nn::LSTMState before) {
    NoGradGuard no_grad;
    auto [logits, after] = model.next(token, before);
    const Tensor noise = -log(-log(rand_like(logits).clamp(1e-10, 1 - 1e-7)));
    return std::pair((logits / 0.8 + noise).argmax(1), after);
  });
  Tensor token = Tensor::from(std::vector<int64_t>{numbers[0]}, {1}).to(device);
  std::string written(1, text[0]);
  state = model.state(1, device);
  for (int64_t i = 1; i < arguments.integer("write", 2); ++i) {
    std::tie(token, state) = next(token, state);
    written += letters[static_cast<size_t>(token.item<int64_t>())];
  }
  std::printf("---\n%s\n---\nwritten by %zu compiled function\n", written.c_str(), next.variants().size());
  return 0;
}

int main(int argc, char **argv) {
  return example::run_program(
      argc, argv, "lstm_shakespeare --data input.txt --steps 2000",
      {{"data", "FILE", "a text to learn from; without it the program makes sums", ""},
       {"steps", "N", "steps of training", "300"},
       {"layers", "N", "layers", "2"},
       {"features", "N", "features of a character and of the state", "128"},
       {"write", "N", "characters to write, at least 2", "256"}},
      run);
}
