//===- Elementwise.cpp - select and convert -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/Placement.h"

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// select
//===----------------------------------------------------------------------===//

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                         DictionaryAttr, OpaqueProperties, RegionRange,
                                         SmallVectorImpl<Type> &types) {
  types.push_back(elementwiseLike(operands).clone(getElementTypeOrSelf(operands[1].getType())));
  return success();
}

Value SelectOp::emitScalar(ScalarEmitter &k, ValueRange in) { return k.select(in[0], in[1], in[2]); }

Accuracy SelectOp::accuracy() { return {0, true}; }

int64_t SelectOp::additionsPerElement() { return 1; }

LogicalResult SelectOp::buildVjp(VjpBuilder &vjp) {
  Sym condition = vjp.operand(0), g = vjp.cotangent(0), zero = vjp.like(g, 0.0);
  if (vjp.needs(1))
    vjp.set(1, vjp.select(condition, g, zero));
  if (vjp.needs(2))
    vjp.set(2, vjp.select(condition, zero, g));
  return success();
}

//===----------------------------------------------------------------------===//
// convert
//===----------------------------------------------------------------------===//

LogicalResult ConvertOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                          DictionaryAttr attributes, OpaqueProperties properties,
                                          RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  if (!toDType(op.getTo()))
    return emitOptionalError(loc, "'weft.convert' op cannot convert to ", op.getTo(),
                             ": expected i1, i8, i16, i32, i64, ui8, f16, bf16, f32 or f64");
  types.push_back(cast<RankedTensorType>(operands[0].getType()).clone(op.getTo()));
  return success();
}

Value ConvertOp::emitScalar(ScalarEmitter &k, ValueRange in) {
  return k.convert(in[0], getElementTypeOrSelf(getA().getType()), getTo());
}

Accuracy ConvertOp::accuracy() { return {0, true}; }

int64_t ConvertOp::additionsPerElement() { return 1; }

LogicalResult ConvertOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.convert(vjp.cotangent(0), vjp.operand(0).type().getElementType()));
  return success();
}

} // namespace weft::ir
