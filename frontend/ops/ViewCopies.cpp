//===- ViewCopies.cpp - Views as copies ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/view_copies.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Term.h"
#include "weft/gather_scatter.hpp"

#include <numbers>

namespace weft {

using namespace frontend;

Tensor unfold(const Tensor &a, int64_t dim, int64_t size, int64_t step, Loc loc) {
  if (a.dim(loc) == 0) // as a vector of one element
    return unfold(a.reshape({1}, loc), dim, size, step, loc).reshape({size}, loc);
  dim = wrapDim(dim, a.dim(loc), loc);
  const int64_t extent = numberOr(a.sizes(loc)[static_cast<size_t>(dim)], "unfold(): the dimension", loc),
                last = a.dim(loc) - 1;
  if (size < 0 || size > extent)
    fail("maximum size for tensor at dimension " + std::to_string(dim) + " is " + std::to_string(extent) +
             " but size is " + std::to_string(size),
         loc, {use(a, loc)});
  if (step < 1)
    fail("step is " + std::to_string(step) + " but must be > 0", loc, {use(a, loc)});
  Shape shape = a.sizes(loc);
  const int64_t windows = (extent - size) / step + 1;
  shape[static_cast<size_t>(dim)] = windows;
  if (size == 0) {
    shape.push_back(0);
    return zeros(shape, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc);
  }
  if (windows == 1) // a view, as where no two windows share an element
    return a.narrow(dim, 0, size, loc).unsqueeze(dim, loc).movedim({dim + 1}, {-1}, loc);
  if (size == 1)
    return a.slice(dim, 0, (windows - 1) * step + 1, step, loc).unsqueeze(-1, loc);
  if (step >= size && windows * step <= extent)
    return a.narrow(dim, 0, windows * step, loc)
        .unflatten(dim, {windows, step}, loc)
        .narrow(dim + 1, 0, size, loc)
        .movedim({dim + 1}, {-1}, loc);
  Tensor rows = a.movedim({dim}, {last}, loc);
  GraphLock lock(graphMutex());
  Tensor made = wrap(record1("windows", {use(rows, loc)},
                             {{"size", std::vector<int64_t>{size}},
                              {"stride", std::vector<int64_t>{step}},
                              {"dilation", std::vector<int64_t>{1}}},
                             loc),
                     loc); // [.., elements of a window, places]
  return markedCopy(made.movedim({last + 1, last}, {dim, last + 1}, loc), "unfold()", loc);
}

/// The places in the flattened tensor that strides describe.
static Tensor stridedPlaces(const char *function, const Tensor &a, const IntList &shape,
                            const IntList &strides, int64_t offset, Loc loc) {
  if (shape.size() != strides.size())
    fail(std::string(function) + "(): mismatch in length of strides and shape: " + shapeText(strides) +
             " and " + shapeText(shape),
         loc, {use(a, loc)});
  int64_t last = offset, count = 1;
  bool isNegative = offset < 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    isNegative |= strides[d] < 0 || shape[d] < 0;
    last += (shape[d] - 1) * strides[d];
    count *= shape[d];
  }
  if (isNegative)
    fail(std::string(function) + "(): negative sizes, strides and offsets are not supported", loc,
         {use(a, loc)});
  if (count && last >= a.numel(loc))
    fail(std::string(function) + "(): sizes " + shapeText(shape) + ", strides " + shapeText(strides) +
             " and offset " + std::to_string(offset) + " reach element " + std::to_string(last) + " of " +
             std::to_string(a.numel(loc)),
         loc, {use(a, loc)});
  Term places{full(shape, {offset, loc}, {.dtype = DType::i64, .device = a.device(loc)}, loc), loc};
  for (size_t d = 0; d < shape.size(); ++d)
    places = places + Term{positions(shape, static_cast<int64_t>(d), a.device(loc), loc), loc} * strides[d];
  return places.tensor;
}

Tensor as_strided(const Tensor &a, IntList shape, IntList strides, int64_t offset, Loc loc) {
  Tensor places = stridedPlaces("as_strided", a, shape, strides, offset, loc);
  if (places.numel(loc) > 0 && a.is_contiguous(loc) &&
      strides == rowMajor(shape)) // a part of the elements, in their order: a view
    return a.view({-1}, loc).narrow(0, offset, places.numel(loc), loc).view(shape, loc);
  return markedCopy(take(a, places, loc), "as_strided()", loc);
}

Tensor as_strided_scatter(const Tensor &a, const Tensor &source, IntList shape, IntList strides,
                          int64_t offset, Loc loc) {
  Tensor places = stridedPlaces("as_strided_scatter", a, shape, strides, offset, loc);
  return put(a, places, source.expand(shape, loc), false, loc);
}

Tensor isreal(const Tensor &a, Loc loc) {
  return ones(a.sizes(loc), {.dtype = DType::i1, .device = a.device(loc)}, loc);
}

Tensor angle(const Tensor &a, Loc loc) {
  GraphLock lock(graphMutex());
  // NaN is added as it is; its gradient is 0.
  Tensor real = asReal(a.detach(loc), loc);
  Tensor halves = lt({real, loc}, {0, loc}).to(real.dtype(loc), loc);
  Tensor made = mul({halves, loc}, {std::numbers::pi, loc});
  return where(isnan(real, loc), {real, loc}, {made, loc}, loc);
}

} // namespace weft
