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

/// The program with one size, that of the first dimension of some argument, or of the last, replaced by the
/// symbol `n` wherever the program goes on to have it, in the range from 1 to 64. Null where its ops do not
/// allow that.
mlir::OwningOpRef<mlir::ModuleOp> liftProgram(mlir::ModuleOp module, bool last);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_LIFT_H
