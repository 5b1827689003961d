//===- SortPlan.cpp - Launches of sorts in plans --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/SortPlan.h"

#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanFields.h"

namespace weft::runtime {

SortShape sort_shape(const fb::SortLaunch &launch) {
  return {static_cast<DType>(launch.dtype()), launch.rows(), launch.extent(), launch.count(),
          launch.descending()};
}

std::string sort_problem(const fb::SortLaunch &launch, const fb::Plan &plan) {
  if (launch.dtype() > static_cast<uint8_t>(DType::f64))
    return "sorts elements of the unknown type number " + number(launch.dtype());
  const SortShape shape = sort_shape(launch);
  int64_t elements = 0;
  if (shape.rows < 0 || shape.extent < 0 || shape.count < 0 || shape.count > shape.extent ||
      __builtin_mul_overflow(shape.rows, shape.extent, &elements) || elements > mostSorted)
    return "sorts " + number(shape.rows) + " rows of " + number(shape.extent) + " elements and keeps " +
           number(shape.count) + " of each, which is not possible";
  const int64_t kept = shape.rows * shape.count;
  const struct {
    const char *name;
    uint32_t number;
    uint64_t bytes;
  } parts[] = {{"source", launch.source(), static_cast<uint64_t>(elements) * itemsize(shape.dtype)},
               {"values", launch.values(), static_cast<uint64_t>(kept) * itemsize(shape.dtype)},
               {"indices", launch.indices(), static_cast<uint64_t>(kept) * itemsize(DType::i64)}};
  for (const auto &part : parts) {
    if (part.number >= length(plan.buffers()))
      return std::string("has ") + part.name + " in buffer " + number(part.number) + " of " +
             number(length(plan.buffers()));
    if (const uint64_t bytes = plan.buffers()->Get(part.number)->bytes(); bytes != part.bytes)
      return std::string("has ") + part.name + " of " + number(bytes) + " bytes, expected " +
             number(part.bytes);
  }
  const auto overlap = [&](size_t a, size_t b) {
    return share_bytes(plan, *plan.buffers()->Get(parts[a].number), *plan.buffers()->Get(parts[b].number));
  };
  if (overlap(0, 1) || overlap(0, 2) || overlap(1, 2))
    return "writes memory that it also reads, or writes it twice";
  return "";
}

} // namespace weft::runtime
