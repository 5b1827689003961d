//===- Integer.cpp - Integer arithmetic ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"

#include <algorithm>

namespace weft::cudasim {
namespace {

template <class T> using Unsigned = std::make_unsigned_t<T>;
/// Wide enough that C++'s promotion to int never overflows.
template <class T> using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T> struct Twice;
template <> struct Twice<uint16_t> {
  using type = uint32_t;
};
template <> struct Twice<int16_t> {
  using type = int32_t;
};
template <> struct Twice<uint32_t> {
  using type = uint64_t;
};
template <> struct Twice<int32_t> {
  using type = int64_t;
};
template <> struct Twice<uint64_t> {
  using type = unsigned __int128;
};
template <> struct Twice<int64_t> {
  using type = __int128;
};

struct Add {
  template <class T> static T run(T a, T b) { return T(Wrapping<T>(a) + Wrapping<T>(b)); }
};
struct Subtract {
  template <class T> static T run(T a, T b) { return T(Wrapping<T>(a) - Wrapping<T>(b)); }
};
struct AddSaturated {
  static int32_t run(int32_t a, int32_t b) {
    return int32_t(std::clamp<int64_t>(int64_t(a) + b, INT32_MIN, INT32_MAX));
  }
};
struct SubtractSaturated {
  static int32_t run(int32_t a, int32_t b) {
    return int32_t(std::clamp<int64_t>(int64_t(a) - b, INT32_MIN, INT32_MAX));
  }
};
struct MultiplyLow {
  template <class T> static T run(T a, T b) { return T(Wrapping<T>(a) * Wrapping<T>(b)); }
};
struct MultiplyHigh {
  template <class T> static T run(T a, T b) {
    using Wide = typename Twice<T>::type;
    return T((Wide(a) * Wide(b)) >> 8 * sizeof(T));
  }
};
struct MultiplyWide {
  template <class T> static typename Twice<T>::type run(T a, T b) {
    using Wide = typename Twice<T>::type;
    return Wide(a) * Wide(b);
  }
};
template <class Multiply> struct MultiplyAdd {
  template <class T, class C> static C run(T a, T b, C c) { return Add::run(C(Multiply::run(a, b)), c); }
};
struct Divide {
  // A GPU gives all ones for a division by zero, and wraps the one quotient that overflows.
  template <class T> static T run(T a, T b) {
    if (b == 0)
      return T(~T(0));
    if (std::is_signed_v<T> && b == T(-1))
      return Subtract::run(T(0), a);
    return T(a / b);
  }
};
struct Remainder {
  template <class T> static T run(T a, T b) {
    if (b == 0)
      return a;
    if (std::is_signed_v<T> && b == T(-1))
      return 0;
    return T(a % b);
  }
};
struct Absolute {
  template <class T> static T run(T a) { return a < 0 ? Subtract::run(T(0), a) : a; }
};
struct Negate {
  template <class T> static T run(T a) { return Subtract::run(T(0), a); }
};
struct Minimum {
  template <class T> static T run(T a, T b) { return a < b ? a : b; }
};
struct Maximum {
  template <class T> static T run(T a, T b) { return a < b ? b : a; }
};
struct AbsoluteDifference {
  template <class T> static T run(T a, T b, T c) {
    return Add::run(c, a < b ? Subtract::run(b, a) : Subtract::run(a, b));
  }
};
template <class A, class B> struct Dot4 {
  static uint32_t run(uint32_t a, uint32_t b, uint32_t c) {
    for (int k = 0; k < 32; k += 8)
      c += uint32_t(int32_t(A(a >> k)) * int32_t(B(b >> k)));
    return c;
  }
};
/// The lower (First = 0) or upper two bytes of b with the two halves of a.
template <class A, class B, int First> struct Dot2 {
  static uint32_t run(uint32_t a, uint32_t b, uint32_t c) {
    for (int k = 0; k < 2; ++k)
      c += uint32_t(int32_t(A(a >> 16 * k)) * int32_t(B(b >> 8 * (First + k))));
    return c;
  }
};

bool isInteger(Type type) { return type >= Type::u16 && type <= Type::s64 && type != Type::s8; }

void requireInteger(Decoder &decoder, Type type) {
  if (!isInteger(type))
    decoder.failType(type);
}

//===----------------------------------------------------------------------===//
// Carries
//===----------------------------------------------------------------------===//

enum CarryFlags : uint8_t { readsCarry = 1, writesCarry = 2, subtracts = 4 };

/// a + b, or a - b as a + ~b + 1 with an inverted carry. Operands: result, a, b.
template <class T> void addCarry(Warp &warp, const Instruction &i, uint32_t mask) {
  const T *a = warp.at<T>(i.operand[1]), *b = warp.at<T>(i.operand[2]);
  T *to = warp.at<T>(i.operand[0]);
  forLanes(mask, [&](uint32_t lane) {
    bool minus = i.flags & subtracts;
    uint32_t carry = (i.flags & readsCarry) ? warp.carry >> lane & 1 : 0;
    unsigned __int128 sum =
        (unsigned __int128)(a[lane]) + (minus ? T(~b[lane]) : b[lane]) + (minus ? !carry : carry);
    if (i.flags & writesCarry) {
      bool out = (sum >> 8 * sizeof(T) & 1) != minus;
      warp.carry = (warp.carry & ~(1u << lane)) | uint32_t(out) << lane;
    }
    to[lane] = T(sum);
  });
}

/// The low or high half of a * b, plus c. Operands: result, a, b, c.
template <class T, class Multiply> void multiplyAddCarry(Warp &warp, const Instruction &i, uint32_t mask) {
  const T *a = warp.at<T>(i.operand[1]), *b = warp.at<T>(i.operand[2]);
  T product[lanesOfWarp];
  for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
    product[lane] = Multiply::run(a[lane], b[lane]);
  using Bits = Unsigned<T>;
  const T *c = warp.at<T>(i.operand[3]);
  T *to = warp.at<T>(i.operand[0]);
  forLanes(mask, [&](uint32_t lane) {
    uint32_t carry = (i.flags & readsCarry) ? warp.carry >> lane & 1 : 0;
    unsigned __int128 sum = (unsigned __int128)(Bits(product[lane])) + Bits(c[lane]) + carry;
    if (i.flags & writesCarry)
      warp.carry = (warp.carry & ~(1u << lane)) | uint32_t(sum >> 8 * sizeof(T) & 1) << lane;
    to[lane] = T(sum);
  });
}

/// add.cc, addc, sub.cc, subc.
void decodeCarry(Decoder &decoder, bool minus, bool reads, bool writes) {
  Type type = decoder.takeType();
  decoder.finish(3);
  if (!isInteger(type) || sizeOf(type) < 4)
    decoder.failType(type);
  uint32_t a = decoder.source(1, type), b = decoder.source(2, type);
  decoder.emit(sizeOf(type) == 8 ? addCarry<uint64_t> : addCarry<uint32_t>, {decoder.result(0, type), a, b})
      .flags = (reads ? readsCarry : 0) | (writes ? writesCarry : 0) | (minus ? subtracts : 0);
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

void decodeAddSubtract(Decoder &decoder) {
  bool minus = decoder.base() == "sub";
  if (decoder.take("cc"))
    return decodeCarry(decoder, minus, false, true);
  Type type = decoder.takeType();
  if (isFloat(type))
    return decodeFloatArithmetic(decoder, type);
  requireInteger(decoder, type);
  if (type == Type::s32 && decoder.take("sat"))
    return emitUniform(decoder,
                       minus ? binaryLanes<SubtractSaturated, int32_t, int32_t>
                             : binaryLanes<AddSaturated, int32_t, int32_t>,
                       type, 2);
  emitUniform(decoder, minus ? binaryInteger<Subtract>(type) : binaryInteger<Add>(type), type, 2);
}

void decodeAddCarry(Decoder &decoder) { decodeCarry(decoder, false, true, decoder.take("cc")); }
void decodeSubtractCarry(Decoder &decoder) { decodeCarry(decoder, true, true, decoder.take("cc")); }

Type doubled(Type type) {
  switch (type) {
  case Type::u16:
    return Type::u32;
  case Type::s16:
    return Type::s32;
  case Type::u32:
    return Type::u64;
  default:
    return Type::s64;
  }
}

/// mul and mad with .lo, .hi or .wide, and the forms with carries.
void decodeMultiply(Decoder &decoder) {
  bool add = decoder.base() != "mul", reads = decoder.base() == "madc", writes = add && decoder.take("cc");
  int part = decoder.takeOneOf({"lo", "hi", "wide"});
  Type type = decoder.takeType();
  if (part < 0 && isFloat(type) && !reads && !writes)
    return decodeFloatArithmetic(decoder, type);
  requireInteger(decoder, type);
  if (part < 0 || (part == 2 && sizeOf(type) == 8))
    decoder.fail("needs .lo, .hi or .wide, which is not for 64 bits");
  decoder.finish(add ? 4 : 3);
  Type to = part == 2 ? doubled(type) : type;
  uint32_t a = decoder.source(1, type), b = decoder.source(2, type), c = add ? decoder.source(3, to) : 0;
  Handler handler;
  if (reads || writes) {
    if (part == 2 || sizeOf(type) < 4)
      decoder.failType(type);
    handler = forInteger(type, [&]<class T>() -> Handler {
      return part ? multiplyAddCarry<T, MultiplyHigh> : multiplyAddCarry<T, MultiplyLow>;
    });
  } else {
    handler = forInteger(type, [&]<class T>() -> Handler {
      if constexpr (sizeof(T) < 8)
        if (part == 2) {
          using Wide = typename Twice<T>::type;
          return add ? ternaryLanes<MultiplyAdd<MultiplyWide>, Wide, T, Wide>
                     : binaryLanes<MultiplyWide, Wide, T>;
        }
      if (part == 1)
        return add ? ternaryLanes<MultiplyAdd<MultiplyHigh>, T, T> : binaryLanes<MultiplyHigh, T, T>;
      return add ? ternaryLanes<MultiplyAdd<MultiplyLow>, T, T> : binaryLanes<MultiplyLow, T, T>;
    });
  }
  decoder.emit(handler, {decoder.result(0, to), a, b, c}).flags =
      (reads ? readsCarry : 0) | (writes ? writesCarry : 0);
}

template <class Op> void decodeQuotient(Decoder &decoder) {
  Type type = decoder.takeType();
  if (isFloat(type) && decoder.base() == "div")
    return decodeFloatArithmetic(decoder, type);
  requireInteger(decoder, type);
  emitUniform(decoder, binaryInteger<Op>(type), type, 2);
}

template <class Op> void decodeSign(Decoder &decoder) {
  Type type = decoder.takeType();
  if (isFloat(type))
    return decodeFloatArithmetic(decoder, type);
  if (!isSigned(type) || type == Type::s8)
    decoder.failType(type);
  emitUniform(decoder, unaryInteger<Op>(type), type, 1);
}

template <class Op> void decodeExtremum(Decoder &decoder) {
  Type type = decoder.takeType();
  if (isFloat(type))
    return decodeFloatArithmetic(decoder, type);
  requireInteger(decoder, type);
  emitUniform(decoder, binaryInteger<Op>(type), type, 2);
}

void decodeDifference(Decoder &decoder) {
  Type type = decoder.takeType();
  requireInteger(decoder, type);
  emitUniform(decoder, ternaryInteger<AbsoluteDifference>(type), type, 3);
}

void decodeDot4(Decoder &decoder) {
  Type a = decoder.takeType(), b = decoder.takeType();
  Handler handlers[2][2] = {{ternaryLanes<Dot4<uint8_t, uint8_t>, uint32_t, uint32_t>,
                             ternaryLanes<Dot4<uint8_t, int8_t>, uint32_t, uint32_t>},
                            {ternaryLanes<Dot4<int8_t, uint8_t>, uint32_t, uint32_t>,
                             ternaryLanes<Dot4<int8_t, int8_t>, uint32_t, uint32_t>}};
  if (sizeOf(a) != 4 || sizeOf(b) != 4 || isFloat(a) || isFloat(b))
    decoder.failType(a);
  emitUniform(decoder, handlers[isSigned(a)][isSigned(b)], Type::b32, 3);
}

template <class A, class B> Handler dot2(bool upper) {
  return upper ? ternaryLanes<Dot2<A, B, 2>, uint32_t, uint32_t>
               : ternaryLanes<Dot2<A, B, 0>, uint32_t, uint32_t>;
}

void decodeDot2(Decoder &decoder) {
  const int part = decoder.takeOneOf({"lo", "hi"});
  Type a = decoder.takeType(), b = decoder.takeType();
  if (part < 0)
    decoder.fail("needs .lo or .hi");
  if (sizeOf(a) != 4 || sizeOf(b) != 4 || isFloat(a) || isFloat(b))
    decoder.failType(a);
  const bool upper = part == 1;
  Handler handlers[2][2] = {{dot2<uint16_t, uint8_t>(upper), dot2<uint16_t, int8_t>(upper)},
                            {dot2<int16_t, uint8_t>(upper), dot2<int16_t, int8_t>(upper)}};
  emitUniform(decoder, handlers[isSigned(a)][isSigned(b)], Type::b32, 3);
}

constexpr OpcodeRow rows[] = {
    {"add", decodeAddSubtract},
    {"sub", decodeAddSubtract},
    {"addc", decodeAddCarry},
    {"subc", decodeSubtractCarry},
    {"mul", decodeMultiply},
    {"mad", decodeMultiply},
    {"madc", decodeMultiply},
    {"div", decodeQuotient<Divide>},
    {"rem", decodeQuotient<Remainder>},
    {"abs", decodeSign<Absolute>},
    {"neg", decodeSign<Negate>},
    {"min", decodeExtremum<Minimum>},
    {"max", decodeExtremum<Maximum>},
    {"sad", decodeDifference},
    {"dp4a", decodeDot4},
    {"dp2a", decodeDot2},
};

} // namespace

std::span<const OpcodeRow> integerOpcodes() { return rows; }

} // namespace weft::cudasim
