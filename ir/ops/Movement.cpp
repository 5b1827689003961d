//===- Movement.cpp - Joining, reversing, windows, the same bytes ---------===//
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
// concat
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                         DictionaryAttr attributes, OpaqueProperties properties,
                                         RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  if (operands.empty())
    return emitOptionalError(loc, "'weft.concat' op needs at least one tensor");
  auto first = cast<RankedTensorType>(operands[0].getType());
  auto dim = static_cast<int64_t>(op.getDim());
  if (failed(checkDims(loc, getOperationName(), "dimension", {dim}, first.getRank())))
    return failure();
  SmallVector<Size> shape(sizesOf(first));
  shape[dim] = 0;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (type.getElementType() != first.getElementType())
      return emitOptionalError(loc, "'weft.concat' op joins elements of ", first.getElementType(),
                               " with elements of ", type.getElementType(), " (tensor ", i, ")");
    SmallVector<Size> others(sizesOf(type));
    if (type.getRank() == first.getRank())
      others[dim] = sizesOf(first)[dim];
    if (ArrayRef(others) != sizesOf(first))
      return emitOptionalError(loc, "'weft.concat' op joins tensors that differ in dimensions other than ",
                               dim, ": [", sizesText(sizesOf(first)), "] and [", sizesText(sizesOf(type)),
                               "] (tensor ", i, ")");
    shape[dim] += sizesOf(type)[dim];
  }
  return inferShaped(loc, getOperationName(), operands[0], shape, types);
}

LogicalResult ConcatOp::verify() { return success(); }

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  if (getParts().size() == 1)
    return getParts()[0];
  Attribute splat;
  bool same = true;
  SmallVector<Value> kept;
  for (auto [part, known] : llvm::zip_equal(getParts(), adaptor.getParts())) {
    if (sizesOf(cast<RankedTensorType>(part.getType()))[static_cast<int64_t>(getDim())] == 0)
      continue;
    kept.push_back(part);
    auto constant = dyn_cast_or_null<SplatElementsAttr>(known);
    Attribute element = constant ? constant.getSplatValue<Attribute>() : Attribute();
    same &= element && (!splat || splat == element);
    splat = element;
  }
  if (same && splat)
    return splatOf(getType(), splat);
  if (kept.empty())
    kept.push_back(getParts()[0]);
  if (kept.size() == getParts().size())
    return {};
  if (kept.size() == 1)
    return kept[0];
  getPartsMutable().assign(kept);
  return getResult();
}

LogicalResult ConcatOp::buildVjp(VjpBuilder &vjp) {
  auto dim = static_cast<int64_t>(getDim());
  SmallVector<Size> start(getType().getRank(), 0), limit(sizesOf(getType()));
  SmallVector<int64_t> step(getType().getRank(), 1);
  limit[dim] = 0;
  for (auto [i, part] : llvm::enumerate(getParts())) {
    start[dim] = limit[dim];
    limit[dim] += sizesOf(cast<RankedTensorType>(part.getType()))[dim];
    if (vjp.needs(static_cast<unsigned>(i)))
      vjp.set(static_cast<unsigned>(i), vjp.make<SliceOp>(vjp.cotangent(0).value, start, limit, step));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// reverse
//===----------------------------------------------------------------------===//

LogicalResult ReverseOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                          DictionaryAttr attributes, OpaqueProperties properties,
                                          RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  if (failed(checkDims(loc, getOperationName(), "dimension", op.getDims(), from.getRank())))
    return failure();
  types.push_back(from);
  return success();
}

LogicalResult ReverseOp::verify() { return success(); }

OpFoldResult ReverseOp::fold(FoldAdaptor adaptor) {
  if (isa_and_nonnull<SplatElementsAttr>(adaptor.getA()))
    return adaptor.getA();
  auto inner = getA().getDefiningOp<ReverseOp>();
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < getType().getRank(); ++dim) {
    bool reversed = llvm::is_contained(getDims(), dim) != (inner && llvm::is_contained(inner.getDims(), dim));
    Size size = sizesOf(getType())[dim];
    if (reversed && size != 0 && size != 1)
      dims.push_back(dim);
  }
  Value from = inner ? inner.getA() : getA();
  if (dims.empty())
    return from;
  if (!inner && ArrayRef(dims) == getDims())
    return {};
  setOperand(from);
  setDims(dims);
  return getResult();
}

LogicalResult ReverseOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.make<ReverseOp>(vjp.cotangent(0).value, getDims()));
  return success();
}

//===----------------------------------------------------------------------===//
// dynamic_slice, dynamic_update_slice
//===----------------------------------------------------------------------===//

static LogicalResult checkStarts(std::optional<Location> loc, StringRef op, size_t starts, int64_t rank) {
  if (static_cast<int64_t>(starts) != rank)
    return emitOptionalError(loc, "'", op, "' op needs one start per dimension: rank ", rank, ", found ",
                             starts);
  return success();
}

LogicalResult DynamicSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                               ValueRange operands, DictionaryAttr attributes,
                                               OpaqueProperties properties, RegionRange regions,
                                               SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  if (failed(checkStarts(loc, getOperationName(), operands.size() - 1, from.getRank())))
    return failure();
  if (static_cast<int64_t>(op.getSizes().size()) != from.getRank())
    return emitOptionalError(loc, "'weft.dynamic_slice' op needs sizes of rank ", from.getRank(), ", found ",
                             op.getSizes().size());
  for (int64_t i = 0; i < from.getRank(); ++i) {
    Size size = op.getSizes()[i], whole = sizesOf(from)[i];
    bool tooMany = size.isNumber() && whole.isNumber() && size.asNumber() > whole.asNumber();
    if (!size.isCount() || tooMany)
      return emitOptionalError(loc, "'weft.dynamic_slice' op takes ", sizeText(size),
                               " elements of dimension ", i, ", which has size ", sizeText(whole));
  }
  return inferShaped(loc, getOperationName(), operands[0], op.getSizes(), types);
}

/// Verifies that a window is no larger than its tensor, for all values of the symbols.
static LogicalResult verifyWindow(Operation *op, StringRef does, ArrayRef<Size> window,
                                  ArrayRef<Size> whole) {
  SymbolRanges ranges = rangesOf(op);
  for (size_t i = 0; i < whole.size(); ++i)
    if (!ranges.isAtMost(window[i], whole[i]))
      return op->emitOpError() << does << " a window of size " << sizeText(window[i]) << " in dimension " << i
                               << ", which has size " << sizeText(whole[i])
                               << (window[i].isSymbolic() || whole[i].isSymbolic()
                                       ? "; it cannot be proven that it fits for every value of the symbols"
                                       : "");
  return success();
}

LogicalResult DynamicSliceOp::verify() {
  return verifyWindow(*this, "takes", getSizes(), sizesOf(getA().getType()));
}

LogicalResult DynamicSliceOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.make<DynamicUpdateSliceOp>(vjp.like(vjp.operand(0), 0.0).value, vjp.cotangent(0).value,
                                              getStarts()));
  return success();
}

LogicalResult DynamicUpdateSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                     ValueRange operands, DictionaryAttr, OpaqueProperties,
                                                     RegionRange, SmallVectorImpl<Type> &types) {
  auto from = cast<RankedTensorType>(operands[0].getType());
  if (failed(checkStarts(loc, getOperationName(), operands.size() - 2, from.getRank())))
    return failure();
  types.push_back(from);
  return success();
}

LogicalResult DynamicUpdateSliceOp::verify() {
  auto a = getA().getType(), u = getU().getType();
  if (a.getElementType() != u.getElementType() || a.getRank() != u.getRank())
    return emitOpError() << "writes a window of type " << u << " to a tensor of type " << a
                         << "; they must agree in element type and rank";
  return verifyWindow(*this, "writes", sizesOf(u), sizesOf(a));
}

LogicalResult DynamicUpdateSliceOp::buildVjp(VjpBuilder &vjp) {
  Sym g = vjp.cotangent(0);
  if (vjp.needs(0))
    vjp.set(0, vjp.make<DynamicUpdateSliceOp>(g.value, vjp.like(vjp.operand(1), 0.0).value, getStarts()));
  if (vjp.needs(1))
    vjp.set(1, vjp.make<DynamicSliceOp>(g.value, getStarts(), sizesOf(getU().getType())));
  return success();
}

//===----------------------------------------------------------------------===//
// bitcast
//===----------------------------------------------------------------------===//

LogicalResult BitcastOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                          DictionaryAttr attributes, OpaqueProperties properties,
                                          RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  Type to = op.getTo();
  if (!toDType(to) || to.isInteger(1) || from.getElementType().isInteger(1))
    return emitOptionalError(loc, "'weft.bitcast' op cannot take bits of ", from.getElementType(), " for ",
                             to, ": expected i8, i16, i32, i64, ui8, f16, bf16, f32 or f64 on both sides");
  auto before = static_cast<int64_t>(itemsize(*toDType(from.getElementType()))),
       after = static_cast<int64_t>(itemsize(*toDType(to)));
  SmallVector<Size> shape(sizesOf(from));
  if (before != after) {
    auto last = shape.empty() ? std::nullopt : divide(shape.back() * before, after);
    if (!last)
      return emitOptionalError(loc, "'weft.bitcast' op cannot take elements of ", before,
                               " bytes for elements of ", after, ": the last dimension of [",
                               sizesText(shape), "] is no whole number of them");
    shape.back() = *last;
  }
  return inferShaped(loc, getOperationName(), operands[0], shape, types, to);
}

LogicalResult BitcastOp::verify() { return success(); }

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  if (getA().getType() == getType())
    return getA();
  if (auto inner = getA().getDefiningOp<BitcastOp>()) {
    setOperand(inner.getA());
    return getResult();
  }
  return {};
}

/// No gradient flows through a reinterpretation of bits.
LogicalResult BitcastOp::buildVjp(VjpBuilder &) { return success(); }

} // namespace weft::ir
