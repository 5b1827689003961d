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

/// A value of the arena: bytes, and the first and last launch at which they hold something.
template <typename Bytes> struct ArenaBufferOf {
  Bytes bytes = 0;
  unsigned begin = 0, end = 0;
};

template <typename Bytes> struct ArenaPlanOf {
  std::vector<Bytes> offsets; ///< one per buffer
  Bytes bytes = 0;            ///< of the arena
  Bytes lowerBound = 0;       ///< the largest sum of bytes that hold something at one launch
};

using ArenaBuffer = ArenaBufferOf<int64_t>;
using ArenaPlan = ArenaPlanOf<int64_t>;
using DynamicBuffer = ArenaBufferOf<ir::Size>;
using DynamicArenaPlan = ArenaPlanOf<ir::Size>;

/// Places buffers so that those which hold something at the same launch do not overlap. Each goes to the
/// tightest gap of its live range; several orders are tried and the smallest arena is kept.
ArenaPlan packArena(llvm::ArrayRef<ArenaBuffer> buffers);

/// The same for buffers whose bytes may be expressions. Buffers are sorted by the product of symbols that
/// their size grows with, bounded by a multiple of it, and each such class is packed in a region of its own,
/// where offsets and sizes are multiples of one thing and can be compared: first the numbers, then
/// `coefficient * batch`, and so on. Coefficients are rounded up to the alignment, so that every offset is
/// aligned whatever the symbols are. The lower bound is that of each class, added. The bytes are
/// inexpressible where those of one class, side by side, overflow.
DynamicArenaPlan packDynamicArena(llvm::ArrayRef<DynamicBuffer> buffers, const ir::SymbolRanges &ranges);

} // namespace weft::passes

#endif // WEFT_PASSES_LAUNCH_ARENAPACKING_H
