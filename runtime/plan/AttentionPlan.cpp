//===- AttentionPlan.cpp - Launches of attention in plans -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/AttentionPlan.h"

#include "runtime/plan/PlanFields.h"
#include "runtime/plan/TensorPlace.h"
#include "weft/limits.hpp"

#include <cmath>

namespace weft::runtime {
namespace {

constexpr const char *partNames[attentionParts] = {"q",    "k",  "v",  "out", "lse",
                                                   "grad", "dq", "dk", "dv",  "mask"};

/// What is wrong with the type, the extents and the mask of a launch.
std::string extents_problem(const fb::AttentionLaunch &launch) {
  if (launch.dtype() > static_cast<uint8_t>(DType::f64) ||
      !attention_supports(static_cast<DType>(launch.dtype())))
    return "has no attention of element type number " + number(launch.dtype());
  const auto mask = static_cast<DType>(launch.mask_dtype());
  if (launch.masked() && mask != DType::i1 && mask != DType::f32 && launch.mask_dtype() != launch.dtype())
    return "has a mask of element type number " + number(launch.mask_dtype());
  if (!aligned(launch.batch()) || length(launch.batch()) > maxRank)
    return "has misaligned batch dimensions, or more than " + number(maxRank);
  int64_t work = 1;
  const auto grows = [&](int64_t extent) {
    return extent >= 1 && !__builtin_mul_overflow(work, extent, &work) && work <= maxProductWork;
  };
  bool fits = true;
  for (uint32_t i = 0; i < length(launch.batch()); ++i)
    fits = fits && grows(launch.batch()->Get(i));
  // Each extent is limited first, so that their sum does not overflow.
  for (int64_t extent : {launch.features(), launch.values()})
    fits = fits && extent >= 1 && extent <= maxAttentionColumns;
  for (int64_t extent : {launch.rows(), launch.keys()})
    fits = fits && grows(extent);
  if (!fits || !grows(launch.features() + launch.values()))
    return "has extents that are not positive or too large: " + number(launch.rows()) + " rows, " +
           number(launch.keys()) + " keys, " + number(launch.features()) + " features, " +
           number(launch.values()) + " values";
  return std::isfinite(launch.scale()) ? "" : "has a scale that is not finite";
}

/// What is wrong with the place of a part. `extents` are its batch dimensions, rows and columns.
std::string part_problem(const fb::MatrixPlace &place, const std::vector<int64_t> &extents, size_t item,
                         bool written, const fb::Plan &plan) {
  if (!aligned(place.strides()) || length(place.strides()) != extents.size())
    return "has misaligned strides, or not " + number(extents.size());
  return place_problem(
      {place.buffer(), place.offset(), {place.strides()->data(), extents.size()}, extents, item, written},
      plan);
}

} // namespace

AttentionShape attention_shape(const fb::AttentionLaunch &launch) {
  AttentionShape shape;
  shape.dtype = static_cast<DType>(launch.dtype());
  if (launch.masked())
    shape.mask = static_cast<DType>(launch.mask_dtype());
  if (launch.batch())
    shape.batch.assign(launch.batch()->begin(), launch.batch()->end());
  shape.rows = launch.rows();
  shape.keys = launch.keys();
  shape.features = launch.features();
  shape.values = launch.values();
  shape.causal = launch.causal();
  shape.backward = launch.backward();
  shape.scale = launch.scale();
  uint32_t next = 0;
  for (size_t part = 0; part < attentionParts; ++part) {
    if (!shape.has(static_cast<AttentionPart>(part)) || next >= length(launch.places()))
      continue;
    const fb::MatrixPlace *place = launch.places()->Get(next++);
    shape.places[part].offset = place->offset();
    if (place->strides() && aligned(place->strides()))
      shape.places[part].strides.assign(place->strides()->begin(), place->strides()->end());
  }
  return shape;
}

std::string attention_problem(const fb::AttentionLaunch &launch, const fb::Plan &plan) {
  if (std::string problem = extents_problem(launch); !problem.empty())
    return problem;
  const AttentionShape shape = attention_shape(launch);
  uint32_t next = 0;
  for (size_t i = 0; i < attentionParts; ++i) {
    const auto part = static_cast<AttentionPart>(i);
    if (!shape.has(part))
      continue;
    if (next >= length(launch.places()))
      return "has no place for " + std::string(partNames[i]);
    std::vector<int64_t> extents = shape.batch;
    const auto [rows, columns] = shape.extents(part);
    extents.insert(extents.end(), {rows, columns});
    if (std::string problem = part_problem(*launch.places()->Get(next++), extents,
                                           itemsize(shape.dtype_of(part)), shape.writes(part), plan);
        !problem.empty())
      return std::string(": ") + partNames[i] + " " + problem;
  }
  if (next != length(launch.places()))
    return "has " + std::to_string(length(launch.places())) + " places, expected " + std::to_string(next);
  return "";
}

} // namespace weft::runtime
