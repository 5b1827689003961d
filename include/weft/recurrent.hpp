//===- recurrent.hpp - Recurrent layers -------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch.nn.RNN, LSTM and GRU, and their cells: names, shapes and initial values of parameters are PyTorch's,
// and so are the formulas. Shapes that do not fit are an error.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RECURRENT_HPP
#define WEFT_RECURRENT_HPP

#include "weft/module.hpp"
#include "weft/packed_sequence.hpp"

namespace weft::frontend {
enum class RecurrentFormula : uint8_t;
}

namespace weft::nn {

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

/// h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of that (Elman, 1990). x [batch, input_size] and h
/// [batch, hidden_size], or both without a batch; without h it is zeros.
class WEFT_API RNNCell : public Module {
public:
  /// `nonlinearity` is "tanh" or "relu".
  RNNCell(int64_t input_size, int64_t hidden_size, bool bias = true, std::string nonlinearity = "tanh",
          Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, const Tensor &h = {}, Loc loc = Loc::current()) const;
  void reset_parameters(Loc loc = Loc::current());
  Parameter weight_ih, weight_hh, bias_ih, bias_hh;

private:
  bool relu_;
};

/// The hidden state and the cell state of an LSTM.
using LSTMState = std::pair<Tensor, Tensor>;

/// Hochreiter and Schmidhuber (1997), with a forget gate: rows of the weights are those of the input gate,
/// the forget gate, the cell and the output gate. Shapes as of RNNCell.
class WEFT_API LSTMCell : public Module {
public:
  LSTMCell(int64_t input_size, int64_t hidden_size, bool bias = true, Loc loc = Loc::current());
  LSTMState operator()(const Tensor &x, const std::optional<LSTMState> &state = {},
                       Loc loc = Loc::current()) const;
  void reset_parameters(Loc loc = Loc::current());
  Parameter weight_ih, weight_hh, bias_ih, bias_hh;
};

/// Cho et al. (2014), with the reset gate behind the product: rows of the weights are those of the reset
/// gate, the update gate and the new state. Shapes as of RNNCell.
class WEFT_API GRUCell : public Module {
public:
  GRUCell(int64_t input_size, int64_t hidden_size, bool bias = true, Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, const Tensor &h = {}, Loc loc = Loc::current()) const;
  void reset_parameters(Loc loc = Loc::current());
  Parameter weight_ih, weight_hh, bias_ih, bias_hh;
};

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

struct RNNOptions {
  int64_t num_layers = 1;
  std::string nonlinearity = "tanh"; ///< or "relu"
  bool bias = true;
  bool batch_first = false; ///< whether x is [batch, length, input_size], and not [length, batch, input_size]
  double dropout = 0;       ///< of what a layer gives to the next one, in training
  bool bidirectional = false; ///< whether each layer also reads the sequence from its end
};
struct LSTMOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  int64_t proj_size = 0; ///< if above 0, the hidden state is projected to so many features
};
struct GRUOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
};

/// The parameters of a layer in one direction: weight_ih [gates * hidden, input], weight_hh
/// [gates * hidden, hidden], the biases [gates * hidden], and of an LSTM with projections weight_hr
/// [proj_size, hidden].
struct RecurrentWeights {
  Parameter weight_ih, weight_hh, bias_ih, bias_hh, weight_hr;
};

/// What RNN, LSTM and GRU share. Parameters are weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 (and
/// weight_hr_l0), those of the other direction weight_ih_l0_reverse and so on, and then those of the next
/// layer; all uniform in +-1/sqrt(hidden_size) at first.
class WEFT_API RecurrentLayers : public Module {
public:
  /// Draws all parameters anew.
  void reset_parameters(Loc loc = Loc::current());
  /// Those of each layer; with two directions, those of layer i are at 2 i and, from the end, at 2 i + 1.
  std::vector<RecurrentWeights> all_weights;

protected:
  RecurrentLayers(frontend::RecurrentFormula formula, int64_t input_size, int64_t hidden_size,
                  const LSTMOptions &options, Loc loc);
  /// The sequence of the last layer's outputs, and the final states of all layers, [layers * directions,
  /// batch, features] each. `states` has none or all initial states.
  std::pair<Tensor, std::vector<Tensor>> run(const Tensor &x, const std::vector<Tensor> &states,
                                             Loc loc) const;
  std::pair<utils::rnn::PackedSequence, std::vector<Tensor>>
  run(const utils::rnn::PackedSequence &x, const std::vector<Tensor> &states, Loc loc) const;

private:
  void checkInput(const Tensor &x, Loc loc) const;
  void checkStates(const std::vector<Tensor> &states, bool batched, const Size &batch, Loc loc) const;
  /// x [length, batch, features]; `present`, if it is defined, is false where a sequence has ended.
  std::pair<Tensor, std::vector<Tensor>> layers(Tensor x, const Tensor &present,
                                                const std::vector<Tensor> &states, Loc loc) const;
  frontend::RecurrentFormula formula_;
  int64_t input_, hidden_;
  LSTMOptions options_;
};

/// RNNCell along a sequence: x [length, batch, input_size] ([batch, length, input_size], or [length,
/// input_size] without a batch). Gives the output of the last layer at each step, [length, batch, directions
/// * hidden_size], and the final state [num_layers * directions, batch, hidden_size]. `h` is the initial
/// state, of the final one's shape; without it zeros.
class WEFT_API RNN : public RecurrentLayers {
public:
  RNN(int64_t input_size, int64_t hidden_size, const RNNOptions &options = {}, Loc loc = Loc::current());
  std::pair<Tensor, Tensor> operator()(const Tensor &x, const Tensor &h = {}, Loc loc = Loc::current()) const;
  /// A packed sequence gives a packed one. States are in the order of the sequences that were packed.
  std::pair<utils::rnn::PackedSequence, Tensor>
  operator()(const utils::rnn::PackedSequence &x, const Tensor &h = {}, Loc loc = Loc::current()) const;
};

/// LSTMCell along a sequence, as RNN; states are a hidden state and a cell state. With `proj_size` outputs
/// and hidden states have so many features, and the cell state hidden_size.
class WEFT_API LSTM : public RecurrentLayers {
public:
  LSTM(int64_t input_size, int64_t hidden_size, const LSTMOptions &options = {}, Loc loc = Loc::current());
  std::pair<Tensor, LSTMState> operator()(const Tensor &x, const std::optional<LSTMState> &state = {},
                                          Loc loc = Loc::current()) const;
  std::pair<utils::rnn::PackedSequence, LSTMState> operator()(const utils::rnn::PackedSequence &x,
                                                              const std::optional<LSTMState> &state = {},
                                                              Loc loc = Loc::current()) const;
};

/// GRUCell along a sequence, as RNN.
class WEFT_API GRU : public RecurrentLayers {
public:
  GRU(int64_t input_size, int64_t hidden_size, const GRUOptions &options = {}, Loc loc = Loc::current());
  std::pair<Tensor, Tensor> operator()(const Tensor &x, const Tensor &h = {}, Loc loc = Loc::current()) const;
  std::pair<utils::rnn::PackedSequence, Tensor>
  operator()(const utils::rnn::PackedSequence &x, const Tensor &h = {}, Loc loc = Loc::current()) const;
};

} // namespace weft::nn

#endif // WEFT_RECURRENT_HPP
