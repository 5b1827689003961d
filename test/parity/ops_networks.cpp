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

static void addLosses(parity::Table &table);
static void addDistances(parity::Table &table);

void parity::addNetworks(Table &table) {
  addLosses(table);
  addDistances(table);
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
  table["addmv"] = [](const Args &a) {
    return Tensors{addmv(a.tensor(0), a.tensor(1), a.tensor(2), a.real(3, 1), a.real(4, 1))};
  };
  table["addr"] = [](const Args &a) {
    return Tensors{addr(a.tensor(0), a.tensor(1), a.tensor(2), a.real(3, 1), a.real(4, 1))};
  };
  table["addbmm"] = [](const Args &a) {
    return Tensors{addbmm(a.tensor(0), a.tensor(1), a.tensor(2), a.real(3, 1), a.real(4, 1))};
  };
  table["tensordot"] = [](const Args &a) {
    return Tensors{a.has(3) ? tensordot(a.tensor(0), a.tensor(1), a.list(2), a.list(3))
                            : tensordot(a.tensor(0), a.tensor(1), a.whole(2, 2))};
  };
  table["inner"] = [](const Args &a) { return Tensors{inner(a.tensor(0), a.tensor(1))}; };
  table["vdot"] = [](const Args &a) { return Tensors{vdot(a.tensor(0), a.tensor(1))}; };
  table["kron"] = [](const Args &a) { return Tensors{kron(a.tensor(0), a.tensor(1))}; };
  table["cross"] = [](const Args &a) {
    return Tensors{cross(a.tensor(0), a.tensor(1), a.has(2) ? std::optional(a.whole(2)) : std::nullopt)};
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
  // Arguments: log_probs, targets, input_lengths, target_lengths, reduction, zero_infinity, blank.
  table["ctc_loss"] = [](const Args &a) {
    const nn::CtcLossOptions options{
        .blank = a.whole(6, 0), .reduction = reduction(a, 4), .zero_infinity = a.flag(5)};
    if (std::holds_alternative<Tensor>(a.values[2]))
      return Tensors{nn::ctc_loss(a.tensor(0), a.tensor(1), a.tensor(2), a.tensor(3), options)};
    return Tensors{nn::ctc_loss(a.tensor(0), a.tensor(1), a.list(2), a.list(3), options)};
  };
  // Arguments: weight, index, offsets, mode, per_sample_weights, include_last_offset, padding_idx.
  table["embedding_bag"] = [](const Args &a) {
    EmbeddingBagOptions options{.mode = a.word(3, "mean"), .include_last_offset = a.flag(5)};
    if (a.has(6))
      options.padding_idx = a.whole(6);
    return Tensors{embedding_bag(a.tensor(1), a.tensor(0), a.tensorOrNone(2), options, a.tensorOrNone(4))};
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
  table["rms_norm"] = [](const Args &a) {
    std::optional<double> eps = a.has(3) ? std::optional(a.real(3)) : std::nullopt;
    return Tensors{rms_norm(a.tensor(0), a.list(1), a.tensorOrNone(2), eps)};
  };
}

static void addDistances(parity::Table &table) {
  using namespace parity;
  table["normalize"] = [](const Args &a) {
    return Tensors{normalize(a.tensor(0), a.real(1, 2), a.list(2, {1}), a.real(3, 1e-12))};
  };
  table["cosine_similarity"] = [](const Args &a) {
    return Tensors{cosine_similarity(a.tensor(0), a.tensor(1), a.whole(2, 1), a.real(3, 1e-8))};
  };
  table["pairwise_distance"] = [](const Args &a) {
    return Tensors{pairwise_distance(a.tensor(0), a.tensor(1), a.real(2, 2), a.real(3, 1e-6), a.flag(4))};
  };
  table["cdist"] = [](const Args &a) { return Tensors{cdist(a.tensor(0), a.tensor(1), a.real(2, 2))}; };
  table["dist"] = [](const Args &a) { return Tensors{dist(a.tensor(0), a.tensor(1), a.real(2, 2))}; };
}

/// Losses of elements, of margins and of rankings; the reduction comes last but for options.
static void addLosses(parity::Table &table) {
  using namespace parity;
  table["binary_cross_entropy"] = [](const Args &a) {
    return Tensors{nn::binary_cross_entropy(a.tensor(0), a.tensor(1), a.tensorOrNone(2), reduction(a, 3))};
  };
  // Arguments: input, target, log_input, full, eps, reduction.
  table["poisson_nll_loss"] = [](const Args &a) {
    return Tensors{nn::poisson_nll_loss(a.tensor(0), a.tensor(1),
                                        {.log_input = a.flag(2, true),
                                         .full = a.flag(3),
                                         .eps = a.real(4, 1e-8),
                                         .reduction = reduction(a, 5)})};
  };
  // Arguments: input, target, variance, full, eps, reduction.
  table["gaussian_nll_loss"] = [](const Args &a) {
    return Tensors{
        nn::gaussian_nll_loss(a.tensor(0), a.tensor(1), a.tensor(2),
                              {.full = a.flag(3), .eps = a.real(4, 1e-6), .reduction = reduction(a, 5)})};
  };
  table["margin_ranking_loss"] = [](const Args &a) {
    return Tensors{
        nn::margin_ranking_loss(a.tensor(0), a.tensor(1), a.tensor(2), a.real(3, 0), reduction(a, 4))};
  };
  table["hinge_embedding_loss"] = [](const Args &a) {
    return Tensors{nn::hinge_embedding_loss(a.tensor(0), a.tensor(1), a.real(2, 1), reduction(a, 3))};
  };
  table["soft_margin_loss"] = [](const Args &a) {
    return Tensors{nn::soft_margin_loss(a.tensor(0), a.tensor(1), reduction(a, 2))};
  };
  table["cosine_embedding_loss"] = [](const Args &a) {
    return Tensors{
        nn::cosine_embedding_loss(a.tensor(0), a.tensor(1), a.tensor(2), a.real(3, 0), reduction(a, 4))};
  };
  table["multilabel_soft_margin_loss"] = [](const Args &a) {
    return Tensors{
        nn::multilabel_soft_margin_loss(a.tensor(0), a.tensor(1), a.tensorOrNone(2), reduction(a, 3))};
  };
  // Arguments: input, target, p, margin, weight, reduction.
  table["multi_margin_loss"] = [](const Args &a) {
    return Tensors{nn::multi_margin_loss(a.tensor(0), a.tensor(1),
                                         {.p = a.whole(2, 1),
                                          .margin = a.real(3, 1),
                                          .weight = a.tensorOrNone(4),
                                          .reduction = reduction(a, 5)})};
  };
  // Arguments: anchor, positive, negative, margin, p, eps, swap, reduction.
  table["triplet_margin_loss"] = [](const Args &a) {
    return Tensors{nn::triplet_margin_loss(a.tensor(0), a.tensor(1), a.tensor(2),
                                           {.margin = a.real(3, 1),
                                            .p = a.real(4, 2),
                                            .eps = a.real(5, 1e-6),
                                            .swap = a.flag(6),
                                            .reduction = reduction(a, 7)})};
  };
  table["triplet_margin_with_distance_loss"] = [](const Args &a) {
    auto distance = [](const Tensor &x, const Tensor &y) { return pairwise_distance(x, y); };
    return Tensors{nn::triplet_margin_with_distance_loss(
        a.tensor(0), a.tensor(1), a.tensor(2), distance,
        {.margin = a.real(3, 1), .swap = a.flag(4), .reduction = reduction(a, 5)})};
  };
}
