//===- Compile.h - From a module to a package -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_COMPILE_H
#define WEFT_CODEGEN_COMPILE_H

#include "codegen/Report.h"
#include "ir/CompilerOptions.h"
#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace weft::codegen {

/// Called with the module after each phase.
using AfterPhase = std::function<void(llvm::StringRef phase, mlir::ModuleOp module)>;

struct CompiledModule {
  std::vector<std::byte> package;
  CompileReport report;
};

/// Runs the pipeline on `module`, which then holds the launch lists, compiles its kernels and writes a
/// package with every public function. Where several targets are asked for, each after the first is compiled
/// from a copy of the module, and has plans and kernels of its own in the package; the module, the report
/// and `afterPhase` are the first's. Errors name the op and its location.
Expected<CompiledModule> compileModule(mlir::ModuleOp module, const ir::CompilerOptions &options = {},
                                       const AfterPhase &afterPhase = nullptr);

/// Runs the pipeline only. Diagnostics go to the context's handler and into the error.
Status runPipeline(mlir::ModuleOp module, const ir::CompilerOptions &options = {},
                   const AfterPhase &afterPhase = nullptr);

/// Runs the pipeline on `module` as compileModule would, and reports what it made, kernels included, but no
/// machine code.
Expected<CompileReport> explainModule(mlir::ModuleOp module, const ir::CompilerOptions &options = {});

/// The kernels of a module that `runPipeline` has been through, as kernel IR, by symbol.
Expected<std::vector<std::pair<std::string, mlir::OwningOpRef<mlir::ModuleOp>>>>
emitKernels(mlir::ModuleOp module);

/// The target of programs that run in this process only: that of a CPU, with as many cores as the process has
/// threads, to the nearest class of machines below (2, 16, 64), so that machines alike share their kernels.
/// Eager numerics give the same bits however a program is cut into kernels; other numerics have those of
/// packages for `cpu`.
std::string hostTarget(const ir::CompilerOptions &options);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_COMPILE_H
