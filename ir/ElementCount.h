//===- ElementCount.h - How many elements a shape has ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_ELEMENTCOUNT_H
#define WEFT_IR_ELEMENTCOUNT_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace weft::ir {

/// The number of elements of a static shape, saturating at the largest integer: for costs and bounds. For
/// sizes of tensors use `productOf`.
inline int64_t elementCount(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count))
      return INT64_MAX;
  return count;
}

} // namespace weft::ir

#endif // WEFT_IR_ELEMENTCOUNT_H
