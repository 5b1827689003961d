//===- Check.h - Whether a program means the same everywhere ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_CHECK_H
#define WEFT_TEST_RANDOM_CHECK_H

#include "Bounds.h"
#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <functional>
#include <optional>
#include <string>

namespace weft::randomtest {

/// Compiles a module, which it may change, and calls its function `main`. `inputs` are those of the function
/// as it was given; results beyond the function's own are not returned.
using Backend = std::function<Expected<llvm::SmallVector<ir::Literal>>(
    mlir::ModuleOp module, llvm::ArrayRef<ir::Literal> inputs, uint64_t seed)>;

struct CheckOptions {
  /// Interpret the program again after every pass, for the host and for a device beside it.
  bool passes = false;
  /// What is compared with the interpreter, or none.
  Backend backend;
  /// Compile the program once more with a dynamic dimension, where its ops allow that, and compare with what
  /// it gives where that is a number: the same bits.
  bool dynamic = false;
  /// Adds passes that run before those of the pipeline; none but in the self-test.
  std::function<void(mlir::OpPassManager &)> before;
};

struct Failure {
  std::string stage;   ///< "after weft-simplify", "backend", ...
  std::string message; ///< with the numbers
};

/// How much of what was compared could be.
struct Statistics {
  int64_t elements = 0, unknown = 0, stages = 0, failing = 0, lifted = 0, moved = 0;
};

/// Nothing if all agree. Every diagnostic on the way is part of a failure's message; none is printed.
std::optional<Failure> checkProgram(mlir::ModuleOp module, uint64_t seed, const CheckOptions &options,
                                    Statistics *statistics = nullptr);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_CHECK_H
