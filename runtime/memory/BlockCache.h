//===- BlockCache.h - Blocks of memory, and the free ones by size -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the allocator. A cache keeps blocks of small segments in a bin for each size, with a bitmap of
// the bins that are not empty, and blocks of large segments in a tree by size. The functions are inline
// because every call of a compiled function allocates its results with them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_MEMORY_BLOCKCACHE_H
#define WEFT_RUNTIME_MEMORY_BLOCKCACHE_H

#include "runtime/support/Point.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

namespace weft::runtime::allocator_blocks {

inline constexpr uint64_t granule = 512;
inline constexpr uint64_t smallLimit = 1ull << 20;   // requests up to here live in small segments
inline constexpr uint64_t smallSegment = 2ull << 20; // also a huge page
inline constexpr uint64_t largeLimit = 10ull << 20;  // requests below here share large segments
inline constexpr uint64_t maxRequest = 1ull << 47;   // the address space of a process
inline constexpr size_t smallBins = smallSegment / granule + 1;

enum Pool { allPools, smallPool, largePool, poolCount };
inline constexpr const char *poolNames[] = {"all", "small_pool", "large_pool"};

struct Block;
struct BySize {
  bool operator()(const Block *a, const Block *b) const;
};
using BlocksBySize = std::set<Block *, BySize>;

class Cache;
enum class BlockState : uint8_t { free, live, waiting };

struct Block {
  std::byte *data = nullptr;
  uint64_t bytes = 0;
  uint64_t requested = 0;
  Block *before = nullptr, *after = nullptr; // neighbours in the segment
  // Neighbours in the bin, while free and small, or in the list of those that wait.
  Block *bin_before = nullptr, *bin_after = nullptr;
  BlocksBySize::node_type node; // its node of the tree of large free blocks, while it is not in the tree
  uint64_t freed_at = 0;
  uint32_t label = 0;
  Pool pool = smallPool;
  BlockState state = BlockState::free;
  StreamId stream = StreamId::none; // the stream that it was taken for
  Cache *common = nullptr;          // the cache of its segment's pool
  Cache *own = nullptr;             // the cache of its stream in that pool
  StreamPoints points;              // points that must pass before all streams may use it
  bool oversize = false;
  bool split() const { return before || after; }
  bool is_free() const { return state == BlockState::free; }
  /// The cache that it is in while it is free.
  Cache &cache() const { return points.empty() ? *common : *own; }
};

inline bool BySize::operator()(const Block *a, const Block *b) const {
  return a->bytes != b->bytes ? a->bytes < b->bytes : a->data < b->data;
}

/// The free blocks of a pool that are available to one stream, or to all streams.
class Cache {
public:
  void insert(Block *block);
  void remove(Block *block);
  /// The smallest free block of at least `bytes`, or null.
  Block *find_small(uint64_t bytes) const;
  Block *find_large(uint64_t bytes) const;
  /// Calls `visit` with every block; it may remove the block.
  template <typename Visit> void for_each(Visit visit) {
    for (auto at = large_.begin(); at != large_.end();)
      visit(*at++);
    for (size_t word = 0; word < bits_.size(); ++word)
      for (uint64_t bits = bits_[word]; bits; bits &= bits - 1)
        for (Block *block = bins_[word * 64 + static_cast<size_t>(std::countr_zero(bits))]; block;) {
          Block *const next = block->bin_after;
          visit(block);
          block = next;
        }
  }

private:
  static constexpr size_t words = (smallBins + 63) / 64;
  std::array<Block *, smallBins> bins_ = {};               // free small blocks by size in granules
  std::array<uint64_t, words> bits_ = {};                  // of bins that are not empty
  std::array<uint64_t, (words + 63) / 64> word_bits_ = {}; // of words of `bits_` that are not zero
  BlocksBySize large_;
};

inline constexpr uint64_t bit(size_t index) { return uint64_t(1) << (index % 64); }

inline void Cache::insert(Block *block) {
  if (block->pool == largePool) {
    block->node.value() = block;
    large_.insert(std::move(block->node));
    return;
  }
  const size_t bin = block->bytes / granule, word = bin / 64;
  block->bin_before = nullptr;
  block->bin_after = bins_[bin];
  if (bins_[bin])
    bins_[bin]->bin_before = block;
  bins_[bin] = block;
  bits_[word] |= bit(bin);
  word_bits_[word / 64] |= bit(word);
}

inline void Cache::remove(Block *block) {
  if (block->pool == largePool) {
    block->node = large_.extract(block);
    return;
  }
  const size_t bin = block->bytes / granule, word = bin / 64;
  if (block->bin_before)
    block->bin_before->bin_after = block->bin_after;
  else
    bins_[bin] = block->bin_after;
  if (block->bin_after)
    block->bin_after->bin_before = block->bin_before;
  if (!bins_[bin])
    bits_[word] &= ~bit(bin);
  if (!bits_[word])
    word_bits_[word / 64] &= ~bit(word);
  block->bin_before = block->bin_after = nullptr;
}

inline Block *Cache::find_small(uint64_t bytes) const {
  const size_t first = bytes / granule, word = first / 64;
  const auto smallest = [&](size_t of, uint64_t bits) {
    return bins_[of * 64 + static_cast<size_t>(std::countr_zero(bits))];
  };
  if (const uint64_t bits = bits_[word] & (~uint64_t(0) << (first % 64)))
    return smallest(word, bits);
  const size_t next = word + 1;
  for (size_t group = next / 64; group < word_bits_.size(); ++group) {
    const uint64_t mask = group == next / 64 ? ~uint64_t(0) << (next % 64) : ~uint64_t(0);
    if (const uint64_t set = word_bits_[group] & mask) {
      const size_t found = group * 64 + static_cast<size_t>(std::countr_zero(set));
      return smallest(found, bits_[found]);
    }
  }
  return nullptr;
}

inline Block *Cache::find_large(uint64_t bytes) const {
  Block key;
  key.bytes = bytes;
  const auto found = large_.lower_bound(&key);
  return found == large_.end() ? nullptr : *found;
}

} // namespace weft::runtime::allocator_blocks

#endif // WEFT_RUNTIME_MEMORY_BLOCKCACHE_H
