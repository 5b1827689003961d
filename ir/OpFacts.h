//===- OpFacts.h - What an op states about itself --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cost, accuracy and fallibility stand in the definition of an op (ir/Elementwise.td); these ask for them.
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
  /// What a kernel may be off on exact operands, in units in the last place of f32 (docs/numerics.md); 0
  /// where IEEE fixes the result. f64 functions are the C library's, which keeps the same bounds.
  int ulps;
  /// Monotone in each operand, but for -1, 0 and 1.
  bool monotone;
};

/// The arithmetic of one element of `op`, in units of an addition of f32 in the vectors of a kernel: what the
/// op states, or 0, for one that only moves elements or adds them up.
int64_t additionsPerElement(mlir::Operation *op);

/// Whether `op` may find an error in the values that it is given: an index out of bounds, an assertion.
bool mayFail(mlir::Operation *op);

} // namespace weft::ir

#endif // WEFT_IR_OPFACTS_H
