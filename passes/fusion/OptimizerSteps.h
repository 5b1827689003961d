//===- OptimizerSteps.h - Optimiser steps as one kernel -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_FUSION_OPTIMIZERSTEPS_H
#define WEFT_PASSES_FUSION_OPTIMIZERSTEPS_H

#include "ir/Dialect.h"

namespace weft::passes {

/// Replaces independent optimiser steps of one function, in op order, by one `weft.fusion multi_tensor` where
/// the last of them stands. The operands of all have to be there already.
ir::FusionOp wrapOptimizerSteps(llvm::ArrayRef<mlir::Operation *> steps);

} // namespace weft::passes

#endif // WEFT_PASSES_FUSION_OPTIMIZERSTEPS_H
