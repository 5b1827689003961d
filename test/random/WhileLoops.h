//===- WhileLoops.h - While loops of programs with random values -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_WHILELOOPS_H
#define WEFT_TEST_RANDOM_WHILELOOPS_H

#include "ir/Loops.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace weft::randomtest {

/// The most trips of a while loop in a program that is checked with random values, with which it may
/// otherwise never end.
inline constexpr int64_t mostTrips = 5;

/// The same loop with a last carry that counts its trips, and ends it after `trips`. Copies its functions.
ir::WhileOp limitTrips(ir::WhileOp loop, mlir::SymbolTable &symbols, int64_t trips);
/// Limits every while loop of a module to `mostTrips` trips.
void limitTrips(mlir::ModuleOp module);

/// Replaces while loops of at most `mostTrips` trips by one condition more. The derivative of a condition is
/// that of the branch that is taken, so that a trip that does not run adds nothing to a gradient, as it adds
/// nothing in the program. Selects would multiply its derivative by 0, which infinities make NaN.
void writeOutWhileLoops(mlir::ModuleOp module);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_WHILELOOPS_H
