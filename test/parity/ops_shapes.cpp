//===- ops_shapes.cpp - Functions that move or make elements --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;

static void addJoining(parity::Table &table);
static void addIndexing(parity::Table &table);
static void addCreation(parity::Table &table);
static void addStacking(parity::Table &table);
static void addDiagonals(parity::Table &table);

static LikeOptions like(const parity::Args &a, size_t dtype) {
  return {.dtype = a.has(dtype) ? std::optional(a.dtype(dtype)) : std::nullopt};
}
static TensorOptions options(const parity::Args &a, size_t dtype) {
  TensorOptions options;
  if (a.has(dtype))
    options.dtype = a.dtype(dtype);
  return options;
}

void parity::addShapes(Table &table) {
  table["reshape"] = [](const Args &a) { return Tensors{a.tensor(0).reshape(a.list(1))}; };
  table["flatten"] = [](const Args &a) {
    return Tensors{a.tensor(0).flatten(a.whole(1, 0), a.whole(2, -1))};
  };
  table["t"] = [](const Args &a) { return Tensors{a.tensor(0).t()}; };
  table["transpose"] = [](const Args &a) { return Tensors{a.tensor(0).transpose(a.whole(1), a.whole(2))}; };
  table["permute"] = [](const Args &a) { return Tensors{a.tensor(0).permute(a.list(1))}; };
  table["expand"] = [](const Args &a) { return Tensors{a.tensor(0).expand(a.list(1))}; };
  table["unsqueeze"] = [](const Args &a) { return Tensors{a.tensor(0).unsqueeze(a.whole(1))}; };
  table["squeeze"] = [](const Args &a) {
    return Tensors{a.has(1) ? a.tensor(0).squeeze(a.list(1)) : a.tensor(0).squeeze()};
  };
  table["mT"] = [](const Args &a) { return Tensors{a.tensor(0).mT()}; };
  table["T"] = [](const Args &a) { return Tensors{a.tensor(0).T()}; };
  table["movedim"] = [](const Args &a) { return Tensors{a.tensor(0).movedim(a.list(1), a.list(2))}; };
  table["unflatten"] = [](const Args &a) { return Tensors{a.tensor(0).unflatten(a.whole(1), a.list(2))}; };
  table["diagonal"] = [](const Args &a) {
    return Tensors{a.tensor(0).diagonal(a.whole(1, 0), a.whole(2, 0), a.whole(3, 1))};
  };
  table["expand_as"] = [](const Args &a) { return Tensors{a.tensor(0).expand_as(a.tensor(1))}; };
  table["view_as"] = [](const Args &a) { return Tensors{a.tensor(0).view_as(a.tensor(1))}; };
  table["reshape_as"] = [](const Args &a) { return Tensors{a.tensor(0).reshape_as(a.tensor(1))}; };
  table["select"] = [](const Args &a) { return Tensors{a.tensor(0).select(a.whole(1), a.whole(2))}; };
  table["slice"] = [](const Args &a) {
    return Tensors{a.tensor(0).slice(a.whole(1), a.whole(2, 0), a.whole(3, INT64_MAX), a.whole(4, 1))};
  };
  table["view"] = [](const Args &a) { return Tensors{a.tensor(0).view(a.list(1))}; };
  table["clone"] = [](const Args &a) { return Tensors{a.tensor(0).clone()}; };
  table["contiguous"] = [](const Args &a) { return Tensors{a.tensor(0).contiguous()}; };
  addJoining(table);
  addIndexing(table);
  addCreation(table);
  addStacking(table);
  addDiagonals(table);
}

/// A cut into equal sections, or at indices.
template <typename Cut> static parity::Tensors cut(const parity::Args &a, Cut by) {
  bool isList = std::holds_alternative<std::vector<int64_t>>(a.values[1]);
  return isList ? by(a.tensor(0), a.list(1)) : by(a.tensor(0), a.whole(1));
}

static void addStacking(parity::Table &table) {
  using namespace parity;
  table["atleast_1d"] = [](const Args &a) { return Tensors{atleast_1d(a.tensor(0))}; };
  table["atleast_2d"] = [](const Args &a) { return Tensors{atleast_2d(a.tensor(0))}; };
  table["atleast_3d"] = [](const Args &a) { return Tensors{atleast_3d(a.tensor(0))}; };
  table["hstack"] = [](const Args &a) { return Tensors{hstack(a.tensors(0))}; };
  table["vstack"] = [](const Args &a) { return Tensors{vstack(a.tensors(0))}; };
  table["dstack"] = [](const Args &a) { return Tensors{dstack(a.tensors(0))}; };
  table["column_stack"] = [](const Args &a) { return Tensors{column_stack(a.tensors(0))}; };
  table["block_diag"] = [](const Args &a) { return Tensors{block_diag(a.tensors(0))}; };
  table["broadcast_tensors"] = [](const Args &a) { return broadcast_tensors(a.tensors(0)); };
  table["broadcast_to"] = [](const Args &a) { return Tensors{broadcast_to(a.tensor(0), a.list(1))}; };
  table["cartesian_prod"] = [](const Args &a) { return Tensors{cartesian_prod(a.tensors(0))}; };
  table["tensor_split"] = [](const Args &a) {
    return cut(a, [&](const Tensor &x, const auto &where) { return tensor_split(x, where, a.whole(2, 0)); });
  };
  table["hsplit"] = [](const Args &a) {
    return cut(a, [](const Tensor &x, const auto &where) { return hsplit(x, where); });
  };
  table["vsplit"] = [](const Args &a) {
    return cut(a, [](const Tensor &x, const auto &where) { return vsplit(x, where); });
  };
  table["dsplit"] = [](const Args &a) {
    return cut(a, [](const Tensor &x, const auto &where) { return dsplit(x, where); });
  };
  table["fliplr"] = [](const Args &a) { return Tensors{fliplr(a.tensor(0))}; };
  table["flipud"] = [](const Args &a) { return Tensors{flipud(a.tensor(0))}; };
  table["rot90"] = [](const Args &a) {
    return Tensors{rot90(a.tensor(0), a.whole(1, 1), a.list(2, {0, 1}))};
  };
  table["ravel"] = [](const Args &a) { return Tensors{ravel(a.tensor(0))}; };
  table["pixel_shuffle"] = [](const Args &a) { return Tensors{pixel_shuffle(a.tensor(0), a.whole(1))}; };
  table["pixel_unshuffle"] = [](const Args &a) { return Tensors{pixel_unshuffle(a.tensor(0), a.whole(1))}; };
  table["channel_shuffle"] = [](const Args &a) { return Tensors{channel_shuffle(a.tensor(0), a.whole(1))}; };
}

static void addDiagonals(parity::Table &table) {
  using namespace parity;
  table["diag_embed"] = [](const Args &a) {
    return Tensors{diag_embed(a.tensor(0), a.whole(1, 0), a.whole(2, -2), a.whole(3, -1))};
  };
  table["diagflat"] = [](const Args &a) { return Tensors{diagflat(a.tensor(0), a.whole(1, 0))}; };
  table["diagonal_scatter"] = [](const Args &a) {
    return Tensors{diagonal_scatter(a.tensor(0), a.tensor(1), a.whole(2, 0), a.whole(3, 0), a.whole(4, 1))};
  };
  table["select_scatter"] = [](const Args &a) {
    return Tensors{select_scatter(a.tensor(0), a.tensor(1), a.whole(2), a.whole(3))};
  };
  table["slice_scatter"] = [](const Args &a) {
    return Tensors{slice_scatter(a.tensor(0), a.tensor(1), a.whole(2, 0), a.whole(3, 0),
                                 a.whole(4, INT64_MAX), a.whole(5, 1))};
  };
  table["tril_indices"] = [](const Args &a) {
    return Tensors{tril_indices(a.whole(0), a.whole(1), a.whole(2, 0), options(a, 3))};
  };
  table["triu_indices"] = [](const Args &a) {
    return Tensors{triu_indices(a.whole(0), a.whole(1), a.whole(2, 0), options(a, 3))};
  };
}

/// Joining, cutting, repeating, moving, padding.
static void addJoining(parity::Table &table) {
  using namespace parity;
  table["cat"] = [](const Args &a) { return Tensors{cat(a.tensors(0), a.whole(1, 0))}; };
  table["stack"] = [](const Args &a) { return Tensors{stack(a.tensors(0), a.whole(1, 0))}; };
  table["split"] = [](const Args &a) { return split(a.tensor(0), a.whole(1), a.whole(2, 0)); };
  table["split_with_sizes"] = [](const Args &a) { return split(a.tensor(0), a.list(1), a.whole(2, 0)); };
  table["chunk"] = [](const Args &a) { return chunk(a.tensor(0), a.whole(1), a.whole(2, 0)); };
  table["unbind"] = [](const Args &a) { return unbind(a.tensor(0), a.whole(1, 0)); };
  table["narrow"] = [](const Args &a) {
    return Tensors{narrow(a.tensor(0), a.whole(1), a.whole(2), a.whole(3))};
  };
  table["meshgrid"] = [](const Args &a) { return meshgrid(a.tensors(0), a.word(1, "ij")); };
  table["tile"] = [](const Args &a) { return Tensors{tile(a.tensor(0), a.list(1))}; };
  table["repeat"] = [](const Args &a) { return Tensors{a.tensor(0).repeat(a.list(1))}; };
  table["repeat_interleave"] = [](const Args &a) {
    std::optional<int64_t> dim = a.has(2) ? std::optional(a.whole(2)) : std::nullopt;
    return Tensors{repeat_interleave(a.tensor(0), a.whole(1), dim)};
  };
  table["flip"] = [](const Args &a) { return Tensors{flip(a.tensor(0), a.list(1))}; };
  table["roll"] = [](const Args &a) { return Tensors{roll(a.tensor(0), a.list(1), a.list(2, {}))}; };
  table["pad"] = [](const Args &a) {
    return Tensors{a.has(2) ? pad(a.tensor(0), a.list(1), a.operand(2)) : pad(a.tensor(0), a.list(1))};
  };
  table["pad_mode"] = [](const Args &a) { return Tensors{pad(a.tensor(0), a.list(1), a.word(2))}; };
  table["tril"] = [](const Args &a) { return Tensors{tril(a.tensor(0), a.whole(1, 0))}; };
  table["triu"] = [](const Args &a) { return Tensors{triu(a.tensor(0), a.whole(1, 0))}; };
}

/// Reading and writing by index.
static void addIndexing(parity::Table &table) {
  using namespace parity;
  table["gather"] = [](const Args &a) { return Tensors{a.tensor(0).gather(a.whole(1), a.tensor(2))}; };
  table["index_select"] = [](const Args &a) {
    return Tensors{a.tensor(0).index_select(a.whole(1), a.tensor(2))};
  };
  table["take"] = [](const Args &a) { return Tensors{take(a.tensor(0), a.tensor(1))}; };
  table["take_along_dim"] = [](const Args &a) {
    std::optional<int64_t> dim = a.has(2) ? std::optional(a.whole(2)) : std::nullopt;
    return Tensors{take_along_dim(a.tensor(0), a.tensor(1), dim)};
  };
  table["index_fill"] = [](const Args &a) {
    return Tensors{index_fill(a.tensor(0), a.whole(1), a.tensor(2), a.operand(3))};
  };
  table["embedding"] = [](const Args &a) {
    EmbeddingOptions options{.norm_type = a.real(4, 2), .scale_grad_by_freq = a.flag(5)};
    if (a.has(2))
      options.padding_idx = a.whole(2);
    if (a.has(3))
      options.max_norm = a.real(3);
    return Tensors{embedding(a.tensor(1), a.tensor(0), options)};
  };
  table["one_hot"] = [](const Args &a) { return Tensors{one_hot(a.tensor(0), a.whole(1, -1))}; };
  // Arguments: tensor, dim, index, source.
  table["scatter"] = [](const Args &a) {
    return Tensors{scatter(a.tensor(0), a.whole(1), a.tensor(2), a.operand(3))};
  };
  table["scatter_add"] = [](const Args &a) {
    return Tensors{scatter_add(a.tensor(0), a.whole(1), a.tensor(2), a.tensor(3))};
  };
  table["scatter_reduce"] = [](const Args &a) {
    return Tensors{
        scatter_reduce(a.tensor(0), a.whole(1), a.tensor(2), a.tensor(3), a.word(4), a.flag(5, true))};
  };
  table["index_add"] = [](const Args &a) {
    return Tensors{index_add(a.tensor(0), a.whole(1), a.tensor(2), a.tensor(3), a.real(4, 1))};
  };
  table["index_copy"] = [](const Args &a) {
    return Tensors{index_copy(a.tensor(0), a.whole(1), a.tensor(2), a.tensor(3))};
  };
  table["index_put"] = [](const Args &a) {
    return Tensors{index_put(a.tensor(0), a.tensors(1), a.tensor(2), a.flag(3))};
  };
  table["masked_fill"] = [](const Args &a) {
    return Tensors{masked_fill(a.tensor(0), a.tensor(1), a.operand(2))};
  };
}

static void addCreation(parity::Table &table) {
  using namespace parity;
  table["zeros_like"] = [](const Args &a) { return Tensors{zeros_like(a.tensor(0), like(a, 1))}; };
  table["ones_like"] = [](const Args &a) { return Tensors{ones_like(a.tensor(0), like(a, 1))}; };
  table["full_like"] = [](const Args &a) { return Tensors{full_like(a.tensor(0), a.real(1), like(a, 2))}; };
  table["arange"] = [](const Args &a) {
    return Tensors{arange(a.operand(0), a.operand(1), a.operand(2), options(a, 3))};
  };
  table["linspace"] = [](const Args &a) {
    return Tensors{linspace(a.real(0), a.real(1), a.whole(2), options(a, 3))};
  };
  table["logspace"] = [](const Args &a) {
    return Tensors{logspace(a.real(0), a.real(1), a.whole(2), a.real(3, 10), options(a, 4))};
  };
  table["zeros"] = [](const Args &a) { return Tensors{zeros(a.list(0), options(a, 1))}; };
  table["ones"] = [](const Args &a) { return Tensors{ones(a.list(0), options(a, 1))}; };
  table["full"] = [](const Args &a) { return Tensors{full(a.list(0), a.operand(1), options(a, 2))}; };
  auto dtype = [](const Args &a, size_t i) { return a.has(i) ? std::optional(a.dtype(i)) : std::nullopt; };
  table["new_zeros"] = [=](const Args &a) { return Tensors{a.tensor(0).new_zeros(a.list(1), dtype(a, 2))}; };
  table["new_ones"] = [=](const Args &a) { return Tensors{a.tensor(0).new_ones(a.list(1), dtype(a, 2))}; };
  table["new_full"] = [=](const Args &a) {
    return Tensors{a.tensor(0).new_full(a.list(1), a.operand(2), dtype(a, 3))};
  };
  table["eye"] = [](const Args &a) {
    std::optional<int64_t> columns = a.has(1) ? std::optional(a.whole(1)) : std::nullopt;
    return Tensors{eye(a.whole(0), columns, options(a, 2))};
  };
}
