//===- Layers.cpp - Layers -----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/layers.hpp"

#include "frontend/nn/LayerText.h"
#include "frontend/ops/Ops.h"
#include "weft/init.hpp"

#include <algorithm>
#include <cmath>

namespace weft::nn {

using namespace frontend;

//===----------------------------------------------------------------------===//
// Linear
//===----------------------------------------------------------------------===//

Linear::Linear(int64_t in_features, int64_t out_features, bool with_bias, Loc loc)
    : Module("Linear", "in_features=" + std::to_string(in_features) + ", out_features=" +
                           std::to_string(out_features) + ", bias=" + (with_bias ? "True" : "False")) {
  if (in_features < 0 || out_features < 0)
    fail("nn::Linear needs sizes that are not negative, found " + std::to_string(in_features) + " and " +
             std::to_string(out_features),
         loc);
  weight = register_parameter("weight", empty({out_features, in_features}, {}, loc));
  bias = with_bias ? register_parameter("bias", empty({out_features}, {}, loc)) : absent_parameter();
  reset_parameters(loc);
}

void Linear::reset_parameters(Loc loc) {
  // PyTorch's kaiming_uniform_ with a = sqrt(5) is uniform in +-1/sqrt(in), and so is the bias.
  double bound = weight.size(1) > 0 ? 1 / std::sqrt(static_cast<double>(weight.size(1))) : 0;
  init::uniform_(weight, -bound, bound, loc);
  if (bias.defined())
    init::uniform_(bias, -bound, bound, loc);
}

Tensor Linear::operator()(const Tensor &x, Loc loc) const { return linear(x, weight, bias, loc); }

//===----------------------------------------------------------------------===//
// LayerNorm, RMSNorm, Dropout
//===----------------------------------------------------------------------===//

LayerNorm::LayerNorm(Shape normalized_shape, double eps, bool elementwise_affine, bool with_bias, Loc loc)
    : Module("LayerNorm", shapeText(normalized_shape) + ", eps=" + numberText(eps) +
                              ", elementwise_affine=" + (elementwise_affine ? "True" : "False")),
      shape_(std::move(normalized_shape)), eps_(eps) {
  weight = elementwise_affine ? register_parameter("weight", ones(shape_, {}, loc)) : absent_parameter();
  bias = elementwise_affine && with_bias ? register_parameter("bias", zeros(shape_, {}, loc))
                                         : absent_parameter();
}

RMSNorm::RMSNorm(Shape normalized_shape, std::optional<double> eps, bool elementwise_affine, Loc loc)
    : Module("RMSNorm", shapeText(normalized_shape) + ", eps=" + (eps ? numberText(*eps) : "None") +
                            ", elementwise_affine=" + (elementwise_affine ? "True" : "False")),
      shape_(std::move(normalized_shape)), eps_(eps) {
  weight = elementwise_affine ? register_parameter("weight", ones(shape_, {}, loc)) : absent_parameter();
}

Dropout::Dropout(double p, Loc loc) : Module("Dropout", "p=" + numberText(p)), p_(p) {
  if (!(p >= 0 && p <= 1))
    fail("dropout probability has to be between 0 and 1, but got " + std::to_string(p), loc);
}

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

static std::string embeddingText(int64_t rows, int64_t columns, const EmbeddingOptions &options) {
  std::string text = std::to_string(rows) + ", " + std::to_string(columns);
  if (options.padding_idx)
    text += ", padding_idx=" + std::to_string(*options.padding_idx);
  if (options.max_norm)
    text += ", max_norm=" + numberText(*options.max_norm);
  if (options.norm_type != 2)
    text += ", norm_type=" + numberText(options.norm_type);
  return text + (options.scale_grad_by_freq ? ", scale_grad_by_freq=True" : "");
}

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, EmbeddingOptions options, Loc loc)
    : Module("Embedding", embeddingText(num_embeddings, embedding_dim, options)),
      options_(std::move(options)) {
  std::optional<int64_t> &padding = options_.padding_idx;
  if (num_embeddings < 0 || embedding_dim < 0)
    fail("nn::Embedding needs sizes that are not negative, found " + std::to_string(num_embeddings) +
             " and " + std::to_string(embedding_dim),
         loc);
  if (padding && (*padding < -num_embeddings || *padding >= num_embeddings))
    fail("Padding_idx must be within num_embeddings: " + std::to_string(*padding) + " of " +
             std::to_string(num_embeddings),
         loc);
  weight = register_parameter("weight", empty({num_embeddings, embedding_dim}, {}, loc));
  init::normal_(weight, 0, 1, loc);
  if (!padding)
    return;
  if (*padding < 0)
    *padding += num_embeddings;
  NoGradGuard guard;
  Tensor rows = arange(num_embeddings, {}, loc).reshape({num_embeddings, 1}, loc);
  Tensor padded = eq({rows, loc}, {*padding, loc});
  Tensor drawn = weight;
  drawn.copy_(where(padded, {0.0, loc}, {weight, loc}, loc), loc);
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

Flatten::Flatten(int64_t start_dim, int64_t end_dim)
    : Module("Flatten", "start_dim=" + std::to_string(start_dim) + ", end_dim=" + std::to_string(end_dim)),
      start_(start_dim), end_(end_dim) {}

Unflatten::Unflatten(int64_t dim, Shape sizes)
    : Module("Unflatten", "dim=" + std::to_string(dim) + ", unflattened_size=" + shapeText(sizes)), dim_(dim),
      sizes_(std::move(sizes)) {}
Tensor Unflatten::operator()(const Tensor &x, Loc loc) const {
  auto dim = static_cast<size_t>(wrapDim(dim_, x.dim(), loc));
  int64_t product = 1, open = -1;
  for (size_t i = 0; i < sizes_.size(); ++i)
    if (sizes_[i] == -1 && open < 0)
      open = static_cast<int64_t>(i);
    else if (sizes_[i] < 0 || __builtin_mul_overflow(product, sizes_[i], &product))
      fail("unflatten: the sizes must not be negative, except one that is -1, found " + shapeText(sizes_),
           loc);
  int64_t whole = x.sizes()[dim];
  if (open >= 0 ? product == 0 || whole % product != 0 : product != whole)
    fail("unflatten: Provided sizes " + shapeText(sizes_) + " don't multiply up to the size of dim " +
             std::to_string(dim) + " (" + std::to_string(whole) + ") in the input tensor",
         loc);
  Shape shape = x.sizes(), sizes = sizes_;
  if (open >= 0)
    sizes[static_cast<size_t>(open)] = whole / product;
  auto at = shape.erase(shape.begin() + static_cast<ptrdiff_t>(dim));
  shape.insert(at, sizes.begin(), sizes.end());
  return x.reshape(shape, loc);
}

PixelShuffle::PixelShuffle(int64_t upscale_factor)
    : Module("PixelShuffle", "upscale_factor=" + std::to_string(upscale_factor)), factor_(upscale_factor) {}
PixelUnshuffle::PixelUnshuffle(int64_t downscale_factor)
    : Module("PixelUnshuffle", "downscale_factor=" + std::to_string(downscale_factor)),
      factor_(downscale_factor) {}

//===----------------------------------------------------------------------===//
// Containers of parameters
//===----------------------------------------------------------------------===//

ParameterList::ParameterList(const std::vector<Tensor> &values, Loc loc) : Module("ParameterList") {
  for (const Tensor &value : values)
    append(value, loc);
}
ParameterList &ParameterList::append(const Tensor &value, Loc loc) {
  parameters_.push_back(register_parameter(std::to_string(parameters_.size()), value, loc));
  return *this;
}

ParameterDict::ParameterDict(const StateDict &values, Loc loc) : Module("ParameterDict") {
  for (const auto &[name, value] : values)
    insert(name, value, loc);
}
void ParameterDict::insert(const std::string &name, const Tensor &value, Loc loc) {
  parameters_.push_back(register_parameter(name, value, loc));
  names_.push_back(name);
}
bool ParameterDict::contains(const std::string &name) const {
  return std::ranges::find(names_, name) != names_.end();
}
size_t ParameterDict::known(const std::string &name) const {
  const auto at = std::ranges::find(names_, name);
  if (at == names_.end())
    throw Error("nn::ParameterDict has no parameter '" + name + "'");
  return static_cast<size_t>(at - names_.begin());
}
Parameter &ParameterDict::operator[](const std::string &name) { return parameters_[known(name)]; }
const Parameter &ParameterDict::operator[](const std::string &name) const { return parameters_[known(name)]; }

} // namespace weft::nn
