//===- Bounds.h - How far a correct backend may be from the interpreter ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forward error analysis of each element, together with the interpreter's value. If IEEE 754 defines the
// result of an op and its operands have no error, the result has none, and the backend must give the same
// bits. The errors of other ops are
//
//   elementwise   the spread of the op over the corners of its operands' intervals, points where elementary
//                 functions have poles or kinks among them, and the documented error of the function
//   sums          the errors of the terms, and (n - 1) u times the sum of magnitudes, whatever the order
//   composites    the analysis of their decomposition
//
// An infinite error means that the value is unknown, for example because a comparison or an overflow could go
// either way; values that depend on it are not checked. A NaN or an infinity with an error of 0 must be
// equal.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_BOUNDS_H
#define WEFT_TEST_RANDOM_BOUNDS_H

#include "ir/interp/Interpreter.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::randomtest {

/// A tensor and the largest error of each element. The error of an integer is 0 (exact) or infinite
/// (unknown).
struct Bounded {
  ir::Literal value;
  std::vector<double> error;

  Bounded() = default;
  /// An exact tensor.
  explicit Bounded(ir::Literal literal) : value(std::move(literal)), error(value.count(), 0.0) {}
};

/// The values that errors are relative to.
enum class Reference {
  interpreter, ///< a rounding that the interpreter also does is no error
  realNumbers  ///< every rounding is an error
};

/// Runs a function of one block without calls and gradients. `options` as for `interpretFunction`. An op
/// without a rule gets a diagnostic.
mlir::FailureOr<llvm::SmallVector<Bounded>> interpretWithBounds(ir::FuncOp function,
                                                                llvm::ArrayRef<Bounded> arguments,
                                                                ir::InterpreterOptions &options,
                                                                Reference reference = Reference::interpreter);

/// Describes the first element of `actual` that is outside of its bound; nothing if all are inside.
std::optional<std::string> findMismatch(const Bounded &expected, const ir::Literal &actual);
/// Describes the first element whose bits differ. All NaNs count as equal.
std::optional<std::string> findDifference(const ir::Literal &expected, const ir::Literal &actual);

/// The distance of neighbouring numbers of a type at `value`.
double ulp(DType dtype, double value);
/// The largest relative error of one rounding in the type in which `dtype` is accumulated.
double unitRoundoff(DType dtype);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_BOUNDS_H
