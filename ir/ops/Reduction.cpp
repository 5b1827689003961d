//===- Reduction.cpp - Reductions and indexing ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Common.h"

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// sum, rmax, rmin
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult inferReduction(std::optional<Location> loc, ValueRange operands, typename Op::Adaptor op,
                                    SmallVectorImpl<Type> &types) {
  auto from = cast<RankedTensorType>(operands[0].getType());
  if (failed(checkDims(loc, Op::getOperationName(), "dimension", op.getDims(), from.getRank())))
    return failure();
  types.push_back(withShape(from, withoutDims(sizesOf(from), op.getDims())));
  return success();
}

#define WEFT_INFER_REDUCTION(Op)                                                                             \
  LogicalResult Op::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,        \
                                     DictionaryAttr attributes, OpaqueProperties properties,                 \
                                     RegionRange regions, SmallVectorImpl<Type> &types) {                    \
    return inferReduction<Op>(loc, operands, Adaptor(operands, attributes, properties, regions), types);     \
  }
WEFT_INFER_REDUCTION(SumOp)
WEFT_INFER_REDUCTION(RmaxOp)
WEFT_INFER_REDUCTION(RminOp)

LogicalResult SumOp::verify() { return success(); }

static LogicalResult verifyNotEmpty(Operation *op, RankedTensorType from, ArrayRef<int64_t> dims) {
  for (int64_t dim : dims)
    if (sizesOf(from)[dim] == 0)
      return op->emitOpError() << "has no value over dimension " << dim << ", which has size 0";
  return success();
}
LogicalResult RmaxOp::verify() { return verifyNotEmpty(*this, getA().getType(), getDims()); }
LogicalResult RminOp::verify() { return verifyNotEmpty(*this, getA().getType(), getDims()); }

LogicalResult SumOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.broadcastBack(vjp.cotangent(0), getDims(), sizesOf(getA().getType())));
  return success();
}

/// The cotangent of an extreme goes in equal shares to the elements that reach it.
template <typename Op> static LogicalResult extremeVjp(Op op, VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  ArrayRef<int64_t> shape = sizesOf(op.getA().getType());
  Sym a = vjp.operand(0), g = vjp.cotangent(0);
  Sym reached = vjp.convert(vjp.compare<EqOp>(a, vjp.broadcastBack(vjp.result(0), op.getDims(), shape)),
                            a.type().getElementType());
  Sym share = g / vjp.sum(reached, op.getDims());
  vjp.set(0, reached * vjp.broadcastBack(share, op.getDims(), shape));
  return success();
}
LogicalResult RmaxOp::buildVjp(VjpBuilder &vjp) { return extremeVjp(*this, vjp); }
LogicalResult RminOp::buildVjp(VjpBuilder &vjp) { return extremeVjp(*this, vjp); }

//===----------------------------------------------------------------------===//
// argmax
//===----------------------------------------------------------------------===//

LogicalResult ArgmaxOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  int64_t dim = static_cast<int64_t>(op.getDim());
  if (failed(checkDims(loc, getOperationName(), "dimension", {dim}, from.getRank())))
    return failure();
  types.push_back(withShape(from, withoutDims(sizesOf(from), {dim}), IntegerType::get(context, 64)));
  return success();
}

LogicalResult ArgmaxOp::verify() {
  return verifyNotEmpty(*this, getA().getType(), {static_cast<int64_t>(getDim())});
}

LogicalResult ArgmaxOp::buildVjp(VjpBuilder &) { return success(); }

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                         DictionaryAttr attributes, OpaqueProperties properties,
                                         RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  auto index = cast<RankedTensorType>(operands[1].getType());
  auto dim = static_cast<int64_t>(op.getDim());
  if (failed(checkDims(loc, getOperationName(), "dimension", {dim}, from.getRank())))
    return failure();
  if (op.getKind() == GatherKind::along) {
    types.push_back(withShape(from, sizesOf(index)));
    return success();
  }
  SmallVector<int64_t> shape(sizesOf(from).take_front(dim));
  llvm::append_range(shape, sizesOf(index));
  llvm::append_range(shape, sizesOf(from).drop_front(dim + 1));
  return inferShaped(loc, getOperationName(), operands[0], shape, types);
}

LogicalResult GatherOp::verify() {
  auto from = getA().getType();
  auto index = getIndex().getType();
  if (!index.getElementType().isInteger(64) && !index.getElementType().isInteger(32))
    return emitOpError() << "needs an index of i64 or i32, found " << index.getElementType();
  if (getKind() == GatherKind::points)
    return success();
  if (index.getRank() != from.getRank())
    return emitOpError() << "along a dimension needs an index of the operand's rank " << from.getRank()
                         << ", found rank " << index.getRank();
  for (int64_t i = 0; i < from.getRank(); ++i)
    if (i != static_cast<int64_t>(getDim()) && !rangesOf(*this).isAtMost(sizesOf(index)[i], sizesOf(from)[i]))
      return emitOpError() << "has an index of size " << sizeText(sizesOf(index)[i]) << " in dimension " << i
                           << ", where the operand has size " << sizeText(sizesOf(from)[i]);
  return success();
}

LogicalResult GatherOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    return emitOpError() << "has no derivative yet: it needs a scatter (WEFT-G002); detach its operand";
  return success();
}

} // namespace weft::ir
