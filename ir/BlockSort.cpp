//===- BlockSort.cpp - Sorts of rows that a block of threads holds --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/BlockSort.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::ir {

int64_t BlockSort::wordBytes(Type element) {
  // A place has 14 bits. It shares a word of 32 or 64 bits with a key, and lies beside one of 64.
  const int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  return bytes <= 2 ? 4 : bytes == 4 ? 8 : 12;
}

std::optional<BlockSort> blockSort(Type element, Size extent, Size count) {
  constexpr int64_t warp = 32, fewestThreads = 128, mostThreads = 1024, stagedBytes = 32 << 10;
  // A thread of the largest block has 64 registers, half of which hold its elements.
  const int64_t word = BlockSort::wordBytes(element), mostItems = word == 4 ? 16 : 8;
  if (!extent.isNumber() || !count.isNumber() || extent.asNumber() < 1 ||
      extent.asNumber() > mostItems * mostThreads)
    return std::nullopt;
  BlockSort sort;
  sort.extent = extent.asNumber();
  sort.padded = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(sort.extent)));
  // Up to 128 elements a warp has a row, and nothing goes through shared memory. Then threads have four
  // elements, and more where there are no more threads.
  sort.items = sort.padded <= 4 * warp ? llvm::divideCeil(sort.padded, warp)
                                       : std::max<int64_t>(4, sort.padded / (mostThreads / 2));
  sort.items = std::max(std::min(sort.items, mostItems), sort.padded / mostThreads);
  sort.team = sort.padded / sort.items;
  sort.rows = sort.team <= warp ? fewestThreads / sort.team : 1;
  sort.staged = sort.team <= warp ? 0 : std::min(sort.items, stagedBytes / (word * sort.team));
  if (sort.staged)
    sort.staged = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(sort.staged)));
  return sort;
}

std::optional<BlockSort> blockSortOf(SortOp op, const Target &target) {
  const RankedTensorType type = op.getA().getType();
  const TargetDescription *device = target.find(deviceOf(type));
  if (!device || device->isCpu())
    return std::nullopt;
  return blockSort(type.getElementType(), sizesOf(type).back(), op.getCount());
}

} // namespace weft::ir
