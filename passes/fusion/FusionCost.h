//===- FusionCost.h - What a kernel costs, in picoseconds -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An integer model of bytes, operations and launches. It is used to compare two ways of cutting a program
// into kernels; its absolute numbers mean little.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_FUSION_FUSIONCOST_H
#define WEFT_PASSES_FUSION_FUSIONCOST_H

#include "ir/Dialect.h"
#include "ir/TargetDescription.h"

namespace weft::passes {

/// What the model looks at of one kernel.
struct KernelWork {
  int64_t readBytes = 0, writtenBytes = 0;
  int64_t flops = 0; ///< additions' worth of arithmetic
  int64_t tasks = 1; ///< independent pieces of work
};

/// Arithmetic of one element of `op`, in additions.
int64_t flopsPerElement(mlir::Operation *op);

/// a * b / c, of which none is negative, without overflow: saturated at a quarter of the greatest integer, so
/// that two may be added.
int64_t scale(int64_t a, int64_t b, int64_t c);

/// Time of a kernel without its launch.
int64_t kernelTime(const ir::TargetDescription &target, const KernelWork &work);

/// Time to move `bytes` with `tasks` pieces of work.
int64_t transferTime(const ir::TargetDescription &target, int64_t bytes, int64_t tasks);
/// Time to do `flops` with `tasks` pieces of work.
int64_t arithmeticTime(const ir::TargetDescription &target, int64_t flops, int64_t tasks);

/// The dimensions [first, first + count) of a domain, which its reductions remove.
struct ReducedDims {
  unsigned first = 0, count = 0;
  unsigned end() const { return first + count; }
  bool operator==(const ReducedDims &o) const { return first == o.first && count == o.count; }
};

/// What the kernel of a fusion that has a schedule reads, writes and computes, at the largest sizes. Its
/// tasks are those that threads are given, of which each may be several of the schedule.
KernelWork workOf(ir::FusionOp fusion);

/// Pieces of work of a kernel over `domain`.
int64_t kernelTasks(const ir::TargetDescription &target, ir::FusionKind kind, llvm::ArrayRef<int64_t> domain,
                    ReducedDims reduced);

} // namespace weft::passes

#endif // WEFT_PASSES_FUSION_FUSIONCOST_H
