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
// very long rows were split into more rows before (passes/SplitReductions.cpp). If only the call knows how
// long the rows are, the kernel chooses the team that rows of this length have, and blocks take turns at
// them.
//
// column: neighbouring threads have neighbouring vectors of columns, and one, eight or 32 threads share each,
// which take turns at its rows and combine their partial results in shared memory. If only the call knows how
// many rows or columns there are, blocks take turns at the columns.
//
// scan: a warp has a line of up to 1,024 elements, a block a longer one; columns have a thread each. If only
// the call knows how long the lines are, blocks take turns at them.
//
//===----------------------------------------------------------------------===//
#include "ir/CudaReductions.h"

#include "ir/Schedule.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::ir {

/// The number of a table for a length.
static int64_t lookUp(ThreadTable table, int64_t length) {
  return llvm::find_if(table, [&](const ThreadsOfLength &entry) { return length <= entry.most; })->threads;
}

ThreadTable rowTeams() {
  // A part of a warp has one vector a thread. Warps and blocks have up to eight, 32 elements, and the largest
  // block up to mostHeldVectors.
  constexpr int64_t ofThread = teamVector * 8;
  static constexpr ThreadsOfLength table[] = {{4 * teamVector, 4},   {8 * teamVector, 8},
                                              {16 * teamVector, 16}, {warpThreads * ofThread, warpThreads},
                                              {128 * ofThread, 128}, {256 * ofThread, 256},
                                              {INT64_MAX, 512}};
  return table;
}

int64_t rowTeam(int64_t length) { return lookUp(rowTeams(), length); }

int64_t largestRowTeam(FusionOp fusion) { return rowTeam(rangesOf(fusion).largest(rowLength(fusion))); }

int64_t teamStateBytes(Operation *reduction, const Schedule &schedule) {
  const int64_t values = isArgReduction(reduction) ? 2 : isa<WelfordOp>(reduction) ? 3 : 1;
  return schedule[ScheduleField::lanes] > warpThreads
             ? schedule[ScheduleField::threads] / warpThreads * values * 8
             : 0;
}

Size turnTasks(Size lines, Size length) {
  // More blocks than lines end at once. There are few of them for the bytes that the others read.
  constexpr int64_t elements = 4096;
  const Size tasks = ceilDiv(lines * (length + 1), elements);
  return tasks.isExpressible() ? tasks : lines;
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
      end += teamStateBytes(&op, schedule);
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
  const RowShape shape = rowShape(fusion);
  if ((length && *length < 1) || shape.isInPieces())
    return std::nullopt;
  constexpr int64_t common = 128;
  Schedule schedule(FusionKind::row);
  const int64_t team = largestRowTeam(fusion), partials = team * teamVector;
  int64_t threads = std::max(common, team);
  // Where a block has several rows, and there are few, each multiprocessor gets some.
  const Size rows = shape.rows;
  while (length && rows.isNumber() && threads > std::max(team, warpThreads) &&
         static_cast<int64_t>(llvm::divideCeil(rows.asNumber() * team, threads)) < target.cores)
    threads /= 2;
  schedule[ScheduleField::threads] = threads;
  // Accesses of fewer bytes than a vector has elements stand for one element at a time (ir/Spills.cpp).
  const bool isByElement = target.vectorBytes < teamVector;
  schedule[ScheduleField::vector] = isByElement ? 1 : teamVector;
  schedule[ScheduleField::lanes] = team;
  schedule[ScheduleField::partials] = partials;
  schedule[ScheduleField::prefetch] = 0;
  if (!length || isByElement)
    return schedule;
  const auto held = static_cast<int64_t>(llvm::alignTo(*length, partials));
  if (fitsRegisters(fusion, held / partials, threads, target))
    schedule[ScheduleField::chunk] = held;
  else
    holdShared(fusion, *length, target, schedule);
  return schedule;
}

//===----------------------------------------------------------------------===//
// column
//===----------------------------------------------------------------------===//

ThreadTable columnShares() {
  // A few rows take less time than a barrier. Each of several threads has two rows and more.
  static constexpr ThreadsOfLength table[] = {{15, 1}, {127, 8}, {INT64_MAX, 32}};
  return table;
}

int64_t columnShares(int64_t rows) { return lookUp(columnShares(), rows); }

int64_t largestColumnShares(FusionOp fusion) {
  return columnShares(rangesOf(fusion).largest(columnShape(fusion).rows));
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
  if (shape.rows == 0 || shape.inner == 0)
    return std::nullopt;
  Schedule schedule(FusionKind::column);
  int64_t vector = std::min<int64_t>(width, 8);
  while (!isMultipleOf(shape.inner, vector))
    vector /= 2;
  const int64_t shares = largestColumnShares(fusion), inner = shape.inner.number().value_or(0);
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
  auto isFew = [&] {
    return shape.inner.isNumber() && (shape.rows.isNumber() || shares == 32) &&
           outer * static_cast<int64_t>(llvm::divideCeil(inner, across * vector)) < 2 * target.cores;
  };
  while (across > least &&
         (across * shares > target.blockThreads || stateBytes() > mostSharedBytes || isFew()))
    across /= 2;
  while (stateBytes() > mostSharedBytes)
    vector /= 2;
  return schedule;
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

ThreadTable scanTeams() {
  static constexpr ThreadsOfLength table[] = {{1024, warpThreads}, {INT64_MAX, 256}};
  return table;
}

int64_t scanTeam(int64_t extent) { return lookUp(scanTeams(), extent); }

int64_t largestScanTeam(FusionOp fusion) {
  return scanTeam(rangesOf(fusion).largest(scanShape(fusion).extent));
}

int64_t largestScanVector(FusionOp fusion) {
  const std::optional<int64_t> extent = scanShape(fusion).extent.number();
  return extent ? scanVector(*extent) : teamVector;
}

int64_t scanVector(int64_t extent) { return extent % teamVector == 0 ? teamVector : 1; }

std::optional<Schedule> chooseScanTeams(FusionOp fusion, const TargetDescription &target, int64_t width) {
  const ScanShape shape = scanShape(fusion);
  if (shape.extent == 0 || shape.inner == 0)
    return std::nullopt;
  constexpr int64_t common = 128;
  Schedule schedule(FusionKind::scan);
  const bool isLine = shape.inner == 1;
  const int64_t team = isLine ? largestScanTeam(fusion) : 1, inner = shape.inner.number().value_or(0);
  int64_t vector = isLine ? largestScanVector(fusion) : std::min<int64_t>(width, 8);
  while (!isLine && !isMultipleOf(shape.inner, vector))
    vector /= 2;
  // A few lines or columns are for as many multiprocessors.
  int64_t threads = std::max(common, team);
  const int64_t outer = std::max<int64_t>(shape.outer.number().value_or(target.cores), 1);
  auto blocks = [&] {
    return static_cast<int64_t>(isLine ? llvm::divideCeil(outer * team, threads)
                                       : outer * llvm::divideCeil(inner, threads * vector));
  };
  const bool isKnown = isLine ? shape.extent.isNumber() : shape.inner.isNumber();
  while (isKnown && threads > std::max(team, warpThreads) && blocks() < target.cores)
    threads /= 2;
  schedule[ScheduleField::threads] = threads;
  schedule[ScheduleField::vector] = vector;
  schedule[ScheduleField::lanes] = team;
  if (!isLine)
    schedule[ScheduleField::block] = threads * vector;
  return schedule;
}

} // namespace weft::ir
