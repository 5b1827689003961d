//===- RandomProgram.h - Functions to try passes on ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_FUSION_RANDOMPROGRAM_H
#define WEFT_TEST_UNIT_FUSION_RANDOMPROGRAM_H

#include "ir/Dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include <random>

namespace weft::test {

/// A module with one function `f` of about `count` ops: elementwise chains, broadcasts, views, reductions
/// over any dimensions, contractions, indexing, and tied results. The same seed gives the same text.
mlir::OwningOpRef<mlir::ModuleOp> randomProgram(mlir::MLIRContext &context, unsigned seed, unsigned count);

/// Values for the arguments of a function: small numbers, and valid indices for i64.
std::vector<ir::Literal> randomArguments(ir::FuncOp func, unsigned seed);

} // namespace weft::test

#endif // WEFT_TEST_UNIT_FUSION_RANDOMPROGRAM_H
