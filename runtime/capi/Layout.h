//===- Layout.h - Strided memory of callers -*- C++ -*-------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CAPI_LAYOUT_H
#define WEFT_RUNTIME_CAPI_LAYOUT_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::capi {

/// Whether strides, in elements, are those of row-major memory. Extents of 1 may have any stride, and memory
/// without elements may have any strides.
bool is_row_major(std::span<const int64_t> shape, std::span<const int64_t> strides);

/// Whether every position lies within the addresses that there can be: a product of strides and extents that
/// overflows would lead anywhere.
bool is_addressable(std::span<const int64_t> shape, std::span<const int64_t> strides, size_t itemsize);

/// Whether two positions share an element: a stride of 0, or rows that overlap. Conservative only in that
/// interleaved layouts that happen not to meet count as overlapping.
bool overlaps_itself(std::span<const int64_t> shape, std::span<const int64_t> strides);

/// Copies strided elements to row-major memory, or back.
void gather(std::span<const int64_t> shape, std::span<const int64_t> strides, size_t itemsize,
            const std::byte *from, std::byte *to);
void scatter(std::span<const int64_t> shape, std::span<const int64_t> strides, size_t itemsize,
             const std::byte *from, std::byte *to);

} // namespace weft::capi

#endif // WEFT_RUNTIME_CAPI_LAYOUT_H
