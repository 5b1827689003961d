//===- Special.cpp - Elementwise functions made of others -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a formula takes a limit, the side that a select does not choose is computed at a harmless argument,
// because its gradient there would be zero times infinity, which is NaN.
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/Expr.h"
#include "weft/math.hpp"

#include <numbers>

namespace weft {

using namespace frontend;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// A formula of one tensor, of integers and bools in f32.
template <typename Formula> static Tensor ofReal(const Tensor &a, Loc loc, Formula formula) {
  GraphLock lock(graphMutex());
  return compute({use(asReal(a, loc), loc)}, loc, [&](const std::vector<Expr> &x) { return formula(x[0]); });
}

/// The same of two operands, promoted and broadcast.
template <typename Formula> static Tensor ofReals(const Arg &a, const Arg &b, Formula formula) {
  GraphLock lock(graphMutex());
  return compute(promote("add", {a, b}, b.loc, /*toReal=*/true), b.loc,
                 [&](const std::vector<Expr> &x) { return formula(x[0], x[1]); });
}

//===----------------------------------------------------------------------===//
// Functions of one tensor
//===----------------------------------------------------------------------===//

Tensor isposinf(const Tensor &a, Loc loc) {
  return logical_and({isinf(a, loc), loc}, {gt({a, loc}, {0, loc}), loc});
}
Tensor isneginf(const Tensor &a, Loc loc) {
  return logical_and({isinf(a, loc), loc}, {lt({a, loc}, {0, loc}), loc});
}

Tensor sgn(const Tensor &a, Loc loc) { return sign(a, loc); }

Tensor positive(const Tensor &a, Loc loc) {
  Ref value = use(a, loc);
  if (value.spec().dtype == DType::i1)
    fail("positive: the + operator is not supported on bool tensors", loc, {value});
  return unchanged(std::move(value), loc);
}

Tensor frac(const Tensor &a, Loc loc) {
  checkFloat(use(a, loc), "frac()", loc);
  return ofReal(a, loc, [](const Expr &x) { return x - apply("trunc", x); });
}

Tensor deg2rad(const Tensor &a, Loc loc) {
  return ofReal(a, loc, [](const Expr &x) { return x * (std::numbers::pi / 180); });
}
Tensor rad2deg(const Tensor &a, Loc loc) {
  return ofReal(a, loc, [](const Expr &x) { return x * (180 / std::numbers::pi); });
}

Tensor sinc(const Tensor &a, Loc loc) {
  return ofReal(a, loc, [](const Expr &x) {
    Expr atZero = apply("eq", x, 0.0), angle = select(atZero, x.like(1), x * std::numbers::pi);
    return select(atZero, x.like(1), apply("sin", angle) / angle);
  });
}

Tensor logit(const Tensor &a, std::optional<double> eps, Loc loc) {
  Tensor within = eps ? clamp(asReal(a, loc), {*eps, loc}, {1 - *eps, loc}) : a;
  return ofReal(within, loc, [](const Expr &x) { return apply("log", x / (x.like(1) - x)); });
}

//===----------------------------------------------------------------------===//
// Functions of two tensors
//===----------------------------------------------------------------------===//

/// max(a, b) + tail(|a - b|), where `tail` tends to 0; two equal infinities have no distance.
template <typename Tail> static Tensor addExponentials(const Arg &a, const Arg &b, Tail tail) {
  return ofReals(a, b, [&](const Expr &x, const Expr &y) {
    Expr equalInfinities = apply("eq", x, y) & apply("eq", apply("abs", x), infinity);
    Expr zero = x.like(0);
    Expr distance = select(equalInfinities, zero, x) - select(equalInfinities, zero, y);
    Expr top = apply("max", x, y);
    return select(equalInfinities, top, top + tail(-apply("abs", distance)));
  });
}

Tensor logaddexp(const Arg &a, const Arg &b) {
  return addExponentials(a, b, [](const Expr &x) { return apply("log1p", apply("exp", x)); });
}
Tensor logaddexp2(const Arg &a, const Arg &b) {
  return addExponentials(
      a, b, [](const Expr &x) { return apply("log1p", apply("exp2", x)) * std::numbers::log2e; });
}

Tensor xlogy(const Arg &a, const Arg &b) {
  return ofReals(a, b, [](const Expr &x, const Expr &y) {
    Expr limit = apply("eq", x, 0.0) & ((y <= 0.0) | apply("eq", y, infinity));
    return select(limit, x.like(0), x * apply("log", select(limit, y.like(1), y)));
  });
}

Tensor hypot(const Arg &a, const Arg &b) {
  return ofReals(a, b, [](const Expr &x, const Expr &y) {
    Expr infinite = apply("eq", apply("abs", x), infinity) | apply("eq", apply("abs", y), infinity);
    // Divided by the larger one, the squares stay in range. It counts as a constant, because the derivative
    // does not depend on it.
    Expr scale = x;
    {
      NoGradGuard guard;
      Expr larger = apply("max", apply("abs", x), apply("abs", y));
      scale = select((larger > 0.0) & (larger < infinity), larger, x.like(1));
    }
    Expr u = x / scale, v = y / scale;
    return select(infinite, x.like(infinity), apply("sqrt", u * u + v * v) * scale);
  });
}

Tensor ldexp(const Arg &a, const Arg &b) { return mul(a, {pow({2.0, b.loc}, b), b.loc}); }

Tensor heaviside(const Tensor &a, const Tensor &values, Loc loc) {
  GraphLock lock(graphMutex());
  if (a.dtype(loc) != values.dtype(loc))
    fail("heaviside is not yet implemented for tensors with different dtypes: found " +
             std::string(name(a.dtype(loc))) + " and " + std::string(name(values.dtype(loc))),
         loc, {use(a, loc), use(values, loc)});
  NoGradGuard guard;
  Tensor step = gt({a, loc}, {0, loc}).to(a.dtype(loc), loc);
  return where(eq({a, loc}, {0, loc}), {values, loc}, {step, loc}, loc);
}

/// A tensor in f64; a number as it is.
static Arg asDouble(const Arg &a) { return a.is_number ? a : Arg(a.tensor.to(DType::f64, a.loc), a.loc); }

Tensor float_power(const Arg &a, const Arg &b) { return pow(asDouble(a), asDouble(b)); }

Tensor rsub(const Arg &a, const Arg &b, double alpha) {
  return alpha == 1 ? sub({b}, {a}) : sub({b}, {a}, alpha);
}

} // namespace weft
