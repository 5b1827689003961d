//===- Clip.cpp - Bounding gradients -------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/clip.hpp"

#include "frontend/ops/Ops.h"
#include "weft/math.hpp"

#include <cmath>

namespace weft::nn::utils {

using namespace frontend;

static std::vector<Tensor> gradientsOf(const std::vector<Tensor> &parameters) {
  std::vector<Tensor> gradients;
  for (const Tensor &parameter : parameters)
    if (Tensor gradient = parameter.grad(); gradient.defined() && gradient.numel() > 0)
      gradients.push_back(gradient);
  return gradients;
}

/// The contribution of one gradient to the total norm: to the sum, or to the maximum if the norm is infinity.
static Tensor share(const Tensor &gradient, DType dtype, double norm_type, Loc loc) {
  Tensor g = gradient.to(dtype, loc);
  if (norm_type == 2)
    return mul({g, loc}, {g, loc}).sum({}, false, loc);
  Tensor magnitude = abs(g, loc);
  if (std::isinf(norm_type))
    return magnitude.amax({}, false, loc);
  return (norm_type == 1 ? magnitude : pow({magnitude, loc}, {norm_type, loc})).sum({}, false, loc);
}

static Tensor totalNorm(const std::vector<Tensor> &tensors, double norm_type, Loc loc) {
  if (tensors.empty())
    return scalar(0, {}, loc);
  DType dtype = DType::f32;
  for (const Tensor &tensor : tensors)
    if (tensor.dtype(loc) == DType::f64)
      dtype = DType::f64;
  Tensor norm;
  for (const Tensor &tensor : tensors) {
    Tensor part = share(tensor, dtype, norm_type, loc).to(tensors[0].device(loc), loc);
    norm = !norm.defined()         ? part
           : std::isinf(norm_type) ? maximum({norm, loc}, {part, loc})
                                   : add({norm, loc}, {part, loc});
  }
  if (norm_type == 2)
    norm = sqrt(norm, loc);
  else if (norm_type != 1 && !std::isinf(norm_type))
    norm = pow({norm, loc}, {1 / norm_type, loc});
  return norm;
}

static void checkNormType(const char *function, double norm_type, Loc loc) {
  if (!(norm_type > 0))
    fail(std::string(function) + ": norm_type must be positive, found " + std::to_string(norm_type), loc);
}
static void checkMaxNorm(const char *function, double max_norm, Loc loc) {
  if (!(max_norm >= 0))
    fail(std::string(function) + ": max_norm must not be negative, found " + std::to_string(max_norm), loc);
}
static void scale(std::vector<Tensor> &gradients, double max_norm, const Tensor &norm, Loc loc) {
  Tensor factor = minimum({div({max_norm, loc}, {add({norm, loc}, {1e-6, loc}), loc}), loc}, {1, loc});
  for (Tensor &gradient : gradients)
    gradient *= Arg(factor.to(gradient.device(loc), loc), loc);
}

Tensor get_total_norm(const std::vector<Tensor> &tensors, double norm_type, Loc loc) {
  checkNormType("get_total_norm", norm_type, loc);
  GraphLock lock(graphMutex());
  std::vector<Tensor> counted;
  for (const Tensor &tensor : tensors)
    if (tensor.numel(loc) > 0)
      counted.push_back(tensor);
  return totalNorm(counted, norm_type, loc);
}

void clip_grads_with_norm_(const std::vector<Tensor> &parameters, double max_norm, const Tensor &total_norm,
                           Loc loc) {
  checkMaxNorm("clip_grads_with_norm_", max_norm, loc);
  GraphLock lock(graphMutex());
  NoGradGuard guard;
  std::vector<Tensor> gradients = gradientsOf(parameters);
  scale(gradients, max_norm, total_norm, loc);
}

Tensor clip_grad_norm_(const std::vector<Tensor> &parameters, double max_norm, double norm_type, Loc loc) {
  checkNormType("clip_grad_norm_", norm_type, loc);
  checkMaxNorm("clip_grad_norm_", max_norm, loc);
  GraphLock lock(graphMutex());
  NoGradGuard guard;
  std::vector<Tensor> gradients = gradientsOf(parameters);
  Tensor norm = totalNorm(gradients, norm_type, loc);
  scale(gradients, max_norm, norm, loc);
  return norm;
}

void clip_grad_value_(const std::vector<Tensor> &parameters, double clip_value, Loc loc) {
  if (!(clip_value >= 0))
    fail("clip_grad_value_: clip_value must not be negative, found " + std::to_string(clip_value), loc);
  GraphLock lock(graphMutex());
  NoGradGuard guard;
  for (Tensor &gradient : gradientsOf(parameters))
    gradient.copy_(minimum({maximum({gradient, loc}, {-clip_value, loc}), loc}, {clip_value, loc}), loc);
}

} // namespace weft::nn::utils
