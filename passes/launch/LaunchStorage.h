//===- LaunchStorage.h - Which values share storage ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_LAUNCH_LAUNCHSTORAGE_H
#define WEFT_PASSES_LAUNCH_LAUNCHSTORAGE_H

#include "ir/Dialect.h"

namespace weft::passes {

/// The value whose storage `value` is a view of: itself, unless it is a reshape or bitcast.
mlir::Value storageRoot(mlir::Value value);

/// The same, also through updates, which write in place: the first value in the storage.
mlir::Value storageHead(mlir::Value value);

/// Whether launch `op` reads each element of operand `operand` only before it writes the element of result
/// `result` with the same linear index. Then both can share storage.
bool readsInPlace(mlir::Operation *op, unsigned operand, unsigned result);

/// The same for every operand of the launch that is stored where `root` is: the value, and its views.
bool readsOnlyInPlace(mlir::Operation *op, mlir::Value root, unsigned result);

/// What a launch's result is stored in, or null. Arguments have the storage of their number.
ir::SliceAttr sliceOf(mlir::Value value);

} // namespace weft::passes

#endif // WEFT_PASSES_LAUNCH_LAUNCHSTORAGE_H
