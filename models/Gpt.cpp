//===- Gpt.cpp - Generative transformers -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/models/language.hpp"

#include "weft/attention.hpp"
#include "weft/creation.hpp"
#include "weft/dim.hpp"
#include "weft/init.hpp"
#include "weft/losses.hpp"
#include "weft/operators.hpp"

#include <cmath>

namespace weft::models {

GptBlock::Attention::Attention(const GptOptions &options)
    : c_attn(register_module("c_attn", nn::Linear(options.n_embd, 3 * options.n_embd, options.bias))),
      c_proj(register_module("c_proj", nn::Linear(options.n_embd, options.n_embd, options.bias))),
      attn_dropout(register_module("attn_dropout", nn::Dropout(options.dropout))),
      resid_dropout(register_module("resid_dropout", nn::Dropout(options.dropout))) {}

GptBlock::Mlp::Mlp(const GptOptions &options)
    : c_fc(register_module("c_fc", nn::Linear(options.n_embd, 4 * options.n_embd, options.bias))),
      c_proj(register_module("c_proj", nn::Linear(4 * options.n_embd, options.n_embd, options.bias))),
      dropout(register_module("dropout", nn::Dropout(options.dropout))) {}

Tensor GptBlock::Mlp::operator()(const Tensor &x) const { return dropout(c_proj(gelu(c_fc(x)))); }

GptBlock::GptBlock(const GptOptions &options)
    : n_head_(options.n_head), n_embd_(options.n_embd),
      ln_1_(register_module("ln_1", nn::LayerNorm(options.n_embd, 1e-5, true, options.bias))),
      attn_(register_module("attn", Attention(options))),
      ln_2_(register_module("ln_2", nn::LayerNorm(options.n_embd, 1e-5, true, options.bias))),
      mlp_(register_module("mlp", Mlp(options))) {}

std::vector<Tensor> GptBlock::heads(const Tensor &x) const {
  const Tensor all = attn_.c_attn(x);
  std::vector<Tensor> made;
  for (int64_t part = 0; part < 3; ++part)
    made.push_back(
        all.narrow(2, part * n_embd_, n_embd_).unflatten(2, {n_head_, n_embd_ / n_head_}).transpose(1, 2));
  return made;
}

Tensor GptBlock::joined(const Tensor &heads) const { return attn_.c_proj(heads.transpose(1, 2).flatten(2)); }

Tensor GptBlock::operator()(const Tensor &x) const {
  const std::vector<Tensor> parts = heads(ln_1_(x));
  Tensor attended;
  if (attn_.attn_dropout.is_training() && attn_.attn_dropout.p() > 0) {
    const Tensor behind = ones(shape({x.sym_size(1), x.sym_size(1)}), {DType::i1, x.device()}).triu(1);
    const Tensor scores =
        matmul(parts[0], parts[1].transpose(2, 3)) / std::sqrt(static_cast<double>(n_embd_ / n_head_));
    attended = matmul(attn_.attn_dropout(softmax(scores.masked_fill(behind, -INFINITY), 3)), parts[2]);
  } else {
    attended = scaled_dot_product_attention(parts[0], parts[1], parts[2], {.causal = true});
  }
  const Tensor y = x + attn_.resid_dropout(joined(attended));
  return y + mlp_(ln_2_(y));
}

Tensor GptBlock::next(const Tensor &x, const Tensor &position, GptCache &cache, size_t layer) const {
  const std::vector<Tensor> parts = heads(ln_1_(x));
  Tensor &keys = cache.keys.at(layer), &values = cache.values.at(layer);
  keys.index_copy_(2, position, parts[1]);
  values.index_copy_(2, position, parts[2]);
  const Tensor seen = arange(keys.size(2), {.device = x.device()}) <= position;
  const Tensor attended = scaled_dot_product_attention(parts[0], keys, values, {.mask = seen.unsqueeze(0)});
  const Tensor y = x + joined(attended);
  return y + mlp_(ln_2_(y));
}

static GptOptions checked(const GptOptions &options) {
  if (options.n_head < 1 || options.n_embd < 1 || options.n_embd % options.n_head != 0)
    throw Error("models::Gpt needs an n_embd that is a multiple of n_head, found " +
                std::to_string(options.n_embd) + " and " + std::to_string(options.n_head));
  return options;
}

Gpt::Gpt(GptOptions options)
    : options_(checked(options)), wte_(options.vocab_size, options.n_embd),
      wpe_(options.block_size, options.n_embd), drop_(options.dropout),
      ln_f_(options.n_embd, 1e-5, true, options.bias),
      lm_head_(options.n_embd, options.vocab_size, /*bias=*/false) {
  nn::Module transformer, layers;
  transformer.register_module("wte", wte_);
  transformer.register_module("wpe", wpe_);
  transformer.register_module("drop", drop_);
  for (int64_t i = 0; i < options.n_layer; ++i) {
    blocks_.emplace_back(options_);
    layers.register_module(std::to_string(i), blocks_.back());
  }
  transformer.register_module("h", layers);
  transformer.register_module("ln_f", ln_f_);
  register_module("transformer", transformer);
  register_module("lm_head", lm_head_);
  wte_.weight = lm_head_.weight;
  for (auto &[name, tensor] : named_parameters()) {
    if (name.ends_with("bias"))
      nn::init::zeros_(tensor);
    else if (name.ends_with("c_proj.weight"))
      nn::init::normal_(tensor, 0, 0.02 / std::sqrt(2 * static_cast<double>(options.n_layer)));
    else if (tensor.dim() == 2)
      nn::init::normal_(tensor, 0, 0.02);
  }
}

Tensor Gpt::operator()(const Tensor &tokens) const {
  const Size length = tokens.sym_size(1);
  if (length.is_number() && length.number() > options_.block_size)
    throw Error("models::Gpt was made for " + std::to_string(options_.block_size) +
                " tokens at most, found " + length.str());
  const Tensor positions = arange(Size(0), length, {.dtype = DType::i64, .device = tokens.device()});
  Tensor x = drop_(wte_(tokens) + wpe_(positions));
  for (const GptBlock &block : blocks_)
    x = block(x);
  return lm_head_(ln_f_(x));
}

Tensor Gpt::loss(const Tensor &tokens, const Tensor &targets) const {
  return nn::cross_entropy((*this)(tokens).flatten(0, 1), targets.flatten(), {.ignore_index = -1});
}

GptCache Gpt::cache(int64_t batch, Device device) const {
  GptCache made;
  const int64_t features = options_.n_embd / options_.n_head;
  for (int64_t i = 0; i < options_.n_layer; ++i)
    for (std::vector<Tensor> *list : {&made.keys, &made.values})
      list->push_back(zeros({batch, options_.n_head, options_.block_size, features},
                            {.dtype = wte_.weight.dtype(), .device = device}));
  return made;
}

Tensor Gpt::next(const Tensor &tokens, const Tensor &position, GptCache &cache) const {
  Tensor x = wte_(tokens.unsqueeze(1)) + wpe_(position);
  for (size_t i = 0; i < blocks_.size(); ++i)
    x = blocks_[i].next(x, position, cache, i);
  return lm_head_(ln_f_(x)).squeeze({1});
}

} // namespace weft::models
