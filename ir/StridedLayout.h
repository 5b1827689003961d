//===- StridedLayout.h - Tensors with strides as views ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor with strides is a view of row-major memory: rows with gaps are a slice of whole rows, dimensions
// in another order are a transposition, and a stride of 0 is a broadcast. The compiler reads an argument with
// strides as such a view, which fusion turns into index arithmetic. This header is plain C++, because the
// frontend uses it to decide whether an argument must be copied.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_STRIDEDLAYOUT_H
#define WEFT_IR_STRIDEDLAYOUT_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft::ir {

/// A tensor with strides as a view of row-major memory that begins at its first element.
struct StridedLayout {
  std::vector<int64_t> storage; ///< sizes of the row-major memory, the last row of which may be cut short
  std::vector<int64_t> steps;   ///< per dimension of `storage`: the elements 0, step, 2 * step, ...
  std::vector<int64_t> counts;  ///< per dimension of `storage`: the number of these elements
  std::vector<int64_t> dims;    ///< per dimension of `storage`: the tensor's dimension
};

/// The layout of a tensor with a static shape. Empty if the tensor is no such view: if a stride is negative,
/// if elements share memory through strides other than 0, or if sizes overflow. A dimension of size 1 may
/// have any stride, and has no dimension in the storage.
std::optional<StridedLayout> stridedLayout(std::span<const int64_t> shape, std::span<const int64_t> strides);

/// Whether the strides are row-major. Dimensions of size 1, and tensors without elements, may have any
/// strides.
bool isRowMajor(std::span<const int64_t> shape, std::span<const int64_t> strides);

/// The number of elements from the first to the last; 0 without elements, and -1 on overflow.
int64_t stridedReach(std::span<const int64_t> shape, std::span<const int64_t> strides);

} // namespace weft::ir

#endif // WEFT_IR_STRIDEDLAYOUT_H
