//===- CachingAllocatorImpl.h - Blocks, segments and their statistics -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the allocator. A segment is a list of blocks that tile it. Free blocks of small segments sit in
// bins by exact size, found through a bitmap; those of large ones in a tree by size. Taking memory may throw
// std::bad_alloc, and has then changed nothing; giving it back never does.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_MEMORY_CACHINGALLOCATORIMPL_H
#define WEFT_RUNTIME_MEMORY_CACHINGALLOCATORIMPL_H

#include "runtime/memory/CachingAllocator.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <unordered_map>

namespace weft::runtime {
namespace allocator_blocks {

inline constexpr uint64_t granule = 512;
inline constexpr uint64_t smallLimit = 1ull << 20;   // requests up to here live in small segments
inline constexpr uint64_t smallSegment = 2ull << 20; // also a huge page
inline constexpr uint64_t largeLimit = 10ull << 20;  // requests below here share large segments
inline constexpr uint64_t maxRequest = 1ull << 47;   // the address space of a process
inline constexpr size_t smallBins = smallSegment / granule + 1;

/// The machine's memory in bytes.
uint64_t machine_bytes();
/// "1.50 GiB"
std::string readable(uint64_t bytes);

enum Pool { allPools, smallPool, largePool, poolCount };
inline constexpr const char *poolNames[] = {"all", "small_pool", "large_pool"};

enum StatId {
  allocation,
  allocatedBytes,
  segmentCount,
  reservedBytes,
  active,
  activeBytes,
  inactiveSplit,
  inactiveSplitBytes,
  requestedBytes,
  statCount
};
inline constexpr const char *statNames[] = {
    "allocation",     "allocated_bytes",      "segment",        "reserved_bytes", "active", "active_bytes",
    "inactive_split", "inactive_split_bytes", "requested_bytes"};

struct Stat {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;
  void add(int64_t amount) {
    current += amount;
    peak = std::max(peak, current);
    allocated += amount;
  }
  void remove(int64_t amount) {
    current -= amount;
    freed += amount;
  }
};

struct Block;
struct BySize {
  bool operator()(const Block *a, const Block *b) const;
};
using BlocksBySize = std::set<Block *, BySize>;

struct Block {
  std::byte *data = nullptr;
  uint64_t bytes = 0;
  uint64_t requested = 0;
  Block *before = nullptr, *after = nullptr;         // neighbours in the segment
  Block *bin_before = nullptr, *bin_after = nullptr; // neighbours in the bin, while free and small
  BlocksBySize::node_type node;                      // its place among large free blocks, while it has none
  uint64_t freed_at = 0;
  uint32_t label = 0;
  Pool pool = smallPool;
  bool live = false;
  bool oversize = false;
  bool split() const { return before || after; }
};

/// A MemoryLabel that is kept.
struct Label {
  std::string what, text, file;
  uint32_t line = 0;
};

inline bool BySize::operator()(const Block *a, const Block *b) const {
  return a->bytes != b->bytes ? a->bytes < b->bytes : a->data < b->data;
}

} // namespace allocator_blocks

/// Every member but the mutex is guarded by the mutex.
class CachingAllocatorImpl {
public:
  using Block = allocator_blocks::Block;
  using Stat = allocator_blocks::Stat;
  using Label = allocator_blocks::Label;
  using StatId = allocator_blocks::StatId;
  using Pool = allocator_blocks::Pool;

  CachingAllocatorImpl(AllocatorConfig config, bool caching, std::string device);
  ~CachingAllocatorImpl();

  Block *take(uint64_t requested, uint32_t label);
  void give_back(Block *block);
  uint64_t release_cached(uint64_t at_least_bytes, uint64_t enough);
  /// `purpose` may be empty: "the result 'loss' of 'step'".
  std::string out_of_memory_message(uint64_t requested, const std::string &purpose) const;
  uint64_t rounded(uint64_t bytes) const;

  Stat &stat(StatId id, Pool pool) { return stats[id][pool]; }
  void count(StatId id, Pool pool, int64_t amount) {
    stats[id][allocator_blocks::allPools].add(amount);
    stats[id][pool].add(amount);
  }
  void discount(StatId id, Pool pool, int64_t amount) {
    stats[id][allocator_blocks::allPools].remove(amount);
    stats[id][pool].remove(amount);
  }

  mutable std::mutex mutex;
  RawAllocator raw;
  AllocatorConfig config;
  bool caching;
  const std::string device; ///< for messages
  uint64_t limit;
  std::map<std::byte *, Block *> segments;               // first block of each, by address
  std::array<Block *, allocator_blocks::smallBins> bins; // free small blocks by size in granules
  std::array<uint64_t, (allocator_blocks::smallBins + 63) / 64> bin_bits;
  allocator_blocks::BlocksBySize large_free;
  Block *spare = nullptr; // block records to use again, linked by bin_after
  std::array<std::array<Stat, allocator_blocks::poolCount>, allocator_blocks::statCount> stats = {};
  Stat oversize_allocations, oversize_segments, arena_bytes;
  int64_t alloc_retries = 0, ooms = 0, device_allocs = 0, device_frees = 0;
  uint64_t clock = 0;
  std::vector<Label> labels;
  std::unordered_map<std::string, uint32_t> label_numbers;

private:
  void *map_segment(uint64_t bytes);
  void unmap_segment(void *data, uint64_t bytes);
  Block *find_free(uint64_t bytes, Pool pool);
  Block *new_segment(uint64_t bytes, Pool pool);
  void insert_free(Block *block);
  void remove_free(Block *block);
  void release_segment(Block *block);
  void collect_garbage(uint64_t more);
  /// Everything that giving back takes memory for is taken here: what is freed never needs any.
  Block *new_record(Pool pool);
  void keep_record(Block *block) {
    block->bin_after = spare;
    spare = block;
  }
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_MEMORY_CACHINGALLOCATORIMPL_H
