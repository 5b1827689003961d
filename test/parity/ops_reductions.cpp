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
  // Arguments: tensor, dims (none: all), keepdim, dtype.
  table["sum"] = [](const Args &a) {
    return Tensors{a.has(3) ? a.tensor(0).sum(a.list(1, {}), a.flag(2), a.dtype(3))
                            : a.tensor(0).sum(a.list(1, {}), a.flag(2))};
  };
  table["mean"] = [](const Args &a) {
    return Tensors{a.has(3) ? a.tensor(0).mean(a.list(1, {}), a.flag(2), a.dtype(3))
                            : a.tensor(0).mean(a.list(1, {}), a.flag(2))};
  };
  table["amax"] = [](const Args &a) { return Tensors{a.tensor(0).amax(a.list(1, {}), a.flag(2))}; };
  table["amin"] = [](const Args &a) { return Tensors{a.tensor(0).amin(a.list(1, {}), a.flag(2))}; };
  table["prod"] = [](const Args &a) {
    return Tensors{a.has(3) ? a.tensor(0).prod(a.list(1, {}), a.flag(2), a.dtype(3))
                            : a.tensor(0).prod(a.list(1, {}), a.flag(2))};
  };
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
  // Arguments: tensor, p, dims, keepdim.
  table["norm"] = [](const Args &a) {
    return Tensors{norm(a.tensor(0), a.real(1, 2), a.list(2, {}), a.flag(3))};
  };
  table["std_mean"] = [](const Args &a) {
    auto [deviation, mean] = std_mean(a.tensor(0), a.list(1, {}), a.real(2, 1), a.flag(3));
    return Tensors{deviation, mean};
  };
  table["nansum"] = [](const Args &a) {
    return Tensors{a.has(3) ? nansum(a.tensor(0), a.list(1, {}), a.flag(2), a.dtype(3))
                            : nansum(a.tensor(0), a.list(1, {}), a.flag(2))};
  };
  table["nanmean"] = [](const Args &a) {
    return Tensors{a.has(3) ? nanmean(a.tensor(0), a.list(1, {}), a.flag(2), a.dtype(3))
                            : nanmean(a.tensor(0), a.list(1, {}), a.flag(2))};
  };
  table["aminmax"] = [](const Args &a) {
    auto [least, most] = aminmax(a.tensor(0), dim(a), a.flag(2));
    return Tensors{least, most};
  };
  table["cov"] = [](const Args &a) { return Tensors{cov(a.tensor(0), a.real(1, 1))}; };
  table["corrcoef"] = [](const Args &a) { return Tensors{corrcoef(a.tensor(0))}; };
  table["diff"] = [](const Args &a) {
    return Tensors{diff(a.tensor(0), a.whole(1, 1), a.whole(2, -1), a.tensorOrNone(3), a.tensorOrNone(4))};
  };
  // Arguments: y, x, dx, dim.
  table["trapezoid"] = [](const Args &a) {
    return Tensors{a.has(1) ? trapezoid(a.tensor(0), a.tensor(1), a.whole(3, -1))
                            : trapezoid(a.tensor(0), a.real(2, 1), a.whole(3, -1))};
  };
  table["cumulative_trapezoid"] = [](const Args &a) {
    return Tensors{a.has(1) ? cumulative_trapezoid(a.tensor(0), a.tensor(1), a.whole(3, -1))
                            : cumulative_trapezoid(a.tensor(0), a.real(2, 1), a.whole(3, -1))};
  };
  table["logsumexp"] = [](const Args &a) { return Tensors{a.tensor(0).logsumexp(a.list(1), a.flag(2))}; };
  table["count_nonzero"] = [](const Args &a) { return Tensors{a.tensor(0).count_nonzero(a.list(1, {}))}; };
  table["cumsum"] = [](const Args &a) {
    return Tensors{a.has(2) ? a.tensor(0).cumsum(a.whole(1), a.dtype(2)) : a.tensor(0).cumsum(a.whole(1))};
  };
  table["cumprod"] = [](const Args &a) {
    return Tensors{a.has(2) ? a.tensor(0).cumprod(a.whole(1), a.dtype(2)) : a.tensor(0).cumprod(a.whole(1))};
  };
  table["softmax"] = [](const Args &a) {
    return Tensors{a.has(2) ? softmax(a.tensor(0), a.whole(1), a.dtype(2))
                            : softmax(a.tensor(0), a.whole(1))};
  };
  table["log_softmax"] = [](const Args &a) {
    return Tensors{a.has(2) ? log_softmax(a.tensor(0), a.whole(1), a.dtype(2))
                            : log_softmax(a.tensor(0), a.whole(1))};
  };
}
