//===- Random.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/random.hpp"

#include "frontend/Ops.h"
#include "frontend/Trace.h"

#include <cmath>
#include <cstring>
#include <numbers>

namespace weft {

using namespace frontend;

static Tensor stateScalar(int64_t value, const char *name) {
  SuspendTrace suspend; // a generator is older than the trace that first draws from it
  Tensor tensor = Tensor::from(&value, Shape{});
  Access::slot(tensor)->name = name;
  return tensor;
}

Generator::Generator(uint64_t seed)
    : key_(stateScalar(static_cast<int64_t>(seed), "rng.key")), counter_(stateScalar(0, "rng.counter")) {}

void Generator::manual_seed(uint64_t seed) {
  GraphLock lock(graphMutex());
  if (Trace::current())
    throw Error("a generator cannot be seeded inside a compiled function: seed it before the call");
  key_.copy_(Tensor::from(std::vector<int64_t>{static_cast<int64_t>(seed)}, Shape{}));
  counter_.copy_(Tensor::from(std::vector<int64_t>{0}, Shape{}));
}

Generator &default_generator() {
  static auto *generator = new Generator; // tensors in global variables may outlive static objects
  return *generator;
}

void manual_seed(uint64_t seed) { default_generator().manual_seed(seed); }

/// `shape` random 32-bit integers, as i32; advances the generator.
static Ref draw(Shape shape, Loc loc) {
  checkedCount(shape, loc);
  Generator &generator = default_generator();
  auto node = record("rng_bits_philox", {use(generator.key(), loc), use(generator.counter(), loc)},
                     {{"shape", shape}}, loc);
  assign(Access::slot(generator.counter()), {node, 1});
  return {node, 0};
}

/// The upper 24 bits as i32; the multiplications that follow are exact.
static Ref upperBits(Ref bits, Loc loc) {
  Spec wide{DType::i64, bits.spec().shape, bits.spec().device};
  Ref word = record1("and", {convertTo(bits, DType::i64, loc), constant(wide, 4294967295.0, loc)}, {}, loc);
  return record1("div", {word, constant(wide, 256, loc)}, {}, loc);
}

static Ref splat(const Ref &like, double value, Loc loc) { return constant(like.spec(), value, loc); }

static Tensor placed(Ref value, const TensorOptions &options, Loc loc) {
  value = convertTo(transferTo(value, options.device, loc), options.dtype.value_or(DType::f32), loc);
  Tensor result = wrap(value, loc);
  if (options.requires_grad)
    result.requires_grad_();
  return result;
}

Tensor rand(Shape shape, TensorOptions options, Loc loc) {
  GraphLock lock(graphMutex());
  Ref whole = convertTo(upperBits(draw(std::move(shape), loc), loc), DType::f32, loc);
  return placed(record1("mul", {whole, splat(whole, 0x1p-24, loc)}, {}, loc), options, loc);
}

Tensor randn(Shape shape, TensorOptions options, Loc loc) {
  GraphLock lock(graphMutex());
  // Element i uses lanes 2i and 2i+1.
  Shape doubled = shape;
  doubled.push_back(2);
  Ref whole = convertTo(upperBits(draw(doubled, loc), loc), DType::f32, loc);
  auto half = [&](int64_t which) {
    std::vector<int64_t> start(doubled.size(), 0), limit = doubled, step(doubled.size(), 1);
    start.back() = which;
    limit.back() = which + 1;
    Ref part = record1("slice", {whole}, {{"start", start}, {"limit", limit}, {"step", step}}, loc);
    return reshapeTo(part, shape, loc);
  };
  // The logarithm's argument is in (0, 1], so that no sample is infinite.
  Ref u = record1("add", {half(0), splat(half(0), 1, loc)}, {}, loc);
  u = record1("mul", {u, splat(u, 0x1p-24, loc)}, {}, loc);
  Ref angle = half(1);
  angle = record1("mul", {angle, splat(angle, 0x1p-24 * 2 * std::numbers::pi, loc)}, {}, loc);
  Ref radius = record1("log", {u}, {}, loc);
  radius = record1("sqrt", {record1("mul", {radius, splat(radius, -2, loc)}, {}, loc)}, {}, loc);
  return placed(record1("mul", {radius, record1("cos", {angle}, {}, loc)}, {}, loc), options, loc);
}

} // namespace weft
