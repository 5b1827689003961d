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

/// Compiles a module, which it may change, and calls its function `main`. `inputs` are the arguments of the
/// original function. Results that passes added are not returned.
using Backend = std::function<Expected<llvm::SmallVector<ir::Literal>>(
    mlir::ModuleOp module, llvm::ArrayRef<ir::Literal> inputs, uint64_t seed)>;

struct CheckOptions {
  /// Interpret the program after every pass, for the host and for a second device.
  bool passes = false;
  /// The backend that is compared with the interpreter, or none.
  Backend backend;
  /// Also compile the program with a dynamic dimension, if its ops allow that. It must give the same bits as
  /// with static sizes.
  bool dynamic = false;
  /// Of a backend whose kernels may add in another order where a size is 1, which is then no loop, and for
  /// attention: such programs with a dynamic dimension must only be within their bounds.
  bool roundsBySize = false;
  /// Called with a program that does not fail, its arguments, and what the interpreter gives for them.
  std::function<void(mlir::ModuleOp, llvm::ArrayRef<ir::Literal>, llvm::ArrayRef<Bounded>)> record;
  /// Adds passes before those of the pipeline. Only the self-test uses it.
  std::function<void(mlir::OpPassManager &)> before;
};

struct Failure {
  std::string stage;   ///< "after weft-simplify", "backend", ...
  std::string message; ///< with the numbers
};

/// Counts of compared elements, of those that are unknown, and of checks.
struct Statistics {
  int64_t elements = 0, unknown = 0, stages = 0, failing = 0, lifted = 0, moved = 0;
};

/// Checks a program; returns nothing if all results agree. Diagnostics are not printed, but are part of a
/// failure's message.
std::optional<Failure> checkProgram(mlir::ModuleOp module, uint64_t seed, const CheckOptions &options,
                                    Statistics *statistics = nullptr);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_CHECK_H
