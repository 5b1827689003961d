//===- Indexing.cpp - Reading and writing by index ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Updates.h"
#include "ir/ops/Common.h"

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// Rules of the family
//===----------------------------------------------------------------------===//

static LogicalResult verifyIndex(Operation *op, RankedTensorType index, IndexMode mode, Size size) {
  if (!index.getElementType().isInteger(64) && !index.getElementType().isInteger(32))
    return op->emitOpError() << "needs an index of i64 or i32, found " << index.getElementType();
  if (mode == IndexMode::clip && size == 0 && elementsOf(index) != 0)
    return op->emitOpError() << "cannot clip an index of " << sizeText(elementsOf(index))
                             << " elements into a dimension of size 0";
  if (size.isSymbolic() && !rangesOf(op).isAtLeast(size, 1))
    return op->emitOpError() << "reads along a dimension of size " << sizeText(size)
                             << ", which may be 0: give its symbols a min of 1";
  return success();
}

/// Verifies that the sizes of `index` are at most those of `limit`, except in dimension `dim`.
static LogicalResult verifyWithin(Operation *op, RankedTensorType index, RankedTensorType limit,
                                  StringRef what, int64_t dim) {
  SymbolRanges ranges = rangesOf(op);
  for (int64_t i = 0; i < limit.getRank(); ++i)
    if (i != dim && !ranges.isAtMost(sizesOf(index)[i], sizesOf(limit)[i]))
      return op->emitOpError() << "has an index of size " << sizeText(sizesOf(index)[i]) << " in dimension "
                               << i << ", where " << what << " has size " << sizeText(sizesOf(limit)[i]);
  return success();
}

int64_t GatherOp::additionsPerElement() {
  // Contiguous rows are loaded like any operand. Otherwise each lane has a load and an index check of its
  // own, which cost 10, measured like the costs of functions (ir/Elementwise.td).
  const auto dim = static_cast<int64_t>(getDim());
  return getKind() == GatherKind::points && dim + 1 < getA().getType().getRank() ? 1 : 10;
}

static LogicalResult verifySameElement(Operation *op, RankedTensorType a, RankedTensorType u) {
  if (a.getElementType() != u.getElementType())
    return op->emitOpError() << "writes elements of " << u.getElementType() << " to a tensor of "
                             << a.getElementType();
  return success();
}

static LogicalResult verifyCombines(Operation *op, RankedTensorType a) {
  if (a.getElementType().isInteger(1))
    return op->emitOpError() << "cannot combine elements of i1; only set them";
  return success();
}

/// The shape of `from` with dimension `dim` replaced by those of `index`.
static SmallVector<Size> pointsShape(RankedTensorType from, RankedTensorType index, int64_t dim) {
  SmallVector<Size> shape(sizesOf(from).take_front(dim));
  llvm::append_range(shape, sizesOf(index));
  llvm::append_range(shape, sizesOf(from).drop_front(dim + 1));
  return shape;
}

static Sym zerosLike(VjpBuilder &vjp, Sym like) { return vjp.like(like, 0.0); }

/// Whether a write is the last one to its element. If several writes go to one element, the last one counts,
/// so only that one has a derivative. `write` writes the numbers 0, 1, .. of the writes to their places, and
/// `read` reads them back.
static Sym isLastWrite(VjpBuilder &vjp, RankedTensorType position, ArrayRef<Size> writes,
                       llvm::function_ref<Sym(Sym, Sym)> write, llvm::function_ref<Sym(Sym)> read) {
  Size count = productOf(writes);
  Type i64 = vjp.builder.getI64Type();
  Sym order = vjp.make<IotaOp>(withShape(position, {count}, i64), 0);
  order = vjp.reshape(order, writes);
  auto empty = withShape(position, sizesOf(position), i64);
  Sym none = vjp.make<ConstantOp>(empty, splatOf(empty, vjp.builder.getI64IntegerAttr(-1)));
  return vjp.compare<EqOp>(read(write(none, order)), order);
}

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
  return inferShaped(loc, getOperationName(), operands[0], pointsShape(from, index, dim), types);
}

LogicalResult GatherOp::verify() {
  auto from = getA().getType();
  auto index = getIndex().getType();
  auto dim = static_cast<int64_t>(getDim());
  if (failed(verifyIndex(*this, index, getMode(), sizesOf(from)[dim])))
    return failure();
  if (getKind() == GatherKind::points)
    return success();
  if (index.getRank() != from.getRank())
    return emitOpError() << "along a dimension needs an index of the operand's rank " << from.getRank()
                         << ", found rank " << index.getRank();
  return verifyWithin(*this, index, from, "the operand", dim);
}

LogicalResult GatherOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  Sym zeros = zerosLike(vjp, vjp.operand(0)), g = vjp.cotangent(0);
  Sym added =
      getKind() == GatherKind::points
          ? vjp.make<IndexUpdateOp>(zeros.value, g.value, getIndex(), getDim(), /*accumulate=*/true,
                                    getMode())
          : vjp.make<ScatterOp>(zeros.value, getIndex(), g.value, getDim(), ScatterKind::add, getMode());
  if (auto name = (*this)->getAttr(attr::indexName))
    added.value.getDefiningOp()->setAttr(attr::indexName, name);
  vjp.set(0, added);
  return success();
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

/// The result type of a write by index along `dim`: that of `base`.
static LogicalResult inferWritten(std::optional<Location> loc, StringRef op, Value base, uint64_t dim,
                                  SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(base.getType());
  if (failed(checkDims(loc, op, "dimension", {static_cast<int64_t>(dim)}, type.getRank())))
    return failure();
  types.push_back(type);
  return success();
}

LogicalResult ScatterOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                          DictionaryAttr attributes, OpaqueProperties properties,
                                          RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  return inferWritten(loc, getOperationName(), operands[0], op.getDim(), types);
}

LogicalResult ScatterOp::verify() {
  auto a = getA().getType(), index = getIndex().getType(), u = getU().getType();
  auto dim = static_cast<int64_t>(getDim());
  if (failed(verifyIndex(*this, index, getMode(), sizesOf(a)[dim])) ||
      failed(verifySameElement(*this, a, u)) ||
      (getKind() != ScatterKind::set && failed(verifyCombines(*this, a))))
    return failure();
  if (index.getRank() != a.getRank() || u.getRank() != a.getRank())
    return emitOpError() << "needs an index and elements of the operand's rank " << a.getRank()
                         << ", found ranks " << index.getRank() << " and " << u.getRank();
  if (failed(verifyWithin(*this, index, a, "the operand", dim)))
    return failure();
  return verifyWithin(*this, index, u, "what is written", -1);
}

LogicalResult ScatterOp::buildVjp(VjpBuilder &vjp) {
  if (getKind() != ScatterKind::add && getKind() != ScatterKind::set && (vjp.needs(0) || vjp.needs(2)))
    return emitOpError() << "of kind " << stringifyScatterKind(getKind()) << " has no derivative ("
                         << "WEFT-G002" << "); detach its operands";
  bool set = getKind() == ScatterKind::set;
  Sym g = vjp.cotangent(0), index = vjp.operand(1);
  ArrayRef<Size> written = sizesOf(index.type());
  auto scatter = [&](Sym into, Sym what, ScatterKind kind) {
    Sym made = vjp.make<ScatterOp>(into.value, index.value, what.value, getDim(), kind, getMode());
    return made;
  };
  if (vjp.needs(0)) {
    auto type = withShape(g.type(), written);
    Sym zeros = vjp.make<ConstantOp>(type, splatOf(type, vjp.builder.getZeroAttr(type.getElementType())));
    vjp.set(0, set ? scatter(g, zeros, ScatterKind::set) : g);
  }
  if (!vjp.needs(2))
    return success();
  auto gather = [&](Sym from) {
    return vjp.make<GatherOp>(from.value, index.value, getDim(), GatherKind::along, getMode());
  };
  Sym u = gather(g);
  if (set) {
    Sym last = isLastWrite(
        vjp, getType(), written, [&](Sym none, Sym order) { return scatter(none, order, ScatterKind::set); },
        gather);
    u = vjp.select(last, u, zerosLike(vjp, u));
  }
  // Elements that no position of the index reads have no derivative.
  ArrayRef<Size> shape = sizesOf(vjp.operand(2).type());
  SmallVector<Size> low(shape.size(), 0), high;
  SmallVector<int64_t> interior(shape.size(), 0);
  for (auto [all, some] : llvm::zip_equal(shape, written))
    high.push_back(all - some);
  vjp.set(2, shape == written ? u : vjp.make<PadOp>(u.value, low, high, interior));
  return success();
}

//===----------------------------------------------------------------------===//
// index_update
//===----------------------------------------------------------------------===//

LogicalResult IndexUpdateOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                              DictionaryAttr attributes, OpaqueProperties properties,
                                              RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  return inferWritten(loc, getOperationName(), operands[0], op.getDim(), types);
}

LogicalResult IndexUpdateOp::verify() {
  auto a = getA().getType(), u = getU().getType(), index = getIndex().getType();
  auto dim = static_cast<int64_t>(getDim());
  if (failed(verifyIndex(*this, index, getMode(), sizesOf(a)[dim])) ||
      failed(verifySameElement(*this, a, u)) || (getAccumulate() && failed(verifyCombines(*this, a))))
    return failure();
  SmallVector<Size> expected = pointsShape(a, index, dim);
  if (sizesOf(u) != ArrayRef(expected))
    return emitOpError() << "needs slices of shape [" << sizesText(expected) << "], found ["
                         << sizesText(sizesOf(u)) << "]";
  return success();
}

LogicalResult IndexUpdateOp::buildVjp(VjpBuilder &vjp) {
  Sym g = vjp.cotangent(0), index = vjp.operand(2);
  auto update = [&](Sym into, Sym what, int64_t dim) {
    return vjp.make<IndexUpdateOp>(into.value, what.value, index.value, dim, /*accumulate=*/false, getMode());
  };
  auto dim = static_cast<int64_t>(getDim());
  if (vjp.needs(0))
    vjp.set(0, getAccumulate() ? g : update(g, zerosLike(vjp, vjp.operand(1)), dim));
  if (!vjp.needs(1))
    return success();
  auto gather = [&](Sym from, int64_t along) {
    return vjp.make<GatherOp>(from.value, index.value, along, GatherKind::points, getMode());
  };
  Sym u = gather(g, dim);
  if (!getAccumulate()) {
    ArrayRef<Size> writes = sizesOf(index.type());
    Sym last = isLastWrite(
        vjp, withShape(getType(), {sizesOf(getType())[dim]}), writes,
        [&](Sym none, Sym order) { return update(none, order, 0); },
        [&](Sym from) { return gather(from, 0); });
    auto dims = llvm::to_vector(llvm::seq<int64_t>(dim, dim + static_cast<int64_t>(writes.size())));
    last = vjp.make<BroadcastInDimOp>(last.value, dims, sizesOf(u.type()));
    u = vjp.select(last, u, zerosLike(vjp, u));
  }
  vjp.set(1, u);
  return success();
}

} // namespace weft::ir
