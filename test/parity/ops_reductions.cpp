//===- ops_reductions.cpp - Reductions and scans --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;

static std::optional<int64_t> dim(const parity::Args &a) {
  return a.has(1) ? std::optional(a.whole(1)) : std::nullopt;
}
static parity::Tensors both(const ValuesIndices &result) { return {result.values, result.indices}; }

void parity::addReductions(Table &table) {
  // Arguments: tensor, dims (none: all), keepdim.
  table["sum"] = [](const Args &a) { return Tensors{a.tensor(0).sum(a.list(1, {}), a.flag(2))}; };
  table["mean"] = [](const Args &a) { return Tensors{a.tensor(0).mean(a.list(1, {}), a.flag(2))}; };
  table["amax"] = [](const Args &a) { return Tensors{a.tensor(0).amax(a.list(1, {}), a.flag(2))}; };
  table["amin"] = [](const Args &a) { return Tensors{a.tensor(0).amin(a.list(1, {}), a.flag(2))}; };
  table["prod"] = [](const Args &a) { return Tensors{a.tensor(0).prod(a.list(1, {}), a.flag(2))}; };
  table["any"] = [](const Args &a) { return Tensors{a.tensor(0).any(a.list(1, {}), a.flag(2))}; };
  table["all"] = [](const Args &a) { return Tensors{a.tensor(0).all(a.list(1, {}), a.flag(2))}; };
  table["argmax"] = [](const Args &a) { return Tensors{a.tensor(0).argmax(dim(a), a.flag(2))}; };
  table["argmin"] = [](const Args &a) { return Tensors{a.tensor(0).argmin(dim(a), a.flag(2))}; };
  table["max"] = [](const Args &a) { return Tensors{a.tensor(0).max()}; };
  table["min"] = [](const Args &a) { return Tensors{a.tensor(0).min()}; };
  table["max_dim"] = [](const Args &a) { return both(a.tensor(0).max(a.whole(1), a.flag(2))); };
  table["min_dim"] = [](const Args &a) { return both(a.tensor(0).min(a.whole(1), a.flag(2))); };
  // Arguments: tensor, dims, correction, keepdim.
  table["var"] = [](const Args &a) {
    return Tensors{a.tensor(0).var(a.list(1, {}), a.real(2, 1), a.flag(3))};
  };
  table["std"] = [](const Args &a) {
    return Tensors{a.tensor(0).std(a.list(1, {}), a.real(2, 1), a.flag(3))};
  };
  table["var_mean"] = [](const Args &a) {
    auto [variance, mean] = var_mean(a.tensor(0), a.list(1, {}), a.real(2, 1), a.flag(3));
    return Tensors{variance, mean};
  };
  table["vector_norm"] = [](const Args &a) {
    return Tensors{a.tensor(0).norm(a.real(1, 2), a.list(2, {}), a.flag(3))};
  };
  table["logsumexp"] = [](const Args &a) { return Tensors{a.tensor(0).logsumexp(a.list(1), a.flag(2))}; };
  table["count_nonzero"] = [](const Args &a) { return Tensors{a.tensor(0).count_nonzero(a.list(1, {}))}; };
  table["cumsum"] = [](const Args &a) { return Tensors{a.tensor(0).cumsum(a.whole(1))}; };
  table["cumprod"] = [](const Args &a) { return Tensors{a.tensor(0).cumprod(a.whole(1))}; };
  table["softmax"] = [](const Args &a) { return Tensors{softmax(a.tensor(0), a.whole(1))}; };
  table["log_softmax"] = [](const Args &a) { return Tensors{log_softmax(a.tensor(0), a.whole(1))}; };
}
