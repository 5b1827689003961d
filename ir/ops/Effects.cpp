//===- Effects.cpp - Storage, host effects, order across queues -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// copy_into, alias
//===----------------------------------------------------------------------===//

LogicalResult CopyIntoOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                           DictionaryAttr, OpaqueProperties, RegionRange,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(operands[0].getType());
  return success();
}

LogicalResult CopyIntoOp::verify() {
  if (getDst().getType() != getSrc().getType())
    return emitOpError() << "writes a value of type " << getSrc().getType() << " to storage of type "
                         << getDst().getType() << "; insert weft.convert or weft.broadcast_in_dim";
  return success();
}

/// A write whose value is not read before the next write is removed.
OpFoldResult CopyIntoOp::fold(FoldAdaptor) {
  if (getDst() == getSrc())
    return getDst();
  auto inner = getDst().getDefiningOp<CopyIntoOp>();
  if (!inner || !inner->hasOneUse())
    return {};
  getDstMutable().assign(inner.getDst());
  return getResult();
}

/// No gradient flows to the old value of the storage.
LogicalResult CopyIntoOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.like(vjp.operand(0), 0.0));
  if (vjp.needs(1))
    vjp.set(1, vjp.cotangent(0));
  return success();
}

LogicalResult AliasOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                        DictionaryAttr, OpaqueProperties, RegionRange,
                                        SmallVectorImpl<Type> &types) {
  types.push_back(operands[0].getType());
  return success();
}

LogicalResult AliasOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.cotangent(0));
  return success();
}

//===----------------------------------------------------------------------===//
// Host effects
//===----------------------------------------------------------------------===//

LogicalResult ToHostScalarOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                               ValueRange operands, DictionaryAttr, OpaqueProperties,
                                               RegionRange, SmallVectorImpl<Type> &types) {
  auto from = cast<RankedTensorType>(operands[0].getType());
  types.push_back(
      makeTensorType(sizesOf(from), from.getElementType(), DeviceAttr::get(context, DeviceKind::cpu, 0)));
  return success();
}

LogicalResult ToHostScalarOp::verify() {
  auto from = cast<RankedTensorType>(getA().getType());
  if (from.getRank() != 0)
    return emitOpError() << "reads one number, found a tensor of shape [" << sizesText(sizesOf(from))
                         << "]; reduce it or take one element of it first";
  return success();
}

std::pair<StringRef, StringRef> ToHostScalarOp::whyNotCapturable() {
  return {"WEFT-C001", "the host waits for this value"};
}

std::pair<StringRef, StringRef> PrintOp::whyNotCapturable() {
  return {"WEFT-C002", "the host prints this value"};
}

//===----------------------------------------------------------------------===//
// Order across queues
//===----------------------------------------------------------------------===//

LogicalResult StreamForkOp::verify() {
  ArrayRef<int64_t> streams = getStreams();
  if (streams.empty())
    return emitOpError() << "needs at least one stream";
  if (streams.size() != getTokens().size())
    return emitOpError() << "forks " << streams.size() << " streams but has " << getTokens().size()
                         << " tokens; there is one for each";
  llvm::SmallSet<int64_t, 8> seen;
  for (int64_t stream : streams) {
    if (stream < 0)
      return emitOpError() << "needs stream numbers that are not negative, found " << stream;
    if (!seen.insert(stream).second)
      return emitOpError() << "names stream " << stream << " twice";
  }
  return success();
}

} // namespace weft::ir
