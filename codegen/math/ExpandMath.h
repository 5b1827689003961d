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

/// Functions of the runtime's import table appear in kernel IR as declarations of this prefix and the
/// name in runtime/package/Kernel.h: `func.func private @weft.import.exp(f64) -> f64`.
inline constexpr llvm::StringLiteral importPrefix = "weft.import.";

/// `weft-expand-math`: rewrites a kernel module so that code generation meets no operation that becomes a
/// call. f32 functions become arithmetic (codegen/math/MathFunctions.h), f64 functions calls of imports,
/// one per lane; f16 and bf16 arithmetic is widened to f32 and rounded once; conversions to bf16, and from
/// f64 to f16, become integer arithmetic.
std::unique_ptr<mlir::Pass> createExpandMathPass();

/// Registers the pass with the pass pipeline parser.
void registerExpandMathPass();

/// The conversions of 16-bit floats, and their arithmetic (a part of the pass).
void widenHalfArithmetic(mlir::Operation *root);
void expandHalfConversions(mlir::Operation *root);
/// After both of these, bf16 is only moved and is treated as i16. Otherwise LLVM would convert moved scalars
/// to f32, and call a function to convert them back.
void storeBf16AsBits(mlir::Operation *root);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_MATH_EXPANDMATH_H
