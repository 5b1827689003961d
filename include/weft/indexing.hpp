//===- indexing.hpp - Joining, cutting and indexing tensors -----------------===//
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
#ifndef WEFT_INDEXING_HPP
#define WEFT_INDEXING_HPP

#include "weft/tensor.hpp"

namespace weft {

//===----------------------------------------------------------------------===//
// Joining and cutting
//===----------------------------------------------------------------------===//

/// Tensors one after the other along `dim`. They agree in every other dimension; element types are promoted;
/// 1-dimensional tensors without elements are skipped.
WEFT_API Tensor cat(const std::vector<Tensor> &tensors, int64_t dim = 0, Loc loc = Loc::current());
/// Tensors of one shape along a new dimension `dim`.
WEFT_API Tensor stack(const std::vector<Tensor> &tensors, int64_t dim = 0, Loc loc = Loc::current());
/// Pieces of `size` elements of one dimension; the last one may be shorter.
WEFT_API std::vector<Tensor> split(const Tensor &a, int64_t size, int64_t dim = 0, Loc loc = Loc::current());
/// Pieces of the given sizes, which add up to the dimension's.
WEFT_API std::vector<Tensor> split(const Tensor &a, const std::vector<int64_t> &sizes, int64_t dim = 0,
                                   Loc loc = Loc::current());
/// At most `chunks` pieces of equal size; the last one may be shorter.
WEFT_API std::vector<Tensor> chunk(const Tensor &a, int64_t chunks, int64_t dim = 0,
                                   Loc loc = Loc::current());
/// The slices of one dimension, without it.
WEFT_API std::vector<Tensor> unbind(const Tensor &a, int64_t dim = 0, Loc loc = Loc::current());
/// `length` elements from `start` on; a negative start counts from the end.
WEFT_API Tensor narrow(const Tensor &a, int64_t dim, int64_t start, int64_t length, Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Repeating, moving, padding
//===----------------------------------------------------------------------===//

/// The tensor `dims[i]` times along dimension i; dimensions are added in front on either side.
WEFT_API Tensor tile(const Tensor &a, const std::vector<int64_t> &dims, Loc loc = Loc::current());
/// Each element `repeats` times in a row along `dim`; of the flattened tensor where it is left out.
WEFT_API Tensor repeat_interleave(const Tensor &a, int64_t repeats, std::optional<int64_t> dim = {},
                                  Loc loc = Loc::current());
/// Each slice along `dim`, in the order of `dims`, from the last to the first.
WEFT_API Tensor flip(const Tensor &a, const std::vector<int64_t> &dims, Loc loc = Loc::current());
/// Elements moved by `shifts`; what leaves at the end comes in at the start. Without `dims` the tensor is
/// rolled as if flat.
WEFT_API Tensor roll(const Tensor &a, const std::vector<int64_t> &shifts,
                     const std::vector<int64_t> &dims = {}, Loc loc = Loc::current());
/// Constant padding: `padding` has pairs of counts before and after, from the last dimension on. Negative
/// counts take elements away.
WEFT_API Tensor pad(const Tensor &a, const std::vector<int64_t> &padding, const Arg &value = Arg(0.0),
                    Loc loc = Loc::current());
/// The lower, or upper, triangle of the last two dimensions, zero elsewhere. `diagonal` counts upwards from
/// the main one.
WEFT_API Tensor tril(const Tensor &a, int64_t diagonal = 0, Loc loc = Loc::current());
WEFT_API Tensor triu(const Tensor &a, int64_t diagonal = 0, Loc loc = Loc::current());
/// Grids of the coordinates in 1-dimensional tensors; `indexing` is "ij", or "xy", which swaps the first two.
WEFT_API std::vector<Tensor> meshgrid(const std::vector<Tensor> &tensors, const std::string &indexing = "ij",
                                      Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Reading by index
//===----------------------------------------------------------------------===//

/// a[.., index[..], ..]: the element of dimension `dim` that the index, of the same rank, names.
WEFT_API Tensor gather(const Tensor &a, int64_t dim, const Tensor &index, Loc loc = Loc::current());
/// The slices of dimension `dim` that a 1-dimensional index names.
WEFT_API Tensor index_select(const Tensor &a, int64_t dim, const Tensor &index, Loc loc = Loc::current());
/// Elements of the flattened tensor, in the index's shape. Negative indices count from the end.
WEFT_API Tensor take(const Tensor &a, const Tensor &index, Loc loc = Loc::current());
/// a[indices[0], indices[1], ..], where an undefined tensor stands for `:`. Index tensors broadcast; their
/// dimensions replace those that they index, or come first where these are not neighbours. Negative indices
/// count from the end.
WEFT_API Tensor index(const Tensor &a, const std::vector<Tensor> &indices, Loc loc = Loc::current());
/// Rows of `weight` [count, size] by index: a tensor of the index's shape and one dimension more. No gradient
/// flows to the row `padding_idx`.
WEFT_API Tensor embedding(const Tensor &index, const Tensor &weight, std::optional<int64_t> padding_idx = {},
                          Loc loc = Loc::current());
/// i64 zeros, and a one where the last, new dimension has the index's value. `classes` -1 reads the largest.
WEFT_API Tensor one_hot(const Tensor &index, int64_t classes = -1, Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Writing by index: each gives a changed copy
//===----------------------------------------------------------------------===//

/// `a` with source[..] at [.., index[..], ..]. Of several writes to one element the last in row-major order
/// of the index stays. A number is written everywhere.
WEFT_API Tensor scatter(const Tensor &a, int64_t dim, const Tensor &index, const Arg &source,
                        Loc loc = Loc::current());
/// The same, added to what is there, in row-major order of the index.
WEFT_API Tensor scatter_add(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source,
                            Loc loc = Loc::current());
/// The same with "sum", "prod", "amax" or "amin"; what is there takes part. "prod", "amax" and "amin" have no
/// derivative.
WEFT_API Tensor scatter_reduce(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source,
                               const std::string &reduce, Loc loc = Loc::current());
/// `a` with alpha times the slices of `source` added to those that a 1-dimensional index names.
WEFT_API Tensor index_add(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source,
                          double alpha = 1, Loc loc = Loc::current());
/// `a` with the slices that a 1-dimensional index names replaced by those of `source`.
WEFT_API Tensor index_copy(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source,
                           Loc loc = Loc::current());
/// `a` with a[indices] replaced by `values`, or these added; indices as in `index`, values broadcast.
WEFT_API Tensor index_put(const Tensor &a, const std::vector<Tensor> &indices, const Tensor &values,
                          bool accumulate = false, Loc loc = Loc::current());
/// `a` with `value`, a number or a 0-dimensional tensor, where the mask, which broadcasts, is true.
WEFT_API Tensor masked_fill(const Tensor &a, const Tensor &mask, const Arg &value, Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

/// start, start + step, .. below `end` (above it, for a negative step): i64, or f32 from real bounds, unless
/// another dtype is asked for.
WEFT_API Tensor arange(const Arg &start, const Arg &end, const Arg &step = Arg(1), TensorOptions options = {},
                       Loc loc = Loc::current());
/// `steps` numbers from `start` to `end`, both included.
WEFT_API Tensor linspace(double start, double end, int64_t steps, TensorOptions options = {},
                         Loc loc = Loc::current());
/// Ones on the main diagonal of a matrix of n rows and m (or n) columns.
WEFT_API Tensor eye(int64_t n, std::optional<int64_t> m = {}, TensorOptions options = {},
                    Loc loc = Loc::current());
WEFT_API Tensor full_like(const Tensor &like, double value, Loc loc = Loc::current());
WEFT_API Tensor empty_like(const Tensor &like, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_INDEXING_HPP
