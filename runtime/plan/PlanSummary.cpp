//===- PlanSummary.cpp - What a plan says of its calls ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/PlanSummary.h"

#include "runtime/plan/PlanFields.h"
#include "runtime/plan/PlanVerifier.h"

#include <algorithm>

namespace weft::runtime {

Expected<PlanSummary> summarize_plan(const Package &package, std::string_view function,
                                     std::string_view target) {
  const Expected<std::span<const std::byte>> section =
      package.section("plan." + std::string(function) + "." + std::string(target));
  if (!section)
    return section.status();
  const Expected<const fb::Plan *> read = read_plan(*section);
  if (!read)
    return read.status();
  const fb::Plan &plan = **read;
  PlanSummary summary;
  int32_t region = -1;
  for (uint32_t i = 0; i < length(plan.launches()); ++i) {
    const fb::Launch &launch = *plan.launches()->Get(i);
    summary.fallible += launch.may_fail();
    summary.predicated += launch.predicate() != fb::Predicate::none;
    summary.regions += launch.region() > region;
    region = std::max(region, launch.region());
    if (const auto *product = launch.op_as_ContractionLaunch(); product && length(product->candidates())) {
      ++summary.contractions_with_candidates;
      summary.library_release = product->library_release();
    }
  }
  summary.scalar_bytes = plan.scalar_bytes();
  for (uint32_t i = 0; i < length(plan.scalars()); ++i) {
    const fb::ScalarPlace &scalar = *plan.scalars()->Get(i);
    const fb::Argument &argument = *plan.arguments()->Get(scalar.argument());
    summary.scalars.push_back({text(argument.name()), static_cast<DType>(scalar.dtype()), scalar.offset()});
  }
  return summary;
}

} // namespace weft::runtime
