//===- Reducer.h - The arithmetic of one reduction -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_REDUCER_H
#define WEFT_CODEGEN_EMIT_REDUCER_H

#include "codegen/emit/KernelBuilder.h"

namespace weft::codegen {

/// The value that a maximum (`lowest`), or a minimum, of no elements has.
mlir::Attribute extremeIdentity(mlir::Type element, bool lowest, bool isUnsigned);

/// The operations that combine two values of one type in reductions, scans and indexed writes.
enum class Combiner { add, mul, max, min };
mlir::Value combineValues(KernelBuilder &kernel, Combiner combiner, mlir::Value a, mlir::Value b,
                          bool isUnsigned);

/// The arithmetic of one reduction, on scalars or vectors. A state is one value; for argmax and argmin, a
/// value and an index; for welford, the mean, the sum of squared differences from it, and a scalar with the
/// number of elements per lane.
class Reducer {
public:
  using State = llvm::SmallVector<mlir::Value, 3>;

  Reducer(KernelBuilder &kernel, mlir::Operation *op);

  unsigned size() const { return isArg ? 2 : isWelford ? 3 : 1; }
  /// The types of a state's values in one lane, without the number of elements.
  llvm::SmallVector<mlir::Type, 2> types() const;
  State identity(int64_t lanes);
  /// The state of one element per lane. `position` is its index along the reduced dimension, as i64, which
  /// argmax and argmin need.
  State lift(mlir::Value element, mlir::Value position);
  /// The state of `count` (of type index) elements per lane, from values of `types()` that were in memory.
  State restore(State perLane, mlir::Value count);
  State combine(const State &a, const State &b);
  /// combine(state, lift(element, position)), in fewer operations where that is possible.
  State accumulate(const State &state, mlir::Value element, mlir::Value position);
  /// Combines the lanes of a vector state: each step combines the lower half of the lanes with the upper.
  State fold(State state);
  /// The results of the op, rounded to its element type.
  llvm::SmallVector<mlir::Value, 2> finish(const State &state);

  mlir::Operation *op;
  bool isArg;
  /// Whether states of no elements may be combined with others, as in rows of dynamic length.
  bool combinesEmpty = false;
  /// If only the call knows whether all sides have as many elements, whether they have; else null. Moments
  /// round as in a kernel that knows it.
  mlir::Value hasEqualSides;

private:
  State combineMoments(const State &a, const State &b);
  KernelBuilder &kernel;
  mlir::Type element, accumulator;
  bool isFloat, isUnsigned, isWelford, ignoresZeroSign, isEmpty;
  bool isWidened = false; ///< the moments are those of a narrower type's elements, in f64
  bool mayBeEmpty;        ///< it may be empty in some calls, since sizes are dynamic
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_REDUCER_H
