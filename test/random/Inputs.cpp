//===- Inputs.cpp - Argument values of random programs --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Inputs.h"

#include "ir/FunctionAttributes.h"

#include <cmath>
#include <limits>

using namespace mlir;
namespace weft::randomtest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// FNV-1a. The hash of an argument's name selects its stream of random numbers.
uint64_t hashName(StringRef name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// A multiple of 2^-52 in [0, 1).
double unit(PhiloxSequence &random) { return std::ldexp(static_cast<double>(random.next64() >> 12), -52); }

double signedBy(PhiloxSequence &random, double value) { return random.next32() & 1 ? -value : value; }

/// A number in one of several distributions, of which each tensor has one.
double number(PhiloxSequence &random, uint64_t style) {
  if (oneIn(random, 32))
    return signedBy(random, 0.0);
  switch (style) {
  case 0: // ties and exact sums
    return (static_cast<double>(random.below(65)) - 32) / 8;
  case 1:
    return static_cast<double>(random.below(7)) - 3;
  case 2:
    return signedBy(random, std::ldexp(1 + unit(random), static_cast<int>(random.below(14)) - 10));
  default:
    return (unit(random) - 0.5) * 4;
  }
}

double specialNumber(PhiloxSequence &random, DType dtype) {
  double largest = dtype == DType::f16    ? 65504
                   : dtype == DType::bf16 ? std::ldexp(255.0, 120)
                   : dtype == DType::f32  ? std::numeric_limits<float>::max()
                                          : std::numeric_limits<double>::max();
  int lowest = dtype == DType::f16 ? -24 : dtype == DType::bf16 ? -133 : dtype == DType::f32 ? -149 : -1074;
  switch (random.below(6)) {
  case 0:
    return std::numeric_limits<double>::quiet_NaN();
  case 1:
    return signedBy(random, largest);
  case 2:
    return signedBy(random, std::ldexp(1.0, lowest + static_cast<int>(random.below(4))));
  case 3:
    return signedBy(random, 0.0);
  default:
    return signedBy(random, kInfinity);
  }
}

int64_t wholeNumber(PhiloxSequence &random, uint64_t style) {
  if (style == 0) // all values of the type, often near its bounds
    return oneIn(random, 8) ? (oneIn(random, 2) ? std::numeric_limits<int64_t>::min()
                                                : std::numeric_limits<int64_t>::max()) >>
                                  (8 * random.below(8))
                            : static_cast<int64_t>(random.next64());
  return static_cast<int64_t>(random.below(17)) - 8;
}

} // namespace

ir::Literal makeInput(RankedTensorType type, StringRef name, uint64_t seed) {
  ir::Literal literal(type);
  PhiloxSequence random(seed, hashName(name));
  auto [kind, rest] = name.split(':');
  int64_t bound = 1;
  (void)rest.split(':').second.getAsInteger(10, bound);
  uint64_t style = random.below(4);
  for (int64_t i = 0, e = literal.count(); i < e; ++i) {
    if (literal.isReal()) {
      double value = number(random, style);
      if (kind == "special" && oneIn(random, 12))
        value = specialNumber(random, literal.dtype);
      else if (kind == "nonnegative")
        value = std::fabs(value);
      else if (kind == "fraction")
        value = std::array{0.0, 1e-8, 0.001, 0.0625, 0.1, 0.5, 0.9, 0.999}[random.below(8)];
      literal.setReal(i, value);
    } else {
      int64_t value = wholeNumber(random, style);
      if (kind == "index" || kind == "target")
        value = kind == "target" && oneIn(random, 6)
                    ? -100
                    : static_cast<int64_t>(random.below(static_cast<uint64_t>(std::max<int64_t>(bound, 1))));
      else if (kind == "outside") // some out of range at both ends, and always the last element
        value =
            static_cast<int64_t>(random.below(static_cast<uint64_t>(bound) + (oneIn(random, 4) ? 4 : 0))) -
            (oneIn(random, 12) ? bound + 1 : 0);
      else if (kind == "count")
        value = std::array{0, 1, 2, 9, 1000}[random.below(5)];
      if (kind == "outside" && i + 1 == e)
        value = oneIn(random, 2) ? bound + static_cast<int64_t>(random.below(3)) : -1;
      literal.setWhole(i, value);
    }
  }
  return literal;
}

ir::InterpreterOptions makeGenerators(uint64_t seed) {
  ir::InterpreterOptions options;
  options.generators[kGenerator] = {static_cast<int64_t>(seed * 0x9E3779B97F4A7C15),
                                    static_cast<int64_t>(seed % 1000)};
  return options;
}

/// Gives the elements that share memory, those along a stride of 0, the value of the first of them.
static void repeat(ir::Literal &literal, ArrayRef<int64_t> strides) {
  const std::vector<int64_t> dense = literal.strides();
  ir::forEachIndex(literal.shape, [&](ArrayRef<int64_t> index, int64_t linear) {
    int64_t first = linear;
    for (auto [d, stride] : llvm::enumerate(strides))
      if (stride == 0)
        first -= index[d] * dense[d];
    if (literal.isReal())
      literal.setReal(linear, literal.real[static_cast<size_t>(first)]);
    else
      literal.setWhole(linear, literal.whole[static_cast<size_t>(first)]);
  });
}

SmallVector<ir::Literal> makeInputs(ir::FuncOp function, uint64_t seed) {
  ir::GeneratorState state = makeGenerators(seed).generators[kGenerator];
  SmallVector<ir::Literal> inputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    // A pass may have changed the type to that in memory; the caller passes the original shape.
    if (auto shape = function.getArgAttrOfType<DenseI64ArrayAttr>(i, ir::attr::callerShape))
      type = ir::withShape(type, ir::toSizes(shape));
    auto nameAttr = function.getArgAttrOfType<StringAttr>(i, ir::attr::name);
    std::string name = nameAttr ? nameAttr.str() : "plain:" + std::to_string(i);
    if (ir::roleOf(function, i) == ir::ArgumentRole::random) {
      ir::Literal literal(type);
      literal.whole[0] = StringRef(name).ends_with(".key") ? state.key : state.counter;
      inputs.push_back(std::move(literal));
    } else {
      inputs.push_back(makeInput(type, name, seed));
      if (auto strides = function.getArgAttrOfType<DenseI64ArrayAttr>(i, ir::attr::strides))
        repeat(inputs.back(), strides.asArrayRef());
    }
  }
  return inputs;
}

} // namespace weft::randomtest
