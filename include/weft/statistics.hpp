//===- statistics.hpp - Moments, differences and integrals ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's functions of the same names. Negative dimensions count from the end.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_STATISTICS_HPP
#define WEFT_STATISTICS_HPP

#include "weft/tensor.hpp"

#include <utility>

namespace weft {

/// Sum and mean over `dims` (all if empty) of the elements that are not NaN.
WEFT_API Tensor nansum(const Tensor &a, IntList dims = {}, bool keepdim = false, Loc loc = Loc::current());
WEFT_API Tensor nanmean(const Tensor &a, IntList dims = {}, bool keepdim = false, Loc loc = Loc::current());
/// The smallest and the largest element, along a dimension or of all.
WEFT_API std::pair<Tensor, Tensor> aminmax(const Tensor &a, std::optional<int64_t> dim = {},
                                           bool keepdim = false, Loc loc = Loc::current());
/// Standard deviation, as Tensor::std, and mean.
WEFT_API std::pair<Tensor, Tensor> std_mean(const Tensor &a, IntList dims = {}, double correction = 1,
                                            bool keepdim = false, Loc loc = Loc::current());
WEFT_API Tensor std(const Tensor &a, IntList dims = {}, double correction = 1, bool keepdim = false,
                    Loc loc = Loc::current());
/// Covariances of the rows of a matrix, whose columns are observations; a vector is one row.
WEFT_API Tensor cov(const Tensor &a, double correction = 1, Loc loc = Loc::current());
/// Pearson's correlations of the rows, limited to [-1, 1].
WEFT_API Tensor corrcoef(const Tensor &a, Loc loc = Loc::current());
/// Differences of neighbours along `dim`, `n` times; `prepend` and `append`, if defined, are joined before.
WEFT_API Tensor diff(const Tensor &a, int64_t n = 1, int64_t dim = -1, const Tensor &prepend = {},
                     const Tensor &append = {}, Loc loc = Loc::current());
/// The integral along `dim` by the trapezoidal rule, over points `dx` apart or, in the second form, at `x`.
WEFT_API Tensor trapezoid(const Tensor &y, double dx = 1, int64_t dim = -1, Loc loc = Loc::current());
WEFT_API Tensor trapezoid(const Tensor &y, const Tensor &x, int64_t dim = -1, Loc loc = Loc::current());
/// The same up to each point but the first.
WEFT_API Tensor cumulative_trapezoid(const Tensor &y, double dx = 1, int64_t dim = -1,
                                     Loc loc = Loc::current());
WEFT_API Tensor cumulative_trapezoid(const Tensor &y, const Tensor &x, int64_t dim = -1,
                                     Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_STATISTICS_HPP
