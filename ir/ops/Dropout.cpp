//===- Dropout.cpp - dropout ----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Common.h"

#include <cmath>

using namespace mlir;
namespace weft::ir {

LogicalResult DropoutOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                          DictionaryAttr, OpaqueProperties, RegionRange,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(operands[0].getType());
  types.push_back(operands[2].getType());
  return success();
}

LogicalResult DropoutOp::verify() {
  double p = getP().convertToDouble();
  if (!(p >= 0 && p <= 1))
    return emitOpError() << "needs a probability in [0, 1], found " << p;
  if (static_cast<int64_t>(getStream()) < 0)
    return emitOpError() << "needs a stream number that is not negative, found "
                         << static_cast<int64_t>(getStream());
  return success();
}

/// `value` with dropout applied: dropped elements are zero, the others are scaled so that the expected value
/// stays. Also returns the next counter. The same operands give the same mask wherever this is built.
static std::pair<Sym, Sym> drop(VjpBuilder &v, DropoutOp op, Sym value) {
  auto draw = v.builder.create<RngBitsPhiloxOp>(v.loc, op.getKey(), op.getCounter(), sizesOf(value.type()),
                                                op.getStream());
  Sym bits{draw.getBits(), &v}, next{draw.getNext(), &v};
  Sym none = v.like(value, 0.0);
  double p = op.getP().convertToDouble();
  if (p == 1)
    return {none, next};
  // u = (bits >> 8) 2^-24 is not below p where the bits, unsigned, are not below ceil(2^24 p) 2^8. Flipping
  // the highest bit of both makes the comparison a signed one.
  auto limit = static_cast<uint64_t>(std::ceil(std::ldexp(p, 24))) << 8;
  if (limit > UINT32_MAX) // p above 1 - 2^-24
    return {none, next};
  Type element = bits.type().getElementType();
  auto constant = [&](uint32_t number) {
    return v.make<ConstantOp>(bits.type(),
                              splatOf(bits.type(), IntegerAttr::get(element, APInt(32, number))));
  };
  constexpr uint32_t sign = 1u << 31;
  Sym kept =
      v.compare<GeOp>(v.binary<XorOp>(bits, constant(sign)), constant(static_cast<uint32_t>(limit) ^ sign));
  Type type = value.type().getElementType();
  Sym scaled = v.convert(v.convert(value, statisticsType(value.type())) * (1 / (1 - p)), type);
  return {v.select(kept, scaled, none), next};
}

SmallVector<Value> DropoutOp::decompose(OpBuilder &builder) {
  VjpBuilder v(builder, *this, SmallVector<Value>(2), SmallVector<bool>(3));
  auto [y, next] = drop(v, *this, v.operand(0));
  return {y.value, next.value};
}

LogicalResult DropoutOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, drop(vjp, *this, vjp.cotangent(0)).first);
  return success();
}

} // namespace weft::ir
