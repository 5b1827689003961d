//===- Layout.h - Strided memory of callers -*- C++ -*-------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_MEMORY_LAYOUT_H
#define WEFT_RUNTIME_MEMORY_LAYOUT_H

#include "weft/export.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace weft::runtime {

/// Bytes of the widest access of any GPU. What its kernels write, and what they read unless they were
/// compiled for other addresses, begins at a multiple of it.
inline constexpr size_t widestAccess = 32;

/// Here shapes have at most `maxRank` dimensions.
///
/// Whether strides, in elements, are those of row-major memory. Extents of 1 may have any stride, and memory
/// without elements may have any strides.
WEFT_RUNTIME_API bool is_row_major(std::span<const int64_t> shape, std::span<const int64_t> strides);

/// Whether two strides walk through a tensor of this shape alike: those of extents of 1 do not count.
WEFT_RUNTIME_API bool same_strides(std::span<const int64_t> shape, std::span<const int64_t> a,
                                   std::span<const int64_t> b);

/// The number of elements from the first to the last, 0 without any. Nothing where strides or extents are
/// negative, not one a dimension, or reach too far to count.
WEFT_RUNTIME_API std::optional<uint64_t> strided_elements(std::span<const int64_t> shape,
                                                          std::span<const int64_t> strides);

/// Whether two positions share an element: a stride of 0, or rows that overlap. Conservative only in that
/// interleaved layouts that happen not to meet count as overlapping.
bool overlaps_itself(std::span<const int64_t> shape, std::span<const int64_t> strides);

/// Whether the elements that strides reach from `data` lie in the address space, and the lowest and the
/// highest of them in memory that the process has. What lies between is not looked at.
WEFT_RUNTIME_API bool is_addressable(std::span<const int64_t> shape, std::span<const int64_t> strides,
                                     size_t itemsize, const void *data);

/// Copies strided elements to row-major memory, or back.
WEFT_RUNTIME_API void gather(std::span<const int64_t> shape, std::span<const int64_t> strides,
                             size_t itemsize, const std::byte *from, std::byte *to);
WEFT_RUNTIME_API void scatter(std::span<const int64_t> shape, std::span<const int64_t> strides,
                              size_t itemsize, const std::byte *from, std::byte *to);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_MEMORY_LAYOUT_H
