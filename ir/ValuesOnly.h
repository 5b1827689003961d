//===- ValuesOnly.h - Factorizations without vectors -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_VALUESONLY_H
#define WEFT_IR_VALUESONLY_H

#include "ir/Dialect.h"

namespace weft::ir {

/// An attribute of a factorization of which the program takes eigenvalues or singular values alone. They may
/// be rounded otherwise than beside vectors, so a program that drops vectors does not get it.
inline constexpr llvm::StringLiteral valuesOnlyAttr = "weft.values_only";

/// The number of the result that has the values, if the vectors are not computed: no derivative reads them.
inline std::optional<unsigned> onlyValuesOf(FactorizeOp op) {
  const bool isEigen = op.getKind() == Factorization::eigh;
  if (!op->hasAttr(valuesOnlyAttr) || (!isEigen && op.getKind() != Factorization::svd))
    return std::nullopt;
  const unsigned values = isEigen ? 0 : 1;
  for (mlir::OpResult result : op->getResults())
    if (result.getResultNumber() != values && !result.use_empty())
      return std::nullopt;
  return values;
}

} // namespace weft::ir

#endif // WEFT_IR_VALUESONLY_H
