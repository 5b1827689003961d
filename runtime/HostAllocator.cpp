//===- HostAllocator.cpp - Caching allocator of host memory ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/HostAllocator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>

#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

namespace weft::runtime {
namespace {

constexpr uint64_t granule = 512;
constexpr uint64_t smallLimit = 1ull << 20;   // requests up to here live in small segments
constexpr uint64_t smallSegment = 2ull << 20; // also a huge page
constexpr uint64_t largeLimit = 10ull << 20;  // requests below here share large segments
constexpr uint64_t maxRequest = 1ull << 47;   // the address space of a process
constexpr size_t smallBins = smallSegment / granule + 1;

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

std::string readable(uint64_t bytes) {
  const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  double value = static_cast<double>(bytes);
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  char text[64];
  std::snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
  return text;
}

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (static_cast<unsigned char>(c) >= 0x20)
      result += c;
    else
      result += ' ';
  }
  return result + "\"";
}

enum Pool { allPools, smallPool, largePool, poolCount };
constexpr const char *poolNames[] = {"all", "small_pool", "large_pool"};

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
constexpr const char *statNames[] = {
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

struct Block {
  std::byte *data = nullptr;
  uint64_t bytes = 0;
  uint64_t requested = 0;
  Block *before = nullptr, *after = nullptr;         // neighbours in the segment
  Block *bin_before = nullptr, *bin_after = nullptr; // neighbours in the bin, while free and small
  uint64_t freed_at = 0;
  uint32_t label = 0;
  Pool pool = smallPool;
  bool live = false;
  bool oversize = false;
  bool split() const { return before || after; }
};

struct BySize {
  bool operator()(const Block *a, const Block *b) const {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->data < b->data;
  }
};

void *map_segment(uint64_t bytes) {
  // Too much is mapped and the ends are cut off, so that the segment begins on a huge page.
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

uint64_t machine_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : maxRequest;
}

alignas(64) std::byte emptyAllocation[64];

} // namespace

class HostAllocatorImpl {
public:
  HostAllocatorImpl(AllocatorConfig config, bool caching)
      : config(std::move(config)), caching(caching),
        limit(static_cast<uint64_t>(static_cast<double>(machine_bytes()) *
                                    this->config.per_process_memory_fraction)) {
    bins.fill(nullptr);
    bin_bits.fill(0);
    labels.emplace_back();
  }
  ~HostAllocatorImpl() {
    for (auto &[data, first] : segments) {
      uint64_t bytes = 0;
      for (Block *block = first; block;) {
        Block *after = block->after;
        bytes += block->bytes;
        delete block;
        block = after;
      }
      ASAN_UNPOISON_MEMORY_REGION(data, bytes);
      ::munmap(data, bytes);
    }
    for (Block *block : spare)
      delete block;
  }

  Block *take(uint64_t requested, uint32_t label);
  void give_back(Block *block);
  uint64_t release_cached(uint64_t at_least_bytes, uint64_t enough);
  std::string out_of_memory_message(uint64_t requested, uint32_t label) const;
  uint64_t rounded(uint64_t bytes) const;

  Stat &stat(StatId id, Pool pool) { return stats[id][pool]; }
  void count(StatId id, Pool pool, int64_t amount) {
    stats[id][allPools].add(amount);
    stats[id][pool].add(amount);
  }
  void discount(StatId id, Pool pool, int64_t amount) {
    stats[id][allPools].remove(amount);
    stats[id][pool].remove(amount);
  }

  mutable std::mutex mutex;
  AllocatorConfig config;
  bool caching;
  uint64_t limit;
  std::map<std::byte *, Block *> segments; // first block of each, by address
  std::array<Block *, smallBins> bins;     // free small blocks by size in granules
  std::array<uint64_t, (smallBins + 63) / 64> bin_bits;
  std::set<Block *, BySize> large_free;
  std::vector<Block *> spare; // block records to use again
  std::array<std::array<Stat, poolCount>, statCount> stats = {};
  Stat oversize_allocations, oversize_segments, arena_bytes;
  int64_t alloc_retries = 0, ooms = 0, device_allocs = 0, device_frees = 0;
  uint64_t clock = 0;
  std::vector<std::string> labels;
  std::unordered_map<std::string, uint32_t> label_numbers;

private:
  Block *find_free(uint64_t bytes, Pool pool);
  Block *new_segment(uint64_t bytes, Pool pool);
  void insert_free(Block *block);
  void remove_free(Block *block);
  void release_segment(Block *block);
  void collect_garbage(uint64_t more);
  Block *new_record() {
    if (spare.empty())
      return new Block;
    Block *block = spare.back();
    spare.pop_back();
    *block = Block();
    return block;
  }
};

uint64_t HostAllocatorImpl::rounded(uint64_t bytes) const {
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

void HostAllocatorImpl::insert_free(Block *block) {
  if (block->pool == largePool) {
    large_free.insert(block);
  } else {
    const size_t bin = block->bytes / granule;
    block->bin_before = nullptr;
    block->bin_after = bins[bin];
    if (bins[bin])
      bins[bin]->bin_before = block;
    bins[bin] = block;
    bin_bits[bin / 64] |= uint64_t(1) << (bin % 64);
  }
  if (block->split()) {
    count(inactiveSplit, block->pool, 1);
    count(inactiveSplitBytes, block->pool, static_cast<int64_t>(block->bytes));
  }
}

void HostAllocatorImpl::remove_free(Block *block) {
  if (block->pool == largePool) {
    large_free.erase(block);
  } else {
    const size_t bin = block->bytes / granule;
    if (block->bin_before)
      block->bin_before->bin_after = block->bin_after;
    else
      bins[bin] = block->bin_after;
    if (block->bin_after)
      block->bin_after->bin_before = block->bin_before;
    if (!bins[bin])
      bin_bits[bin / 64] &= ~(uint64_t(1) << (bin % 64));
    block->bin_before = block->bin_after = nullptr;
  }
  if (block->split()) {
    discount(inactiveSplit, block->pool, 1);
    discount(inactiveSplitBytes, block->pool, static_cast<int64_t>(block->bytes));
  }
}

Block *HostAllocatorImpl::find_free(uint64_t bytes, Pool pool) {
  if (pool == smallPool) {
    const size_t first = bytes / granule;
    for (size_t word = first / 64; word < bin_bits.size(); ++word) {
      const uint64_t bits =
          word == first / 64 ? bin_bits[word] & (~uint64_t(0) << (first % 64)) : bin_bits[word];
      if (bits)
        return bins[word * 64 + static_cast<size_t>(std::countr_zero(bits))];
    }
    return nullptr;
  }
  Block key;
  key.bytes = bytes;
  const auto found = large_free.lower_bound(&key);
  if (found == large_free.end())
    return nullptr;
  // Oversize blocks are kept for oversize requests, and not wasted on much smaller ones.
  if (bytes < config.max_split_bytes && (*found)->bytes >= config.max_split_bytes)
    return nullptr;
  if (bytes >= config.max_split_bytes && (*found)->bytes - bytes >= config.max_non_split_rounding_bytes)
    return nullptr;
  return *found;
}

Block *HostAllocatorImpl::new_segment(uint64_t bytes, Pool pool) {
  uint64_t segment_bytes = pool == smallPool    ? smallSegment
                           : bytes < largeLimit ? config.large_segment_bytes
                                                : round_up(bytes, smallSegment);
  if (!caching)
    segment_bytes = round_up(bytes, 4096);
  const uint64_t reserved = static_cast<uint64_t>(stats[reservedBytes][allPools].current);
  if (segment_bytes > limit || reserved > limit - segment_bytes)
    return nullptr;
  void *data = map_segment(segment_bytes);
  if (!data)
    return nullptr;
  ++device_allocs;
  Block *block = new_record();
  block->data = static_cast<std::byte *>(data);
  block->bytes = segment_bytes;
  block->pool = pool;
  segments.emplace(block->data, block);
  count(segmentCount, pool, 1);
  count(reservedBytes, pool, static_cast<int64_t>(segment_bytes));
  if (segment_bytes >= config.max_split_bytes)
    oversize_segments.add(1);
  ASAN_POISON_MEMORY_REGION(block->data, block->bytes);
  insert_free(block);
  return block;
}

// `block` is free, in its list, and a whole segment.
void HostAllocatorImpl::release_segment(Block *block) {
  remove_free(block);
  segments.erase(block->data);
  ASAN_UNPOISON_MEMORY_REGION(block->data, block->bytes);
  ::munmap(block->data, block->bytes);
  ++device_frees;
  discount(segmentCount, block->pool, 1);
  discount(reservedBytes, block->pool, static_cast<int64_t>(block->bytes));
  if (block->bytes >= config.max_split_bytes)
    oversize_segments.remove(1);
  spare.push_back(block);
}

// Gives free segments of at least `at_least_bytes` back until `enough` bytes are.
uint64_t HostAllocatorImpl::release_cached(uint64_t at_least_bytes, uint64_t enough) {
  std::vector<Block *> candidates;
  for (auto &[data, first] : segments)
    if (!first->live && !first->after && first->bytes >= at_least_bytes)
      candidates.push_back(first);
  std::sort(candidates.begin(), candidates.end(),
            [](const Block *a, const Block *b) { return a->freed_at < b->freed_at; });
  uint64_t released = 0;
  for (Block *block : candidates) {
    if (released >= enough)
      break;
    released += block->bytes;
    release_segment(block);
  }
  return released;
}

void HostAllocatorImpl::collect_garbage(uint64_t more) {
  if (config.garbage_collection_threshold <= 0)
    return;
  const double allowed = config.garbage_collection_threshold * static_cast<double>(limit);
  const uint64_t reserved = static_cast<uint64_t>(stats[reservedBytes][allPools].current) + more;
  if (static_cast<double>(reserved) > allowed)
    release_cached(0, reserved - static_cast<uint64_t>(allowed));
}

Block *HostAllocatorImpl::take(uint64_t requested, uint32_t label) {
  const uint64_t bytes = rounded(requested);
  const Pool pool = bytes <= smallLimit ? smallPool : largePool;
  Block *block = caching ? find_free(bytes, pool) : nullptr;
  if (!block) {
    collect_garbage(bytes);
    block = new_segment(bytes, pool);
    if (!block) {
      ++alloc_retries;
      if (release_cached(bytes, bytes))
        block = new_segment(bytes, pool);
    }
    if (!block && release_cached(0, UINT64_MAX))
      block = new_segment(bytes, pool);
    if (!block)
      return nullptr;
  }
  remove_free(block);
  const uint64_t rest = block->bytes - bytes;
  const bool splits =
      caching && (pool == smallPool ? rest >= granule : bytes < config.max_split_bytes && rest > smallLimit);
  if (splits) {
    Block *remaining = new_record();
    remaining->data = block->data + bytes;
    remaining->bytes = rest;
    remaining->pool = pool;
    remaining->freed_at = block->freed_at;
    remaining->before = block;
    remaining->after = block->after;
    if (block->after)
      block->after->before = remaining;
    block->after = remaining;
    block->bytes = bytes;
    insert_free(remaining);
  }
  block->live = true;
  block->requested = requested;
  block->label = label;
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

void HostAllocatorImpl::give_back(Block *block) {
  const Pool pool = block->pool;
  const int64_t held = static_cast<int64_t>(block->bytes);
  discount(allocation, pool, 1);
  discount(allocatedBytes, pool, held);
  discount(active, pool, 1);
  discount(activeBytes, pool, held);
  discount(requestedBytes, pool, static_cast<int64_t>(block->requested));
  if (block->oversize)
    oversize_allocations.remove(1);
  ASAN_POISON_MEMORY_REGION(block->data, block->bytes);
  block->live = false;
  block->freed_at = ++clock;
  if (Block *next = block->after; next && !next->live) {
    remove_free(next);
    block->bytes += next->bytes;
    block->after = next->after;
    if (next->after)
      next->after->before = block;
    spare.push_back(next);
  }
  if (Block *previous = block->before; previous && !previous->live) {
    remove_free(previous);
    previous->bytes += block->bytes;
    previous->after = block->after;
    if (block->after)
      block->after->before = previous;
    previous->freed_at = block->freed_at;
    spare.push_back(block);
    block = previous;
  }
  insert_free(block);
  if (!caching && !block->split())
    release_segment(block);
}

std::string HostAllocatorImpl::out_of_memory_message(uint64_t requested, uint32_t label) const {
  const uint64_t reserved = static_cast<uint64_t>(stats[reservedBytes][allPools].current);
  const uint64_t allocated = static_cast<uint64_t>(stats[allocatedBytes][allPools].current);
  std::string text = "CPU out of memory. Tried to allocate " + readable(requested);
  if (label)
    text += " for " + labels[label];
  text += ". The limit is " + readable(limit) + ", of which " +
          readable(limit > reserved ? limit - reserved : 0) + " is free; " + readable(allocated) +
          " is allocated and " + readable(reserved - allocated) + " is reserved but unallocated.";
  std::vector<const Block *> live;
  for (const auto &[data, first] : segments)
    for (const Block *block = first; block; block = block->after)
      if (block->live)
        live.push_back(block);
  const size_t shown = std::min<size_t>(live.size(), 10);
  std::partial_sort(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(shown), live.end(),
                    [](const Block *a, const Block *b) {
                      return a->bytes != b->bytes ? a->bytes > b->bytes : a->data < b->data;
                    });
  for (size_t i = 0; i < shown; ++i)
    text += (i ? ", " : " Largest live buffers: ") + readable(live[i]->bytes) + " " +
            (live[i]->label ? labels[live[i]->label] : std::string("(unnamed)"));
  text += shown ? ". " : " ";
  return text + "Use a smaller batch, drop buffers that are no longer needed, or raise "
                "per_process_memory_fraction in WEFT_ALLOC_CONF";
}

HostAllocator &HostAllocator::get() {
  static HostAllocator *const instance = [] {
    const char *text = std::getenv("WEFT_ALLOC_CONF");
    const char *uncached = std::getenv("WEFT_NO_MEMORY_CACHING");
    Expected<AllocatorConfig> config = parse_allocator_config(text ? text : "");
    auto *allocator = new HostAllocator(config ? *config : AllocatorConfig(),
                                        !(uncached && *uncached && std::strcmp(uncached, "0") != 0));
    allocator->config_status_ = config.status();
    return allocator;
  }();
  return *instance;
}

HostAllocator::HostAllocator(AllocatorConfig config, bool caching)
    : impl_(std::make_unique<HostAllocatorImpl>(std::move(config), caching)) {}
HostAllocator::~HostAllocator() = default;

uint32_t HostAllocator::intern_label(const std::string &label) {
  const std::lock_guard lock(impl_->mutex);
  const auto [found, added] =
      impl_->label_numbers.try_emplace(label, static_cast<uint32_t>(impl_->labels.size()));
  if (added)
    impl_->labels.push_back(label);
  return found->second;
}

Expected<HostBlock> HostAllocator::allocate(size_t bytes, uint32_t label) {
  if (!config_status_.ok())
    return config_status_;
  if (bytes == 0)
    return HostBlock{emptyAllocation, 0, nullptr};
  const std::lock_guard lock(impl_->mutex);
  if (label >= impl_->labels.size())
    label = 0;
  Block *block = bytes <= maxRequest ? impl_->take(bytes, label) : nullptr;
  if (!block) {
    ++impl_->ooms;
    return Status::error(impl_->out_of_memory_message(bytes, label), "WEFT-M001");
  }
  return HostBlock{block->data, bytes, block};
}

void HostAllocator::free(const HostBlock &block) {
  if (!block.handle)
    return;
  const std::lock_guard lock(impl_->mutex);
  impl_->give_back(static_cast<Block *>(block.handle));
}

uint64_t HostAllocator::empty_cache() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->release_cached(0, UINT64_MAX);
}

void HostAllocator::set_limit(uint64_t bytes) {
  const std::lock_guard lock(impl_->mutex);
  impl_->limit = bytes;
}

uint64_t HostAllocator::limit() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->limit;
}

uint64_t HostAllocator::memory_allocated() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<uint64_t>(impl_->stats[allocatedBytes][allPools].current);
}
uint64_t HostAllocator::max_memory_allocated() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<uint64_t>(impl_->stats[allocatedBytes][allPools].peak);
}
uint64_t HostAllocator::memory_reserved() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<uint64_t>(impl_->stats[reservedBytes][allPools].current);
}
uint64_t HostAllocator::max_memory_reserved() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<uint64_t>(impl_->stats[reservedBytes][allPools].peak);
}

void HostAllocator::reset_peak_stats() {
  const std::lock_guard lock(impl_->mutex);
  for (auto &row : impl_->stats)
    for (Stat &stat : row)
      stat.peak = stat.current;
  for (Stat *stat : {&impl_->oversize_allocations, &impl_->oversize_segments, &impl_->arena_bytes})
    stat->peak = stat->current;
}

// What is live counts as allocated, so that allocated - freed stays the current value.
void HostAllocator::reset_accumulated_stats() {
  const std::lock_guard lock(impl_->mutex);
  const auto reset = [](Stat &stat) {
    stat.allocated = stat.current;
    stat.freed = 0;
  };
  for (auto &row : impl_->stats)
    for (Stat &stat : row)
      reset(stat);
  for (Stat *stat : {&impl_->oversize_allocations, &impl_->oversize_segments, &impl_->arena_bytes})
    reset(*stat);
  impl_->alloc_retries = impl_->ooms = impl_->device_allocs = impl_->device_frees = 0;
}

std::map<std::string, int64_t> HostAllocator::stats() const {
  const std::lock_guard lock(impl_->mutex);
  std::map<std::string, int64_t> result;
  const auto put = [&](const std::string &key, const Stat &stat) {
    result[key + ".current"] = stat.current;
    result[key + ".peak"] = stat.peak;
    result[key + ".allocated"] = stat.allocated;
    result[key + ".freed"] = stat.freed;
  };
  for (int id = 0; id < statCount; ++id)
    for (int pool = 0; pool < poolCount; ++pool)
      put(std::string(statNames[id]) + "." + poolNames[pool],
          impl_->stats[static_cast<size_t>(id)][static_cast<size_t>(pool)]);
  put("oversize_allocations", impl_->oversize_allocations);
  put("oversize_segments", impl_->oversize_segments);
  put("weft.arena_bytes", impl_->arena_bytes);
  result["num_alloc_retries"] = impl_->alloc_retries;
  result["num_ooms"] = impl_->ooms;
  result["num_sync_all_streams"] = 0;
  result["num_device_alloc"] = impl_->device_allocs;
  result["num_device_free"] = impl_->device_frees;
  result["max_split_size"] =
      impl_->config.max_split_bytes == UINT64_MAX ? -1 : static_cast<int64_t>(impl_->config.max_split_bytes);
  return result;
}

std::string HostAllocator::stats_json() const {
  std::string text;
  for (const auto &[key, value] : stats())
    text += (text.empty() ? "{" : ", ") + json_string(key) + ": " + std::to_string(value);
  return text + "}";
}

std::string HostAllocator::summary() const {
  const auto values = stats();
  std::string text = "host memory             current         peak        total        freed\n";
  for (int id = 0; id < statCount; ++id) {
    const std::string key = std::string(statNames[id]) + ".all.";
    char line[128];
    const auto cell = [&](const char *metric) {
      const uint64_t value = static_cast<uint64_t>(values.at(key + metric));
      return std::string_view(statNames[id]).ends_with("_bytes") ? readable(value) : std::to_string(value);
    };
    std::snprintf(line, sizeof line, "%-20s %12s %12s %12s %12s\n", statNames[id], cell("current").c_str(),
                  cell("peak").c_str(), cell("allocated").c_str(), cell("freed").c_str());
    text += line;
  }
  return text + "out of memory " + std::to_string(values.at("num_ooms")) + " times, retried " +
         std::to_string(values.at("num_alloc_retries")) + " times, limit " + readable(limit()) + "\n";
}

std::string HostAllocator::snapshot_json() const {
  const std::lock_guard lock(impl_->mutex);
  std::string text = "{\"segments\": [";
  bool first_segment = true;
  for (const auto &[data, first] : impl_->segments) {
    uint64_t bytes = 0;
    std::string blocks;
    for (const Block *block = first; block; block = block->after) {
      bytes += block->bytes;
      blocks += (block == first ? "" : ", ") + std::string("{\"size\": ") + std::to_string(block->bytes) +
                ", \"requested_size\": " + std::to_string(block->live ? block->requested : 0) +
                ", \"state\": " + (block->live ? "\"active_allocated\"" : "\"inactive\"") +
                ", \"label\": " + json_string(block->live ? impl_->labels[block->label] : std::string()) +
                "}";
    }
    text += (first_segment ? "" : ", ") + std::string("{\"address\": ") +
            std::to_string(reinterpret_cast<uintptr_t>(data)) + ", \"total_size\": " + std::to_string(bytes) +
            ", \"segment_type\": " + (first->pool == smallPool ? "\"small\"" : "\"large\"") +
            ", \"blocks\": [" + blocks + "]}";
    first_segment = false;
  }
  return text + "]}";
}

const AllocatorConfig &HostAllocator::config() const { return impl_->config; }

void HostAllocator::note_arena_bytes(int64_t change) {
  const std::lock_guard lock(impl_->mutex);
  if (change >= 0)
    impl_->arena_bytes.add(change);
  else
    impl_->arena_bytes.remove(-change);
}

Status HostAllocator::check() const {
  const std::lock_guard lock(impl_->mutex);
  int64_t live = 0, live_bytes = 0, requested = 0, reserved = 0, split_free = 0;
  const auto fail = [](const std::string &what) { return Status::error("host allocator: " + what); };
  for (const auto &[data, first] : impl_->segments) {
    const std::byte *at = data;
    for (const Block *block = first; block; block = block->after) {
      if (block->data != at)
        return fail("a block does not begin where the one before it ends");
      at += block->bytes;
      reserved += static_cast<int64_t>(block->bytes);
      if (block->after && block->after->before != block)
        return fail("neighbour links disagree");
      if (block->live) {
        ++live;
        live_bytes += static_cast<int64_t>(block->bytes);
        requested += static_cast<int64_t>(block->requested);
      } else if (block->after && !block->after->live) {
        return fail("two free neighbours were not joined");
      } else if (block->split()) {
        ++split_free;
      }
    }
  }
  const auto current = [&](StatId id) { return impl_->stats[id][allPools].current; };
  if (current(allocation) != live || current(allocatedBytes) != live_bytes ||
      current(activeBytes) != live_bytes || current(requestedBytes) != requested ||
      current(reservedBytes) != reserved || current(inactiveSplit) != split_free ||
      current(segmentCount) != static_cast<int64_t>(impl_->segments.size()))
    return fail("statistics disagree with the blocks");
  return {};
}

} // namespace weft::runtime
