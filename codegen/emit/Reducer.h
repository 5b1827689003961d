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

/// How two values of one type are combined, in reductions, scans and indexed writes.
enum class Combiner { add, mul, max, min };
mlir::Value combineValues(KernelBuilder &kernel, Combiner combiner, mlir::Value a, mlir::Value b,
                          bool isUnsigned);

/// One of the reductions on scalars or vectors. A state is one value; for argmax and argmin, a value and an
/// index; for welford, mean and m2, and a scalar with the number of elements per lane.
class Reducer {
public:
  using State = llvm::SmallVector<mlir::Value, 3>;

  Reducer(KernelBuilder &kernel, mlir::Operation *op);

  unsigned size() const { return isArg ? 2 : isWelford ? 3 : 1; }
  /// The types of a state's values per lane.
  llvm::SmallVector<mlir::Type, 2> types() const;
  State identity(int64_t lanes);
  /// The state of elements: `position` is their index along the reduced dimension, i64, for argmax and
  /// argmin.
  State lift(mlir::Value element, mlir::Value position);
  /// A state from the values that `types` lists, for example from memory, with `count` (an index) elements
  /// per lane.
  State restore(State perLane, mlir::Value count);
  State combine(const State &a, const State &b);
  /// combine(state, lift(element, position)), in fewer operations where that is possible.
  State accumulate(const State &state, mlir::Value element, mlir::Value position);
  /// Combines the lanes of a vector state, halving it each time.
  State fold(State state);
  /// The elements of the op's results that depend on the operand's elements.
  llvm::SmallVector<mlir::Value, 2> finish(const State &state);
  /// The number of these elements.
  unsigned numResults() const { return isWelford ? 2 : 1; }

  mlir::Operation *op;
  bool isArg;
  /// Whether states of no elements are combined with others, as in rows of dynamic length.
  bool combinesEmpty = false;

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
