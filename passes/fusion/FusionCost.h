//===- FusionCost.h - The cost model of kernels -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An integer cost model of bytes, operations and launches. It compares two ways of cutting a program into
// kernels. Its absolute times are not predictions.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_FUSION_FUSIONCOST_H
#define WEFT_PASSES_FUSION_FUSIONCOST_H

#include "ir/Dialect.h"
#include "ir/TargetDescription.h"

namespace weft::passes {

/// The properties of a kernel that determine its cost.
struct KernelWork {
  int64_t readBytes = 0, writtenBytes = 0;
  int64_t flops = 0; ///< arithmetic, in additions
  int64_t tasks = 1; ///< independent pieces of work
};

/// Arithmetic of one element of `op`, in additions.
int64_t flopsPerElement(mlir::Operation *op);

/// a * b / c for nonnegative numbers, without overflow. The result saturates at a quarter of the largest
/// integer, so two results can be added.
int64_t scale(int64_t a, int64_t b, int64_t c);

/// The time of a kernel without its launch, in picoseconds.
int64_t kernelTime(const ir::TargetDescription &target, const KernelWork &work);

/// The time to move `bytes` in `tasks` pieces of work, in picoseconds.
int64_t transferTime(const ir::TargetDescription &target, int64_t bytes, int64_t tasks);
/// The time to do `flops` in `tasks` pieces of work, in picoseconds.
int64_t arithmeticTime(const ir::TargetDescription &target, int64_t flops, int64_t tasks);

/// The dimensions of a domain that the reductions over it remove, in ascending order.
struct ReducedDims {
  llvm::SmallVector<int64_t, 4> dims;
  bool contains(size_t dim) const { return llvm::is_contained(dims, static_cast<int64_t>(dim)); }
  bool operator==(const ReducedDims &o) const { return dims == o.dims; }
};

/// The work of the kernel of a scheduled fusion, at the largest sizes. `tasks` counts the pieces that threads
/// take, each of which has `grain` tasks of the schedule.
KernelWork workOf(ir::FusionOp fusion);

/// The number of tasks of a kernel over `domain`, before it has a schedule.
int64_t kernelTasks(const ir::TargetDescription &target, ir::FusionKind kind, llvm::ArrayRef<int64_t> domain,
                    const ReducedDims &reduced);

} // namespace weft::passes

#endif // WEFT_PASSES_FUSION_FUSIONCOST_H
