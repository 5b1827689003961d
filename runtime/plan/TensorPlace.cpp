//===- TensorPlace.cpp - Where a tensor of a launch lies ---------------------- ===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/TensorPlace.h"

#include "runtime/plan/PlanFields.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::runtime {

std::string place_problem(const TensorPlace &place, const fb::Plan &plan) {
  if (place.buffer >= length(plan.buffers()))
    return "is buffer " + number(place.buffer) + " of " + number(length(plan.buffers()));
  int64_t first = place.offset, last = place.offset;
  std::vector<std::pair<int64_t, int64_t>> steps;
  bool fits = first >= 0 && first < mostElements;
  for (size_t d = 0; fits && d < place.extents.size(); ++d) {
    const int64_t stride = place.strides[d], extent = place.extents[d];
    int64_t reach = 0;
    fits = extent >= 1 && !__builtin_mul_overflow(stride, extent - 1, &reach) && reach < mostElements &&
           reach > -mostElements && (stride >= 0 || (place.mayReverse && !place.written));
    if (!fits)
      break; // the sum below may overflow
    (stride < 0 ? first : last) += reach;
    fits = first > -mostElements && last < mostElements;
    steps.emplace_back(stride, extent);
  }
  const uint64_t bytes = plan.buffers()->Get(place.buffer)->bytes();
  if (!fits || first < 0 || (static_cast<uint64_t>(last) + 1) * place.item > bytes)
    return "reaches beyond the " + number(bytes) + " bytes of buffer " + number(place.buffer);
  if (!place.written)
    return "";
  // Elements have different addresses if each stride is larger than the span of the smaller ones.
  std::sort(steps.begin(), steps.end());
  int64_t reach = 0;
  for (const auto &[stride, extent] : steps) {
    if (extent > 1 && stride <= reach)
      return "has elements that share memory: stride " + number(stride) + ", reach " + number(reach);
    reach += extent > 1 ? stride * (extent - 1) : 0;
  }
  return "";
}

} // namespace weft::runtime
