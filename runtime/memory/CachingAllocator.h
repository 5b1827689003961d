//===- CachingAllocator.h - A device's memory, handed out again -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each device has an allocator. On a CPU, to get fresh pages takes three to five times as long as the kernel
// that fills them, so freed memory is kept for later requests. The rules and statistics are those of
// PyTorch's device allocator. Sizes are multiples of 512 bytes. Requests up to 1 MiB are served from segments
// of 2 MiB, those below 10 MiB from segments of 20 MiB, and larger ones have a segment of their own, rounded
// up to 2 MiB. The smallest block that fits is taken. A freed block is joined with its free neighbours.
// Segments of the system's memory begin on a multiple of 2 MiB and ask for huge pages; blocks in them begin
// on a multiple of 512 bytes.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_MEMORY_CACHINGALLOCATOR_H
#define WEFT_RUNTIME_MEMORY_CACHINGALLOCATOR_H

#include "runtime/support/Point.h"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::runtime {

/// The options of WEFT_ALLOC_CONF. The syntax is that of PYTORCH_ALLOC_CONF: `name:value,name:value`.
struct AllocatorConfig {
  uint64_t max_split_bytes = UINT64_MAX;               ///< larger blocks are not split
  uint64_t max_non_split_rounding_bytes = 20ull << 20; ///< an oversize block may be this much too large
  uint64_t large_segment_bytes = 20ull << 20;
  double garbage_collection_threshold = 0;  ///< as a share of the limit; 0: never
  double per_process_memory_fraction = 1;   ///< of the machine's memory
  uint64_t memory_limit_bytes = UINT64_MAX; ///< weft_memory_limit_mb; the smaller limit applies
  /// Rows of the largest size in bytes that they apply to, and the divisions of a power of two. The last row
  /// applies to all larger sizes.
  std::vector<std::pair<uint64_t, uint64_t>> roundup_power2_divisions;
  bool driver_pools = false;        ///< backend:cudaMallocAsync: CUDA devices use the driver's own pools
  bool expandable_segments = false; ///< asked for, which CUDA devices refuse
  std::vector<std::string> ignored; ///< known options that have no effect on memory of the host
};

/// Fails with WEFT-M002 for an unknown name, and suggests the nearest known one, and for a bad value. Options
/// that have no effect on memory of the host are checked too, and listed in `ignored`.
WEFT_RUNTIME_API Expected<AllocatorConfig> parse_allocator_config(std::string_view text);

class CachingAllocatorImpl;

/// Bytes of a memory, and how many of them nobody has.
struct MemoryAmount {
  uint64_t total = 0, free = 0;
};

/// Allocates and frees segments in place of the system. Both functions must be set, or none. Segments begin
/// on a multiple of 256 bytes, and so do blocks; `alignment` is that of the system's.
struct RawAllocator {
  void *user = nullptr;
  void *(*allocate)(void *user, size_t bytes, size_t alignment) = nullptr;
  void (*free)(void *user, void *data, size_t bytes) = nullptr;
  /// Measures the memory that segments are of. Null: that of the machine.
  MemoryAmount (*measure)(void *user) = nullptr;
  /// Why there is no memory any more, whatever is free: a device that has failed. Null: never.
  Status (*health)(void *user) = nullptr;
  /// Gives the system what free() has kept, in CachingAllocator::empty_cache(). Null: it keeps nothing.
  void (*trim)(void *user) = nullptr;
};

/// What a block of memory holds, for reports.
struct MemoryLabel {
  std::string_view what;          ///< "result 'loss' of 'step'"
  std::string_view location = {}; ///< the source line, "train.cpp:12:3", or several with ", " between
  std::string_view file = {};     ///< of the first line
  uint32_t line = 0;              ///< 0: not known
};

/// A pool of a device's memory. No two pools share a segment.
enum class MemoryPool : uint32_t { common = 0 };

/// The cache that memory is taken from.
struct MemoryPlace {
  /// The stream that will use the memory. Memory that this stream has freed is reused for it at once, without
  /// waiting for its work. `none`: whoever frees the memory waits for its users first.
  StreamId stream = StreamId::none;
  MemoryPool pool = MemoryPool::common;
};

/// A block of memory of a CachingAllocator. It does not free itself: its owner must free it once.
struct MemoryBlock {
  void *data = nullptr;
  size_t bytes = 0; ///< as requested
  void *handle = nullptr;
};

/// Every member may be called from any thread.
class WEFT_RUNTIME_API CachingAllocator {
public:
  /// The allocator of the host, configured from WEFT_ALLOC_CONF and WEFT_NO_MEMORY_CACHING. It is never
  /// destroyed, so memory may be freed at any time. If the configuration is wrong, allocate() returns the
  /// error.
  static CachingAllocator &get();
  /// `device` is the name of the device in messages: "CPU", "cuda:0".
  explicit CachingAllocator(AllocatorConfig config = {}, bool caching = true, std::string device = "CPU",
                            const RawAllocator &raw = {});
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator &) = delete;
  CachingAllocator &operator=(const CachingAllocator &) = delete;

  /// The number of a label. An out-of-memory report shows the text of the label for a block: "result 'loss'
  /// of 'step' (train.cpp:12:3)". Equal labels have the same number.
  uint32_t intern_label(const MemoryLabel &label);
  /// Allocates uninitialised memory. For 0 bytes, the pointer is valid and must not be dereferenced. If there
  /// is no memory, it waits for points of freed memory, except for those that may wait for this thread, and
  /// empties the cache. If that is not enough, it calls `reclaim`, if there is one, without holding a lock,
  /// and tries again as long as that returns true. It fails with WEFT-M001 if the limit or the machine still
  /// does not allow the request, or with the error of a device that has failed.
  Expected<MemoryBlock> allocate(size_t bytes, uint32_t label = 0, MemoryPlace place = {},
                                 bool (*reclaim)() = nullptr);
  /// Frees memory that streams use up to the points in `uses`. The stream that the memory was allocated for
  /// can get it again once the points of other streams have passed, and other streams once all points have.
  void free(const MemoryBlock &block, StreamPoints uses = {});
  /// Makes a pool of the caller's own.
  MemoryPool new_pool();
  /// Whether the limit allows `bytes` more than are allocated now. If not, an allocation fails. If so, it may
  /// still fail because free memory is fragmented.
  bool fits(uint64_t bytes) const;
  /// The error WEFT-M001 for `bytes` that do not fit and were requested for `purpose`. Counts it in num_ooms.
  Status out_of_memory(uint64_t bytes, const std::string &purpose);

  /// Changes who allocates segments. Cached segments are freed first. Fails with WEFT-M003 if a block is in
  /// use.
  Status set_raw(const RawAllocator &raw);
  /// Frees each segment of which no block is in use or waits for a point. Returns the bytes that were freed.
  uint64_t empty_cache();
  /// Sets how many bytes this allocator may reserve from the system.
  void set_limit(uint64_t bytes);
  /// The limit as a share of the machine's memory; an error outside of (0, 1].
  Status set_memory_fraction(double fraction);
  uint64_t limit() const;

  uint64_t memory_allocated() const;
  uint64_t max_memory_allocated() const;
  uint64_t memory_reserved() const;
  uint64_t max_memory_reserved() const;
  void reset_peak_stats();
  /// Sets the counts of what was allocated and freed to zero.
  void reset_accumulated_stats();
  /// `<stat>.<pool>.<metric>` and plain counters, with PyTorch's keys, and Weft's own with prefix `weft.`.
  std::map<std::string, int64_t> stats() const;
  std::string stats_json() const;
  /// A table of the main statistics for people.
  std::string summary() const;
  /// Every segment with its blocks, as JSON, with PyTorch's keys; the frame of a block is the source line of
  /// its label.
  std::string snapshot_json() const;
  const AllocatorConfig &config() const;
  /// Whether freed memory is kept.
  bool is_caching() const;
  /// For tests: checks that the blocks of a segment leave no gaps, that no two neighbours of one cache are
  /// free, and that the statistics agree with the blocks.
  Status check() const;
  /// Adds to the bytes of arenas, the statistic weft.arena_bytes.
  void note_arena_bytes(int64_t change);
  /// Adds to the bytes that the driver took for graphs, the statistic weft.graph_bytes. They count against
  /// the limit.
  void note_graph_bytes(int64_t change);

private:
  std::unique_ptr<CachingAllocatorImpl> impl_;
  Status config_status_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_MEMORY_CACHINGALLOCATOR_H
