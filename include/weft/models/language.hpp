//===- language.hpp - Networks of texts --------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_MODELS_LANGUAGE_HPP
#define WEFT_MODELS_LANGUAGE_HPP

#include "weft/layers.hpp"
#include "weft/recurrent.hpp"

namespace weft::models {

/// Radford et al. (2019), as nanoGPT writes it: parameters have its names, and lm_head.weight is
/// transformer.wte.weight.
struct GptOptions {
  int64_t block_size = 1024, vocab_size = 50304, n_layer = 12, n_head = 12, n_embd = 768;
  double dropout = 0;
  bool bias = true; ///< of linear layers and norms
};

/// Keys and values of the tokens so far, of each layer: [batch, heads, block_size, features].
struct GptCache {
  std::vector<Tensor> keys, values;
};

class WEFT_API GptBlock : public nn::Module {
public:
  explicit GptBlock(const GptOptions &options);
  /// x [batch, length, n_embd].
  Tensor operator()(const Tensor &x) const;
  /// One token, x [batch, 1, n_embd], at `position`, an i64 of shape [1]: its key and value are written to
  /// the cache of layer `layer`, and it sees those at and before its position.
  Tensor next(const Tensor &x, const Tensor &position, GptCache &cache, size_t layer) const;

private:
  struct Attention : nn::Module {
    explicit Attention(const GptOptions &options);
    nn::Linear c_attn, c_proj;
    nn::Dropout attn_dropout, resid_dropout;
  };
  struct Mlp : nn::Module {
    explicit Mlp(const GptOptions &options);
    Tensor operator()(const Tensor &x) const;
    nn::Linear c_fc, c_proj;
    nn::Dropout dropout;
  };
  /// Query, key and value as heads, [batch, heads, length, features].
  std::vector<Tensor> heads(const Tensor &x) const;
  Tensor joined(const Tensor &heads) const;
  int64_t n_head_, n_embd_;
  nn::LayerNorm ln_1_;
  Attention attn_;
  nn::LayerNorm ln_2_;
  Mlp mlp_;
};

class WEFT_API Gpt : public nn::Module {
public:
  /// Throws Error unless heads tile features.
  explicit Gpt(GptOptions options);
  /// tokens [batch, length] of integers: logits [batch, length, vocab_size]. Throws Error if there are more
  /// tokens than `block_size`.
  Tensor operator()(const Tensor &tokens) const;
  /// The mean cross entropy of each next token; a target of -1 is left out.
  Tensor loss(const Tensor &tokens, const Tensor &targets) const;
  const GptOptions &options() const { return options_; }

  /// \name Generation, one token at a time
  /// @{
  GptCache cache(int64_t batch, Device device = {}) const;
  /// The logits [batch, vocab_size] behind `tokens` [batch], which are at `position`, an i64 of shape [1],
  /// and whose keys and values it adds to the cache. Compiled once, it runs at every position.
  Tensor next(const Tensor &tokens, const Tensor &position, GptCache &cache) const;
  /// @}

private:
  GptOptions options_;
  nn::Embedding wte_, wpe_;
  nn::Dropout drop_;
  std::vector<GptBlock> blocks_;
  nn::LayerNorm ln_f_;
  nn::Linear lm_head_;
};

/// Zaremba et al. (2014), as PyTorch's example of word prediction writes it: an embedding (encoder), an
/// LSTM (rnn) and a linear layer (decoder), with its names of parameters.
struct LstmLmOptions {
  int64_t vocab_size = 33278, embedding = 200, hidden = 200, num_layers = 2;
  double dropout = 0.2; ///< of embeddings, between layers, and before the decoder
  /// Whether decoder.weight is encoder.weight; `hidden` is then `embedding`.
  bool tie_weights = false;
};

class WEFT_API LstmLm : public nn::Module {
public:
  /// Throws Error for sizes that are not above 0, and if weights are tied and `hidden` is not `embedding`.
  explicit LstmLm(LstmLmOptions options);
  /// tokens [batch, length] of integers: logits [batch, length, vocab_size], and the state behind them, from
  /// which the next tokens go on. Without a state it is zeros.
  std::pair<Tensor, nn::LSTMState> operator()(const Tensor &tokens,
                                              const std::optional<nn::LSTMState> &state = {}) const;
  /// The mean cross entropy of each next token, without a state; a target of -1 is left out.
  Tensor loss(const Tensor &tokens, const Tensor &targets) const;
  /// The logits [batch, vocab_size] behind `tokens` [batch], and the state behind them. Compiled once, it
  /// writes a text of any length.
  std::pair<Tensor, nn::LSTMState> next(const Tensor &tokens, const nn::LSTMState &state) const;
  /// Zeros, [num_layers, batch, hidden] both.
  nn::LSTMState state(int64_t batch, Device device = {}) const;
  const LstmLmOptions &options() const { return options_; }

private:
  LstmLmOptions options_;
  nn::Dropout drop_;
  nn::Embedding encoder_;
  nn::LSTM rnn_;
  nn::Linear decoder_;
};

WEFT_API LstmLm lstm_lm(LstmLmOptions options = {});

} // namespace weft::models

#endif // WEFT_MODELS_LANGUAGE_HPP
