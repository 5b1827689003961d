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

/// Smaller and smaller verified programs for which `fails` holds, as it must for `module`: fewer results, ops
/// replaced by operands, arguments and constants, smaller dimensions. Stops where no step is left, or after
/// `maxAttempts`.
mlir::OwningOpRef<mlir::ModuleOp> shrinkProgram(mlir::ModuleOp module,
                                                llvm::function_ref<bool(mlir::ModuleOp)> fails,
                                                int64_t maxAttempts = 3000);

/// The ops of the entry function that compute: no constants, no return.
int64_t countOps(mlir::ModuleOp module);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_SHRINK_H
