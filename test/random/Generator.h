//===- Generator.h - Random programs ---------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_GENERATOR_H
#define WEFT_TEST_RANDOM_GENERATOR_H

#include "OpCatalog.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace weft::randomtest {

/// The name of the tested function, which may call others.
inline constexpr llvm::StringLiteral kEntry = "main";

/// A verified program, which is the same for one seed on every machine. The names of its arguments (Inputs.h)
/// and the seed determine their values, with which most results are finite. It has a few ops, or about
/// `length`.
mlir::OwningOpRef<mlir::ModuleOp> generateProgram(mlir::MLIRContext &context, const OpCatalog &catalog,
                                                  uint64_t seed,
                                                  std::optional<uint64_t> length = std::nullopt);
/// An op of the catalogue that the generator cannot make, or nothing.
std::optional<std::string> findMissingSampler(const OpCatalog &catalog);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_GENERATOR_H
