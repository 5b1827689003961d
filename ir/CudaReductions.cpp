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
// column: neighbouring threads have neighbouring vectors of columns, and one, eight or 32 threads share each,
// which take turns at its rows and combine their partial results in shared memory.
//
// scan: a warp has a line of up to 1,024 elements, a block a longer one; columns have a thread each.
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

int64_t mostLaunchedBytes() {
  int64_t most = mostSharedBytes;
  for (const TargetDescription &target : descriptions())
    if (!target.isCpu())
      most = std::max(most, target.blockSharedBytes);
  return most;
}

SmallVector<unsigned> heldOperands(FusionOp fusion) {
  Block &body = fusion.getBody().front();
  auto passes = reductionPasses(fusion);
  const unsigned last = lastReductionPass(fusion);
  const Size elements = productOf(fusion.getDomain());
  SmallVector<unsigned> readers(body.getNumArguments());
  for (unsigned pass = 0; pass <= last; ++pass) {
    // What the pass computes, from values that are no results of reductions.
    SmallVector<Value> open;
    for (Operation &op : body.without_terminator())
      if (isReductionOp(&op) && passes.lookup(op.getOperand(0)) == pass)
        open.push_back(op.getOperand(0));
    if (pass == last)
      llvm::copy_if(body.getTerminator()->getOperands(), std::back_inserter(open),
                    [&](Value value) { return elementsOf(value.getType()) == elements; });
    llvm::DenseSet<Value> known(open.begin(), open.end());
    while (!open.empty()) {
      Value value = open.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(value))
        ++readers[argument.getArgNumber()];
      else if (!isReductionOp(value.getDefiningOp()))
        for (Value operand : value.getDefiningOp()->getOperands())
          if (known.insert(operand).second)
            open.push_back(operand);
    }
  }
  SmallVector<unsigned> held;
  for (auto [number, count] : llvm::enumerate(readers))
    if (count > 1 && elementsOf(body.getArgument(number).getType()) == elements)
      held.push_back(static_cast<unsigned>(number));
  return held;
}

SmallVector<int64_t> heldOffsets(FusionOp fusion, const Schedule &schedule) {
  constexpr int64_t access = 16;
  int64_t end = 0;
  for (Operation &op : fusion.getBody().front())
    if (isReductionOp(&op))
      end += teamStateBytes(&op, schedule[ScheduleField::lanes]);
  SmallVector<int64_t> offsets;
  for (unsigned number : heldOperands(fusion)) {
    offsets.push_back(static_cast<int64_t>(llvm::alignTo(end, access)));
    end = offsets.back() +
          schedule[ScheduleField::block] * elementBytes(fusion.getBody().getArgument(number).getType());
  }
  offsets.push_back(end);
  return offsets;
}

/// Holds the row in shared memory if several passes read it, and a block may have as much. Rows of a warp or
/// less fit in registers, or have so many operands that few others would be resident beside them.
static void holdShared(FusionOp fusion, int64_t length, const TargetDescription &target, Schedule &schedule) {
  if (schedule[ScheduleField::lanes] <= warpThreads || heldOperands(fusion).empty())
    return;
  schedule[ScheduleField::block] = length / teamVector * teamVector;
  if (heldOffsets(fusion, schedule).back() > target.blockSharedBytes)
    schedule[ScheduleField::block] = noNumber;
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
  schedule[ScheduleField::lanes] = team;
  if (fitsRegisters(fusion, held / partials, threads, target))
    schedule[ScheduleField::chunk] = held;
  else
    holdShared(fusion, *length, target, schedule);
  schedule[ScheduleField::partials] = partials;
  schedule[ScheduleField::prefetch] = 0;
  return schedule;
}

//===----------------------------------------------------------------------===//
// column
//===----------------------------------------------------------------------===//

int64_t columnShares(int64_t rows) {
  // A few rows take less time than a barrier. Each of several threads has two rows and more.
  return rows < 16 ? 1 : rows < 128 ? 8 : 32;
}

int64_t columnStateBytes(Operation *reduction, const Schedule &schedule) {
  if (schedule[ScheduleField::rows] == 1)
    return 0;
  // Beside the values there is the number of rows of a thread, in the moments' own type.
  const int64_t count = isa<WelfordOp>(reduction) ? 8 : 0;
  return schedule[ScheduleField::threads] *
         (schedule[ScheduleField::vector] * accumulatorBytes(reduction) + count);
}

std::optional<Schedule> chooseColumnBlocks(FusionOp fusion, const TargetDescription &target, int64_t width) {
  const ColumnShape shape = columnShape(fusion);
  const int64_t rows = shape.rows.number().value_or(0), inner = shape.inner.number().value_or(0);
  if (rows < 1 || inner < 1)
    return std::nullopt;
  Schedule schedule(FusionKind::column);
  int64_t vector = std::min<int64_t>(width, 8);
  while (inner % vector != 0)
    vector /= 2;
  const int64_t shares = columnShares(rows);
  // As wide as 512 threads allow, but with blocks for all multiprocessors, twice over; and not so narrow that
  // a warp reads parts of a sector.
  int64_t across = shares == 32 ? 16 : shares == 8 ? 32 : 128;
  const int64_t least = shares == 1 ? 32 : 8, outer = std::max<int64_t>(shape.outer.number().value_or(1), 1);
  auto stateBytes = [&] {
    int64_t bytes = 0;
    schedule[ScheduleField::threads] = across * shares;
    schedule[ScheduleField::vector] = vector;
    schedule[ScheduleField::rows] = shares;
    schedule[ScheduleField::block] = across * vector;
    for (Operation &op : fusion.getBody().front())
      if (isReductionOp(&op))
        bytes = std::max(bytes, columnStateBytes(&op, schedule));
    return bytes;
  };
  auto blocks = [&] { return outer * static_cast<int64_t>(llvm::divideCeil(inner, across * vector)); };
  while (across > least && (stateBytes() > mostSharedBytes || blocks() < 2 * target.cores))
    across /= 2;
  while (stateBytes() > mostSharedBytes)
    vector /= 2;
  return schedule;
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

int64_t scanTeam(int64_t extent) {
  constexpr int64_t ofWarp = 1024, longTeam = 256;
  return extent <= ofWarp ? warpThreads : longTeam;
}

int64_t scanVector(int64_t extent) { return extent % teamVector == 0 ? teamVector : 1; }

std::optional<Schedule> chooseScanTeams(FusionOp fusion, const TargetDescription &target, int64_t width) {
  const ScanShape shape = scanShape(fusion);
  const int64_t extent = shape.extent.number().value_or(0), inner = shape.inner.number().value_or(0);
  if (extent < 1 || inner < 1)
    return std::nullopt;
  constexpr int64_t common = 128;
  Schedule schedule(FusionKind::scan);
  const bool isLine = inner == 1;
  const int64_t team = isLine ? scanTeam(extent) : 1;
  int64_t vector = isLine ? scanVector(extent) : std::min<int64_t>(width, 8);
  while (!isLine && inner % vector != 0)
    vector /= 2;
  // A few lines or columns are for as many multiprocessors.
  int64_t threads = std::max(common, team);
  const int64_t outer = std::max<int64_t>(shape.outer.number().value_or(target.cores), 1);
  auto blocks = [&] {
    return static_cast<int64_t>(isLine ? llvm::divideCeil(outer * team, threads)
                                       : outer * llvm::divideCeil(inner, threads * vector));
  };
  while (threads > std::max(team, warpThreads) && blocks() < target.cores)
    threads /= 2;
  schedule[ScheduleField::threads] = threads;
  schedule[ScheduleField::vector] = vector;
  schedule[ScheduleField::lanes] = team;
  if (!isLine)
    schedule[ScheduleField::block] = threads * vector;
  return schedule;
}

} // namespace weft::ir
