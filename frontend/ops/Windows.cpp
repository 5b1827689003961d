//===- Windows.cpp - Windows for spectra, histograms, reflections -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/compositions.hpp"

#include "frontend/ops/Expr.h"
#include "weft/gather_scatter.hpp"
#include "weft/joining.hpp"
#include "weft/linear_algebra.hpp"
#include "weft/math.hpp"
#include "weft/reduce.hpp"
#include "weft/sorting.hpp"

#include <cmath>
#include <functional>
#include <numbers>

namespace weft {

using namespace frontend;

//===----------------------------------------------------------------------===//
// Windows for spectra
//===----------------------------------------------------------------------===//

/// A window whose element at place t of [0, 1] is a function of it, computed on the host in f64.
static Tensor windowOf(const char *function, int64_t n, bool periodic, TensorOptions options, Loc loc,
                       const std::function<double(double)> &element) {
  if (n < 0)
    fail(std::string(function) +
             " requires non-negative window_length, got window_length=" + std::to_string(n),
         loc);
  if (options.dtype && !is_floating_point(*options.dtype))
    fail(std::string(function) + " expects floating point dtypes, got: " + std::string(name(*options.dtype)),
         loc);
  std::vector<double> values(static_cast<size_t>(n), 1);
  const double last = static_cast<double>(periodic ? n : n - 1);
  for (size_t i = 0; n > 1 && i < values.size(); ++i)
    values[i] = element(static_cast<double>(i) / last);
  options.dtype = options.dtype.value_or(DType::f32);
  return Tensor::from(values, {n}, {.dtype = DType::f64, .device = options.device}, loc)
      .to(*options.dtype, loc)
      .requires_grad_(options.requires_grad, loc);
}

static double wave(double t, double times = 1) { return std::cos(2 * std::numbers::pi * times * t); }

Tensor bartlett_window(int64_t n, bool periodic, TensorOptions options, Loc loc) {
  return windowOf("bartlett_window", n, periodic, options, loc,
                  [](double t) { return 1 - std::abs(2 * t - 1); });
}
Tensor blackman_window(int64_t n, bool periodic, TensorOptions options, Loc loc) {
  return windowOf("blackman_window", n, periodic, options, loc,
                  [](double t) { return 0.42 - 0.5 * wave(t) + 0.08 * wave(t, 2); });
}
Tensor hamming_window(int64_t n, bool periodic, double alpha, double beta, TensorOptions options, Loc loc) {
  return windowOf("hamming_window", n, periodic, options, loc,
                  [&](double t) { return alpha - beta * wave(t); });
}
Tensor hann_window(int64_t n, bool periodic, TensorOptions options, Loc loc) {
  return windowOf("hann_window", n, periodic, options, loc, [](double t) { return 0.5 - 0.5 * wave(t); });
}
/// The modified Bessel function of order 0, by its series, all of whose terms are positive.
static double besselI0(double x) {
  double sum = 1, term = 1;
  for (int k = 1; k < 1000 && term > sum * 1e-18; ++k)
    sum += term *= x * x / (4.0 * k * k);
  return sum;
}
Tensor kaiser_window(int64_t n, bool periodic, double beta, TensorOptions options, Loc loc) {
  return windowOf("kaiser_window", n, periodic, options, loc, [&](double t) {
    return besselI0(beta * std::sqrt(std::max(0.0, 1 - (2 * t - 1) * (2 * t - 1)))) / besselI0(beta);
  });
}

//===----------------------------------------------------------------------===//
// Parts of numbers
//===----------------------------------------------------------------------===//

MantissaExponent frexp(const Tensor &a, Loc loc) {
  GraphLock lock(graphMutex());
  if (!a.is_floating_point(loc))
    fail("torch.frexp() only supports floating-point dtypes, found " + std::string(name(a.dtype(loc))), loc,
         {use(a, loc)});
  Tensor exponent;
  {
    // f64 holds the whole range of exponents of the narrower types, and a logarithm is off by one at most.
    NoGradGuard guard;
    Tensor magnitude = abs(a.to(DType::f64, loc), loc);
    Tensor isPlain = logical_and({isfinite(magnitude, loc), loc}, {gt({magnitude, loc}, {0, loc}), loc});
    magnitude = where(isPlain, {magnitude, loc}, {0.5, loc}, loc);
    exponent = add({floor(log2(magnitude, loc), loc), loc}, {1, loc});
    // In two steps, since a power of the whole exponent may be out of range.
    auto scaled = [&](const Tensor &e) {
      Tensor half = floor(mul({e, loc}, {0.5, loc}), loc);
      return div({div({magnitude, loc}, {exp2(half, loc), loc}), loc},
                 {exp2(sub({e, loc}, {half, loc}), loc), loc});
    };
    Tensor mantissa = scaled(exponent);
    exponent = where(
        ge({mantissa, loc}, {1, loc}), {add({exponent, loc}, {1, loc}), loc},
        {where(lt({mantissa, loc}, {0.5, loc}), {sub({exponent, loc}, {1, loc}), loc}, {exponent, loc}, loc),
         loc},
        loc);
    exponent = where(isPlain, {exponent, loc}, {zeros_like(exponent, loc), loc}, loc);
  }
  Tensor half = floor(mul({exponent, loc}, {0.5, loc}), loc), rest = sub({exponent, loc}, {half, loc});
  Tensor wide = a.to(DType::f64, loc);
  Tensor mantissa = div({div({wide, loc}, {exp2(half, loc), loc}), loc}, {exp2(rest, loc), loc});
  return {mantissa.to(a.dtype(loc), loc), exponent.to(DType::i32, loc)};
}

//===----------------------------------------------------------------------===//
// Histograms
//===----------------------------------------------------------------------===//

HistogramResult histogram(const Tensor &a, const Tensor &edges, HistogramOptions options, Loc loc) {
  if ((a.dtype(loc) != DType::f32 && a.dtype(loc) != DType::f64) || edges.dtype(loc) != a.dtype(loc) ||
      edges.dim(loc) != 1 || edges.size(0, loc) < 2)
    fail("histogram takes a tensor of f32 or f64 and a vector of two or more edges of its dtype, found " +
             std::string(name(a.dtype(loc))) + " and edges of " + std::string(name(edges.dtype(loc))) +
             " and shape " + shapeText(edges.sizes(loc)),
         loc);
  if (options.weight.defined() && options.weight.sizes(loc) != a.sizes(loc))
    fail("histogram takes a weight for each element, found shapes " + shapeText(options.weight.sizes(loc)) +
             " and " + shapeText(a.sizes(loc)),
         loc);
  NoGradGuard guard;
  GraphLock lock(graphMutex());
  const int64_t bins = edges.size(0, loc) - 1;
  Tensor flat = a.reshape({-1}, loc);
  Tensor lowest = edges.select(0, 0, loc), highest = edges.select(0, bins, loc);
  Tensor isInside =
      logical_and({ge({flat, loc}, {lowest, loc}), loc}, {le({flat, loc}, {highest, loc}), loc});
  // The upper edge belongs to the last bin. What is outside counts nothing, in the first.
  Tensor place = sub({bucketize(flat, edges, true, loc), loc}, {1, loc});
  place = clamp(place, {0, loc}, {bins - 1, loc});
  Tensor share = options.weight.defined() ? options.weight.reshape({-1}, loc).to(a.dtype(loc), loc)
                                          : ones_like(flat, loc);
  share = where(isInside, {share, loc}, {zeros_like(share, loc), loc}, loc);
  Tensor counts = index_add(zeros({bins}, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc), 0, place,
                            share, 1, loc);
  if (options.density) {
    Tensor widths = sub({edges.slice(0, 1, INT64_MAX, 1, loc), loc}, {edges.slice(0, 0, bins, 1, loc), loc});
    counts = div({div({counts, loc}, {counts.sum({}, false, loc), loc}), loc}, {widths, loc});
  }
  return {counts, edges};
}

HistogramResult histogram(const Tensor &a, int64_t bins, HistogramOptions options, Loc loc) {
  if (bins < 1)
    fail("histogram(): bins must be > 0, but got " + std::to_string(bins), loc);
  if (options.min.has_value() != options.max.has_value())
    fail("histogram takes both min and max, or neither", loc);
  double low = options.min.value_or(0), high = options.max.value_or(0);
  if (!options.min && a.numel(loc) > 0) {
    low = a.amin({}, false, loc).item<double>(loc);
    high = a.amax({}, false, loc).item<double>(loc);
  }
  if (!std::isfinite(low) || !std::isfinite(high) || low > high)
    fail("histogram(): range of [" + std::to_string(low) + ", " + std::to_string(high) +
             "] is not one of finite numbers that rise",
         loc);
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  const DType dtype = a.dtype(loc) == DType::f64 ? DType::f64 : DType::f32;
  return histogram(a, linspace(low, high, bins + 1, {.dtype = dtype, .device = a.device(loc)}, loc), options,
                   loc);
}

//===----------------------------------------------------------------------===//
// Reflections
//===----------------------------------------------------------------------===//

Tensor linalg::householder_product(const Tensor &a, const Tensor &tau, Loc loc) {
  GraphLock lock(graphMutex());
  const Shape shape = a.sizes(loc), factors = tau.sizes(loc);
  bool fits = shape.size() >= 2 && factors.size() + 1 == shape.size() &&
              shape.back() <= shape[shape.size() - 2] && factors.back() <= shape.back();
  for (size_t i = 0; fits && i + 2 < shape.size(); ++i)
    fits &= shape[i] == factors[i];
  if (!fits || a.dtype(loc) != tau.dtype(loc) || !a.is_floating_point(loc))
    fail(
        "householder_product takes [.., m, n] with n at most m, and tau [.., k] with k at most n of the same "
        "floating-point dtype, found " +
            shapeText(shape) + " and " + shapeText(factors),
        loc, {use(a, loc), use(tau, loc)});
  const int64_t rows = shape[shape.size() - 2], columns = shape.back();
  const TensorOptions options{.dtype = a.dtype(loc), .device = a.device(loc)};
  // From the last reflection to the first, each of which changes the columns so far.
  Tensor product = eye(rows, columns, options, loc).expand(shape, loc),
         place = arange(rows, {.dtype = DType::i64, .device = a.device(loc)}, loc);
  for (int64_t i = factors.back(); i-- > 0;) {
    Tensor below = gt({place, loc}, {i, loc}), at = eq({place, loc}, {i, loc}).to(a.dtype(loc), loc);
    Tensor column = a.select(-1, i, loc);
    Tensor v = add({where(below, {column, loc}, {zeros_like(column, loc), loc}, loc), loc}, {at, loc});
    Tensor row = matmul(v.unsqueeze(-2, loc), product, loc);
    Tensor scaled = mul({v, loc}, {tau.select(-1, i, loc).unsqueeze(-1, loc), loc});
    product = sub({product, loc}, {matmul(scaled.unsqueeze(-1, loc), row, loc), loc});
  }
  return product;
}

} // namespace weft
