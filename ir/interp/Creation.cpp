//===- Creation.cpp - The meaning of ops that make tensors -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/interp/Rules.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include <array>

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// constant, full, iota, undef
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal> results) {
  Literal &out = results[0];
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(getValue())) {
    out = Literal::fromBytes(out.dtype, out.shape, resource.getRawHandle().getBlob()->getData().data());
    return success();
  }
  // The verifier accepts no other attributes.
  auto dense = cast<DenseElementsAttr>(getValue());
  int64_t i = 0;
  if (out.isReal())
    for (const APFloat &value : dense.getValues<APFloat>())
      out.setReal(i++, value.convertToDouble());
  else
    for (const APInt &value : dense.getValues<APInt>())
      out.setWhole(i++, value.getSExtValue());
  return success();
}

FailureOr<SmallVector<int64_t>> concreteSizes(Operation *op, ArrayRef<Size> sizes) {
  if (auto numbers = numbersOf(sizes))
    return *numbers;
  const Size *other = llvm::find_if(sizes, [](Size size) { return !size.isNumber(); });
  return op->emitOpError() << "has the size " << sizeText(*other)
                           << ", which is no number: specialize the program first";
}

LogicalResult DimOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal> results) {
  auto size = concreteSizes(*this, getSize());
  if (failed(size))
    return failure();
  results[0].setWhole(0, size->front());
  return success();
}

LogicalResult FullOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  Literal &out = results[0];
  if (out.isReal())
    out.real.assign(out.count(), operands[0]->real[0]);
  else
    out.whole.assign(out.count(), operands[0]->whole[0]);
  return success();
}

LogicalResult IotaOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal> results) {
  int64_t dim = getDim();
  forEachIndex(results[0].shape,
               [&](ArrayRef<int64_t> index, int64_t linear) { results[0].setWhole(linear, index[dim]); });
  return success();
}

/// Leaves the zeros with which results are initialised: any value is correct.
LogicalResult UndefOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return success(); }

//===----------------------------------------------------------------------===//
// rng_bits_philox
//===----------------------------------------------------------------------===//

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr uint64_t multiplier0 = 0xD2511F53, multiplier1 = 0xCD9E8D57;
  constexpr uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = multiplier0 * counter[0], product1 = multiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += weyl0;
    key[1] += weyl1;
  }
  return counter;
}

LogicalResult RngBitsPhiloxOp::interpret(ArrayRef<const Literal *> operands,
                                         MutableArrayRef<Literal> results) {
  auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
  auto high = [](uint64_t value) { return static_cast<uint32_t>(value >> 32); };
  uint64_t key = operands[0]->whole[0], counter = operands[1]->whole[0], stream = getStream();
  Literal &bits = results[0];
  std::array<uint32_t, 4> lanes{};
  for (int64_t i = 0, e = bits.count(); i < e; ++i) {
    if (i % 4 == 0) {
      uint64_t block = counter + static_cast<uint64_t>(i / 4);
      lanes = philox4x32({low(block), high(block), low(stream), high(stream)}, {low(key), high(key)});
    }
    bits.setWhole(i, lanes[i % 4]);
  }
  results[1].setWhole(0, wrapAdd(operands[1]->whole[0], (bits.count() + 3) / 4));
  return success();
}

} // namespace weft::ir
