//===- BlockMapping.h - A second target: blocks of threads -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels in the form of a GPU's kernels: the threads of a block share a task. The numbers of the block and
// of the thread, and the barrier, are ops of the gpu dialect. Here they are lowered to code of the host:
// every thread of a block is a context, and a barrier switches to the next one. So if a barrier is missing, a
// kernel reads elements before they are written, in one of the two orders of threads.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CODEGEN_BLOCKMAPPING_H
#define WEFT_TEST_UNIT_CODEGEN_BLOCKMAPPING_H

#include "codegen/KernelTargets.h"
#include "codegen/cpu/skeletons/CpuMapping.h"
#include "runtime/package/Kernel.h"
#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"

namespace weft::testing {

/// A task is a block's.
class BlockMapping : public codegen::Mapping {
public:
  explicit BlockMapping(int64_t threads) : threads(threads) {}
  Tasks tasks(codegen::KernelBuilder &kernel, Tasks called) const override;
  void parallelFor(codegen::KernelBuilder &kernel, mlir::Value low, mlir::Value high, int64_t lanes,
                   bool exact, ParallelBody body) const override;
  /// The lanes of each thread, then the threads by halves.
  State reduce(codegen::KernelBuilder &kernel, State partial, Combine combine) const override;
  mlir::Value scratch(codegen::KernelBuilder &kernel, int64_t offset, int64_t count,
                      mlir::Type type) const override;
  void barrier(codegen::KernelBuilder &kernel) const override;
  void fail(codegen::KernelBuilder &kernel, int64_t check, mlir::Value position,
            mlir::Value value) const override;
  /// A hint only, which is not taken.
  void withStreams(codegen::KernelBuilder &kernel, bool streaming, int64_t lanes,
                   StreamBody emit) const override;

  /// The scratch of reductions across threads, which comes before that of the skeleton.
  int64_t ownScratch() const { return threads * 3 * 8; }

  const int64_t threads;

private:
  codegen::CpuMapping lanesOfThread;
};

/// A task is one thread's, as fallback schedules have it (`threads = 1`).
class ThreadMapping : public codegen::CpuMapping {
public:
  explicit ThreadMapping(int64_t threads) : threads(threads) {}
  Tasks tasks(codegen::KernelBuilder &kernel, Tasks called) const override;

  const int64_t threads; ///< of a block
};

/// Kernels for blocks of this many threads: the skeletons that all targets share, a skeleton for `row` if one
/// is given, and the fallback for other fusions.
struct BlockTarget {
  explicit BlockTarget(int64_t threads, codegen::Skeleton row = nullptr);
  BlockTarget(const BlockTarget &) = delete;

  const int64_t threads;
  codegen::KernelTarget oneThread, blocks;
};

enum class ThreadOrder { ascending, descending };

/// Makes a kernel of such a target one that the host can run with `runBlocks`.
Status lowerBlocks(mlir::ModuleOp kernel);

/// Runs all blocks of a launch of `tasks` tasks; with `isOneThread`, each thread has one. `sizes` are those
/// that `frame` has.
void runBlocks(runtime::KernelFn kernel, const runtime::KernelFrame &frame, size_t sizes, int64_t tasks,
               int64_t threads, bool isOneThread, ThreadOrder order);

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_CODEGEN_BLOCKMAPPING_H
