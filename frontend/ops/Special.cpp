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

#include <cmath>
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
    // At 0 the first terms of the series, for its derivatives.
    Expr series = x.like(1) - x * x * (std::numbers::pi * std::numbers::pi / 6);
    return select(atZero, series, apply("sin", angle) / angle);
  });
}

Tensor logit(const Tensor &a, std::optional<double> eps, Loc loc) {
  Tensor within = eps ? clamp(asReal(a, loc), {*eps, loc}, {1 - *eps, loc}) : a;
  return ofReal(within, loc, [](const Expr &x) {
    // The derivative 1 / (x (1 - x)) is infinite at the ends, and NaN where there is no logarithm.
    Expr isInside = (x > 0.0) & (x < 1.0), isZero = apply("eq", x, 0.0), isOne = apply("eq", x, 1.0);
    Expr safe = select(isInside, x, x.like(0.5));
    Expr end = select(isZero, x.like(-infinity), select(isOne, x.like(infinity), nanOf(x)));
    Expr slope = select(isZero, apply("copysign", x.like(1), x), select(isOne, x.like(1), x.like(0)));
    return select(isInside, apply("log", safe / (x.like(1) - safe)),
                  end + steep(x, apply("bnot", isInside), slope, select(isOne, x.like(1), x.like(-1))));
  });
}

//===----------------------------------------------------------------------===//
// Functions of two tensors
//===----------------------------------------------------------------------===//

/// max(a, b) + tail(-|a - b|), where `tail` tends to 0; two equal infinities have no distance. Of equal
/// numbers the first counts as the larger one, because the derivatives are those of either order.
template <typename Tail> static Tensor addExponentials(const Arg &a, const Arg &b, Tail tail) {
  return ofReals(a, b, [&](const Expr &x, const Expr &y) {
    Expr equalInfinities = apply("eq", x, y) & apply("eq", apply("abs", x), infinity);
    Expr isFirst = x >= y, zero = x.like(0), top = select(isFirst, x, y), low = select(isFirst, y, x);
    Expr distance = select(equalInfinities, zero, low) - select(equalInfinities, zero, top);
    return select(equalInfinities, apply("max", x, y), top + tail(distance));
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

/// a * 2^b for whole numbers b, rounded once, also where 2^b is no number of the dtype.
static Tensor scaledByPower(const Tensor &a, Tensor b, Loc loc) {
  const DType dtype = a.dtype(loc);
  const auto limit = [&](const Tensor &x, int64_t most) { return clamp(x, {-most, loc}, {most, loc}); };
  const auto power = [&](const Tensor &x) { return exp2(x.to(DType::f64, loc), loc); };
  Tensor result = a.to(DType::f64, loc);
  b = limit(b.to(DType::i64, loc), dtype == DType::f64 ? 2200 : 400);
  // Products of f64 in steps, of which only the last one rounds to a number without all digits. In f64 the
  // powers for other dtypes, and their products, have all digits.
  for (int step = 0; dtype == DType::f64 && step < 2; ++step) {
    const Tensor part = limit(b, 969);
    result = mul({result, loc}, {power(part), loc});
    b = sub({b, loc}, {part, loc});
  }
  return mul({result, loc}, {power(b), loc}).to(dtype, loc);
}

Tensor ldexp(const Arg &a, const Arg &b) {
  GraphLock lock(graphMutex());
  // A power of an integer is f32, which the result is only where the operands ask for it.
  DType dtype = resultType({operand(a), operand(b)});
  if (!is_floating_point(dtype))
    dtype = DType::f32;
  if (!a.is_number && !b.is_number && !is_floating_point(b.tensor.dtype(b.loc)))
    return scaledByPower(a.tensor.to(dtype, b.loc), b.tensor, b.loc);
  return mul(a, {pow({2.0, b.loc}, b), b.loc}).to(dtype, b.loc);
}

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

//===----------------------------------------------------------------------===//
// Functions of integers
//===----------------------------------------------------------------------===//

/// The operands promoted, which must be integers.
static std::vector<Ref> wholeNumbers(const char *function, const Arg &a, const Arg &b) {
  std::vector<Ref> values = promote("mul", {a, b}, b.loc);
  if (is_floating_point(values[0].spec().dtype) || values[0].spec().dtype == DType::i1)
    fail("\"" + std::string(function) + "\" not implemented for " + std::string(name(values[0].spec().dtype)),
         b.loc, values);
  return values;
}

/// 2^b by products, each of which has a bit of b as its exponent.
static Expr powerOfTwo(const Expr &b) {
  Expr power = b.like(1);
  const int bits = 8 * static_cast<int>(itemsize(b.dtype()));
  for (int bit = 1; bit < bits; bit *= 2) {
    Expr isSet = apply("ne", apply("and", b, static_cast<double>(bit)), 0.0);
    power = select(isSet, power * std::ldexp(1.0, bit), power);
  }
  return power;
}

/// Whether all bits are shifted out, by a number of bits that is not below that of the type.
static Expr isOut(const Expr &b) {
  const auto bits = static_cast<double>(8 * itemsize(b.dtype()));
  return b.dtype() == DType::ui8 ? b >= bits : (b < 0.0) | (b >= bits);
}

Tensor bitwise_left_shift(const Arg &a, const Arg &b) {
  GraphLock lock(graphMutex());
  return compute(wholeNumbers("lshift_cpu", a, b), b.loc, [](const std::vector<Expr> &v) {
    return select(isOut(v[1]), v[0].like(0), v[0] * powerOfTwo(v[1]));
  });
}

Tensor bitwise_right_shift(const Arg &a, const Arg &b) {
  GraphLock lock(graphMutex());
  return compute(wholeNumbers("rshift_cpu", a, b), b.loc, [](const std::vector<Expr> &v) {
    // Division rounds toward zero; of the inverted bits it rounds down.
    Expr power = powerOfTwo(v[1]), out = isOut(v[1]);
    if (v[0].dtype() == DType::ui8)
      return select(out, v[0].like(0), v[0] / power);
    // A power that is the sign bit divides what is not negative to 0, too.
    Expr isNegative = v[0] < 0.0, inverted = select(isNegative, apply("bnot", v[0]), v[0]);
    out = out | (power < 0.0);
    Expr quotient = select(out, v[0].like(0), inverted / select(out, power.like(1), power));
    return select(isNegative, apply("bnot", quotient), quotient);
  });
}

/// Euclid's algorithm, in as many steps as the largest numbers of the type need.
static Expr greatestDivisor(const Expr &a, const Expr &b) {
  const bool isSigned = a.dtype() != DType::ui8;
  Expr x = isSigned ? apply("abs", a) : a, y = isSigned ? apply("abs", b) : b;
  // Fibonacci's numbers take the most steps: 1.44 for each bit.
  const auto steps = static_cast<int>(1.45 * 8 * static_cast<double>(itemsize(a.dtype()))) + 1;
  for (int i = 0; i < steps; ++i) {
    Expr isDone = apply("eq", y, 0.0), rest = apply("rem", x, select(isDone, y.like(1), y));
    x = select(isDone, x, y);
    y = select(isDone, y, rest);
    y = select(isDone, y.like(0), y);
  }
  return x;
}

Tensor gcd(const Tensor &a, const Tensor &b, Loc loc) {
  GraphLock lock(graphMutex());
  return compute(wholeNumbers("gcd", {a, loc}, {b, loc}), loc,
                 [](const std::vector<Expr> &v) { return greatestDivisor(v[0], v[1]); });
}

Tensor lcm(const Tensor &a, const Tensor &b, Loc loc) {
  GraphLock lock(graphMutex());
  return compute(wholeNumbers("lcm", {a, loc}, {b, loc}), loc, [](const std::vector<Expr> &v) {
    Expr divisor = greatestDivisor(v[0], v[1]), isZero = apply("eq", divisor, 0.0);
    Expr product = v[0] / select(isZero, divisor.like(1), divisor) * v[1];
    return v[0].dtype() == DType::ui8 ? product : apply("abs", product);
  });
}

/// A tensor in f64; a number as it is.
static Arg asDouble(const Arg &a) { return a.is_number ? a : Arg(a.tensor.to(DType::f64, a.loc), a.loc); }

Tensor float_power(const Arg &a, const Arg &b) { return pow(asDouble(a), asDouble(b)); }

Tensor rsub(const Arg &a, const Arg &b, double alpha) {
  return alpha == 1 ? sub({b}, {a}) : sub({b}, {a}, alpha);
}

} // namespace weft
