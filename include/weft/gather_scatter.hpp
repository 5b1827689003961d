//===- gather_scatter.hpp - Reading and writing by index -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's functions of the same names. Shapes and dtypes are checked at once; an index out of range is an
// error of the call that reads or writes with it, which then changes nothing. Index tensors are i64, or any
// other integer type. Negative dimensions count from the end. Every function throws Error, with the source
// lines of the operation and of its operands.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_GATHER_SCATTER_HPP
#define WEFT_GATHER_SCATTER_HPP

#include "weft/tensor.hpp"

#include <concepts>

namespace weft {

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// a[.., index[..], ..]: the element of dimension `dim` that the index, of the same rank, names.
WEFT_API Tensor gather(const Tensor &a, int64_t dim, const Tensor &index, Loc loc = Loc::current());
/// The slices of dimension `dim` that a 1-dimensional index names.
WEFT_API Tensor index_select(const Tensor &a, int64_t dim, const Tensor &index, Loc loc = Loc::current());
/// `gather` with an index whose other dimensions broadcast with those of `a`; without `dim` of the flattened
/// tensors. Negative indices count from the end.
WEFT_API Tensor take_along_dim(const Tensor &a, const Tensor &index, std::optional<int64_t> dim = {},
                               Loc loc = Loc::current());
/// Elements of the flattened tensor, in the index's shape. Negative indices count from the end.
WEFT_API Tensor take(const Tensor &a, const Tensor &index, Loc loc = Loc::current());
/// a[indices[0], indices[1], ..], where an undefined tensor stands for `:`. Index tensors broadcast; their
/// dimensions replace those that they index, or come first where these are not neighbours. Negative indices
/// count from the end.
WEFT_API Tensor index(const Tensor &a, const std::vector<Tensor> &indices, Loc loc = Loc::current());
/// Options of embedding(), as those of torch.nn.functional.embedding.
struct EmbeddingOptions {
  std::optional<int64_t> padding_idx = {};
  /// Rows of `weight` that the index names and whose norm is above this are scaled to it, in place and before
  /// they are read; no gradient flows through that.
  std::optional<double> max_norm = {};
  double norm_type = 2; ///< the p of that norm
  /// Whether the gradient of a row is divided by how often the index names it.
  bool scale_grad_by_freq = false;
};
/// Rows of `weight` [count, size] by index: a tensor of the index's shape and one dimension more. No gradient
/// flows to the row `padding_idx`.
WEFT_API Tensor embedding(const Tensor &index, const Tensor &weight, const EmbeddingOptions &options = {},
                          Loc loc = Loc::current());
template <std::convertible_to<std::optional<int64_t>> Padding>
Tensor embedding(const Tensor &index, const Tensor &weight, Padding padding_idx, Loc loc = Loc::current()) {
  return embedding(index, weight, EmbeddingOptions{.padding_idx = padding_idx}, loc);
}
/// i64 zeros, and a one where the last, new dimension has the index's value. `classes` -1 reads the largest.
WEFT_API Tensor one_hot(const Tensor &index, int64_t classes = -1, Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Writing: each gives a changed copy
//===----------------------------------------------------------------------===//

/// `a` with source[..] at [.., index[..], ..]. If several writes hit one element, the last one in row-major
/// order of the index wins. A number is written everywhere.
WEFT_API Tensor scatter(const Tensor &a, int64_t dim, const Tensor &index, const Arg &source,
                        Loc loc = Loc::current());
/// The same, but the source is added to the elements, in row-major order of the index.
WEFT_API Tensor scatter_add(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source,
                            Loc loc = Loc::current());
/// The same with "sum", "prod", "mean", "amax" or "amin". The old element takes part, unless `include_self`
/// is false; elements that no index names do not change. Means of integers are rounded down. Equal extremes
/// share the gradient. PyTorch gives a share to an old element that is equal but not included, and loses it.
WEFT_API Tensor scatter_reduce(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source,
                               const std::string &reduce, bool include_self = true, Loc loc = Loc::current());
/// `a` with alpha times the slices of `source` added to those that a 1-dimensional index names.
WEFT_API Tensor index_add(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source,
                          double alpha = 1, Loc loc = Loc::current());
/// `a` with the slices that a 1-dimensional index names replaced by those of `source`.
WEFT_API Tensor index_copy(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source,
                           Loc loc = Loc::current());
/// The same with one value: a number, or a 0-dimensional tensor.
WEFT_API Tensor index_fill(const Tensor &a, int64_t dim, const Tensor &index, const Arg &value,
                           Loc loc = Loc::current());
/// `a` with a[indices] replaced by `values`, or these added; indices as in `index`, values broadcast.
WEFT_API Tensor index_put(const Tensor &a, const std::vector<Tensor> &indices, const Tensor &values,
                          bool accumulate = false, Loc loc = Loc::current());
/// `a` with the elements of `source` at places of the flattened tensor, or added there. Negative places count
/// from the end.
WEFT_API Tensor put(const Tensor &a, const Tensor &places, const Tensor &source, bool accumulate = false,
                    Loc loc = Loc::current());
/// `scatter_reduce` of whole slices along `dim`, at those that a 1-dimensional index names: "prod", "mean",
/// "amax" or "amin".
WEFT_API Tensor index_reduce(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source,
                             const std::string &reduce, bool include_self = true, Loc loc = Loc::current());
/// `a` with `value`, a number or a 0-dimensional tensor, where the mask, which broadcasts, is true. A real
/// number is rounded toward zero in a tensor of integers.
WEFT_API Tensor masked_fill(const Tensor &a, const Tensor &mask, const Arg &value, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_GATHER_SCATTER_HPP
