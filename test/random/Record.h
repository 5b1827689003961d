//===- Record.h - Programs with their values, for other machines -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_RECORD_H
#define WEFT_TEST_RANDOM_RECORD_H

#include "Bounds.h"
#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace weft::randomtest {

/// Writes PATH.mlir, the program, and PATH.case, its arguments and what the interpreter gives for them, with
/// the error that each element may have (test/gpu/RecordedCase.h). scripts/gpu-check compiles the program to
/// a package, which weft-gpu-check calls on a machine without a compiler.
Status recordProgram(const std::string &path, mlir::ModuleOp module, llvm::ArrayRef<ir::Literal> inputs,
                     uint64_t seed, llvm::ArrayRef<Bounded> results);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_RECORD_H
