//===- OpFacts.h - Facts that ops declare -----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries for cost, accuracy and fallibility, which each op declares in its definition (ir/Elementwise.td).
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_OPFACTS_H
#define WEFT_IR_OPFACTS_H

#include <cstdint>

namespace mlir {
class Operation;
}

namespace weft::ir {

/// How exact an elementwise op is.
struct Accuracy {
  /// The error bound of a kernel on exact operands, in units in the last place of f32 (docs/numerics.md); 0
  /// if IEEE 754 determines the result. f64 functions are the C library's, which has the same bounds.
  int ulps;
  /// Whether it is monotone in each operand, except near results of -1, 0 and 1.
  bool monotone;
};

/// The arithmetic of one element of `op`, in f32 additions in vector code. 0 for an op that only moves or
/// adds up elements.
int64_t additionsPerElement(mlir::Operation *op);

/// Whether `op` may fail on the values of its operands, as an index out of bounds or an assertion does.
bool mayFail(mlir::Operation *op);

} // namespace weft::ir

#endif // WEFT_IR_OPFACTS_H
