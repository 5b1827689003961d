//===- CudaReductions.cpp - Schedules of reductions on GPUs ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// row: a team of threads shares a row. Its threads read neighbouring vectors of four elements, and exchange
// their partial results by shuffles, and across warps through shared memory. A row whose elements fit into
// the team's registers is read once, however many passes the reductions take; that is `chunk`, the elements
// that the team holds. The passes over a longer row read it again, mostly from the second-level cache. A few
// very long rows were split into more rows before (passes/SplitReductions.cpp).
//
//===----------------------------------------------------------------------===//
#include "ir/CudaReductions.h"

#include "ir/Schedule.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::ir {

int64_t rowTeam(int64_t length) {
  // A part of a warp has one vector a thread. Blocks have up to eight: 32 elements.
  for (int64_t part : {4, 8, 16})
    if (length <= part * teamVector)
      return part;
  constexpr int64_t ofThread = teamVector * mostHeldVectors, longest = 512;
  if (length <= warpThreads * ofThread)
    return warpThreads;
  for (int64_t team : {128, 256})
    if (length <= team * ofThread)
      return team;
  return longest;
}

int64_t teamStateBytes(Operation *reduction, int64_t team) {
  const int64_t values = isArgReduction(reduction) ? 2 : isa<WelfordOp>(reduction) ? 3 : 1;
  return team > warpThreads ? team / warpThreads * values * 8 : 0;
}

/// Whether a thread can hold its part of a row in registers: the row's elements of every operand of the
/// domain's shape, and those in f64 of a reduction that has them. The rest of a thread's registers, about 40,
/// are for addresses and for what is being computed; and no more than 128 are taken, so that a multiprocessor
/// has several blocks.
static bool fitsRegisters(FusionOp fusion, int64_t vectors, int64_t threads,
                          const TargetDescription &target) {
  constexpr int64_t others = 40, most = 128;
  if (vectors > mostHeldVectors)
    return false;
  int64_t words = 0;
  auto add = [&](Type type) { words += vectors * teamVector * std::max<int64_t>(elementBytes(type) / 4, 1); };
  for (Value input : fusion.getInputs())
    if (elementsOf(input.getType()) == productOf(fusion.getDomain()))
      add(input.getType());
  for (Operation &op : fusion.getBody().front())
    if (isReductionOp(&op) && elementBytes(op.getOperand(0).getType()) > 4)
      add(op.getOperand(0).getType());
  const int64_t registers = std::min(target.threadRegisters, target.coreRegisters / threads);
  return words <= std::min(most, registers - others);
}

std::optional<Schedule> chooseRowTeams(FusionOp fusion, const TargetDescription &target) {
  const std::optional<int64_t> length = rowLength(fusion).number();
  if (!length || *length < 1)
    return std::nullopt;
  constexpr int64_t common = 128;
  Schedule schedule(FusionKind::row);
  const int64_t team = rowTeam(*length), partials = team * teamVector;
  int64_t threads = std::max(common, team);
  // Where a block has several rows, and there are few, each multiprocessor gets some.
  const Size rows = productOf(ArrayRef(fusion.getDomain()).drop_back(fusion.getNumReducedDims()));
  while (rows.isNumber() && threads > std::max(team, warpThreads) &&
         static_cast<int64_t>(llvm::divideCeil(rows.asNumber() * team, threads)) < target.cores)
    threads /= 2;
  const auto held = static_cast<int64_t>(llvm::alignTo(*length, partials));
  schedule[ScheduleField::threads] = threads;
  schedule[ScheduleField::vector] = teamVector;
  if (fitsRegisters(fusion, held / partials, threads, target))
    schedule[ScheduleField::chunk] = held;
  schedule[ScheduleField::lanes] = team;
  schedule[ScheduleField::partials] = partials;
  schedule[ScheduleField::prefetch] = 0;
  return schedule;
}

} // namespace weft::ir
