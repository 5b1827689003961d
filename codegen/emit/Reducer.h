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

/// sum, rmax, rmin, argmax on scalars or vectors. A state is one value, or value and index for argmax.
class Reducer {
public:
  using State = llvm::SmallVector<mlir::Value, 2>;

  Reducer(KernelBuilder &kernel, mlir::Operation *op);

  unsigned size() const { return isArg ? 2 : 1; }
  /// Types of a state, of scalars.
  llvm::SmallVector<mlir::Type, 2> types() const;
  State identity(int64_t lanes);
  /// The state of elements: `position` is their index along the reduced dimension, i64, for argmax.
  State lift(mlir::Value element, mlir::Value position);
  State combine(const State &a, const State &b);
  /// The lanes of a vector state, by halves.
  State fold(State state);
  /// The result's element.
  mlir::Value finish(const State &state);

  mlir::Operation *op;
  bool isArg;

private:
  KernelBuilder &kernel;
  mlir::Type element, accumulator;
  bool isFloat, isUnsigned;
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_REDUCER_H
