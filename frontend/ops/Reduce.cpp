//===- Reduce.cpp - Reductions and scans of tensors -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/reduce.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"
#include "weft/math.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

using namespace frontend;

namespace {

/// `shape` with size 1 in `dims`, as with `keepdim`.
Shape keptShape(Shape shape, const std::vector<int64_t> &dims) {
  for (int64_t dim : dims)
    shape[static_cast<size_t>(dim)] = 1;
  return shape;
}

Tensor reduce(const char *op, const Tensor &a, IntList dims, bool keepdim, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  std::vector<int64_t> wrapped = wrapDims(dims, rankOf(value), loc);
  Shape kept = keptShape(value.spec().shape, wrapped);
  if (wrapped.empty())
    return unchanged(std::move(value), loc);
  Ref result = record1(op, {value}, {{"dims", wrapped}}, loc);
  return wrap(keepdim ? reshapeTo(result, kept, loc) : result, loc);
}

/// Sums and products of bools and integers are in i64.
Tensor accumulated(const Tensor &a, Loc loc) {
  return is_floating_point(a.dtype(loc)) ? a : a.to(DType::i64, loc);
}

int64_t countOver(const Tensor &a, const std::vector<int64_t> &dims, Loc loc) {
  ir::Size count = 1;
  for (int64_t dim : wrapDims(dims, a.dim(loc), loc))
    count *= sizeOf(a.sizes(loc)[static_cast<size_t>(dim)]);
  return entryOf(count, loc);
}

/// sqrt(a), with the gradient 0 at 0.
Tensor rootWithFlatZero(const Tensor &a, Loc loc) {
  Tensor isZero = weft::eq({a, loc}, {0, loc});
  Tensor root = sqrt(where(isZero, {1, loc}, {a, loc}, loc), loc);
  return where(isZero, {0, loc}, {root, loc}, loc);
}

/// `function` is the name for error messages.
Tensor extreme(const char *op, const std::string &function, const Tensor &a, IntList dims, bool keepdim,
               Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  const Shape &shape = value.spec().shape;
  for (int64_t dim : wrapDims(dims, rankOf(value), loc)) {
    int64_t size = shape[static_cast<size_t>(dim)];
    if (size == 0 && dims.empty())
      fail(function + ": Expected reduction dim to be specified for input.numel() == 0: a tensor of shape " +
               shapeText(shape) + " has no largest or smallest element",
           loc, {value});
    if (size == 0)
      fail(function + ": Expected reduction dim " + std::to_string(dim) +
               " to have non-zero size, found shape " + shapeText(shape),
           loc, {value});
    // An error in some calls only would come too late, so the declaration must rule out empty dimensions.
    if (isSymbolic(size) && !isAtLeast(size, 1))
      fail(function + ": dimension " + std::to_string(dim) + " has size " + sizeText(size) +
               ", which may be 0: give its Dim a min of 1",
           loc, {value});
  }
  if (value.spec().dtype == DType::i1)
    return reduce(op, a.to(DType::ui8, loc), dims, keepdim, loc).to(DType::i1, loc);
  return reduce(op, a, dims, keepdim, loc);
}

Tensor position(const char *op, const Tensor &a, std::optional<int64_t> dim, bool keepdim, Loc loc) {
  if (!dim) {
    if (use(a, loc).spec().count() == 0)
      fail(std::string(op) + "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                             "reduction dim with the 'dim' argument.",
           loc);
    Tensor result = position(op, a.reshape({-1}, loc), 0, false, loc);
    return keepdim ? result.reshape(Shape(a.sizes(loc).size(), 1), loc) : result;
  }
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  int64_t wrapped = wrapDim(*dim, rankOf(value), loc);
  if (rankOf(value) == 0)
    return zeros({}, {.dtype = DType::i64, .device = a.device(loc)}, loc);
  if (value.spec().dtype == DType::i1)
    fail("\"" + std::string(op) + "\" not implemented for 'Bool': convert it with .to(weft::DType::ui8)", loc,
         {value});
  if (value.spec().shape[static_cast<size_t>(wrapped)] == 0)
    fail(std::string(op) + "(): Expected reduction dim " + std::to_string(wrapped) +
             " to have non-zero size, found shape " + shapeText(value.spec().shape),
         loc, {value});
  Ref result = record1(op, {value}, {{"dim", wrapped}}, loc);
  return wrap(keepdim ? reshapeTo(result, keptShape(value.spec().shape, {wrapped}), loc) : result, loc);
}

/// Extreme elements along `dim` and their positions. The gradient flows to these positions only.
ValuesIndices chosen(const char *op, const Tensor &a, int64_t dim, bool keepdim, Loc loc) {
  if (a.dim(loc) == 0) {
    wrapDim(dim, 0, loc);
    return {a.reshape({}, loc), zeros({}, {.dtype = DType::i64, .device = a.device(loc)}, loc)};
  }
  bool isBool = a.dtype(loc) == DType::i1;
  Tensor indices = position(op, isBool ? a.to(DType::ui8, loc) : a, dim, true, loc);
  ValuesIndices result{a.gather(dim, indices, loc), indices};
  if (!keepdim)
    result = {result.values.squeeze(dim, loc), result.indices.squeeze(dim, loc)};
  return result;
}

Tensor scan(const char *op, const Tensor &a, int64_t dim, Loc loc) {
  Tensor input = accumulated(a, loc);
  GraphLock lock(graphMutex());
  Ref value = use(input, loc);
  dim = wrapDim(dim, rankOf(value), loc);
  if (rankOf(value) == 0)
    return unchanged(std::move(value), loc);
  return wrap(record1(op, {value}, {{"dim", dim}}, loc), loc);
}

} // namespace

Tensor frontend::numberOf(int64_t size, DType dtype, Device device, Loc loc) {
  GraphLock lock(graphMutex());
  Ref made = recordTyped("dim", {{"size", size}}, Spec{DType::i64, {}, device}, loc);
  return wrap(convertTo(made, dtype, loc), loc);
}

//===----------------------------------------------------------------------===//
// Sums, products, counts
//===----------------------------------------------------------------------===//

Tensor Tensor::sum(IntList dims, bool keepdim, Loc loc) const {
  return reduce("sum", accumulated(*this, loc), dims, keepdim, loc);
}
Tensor Tensor::prod(IntList dims, bool keepdim, Loc loc) const {
  return reduce("prod", accumulated(*this, loc), dims, keepdim, loc);
}

Tensor Tensor::mean(IntList dims, bool keepdim, Loc loc) const {
  if (!weft::is_floating_point(dtype(loc)))
    fail("mean(): could not infer output dtype. Input dtype must be a floating point dtype. Got: " +
             std::string(name(dtype(loc))),
         loc);
  // f16 and bf16 are summed and divided in f32 and rounded once, because the sum of 65,536 ones overflows
  // f16.
  Tensor total = widened(*this, loc).sum(dims, keepdim, loc);
  const int64_t count = countOver(*this, dims, loc);
  if (isSymbolic(count))
    return weft::div({total, loc}, {numberOf(count, total.dtype(loc), device(loc), loc), loc})
        .to(dtype(loc), loc);
  return weft::div({total, loc}, {static_cast<double>(count), loc}).to(dtype(loc), loc);
}

Tensor Tensor::any(IntList dims, bool keepdim, Loc loc) const {
  Tensor result = reduce("any", to(DType::i1, loc), dims, keepdim, loc);
  return dtype(loc) == DType::ui8 ? result.to(DType::ui8, loc) : result;
}
Tensor Tensor::all(IntList dims, bool keepdim, Loc loc) const {
  Tensor none = weft::logical_not({to(DType::i1, loc), loc});
  Tensor result = weft::logical_not({none.any(std::move(dims), keepdim, loc), loc});
  return dtype(loc) == DType::ui8 ? result.to(DType::ui8, loc) : result;
}

Tensor Tensor::count_nonzero(IntList dims, Loc loc) const {
  return to(DType::i1, loc).sum(std::move(dims), false, loc);
}

//===----------------------------------------------------------------------===//
// Extremes
//===----------------------------------------------------------------------===//

Tensor Tensor::amax(IntList dims, bool keepdim, Loc loc) const {
  return extreme("rmax", "amax()", *this, dims, keepdim, loc);
}
Tensor Tensor::amin(IntList dims, bool keepdim, Loc loc) const {
  return extreme("rmin", "amin()", *this, dims, keepdim, loc);
}
Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim, Loc loc) const {
  return position("argmax", *this, dim, keepdim, loc);
}
Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim, Loc loc) const {
  return position("argmin", *this, dim, keepdim, loc);
}
ValuesIndices Tensor::max(int64_t dim, bool keepdim, Loc loc) const {
  return chosen("argmax", *this, dim, keepdim, loc);
}
ValuesIndices Tensor::min(int64_t dim, bool keepdim, Loc loc) const {
  return chosen("argmin", *this, dim, keepdim, loc);
}

//===----------------------------------------------------------------------===//
// Moments and norms
//===----------------------------------------------------------------------===//

/// Variance and mean. As in PyTorch, every element type accumulates in f64, so the variance is accurate to
/// its type even for numbers far from zero and for very many numbers.
static std::pair<Tensor, Tensor> moments(const Tensor &a, const IntList &dims, double correction,
                                         bool keepdim, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a.to(DType::f64, loc), loc);
  std::vector<int64_t> wrapped = wrapDims(dims, rankOf(value), loc);
  Shape kept = keptShape(value.spec().shape, wrapped);
  if (wrapped.empty()) // treat a 0-dimensional tensor as a vector of one element
    return moments(a.reshape({1}, loc), {0}, correction, false, loc);
  auto node = record("welford", {value}, {{"dims", wrapped}}, loc);
  auto result = [&](uint32_t i) {
    Ref part{node, i};
    return wrap(keepdim ? reshapeTo(part, kept, loc) : part, loc);
  };
  const int64_t count = countOver(a, dims, loc);
  if (!isSymbolic(count))
    return {weft::div({result(1), loc}, {std::max(0.0, static_cast<double>(count) - correction), loc}),
            result(0)};
  Tensor freedom = weft::sub({numberOf(count, DType::f64, a.device(loc), loc), loc}, {correction, loc});
  return {weft::div({result(1), loc}, {weft::maximum({freedom, loc}, {0, loc}), loc}), result(0)};
}

std::pair<Tensor, Tensor> var_mean(const Tensor &a, IntList dims, double correction, bool keepdim, Loc loc) {
  checkFloat(use(a, loc), "var_mean()", loc);
  auto [variance, mean] = moments(a, dims, correction, keepdim, loc);
  return {variance.to(a.dtype(loc), loc), mean.to(a.dtype(loc), loc)};
}

Tensor Tensor::var(IntList dims, double correction, bool keepdim, Loc loc) const {
  checkFloat(use(*this, loc), "var()", loc);
  return moments(*this, dims, correction, keepdim, loc).first.to(dtype(loc), loc);
}

Tensor Tensor::std(IntList dims, double correction, bool keepdim, Loc loc) const {
  checkFloat(use(*this, loc), "std()", loc);
  return rootWithFlatZero(moments(*this, dims, correction, keepdim, loc).first, loc).to(dtype(loc), loc);
}

Tensor Tensor::norm(double p, IntList dims, bool keepdim, Loc loc) const {
  checkFloat(use(*this, loc), "norm()", loc);
  Tensor wide = widened(*this, loc), result;
  if (p == 2) {
    result = rootWithFlatZero(weft::mul({wide, loc}, {wide, loc}).sum(dims, keepdim, loc), loc);
  } else if (p == 1) {
    result = wide.abs(loc).sum(dims, keepdim, loc);
  } else if (std::isinf(p)) {
    Tensor magnitude = wide.abs(loc);
    result = extreme(p > 0 ? "rmax" : "rmin", "norm()", magnitude, dims, keepdim, loc);
  } else if (p == 0) {
    // A gradient of 0 flows to the elements, of which none is chosen.
    Tensor counted = weft::ne({wide, loc}, {0, loc}), nowhere = zeros_like(counted, loc);
    result = weft::where(nowhere, {wide, loc}, {counted.to(wide.dtype(loc), loc), loc}, loc)
                 .sum(dims, keepdim, loc);
  } else {
    // Elements 0 are replaced by 1 before the power, so that their gradient is never infinite.
    Tensor isZero = weft::eq({wide, loc}, {0, loc});
    Tensor powers = weft::pow({weft::where(isZero, {1, loc}, {wide.abs(loc), loc}, loc), loc}, {p, loc});
    Tensor sum =
        weft::where(isZero, {p > 0 ? 0.0 : INFINITY, loc}, {powers, loc}, loc).sum(dims, keepdim, loc);
    Tensor nothing = weft::eq({sum, loc}, {0, loc});
    Tensor root = weft::pow({weft::where(nothing, {1, loc}, {sum, loc}, loc), loc}, {1 / p, loc});
    result = weft::where(nothing, {0, loc}, {root, loc}, loc);
  }
  return result.to(dtype(loc), loc);
}

Tensor Tensor::logsumexp(IntList dims, bool keepdim, Loc loc) const {
  Tensor real = asReal(*this, loc), a = widened(real, loc);
  DType result = real.dtype(loc);
  if (use(a, loc).spec().count() == 0)
    return a.exp(loc).sum(dims, keepdim, loc).log(loc).to(result, loc);
  // An infinite maximum is not subtracted, because inf - inf is NaN.
  Tensor top = a.detach(loc).amax(dims, true, loc);
  top = weft::where(weft::eq({top.abs(loc), loc}, {INFINITY, loc}), {0, loc}, {top, loc}, loc);
  Tensor sum = weft::sub({a, loc}, {top, loc}).exp(loc).sum(dims, true, loc);
  // If every term is 0, the logarithm is -inf and no gradient flows.
  Tensor isZero = weft::eq({sum, loc}, {0, loc});
  Tensor log = weft::add({weft::where(isZero, {1, loc}, {sum, loc}, loc).log(loc), loc}, {top, loc});
  log = weft::where(isZero, {-INFINITY, loc}, {log, loc}, loc);
  if (!keepdim) {
    Shape shape;
    std::vector<int64_t> wrapped = wrapDims(dims, dim(loc), loc);
    for (int64_t i = 0; i < dim(loc); ++i)
      if (!std::binary_search(wrapped.begin(), wrapped.end(), i))
        shape.push_back(sizes(loc)[static_cast<size_t>(i)]);
    log = log.reshape(shape, loc);
  }
  return log.to(result, loc);
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

Tensor Tensor::cumsum(int64_t dim, Loc loc) const { return scan("cumsum", *this, dim, loc); }
Tensor Tensor::cumprod(int64_t dim, Loc loc) const { return scan("cumprod", *this, dim, loc); }

} // namespace weft
