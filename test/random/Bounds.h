//===- Bounds.h - How far a correct backend may be from the interpreter ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forward error analysis, element by element, beside the interpreter's value. An op that IEEE fixes adds no
// error to operands that have none: there the backend must give the same bits. Elsewhere
//
//   elementwise   the spread of the op over the corners of its operands' intervals, points where elementary
//                 functions have poles or kinks among them, and the documented error of the function
//   sums          the errors of the terms, and (n - 1) u times the sum of magnitudes, whatever the order
//   composites    the analysis of their decomposition
//
// An error of infinity is no claim at all: where a comparison, a rounding or an overflow could go either way,
// nothing that depends on it is checked. A NaN or an infinity with an error of 0 must be met exactly.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_BOUNDS_H
#define WEFT_TEST_RANDOM_BOUNDS_H

#include "ir/interp/Interpreter.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::randomtest {

/// A tensor and how far each element may be off. An integer is exact (0) or unknown (infinity).
struct Bounded {
  ir::Literal value;
  std::vector<double> error;

  Bounded() = default;
  /// An exact value.
  explicit Bounded(ir::Literal literal) : value(std::move(literal)), error(value.count(), 0.0) {}
};

/// What errors are measured against.
enum class Reference {
  interpreter, ///< rounding that the interpreter does alike is no error
  realNumbers  ///< every rounding is one
};

/// Runs a function of one block without calls and gradients. `options` as for `interpretFunction`. An op that
/// the analysis has no rule for is a diagnostic.
mlir::FailureOr<llvm::SmallVector<Bounded>> interpretWithBounds(ir::FuncOp function,
                                                                llvm::ArrayRef<Bounded> arguments,
                                                                ir::InterpreterOptions &options,
                                                                Reference reference = Reference::interpreter);

/// The first element of `actual` outside of its bound, in words; nothing if all are inside.
std::optional<std::string> findMismatch(const Bounded &expected, const ir::Literal &actual);
/// The first element that differs at all, but for the bits of a NaN.
std::optional<std::string> findDifference(const ir::Literal &expected, const ir::Literal &actual);

/// The distance of neighbouring numbers of a type at `value`.
double ulp(DType dtype, double value);
/// Half of that, relative: the largest error of one rounding. Halves accumulate in f32.
double unitRoundoff(DType dtype);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_BOUNDS_H
