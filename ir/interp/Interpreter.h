//===- Interpreter.h - The reference interpreter ---------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The definition of the dialect's semantics, as plain loops on doubles and 64-bit integers. Every backend is
// compared with it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_INTERP_INTERPRETER_H
#define WEFT_IR_INTERP_INTERPRETER_H

#include "ir/Dialect.h"
#include "ir/interp/Literal.h"

#include "llvm/ADT/StringMap.h"

namespace weft::ir {

/// The state of a random generator.
struct GeneratorState {
  int64_t key = 0, counter = 0;
};

struct InterpreterOptions {
  /// The states that `weft.rng_state_load` reads. A function that fails leaves them unchanged.
  llvm::StringMap<GeneratorState> generators;
  /// A value with more elements than this is an error.
  int64_t maxElements = int64_t{1} << 28;
};

/// Runs a verified function with static sizes; `specialize` (ir/Specialize.h) makes such a function from one
/// with symbols. Errors (arguments of another type, an index out of range, a recursive call) are diagnostics
/// at the op. Donated arguments are not changed; their new values are results.
mlir::FailureOr<llvm::SmallVector<Literal>>
interpretFunction(FuncOp function, llvm::ArrayRef<Literal> arguments, InterpreterOptions &options);
/// The same for a function that uses no generator.
mlir::FailureOr<llvm::SmallVector<Literal>> interpretFunction(FuncOp function,
                                                              llvm::ArrayRef<Literal> arguments);

} // namespace weft::ir

#endif // WEFT_IR_INTERP_INTERPRETER_H
