//===- Elementwise.cpp - Operators, promotion, broadcasting -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/Lazy.h"
#include "frontend/Ops.h"
#include "ir/DimExpr.h"

#include <algorithm>

namespace weft {

using namespace frontend;

namespace {

//===----------------------------------------------------------------------===//
// Promotion, as PyTorch
//===----------------------------------------------------------------------===//

enum class Category { boolean, integer, real };
Category category(DType dtype) {
  return dtype == DType::i1         ? Category::boolean
         : is_floating_point(dtype) ? Category::real
                                    : Category::integer;
}

/// The common type of two tensors of equal priority.
DType promote(DType a, DType b) {
  if (a == b)
    return a;
  if (category(a) != category(b))
    return category(a) > category(b) ? a : b;
  if (category(a) == Category::real) {
    bool halves = itemsize(a) == 2 && itemsize(b) == 2; // f16 with bf16
    return halves ? DType::f32 : itemsize(a) > itemsize(b) ? a : b;
  }
  // ui8 with i8 needs a type that holds both; a wider signed type holds ui8.
  if (itemsize(a) == itemsize(b))
    return DType::i16;
  return itemsize(a) > itemsize(b) ? a : b;
}

struct Operand {
  Ref value; ///< null for a number
  const Arg *number = nullptr;
  Category kind = Category::boolean;
  int priority = 0; ///< 2: tensor with dimensions, 1: 0-dimensional tensor, 0: number
};

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

/// A lower-priority operand counts only if its category is higher.
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
        fail("The size of tensor a (" + ir::sizeText(a) + ") must match the size of tensor b (" +
                 ir::sizeText(b) + ") at non-singleton dimension " + std::to_string(rank - 1 - i),
             loc, {first, o.value});
      merged[rank - 1 - i] = a == 1 ? b : a;
    }
    shape = std::move(merged);
  }
  return shape;
}

/// The operand as a value of this type and shape.
Ref materialise(const Operand &o, DType dtype, const Shape &shape, Device device, Loc loc) {
  Ref value =
      o.number
          ? number(dtype, device, o.number->is_real ? o.number->real : static_cast<double>(o.number->whole),
                   o.number->is_real ? static_cast<int64_t>(o.number->real) : o.number->whole, loc)
          : convertTo(o.value, dtype, loc);
  return broadcastTo(value, shape, loc);
}

Device deviceOf(const std::vector<Operand> &operands) {
  for (const Operand &o : operands)
    if (o.value)
      return o.value.spec().device;
  return {};
}

/// A wrapped result; a program that never reads a value must not grow for ever.
Tensor finish(Ref value, Loc loc) {
  Tensor result = wrap(std::move(value), loc);
  flushIfLarge();
  return result;
}

Tensor binary(const char *name, const Arg &a, const Arg &b, bool toReal = false) {
  GraphLock lock(graphMutex());
  Loc loc = b.loc;
  std::vector<Operand> operands{operand(a), operand(b)};
  if (!operands[0].value && !operands[1].value)
    fail("an operation needs at least one tensor", loc);
  // Devices come first: the shapes of operands that cannot meet are of no interest.
  if (operands[0].value && operands[1].value &&
      operands[0].value.spec().device != operands[1].value.spec().device)
    record(name, {operands[0].value, operands[1].value}, {}, loc);
  DType dtype = resultType(operands);
  if (toReal && !is_floating_point(dtype))
    dtype = DType::f32;
  if (dtype == DType::i1) {
    // Arithmetic on bool as PyTorch defines it.
    std::string_view op = name;
    if (op == "add" || op == "max")
      name = "or";
    else if (op == "mul" || op == "min")
      name = "and";
    else if (op == "sub")
      fail("Subtraction, the `-` operator, with two bool tensors is not supported: use the `!=` operator or "
           "logical_not",
           loc, {operands[0].value, operands[1].value});
  }
  Shape shape = broadcastShape(operands, loc);
  Device device = deviceOf(operands);
  return finish(record1(name,
                        {materialise(operands[0], dtype, shape, device, loc),
                         materialise(operands[1], dtype, shape, device, loc)},
                        {}, loc),
                loc);
}

Tensor unary(const char *name, const Tensor &a, Loc loc, bool toReal) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  if (toReal && !is_floating_point(value.spec().dtype))
    value = convertTo(value, DType::f32, loc);
  return finish(record1(name, {value}, {}, loc), loc);
}

/// Rounding an integer changes nothing.
Tensor rounding(const char *name, const Tensor &a, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  return is_floating_point(value.spec().dtype) ? unary(name, a, loc, false) : wrap(value, loc);
}

} // namespace

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

Tensor add(const Arg &a, const Arg &b) { return binary("add", a, b); }
Tensor sub(const Arg &a, const Arg &b) { return binary("sub", a, b); }
Tensor mul(const Arg &a, const Arg &b) { return binary("mul", a, b); }
Tensor div(const Arg &a, const Arg &b) { return binary("div", a, b, /*toReal=*/true); }
Tensor eq(const Arg &a, const Arg &b) { return binary("eq", a, b); }
Tensor ne(const Arg &a, const Arg &b) { return binary("ne", a, b); }
Tensor lt(const Arg &a, const Arg &b) { return binary("lt", a, b); }
Tensor le(const Arg &a, const Arg &b) { return binary("le", a, b); }
Tensor gt(const Arg &a, const Arg &b) { return binary("gt", a, b); }
Tensor ge(const Arg &a, const Arg &b) { return binary("ge", a, b); }
Tensor maximum(const Arg &a, const Arg &b) { return binary("max", a, b); }
Tensor minimum(const Arg &a, const Arg &b) { return binary("min", a, b); }

static Tensor toBool(const Arg &a) {
  if (a.is_number)
    return scalar(a.is_real ? a.real != 0 : a.whole != 0, {.dtype = DType::i1}, a.loc);
  return a.tensor.to(DType::i1, a.loc);
}
Tensor logical_and(const Arg &a, const Arg &b) {
  return binary("and", {toBool(a), a.loc}, {toBool(b), b.loc});
}
Tensor logical_or(const Arg &a, const Arg &b) { return binary("or", {toBool(a), a.loc}, {toBool(b), b.loc}); }
Tensor logical_not(const Arg &a) { return unary("bnot", toBool(a), a.loc, false); }

Tensor pow(const Arg &a, const Arg &b) {
  // A number that selects the formula is part of the program, as in PyTorch.
  if (b.is_number) {
    double exponent = b.is_real ? b.real : static_cast<double>(b.whole);
    Loc loc = b.loc;
    if (exponent == 2)
      return binary("mul", a, {a.tensor, loc});
    if (exponent == 3)
      return binary("mul", {binary("mul", a, {a.tensor, loc}), loc}, {a.tensor, loc});
    if (exponent == 0.5)
      return sqrt(a.tensor, loc);
    if (exponent == -0.5)
      return rsqrt(a.tensor, loc);
    if (exponent == -1)
      return reciprocal(a.tensor, loc);
  }
  return binary("pow", a, b, /*toReal=*/true);
}

Tensor neg(const Arg &a) {
  if (a.is_number)
    return scalar(-(a.is_real ? a.real : static_cast<double>(a.whole)), {}, a.loc);
  return unary("neg", a.tensor, a.loc, false);
}

Tensor where(const Tensor &condition, const Arg &a, const Arg &b, Loc loc) {
  GraphLock lock(graphMutex());
  Operand c;
  c.value = convertTo(use(condition, loc), DType::i1, loc);
  std::vector<Operand> values{operand(a), operand(b)};
  DType dtype = resultType(values);
  Shape shape = broadcastShape({c, values[0], values[1]}, loc);
  Device device = c.value.spec().device;
  return finish(record1("select",
                        {broadcastTo(c.value, shape, loc), materialise(values[0], dtype, shape, device, loc),
                         materialise(values[1], dtype, shape, device, loc)},
                        {}, loc),
                loc);
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

#define WEFT_REAL_UNARY(function, op)                                                                        \
  Tensor function(const Tensor &a, Loc loc) { return unary(op, a, loc, true); }
WEFT_REAL_UNARY(exp, "exp")
WEFT_REAL_UNARY(expm1, "expm1")
WEFT_REAL_UNARY(log, "log")
WEFT_REAL_UNARY(log1p, "log1p")
WEFT_REAL_UNARY(sin, "sin")
WEFT_REAL_UNARY(cos, "cos")
WEFT_REAL_UNARY(sqrt, "sqrt")
WEFT_REAL_UNARY(rsqrt, "rsqrt")
WEFT_REAL_UNARY(reciprocal, "recip")
WEFT_REAL_UNARY(tanh, "tanh")
WEFT_REAL_UNARY(sigmoid, "sigmoid")
WEFT_REAL_UNARY(erf, "erf")
Tensor abs(const Tensor &a, Loc loc) { return unary("abs", a, loc, false); }
Tensor sign(const Tensor &a, Loc loc) { return unary("sign", a, loc, false); }
Tensor ceil(const Tensor &a, Loc loc) { return rounding("ceil", a, loc); }
Tensor floor(const Tensor &a, Loc loc) { return rounding("floor", a, loc); }
Tensor round(const Tensor &a, Loc loc) { return rounding("round", a, loc); }
Tensor trunc(const Tensor &a, Loc loc) { return rounding("trunc", a, loc); }

Tensor isnan(const Tensor &a, Loc loc) {
  if (!is_floating_point(a.dtype()))
    return zeros(a.sizes(), {.dtype = DType::i1, .device = a.device()}, loc);
  return unary("isnan", a, loc, false);
}

Tensor relu(const Tensor &a, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  // The mark gives max its one-sided derivative: 0 where a is 0.
  return finish(record1("max", {value, constant(value.spec(), 0, loc)}, {{"weft.relu", true}}, loc), loc);
}

Tensor gelu(const Tensor &a, const std::string &approximate, Loc loc) {
  Arg x(a, loc);
  if (approximate == "tanh") {
    Tensor cubic = mul(x, {mul(x, x), loc});
    Tensor inner = mul({add(x, {mul({cubic, loc}, {0.044715, loc}), loc}), loc}, {0.7978845608028654, loc});
    return mul({mul(x, {0.5, loc}), loc}, {add({tanh(inner, loc), loc}, {1.0, loc}), loc});
  }
  if (approximate != "none")
    fail("gelu: 'approximate' must be \"none\" or \"tanh\", found \"" + approximate + "\"", loc);
  Tensor half = mul(x, {0.5, loc});
  Tensor e = erf(mul(x, {0.7071067811865476, loc}), loc);
  return mul({half, loc}, {add({e, loc}, {1.0, loc}), loc});
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static Tensor filled(Shape shape, double value, TensorOptions options, DType dtype, Loc loc) {
  checkedCount(shape, loc);
  GraphLock lock(graphMutex());
  Device device = options.device;
  if (device.is_cuda() && !device.index())
    device = Device(DeviceType::cuda, 0);
  Tensor result =
      wrap(constant(Spec{options.dtype.value_or(dtype), std::move(shape), device}, value, loc), loc);
  if (options.requires_grad)
    result.requires_grad_();
  return result;
}
Tensor empty(Shape shape, TensorOptions options, Loc loc) {
  return filled(std::move(shape), 0, options, DType::f32, loc);
}
Tensor zeros(Shape shape, TensorOptions options, Loc loc) {
  return filled(std::move(shape), 0, options, DType::f32, loc);
}
Tensor ones(Shape shape, TensorOptions options, Loc loc) {
  return filled(std::move(shape), 1, options, DType::f32, loc);
}
Tensor full(Shape shape, double value, TensorOptions options, Loc loc) {
  return filled(std::move(shape), value, options, DType::f32, loc);
}
Tensor scalar(double value, TensorOptions options, Loc loc) {
  return filled({}, value, options, DType::f32, loc);
}
Tensor zeros_like(const Tensor &like, Loc loc) {
  return zeros(like.sizes(), {.dtype = like.dtype(), .device = like.device()}, loc);
}
Tensor ones_like(const Tensor &like, Loc loc) {
  return ones(like.sizes(), {.dtype = like.dtype(), .device = like.device()}, loc);
}

#define WEFT_METHOD(name)                                                                                    \
  Tensor Tensor::name(Loc loc) const { return weft::name(*this, loc); }
WEFT_METHOD(exp)
WEFT_METHOD(log)
WEFT_METHOD(sqrt)
WEFT_METHOD(tanh)
WEFT_METHOD(sigmoid)
WEFT_METHOD(relu)
WEFT_METHOD(abs)

} // namespace weft
