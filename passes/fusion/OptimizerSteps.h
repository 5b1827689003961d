//===- OptimizerSteps.h - One fusion for optimiser steps --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_FUSION_OPTIMIZERSTEPS_H
#define WEFT_PASSES_FUSION_OPTIMIZERSTEPS_H

#include "ir/Dialect.h"

namespace weft::passes {

/// Replaces independent optimiser steps, which are in op order, by one `weft.fusion multi_tensor` at the
/// place of the last. The operands of all steps must be defined before the last step.
ir::FusionOp wrapOptimizerSteps(llvm::ArrayRef<mlir::Operation *> steps);

} // namespace weft::passes

#endif // WEFT_PASSES_FUSION_OPTIMIZERSTEPS_H
