//===- Vae.cpp - Variational auto-encoders ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/losses.hpp"
#include "weft/math.hpp"
#include "weft/models/generators.hpp"
#include "weft/operators.hpp"
#include "weft/random.hpp"

namespace weft::models {

Vae::Vae(VaeOptions options)
    : fc1(register_module("fc1", nn::Linear(options.features, options.hidden))),
      fc21(register_module("fc21", nn::Linear(options.hidden, options.latent))),
      fc22(register_module("fc22", nn::Linear(options.hidden, options.latent))),
      fc3(register_module("fc3", nn::Linear(options.latent, options.hidden))),
      fc4(register_module("fc4", nn::Linear(options.hidden, options.features))) {}

std::pair<Tensor, Tensor> Vae::encode(const Tensor &x) const {
  const Tensor hidden = relu(fc1(x));
  return {fc21(hidden), fc22(hidden)};
}

Tensor Vae::decode(const Tensor &z) const { return sigmoid(fc4(relu(fc3(z)))); }

Vae::Result Vae::operator()(const Tensor &x, const Tensor &noise) const {
  const auto [mean, log_variance] = encode(x);
  const Tensor z = mean + (noise.defined() ? noise : randn_like(mean)) * exp(0.5 * log_variance);
  return {decode(z), mean, log_variance};
}

Tensor Vae::loss(const Result &result, const Tensor &x) {
  const Tensor likelihood = nn::binary_cross_entropy(result.reconstruction, x, {}, nn::Reduction::sum);
  const Tensor divergence =
      -0.5 * (1 + result.log_variance - result.mean * result.mean - exp(result.log_variance)).sum();
  return likelihood + divergence;
}

} // namespace weft::models
