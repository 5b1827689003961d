//===- Runnable.h - A function of a program or package, with inputs ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TOOLS_WEFT_RUNNABLE_H
#define WEFT_TOOLS_WEFT_RUNNABLE_H

#include "Tool.h"

#include "ir/interp/Literal.h"
#include "runtime/Executable.h"

#include <map>

namespace weft::tool {

struct Runnable {
  Program program; ///< as it was read; without a module for a package
  std::string function;
  std::shared_ptr<runtime::Executable> executable;
  std::vector<std::shared_ptr<runtime::Buffer>> buffers;
  std::vector<ir::Literal> literals;    ///< of the buffers
  std::map<std::string, int64_t> sizes; ///< the value of each symbol of dynamic dimensions
};

/// Compiles a program, or opens a package, and makes the arguments of one function: those that are given, and
/// random numbers for the others, the same every time. An empty `function` is the only one. `sizes` has the
/// values of symbols, NAME=NUMBER; left out, the shapes of the inputs give them.
Expected<std::unique_ptr<Runnable>> makeRunnable(const std::string &path, const std::string &function,
                                                 const std::vector<std::string> &inputs,
                                                 const std::string &target,
                                                 const std::vector<std::string> &sizes = {});

/// "2x3xf32".
std::string typeText(DType dtype, const std::vector<int64_t> &shape);

} // namespace weft::tool

#endif // WEFT_TOOLS_WEFT_RUNNABLE_H
