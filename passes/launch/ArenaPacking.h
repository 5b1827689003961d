//===- ArenaPacking.h - Offsets of buffers in an arena ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_LAUNCH_ARENAPACKING_H
#define WEFT_PASSES_LAUNCH_ARENAPACKING_H

#include "ir/Dialect.h"
#include <vector>

namespace weft::passes {

/// Offsets are multiples of this many bytes.
inline constexpr int64_t arenaAlignment = 64;

/// A buffer in the arena: its bytes, and the first and last launch at which it is live.
template <typename Bytes> struct ArenaBufferOf {
  Bytes bytes = 0;
  unsigned begin = 0, end = 0;
};

template <typename Bytes> struct ArenaPlanOf {
  std::vector<Bytes> offsets; ///< one per buffer
  Bytes bytes = 0;            ///< the size of the arena
  Bytes lowerBound = 0;       ///< the largest sum of live bytes at one launch
};

using ArenaBuffer = ArenaBufferOf<int64_t>;
using ArenaPlan = ArenaPlanOf<int64_t>;
using DynamicBuffer = ArenaBufferOf<ir::Size>;
using DynamicArenaPlan = ArenaPlanOf<ir::Size>;

/// Places buffers so that buffers which are live at the same launch do not overlap. Each buffer goes to the
/// smallest gap that is free during its live range. Several orders are tried, and the smallest arena is kept.
ArenaPlan packArena(llvm::ArrayRef<ArenaBuffer> buffers);

/// The same for buffers whose bytes may be expressions. Buffers are classified by the product of symbols that
/// bounds their size, and each class is packed into a region of its own: first the class of numbers, then
/// that of `coefficient * batch`, and so on. In a region, all offsets and sizes are multiples of the product,
/// so they can be compared. Coefficients are rounded up to the alignment, so every offset is aligned for all
/// values of the symbols. The lower bound is the sum over the classes. The bytes are inexpressible if the sum
/// of a class overflows.
DynamicArenaPlan packDynamicArena(llvm::ArrayRef<DynamicBuffer> buffers, const ir::SymbolRanges &ranges);

} // namespace weft::passes

#endif // WEFT_PASSES_LAUNCH_ARENAPACKING_H
