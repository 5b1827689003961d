//===- FusionEmitter.h - Makes weft.fusion ops from groups ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_FUSION_FUSIONEMITTER_H
#define WEFT_PASSES_FUSION_FUSIONEMITTER_H

#include "passes/fusion/FusionGraph.h"

namespace weft::passes {

/// Rewrites the function of `graph`: each group becomes one weft.fusion. A fusion comes after the fusions
/// that it reads, and otherwise in the order of the text. Fails if the groups depend on each other in a
/// cycle.
mlir::LogicalResult emitFusions(FusionGraph &graph);

} // namespace weft::passes

#endif // WEFT_PASSES_FUSION_FUSIONEMITTER_H
