//===- StorageHeads.h - Values that hold their storage first ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_STORAGEHEADS_H
#define WEFT_IR_STORAGEHEADS_H

#include "ir/Dialect.h"

#include "llvm/ADT/DenseMap.h"

namespace weft::ir {

/// The value whose storage `value` is a view of: itself, unless it is a reshape or bitcast.
mlir::Value storageRoot(mlir::Value value);

/// The same, also through updates, which write in place: the first value that the storage holds.
mlir::Value storageHead(mlir::Value value);

/// storageHead() of many values of a function that does not change meanwhile: each update of a chain is
/// followed once.
class StorageHeads {
public:
  mlir::Value of(mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, mlir::Value> heads; ///< by the result of an update
};

} // namespace weft::ir

#endif // WEFT_IR_STORAGEHEADS_H
