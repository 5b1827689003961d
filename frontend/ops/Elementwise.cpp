//===- Elementwise.cpp - Operators, functions of one tensor, creation -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"

#include "frontend/ops/Promotion.h"
#include "weft/math.hpp"
#include <algorithm>
#include <utility>

namespace weft {

using namespace frontend;

namespace {

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

/// Throws the error about a floating-point operand of a function for integers and bools.
[[noreturn]] static void refuseDType(const char *function, const Arg &a, Loc loc) {
  const std::string type = a.is_number ? "a real number" : "'" + std::string(name(a.tensor.dtype(loc))) + "'";
  fail("\"" + std::string(function) + "\" not implemented for " + type +
           ": it takes integers and bools; compare the operand, or convert it with .to(weft::i64)",
       loc, a.is_number ? std::vector<Ref>() : std::vector<Ref>{use(a.tensor, loc)});
}

static Tensor toBool(const Arg &a) {
  if (a.is_number)
    return scalar(a.real != 0, onHost(DType::i1), a.loc);
  return a.tensor.to(DType::i1, a.loc);
}
Tensor logical_and(const Arg &a, const Arg &b) {
  return binary("and", {toBool(a), a.loc}, {toBool(b), b.loc});
}
Tensor logical_or(const Arg &a, const Arg &b) { return binary("or", {toBool(a), a.loc}, {toBool(b), b.loc}); }
Tensor logical_xor(const Arg &a, const Arg &b) {
  return binary("xor", {toBool(a), a.loc}, {toBool(b), b.loc});
}
static Tensor bitwise(const char *function, const char *op, const Arg &a, const Arg &b) {
  for (const Arg *arg : {&a, &b}) {
    if (arg->is_number ? arg->is_real : is_floating_point(arg->tensor.dtype(b.loc)))
      refuseDType(function, *arg, b.loc);
  }
  return binary(op, a, b);
}
Tensor bitwise_and(const Arg &a, const Arg &b) { return bitwise("bitwise_and", "and", a, b); }
Tensor bitwise_or(const Arg &a, const Arg &b) { return bitwise("bitwise_or", "or", a, b); }
Tensor bitwise_xor(const Arg &a, const Arg &b) { return bitwise("bitwise_xor", "xor", a, b); }
Tensor bitwise_not(const Arg &a) {
  if (a.is_number)
    fail("bitwise_not: expected a tensor, found a number", a.loc);
  if (is_floating_point(a.tensor.dtype(a.loc)))
    refuseDType("bitwise_not", a, a.loc);
  return unary("bnot", a.tensor, a.loc);
}
static Tensor rest(const char *function, const char *op, const Arg &a, const Arg &b) {
  if (resultType({operand(a), operand(b)}) == DType::i1)
    fail(std::string(function) +
             ": remainders of two bool tensors are not supported: convert one to a number first",
         b.loc);
  return binary(op, a, b);
}
Tensor remainder(const Arg &a, const Arg &b) { return rest("remainder", "mod", a, b); }
Tensor fmod(const Arg &a, const Arg &b) { return rest("fmod", "rem", a, b); }
Tensor atan2(const Arg &a, const Arg &b) { return binary("atan2", a, b, /*toReal=*/true); }
Tensor copysign(const Arg &a, const Arg &b) { return binary("copysign", a, b, /*toReal=*/true); }
Tensor operator!(const Tensor &a) {
  const auto &slot = Access::slot(a);
  return logical_not({a, slot ? slot->loc : Loc()});
}
Tensor logical_not(const Arg &a) { return unary("bnot", toBool(a), a.loc, false); }

/// The exponent selects the formula, so it is part of the program. The special cases are PyTorch's: 0.5 is a
/// square root (so -0 stays -0, and -inf gives NaN), and 3 rounds twice.
static Tensor powNumber(const Arg &a, const Arg &b) {
  Loc loc = b.loc;
  double exponent = b.real;
  DType dtype = resultType({operand(a), operand(b)});
  Ref x = convertTo(use(a.tensor, a.loc), dtype, loc);
  auto op = [&](const char *name, const Ref &first, const Ref &second) {
    return record1(name, {first, second}, {}, loc);
  };
  if (!is_floating_point(dtype) && exponent < 0)
    fail("Integers to negative integer powers are not allowed: convert the tensor to a floating-point type "
         "first, or "
         "make the exponent " +
             std::to_string(b.whole) + " a tensor",
         loc, {x});
  if (dtype != DType::f32) // PyTorch rounds an exponent to f32
    refuseOverflow("pow()", dtype, b, {x});
  Ref y;
  if (dtype == DType::i1) // and the exponent false or true
    return wrap(exponent == 0 ? constant(x.spec(), 1, loc) : sameValue(x, loc), loc);
  // For f16, PyTorch does not use the square root.
  bool roots = dtype != DType::f16;
  if (exponent == 1)
    y = sameValue(x, loc);
  else if (exponent == 2)
    y = op("mul", x, x);
  else if (exponent == 3)
    y = op("mul", op("mul", x, x), x);
  else if (exponent == 0.5 && roots)
    y = record1("sqrt", {x}, {}, loc);
  else if (exponent == -0.5 && roots)
    y = record1("rsqrt", {x}, {}, loc);
  else if (exponent == -1)
    y = record1("recip", {x}, {}, loc);
  else
    y = op("pow", x, constant(x.spec(), exponent, loc));
  return wrap(y, loc);
}

Tensor pow(const Arg &a, const Arg &b) {
  GraphLock lock(graphMutex());
  if (b.is_number && !a.is_number)
    return powNumber(a, b);
  if (resultType({operand(a), operand(b)}) == DType::i1)
    refuseDType("pow", a.is_number ? b : a, b.loc);
  return binary("pow", a, b);
}

Tensor neg(const Arg &a) {
  if (a.is_number)
    return scalar(-a.real, {}, a.loc);
  if (a.tensor.dtype(a.loc) == DType::i1)
    fail("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
         "use the `~` or `logical_not()` operator instead.",
         a.loc, {use(a.tensor, a.loc)});
  return unary("neg", a.tensor, a.loc, false);
}

Tensor where(const Tensor &condition, const Arg &a, const Arg &b, Loc loc) {
  GraphLock lock(graphMutex());
  // As in PyTorch, which still accepts ui8 masks for old programs.
  if (DType dtype = condition.dtype(loc); dtype != DType::i1 && dtype != DType::ui8)
    fail("where expected condition to be a boolean tensor, but got a tensor with dtype " +
             std::string(name(dtype)) + ": write a comparison, as in `where(x != 0, a, b)`",
         loc, {use(condition, loc)});
  Operand c;
  c.value = convertTo(use(condition, loc), DType::i1, loc);
  c.priority = c.value.spec().shape.empty() ? 1 : 2;
  std::vector<Operand> values{operand(a), operand(b)};
  DType dtype = resultType(values);
  for (const Arg *value : {&a, &b})
    refuseOverflow("where()", dtype, *value, {}, BeyondHalf::infinity);
  Shape shape = broadcastShape({c, values[0], values[1]}, loc);
  Device device = deviceOf({c, values[0], values[1]});
  return wrap(record1("select",
                      {materialise(c, DType::i1, shape, device, loc),
                       materialise(values[0], dtype, shape, device, loc),
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
WEFT_REAL_UNARY(tan, "tan")
WEFT_REAL_UNARY(asin, "asin")
WEFT_REAL_UNARY(acos, "acos")
WEFT_REAL_UNARY(atan, "atan")
WEFT_REAL_UNARY(sinh, "sinh")
WEFT_REAL_UNARY(cosh, "cosh")
WEFT_REAL_UNARY(asinh, "asinh")
WEFT_REAL_UNARY(acosh, "acosh")
WEFT_REAL_UNARY(atanh, "atanh")
WEFT_REAL_UNARY(log2, "log2")
WEFT_REAL_UNARY(log10, "log10")
WEFT_REAL_UNARY(exp2, "exp2")
WEFT_REAL_UNARY(sqrt, "sqrt")
WEFT_REAL_UNARY(rsqrt, "rsqrt")
WEFT_REAL_UNARY(reciprocal, "recip")
WEFT_REAL_UNARY(tanh, "tanh")
WEFT_REAL_UNARY(sigmoid, "sigmoid")
WEFT_REAL_UNARY(erf, "erf")
Tensor abs(const Tensor &a, Loc loc) {
  if (a.dtype(loc) == DType::i1)
    fail("\"abs\" not implemented for 'Bool': a bool tensor is its own magnitude", loc, {use(a, loc)});
  return unary("abs", a, loc, false);
}
Tensor sign(const Tensor &a, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  return value.spec().dtype == DType::i1 ? wrap(sameValue(value, loc), loc) : unary("sign", a, loc);
}
Tensor ceil(const Tensor &a, Loc loc) { return rounding("ceil", a, loc); }
Tensor floor(const Tensor &a, Loc loc) { return rounding("floor", a, loc); }
Tensor round(const Tensor &a, Loc loc) { return rounding("round", a, loc); }
Tensor trunc(const Tensor &a, Loc loc) { return rounding("trunc", a, loc); }

Tensor isnan(const Tensor &a, Loc loc) {
  if (!is_floating_point(a.dtype(loc)))
    return zeros(a.sizes(loc), {.dtype = DType::i1, .device = a.device(loc)}, loc);
  return unary("isnan", a, loc, false);
}

} // namespace weft
