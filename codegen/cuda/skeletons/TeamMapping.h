//===- TeamMapping.h - Teams of threads, which share rows ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_SKELETONS_TEAMMAPPING_H
#define WEFT_CODEGEN_CUDA_SKELETONS_TEAMMAPPING_H

#include "codegen/cuda/skeletons/CudaMapping.h"
#include "ir/CudaReductions.h"

namespace weft::codegen {

/// The number that a table has for a length that only the call knows, which is `most` at most.
mlir::Value lookUp(KernelBuilder &kernel, ir::ThreadTable table, mlir::Value length, int64_t most);

/// The mapping of reductions: a task is a block's, whose threads form teams. A team is the whole block, or a
/// warp, or 2, 4, 8 or 16 neighbouring threads of a warp. The workers of `Mapping` are the threads of a team.
class TeamMapping : public ThreadMapping {
public:
  TeamMapping(int64_t threads, int64_t team) : ownThreads(threads), team(team) {}

  Tasks tasks(KernelBuilder &kernel, Tasks called) const override;
  /// Neighbouring threads have neighbouring vectors, and then neighbouring single elements.
  void parallelFor(KernelBuilder &kernel, mlir::Value low, mlir::Value high, int64_t lanes, bool exact,
                   ParallelBody body) const override;
  /// The lanes of a thread by halves; the threads of a warp by halves, by shuffles; the warps by halves,
  /// whose states meet in shared memory. Each call has memory of its own there, so that none waits before it
  /// writes.
  State reduce(KernelBuilder &kernel, State partial, Combine combine) const override;
  /// The same for teams of a size that only the call knows: of a power of two threads, up to the mapping's
  /// own team. All threads of the block call it, because several warps meet at its barrier.
  State reduceBySize(KernelBuilder &kernel, State partial, mlir::Value size, Combine combine) const;
  /// The same for the lanes of the thread alone.
  State reduceLanes(KernelBuilder &kernel, State partial, Combine combine) const;
  /// Shared memory.
  mlir::Value scratch(KernelBuilder &kernel, int64_t offset, int64_t count, mlir::Type type) const override;
  void barrier(KernelBuilder &kernel) const override;

  /// The number of the thread in its team, and of its team in the block.
  mlir::Value member(KernelBuilder &kernel) const;
  mlir::Value teamInBlock(KernelBuilder &kernel) const;
  /// A value that the team's thread `by` places before has, in the same warp; its own if there is none.
  mlir::Value earlier(KernelBuilder &kernel, mlir::Value value, int64_t by) const;
  /// A value that the last thread of the team in this warp has.
  mlir::Value ofLast(KernelBuilder &kernel, mlir::Value value) const;
  int64_t teams() const { return ownThreads / team; }
  int64_t threads() const { return ownThreads; }

private:
  /// Combines the states of neighbouring threads, `group` of one warp, by halves. Each gets the result.
  State reduceGroup(KernelBuilder &kernel, State own, int64_t group, Combine combine) const;
  /// The same for groups of a size that only the call knows, `most` at most.
  State reduceGroupBySize(KernelBuilder &kernel, State own, mlir::Value group, int64_t most,
                          Combine combine) const;
  /// Shared memory for each value of a state, of `count` warps, that no other call has.
  llvm::SmallVector<mlir::Value> exchangeBuffers(KernelBuilder &kernel, const State &own,
                                                 int64_t count) const;

  int64_t ownThreads, team;
  mutable int64_t usedScratch = 0; ///< by the calls of reduce()
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_SKELETONS_TEAMMAPPING_H
