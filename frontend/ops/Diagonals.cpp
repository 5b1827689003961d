//===- Diagonals.cpp - Diagonals, triangles and slices that are written ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/Ops.h"
#include "weft/joining.hpp"
#include "weft/linear_algebra.hpp"

#include <algorithm>

namespace weft {

using namespace frontend;

/// Throws Error unless `source` has the shape of the part that it replaces.
static void checkPart(const char *function, const Tensor &part, const Tensor &source, Loc loc) {
  if (part.sizes(loc) != source.sizes(loc))
    fail(std::string(function) + ": expected src to have a size equal to the part that it replaces. src " +
             "size = " + shapeText(source.sizes(loc)) + ", part size = " + shapeText(part.sizes(loc)),
         loc, {use(source, loc)});
}

/// A copy of `a`, in which the view that `part` makes has the source's elements.
template <typename Part>
static Tensor withPart(const char *function, const Tensor &a, const Tensor &source, Loc loc, Part part) {
  Tensor copy = a.clone(loc), view = part(copy);
  checkPart(function, view, source, loc);
  view.copy_(source, loc);
  return copy;
}

Tensor diagonal_scatter(const Tensor &a, const Tensor &source, int64_t offset, int64_t dim1, int64_t dim2,
                        Loc loc) {
  return withPart("diagonal_scatter", a, source, loc,
                  [&](const Tensor &copy) { return copy.diagonal(offset, dim1, dim2, loc); });
}
Tensor select_scatter(const Tensor &a, const Tensor &source, int64_t dim, int64_t index, Loc loc) {
  return withPart("select_scatter", a, source, loc,
                  [&](const Tensor &copy) { return copy.select(dim, index, loc); });
}
Tensor slice_scatter(const Tensor &a, const Tensor &source, int64_t dim, int64_t start, int64_t end,
                     int64_t step, Loc loc) {
  return withPart("slice_scatter", a, source, loc,
                  [&](const Tensor &copy) { return copy.slice(dim, start, end, step, loc); });
}

Tensor diag_embed(const Tensor &a, int64_t offset, int64_t dim1, int64_t dim2, Loc loc) {
  int64_t rank = a.dim(loc);
  if (rank == 0)
    fail("diag_embed: expected a tensor with at least one dimension", loc, {use(a, loc)});
  int64_t first = wrapDim(dim1, rank + 1, loc), second = wrapDim(dim2, rank + 1, loc);
  if (first == second)
    fail("diagonal dimensions cannot be identical " + std::to_string(dim1) + ", " + std::to_string(dim2),
         loc);
  int64_t above = std::max<int64_t>(offset, 0), below = std::max<int64_t>(-offset, 0);
  // Element i of a row is in column i + above, and in row i + below.
  Tensor columns = pad(a, {above, below}, {0, loc}, loc).unsqueeze(-2, loc);
  Tensor number = arange(a.size(-1, loc) + above + below, {.device = a.device(loc)}, loc);
  Tensor distance = sub({number, loc}, {number.unsqueeze(-1, loc), loc});
  Tensor matrices =
      where(eq({distance, loc}, {offset, loc}), {columns, loc}, {zeros_like(columns, loc), loc}, loc);
  return matrices.movedim({-2, -1}, {first, second}, loc);
}

Tensor diagflat(const Tensor &a, int64_t offset, Loc loc) { return diag(a.flatten(0, -1, loc), offset, loc); }

//===----------------------------------------------------------------------===//
// Indices of triangles
//===----------------------------------------------------------------------===//

/// Rows and columns of the elements for which `inside` holds of column - row.
template <typename Inside>
static Tensor triangleIndices(const char *function, int64_t rows, int64_t columns, TensorOptions options,
                              Loc loc, Inside inside) {
  if (rows < 0 || columns < 0)
    fail(std::string(function) + ": row and col must be non-negative, found " + std::to_string(rows) +
             " and " + std::to_string(columns),
         loc);
  std::vector<int64_t> indices, second;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (inside(j - i)) {
        indices.push_back(i);
        second.push_back(j);
      }
  auto count = static_cast<int64_t>(indices.size());
  indices.insert(indices.end(), second.begin(), second.end());
  if (!options.dtype)
    options.dtype = DType::i64;
  return Tensor::from(indices, {2, count}, options, loc);
}

Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset, TensorOptions options, Loc loc) {
  return triangleIndices("tril_indices", rows, columns, options, loc,
                         [&](int64_t distance) { return distance <= offset; });
}
Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset, TensorOptions options, Loc loc) {
  return triangleIndices("triu_indices", rows, columns, options, loc,
                         [&](int64_t distance) { return distance >= offset; });
}

} // namespace weft
