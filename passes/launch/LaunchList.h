//===- LaunchList.h - What a launch list is made of -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch list is a function of launches in the order in which they are issued, views, constants, and, if
// there is more than one queue, ops that order the queues. The attributes:
//
//   weft.queues   of the function: the names of its queues; left out where there is one only
//   weft.queue    of a launch: which of them it is issued to; 0 if left out
//   weft.capture  of a launch: which captured region it is part of; none if left out
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_LAUNCH_LAUNCHLIST_H
#define WEFT_PASSES_LAUNCH_LAUNCHLIST_H

#include "ir/Dialect.h"
#include "ir/LaunchAttributes.h"
#include "ir/Updates.h"
#include <map>
#include <vector>

namespace weft::passes {

/// Whether the op does something when it is run: a kernel, a library call, a copy, a host effect.
bool isLaunch(mlir::Operation *op);
/// Whether the host sees the op happen: such ops keep their order.
bool isEffect(mlir::Operation *op);
/// The device that runs a launch.
ir::DeviceAttr deviceOfLaunch(mlir::Operation *op);
/// Whether all launches run on the host. Only then may graphs contain launches of the host.
bool isHostProgram(ir::FuncOp func);
/// The code and the reason why a launch cannot be in a captured graph; empty for one that can.
std::pair<llvm::StringRef, llvm::StringRef> whyNotCapturable(mlir::Operation *op, bool hostProgram);
/// The queue of a launch, or of an ordering op.
unsigned queueOf(mlir::Operation *op);
/// How many queues a launch list has.
unsigned queueCount(ir::FuncOp func);

/// The name of the queue that computes on a device.
std::string computeQueueName(ir::DeviceAttr device);
/// The queue of that name; it is added to a function that has several queues and not this one.
unsigned computeQueueOf(ir::FuncOp func, ir::DeviceAttr device);

/// The last accesses of every byte of the storages of a plan, in the order in which they are added.
class StorageAccesses {
public:
  struct Access {
    unsigned queue = 0, number = 0; ///< the launch's number on its queue, from 1; 0 for none
    mlir::Operation *op = nullptr;
  };
  /// Adds an access to a slice; `before` gets the accesses of the same bytes that it must come after: a read
  /// comes after the last write, and a write also after the reads since then, the last of each queue.
  void add(ir::SliceAttr slice, bool write, const Access &access, llvm::SmallVectorImpl<Access> &before);

private:
  struct Range {
    int64_t end;
    Access writer;
    llvm::SmallVector<Access, 2> readers; ///< at most one a queue
  };
  using Ranges = std::map<int64_t, Range>; ///< by begin; they do not overlap
  static void splitAt(Ranges &ranges, int64_t at);
  std::map<std::pair<unsigned, int64_t>, Ranges> storages; ///< by kind, and number of argument or result
};

/// Calls `visit(slice, write)` for each storage that a launch reads or writes.
void forEachAccess(mlir::Operation *launch, llvm::function_ref<void(ir::SliceAttr, bool)> visit);

/// Emits an error for an op on a queue that the function does not have.
mlir::LogicalResult verifyQueueNumbers(ir::FuncOp func);
/// Emits an error for accesses of two queues without an order between them, and for work that is not forked
/// from and joined by the first queue (WEFT-C010).
mlir::LogicalResult verifyQueueOrder(ir::FuncOp func);

} // namespace weft::passes

#endif // WEFT_PASSES_LAUNCH_LAUNCHLIST_H
