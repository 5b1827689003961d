//===- CudaUpdates.cpp - Schedules of steps and updates on GPUs -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has a chunk of one tensor of an optimiser step, or the writes by index to a block of the inner
// dimensions and a range of the indexed one. Its threads lie along the chunk, or along the inner dimensions:
// each element is written by one thread, in the order of the writes.
//
// If the places are cut in ranges, the threads of a block first list the writes to its range, those of some
// thousand positions at a time, and then carry them out. Each reads some of the indices, so that none waits
// for all of them, and reads several values ahead of the sums that wait for each other. A range of one place
// is read and written once for each list.
//
// Where fewer elements share an index than a warp has threads, each thread has writes of its own: those to
// one vector of the inner dimensions, and to a range of the indexed one. It reads all indices, and a warp
// reads one for all of its threads; so more ranges take no more time until the device is full. If only the
// call knows how few they are, each block is a warp, whose threads have one of them each.
//
//===----------------------------------------------------------------------===//
#include "ir/CudaLoops.h"
#include "ir/CudaReductions.h"
#include "ir/Schedule.h"
#include "ir/Updates.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::ir {

void chooseCudaSteps(FusionOp fusion, const TargetDescription &target, Schedule &schedule) {
  // A block waits until its first thread has computed the numbers of the step (powers in f64). So a chunk is
  // as long as leaves every multiprocessor two turns of blocks, up to 16 vectors a thread, whose memory
  // traffic takes longer than that. What a pointer of a table points to is accessed by 16 bytes at most, also
  // where other accesses are wider.
  constexpr int64_t threads = 256, mostVectors = 16, mostBytes = 16;
  const int64_t vector = // of f32; of f64 half as many
      std::max<int64_t>(std::min(target.vectorBytes, mostBytes) / 4, 1);
  const SymbolRanges ranges = rangesOf(fusion);
  int64_t elements = 0;
  for (Operation &op : fusion.getBody().front().without_terminator())
    elements = saturatedSum(elements, ranges.largest(elementsOf(op.getOperand(0).getType())));
  const int64_t share = elements / (2 * blocksOfTurn(target, threads)) / (threads * vector);
  const auto vectors = llvm::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(share, 1, mostVectors)));
  schedule[ScheduleField::threads] = threads;
  schedule[ScheduleField::vector] = vector;
  schedule[ScheduleField::chunk] = threads * vector * static_cast<int64_t>(vectors);
}

/// The schedule for fewer elements that share an index than a warp has threads. Each thread has writes of its
/// own, or, if their number is dynamic, each warp. False if there is none, or if it would have few threads
/// because the number of places is dynamic.
static bool chooseFewElements(Operation *update, const SymbolRanges &ranges, const TargetDescription &target,
                              Schedule &schedule) {
  constexpr int64_t mostThreads = 128, threadsOfCore = 512;
  const UpdateTiles tiles = updateTiles(update, noNumber, noNumber);
  const bool isDynamic = !tiles.inner.isNumber();
  const int64_t inner = tiles.inner.number().value_or(target.warpThreads),
                places = tiles.size.number().value_or(0);
  if (inner < 1)
    return false;
  int64_t vector = 1;
  if (!isDynamic && !isa<ScatterOp>(update))
    for (vector = std::max<int64_t>(target.vectorBytes / elementBytes(update->getOperand(0).getType()), 1);
         inner % vector != 0;)
      vector /= 2;
  const int64_t enough = target.cores * threadsOfCore;
  const int64_t others = std::max<int64_t>(ranges.largest(tiles.outer), 1);
  if (others < enough && inner / vector * others < enough && places > 1) {
    const int64_t wanted = std::min<int64_t>(llvm::divideCeil(enough, others * (inner / vector)), places);
    if (wanted > 1)
      schedule[ScheduleField::range] = llvm::divideCeil(places, wanted);
  }
  // With few threads, one after the other would do most of the writes.
  if (!schedule.has(ScheduleField::range) && !tiles.size.isNumber() && others < enough)
    return false;
  schedule[ScheduleField::threads] = isDynamic ? target.warpThreads : mostThreads;
  schedule[ScheduleField::vector] = vector;
  if (!isDynamic)
    schedule[ScheduleField::block] = vector;
  return true;
}

bool listsWrites(FusionOp fusion, const Schedule &schedule) {
  return schedule.kind == FusionKind::update && isShared(schedule) && schedule.has(ScheduleField::range) &&
         !hasOwnWrites(schedule) && isa<IndexUpdateOp>(updateIn(fusion));
}

WriteList writeList(FusionOp fusion, const Schedule &schedule) {
  constexpr int64_t mostPositions = 16;
  const int64_t threads = schedule[ScheduleField::threads];
  const Size count = updateTiles(updateIn(fusion), noNumber, noNumber).count;
  WriteList list;
  list.positions = std::clamp<int64_t>(
      llvm::divideCeil(count.number().value_or(threads * mostPositions), threads), 1, mostPositions);
  list.totals = threads * list.positions * 2;
  list.marks = list.totals + threads / warpThreads * 2;
  list.bytes = list.marks + threads * list.positions;
  return list;
}

/// The schedule for many elements that share an index, whose places are cut in ranges and whose writes are
/// listed. False if there are blocks enough without ranges, or no number of places. Each block reads all
/// indices; so a range is one place only if that is few enough blocks. If ranges leave multiprocessors
/// without a block, the elements are cut too, down to a vector for each thread of a warp. A block has threads
/// without elements, which read indices.
static bool chooseListed(const UpdateTiles &tiles, int64_t outer, const TargetDescription &target,
                         Schedule &schedule) {
  constexpr int64_t mostThreads = 128, leastPositions = 4;
  const int64_t places = tiles.size.number().value_or(0), warp = target.warpThreads,
                vector = schedule[ScheduleField::vector];
  int64_t blocks = 1, width = mostThreads; // a block's vectors
  auto cut = [&](int64_t into) {
    width = into;
    blocks = llvm::divideCeil(tiles.inner.asNumber() / vector, width);
  };
  if (tiles.inner.isNumber()) {
    const int64_t vectors = tiles.inner.asNumber() / vector;
    cut(static_cast<int64_t>(
        llvm::alignTo(llvm::divideCeil(vectors, llvm::divideCeil(vectors, mostThreads)), warp)));
  }
  if (places <= 1 || outer * blocks >= 4 * target.cores)
    return false;
  const int64_t parts = outer * blocks;
  const int64_t ranges = places <= 8 * target.cores / parts
                             ? places
                             : static_cast<int64_t>(llvm::divideCeil(4 * target.cores, parts));
  schedule[ScheduleField::range] = llvm::divideCeil(places, ranges);
  while (tiles.inner.isNumber() && width > warp && outer * blocks * ranges < 2 * target.cores)
    cut(width - warp);
  if (blocks > 1)
    schedule[ScheduleField::block] = width * vector;
  const auto positions = static_cast<int64_t>(llvm::alignTo(
      llvm::divideCeil(tiles.count.number().value_or(mostThreads * leastPositions), leastPositions), warp));
  schedule[ScheduleField::threads] = std::max(width, std::min(positions, mostThreads));
  return true;
}

bool chooseCudaUpdate(FusionOp fusion, const TargetDescription &target, Schedule &schedule) {
  Operation *update = updateIn(fusion);
  if (isa<DynamicUpdateSliceOp>(update)) {
    chooseCudaLoop(fusion, target, schedule);
    return true;
  }
  const SymbolRanges ranges = rangesOf(fusion);
  UpdateTiles tiles = updateTiles(update, noNumber, noNumber);
  const int64_t inner = ranges.largest(tiles.inner), warp = target.warpThreads;
  if (inner < warp)
    return chooseFewElements(update, ranges, target, schedule);
  constexpr int64_t mostThreads = 128;
  int64_t vector = 1;
  if (!isa<ScatterOp>(update)) // whose elements have indices of their own
    for (vector = std::max<int64_t>(target.vectorBytes / elementBytes(fusion.getResult(0).getType()), 1);
         vector > 1 && !isMultipleOf(tiles.inner, vector);)
      vector /= 2;
  schedule[ScheduleField::vector] = vector;
  const int64_t parts = std::max<int64_t>(ranges.largest(tiles.outer), 1), enough = 2 * target.cores;
  if (isa<IndexUpdateOp>(update) && chooseListed(tiles, parts, target, schedule))
    return true;
  int64_t threads = mostThreads, blocks = 1;
  if (tiles.inner.isNumber()) {
    const int64_t vectors = llvm::divideCeil(inner, vector);
    blocks = llvm::divideCeil(vectors, mostThreads);
    threads = static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(vectors, blocks), warp));
    if (blocks > 1) {
      schedule[ScheduleField::block] = threads * vector;
      blocks = llvm::divideCeil(inner, threads * vector);
    }
  }
  // Each task reads all indices, so there are no more ranges than give every multiprocessor two tasks.
  if (const int64_t places = tiles.size.number().value_or(0); places > 1 && parts < enough) {
    const int64_t wanted = std::min<int64_t>(llvm::divideCeil(enough, parts * blocks), places);
    if (wanted > 1)
      schedule[ScheduleField::range] = llvm::divideCeil(places, wanted);
  }
  schedule[ScheduleField::threads] = threads;
  return true;
}

} // namespace weft::ir
