//===- embedding_bag.hpp - Sums, means and maxima of embeddings -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMBEDDING_BAG_HPP
#define WEFT_EMBEDDING_BAG_HPP

#include "weft/module.hpp"

namespace weft {

struct EmbeddingBagOptions {
  std::string mode = "mean"; ///< or "sum", or "max"
  /// Of bags one after the other, whether the last offset is the end of the last bag, and begins none.
  bool include_last_offset = false;
  /// Elements with this row (negative: from the end) are left out, and get no gradient.
  std::optional<int64_t> padding_idx = {};
};

/// The rows of `weight` [count, size] that each bag names, added, averaged or their largest elements: [bags,
/// size]. `index` has a bag in each row, [bags, n], or the bags one after the other, [n], of which `offsets`
/// [bags] says where each begins, the first at 0. A bag without elements is zeros. With `per_sample_weights`,
/// of the index's shape, each row is multiplied by its weight, which the mode "sum" alone has.
WEFT_API Tensor embedding_bag(const Tensor &index, const Tensor &weight, const Tensor &offsets = {},
                              const EmbeddingBagOptions &options = {}, const Tensor &per_sample_weights = {},
                              Loc loc = Loc::current());

namespace nn {

/// `embedding_bag` with a table of its own; weights are standard normal at first, the row `padding_idx`
/// zeros.
class WEFT_API EmbeddingBag : public Module {
public:
  EmbeddingBag(int64_t num_embeddings, int64_t embedding_dim, EmbeddingBagOptions options = {},
               Loc loc = Loc::current());
  Tensor operator()(const Tensor &index, const Tensor &offsets = {}, const Tensor &per_sample_weights = {},
                    Loc loc = Loc::current()) const {
    return embedding_bag(index, weight, offsets, options_, per_sample_weights, loc);
  }
  Parameter weight;

private:
  EmbeddingBagOptions options_;
};

} // namespace nn
} // namespace weft

#endif // WEFT_EMBEDDING_BAG_HPP
