//===- ops_recurrent.cpp - Recurrent layers, for test_recurrent.py ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parameters are arguments, so that the answer has their gradients: they become those of a module.
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;
using namespace parity;
namespace rnn = nn::utils::rnn;

namespace {

/// Makes a module's parameters these tensors, in the order of PyTorch's parameters().
void setParameters(nn::RecurrentLayers &module, const Tensors &weights) {
  size_t next = 0;
  for (nn::RecurrentWeights &layer : module.all_weights)
    for (nn::Parameter *own :
         {&layer.weight_ih, &layer.weight_hh, &layer.bias_ih, &layer.bias_hh, &layer.weight_hr})
      if (own->defined())
        *own = nn::Parameter(weights.at(next++));
}

template <typename Cell> void setCellParameters(Cell &cell, const Tensors &weights) {
  size_t next = 0;
  for (nn::Parameter *own : {&cell.weight_ih, &cell.weight_hh, &cell.bias_ih, &cell.bias_hh})
    if (own->defined())
      *own = nn::Parameter(weights.at(next++));
}

Tensors flat(const Tensor &out, const Tensor &state) { return {out, state}; }
Tensors flat(const Tensor &out, const nn::LSTMState &state) { return {out, state.first, state.second}; }

/// The results for a padded input, or, where there are lengths, for a packed one, padded again.
template <typename Layer, typename State>
Tensors call(Layer &layer, const Args &a, const State &state, bool batch_first) {
  if (!a.has(9)) {
    auto [out, last] = layer(a.tensor(1), state);
    return flat(out, last);
  }
  auto [out, last] =
      layer(rnn::pack_padded_sequence(a.tensor(1), a.list(9), batch_first, /*enforce_sorted=*/false), state);
  return flat(rnn::pad_packed_sequence(out, batch_first, 0.25).first, last);
}

// Arguments: mode, x, states, weights, hidden_size, num_layers, batch_first, bidirectional, proj_size,
// lengths.
Tensors recurrent(const Args &a) {
  const std::string mode = a.word(0);
  const Tensors states = a.has(2) ? a.tensors(2) : Tensors(), weights = a.tensors(3);
  const int64_t hidden = a.whole(4), layers = a.whole(5), input = weights[0].size(1);
  const bool batch_first = a.flag(6), both = a.flag(7);
  const int64_t projected = a.whole(8, 0);
  const auto per_direction = static_cast<int64_t>(weights.size()) / layers / (both ? 2 : 1);
  const bool bias = per_direction >= 4;
  const Tensor state = states.empty() ? Tensor() : states[0];
  if (mode == "LSTM") {
    nn::LSTM layer(input, hidden,
                   {.num_layers = layers,
                    .bias = bias,
                    .batch_first = batch_first,
                    .bidirectional = both,
                    .proj_size = projected});
    setParameters(layer, weights);
    std::optional<nn::LSTMState> given;
    if (!states.empty())
      given = {states[0], states[1]};
    return call(layer, a, given, batch_first);
  }
  if (mode == "GRU") {
    nn::GRU layer(input, hidden,
                  {.num_layers = layers, .bias = bias, .batch_first = batch_first, .bidirectional = both});
    setParameters(layer, weights);
    return call(layer, a, state, batch_first);
  }
  nn::RNN layer(input, hidden,
                {.num_layers = layers,
                 .nonlinearity = mode,
                 .bias = bias,
                 .batch_first = batch_first,
                 .bidirectional = both});
  setParameters(layer, weights);
  return call(layer, a, state, batch_first);
}

// Arguments: mode, x, states, weights.
Tensors cell(const Args &a) {
  const std::string mode = a.word(0);
  const Tensors states = a.has(2) ? a.tensors(2) : Tensors(), weights = a.tensors(3);
  const int64_t input = weights[0].size(1), hidden = weights[1].size(1);
  const bool bias = weights.size() == 4;
  const Tensor state = states.empty() ? Tensor() : states[0];
  if (mode == "LSTM") {
    nn::LSTMCell made(input, hidden, bias);
    setCellParameters(made, weights);
    std::optional<nn::LSTMState> given;
    if (!states.empty())
      given = {states[0], states[1]};
    const auto [h, c] = made(a.tensor(1), given);
    return {h, c};
  }
  if (mode == "GRU") {
    nn::GRUCell made(input, hidden, bias);
    setCellParameters(made, weights);
    return {made(a.tensor(1), state)};
  }
  nn::RNNCell made(input, hidden, bias, mode);
  setCellParameters(made, weights);
  return {made(a.tensor(1), state)};
}

} // namespace

void parity::addRecurrent(Table &table) {
  table["recurrent"] = recurrent;
  table["recurrent_cell"] = cell;
  // Arguments: sequences, batch_first, padding_value, padding_side. The result is the padded tensor, and the
  // packed data of the same sequences.
  table["pad_sequence"] = [](const Args &a) {
    const Tensors sequences = a.tensors(0);
    return Tensors{rnn::pad_sequence(sequences, a.flag(1), a.real(2), a.word(3)),
                   rnn::pack_sequence(sequences, /*enforce_sorted=*/false).data};
  };
}
