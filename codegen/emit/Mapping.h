//===- Mapping.h - How a target shares out the work of a task --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A skeleton decides which elements a task computes, and how partial results are combined. A mapping decides
// how the workers of a task share this work: on a CPU the only worker is the thread that has the task, with
// the lanes of its vectors; on a GPU the workers are the threads of a block. A skeleton is right for every
// target if it uses the functions of the mapping alone, and stores only inside of `parallelFor`. Each worker
// runs the code outside of `parallelFor`.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_MAPPING_H
#define WEFT_CODEGEN_EMIT_MAPPING_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace weft::codegen {

class KernelBuilder;

class Mapping {
public:
  Mapping() = default;
  Mapping(const Mapping &) = delete;
  virtual ~Mapping() = default;

  struct Tasks {
    mlir::Value begin, end;
  };
  /// The tasks that the workers do, one after the other, out of those that the kernel is called with. The
  /// builder calls this once, at the start of the kernel.
  virtual Tasks tasks(KernelBuilder &kernel, Tasks called) const = 0;

  /// Emits a loop over [low, high) in vectors of `lanes` elements, and one over the remaining single
  /// elements. The iterations run in any order. `exact`: the extent is a multiple of `lanes`, so no single
  /// elements remain. Loops with the same bounds and lanes give an element to the same worker, so that it may
  /// read without a barrier what an earlier one of them wrote.
  using ParallelBody = llvm::function_ref<void(mlir::Value at, bool vector)>;
  virtual void parallelFor(KernelBuilder &kernel, mlir::Value low, mlir::Value high, int64_t lanes,
                           bool exact, ParallelBody body) const = 0;

  /// Combines the states of all workers and of their lanes, in an order that depends on the numbers of
  /// workers and lanes alone. The values of a state are vectors, or scalars if all lanes have the same value.
  /// The result consists of scalars, which each worker gets.
  using State = llvm::SmallVector<mlir::Value, 3>;
  using Combine = llvm::function_ref<State(const State &, const State &)>;
  virtual State reduce(KernelBuilder &kernel, State partial, Combine combine) const = 0;

  /// Scalars that are the same for all workers of a task, and that `compute` makes: each computes them,
  /// unless one does it for all.
  using Compute = llvm::function_ref<State()>;
  virtual State once(KernelBuilder &, Compute compute) const { return compute(); }

  /// A view of the task's scratch from byte `offset` on, as `count` elements of `type`. The workers share it.
  virtual mlir::Value scratch(KernelBuilder &kernel, int64_t offset, int64_t count,
                              mlir::Type type) const = 0;

  /// Each worker waits here for all others. After it, a worker may read what others wrote before it.
  virtual void barrier(KernelBuilder &kernel) const = 0;

  /// Reports that the check with number `check` failed for `value` at `position`, both i64. If several checks
  /// fail, the failure at the first position is kept, whichever worker reports it.
  virtual void fail(KernelBuilder &kernel, int64_t check, mlir::Value position, mlir::Value value) const = 0;

  /// Emits work. If `streaming`, `emit` gets for each result its buffer as vectors of `lanes` elements, to
  /// which stores bypass the cache, or null if the result has ordinary stores. It gets an empty list if no
  /// result is stored so.
  using StreamBody = llvm::function_ref<void(llvm::ArrayRef<mlir::Value> streams)>;
  virtual void withStreams(KernelBuilder &kernel, bool streaming, int64_t lanes, StreamBody emit) const = 0;
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_MAPPING_H
