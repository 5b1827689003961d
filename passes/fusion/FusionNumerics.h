//===- FusionNumerics.h - Fast numerics of kernels --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_FUSION_FUSIONNUMERICS_H
#define WEFT_PASSES_FUSION_FUSIONNUMERICS_H

#include "ir/Decisions.h"

namespace weft::passes {

/// In a function with fast numerics, sets `contract` on each fusion in which a float sum or difference has a
/// product as an operand. The kernel of such a fusion may round a * b + c once. Adds a decision WEFT-N006 for
/// each, unless `decisions` is null.
void applyNumerics(ir::FuncOp func, std::vector<ir::Decision> *decisions);

} // namespace weft::passes

#endif // WEFT_PASSES_FUSION_FUSIONNUMERICS_H
