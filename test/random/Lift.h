//===- Lift.h - Static programs with a dynamic dimension -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_LIFT_H
#define WEFT_TEST_RANDOM_LIFT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace weft::randomtest {

/// The program with one size replaced by the symbol `n`, from 1 to 64, in all shapes that follow from it. It
/// is the size of the first dimension of some argument, or, if `last`, of the last one. Null if the ops do
/// not allow any.
mlir::OwningOpRef<mlir::ModuleOp> liftProgram(mlir::ModuleOp module, bool last);

/// Whether a program has attention, which is several kernels if sizes are dynamic, and these round
/// differently (WEFT-N009).
bool attends(mlir::ModuleOp module);
/// Whether an index that is out of range may do anything at all.
bool assumesIndices(mlir::ModuleOp module);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_LIFT_H
