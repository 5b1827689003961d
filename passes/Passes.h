//===- Passes.h - The passes of Weft ---------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_PASSES_H
#define WEFT_PASSES_PASSES_H

#include "ir/Dialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace weft::ir {
class ContractionLibrary;
} // namespace weft::ir

namespace weft::passes {

// Declarations of `createX()` and of the options of every pass in Passes.td.
#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

/// The most loops and branches that a body of one is in, which a plan has (runtime::mostNested).
inline constexpr int64_t mostNestedBodies = 32;

/// The pass QueryLibraries with a library, which must outlive the pass. Null: use the table of the target.
std::unique_ptr<mlir::Pass> createQueryLibraries(const QueryLibrariesOptions &options,
                                                 const ir::ContractionLibrary *library);

/// The pass LowerConvolutions, which asks the same library.
std::unique_ptr<mlir::Pass> createLowerConvolutions(const LowerConvolutionsOptions &options,
                                                    const ir::ContractionLibrary *library);

// Declares `registerWeftPasses()`, which registers the passes for `weft-opt`.
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace weft::passes

#endif // WEFT_PASSES_PASSES_H
