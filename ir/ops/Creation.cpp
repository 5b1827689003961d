//===- Creation.cpp - Constants, iota, random bits ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Common.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// constant
//===----------------------------------------------------------------------===//

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &state) {
  // `dense<..> : tensor<4xf32, #dev>`: the attribute itself parses the type.
  ElementsAttr value;
  if (parser.parseOptionalAttrDict(state.attributes))
    return failure();
  auto loc = parser.getCurrentLocation();
  if (parser.parseAttribute(value, "value", state.attributes))
    return failure();
  Type type = value.getShapedType();
  if (succeeded(parser.parseOptionalArrow()) && parser.parseType(type))
    return failure();
  if (!isWeftTensor(type))
    return parser.emitError(loc) << "expected values of a tensor with a device, found " << type;
  state.addTypes(type);
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  printer << ' ' << getValue();
  if (getValue().getShapedType() != getType())
    printer << " -> " << getType();
}

LogicalResult ConstantOp::verify() {
  RankedTensorType type = getType();
  if (isDynamic(type)) {
    if (!isa<SplatElementsAttr>(getValue()) ||
        getValue().getShapedType() != RankedTensorType::get({}, type.getElementType()))
      return emitOpError() << "over dynamic dimensions repeats one element: it needs a value of type "
                           << RankedTensorType::get({}, type.getElementType()) << ", found "
                           << getValue().getShapedType();
    return success();
  }
  if (getValue().getShapedType() != getType())
    return emitOpError() << "holds a value of type " << getValue().getShapedType()
                         << " but has the result type " << getType();
  if (!isa<DenseElementsAttr, DenseResourceElementsAttr>(getValue()))
    return emitOpError() << "needs its values as dense<..> or dense_resource<..>";
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(getValue())) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return emitOpError() << "refers to the resource '" << resource.getRawHandle().getKey()
                           << "', which has no data: the text was printed with its constants elided";
    if (static_cast<int64_t>(blob->getData().size()) != bytesOf(getType()))
      return emitOpError() << "needs " << sizeText(bytesOf(getType())) << " bytes but the resource '"
                           << resource.getRawHandle().getKey() << "' has " << blob->getData().size();
  }
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ConstantOp::buildVjp(VjpBuilder &) { return success(); }

//===----------------------------------------------------------------------===//
// full, iota, undef
//===----------------------------------------------------------------------===//

LogicalResult FullOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                       DictionaryAttr attributes, OpaqueProperties properties,
                                       RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  return inferShaped(loc, getOperationName(), operands[0], op.getShape(), types);
}

LogicalResult FullOp::verify() {
  if (getValue().getType().getRank() != 0)
    return emitOpError() << "needs a 0-dimensional value, found shape ["
                         << sizesText(sizesOf(getValue().getType())) << "]";
  return success();
}

LogicalResult FullOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.sum(vjp.cotangent(0), allDims(getType().getRank())));
  return success();
}

LogicalResult IotaOp::verify() {
  if (static_cast<int64_t>(getDim()) < 0 || static_cast<int64_t>(getDim()) >= getType().getRank())
    return emitOpError() << "counts along dimension " << static_cast<int64_t>(getDim())
                         << ", but the result has rank " << getType().getRank();
  return success();
}

LogicalResult IotaOp::buildVjp(VjpBuilder &) { return success(); }

LogicalResult UndefOp::buildVjp(VjpBuilder &) { return success(); }

//===----------------------------------------------------------------------===//
// dim
//===----------------------------------------------------------------------===//

LogicalResult DimOp::verify() {
  if (!getSize().isCount())
    return emitOpError() << "needs a size that is not negative, found " << sizeText(getSize());
  return verifyDeclared(*this, getSize());
}

OpFoldResult DimOp::fold(FoldAdaptor) {
  if (!getSize().isNumber())
    return {};
  return DenseElementsAttr::get(getType(), getSize().asNumber());
}

LogicalResult DimOp::buildVjp(VjpBuilder &) { return success(); }

//===----------------------------------------------------------------------===//
// rng_bits_philox
//===----------------------------------------------------------------------===//

LogicalResult RngBitsPhiloxOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                                ValueRange operands, DictionaryAttr attributes,
                                                OpaqueProperties properties, RegionRange regions,
                                                SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  if (failed(inferShaped(loc, getOperationName(), operands[0], op.getShape(), types)))
    return failure();
  types[0] = cast<RankedTensorType>(types[0]).clone(IntegerType::get(context, 32));
  types.push_back(operands[1].getType());
  return success();
}

LogicalResult RngBitsPhiloxOp::verify() {
  if (static_cast<int64_t>(getStream()) < 0)
    return emitOpError() << "needs a stream number that is not negative, found "
                         << static_cast<int64_t>(getStream());
  return success();
}

/// Computes the next counter from the shape, so that it does not depend on the bits.
LogicalResult RngBitsPhiloxOp::canonicalize(RngBitsPhiloxOp op, PatternRewriter &rewriter) {
  if (op.getNext().use_empty())
    return failure();
  Value advance = rewriter.create<DimOp>(op.getLoc(), op.getNext().getType(),
                                         ceilDiv(elementsOf(op.getBits().getType()), 4));
  rewriter.replaceAllUsesWith(op.getNext(), rewriter.create<AddOp>(op.getLoc(), op.getCounter(), advance));
  return success();
}

LogicalResult RngBitsPhiloxOp::buildVjp(VjpBuilder &) { return success(); }

} // namespace weft::ir
