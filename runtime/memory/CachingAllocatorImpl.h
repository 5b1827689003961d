//===- CachingAllocatorImpl.h - Blocks, segments and their statistics -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the allocator. The blocks of a segment are a list without gaps. A free block is in the cache of
// its stream as long as points of that stream have not passed, and then in the cache of its pool, which
// serves all streams. A freed block that another stream may still use is in a list of waiting blocks, and in
// no cache. If there is no memory for a record, take() throws std::bad_alloc and has changed nothing.
// give_back() needs no memory.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_MEMORY_CACHINGALLOCATORIMPL_H
#define WEFT_RUNTIME_MEMORY_CACHINGALLOCATORIMPL_H

#include "runtime/memory/BlockCache.h"
#include "runtime/memory/CachingAllocator.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace weft::runtime {
namespace allocator_blocks {

/// The machine's memory in bytes.
uint64_t machine_bytes();
/// "1.50 GiB"
std::string readable(uint64_t bytes);

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

/// A MemoryLabel that owns its text.
struct Label {
  std::string what, text, file;
  uint32_t line = 0;
};

} // namespace allocator_blocks

/// The mutex guards all other members.
class CachingAllocatorImpl {
public:
  using Block = allocator_blocks::Block;
  using Stat = allocator_blocks::Stat;
  using Label = allocator_blocks::Label;
  using StatId = allocator_blocks::StatId;
  using Pool = allocator_blocks::Pool;

  CachingAllocatorImpl(AllocatorConfig config, bool caching, std::string device, const RawAllocator &raw);
  ~CachingAllocatorImpl();

  /// Moves points that have passed to `passed`. A point may own memory, so the caller destroys them after it
  /// has released the mutex.
  Block *take(uint64_t requested, uint32_t label, MemoryPlace place, StreamPoints &passed);
  void give_back(Block *block, StreamPoints &points, StreamPoints &passed);
  /// Makes blocks available whose points have passed. Returns whether there were any.
  bool settle(StreamPoints &passed);
  /// A point that a freed block waits for, and that this thread may wait for; empty if there is none.
  std::optional<Point> next_point() const;
  /// Frees cached segments of at least `at_least_bytes`, the least recently freed ones first, until `enough`
  /// bytes are free. Returns the bytes that were freed.
  uint64_t release_cached(uint64_t at_least_bytes, uint64_t enough);
  /// `purpose` is what the memory is for, "the result 'loss' of 'step'", or empty.
  std::string out_of_memory_message(uint64_t requested, const std::string &purpose) const;
  uint64_t rounded(uint64_t bytes) const;
  /// Of the device, or of the machine.
  MemoryAmount memory() const;

  bool is_of_host() const { return device == "CPU"; }
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
  std::map<std::byte *, Block *> segments; // the first block of each segment, by address
  using Cache = allocator_blocks::Cache;
  Cache main; // the cache of the common pool, which serves all streams
  std::map<std::pair<MemoryPool, StreamId>, std::unique_ptr<Cache>> caches; // all other caches
  // Freed blocks that other streams may still use, linked by bin_before and bin_after.
  Block *waiting = nullptr;
  uint64_t unsettled = 0; // the number of free and waiting blocks that have points
  uint32_t pools = 0;     // the number of pools beside the common one
  Block *spare = nullptr; // unused records of blocks, linked by bin_after
  std::array<std::array<Stat, allocator_blocks::poolCount>, allocator_blocks::statCount> stats = {};
  Stat oversize_allocations, oversize_segments, arena_bytes;
  Stat graph_bytes; // of the device, which the driver took for graphs
  /// What the limit counts of segments, or of live blocks, with the graphs beside them.
  uint64_t with_graphs(uint64_t bytes) const { return bytes + static_cast<uint64_t>(graph_bytes.current); }
  int64_t alloc_retries = 0, ooms = 0, device_allocs = 0, device_frees = 0, waits = 0;
  uint64_t clock = 0;
  std::vector<Label> labels;
  std::unordered_map<std::string, uint32_t> label_numbers;

private:
  void *map_segment(uint64_t bytes);
  void unmap_segment(void *data, uint64_t bytes);
  /// The cache of a stream in a pool. For StreamId::none, the cache of a pool other than the common one.
  Cache &cache_of(MemoryPool pool, StreamId stream);
  Block *find_free(Cache &own, Cache &common, uint64_t bytes, Pool pool) const;
  Block *new_segment(uint64_t bytes, Pool pool, Cache &common);
  void join_and_keep(Block *block);
  void keep_free(Block *block);
  static void drop_passed(Block *block, StreamPoints &passed);
  bool waits_for_others(const Block &block) const;
  bool settle_waiting(StreamPoints &passed);
  bool settle_stream(Cache &cache, StreamPoints &passed);
  void insert_free(Block *block);
  void remove_free(Block *block);
  void release_segment(Block *block);
  void collect_garbage(uint64_t more);
  /// Makes the record of a block. It allocates what freeing the block will need, so that freeing needs no
  /// memory.
  Block *new_record(Pool pool);
  void keep_record(Block *block) {
    block->bin_after = spare;
    spare = block;
  }
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_MEMORY_CACHINGALLOCATORIMPL_H
