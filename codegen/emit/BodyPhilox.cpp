//===- BodyPhilox.cpp - Random bits in a kernel ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10. From the first round to the last, its 32-bit words are in the low halves of 64-bit lanes. So
// a round consists of multiplications of 32 by 32 bits, shifts and exclusive ors of whole registers. Packed
// words would need a shuffle per word to narrow and widen them, and all shuffles use one port of the
// processor.
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/KernelBuilder.h"

#include "ir/Schedule.h"

using namespace mlir;
namespace weft::codegen {

static Value constantLike(KernelBuilder &kernel, Type type, uint64_t value) {
  Attribute scalar = kernel.builder.getI64IntegerAttr(static_cast<int64_t>(value));
  if (auto vector = dyn_cast<VectorType>(type))
    scalar = DenseElementsAttr::get(vector, scalar);
  return kernel.create<arith::ConstantOp>(cast<TypedAttr>(scalar));
}

static Value lowHalf(KernelBuilder &kernel, Value value) {
  return kernel.create<arith::AndIOp>(value, constantLike(kernel, value.getType(), UINT32_MAX));
}

static Value highHalf(KernelBuilder &kernel, Value value) {
  return kernel.create<arith::ShRUIOp>(value, constantLike(kernel, value.getType(), 32));
}

/// The four words of each block, in the low halves of i64; the high halves have no meaning. `block` and `key`
/// are i64 or vectors of i64.
static std::array<Value, 4> emitBlock(KernelBuilder &kernel, Value block, Value key, int64_t stream) {
  Type type = block.getType();
  auto constant = [&](uint64_t value) { return constantLike(kernel, type, value); };
  auto exclusive = [&](Value x, Value y) -> Value { return kernel.create<arith::XOrIOp>(x, y); };
  auto product = [&](Value x, uint64_t factor) -> Value {
    return kernel.create<arith::MulIOp>(lowHalf(kernel, x), constant(factor));
  };
  Value c0 = block, c1 = highHalf(kernel, block);
  Value c2 = constant(static_cast<uint64_t>(stream)), c3 = constant(static_cast<uint64_t>(stream) >> 32);
  Value k0 = key, k1 = highHalf(kernel, key);
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      k0 = kernel.add(k0, constant(0x9E3779B9u));
      k1 = kernel.add(k1, constant(0xBB67AE85u));
    }
    Value p0 = product(c0, 0xD2511F53u), p1 = product(c2, 0xCD9E8D57u);
    Value n0 = exclusive(exclusive(highHalf(kernel, p1), c1), k0);
    Value n2 = exclusive(exclusive(highHalf(kernel, p0), c3), k1);
    c0 = n0;
    c1 = p1;
    c2 = n2;
    c3 = p0;
  }
  return {c0, c1, c2, c3};
}

Value BodyEmitter::emitPhilox(const BodyNode &node) {
  auto op = cast<ir::RngBitsPhiloxOp>(node.op);
  Value key = nodeValues.find(node.deps[0])->second.value,
        counter = nodeValues.find(node.deps[1])->second.value;
  Type i32 = kernel.builder.getI32Type(), i64 = kernel.builder.getI64Type();
  int64_t lanes = node.expr.lane == 0 ? 1 : space.lanes;
  auto stream = static_cast<int64_t>(op.getStream());
  bool aligned = lanes % 4 == 0 && ir::isMultipleOf(node.expr.constant, 4);
  for (auto [id, coefficient] : node.expr.terms)
    aligned &= ir::contentOf(coefficient) * space.var(id).multipleOf % 4 == 0;
  Value first = kernel.create<arith::IndexCastOp>(i64, emitExpr(node.expr));
  auto spread = [&](Value value, int64_t width) -> Value {
    return width == 1 ? value
                      : kernel.create<vector::BroadcastOp>(VectorType::get({width}, value.getType()), value)
                            .getResult();
  };
  auto steps = [&](int64_t width) -> Value {
    SmallVector<int64_t> values = llvm::to_vector(llvm::seq<int64_t>(0, width));
    return kernel.create<arith::ConstantOp>(
        DenseElementsAttr::get(VectorType::get({width}, i64), ArrayRef<int64_t>(values)));
  };
  auto blockOf = [&](Value element) -> Value {
    return kernel.create<arith::ShRUIOp>(element, constantLike(kernel, element.getType(), 2));
  };
  if (aligned) {
    // Four lanes share a block: each block is computed once, and its words are interleaved.
    int64_t blocks = lanes / 4;
    Value number = kernel.add(counter, blockOf(first));
    if (blocks > 1)
      number = kernel.add(spread(number, blocks), steps(blocks));
    auto words = emitBlock(kernel, number, spread(key, blocks), stream);
    if (blocks == 1) {
      SmallVector<Value> narrow;
      for (Value word : words)
        narrow.push_back(kernel.create<arith::TruncIOp>(i32, word));
      return kernel.create<vector::FromElementsOp>(VectorType::get({4}, i32), narrow);
    }
    // Interleaves `low` and `high`: takes the first `run` of every two 32-bit elements, from each in turn.
    auto alternate = [&](Value low, Value high, int64_t run) -> Value {
      SmallVector<int64_t> order;
      for (int64_t at = 0; at < 2 * blocks; at += 2)
        for (int64_t from : {at, 2 * blocks + at})
          for (int64_t i = 0; i < run; ++i)
            order.push_back(from + i);
      return kernel.create<vector::ShuffleOp>(low, high, order);
    };
    auto halves = [&](Value word) -> Value {
      return kernel.create<vector::BitCastOp>(VectorType::get({2 * blocks}, i32), word);
    };
    Value even = alternate(halves(words[0]), halves(words[1]), 1);
    Value odd = alternate(halves(words[2]), halves(words[3]), 1);
    return alternate(even, odd, 2);
  }
  Value element = lanes == 1 ? first : kernel.add(spread(first, lanes), steps(lanes));
  Value number = kernel.add(spread(counter, lanes), blockOf(element));
  auto words = emitBlock(kernel, number, spread(key, lanes), stream);
  Value lane = kernel.create<arith::AndIOp>(element, constantLike(kernel, element.getType(), 3));
  Value result = words[3];
  for (int64_t i = 2; i >= 0; --i) {
    Value is = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, lane,
                                            constantLike(kernel, lane.getType(), static_cast<uint64_t>(i)));
    result = kernel.create<arith::SelectOp>(is, words[i], result);
  }
  return kernel.create<arith::TruncIOp>(ir::withElement(result.getType(), i32), result);
}

} // namespace weft::codegen
