//===- Memory.cpp - Device memory ----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Engine.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace weft::cudasim {
namespace {

template <class T> T *reserve(uint64_t bytes) {
  void *found =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED)
    throw std::bad_alloc();
  return static_cast<T *>(found);
}

uint64_t validBytes(uint64_t capacity) { return capacity / Memory::granule * sizeof(uint16_t); }

} // namespace

Memory::Memory(uint64_t capacity, uint64_t origin)
    : origin(origin), capacity((std::max(capacity, granule) + 4095) / 4096 * 4096) {
  bytesOfArena = reserve<std::byte>(this->capacity);
  try {
    valid = reserve<uint16_t>(validBytes(this->capacity));
  } catch (...) {
    munmap(bytesOfArena, this->capacity);
    throw;
  }
}

Memory::~Memory() {
  munmap(bytesOfArena, capacity);
  munmap(valid, validBytes(capacity));
}

uint64_t Memory::allocate(uint64_t bytes) {
  // A granule that is never valid follows each allocation.
  uint64_t size = std::max<uint64_t>(bytes, 1);
  if (size > capacity || next > capacity - granule)
    return 0;
  uint64_t granules = (size + granule - 1) / granule;
  if (granules * granule > capacity - granule - next)
    return 0;
  uint64_t first = next / granule;
  for (uint64_t k = 0; k < granules; ++k)
    valid[first + k] = uint16_t(std::min(granule, bytes - std::min(bytes, k * granule)));
  if (bytes <= largestPoisoned)
    std::memset(bytesOfArena + next, 0xFF, bytes);
  uint64_t address = origin + next;
  allocations[address] = {bytes, false};
  next += (granules + 1) * granule;
  live += bytes;
  ++liveCount;
  return address;
}

bool Memory::free(uint64_t address) {
  auto found = allocations.find(address);
  if (found == allocations.end() || found->second.freed)
    return false;
  uint64_t offset = address - origin, granules = (found->second.size + granule - 1) / granule;
  std::fill_n(valid + offset / granule, granules, uint16_t(0));
  // Whole pages go back to the system; nothing can reach the others.
  uint64_t from = (offset + 4095) / 4096 * 4096, to = (offset + granules * granule) / 4096 * 4096;
  if (to > from)
    madvise(bytesOfArena + from, to - from, MADV_DONTNEED);
  found->second.freed = true;
  live -= found->second.size;
  --liveCount;
  return true;
}

std::byte *Memory::host(uint64_t address, uint64_t bytes) {
  uint64_t start = 0;
  const Allocation *found = find(address, &start);
  if (!found || found->freed || address - start > found->size || found->size - (address - start) < bytes)
    return nullptr;
  return bytesOfArena + (address - origin);
}

const Memory::Allocation *Memory::find(uint64_t address, uint64_t *start) const {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return nullptr;
  --after;
  *start = after->first;
  return &after->second;
}

bool Memory::isFreed(uint64_t address) const {
  uint64_t start = 0;
  const Allocation *found = find(address, &start);
  return found && found->freed && address - start < found->size;
}

std::string Memory::describe(uint64_t address) const {
  uint64_t start = 0;
  const Allocation *found = find(address, &start);
  if (!found)
    return "no allocation is before it";
  uint64_t offset = address - start;
  std::string size = std::to_string(found->size) + " bytes" + (found->freed ? ", freed" : "");
  if (offset < found->size)
    return "at byte " + std::to_string(offset) + " of an allocation of " + size;
  return std::to_string(offset - found->size) + " bytes behind an allocation of " + size;
}

} // namespace weft::cudasim
