//===- BoundedReal.h - Numbers with a bound on their error -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_BOUNDEDREAL_H
#define WEFT_TEST_RANDOM_BOUNDEDREAL_H

#include "Bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::randomtest {

inline constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// Whether a value with this error is known. An error that is NaN, because infinite errors were combined, is
/// unknown.
inline bool isKnown(double error) { return error < kUnknown; }

/// The error to record for `value`. A value that is not finite is only known if its error is 0.
inline double settle(double value, double error) {
  if (!isKnown(error))
    return kUnknown;
  return std::isfinite(value) || error == 0 ? error : kUnknown;
}

/// A real number that a backend computes in `dtype`, with one rounding per operation.
struct BoundedReal {
  double value, error;
  DType dtype;

  BoundedReal make(double result, double propagated) const {
    double error = propagated + ulp(dtype, std::fabs(result) + propagated);
    // A step that overflows in `dtype` may be finite in the interpreter's double.
    if (!std::isfinite(ir::roundTo(dtype, std::fabs(result) + error)) && std::isfinite(result))
      error = kUnknown;
    return {result, settle(result, error), dtype};
  }
};

/// The error of a product from those of its factors.
inline double productError(double a, double ea, double b, double eb) {
  // The product of an infinity and a factor whose sign is uncertain, or that may be zero, is unknown.
  if ((!std::isfinite(a) && eb > 0) || (!std::isfinite(b) && ea > 0))
    return kUnknown;
  if (ea == 0 && eb == 0)
    return 0;
  return std::fabs(a) * eb + std::fabs(b) * ea + ea * eb;
}

inline BoundedReal operator+(BoundedReal a, BoundedReal b) {
  return a.make(a.value + b.value, a.error + b.error);
}
inline BoundedReal operator-(BoundedReal a, BoundedReal b) {
  return a.make(a.value - b.value, a.error + b.error);
}
inline BoundedReal operator*(BoundedReal a, BoundedReal b) {
  return a.make(a.value * b.value, productError(a.value, a.error, b.value, b.error));
}
inline BoundedReal operator/(BoundedReal a, BoundedReal b) {
  double quotient = a.value / b.value, smallest = std::fabs(b.value) - b.error;
  if (a.error == 0 && b.error == 0)
    return a.make(quotient, 0);
  if (!(smallest > 0) || !std::isfinite(b.value))
    return {quotient, kUnknown, a.dtype};
  return a.make(quotient, (a.error + std::fabs(quotient) * b.error) / smallest);
}
inline BoundedReal sqrt(BoundedReal a) {
  double root = std::sqrt(a.value);
  if (a.error == 0)
    return a.make(root, 0);
  if (!(a.value - a.error >= 0))
    return {root, kUnknown, a.dtype};
  // sqrt(x) - sqrt(x - e) is the larger side, and at most e / sqrt(x); at 0 it is sqrt(e).
  return a.make(root, root - std::sqrt(a.value - a.error));
}

/// The terms of one sum.
struct Sum {
  double magnitude = 0, errors = 0;
  int64_t terms = 0, roundedTerms = 0;
  bool unknown = false;

  void add(double value, double error) {
    ++terms;
    errors += error;
    unknown |= !isKnown(error);
    if (std::isfinite(value))
      magnitude += std::fabs(value);
  }

  /// The error of additions in the accumulator in any order, and one rounding to `dtype`. Each term may have
  /// had `perTerm` more roundings, and as many underflows.
  double bound(DType dtype, double value, int perTerm) const {
    DType accumulator = itemsize(dtype) == 2 ? DType::f32 : dtype;
    if (unknown)
      return kUnknown;
    // Partial sums may overflow in one order and not in another.
    double most = magnitude + errors;
    if (!std::isfinite(ir::roundTo(accumulator, most * (1 + static_cast<double>(terms) * 1e-7))))
      return kUnknown;
    if (!std::isfinite(value)) {
      // With exact terms, the result is exact if terms are infinite. It is unknown if finite terms could
      // overflow `dtype`, which may depend on the order of additions.
      return errors == 0 && !std::isfinite(value) ? (magnitude > overflowEdge(dtype) ? kUnknown : 0)
                                                  : kUnknown;
    }
    auto roundings = static_cast<double>(std::max<int64_t>(terms - 1, 0) + perTerm);
    double u = unitRoundoff(accumulator);
    // The interpreter adds in f64 and also rounds, which matters for results in f64.
    double error = errors + roundings * u * most * (dtype == DType::f64 ? 2 : 1);
    if (perTerm > 0)
      error += static_cast<double>(terms) * ulp(accumulator, 0);
    if (dtype != accumulator || error > 0)
      error += error > 0 ? ulp(dtype, std::fabs(value) + error) : 0;
    // The sign of a zero depends on the initial value of the sum.
    if (value == 0)
      error = std::max(error, ulp(dtype, 0));
    return error > 0 && !std::isfinite(ir::roundTo(dtype, std::fabs(value) + error)) ? kUnknown : error;
  }

  static double overflowEdge(DType dtype) { return dtype == DType::f16 ? 65000 : std::ldexp(1.0, 127); }
};

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_BOUNDEDREAL_H
