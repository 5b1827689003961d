//===- Shapes.cpp - Shapes as text, and their bounds ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Shapes.h"

#include "frontend/graph/Message.h"
#include "frontend/graph/Spec.h"
#include "frontend/graph/Symbols.h"
#include "weft/limits.hpp"

namespace weft::frontend {

std::string shapeText(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + sizeText(shape[i]);
  return text + "]";
}

void checkRank(const Shape &shape, Loc loc) {
  if (shape.size() > maxRank)
    fail("a tensor of " + std::to_string(shape.size()) + " dimensions was asked for; at most " +
             std::to_string(maxRank) + " are possible",
         loc);
}

int64_t checkedCount(const Shape &shape, Loc loc) {
  checkRank(shape, loc);
  int64_t count = 1;
  bool empty = false;
  // A size of zero does not permit huge sizes beside it, because strides would overflow.
  if (anySymbolic(shape)) {
    // The ranges of symbols belong to the function, so its compilation checks the bounds. Both products are
    // checked, because strides are products of the last sizes.
    ir::Size product = 8, ofLast = 8;
    for (size_t i = shape.size(); i-- > 0;)
      if (shape[i] != 0)
        ofLast *= sizeOf(shape[i]);
    for (int64_t size : shape) {
      if (!sizeOf(size).isCount())
        fail("Trying to create tensor with negative dimension " + std::to_string(size) + ": " +
                 shapeText(shape),
             loc);
      if (size != 0)
        product *= sizeOf(size);
    }
    if (!product.isExpressible() || !ofLast.isExpressible())
      fail("a tensor of shape " + shapeText(shape) +
               " has a number of bytes that cannot be expressed: expected less than 2^63, or " +
               ir::polynomialText("Dims") + "; make it smaller, or give it fewer Dims",
           loc);
    return Spec{DType::f32, shape, {}}.count();
  }
  for (int64_t size : shape) {
    if (size < 0)
      fail("Trying to create tensor with negative dimension " + std::to_string(size) + ": " +
               shapeText(shape),
           loc);
    empty |= size == 0;
    // The count includes the bytes of the widest element, so that sizes in bytes do not overflow either.
    if (size != 0 && __builtin_mul_overflow(count, size, &count))
      count = INT64_MAX;
    if (count > INT64_MAX / 8)
      fail("a tensor of shape " + shapeText(shape) + " has more than 2^63 bytes", loc);
  }
  return empty ? 0 : count;
}

} // namespace weft::frontend
