//===- Html.h - A program's explanation as one page --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TOOLS_WEFT_HTML_H
#define WEFT_TOOLS_WEFT_HTML_H

#include "codegen/Compile.h"
#include "weft/status.hpp"

#include <string>

namespace weft::tool {

/// Writes a page that refers to nothing outside of itself: per function the launches and what they exchange,
/// decisions with their codes, memory over time and what is captured, and the kernels of all.
Status writeHtml(const std::string &path, const std::string &program, const std::string &target,
                 const codegen::CompileReport &report, mlir::ModuleOp module);

} // namespace weft::tool

#endif // WEFT_TOOLS_WEFT_HTML_H
