//===- ExpandMath.h - Elementary functions as arithmetic -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_MATH_EXPANDMATH_H
#define WEFT_CODEGEN_MATH_EXPANDMATH_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace weft::codegen {

/// A function of the runtime's import table is declared in kernel IR with this prefix and its name in
/// runtime/package/Kernel.h: `func.func private @weft.import.exp(f64) -> f64`.
inline constexpr llvm::StringLiteral importPrefix = "weft.import.";

/// `weft-expand-math`: rewrites a kernel module so that code generation meets no operation that becomes a
/// call. f32 functions become arithmetic (codegen/math/MathFunctions.h), f64 functions calls of imports,
/// one per lane; f16 and bf16 arithmetic is widened to f32 and rounded once; conversions to bf16, and from
/// f64 to f16, become integer arithmetic.
std::unique_ptr<mlir::Pass> createExpandMathPass();

/// Parts of the pass: arithmetic of 16-bit floats, and their conversions.
void widenHalfArithmetic(mlir::Operation *root);
void expandHalfConversions(mlir::Operation *root);
/// Replaces bf16 by i16. Run it after both of these, when bf16 values are only moved: LLVM would convert
/// moved bf16 scalars to f32, and call a function to convert them back.
void storeBf16AsBits(mlir::Operation *root);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_MATH_EXPANDMATH_H
