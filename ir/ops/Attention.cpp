//===- Attention.cpp - sdpa and its derivative ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Common.h"

#include <cmath>
#include <limits>

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// [batch.., first, second].
static SmallVector<Size> matrixShape(RankedTensorType like, Size first, Size second) {
  SmallVector<Size> shape(sizesOf(like).drop_back(2));
  shape.push_back(first);
  shape.push_back(second);
  return shape;
}

/// Whether q, k and v have one rank, at least 2. Emits an error otherwise. The verifier checks the rest.
static LogicalResult checkRanks(std::optional<Location> loc, StringRef op, ValueRange operands) {
  int64_t rank = cast<RankedTensorType>(operands[0].getType()).getRank();
  for (Value value : operands.take_front(3))
    if (auto type = cast<RankedTensorType>(value.getType()); type.getRank() < 2 || type.getRank() != rank)
      return emitOptionalError(loc, "'", op, "' op needs q, k and v of one rank, at least 2, found shapes [",
                               sizesText(sizesOf(operands[0].getType())), "], [",
                               sizesText(sizesOf(operands[1].getType())), "] and [",
                               sizesText(sizesOf(operands[2].getType())), "]");
  return success();
}

LogicalResult SdpaOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                       DictionaryAttr, OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  if (failed(checkRanks(loc, getOperationName(), operands)))
    return failure();
  auto q = cast<RankedTensorType>(operands[0].getType());
  Size columns = sizesOf(operands[2].getType()).back();
  types.push_back(withShape(q, matrixShape(q, sizesOf(q).drop_back().back(), columns)));
  types.push_back(withShape(q, sizesOf(q).drop_back(), statisticsType(q)));
  return success();
}

LogicalResult SdpaBackwardOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                               ValueRange operands, DictionaryAttr, OpaqueProperties,
                                               RegionRange, SmallVectorImpl<Type> &types) {
  if (failed(checkRanks(loc, getOperationName(), operands)))
    return failure();
  for (Value value : operands.take_front(3))
    types.push_back(value.getType());
  return success();
}

/// Verifies q, k, v, the mask and the scale of the forward or the backward op.
template <typename Op> static LogicalResult verifyAttention(Op op) {
  auto q = op.getQ().getType(), k = op.getK().getType(), v = op.getV().getType();
  ArrayRef<Size> qs = sizesOf(q), ks = sizesOf(k), vs = sizesOf(v);
  if (k.getElementType() != q.getElementType() || v.getElementType() != q.getElementType())
    return op.emitOpError() << "needs q, k and v of one element type, found " << q.getElementType() << ", "
                            << k.getElementType() << " and " << v.getElementType();
  if (ks.drop_back(2) != qs.drop_back(2) || vs.drop_back(2) != qs.drop_back(2))
    return op.emitOpError() << "needs q, k and v of the same dimensions before the last two, found shapes ["
                            << sizesText(qs) << "], [" << sizesText(ks) << "] and [" << sizesText(vs) << "]";
  if (ks.back() != qs.back())
    return op.emitOpError() << "needs keys with as many features as queries, found " << sizeText(ks.back())
                            << " and " << sizeText(qs.back());
  if (vs.drop_back().back() != ks.drop_back().back())
    return op.emitOpError() << "needs as many values as keys, found " << sizeText(vs.drop_back().back())
                            << " and " << sizeText(ks.drop_back().back());
  if (double scale = op.getScale().convertToDouble(); !std::isfinite(scale))
    return op.emitOpError() << "needs a finite scale, found " << scale;
  // What it is decomposed into has tensors of the scores.
  SmallVector<Size> scores = matrixShape(q, qs.drop_back().back(), ks.drop_back().back());
  if (!widestBytes(scores).isExpressible())
    return op.emitOpError() << "needs scores of at most 2^63 bytes, found [" << sizesText(scores) << "]";
  if (!op.getMask())
    return success();
  auto mask = cast<RankedTensorType>(op.getMask().getType());
  Type element = mask.getElementType();
  if (!element.isInteger(1) && element != q.getElementType() && element != statisticsType(q))
    return op.emitOpError() << "needs a mask of i1, " << q.getElementType() << " or " << statisticsType(q)
                            << ", found " << element;
  bool fits = mask.getRank() == q.getRank();
  for (size_t i = 0; fits && i < scores.size(); ++i)
    fits = sizesOf(mask)[i] == 1 || sizesOf(mask)[i] == scores[i];
  if (!fits)
    return op.emitOpError() << "needs a mask of the sizes of the scores, [" << sizesText(scores)
                            << "], or 1, found [" << sizesText(sizesOf(mask)) << "]";
  return success();
}

LogicalResult SdpaOp::verify() { return verifyAttention(*this); }

LogicalResult SdpaBackwardOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  auto q = getQ().getType();
  Size rows = sizesOf(q).drop_back().back();
  auto out = withShape(q, matrixShape(q, rows, sizesOf(getV().getType()).back()));
  auto lse = withShape(q, sizesOf(q).drop_back(), statisticsType(q));
  for (auto [name, value, expected] : {std::tuple(StringRef("out"), Value(getOut()), out),
                                       {"lse", Value(getLse()), lse},
                                       {"grad", Value(getGrad()), out}})
    if (value.getType() != expected)
      return emitOpError() << "needs " << name << " of type " << expected << ", found " << value.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Decompositions
//===----------------------------------------------------------------------===//

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// q, k and v in the element type of the statistics, and the scores of all rows and keys.
class Attention {
public:
  template <typename Op>
  Attention(VjpBuilder &v, Op op)
      : v(v), wide(statisticsType(op.getQ().getType())), q(v.convert({op.getQ(), &v}, wide)),
        k(v.convert({op.getK(), &v}, wide)), values(v.convert({op.getV(), &v}, wide)),
        rank(q.type().getRank()), scale(op.getScale().convertToDouble()) {
    scores = product(q, rank - 1, k, rank - 1) * scale;
    shape = llvm::to_vector(sizesOf(scores.type()));
    Sym lowest = v.like(scores, -inf);
    if (op.getMask()) {
      Sym mask{op.getMask(), &v};
      bool choice = mask.type().getElementType().isInteger(1);
      Sym full = v.make<BroadcastInDimOp>((choice ? mask : v.convert(mask, wide)).value, allDims(rank),
                                          ArrayRef<Size>(shape));
      scores = choice ? v.select(full, scores, lowest) : scores + full;
    }
    if (op.getCausal()) {
      auto numbers = withShape(q.type(), shape, IntegerType::get(v.builder.getContext(), 64));
      Sym row = v.make<IotaOp>(numbers, rank - 2), key = v.make<IotaOp>(numbers, rank - 1);
      scores = v.select(v.compare<LeOp>(key, row), scores, lowest);
    }
  }

  /// The sum of products over dimension `overA` of a and `overB` of b, batch by batch.
  Sym product(Sym a, int64_t overA, Sym b, int64_t overB) const {
    SmallVector<int64_t> batch = allDims(rank - 2);
    return v.make<DotGeneralOp>(a.value, b.value, Value(), batch, batch, ArrayRef<int64_t>{overA},
                                ArrayRef<int64_t>{overB}, false);
  }
  /// Broadcasts one number per row to `columns` columns.
  Sym spread(Sym rows, Size columns) const {
    SmallVector<Size> full(sizesOf(rows.type()));
    full.push_back(columns);
    return v.broadcastBack(rows, {rank - 1}, full);
  }
  Sym spread(Sym rows) const { return spread(rows, shape.back()); }
  /// exp(scores - lse), and 0 in rows in which all keys are masked.
  Sym probabilities(Sym lse) const {
    Sym sees = v.compare<NeOp>(lse, v.like(lse, -inf));
    Sym shift = v.select(sees, lse, v.like(lse, 0.0));
    return v.unary<ExpOp>(scores - spread(shift));
  }

  VjpBuilder &v;
  Type wide;
  Sym q, k, values, scores;
  int64_t rank;
  double scale;
  SmallVector<Size> shape; ///< of the scores
};

/// The derivative with respect to q, k and v, and to the scores.
struct AttentionGradients {
  AttentionGradients(const Attention &a, Sym out, Sym lse, Sym grad, Sym lseGrad) {
    VjpBuilder &v = a.v;
    Sym g = v.convert(grad, a.wide), p = a.probabilities(lse);
    Sym inner = v.sum(g * v.convert(out, a.wide), {a.rank - 1});
    if (lseGrad)
      inner = inner - lseGrad;
    ds = p * (a.product(g, a.rank - 1, a.values, a.rank - 1) - a.spread(inner));
    dq = a.product(ds, a.rank - 1, a.k, a.rank - 2) * a.scale;
    dk = a.product(ds, a.rank - 2, a.q, a.rank - 2) * a.scale;
    dv = a.product(p, a.rank - 2, g, a.rank - 2);
  }
  Sym ds, dq, dk, dv;
};

} // namespace

SmallVector<Value> SdpaOp::decompose(OpBuilder &builder) {
  VjpBuilder v = decompositionBuilder(builder, *this);
  Attention a(v, *this);
  Type element = getQ().getType().getElementType();
  Sym lowest = v.like({getLse(), &v}, -inf);
  if (a.shape.back() == 0) // without keys there is no largest score
    return {v.like({getOut(), &v}, 0.0).value, lowest.value};
  Sym top = v.make<RmaxOp>(a.scores.value, ArrayRef<int64_t>{a.rank - 1});
  Sym sees = v.compare<NeOp>(top, lowest);
  Sym shift = v.select(sees, top, v.like(top, 0.0));
  Sym e = v.unary<ExpOp>(a.scores - a.spread(shift)), total = v.sum(e, {a.rank - 1});
  // Divide once per row, after the sum over keys.
  Sym factor = v.select(sees, v.unary<RecipOp>(total), v.like(total, 0.0));
  Sym sums = a.product(e, a.rank - 1, a.values, a.rank - 2);
  Sym out = sums * a.spread(factor, sizesOf(getV().getType()).back());
  return {v.convert(out, element).value, (shift + v.unary<LogOp>(total)).value};
}

SmallVector<Value> SdpaBackwardOp::decompose(OpBuilder &builder) {
  VjpBuilder v = decompositionBuilder(builder, *this);
  Attention a(v, *this);
  AttentionGradients gradients(a, {getOut(), &v}, {getLse(), &v}, {getGrad(), &v}, {});
  Type element = getQ().getType().getElementType();
  return {v.convert(gradients.dq, element).value, v.convert(gradients.dk, element).value,
          v.convert(gradients.dv, element).value};
}

/// Uses weft.sdpa_backward, except for gradients of the mask or through lse. These need the derivative of
/// every score, so they are built from primitives.
LogicalResult SdpaOp::buildVjp(VjpBuilder &vjp) {
  bool ofMask = getMask() && vjp.needs(3);
  auto set = [&](unsigned i, Value value) {
    if (vjp.needs(i))
      vjp.set(i, {value, &vjp});
  };
  if (!ofMask && !vjp.hasCotangent(1)) {
    auto backward = vjp.builder.create<SdpaBackwardOp>(vjp.loc, getQ(), getK(), getV(), getOut(), getLse(),
                                                       vjp.cotangent(0).value, getMask(), getScaleAttr(),
                                                       getCausalAttr());
    for (unsigned i = 0; i < 3; ++i)
      set(i, backward->getResult(i));
    return success();
  }
  Attention a(vjp, *this);
  AttentionGradients gradients(a, vjp.result(0), vjp.result(1), vjp.cotangent(0),
                               vjp.hasCotangent(1) ? vjp.cotangent(1) : Sym());
  Type element = getQ().getType().getElementType();
  unsigned number = 0;
  for (Sym gradient : {gradients.dq, gradients.dk, gradients.dv})
    set(number++, vjp.convert(gradient, element).value);
  if (!ofMask)
    return success();
  auto mask = cast<RankedTensorType>(getMask().getType());
  SmallVector<int64_t> repeated;
  for (int64_t dim = 0; dim < a.rank; ++dim)
    if (sizesOf(mask)[dim] == 1 && a.shape[dim] != 1)
      repeated.push_back(dim);
  Sym sum = repeated.empty() ? gradients.ds : vjp.sum(gradients.ds, repeated);
  vjp.set(3, vjp.convert(vjp.reshape(sum, sizesOf(mask)), mask.getElementType()));
  return success();
}

} // namespace weft::ir
