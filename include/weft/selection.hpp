//===- selection.hpp - Selections whose size depends on values -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's functions of the same names. The size of a result that depends on values is read from them, so
// the host waits for it; in a compiled function that is an error (WEFT-C001). The forms with a `size` have a
// fixed one: what is missing is `fill`, and what is too much is left out. They compile. A function runs one
// program for all sizes between two powers of two.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_SELECTION_HPP
#define WEFT_SELECTION_HPP

#include "weft/random.hpp"
#include "weft/tensor.hpp"

namespace weft {

/// The indices of the elements that are not 0, in row-major order: i64 [count, dimensions of `a`].
WEFT_API Tensor nonzero(const Tensor &a, Loc loc = Loc::current());
/// The same by its other name.
inline Tensor argwhere(const Tensor &a, Loc loc = Loc::current()) { return nonzero(a, loc); }
/// `nonzero` with `size` rows.
WEFT_API Tensor nonzero_static(const Tensor &a, int64_t size, int64_t fill = -1, Loc loc = Loc::current());
/// The columns of `nonzero`: an index for each dimension.
WEFT_API std::vector<Tensor> where(const Tensor &condition, Loc loc = Loc::current());
/// The elements where `mask`, an i1 tensor, is true, as a vector in row-major order. Both broadcast.
WEFT_API Tensor masked_select(const Tensor &a, const Tensor &mask, Loc loc = Loc::current());
/// The same with `size` elements.
WEFT_API Tensor masked_select(const Tensor &a, const Tensor &mask, int64_t size, double fill,
                              Loc loc = Loc::current());
/// `a` with the elements of `source`, in row-major order, where `mask`, which broadcasts, is true. An error
/// of the call if `source` has too few.
WEFT_API Tensor masked_scatter(const Tensor &a, const Tensor &mask, const Tensor &source,
                               Loc loc = Loc::current());

/// Different values, in which of them each element is, and how often each occurs. What was not asked for is
/// undefined.
struct UniqueResult {
  Tensor values, inverse, counts;
};
/// The different values in ascending order; or, with `dim`, the different slices, in the order of their
/// elements. Every NaN is a value of its own. They are sorted, whatever `sorted` says.
WEFT_API UniqueResult unique(const Tensor &a, bool sorted = true, bool return_inverse = false,
                             bool return_counts = false, std::optional<int64_t> dim = {},
                             Loc loc = Loc::current());
/// The first element, or slice, of each run of equal ones.
WEFT_API UniqueResult unique_consecutive(const Tensor &a, bool return_inverse = false,
                                         bool return_counts = false, std::optional<int64_t> dim = {},
                                         Loc loc = Loc::current());

/// How often each number from 0 on occurs in a vector of integers that are not negative; with `weights` the
/// sum of their weights. There are at least `minlength` results.
WEFT_API Tensor bincount(const Tensor &a, const Tensor &weights = {}, int64_t minlength = 0,
                         Loc loc = Loc::current());
/// How many elements are in each of `bins` intervals of one length from `min` to `max`, whose ends belong to
/// them; of all elements if both are equal. In the dtype of `a`.
WEFT_API Tensor histc(const Tensor &a, int64_t bins = 100, double min = 0, double max = 0,
                      Loc loc = Loc::current());

/// Indices of `num_samples` elements of each row, drawn with probabilities in proportion to their weights,
/// which are not negative: i64 [.., num_samples]. Without `replacement` no element is drawn twice. A weight
/// that is negative, infinite or NaN, and a row of zeros, are an error (in a compiled function, an error of
/// the call); with dynamic sizes they are not checked.
WEFT_API Tensor multinomial(const Tensor &weights, int64_t num_samples, bool replacement = false,
                            Loc loc = Loc::current());
WEFT_API Tensor multinomial(const Tensor &weights, int64_t num_samples, bool replacement,
                            Generator &generator, Loc loc = Loc::current());

/// Every choice of `r` elements of a vector, a row each, in their order; `with_replacement` repeats elements.
WEFT_API Tensor combinations(const Tensor &a, int64_t r = 2, bool with_replacement = false,
                             Loc loc = Loc::current());
/// The indices of elements of a tensor of this shape, by their places in row-major order.
WEFT_API std::vector<Tensor> unravel_index(const Tensor &places, const Shape &shape,
                                           Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_SELECTION_HPP
