//===- StridedLayout.h - Memory that is not row-major ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lies in memory with strides is a view of something that is row-major: rows with gaps are a slice of
// whole rows, dimensions in another order are a transposition, a stride of 0 repeats. The compiler reads an
// argument with strides as such a view, which fusion turns into index arithmetic. Plain C++: the frontend
// asks the same question before it makes a copy.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_STRIDEDLAYOUT_H
#define WEFT_IR_STRIDEDLAYOUT_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft::ir {

/// How a tensor with strides is a view of row-major memory that begins where its first element is.
struct StridedLayout {
  std::vector<int64_t> storage; ///< sizes of the row-major memory, the last row of which may be cut short
  std::vector<int64_t> steps;   ///< per dimension of `storage`: the elements 0, step, 2 * step, ...
  std::vector<int64_t> counts;  ///< and how many
  std::vector<int64_t> dims;    ///< per dimension of `storage`: which of the tensor's it is
};

/// The layout of a tensor of static shape. Nothing where the memory is no such view: a stride below zero,
/// elements that share memory by other strides than 0, or sizes that overflow. A dimension of size 1 may have
/// any stride, and is in no dimension of the storage.
std::optional<StridedLayout> stridedLayout(std::span<const int64_t> shape, std::span<const int64_t> strides);

/// Whether the strides are those of row-major memory; sizes of 1 may have any, and no elements may too.
bool isRowMajor(std::span<const int64_t> shape, std::span<const int64_t> strides);

/// The number of elements from the first to the last; 0 without any, and -1 where that overflows.
int64_t stridedReach(std::span<const int64_t> shape, std::span<const int64_t> strides);

} // namespace weft::ir

#endif // WEFT_IR_STRIDEDLAYOUT_H
