//===- Schedule.h - How a fusion becomes a kernel --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule is a pure function of shapes, dtypes and target. The reasoning, by kind:
//
// - loop: the domain is cut in chunks of 16 KiB of the widest result, in row-major order, whatever the loops
// inside
//   are: a thread streams through memory, half a chunk of each of four operands stays in a first-level cache,
//   and the 16M-element kernel still has 4,096 tasks. A chunk is a multiple of 64 elements, so that a vector
//   never straddles two tasks. If an operand's innermost dimension is another one than the domain's, the task
//   is a block of `tileRows` x `tileColumns` instead, transposed in square tiles of one cache line a side.
// - row: a task is a row; short rows are handed out many at a time. A value that is computed in one pass over
// the
//   row and needed in a later one is kept in scratch when computing it again costs more than a store and a
//   load.
// - column: a task is a block of columns. Rows are read in order, 8 at a time, and the partial sums of the
// block stay
//   in the first-level cache; a block is at least 1 KiB wide, so that the prefetcher sees streams.
// - multi_tensor: a task is a chunk of one tensor.
// - scan: a task is a line along the scan, or a block of columns where the scan is not along the innermost
// dimension.
// - update: a window is a loop over its elements. Writes by index are cut where no two can meet: first over
// the
//   inner dimensions, whose blocks are equally long whatever the indices are, then over ranges of the places
//   that are written to, of which each task looks at every index.
//
// Where a domain has dynamic dimensions the number of tasks is an expression. What else depends on sizes is
// decided for the largest (the grain, the cuts of an update) or left out (tiles, streaming stores, values
// kept in scratch for rows of dynamic length): the order of a reduction never depends on any of these.
//
// Width: 16 elements, or 8 where most operands and results have 8-byte elements, or 64 in loops that draw
// random numbers. It never changes a bit of a result.
//
// The emitter and the scheduler share the functions below, so that what one counts the other does.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_SCHEDULE_H
#define WEFT_IR_SCHEDULE_H

#include "ir/Dialect.h"
#include "ir/TargetDescription.h"

namespace weft::ir {

ScheduleAttr chooseSchedule(FusionOp fusion, const TargetDescription &target);

/// The product of sizes, a size; 1 for a 0-dimensional domain.
int64_t countOf(llvm::ArrayRef<int64_t> shape);

/// The symbols of the sizes in a fusion, in alphabetical order: what its kernel is called with.
llvm::SmallVector<std::string> symbolsOf(FusionOp fusion);

/// loop: elements of one task.
int64_t loopChunk(FusionOp fusion);

/// loop with an operand that is contiguous along another dimension of the domain.
struct TransposeTile {
  static constexpr int64_t side = 16;                ///< of a tile that is transposed at once
  static constexpr int64_t rows = 256, columns = 64; ///< of one task
  static constexpr int64_t maxOperands = 8;          ///< more are read element by element
  unsigned dim = 0;   ///< the domain's dimension that the operand is contiguous along
  unsigned inner = 0; ///< the domain's innermost dimension that is not 1
  int64_t tasks = 0;
};
std::optional<TransposeTile> transposeTile(FusionOp fusion);

/// row: reductions along the row read their operand in this many passes; the pass of a value is the number of
/// reductions that must be done before it can be computed.
llvm::DenseMap<mlir::Value, unsigned> rowPasses(FusionOp fusion);
/// row: the pass in which results of the domain's shape are stored. It is the last one, as their storage may
/// be that of an operand.
unsigned lastRowPass(FusionOp fusion);
/// row: values of the domain's shape that one pass stores for later ones, with that pass, in op order.
llvm::SmallVector<std::pair<mlir::Value, unsigned>> keptRowValues(FusionOp fusion, int64_t scratchBytes);

/// column: columns of one task.
int64_t columnBlock(FusionOp fusion);

/// scan: the domain as [outer][extent][inner], the scan along the middle. A task is a line where inner is 1,
/// else a block of columns.
struct ScanShape {
  static constexpr int64_t columns = 64; ///< of one task
  unsigned dim = 0;
  int64_t outer = 1, extent = 1, inner = 1;
  /// Of columns, a size.
  int64_t blocks() const { return ceilDivSizes(inner, columns); }
  /// At least as many as there are: a number of blocks that depends on symbols is no factor of a size.
  int64_t tasks() const;
};
ScanShape scanShape(FusionOp fusion);
/// update by index: the writes seen as [outer, count, inner], of which `count` may meet and stay in order. A
/// task is one outer index, a block of inner ones, and a range of the places that are written to; so that no
/// two tasks write one element, and the order of sums depends on shapes alone.
///
/// With dynamic sizes all of these may depend on symbols but for `blocks`, `range` and `ranges`: what is cut
/// has a size that is a number.
struct UpdateTiles {
  int64_t outer = 1, count = 0, inner = 1;
  int64_t block = 1, blocks = 1;           ///< inner indices of one task, and how many such blocks
  int64_t size = 0, range = 0, ranges = 1; ///< places to write to, those of one task, and how many ranges
  int64_t tasks() const { return mulSizes(outer, blocks * ranges); }
};
UpdateTiles updateTiles(mlir::Operation *update);

/// multi_tensor: elements of one task, and the tasks of a fusion: at least as many as its tensors have, which
/// the kernel counts.
inline constexpr int64_t tensorChunk = 8192;
int64_t tensorTasks(FusionOp fusion);

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
