//===- LaunchList.h - Launches, queues and accesses -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch list is a function that contains launches in the order in which they are issued, views, constants,
// and, if there is more than one queue, ops that order the queues. Its attributes:
//
//   weft.queues   of the function: the names of its queues; absent if there is only one
//   weft.queue    of a launch: the number of its queue; 0 if absent
//   weft.capture  of a launch: the number of its captured region; none if absent
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

/// Whether the op is carried out in a call: a kernel, a library call, a copy or an effect on the host.
bool isLaunch(mlir::Operation *op);
/// Whether the op has an effect that the host sees. Such ops keep their order.
bool isEffect(mlir::Operation *op);
/// The device that runs a launch.
ir::DeviceAttr deviceOfLaunch(mlir::Operation *op);
/// Whether a launch finds out by itself if a check of the call has failed, and then does nothing. On the host
/// every launch does, since the host looks before it begins one. On another device nobody looks between
/// launches: a kernel reads the record of failures first, and a library call or a kernel of the user cannot.
bool canBePredicated(mlir::Operation *op);
/// Whether all launches run on the host. Only then may graphs contain launches of the host.
bool isHostProgram(ir::FuncOp func);
/// The code and the reason if a launch cannot be in a captured graph; empty if it can.
std::pair<llvm::StringRef, llvm::StringRef> whyNotCapturable(mlir::Operation *op, bool hostProgram);
/// The queue of a launch, or of an ordering op.
unsigned queueOf(mlir::Operation *op);
/// How many queues a launch list has.
unsigned queueCount(ir::FuncOp func);

/// The name of the queue that computes on a device.
std::string computeQueueName(ir::DeviceAttr device);
/// The number of that queue. It is added to a function that has several queues but not this one.
unsigned computeQueueOf(ir::FuncOp func, ir::DeviceAttr device);

/// Tracks the last accesses to every byte of the storages of a plan.
class StorageAccesses {
public:
  struct Access {
    unsigned queue = 0, number = 0; ///< the launch's number on its queue, from 1; 0 for none
    mlir::Operation *op = nullptr;
  };
  /// Adds an access to a slice. `before` gets the accesses to the same bytes that it must come after: for a
  /// read the last write, and for a write also the last read of each queue since then.
  void add(ir::SliceAttr slice, bool write, const Access &access, llvm::SmallVectorImpl<Access> &before);

private:
  struct Range {
    int64_t end;
    Access writer;
    llvm::SmallVector<Access, 2> readers; ///< at most one a queue
  };
  using Ranges = std::map<int64_t, Range>; ///< by begin; they do not overlap
  static void splitAt(Ranges &ranges, int64_t at);
  std::map<std::pair<unsigned, int64_t>, Ranges> storages; ///< by kind and number of the argument or result
};

/// Calls `visit(slice, write)` for each slice that a launch reads or writes.
void forEachAccess(mlir::Operation *launch, llvm::function_ref<void(ir::SliceAttr, bool)> visit);

/// Emits an error for an op on a queue that the function does not have.
mlir::LogicalResult verifyQueueNumbers(ir::FuncOp func);
/// Emits an error for conflicting accesses on two queues that are not ordered, and for a queue that is not
/// forked from the first queue and joined by it (WEFT-C010).
mlir::LogicalResult verifyQueueOrder(ir::FuncOp func);

} // namespace weft::passes

#endif // WEFT_PASSES_LAUNCH_LAUNCHLIST_H
