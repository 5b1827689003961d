//===- Promotion.cpp - Common types and shapes of operands, as PyTorch ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/Promotion.h"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace weft::frontend {

Category category(DType dtype) {
  return dtype == DType::i1         ? Category::boolean
         : is_floating_point(dtype) ? Category::real
                                    : Category::integer;
}

DType promote(DType a, DType b) {
  if (a == b)
    return a;
  if (category(a) != category(b))
    return category(a) > category(b) ? a : b;
  if (category(a) == Category::real) {
    bool halves = itemsize(a) == 2 && itemsize(b) == 2; // f16 with bf16
    return halves ? DType::f32 : itemsize(a) > itemsize(b) ? a : b;
  }
  // ui8 with i8 becomes i16, which holds both; a wider signed type holds ui8 already.
  if (itemsize(a) == itemsize(b))
    return DType::i16;
  return itemsize(a) > itemsize(b) ? a : b;
}

Operand operand(const Arg &arg) {
  Operand result;
  if (arg.is_number) {
    result.number = &arg;
    result.kind = arg.is_bool ? Category::boolean : arg.is_real ? Category::real : Category::integer;
    return result;
  }
  result.value = use(arg.tensor, arg.loc);
  result.kind = category(result.value.spec().dtype);
  result.priority = arg.is_scalar ? 0 : result.value.spec().shape.empty() ? 1 : 2;
  return result;
}

DType resultType(const std::vector<Operand> &operands) {
  std::optional<DType> type;
  Category reached = Category::boolean;
  for (int priority = 2; priority >= 0; --priority) {
    std::optional<DType> level;
    for (const Operand &o : operands) {
      if (o.priority != priority)
        continue;
      DType own = o.value && o.priority > 0     ? o.value.spec().dtype
                  : o.kind == Category::real    ? DType::f32
                  : o.kind == Category::integer ? DType::i64
                                                : DType::i1;
      level = level ? promote(*level, own) : own;
    }
    if (!level)
      continue;
    if (!type || category(*level) > reached)
      type = level;
    reached = category(*type);
  }
  return *type;
}

Shape broadcastShape(const std::vector<Operand> &operands, Loc loc) {
  Shape shape;
  Ref first;
  for (const Operand &o : operands) {
    if (!o.value)
      continue;
    const Shape &own = o.value.spec().shape;
    if (!first)
      first = o.value;
    size_t rank = std::max(shape.size(), own.size());
    Shape merged(rank, 1);
    for (size_t i = 0; i < rank; ++i) {
      int64_t a = i < shape.size() ? shape[shape.size() - 1 - i] : 1,
              b = i < own.size() ? own[own.size() - 1 - i] : 1;
      if (a != b && a != 1 && b != 1)
        fail("The size of tensor a (" + sizeText(a) + ") must match the size of tensor b (" + sizeText(b) +
                 ") at non-singleton dimension " + std::to_string(rank - 1 - i),
             loc, {first, o.value});
      merged[rank - 1 - i] = a == 1 ? b : a;
    }
    shape = std::move(merged);
  }
  return shape;
}

/// A 0-dimensional tensor on the host may be combined with operands on another device without being moved.
static bool isHostScalar(const Operand &o) {
  return o.value && o.priority <= 1 && o.value.spec().device.is_cpu();
}

Ref materialise(const Operand &o, DType dtype, const Shape &shape, Device device, Loc loc) {
  Ref value = o.number ? number(dtype, device, *o.number, loc) : convertTo(o.value, dtype, loc);
  if (isHostScalar(o))
    value = movedInBody(std::move(value), device, loc);
  return isHostScalar(o) && value.spec().device != device ? value : broadcastTo(value, shape, loc);
}

Device deviceOf(const std::vector<Operand> &operands) {
  std::optional<Device> host;
  for (const Operand &o : operands) {
    if (o.value && !isHostScalar(o))
      return o.value.spec().device;
    if (o.value)
      host = o.value.spec().device;
  }
  return host.value_or(Device());
}

std::vector<Ref> promote(const char *name, const std::vector<Arg> &arguments, Loc loc, bool toReal) {
  std::vector<Operand> operands;
  std::vector<Ref> tensors;
  for (const Arg &argument : arguments) {
    operands.push_back(operand(argument));
    if (operands.back().value)
      tensors.push_back(operands.back().value);
  }
  if (tensors.empty())
    fail("an operation needs at least one tensor", loc);
  // Devices are checked first, because an error about shapes would not help with operands on two devices.
  Device device = deviceOf(operands);
  for (const Operand &o : operands)
    if (o.value && o.value.spec().device != device && !isHostScalar(o))
      record(name, tensors, {}, loc);
  DType dtype = resultType(operands);
  if (toReal && !is_floating_point(dtype))
    dtype = DType::f32;
  Shape shape = broadcastShape(operands, loc);
  std::vector<Ref> values;
  for (const Operand &o : operands)
    values.push_back(materialise(o, dtype, shape, device, loc));
  return values;
}

void refuseZeroDivisor(const std::vector<Ref> &values, const Arg &divisor) {
  if (divisor.is_number && divisor.whole == 0 && !is_floating_point(values[0].spec().dtype))
    fail("integer division by zero: there is no quotient or remainder of integers for the number 0. Convert "
         "to a "
         "floating-point type first; a tensor that holds zeros divides to -1 and leaves the dividend as "
         "remainder",
         divisor.loc, values);
}

double largestOf(DType dtype) {
  switch (dtype) {
  case DType::f16:
    return 65504;
  case DType::bf16:
    return std::ldexp(255.0, 120);
  case DType::f32:
    return std::numeric_limits<float>::max();
  default:
    return std::numeric_limits<double>::max();
  }
}

void refuseOverflow(const char *function, DType dtype, const Arg &value, const std::vector<Ref> &values,
                    BeyondHalf half) {
  if (!value.is_number || dtype == DType::i1)
    return;
  const auto refuse = [&](const std::string &given, const std::string &held) {
    fail("value cannot be converted to type " + std::string(name(dtype)) + " without overflow: " + function +
             " was given " + given + ", and " + std::string(name(dtype)) + " holds " + held +
             ". Convert the tensor to a wider type first",
         value.loc, values);
  };
  if (is_floating_point(dtype)) {
    const bool isHalf = dtype == DType::f16 || dtype == DType::bf16;
    const double largest = largestOf(dtype);
    if (!std::isfinite(value.real) || std::abs(value.real) <= largest ||
        (isHalf && half == BeyondHalf::infinity))
      return;
    const auto text = [](double number) {
      std::array<char, 32> digits; // NOLINT(cppcoreguidelines-pro-type-member-init)
      std::snprintf(digits.data(), digits.size(), "%.9g", number);
      return std::string(digits.data());
    };
    return refuse(value.is_real ? text(value.real) : std::to_string(value.whole),
                  "finite numbers from " + text(-largest) + " to " + text(largest));
  }
  const bool isUnsigned = dtype == DType::ui8;
  const auto bits = static_cast<int>(8 * itemsize(dtype)) - (isUnsigned ? 0 : 1);
  const double above = std::ldexp(1.0, bits), below = isUnsigned ? 1 - above : -above; // in [below, above)
  // For an integer, `real` may be rounded, but only beyond 2^53.
  if (value.is_real || bits < 63 ? value.real >= below && value.real < above : true)
    return;
  refuse(value.is_real ? std::to_string(value.real) : std::to_string(value.whole),
         (isUnsigned ? std::string("0") : std::to_string(-(int64_t(1) << (bits - 1)) * 2)) + " to " +
             std::to_string(((int64_t(1) << (bits - 1)) - 1) * 2 + 1));
}

void fillWith(const char *function, Tensor &target, const Arg &value, BeyondHalf half) {
  GraphLock lock(graphMutex());
  const Spec spec = use(target, value.loc).spec();
  refuseOverflow(function, spec.dtype, value, {}, half);
  target.copy_(wrap(number(spec.dtype, spec.device, value, value.loc), value.loc), value.loc);
}

Tensor binary(const char *name, const Arg &a, const Arg &b, bool toReal) {
  GraphLock lock(graphMutex());
  Loc loc = b.loc;
  std::vector<Ref> values = promote(name, {a, b}, loc, toReal);
  std::string_view op = name;
  auto isBool = [](const Arg &arg) { return arg.is_number ? arg.is_bool : arg.tensor.dtype() == DType::i1; };
  if (op == "sub" && (isBool(a) || isBool(b)))
    fail("Subtraction, the `-` operator, with " +
             std::string(isBool(a) && isBool(b) ? "two bool tensors" : "a bool tensor") +
             " is not supported: convert it first, or use the `!=` operator or logical_not",
         loc, values);
  if (op == "mod" || op == "rem")
    refuseZeroDivisor(values, b);
  if (values[0].spec().dtype == DType::i1) {
    // Arithmetic on bool as PyTorch defines it.
    if (op == "add" || op == "max")
      name = "or";
    else if (op == "mul" || op == "min")
      name = "and";
  }
  return wrap(record1(name, std::move(values), {}, loc), loc);
}

Tensor unary(const char *name, const Tensor &a, Loc loc, bool toReal) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  if (toReal && !is_floating_point(value.spec().dtype))
    value = convertTo(value, DType::f32, loc);
  return wrap(record1(name, {value}, {}, loc), loc);
}

} // namespace weft::frontend
