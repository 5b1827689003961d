//===- CachingAllocatorImpl.cpp - Taking, splitting and joining blocks ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/memory/CachingAllocatorImpl.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <sys/mman.h>
#include <unistd.h>

#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

namespace weft::runtime {
using namespace allocator_blocks;
namespace {

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/// Bytes of the machine that no process uses.
uint64_t available_bytes() {
  const long pages = ::sysconf(_SC_AVPHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : 0;
}

} // namespace

uint64_t allocator_blocks::machine_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : maxRequest;
}

std::string allocator_blocks::readable(uint64_t bytes) {
  const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  double value = static_cast<double>(bytes);
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  char text[64];
  std::snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
  return text;
}

void *CachingAllocatorImpl::map_segment(uint64_t bytes) {
  if (raw.allocate) {
    // What CUDA's driver promises; other memory of a device may be there already.
    constexpr uint64_t least = 256;
    void *data = raw.allocate(raw.user, bytes, smallSegment);
    if (data && reinterpret_cast<uintptr_t>(data) % least != 0) {
      raw.free(raw.user, data, bytes);
      return nullptr;
    }
    return data;
  }
  // Map more than the segment and unmap the ends, so that the segment begins on a huge page.
  const uint64_t whole = bytes + smallSegment;
  void *mapping =
      ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return nullptr;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(mapping);
  const uintptr_t aligned = round_up(begin, smallSegment);
  if (aligned > begin)
    ::munmap(mapping, aligned - begin);
  if (begin + whole > aligned + bytes)
    ::munmap(reinterpret_cast<void *>(aligned + bytes), begin + whole - aligned - bytes);
  // Advice only: a kernel without huge pages refuses it, and everything still works.
  (void)::madvise(reinterpret_cast<void *>(aligned), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void *>(aligned);
}

void CachingAllocatorImpl::unmap_segment(void *data, uint64_t bytes) {
  if (raw.free)
    raw.free(raw.user, data, bytes);
  else
    ::munmap(data, bytes);
}

MemoryAmount CachingAllocatorImpl::memory() const {
  return raw.measure ? raw.measure(raw.user) : MemoryAmount{machine_bytes(), available_bytes()};
}

CachingAllocatorImpl::CachingAllocatorImpl(AllocatorConfig config, bool caching, std::string device,
                                           const RawAllocator &raw)
    : raw(raw), config(std::move(config)), caching(caching), device(std::move(device)),
      limit(std::min(static_cast<uint64_t>(static_cast<double>(memory().total) *
                                           this->config.per_process_memory_fraction),
                     this->config.memory_limit_bytes)) {
  labels.emplace_back();
}

CachingAllocatorImpl::~CachingAllocatorImpl() {
  for (auto &[data, first] : segments) {
    uint64_t bytes = 0;
    for (Block *block = first; block;) {
      Block *after = block->after;
      bytes += block->bytes;
      delete block;
      block = after;
    }
    ASAN_UNPOISON_MEMORY_REGION(data, bytes);
    unmap_segment(data, bytes);
  }
  while (Block *block = spare) {
    spare = block->bin_after;
    delete block;
  }
}

uint64_t CachingAllocatorImpl::rounded(uint64_t bytes) const {
  uint64_t result = round_up(std::max<uint64_t>(bytes, 1), granule);
  for (const auto &[up_to, divisions] : config.roundup_power2_divisions) {
    if (bytes > up_to)
      continue;
    // Between two powers of two there are `divisions` sizes.
    const uint64_t power = std::bit_floor(result);
    if (divisions > 1 && power != result)
      result = round_up(power + round_up(result - power, std::max(power / divisions, granule)), granule);
    break;
  }
  return result;
}

Block *CachingAllocatorImpl::new_record(Pool pool) {
  BlocksBySize::node_type node = spare ? std::move(spare->node) : BlocksBySize::node_type();
  if (pool == largePool && node.empty()) {
    Block any;
    BlocksBySize made = {&any};
    node = made.extract(made.begin());
  }
  Block *block = spare;
  if (block)
    spare = block->bin_after;
  else
    block = new Block;
  // A spare record has no points.
  block->before = block->after = block->bin_before = block->bin_after = nullptr;
  block->freed_at = 0;
  block->pool = pool;
  block->state = BlockState::free;
  block->node = std::move(node);
  return block;
}

CachingAllocatorImpl::Cache &CachingAllocatorImpl::cache_of(MemoryPool pool, StreamId stream) {
  const std::pair place(pool, stream);
  auto found = caches.find(place);
  if (found == caches.end())
    found = caches.emplace(place, std::make_unique<Cache>()).first;
  return *found->second;
}

void CachingAllocatorImpl::insert_free(Block *block) {
  unsettled += !block->points.empty();
  block->cache().insert(block);
  if (block->split()) {
    count(inactiveSplit, block->pool, 1);
    count(inactiveSplitBytes, block->pool, static_cast<int64_t>(block->bytes));
  }
}

void CachingAllocatorImpl::remove_free(Block *block) {
  unsettled -= !block->points.empty();
  block->cache().remove(block);
  if (block->split()) {
    discount(inactiveSplit, block->pool, 1);
    discount(inactiveSplitBytes, block->pool, static_cast<int64_t>(block->bytes));
  }
}

// Look at the blocks that the stream itself has freed first, because other streams cannot use them yet.
Block *CachingAllocatorImpl::find_free(Cache &own, Cache &common, uint64_t bytes, Pool pool) const {
  if (!caching)
    return nullptr;
  for (Cache *cache : {&own, &common}) {
    Block *const found = pool == smallPool ? cache->find_small(bytes) : cache->find_large(bytes);
    if (!found)
      continue;
    // An oversize block serves oversize requests only, and none that is much smaller than the block.
    const bool oversize = found->bytes >= config.max_split_bytes;
    const bool wasted = bytes < config.max_split_bytes
                            ? oversize
                            : found->bytes - bytes >= config.max_non_split_rounding_bytes;
    if (pool == smallPool || !wasted)
      return found;
  }
  return nullptr;
}

Block *CachingAllocatorImpl::new_segment(uint64_t bytes, Pool pool, Cache &common) {
  uint64_t segment_bytes = pool == smallPool    ? smallSegment
                           : bytes < largeLimit ? config.large_segment_bytes
                                                : round_up(bytes, smallSegment);
  if (!caching)
    segment_bytes = round_up(bytes, 4096);
  const uint64_t reserved = with_graphs(static_cast<uint64_t>(stats[reservedBytes][allPools].current));
  if (segment_bytes > limit || reserved > limit - segment_bytes)
    return nullptr;
  Block *block = new_record(pool);
  void *data = map_segment(segment_bytes);
  if (!data) {
    keep_record(block);
    return nullptr;
  }
  block->data = static_cast<std::byte *>(data);
  block->bytes = segment_bytes;
  block->common = block->own = &common;
  try {
    segments.emplace(block->data, block);
  } catch (...) {
    unmap_segment(data, segment_bytes);
    keep_record(block);
    throw;
  }
  ++device_allocs;
  count(segmentCount, pool, 1);
  count(reservedBytes, pool, static_cast<int64_t>(segment_bytes));
  if (segment_bytes >= config.max_split_bytes)
    oversize_segments.add(1);
  ASAN_POISON_MEMORY_REGION(block->data, block->bytes);
  insert_free(block);
  return block;
}

// `block` must be free, in its cache, and a whole segment.
void CachingAllocatorImpl::release_segment(Block *block) {
  remove_free(block);
  segments.erase(block->data);
  ASAN_UNPOISON_MEMORY_REGION(block->data, block->bytes);
  unmap_segment(block->data, block->bytes);
  ++device_frees;
  discount(segmentCount, block->pool, 1);
  discount(reservedBytes, block->pool, static_cast<int64_t>(block->bytes));
  if (block->bytes >= config.max_split_bytes)
    oversize_segments.remove(1);
  keep_record(block);
}

uint64_t CachingAllocatorImpl::release_cached(uint64_t at_least_bytes, uint64_t enough) {
  const auto can_go = [&](const Block *first) {
    return first->is_free() && first->points.empty() && !first->after && first->bytes >= at_least_bytes;
  };
  uint64_t released = 0;
  // If all segments are freed, their order does not matter.
  if (enough == UINT64_MAX) {
    for (auto segment = segments.begin(); segment != segments.end();) {
      Block *const first = (segment++)->second;
      if (can_go(first)) {
        released += first->bytes;
        release_segment(first);
      }
    }
    return released;
  }
  // Otherwise free the segment next whose last block was freed first. A sorted list would need memory.
  while (released < enough) {
    Block *oldest = nullptr;
    for (const auto &[data, first] : segments)
      if (can_go(first) && (!oldest || first->freed_at < oldest->freed_at))
        oldest = first;
    if (!oldest)
      break;
    released += oldest->bytes;
    release_segment(oldest);
  }
  return released;
}

void CachingAllocatorImpl::collect_garbage(uint64_t more) {
  if (config.garbage_collection_threshold <= 0)
    return;
  const double allowed = config.garbage_collection_threshold * static_cast<double>(limit);
  const uint64_t reserved = static_cast<uint64_t>(stats[reservedBytes][allPools].current) + more;
  if (static_cast<double>(reserved) > allowed)
    release_cached(0, reserved - static_cast<uint64_t>(allowed));
}

Block *CachingAllocatorImpl::take(uint64_t requested, uint32_t label, MemoryPlace place,
                                  StreamPoints &passed) {
  const uint64_t bytes = rounded(requested);
  const Pool pool = bytes <= smallLimit ? smallPool : largePool;
  Cache &common = place.pool == MemoryPool::common ? main : cache_of(place.pool, StreamId::none);
  Cache &own = place.stream == StreamId::none ? common : cache_of(place.pool, place.stream);
  if (waiting)
    settle_waiting(passed);
  Block *block = find_free(own, common, bytes, pool);
  if (!block && settle(passed))
    block = find_free(own, common, bytes, pool);
  if (!block) {
    collect_garbage(bytes);
    block = new_segment(bytes, pool, common);
    if (!block) {
      ++alloc_retries;
      if (release_cached(bytes, bytes))
        block = new_segment(bytes, pool, common);
    }
    if (!block && release_cached(0, UINT64_MAX))
      block = new_segment(bytes, pool, common);
    if (!block)
      return nullptr;
  }
  const uint64_t rest = block->bytes - bytes;
  const bool splits =
      caching && (pool == smallPool ? rest >= granule : bytes < config.max_split_bytes && rest > smallLimit);
  StreamPoints points;
  if (splits && !block->points.empty())
    points = block->points;
  Block *const remaining = splits ? new_record(pool) : nullptr;
  remove_free(block);
  if (remaining) {
    remaining->data = block->data + bytes;
    remaining->bytes = rest;
    remaining->freed_at = block->freed_at;
    remaining->stream = block->stream;
    remaining->common = block->common;
    remaining->own = block->own;
    remaining->points.splice(remaining->points.end(), points);
    remaining->before = block;
    remaining->after = block->after;
    if (block->after)
      block->after->before = remaining;
    block->after = remaining;
    block->bytes = bytes;
    insert_free(remaining);
  }
  block->state = BlockState::live;
  block->requested = requested;
  block->label = label;
  block->stream = place.stream;
  block->own = &own;
  const int64_t held = static_cast<int64_t>(block->bytes);
  count(allocation, pool, 1);
  count(allocatedBytes, pool, held);
  count(active, pool, 1);
  count(activeBytes, pool, held);
  count(requestedBytes, pool, static_cast<int64_t>(requested));
  block->oversize = block->bytes >= config.max_split_bytes;
  if (block->oversize)
    oversize_allocations.add(1);
  ASAN_UNPOISON_MEMORY_REGION(block->data, requested);
  return block;
}

void CachingAllocatorImpl::give_back(Block *block, StreamPoints &points, StreamPoints &passed) {
  const Pool pool = block->pool;
  discount(allocation, pool, 1);
  discount(allocatedBytes, pool, static_cast<int64_t>(block->bytes));
  discount(requestedBytes, pool, static_cast<int64_t>(block->requested));
  if (block->oversize)
    oversize_allocations.remove(1);
  ASAN_POISON_MEMORY_REGION(block->data, block->bytes);
  block->freed_at = ++clock;
  block->points.splice(block->points.end(), points);
  if (!block->points.empty())
    drop_passed(block, passed);
  if (block->points.empty() || !waits_for_others(*block)) {
    join_and_keep(block);
    return;
  }
  block->state = BlockState::waiting;
  ++unsettled;
  block->bin_before = nullptr;
  block->bin_after = waiting;
  if (waiting)
    waiting->bin_before = block;
  waiting = block;
}

// `block` must be in no list, and no stream but its own may still use it.
void CachingAllocatorImpl::join_and_keep(Block *block) {
  discount(active, block->pool, 1);
  discount(activeBytes, block->pool, static_cast<int64_t>(block->bytes));
  block->state = BlockState::free;
  keep_free(block);
}

// `block` must be free and in no list.
void CachingAllocatorImpl::keep_free(Block *block) {
  const Cache *const cache = &block->cache();
  if (Block *next = block->after; next && next->is_free() && &next->cache() == cache) {
    remove_free(next);
    block->bytes += next->bytes;
    block->points.splice(block->points.end(), next->points);
    block->after = next->after;
    if (next->after)
      next->after->before = block;
    keep_record(next);
  }
  if (Block *previous = block->before; previous && previous->is_free() && &previous->cache() == cache) {
    remove_free(previous);
    previous->bytes += block->bytes;
    previous->points.splice(previous->points.end(), block->points);
    previous->after = block->after;
    if (block->after)
      block->after->before = previous;
    previous->freed_at = block->freed_at;
    keep_record(block);
    block = previous;
  }
  insert_free(block);
  if (!caching && !block->split())
    release_segment(block);
}

// The fields of PyTorch's message that exist on a host, in the same order.
std::string CachingAllocatorImpl::out_of_memory_message(uint64_t requested,
                                                        const std::string &purpose) const {
  const uint64_t reserved = static_cast<uint64_t>(stats[reservedBytes][allPools].current);
  const uint64_t allocated = static_cast<uint64_t>(stats[allocatedBytes][allPools].current);
  std::string text = device + " out of memory. Tried to allocate " + readable(requested);
  if (!purpose.empty())
    text += " for " + purpose;
  const MemoryAmount whole = memory();
  text += (raw.measure ? ". The device" : ". The machine") + std::string(" has a total capacity of ") +
          readable(whole.total) + " of which " + readable(whole.free) + " is free. The limit is " +
          readable(limit) + ", of which " +
          readable(limit > with_graphs(reserved) ? limit - with_graphs(reserved) : 0) + " is free; " +
          readable(allocated) + " is allocated (" + readable(static_cast<uint64_t>(arena_bytes.current)) +
          " of it in arenas) and " + readable(reserved - allocated) + " is reserved but unallocated";
  if (graph_bytes.current)
    text += ", and the driver has taken " + readable(with_graphs(0)) + " for graphs";
  const uint64_t in_use = static_cast<uint64_t>(stats[activeBytes][allPools].current) - allocated;
  text += in_use ? ", of which streams still use " + readable(in_use) + "." : ".";
  std::vector<const Block *> live;
  for (const auto &[data, first] : segments)
    for (const Block *block = first; block; block = block->after)
      if (block->state == BlockState::live)
        live.push_back(block);
  const size_t shown = std::min<size_t>(live.size(), 10);
  std::partial_sort(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(shown), live.end(),
                    [](const Block *a, const Block *b) {
                      return a->bytes != b->bytes ? a->bytes > b->bytes : a->data < b->data;
                    });
  for (size_t i = 0; i < shown; ++i)
    text += (i ? ", " : " Largest live buffers: ") + readable(live[i]->bytes) + " " +
            (live[i]->label ? labels[live[i]->label].text : std::string("(unnamed)"));
  text += shown ? ". " : " ";
  return text +
         "Use a smaller batch, drop buffers that are no longer needed, or raise the limit "
         "(set_memory_limit, or per_process_memory_fraction or weft_memory_limit_mb in WEFT_ALLOC_CONF)";
}

} // namespace weft::runtime
