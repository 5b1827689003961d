//===- Sorting.cpp - Order ------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/sorting.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Promotion.h"
#include "frontend/ops/Term.h"
#include "weft/gather_scatter.hpp"
#include "weft/joining.hpp"
#include "weft/reduce.hpp"

#include <bit>
#include <cmath>

namespace weft {

using namespace frontend;

namespace {

/// `a` sorted along its last dimension; the first `count` elements.
ValuesIndices sortLast(const Tensor &a, int64_t count, bool descending, Loc loc) {
  GraphLock lock(graphMutex());
  auto node = record("sort", {use(a, loc)}, {{"count", count}, {"descending", descending}}, loc);
  return {wrap(Ref{node, 0}, loc), wrap(Ref{node, 1}, loc)};
}

Tensor zeroIndex(const Tensor &a, Loc loc) {
  return zeros({}, {.dtype = DType::i64, .device = a.device(loc)}, loc);
}

/// `count` elements along `dim`; all if there is no number.
ValuesIndices sortAlong(const Tensor &a, int64_t dim, std::optional<int64_t> count, bool descending,
                        Loc loc) {
  dim = wrapDim(dim, a.dim(loc), loc);
  if (a.dim(loc) == 0) // one element, whose index is 0
    return {a.reshape({}, loc), zeroIndex(a, loc)};
  const int64_t last = a.dim(loc) - 1;
  const bool isLast = dim == last;
  ValuesIndices sorted = sortLast(isLast ? a : a.transpose(dim, last, loc),
                                  count.value_or(a.sizes(loc)[static_cast<size_t>(dim)]), descending, loc);
  if (isLast)
    return sorted;
  return {sorted.values.transpose(dim, last, loc), sorted.indices.transpose(dim, last, loc)};
}

ValuesIndices withoutDim(const ValuesIndices &kept, int64_t dim, bool keepdim, Loc loc) {
  if (keepdim)
    return kept;
  return {kept.values.squeeze({dim}, loc), kept.indices.squeeze({dim}, loc)};
}

/// The elements at `index`, which has size 1 along `dim`, and which they pass their gradient to.
ValuesIndices elementsAt(const Tensor &a, int64_t dim, const Tensor &index, bool keepdim, Loc loc) {
  return withoutDim({a.gather(dim, index, loc), index}, dim, keepdim, loc);
}

void checkNotEmpty(const char *function, const Tensor &a, int64_t dim, Loc loc) {
  if (a.sizes(loc)[static_cast<size_t>(dim)] == 0)
    fail(std::string(function) + "(): Expected reduction dim " + std::to_string(dim) +
             " to have non-zero size.",
         loc, {use(a, loc)});
}

Tensor isNanOrFalse(const Tensor &a, Loc loc) {
  return isnan(is_floating_point(a.dtype(loc)) ? a : a.to(DType::f32, loc), loc);
}

ValuesIndices medianAlong(const char *function, const Tensor &a, int64_t dim, bool keepdim, bool ignoreNan,
                          Loc loc) {
  dim = wrapDim(dim, a.dim(loc), loc);
  if (a.dim(loc) == 0)
    return {a.reshape({}, loc), zeroIndex(a, loc)};
  checkNotEmpty(function, a, dim, loc);
  Tensor places = sortAlong(a.detach(loc), dim, {}, false, loc).indices;
  const int64_t size = a.size(dim, loc);
  Term nans{isNanOrFalse(a.detach(loc), loc).sum({dim}, true, loc), loc};
  // NaNs are at the end of the order.
  Term numbers = -nans + size, at;
  if (ignoreNan)
    at = {floor_divide(clamp_min((numbers - int64_t(1)).tensor, {0, loc}), {2, loc}), loc};
  else
    at = select(nans > int64_t(0), numbers, {(size - 1) / 2, loc});
  return elementsAt(a, dim, places.gather(dim, at.tensor, loc), keepdim, loc);
}

Tensor medianOfAll(const char *function, const Tensor &a, bool ignoreNan, Loc loc) {
  Tensor flat = a.reshape({-1}, loc);
  if (flat.numel(loc) == 0)
    return full({}, {is_floating_point(a.dtype(loc)) ? NAN : 0.0, loc},
                {.dtype = a.dtype(loc), .device = a.device(loc)}, loc);
  Term found{medianAlong(function, flat.detach(loc), 0, true, ignoreNan, loc).values, loc}, all{flat, loc};
  if (!is_floating_point(a.dtype(loc)))
    return found.tensor.reshape({}, loc);
  // The largest of the elements that are the median is the median, and they share its gradient.
  Term isMedian = all == found || (isnan(all) && isnan(found));
  return select(isMedian, all, {-INFINITY, loc}).tensor.amax({}, false, loc);
}

} // namespace

//===----------------------------------------------------------------------===//
// Sorts
//===----------------------------------------------------------------------===//

ValuesIndices sort(const Tensor &a, int64_t dim, bool descending, bool, Loc loc) {
  return sortAlong(a, dim, {}, descending, loc);
}

Tensor argsort(const Tensor &a, int64_t dim, bool descending, bool, Loc loc) {
  return sortAlong(a, dim, {}, descending, loc).indices;
}

Tensor msort(const Tensor &a, Loc loc) { return sortAlong(a, 0, {}, false, loc).values; }

ValuesIndices topk(const Tensor &a, int64_t k, int64_t dim, bool largest, bool, Loc loc) {
  const int64_t along = wrapDim(dim, a.dim(loc), loc);
  const int64_t size = a.dim(loc) ? a.sizes(loc)[static_cast<size_t>(along)] : 1;
  if (k < 0 || !isAtLeast(size, k))
    fail("topk(): selected index k out of range: k is " + std::to_string(k) + ", and dimension " +
             std::to_string(along) + " has size " + sizeText(size),
         loc, {use(a, loc)});
  if (a.dim(loc) == 0 && k == 0)
    return {a.reshape({1}, loc).narrow(0, 0, 0, loc),
            zeroIndex(a, loc).reshape({1}, loc).narrow(0, 0, 0, loc)};
  return sortAlong(a, along, k, largest, loc);
}

ValuesIndices kthvalue(const Tensor &a, int64_t k, int64_t dim, bool keepdim, Loc loc) {
  dim = wrapDim(dim, a.dim(loc), loc);
  const int64_t size = a.dim(loc) ? a.sizes(loc)[static_cast<size_t>(dim)] : 1;
  if (k < 1 || !isAtLeast(size, k))
    fail("kthvalue(): selected number k out of range for dimension " + std::to_string(dim) + ": k is " +
             std::to_string(k) + ", and the size " + sizeText(size),
         loc, {use(a, loc)});
  if (a.dim(loc) == 0)
    return {a.reshape({}, loc), zeroIndex(a, loc)};
  Tensor places = sortAlong(a.detach(loc), dim, k, false, loc).indices;
  return elementsAt(a, dim, places.narrow(dim, k - 1, 1, loc), keepdim, loc);
}

//===----------------------------------------------------------------------===//
// Medians, modes, quantiles
//===----------------------------------------------------------------------===//

Tensor median(const Tensor &a, Loc loc) { return medianOfAll("median", a, false, loc); }
Tensor nanmedian(const Tensor &a, Loc loc) { return medianOfAll("nanmedian", a, true, loc); }
ValuesIndices median(const Tensor &a, int64_t dim, bool keepdim, Loc loc) {
  return medianAlong("median", a, dim, keepdim, false, loc);
}
ValuesIndices nanmedian(const Tensor &a, int64_t dim, bool keepdim, Loc loc) {
  return medianAlong("nanmedian", a, dim, keepdim, true, loc);
}

ValuesIndices mode(const Tensor &a, int64_t dim, bool keepdim, Loc loc) {
  dim = wrapDim(dim, a.dim(loc), loc);
  if (a.dim(loc) == 0)
    return {a.reshape({}, loc), zeroIndex(a, loc)};
  checkNotEmpty("mode", a, dim, loc);
  const int64_t last = a.dim(loc) - 1;
  Tensor rows = a.detach(loc).transpose(dim, last, loc);
  ValuesIndices sorted = sortLast(rows, rows.sizes(loc).back(), false, loc);
  // Runs of equal elements: where each begins, and how long it is up to each element.
  Tensor values = sorted.values, before = roll(values, {1}, {last}, loc);
  Term at{positions(rows.sizes(loc), last, a.device(loc), loc), loc};
  Term begins = (at == int64_t(0)) || (Term{values, loc} != Term{before, loc});
  Term begin{cummax(select(begins, at, {0, loc}).tensor, last, loc).values, loc};
  Tensor longest = (at - begin).tensor.argmax(last, true, loc);
  Tensor index = sorted.indices.gather(last, longest, loc).transpose(dim, last, loc);
  return elementsAt(a, dim, index, keepdim, loc);
}

/// Quantiles of rows; `q` is a vector.
static Tensor quantilesOfRows(const Tensor &rows, const Tensor &q, const std::string &interpolation,
                              bool ignoreNan, Loc loc) {
  const int64_t last = rows.dim(loc) - 1, size = rows.size(last, loc);
  Tensor sorted = sortLast(rows, size, false, loc).values;
  Term nans{isnan(rows.detach(loc), loc).sum({last}, true, loc), loc};
  Term point{q.reshape(
                 [&] {
                   Shape shape(static_cast<size_t>(last), 1);
                   shape.push_back(q.size(0, loc));
                   return shape;
                 }(),
                 loc),
             loc};
  Term lastNumber{clamp_min((-nans + (size - 1)).tensor, {0, loc}).to(q.dtype(loc), loc), loc};
  Term place = ignoreNan ? point * lastNumber : point * static_cast<double>(size - 1);
  if (!ignoreNan) // a row with a NaN gives its last element, which is NaN
    place = select(nans > int64_t(0), {static_cast<double>(size - 1), loc}, place);
  Shape shape = rows.sizes(loc);
  shape.back() = q.size(0, loc);
  if (interpolation == "nearest")
    place = {round(place.tensor, loc), loc};
  else if (interpolation == "lower")
    place = floor(place);
  else if (interpolation == "higher")
    place = {ceil(place.tensor, loc), loc};
  Term below = floor(place);
  auto elements = [&](const Tensor &index) {
    return readLast(sorted, index.to(DType::i64, loc).expand(shape, loc), loc);
  };
  Tensor low = elements(below.tensor);
  if (interpolation != "linear" && interpolation != "midpoint")
    return low;
  Term weight = place - below;
  if (interpolation == "midpoint")
    weight = select(weight == 0.0, {0.0, loc}, {0.5, loc});
  Tensor high = elements(ceil(place.tensor, loc));
  return lerp(low, high, {weight.tensor.to(low.dtype(loc), loc).expand(shape, loc), loc});
}

static Tensor quantileOf(const char *function, const Tensor &a, const Tensor &q, std::optional<int64_t> dim,
                         bool keepdim, const std::string &interpolation, bool ignoreNan, Loc loc) {
  const std::string name = std::string(function) + "() ";
  if (a.dtype(loc) != DType::f32 && a.dtype(loc) != DType::f64)
    fail(name + "input tensor must be either float or double dtype", loc, {use(a, loc)});
  if (q.dtype(loc) != a.dtype(loc))
    fail(name + "q tensor must be same dtype as the input tensor", loc, {use(a, loc), use(q, loc)});
  if (q.dim(loc) > 1)
    fail(name + "q must be a scalar or 1D tensor, found shape " + shapeText(q.sizes(loc)), loc);
  if (a.numel(loc) == 0)
    fail(name + "input tensor must be non-empty", loc, {use(a, loc)});
  for (const char *known : {"linear", "lower", "higher", "nearest", "midpoint"})
    if (interpolation == known) {
      Tensor rows = dim ? a : a.reshape({-1}, loc);
      if (rows.dim(loc) == 0)
        rows = rows.reshape({1}, loc);
      const int64_t along = wrapDim(dim.value_or(0), std::max<int64_t>(a.dim(loc), 1), loc),
                    last = rows.dim(loc) - 1;
      Tensor found = quantilesOfRows(rows.movedim({dim ? along : 0}, {last}, loc), q.reshape({-1}, loc),
                                     interpolation, ignoreNan, loc);
      Tensor first = found.movedim({last}, {0}, loc); // [q, the other dimensions..]
      if (keepdim) {
        Shape shape{first.size(0, loc)};
        for (int64_t d = 0; d < a.dim(loc); ++d)
          shape.push_back(!dim || d == along ? 1 : a.size(d, loc));
        first = first.reshape(shape, loc);
      }
      return q.dim(loc) == 0 ? first.select(0, 0, loc) : first;
    }
  fail(name + "interpolation must be one of linear, lower, higher, midpoint or nearest, but got " +
           interpolation,
       loc);
}

Tensor quantile(const Tensor &a, const Tensor &q, std::optional<int64_t> dim, bool keepdim,
                const std::string &interpolation, Loc loc) {
  return quantileOf("quantile", a, q, dim, keepdim, interpolation, false, loc);
}
Tensor nanquantile(const Tensor &a, const Tensor &q, std::optional<int64_t> dim, bool keepdim,
                   const std::string &interpolation, Loc loc) {
  return quantileOf("nanquantile", a, q, dim, keepdim, interpolation, true, loc);
}

static Tensor checkedQuantile(const char *function, const Tensor &a, double q, Loc loc) {
  if (!(q >= 0 && q <= 1))
    fail(std::string(function) + "() q must be in the range [0, 1] but got " + std::to_string(q), loc);
  return full({}, {q, loc}, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc);
}
Tensor quantile(const Tensor &a, double q, std::optional<int64_t> dim, bool keepdim,
                const std::string &interpolation, Loc loc) {
  return quantile(a, checkedQuantile("quantile", a, q, loc), dim, keepdim, interpolation, loc);
}
Tensor nanquantile(const Tensor &a, double q, std::optional<int64_t> dim, bool keepdim,
                   const std::string &interpolation, Loc loc) {
  return nanquantile(a, checkedQuantile("nanquantile", a, q, loc), dim, keepdim, interpolation, loc);
}

//===----------------------------------------------------------------------===//
// Running extremes
//===----------------------------------------------------------------------===//

static ValuesIndices runningExtreme(const char *op, const Tensor &a, int64_t dim, Loc loc) {
  dim = wrapDim(dim, a.dim(loc), loc);
  if (a.dim(loc) == 0)
    return {a.reshape({}, loc), zeroIndex(a, loc)};
  const bool isBool = a.dtype(loc) == DType::i1;
  Tensor input = isBool ? a.to(DType::ui8, loc) : a, values;
  auto scan = [&](const char *name, const Tensor &of) {
    GraphLock lock(graphMutex());
    return wrap(record1(name, {use(of, loc)}, {{"dim", dim}}, loc), loc);
  };
  values = scan(op, input);
  // The last element so far that is as large, or is NaN.
  Term x{input.detach(loc), loc}, extremes{values.detach(loc), loc};
  Term isHere = x == extremes;
  if (is_floating_point(a.dtype(loc)))
    isHere = isHere || isnan(x);
  Term at{positions(a.sizes(loc), dim, a.device(loc), loc), loc};
  Tensor indices = scan("cummax", select(isHere, at, {0, loc}).tensor);
  return {isBool ? values.to(DType::i1, loc) : values, indices};
}

ValuesIndices cummax(const Tensor &a, int64_t dim, Loc loc) { return runningExtreme("cummax", a, dim, loc); }
ValuesIndices cummin(const Tensor &a, int64_t dim, Loc loc) { return runningExtreme("cummin", a, dim, loc); }

Tensor logcumsumexp(const Tensor &a, int64_t dim, Loc loc) {
  checkFloat(use(a, loc), "logcumsumexp()", loc);
  dim = wrapDim(dim, a.dim(loc), loc);
  if (a.dim(loc) == 0)
    return unchanged(use(a, loc), loc);
  const int64_t size = numberOr(a.sizes(loc)[static_cast<size_t>(dim)], "logcumsumexp(): the dimension", loc);
  // After a step, each element stands for twice as many elements up to itself.
  Tensor sums = widened(a, loc);
  for (int64_t step = 1; step < size; step *= 2) {
    Shape shape = a.sizes(loc);
    shape[static_cast<size_t>(dim)] = step;
    Tensor sum = logaddexp({sums.narrow(dim, step, size - step, loc), loc},
                           {sums.narrow(dim, 0, size - step, loc), loc});
    sums = cat({sums.narrow(dim, 0, step, loc), sum}, dim, loc);
  }
  return sums.to(a.dtype(loc), loc);
}

//===----------------------------------------------------------------------===//
// Searches
//===----------------------------------------------------------------------===//

Tensor frontend::searchRows(const Tensor &rows, const Tensor &values, bool right, Loc loc) {
  NoGradGuard guard;
  const Shape shape = values.sizes(loc);
  const int64_t entry = rows.sizes(loc).back();
  Device device = values.device(loc);
  Term found{zeros(shape, {.dtype = DType::i64, .device = device}, loc), loc};
  if (entry == 0)
    return found.tensor;
  Term size{isSymbolic(entry) ? numberOf(entry, DType::i64, device, loc)
                              : full({}, {entry, loc}, {.dtype = DType::i64, .device = device}, loc),
            loc};
  Term value{values, loc};
  // The elements before `found` come before the value. Each step looks whether as many more do.
  for (auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(largestEntry(entry)))); step > 0;
       step /= 2) {
    Term next = found + step;
    Term element{readLast(rows, (next - int64_t(1)).tensor, loc), loc};
    // False for a NaN, which is larger than all numbers.
    Term isBehind = right ? element > value : element >= value;
    found = select(next <= size && !isBehind, next, found);
  }
  return found.tensor;
}

Tensor searchsorted(const Tensor &sorted, const Tensor &values, bool right, const Tensor &sorter, Loc loc) {
  const Shape &rows = sorted.sizes(loc), &wanted = values.sizes(loc);
  const bool isOne = rows.size() == 1;
  if (rows.empty() ||
      (!isOne && (rows.size() != wanted.size() || !std::equal(rows.begin(), rows.end() - 1, wanted.begin()))))
    fail("searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
         "tensor and input value tensor must match, but we got boundaries tensor " +
             shapeText(rows) + " and input value tensor " + shapeText(wanted),
         loc, {use(sorted, loc), use(values, loc)});
  Tensor ordered = sorter.defined() ? sorted.gather(sorted.dim(loc) - 1, sorter, loc) : sorted;
  const DType dtype = promote(sorted.dtype(loc), values.dtype(loc)); // both are compared in
  return searchRows(ordered.to(dtype, loc), values.to(dtype, loc), right, loc);
}

Tensor searchsorted(const Tensor &sorted, double value, bool right, const Tensor &sorter, Loc loc) {
  if (sorted.dim(loc) != 1)
    fail("searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
         "boundaries tensor dim(" +
             std::to_string(sorted.dim(loc)) + ")",
         loc, {use(sorted, loc)});
  // Beside integers a number with a fraction has its place, too.
  const bool whole = !is_floating_point(sorted.dtype(loc));
  Tensor ordered = whole ? sorted.to(DType::f64, loc) : sorted;
  Tensor number = full({}, {value, loc}, {.dtype = ordered.dtype(loc), .device = sorted.device(loc)}, loc);
  return searchsorted(ordered, number, right, sorter, loc);
}

Tensor bucketize(const Tensor &a, const Tensor &boundaries, bool right, Loc loc) {
  if (boundaries.dim(loc) != 1)
    fail("boundaries tensor must be 1 dimension, but got dim(" + std::to_string(boundaries.dim(loc)) + ")",
         loc, {use(boundaries, loc)});
  return searchsorted(boundaries, a, right, {}, loc);
}

Tensor isin(const Tensor &elements, const Tensor &test, bool invert, Loc loc) {
  NoGradGuard guard;
  const DType dtype = promote(elements.dtype(loc), test.dtype(loc));
  const bool isBool = dtype == DType::i1;
  auto prepared = [&](const Tensor &a) { return a.to(isBool ? DType::ui8 : dtype, loc); };
  Tensor row = prepared(test).reshape({-1}, loc), wanted = prepared(elements);
  Term isThere;
  if (row.sizes(loc)[0] == 0) {
    isThere = {zeros(elements.sizes(loc), {.dtype = DType::i1, .device = elements.device(loc)}, loc), loc};
  } else {
    row = sortLast(row, row.sizes(loc)[0], false, loc).values;
    // Behind all elements the last one is read.
    isThere = Term{readLast(row, searchRows(row, wanted, false, loc), loc), loc} == Term{wanted, loc};
  }
  return invert ? (!isThere).tensor : isThere.tensor;
}

} // namespace weft
