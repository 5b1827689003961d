//===- CudaMapping.h - How the threads of a GPU share work -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_SKELETONS_CUDAMAPPING_H
#define WEFT_CODEGEN_CUDA_SKELETONS_CUDAMAPPING_H

#include "codegen/cpu/skeletons/CpuMapping.h"
#include "ir/Schedule.h"

namespace weft::codegen {

/// The number of the thread in its block of `threads`.
mlir::Value threadOf(KernelBuilder &kernel, int64_t threads);

/// A view of memory that the kernel declares, of its threads or, if `shared`, of its block: from byte
/// `offset` on, as `count` elements of `type`. One declaration of so many bytes serves all views of a kernel.
mlir::Value declaredView(KernelBuilder &kernel, int64_t bytes, bool shared, int64_t offset, int64_t count,
                         mlir::Type type);
/// Stores a scalar of any type at an index of such a view, an i1 as a byte, and loads it.
void storeScalar(KernelBuilder &kernel, mlir::Value value, mlir::Value view, mlir::Value at);
mlir::Value loadScalar(KernelBuilder &kernel, mlir::Type type, mlir::Value view, mlir::Value at);

/// The mapping of fallback schedules: a task is one thread's, which runs all iterations of its loops as a
/// thread of a CPU does. So the skeletons of a CPU are right for it.
class ThreadMapping : public CpuMapping {
public:
  /// The threads of a block.
  static constexpr int64_t threads = ir::fallbackThreads;

  /// The thread's task, or none in the last block.
  Tasks tasks(KernelBuilder &kernel, Tasks called) const override;
  /// Memory of the thread.
  mlir::Value scratch(KernelBuilder &kernel, int64_t offset, int64_t count, mlir::Type type) const override;
  void fail(KernelBuilder &kernel, int64_t check, mlir::Value position, mlir::Value value) const override;
  /// Ordinary stores.
  void withStreams(KernelBuilder &kernel, bool streaming, int64_t lanes, StreamBody emit) const override;
};

/// The mapping of writes by index that threads have of their own (ir/CudaLoops.h): a thread carries out one
/// cut of the writes as a thread of a CPU does.
class WriteMapping : public ThreadMapping {
public:
  explicit WriteMapping(int64_t threads) : ownThreads(threads) {}

  Tasks tasks(KernelBuilder &kernel, Tasks called) const override;

private:
  int64_t ownThreads;
};

/// The mapping of skeletons that compute each element by itself, and combine none: a task is a block's, whose
/// threads take turns at the elements.
class ElementMapping : public ThreadMapping {
public:
  explicit ElementMapping(int64_t threads) : ownThreads(threads) {}

  Tasks tasks(KernelBuilder &kernel, Tasks called) const override;
  /// Neighbouring threads have neighbouring vectors, and then neighbouring single elements.
  void parallelFor(KernelBuilder &kernel, mlir::Value low, mlir::Value high, int64_t lanes, bool exact,
                   ParallelBody body) const override;
  /// The block's first thread computes, and the others read what it wrote to shared memory: powers in f64 of
  /// all threads would take longer than the rest of an optimiser step.
  State once(KernelBuilder &kernel, Compute compute) const override;
  /// These skeletons combine nothing.
  State reduce(KernelBuilder &kernel, State partial, Combine combine) const override;
  void barrier(KernelBuilder &kernel) const override;

private:
  int64_t ownThreads;
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_SKELETONS_CUDAMAPPING_H
