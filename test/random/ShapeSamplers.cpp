//===- ShapeSamplers.cpp ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Samplers.h"

#include <algorithm>

using namespace mlir;
namespace weft::randomtest {

void sampleConstant(ProgramBuilder &p) { p.constant(p.anyDType(), p.anyShape()); }

void sampleFull(ProgramBuilder &p) {
  Value value = p.obtain(p.anyDType(), {});
  p.add<ir::FullOp>(true, value, ir::toSizes(p.anyShape()));
}

void sampleIota(ProgramBuilder &p) {
  Shape shape = p.anyShape(1);
  DType dtype = kAllDTypes[p.random.below(6)];
  p.add<ir::IotaOp>(true, tensorType(p.context, dtype, shape), p.random.below(shape.size()));
}

void sampleDim(ProgramBuilder &p) {
  p.add<ir::DimOp>(true, tensorType(p.context, DType::i64, {}), ir::Size(p.anySize()));
}

void sampleRngBits(ProgramBuilder &p) {
  Value key, counter;
  if (p.generatorCounter || oneIn(p.random, 2)) {
    if (!p.generatorCounter) {
      Type type = tensorType(p.context, DType::i64, {});
      auto load = p.builder.create<ir::RngStateLoadOp>(p.loc, type, type, kGenerator);
      auto state = makeGenerators(p.seed).generators[kGenerator];
      auto literal = [](int64_t number) {
        ir::Literal value(DType::i64, {});
        value.whole[0] = number;
        return std::make_shared<ir::Literal>(std::move(value));
      };
      p.define(load.getKey(), literal(state.key), true);
      p.define(load.getCounter(), literal(state.counter), true);
      p.generatorKey = load.getKey();
      p.generatorCounter = load.getCounter();
    }
    key = p.generatorKey;
    counter = p.generatorCounter;
  } else {
    key = p.obtain(DType::i64, {});
    counter = p.obtain(DType::i64, {});
  }
  bool own = counter == p.generatorCounter;
  auto op = p.builder.create<ir::RngBitsPhiloxOp>(p.loc, key, counter, ir::toSizes(p.anyShape()),
                                                  p.random.below(3));
  Value next = op.getNext();
  if (p.commit(op) && own)
    p.generatorCounter = next;
}

void sampleBroadcast(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return entry.shape().size() < 4; });
  if (!e)
    return;
  Value a = e->value;
  Shape from(e->shape()), dims, shape;
  for (int64_t size : from) {
    while (shape.size() < 4 - from.size() && oneIn(p.random, 3))
      shape.push_back(p.anySize());
    dims.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(size == 1 && oneIn(p.random, 2) ? p.anySize() : size);
  }
  if (shape.size() < 4 && oneIn(p.random, 2))
    shape.push_back(p.anySize());
  p.add<ir::BroadcastInDimOp>(true, a, dims, ir::toSizes(shape));
}

void sampleReshape(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &) { return true; });
  if (!e)
    return;
  Value a = e->value;
  Shape shape;
  for (int64_t size : e->shape()) {
    if (shape.size() < 5 && oneIn(p.random, 5))
      shape.push_back(1);
    int64_t divisor = 2 + static_cast<int64_t>(p.random.below(8));
    if (!shape.empty() && oneIn(p.random, 2)) {
      shape.back() *= size;
    } else if (size > 0 && size % divisor == 0 && oneIn(p.random, 2)) {
      shape.push_back(divisor);
      shape.push_back(size / divisor);
    } else {
      shape.push_back(size);
    }
  }
  if (e->count() == 0 && oneIn(p.random, 4))
    shape = {p.anySize(), 0};
  if (shape.size() < 5 && oneIn(p.random, 4))
    shape.push_back(1);
  if (shape.size() <= 6)
    p.add<ir::ReshapeOp>(true, a, ir::toSizes(shape));
}

void sampleTranspose(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return entry.shape().size() > 1; });
  if (!e)
    return;
  Shape perm;
  for (size_t i = 0; i < e->shape().size(); ++i)
    perm.insert(perm.begin() + static_cast<int64_t>(p.random.below(i + 1)), static_cast<int64_t>(i));
  p.add<ir::TransposeOp>(true, e->value, perm);
}

std::pair<int64_t, int64_t> anyPiece(ProgramBuilder &p, int64_t size) {
  auto below = [&](int64_t count) {
    return static_cast<int64_t>(p.random.below(static_cast<uint64_t>(count)));
  };
  if (size == 0 || oneIn(p.random, 16)) {
    int64_t start = below(size + 1);
    return {start, start + below(size - start + 1)};
  }
  int64_t most = oneIn(p.random, 4) ? size : (size + 2) / 3;
  int64_t start = below(most);
  return {start, size - below(std::min(most, size - start))};
}

void sampleSlice(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return !entry.shape().empty(); });
  if (!e)
    return;
  Shape start, limit, step;
  for (int64_t size : e->shape()) {
    auto [from, to] = oneIn(p.random, 2) ? std::pair<int64_t, int64_t>(0, size) : anyPiece(p, size);
    start.push_back(from);
    limit.push_back(to);
    step.push_back(oneIn(p.random, 3) ? 1 + static_cast<int64_t>(p.random.below(4)) : 1);
  }
  p.add<ir::SliceOp>(true, e->value, ir::toSizes(start), ir::toSizes(limit), step);
}

void samplePad(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return !entry.shape().empty(); });
  if (!e)
    return;
  Shape low, high, interior;
  for (size_t i = 0; i < e->shape().size(); ++i) {
    // Negative counts crop.
    int64_t most = oneIn(p.random, 3) ? 2 : 0;
    low.push_back(oneIn(p.random, 2) ? static_cast<int64_t>(p.random.below(4)) - most : 0);
    high.push_back(oneIn(p.random, 2) ? static_cast<int64_t>(p.random.below(4)) - most : 0);
    interior.push_back(static_cast<int64_t>(oneIn(p.random, 4) ? p.random.below(3) : 0));
  }
  Entry from = *e;
  for (size_t i = 0; i < from.shape().size(); ++i)
    if (from.shape()[i] + std::max<int64_t>(from.shape()[i] - 1, 0) * interior[i] + low[i] + high[i] < 0)
      return;
  Value filler = oneIn(p.random, 2) ? p.obtain(from.dtype(), {}) : Value();
  p.add<ir::PadOp>(true, from.value, filler, ir::toSizes(low), ir::toSizes(high), interior);
}

} // namespace weft::randomtest
