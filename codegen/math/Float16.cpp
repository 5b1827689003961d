//===- Float16.cpp - Arithmetic and conversions of f16 and bf16 ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/math/ExpandMath.h"
#include "codegen/math/MathEmitter.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace weft::codegen {

namespace {

bool isHalf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}

Type withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), element, vector.getScalableDims());
  return element;
}

/// Whether an op only moves bits, or is a conversion with a rule of its own.
bool movesBits(Operation *op) {
  return isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp, arith::ExtFOp, arith::TruncFOp>(op);
}

/// Whether an op does arithmetic. Reductions and products of vectors are ops of the vector dialect.
bool computes(Operation *op) {
  return isa<vector::ReductionOp, vector::FMAOp>(op) ||
         (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) && !movesBits(op));
}

/// Rounds f32 to bf16, to nearest even; a NaN stays a NaN (quiet).
Value roundToBf16(MathEmitter &e, Value x) {
  Value bits = e.bits32(x);
  Value lsb = e.band(e.lshr(bits, e.i(16)), e.i(1));
  Value rounded = e.lshr(e.iadd(bits, e.iadd(lsb, e.i(0x7fff))), e.i(16));
  Value quiet = e.bor(e.lshr(bits, e.i(16)), e.i(0x40));
  Value y = e.select(e.isNan(x), quiet, rounded);
  Value low = e.b.create<arith::TruncIOp>(e.loc, e.i16(), y);
  return e.b.create<arith::BitcastOp>(e.loc, e.type(e.b.getBF16Type()), low);
}

/// Rounds f64 to f32, to odd. Rounding that to 16 bits then gives the same as rounding the f64 once.
Value roundToOdd(MathEmitter &e, Value x) {
  Value nearest = e.toF32(x);
  Value back = e.toF64(nearest);
  Value bits = e.bits32(nearest);
  Value even = e.icmp(arith::CmpIPredicate::eq, e.band(bits, e.i(1)), e.i(0));
  Value inexact = e.ne(back, x); // ordered: a NaN is left alone
  Value below = e.lt(e.abs(back), e.abs(x));
  Value step = e.select(below, e.i(1), e.i(-1));
  Value adjust = e.select(e.band(even, inexact), step, e.i(0));
  return e.asF32(e.iadd(bits, adjust));
}

} // namespace

void widenHalfArithmetic(Operation *root) {
  SmallVector<Operation *> work;
  root->walk([&](Operation *op) {
    if (!computes(op))
      return;
    if (llvm::any_of(op->getOperandTypes(), isHalf) || llvm::any_of(op->getResultTypes(), isHalf))
      work.push_back(op);
  });
  for (Operation *op : work) {
    OpBuilder b(op);
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (isHalf(operand.getType()) && !mapping.contains(operand))
        mapping.map(operand, b.create<arith::ExtFOp>(
                                 op->getLoc(), withElement(operand.getType(), b.getF32Type()), operand));
    Operation *wide = b.clone(*op, mapping);
    for (auto [narrow, result] : llvm::zip(op->getResults(), wide->getResults())) {
      Value replacement = result;
      if (isHalf(narrow.getType())) {
        result.setType(withElement(narrow.getType(), b.getF32Type()));
        replacement = b.create<arith::TruncFOp>(op->getLoc(), narrow.getType(), result);
      }
      narrow.replaceAllUsesWith(replacement);
    }
    op->erase();
  }
}

void expandHalfConversions(Operation *root) {
  SmallVector<Operation *> work;
  root->walk([&](Operation *op) {
    if (isa<arith::ExtFOp, arith::TruncFOp>(op))
      work.push_back(op);
  });
  for (Operation *op : work) {
    Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
    Type fromElement = getElementTypeOrSelf(from), toElement = getElementTypeOrSelf(to);
    OpBuilder b(op);
    MathEmitter e(b, op->getLoc(), to);
    Value x = op->getOperand(0), y;
    if (isa<arith::ExtFOp>(op) && fromElement.isBF16()) {
      Value bits = b.create<arith::BitcastOp>(op->getLoc(), e.i16(), x);
      Value wide = b.create<arith::ExtUIOp>(op->getLoc(), e.i32(), bits);
      y = e.asF32(e.shl(wide, e.i(16)));
      if (toElement.isF64())
        y = e.toF64(y);
    } else if (isa<arith::TruncFOp>(op) && toElement.isBF16()) {
      y = roundToBf16(e, fromElement.isF64() ? roundToOdd(e, x) : x);
    } else if (isa<arith::TruncFOp>(op) && toElement.isF16() && fromElement.isF64()) {
      y = b.create<arith::TruncFOp>(op->getLoc(), to, roundToOdd(e, x));
    } else {
      continue;
    }
    op->getResult(0).replaceAllUsesWith(y);
    op->erase();
  }
}

void storeBf16AsBits(Operation *root) {
  MLIRContext *context = root->getContext();
  Type bits = IntegerType::get(context, 16);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](BFloat16Type) { return bits; });
  replacer.addReplacement([&](FloatAttr attr) -> std::optional<Attribute> {
    if (!attr.getType().isBF16())
      return std::nullopt;
    return IntegerAttr::get(bits, attr.getValue().bitcastToAPInt());
  });
  replacer.addReplacement([&](DenseElementsAttr attr) -> std::optional<Attribute> {
    if (!attr.getElementType().isBF16())
      return std::nullopt;
    return attr.bitcast(bits);
  });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

} // namespace weft::codegen
