//===- Schedule.h - How a fusion becomes a kernel --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `chooseSchedule` writes every number that a kernel's shape depends on into the attribute of its fusion: a
// pure function of shapes, dtypes and target. `verifySchedule` proves that the numbers of an attribute,
// whoever wrote them, are right for the fusion. Emitters and the plan read the attribute and choose nothing.
// What both the chooser and the verifier compute from a fusion, and what an emitter walks, is one function
// below.
//
// The choice and its reasons, by kind:
//
// - loop: the domain is cut in chunks of 16 KiB of the widest result, in row-major order, whatever the loops
//   inside are: a thread streams through memory, half a chunk of each of four operands stays in a first-level
//   cache, and the 16M-element kernel still has 4,096 tasks. A chunk is a multiple of 64 elements, so that a
//   vector never straddles two tasks. If an operand's innermost dimension is another one than the domain's,
//   the task is a tile of 256 x 64 elements instead, transposed in squares of one cache line a side.
// - row: a task is a row; short rows are handed out many at a time. A value that is computed in one pass over
//   the row and needed in a later one is kept in scratch when computing it again costs more than a store and
//   a load.
// - column: the domain is [outer][rows][inner], and the reductions run down the rows. A task is a block of
//   the columns of one outer index. Rows are read in order, and the partial results of the block stay in the
//   first-level cache. Where one pass does, a block is 2 KiB wide, if that leaves every core something, so
//   that memory is read in long runs. Where several passes read the same rows, a block is so narrow that all
//   of its rows stay in the second-level cache; values are kept from pass to pass as those of a row are.
// - multi_tensor: a task is a chunk of one tensor.
// - scan: a task is a line along the scan, or a block of columns where the scan is not along the innermost
//   dimension.
// - update: a window is a loop over its elements. Writes by index are cut where no two can meet: first over
//   the inner dimensions, whose blocks are equally long whatever the indices are, then over ranges of the
//   places that are written to, of which each task looks at every index.
//
// Where a domain has dynamic dimensions the number of tasks is an expression. What else depends on sizes is
// decided for the largest (the grain, the cuts of an update) or left out (tiles, streaming stores, values
// kept in scratch for rows of dynamic length): the order of a reduction never depends on any of these.
//
// Vectors have 16 elements, or 8 where most operands and results have 8-byte elements, or 64 in loops that
// draw random numbers.
//
// The order of a reduction is fixed by its shape and dtype. The numbers that it depends on (`lanes`,
// `partials` and `rows`) have one value that the verifier takes, the same for every target; no other number
// changes a bit of a result.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_SCHEDULE_H
#define WEFT_IR_SCHEDULE_H

#include "ir/Dialect.h"
#include "ir/TargetDescription.h"

namespace weft::ir {

/// The schedule for the device that the target describes, which is the one that the fusion is on. Null where
/// the number of tasks cannot be expressed; emits what is wrong then.
ScheduleAttr chooseSchedule(FusionOp fusion, const TargetDescription &target);
/// On a GPU, for every kind of fusion: each thread carries out tasks of its own (CudaSchedule.cpp).
ScheduleAttr chooseFallbackSchedule(FusionOp fusion, const TargetDescription &target);
/// Whether the schedule is that one, and not one for its kind of fusion and device.
inline bool isFallback(const Schedule &schedule) { return schedule[ScheduleField::threads] == 1; }

/// Whether a schedule is right for its fusion: every element of the domain lies in exactly one task, scratch
/// holds what the kernel puts there, vectors are as wide as the body allows, and the order of reductions is
/// the one that belongs to their shape. Emits what is wrong, and what it would have to be.
mlir::LogicalResult verifySchedule(FusionOp fusion, ScheduleAttr schedule);

/// The tasks that the cut of a schedule makes of the fusion. Of dynamic sizes it may be more than
/// there are (`scan`, `multi_tensor`): the kernel counts them, and a task too many does nothing.
Size tasksOf(FusionOp fusion, const Schedule &schedule);
/// The bytes of scratch that a kernel of this schedule uses.
int64_t scratchOf(FusionOp fusion, const Schedule &schedule);

/// The order of reductions. Vectors of up to `lanes` elements give the same sums.
inline constexpr int64_t reductionLanes = 16, rowPartials = 64, columnRows = 8;
/// column: blocks of columns are multiples of this, a cache line of f32.
inline constexpr int64_t columnStep = 16;

/// The symbols of the sizes in a fusion, in alphabetical order: what its kernel is called with.
llvm::SmallVector<std::string> symbolsOf(FusionOp fusion);

/// The innermost dimension that is not of size 1; none where all are.
std::optional<unsigned> innermostDim(llvm::ArrayRef<Size> domain);

/// row: the length of a row.
Size rowLength(FusionOp fusion);

/// column: the domain as [outer][rows][inner]. A task is a block of the columns of one outer index.
struct ColumnShape {
  unsigned dim = 0, dims = 0; ///< the first dimension of the rows, and how many they have
  Size outer = 1, rows = 1, inner = 1;
  /// Of columns, for each outer index.
  Size blocks(int64_t columns) const { return ceilDiv(inner, columns); }
};
ColumnShape columnShape(FusionOp fusion);

/// row, column: reductions read their operand in this many passes over a row, or down the rows; the pass of a
/// value is the number of reductions that must be done before it can be computed.
llvm::DenseMap<mlir::Value, unsigned> reductionPasses(FusionOp fusion);
/// row, column: the pass in which results of the domain's shape are stored. It is the last one, as their
/// storage may be that of an operand.
unsigned lastReductionPass(FusionOp fusion);
/// row, column: the values that a schedule keeps, with the pass that stores each for later ones, in op order.
/// Of `keep`, those ops are left out that have no such value.
llvm::SmallVector<std::pair<mlir::Value, unsigned>> keptValues(FusionOp fusion, llvm::ArrayRef<int64_t> keep);
/// row, column: bytes that a kept value takes, at most 2^40: a row of it, or all rows of a block.
int64_t keptBytes(FusionOp fusion, const Schedule &schedule, mlir::Value value);
/// row, column: the ops whose values cost more to compute again than to store and to load, as far as they fit
/// in `scratchBytes`.
llvm::SmallVector<int64_t> worthKeeping(FusionOp fusion, const Schedule &schedule, int64_t scratchBytes);
/// column: what reductions leave, and values that are made of that, which a later pass reads at every row.
/// They are computed once for each column, after the pass that their number of `reductionPasses` names.
llvm::SmallVector<mlir::Value> spreadValues(FusionOp fusion);

/// scan: the domain as [outer][extent][inner], the scan along the middle. A task is a line where inner is 1,
/// else a block of columns.
struct ScanShape {
  unsigned dim = 0;
  Size outer = 1, extent = 1, inner = 1;
  /// Of columns.
  Size blocks(int64_t columns) const { return ceilDiv(inner, columns); }
};
ScanShape scanShape(FusionOp fusion);

/// update by index: the writes seen as [outer, count, inner], of which `count` may meet and stay in order. A
/// task is one outer index, a block of inner ones, and a range of the places that are written to; so that no
/// two tasks write one element, and the order of sums depends on shapes alone.
///
/// Each `Size` may be an expression of symbols; but `inner` is a number where it is cut into several blocks,
/// and `size` where it is cut into several ranges.
struct UpdateTiles {
  Size outer = 1, count = 0, inner = 1;
  Size block = 1;           ///< inner indices of one task,
  int64_t blocks = 1;       ///< and how many such blocks
  Size size = 0, range = 0; ///< places to write to, and those of one task,
  int64_t ranges = 1;       ///< and how many ranges
  Size tasks() const { return outer * blocks * ranges; }
};
/// Those of a schedule with these fields; where one is absent nothing is cut.
UpdateTiles updateTiles(mlir::Operation *update, int64_t block, int64_t range);

/// What a reduction accumulates in: f32 for halves, else the operand's own type.
mlir::Type accumulatorType(mlir::Type elementType);
/// Scratch bytes of a column reduction for one column.
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
