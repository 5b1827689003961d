//===- Pipeline.h - The passes in order ------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_PIPELINE_H
#define WEFT_PASSES_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include <string>

namespace weft::passes {

struct PipelineOptions {
  /// What the program is compiled for, a name of ir/devices; a CPU maps every logical device to the host.
  std::string target = "cpu";
  /// Record what was fused and what was refused, with codes and lines, in `weft.decisions` of each function.
  bool report = false;
  /// Stop before composites are decomposed: what remains is the program after differentiation and algebra.
  bool stopBeforeDecomposition = false;
  /// Families of refusals that are errors, as "fusion,capture"; see ir/Reasons.h. Implies `report`.
  std::string strict;
};

/// Adds the passes that turn a traced module into its launch list.
void buildPipeline(mlir::OpPassManager &passes, const PipelineOptions &options);

/// Makes `--weft-pipeline` known, with the fields of PipelineOptions as its options.
void registerPipeline();

} // namespace weft::passes

#endif // WEFT_PASSES_PIPELINE_H
