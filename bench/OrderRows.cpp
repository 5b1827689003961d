//===- OrderRows.cpp - Sorts and selections of one long row -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A million numbers of f32; peer_torch.py has the same rows.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include <weft/weft.hpp>

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace weft::bench {
namespace {

constexpr int64_t elements = 1'000'000;

/// `count` of the largest elements, or all in ascending order if it is 0.
RowResult run(int64_t count) {
  std::vector<float> values(elements);
  uint32_t state = 1;
  for (float &value : values)
    value = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
  const Tensor x = Tensor::from(values, {elements});
  const auto order = compile(
      [=](Tensor a) {
        const ValuesIndices found = count ? topk(a, count) : sort(a);
        return std::pair(found.values, found.indices);
      },
      {.name = "order"});
  const auto [found, places] = order(x);
  const std::vector<float> sorted = found.to_vector<float>();
  const std::vector<int64_t> indices = places.to_vector<int64_t>();
  std::vector<float> expected = values;
  if (count)
    std::partial_sort(expected.begin(), expected.begin() + count, expected.end(), std::greater<>());
  else
    std::sort(expected.begin(), expected.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != expected[i] || values[static_cast<size_t>(indices[i])] != sorted[i])
      throw std::runtime_error("element " + std::to_string(i) + " of the order is " +
                               std::to_string(sorted[i]) + ", expected " + std::to_string(expected[i]));
  RowResult row;
  row.samples = alternate({{"weft", [&] {
                              order(x);
                              synchronize();
                            }}});
  return row;
}

} // namespace

RowResult run_sort() { return run(0); }
RowResult run_topk() { return run(10); }
RowResult run_topk_1000() { return run(1000); }

} // namespace weft::bench
