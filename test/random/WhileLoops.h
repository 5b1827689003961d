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

/// What the trips of a loop that is written out are. Selects share nothing with the derivative of a loop, but
/// multiply the derivative of a trip that does not run by 0, which infinities make NaN. The derivative of a
/// condition is that of the branch that is taken, so that such a trip adds nothing to a gradient, as it adds
/// nothing in the program; but the same code makes it and the derivative of a loop's trip.
enum class WrittenTrips { selects, conditions };

/// Replaces while loops of at most `mostTrips` trips by so many selects, or by one condition more.
void writeOutWhileLoops(mlir::ModuleOp module, WrittenTrips trips);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_WHILELOOPS_H
