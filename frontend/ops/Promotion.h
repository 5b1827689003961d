//===- Promotion.h - Common types and shapes of operands ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPS_PROMOTION_H
#define WEFT_FRONTEND_OPS_PROMOTION_H

#include "frontend/graph/Graph.h"

namespace weft::frontend {

enum class Category { boolean, integer, real };
Category category(DType dtype);
/// The dtype of an operation of tensors of both.
DType promote(DType a, DType b);

struct Operand {
  Ref value; ///< null for a number
  const Arg *number = nullptr;
  Category kind = Category::boolean;
  int priority = 0; ///< 2: tensor with dimensions, 1: 0-dimensional tensor, 0: number
};
Operand operand(const Arg &arg);

/// PyTorch's rule: an operand of lower priority counts only if its category is higher.
DType resultType(const std::vector<Operand> &operands);
Shape broadcastShape(const std::vector<Operand> &operands, Loc loc);
/// The device on which an operation on them runs: that of the first tensor, where 0-dimensional tensors on
/// the host do not count.
Device deviceOf(const std::vector<Operand> &operands);
/// The operand as a value of this type and shape.
Ref materialise(const Operand &o, DType dtype, const Shape &shape, Device device, Loc loc);

/// The operands converted to their common type and shape. `name` is the op, for the error about operands on
/// two devices.
std::vector<Ref> promote(const char *name, const std::vector<Arg> &arguments, Loc loc, bool toReal = false);

/// The largest finite number of a floating-point type.
double largestOf(DType dtype);

/// Throws PyTorch's error if integers are divided by the number 0. `values` are promoted already. A divisor
/// that is a tensor is checked when the operation runs, not here.
void refuseZeroDivisor(const std::vector<Ref> &values, const Arg &divisor);
/// What happens to a number beyond the largest finite one of f16 or bf16.
enum class BeyondHalf { error, infinity };
/// Throws PyTorch's error if a number that becomes an element or a bound is out of the type's range.
/// (Arithmetic wraps, or gives an infinity, instead.) For an unsigned type the magnitude of a negative number
/// is checked, and the number wraps.
void refuseOverflow(const char *function, DType dtype, const Arg &value, const std::vector<Ref> &values,
                    BeyondHalf half = BeyondHalf::error);
/// Writes a number to every element of `target`.
void fillWith(const char *function, Tensor &target, const Arg &number, BeyondHalf half);
/// Records `weft.<name>` on promoted operands; with `toReal`, integers become f32.
Tensor binary(const char *name, const Arg &a, const Arg &b, bool toReal = false);
Tensor unary(const char *name, const Tensor &a, Loc loc, bool toReal = false);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_PROMOTION_H
