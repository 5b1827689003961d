//===- Session.h - The compiler, seen from the frontend ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only interface between the recorded program and MLIR; no type of MLIR appears here. Session.cpp also
// implements graph/OpDefinitions.h, by which the graph asks about the definitions of ops while it records.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILER_SESSION_H
#define WEFT_FRONTEND_COMPILER_SESSION_H

#include "frontend/graph/Region.h"
#include "runtime/execution/Executable.h"

#include <span>

namespace weft::frontend {

/// A function as it was recorded, before any pass.
struct TraceModule;

/// A function of this process, ready to run.
struct Program {
  std::shared_ptr<runtime::Executable> executable;
  std::vector<std::byte> package;
  std::string traceText;   ///< as recorded
  std::string planText;    ///< with fusions, schedules and memory
  std::string explanation; ///< for people, in a few screens
  double compileMs = 0;    ///< in total, of which:
  double passMs = 0, kernelMs = 0;
  uint64_t kernelsCompiled = 0, kernelsFromCache = 0;
  bool mayFail = false;               ///< it can fail on values, such as an index out of bounds
  ir::CompilerOptions options;        ///< the options of its region
  std::vector<bool> shipped;          ///< per result: whether a package has it
  std::shared_ptr<TraceModule> trace; ///< to compile it again for other processors; null for a lazy program
};

/// Compiles a region for the CPU of this process. The caller holds the graph's lock. The lock is released
/// while passes and LLVM run, if that is permitted (`GraphPause`). `paused` is set if it was: then the caller
/// must read the graph anew.
Expected<std::shared_ptr<Program>> compileRegion(const Region &region, bool &paused);

/// Whether a package can be made for the target of that name: one that is of a CPU, or has a GPU.
bool isTargetOfPackages(const std::string &name);

/// The program as a package for these targets; one that names no level of the processor has code for every
/// level, not for that of this process only.
Expected<std::vector<std::byte>> compileForShipping(const Program &program,
                                                    const std::vector<std::string> &targets);

/// A full report on a program, as text, or as an HTML page with this title and `notes` before the tables. The
/// passes run once more on the recorded function.
Expected<std::string> explainInFull(const Program &program);
Expected<std::string> explainAsPage(const Program &program, const std::string &title,
                                    const std::string &notes);

/// How many programs this process has compiled.
uint64_t compileCount();

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILER_SESSION_H
