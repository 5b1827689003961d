//===- FusionEmitter.h - From groups to weft.fusion -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_FUSION_FUSIONEMITTER_H
#define WEFT_PASSES_FUSION_FUSIONEMITTER_H

#include "passes/fusion/FusionGraph.h"

namespace weft::passes {

/// Rewrites the function of `graph`: each group becomes one weft.fusion, in an order in which every group
/// comes after what it reads and otherwise as close to the order of the text as can be.
mlir::LogicalResult emitFusions(FusionGraph &graph);

} // namespace weft::passes

#endif // WEFT_PASSES_FUSION_FUSIONEMITTER_H
