//===- StridedLayout.cpp - Tensors with strides as views ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/StridedLayout.h"

#include <algorithm>
#include <numeric>

namespace weft::ir {

static bool isEmpty(std::span<const int64_t> shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

bool isRowMajor(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (isEmpty(shape))
    return true;
  int64_t expected = 1;
  for (size_t d = shape.size(); d > 0; --d) {
    if (shape[d - 1] != 1 && strides[d - 1] != expected)
      return false;
    expected *= shape[d - 1];
  }
  return true;
}

int64_t stridedReach(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (isEmpty(shape))
    return 0;
  int64_t reach = 1, step;
  for (size_t d = 0; d < shape.size(); ++d)
    if (__builtin_mul_overflow(shape[d] - 1, shape[d] == 1 ? 0 : strides[d], &step) ||
        __builtin_add_overflow(reach, step, &reach))
      return -1;
  return reach;
}

std::optional<StridedLayout> stridedLayout(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (isEmpty(shape) || stridedReach(shape, strides) < 0)
    return std::nullopt;
  std::vector<size_t> order;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1 && strides[d] < 0)
      return std::nullopt;
    if (shape[d] != 1 && strides[d] != 0)
      order.push_back(d);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return strides[a] != strides[b] ? strides[a] > strides[b] : a < b; });
  StridedLayout layout;
  // From the outermost dimension: the step of a dimension of the memory divides all strides before it, and
  // the selected elements must end before the next step of the enclosing dimension.
  int64_t around = 0, total = 1; // the elements in one step of the enclosing dimension; 0 for none
  for (size_t i = 0; i < order.size(); ++i) {
    size_t d = order[i];
    int64_t step = i + 1 == order.size() ? 1 : std::gcd(strides[d], around);
    int64_t taken = strides[d] / step, span = (shape[d] - 1) * taken + 1;
    int64_t size = around == 0 ? span : around / step;
    if (around != 0 && span > size)
      return std::nullopt;
    if (__builtin_mul_overflow(total, size, &total))
      return std::nullopt;
    layout.storage.push_back(size);
    layout.steps.push_back(taken);
    layout.counts.push_back(shape[d]);
    layout.dims.push_back(static_cast<int64_t>(d));
    around = step;
  }
  return layout;
}

} // namespace weft::ir
