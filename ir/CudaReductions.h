//===- CudaReductions.h - Schedules of reductions on GPUs ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the chooser, the verifier and the skeletons of a GPU compute from a reduction's shape.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_CUDAREDUCTIONS_H
#define WEFT_IR_CUDAREDUCTIONS_H

#include "ir/Dialect.h"
#include "ir/TargetDescription.h"

#include <optional>

namespace weft::ir {

/// Whether the threads of a block share the tasks of this schedule. They do on a GPU, unless it is a fallback
/// (ir/Schedule.h).
inline bool isShared(const Schedule &schedule) {
  return schedule.has(ScheduleField::threads) && schedule[ScheduleField::threads] > 1;
}

/// The threads of a warp, which exchange values without memory.
inline constexpr int64_t warpThreads = 32;

/// row: the consecutive elements that a thread reads at a time, 16 bytes of f32. The order of a reduction
/// depends on it, so it is the same for all types.
inline constexpr int64_t teamVector = 4;
/// row: the most vectors of a row that one thread may hold in registers. The kernel has code for each. On an
/// H100, softmax of 32,768 f32 reaches 0.95 of a copy's bandwidth in registers, and 0.73 in shared memory.
inline constexpr int64_t mostHeldVectors = 16;

/// A number of threads for all lengths up to `most`. A table of them is in the order of lengths, and its last
/// entry is for all that are longer.
struct ThreadsOfLength {
  int64_t most, threads;
};
using ThreadTable = llvm::ArrayRef<ThreadsOfLength>;

/// row: how many threads share a row of `length` elements, its team. The length alone determines it, because
/// the order of a reduction depends on it: up to 1,024 elements are for a warp or a part of one, so that rows
/// need no barrier; longer rows have a block, with up to 32 elements a thread. If only the call knows the
/// length, the kernel looks it up in the table.
ThreadTable rowTeams();
int64_t rowTeam(int64_t length);
/// row: the team of the longest row that a call may have.
int64_t largestRowTeam(FusionOp fusion);
/// row: the bytes of shared memory in which the warps of a block exchange the states of one reduction, if the
/// teams of the schedule have several: 8 for each of its values.
int64_t teamStateBytes(mlir::Operation *reduction, const Schedule &schedule);

/// The blocks for `lines` reductions or scans over as many elements as only the call knows: one for each
/// 4,096 elements, and one at least if there are lines. They take turns at the lines.
Size turnTasks(Size lines, Size length);

/// row: the numbers of the operands of the domain's shape that several passes read. A team that holds its row
/// in shared memory keeps them there.
llvm::SmallVector<unsigned> heldOperands(FusionOp fusion);
/// row: where these operands begin in shared memory, and the end of the last one.
llvm::SmallVector<int64_t> heldOffsets(FusionOp fusion, const Schedule &schedule);

/// column: how many threads share a column of so many rows. The number of rows alone determines it, because
/// the order of a reduction depends on it. If only the call knows it, the kernel looks it up in the table.
ThreadTable columnShares();
int64_t columnShares(int64_t rows);
/// column: the threads that share a column of as many rows as a call may have at most.
int64_t largestColumnShares(FusionOp fusion);
/// column: the bytes of shared memory in which threads that share columns combine the states of a reduction.
int64_t columnStateBytes(mlir::Operation *reduction, const Schedule &schedule);
/// scan: how many threads share a line of `extent` elements, and how many elements each reads at a time. The
/// extent alone determines both, because the order of the scan depends on them. If only the call knows it,
/// the kernel looks up the team, and has code for both vectors.
ThreadTable scanTeams();
int64_t scanTeam(int64_t extent);
int64_t scanVector(int64_t extent);
/// scan: the team and the vector of a schedule for lines, which are the largest that a call may need.
int64_t largestScanTeam(FusionOp fusion);
int64_t largestScanVector(FusionOp fusion);

/// The most shared memory that a kernel may declare, on every target. A launch may ask for more.
inline constexpr int64_t mostSharedBytes = 48 << 10;
/// The most that a launch may ask for, on the target that has most (`blockSharedBytes`).
int64_t mostLaunchedBytes();
/// The most memory that a thread may have for itself, on every target.
inline constexpr int64_t mostThreadBytes = 512 << 10;

/// The schedule in which teams of threads share rows. None if the rows have no elements.
std::optional<Schedule> chooseRowTeams(FusionOp fusion, const TargetDescription &target);
/// The schedule in which the threads of a block share columns. None if the numbers of rows or columns are 0.
/// `width` is the number of elements of the fusion's widest type that one access has.
std::optional<Schedule> chooseColumnBlocks(FusionOp fusion, const TargetDescription &target, int64_t width);
/// The schedule in which teams of threads share lines, or threads have columns. None if the extent or the
/// number of columns is 0.
std::optional<Schedule> chooseScanTeams(FusionOp fusion, const TargetDescription &target, int64_t width);

} // namespace weft::ir

#endif // WEFT_IR_CUDAREDUCTIONS_H
