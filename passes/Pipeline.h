//===- Pipeline.h - The passes in order ------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_PIPELINE_H
#define WEFT_PASSES_PIPELINE_H

#include "ir/ContractionLibrary.h"

#include "mlir/Pass/PassManager.h"
#include <string>
#include <vector>

namespace weft::passes {

struct PipelineOptions {
  /// What the program is compiled for, a name of ir/devices; a CPU maps every logical device to the host.
  std::string target = "cpu";
  /// Record what was fused and what was refused, with codes and lines, in `weft.decisions` of each function.
  bool report = false;
  /// The first and the last phase to run; empty for all from the start, and to the end.
  std::string from, to;
  /// Families of refusals that are errors, as "fusion,capture"; see ir/Reasons.h. Implies `report`.
  std::string strict;
  /// Passes to leave out, by argument ("weft-simplify"). Those that later stages need give an error there.
  std::vector<std::string> disabled;
  /// Bytes of temporaries from which launches are put into another order that needs less; -1 for never.
  int64_t memoryLimit = -1;
  /// Who answers what is taken of a contraction; outlives the passes. Null for the table of the target.
  const ir::ContractionLibrary *library = nullptr;
};

/// The phases in order. A program's text between two of them is what the next one begins with.
struct Phase {
  llvm::StringLiteral name, summary;
};
llvm::ArrayRef<Phase> phases();

/// Adds the passes of one phase.
void buildPhase(mlir::OpPassManager &passes, llvm::StringRef phase, const PipelineOptions &options);

/// Adds the passes that turn a traced module into its launch list, or those of `options.from` to
/// `options.to`.
void buildPipeline(mlir::OpPassManager &passes, const PipelineOptions &options);

/// What is wrong with the names in the options, or nothing.
std::string checkPipelineOptions(const PipelineOptions &options);

/// Makes `--weft-pipeline` known, with the fields of PipelineOptions as its options.
void registerPipeline();

} // namespace weft::passes

#endif // WEFT_PASSES_PIPELINE_H
