//===- Selection.cpp - Selections whose size depends on values --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A selection has a program for each power of two: it computes at least as many elements as are selected, and
// the result is a part of that memory. So another number of elements needs another program seldom.
//
//===----------------------------------------------------------------------===//
#include "weft/selection.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/Promotion.h"
#include "frontend/ops/Term.h"
#include "weft/gather_scatter.hpp"
#include "weft/joining.hpp"
#include "weft/reduce.hpp"
#include "weft/sorting.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace weft {

using namespace frontend;

void frontend::refuseInTrace(const char *function, const char *instead, Loc loc) {
  if (Trace::current())
    fail(std::string(function) +
             "(): the size of the result depends on values, and a program's sizes do not "
             "(WEFT-C001): " +
             instead,
         loc, {}, "WEFT-C001");
}

namespace {

Tensor flattened(const Tensor &a, Loc loc) { return a.reshape({-1}, loc); }

int64_t countOf(const Tensor &flags, Loc loc) { return flags.sum({}, false, loc).item<int64_t>(loc); }

/// The number of elements that a program computes for `count` of at most `most`.
int64_t computedFor(int64_t count, int64_t most) {
  return std::min(most,
                  static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(count, 16)))));
}

/// The places of the first `size` true elements of a vector; its size where there are fewer.
Tensor placesOf(const Tensor &flags, int64_t size, Loc loc) {
  Tensor running = flags.to(DType::i64, loc).cumsum(0, loc);
  Tensor wanted = (Term{arange(size, {.device = flags.device(loc)}, loc), loc} + int64_t(1)).tensor;
  return searchRows(running, wanted, false, loc);
}

/// The true elements of a vector.
struct Places {
  Tensor places; ///< and more behind them
  int64_t count;
};
Places readPlaces(const Tensor &flags, Loc loc) {
  const int64_t count = countOf(flags, loc);
  return {placesOf(flags, computedFor(count, flags.numel(loc)), loc), count};
}

/// Places of elements as a row of indices each.
Tensor coordinates(const Tensor &places, const Shape &shape, Loc loc) {
  std::vector<Tensor> columns = unravel_index(places, shape, loc);
  if (columns.empty())
    return zeros({places.size(0, loc), 0}, {.dtype = DType::i64, .device = places.device(loc)}, loc);
  return stack(columns, 1, loc);
}

Tensor isTrue(const Tensor &a, Loc loc) { return flattened(a.detach(loc).to(DType::i1, loc), loc); }

void checkMask(const char *function, const Tensor &mask, Loc loc) {
  if (mask.dtype(loc) != DType::i1)
    fail(std::string(function) + "(): expected BoolTensor for mask, found " +
             std::string(name(mask.dtype(loc))),
         loc, {use(mask, loc)});
}

} // namespace

//===----------------------------------------------------------------------===//
// Places of elements
//===----------------------------------------------------------------------===//

std::vector<Tensor> unravel_index(const Tensor &places, const Shape &shape, Loc loc) {
  std::vector<Tensor> indices(shape.size());
  Tensor rest = places.to(DType::i64, loc);
  for (size_t d = shape.size(); d-- > 0;) {
    indices[d] = remainder({rest, loc}, {shape[d], loc});
    rest = floor_divide({rest, loc}, {shape[d], loc});
  }
  return indices;
}

Tensor nonzero(const Tensor &a, Loc loc) {
  refuseInTrace("nonzero", "use nonzero_static(a, size), whose size is a number", loc);
  if (a.numel(loc) == 0)
    return zeros({0, a.dim(loc)}, {.dtype = DType::i64, .device = a.device(loc)}, loc);
  Places found = readPlaces(isTrue(a, loc), loc);
  return coordinates(found.places, a.sizes(loc), loc).narrow(0, 0, found.count, loc);
}

Tensor nonzero_static(const Tensor &a, int64_t size, int64_t fill, Loc loc) {
  if (size < 0)
    fail("nonzero_static: 'size' must be an non-negative integer, found " + std::to_string(size), loc);
  const int64_t count = a.numel(loc);
  if (count == 0 || size == 0)
    return full({size, a.dim(loc)}, {fill, loc}, {.dtype = DType::i64, .device = a.device(loc)}, loc);
  Tensor places = placesOf(isTrue(a, loc), size, loc);
  Term isThere{(Term{places, loc} < count).tensor.unsqueeze(1, loc), loc};
  return select(isThere, {coordinates(places, a.sizes(loc), loc), loc}, {fill, loc}).tensor;
}

std::vector<Tensor> where(const Tensor &condition, Loc loc) {
  return nonzero(condition.dim(loc) ? condition : condition.reshape({1}, loc), loc).unbind(1, loc);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Tensor masked_select(const Tensor &a, const Tensor &mask, Loc loc) {
  refuseInTrace("masked_select", "use masked_select(a, mask, size, fill), whose size is a number", loc);
  checkMask("masked_select", mask, loc);
  std::vector<Tensor> both = broadcast_tensors({a, mask}, loc);
  Tensor elements = flattened(both[0], loc), flags = flattened(both[1], loc);
  if (flags.numel(loc) == 0)
    return elements;
  Places found = readPlaces(flags, loc);
  return readLast(elements, found.places, loc).narrow(0, 0, found.count, loc);
}

Tensor masked_select(const Tensor &a, const Tensor &mask, int64_t size, double fill, Loc loc) {
  checkMask("masked_select", mask, loc);
  if (size < 0)
    fail("masked_select(): size must not be negative, found " + std::to_string(size), loc);
  std::vector<Tensor> both = broadcast_tensors({a, mask}, loc);
  Tensor elements = flattened(both[0], loc), flags = flattened(both[1], loc);
  const int64_t count = flags.numel(loc);
  if (count == 0)
    return full({size}, {fill, loc}, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc);
  Tensor places = placesOf(flags, size, loc);
  return select(Term{places, loc} < count, {readLast(elements, places, loc), loc}, {fill, loc})
      .tensor.to(a.dtype(loc), loc);
}

Tensor masked_scatter(const Tensor &a, const Tensor &mask, const Tensor &source, Loc loc) {
  checkMask("masked_scatter", mask, loc);
  if (a.dtype(loc) != source.dtype(loc))
    fail("masked_scatter: expected self and source to have same dtypes but got " +
             std::string(name(a.dtype(loc))) + " and " + std::string(name(source.dtype(loc))),
         loc, {use(a, loc), use(source, loc)});
  std::vector<Tensor> both = broadcast_tensors({a, mask}, loc);
  Tensor flags = flattened(both[1], loc), elements = flattened(source, loc);
  if (flags.numel(loc) == 0)
    return both[0].clone(loc);
  if (elements.numel(loc) == 0)
    elements = zeros({1}, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc);
  // Elements that the mask does not select read place 0, which is there.
  Term place = Term{flags.to(DType::i64, loc).cumsum(0, loc), loc} - int64_t(1);
  place = select({flags, loc}, place, {0, loc});
  Tensor taken = take(elements, place.tensor, loc).reshape(both[0].sizes(loc), loc);
  return where(both[1], {taken, loc}, {both[0], loc}, loc);
}

//===----------------------------------------------------------------------===//
// Different values
//===----------------------------------------------------------------------===//

namespace {

/// Runs of equal elements of a vector, or of equal rows of a matrix.
UniqueResult runsOf(const Tensor &rows, const Tensor &order, bool inverse, bool counts, Loc loc) {
  const int64_t size = rows.size(0, loc);
  TensorOptions whole{.dtype = DType::i64, .device = rows.device(loc)};
  if (size == 0)
    return {rows, inverse ? zeros({0}, whole, loc) : Tensor(), counts ? zeros({0}, whole, loc) : Tensor()};
  Term differs = Term{rows, loc} != Term{roll(rows, {1}, {0}, loc), loc};
  if (rows.dim(loc) > 1)
    differs = {differs.tensor.flatten(1, -1, loc).any({1}, false, loc), loc};
  Tensor begins = (differs || Term{arange(size, whole, loc), loc} == int64_t(0)).tensor;
  Places found = readPlaces(begins, loc);
  UniqueResult result;
  Tensor places = clamp_max(found.places, {size - 1, loc});
  result.values = rows.index_select(0, places, loc).narrow(0, 0, found.count, loc);
  if (inverse) {
    Tensor number = (Term{begins.to(DType::i64, loc).cumsum(0, loc), loc} - int64_t(1)).tensor;
    result.inverse =
        order.defined() ? zeros({size}, whole, loc).scatter(0, order, {number, loc}, loc) : number;
  }
  if (counts) {
    Tensor ends =
        cat({found.places.slice(0, 1, INT64_MAX, 1, loc), full({1}, {size, loc}, whole, loc)}, 0, loc);
    result.counts = (Term{ends, loc} - Term{found.places, loc}).tensor.narrow(0, 0, found.count, loc);
  }
  return result;
}

/// A tensor as rows along `dim`, which is then the first dimension, and back.
Tensor asRows(const Tensor &a, int64_t dim, Loc loc) { return a.movedim({dim}, {0}, loc); }

} // namespace

UniqueResult unique(const Tensor &a, bool, bool return_inverse, bool return_counts,
                    std::optional<int64_t> dim, Loc loc) {
  refuseInTrace("unique", "sort(a) and a comparison of neighbours give the same information", loc);
  NoGradGuard guard;
  const bool isBool = a.dtype(loc) == DType::i1;
  if (!dim) {
    ValuesIndices sorted = sort(flattened(a, loc), 0, false, true, loc);
    UniqueResult result = runsOf(isBool ? sorted.values.to(DType::ui8, loc) : sorted.values, sorted.indices,
                                 return_inverse, return_counts, loc);
    result.values = result.values.to(a.dtype(loc), loc);
    if (return_inverse)
      result.inverse = result.inverse.reshape(a.sizes(loc), loc);
    return result;
  }
  // Rows are sorted by their last elements first, and each sort keeps the order of equal elements.
  const int64_t along = wrapDim(*dim, a.dim(loc), loc);
  Tensor rows = asRows(a, along, loc), flat = rows.reshape({rows.size(0, loc), -1}, loc);
  Tensor order = arange(rows.size(0, loc), {.device = a.device(loc)}, loc);
  for (int64_t column = flat.size(1, loc); column-- > 0;) {
    Tensor keys = flat.select(1, column, loc).index_select(0, order, loc);
    order = order.index_select(0, argsort(keys, 0, false, true, loc), loc);
  }
  UniqueResult result = runsOf(rows.index_select(0, order, loc), order, return_inverse, return_counts, loc);
  result.values = result.values.movedim({0}, {along}, loc);
  return result;
}

UniqueResult unique_consecutive(const Tensor &a, bool return_inverse, bool return_counts,
                                std::optional<int64_t> dim, Loc loc) {
  refuseInTrace("unique_consecutive", "a comparison of neighbours gives the same information", loc);
  NoGradGuard guard;
  if (!dim) {
    UniqueResult result = runsOf(flattened(a, loc), {}, return_inverse, return_counts, loc);
    if (return_inverse)
      result.inverse = result.inverse.reshape(a.sizes(loc), loc);
    return result;
  }
  const int64_t along = wrapDim(*dim, a.dim(loc), loc);
  UniqueResult result = runsOf(asRows(a, along, loc), {}, return_inverse, return_counts, loc);
  result.values = result.values.movedim({0}, {along}, loc);
  return result;
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

Tensor bincount(const Tensor &a, const Tensor &weights, int64_t minlength, Loc loc) {
  refuseInTrace("bincount", "scatter_add to zeros of a fixed size counts, too", loc);
  NoGradGuard guard;
  if (a.dim(loc) != 1 || is_floating_point(a.dtype(loc)) || a.dtype(loc) == DType::i1)
    fail("bincount only supports 1-d non-negative integral inputs, found " + std::string(name(a.dtype(loc))) +
             shapeText(a.sizes(loc)),
         loc, {use(a, loc)});
  if (minlength < 0)
    fail("minlength should be >= 0, found " + std::to_string(minlength), loc);
  if (weights.defined() && weights.sizes(loc) != a.sizes(loc))
    fail("weights should be 1-d and have the same length as input, found shapes " +
             shapeText(weights.sizes(loc)) + " and " + shapeText(a.sizes(loc)),
         loc, {use(a, loc), use(weights, loc)});
  DType dtype = !weights.defined() ? DType::i64 : weights.dtype(loc) == DType::f32 ? DType::f32 : DType::f64;
  int64_t size = minlength;
  if (a.numel(loc)) {
    if (a.min(loc).item<int64_t>(loc) < 0)
      fail("bincount only supports 1-d non-negative integral inputs.", loc, {use(a, loc)});
    size = std::max(size, a.max(loc).item<int64_t>(loc) + 1);
  }
  const int64_t computed = computedFor(size, INT64_MAX);
  TensorOptions options{.dtype = dtype, .device = a.device(loc)};
  Tensor added = weights.defined() ? weights.to(dtype, loc) : ones(a.sizes(loc), options, loc);
  return zeros({computed}, options, loc)
      .scatter_add(0, a.to(DType::i64, loc), added, loc)
      .narrow(0, 0, size, loc);
}

Tensor histc(const Tensor &a, int64_t bins, double min, double max, Loc loc) {
  NoGradGuard guard;
  checkFloat(use(a, loc), "histc()", loc);
  if (bins < 1)
    fail("histc(): bins must be > 0, found " + std::to_string(bins), loc);
  if (!(min <= max))
    fail("histc(): max must be larger than min", loc);
  Tensor flat = flattened(a, loc);
  Term x{flat, loc}, low{full({}, {min, loc}, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc), loc},
      high{full({}, {max, loc}, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc), loc};
  if (min == max && flat.numel(loc)) {
    low = {flat.amin({}, false, loc), loc};
    high = {flat.amax({}, false, loc), loc};
  }
  Term isPoint = low == high;
  low = select(isPoint, low - 1.0, low);
  high = select(isPoint, high + 1.0, high);
  Term bin = floor((x - low) * static_cast<double>(bins) / (high - low));
  Term isInside = x >= low && x <= high;
  bin = select(isInside, Term{clamp(bin.tensor, {0, loc}, {bins - 1, loc}), loc}, {0.0, loc});
  Tensor counts = zeros({bins}, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc);
  return counts.scatter_add(0, bin.tensor.to(DType::i64, loc), isInside.tensor.to(a.dtype(loc), loc), loc);
}

//===----------------------------------------------------------------------===//
// Draws and choices
//===----------------------------------------------------------------------===//

/// Makes weights of which none can be drawn an error when values are computed: in a compiled function an
/// error of the call. With dynamic sizes they are not checked.
static void checkWeights(const Tensor &p, Loc loc) {
  if (anySymbolic(p.sizes(loc)))
    return;
  Term weight{p, loc};
  Tensor isWeight = (weight >= 0.0 && weight < std::numeric_limits<double>::infinity()).tensor;
  Tensor isSome = (weight > 0.0).tensor.any({-1}, false, loc);
  assert_true(logical_and({isWeight.all({}, false, loc), loc}, {isSome.all({}, false, loc), loc}),
              "invalid multinomial distribution: a probability is infinite, NaN or less than 0, or all of a "
              "distribution are 0",
              loc);
}

Tensor multinomial(const Tensor &weights, int64_t num_samples, bool replacement, Generator &generator,
                   Loc loc) {
  NoGradGuard guard;
  checkFloat(use(weights, loc), "multinomial()", loc);
  if (weights.dim(loc) != 1 && weights.dim(loc) != 2)
    fail("prob_dist must be 1 or 2 dim, found shape " + shapeText(weights.sizes(loc)), loc,
         {use(weights, loc)});
  const int64_t categories = weights.sizes(loc).back();
  if (num_samples < 1)
    fail("cannot sample n_sample <= 0 samples", loc);
  if (!replacement && !isAtLeast(categories, num_samples))
    fail("cannot sample n_sample > prob_dist.size(-1) samples without replacement: " +
             std::to_string(num_samples) + " of " + sizeText(categories),
         loc, {use(weights, loc)});
  Tensor p = widened(weights, loc);
  Shape shape = p.sizes(loc);
  checkWeights(p, loc);
  TensorOptions options{.dtype = p.dtype(loc), .device = p.device(loc)};
  if (!replacement) {
    // The weights divided by exponential numbers: the largest are a draw without replacement (Efraimidis and
    // Spirakis, 2006).
    Term waiting = -log(-Term{rand(shape, generator, options, loc), loc} + 1.0);
    return topk((Term{p, loc} / waiting).tensor, num_samples, -1, true, true, loc).indices;
  }
  Tensor running = p.cumsum(p.dim(loc) - 1, loc);
  shape.back() = num_samples;
  Term total{running.slice(-1, -1, INT64_MAX, 1, loc), loc};
  Term at = Term{rand(shape, generator, options, loc), loc} * total;
  // A product that is rounded up to the total is in the last category.
  return clamp_max(searchRows(running, at.tensor, true, loc), {categories - 1, loc});
}

Tensor multinomial(const Tensor &weights, int64_t num_samples, bool replacement, Loc loc) {
  return multinomial(weights, num_samples, replacement, default_generator(), loc);
}

Tensor combinations(const Tensor &a, int64_t r, bool with_replacement, Loc loc) {
  if (a.dim(loc) != 1)
    fail("Expect a 1D vector, but got shape " + shapeText(a.sizes(loc)), loc, {use(a, loc)});
  if (r < 0)
    fail("Expect a non-negative number, but got " + std::to_string(r), loc);
  if (r == 0)
    return a.narrow(0, 0, 0, loc);
  const int64_t size = a.size(0, loc);
  std::vector<int64_t> choice(static_cast<size_t>(r)), all;
  // Each choice in the order of a dictionary.
  auto choose = [&](auto &&next, size_t at, int64_t from) -> void {
    if (at == choice.size()) {
      all.insert(all.end(), choice.begin(), choice.end());
      return;
    }
    for (int64_t i = from; i < size; ++i) {
      choice[at] = i;
      next(next, at + 1, with_replacement ? i : i + 1);
    }
  };
  choose(choose, 0, 0);
  const auto rows = static_cast<int64_t>(all.size()) / r;
  Tensor index = Tensor::from(all, {static_cast<int64_t>(all.size())},
                              {.dtype = DType::i64, .device = a.device(loc)}, loc);
  return a.index_select(0, index, loc).reshape({rows, r}, loc);
}

} // namespace weft
