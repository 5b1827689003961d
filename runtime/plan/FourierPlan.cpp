//===- FourierPlan.cpp - Fourier transforms in plans ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/FourierPlan.h"

#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanFields.h"

#include <cmath>

namespace weft::runtime {

FourierShape fourier_shape(const fb::FourierLaunch &launch) {
  return {.kind = static_cast<FourierKind>(launch.kind()),
          .dtype = static_cast<DType>(launch.dtype()),
          .outer = launch.outer(),
          .length = launch.length(),
          .inner = launch.inner(),
          .inverse = launch.inverse(),
          .adjoint = launch.adjoint(),
          .scale = launch.scale()};
}

/// Whether a buffer has `lines` lines of `elements` elements.
static bool has_lines(const FourierShape &shape, int64_t elements, uint64_t found) {
  uint64_t bytes = static_cast<uint64_t>(elements) * itemsize(shape.dtype);
  for (const int64_t count : {shape.outer, shape.inner})
    if (count < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(count), &bytes))
      return false;
  return bytes == found;
}

std::string fourier_problem(const fb::FourierLaunch &launch, const fb::Plan &plan) {
  if (launch.kind() >= fourierKinds)
    return "asks for the unknown Fourier transform " + number(static_cast<int>(launch.kind()));
  const FourierShape shape = fourier_shape(launch);
  if (shape.dtype != DType::f32 && shape.dtype != DType::f64)
    return "transforms elements of type number " + number(static_cast<int>(launch.dtype()));
  if (shape.length < 1 || shape.length > mostFourierLength)
    return "transforms lines of " + number(shape.length) + " elements, which is not possible";
  if (!std::isfinite(shape.scale))
    return "has a scale that is not finite";
  const struct {
    const char *name;
    uint32_t index;
    int64_t elements;
  } parts[] = {{"source", launch.source(), shape.source_elements()},
               {"result", launch.result(), shape.result_elements()}};
  for (const auto &part : parts) {
    if (part.index >= length(plan.buffers()))
      return std::string("has its ") + part.name + " in buffer " + number(part.index) + " of " +
             number(length(plan.buffers()));
    if (const uint64_t found = plan.buffers()->Get(part.index)->bytes();
        !has_lines(shape, part.elements, found))
      return std::string("has a ") + part.name + " of " + number(found) + " bytes, which are not those of " +
             number(shape.outer) + " times " + number(shape.inner) + " lines of " + number(part.elements) +
             " elements";
  }
  if (share_bytes(plan, *plan.buffers()->Get(launch.source()), *plan.buffers()->Get(launch.result())))
    return "has its source and its result in the same memory";
  return "";
}

} // namespace weft::runtime
