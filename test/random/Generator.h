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

/// The name of the function that is tested; others are called by it.
inline constexpr llvm::StringLiteral kEntry = "main";

/// A verified program, the same for one seed on every machine. Its arguments are named as Inputs.h says, so
/// that with the same seed they get values on which most of the program is finite. It has a few ops, or
/// about `length` of them.
mlir::OwningOpRef<mlir::ModuleOp> generateProgram(mlir::MLIRContext &context, const OpCatalog &catalog,
                                                  uint64_t seed,
                                                  std::optional<uint64_t> length = std::nullopt);
/// An op of the catalogue that the generator has no way to make, or nothing.
std::optional<std::string> findMissingSampler(const OpCatalog &catalog);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_GENERATOR_H
