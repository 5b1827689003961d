//===- CompilerOptions.h - Options of a compilation -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options of a compilation, for all stages. The frontend makes them from the user's `CompileOptions`, and
// the tools from a command line; `codegen/Compile.h` takes them, and the passes read them. Set fields by
// name. This header is plain C++, because the frontend includes it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_COMPILEROPTIONS_H
#define WEFT_IR_COMPILEROPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace weft::ir {

class ContractionLibrary;

struct CompilerOptions {
  /// The name of the target whose descriptions are used (ir/Target.h). A target without devices maps every
  /// logical device to the host. Kernels are compiled for CPUs only: compiling for another target is
  /// WEFT-E001, but its launch list can be made and explained.
  std::string target = "cpu";
  /// The targets of a package, each of which has its own plan and kernels. Empty: only `target`.
  std::vector<std::string> targets = {};
  /// A device for the whole program, "cuda:0", or replacements of its devices, "cpu=cuda:0", separated by
  /// commas (passes/MapDevices.cpp). Empty: as the target implies.
  std::string devices = {};
  /// The processor levels to compile kernels for, "x86-64-v3" and "x86-64-v4", if the target does not name
  /// one. Empty: the level of the compiling machine.
  std::vector<std::string> levels = {};
  /// "eager" or "fast" for every function of the module; empty for each function's own setting. It is an
  /// error if phases before `from` have applied the other numerics to the text.
  std::string numerics = {};
  /// Families of refusals that are errors, as "fusion,donate,capture" (ir/Reasons.h). Implies `report`.
  std::string strict = {};
  /// If temporaries need more bytes than this, launches are reordered to need less; -1 for no limit.
  int64_t memoryLimit = -1;
  /// The library whose answers decide which contractions it computes; it must outlive the passes. Null: the
  /// library of this process for a package, otherwise the target's table.
  const ContractionLibrary *library = nullptr;

  /// The first and the last phase to run (passes/Pipeline.h); empty for all from the start, and to the end.
  std::string from = {}, to = {};
  /// Passes to leave out, by argument ("weft-simplify"). Later stages report an error if they need a pass
  /// that was left out.
  std::vector<std::string> disabled = {};
  /// Record fusions and refusals, with codes and lines, in `weft.decisions` of each function. compileModule()
  /// and runPipeline() always do.
  bool report = false;
  /// The folder for the text after each phase, such as "03-differentiation.mlir"; empty for none.
  std::string dumpFolder = {};
  /// Threads that compile kernels; 0 means one per core that the process may use.
  unsigned threads = 0;
};

} // namespace weft::ir

#endif // WEFT_IR_COMPILEROPTIONS_H
