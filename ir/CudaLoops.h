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
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_CUDALOOPS_H
#define WEFT_IR_CUDALOOPS_H

#include "ir/Dialect.h"
#include "ir/TargetDescription.h"

namespace weft::ir {

/// Whether the tasks of a schedule are tiles of a plane. A tile with `squares` is one of two dimensions of
/// the domain, whose operands are transposed.
inline bool isPlane(const Schedule &schedule) {
  return schedule.has(ScheduleField::tileRows) && !schedule.has(ScheduleField::squares);
}

/// The domain as rows and columns.
struct Plane {
  unsigned rowDims = 0;
  Size rows = 1, columns = 1;
};
Plane planeOf(FusionOp fusion, const Schedule &schedule);
/// The number of tiles, or an upper bound if it depends on symbols; tiles beyond the last row are empty.
Size planeTasks(const Plane &plane, const Schedule &schedule);

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
/// index, so that a block would have no work for its threads.
void chooseCudaSteps(FusionOp fusion, const TargetDescription &target, Schedule &schedule);
bool chooseCudaUpdate(FusionOp fusion, const TargetDescription &target, Schedule &schedule);

} // namespace weft::ir

#endif // WEFT_IR_CUDALOOPS_H
