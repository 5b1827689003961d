//===- Shrink.h - A small program that fails alike -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_SHRINK_H
#define WEFT_TEST_RANDOM_SHRINK_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace weft::randomtest {

/// Reduces `module`, for which `fails` holds, to a small verified program for which it also holds. Steps
/// remove results, replace ops by operands, arguments and constants, and reduce dimensions. Stops if no step
/// is possible, or after `maxAttempts`.
mlir::OwningOpRef<mlir::ModuleOp> shrinkProgram(mlir::ModuleOp module,
                                                llvm::function_ref<bool(mlir::ModuleOp)> fails,
                                                int64_t maxAttempts = 3000);

/// The number of ops in the entry function, without constants and the return.
int64_t countOps(mlir::ModuleOp module);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_SHRINK_H
