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
  return word == "none" ? nn::Reduction::none : word == "sum" ? nn::Reduction::sum : nn::Reduction::mean;
}

void parity::addNetworks(Table &table) {
  table["matmul"] = [](const Args &a) { return Tensors{matmul(a.tensor(0), a.tensor(1))}; };
  table["linear"] = [](const Args &a) {
    return Tensors{nn::linear(a.tensor(0), a.tensor(1), a.tensorOrNone(2))};
  };
  table["mse_loss"] = [](const Args &a) {
    return Tensors{nn::mse_loss(a.tensor(0), a.tensor(1), reduction(a, 2))};
  };
  table["cross_entropy"] = [](const Args &a) {
    return Tensors{nn::cross_entropy(a.tensor(0), a.tensor(1),
                                     {.reduction = reduction(a, 2), .ignore_index = a.whole(3, -100)})};
  };
}
