//===- MathFunctions.h - f32 elementary functions as arithmetic ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function takes f32 (scalar or vector) and returns f32. Error bounds, which the tests check, and
// measured errors are in docs/numerics.md. No input traps or has undefined behaviour: conversions to integers
// use the bits of a float.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_MATH_MATHFUNCTIONS_H
#define WEFT_CODEGEN_MATH_MATHFUNCTIONS_H

#include "codegen/math/MathEmitter.h"

namespace weft::codegen::mathfn {

using mlir::Value;

Value exp(MathEmitter &e, Value x);
Value expm1(MathEmitter &e, Value x);
Value log(MathEmitter &e, Value x);
Value log1p(MathEmitter &e, Value x);
Value tanh(MathEmitter &e, Value x);
Value erf(MathEmitter &e, Value x);
Value rsqrt(MathEmitter &e, Value x);
/// Rounds half away from zero, for which there is no instruction.
Value round(MathEmitter &e, Value x, bool isF64);

Value sin(MathEmitter &e, Value x);
Value cos(MathEmitter &e, Value x);
Value tan(MathEmitter &e, Value x);
Value asin(MathEmitter &e, Value x);
Value acos(MathEmitter &e, Value x);
Value atan(MathEmitter &e, Value x);
Value atan2(MathEmitter &e, Value y, Value x);

Value exp2(MathEmitter &e, Value x);
Value log2(MathEmitter &e, Value x);
Value log10(MathEmitter &e, Value x);
/// x^y with f32 x and f64 y, so that any i32 exponent is exact.
Value pow(MathEmitter &e, Value x, Value y64);
Value sinh(MathEmitter &e, Value x);
Value cosh(MathEmitter &e, Value x);
Value asinh(MathEmitter &e, Value x);
Value acosh(MathEmitter &e, Value x);
Value atanh(MathEmitter &e, Value x);
Value cbrt(MathEmitter &e, Value x);
/// C's fmodf, exact.
Value remainder(MathEmitter &e, Value x, Value y);

} // namespace weft::codegen::mathfn

#endif // WEFT_CODEGEN_MATH_MATHFUNCTIONS_H
