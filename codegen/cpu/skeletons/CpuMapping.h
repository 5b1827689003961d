//===- CpuMapping.h - A task is one thread's -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CPU_SKELETONS_CPUMAPPING_H
#define WEFT_CODEGEN_CPU_SKELETONS_CPUMAPPING_H

#include "codegen/emit/Mapping.h"

namespace weft::codegen {

/// The mapping of a CPU, on which one thread computes a task alone. It runs all iterations of loops, with the
/// lanes of its vectors, and has its own scratch and record of failures.
class CpuMapping : public Mapping {
public:
  Tasks tasks(KernelBuilder &kernel, Tasks called) const override;
  void parallelFor(KernelBuilder &kernel, mlir::Value low, mlir::Value high, int64_t lanes, bool exact,
                   ParallelBody body) const override;
  /// Combines the lanes by halves of the vectors.
  State reduce(KernelBuilder &kernel, State partial, Combine combine) const override;
  mlir::Value scratch(KernelBuilder &kernel, int64_t offset, int64_t count, mlir::Type type) const override;
  void barrier(KernelBuilder &kernel) const override;
  void fail(KernelBuilder &kernel, int64_t check, mlir::Value position, mlir::Value value) const override;
  /// Streaming stores need aligned buffers. Alignment is known only at run time, so the work is emitted
  /// twice, with streaming stores and without.
  void withStreams(KernelBuilder &kernel, bool streaming, int64_t lanes, StreamBody emit) const override;
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CPU_SKELETONS_CPUMAPPING_H
