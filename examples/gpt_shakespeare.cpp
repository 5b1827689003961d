//===- gpt_shakespeare.cpp - A transformer that writes ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Learns to write character by character from a text file, and then writes:
//   gpt_shakespeare [--data FILE] [--steps N] [--layers N] [--features N] [--write N]
// Writing has a compiled function of its own for one character, with a cache of keys and values: it runs at
// every position.
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
  const int64_t length = 64, batch = 16, steps = arguments.integer("steps", 1);
  const Device device = default_device();
  models::Gpt model({.block_size = arguments.integer("write", length),
                     .vocab_size = static_cast<int64_t>(letters.size()),
                     .n_layer = arguments.integer("layers", 1),
                     .n_head = 4,
                     .n_embd = arguments.integer("features", 4)});
  model.to(device);
  optim::AdamW adam(model.parameters(), {.lr = 1e-3});
  auto step = compile([&](Tensor tokens) {
    Tensor loss = model.loss(tokens.slice(1, 0, length), tokens.slice(1, 1, length + 1));
    loss.backward();
    nn::utils::clip_grad_norm_(model.parameters(), 1.0);
    adam.step();
    adam.zero_grad();
    return loss;
  });
  const Tensor all = Tensor::from(numbers, {static_cast<int64_t>(numbers.size())}).to(device);
  const Tensor offsets = arange(length + 1, {.device = device});
  for (int64_t i = 0; i < steps; ++i) {
    const Tensor starts =
        randint(0, static_cast<int64_t>(numbers.size()) - length - 1, {batch, 1}, {.device = device});
    const float loss = step(all.take(starts + offsets)).item<float>();
    if (i % 50 == 0 || i + 1 == steps)
      std::printf("step %lld: loss %.4f\n", (long long)i, loss);
  }

  // Each character is drawn by the Gumbel trick: the largest of logits plus noise.
  model.eval();
  models::GptCache cache = model.cache(1, device);
  auto next = compile([&](Tensor token, Tensor position) {
    NoGradGuard no_grad;
    const Tensor logits = model.next(token, position, cache) / 0.8;
    return (logits - log(-log(rand_like(logits).clamp(1e-10, 1 - 1e-7)))).argmax(1);
  });
  Tensor token = Tensor::from(std::vector<int64_t>{numbers[0]}, {1}).to(device);
  std::string written(1, text[0]);
  for (int64_t i = 0; i + 1 < model.options().block_size; ++i) {
    token = next(token, full({1}, i, {.dtype = i64, .device = device}));
    written += letters[static_cast<size_t>(token.item<int64_t>())];
  }
  std::printf("---\n%s\n---\nwritten by %zu compiled function\n", written.c_str(), next.variants().size());
  return 0;
}

int main(int argc, char **argv) {
  return example::run_program(
      argc, argv, "gpt_shakespeare --data input.txt --steps 2000",
      {{"data", "FILE", "a text to learn from; without it the program makes sums", ""},
       {"steps", "N", "steps of training", "300"},
       {"layers", "N", "layers", "4"},
       {"features", "N", "features of a character, a multiple of 4", "128"},
       {"write", "N", "characters to write, at least 64", "256"}},
      run);
}
