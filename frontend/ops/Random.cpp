//===- Random.cpp - Random numbers ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/random.hpp"

#include "frontend/graph/Devices.h"
#include "frontend/graph/Symbols.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/State.h"
#include "weft/init.hpp"
#include "weft/philox.hpp"

#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <random>

namespace weft {

using namespace frontend;

//===----------------------------------------------------------------------===//
// Generators
//===----------------------------------------------------------------------===//

static Tensor stateScalar(uint64_t value, const char *name) {
  SuspendTrace suspend; // a generator must exist outside of the trace that first draws from it
  auto bits = static_cast<int64_t>(value);
  Tensor tensor = Tensor::from(&bits, Shape{}, onHost(), Loc()); // no line of the program made it
  Access::slot(tensor)->name = name;
  return tensor;
}

static void setScalar(const Tensor &slot, uint64_t value, Loc loc) {
  auto bits = static_cast<int64_t>(value);
  overwrite(slot, Tensor::from(&bits, Shape{}, onHost(), loc), loc);
}

Generator::Generator(uint64_t seed, Seed)
    : key_(stateScalar(seed, "rng.key")), counter_(stateScalar(0, "rng.counter")) {
  Access::slot(counter_)->followsDraws = true;
}

Generator &Generator::start(uint64_t seed, Loc loc) {
  GraphLock lock(graphMutex());
  refuseInTrace("seeding a generator", loc);
  setScalar(key_, seed, loc);
  setScalar(counter_, 0, loc);
  return *this;
}

uint64_t Generator::seed(Loc loc) {
  std::random_device device;
  uint64_t drawn = uint64_t{device()} << 32 | device();
  start(drawn, loc);
  return drawn;
}

uint64_t Generator::initial_seed() const { return static_cast<uint64_t>(key_.item<int64_t>()); }

Tensor Generator::get_state(Loc loc) const {
  GraphLock lock(graphMutex());
  refuseInTrace("reading the state of a generator", loc);
  return Tensor::from(std::vector<int64_t>{key_.item<int64_t>(), counter_.item<int64_t>()}, {2}, onHost());
}

void Generator::set_state(const Tensor &state, Loc loc) {
  GraphLock lock(graphMutex());
  refuseInTrace("setting the state of a generator", loc);
  if (state.dtype(loc) != DType::i64 || state.sizes(loc) != Shape{2})
    fail("the state of a generator is an i64 tensor of 2 elements, key and counter; found " +
             std::string(name(state.dtype(loc))) + " of shape " + shapeText(state.sizes(loc)),
         loc);
  std::vector<int64_t> values = state.to_vector<int64_t>(loc);
  setScalar(key_, static_cast<uint64_t>(values[0]), loc);
  setScalar(counter_, static_cast<uint64_t>(values[1]), loc);
}

/// Draws `count` numbers of 64 bits on the host, each from a pair of lanes. The generator advances as if an
/// operation drew 2 `count` lanes.
static std::vector<uint64_t> drawOnHost(Generator &generator, size_t count, Loc loc) {
  auto key = static_cast<uint64_t>(generator.key().item<int64_t>());
  auto counter = static_cast<uint64_t>(generator.counter().item<int64_t>());
  std::vector<uint64_t> bits(count);
  for (size_t i = 0; i < count; ++i) {
    auto lanes = philox_block(key, 0, counter + i / 2);
    bits[i] = lanes[i % 2 * 2] | uint64_t{lanes[i % 2 * 2 + 1]} << 32;
  }
  setScalar(generator.counter(), counter + (count + 1) / 2, loc);
  return bits;
}

Generator Generator::fork(Loc loc) {
  GraphLock lock(graphMutex());
  refuseInTrace("forking a generator", loc);
  return Generator(drawOnHost(*this, 1, loc)[0]);
}

std::vector<std::string> Generator::check_state_dict(const StateDict &state) const {
  std::vector<std::string> complaints;
  StateIndex index(state);
  for (const char *name : {"key", "counter"}) {
    const Tensor *found = index.find(name);
    std::string text = found ? shapeComplaint(name, {}, found->sizes()) : "missing: " + std::string(name);
    if (found && text.empty() && found->dtype() != DType::i64)
      text = "wrong dtype: " + std::string(name) + " is i64, the state has " +
             std::string(weft::name(found->dtype()));
    if (!text.empty())
      complaints.push_back(text);
  }
  for (const auto &[name, tensor] : state)
    if (name != "key" && name != "counter")
      complaints.push_back("unexpected: " + name);
  return complaints;
}

void Generator::load_state_dict(const StateDict &state, Loc loc) {
  GraphLock lock(graphMutex());
  throwComplaints("the state of a generator", check_state_dict(state), loc);
  StateIndex index(state);
  overwrite(key_, *index.find("key"), loc);
  overwrite(counter_, *index.find("counter"), loc);
}

Generator &default_generator() {
  static auto *generator = new Generator; // tensors in global variables may outlive static objects
  return *generator;
}

ForkRngGuard::~ForkRngGuard() {
  try {
    default_generator().set_state(state_);
  } catch (const std::exception
               &error) { // a destructor must not throw, but different random numbers must not go unreported
    std::fprintf(stderr, "weft: the state of the default generator was not put back: %s\n", error.what());
  }
}

//===----------------------------------------------------------------------===//
// Bits to numbers
//===----------------------------------------------------------------------===//

/// A generator, and the device that draws from it. For a device that is missing, the host draws.
struct Source {
  Source(Generator &generator, const Device &wanted)
      : generator(generator), device(isThere(wanted) ? wanted : onHost().device) {}
  Generator &generator;
  Device device;
};

/// `shape` random 32-bit integers, as i32; advances the generator.
static Ref draw(const Source &source, Shape shape, Loc loc) {
  checkedCount(shape, loc);
  const DrawState state = stateFor(source.generator, source.device, loc);
  auto node = record("rng_bits_philox", {state.key, state.counter}, {{"shape", shape}}, loc);
  advance(source.generator, {node, 1}, loc);
  return {node, 0};
}

static Ref splat(const Ref &like, double value, Loc loc) { return constant(like.spec(), value, loc); }
static Ref apply(const char *op, const Ref &a, double b, Loc loc) {
  return record1(op, {a, splat(a, b, loc)}, {}, loc);
}
static Ref apply(const char *op, const Ref &a, const Ref &b, Loc loc) { return record1(op, {a, b}, {}, loc); }

/// The bits as an i64 that is not negative.
static Ref widened(const Ref &bits, Loc loc) {
  return apply("and", convertTo(bits, DType::i64, loc), 4294967295.0, loc);
}

/// The upper 24 bits as f32; the multiplications that follow are exact.
static Ref upperBits(const Ref &bits, Loc loc) {
  return convertTo(apply("div", widened(bits, loc), 256, loc), DType::f32, loc);
}

/// Lanes 2i and 2i+1 of element i.
struct Lanes {
  Ref first, second;
};
static Lanes drawPairs(const Source &source, const Shape &shape, Loc loc) {
  Shape doubled = shape;
  doubled.push_back(2);
  Ref bits = draw(source, doubled, loc);
  auto half = [&](int64_t which) {
    std::vector<int64_t> start(doubled.size(), 0), limit = doubled, step(doubled.size(), 1);
    start.back() = which;
    limit.back() = which + 1;
    Ref part = record1("slice", {bits}, {{"start", start}, {"limit", limit}, {"step", step}}, loc);
    return reshapeTo(part, shape, loc);
  };
  return {half(0), half(1)};
}

static DType realType(const char *function, const TensorOptions &options, Loc loc) {
  DType dtype = options.dtype.value_or(DType::f32);
  if (!is_floating_point(dtype))
    fail(std::string(function) + " gives floating-point numbers, and the dtype " + std::string(name(dtype)) +
             " was given: use randint for integers",
         loc);
  return dtype;
}

static Tensor placed(Ref value, const TensorOptions &options, Loc loc) {
  Tensor result = wrap(transferTo(value, options.device, loc), loc);
  if (options.requires_grad)
    result.requires_grad_(true, loc);
  return result;
}

/// Uniform in [0, 1) of any floating-point dtype.
static Ref uniform(const Source &source, const Shape &shape, DType dtype, Loc loc) {
  if (dtype == DType::f64) {
    // 53 bits: the upper ones of the pair.
    auto [low, high] = drawPairs(source, shape, loc);
    Ref whole = apply("add", apply("mul", widened(high, loc), 0x1p21, loc),
                      apply("div", widened(low, loc), 0x1p11, loc), loc);
    return apply("mul", convertTo(whole, DType::f64, loc), 0x1p-53, loc);
  }
  Ref value = apply("mul", upperBits(draw(source, shape, loc), loc), 0x1p-24, loc);
  if (dtype == DType::f32)
    return value;
  // Rounding could give 1, which is replaced by the largest number below 1.
  return apply("min", convertTo(value, dtype, loc), dtype == DType::f16 ? 1 - 0x1p-11 : 1 - 0x1p-8, loc);
}

/// Standard normal, in f32.
static Ref gaussian(const Source &source, const Shape &shape, Loc loc) {
  auto [first, second] = drawPairs(source, shape, loc);
  // The logarithm's argument is in (0, 1], so that no sample is infinite.
  Ref u = apply("mul", apply("add", upperBits(first, loc), 1, loc), 0x1p-24, loc);
  Ref angle = apply("mul", upperBits(second, loc), 0x1p-24 * 2 * std::numbers::pi, loc);
  Ref radius = record1("sqrt", {apply("mul", record1("log", {u}, {}, loc), -2, loc)}, {}, loc);
  return apply("mul", radius, record1("cos", {angle}, {}, loc), loc);
}

//===----------------------------------------------------------------------===//
// Distributions
//===----------------------------------------------------------------------===//

Tensor rand(IntList shape, TensorOptions options, Loc loc) {
  return rand(std::move(shape), default_generator(), options, loc);
}
Tensor rand(IntList shape, Generator &generator, TensorOptions options, Loc loc) {
  GraphLock lock(graphMutex());
  return placed(uniform({generator, options.device}, shape, realType("rand", options, loc), loc), options,
                loc);
}
Tensor rand_like(const Tensor &like, Loc loc) { return rand_like(like, LikeOptions(), loc); }
Tensor rand_like(const Tensor &like, LikeOptions options, Loc loc) {
  return rand(like.sizes(loc), filledIn(options, like, loc), loc);
}

Tensor randn(IntList shape, TensorOptions options, Loc loc) {
  return randn(std::move(shape), default_generator(), options, loc);
}
Tensor randn(IntList shape, Generator &generator, TensorOptions options, Loc loc) {
  GraphLock lock(graphMutex());
  DType dtype = realType("randn", options, loc);
  return placed(convertTo(gaussian({generator, options.device}, shape, loc), dtype, loc), options, loc);
}
Tensor randn_like(const Tensor &like, Loc loc) { return randn_like(like, LikeOptions(), loc); }
Tensor randn_like(const Tensor &like, LikeOptions options, Loc loc) {
  return randn(like.sizes(loc), filledIn(options, like, loc), loc);
}

Tensor normal(double mean, double std, IntList shape, TensorOptions options, Loc loc) {
  if (!(std >= 0))
    fail("normal expects std >= 0.0, but found std " + std::to_string(std), loc);
  Tensor unit = randn(std::move(shape), options, loc);
  NoGradGuard guard;
  Tensor result = add({mul({unit, loc}, {std, loc}), loc}, {mean, loc});
  if (options.requires_grad)
    result.requires_grad_(true, loc);
  return result;
}

Tensor randint(int64_t high, IntList shape, TensorOptions options, Loc loc) {
  return randint(0, high, std::move(shape), options, loc);
}
Tensor randint(int64_t low, int64_t high, IntList shape, TensorOptions options, Loc loc) {
  return randint(low, high, std::move(shape), default_generator(), options, loc);
}
Tensor randint(int64_t low, int64_t high, IntList shape, Generator &generator, TensorOptions options,
               Loc loc) {
  GraphLock lock(graphMutex());
  if (low >= high)
    fail("random_ expects 'from' to be less than 'to', but got from=" + std::to_string(low) +
             " >= to=" + std::to_string(high),
         loc);
  uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (range > uint64_t{1} << 31)
    fail("randint draws from at most 2^31 integers, and the range has " + std::to_string(range) +
             ": add two draws, one of them times a power of two",
         loc);
  // The upper half of the product of 64 random bits and the range, in steps that fit 63 bits.
  auto bound = static_cast<double>(range);
  auto [first, second] = drawPairs({generator, options.device}, shape, loc);
  Ref carry = apply("div", apply("mul", widened(first, loc), bound, loc), 0x1p32, loc);
  Ref whole =
      apply("div", apply("add", apply("mul", widened(second, loc), bound, loc), carry, loc), 0x1p32, loc);
  Ref start = broadcastTo(number(DType::i64, whole.spec().device, static_cast<double>(low), low, loc),
                          whole.spec().shape, loc);
  Ref value = convertTo(apply("add", whole, start, loc), options.dtype.value_or(DType::i64), loc);
  return placed(value, options, loc);
}

Tensor randperm(int64_t n, TensorOptions options, Loc loc) {
  return randperm(n, default_generator(), options, loc);
}
Tensor randperm(int64_t n, Generator &generator, TensorOptions options, Loc loc) {
  GraphLock lock(graphMutex());
  if (n < 0)
    fail("randperm: n must be non-negative, got " + std::to_string(n), loc);
  if (Trace::current())
    fail(
        "randperm is made on the host, which a compiled function cannot wait for (WEFT-C013): make it before "
        "the call and pass it",
        loc, {}, "WEFT-C013");
  checkedCount({n}, loc);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::vector<uint64_t> bits = drawOnHost(generator, order.size(), loc);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[philox_below(bits[i - 1], i)]);
  options.dtype = options.dtype.value_or(DType::i64);
  return Tensor::from(order, {n}, options, loc);
}

Tensor bernoulli(const Tensor &p, Loc loc) { return bernoulli(p, default_generator(), loc); }
Tensor bernoulli(const Tensor &p, Generator &generator, Loc loc) {
  GraphLock lock(graphMutex());
  if (!is_floating_point(p.dtype(loc)))
    fail("bernoulli takes probabilities in a floating-point dtype, found " + std::string(name(p.dtype(loc))),
         loc);
  NoGradGuard guard;
  // The check is an effect, and functions with dynamic sizes do not support effects yet.
  if (!anySymbolic(p.sizes(loc))) {
    Tensor valid = logical_and({ge({p, loc}, {0, loc}), loc}, {le({p, loc}, {1, loc}), loc});
    assert_true(valid, "Expected p_in >= 0 && p_in <= 1 to be true: bernoulli takes probabilities", loc);
  }
  DType drawn = p.dtype(loc) == DType::f64 ? DType::f64 : DType::f32;
  Tensor unit = wrap(
      transferTo(uniform({generator, p.device(loc)}, p.sizes(loc), drawn, loc), p.device(loc), loc), loc);
  return lt({unit, loc}, {p.to(drawn, loc), loc}).to(p.dtype(loc), loc);
}

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//

Tensor &Tensor::uniform_(double from, double to, Loc loc) {
  return copy_(nn::init::uniform_(zeros_like(*this, loc), from, to, loc), loc);
}
Tensor &Tensor::normal_(double mean, double std, Loc loc) {
  return copy_(nn::init::normal_(zeros_like(*this, loc), mean, std, loc), loc);
}
Tensor &Tensor::bernoulli_(double p, Loc loc) {
  if (!(p >= 0 && p <= 1))
    fail("bernoulli_ expects p to be in [0, 1], but got p=" + std::to_string(p), loc);
  return copy_(
      weft::bernoulli(full(sizes(loc), {p, loc}, {.dtype = DType::f32, .device = device(loc)}, loc), loc),
      loc);
}

} // namespace weft
