//===- RecurrentCells.cpp - The formulas of recurrent layers ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/nn/RecurrentCells.h"

#include "frontend/ops/Ops.h"
#include "weft/activations.hpp"
#include "weft/init.hpp"
#include "weft/linear_algebra.hpp"
#include "weft/math.hpp"
#include "weft/nn.hpp"

#include <cmath>

namespace weft {

using namespace frontend;

namespace frontend {

static Tensor sum(const Tensor &a, const Tensor &b, Loc loc) { return add({a, loc}, {b, loc}); }
static Tensor product(const Tensor &a, const Tensor &b, Loc loc) { return mul({a, loc}, {b, loc}); }

RecurrentStep::RecurrentStep(RecurrentFormula formula, StepWeights weights, Loc loc)
    : formula_(formula), weights_(std::move(weights)), across_(weights_.weight_hh.t(loc)), loc_(loc) {
  if (weights_.weight_hr.defined())
    projection_ = weights_.weight_hr.t(loc);
}

Tensor RecurrentStep::inputPart(const Tensor &x) const {
  Tensor bias = weights_.bias_ih;
  // The reset gate of a GRU multiplies the other bias, so that one stays with the product of the state.
  if (bias.defined() && formula_ != RecurrentFormula::gru)
    bias = sum(bias, weights_.bias_hh, loc_);
  return nn::linear(x, weights_.weight_ih, bias, loc_);
}

Tensor RecurrentStep::hiddenPart(const Tensor &h) const {
  const Tensor part = matmul(h, across_, loc_);
  return formula_ == RecurrentFormula::gru && weights_.bias_hh.defined() ? sum(part, weights_.bias_hh, loc_)
                                                                         : part;
}

std::vector<Tensor> RecurrentStep::operator()(const Tensor &input, const std::vector<Tensor> &states) const {
  const Loc loc = loc_;
  const Tensor &h = states.front();
  const Tensor from_state = hiddenPart(h);
  const int64_t hidden = weights_.weight_hh.size(0, loc) / gatesOf(formula_);
  const auto gate = [&](const Tensor &all, int64_t i) { return all.narrow(-1, i * hidden, hidden, loc); };
  switch (formula_) {
  case RecurrentFormula::tanh:
    return {tanh(sum(input, from_state, loc), loc)};
  case RecurrentFormula::relu:
    return {relu(sum(input, from_state, loc), loc)};
  case RecurrentFormula::lstm: {
    const Tensor gates = sum(input, from_state, loc);
    const Tensor kept = product(sigmoid(gate(gates, 1), loc), states[1], loc);
    const Tensor cell = sum(kept, product(sigmoid(gate(gates, 0), loc), tanh(gate(gates, 2), loc), loc), loc);
    Tensor out = product(sigmoid(gate(gates, 3), loc), tanh(cell, loc), loc);
    if (projection_.defined())
      out = matmul(out, projection_, loc);
    return {out, cell};
  }
  case RecurrentFormula::gru: {
    const Tensor reset = sigmoid(sum(gate(input, 0), gate(from_state, 0), loc), loc);
    const Tensor update = sigmoid(sum(gate(input, 1), gate(from_state, 1), loc), loc);
    const Tensor made = tanh(sum(gate(input, 2), product(reset, gate(from_state, 2), loc), loc), loc);
    return {sum(made, product(update, sub({h, loc}, {made, loc}), loc), loc)};
  }
  }
  __builtin_unreachable();
}

} // namespace frontend

namespace nn {

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

namespace {

std::string cellText(int64_t input, int64_t hidden, bool bias) {
  return std::to_string(input) + ", " + std::to_string(hidden) + (bias ? "" : ", bias=False");
}

template <typename Cell> StepWeights weightsOf(const Cell &cell) {
  return {cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh, {}};
}

template <typename Cell> void draw(const Cell &cell, Loc loc) {
  const int64_t hidden = cell.weight_hh.size(1, loc);
  const double bound = hidden > 0 ? 1 / std::sqrt(static_cast<double>(hidden)) : 0;
  for (const Tensor &parameter : cell.parameters())
    init::uniform_(parameter, -bound, bound, loc);
}

void checkSizes(const char *cell, int64_t input, int64_t hidden, Loc loc) {
  if (input < 0 || hidden < 1)
    fail(std::string("nn::") + cell +
             " needs an input_size that is not negative and a hidden_size above 0, " + "found " +
             std::to_string(input) + " and " + std::to_string(hidden),
         loc);
}

/// Makes the parameters of a cell: `make` registers one, or leaves it out if there are no biases.
template <typename Cell, typename Make>
void makeParameters(Cell &cell, int64_t gates, int64_t input, int64_t hidden, const Make &make) {
  cell.weight_ih = make("weight_ih", Shape{gates * hidden, input});
  cell.weight_hh = make("weight_hh", Shape{gates * hidden, hidden});
  cell.bias_ih = make("bias_ih", Shape{gates * hidden});
  cell.bias_hh = make("bias_hh", Shape{gates * hidden});
}

/// One step for x [batch, input_size] or [input_size], and states of the same number of dimensions; an
/// undefined one is zeros.
std::vector<Tensor> stepOf(const char *cell, RecurrentFormula formula, const StepWeights &weights,
                           const Tensor &x, std::vector<Tensor> states, Loc loc) {
  const int64_t rank = x.dim(loc), input = weights.weight_ih.size(1, loc),
                hidden = weights.weight_hh.size(1, loc);
  if (rank != 1 && rank != 2)
    fail(std::string(cell) + ": Expected input to be 1D or 2D, got " + std::to_string(rank) + "D instead",
         loc, {use(x, loc)});
  if (x.sizes(loc).back() != input)
    fail(std::string(cell) + ": input has inconsistent input_size: got " + shapeText(x.sizes(loc)) +
             ", expected " + std::to_string(input) + " as its last size",
         loc, {use(x, loc)});
  Shape shape = x.sizes(loc);
  shape.back() = hidden;
  for (Tensor &state : states)
    if (!state.defined())
      state = zeros(shape, {x.dtype(loc), x.device(loc)}, loc);
    else if (state.sizes(loc) != shape)
      fail(std::string(cell) + ": expected a state of shape " + shapeText(shape) + ", found " +
               shapeText(state.sizes(loc)),
           loc, {use(state, loc)});
  // A product of a vector by a matrix has no rows, so a step without a batch is one of a batch of 1.
  const bool batched = rank == 2;
  if (!batched)
    for (Tensor &state : states)
      state = state.unsqueeze(0, loc);
  const RecurrentStep step(formula, weights, loc);
  std::vector<Tensor> made = step(step.inputPart(batched ? x : x.unsqueeze(0, loc)), states);
  if (!batched)
    for (Tensor &state : made)
      state = state.squeeze({0}, loc);
  return made;
}

bool isRelu(const char *layer, const std::string &nonlinearity, Loc loc) {
  if (nonlinearity != "tanh" && nonlinearity != "relu")
    fail(std::string("nn::") + layer + " needs the nonlinearity \"tanh\" or \"relu\", found \"" +
             nonlinearity + "\"",
         loc);
  return nonlinearity == "relu";
}

} // namespace

#define WEFT_MAKE(bias)                                                                                      \
  [&](const char *name, const Shape &shape) {                                                                \
    return (bias) || shape.size() == 2 ? register_parameter(name, empty(shape, {}, loc))                     \
                                       : absent_parameter();                                                 \
  }

RNNCell::RNNCell(int64_t input_size, int64_t hidden_size, bool bias, std::string nonlinearity, Loc loc)
    : Module("RNNCell", cellText(input_size, hidden_size, bias) +
                            (nonlinearity == "tanh" ? "" : ", nonlinearity=" + nonlinearity)),
      relu_(isRelu("RNNCell", nonlinearity, loc)) {
  checkSizes("RNNCell", input_size, hidden_size, loc);
  makeParameters(*this, 1, input_size, hidden_size, WEFT_MAKE(bias));
  reset_parameters(loc);
}

LSTMCell::LSTMCell(int64_t input_size, int64_t hidden_size, bool bias, Loc loc)
    : Module("LSTMCell", cellText(input_size, hidden_size, bias)) {
  checkSizes("LSTMCell", input_size, hidden_size, loc);
  makeParameters(*this, 4, input_size, hidden_size, WEFT_MAKE(bias));
  reset_parameters(loc);
}

GRUCell::GRUCell(int64_t input_size, int64_t hidden_size, bool bias, Loc loc)
    : Module("GRUCell", cellText(input_size, hidden_size, bias)) {
  checkSizes("GRUCell", input_size, hidden_size, loc);
  makeParameters(*this, 3, input_size, hidden_size, WEFT_MAKE(bias));
  reset_parameters(loc);
}
#undef WEFT_MAKE

void RNNCell::reset_parameters(Loc loc) { draw(*this, loc); }
void LSTMCell::reset_parameters(Loc loc) { draw(*this, loc); }
void GRUCell::reset_parameters(Loc loc) { draw(*this, loc); }

Tensor RNNCell::operator()(const Tensor &x, const Tensor &h, Loc loc) const {
  return stepOf("RNNCell", relu_ ? RecurrentFormula::relu : RecurrentFormula::tanh, weightsOf(*this), x, {h},
                loc)[0];
}

LSTMState LSTMCell::operator()(const Tensor &x, const std::optional<LSTMState> &state, Loc loc) const {
  const LSTMState given = state.value_or(LSTMState());
  const std::vector<Tensor> made =
      stepOf("LSTMCell", RecurrentFormula::lstm, weightsOf(*this), x, {given.first, given.second}, loc);
  return {made[0], made[1]};
}

Tensor GRUCell::operator()(const Tensor &x, const Tensor &h, Loc loc) const {
  return stepOf("GRUCell", RecurrentFormula::gru, weightsOf(*this), x, {h}, loc)[0];
}

} // namespace nn
} // namespace weft
