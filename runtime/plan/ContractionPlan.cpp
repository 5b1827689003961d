//===- ContractionPlan.cpp - Launches of contractions in plans ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/ContractionPlan.h"

#include "runtime/gemm/Contraction.h"
#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/plan/TensorPlace.h"
#include "weft/dtype.hpp"
#include "weft/limits.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace weft::runtime {
namespace {

struct ProductOperand {
  const char *name;
  uint32_t buffer;
  const flatbuffers::Vector<int64_t> *strides;
  std::array<int64_t, 3> extents;
};

/// `bytes` is how much of its buffer the operand reaches over.
std::string operand_problem(const ProductOperand &operand, const fb::Plan &plan, uint64_t item,
                            uint64_t &bytes) {
  const fb::Buffer *range = buffer_of(plan, operand.buffer);
  if (!range)
    return "is buffer " + number(operand.buffer) + " of " + number(length(plan.buffers()));
  if (!aligned(operand.strides))
    return "has misaligned strides";
  if (length(operand.strides) != 3)
    return "has " + number(length(operand.strides)) + " strides, expected 3";
  uint64_t last = 0;
  bool empty = false;
  for (uint32_t d = 0; d < 3; ++d) {
    const int64_t stride = operand.strides->Get(d), extent = operand.extents[d];
    uint64_t reach = 0;
    if (stride < 0)
      return "has negative stride " + number(stride);
    empty |= extent == 0;
    if (extent > 0 &&
        (__builtin_mul_overflow(static_cast<uint64_t>(extent - 1), static_cast<uint64_t>(stride), &reach) ||
         __builtin_add_overflow(last, reach, &last) || last > static_cast<uint64_t>(mostElements)))
      return "reaches beyond what a process can address";
  }
  bytes = empty ? 0 : (last + 1) * item;
  if (bytes > range->bytes())
    return "reaches over " + number(bytes) + " bytes of buffer " + number(operand.buffer) + " of " +
           number(range->bytes());
  return "";
}

/// Every element of c has a place of its own if each stride is beyond the reach of the smaller ones.
std::string places_problem(const ProductOperand &c) {
  std::array<std::pair<int64_t, int64_t>, 3> steps;
  for (uint32_t d = 0; d < 3; ++d)
    steps[d] = {c.strides->Get(d), c.extents[d]};
  std::sort(steps.begin(), steps.end());
  // Where there is none, there is nothing to share.
  bool hasElements = std::ranges::none_of(steps, [](const auto &step) { return step.second == 0; });
  int64_t reach = 0;
  for (const auto &[stride, extent] : steps) {
    if (hasElements && extent > 1 && stride <= reach)
      return ": elements of c share memory: stride " + number(stride) + ", reach " + number(reach);
    reach += extent > 1 ? stride * (extent - 1) : 0;
  }
  return "";
}

std::string bias_problem(const fb::ContractionLaunch &launch, const fb::Plan &plan, uint64_t item) {
  if (launch.bias() == -1)
    return "";
  const fb::Buffer *bias =
      launch.bias() < 0 ? nullptr : buffer_of(plan, static_cast<uint32_t>(launch.bias()));
  if (!bias || bias->bytes() / item < static_cast<uint64_t>(launch.n()))
    return ": bias is buffer " + number(launch.bias()) + ", which does not exist or holds less than " +
           number(launch.n()) + " elements";
  return share_bytes(plan, *bias, *buffer_of(plan, launch.c())) ? ": c overlaps the bias" : "";
}

/// The operands of products that are added to the first one, of which only their buffers are their own.
/// `bytes` is how far a and b reach.
std::string further_problem(const fb::ContractionLaunch &launch, const fb::Plan &plan,
                            std::span<const uint64_t, 2> bytes) {
  const uint32_t count = length(launch.more());
  if (!count)
    return "";
  const auto dtype = static_cast<DType>(launch.dtype());
  if (count % 2 || launch.bias() != -1 || launch.relu() || (dtype != DType::f32 && dtype != DType::f64))
    return ": " + number(count) + " further operands: they are pairs of f32 or f64, without bias and relu";
  for (uint32_t j = 0; j < count; ++j) {
    const fb::Buffer *range = buffer_of(plan, launch.more()->Get(j));
    if (!range || range->bytes() < bytes[j % 2])
      return ": further operand " + number(j) + " is buffer " + number(launch.more()->Get(j)) +
             ", which does not exist or holds less than " + number(bytes[j % 2]) + " bytes";
    if (share_bytes(plan, *range, *buffer_of(plan, launch.c())))
      return ": c overlaps further operand " + number(j);
  }
  return "";
}

} // namespace

std::string contraction_problem(const fb::ContractionLaunch &launch, const fb::Plan &plan) {
  if (launch.dtype() > static_cast<uint8_t>(DType::f64) ||
      !contraction_supports(static_cast<DType>(launch.dtype())))
    return ": no contraction of element type number " + number(launch.dtype());
  const uint64_t item = itemsize(static_cast<DType>(launch.dtype()));
  const auto extents = {launch.batch(), launch.m(), launch.n(), launch.k()};
  int64_t work = std::ranges::count(extents, 0) == 0; // of nothing there is none, however large the rest
  for (int64_t extent : extents)
    if (extent < 0 || __builtin_mul_overflow(work, extent, &work) || work > maxProductWork)
      return ": extents " + number(launch.batch()) + ", " + number(launch.m()) + ", " + number(launch.n()) +
             ", " + number(launch.k()) + " are negative or too large";
  const std::array<int64_t, 3> of_result = {launch.batch(), launch.m(), launch.n()};
  const ProductOperand operands[] = {
      {"a", launch.a(), launch.a_strides(), {launch.batch(), launch.m(), launch.k()}},
      {"b", launch.b(), launch.b_strides(), {launch.batch(), launch.k(), launch.n()}},
      {"c", launch.c(), launch.c_strides(), of_result},
      {"residual", static_cast<uint32_t>(launch.residual()), launch.c_strides(), of_result}};
  const size_t count = launch.residual() == -1 ? 3 : 4;
  std::array<uint64_t, 4> reached = {}; // in bytes
  for (size_t i = 0; i < count; ++i)
    if (const std::string problem = operand_problem(operands[i], plan, item, reached[i]); !problem.empty())
      return std::string(": operand ") + operands[i].name + " " + problem;
  for (const std::string &problem : {places_problem(operands[2]), bias_problem(launch, plan, item),
                                     further_problem(launch, plan, std::span(reached).first<2>())})
    if (!problem.empty())
      return problem;
  for (size_t i = 0; i < count; ++i)
    if (i != 2 && share_bytes(plan, *buffer_of(plan, operands[i].buffer), *buffer_of(plan, launch.c())))
      return ": c overlaps an operand";
  return "";
}

} // namespace weft::runtime
