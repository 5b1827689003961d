//===- Init.cpp - Initial values of parameters ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/init.hpp"

#include "frontend/graph/Trace.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/State.h"
#include "weft/random.hpp"

#include <cmath>
#include <numbers>

namespace weft::nn::init {

using namespace frontend;

static void checkReal(const char *function, const Tensor &tensor, Loc loc) {
  if (!is_floating_point(tensor.dtype(loc)))
    fail(std::string(function) + " fills floating-point tensors, found " +
             std::string(name(tensor.dtype(loc))),
         loc);
}

/// Options for random numbers for a tensor: f16 and bf16 are drawn in f32 and rounded once.
static TensorOptions drawing(const Tensor &tensor) {
  return {.dtype = tensor.dtype() == DType::f64 ? DType::f64 : DType::f32, .device = tensor.device()};
}

double calculate_gain(const std::string &nonlinearity, double param, Loc loc) {
  if (nonlinearity == "linear" || nonlinearity == "sigmoid")
    return 1;
  if (nonlinearity == "tanh")
    return 5.0 / 3;
  if (nonlinearity == "relu")
    return std::numbers::sqrt2;
  if (nonlinearity == "leaky_relu")
    return std::sqrt(2 / (1 + param * param));
  if (nonlinearity == "selu")
    return 0.75;
  fail("Unsupported nonlinearity '" + nonlinearity +
           "': expected linear, sigmoid, tanh, relu, leaky_relu or selu",
       loc);
}

std::pair<int64_t, int64_t> fan_in_and_fan_out(const Tensor &tensor, Loc loc) {
  const Shape &shape = tensor.sizes(loc);
  if (shape.size() < 2)
    fail("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, found shape " +
             shapeText(shape),
         loc);
  int64_t field = 1;
  for (int64_t i = 2; i < static_cast<int64_t>(shape.size()); ++i)
    field *= tensor.size(i, loc);
  return {tensor.size(1, loc) * field, tensor.size(0, loc) * field};
}

Tensor uniform_(Tensor tensor, double from, double to, Loc loc) {
  checkReal("uniform_", tensor, loc);
  if (!(from <= to) || !std::isfinite(to - from))
    fail("uniform_ expects to return a [from, to) range, but found from=" + std::to_string(from) +
             " and to=" + std::to_string(to),
         loc);
  NoGradGuard guard;
  Tensor unit = rand(tensor.sizes(loc), drawing(tensor), loc);
  return tensor.copy_(add({mul({unit, loc}, {to - from, loc}), loc}, {from, loc}), loc);
}

Tensor normal_(Tensor tensor, double mean, double std, Loc loc) {
  checkReal("normal_", tensor, loc);
  if (!(std >= 0))
    fail("normal_ expects std >= 0.0, but found std " + std::to_string(std), loc);
  NoGradGuard guard;
  Tensor unit = randn(tensor.sizes(loc), drawing(tensor), loc);
  return tensor.copy_(add({mul({unit, loc}, {std, loc}), loc}, {mean, loc}), loc);
}

/// The inverse of erf for y in (-1, 1): Winitzki's approximation, refined by Newton's method.
static double inverseErf(double y) {
  double log1my2 = std::log1p(-y * y), c = 2 / (std::numbers::pi * 0.147) + log1my2 / 2;
  double x = std::copysign(std::sqrt(std::sqrt(c * c - log1my2 / 0.147) - c), y);
  for (int i = 0; i < 4; ++i) {
    double slope = 2 * std::numbers::inv_sqrtpi * std::exp(-x * x);
    if (slope < 1e-300)
      break;
    x -= (std::erf(x) - y) / slope;
  }
  return x;
}

Tensor trunc_normal_(Tensor tensor, double mean, double std, double a, double b, Loc loc) {
  checkReal("trunc_normal_", tensor, loc);
  if (!(std > 0) || !(a < b))
    fail("trunc_normal_ needs std > 0 and a < b, found std " + std::to_string(std) + ", a " +
             std::to_string(a) + " and b " + std::to_string(b),
         loc);
  refuseInTrace("trunc_normal_", loc);
  NoGradGuard guard;
  std::vector<double> values = rand(tensor.sizes(loc), onHost(DType::f64), loc).to_vector<double>(loc);
  // Inverse transform sampling: a uniform number between the values of the distribution function at both
  // bounds.
  double low = std::erf((a - mean) / std / std::numbers::sqrt2),
         high = std::erf((b - mean) / std / std::numbers::sqrt2);
  for (double &value : values) {
    double y = low + value * (high - low);
    double x = y <= -1 ? a : y >= 1 ? b : mean + std * std::numbers::sqrt2 * inverseErf(y);
    value = std::min(std::max(x, a), b);
  }
  overwrite(tensor, Tensor::from(values, tensor.sizes(loc), onHost(), loc), loc);
  return tensor;
}

Tensor constant_(Tensor tensor, double value, Loc loc) {
  NoGradGuard guard;
  return tensor.copy_(
      full(tensor.sizes(loc), {value, loc}, {.dtype = tensor.dtype(loc), .device = tensor.device(loc)}, loc),
      loc);
}
Tensor ones_(Tensor tensor, Loc loc) { return constant_(std::move(tensor), 1, loc); }
Tensor zeros_(Tensor tensor, Loc loc) { return constant_(std::move(tensor), 0, loc); }

Tensor eye_(Tensor tensor, Loc loc) {
  if (tensor.dim(loc) != 2)
    fail("Only tensors with 2 dimensions are supported by eye_, found shape " + shapeText(tensor.sizes(loc)),
         loc);
  NoGradGuard guard;
  TensorOptions options{.device = tensor.device(loc)};
  Tensor rows = arange(tensor.size(0, loc), options, loc).reshape({tensor.size(0, loc), 1}, loc);
  return tensor.copy_(eq({rows, loc}, {arange(tensor.size(1, loc), options, loc), loc}), loc);
}

Tensor xavier_uniform_(Tensor tensor, double gain, Loc loc) {
  auto [in, out] = fan_in_and_fan_out(tensor, loc);
  double bound = in + out > 0 ? gain * std::sqrt(6.0 / static_cast<double>(in + out)) : 0;
  return uniform_(std::move(tensor), -bound, bound, loc);
}

Tensor xavier_normal_(Tensor tensor, double gain, Loc loc) {
  auto [in, out] = fan_in_and_fan_out(tensor, loc);
  double std = in + out > 0 ? gain * std::sqrt(2.0 / static_cast<double>(in + out)) : 0;
  return normal_(std::move(tensor), 0, std, loc);
}

/// The standard deviation that preserves the variance of the signal.
static double kaimingDeviation(const Tensor &tensor, double a, FanMode mode, const std::string &nonlinearity,
                               Loc loc) {
  auto [in, out] = fan_in_and_fan_out(tensor, loc);
  int64_t fan = mode == FanMode::fan_in ? in : out;
  return fan > 0 ? calculate_gain(nonlinearity, a, loc) / std::sqrt(static_cast<double>(fan)) : 0;
}

Tensor kaiming_uniform_(Tensor tensor, double a, FanMode mode, const std::string &nonlinearity, Loc loc) {
  double bound = std::sqrt(3.0) * kaimingDeviation(tensor, a, mode, nonlinearity, loc);
  return uniform_(std::move(tensor), -bound, bound, loc);
}

Tensor kaiming_normal_(Tensor tensor, double a, FanMode mode, const std::string &nonlinearity, Loc loc) {
  double std = kaimingDeviation(tensor, a, mode, nonlinearity, loc);
  return normal_(std::move(tensor), 0, std, loc);
}

Tensor orthogonal_(Tensor tensor, double gain, Loc loc) {
  checkReal("orthogonal_", tensor, loc);
  if (tensor.dim(loc) < 2)
    fail("Only tensors with 2 or more dimensions are supported by orthogonal_, found shape " +
             shapeText(tensor.sizes(loc)),
         loc);
  refuseInTrace("orthogonal_", loc);
  if (tensor.numel(loc) == 0)
    return tensor;
  NoGradGuard guard;
  auto rows = static_cast<size_t>(tensor.size(0, loc)),
       columns = static_cast<size_t>(tensor.numel(loc)) / rows;
  // The smaller side is the number of vectors. The Gram-Schmidt process, done twice, makes them orthogonal to
  // the last bits, and its positive diagonal makes the distribution uniform.
  size_t count = std::min(rows, columns), length = std::max(rows, columns);
  Shape drawn{static_cast<int64_t>(count), static_cast<int64_t>(length)};
  std::vector<double> v = randn(drawn, onHost(DType::f64), loc).to_vector<double>(loc);
  auto dot = [&](size_t i, size_t j) {
    double sum = 0;
    for (size_t k = 0; k < length; ++k)
      sum += v[i * length + k] * v[j * length + k];
    return sum;
  };
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < 2 * i; ++j) {
      size_t other = j % i;
      double share = dot(i, other);
      for (size_t k = 0; k < length; ++k)
        v[i * length + k] -= share * v[other * length + k];
    }
    double scale = 1 / std::sqrt(dot(i, i));
    for (size_t k = 0; k < length; ++k)
      v[i * length + k] *= scale;
  }
  std::vector<double> values(rows * columns);
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      values[i * columns + j] = gain * (rows <= columns ? v[i * length + j] : v[j * length + i]);
  overwrite(tensor, Tensor::from(values, tensor.sizes(loc), onHost(), loc), loc);
  return tensor;
}

Tensor dirac_(Tensor tensor, int64_t groups, Loc loc) {
  const Shape shape = tensor.sizes(loc);
  if (shape.size() < 3 || shape.size() > 5)
    fail("Only tensors with 3, 4, or 5 dimensions are supported by dirac_, found shape " + shapeText(shape),
         loc);
  if (groups < 1 || shape[0] % groups != 0)
    fail("dirac_: dim 0 must be divisible by groups, found " + std::to_string(shape[0]) + " and " +
             std::to_string(groups),
         loc);
  refuseInTrace("dirac_", loc);
  int64_t window = 1, middle = 0;
  for (size_t i = 2; i < shape.size(); ++i) {
    window *= shape[i];
    middle = middle * shape[i] + shape[i] / 2;
  }
  std::vector<double> values(static_cast<size_t>(shape[0] * shape[1] * window));
  const int64_t rows = shape[0] / groups;
  for (int64_t group = 0; window > 0 && group < groups; ++group)
    for (int64_t i = 0; i < std::min(rows, shape[1]); ++i)
      values[static_cast<size_t>(((group * rows + i) * shape[1] + i) * window + middle)] = 1;
  NoGradGuard guard;
  overwrite(tensor, Tensor::from(values, shape, onHost(), loc), loc);
  return tensor;
}

} // namespace weft::nn::init
