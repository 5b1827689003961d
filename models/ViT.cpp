//===- ViT.cpp - Vision transformers ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/models/classifiers.hpp"

#include "weft/dim.hpp"
#include "weft/init.hpp"
#include "weft/joining.hpp"
#include "weft/operators.hpp"
#include "weft/status.hpp"

#include <cmath>

namespace weft::models {

ViTEncoderBlock::ViTEncoderBlock(const ViTOptions &options)
    : ln_1(register_module("ln_1", nn::LayerNorm(options.hidden_dim, 1e-6))),
      self_attention(register_module(
          "self_attention",
          nn::MultiheadAttention(options.hidden_dim, options.num_heads,
                                 {.dropout = options.attention_dropout, .batch_first = true}))),
      dropout(register_module("dropout", nn::Dropout(options.dropout))),
      ln_2(register_module("ln_2", nn::LayerNorm(options.hidden_dim, 1e-6))) {
  const auto linear = [](int64_t from, int64_t to) {
    nn::Linear made(from, to);
    nn::init::xavier_uniform_(made.weight);
    nn::init::normal_(made.bias, 0, 1e-6);
    return made;
  };
  mlp = register_module("mlp", nn::Sequential(linear(options.hidden_dim, options.mlp_dim), nn::GELU(),
                                              nn::Dropout(options.dropout),
                                              linear(options.mlp_dim, options.hidden_dim),
                                              nn::Dropout(options.dropout)));
}

Tensor ViTEncoderBlock::operator()(const Tensor &x) const {
  const Tensor normed = ln_1(x);
  const Tensor y = x + dropout(self_attention(normed, normed, normed, {.need_weights = false}).first);
  return y + mlp(ln_2(y));
}

ViT::Encoder::Encoder(const ViTOptions &options)
    : dropout(register_module("dropout", nn::Dropout(options.dropout))), ln(options.hidden_dim, 1e-6) {
  const int64_t side = options.image_size / options.patch_size;
  pos_embedding = register_parameter("pos_embedding", empty({1, side * side + 1, options.hidden_dim}));
  nn::init::normal_(pos_embedding, 0, 0.02);
  nn::Module layers;
  for (int64_t i = 0; i < options.num_layers; ++i) {
    blocks.emplace_back(options);
    layers.register_module("encoder_layer_" + std::to_string(i), blocks.back());
  }
  register_module("layers", layers);
  register_module("ln", ln);
}

Tensor ViT::Encoder::operator()(const Tensor &x) const {
  Tensor y = dropout(x + pos_embedding);
  for (const ViTEncoderBlock &block : blocks)
    y = block(y);
  return ln(y);
}

static ViTOptions checked(const ViTOptions &options) {
  if (options.patch_size < 1 || options.image_size < 1 || options.image_size % options.patch_size != 0)
    throw Error("models::ViT needs an image_size that is a multiple of patch_size, found " +
                std::to_string(options.image_size) + " and " + std::to_string(options.patch_size));
  return options;
}

ViT::ViT(ViTOptions options)
    : conv_proj(register_module("conv_proj", nn::Conv2d(3, options.hidden_dim, checked(options).patch_size,
                                                        {.stride = options.patch_size}))),
      class_token(register_parameter("class_token", zeros({1, 1, options.hidden_dim}))), options_(options),
      encoder_(register_module("encoder", Encoder(options))), head_(options.hidden_dim, options.num_classes) {
  nn::init::trunc_normal_(conv_proj.weight, 0,
                          std::sqrt(1.0 / static_cast<double>(3 * options.patch_size * options.patch_size)));
  nn::init::zeros_(conv_proj.bias);
  nn::init::zeros_(head_.weight);
  nn::init::zeros_(head_.bias);
  nn::Module heads;
  heads.register_module("head", head_);
  register_module("heads", heads);
}

Tensor ViT::operator()(const Tensor &images) const {
  if (images.size(2) != options_.image_size || images.size(3) != options_.image_size)
    throw Error("models::ViT needs images of " + std::to_string(options_.image_size) + " by " +
                std::to_string(options_.image_size) + ", found " + std::to_string(images.size(2)) + " by " +
                std::to_string(images.size(3)));
  // [batch, features, rows, columns] of patches as [batch, patches, features]
  const Tensor patches = conv_proj(images).flatten(2).transpose(1, 2);
  const Tensor token = class_token.expand(shape({images.sym_size(0), 1, options_.hidden_dim}));
  return head_(encoder_(cat({token, patches}, 1)).select(1, 0));
}

ViT vit_b_16(int64_t num_classes) {
  ViTOptions options;
  options.num_classes = num_classes;
  return ViT(options);
}

} // namespace weft::models
