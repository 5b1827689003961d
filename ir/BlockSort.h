//===- BlockSort.h - Sorts of rows that a block of threads holds -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a GPU, `weft.sort` of rows that the registers of a block hold is one launch. A row has a team of
// threads, each of which has elements that lie as far from each other as the team has threads. The kernel is
// a bitonic network over keys with their places, no two of which are equal: so it gives the result of a
// stable sort, in an order of comparisons that depends on the length of a row alone.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_BLOCKSORT_H
#define WEFT_IR_BLOCKSORT_H

#include "ir/Dialect.h"
#include "ir/Target.h"

#include <optional>

namespace weft::ir {

/// The schedule of such a sort.
struct BlockSort {
  int64_t extent = 0; ///< elements of a row,
  int64_t padded = 0; ///< and of the network: the next power of two
  int64_t team = 0;   ///< threads of a row
  int64_t items = 0;  ///< elements of a thread
  int64_t rows = 0;   ///< of a block
  int64_t staged = 0; ///< elements of a thread that are exchanged through shared memory at a time
  int64_t threads() const { return team * rows; }
  /// Bytes of a key with its place.
  static int64_t wordBytes(mlir::Type element);
};

/// The schedule of a sort of rows of this length; none if a block does not hold them.
std::optional<BlockSort> blockSort(mlir::Type element, Size extent, Size count);

/// The same of an op; none if its device runs no kernels of a GPU.
std::optional<BlockSort> blockSortOf(SortOp op, const Target &target);

} // namespace weft::ir

#endif // WEFT_IR_BLOCKSORT_H
