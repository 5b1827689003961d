//===- Explain.h - The modes of WEFT_EXPLAIN ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_EXPLAIN_H
#define WEFT_FRONTEND_COMPILED_EXPLAIN_H

namespace weft::frontend {

enum class ExplainMode {
  off,
  variants,  ///< what `explain()` says of each variant that is compiled
  full,      ///< what `explain({.full = true})` says of it
  recompile, ///< why a function was compiled again
};

/// The present value of WEFT_EXPLAIN. An unknown value counts as off, and is reported once on standard error.
ExplainMode explainMode();

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_EXPLAIN_H
