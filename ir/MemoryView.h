//===- MemoryView.h - Where a value's elements lie --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches that are not generated, such as attention, read an operand through an offset and strides. So a
// value that is a view of another one needs no memory of its own.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_MEMORYVIEW_H
#define WEFT_IR_MEMORYVIEW_H

#include "ir/Dialect.h"

namespace weft::ir {

/// The offset and strides of a tensor, in elements of the row-major memory that holds it.
struct MemoryView {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides; ///< of each dimension

  static MemoryView read(llvm::ArrayRef<int64_t> numbers) {
    return {numbers[0], llvm::SmallVector<int64_t>(numbers.drop_front())};
  }
  llvm::SmallVector<int64_t> write() const {
    llvm::SmallVector<int64_t> numbers{offset};
    numbers.append(strides.begin(), strides.end());
    return numbers;
  }
};

/// The view of the row-major memory that holds a tensor of `shape` with its dimensions in the order `order`.
MemoryView orderedView(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> order);

/// The view of a tensor of `shape` in its own row-major memory.
MemoryView rowMajorView(llvm::ArrayRef<int64_t> shape);

/// The dimensions of a view, ordered by falling stride.
llvm::SmallVector<int64_t> orderOf(const MemoryView &view);

/// A value in row-major memory, and the place of another value's elements in it.
struct ViewedValue {
  mlir::Value base;
  MemoryView view;
};

/// The first value in the chain of reshapes, transpositions, slices and broadcasts, and of reversals if
/// `reversed`, before `value` from which `value` can be read as a tensor of `shape`, without memory that it
/// does not need itself. `shape` has as many elements as the value, whose sizes are numbers other than 0; the
/// value itself is the result where nothing else fits.
ViewedValue sourceOf(mlir::Value value, llvm::ArrayRef<int64_t> shape, bool reversed);

} // namespace weft::ir

#endif // WEFT_IR_MEMORYVIEW_H
