//===- operators.hpp - Operators on tensors ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands broadcast and their dtypes are promoted as in PyTorch; a number takes the dtype of the tensor
// beside it, unless it is of a higher kind (bool, integer, real). Operands on two devices, and shapes that do
// not broadcast, are errors that name the line.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_OPERATORS_HPP
#define WEFT_OPERATORS_HPP

#include "weft/tensor.hpp"

namespace weft {

#define WEFT_BINARY(name, symbol)                                                                            \
  WEFT_API Tensor name(const Arg &a, const Arg &b);                                                          \
  inline Tensor operator symbol(const Tensor &a, const Arg &b) { return name(Arg(a, b.loc), b); }            \
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>                                  \
  Tensor operator symbol(T a, const Arg &b) {                                                                \
    return name(Arg(a, b.loc), b);                                                                           \
  }
/// Integers wrap around.
WEFT_BINARY(add, +)
WEFT_BINARY(sub, -)
WEFT_BINARY(mul, *)
/// True division: integers give the default float dtype.
WEFT_BINARY(div, /)
/// The results of comparisons are i1; a NaN compares as false.
WEFT_BINARY(lt, <)
WEFT_BINARY(le, <=)
WEFT_BINARY(gt, >)
WEFT_BINARY(ge, >=)
/// Bit by bit; logical on bools. Floats are an error.
WEFT_BINARY(bitwise_and, &)
WEFT_BINARY(bitwise_or, |)
WEFT_BINARY(bitwise_xor, ^)
/// The remainder of the division a / b rounded down: it has the sign of b, like `%` in Python.
WEFT_BINARY(remainder, %)
#undef WEFT_BINARY

// C++20 also tries `==` and `!=` with their operands exchanged. Both operands are of one type, so that the
// exchanged form is never the better match, and compilers agree on what `a == 1` and `0 == a` mean.
#define WEFT_EQUALITY(name, symbol)                                                                          \
  WEFT_API Tensor name(const Arg &a, const Arg &b);                                                          \
  inline Tensor operator symbol(const Arg &a, const Arg &b) { return name(a, b); }
/// The results are i1; a NaN equals nothing.
WEFT_EQUALITY(eq, ==)
WEFT_EQUALITY(ne, !=)
#undef WEFT_EQUALITY
/// As i1: whether both operands, or at least one, differ from 0.
WEFT_API Tensor logical_and(const Arg &a, const Arg &b);
WEFT_API Tensor logical_or(const Arg &a, const Arg &b);
/// A number as exponent is part of the program: 2, 3, 0.5, -0.5 and -1 are products, roots and quotients, as
/// in PyTorch. Integers keep their dtype; a negative number as their exponent is an error.
WEFT_API Tensor pow(const Arg &a, const Arg &b);
/// The larger (smaller) one; NaN if one is NaN. Equal ones share the gradient.
WEFT_API Tensor maximum(const Arg &a, const Arg &b);
WEFT_API Tensor minimum(const Arg &a, const Arg &b);
/// -a; an error for bools.
WEFT_API Tensor neg(const Arg &a);
inline Tensor operator-(const Arg &a) { return neg(a); }
/// As i1: whether the operand is 0.
WEFT_API Tensor logical_not(const Arg &a);
inline Tensor operator!(const Arg &a) { return logical_not(a); }
/// Declared for Tensor, so that `!a` is not taken for a condition. It is recorded with the line where the
/// operand was made; logical_not(a) is recorded with its own line.
WEFT_API Tensor operator!(const Tensor &a);
/// Every bit inverted; logical not on bools. Floats are an error.
WEFT_API Tensor bitwise_not(const Arg &a);
inline Tensor operator~(const Arg &a) { return bitwise_not(a); }
/// `a` where the condition, an i1 tensor, is true, else `b`; all three broadcast. Another dtype of the
/// condition is an error.
WEFT_API Tensor where(const Tensor &condition, const Arg &a, const Arg &b, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_OPERATORS_HPP
