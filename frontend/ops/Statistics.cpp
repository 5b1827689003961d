//===- Statistics.cpp - Moments, differences and integrals ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/statistics.hpp"

#include "frontend/ops/Ops.h"
#include "weft/joining.hpp"
#include "weft/linear_algebra.hpp"
#include "weft/math.hpp"
#include "weft/reduce.hpp"

namespace weft {

using namespace frontend;

//===----------------------------------------------------------------------===//
// Elements that are no numbers
//===----------------------------------------------------------------------===//

Tensor nansum(const Tensor &a, IntList dims, bool keepdim, Loc loc) {
  if (!is_floating_point(a.dtype(loc)))
    return a.sum(std::move(dims), keepdim, loc);
  return where(isnan(a, loc), {0, loc}, {a, loc}, loc).sum(std::move(dims), keepdim, loc);
}

Tensor nanmean(const Tensor &a, IntList dims, bool keepdim, Loc loc) {
  checkFloat(use(a, loc), "nanmean()", loc);
  Tensor wide = widened(a, loc);
  Tensor numbers = logical_not({isnan(a, loc), loc}).sum(dims, keepdim, loc);
  return div({nansum(wide, dims, keepdim, loc), loc}, {numbers, loc}).to(a.dtype(loc), loc);
}

//===----------------------------------------------------------------------===//
// Extremes and moments
//===----------------------------------------------------------------------===//

std::pair<Tensor, Tensor> aminmax(const Tensor &a, std::optional<int64_t> dim, bool keepdim, Loc loc) {
  IntList dims = dim && a.dim(loc) > 0 ? IntList{*dim} : IntList{};
  return {a.amin(dims, keepdim, loc), a.amax(dims, keepdim, loc)};
}

Tensor std(const Tensor &a, IntList dims, double correction, bool keepdim, Loc loc) {
  return a.std(std::move(dims), correction, keepdim, loc);
}

std::pair<Tensor, Tensor> std_mean(const Tensor &a, IntList dims, double correction, bool keepdim, Loc loc) {
  Tensor mean = var_mean(a, dims, correction, keepdim, loc).second;
  return {a.std(std::move(dims), correction, keepdim, loc), mean};
}

Tensor cov(const Tensor &a, double correction, Loc loc) {
  if (a.dim(loc) > 2)
    fail("cov(): expected input to have two or fewer dimensions but got an input with " +
             std::to_string(a.dim(loc)) + " dimensions",
         loc, {use(a, loc)});
  if (a.dtype(loc) == DType::i1)
    fail("cov(): bool dtype is not supported for input", loc, {use(a, loc)});
  Tensor rows = asReal(a, loc);
  if (rows.dim(loc) < 2)
    rows = rows.reshape({1, -1}, loc);
  Tensor centred = sub({rows, loc}, {rows.mean({1}, true, loc), loc});
  double freedom = std::max(0.0, static_cast<double>(rows.size(1, loc)) - correction);
  Tensor products = matmul(centred, centred.t(loc), loc);
  return div({products, loc}, {freedom, loc}).squeeze(loc);
}

Tensor corrcoef(const Tensor &a, Loc loc) {
  Tensor c = cov(a, 1, loc);
  if (c.dim(loc) == 0) // a scalar divided by itself, which is NaN where it is 0
    return div({c, loc}, {c, loc});
  Tensor deviation = sqrt(c.diagonal(0, 0, 1, loc), loc);
  c = div({c, loc}, {deviation.unsqueeze(1, loc), loc});
  c = div({c, loc}, {deviation.unsqueeze(0, loc), loc});
  return clamp(c, {-1, loc}, {1, loc});
}

//===----------------------------------------------------------------------===//
// Differences and integrals
//===----------------------------------------------------------------------===//

Tensor diff(const Tensor &a, int64_t n, int64_t dim, const Tensor &prepend, const Tensor &append, Loc loc) {
  if (n < 0)
    fail("order must be non-negative but got " + std::to_string(n), loc);
  if (a.dim(loc) == 0)
    fail("diff expects input to be at least one-dimensional", loc, {use(a, loc)});
  if (n == 0)
    return a;
  int64_t along = wrapDim(dim, a.dim(loc), loc);
  std::vector<Tensor> parts;
  for (const Tensor *part : {&prepend, &a, &append})
    if (part->defined())
      parts.push_back(*part);
  Tensor result = parts.size() == 1 ? a : cat(parts, along, loc);
  for (int64_t i = 0; i < n && result.size(along, loc) > 0; ++i) {
    Tensor next = result.slice(along, 1, INT64_MAX, 1, loc), last = result.slice(along, 0, -1, 1, loc);
    result =
        a.dtype(loc) == DType::i1 ? logical_xor({next, loc}, {last, loc}) : sub({next, loc}, {last, loc});
  }
  return result;
}

/// The mean of each two neighbours, summed or cumulated later.
static Tensor pairSums(const Tensor &y, int64_t along, Loc loc) {
  return add({y.slice(along, 1, INT64_MAX, 1, loc), loc}, {y.slice(along, 0, -1, 1, loc), loc});
}

/// Areas between neighbouring points, times 2.
static Tensor areas(const Tensor &y, const Tensor &x, int64_t dim, Loc loc) {
  int64_t along = wrapDim(dim, y.dim(loc), loc);
  Tensor widths = diff(x, 1, x.dim(loc) == 1 ? 0 : dim, {}, {}, loc);
  if (x.dim(loc) == 1) {
    Shape shape(y.sizes(loc).size(), 1);
    shape[static_cast<size_t>(along)] = widths.size(0, loc);
    widths = widths.reshape(shape, loc);
  }
  return mul({pairSums(y, along, loc), loc}, {widths, loc});
}

/// An integral: the sum, or the running sum, of areas that are twice as large, times `dx`.
static Tensor integral(const Tensor &areas, bool cumulative, double dx, int64_t dim, Loc loc) {
  Tensor total = cumulative ? areas.cumsum(dim, loc) : areas.sum({dim}, false, loc);
  return mul({total, loc}, {dx / 2, loc});
}

Tensor trapezoid(const Tensor &y, double dx, int64_t dim, Loc loc) {
  return integral(pairSums(y, wrapDim(dim, y.dim(loc), loc), loc), false, dx, dim, loc);
}
Tensor trapezoid(const Tensor &y, const Tensor &x, int64_t dim, Loc loc) {
  return integral(areas(y, x, dim, loc), false, 1, dim, loc);
}
Tensor cumulative_trapezoid(const Tensor &y, double dx, int64_t dim, Loc loc) {
  return integral(pairSums(y, wrapDim(dim, y.dim(loc), loc), loc), true, dx, dim, loc);
}
Tensor cumulative_trapezoid(const Tensor &y, const Tensor &x, int64_t dim, Loc loc) {
  return integral(areas(y, x, dim, loc), true, 1, dim, loc);
}

} // namespace weft
