//===- Float.cpp - Arithmetic of f32 and f64 -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Approximate instructions are computed in double precision and rounded once. A GPU's results differ from
// that by an ULP or two, see test/cudasim/calibration.
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "Numeric.h"

namespace weft::cudasim {
namespace {

//===----------------------------------------------------------------------===//
// Functions of lanes
//===----------------------------------------------------------------------===//

struct Add {
  template <class T> static T run(T a, T b) { return a + b; }
};
struct Subtract {
  template <class T> static T run(T a, T b) { return a - b; }
};
struct Multiply {
  template <class T> static T run(T a, T b) { return a * b; }
};
struct Divide {
  template <class T> static T run(T a, T b) { return a / b; }
};
struct Fused {
  static float run(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double run(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
// -0 is less than +0, and a number is preferred to NaN.
struct Minimum {
  template <class T> static T run(T a, T b) {
    T less = b < a ? b : a;
    T tied = std::signbit(a) ? a : b;
    return a != a ? b : b != b ? a : a == b ? tied : less;
  }
};
struct Maximum {
  template <class T> static T run(T a, T b) {
    T more = a < b ? b : a;
    T tied = std::signbit(a) ? b : a;
    return a != a ? b : b != b ? a : a == b ? tied : more;
  }
};
template <class Op> struct WithNan {
  template <class T> static T run(T a, T b) { return a != a ? a : b != b ? b : Op::run(a, b); }
};
struct Reciprocal {
  template <class T> static T run(T a) { return 1 / a; }
};
struct SquareRoot {
  static float run(float a) { return __builtin_sqrtf(a); }
  static double run(double a) { return __builtin_sqrt(a); }
};
struct ReciprocalRoot {
  // In f32 this is rounded once: the double's error is far below a float's spacing.
  static float run(float a) { return float(1 / __builtin_sqrt(double(a))); }
  static double run(double a) { return 1 / __builtin_sqrt(a); }
};
/// The approximations of f64 know the upper halves of operand and result only; the lower half of both is 0.
template <class Op> struct UpperHalf {
  static double run(double a) {
    uint64_t bits = std::bit_cast<uint64_t>(a) & 0xFFFFFFFF00000000;
    if (!(bits & 0x7FF0000000000000)) // subnormal operands count as 0
      bits &= 0x8000000000000000;
    double result = Op::run(std::bit_cast<double>(bits));
    bits = std::bit_cast<uint64_t>(result) & 0xFFFFFFFF00000000;
    if (!(bits & 0x7FF0000000000000))
      bits &= 0x8000000000000000;
    return result != result ? result : std::bit_cast<double>(bits);
  }
};
template <double (*function)(double)> struct Elementary {
  static float run(float a) { return float(function(double(a))); }
};
double power2(double a) { return std::exp2(a); }
double logarithm2(double a) { return std::log2(a); }
double sine(double a) { return std::sin(a); }
double cosine(double a) { return std::cos(a); }
double hyperbolic(double a) { return std::tanh(a); }

/// Applies .ftz to operands and result, and makes f32's NaN canonical.
template <class Op, bool flush> struct Finished {
  template <class T> static T in(T a) {
    if constexpr (flush)
      return flushed(a);
    else
      return a;
  }
  template <class... T> static auto run(T... a) { return in(canonical(Op::run(in(a)...))); }
};

struct AbsoluteBits {
  template <class T> static T run(T a) { return std::fabs(a); }
};
struct NegatedBits {
  template <class T> static T run(T a) { return -a; }
};
struct Saturate {
  // NaN becomes 0.
  template <class T> static T run(T a) { return a > 0 ? (a < 1 ? a : T(1)) : T(0); }
};
struct CopySign {
  template <class T> static T run(T sign, T magnitude) { return std::copysign(magnitude, sign); }
};

//===----------------------------------------------------------------------===//
// Directed roundings: the processor's own
//===----------------------------------------------------------------------===//

enum class Directed : uint8_t { add, subtract, multiply, divide, fused, root };

#define WEFT_DIRECTED(suffix, T)                                                                             \
  T directed(Directed operation, T a, T b, T c) {                                                            \
    T result = a;                                                                                            \
    switch (operation) {                                                                                     \
    case Directed::add:                                                                                      \
      asm volatile("vadd" suffix " %2, %1, %0" : "=x"(result) : "x"(a), "x"(b));                             \
      break;                                                                                                 \
    case Directed::subtract:                                                                                 \
      asm volatile("vsub" suffix " %2, %1, %0" : "=x"(result) : "x"(a), "x"(b));                             \
      break;                                                                                                 \
    case Directed::multiply:                                                                                 \
      asm volatile("vmul" suffix " %2, %1, %0" : "=x"(result) : "x"(a), "x"(b));                             \
      break;                                                                                                 \
    case Directed::divide:                                                                                   \
      asm volatile("vdiv" suffix " %2, %1, %0" : "=x"(result) : "x"(a), "x"(b));                             \
      break;                                                                                                 \
    case Directed::fused:                                                                                    \
      asm volatile("vfmadd213" suffix " %2, %1, %0" : "+x"(result) : "x"(b), "x"(c));                        \
      break;                                                                                                 \
    case Directed::root:                                                                                     \
      asm volatile("vsqrt" suffix " %1, %1, %0" : "=x"(result) : "x"(a));                                    \
      break;                                                                                                 \
    }                                                                                                        \
    return result;                                                                                           \
  }
WEFT_DIRECTED("ss", float)
WEFT_DIRECTED("sd", double)
#undef WEFT_DIRECTED

/// Sets the rounding of the processor while it lives. The instructions between are volatile, so they stay
/// there.
class RoundingScope {
public:
  explicit RoundingScope(Rounding mode) {
    asm volatile("stmxcsr %0" : "=m"(saved));
    constexpr uint32_t bits[] = {0, 3, 1, 2};
    uint32_t control = (saved & ~0x6000u) | bits[size_t(mode)] << 13;
    asm volatile("ldmxcsr %0" : : "m"(control) : "memory");
  }
  ~RoundingScope() { asm volatile("ldmxcsr %0" : : "m"(saved) : "memory"); }

private:
  uint32_t saved = 0;
};

/// Operands: result, a, b, c. The mode is operation * 4 + rounding, the first flag .ftz.
template <class T> void directedLanes(Warp &warp, const Instruction &i, uint32_t mask) {
  const T *a = warp.at<T>(i.operand[1]), *b = warp.at<T>(i.operand[2]), *c = warp.at<T>(i.operand[3]);
  T values[lanesOfWarp], in[3][lanesOfWarp];
  for (uint32_t lane = 0; lane < lanesOfWarp; ++lane) {
    in[0][lane] = i.flags ? flushed(a[lane]) : a[lane];
    in[1][lane] = i.flags ? flushed(b[lane]) : b[lane];
    in[2][lane] = i.flags ? flushed(c[lane]) : c[lane];
  }
  {
    RoundingScope scope(Rounding(i.mode & 3));
    for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
      values[lane] = directed(Directed(i.mode >> 2), in[0][lane], in[1][lane], in[2][lane]);
  }
  for (T &value : values)
    value = canonical(i.flags ? flushed(value) : value);
  store(warp.at<T>(i.operand[0]), values, mask);
}

//===----------------------------------------------------------------------===//
// Choosing handlers
//===----------------------------------------------------------------------===//

template <class Op, size_t count, bool flush, class T> Handler lanesOf() {
  using F = Finished<Op, flush>;
  if constexpr (count == 1)
    return unaryLanes<F, T, T>;
  else if constexpr (count == 2)
    return binaryLanes<F, T, T>;
  else
    return ternaryLanes<F, T, T>;
}
template <class Op, size_t count> Handler nearest(Type type, bool flush) {
  if (type == Type::f64)
    return lanesOf<Op, count, false, double>();
  return flush ? lanesOf<Op, count, true, float>() : lanesOf<Op, count, false, float>();
}

/// What the modifiers of an arithmetic instruction say.
struct Modes {
  Rounding rounding = Rounding::nearest;
  bool hasRounding = false, flush = false, saturate = false;
};
Modes takeModes(Decoder &decoder, Type type) {
  Modes modes;
  int rounding = decoder.takeOneOf({"rn", "rz", "rm", "rp"});
  modes.hasRounding = rounding >= 0;
  modes.rounding = Rounding(std::max(rounding, 0));
  if (type == Type::f32) {
    modes.flush = decoder.take("ftz");
    modes.saturate = decoder.take("sat");
  }
  return modes;
}

void saturateResult(Decoder &decoder, const Modes &modes) {
  if (!modes.saturate)
    return;
  uint32_t offset = decoder.last().operand[0];
  decoder.emit(unaryLanes<Saturate, float, float>, {offset, offset});
}

/// An instruction with any rounding, of `count` operands; `one` gives an operand that is 1 and comes first.
void emitRounded(Decoder &decoder, Type type, Handler toNearest, Directed operation, size_t count,
                 bool one = false) {
  Modes modes = takeModes(decoder, type);
  if (modes.rounding == Rounding::nearest) {
    emitUniform(decoder, toNearest, type, count);
    return saturateResult(decoder, modes);
  }
  decoder.finish(count + 1);
  uint32_t operands[4] = {};
  size_t at = 1;
  if (one)
    operands[at++] = decoder.constant(type == Type::f64 ? 0x3FF0000000000000 : 0x3F800000, sizeOf(type));
  for (size_t k = 1; k <= count; ++k)
    operands[at++] = decoder.source(k, type);
  for (; at < 4; ++at)
    operands[at] = operands[1];
  operands[0] = decoder.result(0, type);
  Instruction &made = decoder.emit(type == Type::f64 ? directedLanes<double> : directedLanes<float>,
                                   {operands[0], operands[1], operands[2], operands[3]});
  made.mode = uint8_t(size_t(operation) * 4 + size_t(modes.rounding));
  made.flags = modes.flush;
  saturateResult(decoder, modes);
}

/// Whether .ftz is there, which stays to be taken by what follows.
bool peekFlush(Decoder &decoder, Type type) { return type == Type::f32 && decoder.has("ftz"); }

void decodeExtremum(Decoder &decoder, Type type) {
  bool flush = type == Type::f32 && decoder.take("ftz"), nan = type == Type::f32 && decoder.take("NaN");
  bool least = decoder.base() == "min";
  Handler handler =
      nan ? (least ? nearest<WithNan<Minimum>, 2>(type, flush) : nearest<WithNan<Maximum>, 2>(type, flush))
          : (least ? nearest<Minimum, 2>(type, flush) : nearest<Maximum, 2>(type, flush));
  if (decoder.operandCount() != 4)
    return emitUniform(decoder, handler, type, 2);
  // Of three: the first two, then the third.
  if (type != Type::f32)
    decoder.failType(type);
  decoder.finish(4);
  uint32_t a = decoder.source(1, type), b = decoder.source(2, type), c = decoder.source(3, type);
  uint32_t between = decoder.temporary(4);
  decoder.emit(handler, {between, a, b});
  decoder.emit(handler, {decoder.result(0, type), between, c});
}

void decodeQuotient(Decoder &decoder, Type type) {
  bool flush = peekFlush(decoder, type);
  bool loose = type == Type::f32 && decoder.takeOneOf({"full", "approx"}) >= 0;
  if (!loose && !decoder.has("rn") && !decoder.has("rz") && !decoder.has("rm") && !decoder.has("rp"))
    decoder.fail("needs a rounding");
  emitRounded(decoder, type, nearest<Divide, 2>(type, flush), Directed::divide, 2);
}

void decodeSigned(Decoder &decoder, Type type) {
  bool flush = type == Type::f32 && decoder.take("ftz"), minus = decoder.base() == "neg";
  // Bits of NaN stay as they are: only .ftz looks at the value.
  Handler handler = minus ? nearest<NegatedBits, 1>(type, flush) : nearest<AbsoluteBits, 1>(type, flush);
  if (!flush && type == Type::f32)
    handler = minus ? unaryLanes<NegatedBits, float, float> : unaryLanes<AbsoluteBits, float, float>;
  emitUniform(decoder, handler, type, 1);
}

/// rcp, sqrt and rsqrt.
void decodeRoots(Decoder &decoder) {
  bool approximate = decoder.take("approx");
  Type type = decoder.takeType();
  bool flush = peekFlush(decoder, type);
  if (type != Type::f32 && type != Type::f64)
    return decoder.failType(type);
  std::string_view base = decoder.base();
  if (base == "rsqrt" && !approximate)
    decoder.fail("needs .approx");
  if (type == Type::f64 && approximate) {
    bool known = base != "sqrt" && (decoder.take("ftz") || base == "rsqrt");
    if (!known)
      decoder.failType(type);
    return emitUniform(decoder,
                       base == "rcp" ? unaryLanes<UpperHalf<Reciprocal>, double, double>
                                     : unaryLanes<UpperHalf<ReciprocalRoot>, double, double>,
                       type, 1);
  }
  if (!approximate && !decoder.has("rn") && !decoder.has("rz") && !decoder.has("rm") && !decoder.has("rp"))
    decoder.fail("needs a rounding or .approx");
  if (base == "rsqrt")
    emitRounded(decoder, type, nearest<ReciprocalRoot, 1>(type, flush), Directed::root, 1);
  else if (base == "sqrt")
    emitRounded(decoder, type, nearest<SquareRoot, 1>(type, flush), Directed::root, 1);
  else
    emitRounded(decoder, type, nearest<Reciprocal, 1>(type, flush), Directed::divide, 1, true);
}

/// Computes the lanes of the mask only, because the functions are slow.
template <class Op> void slowLanes(Warp &warp, const Instruction &i, uint32_t mask) {
  const float *a = warp.at<float>(i.operand[1]);
  float *to = warp.at<float>(i.operand[0]);
  forLanes(mask, [&](uint32_t lane) {
    float value = i.flags ? flushed(a[lane]) : a[lane];
    value = canonical(Op::run(value));
    to[lane] = i.flags ? flushed(value) : value;
  });
}

template <double (*function)(double)> void decodeElementary(Decoder &decoder) {
  bool approximate = decoder.take("approx");
  Type type = decoder.takeType();
  if (type != Type::f32 && (decoder.base() == "ex2" || decoder.base() == "tanh"))
    return approximate ? decodeHalfArithmetic(decoder, type)
                       : decodeHalfArithmetic(decoder, decoder.base() == "ex2" ? type : Type::none);
  if (type != Type::f32 || !approximate)
    decoder.fail("is known as .approx.f32 only");
  bool flush = decoder.base() != "tanh" && decoder.take("ftz");
  emitUniform(decoder, slowLanes<Elementary<function>>, type, 1);
  decoder.last().flags = flush;
}

void decodeFused(Decoder &decoder) {
  Type type = decoder.takeType();
  if (!isFloat(type))
    decoder.failType(type);
  decodeFloatArithmetic(decoder, type);
}

void decodeCopySign(Decoder &decoder) {
  Type type = decoder.takeType();
  if (type != Type::f32 && type != Type::f64)
    decoder.failType(type);
  emitUniform(decoder,
              type == Type::f32 ? binaryLanes<CopySign, float, float> : binaryLanes<CopySign, double, double>,
              type, 2);
}

//===----------------------------------------------------------------------===//
// testp
//===----------------------------------------------------------------------===//

template <class T> bool hasProperty(T value, int property) {
  bool results[] = {std::isfinite(value), std::isinf(value),    !std::isnan(value),
                    std::isnan(value),    std::isnormal(value), std::fpclassify(value) == FP_SUBNORMAL};
  return results[property];
}
template <class T> void testProperty(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t *to = warp.at<uint32_t>(i.operand[0]);
  forLanes(mask, [&](uint32_t lane) {
    uint32_t holds = hasProperty(warp.at<T>(i.operand[1])[lane], i.mode);
    *to = (*to & ~(1u << lane)) | holds << lane;
  });
}
void decodeProperty(Decoder &decoder) {
  int property = decoder.takeOneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = decoder.takeType();
  decoder.finish(2);
  if (property < 0 || (type != Type::f32 && type != Type::f64))
    decoder.fail("the property or type is not known");
  uint32_t a = decoder.source(1, type);
  decoder
      .emit(type == Type::f32 ? testProperty<float> : testProperty<double>,
            {decoder.resultPredicate(decoder.operand(0)), a})
      .mode = uint8_t(property);
}

constexpr OpcodeRow rows[] = {
    {"fma", decodeFused},
    {"rcp", decodeRoots},
    {"sqrt", decodeRoots},
    {"rsqrt", decodeRoots},
    {"ex2", decodeElementary<power2>},
    {"lg2", decodeElementary<logarithm2>},
    {"sin", decodeElementary<sine>},
    {"cos", decodeElementary<cosine>},
    {"tanh", decodeElementary<hyperbolic>},
    {"copysign", decodeCopySign},
    {"testp", decodeProperty},
};

} // namespace

void decodeFloatArithmetic(Decoder &decoder, Type type) {
  if (type != Type::f32 && type != Type::f64)
    return decodeHalfArithmetic(decoder, type);
  std::string_view base = decoder.base();
  bool flush = peekFlush(decoder, type);
  if (base == "add")
    return emitRounded(decoder, type, nearest<Add, 2>(type, flush), Directed::add, 2);
  if (base == "sub")
    return emitRounded(decoder, type, nearest<Subtract, 2>(type, flush), Directed::subtract, 2);
  if (base == "mul")
    return emitRounded(decoder, type, nearest<Multiply, 2>(type, flush), Directed::multiply, 2);
  if (base == "fma" || base == "mad") {
    if (!decoder.has("rn") && !decoder.has("rz") && !decoder.has("rm") && !decoder.has("rp"))
      decoder.fail("needs a rounding");
    return emitRounded(decoder, type, nearest<Fused, 3>(type, flush), Directed::fused, 3);
  }
  if (base == "div")
    return decodeQuotient(decoder, type);
  if (base == "min" || base == "max")
    return decodeExtremum(decoder, type);
  if (base == "abs" || base == "neg")
    return decodeSigned(decoder, type);
  decoder.failType(type);
}

std::span<const OpcodeRow> floatOpcodes() { return rows; }

} // namespace weft::cudasim
