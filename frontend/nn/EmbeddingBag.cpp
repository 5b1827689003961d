//===- EmbeddingBag.cpp - Sums, means and maxima of embeddings --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/embedding_bag.hpp"

#include "frontend/ops/Ops.h"
#include "frontend/ops/Term.h"
#include "weft/dim.hpp"
#include "weft/gather_scatter.hpp"
#include "weft/init.hpp"
#include "weft/layers.hpp"
#include "weft/sorting.hpp"

#include <limits>

namespace weft {

using namespace frontend;

namespace {

/// Elements one after the other, and the bag of each.
struct Bags {
  Tensor index, weights; ///< [n]; weights may be undefined
  Tensor bag;            ///< [n] of i64
  Size count = 0;        ///< of bags
};

Bags bagsOf(const Tensor &index, const Tensor &offsets, bool include_last_offset, const Tensor &weights,
            Loc loc) {
  const Device device = index.device(loc);
  if (index.dim(loc) == 2) {
    if (offsets.defined())
      fail("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
           "sequences. However, found offsets of shape " +
               shapeText(offsets.sizes(loc)),
           loc, {use(offsets, loc)});
    const Size bags = index.sym_size(0, loc);
    const Tensor numbers = arange(Size(0), bags, {.dtype = DType::i64, .device = device}, loc);
    return {index.flatten(0, -1, loc), weights.defined() ? weights.flatten(0, -1, loc) : Tensor(),
            numbers.unsqueeze(1, loc).expand(index.sizes(loc), loc).flatten(0, -1, loc), bags};
  }
  if (index.dim(loc) != 1)
    fail("input has to be 1D or 2D Tensor, but got Tensor of dimension " + std::to_string(index.dim(loc)),
         loc, {use(index, loc)});
  if (!offsets.defined() || offsets.dim(loc) != 1)
    fail("offsets has to be a 1D Tensor: where the input is one too, they say where each bag begins", loc,
         {use(index, loc)});
  const int64_t given = offsets.size(0, loc), bags = include_last_offset ? given - 1 : given;
  if (bags < 0)
    fail("include_last_offset: number of offset should be at least 1", loc, {use(offsets, loc)});
  const Tensor begins = offsets.narrow(0, 0, bags, loc).to(DType::i64, loc);
  if (bags > 0)
    assert_true(eq({begins.select(0, 0, loc), loc}, {0, loc}),
                "embedding_bag: offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to "
                "start from position 0",
                loc);
  const Tensor place = arange(Size(0), index.sym_size(0, loc), {.dtype = DType::i64, .device = device}, loc);
  Tensor bag = sub({searchsorted(begins, place, /*right=*/true, {}, loc), loc}, {1, loc});
  if (include_last_offset) // what lies behind the end of the last bag is in none
    bag = where(lt({place, loc}, {offsets.select(0, bags, loc), loc}), {bag, loc}, {-1, loc}, loc);
  return {index, weights, bag, Size(bags)};
}

/// In each bag and column the first of the largest elements, 0 in a bag without elements.
Tensor largest(const Tensor &rows, const Tensor &bag, const Tensor &begin, Loc loc) {
  if (rows.sizes(loc)[0] == 0) // the sum of none, through which a gradient of zeros flows
    return index_add(begin, 0, bag, rows, 1, loc);
  const Size count = rows.sym_size(0, loc);
  Tensor first, found;
  {
    NoGradGuard guard;
    const Tensor lowest = full(begin.sizes(loc), Arg(-std::numeric_limits<double>::infinity(), loc),
                               {begin.dtype(loc), begin.device(loc)}, loc);
    const Tensor most = index_reduce(lowest, 0, bag, rows.detach(loc), "amax", true, loc);
    const Term row{rows.detach(loc), loc};
    const Term isMost = row == Term{index_select(most, 0, bag, loc), loc} || isnan(row);
    const Tensor place = arange(Size(0), count, {.dtype = DType::i64, .device = rows.device(loc)}, loc)
                             .unsqueeze(1, loc)
                             .expand(rows.sizes(loc), loc);
    const Tensor none = full(begin.sizes(loc), Arg(std::numeric_limits<int64_t>::max(), loc),
                             {DType::i64, begin.device(loc)}, loc);
    const Tensor places = where(isMost.tensor, {place, loc}, {std::numeric_limits<int64_t>::max(), loc}, loc);
    first = index_reduce(none, 0, bag, places, "amin", true, loc);
    found = ne({first, loc}, {std::numeric_limits<int64_t>::max(), loc});
    first = where(found, {first, loc}, {0, loc}, loc);
  }
  return where(found, {gather(rows, 0, first, loc), loc}, {begin, loc}, loc);
}

} // namespace

Tensor embedding_bag(const Tensor &index, const Tensor &weight, const Tensor &offsets,
                     const EmbeddingBagOptions &options, const Tensor &per_sample_weights, Loc loc) {
  if (options.mode != "sum" && options.mode != "mean" && options.mode != "max")
    fail("mode has to be one of sum, mean or max, found \"" + options.mode + "\"", loc);
  if (per_sample_weights.defined() && options.mode != "sum")
    fail("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
         "mode='sum' (got mode='" +
             options.mode + "')",
         loc, {use(per_sample_weights, loc)});
  if (per_sample_weights.defined() && per_sample_weights.sizes(loc) != index.sizes(loc))
    fail("embedding_bag: If per_sample_weights (" + shapeText(per_sample_weights.sizes(loc)) +
             ") is not None, then it must have the same shape as the input (" + shapeText(index.sizes(loc)) +
             ")",
         loc, {use(per_sample_weights, loc)});
  const Bags bags = bagsOf(index, offsets, options.include_last_offset, per_sample_weights, loc);
  Tensor bag = bags.bag;
  if (options.padding_idx) {
    int64_t padding = *options.padding_idx;
    const int64_t rows = weight.size(0, loc);
    if (padding < -rows || padding >= rows)
      fail("padding_idx must be within the number of embeddings: " + std::to_string(padding) + " of " +
               std::to_string(rows),
           loc, {use(weight, loc)});
    padding += padding < 0 ? rows : 0;
    bag = where(eq({bags.index, loc}, {padding, loc}), {-1, loc}, {bag, loc}, loc);
  }
  // An element of no bag goes to one that is cut off.
  bag = where(lt({bag, loc}, {0, loc}), {numberOf(bags.count.entry(), DType::i64, bag.device(loc), loc), loc},
              {bag, loc}, loc);
  Tensor rows = widened(embedding(bags.index, weight, std::nullopt, loc), loc);
  const TensorOptions like{rows.dtype(loc), rows.device(loc)};
  const Size more = bags.count + 1;
  const Tensor begin = zeros(shape({more, weight.sym_size(1, loc)}), like, loc);
  if (bags.weights.defined())
    rows = mul({rows, loc}, {bags.weights.to(rows.dtype(loc), loc).unsqueeze(1, loc), loc});
  Tensor made =
      options.mode == "max" ? largest(rows, bag, begin, loc) : index_add(begin, 0, bag, rows, 1, loc);
  if (options.mode == "mean") {
    const Tensor one = ones(shape({bags.index.sym_size(0, loc)}), like, loc);
    const Tensor counts = index_add(zeros(shape({more}), like, loc), 0, bag, one, 1, loc);
    made = div({made, loc}, {clamp_min(counts, {1, loc}).unsqueeze(1, loc), loc});
  }
  return made.narrow(0, Size(0), bags.count, loc).to(weight.dtype(loc), loc);
}

namespace nn {

EmbeddingBag::EmbeddingBag(int64_t num_embeddings, int64_t embedding_dim, EmbeddingBagOptions options,
                           Loc loc)
    : Module("EmbeddingBag", std::to_string(num_embeddings) + ", " + std::to_string(embedding_dim) +
                                 ", mode=" + options.mode),
      options_(std::move(options)) {
  if (options_.mode != "sum" && options_.mode != "mean" && options_.mode != "max")
    fail("mode has to be one of sum, mean or max, found \"" + options_.mode + "\"", loc);
  // A table as that of nn::Embedding.
  weight = register_parameter(
      "weight",
      Embedding(num_embeddings, embedding_dim, options_.padding_idx, loc).weight.detach(loc).clone(loc), loc);
}

} // namespace nn
} // namespace weft
