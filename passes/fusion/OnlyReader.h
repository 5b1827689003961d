//===- OnlyReader.h - The op that alone reads a value ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_FUSION_ONLYREADER_H
#define WEFT_PASSES_FUSION_ONLYREADER_H

#include "ir/Contraction.h"

namespace weft::passes {

/// The other operand, if `op` is an `Op` of `value` and another value; else null.
template <typename Op> mlir::Value besideIn(mlir::Operation *op, mlir::Value value) {
  auto binary = mlir::dyn_cast<Op>(op);
  if (!binary || binary.getA() == binary.getB())
    return {};
  return binary.getA() == value ? binary.getB() : binary.getB() == value ? binary.getA() : mlir::Value();
}

/// The only op that reads `value`, or null.
inline mlir::Operation *onlyReader(mlir::Value value) {
  return value.hasOneUse() ? *value.getUsers().begin() : nullptr;
}

/// What the only reader of `value` adds to it, if it is an addition; else null.
inline mlir::Value addedTo(mlir::Value value) {
  mlir::Operation *reader = onlyReader(value);
  return reader ? besideIn<ir::AddOp>(reader, value) : mlir::Value();
}

/// The vector that the only reader of a product adds to each of its rows, as a bias is added, or null.
inline mlir::Value biasAddedTo(mlir::Value product) {
  mlir::Value other = addedTo(product);
  return other ? ir::repeatedVector(other) : mlir::Value();
}

} // namespace weft::passes

#endif // WEFT_PASSES_FUSION_ONLYREADER_H
