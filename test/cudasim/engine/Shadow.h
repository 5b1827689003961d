//===- Shadow.h - Who touched which bytes ----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Race mode. For shared memory, each word or byte remembers its last writer and readers, and when that was:
// an epoch of the block ends at a barrier of all threads, an epoch of a warp at bar.warp.sync. For global
// memory, words or bytes remember which thread wrote and which read them, and in which phase of the launch: a
// phase ends where a block ends, and at each barrier of a block or a warp. A fence before an atomic and an
// atomic on the same address in a later block order the two.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_SHADOW_H
#define WEFT_TEST_CUDASIM_SHADOW_H

#include "Warp.h"

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

namespace weft::cudasim {

/// `atomicRead`: a volatile, relaxed or acquire load, which races with writes that are not atomic.
enum class Access : uint8_t { read, write, atomic, atomicRead };

inline bool isRead(Access access) { return access == Access::read || access == Access::atomicRead; }

/// Cells of the bytes of some memory, as few as its accesses allow: each access is of whole cells. Accesses
/// are powers of two, and aligned to their size.
template <class Cell> struct Cells {
  std::vector<Cell> list;
  uint32_t shift = 0; ///< a cell is for 2^shift bytes

  void cover(uint64_t bytes, uint32_t newShift) {
    shift = newShift;
    list.assign((bytes >> shift) + 1, Cell());
  }
  /// The cells of an access of `bytes` bytes; divides cells that are larger.
  std::span<Cell> of(uint64_t offset, uint32_t bytes) {
    if (bytes >> shift == 0) [[unlikely]]
      divide(uint32_t(__builtin_ctz(bytes)));
    return {list.data() + (offset >> shift), bytes >> shift};
  }

private:
  void divide(uint32_t newShift) {
    const uint32_t parts = 1u << (shift - newShift);
    std::vector<Cell> fine(list.size() * parts);
    for (size_t k = 0; k < fine.size(); ++k)
      fine[k] = list[k / parts];
    list = std::move(fine);
    shift = newShift;
  }
};

struct Shadow {
  explicit Shadow(uint32_t bytes) { cells.cover(bytes, 2); }
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
    bool pending = false; ///< a cp.async will write it
    uint32_t writeEpoch = 0, readEpoch = 0, writeWarpEpoch = 0, readWarpEpoch = 0;
  };
  void read(const Warp &warp, uint32_t lane, uint32_t offset, uint32_t bytes, Cell &cell, bool atomic);
  void write(const Warp &warp, uint32_t lane, uint32_t offset, uint32_t bytes, Cell &cell, bool atomic);
  Cells<Cell> cells;
};

struct GlobalShadow {
  /// A new block runs.
  void begin(uint32_t block);
  /// All threads of the block have met.
  void endEpoch() { epochStart = ++now; }
  /// The threads of a warp have met.
  void endWarpEpoch(Warp &warp) { warp.globalEpoch = ++now; }
  /// Notes an access by a lane; raises a fault if it races. False for a read that races with a write of the
  /// same block, whose value must not matter.
  bool touch(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, Access access);
  /// The first such read.
  const std::optional<Fault> &racyRead() const { return firstRacyRead; }
  /// What was read, written, or written by atomic operations alone: sorted, without overlaps.
  std::vector<Range> touched(Access access) const;

private:
  struct Cell {
    uint32_t writePhase = 0, readPhase = 0; ///< 0 for never; `manyBlocks` for readers of several blocks
    uint16_t writer = 0;                    ///< thread
    bool atomic = false;                    ///< the last write
    bool plain = false;                     ///< a write that was not atomic
  };
  using Blocks = std::unordered_set<uint32_t>;
  static constexpr uint32_t manyBlocks = ~uint32_t(0);
  static constexpr uint64_t pageBytes = 4096;

  Cells<Cell> &page(uint64_t number, uint32_t bytes);
  bool isOrdered(const Warp &warp, uint32_t thread, const Cell &cell) const;
  bool isOrderedBlock(uint32_t phase) const { return phase >= blockStart || acquired.count(blockOf(phase)); }
  bool check(const Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, Access access, Cell &cell);
  Fault raceOf(const Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, Access access,
               const std::string &others) const;
  std::string blockText(uint32_t phase) const;
  uint32_t blockOf(uint32_t phase) const;
  void synchronize(Warp &warp, uint64_t address);

  uint32_t current = 0; ///< block + 1
  /// Phases are numbers in the order of time.
  uint32_t now = 0, blockStart = 0, epochStart = 0;
  std::vector<std::pair<uint32_t, uint32_t>> starts; ///< the first phase of each block that has run
  std::unordered_map<uint64_t, Cells<Cell>> pages;
  uint64_t lastNumber = ~uint64_t(0);
  Cells<Cell> *lastPage = nullptr;
  std::optional<Fault> firstRacyRead;
  std::unordered_map<uint64_t, Blocks> released; ///< by the address of the atomic: the blocks before it
  Blocks acquired;                               ///< the blocks that the current one comes after
};

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_SHADOW_H
