//===- Normalize.cpp - softmax, layer_norm, dropout ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/Ops.h"
#include "frontend/ops/State.h"
#include "weft/random.hpp"
#include "weft/reduce.hpp"

#include <algorithm>
#include <limits>

namespace weft {

using namespace frontend;

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
static Tensor alongDimIn(const char *op, const Tensor &a, int64_t dim, DType dtype, Loc loc) {
  if (!is_floating_point(dtype))
    fail(std::string(op) + "_lastdim_kernel_impl not implemented for " + std::string(name(dtype)) +
             ": ask for a floating-point dtype, such as weft::f32",
         loc, {use(a, loc)});
  return alongDim(op, a.to(dtype, loc), dim, loc);
}
Tensor softmax(const Tensor &a, int64_t dim, Loc loc) { return alongDim("softmax", a, dim, loc); }
Tensor log_softmax(const Tensor &a, int64_t dim, Loc loc) { return alongDim("log_softmax", a, dim, loc); }
Tensor Tensor::softmax(int64_t dim, Loc loc) const { return weft::softmax(*this, dim, loc); }
Tensor Tensor::log_softmax(int64_t dim, Loc loc) const { return weft::log_softmax(*this, dim, loc); }
Tensor Tensor::softmax(int64_t dim, DType dtype, Loc loc) const {
  return alongDimIn("softmax", *this, dim, dtype, loc);
}
Tensor Tensor::log_softmax(int64_t dim, DType dtype, Loc loc) const {
  return alongDimIn("log_softmax", *this, dim, dtype, loc);
}

/// Throws Error unless the trailing dimensions of `value` are `normalized_shape`.
static void checkTrailing(const Ref &value, const Shape &normalized_shape, Loc loc) {
  const Shape &shape = value.spec().shape;
  size_t inner = normalized_shape.size();
  if (inner == 0)
    fail("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but "
         "got normalized_shape = []",
         loc, {value});
  if (inner > shape.size() || !std::equal(normalized_shape.rbegin(), normalized_shape.rend(), shape.rbegin()))
    fail("Given normalized_shape=" + shapeText(normalized_shape) + ", expected input with shape [*, " +
             shapeText(normalized_shape).substr(1) + ", but got input of size " + shapeText(shape),
         loc, {value});
}

Tensor layer_norm(const Tensor &a, const Shape &normalized_shape, const Tensor &weight, const Tensor &bias,
                  double eps, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  checkFloat(value, "layer_norm()", loc);
  checkTrailing(value, normalized_shape, loc);
  const Shape &shape = value.spec().shape;
  std::vector<Ref> operands{value};
  for (const Tensor *part : {&weight, &bias}) {
    if (!part->defined())
      continue;
    operands.push_back(use(*part, loc));
    if (operands.back().spec().shape != normalized_shape) {
      std::string text = part == &weight
                             ? "Expected weight to be of same shape as normalized_shape, but got weight"
                             : "Expected bias to be of same shape as normalized_shape, but got bias";
      text += " of shape " + shapeText(operands.back().spec().shape);
      text += " and normalized_shape = " + shapeText(normalized_shape);
      fail(text, loc, {operands.back()});
    }
  }
  auto axis = static_cast<int64_t>(shape.size() - normalized_shape.size());
  auto node = record("layer_norm", operands,
                     {{"axis", axis},
                      {"eps", eps},
                      {"operandSegmentSizes", std::vector<int64_t>{1, weight.defined(), bias.defined()}}},
                     loc);
  return wrap({node, 0}, loc);
}

Tensor rms_norm(const Tensor &a, const Shape &normalized_shape, const Tensor &weight,
                std::optional<double> eps, Loc loc) {
  Ref value = use(a, loc);
  checkFloat(value, "rms_norm()", loc);
  checkTrailing(value, normalized_shape, loc);
  if (weight.defined() && weight.sizes(loc) != normalized_shape)
    fail("Expected weight to be of same shape as normalized_shape, but got weight of shape " +
             shapeText(weight.sizes(loc)) + " and normalized_shape = " + shapeText(normalized_shape),
         loc, {use(weight, loc)});
  DType dtype = a.dtype(loc);
  Tensor wide = widened(a, loc);
  double least = dtype == DType::f64 ? std::numeric_limits<double>::epsilon()
                                     : double(std::numeric_limits<float>::epsilon());
  std::vector<int64_t> dims;
  for (size_t i = 1; i <= normalized_shape.size(); ++i)
    dims.push_back(-static_cast<int64_t>(i));
  Tensor mean = mul({wide, loc}, {wide, loc}).mean(dims, true, loc);
  Tensor root = add({mean, loc}, {eps.value_or(least), loc}).rsqrt(loc);
  Tensor result = mul({wide, loc}, {root, loc}).to(dtype, loc);
  return weight.defined() ? mul({result, loc}, {weight, loc}) : result;
}

Tensor dropout(const Tensor &a, double p, bool training, Loc loc) {
  if (!(p >= 0 && p <= 1))
    fail("dropout probability has to be between 0 and 1, but got " + std::to_string(p), loc);
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  checkFloat(value, "dropout()", loc);
  if (!training || p == 0)
    return a;
  const DrawState state = stateFor(default_generator(), value.spec().device, loc);
  auto node = record("dropout", {value, state.key, state.counter}, {{"p", p}}, loc);
  advance(default_generator(), {node, 1}, loc);
  return wrap({node, 0}, loc);
}

} // namespace weft
