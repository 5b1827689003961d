//===- Joining.cpp - Joining, cutting, repeating, padding ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/joining.hpp"
#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/Promotion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {

using namespace frontend;

namespace {

size_t at(int64_t dim) { return static_cast<size_t>(dim); }

} // namespace

//===----------------------------------------------------------------------===//
// Joining and cutting
//===----------------------------------------------------------------------===//

/// Throws Error unless the tensors agree in every dimension but one. Symbolic sizes are left to the op's
/// verifier.
static void checkJoined(const std::vector<Ref> &parts, const std::vector<size_t> &positions, int64_t dim,
                        Loc loc) {
  const Shape &first = parts.front().spec().shape;
  for (size_t i = 1; i < parts.size(); ++i) {
    const Shape &shape = parts[i].spec().shape;
    if (shape.size() != first.size())
      fail("Tensors must have same number of dimensions: got " + std::to_string(first.size()) + " and " +
               std::to_string(shape.size()),
           loc, {parts.front(), parts[i]});
    for (size_t d = 0; d < shape.size(); ++d)
      if (d != at(dim) && shape[d] != first[d] && !isSymbolic(shape[d]) && !isSymbolic(first[d]))
        fail("Sizes of tensors must match except in dimension " + std::to_string(dim) + ". Expected size " +
                 std::to_string(first[d]) + " but got size " + std::to_string(shape[d]) +
                 " for tensor number " + std::to_string(positions[i]) + " in the list.",
             loc, {parts.front(), parts[i]});
  }
}

Tensor cat(const std::vector<Tensor> &tensors, int64_t dim, Loc loc) {
  GraphLock lock(graphMutex());
  if (tensors.empty())
    fail("torch.cat(): expected a non-empty list of Tensors", loc);
  std::vector<Ref> parts;
  std::vector<size_t> positions; // the positions of the parts in the list
  DType dtype = tensors.front().dtype(loc);
  for (const Tensor &tensor : tensors) {
    Ref part = use(tensor, loc);
    if (rankOf(part) == 0)
      fail("zero-dimensional tensor (at position " + std::to_string(&tensor - tensors.data()) +
               ") cannot be concatenated",
           loc, {part});
    dtype = promote(dtype, part.spec().dtype);
    // As in PyTorch, an empty vector can be joined with any tensor.
    if (part.spec().shape != Shape{0}) {
      parts.push_back(part);
      positions.push_back(static_cast<size_t>(&tensor - tensors.data()));
    }
  }
  if (parts.empty())
    parts.push_back(use(tensors.front(), loc));
  dim = wrapDim(dim, rankOf(parts.front()), loc);
  checkJoined(parts, positions, dim, loc);
  for (Ref &part : parts)
    part = convertTo(part, dtype, loc);
  return wrap(parts.size() == 1 ? sameValue(parts[0], loc) : record1("concat", parts, {{"dim", dim}}, loc),
              loc);
}

Tensor stack(const std::vector<Tensor> &tensors, int64_t dim, Loc loc) {
  if (tensors.empty())
    fail("stack expects a non-empty TensorList", loc);
  std::vector<Tensor> rows;
  for (const Tensor &tensor : tensors) {
    if (tensor.sizes(loc) != tensors.front().sizes(loc))
      fail("stack expects each tensor to be equal size, but got " + shapeText(tensors.front().sizes(loc)) +
               " at entry 0 and " + shapeText(tensor.sizes(loc)) + " at entry " +
               std::to_string(&tensor - tensors.data()),
           loc);
    rows.push_back(tensor.unsqueeze(dim, loc));
  }
  return cat(rows, wrapDim(dim, tensors.front().dim(loc) + 1, loc), loc);
}

std::vector<Tensor> split(const Tensor &a, const std::vector<int64_t> &sizes, int64_t dim, Loc loc) {
  if (a.dim(loc) == 0)
    fail("split expects at least a 1-dimensional tensor", loc);
  dim = wrapDim(dim, a.dim(loc), loc);
  int64_t total = 0;
  for (int64_t size : sizes) {
    if (size < 0)
      fail("split_with_sizes expects split_sizes have only non-negative entries, but got " + shapeText(sizes),
           loc);
    total += size;
  }
  if (total != a.size(dim, loc))
    fail("split_with_sizes expects split_sizes to sum exactly to " + std::to_string(a.size(dim, loc)) +
             " (input tensor's size at dimension " + std::to_string(dim) +
             "), but got split_sizes=" + shapeText(sizes),
         loc);
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    parts.push_back(a.slice(dim, begin, begin + size, 1, loc));
    begin += size;
  }
  return parts;
}

std::vector<Tensor> split(const Tensor &a, int64_t size, int64_t dim, Loc loc) {
  if (a.dim(loc) == 0)
    fail("split expects at least a 1-dimensional tensor", loc);
  int64_t extent = a.size(dim, loc);
  if (size < 0 || (size == 0 && extent != 0))
    fail("split expects split_size be non-negative" +
             std::string(size == 0 ? ", and 0 only for a dimension of size 0" : "") +
             ", but got split_size=" + std::to_string(size),
         loc);
  std::vector<int64_t> sizes;
  for (int64_t begin = 0; begin < extent; begin += size)
    sizes.push_back(std::min(size, extent - begin));
  if (sizes.empty())
    sizes.push_back(0);
  return split(a, sizes, dim, loc);
}

std::vector<Tensor> chunk(const Tensor &a, int64_t chunks, int64_t dim, Loc loc) {
  if (a.dim(loc) == 0)
    fail("chunk expects at least a 1-dimensional tensor", loc);
  if (chunks < 1)
    fail("chunk expects `chunks` to be greater than 0, got: " + std::to_string(chunks), loc);
  int64_t extent = a.size(dim, loc);
  if (extent == 0) // as many parts as asked for, all empty
    return split(a, std::vector<int64_t>(at(chunks), 0), dim, loc);
  return split(a, (extent + chunks - 1) / chunks, dim, loc);
}

std::vector<Tensor> unbind(const Tensor &a, int64_t dim, Loc loc) {
  if (a.dim(loc) == 0)
    fail("Dimension specified as " + std::to_string(dim) + " but tensor has no dimensions", loc);
  std::vector<Tensor> parts;
  for (int64_t i = 0, e = a.size(dim, loc); i < e; ++i)
    parts.push_back(a.select(dim, i, loc));
  return parts;
}

Tensor narrow(const Tensor &a, int64_t dim, int64_t start, int64_t length, Loc loc) {
  return a.narrow(dim, start, length, loc);
}

//===----------------------------------------------------------------------===//
// Repeating and moving
//===----------------------------------------------------------------------===//

static Tensor repeated(const Tensor &a, const std::vector<int64_t> &repeats, Loc loc) {
  Shape shape = a.sizes(loc);
  for (int64_t count : repeats)
    if (count < 0)
      fail("Trying to create tensor with negative dimension: repeats " + shapeText(repeats), loc);
  shape.insert(shape.begin(), repeats.size() - shape.size(), 1);
  // Every dimension becomes two: the repeats and the dimension itself.
  Shape apart, wide, result;
  for (size_t i = 0; i < shape.size(); ++i) {
    apart.insert(apart.end(), {1, shape[i]});
    wide.insert(wide.end(), {repeats[i], shape[i]});
    result.push_back(entryOf(sizeOf(repeats[i]) * sizeOf(shape[i]), loc));
  }
  return a.reshape(apart, loc).expand(wide, loc).reshape(result, loc);
}

Tensor Tensor::repeat(IntList repeats, Loc loc) const {
  if (repeats.size() < sizes(loc).size())
    fail("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: " +
             shapeText(repeats) + " for " + shapeText(sizes(loc)),
         loc);
  return repeated(*this, repeats, loc);
}

Tensor tile(const Tensor &a, IntList dims, Loc loc) {
  std::vector<int64_t> repeats = dims;
  if (repeats.size() < a.sizes(loc).size())
    repeats.insert(repeats.begin(), a.sizes(loc).size() - repeats.size(), 1);
  return repeated(a, repeats, loc);
}

Tensor repeat_interleave(const Tensor &a, int64_t repeats, std::optional<int64_t> dim, Loc loc) {
  if (repeats < 0)
    fail("repeats can not be negative, found " + std::to_string(repeats), loc);
  Tensor from = dim ? a : a.reshape({a.numel(loc)}, loc);
  int64_t along = wrapDim(dim.value_or(0), from.dim(loc), loc);
  if (from.dim(loc) == 0)
    from = from.reshape({1}, loc);
  Shape wide = from.sizes(loc), result = wide;
  wide.insert(wide.begin() + along + 1, repeats);
  result[at(along)] = entryOf(sizeOf(result[at(along)]) * sizeOf(repeats), loc);
  return from.unsqueeze(along + 1, loc).expand(wide, loc).reshape(result, loc);
}

Tensor flip(const Tensor &a, IntList dims, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  std::vector<int64_t> sorted;
  for (int64_t dim : dims)
    sorted.push_back(wrapDim(dim, rankOf(value), loc));
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    fail("flip(): a dimension appears multiple times in the list of dims: " + shapeText(dims), loc, {value});
  if (rankOf(value) == 0)
    sorted.clear();
  return wrap(record1("reverse", {value}, {{"dims", sorted}}, loc), loc);
}

Tensor roll(const Tensor &a, IntList shifts, IntList dims, Loc loc) {
  if (shifts.empty())
    fail("`shifts` required", loc);
  if (dims.empty()) {
    if (shifts.size() != 1)
      fail("roll(): without dims one shift is expected, found " + shapeText(shifts), loc);
    return roll(a.reshape({a.numel(loc)}, loc), shifts, {0}, loc).reshape(a.sizes(loc), loc);
  }
  if (shifts.size() != dims.size())
    fail("shifts and dimensions must align. shifts: " + std::to_string(shifts.size()) +
             ", dims:" + std::to_string(dims.size()),
         loc);
  Tensor result = a;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t dim = wrapDim(dims[i], a.dim(loc), loc), size = a.size(dim, loc);
    int64_t cut = size == 0 ? 0 : (size - shifts[i] % size) % size;
    if (cut != 0)
      result = cat({result.slice(dim, cut, INT64_MAX, 1, loc), result.slice(dim, 0, cut, 1, loc)}, dim, loc);
  }
  return result;
}

Tensor pad(const Tensor &a, IntList padding, const Arg &value, Loc loc) {
  GraphLock lock(graphMutex());
  Ref tensor = use(a, loc);
  auto rank = at(rankOf(tensor));
  if (padding.size() % 2 != 0 || padding.size() / 2 > rank)
    fail("Padding length must be divisible by 2 and at most twice the number of dimensions of the input. Got "
         "padding " +
             shapeText(padding) + " for " + shapeText(tensor.spec().shape),
         loc, {tensor});
  std::vector<int64_t> low(rank, 0), high(rank, 0), interior(rank, 0);
  Shape padded = tensor.spec().shape;
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    size_t dim = rank - 1 - i;
    low[dim] = padding[2 * i];
    high[dim] = padding[2 * i + 1];
    int64_t size = tensor.spec().shape[dim];
    if (!isSymbolic(size) && static_cast<__int128>(low[dim]) + high[dim] + size < 0)
      fail("The input size " + std::to_string(size) + ", plus negative padding " + std::to_string(low[dim]) +
               " and " + std::to_string(high[dim]) + ", resulted in a negative output size at dimension " +
               std::to_string(dim),
           loc, {tensor});
    if (!isSymbolic(size) && static_cast<__int128>(low[dim]) + high[dim] + size > INT64_MAX)
      fail("The input size " + std::to_string(size) + ", plus padding " + std::to_string(low[dim]) + " and " +
               std::to_string(high[dim]) + ", is more than a dimension can have, at dimension " +
               std::to_string(dim),
           loc, {tensor});
    if (!isSymbolic(size))
      padded[dim] = low[dim] + size + high[dim];
  }
  checkedCount(padded, loc);
  std::vector<Ref> operands{tensor};
  DType dtype = tensor.spec().dtype;
  refuseOverflow("pad()", dtype, value, {tensor});
  if (!value.is_number)
    operands.push_back(convertTo(use(value.tensor, loc), dtype, loc));
  else if (value.real != 0 || std::signbit(value.real))
    operands.push_back(number(dtype, tensor.spec().device, value, loc));
  return wrap(record1("pad", operands, {{"low", low}, {"high", high}, {"interior", interior}}, loc), loc);
}

/// Row and column numbers of the last two dimensions, compared.
static Tensor triangle(const char *function, const char *compare, const Tensor &a, int64_t diagonal,
                       Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  int64_t rank = rankOf(value);
  if (rank < 2)
    fail(std::string(function) + ": input tensor must have at least 2 dimensions", loc, {value});
  Spec spec{DType::i64, value.spec().shape, value.spec().device};
  Ref row = recordTyped("iota", {{"dim", rank - 2}}, spec, loc),
      column = recordTyped("iota", {{"dim", rank - 1}}, spec, loc);
  // All diagonals beyond the elements are equivalent, so clamp to a number that f64 represents exactly.
  constexpr int64_t outside = int64_t(1) << 53;
  diagonal = std::clamp(diagonal, -outside, outside);
  row = record1("add", {row, constant(spec, static_cast<double>(diagonal), loc)}, {}, loc);
  Ref kept = record1(compare, {column, row}, {}, loc);
  return wrap(record1("select", {kept, value, constant(value.spec(), 0, loc)}, {}, loc), loc);
}
Tensor tril(const Tensor &a, int64_t diagonal, Loc loc) { return triangle("tril", "le", a, diagonal, loc); }
Tensor triu(const Tensor &a, int64_t diagonal, Loc loc) { return triangle("triu", "ge", a, diagonal, loc); }

std::vector<Tensor> meshgrid(const std::vector<Tensor> &tensors, const std::string &indexing, Loc loc) {
  if (tensors.empty())
    fail("meshgrid expects a non-empty TensorList", loc);
  if (indexing != "ij" && indexing != "xy")
    fail("torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: " + indexing, loc);
  bool swap = indexing == "xy" && tensors.size() > 1;
  std::vector<size_t> place(tensors.size());
  std::iota(place.begin(), place.end(), 0);
  if (swap)
    std::swap(place[0], place[1]);
  Shape shape(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dim(loc) > 1)
      fail("torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: " +
               shapeText(tensors[i].sizes(loc)),
           loc);
    shape[place[i]] = tensors[i].numel(loc);
  }
  std::vector<Tensor> grids;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Shape own(tensors.size(), 1);
    own[place[i]] = tensors[i].numel(loc);
    grids.push_back(tensors[i].reshape(own, loc).expand(shape, loc));
  }
  return grids;
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

std::vector<Tensor> Tensor::split(int64_t size, int64_t dim, Loc loc) const {
  return weft::split(*this, size, dim, loc);
}
std::vector<Tensor> Tensor::split(const std::vector<int64_t> &sizes, int64_t dim, Loc loc) const {
  return weft::split(*this, sizes, dim, loc);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim, Loc loc) const {
  return weft::chunk(*this, chunks, dim, loc);
}
std::vector<Tensor> Tensor::unbind(int64_t dim, Loc loc) const { return weft::unbind(*this, dim, loc); }
Tensor Tensor::tile(IntList dims, Loc loc) const { return weft::tile(*this, dims, loc); }
Tensor Tensor::repeat_interleave(int64_t repeats, std::optional<int64_t> dim, Loc loc) const {
  return weft::repeat_interleave(*this, repeats, dim, loc);
}
Tensor Tensor::flip(IntList dims, Loc loc) const { return weft::flip(*this, dims, loc); }
Tensor Tensor::roll(IntList shifts, IntList dims, Loc loc) const {
  return weft::roll(*this, shifts, dims, loc);
}
Tensor Tensor::tril(int64_t diagonal, Loc loc) const { return weft::tril(*this, diagonal, loc); }
Tensor Tensor::triu(int64_t diagonal, Loc loc) const { return weft::triu(*this, diagonal, loc); }

} // namespace weft
