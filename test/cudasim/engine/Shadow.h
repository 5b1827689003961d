//===- Shadow.h - Who touched which bytes ----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Race mode. For shared memory, each byte remembers its last writer and readers, and when that was: an epoch
// of the block ends at a barrier of all threads, an epoch of a warp at bar.warp.sync. For global memory,
// words or bytes remember which blocks wrote and read them; a fence before an atomic and an atomic on the
// same address in a later block order the two.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_SHADOW_H
#define WEFT_TEST_CUDASIM_SHADOW_H

#include "Warp.h"

#include <unordered_map>
#include <unordered_set>

namespace weft::cudasim {

/// `atomicRead`: a volatile, relaxed or acquire load, which races with writes that are not atomic.
enum class Access : uint8_t { read, write, atomic, atomicRead };

inline bool isRead(Access access) { return access == Access::read || access == Access::atomicRead; }

struct Shadow {
  explicit Shadow(uint32_t bytes) : cells(bytes) {}
  /// Forgets everything: a new block begins.
  void clear();
  /// Notes an access by a lane; raises a fault if it races with another, or reads what nothing has written.
  void touch(const Warp &warp, uint32_t lane, uint32_t offset, uint32_t bytes, Access access);
  /// Bytes that a cp.async will write: until then they count as never written.
  void expect(const Warp &warp, uint32_t lane, uint32_t offset, uint32_t bytes);

private:
  struct Cell {
    uint16_t writer = 0, reader = 0; ///< thread + 1
    bool written = false, atomic = false, manyOfWarp = false, manyOfBlock = false;
    uint32_t writeEpoch = 0, readEpoch = 0, writeWarpEpoch = 0, readWarpEpoch = 0;
  };
  void read(const Warp &warp, uint32_t lane, uint32_t offset, uint32_t bytes, Cell &cell, bool atomic);
  void write(const Warp &warp, uint32_t lane, uint32_t offset, uint32_t bytes, Cell &cell, bool atomic);
  std::vector<Cell> cells;
};

struct GlobalShadow {
  /// A new block runs.
  void begin(uint32_t block);
  void touch(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, Access access);

private:
  struct Cell {
    uint32_t writer = 0, reader = 0; ///< block + 1; `many` for readers of several blocks
    bool atomic = false;
  };
  struct Page {
    bool byBytes = false;
    std::vector<Cell> cells;
  };
  using Blocks = std::unordered_set<uint32_t>;
  static constexpr uint32_t many = ~uint32_t(0);
  static constexpr uint64_t pageBytes = 4096;

  Page &page(uint64_t number);
  void check(const Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, Access access, Cell &cell);
  void synchronize(Warp &warp, uint64_t address);

  uint32_t current = 0;
  std::unordered_map<uint64_t, Page> pages;
  uint64_t lastNumber = ~uint64_t(0);
  Page *lastPage = nullptr;
  std::unordered_map<uint64_t, Blocks> released; ///< by the address of the atomic: the blocks before it
  Blocks acquired;                               ///< the blocks that the current one comes after
};

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_SHADOW_H
