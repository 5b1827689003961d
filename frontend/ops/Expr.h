//===- Expr.h - Formulas on values of one type ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators for functions that are formulas over ops. Operands agree in dtype and shape, numbers of the
// formula are constants, and every op carries the user's source line.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPS_EXPR_H
#define WEFT_FRONTEND_OPS_EXPR_H

#include "frontend/ops/Ops.h"
#include "frontend/ops/Promotion.h"

#include <limits>

namespace weft::frontend {

struct Expr {
  Ref ref;
  Loc loc;

  DType dtype() const { return ref.spec().dtype; }
  /// A number of the formula, shaped like this.
  Expr like(double value) const { return {constant(ref.spec(), value, loc), loc}; }
  /// A number of the user, shaped like this.
  Expr parameter(double value) const {
    const Spec &spec = ref.spec();
    Ref number = frontend::number(spec.dtype, spec.device, value, static_cast<int64_t>(value), loc);
    return {broadcastTo(number, spec.shape, loc), loc};
  }
};

inline Expr apply(const char *op, const Expr &a) { return {record1(op, {a.ref}, {}, a.loc), a.loc}; }
inline Expr apply(const char *op, const Expr &a, const Expr &b) {
  return {record1(op, {a.ref, b.ref}, {}, a.loc), a.loc};
}
inline Expr apply(const char *op, const Expr &a, double b) { return apply(op, a, a.like(b)); }

inline Expr operator+(const Expr &a, const Expr &b) { return apply("add", a, b); }
inline Expr operator-(const Expr &a, const Expr &b) { return apply("sub", a, b); }
inline Expr operator*(const Expr &a, const Expr &b) { return apply("mul", a, b); }
inline Expr operator/(const Expr &a, const Expr &b) { return apply("div", a, b); }
inline Expr operator+(const Expr &a, double b) { return apply("add", a, b); }
inline Expr operator-(const Expr &a, double b) { return apply("sub", a, b); }
inline Expr operator*(const Expr &a, double b) { return apply("mul", a, b); }
inline Expr operator/(const Expr &a, double b) { return apply("div", a, b); }
inline Expr operator-(const Expr &a) { return apply("neg", a); }

// Comparisons give bools.
inline Expr operator<(const Expr &a, const Expr &b) { return apply("lt", a, b); }
inline Expr operator<=(const Expr &a, const Expr &b) { return apply("le", a, b); }
inline Expr operator>(const Expr &a, const Expr &b) { return apply("gt", a, b); }
inline Expr operator>=(const Expr &a, const Expr &b) { return apply("ge", a, b); }
inline Expr operator<(const Expr &a, double b) { return apply("lt", a, b); }
inline Expr operator<=(const Expr &a, double b) { return apply("le", a, b); }
inline Expr operator>(const Expr &a, double b) { return apply("gt", a, b); }
inline Expr operator>=(const Expr &a, double b) { return apply("ge", a, b); }
inline Expr operator&(const Expr &a, const Expr &b) { return apply("and", a, b); }
inline Expr operator|(const Expr &a, const Expr &b) { return apply("or", a, b); }
inline Expr operator^(const Expr &a, const Expr &b) { return apply("xor", a, b); }
inline Expr select(const Expr &condition, const Expr &a, const Expr &b) {
  return {record1("select", {condition.ref, a.ref, b.ref}, {}, a.loc), a.loc};
}

/// |x| with the derivative of its right side at 0. A formula of |x| that is smooth there in truth gets the
/// derivatives of one side, which are those of the whole function; of `abs` it would get none of that point.
inline Expr oneSidedAbs(const Expr &x) { return select(x < 0.0, -x, x); }

/// The value without its gradient.
inline Expr constantOf(const Expr &x) { return {use(wrap(x.ref, x.loc).detach(x.loc), x.loc), x.loc}; }
/// 0, whose derivative for x in `here` is infinite with the sign of `slope`, and the second one with that of
/// `bend`. Both are NaN where the slope is 0.
inline Expr steep(const Expr &x, const Expr &here, const Expr &slope, const Expr &bend) {
  // A root, or minus that of the other side. The sum is +0 of either sign of the slope.
  Expr side = -(slope * bend), zero = select(here, (x - constantOf(x)) * side + 0.0, x.like(1));
  return select(here, apply("sqrt", zero) * -bend, x.like(0));
}

/// For a `select` whose comparisons of `x` with bounds are all false: then `x` or a bound is NaN, and the
/// result is NaN. Never reached for integers.
inline Expr nanOf(const Expr &x) {
  return is_floating_point(x.dtype()) ? x.like(std::numeric_limits<double>::quiet_NaN()) : x;
}

inline bool isHalf(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// Applies the formula to these values, which share a type. f16 and bf16 are computed in f32 and rounded once
/// at the end.
template <typename Formula> Tensor compute(const std::vector<Ref> &values, Loc loc, Formula formula) {
  DType dtype = values[0].spec().dtype;
  std::vector<Expr> wide;
  for (const Ref &value : values)
    wide.push_back({isHalf(dtype) ? convertTo(value, DType::f32, loc) : value, loc});
  Expr result = formula(wide);
  return wrap(isHalf(dtype) && !isHalf(result.dtype()) && is_floating_point(result.dtype())
                  ? convertTo(result.ref, dtype, loc)
                  : result.ref,
              loc);
}

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_EXPR_H
