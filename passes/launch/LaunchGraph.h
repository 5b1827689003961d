//===- LaunchGraph.h - Dependences between launches -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dependences that a reordering of a launch list must keep, before storage is assigned. Besides values:
//
//   - effects that the host sees, and launches that may fail, keep their order, so that a failing call has
//     shown the same effects;
//   - a launch that reads an argument, or the base of an update, comes before the launch that writes it in
//     place;
//   - a launch that may fail comes before later launches that write an argument, so that a failing call
//     changes nothing.
//
// So a reordered list needs no copy that it did not need before.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_LAUNCH_LAUNCHGRAPH_H
#define WEFT_PASSES_LAUNCH_LAUNCHGRAPH_H

#include "passes/launch/LaunchList.h"

namespace weft::passes {

class LaunchGraph {
public:
  /// For a function after --weft-assign-queues.
  explicit LaunchGraph(ir::FuncOp func);

  /// All ops but the terminator, in the order of the text.
  std::vector<mlir::Operation *> ops;
  std::vector<llvm::SmallVector<unsigned, 4>> next, before; ///< edges, some of which may occur twice
  llvm::DenseMap<mlir::Operation *, unsigned> number;

  /// Whether an op is carried out without a launch, as views and constants are.
  bool isFree(unsigned op) const { return !isLaunch(ops[op]) && !llvm::isa<ir::UndefOp>(ops[op]); }
  /// Puts the ops of the function into this order.
  void apply(llvm::ArrayRef<unsigned> order) const;

private:
  void addEdge(unsigned from, unsigned to) {
    next[from].push_back(to);
    before[to].push_back(from);
  }
  /// Keeps ops that read the storage of `root` before `writer` in front of it.
  void keepReaders(mlir::Value root, mlir::Operation *writer);

  ir::FuncOp func;
};

/// Tracks the ops that can be issued next, and the ops that have been issued.
class ReadyOps {
public:
  /// Calls `ready(op)` for every op that becomes ready, except free ones, which are issued at once.
  ReadyOps(const LaunchGraph &graph, llvm::function_ref<void(unsigned)> ready);
  void issue(unsigned op, llvm::function_ref<void(unsigned)> ready);
  std::vector<unsigned> order; ///< the issued ops

private:
  void release(llvm::SmallVectorImpl<unsigned> &work, llvm::function_ref<void(unsigned)> ready);
  const LaunchGraph &graph;
  std::vector<unsigned> waits;
};

} // namespace weft::passes

#endif // WEFT_PASSES_LAUNCH_LAUNCHGRAPH_H
