//===- Math.cpp - Elementwise functions that are formulas -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/math.hpp"
#include "frontend/ops/Expr.h"

#include <cmath>
#include <limits>

namespace weft {

using namespace frontend;

//===----------------------------------------------------------------------===//
// Functions of one tensor
//===----------------------------------------------------------------------===//

Tensor square(const Tensor &a, Loc loc) { return pow(Arg(a, loc), Arg(2, loc)); }

/// A bool for each element; for integers it is always `whole`.
template <typename Formula> static Tensor classify(const Tensor &a, bool whole, Loc loc, Formula formula) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  if (is_floating_point(value.spec().dtype))
    return compute({value}, loc, [&](const std::vector<Expr> &x) { return formula(x[0]); });
  return wrap(constant(Spec{DType::i1, value.spec().shape, value.spec().device}, whole, loc), loc);
}

static constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor isinf(const Tensor &a, Loc loc) {
  return classify(a, false, loc, [](const Expr &x) { return apply("eq", apply("abs", x), infinity); });
}
Tensor isfinite(const Tensor &a, Loc loc) {
  return classify(a, true, loc, [](const Expr &x) { return apply("abs", x) < infinity; });
}
Tensor signbit(const Tensor &a, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  DType dtype = value.spec().dtype;
  if (!is_floating_point(dtype) && dtype != DType::i1)
    return lt(Arg(a, loc), Arg(0, loc));
  return classify(a, false, loc, [](const Expr &x) { return apply("copysign", x.like(1), x) < 0.0; });
}

Tensor nan_to_num(const Tensor &a, double nan, std::optional<double> posinf, std::optional<double> neginf,
                  Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(a, loc);
  DType dtype = value.spec().dtype;
  if (!is_floating_point(dtype))
    return wrap(value, loc);
  Expr x{value, loc};
  Expr high = posinf ? x.parameter(*posinf) : x.like(largestOf(dtype));
  Expr low = neginf ? x.parameter(*neginf) : x.like(-largestOf(dtype));
  Expr y = select(apply("eq", x, infinity), high, select(apply("eq", x, -infinity), low, x));
  return wrap(select(apply("isnan", x), x.parameter(nan), y).ref, loc);
}

//===----------------------------------------------------------------------===//
// Division with rounding
//===----------------------------------------------------------------------===//

/// PyTorch's floor division of floats, which is exact even where a / b would round up to an integer.
static Expr floorDivideReal(const Expr &a, const Expr &b) {
  Expr rest = apply("rem", a, b);
  Expr quotient = (a - rest) / b;
  Expr crosses = apply("ne", rest, 0.0) & ((b < 0.0) ^ (rest < 0.0));
  quotient = select(crosses, quotient - 1.0, quotient);
  Expr whole = apply("floor", quotient);
  whole = select(quotient - whole > 0.5, whole + 1.0, whole);
  whole = select(apply("eq", quotient, 0.0), apply("copysign", a.like(0), a / b), whole);
  // The last op is `floor`, through which no gradient flows.
  return apply("floor", select(apply("eq", b, 0.0), a / b, whole));
}

static Expr floorDivideWhole(const Expr &a, const Expr &b) {
  Expr quotient = a / b, rest = apply("rem", a, b);
  if (a.dtype() == DType::ui8)
    return quotient;
  // A division by 0 gives the quotient -1, whatever the remainder is.
  Expr crosses = apply("ne", rest, 0.0) & ((b < 0.0) ^ (rest < 0.0)) & apply("ne", b, 0.0);
  return select(crosses, quotient - 1.0, quotient);
}

Tensor div(const Arg &a, const Arg &b, const std::string &rounding_mode) {
  if (rounding_mode.empty())
    return div(a, b);
  Loc loc = b.loc;
  bool down = rounding_mode == "floor";
  if (!down && rounding_mode != "trunc")
    fail("div: 'rounding_mode' must be \"\", \"trunc\" or \"floor\", found \"" + rounding_mode + "\"", loc);
  GraphLock lock(graphMutex());
  std::vector<Ref> values = promote("div", {a, b}, loc);
  DType dtype = values[0].spec().dtype;
  if (dtype == DType::i1)
    fail("div: rounding division of two bool tensors is not supported: convert one to a number first", loc,
         values);
  refuseZeroDivisor(values, b);
  return compute(values, loc, [&](const std::vector<Expr> &x) {
    if (is_floating_point(dtype))
      return down ? floorDivideReal(x[0], x[1]) : apply("trunc", x[0] / x[1]);
    return down ? floorDivideWhole(x[0], x[1]) : x[0] / x[1];
  });
}

Tensor floor_divide(const Arg &a, const Arg &b) { return div(a, b, "floor"); }

//===----------------------------------------------------------------------===//
// Functions of two and three tensors
//===----------------------------------------------------------------------===//

/// a + alpha * b; floats round once. `alpha` does not affect the dtype.
static Tensor addScaled(const char *name, const Arg &a, const Arg &b, double alpha) {
  GraphLock lock(graphMutex());
  std::vector<Ref> values = promote("add", {a, b}, b.loc);
  DType dtype = values[0].spec().dtype;
  if (!is_floating_point(dtype) && alpha != std::trunc(alpha))
    fail(std::string(name) + ": for integral tensors 'alpha' must be a whole number, found " +
             std::to_string(alpha),
         b.loc, values);
  Expr x{values[0], b.loc}, y{values[1], b.loc}, factor = x.parameter(alpha);
  if (is_floating_point(dtype))
    return wrap(record1("fma", {y.ref, factor.ref, x.ref}, {}, b.loc), b.loc);
  return wrap((dtype == DType::i1 ? x | (y & factor) : x + y * factor).ref, b.loc);
}
Tensor add(const Arg &a, const Arg &b, double alpha) { return addScaled("add", a, b, alpha); }
Tensor sub(const Arg &a, const Arg &b, double alpha) {
  for (const Arg &arg : {a, b})
    if (!arg.is_number && arg.tensor.dtype() == DType::i1)
      return sub(a, b); // which throws
  return addScaled("sub", a, b, -alpha);
}

/// `a` where the comparison holds or `b` is NaN, otherwise `b`.
static Tensor chooseNumber(const char *compare, const Arg &a, const Arg &b) {
  GraphLock lock(graphMutex());
  std::vector<Ref> values = promote("max", {a, b}, b.loc);
  Expr x{values[0], b.loc}, y{values[1], b.loc};
  Expr wins = apply(compare, x, y);
  if (is_floating_point(x.dtype()))
    wins = wins | apply("isnan", y);
  return wrap(select(wins, x, y).ref, b.loc);
}
Tensor fmax(const Arg &a, const Arg &b) { return chooseNumber("ge", a, b); }
Tensor fmin(const Arg &a, const Arg &b) { return chooseNumber("le", a, b); }

Tensor fma(const Tensor &a, const Tensor &b, const Tensor &c, Loc loc) {
  GraphLock lock(graphMutex());
  return wrap(record1("fma", promote("fma", {{a, loc}, {b, loc}, {c, loc}}, loc), {}, loc), loc);
}

Tensor addcmul(const Tensor &a, const Tensor &b, const Tensor &c, double value, Loc loc) {
  GraphLock lock(graphMutex());
  return compute(promote("add", {{a, loc}, {b, loc}, {c, loc}}, loc), loc, [&](const std::vector<Expr> &x) {
    return value == 1 ? x[0] + x[1] * x[2] : x[0] + x[1] * x[0].parameter(value) * x[2];
  });
}

/// Throws Error unless the values, which share a type, are floating-point.
static void requireReal(const char *name, const std::vector<Ref> &values, Loc loc) {
  if (!is_floating_point(values[0].spec().dtype))
    fail(std::string(name) + ": expected tensors of a floating-point type, found " +
             std::string(weft::name(values[0].spec().dtype)),
         loc, values);
}

Tensor addcdiv(const Tensor &a, const Tensor &b, const Tensor &c, double value, Loc loc) {
  GraphLock lock(graphMutex());
  std::vector<Ref> values = promote("add", {{a, loc}, {b, loc}, {c, loc}}, loc);
  requireReal("addcdiv", values, loc);
  return compute(values, loc, [&](const std::vector<Expr> &x) {
    return value == 1 ? x[0] + x[1] / x[2] : x[0] + x[1] * x[0].parameter(value) / x[2];
  });
}

Tensor lerp(const Tensor &start, const Tensor &end, const Arg &weight) {
  GraphLock lock(graphMutex());
  Loc loc = weight.loc;
  requireReal("lerp", {use(start, loc)}, loc);
  requireReal("lerp", {use(end, loc)}, loc);
  std::vector<Arg> operands{{start, loc}, {end, loc}};
  if (!weight.is_number)
    operands.push_back(weight);
  return compute(promote("add", operands, loc), loc, [&](const std::vector<Expr> &x) {
    const Expr way = x[1] - x[0];
    if (weight.is_number) { // it selects the formula, and is rounded only to the type of the computation
      const Expr w = x[0].parameter(weight.real);
      return std::abs(weight.real) < 0.5 ? x[0] + w * way : x[1] + (w - 1.0) * way;
    }
    const Expr &w = x[2];
    // Both sides share one product. With two, the gradient of the side that is not chosen could be zero times
    // infinity, which is NaN.
    Expr near = apply("abs", w) < 0.5;
    return select(near, x[0], x[1]) + select(near, w, w - 1.0) * way;
  });
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

Tensor clamp(const Tensor &a, const Arg &min, const Arg &max) {
  GraphLock lock(graphMutex());
  std::vector<Ref> values = promote("min", {{a, max.loc}, min, max}, max.loc);
  for (const Arg &bound : {min, max})
    refuseOverflow("clamp()", values[0].spec().dtype, bound, {values[0]});
  Expr x{values[0], max.loc}, low{values[1], max.loc}, high{values[2], max.loc};
  // If the bounds cross, the result is `max`. If they are equal, an element below them passes no gradient.
  Expr limited = low;
  {
    NoGradGuard guard;
    limited = apply("min", apply("max", x, low), high);
  }
  Expr y = select((x < low) & (low < high), low, limited);
  y = select(((x > high) & (low <= high)) | ((high < low) & apply("eq", x, x)), high, y);
  return wrap(select((x >= low) & (x <= high), x, y).ref, max.loc);
}

Tensor clamp_min(const Tensor &a, const Arg &min) {
  GraphLock lock(graphMutex());
  std::vector<Ref> values = promote("max", {{a, min.loc}, min}, min.loc);
  refuseOverflow("clamp_min()", values[0].spec().dtype, min, {values[0]});
  Expr x{values[0], min.loc}, low{values[1], min.loc};
  return wrap(select(x >= low, x, select(x < low, low, nanOf(x))).ref, min.loc);
}

Tensor clamp_max(const Tensor &a, const Arg &max) {
  GraphLock lock(graphMutex());
  std::vector<Ref> values = promote("min", {{a, max.loc}, max}, max.loc);
  refuseOverflow("clamp_max()", values[0].spec().dtype, max, {values[0]});
  Expr x{values[0], max.loc}, high{values[1], max.loc};
  return wrap(select(x <= high, x, select(x > high, high, nanOf(x))).ref, max.loc);
}

//===----------------------------------------------------------------------===//
// Comparison of tensors
//===----------------------------------------------------------------------===//

Tensor isclose(const Tensor &a, const Tensor &b, double rtol, double atol, bool equal_nan, Loc loc) {
  GraphLock lock(graphMutex());
  if (!(rtol >= 0) || !(atol >= 0))
    fail("isclose(): rtol and atol must not be negative, found " + std::to_string(rtol) + " and " +
             std::to_string(atol),
         loc);
  if (a.dtype(loc) != b.dtype(loc))
    fail("isclose(): expected two tensors of one dtype, found " + std::string(name(a.dtype(loc))) + " and " +
             std::string(name(b.dtype(loc))),
         loc, {use(a, loc), use(b, loc)});
  if (a.dtype(loc) == DType::i1)
    return eq({a, loc}, {b, loc});
  Tensor same = eq({a, loc}, {b, loc});
  if (equal_nan)
    same = logical_or({same, loc}, {logical_and({isnan(a, loc), loc}, {isnan(b, loc), loc}), loc});
  Tensor allowed = add({mul({abs(b, loc), loc}, {rtol, loc}), loc}, {atol, loc});
  Tensor distance = abs(sub({a, loc}, {b, loc}), loc);
  Tensor near = logical_and({isfinite(distance, loc), loc}, {le({distance, loc}, {allowed, loc}), loc});
  return logical_or({same, loc}, {near, loc});
}

bool allclose(const Tensor &a, const Tensor &b, double rtol, double atol, bool equal_nan, Loc loc) {
  return isclose(a, b, rtol, atol, equal_nan, loc).all({}, false, loc).item<bool>(loc);
}

bool equal(const Tensor &a, const Tensor &b, Loc loc) {
  GraphLock lock(graphMutex());
  if (a.sizes(loc) != b.sizes(loc))
    return false;
  return eq({a, loc}, {b, loc}).all({}, false, loc).item<bool>(loc);
}

} // namespace weft
