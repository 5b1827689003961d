//===- Shadow.cpp - Who touched which bytes ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Shadow.h"

#include <algorithm>

namespace weft::cudasim {
namespace {

std::string threadText(const Warp &warp, uint32_t number) {
  Dim position = threadPosition(*warp.block, number);
  return "thread (" + std::to_string(position.x) + "," + std::to_string(position.y) + "," +
         std::to_string(position.z) + ")";
}

bool sameWarp(uint32_t a, uint32_t b) { return a / lanesOfWarp == b / lanesOfWarp; }

} // namespace

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

void Shadow::clear() { std::fill(cells.list.begin(), cells.list.end(), Cell()); }

void Shadow::read(const Warp &warp, uint32_t lane, uint32_t offset, uint32_t bytes, Cell &cell, bool atomic) {
  uint32_t thread = threadOf(warp, lane), epoch = warp.block->epoch;
  if (!cell.written)
    raise(warp, FaultKind::uninitialized, lane, "read of shared memory that nothing has written", bytes,
          offset);
  if (cell.writer && cell.writeEpoch == epoch && cell.writer != thread + 1 && !(atomic && cell.atomic) &&
      (!sameWarp(cell.writer - 1, thread) || cell.writeWarpEpoch == warp.epoch))
    raise(warp, FaultKind::sharedRace, lane,
          "read of shared memory that " + threadText(warp, cell.writer - 1) +
              " wrote, without a barrier between",
          bytes, offset);
  if (atomic) // which atomic writes may follow
    return;
  if (cell.readEpoch != epoch || !cell.reader) {
    cell.manyOfWarp = cell.manyOfBlock = false;
  } else if (cell.reader != thread + 1) {
    if (!sameWarp(cell.reader - 1, thread))
      cell.manyOfBlock = true;
    cell.manyOfWarp = cell.readWarpEpoch == warp.epoch;
  }
  cell.reader = uint16_t(thread + 1);
  cell.readEpoch = epoch;
  cell.readWarpEpoch = warp.epoch;
}

void Shadow::write(const Warp &warp, uint32_t lane, uint32_t offset, uint32_t bytes, Cell &cell,
                   bool atomic) {
  uint32_t thread = threadOf(warp, lane), epoch = warp.block->epoch;
  if (cell.writer && cell.writeEpoch == epoch && cell.writer != thread + 1 && !(atomic && cell.atomic) &&
      (!sameWarp(cell.writer - 1, thread) || cell.writeWarpEpoch == warp.epoch))
    raise(warp, FaultKind::sharedRace, lane,
          "write to shared memory that " + threadText(warp, cell.writer - 1) +
              " wrote, without a barrier between",
          bytes, offset);
  bool readNow = cell.reader && cell.readEpoch == epoch;
  bool byOther = cell.manyOfBlock || !sameWarp(cell.reader - 1, thread) ||
                 (cell.readWarpEpoch == warp.epoch && (cell.manyOfWarp || cell.reader != thread + 1));
  if (readNow && byOther)
    raise(warp, FaultKind::sharedRace, lane,
          "write to shared memory that " + threadText(warp, cell.reader - 1) +
              " read, without a barrier between",
          bytes, offset);
  cell.writer = uint16_t(thread + 1);
  cell.written = true;
  cell.pending = false;
  cell.atomic = atomic;
  cell.writeEpoch = epoch;
  cell.writeWarpEpoch = warp.epoch;
}

void Shadow::touch(const Warp &warp, uint32_t lane, uint32_t offset, uint32_t bytes, Access access) {
  for (Cell &cell : cells.of(offset, bytes)) {
    if (access == Access::atomic && !cell.written)
      raise(warp, FaultKind::uninitialized, lane, "atomic on shared memory that nothing has written", bytes,
            offset);
    if (isRead(access))
      read(warp, lane, offset, bytes, cell, access == Access::atomicRead);
    else
      write(warp, lane, offset, bytes, cell, access == Access::atomic);
  }
}

void Shadow::expect(const Warp &warp, uint32_t lane, uint32_t offset, uint32_t bytes) {
  for (Cell &cell : cells.of(offset, bytes)) {
    // Two copies of one thread are in no order, either.
    if (cell.pending)
      raise(warp, FaultKind::sharedRace, lane,
            "cp.async to shared memory that another cp.async has not written yet", bytes, offset);
    write(warp, lane, offset, bytes, cell, false);
    cell.written = false;
    cell.pending = true;
  }
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

void GlobalShadow::begin(uint32_t block) {
  current = block + 1;
  blockStart = epochStart = ++now;
  starts.emplace_back(now, current);
  acquired.clear();
}

Cells<GlobalShadow::Cell> &GlobalShadow::page(uint64_t number, uint32_t bytes) {
  if (number != lastNumber) {
    lastPage = &pages[number];
    lastNumber = number;
    if (lastPage->list.empty())
      lastPage->cover(pageBytes, uint32_t(__builtin_ctz(bytes)));
  }
  return *lastPage;
}

/// The block of a phase, + 1.
uint32_t GlobalShadow::blockOf(uint32_t phase) const {
  auto after = std::upper_bound(starts.begin(), starts.end(), std::pair(phase, ~uint32_t(0)));
  return std::prev(after)->second;
}

std::string GlobalShadow::blockText(uint32_t phase) const {
  return phase == manyBlocks ? "several blocks" : "block " + std::to_string(blockOf(phase) - 1);
}

/// Whether the last write to the cell comes before what `thread` of the running block does now.
bool GlobalShadow::isOrdered(const Warp &warp, uint32_t thread, const Cell &cell) const {
  if (cell.writePhase < blockStart)
    return acquired.count(blockOf(cell.writePhase));
  return cell.writePhase < epochStart || thread == cell.writer ||
         (cell.writePhase < warp.globalEpoch && sameWarp(thread, cell.writer));
}

Fault GlobalShadow::raceOf(const Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, Access access,
                           const std::string &others) const {
  return makeFault(warp, FaultKind::globalRace, lane,
                   std::string(isRead(access) ? "read of" : "write to") + " global memory that " + others +
                       " between",
                   bytes, address);
}

bool GlobalShadow::check(const Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, Access access,
                         Cell &cell) {
  const uint32_t thread = threadOf(warp, lane);
  const bool bothAtomic = cell.atomic && (access == Access::atomic || access == Access::atomicRead);
  bool isUsable = true;
  if (cell.writePhase && !bothAtomic && !isOrdered(warp, thread, cell)) [[unlikely]] {
    if (cell.writePhase < blockStart)
      throw raceOf(warp, lane, address, bytes, access,
                   blockText(cell.writePhase) + " wrote, without a fence and an atomic");
    if (!isRead(access) || !firstRacyRead) {
      Fault race = raceOf(warp, lane, address, bytes, access,
                          threadText(warp, cell.writer) + " wrote, without a barrier");
      if (!isRead(access))
        throw race;
      firstRacyRead = std::move(race);
    }
    isUsable = false;
  }
  if (access == Access::atomicRead) // which atomic writes may follow
    return isUsable;
  if (access == Access::read) {
    if (cell.readPhase < blockStart)
      cell.readPhase = cell.readPhase && !isOrderedBlock(cell.readPhase) ? manyBlocks : now;
    return isUsable;
  }
  if (cell.readPhase && (cell.readPhase == manyBlocks || !isOrderedBlock(cell.readPhase))) [[unlikely]]
    throw raceOf(warp, lane, address, bytes, access,
                 blockText(cell.readPhase) + " read, without a fence and an atomic");
  cell.writePhase = now;
  cell.writer = uint16_t(thread);
  cell.atomic = access == Access::atomic;
  cell.plain |= !cell.atomic;
  return true;
}

void GlobalShadow::synchronize(Warp &warp, uint64_t address) {
  Blocks &before = released[address];
  acquired.insert(before.begin(), before.end());
  if (warp.block->fenced) {
    before.insert(current);
    before.insert(acquired.begin(), acquired.end());
  }
}

std::vector<Range> GlobalShadow::touched(Access access) const {
  const auto isTouched = [access](const Cell &cell) {
    if (access == Access::read)
      return cell.readPhase != 0;
    return cell.writePhase != 0 && cell.plain == (access == Access::write);
  };
  std::vector<uint64_t> numbers;
  for (const auto &[number, cells] : pages)
    numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  std::vector<Range> found;
  for (uint64_t number : numbers) {
    const Cells<Cell> &cells = pages.at(number);
    uint64_t begin = number * pageBytes;
    const uint64_t bytes = uint64_t(1) << cells.shift;
    for (uint64_t k = 0; k < pageBytes / bytes; ++k, begin += bytes) {
      if (!isTouched(cells.list[k]))
        continue;
      if (!found.empty() && found.back().end == begin)
        found.back().end += bytes;
      else
        found.push_back({begin, begin + bytes});
    }
  }
  return found;
}

bool GlobalShadow::touch(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, Access access) {
  if (access == Access::atomic || access == Access::atomicRead)
    synchronize(warp, address);
  bool isUsable = true;
  for (Cell &cell : page(address / pageBytes, bytes).of(address % pageBytes, bytes))
    isUsable &= check(warp, lane, address, bytes, access, cell);
  return isUsable;
}

} // namespace weft::cudasim
