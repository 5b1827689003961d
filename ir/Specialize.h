//===- Specialize.h - A function for given sizes ---------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_SPECIALIZE_H
#define WEFT_IR_SPECIALIZE_H

#include "ir/Dialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft::ir {

/// Replaces symbols by numbers in the types, attributes and constants of a module. Types without remaining
/// symbols become static. A value outside of the range that a function declares is an error.
mlir::LogicalResult specialize(mlir::ModuleOp module, const std::map<std::string, int64_t> &values);

} // namespace weft::ir

#endif // WEFT_IR_SPECIALIZE_H
