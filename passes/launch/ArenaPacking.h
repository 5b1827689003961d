//===- ArenaPacking.h - Offsets of the values of an arena -----*- C++ -*-===//
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

/// Places buffers so that those which are live at the same launch do not overlap. Each goes to the tightest
/// gap of its live range; several orders are tried and the smallest arena is kept.
ArenaPlan packArena(llvm::ArrayRef<ArenaBuffer> buffers);

/// The same for buffers whose bytes may be expressions. Buffers are classified by the product of symbols that
/// bounds their size, and each class is packed in a region of its own. In a region, all offsets and sizes are
/// multiples of that product, so they can be compared: first the numbers, then `coefficient * batch`, and so
/// on. Coefficients are rounded up to the alignment, so that every offset is aligned whatever the symbols
/// are. The lower bound is the sum over the classes. The bytes are inexpressible if the sum of a class
/// overflows.
DynamicArenaPlan packDynamicArena(llvm::ArrayRef<DynamicBuffer> buffers, const ir::SymbolRanges &ranges);

} // namespace weft::passes

#endif // WEFT_PASSES_LAUNCH_ARENAPACKING_H
