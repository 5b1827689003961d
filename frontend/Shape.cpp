//===- Shape.cpp - Shapes, products, indexing --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/Lazy.h"
#include "frontend/Ops.h"
#include "frontend/View.h"
#include "ir/DimExpr.h"

#include <algorithm>
#include <numeric>

namespace weft {

using namespace frontend;

namespace frontend {

std::string shapeText(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + ir::sizeText(shape[i]);
  return text + "]";
}

int64_t checkedCount(const Shape &shape, Loc loc) {
  int64_t count = 1;
  bool empty = false;
  // Sizes of zero do not excuse the others: strides would overflow.
  if (ir::anySymbolic(shape)) {
    // The ranges of symbols are the function's; that it is not too large is checked when it is compiled.
    for (int64_t size : shape)
      if (!ir::isKnownSize(size))
        fail("Trying to create tensor with negative dimension " + std::to_string(size) + ": " +
                 shapeText(shape),
             loc);
    return Spec{DType::f32, shape, {}}.count();
  }
  for (int64_t size : shape) {
    if (size < 0)
      fail("Trying to create tensor with negative dimension " + std::to_string(size) + ": " +
               shapeText(shape),
           loc);
    empty |= size == 0;
    // Room for the widest element, so that bytes do not overflow either.
    if (size != 0 && __builtin_mul_overflow(count, size, &count))
      count = INT64_MAX;
    if (count > INT64_MAX / 8)
      fail("a tensor of shape " + shapeText(shape) + " has more than 2^63 bytes", loc);
  }
  return empty ? 0 : count;
}

int64_t wrapDim(int64_t dim, int64_t rank, Loc loc) {
  // A 0-dimensional tensor takes 0 and -1, as in PyTorch.
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

Ref atLeast1(Ref value, Loc loc) {
  return value.spec().shape.empty() ? reshapeTo(std::move(value), {1}, loc) : value;
}

Ref convertTo(Ref value, DType dtype, Loc loc) {
  return value.spec().dtype == dtype ? value : record1("convert", {value}, {{"to", dtype}}, loc);
}

Ref transferTo(Ref value, Device device, Loc loc) {
  device = resolve(device);
  return value.spec().device == device ? value : record1("transfer", {value}, {{"to", device}}, loc);
}

Ref reshapeTo(Ref value, const Shape &shape, Loc loc) {
  return value.spec().shape == shape ? value : record1("reshape", {value}, {{"shape", shape}}, loc);
}

Ref broadcastTo(Ref value, const Shape &shape, Loc loc) {
  const Shape &from = value.spec().shape;
  if (from == shape)
    return value;
  bool fits = from.size() <= shape.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    int64_t have = from[from.size() - 1 - i], want = shape[shape.size() - 1 - i];
    fits = have == want || have == 1;
  }
  if (!fits)
    fail("The expanded size " + shapeText(shape) + " does not fit a tensor of shape " + shapeText(from) +
             ": sizes must agree from the last dimension on, or be 1",
         loc, {value});
  std::vector<int64_t> dims(from.size());
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(shape.size() - from.size()));
  return record1("broadcast_in_dim", {value}, {{"dims", dims}, {"shape", shape}}, loc);
}

} // namespace frontend

//===----------------------------------------------------------------------===//
// Placement, element type
//===----------------------------------------------------------------------===//

/// The same handle where nothing changes, as in PyTorch.
static Tensor sameOr(const Tensor &tensor, const Ref &before, Ref after, Loc loc) {
  return after == before ? tensor : wrap(std::move(after), loc);
}
Tensor Tensor::to(Device device, Loc loc) const {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  return sameOr(*this, value, transferTo(value, device, loc), loc);
}
Tensor Tensor::to(DType dtype, Loc loc) const {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  return sameOr(*this, value, convertTo(value, dtype, loc), loc);
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

/// The shape asked for, with -1 replaced.
static Shape resolveShape(const Ref &value, Shape shape, Loc loc) {
  int64_t known = 1, count = value.spec().count();
  int64_t *unknown = nullptr;
  std::string asked = shapeText(shape);
  if (ir::isSymbolic(count) || ir::anySymbolic(shape)) {
    for (int64_t &size : shape) {
      if (size != -1)
        known = ir::mulSizes(known, size);
      else if (!std::exchange(unknown, &size))
        continue;
      else
        fail("only one dimension can be inferred: " + asked, loc, {value});
    }
    auto rest = ir::divideSizes(count, known);
    if (!rest || (!unknown && *rest != 1))
      fail("shape '" + asked + "' is invalid for input of size " + ir::sizeText(count), loc, {value});
    if (unknown)
      *unknown = *rest;
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

Tensor Tensor::reshape(Shape shape, Loc loc) const {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  shape = resolveShape(value, std::move(shape), loc);
  const Shape &from = value.spec().shape;
  if (auto strides = viewStrides(from, this->strides(), shape))
    return makeView(*this, {.kind = ViewStep::reshape, .from = from, .to = shape}, std::move(*strides), loc);
  return wrap(reshapeTo(value, shape, loc), loc);
}

Tensor Tensor::view(Shape shape, Loc loc) const {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  shape = resolveShape(value, std::move(shape), loc);
  if (!viewStrides(value.spec().shape, strides(), shape))
    fail("view size is not compatible with input tensor's size and stride (at least one dimension spans "
         "across two contiguous subspaces). Use .reshape(...) instead.",
         loc, {value});
  return reshape(std::move(shape), loc);
}

Tensor Tensor::flatten(int64_t start, int64_t end, Loc loc) const {
  Shape shape = sizes();
  auto rank = static_cast<int64_t>(shape.size());
  start = wrapDim(start, rank, loc);
  end = wrapDim(end, rank, loc);
  if (start > end)
    fail("flatten() has invalid args: start_dim cannot come after end_dim", loc);
  if (rank == 0)
    return reshape({1}, loc);
  int64_t product = 1;
  for (int64_t i = start; i <= end; ++i)
    product = ir::mulSizes(product, shape[static_cast<size_t>(i)]);
  Shape flat(shape.begin(), shape.begin() + start);
  flat.push_back(product);
  flat.insert(flat.end(), shape.begin() + end + 1, shape.end());
  return reshape(flat, loc);
}

Tensor Tensor::permute(std::vector<int64_t> dims, Loc loc) const {
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
  std::vector<int64_t> own = strides(), strides;
  for (int64_t dim : dims) {
    step.to.push_back(from[static_cast<size_t>(dim)]);
    strides.push_back(own[static_cast<size_t>(dim)]);
  }
  step.perm = std::move(dims);
  return makeView(*this, std::move(step), std::move(strides), loc);
}

Tensor Tensor::transpose(int64_t a, int64_t b, Loc loc) const {
  int64_t rank = dim();
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  a = wrapDim(a, rank, loc);
  b = wrapDim(b, rank, loc);
  if (rank > 0)
    std::swap(dims[static_cast<size_t>(a)], dims[static_cast<size_t>(b)]);
  return permute(dims, loc);
}

Tensor Tensor::t(Loc loc) const {
  if (dim() > 2)
    fail("t() expects a tensor with <= 2 dimensions, but self is " + std::to_string(dim()) + "D", loc);
  return dim() < 2 ? reshape(sizes(), loc) : transpose(0, 1, loc);
}

Tensor Tensor::unsqueeze(int64_t dim, Loc loc) const {
  Shape shape = sizes();
  dim = wrapDim(dim, static_cast<int64_t>(shape.size()) + 1, loc);
  shape.insert(shape.begin() + dim, 1);
  return reshape(shape, loc);
}

Tensor Tensor::squeeze(int64_t dim, Loc loc) const {
  Shape shape = sizes();
  dim = wrapDim(dim, static_cast<int64_t>(shape.size()), loc);
  if (!shape.empty() && shape[static_cast<size_t>(dim)] == 1)
    shape.erase(shape.begin() + dim);
  return reshape(shape, loc);
}

Tensor Tensor::expand(Shape shape, Loc loc) const {
  GraphLock lock(graphMutex());
  Ref value = use(*this, loc);
  const Shape &from = value.spec().shape;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == -1 && i + from.size() >= shape.size())
      shape[i] = from[i + from.size() - shape.size()];
  checkedCount(shape, loc);
  broadcastTo(value, shape, loc); // its errors
  std::vector<int64_t> own = strides(), strides(shape.size(), 0);
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
  if (ir::isSymbolic(size)) {
    ViewStep map{.kind = ViewStep::slice, .from = shape, .to = shape};
    map.start.resize(shape.size());
    map.limit = shape;
    map.steps.resize(shape.size(), 1);
    auto bound = [&](int64_t i) {
      return i == INT64_MAX || ir::isSymbolic(i) ? std::min(i, size) : i < 0 ? ir::addSizes(size, i) : i;
    };
    map.start[d] = bound(start);
    map.limit[d] = bound(end);
    if (step != 1)
      fail("slice step must be 1 along a dynamic dimension, found " + std::to_string(step), loc, {value});
    map.to[d] = ir::subSizes(map.limit[d], map.start[d]);
    return makeView(*this, std::move(map), this->strides(), loc);
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
  // A step beyond the end says nothing, and could overflow.
  map.steps[d] = map.to[d] > 1 ? step : 1;
  map.limit[d] = map.to[d] == 0 ? map.start[d] : map.start[d] + (map.to[d] - 1) * map.steps[d] + 1;
  std::vector<int64_t> strides = this->strides();
  strides[d] *= map.steps[d];
  return makeView(*this, std::move(map), std::move(strides), loc);
}

Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length, Loc loc) const {
  if (this->dim() == 0)
    fail("narrow() cannot be applied to a 0-dim tensor.", loc);
  int64_t size = this->size(dim = wrapDim(dim, this->dim(), loc));
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

Tensor Tensor::select(int64_t dim, int64_t index, Loc loc) const {
  if (this->dim() == 0)
    fail("select() cannot be applied to a 0-dim tensor.", loc);
  dim = wrapDim(dim, this->dim(), loc);
  int64_t size = sizes()[static_cast<size_t>(dim)];
  if (ir::isSymbolic(size))
    return slice(dim, index, index == -1 ? INT64_MAX : index + 1, 1, loc).squeeze(dim, loc);
  if (index < -size || index >= size)
    fail("select(): index " + std::to_string(index) + " out of range for tensor of size " +
             shapeText(sizes()) + " at dimension " + std::to_string(dim),
         loc);
  index = index < 0 ? index + size : index;
  return slice(dim, index, index + 1, 1, loc).squeeze(dim, loc);
}

Tensor Tensor::operator[](int64_t index) const { return select(0, index); }

//===----------------------------------------------------------------------===//
// Along a dimension, products
//===----------------------------------------------------------------------===//

static Tensor alongDim(const char *op, const Tensor &a, int64_t dim, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  if (!is_floating_point(value.spec().dtype))
    value = convertTo(value, DType::f32, loc);
  dim = wrapDim(dim, rankOf(value), loc);
  if (rankOf(value) == 0) {
    Tensor one = alongDim(op, wrap(reshapeTo(value, {1}, loc), loc), 0, loc);
    return one.reshape({}, loc);
  }
  return wrap(record1(op, {value}, {{"dim", dim}}, loc), loc);
}
Tensor softmax(const Tensor &a, int64_t dim, Loc loc) { return alongDim("softmax", a, dim, loc); }
Tensor log_softmax(const Tensor &a, int64_t dim, Loc loc) { return alongDim("log_softmax", a, dim, loc); }
Tensor Tensor::softmax(int64_t dim, Loc loc) const { return weft::softmax(*this, dim, loc); }
Tensor Tensor::log_softmax(int64_t dim, Loc loc) const { return weft::log_softmax(*this, dim, loc); }

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static Ref dot(Ref a, Ref b, std::vector<int64_t> batchA, std::vector<int64_t> batchB,
               std::vector<int64_t> contractA, std::vector<int64_t> contractB, Loc loc) {
  return record1("dot_general", {a, b},
                 {{"batch_a", std::move(batchA)},
                  {"batch_b", std::move(batchB)},
                  {"contract_a", std::move(contractA)},
                  {"contract_b", std::move(contractB)}},
                 loc);
}

Tensor matmul(const Tensor &ta, const Tensor &tb, Loc loc) {
  GraphLock lock(graphMutex());
  Ref a = use(ta, loc), b = use(tb, loc);
  int64_t ra = rankOf(a), rb = rankOf(b);
  if (ra == 0 || rb == 0)
    fail("both arguments to matmul need to be at least 1D, but they are " + std::to_string(ra) + "D and " +
             std::to_string(rb) + "D",
         loc, {a, b});
  const Shape &sa = a.spec().shape, &sb = b.spec().shape;
  if (a.spec().dtype != b.spec().dtype)
    fail("expected m1 and m2 to have the same dtype, but got: " + std::string(name(a.spec().dtype)) +
             " != " + std::string(name(b.spec().dtype)),
         loc, {a, b});
  int64_t ka = sa.back(), kb = rb == 1 ? sb[0] : sb[static_cast<size_t>(rb - 2)];
  if (ka != kb) {
    auto text = [](const Shape &shape) {
      std::string s;
      for (size_t i = 0; i < shape.size(); ++i)
        s += (i ? "x" : "") + ir::sizeText(shape[i]);
      return s;
    };
    fail("mat1 and mat2 shapes cannot be multiplied (" + text(sa) + " and " + text(sb) + ")", loc, {a, b});
  }
  // A matrix on the right meets every row of whatever is on the left.
  if (rb <= 2)
    return wrap(dot(a, b, {}, {}, {ra - 1}, {0}, loc), loc);
  if (ra == 1) {
    Tensor row = wrap(reshapeTo(a, {1, ka}, loc), loc);
    return matmul(row, tb, loc).squeeze(-2, loc);
  }
  // Batches broadcast.
  size_t batchRank = static_cast<size_t>(std::max(ra, rb) - 2);
  Shape batch(batchRank, 1);
  auto merge = [&](const Shape &shape) {
    size_t own = shape.size() - 2;
    for (size_t i = 0; i < own; ++i) {
      int64_t &into = batch[batchRank - own + i];
      if (into != shape[i] && into != 1 && shape[i] != 1)
        fail("The size of tensor a (" + ir::sizeText(into) + ") must match the size of tensor b (" +
                 ir::sizeText(shape[i]) + ") at non-singleton dimension " +
                 std::to_string(batchRank - own + i),
             loc, {a, b});
      into = into == 1 ? shape[i] : into;
    }
  };
  merge(sa);
  merge(sb);
  auto expanded = [&](Ref value, const Shape &shape) {
    Shape full = batch;
    full.insert(full.end(), shape.end() - 2, shape.end());
    return broadcastTo(value, full, loc);
  };
  std::vector<int64_t> batchDims(batchRank);
  std::iota(batchDims.begin(), batchDims.end(), 0);
  auto rank = static_cast<int64_t>(batchRank);
  return wrap(dot(expanded(a, sa), expanded(b, sb), batchDims, batchDims, {rank + 1}, {rank}, loc), loc);
}
Tensor Tensor::matmul(const Tensor &other, Loc loc) const { return weft::matmul(*this, other, loc); }

//===----------------------------------------------------------------------===//
// Indexing, ranges
//===----------------------------------------------------------------------===//

static Tensor gatherBy(const Tensor &a, const Tensor &index, int64_t dim, const char *kind, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc), at = use(index, loc);
  if (is_floating_point(at.spec().dtype) || at.spec().dtype == DType::i1)
    fail("an index must be an integer tensor, found " + std::string(name(at.spec().dtype)), loc, {value, at});
  if (itemsize(at.spec().dtype) < 4)
    at = convertTo(at, DType::i64, loc);
  dim = wrapDim(dim, rankOf(value), loc);
  return wrap(record1("gather", {atLeast1(value, loc), atLeast1(at, loc)},
                      {{"dim", dim}, {"kind", std::string(kind)}}, loc),
              loc);
}
Tensor Tensor::gather(int64_t dim, const Tensor &index, Loc loc) const {
  if (index.dim() != this->dim() && index.numel() == 0) {
    // PyTorch takes an index without elements in any rank.
    wrapDim(dim, this->dim(), loc);
    return gatherBy(reshape({numel()}, loc), index.reshape({0}, loc), 0, "along", loc)
        .reshape(index.sizes(), loc);
  }
  Tensor result = gatherBy(*this, index, dim, "along", loc);
  return index.dim() == 0 ? result.reshape({}, loc) : result;
}
Tensor Tensor::index_select(int64_t dim, const Tensor &index, Loc loc) const {
  if (index.dim() > 1)
    fail("index_select(): index should be 0- or 1-dimensional, found shape " + shapeText(index.sizes()), loc);
  if (this->dim() == 0 && index.numel() != 1)
    fail("index_select(): Index to scalar can have only 1 value, got " + std::to_string(index.numel()) +
             " value(s)",
         loc);
  Tensor result = gatherBy(*this, index, dim, "points", loc);
  return this->dim() == 0 ? result.reshape({}, loc) : result;
}

Tensor arange(int64_t n, TensorOptions options, Loc loc) {
  checkedCount({n}, loc);
  GraphLock lock(graphMutex());
  Device device = resolve(options.device);
  Ref value = recordTyped("iota", {{"dim", int64_t(0)}}, Spec{DType::i64, {n}, device}, loc);
  return wrap(convertTo(value, options.dtype.value_or(DType::i64), loc), loc);
}

} // namespace weft
