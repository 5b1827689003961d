//===- FusionNumerics.h - What fast numerics allow kernels ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_FUSION_FUSIONNUMERICS_H
#define WEFT_PASSES_FUSION_FUSIONNUMERICS_H

#include "ir/Decisions.h"

namespace weft::passes {

/// In a function with fast numerics, a fusion in which a sum or difference of floats has a product as an
/// operand gets `contract`: its kernel may round a * b + c once (WEFT-N006, added to `decisions` unless that
/// is null).
void applyNumerics(ir::FuncOp func, std::vector<ir::Decision> *decisions);

} // namespace weft::passes

#endif // WEFT_PASSES_FUSION_FUSIONNUMERICS_H
