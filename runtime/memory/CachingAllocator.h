//===- CachingAllocator.h - A device's memory, handed out again -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One for each device. On a CPU, fresh pages cost three to five times the kernel that fills them, so memory
// is kept and handed out again. Rules and statistics are those of PyTorch's device allocator: granules of 512
// bytes; requests up to 1 MiB come from segments of 2 MiB, those below 10 MiB from segments of 20 MiB, larger
// ones from a segment of their own, rounded up to 2 MiB; the best fit wins; a freed block joins its free
// neighbours. Segments begin on 2 MiB and ask for huge pages; a block begins on a multiple of 512 bytes.
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

/// The options of WEFT_ALLOC_CONF, which has the syntax of PYTORCH_ALLOC_CONF: `name:value,name:value`.
struct AllocatorConfig {
  uint64_t max_split_bytes = UINT64_MAX;               ///< larger blocks are not split
  uint64_t max_non_split_rounding_bytes = 20ull << 20; ///< an oversize block may be this much too large
  uint64_t large_segment_bytes = 20ull << 20;
  double garbage_collection_threshold = 0;  ///< share of the limit; 0 is never
  double per_process_memory_fraction = 1;   ///< of the machine's memory
  uint64_t memory_limit_bytes = UINT64_MAX; ///< weft_memory_limit_mb; the smaller of the two limits holds
  /// (bytes up to which it holds, divisions of a power of two); the last row holds for all larger sizes.
  std::vector<std::pair<uint64_t, uint64_t>> roundup_power2_divisions;
  std::vector<std::string> ignored; ///< options that are known and mean nothing for host memory
};

/// An unknown name, or a value that does not fit, is an error that names it (WEFT-M002), with the nearest
/// known name. Names that mean nothing for host memory are checked, and listed in `ignored`.
WEFT_RUNTIME_API Expected<AllocatorConfig> parse_allocator_config(std::string_view text);

class CachingAllocatorImpl;

/// Where segments come from, in place of the system. Both functions or none.
struct RawAllocator {
  void *user = nullptr;
  void *(*allocate)(void *user, size_t bytes, size_t alignment) = nullptr;
  void (*free)(void *user, void *data, size_t bytes) = nullptr;
};

/// What a block of memory is for, in reports.
struct MemoryLabel {
  std::string_view what;          ///< "result 'loss' of 'step'"
  std::string_view location = {}; ///< the source line, "train.cpp:12:3", or several with ", " between
  std::string_view file = {};     ///< of the first line
  uint32_t line = 0;              ///< 0: not known
};

/// A part of a device's memory that has segments of its own.
enum class MemoryPool : uint32_t { common = 0 };

/// Whose cache memory is taken from.
struct MemoryPlace {
  /// The stream that it is for: what that stream gave back it gets again at once. `none`: whoever gives it
  /// back has waited for its users.
  StreamId stream = StreamId::none;
  MemoryPool pool = MemoryPool::common;
};

/// A piece of memory handed out by a CachingAllocator. Plain data: whoever holds it frees it once.
struct MemoryBlock {
  void *data = nullptr;
  size_t bytes = 0; ///< as asked for
  void *handle = nullptr;
};

/// Every member may be called from any thread.
class WEFT_RUNTIME_API CachingAllocator {
public:
  /// The process's allocator, configured from WEFT_ALLOC_CONF and WEFT_NO_MEMORY_CACHING. It is never
  /// destroyed, so that memory may be freed at any time. A bad configuration is reported by the first
  /// allocate().
  static CachingAllocator &get();
  /// `device` is whose memory it hands out, for messages: "CPU", "cuda:0".
  explicit CachingAllocator(AllocatorConfig config = {}, bool caching = true, std::string device = "CPU");
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator &) = delete;
  CachingAllocator &operator=(const CachingAllocator &) = delete;

  /// A number for `label`, by which an out-of-memory report names the block: "result 'loss' of 'step'
  /// (train.cpp:12:3)". The same label gives the same number.
  uint32_t intern_label(const MemoryLabel &label);
  /// `bytes` of uninitialised memory. 0 bytes give a valid pointer to nothing. Error WEFT-M001 when the
  /// limit or the machine does not allow it even after the cache was emptied.
  /// Before that it waits for points that freed memory waits for, unless they may wait for this thread.
  Expected<MemoryBlock> allocate(size_t bytes, uint32_t label = 0, MemoryPlace place = {});
  /// Takes memory back while points of `uses` may not have passed. The stream that it was allocated for gets
  /// it again once those of other streams have; every other stream once all have.
  void free(const MemoryBlock &block, StreamPoints uses = {});
  /// A pool that no other caller gets.
  MemoryPool new_pool();
  /// Whether `bytes` more than are allocated now stay within the limit. What does not fit cannot be
  /// allocated; what fits may still fail where memory is in pieces.
  bool fits(uint64_t bytes) const;
  /// Error WEFT-M001 for `bytes` that are wanted for `purpose` and do not fit; counted in num_ooms.
  Status out_of_memory(uint64_t bytes, const std::string &purpose);

  /// Only while nothing is live; what is cached is given back first. Error WEFT-M003 otherwise.
  Status set_raw(const RawAllocator &raw);
  /// Gives every segment back to the system of which no block is live or waits for a point; the bytes of
  /// them.
  uint64_t empty_cache();
  /// Bytes this allocator may reserve from the system.
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
  /// Checks the allocator's own invariants (blocks tile their segments, no two free neighbours, statistics
  /// agree with the lists); for tests.
  Status check() const;
  /// Counts bytes of arenas; shown as weft.arena_bytes.
  void note_arena_bytes(int64_t change);

private:
  std::unique_ptr<CachingAllocatorImpl> impl_;
  Status config_status_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_MEMORY_CACHINGALLOCATOR_H
