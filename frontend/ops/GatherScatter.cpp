//===- GatherScatter.cpp - Reading and writing by index ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/gather_scatter.hpp"

#include "weft/autograd.hpp"
#include "weft/dim.hpp"
#include "weft/distances.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/Promotion.h"
#include "frontend/ops/Term.h"
#include "weft/math.hpp"
#include "weft/selection.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {

using namespace frontend;

namespace {

size_t at(int64_t dim) { return static_cast<size_t>(dim); }

/// An index for the ops: i64 or i32.
Ref indexOf(const char *function, const Tensor &index, Loc loc) {
  Ref value = use(index, loc);
  DType dtype = value.spec().dtype;
  if (is_floating_point(dtype) || dtype == DType::i1)
    fail(std::string(function) + ": an index must be an integer tensor, found " + std::string(name(dtype)),
         loc, {value});
  return itemsize(dtype) < 4 ? convertTo(value, DType::i64, loc) : value;
}

/// A size, filled into the shape of an i64 index.
Ref sizeLike(const Ref &index, int64_t size, Loc loc) {
  Spec spec = index.spec();
  if (!isSymbolic(size))
    return constant(spec, static_cast<double>(size), loc);
  return broadcastTo(recordTyped("dim", {{"size", size}}, Spec{DType::i64, {}, spec.device}, loc), spec.shape,
                     loc);
}

/// The index with negative numbers counted from the end of a dimension of that size.
Ref wrapped(Ref index, int64_t size, Loc loc) {
  if (index.spec().dtype != DType::i64)
    index = convertTo(index, DType::i64, loc);
  Spec spec = index.spec();
  Ref zero = constant(spec, 0, loc), count = sizeLike(index, size, loc);
  Ref negative = record1("lt", {index, zero}, {}, loc);
  return record1("select", {negative, record1("add", {index, count}, {}, loc), index}, {}, loc);
}

/// A gather from 0, 1, .. by the index gives the index itself, and checks that it is in range.
Ref checked(Ref index, int64_t size, Loc loc) {
  Ref table =
      recordTyped("iota", {{"dim", int64_t(0)}}, Spec{index.spec().dtype, {size}, index.spec().device}, loc);
  return record1("gather", {table, index}, {{"dim", int64_t(0)}, {"kind", std::string("points")}}, loc);
}

Ref gatherBy(const char *kind, Ref value, int64_t dim, Ref index, Loc loc) {
  if (const int64_t size = value.spec().shape[at(dim)]; isSymbolic(size) && !isAtLeast(size, 1))
    fail("an index reads along dimension " + std::to_string(dim) + ", whose size " + sizeText(size) +
             " may be 0: give its Dim a min of 1",
         loc, {value, index});
  index = movedInBody(std::move(index), value.spec().device, loc);
  return record1("gather", {value, index}, {{"dim", dim}, {"kind", std::string(kind)}}, loc);
}

/// Bools are combined as i64; every number but 0 becomes true again.
Ref counted(Ref value, Loc loc) {
  return value.spec().dtype == DType::i1 ? convertTo(value, DType::i64, loc) : value;
}

Ref updateBy(Ref value, int64_t dim, Ref index, Ref slices, bool accumulate, Loc loc) {
  DType dtype = value.spec().dtype;
  if (accumulate) {
    value = counted(value, loc);
    slices = counted(slices, loc);
  }
  index = movedInBody(std::move(index), value.spec().device, loc);
  Ref made = record1("index_update", {value, slices, index}, {{"dim", dim}, {"accumulate", accumulate}}, loc);
  return convertTo(made, dtype, loc);
}

void checkSameDType(const char *function, const Ref &a, const Ref &source, Loc loc) {
  if (a.spec().dtype != source.spec().dtype)
    fail(std::string(function) + ": expected self and source to have the same dtype, but got " +
             std::string(name(a.spec().dtype)) + " and " + std::string(name(source.spec().dtype)),
         loc, {a, source});
}

//===----------------------------------------------------------------------===//
// Several index tensors
//===----------------------------------------------------------------------===//

/// a[i, j, ..] as one index into one dimension.
struct Indexed {
  Ref table; ///< `a` with the indexed dimensions merged into one, `dim`
  Ref index; ///< in range
  int64_t dim = 0;
  Shape moved;               ///< the shape of `a` with the indexed dimensions next to each other
  std::vector<int64_t> back; ///< the permutation that undoes this; empty if they were next to each other
};

Indexed indexed(const char *function, Ref a, const std::vector<Tensor> &indices, Loc loc) {
  const Device device = a.spec().device;
  Shape shape = a.spec().shape;
  if (indices.size() > shape.size())
    fail("too many indices for tensor of dimension " + std::to_string(shape.size()) + ": " +
             std::to_string(indices.size()),
         loc, {a});
  std::vector<int64_t> dims;
  std::vector<Ref> given;
  Shape common;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i].defined())
      continue;
    // The check of an index may fail, so a body computes it itself, on the device of the table.
    Ref index = movedInBody(indexOf(function, indices[i], loc), device, loc);
    index = wrapped(std::move(index), shape[i], loc);
    const Shape &own = index.spec().shape;
    if (own.size() > common.size())
      common.insert(common.begin(), own.size() - common.size(), 1);
    for (size_t d = 0; d < own.size(); ++d) {
      int64_t &size = common[common.size() - own.size() + d];
      if (size != own[d] && size != 1 && own[d] != 1)
        fail("shape mismatch: indexing tensors could not be broadcast together: " + shapeText(common) +
                 " and " + shapeText(own),
             loc, {a, index});
      size = size == 1 ? own[d] : size;
    }
    dims.push_back(static_cast<int64_t>(i));
    given.push_back(index);
  }
  if (dims.empty())
    fail(std::string(function) + ": at least one index tensor is needed", loc, {a});
  Indexed result;
  bool together = dims.back() - dims.front() + 1 == static_cast<int64_t>(dims.size());
  if (!together) {
    std::vector<int64_t> perm(dims);
    for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
      if (std::find(dims.begin(), dims.end(), i) == dims.end())
        perm.push_back(i);
    result.back.resize(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) {
      result.back[at(perm[i])] = static_cast<int64_t>(i);
      result.moved.push_back(shape[at(perm[i])]);
    }
    a = record1("transpose", {a}, {{"perm", perm}}, loc);
  } else {
    result.moved = shape;
    result.dim = dims.front();
  }
  // Row-major: the last index has stride 1. Each index is checked by itself.
  int64_t size = 1;
  for (size_t i = given.size(); i-- > 0;) {
    int64_t extent = shape[at(dims[i])];
    Ref index = broadcastTo(given.size() == 1 ? given[i] : checked(given[i], extent, loc), common, loc);
    if (result.index)
      index = record1("add", {record1("mul", {index, sizeLike(index, size, loc)}, {}, loc), result.index}, {},
                      loc);
    result.index = index;
    size = entryOf(sizeOf(size) * sizeOf(extent), loc);
  }
  Shape flat(result.moved.begin(), result.moved.begin() + result.dim);
  flat.push_back(size);
  flat.insert(flat.end(), result.moved.begin() + result.dim + static_cast<int64_t>(dims.size()),
              result.moved.end());
  result.table = reshapeTo(a, flat, loc);
  return result;
}

} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Whether an index that is not empty is larger than a tensor in some dimension but `except`. Symbolic sizes
/// are left to the op's verifier.
static bool exceeds(const Shape &index, const Shape &shape, std::optional<int64_t> except) {
  if (std::find(index.begin(), index.end(), 0) != index.end())
    return false;
  for (size_t d = 0; d < index.size(); ++d)
    if (!(except && static_cast<size_t>(*except) == d) && !isSymbolic(index[d]) && !isSymbolic(shape[d]) &&
        index[d] > shape[d])
      return true;
  return false;
}

/// Throws Error unless an index has the rank of the tensor `value`, which the message calls `what`.
static void checkRank(const Ref &index, const Ref &value, const char *what, Loc loc) {
  if (std::max<size_t>(rankOf(index), 1) != std::max<size_t>(rankOf(value), 1))
    fail("Index tensor must have the same number of dimensions as " + std::string(what) + " tensor: found " +
             std::to_string(rankOf(index)) + " and " + std::to_string(rankOf(value)),
         loc, {index, value});
}

static Tensor gathered(const char *function, const Tensor &a, const Tensor &index, int64_t dim,
                       const char *kind, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc), which = indexOf(function, index, loc);
  dim = wrapDim(dim, rankOf(value), loc);
  if (std::string_view(kind) == "along") {
    checkRank(which, value, "input", loc);
    if (const Shape &sizes = which.spec().shape; rankOf(value) && exceeds(sizes, value.spec().shape, dim))
      fail("Size does not match: expected index " + shapeText(sizes) + " to be no larger than self " +
               shapeText(value.spec().shape) + " apart from dimension " + std::to_string(dim),
           loc, {which, value});
  }
  return wrap(gatherBy(kind, atLeast1(value, loc), dim, atLeast1(which, loc), loc), loc);
}
Tensor Tensor::gather(int64_t dim, const Tensor &index, Loc loc) const {
  if (index.dim(loc) != this->dim(loc) && index.numel(loc) == 0) {
    // PyTorch accepts an empty index of any rank.
    wrapDim(dim, this->dim(loc), loc);
    return gathered("gather()", reshape({numel(loc)}, loc), index.reshape({0}, loc), 0, "along", loc)
        .reshape(index.sizes(loc), loc);
  }
  Tensor result = gathered("gather()", *this, index, dim, "along", loc);
  return index.dim(loc) == 0 ? result.reshape({}, loc) : result;
}
Tensor Tensor::index_select(int64_t dim, const Tensor &index, Loc loc) const {
  if (index.dim(loc) > 1)
    fail("index_select(): index should be 0- or 1-dimensional, found shape " + shapeText(index.sizes(loc)),
         loc);
  if (this->dim(loc) == 0 && index.numel(loc) != 1)
    fail("index_select(): Index to scalar can have only 1 value, got " + std::to_string(index.numel(loc)) +
             " value(s)",
         loc);
  Tensor result = gathered("index_select()", *this, index, dim, "points", loc);
  return this->dim(loc) == 0 ? result.reshape({}, loc) : result;
}

Tensor gather(const Tensor &a, int64_t dim, const Tensor &index, Loc loc) {
  return a.gather(dim, index, loc);
}
Tensor index_select(const Tensor &a, int64_t dim, const Tensor &index, Loc loc) {
  return a.index_select(dim, index, loc);
}

Tensor take_along_dim(const Tensor &a, const Tensor &index, std::optional<int64_t> dim, Loc loc) {
  if (!dim)
    return take_along_dim(a.flatten(0, -1, loc), index.flatten(0, -1, loc), 0, loc);
  if (a.dim(loc) != index.dim(loc))
    fail("take_along_dim(): input and indices should have the same number of dimensions, but got " +
             std::to_string(a.dim(loc)) + " dimensions for input, and " + std::to_string(index.dim(loc)) +
             " dimensions for indices",
         loc, {use(a, loc), use(index, loc)});
  int64_t along = wrapDim(*dim, a.dim(loc), loc);
  // All dimensions but one broadcast.
  auto wide = [&](const Tensor &tensor, const Tensor &other) {
    Shape shape = tensor.sizes(loc);
    for (size_t i = 0; i < shape.size(); ++i)
      if (static_cast<int64_t>(i) != along && shape[i] == 1)
        shape[i] = other.sizes(loc)[i];
    return tensor.expand(shape, loc);
  };
  GraphLock lock(graphMutex());
  Tensor positions = wrap(wrapped(indexOf("take_along_dim()", wide(index, a), loc),
                                  a.sizes(loc)[static_cast<size_t>(along)], loc),
                          loc);
  return wide(a, index).gather(along, positions, loc);
}

Tensor take(const Tensor &a, const Tensor &index, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  int64_t count = value.spec().count();
  Ref which = wrapped(indexOf("take()", index, loc), count, loc);
  return wrap(gatherBy("points", reshapeTo(value, {count}, loc), 0, which, loc), loc);
}

/// Indices with each mask, of bools or bytes, replaced by an index for each of its dimensions, whose size is
/// read from it.
static std::vector<Tensor> withoutMasks(const char *function, const Tensor &a,
                                        const std::vector<Tensor> &indices, Loc loc) {
  std::vector<Tensor> result;
  const Shape &shape = a.sizes(loc);
  for (const Tensor &each : indices) {
    if (!each.defined() || (each.dtype(loc) != DType::i1 && each.dtype(loc) != DType::ui8)) {
      result.push_back(each);
      continue;
    }
    refuseInTrace(function, "use where(mask, x, other), or an index of a fixed size (nonzero_static)", loc);
    const Shape &mask = each.sizes(loc);
    if (result.size() + mask.size() > shape.size() ||
        !std::equal(mask.begin(), mask.end(), shape.begin() + static_cast<std::ptrdiff_t>(result.size())))
      fail(std::string(function) + "(): The shape of the mask " + shapeText(mask) + " at index " +
               std::to_string(result.size()) + " does not match the shape of the indexed tensor " +
               shapeText(shape),
           loc, {use(a, loc), use(each, loc)});
    for (const Tensor &column : where(each, loc))
      result.push_back(column);
  }
  return result;
}

Tensor index(const Tensor &a, const std::vector<Tensor> &given, Loc loc) {
  std::vector<Tensor> indices = withoutMasks("index", a, given, loc);
  GraphLock lock(graphMutex());
  Indexed parts = indexed("index()", use(a, loc), indices, loc);
  return wrap(gatherBy("points", parts.table, parts.dim, parts.index, loc), loc);
}

/// The rows, of which that of the padding has no gradient.
static Tensor rowsOfTable(const Tensor &index, const Tensor &weight, std::optional<int64_t> padding_idx,
                          Loc loc) {
  GraphLock lock(graphMutex());
  Ref table = use(weight, loc), which = indexOf("embedding()", index, loc);
  if (rankOf(table) != 2)
    fail("'weight' must be 2-D, found " + shapeText(table.spec().shape), loc, {table});
  int64_t count = table.spec().shape[0];
  if (padding_idx && (*padding_idx < -count || *padding_idx >= count))
    fail("Padding_idx must be within num_embeddings: " + std::to_string(*padding_idx) + " of " +
             std::to_string(count),
         loc, {table});
  Tensor rows = wrap(gatherBy("points", table, 0, which, loc), loc);
  if (!padding_idx || !rows.requires_grad(loc))
    return rows;
  double row = static_cast<double>(*padding_idx < 0 ? *padding_idx + count : *padding_idx);
  Tensor padded =
      wrap(record1("eq", {which, constant(which.spec(), row, loc)}, {}, loc), loc).unsqueeze(-1, loc);
  return where(padded, {rows.detach(loc), loc}, {rows, loc}, loc);
}

/// Scales the rows that an index names in place, where their norm is larger. A row that is named several
/// times is written as often, with one value.
static void limitNorms(const Tensor &weight, const Tensor &index, const EmbeddingOptions &options, Loc loc) {
  checkFloat(use(weight, loc), "embedding() with max_norm", loc);
  if (!(*options.max_norm >= 0))
    fail("embedding: max_norm must not be negative, found " + std::to_string(*options.max_norm), loc,
         {use(weight, loc)});
  if (!(options.norm_type > 0))
    fail("embedding: norm_type must be above 0, found " + std::to_string(options.norm_type), loc,
         {use(weight, loc)});
  NoGradGuard guard;
  Tensor table = weight, flat = index.reshape({-1}, loc);
  const Tensor rows = rowsOfTable(flat, table.detach(loc), std::nullopt, loc);
  table.index_copy_(0, flat, renorm(rows, options.norm_type, 0, *options.max_norm, loc), loc);
}

/// Rows whose gradients are divided by how often the index names them.
static Tensor scaledByFrequency(const Tensor &rows, const Tensor &index, const Tensor &weight, Loc loc) {
  Tensor share;
  {
    NoGradGuard guard;
    const TensorOptions like{.dtype = DType::f32, .device = weight.device(loc)};
    const Tensor flat = index.reshape({-1}, loc);
    const Tensor one = ones(shape({flat.sym_size(0, loc)}), like, loc);
    const Tensor counts = index_add(zeros(shape({weight.sym_size(0, loc)}), like, loc), 0, flat, one, 1, loc);
    const Tensor own = rowsOfTable(index, counts.unsqueeze(1, loc), std::nullopt, loc);
    share = reciprocal(own, loc).to(rows.dtype(loc), loc);
  }
  // The value of the difference is 0; of an element that is not finite it would be NaN.
  const Term row{rows, loc}, isFinite{isfinite(rows, loc), loc};
  const Term scaled = select(isFinite, row, {0.0, loc}) * Term{share, loc};
  const Term value{rows.detach(loc), loc}, change = Term{scaled.tensor.detach(loc), loc} - scaled;
  return select(isFinite, value - change, row * Term{share, loc}).tensor;
}

Tensor embedding(const Tensor &index, const Tensor &weight, const EmbeddingOptions &options, Loc loc) {
  GraphLock lock(graphMutex());
  if (options.max_norm)
    limitNorms(weight, index, options, loc);
  const Tensor rows = rowsOfTable(index, weight, options.padding_idx, loc);
  return options.scale_grad_by_freq && rows.requires_grad(loc) ? scaledByFrequency(rows, index, weight, loc)
                                                               : rows;
}

Tensor one_hot(const Tensor &index, int64_t classes, Loc loc) {
  GraphLock lock(graphMutex());
  Ref which = indexOf("one_hot()", index, loc);
  if (classes == -1) {
    if (which.spec().count() == 0)
      fail("Can not infer total number of classes from empty tensor.", loc, {which});
    classes = index.amax({}, false, loc).item<int64_t>(loc) + 1;
  }
  if (classes < 1)
    fail("num_classes should be positive, found " + std::to_string(classes), loc, {which});
  Shape shape = which.spec().shape;
  Shape column = shape;
  column.push_back(1);
  shape.push_back(classes);
  checkedCount(shape, loc);
  Ref wide = broadcastTo(reshapeTo(checked(which, classes, loc), column, loc), shape, loc);
  Ref numbers = recordTyped("iota", {{"dim", static_cast<int64_t>(shape.size()) - 1}},
                            Spec{which.spec().dtype, shape, which.spec().device}, loc);
  return wrap(convertTo(record1("eq", {wide, numbers}, {}, loc), DType::i64, loc), loc);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Tensor scatterBy(const char *function, const std::string &kind, const Tensor &a, int64_t dim,
                        const Tensor &index, Ref source, Loc loc) {
  Ref value = use(a, loc), which = indexOf(function, index, loc);
  Shape shape = value.spec().shape;
  dim = wrapDim(dim, rankOf(value), loc);
  checkSameDType(function, value, source, loc);
  checkRank(which, value, "self", loc);
  checkRank(which, source, "src", loc);
  const Shape &sizes = which.spec().shape, &from = source.spec().shape;
  if (sizes.size() == shape.size() && sizes.size() == from.size() &&
      (exceeds(sizes, shape, dim) || exceeds(sizes, from, {})))
    fail("Expected index " + shapeText(sizes) + " to be no larger than self " + shapeText(shape) +
             " apart from dimension " + std::to_string(dim) + " and to be no larger size than src " +
             shapeText(from),
         loc, {which, value, source});
  DType dtype = value.spec().dtype;
  if (kind != "set") {
    value = counted(value, loc);
    source = counted(source, loc);
  }
  which = movedInBody(std::move(which), value.spec().device, loc);
  Ref made = record1("scatter", {atLeast1(value, loc), atLeast1(which, loc), atLeast1(source, loc)},
                     {{"dim", dim}, {"kind", kind}}, loc);
  return wrap(convertTo(reshapeTo(made, shape, loc), dtype, loc), loc);
}

Tensor scatter(const Tensor &a, int64_t dim, const Tensor &index, const Arg &source, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  refuseOverflow("scatter()", value.spec().dtype, source, {value});
  Ref what = source.is_number ? broadcastTo(number(value.spec().dtype, value.spec().device, source, loc),
                                            index.sizes(loc), loc)
                              : use(source.tensor, loc);
  return scatterBy("scatter()", "set", a, dim, index, what, loc);
}

Tensor scatter_add(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source, Loc loc) {
  GraphLock lock(graphMutex());
  return scatterBy("scatter_add()", "add", a, dim, index, use(source, loc), loc);
}

/// The neutral element of the reduction, as a tensor like `a`.
static Tensor neutral(const std::string &reduce, const Tensor &a, Loc loc) {
  DType dtype = a.dtype(loc);
  if (reduce == "sum" || reduce == "mean")
    return zeros_like(a, loc);
  if (reduce == "prod" || dtype == DType::i1)
    return reduce == "amax" ? zeros_like(a, loc) : ones_like(a, loc);
  bool most = reduce == "amin";
  auto all = [&](const Arg &value) { return zeros_like(a, loc).fill_(value); };
  if (is_floating_point(dtype))
    return all({most ? INFINITY : -INFINITY, loc});
  if (dtype == DType::ui8)
    return all({most ? 255 : 0, loc});
  int64_t largest = INT64_MAX >> (64 - 8 * itemsize(dtype));
  return all({most ? largest : -largest - 1, loc});
}

/// How many elements meet in each place, beside those that `count` has; at least one.
static Tensor meetingIn(const Tensor &count, int64_t dim, const Tensor &index, const Tensor &source,
                        Loc loc) {
  return clamp_min(scatter_add(count, dim, index, ones_like(source, loc), loc), {1, loc});
}

/// An extreme of infinities alone is equal to the neutral element, which would take a share of its gradient.
/// Their mean is the same number, and shares its gradient among them.
static Tensor withoutShareOfNeutral(const Tensor &extreme, const Tensor &touched, const Tensor &neutral,
                                    int64_t dim, const Tensor &index, const Tensor &source, Loc loc) {
  Tensor isNeutral, count;
  {
    NoGradGuard guard;
    isNeutral = logical_and({touched, loc}, {Arg(extreme.detach(loc), loc) == Arg(neutral, loc), loc});
    count = meetingIn(zeros_like(extreme, loc), dim, index, source, loc);
  }
  const Tensor sum = scatter_add(zeros_like(extreme, loc), dim, index, source, loc);
  return where(isNeutral, {div({sum, loc}, {count, loc}), loc}, {extreme, loc}, loc);
}

Tensor scatter_reduce(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source,
                      const std::string &reduce, bool include_self, Loc loc) {
  GraphLock lock(graphMutex());
  const char *kind = reduce == "sum" || reduce == "mean" ? "add"
                     : reduce == "prod"                  ? "mul"
                     : reduce == "amax"                  ? "max"
                     : reduce == "amin"                  ? "min"
                                                         : nullptr;
  if (!kind)
    fail("reduce argument must be either sum, prod, mean, amax or amin, found '" + reduce + "'", loc);
  if (reduce == "mean" && a.dtype(loc) == DType::i1)
    fail("scatter_reduce(): bools have no mean: convert them to a number first", loc, {use(a, loc)});
  Tensor base = a, touched, none;
  if (!include_self) {
    none = neutral(reduce, a, loc);
    touched = scatter(zeros(a.sizes(loc), {.dtype = DType::i1, .device = a.device(loc)}, loc), dim, index,
                      {true, loc}, loc);
    base = where(touched, {none, loc}, {a, loc}, loc);
  }
  Tensor result = scatterBy("scatter_reduce()", kind, base, dim, index, use(source, loc), loc);
  if (!include_self && (reduce == "amax" || reduce == "amin") && source.requires_grad(loc))
    return withoutShareOfNeutral(result, touched, none, dim, index, source, loc);
  if (reduce != "mean")
    return result;
  const Tensor count =
      meetingIn(include_self ? ones_like(a, loc) : zeros_like(a, loc), dim, index, source, loc);
  return is_floating_point(a.dtype(loc)) ? div({result, loc}, {count, loc})
                                         : floor_divide({result, loc}, {count, loc});
}

/// index_add and index_copy: slices by a 1-dimensional index.
static Tensor slicesBy(const char *function, const Tensor &a, int64_t dim, const Tensor &index,
                       const Tensor &source, bool accumulate, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc), which = indexOf(function, index, loc), slices = use(source, loc);
  Shape shape = value.spec().shape;
  if (rankOf(which) > 1)
    fail(std::string(function) + ": Index should have dimension 1 or 0 (got " +
             std::to_string(rankOf(which)) + ")",
         loc, {value, which});
  dim = wrapDim(dim, rankOf(value), loc);
  checkSameDType(function, value, slices, loc);
  value = atLeast1(value, loc);
  which = atLeast1(which, loc);
  Shape expected = value.spec().shape;
  expected[at(dim)] = which.spec().count();
  if (slices.spec().shape.empty() && which.spec().count() == 1 && expected == Shape{1})
    slices = reshapeTo(slices, {1}, loc);
  if (slices.spec().shape != expected)
    fail(std::string(function) + ": expected a source of shape " + shapeText(expected) + ", found " +
             shapeText(slices.spec().shape),
         loc, {value, slices});
  return wrap(reshapeTo(updateBy(value, dim, which, slices, accumulate, loc), shape, loc), loc);
}

Tensor index_add(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source, double alpha,
                 Loc loc) {
  bool whole = alpha == static_cast<double>(truncated(alpha));
  if (!whole && !is_floating_point(a.dtype(loc)))
    fail("index_add(): For integral input tensors, argument alpha must not be a floating point number.", loc);
  Tensor scaled = alpha == 1 ? source
                  : whole ? mul({source, loc}, {static_cast<int64_t>(alpha), loc}).to(source.dtype(loc), loc)
                          : mul({source, loc}, {alpha, loc});
  return slicesBy("index_add()", a, dim, index, scaled, /*accumulate=*/true, loc);
}

Tensor index_copy(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source, Loc loc) {
  return slicesBy("index_copy()", a, dim, index, source, /*accumulate=*/false, loc);
}

Tensor index_fill(const Tensor &a, int64_t dim, const Tensor &index, const Arg &value, Loc loc) {
  if (!value.is_number && value.tensor.dim(loc) != 0)
    fail("index_fill_ only supports a 0-dimensional value tensor, but got tensor with " +
             std::to_string(value.tensor.dim(loc)) + " dimension(s).",
         loc, {use(a, loc)});
  Tensor one = value.is_number ? full({}, value, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc)
                               : value.tensor.to(a.dtype(loc), loc);
  Shape slices = a.sizes(loc);
  if (!slices.empty())
    slices[static_cast<size_t>(wrapDim(dim, a.dim(loc), loc))] = index.numel(loc);
  Tensor which = index.dim(loc) == 0 ? index.reshape({1}, loc) : index;
  return index_copy(a, dim, which, one.expand(slices, loc), loc);
}

Tensor index_put(const Tensor &a, const std::vector<Tensor> &given, const Tensor &values, bool accumulate,
                 Loc loc) {
  std::vector<Tensor> indices = withoutMasks("index_put", a, given, loc);
  GraphLock lock(graphMutex());
  Ref value = use(a, loc), what = use(values, loc);
  checkSameDType("index_put()", value, what, loc);
  Indexed parts = indexed("index_put()", value, indices, loc);
  Shape shape = parts.table.spec().shape, own = parts.index.spec().shape;
  shape.erase(shape.begin() + parts.dim);
  shape.insert(shape.begin() + parts.dim, own.begin(), own.end());
  Ref made = updateBy(parts.table, parts.dim, parts.index, broadcastTo(what, shape, loc), accumulate, loc);
  made = reshapeTo(made, parts.moved, loc);
  if (!parts.back.empty())
    made = record1("transpose", {made}, {{"perm", parts.back}}, loc);
  return wrap(made, loc);
}

Tensor put(const Tensor &a, const Tensor &places, const Tensor &source, bool accumulate, Loc loc) {
  if (places.sizes(loc) != source.sizes(loc) && places.numel(loc) != source.numel(loc))
    fail("put_(): Expected source and index to have the same number of elements, found shapes " +
             shapeText(source.sizes(loc)) + " and " + shapeText(places.sizes(loc)),
         loc, {use(a, loc)});
  return index_put(a.reshape({-1}, loc), {places.reshape({-1}, loc)}, source.reshape({-1}, loc), accumulate,
                   loc)
      .reshape(a.sizes(loc), loc);
}

Tensor index_reduce(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source,
                    const std::string &reduce, bool include_self, Loc loc) {
  if (a.dim(loc) == 0)
    return index_reduce(a.reshape({1}, loc), dim, index, source.reshape({-1}, loc), reduce, include_self, loc)
        .reshape({}, loc);
  dim = wrapDim(dim, a.dim(loc), loc);
  if (index.dim(loc) > 1)
    fail("index_reduce_(): Index is supposed to be a vector, found shape " + shapeText(index.sizes(loc)), loc,
         {use(a, loc)});
  Shape shape(a.sizes(loc).size(), 1);
  shape[at(dim)] = index.dim(loc) ? index.sizes(loc)[0] : 1;
  return scatter_reduce(a, dim, index.reshape(shape, loc).expand(source.sizes(loc), loc), source, reduce,
                        include_self, loc);
}

Tensor masked_fill(const Tensor &a, const Tensor &mask, const Arg &value, Loc loc) {
  GraphLock lock(graphMutex());
  Ref tensor = use(a, loc);
  DType dtype = tensor.spec().dtype;
  if (mask.dtype(loc) != DType::i1)
    fail("masked_fill_ only supports boolean masks, but got mask with dtype " +
             std::string(name(mask.dtype(loc))),
         loc, {tensor});
  if (!value.is_number && value.tensor.dim(loc) != 0)
    fail("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with " +
             std::to_string(value.tensor.dim(loc)) + " dimension(s).",
         loc, {tensor});
  refuseOverflow("masked_fill()", dtype, value, {tensor});
  Ref filler = value.is_number ? number(dtype, tensor.spec().device, value, loc)
                               : convertTo(use(value.tensor, loc), dtype, loc);
  return where(mask, {wrap(filler, loc), loc}, {a, loc}, loc);
}

Tensor Tensor::take(const Tensor &index, Loc loc) const { return weft::take(*this, index, loc); }
Tensor Tensor::scatter(int64_t dim, const Tensor &index, const Arg &source, Loc loc) const {
  return weft::scatter(*this, dim, index, source, loc);
}
Tensor Tensor::scatter_add(int64_t dim, const Tensor &index, const Tensor &source, Loc loc) const {
  return weft::scatter_add(*this, dim, index, source, loc);
}
Tensor Tensor::index_add(int64_t dim, const Tensor &index, const Tensor &source, double alpha,
                         Loc loc) const {
  return weft::index_add(*this, dim, index, source, alpha, loc);
}
Tensor Tensor::index_copy(int64_t dim, const Tensor &index, const Tensor &source, Loc loc) const {
  return weft::index_copy(*this, dim, index, source, loc);
}
Tensor Tensor::index_put(const std::vector<Tensor> &indices, const Tensor &values, bool accumulate,
                         Loc loc) const {
  return weft::index_put(*this, indices, values, accumulate, loc);
}
Tensor Tensor::masked_fill(const Tensor &mask, const Arg &value, Loc loc) const {
  return weft::masked_fill(*this, mask, value, loc);
}

} // namespace weft
