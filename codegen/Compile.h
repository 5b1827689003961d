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
#include "ir/Target.h"
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

/// Runs the pipeline on `module`, which then holds the launch lists, compiles its kernels, and writes a
/// package with every public function. If the options name several targets, each after the first is compiled
/// from a copy of the module, and the package has plans and kernels for each. The module, the report and
/// `afterPhase` are those of the first target. Errors name the op and its location.
Expected<CompiledModule> compileModule(mlir::ModuleOp module, const ir::CompilerOptions &options = {},
                                       const AfterPhase &afterPhase = nullptr);

/// The second half of compileModule(), for one target: compiles the kernels of a module after runPipeline()
/// with the same options, and writes the package.
Expected<CompiledModule> compilePlanned(mlir::ModuleOp module, const ir::CompilerOptions &options);

/// Runs only the pipeline. Diagnostics go to the context's handler and into the error.
Status runPipeline(mlir::ModuleOp module, const ir::CompilerOptions &options = {},
                   const AfterPhase &afterPhase = nullptr);

/// Runs the pipeline on `module` as compileModule() does, and reports on launches and kernels, without
/// compiling the kernels to machine code.
Expected<CompileReport> explainModule(mlir::ModuleOp module, const ir::CompilerOptions &options = {});

struct EmittedKernel {
  std::string symbol;
  std::string text; ///< canonicalKernelText() of the module
  mlir::OwningOpRef<mlir::ModuleOp> module;
  unsigned launches = 0;
  std::vector<std::string> lines;         ///< where the ops of its fusions are from, each line once
  std::vector<mlir::Operation *> fusions; ///< that launch it

  /// Whether it is a CPU's, in a program that has parts on a GPU too.
  bool isOnHost() const;
};

/// The kernels of a module after runPipeline() for this target, as kernel IR.
Expected<std::vector<EmittedKernel>> emitKernels(mlir::ModuleOp module, const ir::Target &target = {});

/// The target of programs that run only in this process: a CPU with as many cores as the process has threads,
/// rounded down to 2, 16 or 64, so that similar machines use the same kernels. With eager numerics, results
/// do not depend on how a program is cut into kernels. Other numerics use the target of packages, `cpu`.
std::string hostTarget(const ir::CompilerOptions &options);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_COMPILE_H
