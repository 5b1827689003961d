//===- Shape.cpp - Shapes, placement, views ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Symbols.h"
#include "frontend/graph/View.h"
#include "frontend/ops/Ops.h"
#include "weft/dim.hpp"

#include <algorithm>
#include <numeric>

namespace weft {

using namespace frontend;

namespace frontend {

int64_t wrapDim(int64_t dim, int64_t rank, Loc loc) {
  // A 0-dimensional tensor accepts 0 and -1, as in PyTorch.
  int64_t span = std::max<int64_t>(rank, 1);
  if (dim < -span || dim >= span)
    fail("Dimension out of range (expected to be in range of [" + std::to_string(-span) + ", " +
             std::to_string(span - 1) + "], but got " + std::to_string(dim) + ")",
         loc);
  return dim < 0 ? dim + span : dim;
}

std::vector<int64_t> wrapDims(const std::vector<int64_t> &dims, int64_t rank, Loc loc) {
  std::vector<int64_t> result;
  if (dims.empty()) {
    result.resize(static_cast<size_t>(rank));
    std::iota(result.begin(), result.end(), 0);
    return result;
  }
  for (int64_t dim : dims)
    result.push_back(wrapDim(dim, rank, loc));
  std::sort(result.begin(), result.end());
  if (auto twice = std::adjacent_find(result.begin(), result.end()); twice != result.end())
    fail("dim " + std::to_string(*twice) + " appears multiple times in the list of dims", loc);
  if (rank == 0)
    result.clear();
  return result;
}

void checkFloat(const Ref &value, const char *function, Loc loc) {
  if (!is_floating_point(value.spec().dtype))
    fail(std::string(function) + " only supports floating-point dtypes, found " +
             std::string(name(value.spec().dtype)) + ": convert the tensor with .to(weft::f32)",
         loc, {value});
}

Tensor unchanged(Ref value, Loc loc) {
  return wrap(value.requiresGrad() ? sameValue(std::move(value), loc) : std::move(value), loc);
}

Ref atLeast1(Ref value, Loc loc) {
  return value.spec().shape.empty() ? reshapeTo(std::move(value), {1}, loc) : value;
}

} // namespace frontend

//===----------------------------------------------------------------------===//
// Placement, element type
//===----------------------------------------------------------------------===//

/// The same handle if nothing changes, as in PyTorch.
static Tensor sameOr(const Tensor &tensor, const Ref &before, Ref after, Loc loc) {
  return after == before ? tensor : wrap(std::move(after), loc);
}
Tensor Tensor::to(Device device, MoveOptions options, Loc loc) const {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  return sameOr(*this, value, transferTo(value, device, loc, options), loc);
}
Tensor Tensor::to(DType dtype, Loc loc) const {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  return sameOr(*this, value, convertTo(value, dtype, loc), loc);
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

/// The requested shape, with -1 replaced by the size that fits.
static Shape resolveShape(const Ref &value, Shape shape, Loc loc) {
  checkRank(shape, loc);
  int64_t known = 1, count = value.spec().count();
  int64_t *unknown = nullptr;
  std::string asked = shapeText(shape);
  if (isSymbolic(count) || anySymbolic(shape)) {
    ir::Size product = 1;
    for (int64_t &size : shape) {
      if (size != -1)
        product *= sizeOf(size);
      else if (!std::exchange(unknown, &size))
        continue;
      else
        fail("only one dimension can be inferred: " + asked, loc, {value});
    }
    auto rest = ir::divide(sizeOf(count), product);
    if (!rest || (!unknown && *rest != 1))
      fail("shape '" + asked + "' is invalid for input of size " + sizeText(count), loc, {value});
    if (unknown)
      *unknown = entryOf(*rest, loc);
    return shape;
  }
  for (int64_t &size : shape) {
    if (size == -1) {
      if (unknown)
        fail("only one dimension can be inferred: " + asked, loc, {value});
      unknown = &size;
    } else if (size < 0) {
      fail("invalid shape dimension " + std::to_string(size) + " in " + asked, loc, {value});
    } else if (__builtin_mul_overflow(known, size, &known)) {
      fail("shape " + asked + " is too large", loc, {value});
    }
  }
  if (unknown && known == 0)
    fail("cannot reshape tensor of " + std::to_string(count) + " elements into shape " + asked +
             " because the unspecified dimension size -1 can be any value and is ambiguous",
         loc, {value});
  if (unknown && count % known == 0)
    *unknown = count / known;
  else if (unknown || known != count)
    fail("shape '" + asked + "' is invalid for input of size " + std::to_string(count), loc, {value});
  return shape;
}

Tensor Tensor::reshape(IntList shape, Loc loc) const {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  shape = resolveShape(value, std::move(shape), loc);
  const Shape &from = value.spec().shape;
  if (auto strides = viewStrides(from, this->strides(loc), shape))
    return makeView(*this, {.kind = ViewStep::reshape, .from = from, .to = shape}, std::move(*strides), loc);
  return wrap(reshapeTo(value, shape, loc), loc);
}

Tensor Tensor::view(IntList shape, Loc loc) const {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  shape = resolveShape(value, std::move(shape), loc);
  if (!viewStrides(value.spec().shape, strides(loc), shape))
    fail("view size is not compatible with input tensor's size and stride (at least one dimension spans "
         "across two contiguous subspaces). Use .reshape(...) instead.",
         loc, {value});
  return reshape(std::move(shape), loc);
}

Tensor Tensor::flatten(int64_t start, int64_t end, Loc loc) const {
  Shape shape = sizes(loc);
  auto rank = static_cast<int64_t>(shape.size());
  start = wrapDim(start, rank, loc);
  end = wrapDim(end, rank, loc);
  if (start > end)
    fail("flatten() has invalid args: start_dim cannot come after end_dim", loc);
  if (rank == 0)
    return reshape({1}, loc);
  ir::Size product = 1;
  for (int64_t i = start; i <= end; ++i)
    product *= sizeOf(shape[static_cast<size_t>(i)]);
  Shape flat(shape.begin(), shape.begin() + start);
  flat.push_back(entryOf(product, loc));
  flat.insert(flat.end(), shape.begin() + end + 1, shape.end());
  return reshape(flat, loc);
}

Tensor Tensor::permute(IntList dims, Loc loc) const {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  int64_t rank = rankOf(value);
  if (static_cast<int64_t>(dims.size()) != rank)
    fail("permute(dims): number of dimensions in the tensor (" + std::to_string(rank) +
             ") does not match the length of the desired ordering (" + std::to_string(dims.size()) + ")",
         loc, {value});
  for (int64_t &dim : dims)
    dim = wrapDim(dim, rank, loc);
  std::vector<bool> seen(dims.size());
  for (int64_t dim : dims) {
    if (seen[static_cast<size_t>(dim)])
      fail("permute(dims): duplicate dims are not allowed.", loc, {value});
    seen[static_cast<size_t>(dim)] = true;
  }
  const Shape &from = value.spec().shape;
  ViewStep step{.kind = ViewStep::transpose, .from = from};
  std::vector<int64_t> own = strides(loc), strides;
  for (int64_t dim : dims) {
    step.to.push_back(from[static_cast<size_t>(dim)]);
    strides.push_back(own[static_cast<size_t>(dim)]);
  }
  step.perm = std::move(dims);
  return makeView(*this, std::move(step), std::move(strides), loc);
}

Tensor Tensor::transpose(int64_t a, int64_t b, Loc loc) const {
  int64_t rank = dim(loc);
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  a = wrapDim(a, rank, loc);
  b = wrapDim(b, rank, loc);
  if (rank > 0)
    std::swap(dims[static_cast<size_t>(a)], dims[static_cast<size_t>(b)]);
  return permute(dims, loc);
}

Tensor Tensor::t(Loc loc) const {
  if (dim(loc) > 2)
    fail("t() expects a tensor with <= 2 dimensions, but self is " + std::to_string(dim(loc)) + "D", loc);
  return dim(loc) < 2 ? reshape(sizes(loc), loc) : transpose(0, 1, loc);
}

Tensor Tensor::mT(Loc loc) const {
  if (dim(loc) < 2)
    fail("tensor.mT is only supported on matrices or batches of matrices. Got " + std::to_string(dim(loc)) +
             "-D tensor.",
         loc);
  return transpose(-2, -1, loc);
}

Tensor Tensor::T(Loc loc) const {
  std::vector<int64_t> dims(sizes(loc).size());
  std::iota(dims.rbegin(), dims.rend(), 0);
  return permute(dims, loc);
}

Tensor Tensor::movedim(IntList from, IntList to, Loc loc) const {
  if (from.size() != to.size())
    fail("movedim: Invalid source or destination dims: source (" + shapeText(from) +
             ") should contain the same number of dims as destination (" + shapeText(to) + ")",
         loc);
  int64_t rank = dim(loc);
  std::vector<int64_t> dims(static_cast<size_t>(rank), -1);
  std::vector<bool> moved(dims.size());
  for (size_t i = 0; i < from.size(); ++i) {
    auto source = wrapDim(from[i], rank, loc), target = wrapDim(to[i], rank, loc);
    if (rank == 0)
      return permute({}, loc);
    if (moved[static_cast<size_t>(source)] || dims[static_cast<size_t>(target)] != -1)
      fail("movedim: repeated dim in " + shapeText(from) + " or " + shapeText(to), loc);
    moved[static_cast<size_t>(source)] = true;
    dims[static_cast<size_t>(target)] = source;
  }
  int64_t next = 0;
  for (int64_t &dim : dims) {
    if (dim != -1)
      continue;
    while (moved[static_cast<size_t>(next)])
      ++next;
    dim = next++;
  }
  return permute(dims, loc);
}

Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2, Loc loc) const {
  int64_t rank = dim(loc);
  dim1 = wrapDim(dim1, rank, loc);
  dim2 = wrapDim(dim2, rank, loc);
  if (rank < 2 || dim1 == dim2)
    fail("diagonal dimensions cannot be identical " + std::to_string(dim1) + ", " + std::to_string(dim2) +
             "; the tensor has shape " + shapeText(sizes(loc)),
         loc);
  int64_t rows = size(dim1, loc), columns = size(dim2, loc);
  // In row-major memory, neighbours on a diagonal are one row and one element apart.
  Tensor last = movedim({dim1, dim2}, {-2, -1}, loc);
  Shape flat(last.sizes(loc).begin(), last.sizes(loc).end() - 2);
  flat.push_back(rows * columns);
  int64_t length = offset >= 0 ? std::min(rows, columns - std::min(offset, columns))
                               : std::min(rows - std::min(-std::max(offset, -rows), rows), columns);
  int64_t start = length == 0 ? 0 : offset >= 0 ? offset : -offset * columns;
  int64_t end = length == 0 ? 0 : start + (length - 1) * (columns + 1) + 1;
  // This is a view whatever the strides are, because index maps work on values, and every value can be
  // flattened.
  GraphLock lock(graphMutex());
  std::vector<int64_t> strides = last.strides(loc);
  int64_t &along = strides[strides.size() - 2];
  along = entryOf(sizeOf(along) + sizeOf(strides.back()), loc);
  strides.pop_back();
  Tensor joined =
      makeView(last, {.kind = ViewStep::reshape, .from = last.sizes(loc), .to = flat}, strides, loc);
  ViewStep taken{.kind = ViewStep::slice, .from = flat, .to = flat};
  taken.start.resize(flat.size());
  taken.limit = flat;
  taken.steps.resize(flat.size(), 1);
  taken.start.back() = start;
  taken.limit.back() = end;
  taken.steps.back() = length > 1 ? columns + 1 : 1;
  taken.to.back() = length;
  return makeView(joined, std::move(taken), std::move(strides), loc);
}

Tensor Tensor::unsqueeze(int64_t dim, Loc loc) const {
  Shape shape = sizes(loc);
  dim = wrapDim(dim, static_cast<int64_t>(shape.size()) + 1, loc);
  shape.insert(shape.begin() + dim, 1);
  return reshape(shape, loc);
}

/// Whether a dimension is removed. Throws Error if that depends on a symbolic size, because the rank must be
/// the same in every call.
static bool isSqueezed(const Shape &shape, size_t dim, Loc loc) {
  if (isSymbolic(shape[dim]) && !isAtLeast(shape[dim], 2))
    fail("squeeze(): dimension " + std::to_string(dim) + " has size " + sizeText(shape[dim]) +
             ", which may be 1 in some calls only: give its Dim a min of 2, name other dimensions, or use "
             "reshape()",
         loc);
  return shape[dim] == 1;
}

Tensor Tensor::squeeze(IntList dims, Loc loc) const {
  Shape shape = sizes(loc);
  std::vector<bool> dropped(std::max<size_t>(shape.size(), 1));
  for (int64_t dim : dims) {
    auto at = static_cast<size_t>(wrapDim(dim, static_cast<int64_t>(shape.size()), loc));
    if (dropped[at])
      fail("dim " + std::to_string(at) + " appears multiple times in the list of dims", loc);
    dropped[at] = true;
  }
  Shape kept;
  for (size_t i = 0; i < shape.size(); ++i)
    if (!dropped[i] || !isSqueezed(shape, i, loc))
      kept.push_back(shape[i]);
  return reshape(kept, loc);
}

Tensor Tensor::squeeze(Loc loc) const {
  Shape shape = sizes(loc), kept;
  for (size_t i = 0; i < shape.size(); ++i)
    if (!isSqueezed(shape, i, loc))
      kept.push_back(shape[i]);
  return reshape(kept, loc);
}

Tensor Tensor::unflatten(int64_t dim, IntList inner, Loc loc) const {
  Shape shape = sizes(loc);
  if (shape.empty())
    fail("unflatten(): a 0-dimensional tensor has no dimension to divide", loc);
  if (inner.empty())
    fail("unflatten: sizes must be non-empty", loc);
  auto at = static_cast<size_t>(wrapDim(dim, static_cast<int64_t>(shape.size()), loc));
  ir::Size known = 1;
  int unknown = 0;
  for (int64_t size : inner) {
    if (size == -1)
      ++unknown;
    else
      known *= sizeOf(size);
  }
  std::optional<ir::Size> rest = unknown == 1 ? ir::divide(sizeOf(shape[at]), known) : std::nullopt;
  if (unknown > 1 || (unknown == 1 ? !rest : known != sizeOf(shape[at])))
    fail("unflatten: Provided sizes " + shapeText(inner) + " don't multiply up to the size of dim " +
             std::to_string(at) + " (" + sizeText(shape[at]) + ") in the input tensor",
         loc);
  std::replace(inner.begin(), inner.end(), int64_t{-1}, rest ? entryOf(*rest, loc) : -1);
  shape.erase(shape.begin() + static_cast<int64_t>(at));
  shape.insert(shape.begin() + static_cast<int64_t>(at), inner.begin(), inner.end());
  return reshape(shape, loc);
}

Tensor Tensor::expand(IntList shape, Loc loc) const {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  const Shape &from = value.spec().shape;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == -1 && i + from.size() >= shape.size())
      shape[i] = from[i + from.size() - shape.size()];
  checkedCount(shape, loc);
  broadcastTo(value, shape, loc); // for its error messages
  std::vector<int64_t> own = strides(loc), strides(shape.size(), 0);
  for (size_t i = 0; i < from.size(); ++i)
    if (size_t at = i + shape.size() - from.size(); from[i] == shape[at])
      strides[at] = own[i];
  return makeView(*this, {.kind = ViewStep::expand, .from = from, .to = shape}, std::move(strides), loc);
}

Tensor Tensor::slice(int64_t dim, int64_t start, int64_t end, int64_t step, Loc loc) const {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  if (rankOf(value) == 0)
    fail("slice() cannot be applied to a 0-dim tensor.", loc, {value});
  dim = wrapDim(dim, rankOf(value), loc);
  if (step < 1)
    fail("slice step must be positive, found " + std::to_string(step), loc, {value});
  auto d = static_cast<size_t>(dim);
  const Shape &shape = value.spec().shape;
  int64_t size = shape[d];
  if (isSymbolic(size)) {
    ViewStep map{.kind = ViewStep::slice, .from = shape, .to = shape};
    map.start.resize(shape.size());
    map.limit = shape;
    map.steps.resize(shape.size(), 1);
    auto bound = [&](int64_t i) {
      return i == INT64_MAX ? size : i < 0 && !isSymbolic(i) ? entryOf(sizeOf(size) + i, loc) : i;
    };
    map.start[d] = bound(start);
    map.limit[d] = bound(end);
    if (step != 1)
      fail("slice step must be 1 along a dynamic dimension, found " + std::to_string(step), loc, {value});
    map.to[d] = entryOf(sizeOf(map.limit[d]) - sizeOf(map.start[d]), loc);
    return makeView(*this, std::move(map), this->strides(loc), loc);
  }
  auto bound = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  ViewStep map{.kind = ViewStep::slice, .from = shape, .to = shape};
  map.start.resize(shape.size());
  map.limit = shape;
  map.steps.resize(shape.size(), 1);
  map.start[d] = bound(start);
  map.limit[d] = std::max(bound(start), bound(end));
  int64_t span = map.limit[d] - map.start[d];
  map.to[d] = span / step + (span % step != 0);
  // The step of a slice with at most one element has no meaning, and could overflow.
  map.steps[d] = map.to[d] > 1 ? step : 1;
  map.limit[d] = map.to[d] == 0 ? map.start[d] : map.start[d] + (map.to[d] - 1) * map.steps[d] + 1;
  std::vector<int64_t> strides = this->strides(loc);
  strides[d] = entryOf(sizeOf(strides[d]) * map.steps[d], loc);
  return makeView(*this, std::move(map), std::move(strides), loc);
}

Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length, Loc loc) const {
  if (this->dim(loc) == 0)
    fail("narrow() cannot be applied to a 0-dim tensor.", loc);
  int64_t size = this->size(dim = wrapDim(dim, this->dim(loc), loc), loc);
  if (length < 0)
    fail("narrow(): length must be non-negative.", loc);
  if (start < -size || start > size)
    fail("start out of range (expected to be in range of [" + std::to_string(-size) + ", " +
             std::to_string(size) + "], but got " + std::to_string(start) + ")",
         loc);
  start = start < 0 ? start + size : start;
  if (length > size - start)
    fail("start (" + std::to_string(start) + ") + length (" + std::to_string(length) +
             ") exceeds dimension size (" + std::to_string(size) + ").",
         loc);
  return slice(dim, start, start + length, 1, loc);
}

Tensor Tensor::slice(int64_t dim, const Size &start, const Size &end, int64_t step, Loc loc) const {
  GraphLock lock(graphMutex());
  if (this->dim(loc) == 0)
    fail("slice() cannot be applied to a 0-dim tensor.", loc);
  const auto d = static_cast<size_t>(wrapDim(dim, this->dim(loc), loc));
  const Shape &shape = sizes(loc);
  const Size size = Size::of_entry(shape[d]);
  if (start.is_number() && end.is_number() && size.is_number())
    return slice(dim, start.number(), end.number(), step, loc);
  const auto bound = [&](const Size &i) {
    return !i.is_number() ? i : i.number() == INT64_MAX ? size : i.number() < 0 ? size + i : i;
  };
  const Size from = bound(start), to = bound(end);
  if (step != 1)
    fail("slice step must be 1 along a dynamic dimension, found " + std::to_string(step), loc);
  if (!isAtLeast(from.entry(), 0) || !isAtLeast((to - from).entry(), 0) || !isAtLeast((size - to).entry(), 0))
    fail("the elements from " + from.str() + " to " + to.str() + " of a dimension of size " + size.str() +
             " do not lie in it for every value that the Dims may have: give the Dims ranges for which they "
             "do",
         loc);
  ViewStep map{.kind = ViewStep::slice, .from = shape, .to = shape};
  map.start.resize(shape.size());
  map.limit = shape;
  map.steps.resize(shape.size(), 1);
  map.start[d] = from.entry();
  map.limit[d] = to.entry();
  map.to[d] = (to - from).entry();
  return makeView(*this, std::move(map), strides(loc), loc);
}

Tensor Tensor::slice(int64_t dim, const Size &start, Loc loc) const {
  return slice(dim, start, Size(INT64_MAX), 1, loc);
}

Tensor Tensor::narrow(int64_t dim, const Size &start, const Size &length, Loc loc) const {
  if (this->dim(loc) == 0)
    fail("narrow() cannot be applied to a 0-dim tensor.", loc);
  const Size size = sym_size(dim, loc);
  if (start.is_number() && length.is_number() && size.is_number())
    return narrow(dim, start.number(), length.number(), loc);
  if (!isAtLeast(length.entry(), 0))
    fail("narrow(): the length " + length.str() + " may be negative.", loc);
  const Size from = start.is_number() && start.number() < 0 ? size + start : start;
  return slice(dim, from, from + length, 1, loc);
}

Tensor Tensor::select(int64_t dim, int64_t index, Loc loc) const {
  if (this->dim(loc) == 0)
    fail("select() cannot be applied to a 0-dim tensor.", loc);
  dim = wrapDim(dim, this->dim(loc), loc);
  int64_t size = sizes(loc)[static_cast<size_t>(dim)];
  if (isSymbolic(size))
    return slice(dim, index, index == -1 ? INT64_MAX : index + 1, 1, loc).squeeze(dim, loc);
  if (index < -size || index >= size)
    fail("select(): index " + std::to_string(index) + " out of range for tensor of size " +
             shapeText(sizes(loc)) + " at dimension " + std::to_string(dim),
         loc);
  index = index < 0 ? index + size : index;
  return slice(dim, index, index + 1, 1, loc).squeeze(dim, loc);
}

Tensor Tensor::operator[](const Position &index) const { return select(0, index.index, index.loc); }

} // namespace weft
