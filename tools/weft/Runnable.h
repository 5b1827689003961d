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
#include "runtime/execution/Executable.h"

#include <map>

namespace weft::tool {

struct Runnable {
  Program program; ///< as it was read; without a module for a package
  std::string function;
  std::shared_ptr<runtime::Executable> executable;
  std::vector<std::shared_ptr<runtime::Buffer>> buffers;
  std::vector<ir::Literal> literals;    ///< of the buffers
  std::map<std::string, int64_t> sizes; ///< the value of each symbol of dynamic dimensions
  /// By argument, whether it is state that has a name and a value: the package keeps one, or a file gave it.
  std::vector<bool> isState;
};

/// The requests of the command line.
struct RunRequest {
  std::string path, function;      ///< an empty function is the only one
  std::vector<std::string> inputs; ///< of the arguments that are no state, in order
  std::vector<std::string> sizes;  ///< the values of symbols, NAME=NUMBER; left out, shapes give them
  std::string target;              ///< what a program is compiled for; empty for cpu
  std::string device;              ///< where it runs; empty for what WEFT_DEVICE says
  std::string stateFile; ///< .npz or .safetensors: values of state by name, before those of the package
};

/// Compiles a program, or opens a package, and makes the arguments of one function: state from the file or
/// the package, what is given, and random numbers for the others, the same every time.
Expected<std::unique_ptr<Runnable>> makeRunnable(const RunRequest &request);

/// Reads or writes named arrays, in the format that the name of the file ends in.
Expected<std::vector<io::NamedArray>> readArrays(const std::string &path);
Status writeArrays(const std::string &path, std::span<const io::NamedView> arrays);

/// "2x3xf32".
std::string typeText(DType dtype, const std::vector<int64_t> &shape);

} // namespace weft::tool

#endif // WEFT_TOOLS_WEFT_RUNNABLE_H
