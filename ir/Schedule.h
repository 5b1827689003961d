//===- Schedule.h - The schedule of a kernel --------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `chooseSchedule` chooses all numbers that the code of a kernel depends on, and writes them into the
// attribute of its fusion. It is a pure function of shapes, dtypes and target. `verifySchedule` proves that
// the numbers of an attribute, which may come from text, are correct for the fusion. Emitters and the plan
// read the attribute and choose nothing. What several of them compute from a fusion is one function below.
//
// The choice and its reasons, by kind:
//
// - loop: a task is a chunk of the domain in row-major order, of 16 KiB of the widest result. So a thread
//   streams through memory, half a chunk of each of four operands stays in a first-level cache, and a kernel
//   of 16M elements of f32 has 4,096 tasks. Where its functions take longer than that, a chunk is smaller.
//   A chunk is a multiple of 64 elements, so no vector straddles two
//   tasks. If the innermost dimension of an operand differs from that of the domain, a task is a tile of 256
//   x 64 elements instead, which is transposed in squares of one cache line a side.
// - row: a task is a row; a thread takes many short rows at a time. A row may lie in pieces, if reduced
//   dimensions are in front of others. A value that one pass over the row
//   computes and a later pass needs is kept in scratch if computing it again costs more than a store and a
//   load.
// - column: the domain is [outer][rows][inner], and the reductions run down the rows. A task is a block of
//   the columns of one outer index. Rows are read in order, and the partial results of the block stay in the
//   first-level cache. With one pass, a block is 2 KiB wide, so that memory is read in long runs, unless that
//   leaves cores idle. With several passes, a block is so narrow that all of its rows stay in the
//   second-level cache; values are kept for later passes as in row kernels.
// - multi_tensor: a task is a chunk of one tensor.
// - scan: a task is a line along the scan. If the scan is not along the innermost dimension, a task is a
//   block of columns.
// - update: a window is written by a loop over its elements. Writes by index are cut so that two tasks never
//   write the same element: first along the inner dimensions, whose blocks are equally long for all indices,
//   then into ranges of the indexed dimension, for each of which a task reads all indices.
//
// With dynamic sizes the number of tasks is an expression. The other numbers that depend on sizes are chosen
// for the largest sizes (the grain, the cuts of an update) or absent (tiles, streaming stores, values kept in
// scratch for rows of dynamic length). The order of a reduction does not depend on them.
//
// Vectors have 16 elements, or 8 if most operands and results have 8-byte elements, or 64 in loops that draw
// random numbers.
//
// A reduction's shape and dtype determine its order. For the numbers that the order depends on (`lanes`,
// `partials` and `rows`), the verifier accepts one value: the same for all CPUs, and where the threads of a
// GPU share a task the one of ir/CudaReductions.h. No other number changes a bit of a result.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_SCHEDULE_H
#define WEFT_IR_SCHEDULE_H

#include "ir/Dialect.h"
#include "ir/TargetDescription.h"

namespace weft::ir {

/// The schedule of a fusion for its device, which `target` describes. Emits an error and returns null if the
/// number of tasks cannot be expressed.
ScheduleAttr chooseSchedule(FusionOp fusion, const TargetDescription &target);
/// The schedule for a GPU with which each thread carries out whole tasks (CudaSchedule.cpp). It exists for
/// every kind of fusion.
ScheduleAttr chooseFallbackSchedule(FusionOp fusion, const TargetDescription &target);
/// Whether a schedule is such a fallback.
inline bool isFallback(const Schedule &schedule) { return schedule[ScheduleField::threads] == 1; }
/// The threads of a block of a fallback's kernel, each of which has tasks of its own.
inline constexpr int64_t fallbackThreads = 128;
/// The threads of a block of a GPU.
inline int64_t blockThreads(const Schedule &schedule) {
  return isFallback(schedule) ? fallbackThreads : schedule[ScheduleField::threads];
}

/// Verifies that a schedule is correct for its fusion: every element of the domain is in exactly one task,
/// scratch is large enough, vectors are not wider than the body allows, and reductions have the order that
/// belongs to their shape. Emits an error with the expected number.
mlir::LogicalResult verifySchedule(FusionOp fusion, ScheduleAttr schedule);

/// The number of tasks of a fusion with this schedule. With dynamic sizes it may be an upper bound (`column`,
/// `scan`, `multi_tensor`); the kernel then does nothing in the tasks beyond the actual number.
Size tasksOf(FusionOp fusion, const Schedule &schedule);
/// The bytes of scratch that a kernel of this schedule uses.
int64_t scratchOf(FusionOp fusion, const Schedule &schedule);

/// The order of reductions. Vectors of up to `lanes` elements give the same sums.
inline constexpr int64_t reductionLanes = 16, rowPartials = 64, columnRows = 8;
/// column: blocks of columns are multiples of this, a cache line of f32.
inline constexpr int64_t columnStep = 16;

/// The symbols of the sizes in a fusion, in alphabetical order. Their values are arguments of its kernel.
llvm::SmallVector<std::string> symbolsOf(FusionOp fusion);

/// The innermost dimension whose size is not 1; none if all sizes are 1.
std::optional<unsigned> innermostDim(llvm::ArrayRef<Size> domain);

/// row: which dimensions of the domain the reductions remove. The elements of a row are in row-major order of
/// these. They are the last dimensions, or a row lies in `pieces` of `piece` elements each, as a channel of
/// [batch, channels, rows, columns] does.
struct RowShape {
  llvm::SmallVector<int64_t, 4> reduced, kept; ///< dimensions, in ascending order
  Size rows = 1, length = 1;
  Size piece = 1, pieces = 1; ///< the elements that lie together, and how often; their product is `length`
  bool isInPieces() const { return reduced.front() < static_cast<int64_t>(kept.size()); }
};
RowShape rowShape(FusionOp fusion);
/// row: the length of a row.
Size rowLength(FusionOp fusion);
/// Whether reductions over `dims` of `shape` are over rows in pieces: `dims` are not the last dimensions, but
/// the last one is among them, and a piece is a number of whole vectors of `reductionLanes`.
bool areRowPieces(llvm::ArrayRef<Size> shape, llvm::ArrayRef<int64_t> dims);

/// column: the domain as [outer][rows][inner]. A task is a block of the columns of one outer index.
struct ColumnShape {
  unsigned dim = 0, dims = 0; ///< the first dimension of the rows, and the number of their dimensions
  Size outer = 1, rows = 1, inner = 1;
  /// The number of blocks of `columns` columns for each outer index.
  Size blocks(int64_t columns) const { return ceilDiv(inner, columns); }
};
ColumnShape columnShape(FusionOp fusion);

/// row, column: the pass in which each value of the body can be computed. It is the largest number of
/// reductions on a path to the value.
llvm::DenseMap<mlir::Value, unsigned> reductionPasses(FusionOp fusion);
/// row, column: the number of the last pass. Results of the domain's shape are stored in it, because they may
/// share storage with an operand.
unsigned lastReductionPass(FusionOp fusion);
/// row, column: the values that the ops in `keep` keep, with the pass that stores each, in op order. Leaves
/// out ops whose values no later pass needs.
llvm::SmallVector<std::pair<mlir::Value, unsigned>> keptValues(FusionOp fusion, llvm::ArrayRef<int64_t> keep);
/// row, column: the bytes of a kept value in scratch, for a row or for all rows of a block; at most 2^40.
int64_t keptBytes(FusionOp fusion, const Schedule &schedule, mlir::Value value);
/// row, column: the ops whose values cost more to compute again than to store and to load, as long as they
/// fit into `scratchBytes`.
llvm::SmallVector<int64_t> worthKeeping(FusionOp fusion, const Schedule &schedule, int64_t scratchBytes);
/// column: results of reductions, and elementwise values of the same shape computed from them, that a later
/// pass reads at every row. A value of pass p (`reductionPasses`) is computed once for each column, before
/// pass p.
llvm::SmallVector<mlir::Value> spreadValues(FusionOp fusion);

/// scan: the domain as [outer][extent][inner], with the scan along `extent`. A task is a line if inner is 1,
/// otherwise a block of columns.
struct ScanShape {
  unsigned dim = 0;
  Size outer = 1, extent = 1, inner = 1;
  /// The number of blocks of `columns` columns for each outer index.
  Size blocks(int64_t columns) const { return ceilDiv(inner, columns); }
};
ScanShape scanShape(FusionOp fusion);

/// update by index: the writes as [outer, count, inner]. Writes along `count` may go to the same element, so
/// their order is kept. A task has one outer index, a block of inner indices, and a range of the indexed
/// dimension. So no two tasks write one element, and the order of sums depends on shapes alone.
///
/// Each `Size` may be an expression. But `inner` is a number if there are several blocks, and `size` is one
/// if there are several ranges.
struct UpdateTiles {
  Size outer = 1, count = 0, inner = 1;
  Size block = 1;           ///< inner indices of one task
  int64_t blocks = 1;       ///< the number of blocks
  Size size = 0, range = 0; ///< the size of the indexed dimension, and the part of it that one task writes
  int64_t ranges = 1;       ///< the number of ranges
  Size tasks() const { return outer * blocks * ranges; }
};
/// The tiles of a schedule with these fields. If a field is absent, the tiles are not cut that way.
UpdateTiles updateTiles(mlir::Operation *update, int64_t block, int64_t range);

/// The type in which a reduction accumulates: f32 for f16 and bf16, otherwise the operand's own type.
mlir::Type accumulatorType(mlir::Type elementType);
/// The bytes of a column reduction's state for one column.
int64_t accumulatorBytes(mlir::Operation *reduction);
bool isReductionOp(mlir::Operation *op);
/// argmax and argmin, which have one `dim`.
bool isArgReduction(mlir::Operation *op);
/// The dimensions that a reduction removes.
llvm::SmallVector<int64_t> reducedDims(mlir::Operation *reduction);
/// cumsum and cumprod, and the dimension that they run along.
bool isScanOp(mlir::Operation *op);
int64_t scanDim(mlir::Operation *scan);

} // namespace weft::ir

#endif // WEFT_IR_SCHEDULE_H
