//===- MemoryPlanVerifier.h - Proof that a memory plan is sound *- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_LAUNCH_MEMORYPLANVERIFIER_H
#define WEFT_PASSES_LAUNCH_MEMORYPLANVERIFIER_H

#include "ir/Dialect.h"

namespace weft::passes {

/// Proves that the memory plan of a function is sound; emits an error for each fault.
mlir::LogicalResult verifyMemoryPlan(ir::FuncOp func);

} // namespace weft::passes

#endif // WEFT_PASSES_LAUNCH_MEMORYPLANVERIFIER_H
