//===- Pipeline.h - The passes in order ------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_PIPELINE_H
#define WEFT_PASSES_PIPELINE_H

#include "ir/CompilerOptions.h"

#include "mlir/Pass/PassManager.h"
#include <string>

namespace weft::passes {

/// The phases in order. The text of a program between two phases can be the input of the next one.
struct Phase {
  llvm::StringLiteral name, summary;
};
llvm::ArrayRef<Phase> phases();
/// Those from `options.from` to `options.to`, if these are set.
llvm::ArrayRef<Phase> phases(const ir::CompilerOptions &options);

/// Adds the passes of one phase.
void buildPhase(mlir::OpPassManager &passes, llvm::StringRef phase, const ir::CompilerOptions &options);

/// Adds the passes that turn a traced module into its launch list: those of `phases(options)`.
void buildPipeline(mlir::OpPassManager &passes, const ir::CompilerOptions &options);

/// An error message if the options name an unknown phase or pass, otherwise an empty text.
std::string checkPipelineOptions(const ir::CompilerOptions &options);

/// Registers `--weft-pipeline`, whose options are fields of CompilerOptions.
void registerPipeline();

} // namespace weft::passes

#endif // WEFT_PASSES_PIPELINE_H
