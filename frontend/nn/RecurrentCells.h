//===- RecurrentCells.h - The formulas of recurrent layers ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_NN_RECURRENTCELLS_H
#define WEFT_FRONTEND_NN_RECURRENTCELLS_H

#include "weft/recurrent.hpp"

namespace weft::frontend {

enum class RecurrentFormula : uint8_t { tanh, relu, lstm, gru };

/// How many blocks of hidden_size rows a weight has.
inline int64_t gatesOf(RecurrentFormula formula) {
  return formula == RecurrentFormula::lstm ? 4 : formula == RecurrentFormula::gru ? 3 : 1;
}

/// The parameters of a step; undefined where there is none.
struct StepWeights {
  Tensor weight_ih, weight_hh, bias_ih, bias_hh, weight_hr;
};

/// One step of a recurrent layer. What the input has in it is computed for all steps at once.
struct RecurrentStep {
  RecurrentStep(RecurrentFormula formula, StepWeights weights, Loc loc);
  /// The products of inputs, with the biases that belong to them: [..., gates * hidden] for x [...,
  /// input_size].
  Tensor inputPart(const Tensor &x) const;
  /// The states after a step: the hidden state, and of an LSTM the cell state. `input` is a slice of
  /// `inputPart`.
  std::vector<Tensor> operator()(const Tensor &input, const std::vector<Tensor> &states) const;

private:
  Tensor hiddenPart(const Tensor &h) const;
  RecurrentFormula formula_;
  StepWeights weights_;
  Tensor across_, projection_; ///< the weights of the state and of its projection, transposed once
  Loc loc_;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_NN_RECURRENTCELLS_H
