//===- transformer.hpp - Attention with heads, and encoder layers ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TRANSFORMER_HPP
#define WEFT_TRANSFORMER_HPP

#include "weft/layers.hpp"

namespace weft::nn {

struct MultiheadAttentionOptions {
  double dropout = 0; ///< of the probabilities, in training
  bool bias = true;
  bool batch_first =
      false; ///< whether operands are [batch, length, features], and not [length, batch, features]
  /// Features of keys and values; none: as many as of queries.
  std::optional<int64_t> kdim = {}, vdim = {};
};

struct AttentionCallOptions {
  /// [batch, S] ([S] without a batch): of bool, where true is a key that takes no part, or numbers that are
  /// added.
  Tensor key_padding_mask = {};
  /// [L, S] or [batch * heads, L, S]: of bool, where true takes no part, or numbers that are added to the
  /// scores.
  Tensor attn_mask = {};
  bool need_weights = true;         ///< whether the probabilities are returned, which holds all of them
  bool average_attn_weights = true; ///< whether these are the mean of the heads
  /// Row i sees the first i + 1 keys; `attn_mask` is then left out.
  bool is_causal = false;
};

/// torch.nn.MultiheadAttention (Vaswani et al., 2017): projections of query, key and value, heads of
/// embed_dim / num_heads features, and a projection of what they attend to. Parameters are in_proj_weight [3
/// embed_dim, embed_dim] (or q_proj_weight, k_proj_weight and v_proj_weight, if keys or values have other
/// features), in_proj_bias, out_proj.weight and out_proj.bias. Without `need_weights` it is
/// `scaled_dot_product_attention`.
class WEFT_API MultiheadAttention : public Module {
public:
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, MultiheadAttentionOptions options = {},
                     Loc loc = Loc::current());
  /// query [L, batch, embed_dim], key [S, batch, kdim], value [S, batch, vdim], or all without a batch. Gives
  /// the result, of the query's shape, and the probabilities, [batch, L, S] or for each head [batch, heads,
  /// L, S]; undefined without `need_weights`. Shapes that do not fit are an error.
  std::pair<Tensor, Tensor> operator()(const Tensor &query, const Tensor &key, const Tensor &value,
                                       AttentionCallOptions call = {}, Loc loc = Loc::current()) const;
  Parameter in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias;
  Linear out_proj;

private:
  Tensor project(const Tensor &x, size_t part, Loc loc) const;
  Tensor mask_of(const AttentionCallOptions &call, const Tensor &query, bool batched, Loc loc) const;
  int64_t embed_, heads_;
  MultiheadAttentionOptions options_;
};

struct TransformerLayerOptions {
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu"; ///< or "gelu"
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false; ///< whether norms come before attention and the feedforward part, and not after
  bool bias = true;
};

/// torch.nn.TransformerEncoderLayer: attention of a sequence to itself, and a feedforward part, each with a
/// norm, dropout and the operand added.
class WEFT_API TransformerEncoderLayer : public Module {
public:
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, TransformerLayerOptions options = {},
                          Loc loc = Loc::current());
  /// [length, batch, d_model] (`batch_first`: [batch, length, d_model]). Masks as of MultiheadAttention.
  Tensor operator()(const Tensor &src, const Tensor &src_mask = {}, const Tensor &src_key_padding_mask = {},
                    bool is_causal = false, Loc loc = Loc::current()) const;

private:
  TransformerLayerOptions options_;

public:
  MultiheadAttention self_attn;
  Linear linear1;
  Dropout dropout;
  Linear linear2;
  LayerNorm norm1, norm2;
  Dropout dropout1, dropout2;
};

/// torch.nn.TransformerDecoderLayer: as the encoder's, with attention to what an encoder made between its two
/// parts.
class WEFT_API TransformerDecoderLayer : public Module {
public:
  TransformerDecoderLayer(int64_t d_model, int64_t nhead, TransformerLayerOptions options = {},
                          Loc loc = Loc::current());
  Tensor operator()(const Tensor &tgt, const Tensor &memory, const Tensor &tgt_mask = {},
                    const Tensor &memory_mask = {}, const Tensor &tgt_key_padding_mask = {},
                    const Tensor &memory_key_padding_mask = {}, bool tgt_is_causal = false,
                    bool memory_is_causal = false, Loc loc = Loc::current()) const;

private:
  TransformerLayerOptions options_;

public:
  MultiheadAttention self_attn, multihead_attn;
  Linear linear1;
  Dropout dropout;
  Linear linear2;
  LayerNorm norm1, norm2, norm3;
  Dropout dropout1, dropout2, dropout3;
};

/// torch.nn.TransformerEncoder: layers with the options and initial values of one, which is copied
/// `num_layers` times.
class WEFT_API TransformerEncoder : public Module {
public:
  TransformerEncoder(const TransformerEncoderLayer &layer, int64_t num_layers,
                     std::optional<LayerNorm> norm = {}, Loc loc = Loc::current());
  Tensor operator()(const Tensor &src, const Tensor &mask = {}, const Tensor &src_key_padding_mask = {},
                    bool is_causal = false, Loc loc = Loc::current()) const;
  ModuleList<TransformerEncoderLayer> layers;
  std::optional<LayerNorm> norm;
};

/// torch.nn.TransformerDecoder.
class WEFT_API TransformerDecoder : public Module {
public:
  TransformerDecoder(const TransformerDecoderLayer &layer, int64_t num_layers,
                     std::optional<LayerNorm> norm = {}, Loc loc = Loc::current());
  Tensor operator()(const Tensor &tgt, const Tensor &memory, const Tensor &tgt_mask = {},
                    const Tensor &memory_mask = {}, const Tensor &tgt_key_padding_mask = {},
                    const Tensor &memory_key_padding_mask = {}, bool tgt_is_causal = false,
                    bool memory_is_causal = false, Loc loc = Loc::current()) const;
  ModuleList<TransformerDecoderLayer> layers;
  std::optional<LayerNorm> norm;
};

struct TransformerOptions {
  int64_t d_model = 512, nhead = 8, num_encoder_layers = 6, num_decoder_layers = 6;
  /// Of each layer.
  TransformerLayerOptions layer = {};
};

struct TransformerCallOptions {
  /// Masks as of MultiheadAttention: of the source to itself, of the target to itself, and of the target to
  /// what the encoder made.
  Tensor src_mask = {}, tgt_mask = {}, memory_mask = {};
  Tensor src_key_padding_mask = {}, tgt_key_padding_mask = {}, memory_key_padding_mask = {};
  bool src_is_causal = false, tgt_is_causal = false, memory_is_causal = false;
};

/// torch.nn.Transformer (Vaswani et al., 2017): an encoder of the source and a decoder of the target, each
/// with a norm at its end. Weights of matrices are drawn by `xavier_uniform_`.
class WEFT_API Transformer : public Module {
public:
  explicit Transformer(TransformerOptions options = {}, Loc loc = Loc::current());
  /// src [S, batch, d_model], tgt [T, batch, d_model] (`batch_first`: the batch comes first): of the shape of
  /// tgt. Throws Error where they have other features or batches.
  Tensor operator()(const Tensor &src, const Tensor &tgt, const TransformerCallOptions &call = {},
                    Loc loc = Loc::current()) const;

private:
  TransformerOptions options_;

public:
  TransformerEncoder encoder;
  TransformerDecoder decoder;
};

/// 0 where a row sees a column, and -inf behind the diagonal: [size, size] of f32, for `attn_mask`.
WEFT_API Tensor generate_square_subsequent_mask(int64_t size, Loc loc = Loc::current());

} // namespace weft::nn

#endif // WEFT_TRANSFORMER_HPP
