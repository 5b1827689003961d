//===- Compile.h - From a module to a package -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_COMPILE_H
#define WEFT_CODEGEN_COMPILE_H

#include "codegen/Report.h"
#include "codegen/cpu/LowerKernel.h"
#include "ir/ContractionLibrary.h"
#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace weft::codegen {

/// How the passes are run.
struct PipelineRequest {
  /// Whose costs and sizes decide, a name of ir/devices. Kernels are made for CPUs only: compiling for
  /// another target is WEFT-E001, its launch list can be made and explained.
  std::string target = "cpu";
  /// The first and the last phase (passes/Pipeline.h); empty for all from the start, and to the end.
  std::string from, to;
  /// Families of refusals that are errors: "fusion,donate,capture".
  std::string strict;
  /// "eager" or "fast" for every function of the module; empty for what each says of itself. An error for
  /// text of which phases before `from` have applied the other.
  std::string numerics;
  /// Passes to leave out, as "weft-simplify".
  std::vector<std::string> disabled;
  /// Where the text after each phase goes, as "03-differentiation.mlir"; empty for nowhere.
  std::string dumpFolder;
  /// Bytes of temporaries from which launches are put into another order that needs less; -1 for never.
  int64_t memoryLimit = -1;
  /// Who answers what is taken of a contraction. Null: for a package the library of this process, else the
  /// table of the target.
  const ir::ContractionLibrary *library = nullptr;
  /// Called with the module after each phase; null for nobody.
  std::function<void(llvm::StringRef phase, mlir::ModuleOp module)> afterPhase = nullptr;
};

struct CompileOptions {
  /// The levels to make kernels for; empty means that of this processor.
  std::vector<CpuTarget::Level> levels;
  /// Threads that compile kernels; 0 means one per core that the process may use.
  unsigned threads = 0;
  PipelineRequest pipeline;
};

struct CompiledModule {
  std::vector<std::byte> package;
  CompileReport report;
};

/// Runs the pipeline on `module`, which then holds the launch lists, compiles its kernels and writes a
/// package with every public function. Errors name the op and its location.
Expected<CompiledModule> compileModule(mlir::ModuleOp module, const CompileOptions &options = {});

/// Runs the pipeline only. Diagnostics go to the context's handler and into the error.
Status runPipeline(mlir::ModuleOp module, const PipelineRequest &request = {});

/// Runs the pipeline on `module` as compileModule would, and reports what it made, kernels included, but no
/// machine code.
Expected<CompileReport> explainModule(mlir::ModuleOp module, const PipelineRequest &request = {});

/// The kernels of a module that `runPipeline` has been through, as kernel IR, by symbol.
Expected<std::vector<std::pair<std::string, mlir::OwningOpRef<mlir::ModuleOp>>>>
emitKernels(mlir::ModuleOp module);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_COMPILE_H
