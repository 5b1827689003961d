//===- MathEmitter.h - Short names for arithmetic on scalars or vectors ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An elementary function is written once, with this class, and emitted as scalar or vector code. Both have
// the same operations in the same order, so they give the same bits. No operation has fast-math flags: a
// fused multiply-add must be written with fma().
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_MATH_MATHEMITTER_H
#define WEFT_CODEGEN_MATH_MATHEMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/bit.h"

#include <cstdint>

namespace weft::codegen {

class MathEmitter {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;

  /// Emits code on values shaped like `like`: a scalar type, or a vector type of any element.
  MathEmitter(mlir::OpBuilder &b, mlir::Location loc, Type like) : b(b), loc(loc) {
    vector = mlir::dyn_cast<mlir::VectorType>(like);
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::VectorType vector; ///< null for scalars

  Type type(Type element) const {
    return vector ? Type(mlir::VectorType::get(vector.getShape(), element, vector.getScalableDims()))
                  : element;
  }
  Type f32() const { return type(b.getF32Type()); }
  Type f64() const { return type(b.getF64Type()); }
  Type i16() const { return type(b.getI16Type()); }
  Type i32() const { return type(b.getI32Type()); }
  Type i64() const { return type(b.getI64Type()); }

  Value splat(mlir::TypedAttr value) {
    if (!vector)
      return b.create<mlir::arith::ConstantOp>(loc, value);
    auto shaped = mlir::cast<mlir::ShapedType>(type(value.getType()));
    return b.create<mlir::arith::ConstantOp>(loc,
                                             mlir::DenseElementsAttr::get(shaped, mlir::Attribute(value)));
  }
  /// Constants: f32, f64, i32, i64.
  Value f(double v) { return splat(b.getF32FloatAttr(static_cast<float>(v))); }
  Value d(double v) { return splat(b.getF64FloatAttr(v)); }
  Value i(int64_t v) { return splat(b.getI32IntegerAttr(static_cast<int32_t>(v))); }
  Value l(int64_t v) { return splat(b.getI64IntegerAttr(v)); }

  Value add(Value x, Value y) { return b.create<mlir::arith::AddFOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.create<mlir::arith::SubFOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.create<mlir::arith::MulFOp>(loc, x, y); }
  Value div(Value x, Value y) { return b.create<mlir::arith::DivFOp>(loc, x, y); }
  Value neg(Value x) { return b.create<mlir::arith::NegFOp>(loc, x); }
  Value fma(Value x, Value y, Value z) { return b.create<mlir::math::FmaOp>(loc, x, y, z); }
  Value abs(Value x) { return b.create<mlir::math::AbsFOp>(loc, x); }
  Value sqrt(Value x) { return b.create<mlir::math::SqrtOp>(loc, x); }
  Value floor(Value x) { return b.create<mlir::math::FloorOp>(loc, x); }
  Value trunc(Value x) { return b.create<mlir::math::TruncOp>(loc, x); }
  Value copysign(Value x, Value s) { return b.create<mlir::math::CopySignOp>(loc, x, s); }

  Value select(Value c, Value x, Value y) { return b.create<mlir::arith::SelectOp>(loc, c, x, y); }
  Value cmp(mlir::arith::CmpFPredicate p, Value x, Value y) {
    return b.create<mlir::arith::CmpFOp>(loc, p, x, y);
  }
  /// Ordered comparisons: false where an operand is NaN.
  Value lt(Value x, Value y) { return cmp(mlir::arith::CmpFPredicate::OLT, x, y); }
  Value gt(Value x, Value y) { return cmp(mlir::arith::CmpFPredicate::OGT, x, y); }
  Value ge(Value x, Value y) { return cmp(mlir::arith::CmpFPredicate::OGE, x, y); }
  Value eq(Value x, Value y) { return cmp(mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value ne(Value x, Value y) { return cmp(mlir::arith::CmpFPredicate::ONE, x, y); }
  Value isNan(Value x) { return cmp(mlir::arith::CmpFPredicate::UNO, x, x); }
  Value icmp(mlir::arith::CmpIPredicate p, Value x, Value y) {
    return b.create<mlir::arith::CmpIOp>(loc, p, x, y);
  }

  Value iadd(Value x, Value y) { return b.create<mlir::arith::AddIOp>(loc, x, y); }
  Value isub(Value x, Value y) { return b.create<mlir::arith::SubIOp>(loc, x, y); }
  Value imul(Value x, Value y) { return b.create<mlir::arith::MulIOp>(loc, x, y); }
  Value band(Value x, Value y) { return b.create<mlir::arith::AndIOp>(loc, x, y); }
  Value bor(Value x, Value y) { return b.create<mlir::arith::OrIOp>(loc, x, y); }
  Value bxor(Value x, Value y) { return b.create<mlir::arith::XOrIOp>(loc, x, y); }
  Value shl(Value x, Value y) { return b.create<mlir::arith::ShLIOp>(loc, x, y); }
  Value lshr(Value x, Value y) { return b.create<mlir::arith::ShRUIOp>(loc, x, y); }
  Value ashr(Value x, Value y) { return b.create<mlir::arith::ShRSIOp>(loc, x, y); }

  Value bits32(Value x) { return b.create<mlir::arith::BitcastOp>(loc, i32(), x); }
  Value bits64(Value x) { return b.create<mlir::arith::BitcastOp>(loc, i64(), x); }
  Value asF32(Value x) { return b.create<mlir::arith::BitcastOp>(loc, f32(), x); }
  Value asF64(Value x) { return b.create<mlir::arith::BitcastOp>(loc, f64(), x); }
  Value toF64(Value x) { return b.create<mlir::arith::ExtFOp>(loc, f64(), x); }
  Value toF32(Value x) { return b.create<mlir::arith::TruncFOp>(loc, f32(), x); }
  Value zext64(Value x) { return b.create<mlir::arith::ExtUIOp>(loc, i64(), x); }
  Value low32(Value x) { return b.create<mlir::arith::TruncIOp>(loc, i32(), x); }
  Value intToF32(Value x) { return b.create<mlir::arith::SIToFPOp>(loc, f32(), x); }
  Value intToF64(Value x) { return b.create<mlir::arith::SIToFPOp>(loc, f64(), x); }

  /// 2^k as f32 for an i32 k in [-126, 127].
  Value pow2(Value k) { return asF32(shl(iadd(k, i(127)), i(23))); }

  /// Horner's rule with fused multiply-adds; coefficients from the constant term up.
  template <typename Array> Value polyF32(Value x, const Array &c) {
    size_t n = std::size(c);
    Value r = f(c[n - 1]);
    for (size_t k = n - 1; k-- > 0;)
      r = fma(r, x, f(c[k]));
    return r;
  }
  template <typename Array> Value polyF64(Value x, const Array &c) {
    size_t n = std::size(c);
    Value r = d(c[n - 1]);
    for (size_t k = n - 1; k-- > 0;)
      r = fma(r, x, d(c[k]));
    return r;
  }

  /// Whether the condition holds in any lane, as one i1.
  Value any(Value condition) {
    if (!vector)
      return condition;
    if (vector.getRank() != 1) {
      auto flat = mlir::VectorType::get({vector.getNumElements()}, b.getI1Type());
      condition = b.create<mlir::vector::ShapeCastOp>(loc, flat, condition);
    }
    return b.create<mlir::vector::ReductionOp>(loc, mlir::vector::CombiningKind::OR, condition);
  }
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_MATH_MATHEMITTER_H
