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
  Program program; ///< the program as it was read; has no module for a package
  std::string function;
  std::shared_ptr<runtime::Executable> executable;
  std::vector<std::shared_ptr<runtime::Buffer>> buffers;
  std::vector<ir::Literal> literals;    ///< the values of the buffers
  std::map<std::string, int64_t> sizes; ///< the value of each symbol of dynamic dimensions
  /// By argument, whether it is state with a name and a value, from the package or a file.
  std::vector<bool> isState;
};

/// The requests of the command line.
struct RunRequest {
  std::string path, function;      ///< an empty function stands for the only one
  std::vector<std::string> inputs; ///< for the arguments that are not state, in order
  std::vector<std::string> sizes;  ///< the values of symbols, NAME=NUMBER; others follow from shapes
  std::string target;              ///< the target of the program; empty for that of the device
  std::string device;    ///< where it runs (runtime/execution/NamedDevices.h); empty for WEFT_DEVICE
  std::string stateFile; ///< .npz or .safetensors: values of state by name, before those of the package
};

/// What --help says of `target` and `device`.
inline constexpr const char *placeHelp =
    R"(  --target TARGET      what a program is compiled for: cpu, x86-64-v3 or x86-64-v4, one of these with its cores, as
                       cpu:16, or one with a GPU, as cuda:sm_90; if left out, that of the device
  --device DEVICE      where it runs: cpu, or a GPU, as cuda:0, to which a program of the host moves; with several,
                       each device of the file, as cuda:0=cuda:1,cuda:1=cuda:0. If left out, WEFT_DEVICE; without
                       that a program runs on the host, and a package for GPUs on the devices that it names, if
                       they are there
)";

/// Compiles a program or opens a package, and makes the arguments of one function: state from the file or the
/// package, the given inputs, and random numbers for the others, which are the same in every run.
Expected<std::unique_ptr<Runnable>> makeRunnable(const RunRequest &request);

/// The bytes of a buffer whose calls are done, on whichever device it is.
Expected<std::vector<std::byte>> bytesOf(const runtime::Buffer &buffer);

/// Reads or writes named arrays in the format of the file's suffix.
Expected<std::vector<io::NamedArray>> readArrays(const std::string &path);
Status writeArrays(const std::string &path, std::span<const io::NamedView> arrays);

/// "2x3xf32".
std::string typeText(DType dtype, const std::vector<int64_t> &shape);

} // namespace weft::tool

#endif // WEFT_TOOLS_WEFT_RUNNABLE_H
