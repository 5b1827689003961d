//===- sorting.hpp - Order -------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's functions of the same names. A NaN counts as larger than every number. Equal elements keep their
// order, so every sort is stable. Indices are i64, and no gradient flows through them; values pass their
// gradient to the elements that they are. Negative dimensions count from the end. Every function throws Error
// for a dimension that is not there, with the source lines of the operation and of its operands.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_SORTING_HPP
#define WEFT_SORTING_HPP

#include "weft/tensor.hpp"

namespace weft {

/// The elements along `dim` in ascending, or descending, order, and where they were: both in the shape of
/// `a`.
WEFT_API ValuesIndices sort(const Tensor &a, int64_t dim = -1, bool descending = false, bool stable = false,
                            Loc loc = Loc::current());
/// The indices of `sort`.
WEFT_API Tensor argsort(const Tensor &a, int64_t dim = -1, bool descending = false, bool stable = false,
                        Loc loc = Loc::current());
/// The values of `sort` along the first dimension.
WEFT_API Tensor msort(const Tensor &a, Loc loc = Loc::current());
/// The `k` largest, or smallest, elements along `dim`, which has size k in the results; of equal ones the
/// first. They are in order, whatever `sorted` says. More than the dimension has are an error.
WEFT_API ValuesIndices topk(const Tensor &a, int64_t k, int64_t dim = -1, bool largest = true,
                            bool sorted = true, Loc loc = Loc::current());
/// The k-th smallest element along `dim`, from 1 on.
WEFT_API ValuesIndices kthvalue(const Tensor &a, int64_t k, int64_t dim = -1, bool keepdim = false,
                                Loc loc = Loc::current());

/// The lower median of all elements, 0-dimensional: NaN if one is NaN, or if there are none. Elements that
/// are equal to it share the gradient.
WEFT_API Tensor median(const Tensor &a, Loc loc = Loc::current());
/// The same along `dim`, with its index.
WEFT_API ValuesIndices median(const Tensor &a, int64_t dim, bool keepdim = false, Loc loc = Loc::current());
/// The same of the elements that are not NaN.
WEFT_API Tensor nanmedian(const Tensor &a, Loc loc = Loc::current());
WEFT_API ValuesIndices nanmedian(const Tensor &a, int64_t dim, bool keepdim = false,
                                 Loc loc = Loc::current());
/// The value that occurs most often along `dim`, the smallest of several, and the index of its last
/// occurrence.
WEFT_API ValuesIndices mode(const Tensor &a, int64_t dim = -1, bool keepdim = false,
                            Loc loc = Loc::current());
/// The q-quantiles along `dim`, or of all elements: `q` is one number in [0, 1], 0-dimensional, or a vector
/// of them, whose dimension comes first in the result. Between two elements the result is as `interpolation`
/// says: "linear", "lower", "higher", "nearest" or "midpoint". NaN where an element is NaN. `q` is f32 or f64
/// like `a`.
WEFT_API Tensor quantile(const Tensor &a, const Tensor &q, std::optional<int64_t> dim = {},
                         bool keepdim = false, const std::string &interpolation = "linear",
                         Loc loc = Loc::current());
WEFT_API Tensor quantile(const Tensor &a, double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                         const std::string &interpolation = "linear", Loc loc = Loc::current());
/// The same of the elements that are not NaN.
WEFT_API Tensor nanquantile(const Tensor &a, const Tensor &q, std::optional<int64_t> dim = {},
                            bool keepdim = false, const std::string &interpolation = "linear",
                            Loc loc = Loc::current());
WEFT_API Tensor nanquantile(const Tensor &a, double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                            const std::string &interpolation = "linear", Loc loc = Loc::current());

/// The largest (smallest) element so far along `dim`, and the index of its last occurrence so far.
WEFT_API ValuesIndices cummax(const Tensor &a, int64_t dim, Loc loc = Loc::current());
WEFT_API ValuesIndices cummin(const Tensor &a, int64_t dim, Loc loc = Loc::current());
/// log(cumsum(exp(a))) along `dim`, without overflow.
WEFT_API Tensor logcumsumexp(const Tensor &a, int64_t dim, Loc loc = Loc::current());

/// How many elements of a row in ascending order are less than each value, or, with `right`, not greater.
/// `sorted` is one row for all values, or has the dimensions of `values` up to the last one. `sorter`, if
/// defined, has the places of the elements in order. Two dtypes are compared in the common one.
WEFT_API Tensor searchsorted(const Tensor &sorted, const Tensor &values, bool right = false,
                             const Tensor &sorter = {}, Loc loc = Loc::current());
WEFT_API Tensor searchsorted(const Tensor &sorted, double value, bool right = false,
                             const Tensor &sorter = {}, Loc loc = Loc::current());
/// The number of the interval between `boundaries`, in ascending order, that each element lies in; its right
/// end belongs to an interval, or with `right` its left end.
WEFT_API Tensor bucketize(const Tensor &a, const Tensor &boundaries, bool right = false,
                          Loc loc = Loc::current());
/// As i1: whether each element equals one of `test`; with `invert` whether it equals none.
WEFT_API Tensor isin(const Tensor &elements, const Tensor &test, bool invert = false,
                     Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_SORTING_HPP
