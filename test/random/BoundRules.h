//===- BoundRules.h - The error that one op adds ---------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_BOUNDRULES_H
#define WEFT_TEST_RANDOM_BOUNDRULES_H

#include "Bounds.h"

namespace weft::randomtest {

/// The functions set the errors of results whose values are already computed. This one is for elementwise
/// ops.
mlir::LogicalResult boundElementwise(ir::ElementwiseOp op, llvm::ArrayRef<const Bounded *> operands,
                                     Bounded &result, Reference reference);
/// Every other op that is not a composite. An op without a rule gets a diagnostic.
mlir::LogicalResult boundOp(mlir::Operation *op, llvm::ArrayRef<const Bounded *> operands,
                            llvm::MutableArrayRef<Bounded> results, Reference reference);

/// prod, any, welford, cumsum, cumprod.
mlir::LogicalResult boundFold(mlir::Operation *op, const Bounded &in, llvm::MutableArrayRef<Bounded> results);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_BOUNDRULES_H
