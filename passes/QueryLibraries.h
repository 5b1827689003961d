//===- QueryLibraries.h - A library to ask in place of the table -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_QUERYLIBRARIES_H
#define WEFT_PASSES_QUERYLIBRARIES_H

#include "ir/ContractionLibrary.h"
#include "passes/Passes.h"

namespace weft::passes {

/// The pass with a library that is there, which outlives it; null for the table of the target.
std::unique_ptr<mlir::Pass> createQueryLibraries(const QueryLibrariesOptions &options,
                                                 const ir::ContractionLibrary *library);

} // namespace weft::passes

#endif // WEFT_PASSES_QUERYLIBRARIES_H
