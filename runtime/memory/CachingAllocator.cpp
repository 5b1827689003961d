//===- CachingAllocator.cpp - A device's memory, kept and handed out again --===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/memory/CachingAllocator.h"

#include "runtime/memory/CachingAllocatorImpl.h"
#include "runtime/support/JsonText.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace weft::runtime {
using namespace allocator_blocks;
namespace {

alignas(64) std::byte emptyAllocation[64];

} // namespace

CachingAllocator &CachingAllocator::get() {
  static CachingAllocator *const instance = [] {
    const char *text = std::getenv("WEFT_ALLOC_CONF");
    const char *uncached = std::getenv("WEFT_NO_MEMORY_CACHING");
    Expected<AllocatorConfig> config = parse_allocator_config(text ? text : "");
    const std::string_view off = uncached ? uncached : "";
    if (!off.empty() && off != "0" && off != "1")
      std::fprintf(stderr, "weft: WEFT_NO_MEMORY_CACHING is '%s', expected 0 or 1; taken as 1\n", uncached);
    auto *allocator = new CachingAllocator(config ? *config : AllocatorConfig(), off.empty() || off == "0");
    allocator->config_status_ = config.status();
    return allocator;
  }();
  return *instance;
}

CachingAllocator::CachingAllocator(AllocatorConfig config, bool caching, std::string device,
                                   const RawAllocator &raw)
    : impl_(std::make_unique<CachingAllocatorImpl>(std::move(config), caching, std::move(device), raw)) {}
CachingAllocator::~CachingAllocator() = default;

uint32_t CachingAllocator::intern_label(const MemoryLabel &label) {
  std::string text(label.what);
  if (!label.location.empty())
    text.append(" (").append(label.location).append(")");
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->label_numbers.find(text);
  if (found != impl_->label_numbers.end())
    return found->second;
  const auto number = static_cast<uint32_t>(impl_->labels.size());
  impl_->labels.push_back({std::string(label.what), text, std::string(label.file), label.line});
  try {
    impl_->label_numbers.emplace(std::move(text), number);
  } catch (...) {
    impl_->labels.pop_back();
    throw;
  }
  return number;
}

Expected<MemoryBlock> CachingAllocator::allocate(size_t bytes, uint32_t label, MemoryPlace place,
                                                 bool (*reclaim)()) {
  if (!config_status_.ok())
    return config_status_;
  if (bytes == 0)
    return MemoryBlock{emptyAllocation, 0, nullptr};
  StreamPoints passed; // destroyed after the lock is released
  std::unique_lock lock(impl_->mutex);
  if (label >= impl_->labels.size())
    label = 0;
  const auto take = [&] { return bytes <= maxRequest ? impl_->take(bytes, label, place, passed) : nullptr; };
  Block *block = take();
  while (!block) {
    const uint64_t live =
        impl_->with_graphs(static_cast<uint64_t>(impl_->stats[allocatedBytes][allPools].current));
    std::optional<Point> point;
    if (live <= impl_->limit && bytes <= impl_->limit - live) // otherwise it does not fit, whatever passes
      point = impl_->next_point();
    impl_->waits += point.has_value();
    lock.unlock();
    bool again = point.has_value();
    if (point)
      point->wait_passed();
    else
      again = reclaim && reclaim();
    point.reset();
    lock.lock();
    block = take(); // also if nothing passed, because others may have freed memory meanwhile
    if (!again)
      break;
  }
  if (!block) {
    if (impl_->raw.health)
      if (Status health = impl_->raw.health(impl_->raw.user); !health)
        return health;
    ++impl_->ooms;
    return Status::error(impl_->out_of_memory_message(bytes, impl_->labels[label].text), "WEFT-M001");
  }
  return MemoryBlock{block->data, bytes, block};
}

void CachingAllocator::free(const MemoryBlock &block, StreamPoints uses) {
  if (!block.handle)
    return;
  StreamPoints passed; // destroyed after the lock is released
  const std::lock_guard lock(impl_->mutex);
  impl_->give_back(static_cast<Block *>(block.handle), uses, passed);
}

MemoryPool CachingAllocator::new_pool() {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<MemoryPool>(++impl_->pools);
}

bool CachingAllocator::fits(uint64_t bytes) const {
  const std::lock_guard lock(impl_->mutex);
  const uint64_t allocated =
      impl_->with_graphs(static_cast<uint64_t>(impl_->stats[allocatedBytes][allPools].current));
  return bytes == 0 || (allocated <= impl_->limit && bytes <= impl_->limit - allocated);
}

Status CachingAllocator::out_of_memory(uint64_t bytes, const std::string &purpose) {
  const std::lock_guard lock(impl_->mutex);
  ++impl_->ooms;
  return Status::error(impl_->out_of_memory_message(bytes, purpose), "WEFT-M001");
}

Status CachingAllocator::set_raw(const RawAllocator &raw) {
  StreamPoints passed; // destroyed after the lock is released
  const std::lock_guard lock(impl_->mutex);
  impl_->settle(passed);
  impl_->release_cached(0, UINT64_MAX);
  if (!impl_->segments.empty())
    return Status::error("the source of memory cannot change while " +
                             readable(static_cast<uint64_t>(impl_->stats[allocatedBytes][allPools].current)) +
                             " are in use: set it before the first allocation, or give everything back first",
                         "WEFT-M003");
  impl_->raw = raw;
  return {};
}

uint64_t CachingAllocator::empty_cache() {
  StreamPoints passed; // destroyed after the lock is released
  const std::lock_guard lock(impl_->mutex);
  impl_->settle(passed);
  const uint64_t released = impl_->release_cached(0, UINT64_MAX);
  if (impl_->raw.trim)
    impl_->raw.trim(impl_->raw.user);
  return released;
}

void CachingAllocator::set_limit(uint64_t bytes) {
  const std::lock_guard lock(impl_->mutex);
  impl_->limit = bytes;
}

Status CachingAllocator::set_memory_fraction(double fraction) {
  if (!(fraction > 0 && fraction <= 1))
    return Status::error("the memory fraction must be above 0 and up to 1, found " + std::to_string(fraction),
                         "WEFT-M002");
  set_limit(static_cast<uint64_t>(static_cast<double>(impl_->memory().total) * fraction));
  return {};
}

uint64_t CachingAllocator::limit() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->limit;
}

uint64_t CachingAllocator::memory_allocated() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<uint64_t>(impl_->stats[allocatedBytes][allPools].current);
}
uint64_t CachingAllocator::max_memory_allocated() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<uint64_t>(impl_->stats[allocatedBytes][allPools].peak);
}
uint64_t CachingAllocator::memory_reserved() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<uint64_t>(impl_->stats[reservedBytes][allPools].current);
}
uint64_t CachingAllocator::max_memory_reserved() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<uint64_t>(impl_->stats[reservedBytes][allPools].peak);
}

void CachingAllocator::reset_peak_stats() {
  const std::lock_guard lock(impl_->mutex);
  for (auto &row : impl_->stats)
    for (Stat &stat : row)
      stat.peak = stat.current;
  for (Stat *stat :
       {&impl_->oversize_allocations, &impl_->oversize_segments, &impl_->arena_bytes, &impl_->graph_bytes})
    stat->peak = stat->current;
}

// Blocks in use count as allocated, so that allocated - freed stays the current value.
void CachingAllocator::reset_accumulated_stats() {
  const std::lock_guard lock(impl_->mutex);
  const auto reset = [](Stat &stat) {
    stat.allocated = stat.current;
    stat.freed = 0;
  };
  for (auto &row : impl_->stats)
    for (Stat &stat : row)
      reset(stat);
  for (Stat *stat :
       {&impl_->oversize_allocations, &impl_->oversize_segments, &impl_->arena_bytes, &impl_->graph_bytes})
    reset(*stat);
  impl_->alloc_retries = impl_->ooms = impl_->device_allocs = impl_->device_frees = impl_->waits = 0;
}

std::map<std::string, int64_t> CachingAllocator::stats() const {
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
  put("weft.graph_bytes", impl_->graph_bytes);
  result["num_alloc_retries"] = impl_->alloc_retries;
  result["num_ooms"] = impl_->ooms;
  result["num_sync_all_streams"] = impl_->waits;
  result["num_device_alloc"] = impl_->device_allocs;
  result["num_device_free"] = impl_->device_frees;
  result["max_split_size"] =
      impl_->config.max_split_bytes == UINT64_MAX ? -1 : static_cast<int64_t>(impl_->config.max_split_bytes);
  return result;
}

std::string CachingAllocator::stats_json() const {
  std::string text;
  for (const auto &[key, value] : stats())
    text += (text.empty() ? "{" : ", ") + json_string(key) + ": " + std::to_string(value);
  return text + "}";
}

std::string CachingAllocator::summary() const {
  const auto values = stats();
  const std::string title = (impl_->is_of_host() ? "host" : impl_->device) + " memory";
  std::string text = title + std::string(title.size() < 24 ? 24 - title.size() : 1, ' ') +
                     "current         peak        total        freed\n";
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
  text += "out of memory " + std::to_string(values.at("num_ooms")) + " times, retried " +
          std::to_string(values.at("num_alloc_retries")) + " times, limit " + readable(limit()) + "\n";
  std::string ignored;
  for (const std::string &name : config().ignored)
    ignored += (ignored.empty() ? "" : ", ") + name;
  return ignored.empty() ? text : text + "options that mean nothing for host memory: " + ignored + "\n";
}

namespace {

// The source line of a label as a stack frame of PyTorch's snapshots.
std::string frames_json(const Label &label) {
  if (label.line == 0)
    return "[]";
  return "[{\"filename\": " + json_string(label.file) + ", \"line\": " + std::to_string(label.line) +
         ", \"name\": " + json_string(label.what) + "}]";
}

} // namespace

std::string CachingAllocator::snapshot_json() const {
  const std::lock_guard lock(impl_->mutex);
  std::string text = "{\"segments\": [";
  bool first_segment = true;
  const auto field = [](const char *name, uint64_t value) {
    return ", \"" + std::string(name) + "\": " + std::to_string(value);
  };
  for (const auto &[data, first] : impl_->segments) {
    uint64_t bytes = 0, allocated = 0, active = 0, requested = 0;
    std::string blocks;
    for (const Block *block = first; block; block = block->after) {
      bytes += block->bytes;
      const bool live = block->state == BlockState::live;
      allocated += live ? block->bytes : 0;
      active += block->is_free() ? 0 : block->bytes;
      requested += live ? block->requested : 0;
      const Label label = live ? impl_->labels[block->label] : Label();
      blocks += (block == first ? "" : ", ") + std::string("{\"address\": ") +
                std::to_string(reinterpret_cast<uintptr_t>(block->data)) + field("size", block->bytes) +
                field("requested_size", live ? block->requested : 0) + ", \"state\": " +
                (live               ? "\"active_allocated\""
                 : block->is_free() ? "\"inactive\""
                                    : "\"active_pending_free\"") +
                ", \"label\": " + json_string(label.text) + ", \"frames\": " + frames_json(label) + "}";
    }
    text += (first_segment ? "" : ", ") + std::string("{\"address\": ") +
            std::to_string(reinterpret_cast<uintptr_t>(data)) +
            ", \"device\": " + json_string(impl_->is_of_host() ? "cpu" : impl_->device) +
            field("total_size", bytes) + field("allocated_size", allocated) + field("active_size", active) +
            field("requested_size", requested) +
            ", \"segment_type\": " + (first->pool == smallPool ? "\"small\"" : "\"large\"") +
            ", \"blocks\": [" + blocks + "]}";
    first_segment = false;
  }
  return text + "]}";
}

const AllocatorConfig &CachingAllocator::config() const { return impl_->config; }
bool CachingAllocator::is_caching() const { return impl_->caching; }

void CachingAllocator::note_arena_bytes(int64_t change) {
  const std::lock_guard lock(impl_->mutex);
  if (change >= 0)
    impl_->arena_bytes.add(change);
  else
    impl_->arena_bytes.remove(-change);
}

void CachingAllocator::note_graph_bytes(int64_t change) {
  const std::lock_guard lock(impl_->mutex);
  if (change >= 0)
    impl_->graph_bytes.add(change);
  else
    impl_->graph_bytes.remove(-change);
}

Status CachingAllocator::check() const {
  const std::lock_guard lock(impl_->mutex);
  int64_t live = 0, live_bytes = 0, requested = 0, reserved = 0, split_free = 0, waiting_bytes = 0;
  uint64_t unsettled = 0;
  const auto fail = [](const std::string &what) { return Status::error("caching allocator: " + what); };
  for (const auto &[data, first] : impl_->segments) {
    const std::byte *at = data;
    for (const Block *block = first; block; block = block->after) {
      if (block->data != at)
        return fail("a block does not begin where the one before it ends");
      at += block->bytes;
      reserved += static_cast<int64_t>(block->bytes);
      if (block->after && block->after->before != block)
        return fail("neighbour links disagree");
      unsettled += block->state != BlockState::live && !block->points.empty();
      if (block->state == BlockState::live) {
        ++live;
        live_bytes += static_cast<int64_t>(block->bytes);
        requested += static_cast<int64_t>(block->requested);
      } else if (block->state == BlockState::waiting) {
        waiting_bytes += static_cast<int64_t>(block->bytes);
      } else if (block->after && block->after->is_free() && &block->cache() == &block->after->cache()) {
        return fail("two free neighbours of one cache were not joined");
      } else if (block->split()) {
        ++split_free;
      }
    }
  }
  if (unsettled != impl_->unsettled)
    return fail("the number of blocks with points is wrong");
  const auto current = [&](StatId id) { return impl_->stats[id][allPools].current; };
  if (current(allocation) != live || current(allocatedBytes) != live_bytes ||
      current(activeBytes) != live_bytes + waiting_bytes || current(requestedBytes) != requested ||
      current(reservedBytes) != reserved || current(inactiveSplit) != split_free ||
      current(segmentCount) != static_cast<int64_t>(impl_->segments.size()))
    return fail("statistics disagree with the blocks");
  return {};
}

} // namespace weft::runtime
