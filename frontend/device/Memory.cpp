//===- Memory.cpp - ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/memory.hpp"

#include "frontend/graph/Devices.h"
#include "runtime/memory/CachingAllocator.h"
#include "runtime/queue/Queue.h"

namespace weft {

static runtime::CachingAllocator &allocatorOf(const Device &device, Loc loc) {
  return frontend::backendOf(device, loc).allocator();
}

uint64_t memory_allocated(Device device, Loc loc) { return allocatorOf(device, loc).memory_allocated(); }
uint64_t max_memory_allocated(Device device, Loc loc) {
  return allocatorOf(device, loc).max_memory_allocated();
}
uint64_t memory_reserved(Device device, Loc loc) { return allocatorOf(device, loc).memory_reserved(); }
uint64_t max_memory_reserved(Device device, Loc loc) {
  return allocatorOf(device, loc).max_memory_reserved();
}
void reset_peak_memory_stats(Device device, Loc loc) { allocatorOf(device, loc).reset_peak_stats(); }
void reset_max_memory_allocated(Device device, Loc loc) { reset_peak_memory_stats(device, loc); }
void reset_max_memory_reserved(Device device, Loc loc) { reset_peak_memory_stats(device, loc); }
void reset_accumulated_memory_stats(Device device, Loc loc) {
  allocatorOf(device, loc).reset_accumulated_stats();
}
std::map<std::string, int64_t> memory_stats(Device device, Loc loc) {
  return allocatorOf(device, loc).stats();
}
std::string memory_summary(Device device, Loc loc) { return allocatorOf(device, loc).summary(); }
std::string memory_snapshot(Device device, Loc loc) { return allocatorOf(device, loc).snapshot_json(); }
void empty_cache(Device device, Loc loc) { allocatorOf(device, loc).empty_cache(); }

void trim(Device device, Loc loc) {
  runtime::CachingAllocator &allocator = allocatorOf(device, loc);
  runtime::Queue::trim_all();
  allocator.empty_cache();
}

void set_memory_limit(uint64_t bytes, Device device, Loc loc) { allocatorOf(device, loc).set_limit(bytes); }
uint64_t memory_limit(Device device, Loc loc) { return allocatorOf(device, loc).limit(); }
void set_per_process_memory_fraction(double fraction, Device device, Loc loc) {
  frontend::throwAt(allocatorOf(device, loc).set_memory_fraction(fraction), loc);
}

} // namespace weft
