//===- CompilerOptions.h - How a program is compiled ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One type for every stage: the frontend makes it from the user's `CompileOptions` and the tools from a
// command line, `codegen/Compile.h` takes it, and the passes read it. Set fields by name. Plain C++.
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
  /// Whose costs and sizes decide (ir/Target.h); one without devices maps every logical device to the host.
  /// Kernels are made for CPUs only: compiling for another target is WEFT-E001, its launch list can be made
  /// and explained.
  std::string target = "cpu";
  /// What a package is made for, where that is several targets, or another one: each has its own plan and
  /// kernels in it. Empty: `target` alone.
  std::vector<std::string> targets = {};
  /// Where the program is, "cuda:0", or each of its devices, "cpu=cuda:0" with commas between
  /// (passes/MapDevices.cpp); empty: what follows from the target.
  std::string devices = {};
  /// The processors to make kernels for, "x86-64-v3" and "x86-64-v4", where the target does not say; empty:
  /// the one that compiles.
  std::vector<std::string> levels = {};
  /// "eager" or "fast" for every function of the module; empty for each function's own setting. It is an
  /// error if phases before `from` have applied the other one to the text.
  std::string numerics = {};
  /// Families of refusals that are errors, as "fusion,donate,capture" (ir/Reasons.h). Implies `report`.
  std::string strict = {};
  /// If temporaries need more bytes than this, launches are reordered to need less; -1 for no limit.
  int64_t memoryLimit = -1;
  /// The library that is asked which contractions it supports; it must outlive the passes. Null: the library
  /// of this process for a package, otherwise the target's table.
  const ContractionLibrary *library = nullptr;

  /// The first and the last phase to run (passes/Pipeline.h); empty for all from the start, and to the end.
  std::string from = {}, to = {};
  /// Passes to leave out, by argument ("weft-simplify"). Later stages report an error if they need a pass
  /// that was left out.
  std::vector<std::string> disabled = {};
  /// Record what was fused and what was refused, with codes and lines, in `weft.decisions` of each function.
  /// compileModule and runPipeline always do.
  bool report = false;
  /// The folder for the text after each phase, such as "03-differentiation.mlir"; empty for none.
  std::string dumpFolder = {};
  /// Threads that compile kernels; 0 means one per core that the process may use.
  unsigned threads = 0;
};

} // namespace weft::ir

#endif // WEFT_IR_COMPILEROPTIONS_H
