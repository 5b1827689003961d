//===- Sort.h - Sorts of rows -----------------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The elements of each row in order, and where they were. A NaN counts as larger than every number and zeros
// of both signs as equal, and equal elements keep the order of their places. So there is one result only, and
// it does not depend on how the work is divided among threads.
//
// An element becomes a key: a whole number whose order is that of the elements. Keys are sorted with their
// places, digit by digit from the last one. A row of few elements is sorted by comparisons, and a long row by
// all threads together. If few elements of a row are kept, the largest of their keys is guessed by a sample,
// and only elements that are not beyond that, or beyond the worst of the best so far, are looked at.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_SORT_SORT_H
#define WEFT_RUNTIME_SORT_SORT_H

#include "weft/dtype.hpp"
#include "weft/export.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::runtime {

/// The most elements of a sort; the bytes of its scratch then fit into 63 bits.
inline constexpr int64_t mostSorted = int64_t(1) << 47;

struct SortShape {
  DType dtype = DType::f32;
  int64_t rows = 0, extent = 0; ///< elements of a row
  int64_t count = 0;            ///< elements that are kept of each row, the first in order
  bool descending = false;
};

/// A sort ready to run. May run on several threads at once.
class WEFT_RUNTIME_API Sort {
public:
  /// The memory of a launch, in row-major order.
  struct Parts {
    const void *source;
    void *values, *indices;
  };
  /// The shape must be verified (runtime/plan/SortPlan.h).
  explicit Sort(const SortShape &shape) : shape_(shape) {}
  /// Bytes of scratch that run() needs for a team of `width` threads, 64-byte aligned.
  size_t scratch_bytes(int width) const;
  /// If `serial`, only the calling thread computes; the results are the same.
  void run(const Parts &parts, void *scratch, bool serial) const;

private:
  SortShape shape_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SORT_SORT_H
