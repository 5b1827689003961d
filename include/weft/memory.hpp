//===- memory.hpp - Memory statistics and limits --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names and rules of PyTorch's device allocator, for host memory: allocated bytes are live, reserved
// bytes are live or cached. WEFT_ALLOC_CONF has the syntax of PYTORCH_ALLOC_CONF, and weft_memory_limit_mb
// beside its options; WEFT_NO_MEMORY_CACHING=1 keeps nothing. Every function takes a device, the CPU if it is
// left out, and throws Error (WEFT-E001) for one that is not there.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_MEMORY_HPP
#define WEFT_MEMORY_HPP

#include "weft/device.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace weft {

/// Bytes that are in use, now and at most since the start or the last reset.
WEFT_API uint64_t memory_allocated(Device device = {}, Loc loc = Loc::current());
WEFT_API uint64_t max_memory_allocated(Device device = {}, Loc loc = Loc::current());
/// Bytes taken from the system: in use, or kept to be used again.
WEFT_API uint64_t memory_reserved(Device device = {}, Loc loc = Loc::current());
WEFT_API uint64_t max_memory_reserved(Device device = {}, Loc loc = Loc::current());
/// Sets all peaks to the present values; the two older names do the same, as in PyTorch.
WEFT_API void reset_peak_memory_stats(Device device = {}, Loc loc = Loc::current());
WEFT_API void reset_max_memory_allocated(Device device = {}, Loc loc = Loc::current());
WEFT_API void reset_max_memory_reserved(Device device = {}, Loc loc = Loc::current());
/// Sets the counts of what was allocated and freed to zero.
WEFT_API void reset_accumulated_memory_stats(Device device = {}, Loc loc = Loc::current());

/// `<stat>.<pool>.<metric>` and plain counters with PyTorch's keys, and Weft's own with prefix "weft.".
/// Reading changes nothing.
WEFT_API std::map<std::string, int64_t> memory_stats(Device device = {}, Loc loc = Loc::current());
/// The main statistics as a table for people.
WEFT_API std::string memory_summary(Device device = {}, Loc loc = Loc::current());
/// Every segment with its blocks as JSON, with the keys of PyTorch's snapshots. A block's frame is the source
/// line that made it.
WEFT_API std::string memory_snapshot(Device device = {}, Loc loc = Loc::current());

/// Returns unused cached memory to the system. Memory in use stays.
WEFT_API void empty_cache(Device device = {}, Loc loc = Loc::current());
/// empty_cache(), and the memory for temporaries of all streams, each once the stream is idle. On a stream of
/// another executor that is a piece of work, for which the call does not wait.
WEFT_API void trim(Device device = {}, Loc loc = Loc::current());

/// The bytes that may be reserved. Work that needs more fails with WEFT-M001, and everything stays usable.
WEFT_API void set_memory_limit(uint64_t bytes, Device device = {}, Loc loc = Loc::current());
/// That limit in bytes; the largest number if there is none.
WEFT_API uint64_t memory_limit(Device device = {}, Loc loc = Loc::current());
/// The limit as a share of the machine's memory, above 0 and up to 1.
WEFT_API void set_per_process_memory_fraction(double fraction, Device device = {}, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_MEMORY_HPP
