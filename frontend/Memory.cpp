//===- Memory.cpp - ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/memory.hpp"

#include "frontend/Lazy.h"
#include "runtime/HostAllocator.h"
#include "runtime/Queue.h"

namespace weft {

static runtime::HostAllocator &allocatorOf(const Device &device) {
  frontend::requireBackend(device);
  return runtime::HostAllocator::get();
}

uint64_t memory_allocated(Device device) { return allocatorOf(device).memory_allocated(); }
uint64_t max_memory_allocated(Device device) { return allocatorOf(device).max_memory_allocated(); }
uint64_t memory_reserved(Device device) { return allocatorOf(device).memory_reserved(); }
uint64_t max_memory_reserved(Device device) { return allocatorOf(device).max_memory_reserved(); }
void reset_peak_memory_stats(Device device) { allocatorOf(device).reset_peak_stats(); }
void reset_max_memory_allocated(Device device) { reset_peak_memory_stats(device); }
void reset_max_memory_reserved(Device device) { reset_peak_memory_stats(device); }
void reset_accumulated_memory_stats(Device device) { allocatorOf(device).reset_accumulated_stats(); }
std::map<std::string, int64_t> memory_stats(Device device) { return allocatorOf(device).stats(); }
std::string memory_summary(Device device) { return allocatorOf(device).summary(); }
std::string memory_snapshot(Device device) { return allocatorOf(device).snapshot_json(); }
void empty_cache(Device device) { allocatorOf(device).empty_cache(); }

void trim(Device device) {
  runtime::HostAllocator &allocator = allocatorOf(device);
  runtime::Queue::trim_all();
  allocator.empty_cache();
}

void set_memory_limit(uint64_t bytes, Device device) { allocatorOf(device).set_limit(bytes); }
uint64_t memory_limit(Device device) { return allocatorOf(device).limit(); }
void set_per_process_memory_fraction(double fraction, Device device) {
  allocatorOf(device).set_memory_fraction(fraction).throw_if_failed();
}

} // namespace weft
