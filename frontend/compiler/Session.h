//===- Session.h - The compiler, seen from the frontend ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only door between the recorded program and MLIR: nothing of MLIR shows here. What the graph asks of the
// definitions of ops while it records goes through the same door, by graph/OpDefinitions.h, since the graph
// is below this room.
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
  std::string explanation; ///< for people, a few screens
  double compileMs = 0;    ///< all of it; of that:
  double passMs = 0, kernelMs = 0;
  uint64_t kernelsCompiled = 0, kernelsFromCache = 0;
  bool mayFail = false;               ///< running it can fail on values: an index out of bounds
  ir::CompilerOptions options;        ///< of its region
  std::vector<bool> shipped;          ///< per result: whether a package has it
  std::shared_ptr<TraceModule> trace; ///< to compile it again, for other processors; null in the lazy graph
};

/// Compiles a region for the CPU of this process. The caller holds the graph's lock, which is paused while
/// passes and LLVM run, where that is permitted (`GraphPause`). `paused`: whether it was, so that what the
/// caller knows of the graph may be old.
Expected<std::shared_ptr<Program>> compileRegion(const Region &region, bool &paused);

/// What the name of a target stands for.
enum class TargetKind : uint8_t { none, host, device };
TargetKind kindOfTarget(const std::string &name);

/// The program as a package for these targets; one that names no level of the processor has code for every
/// level, not for that of this process only.
Expected<std::vector<std::byte>> compileForShipping(const Program &program,
                                                    const std::vector<std::string> &targets);

/// Everything that is known of a program, made when it is asked for: the passes run once more on what was
/// recorded. As text, or as a page of HTML with this title, which has `notes` before the tables.
Expected<std::string> explainInFull(const Program &program);
Expected<std::string> explainAsPage(const Program &program, const std::string &title,
                                    const std::string &notes);

/// How many times this process compiled something.
uint64_t compileCount();

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILER_SESSION_H
