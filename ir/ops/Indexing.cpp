//===- Indexing.cpp - Reading and writing by index ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Updates.h"
#include "ir/ops/Common.h"
#include "ir/ops/PooledGather.h"

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
  if (failed(verifyIndex(*this, index, getMode(), sizesOf(from)[dim])) || failed(verifyPooled(*this)))
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
  if (const Sym pooled = pooledCotangent(*this, vjp)) {
    vjp.set(0, pooled);
    return success();
  }
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

/// The ops that the derivatives of a scatter are made of.
struct ScatterRule {
  ScatterOp op;
  VjpBuilder &vjp;
  Sym index = vjp.operand(1), result = vjp.result(0);
  ArrayRef<Size> written = sizesOf(index.type());

  Sym scatter(Sym into, Sym what, ScatterKind kind) {
    return vjp.make<ScatterOp>(into.value, index.value, what.value, op.getDim(), kind, op.getMode());
  }
  Sym gather(Sym from) {
    return vjp.make<GatherOp>(from.value, index.value, op.getDim(), GatherKind::along, op.getMode());
  }
  /// A number for each position of the index.
  Sym elements(Type element, double value) {
    auto type = withShape(result.type(), written, element);
    return vjp.make<ConstantOp>(type, splatOf(type, vjp.builder.getFloatAttr(element, value)));
  }
  /// The elements of u that positions of the index read.
  Sym used() {
    Sym u = vjp.operand(2);
    if (sizesOf(u.type()) == written)
      return u;
    SmallVector<Size> start(written.size(), 0), limit(written);
    return vjp.make<SliceOp>(u.value, start, limit, SmallVector<int64_t>(written.size(), 1));
  }
  /// Sets the derivative of u. Elements that no position of the index reads have none.
  void setElements(Sym u) {
    ArrayRef<Size> shape = sizesOf(vjp.operand(2).type());
    SmallVector<Size> low(shape.size(), 0), high;
    SmallVector<int64_t> interior(shape.size(), 0);
    for (auto [all, some] : llvm::zip_equal(shape, written))
      high.push_back(all - some);
    vjp.set(2, shape == written ? u : vjp.make<PadOp>(u.value, low, high, interior));
  }
};

/// The derivative of an extreme is shared equally by the elements that are equal to it; beside a NaN it is
/// NaN.
static void scatterExtremeVjp(ScatterRule rule) {
  VjpBuilder &vjp = rule.vjp;
  Sym a = vjp.operand(0), u = rule.used(), g = vjp.cotangent(0);
  Type element = a.type().getElementType(), wide = statisticsType(a.type()); // halves count to 256 only
  Sym isA = vjp.convert(vjp.compare<EqOp>(a, rule.result), wide);
  Sym isU = vjp.convert(vjp.compare<EqOp>(u, rule.gather(rule.result)), wide);
  Sym share = vjp.convert(g, wide) / rule.scatter(isA, isU, ScatterKind::add);
  if (vjp.needs(0))
    vjp.set(0, vjp.convert(isA * share, element));
  if (vjp.needs(2))
    rule.setElements(vjp.convert(isU * rule.gather(share), element));
}

/// The derivative with respect to a factor is the product of the others. For an element of u that is the
/// result divided by the element; where elements of u are 0, it is the product of all others, and of the
/// zeros beside it. One other zero is a factor, 0 itself, because the derivative of the derivative has the
/// product behind it.
static void scatterProductVjp(ScatterRule rule) {
  VjpBuilder &vjp = rule.vjp;
  Sym a = vjp.operand(0), u = rule.used(), g = vjp.cotangent(0);
  Type element = a.type().getElementType();
  Sym one = rule.elements(element, 1);
  if (vjp.needs(0))
    vjp.set(0, g * rule.scatter(vjp.like(a, 1), u, ScatterKind::mul));
  if (!vjp.needs(2))
    return;
  Sym none = rule.elements(element, 0), isZero = vjp.compare<EqOp>(u, none);
  Sym factors = vjp.select(isZero, one, u);
  Sym nonzero = rule.gather(g * rule.scatter(a, factors, ScatterKind::mul));
  Sym zeros = vjp.like(a, 0.0);
  Sym count = rule.gather(rule.scatter(zeros, vjp.select(isZero, one, none), ScatterKind::add));
  Sym sum = rule.gather(rule.scatter(zeros, vjp.select(isZero, u, none), ScatterKind::add));
  Sym twice = vjp.select(vjp.compare<EqOp>(count, one + 1.0), nonzero * (sum - u), none);
  Sym ofZero = vjp.select(vjp.compare<EqOp>(count, one), nonzero, twice);
  rule.setElements(vjp.select(isZero, ofZero, rule.gather(g * rule.result) / factors));
}

LogicalResult ScatterOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0) && !vjp.needs(2))
    return success();
  ScatterRule rule{*this, vjp};
  switch (getKind()) {
  case ScatterKind::mul:
    scatterProductVjp(rule);
    return success();
  case ScatterKind::max:
  case ScatterKind::min:
    scatterExtremeVjp(rule);
    return success();
  case ScatterKind::add:
  case ScatterKind::set:
    break;
  }
  bool set = getKind() == ScatterKind::set;
  Sym g = vjp.cotangent(0);
  if (vjp.needs(0))
    vjp.set(0, set ? rule.scatter(g, rule.elements(g.type().getElementType(), 0), ScatterKind::set) : g);
  if (!vjp.needs(2))
    return success();
  Sym u = rule.gather(g);
  if (set) {
    Sym last = isLastWrite(
        vjp, getType(), rule.written,
        [&](Sym none, Sym order) { return rule.scatter(none, order, ScatterKind::set); },
        [&](Sym from) { return rule.gather(from); });
    u = vjp.select(last, u, zerosLike(vjp, u));
  }
  rule.setElements(u);
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
