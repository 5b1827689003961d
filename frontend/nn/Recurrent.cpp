//===- Recurrent.cpp - Recurrent layers -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/recurrent.hpp"

#include "frontend/nn/LayerText.h"
#include "frontend/nn/RecurrentCells.h"
#include "frontend/ops/Ops.h"
#include "weft/dim.hpp"
#include "weft/gather_scatter.hpp"
#include "weft/init.hpp"
#include "weft/joining.hpp"
#include "weft/loops.hpp"
#include "weft/math.hpp"
#include "weft/reduce.hpp"

#include <cmath>

namespace weft::nn {

using namespace frontend;
using utils::rnn::PackedSequence;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static const char *nameOf(RecurrentFormula formula) {
  return formula == RecurrentFormula::lstm ? "LSTM" : formula == RecurrentFormula::gru ? "GRU" : "RNN";
}

static std::string textOf(RecurrentFormula formula, int64_t input, int64_t hidden,
                          const LSTMOptions &options) {
  std::string text = std::to_string(input) + ", " + std::to_string(hidden);
  if (formula == RecurrentFormula::relu)
    text += ", nonlinearity=relu";
  if (options.proj_size)
    text += ", proj_size=" + std::to_string(options.proj_size);
  if (options.num_layers != 1)
    text += ", num_layers=" + std::to_string(options.num_layers);
  if (!options.bias)
    text += ", bias=False";
  if (options.batch_first)
    text += ", batch_first=True";
  if (options.dropout != 0)
    text += ", dropout=" + numberText(options.dropout);
  if (options.bidirectional)
    text += ", bidirectional=True";
  return text;
}

static void checkOptions(const std::string &name, int64_t input, int64_t hidden, const LSTMOptions &options,
                         Loc loc) {
  if (input < 0)
    fail(name + ": input_size must not be negative, found " + std::to_string(input), loc);
  if (hidden < 1)
    fail(name + ": hidden_size must be greater than zero, found " + std::to_string(hidden), loc);
  if (options.num_layers < 1)
    fail(name + ": num_layers must be greater than zero, found " + std::to_string(options.num_layers), loc);
  if (!(options.dropout >= 0 && options.dropout <= 1))
    fail(name + ": dropout should be a number in range [0, 1] representing the probability of an element " +
             "being zeroed, found " + std::to_string(options.dropout),
         loc);
  if (options.proj_size < 0 || options.proj_size >= hidden)
    fail(name + ": proj_size has to be smaller than hidden_size, and zero for no projections, found " +
             std::to_string(options.proj_size) + " and " + std::to_string(hidden),
         loc);
}

RecurrentLayers::RecurrentLayers(RecurrentFormula formula, int64_t input_size, int64_t hidden_size,
                                 const LSTMOptions &options, Loc loc)
    : Module(nameOf(formula), textOf(formula, input_size, hidden_size, options)), formula_(formula),
      input_(input_size), hidden_(hidden_size), options_(options) {
  checkOptions(std::string("nn::") + nameOf(formula), input_size, hidden_size, options, loc);
  const int64_t rows = gatesOf(formula) * hidden_size, directions = options.bidirectional ? 2 : 1;
  const int64_t out = options.proj_size ? options.proj_size : hidden_size;
  all_weights.reserve(static_cast<size_t>(options.num_layers * directions));
  for (int64_t layer = 0; layer < options.num_layers; ++layer)
    for (int64_t direction = 0; direction < directions; ++direction) {
      const std::string suffix = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
      const auto make = [&](const char *name, bool present, const Shape &shape) {
        return present ? register_parameter(name + suffix, empty(shape, {}, loc)) : absent_parameter();
      };
      RecurrentWeights &made = all_weights.emplace_back();
      made.weight_ih = make("weight_ih", true, {rows, layer ? out * directions : input_size});
      made.weight_hh = make("weight_hh", true, {rows, out});
      made.bias_ih = make("bias_ih", options.bias, {rows});
      made.bias_hh = make("bias_hh", options.bias, {rows});
      made.weight_hr = make("weight_hr", options.proj_size > 0, {out, hidden_size});
    }
  reset_parameters(loc);
}

void RecurrentLayers::reset_parameters(Loc loc) {
  const double bound = 1 / std::sqrt(static_cast<double>(hidden_));
  for (const Tensor &parameter : parameters())
    init::uniform_(parameter, -bound, bound, loc);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void RecurrentLayers::checkInput(const Tensor &x, Loc loc) const {
  const DType own = all_weights.front().weight_ih.dtype(loc);
  if (x.dtype(loc) != own)
    fail("RNN input dtype (" + std::string(weft::name(x.dtype(loc))) + ") does not match weight dtype (" +
             std::string(weft::name(own)) + "). Convert input: input.to(" + std::string(weft::name(own)) +
             "), or convert model: model.to(" + std::string(weft::name(x.dtype(loc))) + ")",
         loc, {use(x, loc)});
  if (x.sizes(loc).back() != input_)
    fail("input.size(-1) must be equal to input_size. Expected " + std::to_string(input_) + ", got " +
             Size::of_entry(x.sizes(loc).back()).str(),
         loc, {use(x, loc)});
}

void RecurrentLayers::checkStates(const std::vector<Tensor> &states, bool batched, const Size &batch,
                                  Loc loc) const {
  const int64_t count = options_.num_layers * (options_.bidirectional ? 2 : 1);
  for (size_t i = 0; i < states.size(); ++i) {
    const int64_t features = i == 0 && options_.proj_size ? options_.proj_size : hidden_;
    const Shape expected = batched ? shape({Size(count), batch, Size(features)}) : Shape{count, features};
    const Tensor &state = states[i];
    if (state.dim(loc) != static_cast<int64_t>(expected.size()))
      fail(std::string("For ") + (batched ? "batched 3-D" : "unbatched 2-D") + " input, hx" +
               (states.size() > 1 ? " and cx" : "") + " should also be " + (batched ? "3" : "2") +
               "-D but got " + std::to_string(state.dim(loc)) + "-D tensor",
           loc, {use(state, loc)});
    if (state.sizes(loc) != expected)
      fail("Expected hidden" + (states.size() > 1 ? "[" + std::to_string(i) + "]" : std::string()) +
               " size " + shapeText(expected) + ", got " + shapeText(state.sizes(loc)),
           loc, {use(state, loc)});
  }
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// One layer in one direction, from these states on: the last states, and the outputs of all steps.
static std::pair<std::vector<Tensor>, Tensor>
runDirection(RecurrentFormula formula, const RecurrentWeights &weights, const Tensor &x,
             const Tensor &present, const std::vector<Tensor> &states, bool reversed, Loc loc) {
  const RecurrentStep step(
      formula, {weights.weight_ih, weights.weight_hh, weights.bias_ih, weights.bias_hh, weights.weight_hr},
      loc);
  std::vector<Tensor> sequences{step.inputPart(x)};
  if (present.defined())
    sequences.push_back(present);
  const auto body = [&](const std::vector<Tensor> &before, const std::vector<Tensor> &slices) {
    std::vector<Tensor> after = step(slices[0], before);
    // A sequence that has ended, or has not begun in the other direction, keeps its state.
    if (present.defined())
      for (size_t i = 0; i < after.size(); ++i)
        after[i] = where(slices[1], {after[i], loc}, {before[i], loc}, loc);
    const Tensor output = after[0];
    return std::pair(std::move(after), output);
  };
  return scan(body, states, sequences, {.reverse = reversed}, loc);
}

std::pair<Tensor, std::vector<Tensor>>
RecurrentLayers::layers(Tensor x, const Tensor &present, const std::vector<Tensor> &states, Loc loc) const {
  const size_t directions = options_.bidirectional ? 2 : 1,
               count = formula_ == RecurrentFormula::lstm ? 2 : 1;
  const Size batch = x.sym_size(1, loc);
  std::vector<std::vector<Tensor>> last(count);
  for (size_t i = 0; i < all_weights.size(); i += directions) {
    std::vector<Tensor> outputs;
    for (size_t direction = 0; direction < directions; ++direction) {
      const auto at = static_cast<int64_t>(i + direction);
      std::vector<Tensor> initial;
      for (size_t k = 0; k < count; ++k) {
        const int64_t features = k == 0 && options_.proj_size ? options_.proj_size : hidden_;
        initial.push_back(states.empty()
                              ? zeros(shape({batch, Size(features)}), {x.dtype(loc), x.device(loc)}, loc)
                              : states[k].select(0, at, loc));
      }
      auto [after, output] =
          runDirection(formula_, all_weights[i + direction], x, present, initial, direction == 1, loc);
      outputs.push_back(output);
      for (size_t k = 0; k < count; ++k)
        last[k].push_back(after[k]);
    }
    x = directions == 1 ? outputs[0] : cat(outputs, 2, loc);
    if (options_.dropout > 0 && i + directions < all_weights.size() && is_training())
      x = dropout(x, options_.dropout, true, loc);
  }
  std::vector<Tensor> stacked;
  for (const std::vector<Tensor> &each : last)
    stacked.push_back(stack(each, 0, loc));
  return {x, std::move(stacked)};
}

std::pair<Tensor, std::vector<Tensor>>
RecurrentLayers::run(const Tensor &x, const std::vector<Tensor> &states, Loc loc) const {
  const int64_t rank = x.dim(loc);
  if (rank != 2 && rank != 3)
    fail(std::string(nameOf(formula_)) + ": Expected input to be 2D or 3D, got " + std::to_string(rank) +
             "D instead",
         loc, {use(x, loc)});
  const bool batched = rank == 3;
  checkInput(x, loc);
  Tensor sequence = !batched ? x.unsqueeze(1, loc) : options_.batch_first ? x.transpose(0, 1, loc) : x;
  if (sequence.size(0, loc) == 0)
    fail("Expected sequence length to be larger than 0 in RNN", loc, {use(x, loc)});
  checkStates(states, batched, sequence.sym_size(1, loc), loc);
  std::vector<Tensor> initial = states;
  if (!batched)
    for (Tensor &state : initial)
      state = state.unsqueeze(1, loc);
  auto [out, last] = layers(sequence, {}, initial, loc);
  if (!batched)
    for (Tensor &state : last)
      state = state.squeeze({1}, loc);
  out = !batched ? out.squeeze({1}, loc) : options_.batch_first ? out.transpose(0, 1, loc) : out;
  return {out, std::move(last)};
}

/// The rows of a state, [layers, batch, features], in another order.
static Tensor permuted(const Tensor &state, const std::vector<int64_t> &order, Loc loc) {
  return order.empty() ? state
                       : index_select(state, 1,
                                      Tensor::from(order, {static_cast<int64_t>(order.size())},
                                                   {.device = state.device(loc)}, loc),
                                      loc);
}

std::pair<PackedSequence, std::vector<Tensor>>
RecurrentLayers::run(const PackedSequence &x, const std::vector<Tensor> &states, Loc loc) const {
  if (x.data.dim(loc) != 2)
    fail("input must have 2 dimensions, got " + std::to_string(x.data.dim(loc)), loc, {use(x.data, loc)});
  checkInput(x.data, loc);
  const auto [padded, lengths] = utils::rnn::pad_packed_sequence({x.data, x.batch_sizes}, false, 0, {}, loc);
  const auto batch = static_cast<int64_t>(lengths.size()), length = padded.size(0, loc);
  checkStates(states, true, Size(batch), loc);
  std::vector<Tensor> initial;
  for (const Tensor &state : states)
    initial.push_back(permuted(state, x.sorted_indices, loc));
  Tensor present;
  if (x.batch_sizes.back() < batch) {
    std::vector<bool> flags;
    for (const int64_t size : x.batch_sizes)
      for (int64_t row = 0; row < batch; ++row)
        flags.push_back(row < size);
    present = Tensor::from(flags, {length, batch, 1}, {.device = padded.device(loc)}, loc);
  }
  auto [out, last] = layers(padded, present, initial, loc);
  for (Tensor &state : last)
    state = permuted(state, x.unsorted_indices, loc);
  PackedSequence packed = utils::rnn::pack_padded_sequence(out, lengths, false, true, loc);
  packed.sorted_indices = x.sorted_indices;
  packed.unsorted_indices = x.unsorted_indices;
  return {std::move(packed), std::move(last)};
}

//===----------------------------------------------------------------------===//
// RNN, LSTM, GRU
//===----------------------------------------------------------------------===//

static RecurrentFormula formulaOf(const std::string &nonlinearity, Loc loc) {
  if (nonlinearity != "tanh" && nonlinearity != "relu")
    fail("nn::RNN needs the nonlinearity \"tanh\" or \"relu\", found \"" + nonlinearity + "\"", loc);
  return nonlinearity == "relu" ? RecurrentFormula::relu : RecurrentFormula::tanh;
}

RNN::RNN(int64_t input_size, int64_t hidden_size, const RNNOptions &options, Loc loc)
    : RecurrentLayers(
          formulaOf(options.nonlinearity, loc), input_size, hidden_size,
          {options.num_layers, options.bias, options.batch_first, options.dropout, options.bidirectional},
          loc) {}

LSTM::LSTM(int64_t input_size, int64_t hidden_size, const LSTMOptions &options, Loc loc)
    : RecurrentLayers(RecurrentFormula::lstm, input_size, hidden_size, options, loc) {}

GRU::GRU(int64_t input_size, int64_t hidden_size, const GRUOptions &options, Loc loc)
    : RecurrentLayers(
          RecurrentFormula::gru, input_size, hidden_size,
          {options.num_layers, options.bias, options.batch_first, options.dropout, options.bidirectional},
          loc) {}

static std::vector<Tensor> listOf(const Tensor &state) {
  return state.defined() ? std::vector<Tensor>{state} : std::vector<Tensor>();
}
static std::vector<Tensor> listOf(const std::optional<LSTMState> &state) {
  return state ? std::vector<Tensor>{state->first, state->second} : std::vector<Tensor>();
}

std::pair<Tensor, Tensor> RNN::operator()(const Tensor &x, const Tensor &h, Loc loc) const {
  auto [out, last] = run(x, listOf(h), loc);
  return {out, last[0]};
}
std::pair<PackedSequence, Tensor> RNN::operator()(const PackedSequence &x, const Tensor &h, Loc loc) const {
  auto [out, last] = run(x, listOf(h), loc);
  return {out, last[0]};
}

std::pair<Tensor, LSTMState> LSTM::operator()(const Tensor &x, const std::optional<LSTMState> &state,
                                              Loc loc) const {
  auto [out, last] = run(x, listOf(state), loc);
  return {out, {last[0], last[1]}};
}
std::pair<PackedSequence, LSTMState> LSTM::operator()(const PackedSequence &x,
                                                      const std::optional<LSTMState> &state, Loc loc) const {
  auto [out, last] = run(x, listOf(state), loc);
  return {out, {last[0], last[1]}};
}

std::pair<Tensor, Tensor> GRU::operator()(const Tensor &x, const Tensor &h, Loc loc) const {
  auto [out, last] = run(x, listOf(h), loc);
  return {out, last[0]};
}
std::pair<PackedSequence, Tensor> GRU::operator()(const PackedSequence &x, const Tensor &h, Loc loc) const {
  auto [out, last] = run(x, listOf(h), loc);
  return {out, last[0]};
}

} // namespace weft::nn
