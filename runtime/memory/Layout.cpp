//===- Layout.cpp - Strided memory of callers ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/memory/Layout.h"

#include "weft/limits.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace weft::runtime {
namespace {

bool is_empty(std::span<const int64_t> shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

/// Calls copy(offset in elements) for every position in row-major order.
template <typename Copy>
void for_each(std::span<const int64_t> shape, std::span<const int64_t> given, Copy copy) {
  if (is_empty(shape))
    return;
  // The stride of an extent of 1 means nothing, whatever it is.
  std::array<int64_t, maxRank> strides = {}, index = {};
  for (size_t d = 0; d < shape.size(); ++d)
    strides[d] = shape[d] == 1 ? 0 : given[d];
  int64_t offset = 0;
  for (;;) {
    copy(offset);
    size_t d = shape.size();
    for (; d > 0; --d) {
      if (shape[d - 1] == 1) // its stride, which may be anything, is not taken
        continue;
      offset += strides[d - 1];
      if (++index[d - 1] < shape[d - 1])
        break;
      offset -= strides[d - 1] * shape[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0)
      return;
  }
}

/// Whether the process has memory at an address.
bool is_mapped(int64_t address) {
  const auto page = static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return ::mincore(reinterpret_cast<void *>(address / page * page), 1, &resident) == 0 || errno != ENOMEM;
}

} // namespace

bool is_row_major(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  int64_t expected = 1;
  for (size_t d = shape.size(); d > 0; --d) {
    if (shape[d - 1] != 1 && strides[d - 1] != expected && !is_empty(shape))
      return false;
    expected *= shape[d - 1];
  }
  return true;
}

bool same_strides(std::span<const int64_t> shape, std::span<const int64_t> a, std::span<const int64_t> b) {
  if (a.size() != shape.size() || b.size() != shape.size())
    return false;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1 && a[d] != b[d])
      return is_empty(shape);
  return true;
}

std::optional<uint64_t> strided_elements(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (shape.size() != strides.size())
    return std::nullopt;
  uint64_t last = 0, step;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0 || strides[d] < 0)
      return std::nullopt;
    if (shape[d] > 1 && (__builtin_mul_overflow(static_cast<uint64_t>(shape[d] - 1),
                                                static_cast<uint64_t>(strides[d]), &step) ||
                         __builtin_add_overflow(last, step, &last)))
      return std::nullopt;
  }
  return is_empty(shape) ? 0 : last + 1;
}

bool is_addressable(std::span<const int64_t> shape, std::span<const int64_t> strides, size_t itemsize,
                    const void *data) {
  if (is_empty(shape))
    return true;
  constexpr int64_t most = int64_t(1) << 47; // the address space of a process
  const auto first = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data));
  if (first < 0 || first >= most)
    return false;
  // Positions of the lowest and of the highest byte.
  int64_t low = first, high = first + static_cast<int64_t>(itemsize) - 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1)
      continue;
    int64_t bytes = 0;
    if (__builtin_mul_overflow(strides[d], shape[d] - 1, &bytes) ||
        __builtin_mul_overflow(bytes, static_cast<int64_t>(itemsize), &bytes) ||
        __builtin_add_overflow(bytes < 0 ? low : high, bytes, bytes < 0 ? &low : &high) || low < 0 ||
        high >= most)
      return false;
  }
  return is_mapped(low) && is_mapped(high);
}

bool overlaps_itself(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (is_empty(shape))
    return false;
  // Dimensions by stride: each must step over all that the smaller ones reach.
  std::array<size_t, maxRank> order = {};
  size_t count = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1)
      order[count++] = d;
  const std::span<size_t> moving(order.data(), count);
  std::ranges::sort(moving,
                    [&](size_t a, size_t b) { return std::llabs(strides[a]) < std::llabs(strides[b]); });
  int64_t reach = 1;
  for (size_t d : moving) {
    const int64_t step = std::llabs(strides[d]);
    if (step < reach)
      return true;
    reach += step * (shape[d] - 1);
  }
  return false;
}

void gather(std::span<const int64_t> shape, std::span<const int64_t> strides, size_t itemsize,
            const std::byte *from, std::byte *to) {
  for_each(shape, strides, [&](int64_t offset) {
    std::memcpy(to, from + offset * static_cast<int64_t>(itemsize), itemsize);
    to += itemsize;
  });
}

void scatter(std::span<const int64_t> shape, std::span<const int64_t> strides, size_t itemsize,
             const std::byte *from, std::byte *to) {
  for_each(shape, strides, [&](int64_t offset) {
    std::memcpy(to + offset * static_cast<int64_t>(itemsize), from, itemsize);
    from += itemsize;
  });
}

} // namespace weft::runtime
