//===- joining.hpp - Joining, cutting, repeating and moving --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's functions of the same names. Negative dimensions count from the end. Every function throws Error
// where shapes do not fit, with the source lines of the operation and of its operands.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_JOINING_HPP
#define WEFT_JOINING_HPP

#include "weft/tensor.hpp"

namespace weft {

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

/// Pieces as equal as possible, the first ones one element longer; or cut before each index.
WEFT_API std::vector<Tensor> tensor_split(const Tensor &a, int64_t sections, int64_t dim = 0,
                                          Loc loc = Loc::current());
WEFT_API std::vector<Tensor> tensor_split(const Tensor &a, const std::vector<int64_t> &indices,
                                          int64_t dim = 0, Loc loc = Loc::current());
/// `tensor_split` along dimension 1 (0 of a vector), 0, and 2; sections must be equal.
WEFT_API std::vector<Tensor> hsplit(const Tensor &a, int64_t sections, Loc loc = Loc::current());
WEFT_API std::vector<Tensor> hsplit(const Tensor &a, const std::vector<int64_t> &indices,
                                    Loc loc = Loc::current());
WEFT_API std::vector<Tensor> vsplit(const Tensor &a, int64_t sections, Loc loc = Loc::current());
WEFT_API std::vector<Tensor> vsplit(const Tensor &a, const std::vector<int64_t> &indices,
                                    Loc loc = Loc::current());
WEFT_API std::vector<Tensor> dsplit(const Tensor &a, int64_t sections, Loc loc = Loc::current());
WEFT_API std::vector<Tensor> dsplit(const Tensor &a, const std::vector<int64_t> &indices,
                                    Loc loc = Loc::current());

/// With at least one (two, three) dimensions: [] becomes [1] ([1, 1], [1, 1, 1]), [n] becomes [1, n] ([1, n,
/// 1]), [n, m] becomes [n, m, 1].
WEFT_API Tensor atleast_1d(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor atleast_2d(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor atleast_3d(const Tensor &a, Loc loc = Loc::current());
/// Joined side by side (vectors end to end), one below the other, and one behind the other: `cat` of
/// atleast_1d along dimension 1 (of vectors 0), of atleast_2d along 0, and of atleast_3d along 2.
WEFT_API Tensor hstack(const std::vector<Tensor> &tensors, Loc loc = Loc::current());
WEFT_API Tensor vstack(const std::vector<Tensor> &tensors, Loc loc = Loc::current());
WEFT_API Tensor dstack(const std::vector<Tensor> &tensors, Loc loc = Loc::current());
/// Vectors as columns, and matrices, beside each other.
WEFT_API Tensor column_stack(const std::vector<Tensor> &tensors, Loc loc = Loc::current());
/// `cat` by its other name.
inline Tensor concat(const std::vector<Tensor> &tensors, int64_t dim = 0, Loc loc = Loc::current()) {
  return cat(tensors, dim, loc);
}
/// Matrices along the diagonal of one, zeros elsewhere; vectors count as rows. Dtypes are promoted.
WEFT_API Tensor block_diag(const std::vector<Tensor> &tensors, Loc loc = Loc::current());
/// All tensors expanded to one shape.
WEFT_API std::vector<Tensor> broadcast_tensors(const std::vector<Tensor> &tensors, Loc loc = Loc::current());
/// The sum over the dimensions that a tensor of this shape would stretch along to become `a`.
WEFT_API Tensor sum_to_size(const Tensor &a, const Shape &shape, Loc loc = Loc::current());
/// The shape of tensors of these shapes after they are broadcast.
WEFT_API Shape broadcast_shapes(const std::vector<Shape> &shapes, Loc loc = Loc::current());
/// Every choice of one element of each vector, a row each; of one vector the vector itself.
WEFT_API Tensor cartesian_prod(const std::vector<Tensor> &tensors, Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Repeating, moving, padding
//===----------------------------------------------------------------------===//

/// The tensor `dims[i]` times along dimension i; dimensions are added in front on either side.
WEFT_API Tensor tile(const Tensor &a, IntList dims, Loc loc = Loc::current());
/// Each element `repeats` times in a row along `dim`; of the flattened tensor where it is left out.
WEFT_API Tensor repeat_interleave(const Tensor &a, int64_t repeats, std::optional<int64_t> dim = {},
                                  Loc loc = Loc::current());
/// Each slice along `dim`, in the order of `dims`, from the last to the first.
WEFT_API Tensor flip(const Tensor &a, IntList dims, Loc loc = Loc::current());
/// Elements moved by `shifts`; what leaves at the end comes in at the start. Without `dims` the tensor is
/// rolled as if flat.
WEFT_API Tensor roll(const Tensor &a, IntList shifts, IntList dims = {}, Loc loc = Loc::current());
/// Constant padding: `padding` has pairs of counts before and after, from the last dimension on. Negative
/// counts take elements away.
WEFT_API Tensor pad(const Tensor &a, IntList padding, const Arg &value = Arg(0.0), Loc loc = Loc::current());
/// Padding from the tensor itself: "reflect" mirrors at the edge elements, "replicate" repeats them,
/// "circular" goes on at the other end; "constant" is the function above. Of a tensor with one or two
/// dimensions more than `padding` has pairs, as [channels, ..] and [batch, channels, ..]. Negative counts
/// take elements away. Throws Error where a dimension is too short for its padding.
WEFT_API Tensor pad(const Tensor &a, IntList padding, const std::string &mode, double value = 0,
                    Loc loc = Loc::current());
/// Slices from the left to the right (from the top to the bottom) in the opposite order.
WEFT_API Tensor fliplr(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor flipud(const Tensor &a, Loc loc = Loc::current());
/// Turned by 90 degrees k times, from the first of the two dimensions to the second.
WEFT_API Tensor rot90(const Tensor &a, int64_t k = 1, IntList dims = {0, 1}, Loc loc = Loc::current());
/// [.., c r^2, h, w] as [.., c, h r, w r] (Shi et al., 2016), and back.
WEFT_API Tensor pixel_shuffle(const Tensor &a, int64_t upscale_factor, Loc loc = Loc::current());
WEFT_API Tensor pixel_unshuffle(const Tensor &a, int64_t downscale_factor, Loc loc = Loc::current());
/// Channels, dimension 1, in groups, whose members are interleaved (Zhang et al., 2018).
WEFT_API Tensor channel_shuffle(const Tensor &a, int64_t groups, Loc loc = Loc::current());
/// The lower, or upper, triangle of the last two dimensions, zero elsewhere. `diagonal` counts upwards from
/// the main one.
WEFT_API Tensor tril(const Tensor &a, int64_t diagonal = 0, Loc loc = Loc::current());
WEFT_API Tensor triu(const Tensor &a, int64_t diagonal = 0, Loc loc = Loc::current());
/// Grids of the coordinates in 1-dimensional tensors; `indexing` is "ij", or "xy", which swaps the first two.
WEFT_API std::vector<Tensor> meshgrid(const std::vector<Tensor> &tensors, const std::string &indexing = "ij",
                                      Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Diagonals and slices written: each gives a changed copy
//===----------------------------------------------------------------------===//

/// Matrices of zeros, in dimensions `dim1` and `dim2` of the result, whose diagonals are the last dimension
/// of `a`.
WEFT_API Tensor diag_embed(const Tensor &a, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1,
                           Loc loc = Loc::current());
/// `diag` of the flattened tensor.
WEFT_API Tensor diagflat(const Tensor &a, int64_t offset = 0, Loc loc = Loc::current());
/// `a` with `source` as its diagonal, as its slice `index`, and as its slice start:end:step.
WEFT_API Tensor diagonal_scatter(const Tensor &a, const Tensor &source, int64_t offset = 0, int64_t dim1 = 0,
                                 int64_t dim2 = 1, Loc loc = Loc::current());
WEFT_API Tensor select_scatter(const Tensor &a, const Tensor &source, int64_t dim, int64_t index,
                               Loc loc = Loc::current());
WEFT_API Tensor slice_scatter(const Tensor &a, const Tensor &source, int64_t dim = 0, int64_t start = 0,
                              int64_t end = INT64_MAX, int64_t step = 1, Loc loc = Loc::current());
/// Rows and columns, i64 [2, n], of the lower (upper) triangle of a matrix.
WEFT_API Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset = 0, TensorOptions options = {},
                             Loc loc = Loc::current());
WEFT_API Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset = 0, TensorOptions options = {},
                             Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_JOINING_HPP
