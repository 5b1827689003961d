//===- Transformer.cpp - Attention with heads, and encoder layers -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/transformer.hpp"

#include "frontend/nn/LayerText.h"
#include "frontend/ops/Ops.h"
#include "weft/attention.hpp"
#include "weft/creation.hpp"
#include "weft/dim.hpp"
#include "weft/init.hpp"
#include "weft/operators.hpp"

#include <cmath>
#include <limits>

namespace weft::nn {

using namespace frontend;

//===----------------------------------------------------------------------===//
// MultiheadAttention
//===----------------------------------------------------------------------===//

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                                       MultiheadAttentionOptions options, Loc loc)
    : Module("MultiheadAttention"),
      out_proj(embed_dim < 0 ? 0 : embed_dim, embed_dim < 0 ? 0 : embed_dim, options.bias, loc),
      embed_(embed_dim), heads_(num_heads), options_(options) {
  if (embed_dim < 1 || num_heads < 1 || embed_dim % num_heads != 0)
    fail("nn::MultiheadAttention needs embed_dim and num_heads above 0, and embed_dim divisible by "
         "num_heads, found " +
             std::to_string(embed_dim) + " and " + std::to_string(num_heads),
         loc);
  const int64_t kdim = options.kdim.value_or(embed_dim), vdim = options.vdim.value_or(embed_dim);
  if (kdim < 1 || vdim < 1)
    fail("nn::MultiheadAttention needs kdim and vdim above 0, found " + std::to_string(kdim) + " and " +
             std::to_string(vdim),
         loc);
  const auto weight = [&](const char *name, bool present, int64_t rows, int64_t columns) {
    if (!present)
      return absent_parameter();
    Parameter made = register_parameter(name, empty({rows, columns}, {}, loc));
    init::xavier_uniform_(made, 1, loc);
    return made;
  };
  const bool joint = kdim == embed_dim && vdim == embed_dim;
  in_proj_weight = weight("in_proj_weight", joint, 3 * embed_dim, embed_dim);
  q_proj_weight = weight("q_proj_weight", !joint, embed_dim, embed_dim);
  k_proj_weight = weight("k_proj_weight", !joint, embed_dim, kdim);
  v_proj_weight = weight("v_proj_weight", !joint, embed_dim, vdim);
  in_proj_bias =
      options.bias ? register_parameter("in_proj_bias", zeros({3 * embed_dim}, {}, loc)) : absent_parameter();
  if (options.bias)
    init::zeros_(out_proj.bias, loc);
  register_module("out_proj", out_proj, loc);
}

/// A projection as heads, [batch, heads, length, features], of x [batch, length, features].
Tensor MultiheadAttention::project(const Tensor &x, size_t part, Loc loc) const {
  const auto at = static_cast<int64_t>(part) * embed_;
  const Parameter *own[] = {&q_proj_weight, &k_proj_weight, &v_proj_weight};
  const Tensor weight =
      in_proj_weight.defined() ? in_proj_weight.narrow(0, at, embed_, loc) : static_cast<Tensor>(*own[part]);
  const Tensor bias = in_proj_bias.defined() ? in_proj_bias.narrow(0, at, embed_, loc) : Tensor();
  return linear(x, weight, bias, loc).unflatten(2, {heads_, embed_ / heads_}, loc).transpose(1, 2, loc);
}

/// What is added to the scores, [batch or 1, heads or 1, L or 1, S]; undefined if there is no mask.
Tensor MultiheadAttention::mask_of(const AttentionCallOptions &call, const Tensor &query, bool batched,
                                   Loc loc) const {
  const auto added = [&](const Tensor &mask) {
    if (mask.dtype(loc) != DType::i1)
      return mask.to(query.dtype(loc), loc);
    const Tensor none =
        full({}, -std::numeric_limits<double>::infinity(), {query.dtype(loc), query.device(loc)}, loc);
    return where(mask, none, zeros({}, {query.dtype(loc), query.device(loc)}, loc), loc);
  };
  Tensor mask;
  if (call.attn_mask.defined() && !call.is_causal) {
    mask = added(call.attn_mask);
    if (mask.dim(loc) == 3)
      mask = batched ? mask.unflatten(0, {-1, heads_}, loc) : mask.unsqueeze(0, loc);
    else if (mask.dim(loc) != 2)
      fail("nn::MultiheadAttention needs an attn_mask of [L, S] or [batch * heads, L, S], found " +
               shapeText(call.attn_mask.sizes(loc)),
           loc);
  }
  if (call.key_padding_mask.defined()) {
    Tensor keys = added(call.key_padding_mask);
    if (keys.dim(loc) != (batched ? 2 : 1))
      fail(std::string("nn::MultiheadAttention needs a key_padding_mask of ") +
               (batched ? "[batch, S]" : "[S], for operands without a batch") + ", found " +
               shapeText(call.key_padding_mask.sizes(loc)),
           loc);
    keys = batched ? keys.unsqueeze(1, loc).unsqueeze(1, loc) : keys;
    mask = mask.defined() ? mask.add(Arg(keys, loc), 1) : keys;
  }
  return mask;
}

std::pair<Tensor, Tensor> MultiheadAttention::operator()(const Tensor &query, const Tensor &key,
                                                         const Tensor &value, AttentionCallOptions call,
                                                         Loc loc) const {
  const bool batched = query.dim(loc) == 3;
  const Tensor *operands[] = {&query, &key, &value};
  const char *names[] = {"query", "key", "value"};
  const int64_t features[] = {embed_, options_.kdim.value_or(embed_), options_.vdim.value_or(embed_)};
  Tensor heads[3];
  for (size_t i = 0; i < 3; ++i) {
    const Tensor &given = *operands[i];
    if (given.dim(loc) != (batched ? 3 : 2) || given.size(-1, loc) != features[i])
      fail("nn::MultiheadAttention needs a " + std::string(names[i]) + " of " +
               (batched ? options_.batch_first ? "[batch, length, " : "[length, batch, " : "[length, ") +
               std::to_string(features[i]) + "], found " + shapeText(given.sizes(loc)),
           loc);
    const Tensor sequence = !batched               ? given.unsqueeze(0, loc)
                            : options_.batch_first ? given
                                                   : given.transpose(0, 1, loc);
    heads[i] = project(sequence, i, loc);
  }
  const auto &[q, k, v] = heads;
  const Tensor mask = mask_of(call, query, batched, loc);
  const bool drops = options_.dropout > 0 && is_training();
  Tensor attended, weights;
  if (!call.need_weights && !drops && !(call.is_causal && mask.defined())) {
    attended = scaled_dot_product_attention(q, k, v, {.mask = mask, .causal = call.is_causal}, loc);
  } else {
    const double scale = 1 / std::sqrt(static_cast<double>(embed_ / heads_));
    Tensor scores = q.mul(Arg(scale, loc)).matmul(k.transpose(2, 3, loc), loc);
    if (call.is_causal) {
      const int64_t along = batched && options_.batch_first ? 1 : 0;
      const Tensor behind = ones(shape({query.sym_size(along, loc), key.sym_size(along, loc)}),
                                 {DType::i1, query.device(loc)}, loc)
                                .triu(1, loc);
      scores = scores.masked_fill(behind, Arg(-std::numeric_limits<double>::infinity(), loc), loc);
    }
    if (mask.defined())
      scores = scores.add(Arg(mask, loc), 1);
    weights = scores.softmax(3, loc);
    if (drops)
      weights = dropout(weights, options_.dropout, true, loc);
    attended = weights.matmul(v, loc);
    if (!call.need_weights)
      weights = Tensor();
  }
  Tensor out = out_proj(attended.transpose(1, 2, loc).flatten(2, -1, loc), loc);
  out = !batched ? out.squeeze({0}, loc) : options_.batch_first ? out : out.transpose(0, 1, loc);
  if (weights.defined() && call.average_attn_weights)
    weights = weights.mean({1}, false, loc);
  if (weights.defined() && !batched)
    weights = weights.squeeze({0}, loc);
  return {out, weights};
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

namespace {

MultiheadAttentionOptions attentionOptions(const TransformerLayerOptions &options) {
  return {.dropout = options.dropout, .bias = options.bias, .batch_first = options.batch_first};
}

/// The part of a layer between attention and the next one: through more features, and dropout.
template <typename Layer>
Tensor feedforward(const Layer &layer, const std::string &activation, const Tensor &x, Loc loc) {
  const Tensor wide = layer.linear1(x, loc);
  const Tensor active = activation == "gelu" ? gelu(wide, "none", loc) : relu(wide, loc);
  return layer.linear2(layer.dropout(active, loc), loc);
}

void checkActivation(const char *layer, const std::string &activation, Loc loc) {
  if (activation != "relu" && activation != "gelu")
    fail(std::string("nn::") + layer + " needs the activation \"relu\" or \"gelu\", found \"" + activation +
             "\"",
         loc);
}

LayerNorm normOf(int64_t size, const TransformerLayerOptions &options, Loc loc) {
  return LayerNorm(size, options.layer_norm_eps, true, options.bias, loc);
}

} // namespace

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d_model, int64_t nhead,
                                                 TransformerLayerOptions options, Loc loc)
    : Module("TransformerEncoderLayer"), options_(options),
      self_attn(register_module("self_attn",
                                MultiheadAttention(d_model, nhead, attentionOptions(options), loc), loc)),
      linear1(register_module("linear1", Linear(d_model, options.dim_feedforward, options.bias, loc), loc)),
      dropout(register_module("dropout", Dropout(options.dropout, loc), loc)),
      linear2(register_module("linear2", Linear(options.dim_feedforward, d_model, options.bias, loc), loc)),
      norm1(register_module("norm1", normOf(d_model, options, loc), loc)),
      norm2(register_module("norm2", normOf(d_model, options, loc), loc)),
      dropout1(register_module("dropout1", Dropout(options.dropout, loc), loc)),
      dropout2(register_module("dropout2", Dropout(options.dropout, loc), loc)) {
  checkActivation("TransformerEncoderLayer", options.activation, loc);
}

Tensor TransformerEncoderLayer::operator()(const Tensor &src, const Tensor &src_mask,
                                           const Tensor &src_key_padding_mask, bool is_causal,
                                           Loc loc) const {
  const auto attention = [&](const Tensor &x) {
    return dropout1(self_attn(x, x, x,
                              {.key_padding_mask = src_key_padding_mask,
                               .attn_mask = src_mask,
                               .need_weights = false,
                               .is_causal = is_causal},
                              loc)
                        .first,
                    loc);
  };
  const auto forward = [&](const Tensor &x) {
    return dropout2(feedforward(*this, options_.activation, x, loc), loc);
  };
  if (options_.norm_first) {
    const Tensor x = src.add(Arg(attention(norm1(src, loc)), loc), 1);
    return x.add(Arg(forward(norm2(x, loc)), loc), 1);
  }
  const Tensor x = norm1(src.add(Arg(attention(src), loc), 1), loc);
  return norm2(x.add(Arg(forward(x), loc), 1), loc);
}

TransformerDecoderLayer::TransformerDecoderLayer(int64_t d_model, int64_t nhead,
                                                 TransformerLayerOptions options, Loc loc)
    : Module("TransformerDecoderLayer"), options_(options),
      self_attn(register_module("self_attn",
                                MultiheadAttention(d_model, nhead, attentionOptions(options), loc), loc)),
      multihead_attn(register_module(
          "multihead_attn", MultiheadAttention(d_model, nhead, attentionOptions(options), loc), loc)),
      linear1(register_module("linear1", Linear(d_model, options.dim_feedforward, options.bias, loc), loc)),
      dropout(register_module("dropout", Dropout(options.dropout, loc), loc)),
      linear2(register_module("linear2", Linear(options.dim_feedforward, d_model, options.bias, loc), loc)),
      norm1(register_module("norm1", normOf(d_model, options, loc), loc)),
      norm2(register_module("norm2", normOf(d_model, options, loc), loc)),
      norm3(register_module("norm3", normOf(d_model, options, loc), loc)),
      dropout1(register_module("dropout1", Dropout(options.dropout, loc), loc)),
      dropout2(register_module("dropout2", Dropout(options.dropout, loc), loc)),
      dropout3(register_module("dropout3", Dropout(options.dropout, loc), loc)) {
  checkActivation("TransformerDecoderLayer", options.activation, loc);
}

Tensor TransformerDecoderLayer::operator()(const Tensor &tgt, const Tensor &memory, const Tensor &tgt_mask,
                                           const Tensor &memory_mask, const Tensor &tgt_key_padding_mask,
                                           const Tensor &memory_key_padding_mask, bool tgt_is_causal,
                                           bool memory_is_causal, Loc loc) const {
  const auto toItself = [&](const Tensor &x) {
    const AttentionCallOptions call{.key_padding_mask = tgt_key_padding_mask,
                                    .attn_mask = tgt_mask,
                                    .need_weights = false,
                                    .is_causal = tgt_is_causal};
    return dropout1(self_attn(x, x, x, call, loc).first, loc);
  };
  const auto toMemory = [&](const Tensor &x) {
    const AttentionCallOptions call{.key_padding_mask = memory_key_padding_mask,
                                    .attn_mask = memory_mask,
                                    .need_weights = false,
                                    .is_causal = memory_is_causal};
    return dropout2(multihead_attn(x, memory, memory, call, loc).first, loc);
  };
  const auto forward = [&](const Tensor &x) {
    return dropout3(feedforward(*this, options_.activation, x, loc), loc);
  };
  Tensor x = tgt;
  if (options_.norm_first) {
    x = x.add(Arg(toItself(norm1(x, loc)), loc), 1);
    x = x.add(Arg(toMemory(norm2(x, loc)), loc), 1);
    return x.add(Arg(forward(norm3(x, loc)), loc), 1);
  }
  x = norm1(x.add(Arg(toItself(x), loc), 1), loc);
  x = norm2(x.add(Arg(toMemory(x), loc), 1), loc);
  return norm3(x.add(Arg(forward(x), loc), 1), loc);
}

//===----------------------------------------------------------------------===//
// Stacks of layers
//===----------------------------------------------------------------------===//

namespace {

template <typename Layer>
ModuleList<Layer> copiesOf(const Layer &layer, int64_t count, const char *name, Loc loc) {
  if (count < 0)
    fail(std::string("nn::") + name + " needs a number of layers that is not negative, found " +
             std::to_string(count),
         loc);
  ModuleList<Layer> layers;
  for (int64_t i = 0; i < count; ++i)
    layers.push_back(clone(layer, loc));
  return layers;
}

} // namespace

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer &layer, int64_t num_layers,
                                       std::optional<LayerNorm> given, Loc loc)
    : Module("TransformerEncoder"),
      layers(register_module("layers", copiesOf(layer, num_layers, "TransformerEncoder", loc), loc)),
      norm(std::move(given)) {
  if (norm)
    register_module("norm", *norm, loc);
}

Tensor TransformerEncoder::operator()(const Tensor &src, const Tensor &mask,
                                      const Tensor &src_key_padding_mask, bool is_causal, Loc loc) const {
  Tensor x = src;
  for (const TransformerEncoderLayer &layer : layers)
    x = layer(x, mask, src_key_padding_mask, is_causal, loc);
  return norm ? (*norm)(x, loc) : x;
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer &layer, int64_t num_layers,
                                       std::optional<LayerNorm> given, Loc loc)
    : Module("TransformerDecoder"),
      layers(register_module("layers", copiesOf(layer, num_layers, "TransformerDecoder", loc), loc)),
      norm(std::move(given)) {
  if (norm)
    register_module("norm", *norm, loc);
}

Tensor TransformerDecoder::operator()(const Tensor &tgt, const Tensor &memory, const Tensor &tgt_mask,
                                      const Tensor &memory_mask, const Tensor &tgt_key_padding_mask,
                                      const Tensor &memory_key_padding_mask, bool tgt_is_causal,
                                      bool memory_is_causal, Loc loc) const {
  Tensor x = tgt;
  for (const TransformerDecoderLayer &layer : layers)
    x = layer(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
              memory_is_causal, loc);
  return norm ? (*norm)(x, loc) : x;
}

Transformer::Transformer(TransformerOptions options, Loc loc)
    : Module("Transformer"), options_(std::move(options)),
      encoder(register_module(
          "encoder",
          TransformerEncoder(TransformerEncoderLayer(options_.d_model, options_.nhead, options_.layer, loc),
                             options_.num_encoder_layers, normOf(options_.d_model, options_.layer, loc), loc),
          loc)),
      decoder(register_module(
          "decoder",
          TransformerDecoder(TransformerDecoderLayer(options_.d_model, options_.nhead, options_.layer, loc),
                             options_.num_decoder_layers, normOf(options_.d_model, options_.layer, loc), loc),
          loc)) {
  for (Tensor parameter : parameters())
    if (parameter.dim(loc) > 1)
      init::xavier_uniform_(parameter, 1, loc);
}

Tensor Transformer::operator()(const Tensor &src, const Tensor &tgt, const TransformerCallOptions &call,
                               Loc loc) const {
  const bool batched = src.dim(loc) == 3;
  const int64_t batch = options_.layer.batch_first ? 0 : 1;
  if (src.size(-1, loc) != options_.d_model || tgt.size(-1, loc) != options_.d_model)
    fail("nn::Transformer: the feature number of src and tgt must be equal to d_model, " +
             std::to_string(options_.d_model) + ", found " + std::to_string(src.size(-1, loc)) + " and " +
             std::to_string(tgt.size(-1, loc)),
         loc);
  if (tgt.dim(loc) != src.dim(loc) || (batched && src.sym_size(batch, loc) != tgt.sym_size(batch, loc)))
    fail("nn::Transformer: the batch number of src and tgt must be equal, found the shapes " +
             shapeText(src.sizes(loc)) + " and " + shapeText(tgt.sizes(loc)),
         loc);
  const Tensor memory = encoder(src, call.src_mask, call.src_key_padding_mask, call.src_is_causal, loc);
  return decoder(tgt, memory, call.tgt_mask, call.memory_mask, call.tgt_key_padding_mask,
                 call.memory_key_padding_mask, call.tgt_is_causal, call.memory_is_causal, loc);
}

Tensor generate_square_subsequent_mask(int64_t size, Loc loc) {
  return full({size, size}, -std::numeric_limits<double>::infinity(), {}, loc).triu(1, loc);
}

} // namespace weft::nn
