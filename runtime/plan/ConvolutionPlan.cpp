//===- ConvolutionPlan.cpp - Launches of convolutions in plans ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/ConvolutionPlan.h"

#include "runtime/gemm/Winograd.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/plan/TensorPlace.h"
#include "weft/limits.hpp"

#include <algorithm>
#include <array>

namespace weft::runtime {
namespace {

using Numbers = const flatbuffers::Vector<int64_t> *;

/// The number of extent d, from three; those that a list does not have are `absent`.
ConvolutionNumbers from_list(Numbers list, int64_t absent) {
  ConvolutionNumbers numbers{absent, absent, absent};
  for (uint32_t i = 0; i < length(list); ++i)
    numbers[3 - length(list) + i] = list->Get(i);
  return numbers;
}

/// A place whose strides are those of three dimensions, then of the extents.
ConvolutionPlace from_place(const fb::MatrixPlace &place) {
  ConvolutionPlace made;
  made.offset = place.offset();
  const uint32_t count = length(place.strides());
  for (uint32_t i = 0; i < count; ++i)
    made.strides[i < 3 ? i : 6 - count + i] = place.strides()->Get(i);
  return made;
}

/// Whether a device, the host or a GPU, has convolutions of an element type.
bool has_convolutions(uint8_t dtype, bool of_gpu) {
  if (dtype > static_cast<uint8_t>(DType::f64))
    return false;
  const auto type = static_cast<DType>(dtype);
  return convolution_supports(type) || (of_gpu && is_floating_point(type));
}

std::string numbers_problem(const ConvolutionShape &s) {
  int64_t work = 1;
  bool fits = true;
  const auto grows = [&](int64_t extent) {
    fits = fits && extent >= 1 && !__builtin_mul_overflow(work, extent, &work) && work <= maxProductWork;
  };
  for (const int64_t extent : {s.batch, s.groups, s.channels, s.outputs})
    grows(extent);
  double box = 1, weights = static_cast<double>(s.groups) * static_cast<double>(s.outputs) * s.channels;
  int64_t remainders = 1;
  for (size_t d = 0; d < 3; ++d) {
    grows(s.window[d]);
    grows(s.places[d]);
    for (const int64_t each :
         {s.extents[d], s.window[d], s.places[d], s.stride[d], s.base_dilation[d], s.window_dilation[d]})
      fits = fits && each >= 1 && each <= maxConvolutionReach;
    fits = fits && s.low[d] >= -maxConvolutionReach && s.low[d] < maxConvolutionReach;
    if (!fits)
      break;
    if (s.stride[d] > 1 && s.base_dilation[d] > 1)
      return "has a stride and a base dilation of one extent";
    box *= static_cast<double>(s.places[d]) * static_cast<double>(s.stride[d]) +
           static_cast<double>(s.window[d]) * static_cast<double>(s.window_dilation[d]) +
           static_cast<double>(s.extents[d]) * static_cast<double>(s.base_dilation[d]);
    weights *= static_cast<double>(s.window[d]);
    remainders *= std::min<int64_t>(s.base_dilation[d], maxConvolutionRemainders + 1);
  }
  if (!fits)
    return "has numbers that are not positive or too large";
  if (box > static_cast<double>(maxConvolutionBox) || remainders > maxConvolutionRemainders ||
      weights > static_cast<double>(mostElements))
    return "has windows that reach too far";
  return "";
}

/// What is wrong with the steps after the sums, or with what they read.
std::string steps_problem(const fb::ConvolutionLaunch &launch, const ConvolutionShape &shape,
                          const fb::Plan &plan) {
  if (static_cast<int64_t>(shape.steps.size()) > maxConvolutionSteps)
    return "has " + number(shape.steps.size()) + " steps, expected at most " + number(maxConvolutionSteps);
  uint32_t reads = 0;
  for (const ConvolutionStep step : shape.steps) {
    if (static_cast<int64_t>(step) >= convolutionSteps)
      return "has a step of kind number " + number(static_cast<int>(step));
    if (step == ConvolutionStep::wide && !(shape.is_wide() && itemsize(shape.dtype) == 2))
      return "has a sum that stays f32, of a type that is no half or before other steps";
    if (!reads_operand(step))
      continue;
    const uint32_t next = reads++;
    if (next >= length(launch.beside()))
      continue; // the number of operands is compared below
    const bool residual = step == ConvolutionStep::residual;
    const std::array<int64_t, 1> one{1}, outputs{shape.groups * shape.outputs};
    const std::array<int64_t, 6> extents = shape.y_extents();
    const TensorPlace place = {launch.beside()->Get(next), residual ? shape.y.offset : 0,
                               residual ? std::span<const int64_t>(shape.y.strides) : one,
                               residual ? std::span<const int64_t>(extents) : outputs, itemsize(shape.dtype)};
    if (std::string problem = place_problem(place, plan); !problem.empty())
      return ": operand " + number(next) + " of a step " + problem;
  }
  return reads == length(launch.beside())
             ? ""
             : "has steps that read " + number(reads) + " operands, found " + number(length(launch.beside()));
}

} // namespace

std::string convolution_lists_problem(const fb::ConvolutionLaunch &launch) {
  const uint32_t extents = length(launch.extents());
  if (extents < 1 || extents > 3)
    return "has " + number(extents) + " extents, expected one to three";
  for (Numbers list : {launch.extents(), launch.window(), launch.places(), launch.stride(), launch.low(),
                       launch.base_dilation(), launch.window_dilation()})
    if (!aligned(list) || length(list) != extents)
      return "has misaligned lists, or not one number for each of " + number(extents) + " extents";
  for (const fb::MatrixPlace *place : {launch.a(), launch.w(), launch.y()})
    if (!place || !aligned(place->strides()) || length(place->strides()) != 3 + extents)
      return "has misaligned strides, or not " + number(3 + extents) + " of each tensor";
  return "";
}

ConvolutionShape convolution_shape(const fb::ConvolutionLaunch &launch) {
  ConvolutionShape shape;
  shape.dtype = static_cast<DType>(launch.dtype());
  shape.batch = launch.batch();
  shape.groups = launch.groups();
  shape.channels = launch.channels();
  shape.outputs = launch.outputs();
  shape.extents = from_list(launch.extents(), 1);
  shape.window = from_list(launch.window(), 1);
  shape.places = from_list(launch.places(), 1);
  shape.stride = from_list(launch.stride(), 1);
  shape.low = from_list(launch.low(), 0);
  shape.base_dilation = from_list(launch.base_dilation(), 1);
  shape.window_dilation = from_list(launch.window_dilation(), 1);
  shape.a = from_place(*launch.a());
  shape.w = from_place(*launch.w());
  shape.y = from_place(*launch.y());
  shape.winograd = launch.winograd();
  for (uint32_t i = 0; i < length(launch.steps()); ++i)
    shape.steps.push_back(static_cast<ConvolutionStep>(launch.steps()->Get(i)));
  return shape;
}

std::string convolution_problem(const fb::ConvolutionLaunch &launch, const fb::Plan &plan, bool of_gpu) {
  if (!has_convolutions(launch.dtype(), of_gpu))
    return "has no convolution of element type number " + number(launch.dtype());
  if (std::string problem = convolution_lists_problem(launch); !problem.empty())
    return problem;
  const ConvolutionShape shape = convolution_shape(launch);
  if (std::string problem = numbers_problem(shape); !problem.empty())
    return problem;
  const struct {
    const char *name;
    const fb::MatrixPlace *planned;
    const ConvolutionPlace &place;
    std::array<int64_t, 6> extents;
    size_t item;
    bool written;
  } tensors[] = {{"a", launch.a(), shape.a, shape.a_extents(), itemsize(shape.dtype), false},
                 {"w", launch.w(), shape.w, shape.w_extents(), itemsize(shape.dtype), false},
                 {"y", launch.y(), shape.y, shape.y_extents(),
                  itemsize(shape.is_wide() ? DType::f32 : shape.dtype), true}};
  if (shape.winograd && (of_gpu || !has_winograd(shape)))
    return "has Winograd's method for another convolution than one of f32 on a CPU, of one group and two "
           "extents, with a window or places of 3 x 3 and without strides and dilations";
  for (const auto &[name, planned, place, extents, item, written] : tensors)
    if (std::string problem = place_problem(
            {planned->buffer(), place.offset, place.strides, extents, item, written, /*mayReverse=*/true},
            plan);
        !problem.empty())
      return std::string(": ") + name + " " + problem;
  return steps_problem(launch, shape, plan);
}

} // namespace weft::runtime
