//===- Stacking.cpp - Joining and cutting by direction --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/Promotion.h"
#include "weft/joining.hpp"

#include <algorithm>

namespace weft {

using namespace frontend;

//===----------------------------------------------------------------------===//
// Cutting
//===----------------------------------------------------------------------===//

std::vector<Tensor> tensor_split(const Tensor &a, const std::vector<int64_t> &indices, int64_t dim, Loc loc) {
  if (a.dim(loc) == 0)
    fail("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims", loc,
         {use(a, loc)});
  dim = wrapDim(dim, a.dim(loc), loc);
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (int64_t index : indices) {
    parts.push_back(a.slice(dim, begin, index, 1, loc));
    begin = index;
  }
  parts.push_back(a.slice(dim, begin, INT64_MAX, 1, loc));
  return parts;
}

std::vector<Tensor> tensor_split(const Tensor &a, int64_t sections, int64_t dim, Loc loc) {
  if (sections <= 0)
    fail("number of sections must be larger than 0, got " + std::to_string(sections), loc, {use(a, loc)});
  if (a.dim(loc) == 0)
    return tensor_split(a, std::vector<int64_t>(), dim, loc);
  int64_t size = a.size(dim, loc), index = 0;
  std::vector<int64_t> indices;
  for (int64_t i = 0; i + 1 < sections; ++i)
    indices.push_back(index += size / sections + (i < size % sections ? 1 : 0));
  return tensor_split(a, indices, dim, loc);
}

/// A cut of one direction; `least` is the rank that it needs.
static std::vector<Tensor> directed(const char *function, const Tensor &a, int64_t least, int64_t dim,
                                    const std::optional<int64_t> &sections,
                                    const std::vector<int64_t> &indices, Loc loc) {
  if (a.dim(loc) < least)
    fail(std::string(function) + " requires a tensor with at least " + std::to_string(least) + " dimension" +
             (least > 1 ? "s" : "") + ", but got a tensor with " + std::to_string(a.dim(loc)) +
             " dimensions!",
         loc, {use(a, loc)});
  if (!sections)
    return tensor_split(a, indices, dim, loc);
  if (*sections <= 0 || a.size(dim, loc) % *sections != 0)
    fail(std::string(function) + " attempted to split along dimension " + std::to_string(dim) +
             ", but the size of the dimension " + std::to_string(a.size(dim, loc)) +
             " is not divisible by the split_size " + std::to_string(*sections) + "!",
         loc, {use(a, loc)});
  return tensor_split(a, *sections, dim, loc);
}

std::vector<Tensor> hsplit(const Tensor &a, int64_t sections, Loc loc) {
  return directed("hsplit", a, 1, a.dim(loc) == 1 ? 0 : 1, sections, {}, loc);
}
std::vector<Tensor> hsplit(const Tensor &a, const std::vector<int64_t> &indices, Loc loc) {
  return directed("hsplit", a, 1, a.dim(loc) == 1 ? 0 : 1, {}, indices, loc);
}
std::vector<Tensor> vsplit(const Tensor &a, int64_t sections, Loc loc) {
  return directed("vsplit", a, 2, 0, sections, {}, loc);
}
std::vector<Tensor> vsplit(const Tensor &a, const std::vector<int64_t> &indices, Loc loc) {
  return directed("vsplit", a, 2, 0, {}, indices, loc);
}
std::vector<Tensor> dsplit(const Tensor &a, int64_t sections, Loc loc) {
  return directed("dsplit", a, 3, 2, sections, {}, loc);
}
std::vector<Tensor> dsplit(const Tensor &a, const std::vector<int64_t> &indices, Loc loc) {
  return directed("dsplit", a, 3, 2, {}, indices, loc);
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

Tensor atleast_1d(const Tensor &a, Loc loc) { return a.dim(loc) == 0 ? a.reshape({1}, loc) : a; }
Tensor atleast_2d(const Tensor &a, Loc loc) {
  return a.dim(loc) == 0 ? a.reshape({1, 1}, loc) : a.dim(loc) == 1 ? a.unsqueeze(0, loc) : a;
}
Tensor atleast_3d(const Tensor &a, Loc loc) {
  return a.dim(loc) > 2 ? a : a.dim(loc) == 2 ? a.unsqueeze(-1, loc) : atleast_2d(a, loc).unsqueeze(-1, loc);
}

using AtLeast = Tensor (*)(const Tensor &, Loc);
static std::vector<Tensor> each(const std::vector<Tensor> &tensors, AtLeast form, Loc loc) {
  std::vector<Tensor> result;
  for (const Tensor &tensor : tensors)
    result.push_back(form(tensor, loc));
  return result;
}

Tensor hstack(const std::vector<Tensor> &tensors, Loc loc) {
  std::vector<Tensor> parts = each(tensors, atleast_1d, loc);
  return cat(parts, !parts.empty() && parts.front().dim(loc) == 1 ? 0 : 1, loc);
}
Tensor vstack(const std::vector<Tensor> &tensors, Loc loc) {
  return cat(each(tensors, atleast_2d, loc), 0, loc);
}
Tensor dstack(const std::vector<Tensor> &tensors, Loc loc) {
  return cat(each(tensors, atleast_3d, loc), 2, loc);
}

static Tensor asColumns(const Tensor &a, Loc loc) {
  return a.dim(loc) > 1 ? a : atleast_1d(a, loc).unsqueeze(-1, loc);
}
Tensor column_stack(const std::vector<Tensor> &tensors, Loc loc) {
  return cat(each(tensors, asColumns, loc), 1, loc);
}

Tensor block_diag(const std::vector<Tensor> &tensors, Loc loc) {
  if (tensors.empty())
    fail("block_diag: expected a non-empty list of tensors", loc);
  std::vector<Tensor> matrices = each(tensors, atleast_2d, loc), rows;
  int64_t columns = 0, before = 0;
  DType dtype = matrices.front().dtype(loc);
  for (const Tensor &matrix : matrices) {
    if (matrix.dim(loc) != 2)
      fail("block_diag: Input tensors must have 2 or fewer dimensions. Input " +
               std::to_string(&matrix - matrices.data()) + " has " + std::to_string(matrix.dim(loc)) +
               " dimensions",
           loc, {use(matrix, loc)});
    columns += matrix.size(1, loc);
    dtype = promote(dtype, matrix.dtype(loc));
  }
  for (const Tensor &matrix : matrices) {
    int64_t width = matrix.size(1, loc);
    rows.push_back(pad(matrix.to(dtype, loc), {before, columns - before - width}, {0, loc}, loc));
    before += width;
  }
  return cat(rows, 0, loc);
}

std::vector<Tensor> broadcast_tensors(const std::vector<Tensor> &tensors, Loc loc) {
  GraphLock lock(graphMutex());
  std::vector<Operand> operands;
  for (const Tensor &tensor : tensors)
    operands.push_back(operand({tensor, loc}));
  Shape shape = broadcastShape(operands, loc);
  std::vector<Tensor> result;
  for (const Tensor &tensor : tensors)
    result.push_back(tensor.expand(shape, loc));
  return result;
}

Tensor cartesian_prod(const std::vector<Tensor> &tensors, Loc loc) {
  if (tensors.empty())
    fail("cartesian_prod: expected a non-empty list of tensors", loc);
  for (const Tensor &tensor : tensors)
    if (tensor.dim(loc) != 1)
      fail("Expect a 1D vector, but got shape " + shapeText(tensor.sizes(loc)), loc, {use(tensor, loc)});
  if (tensors.size() == 1)
    return tensors.front();
  std::vector<Tensor> columns;
  for (const Tensor &grid : meshgrid(tensors, "ij", loc))
    columns.push_back(grid.flatten(0, -1, loc));
  return stack(columns, 1, loc);
}

Tensor sum_to_size(const Tensor &a, const Shape &shape, Loc loc) {
  const Shape &from = a.sizes(loc);
  const size_t added = from.size() - std::min(from.size(), shape.size());
  std::vector<int64_t> dims;
  bool fits = shape.size() <= from.size();
  for (size_t d = 0; fits && d < from.size(); ++d) {
    const int64_t kept = d < added ? 1 : shape[d - added];
    if (d < added || (kept == 1 && from[d] != 1))
      dims.push_back(static_cast<int64_t>(d));
    else
      fits = kept == from[d];
  }
  if (!fits)
    fail("size " + shapeText(shape) + " is not expandable to size " + shapeText(from), loc, {use(a, loc)});
  if (dims.empty() && !shape.empty())
    return a.reshape(shape, loc);
  return a.sum(dims, true, loc).reshape(shape, loc);
}

Shape broadcast_shapes(const std::vector<Shape> &shapes, Loc loc) {
  Shape result;
  for (const Shape &shape : shapes) {
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t &size = result[result.size() - 1 - i];
      const int64_t other = shape[shape.size() - 1 - i];
      if (other != 1 && size != 1 && size != other)
        fail("Shape mismatch: objects cannot be broadcast to a single shape: " + shapeText(shape) + " and " +
                 shapeText(result),
             loc);
      size = other == 1 ? size : other;
    }
  }
  return result;
}

} // namespace weft
