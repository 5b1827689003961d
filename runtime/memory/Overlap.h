//===- Overlap.h - Whether strided parts of memory share elements -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_MEMORY_OVERLAP_H
#define WEFT_RUNTIME_MEMORY_OVERLAP_H

#include "weft/export.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::runtime {

/// The elements offset + sum of strides[d] * i[d], for all 0 <= i[d] < sizes[d]. Strides are not negative.
struct StridedBox {
  int64_t offset = 0;
  std::span<const int64_t> sizes, strides;
};

/// Whether two boxes are proven to have no element in common. False also if a proof takes more than some
/// thousand steps.
WEFT_RUNTIME_API bool areDisjoint(const StridedBox &a, const StridedBox &b);

/// A tensor in memory, whose elements are in the address space.
struct StridedMemory {
  const void *data;
  std::span<const int64_t> shape, strides; ///< in elements; no strides mean row-major
  size_t itemsize;
};

/// The bytes [low, high) from the first to the last of a tensor; empty if it has no elements.
struct ByteRange {
  int64_t low = 0, high = 0;
};
ByteRange bytesOf(const StridedMemory &memory);

/// The same for the bytes of two tensors, with any element sizes and signs of strides.
WEFT_RUNTIME_API bool areDisjoint(const StridedMemory &a, const StridedMemory &b);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_MEMORY_OVERLAP_H
