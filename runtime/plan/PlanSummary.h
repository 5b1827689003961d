//===- PlanSummary.h - What a plan says of its calls ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_PLANSUMMARY_H
#define WEFT_RUNTIME_PLAN_PLANSUMMARY_H

#include "runtime/package/Package.h"
#include "weft/dtype.hpp"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

/// What tools show of a plan beside its signature, for any sizes.
struct PlanSummary {
  struct Scalar {
    std::string name; ///< of its argument
    DType dtype = DType::f32;
    uint64_t offset = 0;
  };
  uint32_t fallible = 0;   ///< launches that may fail,
  uint32_t predicated = 0; ///< and those that then do nothing
  uint32_t regions = 0;    ///< runs of launches that a graph may hold
  std::vector<Scalar> scalars;
  uint64_t scalar_bytes = 0;
  uint32_t contractions_with_candidates = 0; ///< that have algorithms of a GPU's library,
  uint64_t library_release = 0;              ///< which is this one, as 131000
};

/// Of a function that was loaded for a target.
WEFT_RUNTIME_API Expected<PlanSummary> summarize_plan(const Package &package, std::string_view function,
                                                      std::string_view target);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_PLANSUMMARY_H
