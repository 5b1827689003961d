//===- Half.cpp - Arithmetic of f16 and bf16, also packed ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A register of packed halves is 64 halves beside each other, so one loop serves both forms.
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "Numeric.h"

#include <immintrin.h>

namespace weft::cudasim {
namespace {

struct F16 {
  static double decode(uint16_t bits) { return double(_cvtsh_ss(bits)); }
  static uint16_t encode(double value) {
    return value == value ? uint16_t(_cvtss_sh(toFloatOdd(value), _MM_FROUND_TO_NEAREST_INT)) : nanBits16;
  }
  static constexpr uint16_t leastNormal = 0x0400, one = 0x3C00;
};
struct BF16 {
  static double decode(uint16_t bits) { return double(brainToFloat(bits)); }
  static uint16_t encode(double value) { return floatToBrain(toFloatOdd(value)); }
  static constexpr uint16_t leastNormal = 0x0080, one = 0x3F80;
};

struct Add {
  static double run(double a, double b, double) { return addOdd(a, b); }
};
struct Subtract {
  static double run(double a, double b, double) { return addOdd(a, -b); }
};
struct Multiply {
  static double run(double a, double b, double) { return a * b; } // exact
};
struct Fused {
  static double run(double a, double b, double c) { return addOdd(a * b, c); }
};
template <bool nan, bool least> struct Extremum {
  static double run(double a, double b, double) {
    if (a != a || b != b)
      return nan || (a != a && b != b) ? std::numeric_limits<double>::quiet_NaN() : a != a ? b : a;
    if (a == b)
      return std::signbit(a) == least ? a : b;
    return (a < b) == least ? a : b;
  }
};
struct Power {
  static double run(double a, double, double) { return std::exp2(a); }
};
struct Tangent {
  static double run(double a, double, double) { return std::tanh(a); }
};

enum HalfFlags : uint8_t { flushes = 1, saturates = 2, rectifies = 4, packed = 8 };

template <class Half> uint16_t flushedHalf(uint16_t bits) {
  return (bits & 0x7FFF) < Half::leastNormal ? bits & 0x8000 : bits;
}

/// Operands: result, a, b, c.
template <class Half, class Op> void halfLanes(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint16_t *in[3] = {warp.at<uint16_t>(i.operand[1]), warp.at<uint16_t>(i.operand[2]),
                           warp.at<uint16_t>(i.operand[3])};
  uint16_t *to = warp.at<uint16_t>(i.operand[0]);
  auto one = [&](uint32_t k) {
    double values[3];
    for (int operand = 0; operand < 3; ++operand)
      values[operand] =
          Half::decode((i.flags & flushes) ? flushedHalf<Half>(in[operand][k]) : in[operand][k]);
    uint16_t result = Half::encode(Op::run(values[0], values[1], values[2]));
    if (i.flags & flushes)
      result = flushedHalf<Half>(result);
    double value = Half::decode(result);
    if ((i.flags & saturates) && !(value > 0))
      result = 0;
    if ((i.flags & saturates) && value > 1)
      result = Half::one;
    if ((i.flags & rectifies) && value == value && !(value > 0))
      result = 0;
    to[k] = result;
  };
  forLanes(mask, [&](uint32_t lane) {
    if (i.flags & packed) {
      one(2 * lane);
      one(2 * lane + 1);
    } else {
      one(lane);
    }
  });
}

/// neg and abs: bits of NaN stay as they are.
void signLanes(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint16_t *a = warp.at<uint16_t>(i.operand[1]);
  uint16_t *to = warp.at<uint16_t>(i.operand[0]);
  auto one = [&](uint32_t k) {
    uint16_t bits = (i.flags & flushes) ? flushedHalf<F16>(a[k]) : a[k];
    to[k] = i.mode ? bits ^ 0x8000 : bits & 0x7FFF;
  };
  forLanes(mask, [&](uint32_t lane) {
    if (i.flags & packed) {
      one(2 * lane);
      one(2 * lane + 1);
    } else {
      one(lane);
    }
  });
}

struct Row {
  std::string_view name;
  size_t count;
  Handler f16, bf16;
};
template <class Op> constexpr Row row(std::string_view name, size_t count) {
  return {name, count, halfLanes<F16, Op>, halfLanes<BF16, Op>};
}
constexpr Row arithmetic[] = {
    row<Add>("add", 2),
    row<Subtract>("sub", 2),
    row<Multiply>("mul", 2),
    row<Fused>("fma", 3),
    row<Extremum<false, true>>("min", 2),
    row<Extremum<false, false>>("max", 2),
    row<Extremum<true, true>>("min.NaN", 2),
    row<Extremum<true, false>>("max.NaN", 2),
    row<Power>("ex2", 1),
    row<Tangent>("tanh", 1),
};

} // namespace

void decodeHalfArithmetic(Decoder &decoder, Type type) {
  bool brain = type == Type::bf16 || type == Type::bf16x2;
  if (!brain && type != Type::f16 && type != Type::f16x2)
    decoder.failType(type);
  std::string name(decoder.base());
  uint8_t flags = sizeOf(type) == 4 ? packed : 0;
  bool extremum = name == "min" || name == "max", sum = name == "add" || name == "sub" || name == "mul";
  if (sum || name == "fma")
    decoder.take("rn");
  if ((!brain || name == "ex2") && decoder.take("ftz"))
    flags |= flushes;
  if ((sum || name == "fma") && !brain && decoder.take("sat"))
    flags |= saturates;
  if (name == "fma" && decoder.take("relu"))
    flags |= rectifies;
  if (extremum && decoder.take("NaN"))
    name += ".NaN";
  // Untyped bits: the widths are what counts.
  Type bits = sizeOf(type) == 4 ? Type::b32 : Type::b16;
  if (name == "neg" || name == "abs") {
    emitUniform(decoder, signLanes, bits, 1);
    decoder.last().mode = name == "neg";
    decoder.last().flags = flags;
    return;
  }
  for (const Row &one : arithmetic)
    if (one.name == name) {
      emitUniform(decoder, brain ? one.bf16 : one.f16, bits, one.count);
      Instruction &made = decoder.last();
      for (size_t k = one.count + 1; k < 4; ++k)
        made.operand[k] = made.operand[1];
      made.flags = flags;
      return;
    }
  decoder.failType(type);
}

} // namespace weft::cudasim
