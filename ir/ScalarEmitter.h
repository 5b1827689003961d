//===- ScalarEmitter.h - Builds the scalar body of an op -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_SCALAREMITTER_H
#define WEFT_IR_SCALAREMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace weft::ir {

/// Emits the scalar code of an op, its `body`. Values are scalars or vectors, for which the operations are
/// the same, so the vector width does not change a bit. Integers are signless here; the op's operand types
/// tell their signedness.
class ScalarEmitter {
public:
  ScalarEmitter(mlir::OpBuilder &builder, mlir::Location loc, mlir::Operation *op)
      : builder(builder), loc(loc), op(op) {}

  template <typename Op, typename... Args> mlir::Value make(Args... args) {
    return builder.create<Op>(loc, args...).getResult();
  }

  bool isFloat(mlir::Value value) const;
  /// Whether operand `index` of the op holds unsigned integers (ui8, i1).
  bool isUnsigned(unsigned index) const;

  /// A constant of the type of `like`, splat if that is a vector.
  mlir::Value constantLike(mlir::Value like, double value);
  mlir::Value zeroLike(mlir::Value like) { return constantLike(like, 0); }

  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::SelectOp>(condition, a, b);
  }
  /// Compares floats by the first predicate, integers by the second with the signedness of operand 0.
  mlir::Value compare(mlir::arith::CmpFPredicate real, mlir::arith::CmpIPredicate whole, mlir::Value a,
                      mlir::Value b);
  mlir::Value gt(mlir::Value a, mlir::Value b) {
    return compare(mlir::arith::CmpFPredicate::OGT, mlir::arith::CmpIPredicate::sgt, a, b);
  }
  mlir::Value lt(mlir::Value a, mlir::Value b) {
    return compare(mlir::arith::CmpFPredicate::OLT, mlir::arith::CmpIPredicate::slt, a, b);
  }
  /// Division toward zero that never traps: x/0 = -1 (all ones), min/-1 = min.
  mlir::Value divideIntegers(mlir::Value a, mlir::Value b);
  /// Remainder with the sign of `a`, which never traps: x rem 0 = x, min rem -1 = 0.
  mlir::Value remainderIntegers(mlir::Value a, mlir::Value b);
  /// a^b by squaring, wrapping; a negative exponent gives 0 unless the base is 1 or -1.
  mlir::Value powIntegers(mlir::Value a, mlir::Value b);
  /// 1/(1 + exp(-a)) of an f32 or f64: right also where the result is subnormal.
  mlir::Value sigmoid(mlir::Value a);
  /// Converts to another element type by the rules of `weft.convert`. `from` and `to` are tensor element
  /// types.
  mlir::Value convert(mlir::Value a, mlir::Type from, mlir::Type to);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  mlir::Operation *op;
};

/// The signless type that kernels compute with for a tensor's element type (ui8 becomes i8).
mlir::Type toScalarType(mlir::Type elementType);
/// `type` with the element replaced, keeping a vector's shape.
mlir::Type withElement(mlir::Type type, mlir::Type element);

} // namespace weft::ir

#endif // WEFT_IR_SCALAREMITTER_H
