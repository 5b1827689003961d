//===- Sort.cpp - sort ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/ops/Common.h"

using namespace mlir;
namespace weft::ir {

LogicalResult SortOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, ValueRange operands,
                                       DictionaryAttr attributes, OpaqueProperties properties,
                                       RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  if (from.getRank() == 0)
    return emitOptionalError(loc, "'weft.sort' op needs an operand with a dimension, found rank 0");
  Size count = op.getCount(), extent = sizesOf(from).back();
  if (count.isNumber() &&
      (count.asNumber() < 0 || (extent.isNumber() && count.asNumber() > extent.asNumber())))
    return emitOptionalError(loc, "'weft.sort' op keeps ", sizeText(count), " elements of rows of ",
                             sizeText(extent));
  SmallVector<Size> shape(sizesOf(from));
  shape.back() = count;
  if (failed(inferShaped(loc, getOperationName(), operands[0], shape, types)))
    return failure();
  return inferShaped(loc, getOperationName(), operands[0], shape, types, IntegerType::get(context, 64));
}

LogicalResult SortOp::verify() {
  Size extent = sizesOf(getA().getType()).back();
  if (failed(verifyDeclared(*this, {getCount()})))
    return failure();
  if (!rangesOf(*this).isAtMost(getCount(), extent))
    return emitOpError() << "keeps " << sizeText(getCount()) << " elements of rows of " << sizeText(extent)
                         << "; it cannot be proven that there are as many for every value of the symbols";
  return success();
}

/// Each cotangent goes to the element that its value came from. The others get zeros.
LogicalResult SortOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0) || !vjp.hasCotangent(0))
    return success();
  Sym a = vjp.operand(0);
  vjp.set(0, vjp.make<ScatterOp>(vjp.like(a, 0).value, getIndices(), vjp.cotangent(0).value,
                                 a.type().getRank() - 1, ScatterKind::add, IndexMode::assume));
  return success();
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

namespace {

/// Sorted runs of rows, and the merge of neighbouring runs.
struct SortedRuns {
  VjpBuilder &v;
  Sym keys, places; ///< the elements, and where they were
  Sym position;     ///< of each element in its row
  Sym extent;       ///< the elements of a row
  bool descending;

  Sym at(Sym table, Sym index) const {
    return v.make<GatherOp>(table.value, index.value, table.type().getRank() - 1, GatherKind::along,
                            IndexMode::clip);
  }
  Sym number(int64_t value) const { return v.like(position, static_cast<double>(value)); }
  Sym both(Sym a, Sym b) const { return v.binary<AndOp>(a, b); }
  Sym either(Sym a, Sym b) const { return v.binary<OrOp>(a, b); }

  /// Whether `a` comes before `b`, which are not equal.
  Sym isBefore(Sym a, Sym b) const {
    if (descending)
      std::swap(a, b);
    Sym less = v.compare<LtOp>(a, b);
    if (!isa<FloatType>(a.type().getElementType()))
      return less;
    return either(less, both(v.unary<IsNanOp>(b), v.unary<BnotOp>(v.unary<IsNanOp>(a))));
  }

  /// Merges each run of `length` elements with the next one. The elements at d and before it of a merged run
  /// are i elements of the left run and d - i of the right one. The search finds the smallest i for which the
  /// next element of the left run is behind the last one of the right run.
  void merge(int64_t length) {
    Sym begin = both(position, number(-2 * length)), d = position - begin;
    Sym rest = extent - begin;
    Sym left = v.binary<MinOp>(rest, number(length));
    Sym right = v.binary<MinOp>(v.binary<MaxOp>(rest - number(length), number(0)), number(length));
    Sym second = begin + number(length);
    Sym low = v.binary<MaxOp>(d - right, number(0)), high = v.binary<MinOp>(d, left);
    for (int64_t most = length; most > 0; most /= 2) {
      Sym middle = v.binary<DivOp>(low + high, number(2));
      Sym isOpen = v.compare<LtOp>(low, high);
      Sym x = at(keys, begin + middle), y = at(keys, second + (d - middle - number(1)));
      Sym isFirst = v.unary<BnotOp>(isBefore(y, x));
      low = v.select(both(isOpen, isFirst), middle + number(1), low);
      high = v.select(isFirst, high, middle);
    }
    Sym taken = d - low;
    Sym isLeft = both(v.compare<LtOp>(low, left),
                      either(v.compare<GeOp>(taken, right),
                             v.unary<BnotOp>(isBefore(at(keys, second + taken), at(keys, begin + low)))));
    Sym source = begin + v.select(isLeft, low, number(length) + taken);
    Sym merged = at(keys, source);
    places = at(places, source);
    keys = merged;
  }
};

} // namespace

SmallVector<Value> SortOp::decompose(OpBuilder &builder) {
  VjpBuilder v = decompositionBuilder(builder, *this);
  RankedTensorType from = getA().getType();
  SmallVector<Size> shape(sizesOf(from));
  const int64_t last = from.getRank() - 1, most = rangesOf(*this).largest(shape.back());
  Type i64 = builder.getI64Type(), element = from.getElementType();
  // Positions of two runs are added, so they stay below 2^31.
  Type index = most < (int64_t(1) << 29) ? Type(builder.getI32Type()) : i64;
  Sym a{getA(), &v};
  if (element.isInteger(1))
    a = v.convert(a, builder.getIntegerType(8));
  Sym position = v.make<IotaOp>(withShape(from, shape, index), last);
  SortedRuns runs{v, a, position, position, countLike(v, position, shape, {last}), getDescending()};
  for (int64_t length = 1; length < most; length *= 2)
    runs.merge(length);
  Sym values = v.convert(runs.keys, element), indices = v.convert(runs.places, i64);
  if (getCount() != shape.back()) {
    SmallVector<Size> start(shape.size(), 0);
    SmallVector<int64_t> step(shape.size(), 1);
    shape.back() = getCount();
    values = v.make<SliceOp>(values.value, start, shape, step);
    indices = v.make<SliceOp>(indices.value, start, shape, step);
  }
  return {values.value, indices.value};
}

} // namespace weft::ir
