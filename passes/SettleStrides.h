//===- SettleStrides.h - Arguments that are not row-major -*- C++ -*---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_SETTLESTRIDES_H
#define WEFT_PASSES_SETTLESTRIDES_H

#include "ir/Dialect.h"

namespace weft::passes {

/// An argument with `weft.strides` gets the type of the row-major memory that the strides step through, and
/// what reads it reads a slice, transposition or broadcast of that. The shape that calls give stays beside
/// the strides as `weft.shape`. Strides that are row-major are dropped. The function is verified.
void settleStrides(ir::FuncOp func);

} // namespace weft::passes

#endif // WEFT_PASSES_SETTLESTRIDES_H
