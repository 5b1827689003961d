//===- Compile.h - From a module to a package -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_COMPILE_H
#define WEFT_CODEGEN_COMPILE_H

#include "ir/CompilerOptions.h"
#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"

#include <cstddef>
#include <string>
#include <vector>

namespace weft::codegen {

/// One kernel of the result. Launches whose kernels are equal share one.
struct KernelReport {
  std::string symbol;
  std::string kernelIr; ///< upstream dialects, before machine code
  unsigned launches = 0;
};

/// What was made of one function.
struct FunctionReport {
  std::string name;
  std::string plan;      ///< the launch list as a table
  std::string decisions; ///< fusions and refusals, ranked by cost, with codes and lines
  std::string capture;   ///< what is captured and what not, in a few lines
  uint64_t arenaBytes = 0, arenaLowerBound = 0; ///< at the largest sizes
};

struct CompileReport {
  std::vector<FunctionReport> functions;
  std::vector<KernelReport> kernels;
  double passMs = 0, kernelMs = 0;
  uint64_t kernelsCompiled = 0, kernelsFromCache = 0;
  /// For people.
  std::string str() const;
};

struct CompiledModule {
  std::vector<std::byte> package;
  CompileReport report;
};

/// Runs the pipeline on `module`, which then holds the launch lists, compiles its kernels and writes a
/// package with every public function. Errors name the op and its location.
Expected<CompiledModule> compileModule(mlir::ModuleOp module, const ir::CompilerOptions &options = {});

/// Runs the pipeline only. Diagnostics go to the context's handler and into the error.
Status runPipeline(mlir::ModuleOp module, const ir::CompilerOptions &options = {});

/// What is known of the functions of a module that `runPipeline` has been through: everything but kernels.
CompileReport reportPlan(mlir::ModuleOp module);

/// The kernels of a module that `runPipeline` has been through, as kernel IR, by symbol.
Expected<std::vector<std::pair<std::string, mlir::OwningOpRef<mlir::ModuleOp>>>>
emitKernels(mlir::ModuleOp module);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_COMPILE_H
