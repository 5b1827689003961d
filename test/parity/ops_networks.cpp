//===- ops_networks.cpp - Contractions, layers and losses -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;

static nn::Reduction reduction(const parity::Args &a, size_t i) {
  std::string word = a.word(i, "mean");
  return word == "none"        ? nn::Reduction::none
         : word == "sum"       ? nn::Reduction::sum
         : word == "batchmean" ? nn::Reduction::batchmean
                               : nn::Reduction::mean;
}

void parity::addNetworks(Table &table) {
  table["matmul"] = [](const Args &a) { return Tensors{matmul(a.tensor(0), a.tensor(1))}; };
  table["mm"] = [](const Args &a) { return Tensors{mm(a.tensor(0), a.tensor(1))}; };
  table["bmm"] = [](const Args &a) { return Tensors{bmm(a.tensor(0), a.tensor(1))}; };
  table["mv"] = [](const Args &a) { return Tensors{mv(a.tensor(0), a.tensor(1))}; };
  table["dot"] = [](const Args &a) { return Tensors{dot(a.tensor(0), a.tensor(1))}; };
  table["outer"] = [](const Args &a) { return Tensors{outer(a.tensor(0), a.tensor(1))}; };
  table["addmm"] = [](const Args &a) {
    return Tensors{addmm(a.tensor(0), a.tensor(1), a.tensor(2), a.real(3, 1), a.real(4, 1))};
  };
  table["baddbmm"] = [](const Args &a) {
    return Tensors{baddbmm(a.tensor(0), a.tensor(1), a.tensor(2), a.real(3, 1), a.real(4, 1))};
  };
  table["einsum"] = [](const Args &a) { return Tensors{einsum(a.word(0), a.tensors(1))}; };
  table["diag"] = [](const Args &a) { return Tensors{diag(a.tensor(0), a.whole(1, 0))}; };
  table["trace"] = [](const Args &a) { return Tensors{trace(a.tensor(0))}; };
  table["linear"] = [](const Args &a) {
    return Tensors{nn::linear(a.tensor(0), a.tensor(1), a.tensorOrNone(2))};
  };
  table["mse_loss"] = [](const Args &a) {
    return Tensors{nn::mse_loss(a.tensor(0), a.tensor(1), reduction(a, 2))};
  };
  // Arguments: logits, target, weight, ignore_index, reduction, label_smoothing.
  table["cross_entropy"] = [](const Args &a) {
    return Tensors{nn::cross_entropy(a.tensor(0), a.tensor(1),
                                     {.reduction = reduction(a, 4),
                                      .ignore_index = a.whole(3, -100),
                                      .weight = a.tensorOrNone(2),
                                      .label_smoothing = a.real(5, 0)})};
  };
  table["nll_loss"] = [](const Args &a) {
    return Tensors{nn::nll_loss(
        a.tensor(0), a.tensor(1),
        {.reduction = reduction(a, 4), .ignore_index = a.whole(3, -100), .weight = a.tensorOrNone(2)})};
  };
  table["l1_loss"] = [](const Args &a) {
    return Tensors{nn::l1_loss(a.tensor(0), a.tensor(1), reduction(a, 2))};
  };
  table["smooth_l1_loss"] = [](const Args &a) {
    return Tensors{nn::smooth_l1_loss(a.tensor(0), a.tensor(1), reduction(a, 2), a.real(3, 1))};
  };
  table["huber_loss"] = [](const Args &a) {
    return Tensors{nn::huber_loss(a.tensor(0), a.tensor(1), reduction(a, 2), a.real(3, 1))};
  };
  table["binary_cross_entropy_with_logits"] = [](const Args &a) {
    return Tensors{nn::binary_cross_entropy_with_logits(
        a.tensor(0), a.tensor(1),
        {.reduction = reduction(a, 3), .weight = a.tensorOrNone(2), .pos_weight = a.tensorOrNone(4)})};
  };
  table["kl_div"] = [](const Args &a) {
    return Tensors{nn::kl_div(a.tensor(0), a.tensor(1), reduction(a, 2), a.flag(3))};
  };
  table["scaled_dot_product_attention"] = [](const Args &a) {
    AttentionOptions options{.mask = a.tensorOrNone(3), .causal = a.flag(4), .enable_gqa = a.flag(6)};
    if (a.has(5))
      options.scale = a.real(5);
    return Tensors{scaled_dot_product_attention(a.tensor(0), a.tensor(1), a.tensor(2), options)};
  };
  table["layer_norm"] = [](const Args &a) {
    return Tensors{layer_norm(a.tensor(0), a.list(1), a.tensorOrNone(2), a.tensorOrNone(3), a.real(4, 1e-5))};
  };
}
