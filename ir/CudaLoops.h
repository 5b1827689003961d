//===- CudaLoops.h - Schedules of loops on GPUs ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a block of threads computes of a loop, and of a window that is written: a chunk of the domain as one
// line of elements, or, where an operand is no such line, a tile of the plane that the domain is. The leading
// dimensions of the domain up to `tile_dim` are the rows of the plane, and those after it the columns.
//
// Where operands are contiguous along another dimension than the domain, a block has a tile of these two, and
// transposes the operands in shared memory. The field `squares` tells such schedules from those of planes.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_CUDALOOPS_H
#define WEFT_IR_CUDALOOPS_H

#include "ir/Dialect.h"
#include "ir/TargetDescription.h"

namespace weft::ir {

/// Whether the tasks of a schedule are tiles of a plane. A tile with `squares` is one of two dimensions of
/// the domain, whose operands are transposed: by one thread in registers, or by a block in shared memory.
inline bool isPlane(const Schedule &schedule) {
  return schedule.has(ScheduleField::tileRows) && !schedule.has(ScheduleField::squares);
}

/// Whether each thread has writes by index of its own: those to one vector of the inner dimensions, so that a
/// block of them is one vector. With wider blocks, or none, the threads of a block share writes.
inline bool hasOwnWrites(const Schedule &schedule) {
  return schedule.kind == FusionKind::update && schedule.has(ScheduleField::threads) &&
         schedule[ScheduleField::threads] > 1 && schedule.has(ScheduleField::block) &&
         schedule[ScheduleField::block] == schedule[ScheduleField::vector];
}

/// Whether the threads of a block list the writes to its range of places before they carry them out, which
/// takes shared memory: those of an index_update whose places are cut, and which the threads share. A scatter
/// has an index for each element, and so no list for all.
bool listsWrites(FusionOp fusion, const Schedule &schedule);
/// The shared memory of a block that lists its writes. It lists those of as many positions at a time as there
/// are threads times `positions`.
struct WriteList {
  int64_t positions = 1; ///< of one thread
  /// Where the numbers of listed positions begin, of 2 bytes each, how many of them each warp has, of 2 bytes
  /// too, and the marks of positions, of one byte; and the end of all.
  int64_t listed = 0, totals = 0, marks = 0, bytes = 0;
};
WriteList writeList(FusionOp fusion, const Schedule &schedule);

/// The domain as rows and columns.
struct Plane {
  unsigned rowDims = 0;
  Size rows = 1, columns = 1;
};
Plane planeOf(FusionOp fusion, const Schedule &schedule);
/// The number of tiles, or an upper bound if it depends on symbols; tiles beyond the last row are empty.
Size planeTasks(const Plane &plane, const Schedule &schedule);

/// The domain as [before][rows][between][columns], for tiles of rows and columns that a block transposes.
/// Neighbouring dimensions that lie together in every operand are one: `tile_dim` is among the rows, and the
/// innermost dimension that is not 1 among the columns.
struct TransposedDomain {
  unsigned rowDim = 0, rowDims = 1, columnDim = 1;
  Size before = 1, rows = 1, between = 1, columns = 1;
};
TransposedDomain transposedDomain(FusionOp fusion, const Schedule &schedule);
/// The number of tiles, or an upper bound if it depends on symbols; tiles beyond the last are empty.
Size transposedTasks(const TransposedDomain &domain, const Schedule &schedule);
/// How many vectors a side such a tile has: a warp has one of each row, or of each column, at a time.
inline constexpr int64_t transposedSide = 32;
/// The widest vectors of a tile. A thread transposes a square of as many rows in registers, so that shared
/// memory holds whole vectors.
inline constexpr int64_t mostTransposedVector = 4;
/// The bytes of shared memory for each operand that a block transposes. Each of its rows has one vector more
/// than the tile, so that a warp which reads or writes a column of vectors meets every bank once.
int64_t transposedBytes(FusionOp fusion, const Schedule &schedule);

/// The blocks of so many threads that all multiprocessors hold together.
inline int64_t blocksOfTurn(const TargetDescription &target, int64_t threads) {
  return target.cores * (target.coreWarps * target.warpThreads / threads);
}

/// The elements of one access: as many of the widest type as fit into it. Numbers of which an operand has
/// only one, and indices, which are read once for a vector, do not count.
int64_t accessWidth(FusionOp fusion, const TargetDescription &target);

/// Writes all numbers of a loop's schedule but the tasks: threads, vector, and chunk or tile.
void chooseCudaLoop(FusionOp fusion, const TargetDescription &target, Schedule &schedule);
/// The same for optimiser steps, and for writes by index. The latter returns false if few elements share an
/// index and there are few threads for them, because the number of places to write to is dynamic.
void chooseCudaSteps(FusionOp fusion, const TargetDescription &target, Schedule &schedule);
bool chooseCudaUpdate(FusionOp fusion, const TargetDescription &target, Schedule &schedule);

} // namespace weft::ir

#endif // WEFT_IR_CUDALOOPS_H
