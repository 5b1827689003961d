//===- LaunchStorage.h - Values that share storage --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_LAUNCH_LAUNCHSTORAGE_H
#define WEFT_PASSES_LAUNCH_LAUNCHSTORAGE_H

#include "ir/StorageHeads.h"

#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace weft::passes {

/// The storage heads of the values that the function returns.
llvm::DenseSet<mlir::Value> returnedHeads(ir::FuncOp func);

/// The bytes of the temporary that `result`, a result of a launch, begins, at the largest sizes; at most
/// 2^47, so that sums do not overflow. None if the storage is that of another value or of one in `returned`.
std::optional<int64_t> temporaryBytes(mlir::Value result, ir::StorageHeads &heads,
                                      const llvm::DenseSet<mlir::Value> &returned,
                                      const ir::SymbolRanges &ranges);

/// Whether launch `op` reads each element of operand `operand` only before it writes the element of result
/// `result` with the same linear index, or is a kernel of the user that changes the operand into the result.
/// Then both can share storage.
bool readsInPlace(mlir::Operation *op, unsigned operand, unsigned result);

/// The same for all operands of the launch with the storage of `root`: the value itself, and views of it.
bool readsOnlyInPlace(mlir::Operation *op, mlir::Value root, unsigned result);

/// The slice of a launch's result, or null. The slice of an argument is the argument itself.
ir::SliceAttr sliceOf(mlir::Value value);

/// Whether a launch writes the storage of an argument, which a failed call must not change.
bool writesArgument(mlir::Operation *launch);

} // namespace weft::passes

#endif // WEFT_PASSES_LAUNCH_LAUNCHSTORAGE_H
