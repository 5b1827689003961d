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
/// The lower, or upper, triangle of the last two dimensions, zero elsewhere. `diagonal` counts upwards from
/// the main one.
WEFT_API Tensor tril(const Tensor &a, int64_t diagonal = 0, Loc loc = Loc::current());
WEFT_API Tensor triu(const Tensor &a, int64_t diagonal = 0, Loc loc = Loc::current());
/// Grids of the coordinates in 1-dimensional tensors; `indexing` is "ij", or "xy", which swaps the first two.
WEFT_API std::vector<Tensor> meshgrid(const std::vector<Tensor> &tensors, const std::string &indexing = "ij",
                                      Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_JOINING_HPP
