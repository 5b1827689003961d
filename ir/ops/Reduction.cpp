//===- Reduction.cpp - Reductions ------------------------------------------===//
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
// sum, prod, rmax, rmin, any
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
WEFT_INFER_REDUCTION(ProdOp)
WEFT_INFER_REDUCTION(AnyOp)

LogicalResult SumOp::verify() { return success(); }
LogicalResult ProdOp::verify() { return success(); }
LogicalResult AnyOp::verify() { return success(); }

static LogicalResult verifyNotEmpty(Operation *op, RankedTensorType from, ArrayRef<int64_t> dims) {
  for (int64_t dim : dims)
    if (sizesOf(from)[dim] == 0)
      return op->emitOpError() << "has no value over dimension " << dim << ", which has size 0";
  return success();
}

/// Verifies that there is at least one element, because otherwise there is no position.
static LogicalResult verifyHasPosition(Operation *op, RankedTensorType from, int64_t dim) {
  Size size = sizesOf(from)[dim];
  if (size.isSymbolic() && !rangesOf(op).isAtLeast(size, 1))
    return op->emitOpError() << "looks for a position along dimension " << dim << " of size "
                             << sizeText(size) << ", which may be 0: give its symbols a min of 1";
  return verifyNotEmpty(op, from, {dim});
}
LogicalResult RmaxOp::verify() { return verifyNotEmpty(*this, getA().getType(), getDims()); }
LogicalResult RminOp::verify() { return verifyNotEmpty(*this, getA().getType(), getDims()); }

LogicalResult SumOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.broadcastBack(vjp.cotangent(0), getDims(), sizesOf(getA().getType())));
  return success();
}

/// The cotangent of an extreme is shared equally by the elements that are equal to it; if there are NaNs, by
/// these.
template <typename Op> static LogicalResult extremeVjp(Op op, VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  ArrayRef<Size> shape = sizesOf(op.getA().getType());
  Sym a = vjp.operand(0), g = vjp.cotangent(0);
  Sym reaches = vjp.compare<EqOp>(a, vjp.broadcastBack(vjp.result(0), op.getDims(), shape));
  reaches =
      vjp.binary<OrOp>(reaches, vjp.unary<IsNanOp>(a)); // a NaN is the extreme, but is not equal to itself
  Sym reached = vjp.convert(reaches, a.type().getElementType());
  Sym share = g / vjp.sum(reached, op.getDims());
  vjp.set(0, reached * vjp.broadcastBack(share, op.getDims(), shape));
  return success();
}
LogicalResult RmaxOp::buildVjp(VjpBuilder &vjp) { return extremeVjp(*this, vjp); }
LogicalResult RminOp::buildVjp(VjpBuilder &vjp) { return extremeVjp(*this, vjp); }

LogicalResult AnyOp::buildVjp(VjpBuilder &) { return success(); }

/// The derivative with respect to an element is the product of the others: of those before it times those
/// after it. There is no division, so zeros are handled exactly.
LogicalResult ProdOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  Sym a = vjp.operand(0);
  Type element = a.type().getElementType(), wideType = statisticsType(a.type());
  SmallVector<Size> shape(sizesOf(a.type()));
  SmallVector<int64_t> dims(getDims()), perm;
  auto rank = static_cast<int64_t>(shape.size());
  Sym wide = vjp.convert(a, wideType);
  Sym g = vjp.broadcastBack(vjp.convert(vjp.cotangent(0), wideType), dims, shape);
  if (dims.empty()) {
    vjp.set(0, vjp.convert(g, element));
    return success();
  }
  // Merge the reduced dimensions into one, to scan along it: they are moved to the end.
  int64_t along = dims[0];
  SmallVector<Size> permuted;
  if (dims.size() > 1) {
    for (int64_t dim = 0; dim < rank; ++dim)
      if (!llvm::is_contained(dims, dim))
        perm.push_back(dim);
    along = static_cast<int64_t>(perm.size());
    llvm::append_range(perm, dims);
    for (int64_t dim : perm)
      permuted.push_back(shape[dim]);
    SmallVector<Size> flat(ArrayRef(permuted).take_front(along));
    flat.push_back(countOver(shape, dims));
    wide = vjp.reshape(vjp.make<TransposeOp>(wide.value, perm), flat);
  }
  auto others = [&](bool reverse) {
    return vjp.make<CumprodOp>(wide.value, along, reverse, /*exclusive=*/true);
  };
  Sym product = others(false) * others(true);
  if (!perm.empty()) {
    SmallVector<int64_t> inverse(perm.size());
    for (auto [i, p] : llvm::enumerate(perm))
      inverse[p] = static_cast<int64_t>(i);
    product = vjp.make<TransposeOp>(vjp.reshape(product, permuted).value, inverse);
  }
  vjp.set(0, vjp.convert(g * product, element));
  return success();
}

//===----------------------------------------------------------------------===//
// argmax, argmin
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult inferArg(MLIRContext *context, std::optional<Location> loc, ValueRange operands,
                              typename Op::Adaptor op, SmallVectorImpl<Type> &types) {
  auto from = cast<RankedTensorType>(operands[0].getType());
  int64_t dim = static_cast<int64_t>(op.getDim());
  if (failed(checkDims(loc, Op::getOperationName(), "dimension", {dim}, from.getRank())))
    return failure();
  types.push_back(withShape(from, withoutDims(sizesOf(from), {dim}), IntegerType::get(context, 64)));
  return success();
}

#define WEFT_ARG_REDUCTION(Op)                                                                               \
  LogicalResult Op::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, ValueRange operands, \
                                     DictionaryAttr attributes, OpaqueProperties properties,                 \
                                     RegionRange regions, SmallVectorImpl<Type> &types) {                    \
    return inferArg<Op>(context, loc, operands, Adaptor(operands, attributes, properties, regions), types);  \
  }                                                                                                          \
  LogicalResult Op::verify() {                                                                               \
    return verifyHasPosition(*this, getA().getType(), static_cast<int64_t>(getDim()));                       \
  }                                                                                                          \
  LogicalResult Op::buildVjp(VjpBuilder &) { return success(); }
WEFT_ARG_REDUCTION(ArgmaxOp)
WEFT_ARG_REDUCTION(ArgminOp)

//===----------------------------------------------------------------------===//
// welford
//===----------------------------------------------------------------------===//

LogicalResult WelfordOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                          ValueRange operands, DictionaryAttr attributes,
                                          OpaqueProperties properties, RegionRange regions,
                                          SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  if (failed(checkDims(loc, getOperationName(), "dimension", op.getDims(), from.getRank())))
    return failure();
  types.append(2, withShape(from, withoutDims(sizesOf(from), op.getDims()), statisticsType(from)));
  types.push_back(withShape(from, {}, IntegerType::get(context, 64)));
  return success();
}

LogicalResult WelfordOp::verify() { return success(); }

LogicalResult WelfordOp::canonicalize(WelfordOp op, PatternRewriter &rewriter) {
  if (op.getCount().use_empty())
    return failure();
  rewriter.replaceAllUsesWith(op.getCount(),
                              rewriter.create<DimOp>(op.getLoc(), op.getCount().getType(),
                                                     countOver(sizesOf(op.getA().getType()), op.getDims())));
  return success();
}

/// d mean = 1/n, d m2 = 2 (a - mean).
LogicalResult WelfordOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  Sym a = vjp.operand(0), mean = vjp.result(0);
  ArrayRef<Size> shape = sizesOf(a.type());
  Type element = a.type().getElementType();
  Sym gradient = vjp.like(vjp.convert(a, mean.type().getElementType()), 0.0);
  if (vjp.hasCotangent(0))
    gradient = vjp.broadcastBack(vjp.cotangent(0) / countLike(vjp, mean, shape, getDims()), getDims(), shape);
  if (vjp.hasCotangent(1)) {
    Sym wide = vjp.convert(a, mean.type().getElementType());
    Sym through = (wide - vjp.broadcastBack(mean, getDims(), shape)) *
                  vjp.broadcastBack(vjp.cotangent(1) * 2.0, getDims(), shape);
    gradient = vjp.hasCotangent(0) ? gradient + through : through;
  }
  vjp.set(0, vjp.convert(gradient, element));
  return success();
}

} // namespace weft::ir
