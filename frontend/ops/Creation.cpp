//===- Creation.cpp - Making tensors -------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/creation.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/HostConvert.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/Promotion.h"
#include "weft/dim.hpp"

#include <cmath>
#include <utility>

namespace weft {

using namespace frontend;

//===----------------------------------------------------------------------===//
// From numbers in the program
//===----------------------------------------------------------------------===//

TensorData::TensorData(std::initializer_list<TensorData> rows) : shape{static_cast<int64_t>(rows.size())} {
  if (rows.size() == 0)
    return;
  kind = DType::i1;
  const Shape &inner = rows.begin()->shape;
  shape.insert(shape.end(), inner.begin(), inner.end());
  for (const TensorData &row : rows) {
    if (problem.empty())
      problem = row.problem;
    if (problem.empty() && row.shape != inner)
      problem = "expected rows of shape " + shapeText(inner) + ", as the first one, and found one of shape " +
                shapeText(row.shape);
    reals.insert(reals.end(), row.reals.begin(), row.reals.end());
    wholes.insert(wholes.end(), row.wholes.begin(), row.wholes.end());
    if (row.kind != DType::i1)
      kind = kind == DType::f32 ? kind : row.kind;
  }
}

Tensor tensor(const TensorData &data, TensorOptions options, Loc loc) {
  if (!data.problem.empty())
    fail("tensor(): " + data.problem, loc);
  return Tensor::from(data, data.shape, options, loc);
}

Tensor Tensor::from(const TensorData &data, IntList shape, TensorOptions options, Loc loc) {
  if (!data.problem.empty())
    fail("Tensor::from(): " + data.problem, loc);
  // Converted here, because recording a conversion would compile a program for a few numbers.
  DType dtype = options.dtype.value_or(data.kind);
  if (data.kind == DType::i64 && !weft::is_floating_point(dtype) && dtype != DType::i1 &&
      dtype != DType::i64) {
    int bits = static_cast<int>(itemsize(dtype)) * 8;
    int64_t least = dtype == DType::ui8 ? 0 : -(int64_t{1} << (bits - 1));
    int64_t most = (int64_t{1} << (dtype == DType::ui8 ? bits : bits - 1)) - 1;
    for (int64_t number : data.wholes)
      if (number < least || number > most)
        fail("the number " + std::to_string(number) + " does not fit in " + std::string(name(dtype)), loc);
  }
  std::vector<std::byte> bytes(data.reals.size() * itemsize(dtype));
  if (data.kind == DType::f32)
    convertElements(DType::f64, reinterpret_cast<const std::byte *>(data.reals.data()), dtype, bytes.data(),
                    data.reals.size());
  else
    convertElements(DType::i64, reinterpret_cast<const std::byte *>(data.wholes.data()), dtype, bytes.data(),
                    data.wholes.size());
  return from_bytes(bytes.data(), bytes.size(), dtype, std::move(shape), options, loc);
}

//===----------------------------------------------------------------------===//
// Filled
//===----------------------------------------------------------------------===//

static Tensor filled(Shape shape, double value, TensorOptions options, DType dtype, Loc loc) {
  checkedCount(shape, loc);
  GraphLock lock(graphMutex());
  Device device = resolve(options.device);
  Tensor result =
      wrap(constant(Spec{options.dtype.value_or(dtype), std::move(shape), device}, value, loc), loc);
  if (options.requires_grad)
    result.requires_grad_(true, loc);
  return result;
}
Tensor empty(IntList shape, TensorOptions options, Loc loc) {
  // Zeros, and not `weft.undef`: a value must be the same each time it is read, whether it is fused into a
  // kernel or in memory, and a program must give the same bits in each run. Zeros that are overwritten are
  // never filled in.
  return filled(std::move(shape), 0, options, DType::f32, loc);
}
Tensor zeros(IntList shape, TensorOptions options, Loc loc) {
  return filled(std::move(shape), 0, options, DType::f32, loc);
}
Tensor ones(IntList shape, TensorOptions options, Loc loc) {
  return filled(std::move(shape), 1, options, DType::f32, loc);
}
Tensor full(IntList shape, const Arg &value, TensorOptions options, Loc loc) {
  // The value is a run-time scalar, so that a loop with ever new values compiles once.
  if (!options.dtype)
    options.dtype = resultType({operand(value)});
  bool requiresGrad = std::exchange(options.requires_grad, false);
  NoGradGuard guard;
  Tensor result = empty(std::move(shape), options, loc);
  Arg located = value;
  located.loc = loc;
  if (value.is_number)
    fillWith("full()", result, located, BeyondHalf::infinity);
  else
    result.fill_(located);
  return requiresGrad ? result.requires_grad_(true, loc) : result;
}
Tensor scalar(double value, TensorOptions options, Loc loc) { return full({}, {value, loc}, options, loc); }
Tensor zeros_like(const Tensor &like, Loc loc) { return zeros_like(like, LikeOptions(), loc); }
Tensor zeros_like(const Tensor &like, LikeOptions options, Loc loc) {
  return zeros(like.sizes(loc), filledIn(options, like, loc), loc);
}
Tensor ones_like(const Tensor &like, Loc loc) { return ones_like(like, LikeOptions(), loc); }
Tensor ones_like(const Tensor &like, LikeOptions options, Loc loc) {
  return ones(like.sizes(loc), filledIn(options, like, loc), loc);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

Tensor arange(int64_t n, TensorOptions options, Loc loc) {
  checkedCount({n}, loc);
  GraphLock lock(graphMutex());
  Device device = resolve(options.device);
  Ref value = recordTyped("iota", {{"dim", int64_t(0)}}, Spec{DType::i64, {n}, device}, loc);
  Tensor made = wrap(convertTo(value, options.dtype.value_or(DType::i64), loc), loc);
  return options.requires_grad ? made.requires_grad_(true, loc) : made;
}

Tensor arange(const Size &n, TensorOptions options, Loc loc) {
  if (!isAtLeast(n.entry(), 0))
    fail("arange(): the size " + n.str() + " may be negative", loc);
  return arange(n.entry(), options, loc);
}

Tensor frontend::sizeRange(const Size &start, const Size &end, const TensorOptions &options, Loc loc) {
  const Size count = end - start;
  if (!isAtLeast(count.entry(), 0))
    fail("arange(): from " + start.str() + " to " + end.str() + " there may be fewer than no elements", loc);
  GraphLock lock(graphMutex());
  Tensor made = arange(count.entry(), {.device = options.device}, loc);
  const Spec spec{DType::i64, {}, resolve(options.device)};
  if (!start.is_number())
    made = add({made, loc}, {wrap(recordTyped("dim", {{"size", start.entry()}}, spec, loc), loc), loc});
  else if (start.number() != 0)
    made = add({made, loc}, {start.number(), loc});
  made = made.to(options.dtype.value_or(DType::i64), loc);
  return options.requires_grad ? made.requires_grad_(true, loc) : made;
}

/// start + i * step, computed in f64 or i64 and rounded last.
static Tensor range(int64_t count, const Arg &start, const Arg &step, DType dtype, TensorOptions options,
                    Loc loc) {
  DType wide = start.is_real ? DType::f64 : DType::i64;
  Tensor made = arange(count, {.dtype = wide, .device = options.device}, loc);
  if (start.is_real ? step.real != 1 : step.whole != 1)
    made = mul({made, loc}, step);
  if (start.is_real ? start.real != 0 : start.whole != 0)
    made = add({made, loc}, start);
  made = made.to(options.dtype.value_or(dtype), loc);
  if (options.requires_grad)
    made.requires_grad_(true, loc);
  return made;
}

[[noreturn]] static void failStep(Loc loc) { fail("step must be nonzero", loc); }

static void checkDirection(bool backwards, Loc loc) {
  if (backwards)
    fail("upper bound and lower bound inconsistent with step sign", loc);
}

static Tensor wholeRange(int64_t start, int64_t end, int64_t step, TensorOptions options, Loc loc) {
  if (step == 0)
    failStep(loc);
  checkDirection(step > 0 ? end < start : end > start, loc);
  // Unsigned, because the distance of two i64 may overflow.
  uint64_t distance = step > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(start)
                               : static_cast<uint64_t>(start) - static_cast<uint64_t>(end);
  uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  uint64_t count = distance / stride + (distance % stride != 0);
  if (count > INT64_MAX)
    fail("arange(): more than 2^63 elements", loc);
  return range(static_cast<int64_t>(count), {start, loc}, {step, loc}, DType::i64, options, loc);
}

Tensor arange(const Arg &start, const Arg &end, const Arg &step, TensorOptions options, Loc loc) {
  for (const Arg *bound : {&start, &end, &step})
    if (!bound->is_number)
      fail("arange(): bounds and step are numbers, found a tensor", loc);
  if (!start.is_real && !end.is_real && !step.is_real)
    return wholeRange(start.whole, end.whole, step.whole, options, loc);
  if (!std::isfinite(start.real) || !std::isfinite(end.real) || !std::isfinite(step.real))
    fail("unsupported range: " + std::to_string(start.real) + " -> " + std::to_string(end.real), loc);
  if (step.real == 0)
    failStep(loc);
  checkDirection(step.real > 0 ? end.real < start.real : end.real > start.real, loc);
  double count = std::ceil((end.real - start.real) / step.real);
  if (count > 0x1p60)
    fail("arange(): invalid size, possible overflow", loc);
  DType dtype = options.dtype.value_or(DType::f32);
  if (is_floating_point(dtype))
    return range(static_cast<int64_t>(count), {start.real, loc}, {step.real, loc}, dtype, options, loc);
  // For an integer dtype, fractions are dropped first and the count is taken in i64.
  for (const Arg *bound : {&start, &end, &step})
    if (std::abs(bound->real) >= 0x1p63)
      fail("arange(): " + std::to_string(bound->real) + " does not fit in " + std::string(name(dtype)), loc);
  auto from = static_cast<int64_t>(start.real), by = static_cast<int64_t>(step.real);
  if (dtype == DType::i64)
    return wholeRange(from, static_cast<int64_t>(end.real), by, options, loc);
  return range(static_cast<int64_t>(count), {from, loc}, {by, loc}, dtype, options, loc);
}

Tensor logspace(double start, double end, int64_t steps, double base, TensorOptions options, Loc loc) {
  TensorOptions wide{.dtype = DType::f64, .device = options.device};
  Tensor exponents = linspace(start, end, steps, wide, loc);
  Tensor made = pow({base, loc}, {exponents, loc}).to(options.dtype.value_or(DType::f32), loc);
  return options.requires_grad ? made.requires_grad_(true, loc) : made;
}

Tensor linspace(double start, double end, int64_t steps, TensorOptions options, Loc loc) {
  if (steps < 0)
    fail("number of steps must be non-negative, found " + std::to_string(steps), loc);
  DType dtype = options.dtype.value_or(DType::f32);
  if (!is_floating_point(dtype)) { // the bounds have to be of that dtype too
    start = std::trunc(start);
    end = std::trunc(end);
  }
  double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  // Computed from both ends towards the middle, so that both ends are exact.
  TensorOptions wide{.dtype = DType::f64, .device = options.device};
  Tensor number = arange(steps, wide, loc);
  Tensor rising = add({mul({number, loc}, {step, loc}), loc}, {start, loc});
  Tensor rest = sub({static_cast<double>(steps - 1), loc}, {number, loc});
  Tensor falling = sub({end, loc}, {mul({rest, loc}, {step, loc}), loc});
  const int64_t half = steps / 2;
  Tensor lower = lt({number, loc}, {static_cast<double>(half), loc});
  Tensor made = (steps == 1 ? rising : where(lower, {rising, loc}, {falling, loc}, loc)).to(dtype, loc);
  if (options.requires_grad)
    made.requires_grad_(true, loc);
  return made;
}

Tensor eye(int64_t n, std::optional<int64_t> m, TensorOptions options, Loc loc) {
  int64_t columns = m.value_or(n);
  checkedCount({n, columns}, loc);
  Tensor row = arange(n, {.device = options.device}, loc).reshape({n, 1}, loc);
  Tensor column = arange(columns, {.device = options.device}, loc).reshape({1, columns}, loc);
  Tensor made = eq({row, loc}, {column, loc}).to(options.dtype.value_or(DType::f32), loc);
  if (options.requires_grad)
    made.requires_grad_(true, loc);
  return made;
}

Tensor full_like(const Tensor &like, const Arg &value, Loc loc) {
  return full_like(like, value, LikeOptions(), loc);
}
Tensor full_like(const Tensor &like, const Arg &value, LikeOptions options, Loc loc) {
  Arg located = value;
  located.loc = loc;
  const TensorOptions whole = filledIn(options, like, loc);
  refuseOverflow("full_like()", *whole.dtype, located, {});
  return full(like.sizes(loc), value, whole, loc);
}

Tensor empty_like(const Tensor &like, Loc loc) { return empty_like(like, LikeOptions(), loc); }
Tensor empty_like(const Tensor &like, LikeOptions options, Loc loc) {
  return empty(like.sizes(loc), filledIn(options, like, loc), loc);
}

} // namespace weft
