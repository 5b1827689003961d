//===- LstmLm.cpp - Texts by LSTMs -----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "models/Checks.h"
#include "weft/creation.hpp"
#include "weft/init.hpp"
#include "weft/losses.hpp"
#include "weft/models/language.hpp"

namespace weft::models {

static LstmLmOptions checked(const LstmLmOptions &options) {
  checkCounts("LstmLm", "sizes (vocab_size, embedding, hidden, num_layers)",
              {options.vocab_size, options.embedding, options.hidden, options.num_layers}, 4);
  if (options.tie_weights && options.hidden != options.embedding)
    throw Error("models::LstmLm with tied weights needs a hidden that is its embedding, found " +
                std::to_string(options.hidden) + " and " + std::to_string(options.embedding));
  return options;
}

LstmLm::LstmLm(LstmLmOptions options)
    : options_(checked(options)), drop_(register_module("drop", nn::Dropout(options.dropout))),
      encoder_(options.vocab_size, options.embedding),
      rnn_(options.embedding, options.hidden,
           {.num_layers = options.num_layers, .batch_first = true, .dropout = options.dropout}),
      decoder_(options.hidden, options.vocab_size) {
  register_module("encoder", encoder_);
  register_module("rnn", rnn_);
  register_module("decoder", decoder_);
  if (options.tie_weights)
    decoder_.weight = encoder_.weight;
  nn::init::uniform_(encoder_.weight, -0.1, 0.1);
  nn::init::uniform_(decoder_.weight, -0.1, 0.1);
  nn::init::zeros_(decoder_.bias);
}

std::pair<Tensor, nn::LSTMState> LstmLm::operator()(const Tensor &tokens,
                                                    const std::optional<nn::LSTMState> &state) const {
  const auto [out, last] = rnn_(drop_(encoder_(tokens)), state);
  return {decoder_(drop_(out)), last};
}

Tensor LstmLm::loss(const Tensor &tokens, const Tensor &targets) const {
  return nn::cross_entropy((*this)(tokens).first.flatten(0, 1), targets.flatten(), {.ignore_index = -1});
}

std::pair<Tensor, nn::LSTMState> LstmLm::next(const Tensor &tokens, const nn::LSTMState &state) const {
  const auto [logits, last] = (*this)(tokens.unsqueeze(1), state);
  return {logits.squeeze({1}), last};
}

nn::LSTMState LstmLm::state(int64_t batch, Device device) const {
  const auto made = [&] {
    return zeros({options_.num_layers, batch, options_.hidden},
                 {.dtype = encoder_.weight.dtype(), .device = device});
  };
  return {made(), made()};
}

LstmLm lstm_lm(LstmLmOptions options) { return LstmLm(options); }

} // namespace weft::models
