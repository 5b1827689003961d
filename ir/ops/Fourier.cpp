//===- Fourier.cpp - fft ---------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/ops/Common.h"

#include <cmath>

using namespace mlir;
namespace weft::ir {

/// Whether the last dimension of `a` holds complex numbers. Emits an error otherwise.
static LogicalResult checkPairs(std::optional<Location> loc, RankedTensorType a, FourierKind kind) {
  const Size two(2);
  if (a.getRank() >= 1 && sizesOf(a).back() == two)
    return success();
  return emitOptionalError(loc, "'weft.fft' op of kind ", stringifyFourierKind(kind),
                           " needs complex numbers, which are a last dimension of 2, found ", a);
}

LogicalResult FftOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                      DictionaryAttr attributes, OpaqueProperties properties,
                                      RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  if (!from.getElementType().isF32() && !from.getElementType().isF64())
    return emitOptionalError(loc, "'weft.fft' op needs elements of f32 or f64, found ", from);
  const FourierKind kind = op.getKind();
  if (kind != FourierKind::r2c && failed(checkPairs(loc, from, kind)))
    return failure();
  const int64_t rank = from.getRank() - (kind != FourierKind::r2c);
  const int64_t dim = op.getDim(), n = op.getLength();
  if (dim < 0 || dim >= rank)
    return emitOptionalError(loc, "'weft.fft' op has dimension ", dim, ", which is out of range for ", from);
  constexpr int64_t mostLength = int64_t(1) << 40;
  if (n < 1 || n > mostLength)
    return emitOptionalError(loc, "'weft.fft' op needs a length of 1 to 2^40, found ", n);
  if (!std::isfinite(op.getScale().convertToDouble()))
    return emitOptionalError(loc, "'weft.fft' op needs a finite scale");
  if (op.getAdjoint() && kind == FourierKind::c2c)
    return emitOptionalError(loc, "'weft.fft' op of kind c2c has one form only, found adjoint");
  const Size whole(n), half(n / 2 + 1);
  SmallVector<Size> shape(sizesOf(from));
  Size &extent = shape[static_cast<size_t>(dim)];
  if (extent != (kind == FourierKind::c2r ? half : whole))
    return emitOptionalError(loc, "'weft.fft' op of kind ", stringifyFourierKind(kind), " and length ", n,
                             " needs ", kind == FourierKind::c2r ? n / 2 + 1 : n, " elements in dimension ",
                             dim, ", found ", from);
  if (kind == FourierKind::r2c) {
    extent = half;
    shape.push_back(Size(2));
  } else if (kind == FourierKind::c2r) {
    extent = whole;
    shape.pop_back();
  }
  return inferShaped(loc, getOperationName(), operands[0], shape, types);
}

LogicalResult FftOp::verify() { return success(); }

SmallVector<Value> FftOp::decompose(OpBuilder &builder) { return computeOnHost(*this, builder); }

LogicalResult FftOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  FourierKind kind = getKind();
  if (kind != FourierKind::c2c)
    kind = kind == FourierKind::r2c ? FourierKind::c2r : FourierKind::r2c;
  const bool isPlain = getKind() == FourierKind::c2c || getAdjoint();
  vjp.set(0, vjp.make<FftOp>(vjp.cotangent(0).value, kind, getDim(), getLength(), getScale(), !getInverse(),
                             !isPlain));
  return success();
}

} // namespace weft::ir
