//===- ops_more.cpp - Copies of views, resampling, norms ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;

/// Numbers of the protocol, of which one may be written alone.
static std::vector<double> reals(const parity::Args &a, size_t i) {
  if (!a.has(i))
    return {};
  if (std::holds_alternative<double>(a.values[i]))
    return {a.real(i)};
  std::vector<double> numbers;
  for (int64_t whole : a.list(i))
    numbers.push_back(static_cast<double>(whole));
  return numbers;
}

static void addCopies(parity::Table &table) {
  using namespace parity;
#define WEFT_ONE(function) table[#function] = [](const Args &a) { return Tensors{function(a.tensor(0))}; };
  WEFT_ONE(alias_copy)
  WEFT_ONE(t_copy)
  WEFT_ONE(conj)
  WEFT_ONE(conj_physical)
  WEFT_ONE(resolve_conj)
  WEFT_ONE(resolve_neg)
  WEFT_ONE(mH)
  WEFT_ONE(H)
  WEFT_ONE(isreal)
  WEFT_ONE(angle)
#undef WEFT_ONE
  table["real"] = [](const Args &a) { return Tensors{weft::real(a.tensor(0))}; };
  table["view_copy"] = [](const Args &a) { return Tensors{view_copy(a.tensor(0), a.list(1))}; };
  table["expand_copy"] = [](const Args &a) { return Tensors{expand_copy(a.tensor(0), a.list(1))}; };
  table["permute_copy"] = [](const Args &a) { return Tensors{permute_copy(a.tensor(0), a.list(1))}; };
  table["transpose_copy"] = [](const Args &a) {
    return Tensors{transpose_copy(a.tensor(0), a.whole(1), a.whole(2))};
  };
  table["squeeze_copy"] = [](const Args &a) {
    return Tensors{a.has(1) ? squeeze_copy(a.tensor(0), a.list(1)) : squeeze_copy(a.tensor(0))};
  };
  table["unsqueeze_copy"] = [](const Args &a) { return Tensors{unsqueeze_copy(a.tensor(0), a.whole(1))}; };
  table["narrow_copy"] = [](const Args &a) {
    return Tensors{narrow_copy(a.tensor(0), a.whole(1), a.whole(2), a.whole(3))};
  };
  table["diagonal_copy"] = [](const Args &a) {
    return Tensors{diagonal_copy(a.tensor(0), a.whole(1, 0), a.whole(2, 0), a.whole(3, 1))};
  };
  for (const char *name : {"unfold", "unfold_copy"})
    table[name] = [](const Args &a) {
      return Tensors{unfold_copy(a.tensor(0), a.whole(1), a.whole(2), a.whole(3))};
    };
  for (const char *name : {"as_strided", "as_strided_copy"})
    table[name] = [](const Args &a) {
      return Tensors{as_strided_copy(a.tensor(0), a.list(1), a.list(2), a.whole(3, 0))};
    };
  table["as_strided_scatter"] = [](const Args &a) {
    return Tensors{as_strided_scatter(a.tensor(0), a.tensor(1), a.list(2), a.list(3), a.whole(4, 0))};
  };
  table["unbind_copy"] = [](const Args &a) { return unbind_copy(a.tensor(0), a.whole(1, 0)); };
  table["split_with_sizes_copy"] = [](const Args &a) {
    return split_with_sizes_copy(a.tensor(0), a.list(1), a.whole(2, 0));
  };
  table["unsafe_chunk"] = [](const Args &a) { return unsafe_chunk(a.tensor(0), a.whole(1), a.whole(2, 0)); };
  table["unsafe_split"] = [](const Args &a) { return unsafe_split(a.tensor(0), a.whole(1), a.whole(2, 0)); };
  table["sum_to_size"] = [](const Args &a) { return Tensors{sum_to_size(a.tensor(0), a.list(1))}; };
  table["put"] = [](const Args &a) { return Tensors{put(a.tensor(0), a.tensor(1), a.tensor(2), a.flag(3))}; };
  table["index_reduce"] = [](const Args &a) {
    return Tensors{
        index_reduce(a.tensor(0), a.whole(1), a.tensor(2), a.tensor(3), a.word(4), a.flag(5, true))};
  };
  table["bitwise_left_shift"] = [](const Args &a) {
    return Tensors{bitwise_left_shift(a.operand(0), a.operand(1))};
  };
  table["bitwise_right_shift"] = [](const Args &a) {
    return Tensors{bitwise_right_shift(a.operand(0), a.operand(1))};
  };
  table["gcd"] = [](const Args &a) { return Tensors{gcd(a.tensor(0), a.tensor(1))}; };
  table["lcm"] = [](const Args &a) { return Tensors{lcm(a.tensor(0), a.tensor(1))}; };
  table["fill"] = [](const Args &a) { return Tensors{fill(a.tensor(0), a.operand(1))}; };
  table["zero_"] = [](const Args &a) { return Tensors{a.tensor(0).clone().zero_()}; };
  table["scalar_tensor"] = [](const Args &a) {
    TensorOptions options;
    if (a.has(1))
      options.dtype = a.dtype(1);
    return Tensors{scalar_tensor(a.real(0), options)};
  };
  table["equal"] = [](const Args &a) { return Tensors{scalar(equal(a.tensor(0), a.tensor(1)), i1)}; };
  table["allclose"] = [](const Args &a) {
    bool isClose = allclose(a.tensor(0), a.tensor(1), a.real(2, 1e-5), a.real(3, 1e-8), a.flag(4));
    return Tensors{scalar(isClose, i1)};
  };
  table["item"] = [](const Args &a) { return Tensors{scalar(a.tensor(0).item<double>(), f64)}; };
}

static void addImages(parity::Table &table) {
  using namespace parity;
  // Arguments: tensor, size, scale_factor, mode, align_corners, recompute_scale_factor.
  table["interpolate"] = [](const Args &a) {
    return Tensors{interpolate(a.tensor(0), {.size = a.list(1, {}),
                                             .scale_factor = reals(a, 2),
                                             .mode = a.word(3, "nearest"),
                                             .align_corners = a.flag(4),
                                             .recompute_scale_factor = a.flag(5)})};
  };
  table["upsample_nearest"] = [](const Args &a) {
    return Tensors{upsample_nearest(a.tensor(0), a.list(1, {}), reals(a, 2))};
  };
  table["upsample_bilinear"] = [](const Args &a) {
    return Tensors{upsample_bilinear(a.tensor(0), a.list(1, {}), reals(a, 2))};
  };
  table["grid_sample"] = [](const Args &a) {
    return Tensors{grid_sample(
        a.tensor(0), a.tensor(1),
        {.mode = a.word(2, "bilinear"), .padding_mode = a.word(3, "zeros"), .align_corners = a.flag(4)})};
  };
  table["im2col"] = [](const Args &a) {
    return Tensors{unfold(a.tensor(0), a.list(1), a.list(2, {1}), a.list(3, {0}), a.list(4, {1}))};
  };
#define WEFT_UNPOOL(name)                                                                                    \
  table[#name] = [](const Args &a) {                                                                         \
    return Tensors{name(a.tensor(0), a.tensor(1), a.list(2), a.list(3, {}), a.list(4, {0}), a.list(5, {}))}; \
  };
  WEFT_UNPOOL(max_unpool1d)
  WEFT_UNPOOL(max_unpool2d)
  WEFT_UNPOOL(max_unpool3d)
#undef WEFT_UNPOOL
}

void parity::addMore(Table &table) {
  addCopies(table);
  addImages(table);
  table["pdist"] = [](const Args &a) { return Tensors{pdist(a.tensor(0), a.real(1, 2))}; };
  table["renorm"] = [](const Args &a) {
    return Tensors{renorm(a.tensor(0), a.real(1), a.whole(2), a.real(3))};
  };
  table["bilinear"] = [](const Args &a) {
    return Tensors{bilinear(a.tensor(0), a.tensor(1), a.tensor(2), a.tensorOrNone(3))};
  };
  // Arguments: tensor, running_mean, running_var, weight, bias, use_input_stats, momentum, eps.
  table["instance_norm"] = [](const Args &a) {
    return Tensors{instance_norm(a.tensor(0), a.tensorOrNone(1), a.tensorOrNone(2),
                                 {.weight = a.tensorOrNone(3),
                                  .bias = a.tensorOrNone(4),
                                  .training = a.flag(5, true),
                                  .momentum = a.real(6, 0.1),
                                  .eps = a.real(7, 1e-5)})};
  };
  table["local_response_norm"] = [](const Args &a) {
    return Tensors{
        local_response_norm(a.tensor(0), a.whole(1), a.real(2, 1e-4), a.real(3, 0.75), a.real(4, 1))};
  };
}
