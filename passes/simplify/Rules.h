//===- Rules.h - The table of exact rewrites -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_SIMPLIFY_RULES_H
#define WEFT_PASSES_SIMPLIFY_RULES_H

#include "ir/Dialect.h"

#include "mlir/IR/PatternMatch.h"

namespace weft::passes {

using ir::typeOf;

enum class Exactness {
  bitExact,   ///< the same bits for every input
  valueExact, ///< the same bits, except the payload and sign of a NaN
  bounded     ///< other roundings, within the bound in docs/numerics.md; only with `fast` numerics
};

/// One rewrite. `apply` builds ops before the op and returns the replacement of its only result. If the rule
/// does not apply, it returns null and builds nothing.
struct Rule {
  llvm::StringLiteral name;
  Exactness exactness;
  mlir::Value (*apply)(mlir::Operation *op, mlir::PatternRewriter &rewriter);
};

llvm::ArrayRef<Rule> getAlgebraRules();
llvm::ArrayRef<Rule> getContractionRules();
llvm::ArrayRef<Rule> getIndexingRules();
llvm::ArrayRef<Rule> getReductionRules();
llvm::ArrayRef<Rule> getShapeRules();
/// The rules that `fast` numerics allow in addition: the bounded ones.
llvm::ArrayRef<Rule> getFastRules();

/// The element that a constant repeats, or a null attribute.
mlir::Attribute getSplat(mlir::Value value);
/// A copy of an elementwise op with other operands and a result of shape `shape`.
mlir::Value cloneElementwise(mlir::Operation *op, mlir::ValueRange operands, llvm::ArrayRef<ir::Size> shape,
                             mlir::PatternRewriter &rewriter);
/// A constant with the shape and device of `type` and the element type of the attribute.
mlir::Value makeSplat(mlir::RankedTensorType type, mlir::Attribute element, mlir::Location loc,
                      mlir::PatternRewriter &rewriter);

} // namespace weft::passes

#endif // WEFT_PASSES_SIMPLIFY_RULES_H
