//===- Ranges.h - Lists of ranges of bytes ---------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_RANGES_H
#define WEFT_TEST_CUDASIM_DRIVER_RANGES_H

#include "test/cudasim/engine/Engine.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace weft::cusim {

/// The first bytes that two sorted lists have in common. Ranges of one list may overlap.
inline std::optional<cudasim::Range> overlap(const std::vector<cudasim::Range> &a,
                                             const std::vector<cudasim::Range> &b) {
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const uint64_t begin = std::max(a[i].begin, b[k].begin), end = std::min(a[i].end, b[k].end);
    if (begin < end)
      return cudasim::Range{begin, end};
    a[i].end < b[k].end ? ++i : ++k;
  }
  return {};
}

inline void sortRanges(std::vector<cudasim::Range> &ranges) {
  auto less = [](const cudasim::Range &a, const cudasim::Range &b) { return a.begin < b.begin; };
  if (!std::is_sorted(ranges.begin(), ranges.end(), less))
    std::sort(ranges.begin(), ranges.end(), less);
}

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_RANGES_H
