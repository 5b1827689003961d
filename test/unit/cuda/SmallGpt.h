//===- SmallGpt.h - A transformer of one block ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDA_SMALLGPT_H
#define WEFT_TEST_CUDA_SMALLGPT_H

#include "test/unit/frontend/DeviceTraining.h"

namespace weft::testing {

/// A transformer of one block, of which every kind of layer has state that a failed step would change.
struct SmallGpt : nn::Module {
  static constexpr int64_t words = 11, width = 8, length = 6, heads = 2;
  nn::Embedding word = register_module("word", nn::Embedding(words, width));
  nn::Embedding place = register_module("place", nn::Embedding(length, width));
  nn::LayerNorm before = register_module("before", nn::LayerNorm(width));
  nn::Linear all = register_module("all", nn::Linear(width, 3 * width));
  nn::Linear out = register_module("out", nn::Linear(width, width));
  nn::LayerNorm after = register_module("after", nn::LayerNorm(width));
  nn::Linear up = register_module("up", nn::Linear(width, 2 * width));
  nn::Linear down = register_module("down", nn::Linear(2 * width, width));
  nn::Linear head = register_module("head", nn::Linear(width, words));
  nn::Dropout drop = register_module("drop", nn::Dropout(0.1));

  Tensor operator()(Tensor ids) {
    const int64_t batch = ids.size(0);
    Tensor x = word(ids) + place(ones_like(ids).cumsum(1) - 1);
    Tensor all_heads =
        all(before(x)).reshape({batch, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    const auto part = [&](int64_t i) { return all_heads.narrow(0, i, 1).squeeze(0); };
    Tensor seen = scaled_dot_product_attention(part(0), part(1), part(2), {.causal = true});
    x = x + drop(out(seen.transpose(1, 2).reshape({batch, length, width})));
    return head(x + drop(down(gelu(up(after(x)))))).reshape({batch * length, words});
  }
};

/// Inputs and classes of the steps below, on the host.
struct MutantData {
  explicit MutantData(bool gpt)
      : x(gpt ? arange(12).reshape({2, 6}) % 11 : numbers(96).reshape({16, 6})),
        classes(gpt ? arange(12) % 11 : arange(16) % 3) {}
  Tensor x, classes;
};

/// A model that a mutant runs, and its data, which are small enough for a step to take milliseconds.
template <typename Model> struct MutantStep {
  explicit MutantStep(Model made, const MutantData &data)
      : model(std::move(made)), x(data.x.to("cuda:0")), classes(data.classes.to("cuda:0")) {
    model.to("cuda:0");
    // A dropout compares numbers with a rate, so that wrong ones need not show.
    model.eval();
    adam.emplace(model.parameters(), optim::AdamOptions{.lr = 0.01});
  }
  Tensor operator()(Tensor given, Tensor expected) {
    Tensor loss = nn::cross_entropy(model(given), expected);
    loss.backward();
    adam->step();
    adam->zero_grad();
    return loss;
  }
  Model model;
  Tensor x, classes;
  std::optional<optim::Adam> adam;
};

/// Calls `use` with a step of the MLP, or of the transformer.
template <typename Use> auto withMutantStep(bool gpt, Use use) {
  manual_seed(3);
  const MutantData data(gpt);
  if (gpt) {
    MutantStep step(SmallGpt(), data);
    return use(step);
  }
  MutantStep step(DeviceNet(), data);
  return use(step);
}

} // namespace weft::testing

#endif // WEFT_TEST_CUDA_SMALLGPT_H
