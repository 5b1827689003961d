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
/// row: the most vectors of a row that one thread may hold in registers. The kernel has code for each.
inline constexpr int64_t mostHeldVectors = 8;

/// row: how many threads share a row of `length` elements, its team. The length alone determines it, because
/// the order of a reduction depends on it: up to 1,024 elements are for a warp or a part of one, so that rows
/// need no barrier; longer rows have a block, with up to 32 elements a thread.
int64_t rowTeam(int64_t length);
/// row: the bytes of shared memory in which the warps of a team exchange the states of one reduction: 8 for
/// each of its values.
int64_t teamStateBytes(mlir::Operation *reduction, int64_t team);

/// row: the numbers of the operands of the domain's shape that several passes read. A team that holds its row
/// in shared memory keeps them there.
llvm::SmallVector<unsigned> heldOperands(FusionOp fusion);
/// row: where these operands begin in shared memory, and the end of the last one.
llvm::SmallVector<int64_t> heldOffsets(FusionOp fusion, const Schedule &schedule);

/// column: how many threads share a column of so many rows. The number of rows alone determines it, because
/// the order of a reduction depends on it.
int64_t columnShares(int64_t rows);
/// column: the bytes of shared memory in which threads that share columns combine the states of a reduction.
int64_t columnStateBytes(mlir::Operation *reduction, const Schedule &schedule);
/// scan: how many threads share a line of `extent` elements, and how many elements each reads at a time. The
/// extent alone determines both, because the order of the scan depends on them.
int64_t scanTeam(int64_t extent);
int64_t scanVector(int64_t extent);

/// The most shared memory that a kernel may declare, on every target. A launch may ask for more.
inline constexpr int64_t mostSharedBytes = 48 << 10;
/// The most that a launch may ask for, on the target that has most (`blockSharedBytes`).
int64_t mostLaunchedBytes();
/// The most memory that a thread may have for itself, on every target.
inline constexpr int64_t mostThreadBytes = 512 << 10;

/// The schedule in which teams of threads share rows. None if the fusion needs another: its rows have dynamic
/// sizes, or no elements.
std::optional<Schedule> chooseRowTeams(FusionOp fusion, const TargetDescription &target);
/// The schedule in which the threads of a block share columns. None if the numbers of rows or columns are
/// dynamic, or 0. `width` is the number of elements of the fusion's widest type that one access has.
std::optional<Schedule> chooseColumnBlocks(FusionOp fusion, const TargetDescription &target, int64_t width);
/// The schedule in which teams of threads share lines, or threads have columns. None if the extent or the
/// number of columns is dynamic, or 0.
std::optional<Schedule> chooseScanTeams(FusionOp fusion, const TargetDescription &target, int64_t width);

} // namespace weft::ir

#endif // WEFT_IR_CUDAREDUCTIONS_H
