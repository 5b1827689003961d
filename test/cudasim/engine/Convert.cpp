//===- Convert.cpp - Moves and conversions -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "Numeric.h"

#include <algorithm>
#include <immintrin.h>

namespace weft::cudasim {
namespace {

//===----------------------------------------------------------------------===//
// mov
//===----------------------------------------------------------------------===//

struct Same {
  template <class T> static T run(T a) { return a; }
};

void movePredicate(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t *to = warp.at<uint32_t>(i.operand[0]);
  uint32_t value = *warp.at<uint32_t>(i.operand[1]) ^ (i.flags ? allLanes : 0);
  *to = (*to & ~mask) | (value & mask);
}

/// Parts to a whole and back: `mode` bytes a part, `flags` parts. Operand 0 is the whole, the parts follow.
void pack(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](uint32_t lane) {
    std::byte whole[8];
    for (uint32_t k = 0; k < i.flags; ++k)
      std::memcpy(whole + k * i.mode, warp.registers + i.operand[1 + k] + lane * i.mode, i.mode);
    uint32_t bytes = uint32_t(i.flags) * i.mode;
    std::memcpy(warp.registers + i.operand[0] + lane * bytes, whole, bytes);
  });
}
void unpack(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](uint32_t lane) {
    std::byte whole[8];
    uint32_t bytes = uint32_t(i.flags) * i.mode;
    std::memcpy(whole, warp.registers + i.operand[0] + lane * bytes, bytes);
    for (uint32_t k = 0; k < i.flags; ++k)
      std::memcpy(warp.registers + i.operand[1 + k] + lane * i.mode, whole + k * i.mode, i.mode);
  });
}

Type bitsOfSize(uint32_t bytes) {
  return bytes == 1   ? Type::b8
         : bytes == 2 ? Type::b16
         : bytes == 4 ? Type::b32
         : bytes == 8 ? Type::b64
                      : Type::none;
}

void decodeVectorMove(Decoder &decoder, Type type, bool packs) {
  const Operand &list = decoder.operand(packs ? 1 : 0);
  size_t count = list.elements.size();
  if (isFloat(type) || (count != 2 && count != 4) || sizeOf(type) < count)
    decoder.failType(type);
  Type part = bitsOfSize(uint32_t(sizeOf(type) / count));
  if (sizeOf(part) < 2)
    decoder.fail("parts of 8 bits are not known");
  Instruction made;
  made.operand[0] = packs ? decoder.result(0, type) : decoder.source(1, type);
  for (size_t k = 0; k < count; ++k)
    made.operand[1 + k] =
        packs ? decoder.sourceOf(list.elements[k], part) : decoder.resultOf(list.elements[k], part);
  Instruction &emitted = decoder.emit(packs ? pack : unpack);
  emitted.operand = made.operand;
  emitted.mode = uint8_t(sizeOf(part));
  emitted.flags = uint8_t(count);
}

void decodeMove(Decoder &decoder) {
  Type type = decoder.takeType();
  decoder.finish(2);
  if (type == Type::pred) {
    bool negated;
    uint32_t from = decoder.predicate(decoder.operand(1), negated);
    decoder.emit(movePredicate, {decoder.resultPredicate(decoder.operand(0)), from}).flags = negated;
    return;
  }
  bool packs = decoder.operand(1).kind == Operand::Kind::vector;
  if (packs || decoder.operand(0).kind == Operand::Kind::vector)
    return decodeVectorMove(decoder, type, packs);
  Handler handler =
      forInteger(bitsOfSize(sizeOf(type)), []<class T>() -> Handler { return unaryLanes<Same, T, T>; });
  if (!handler)
    decoder.failType(type);
  uint32_t from = decoder.source(1, type);
  decoder.emit(handler, {decoder.result(0, type), from});
}

//===----------------------------------------------------------------------===//
// cvta: generic addresses of the windows
//===----------------------------------------------------------------------===//

void offsetAddress(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](uint32_t lane) {
    warp.at<uint64_t>(i.operand[0])[lane] = warp.at<uint64_t>(i.operand[1])[lane] + uint64_t(i.immediate);
  });
}

void decodeAddress(Decoder &decoder) {
  bool to = decoder.take("to");
  int space =
      decoder.takeOneOf({"global", "const", "shared", "shared::cta", "local", "param", "param::entry"});
  if (space < 0 || decoder.takeType() != Type::u64)
    decoder.fail("the space or type is not known");
  decoder.finish(2);
  constexpr uint64_t windows[] = {0, 0, sharedWindow, sharedWindow, localWindow, paramWindow, paramWindow};
  int64_t window = int64_t(windows[space]);
  const uint32_t from = decoder.source(1, Type::u64);
  decoder.emit(offsetAddress, {decoder.result(0, Type::u64), from}).immediate = to ? -window : window;
}

//===----------------------------------------------------------------------===//
// cvt of any types, one lane at a time
//===----------------------------------------------------------------------===//

enum ConvertFlags : uint8_t { flushes = 1, saturates = 2, toWhole = 4, rectifies = 8, finite = 16 };

const Format &formatOf(Type type) {
  switch (type) {
  case Type::f16:
  case Type::f16x2:
    return half;
  case Type::bf16:
  case Type::bf16x2:
    return brain;
  case Type::e4m3x2:
    return e4m3;
  case Type::e5m2x2:
    return e5m2;
  default:
    return tensor;
  }
}

double realOf(Type type, uint64_t bits) {
  switch (type) {
  case Type::f64:
    return std::bit_cast<double>(bits);
  case Type::f32:
    return double(bitsToFloat(uint32_t(bits)));
  default:
    return decode(formatOf(type), uint32_t(bits));
  }
}

__int128 integerOf(Type type, uint64_t bits) {
  uint32_t unused = 64 - 8 * sizeOf(type);
  if (isSigned(type))
    return __int128(int64_t(bits << unused) >> unused);
  return __int128((bits << unused) >> unused);
}

double rounded(double value, Rounding mode) {
  switch (mode) {
  case Rounding::zero:
    return std::trunc(value);
  case Rounding::down:
    return std::floor(value);
  case Rounding::up:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

/// The limits of an integer type.
__int128 least(Type type) { return isSigned(type) ? -(__int128(1) << (8 * sizeOf(type) - 1)) : 0; }
__int128 most(Type type) { return (__int128(1) << (8 * sizeOf(type) - isSigned(type))) - 1; }

uint64_t realToInteger(const Instruction &i, Type to, Type from, double value) {
  // As the PTX manual says: 0, but the smallest number where 64 bits are on either side.
  if (value != value)
    return sizeOf(to) == 8 || from == Type::f64 ? uint64_t(1) << (8 * sizeOf(to) - 1) : 0;
  double whole = rounded(value, Rounding(i.mode));
  if (whole <= double(least(to)))
    return uint64_t(least(to));
  if (whole >= std::ldexp(1.0, int(8 * sizeOf(to) - isSigned(to))))
    return uint64_t(most(to));
  return uint64_t(__int128(whole));
}

/// The integer as a double, rounded to odd.
double realToOdd(__int128 value) {
  double nearest = double(value);
  __int128 back = __int128(nearest);
  if (back == value)
    return nearest;
  uint64_t bits = std::bit_cast<uint64_t>(nearest);
  if ((value > 0) == (back > value))
    --bits;
  return std::bit_cast<double>(bits | 1);
}

double integerToDouble(__int128 value, Rounding mode) {
  double nearest = double(value);
  __int128 back = __int128(nearest);
  bool down = mode == Rounding::down || (mode == Rounding::zero && value > 0);
  bool up = mode == Rounding::up || (mode == Rounding::zero && value < 0);
  if (down && back > value)
    return std::nextafter(nearest, -INFINITY);
  if (up && back < value)
    return std::nextafter(nearest, INFINITY);
  return nearest;
}

/// A double, which may be rounded to odd, as bits of a float type.
uint64_t realToReal(const Instruction &i, Type to, double value) {
  if (i.flags & saturates)
    value = value > 0 ? std::min(value, 1.0) : 0.0;
  if ((i.flags & rectifies) && value == value && !(value > 0))
    value = 0;
  switch (to) {
  case Type::f64:
    return std::bit_cast<uint64_t>(value);
  case Type::f32: {
    float result = canonical(toFloat(value, Rounding(i.mode)));
    return floatBits((i.flags & flushes) ? flushed(result) : result);
  }
  case Type::tf32: {
    uint32_t bits = encode(tensor, value, Rounding(i.mode), i.flags & finite);
    return value == value ? bits << 13 : nanBits32;
  }
  default:
    return encode(formatOf(to), value, Rounding(i.mode), i.flags & finite);
  }
}

uint64_t convertOne(const Instruction &i, Type to, Type from, uint64_t bits) {
  if (isFloat(from)) {
    double value = realOf(from, bits);
    if ((i.flags & flushes) && from == Type::f32)
      value = flushed(float(value));
    if (!isFloat(to))
      return realToInteger(i, to, from, value);
    // To nothing smaller: whole numbers in the same or a wider type.
    if (!(i.flags & toWhole))
      return realToReal(i, to, value);
    Instruction exact = i;
    value = rounded(value, Rounding(i.mode));
    exact.mode = uint8_t(Rounding::nearest);
    return realToReal(exact, to, value);
  }
  __int128 value = integerOf(from, bits);
  if (!isFloat(to))
    return uint64_t((i.flags & saturates) ? std::clamp(value, least(to), most(to)) : value);
  if (to == Type::f64)
    return std::bit_cast<uint64_t>(integerToDouble(value, Rounding(i.mode)));
  return realToReal(i, to, realToOdd(value));
}

uint64_t readBits(Warp &warp, uint32_t offset, uint32_t bytes, uint32_t lane) {
  uint64_t bits = 0;
  std::memcpy(&bits, warp.registers + offset + lane * bytes, bytes);
  return bits;
}

/// Operands: result, a. The target has both types.
void convertLanes(Warp &warp, const Instruction &i, uint32_t mask) {
  Type to = Type(i.target & 255), from = Type(i.target >> 8);
  uint32_t bytes = sizeOf(to), fromBytes = sizeOf(from);
  forLanes(mask, [&](uint32_t lane) {
    uint64_t bits = convertOne(i, to, from, readBits(warp, i.operand[1], fromBytes, lane));
    std::memcpy(warp.registers + i.operand[0] + lane * bytes, &bits, bytes);
  });
}

/// Two floats to a packed pair, the first to its upper half. Operands: result, a, b.
void convertPair(Warp &warp, const Instruction &i, uint32_t mask) {
  Type to = Type(i.target & 255);
  uint32_t bytes = sizeOf(to);
  forLanes(mask, [&](uint32_t lane) {
    uint64_t high = realToReal(i, to, warp.at<float>(i.operand[1])[lane]);
    uint64_t low = realToReal(i, to, warp.at<float>(i.operand[2])[lane]);
    uint64_t bits = high << 4 * bytes | low;
    std::memcpy(warp.registers + i.operand[0] + lane * bytes, &bits, bytes);
  });
}

/// A packed pair to another, one of which is of 8-bit floats. Operands: result, a.
void convertPacked(Warp &warp, const Instruction &i, uint32_t mask) {
  Type to = Type(i.target & 255), from = Type(i.target >> 8);
  uint32_t bytes = sizeOf(to), fromBytes = sizeOf(from);
  forLanes(mask, [&](uint32_t lane) {
    uint64_t in = readBits(warp, i.operand[1], fromBytes, lane), out = 0;
    for (uint32_t k = 0; k < 2; ++k) {
      uint64_t one = in >> k * 4 * fromBytes & ((uint64_t(1) << 4 * fromBytes) - 1);
      out |= realToReal(i, to, realOf(from, one)) << k * 4 * bytes;
    }
    std::memcpy(warp.registers + i.operand[0] + lane * bytes, &out, bytes);
  });
}

//===----------------------------------------------------------------------===//
// cvt of the types that elementwise kernels are full of
//===----------------------------------------------------------------------===//

template <class D> struct Cast {
  template <class A> static D run(A a) { return D(a); }
};
struct FromBrain {
  static float run(uint16_t a) { return canonical(brainToFloat(a)); }
};
struct ToBrain {
  static uint16_t run(float a) { return floatToBrain(a); }
};
void fromHalf(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint16_t *a = warp.at<uint16_t>(i.operand[1]);
  float values[lanesOfWarp];
  for (uint32_t lane = 0; lane < lanesOfWarp; lane += 8)
    _mm256_storeu_ps(values + lane,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(a + lane))));
  for (float &value : values)
    value = canonical(value);
  store(warp.at<float>(i.operand[0]), values, mask);
}
void toHalf(Warp &warp, const Instruction &i, uint32_t mask) {
  const float *a = warp.at<float>(i.operand[1]);
  uint16_t values[lanesOfWarp];
  for (uint32_t lane = 0; lane < lanesOfWarp; lane += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(values + lane),
                     _mm256_cvtps_ph(_mm256_loadu_ps(a + lane), 0));
  for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
    values[lane] = a[lane] != a[lane] ? nanBits16 : values[lane];
  store(warp.at<uint16_t>(i.operand[0]), values, mask);
}
void toBrainPair(Warp &warp, const Instruction &i, uint32_t mask) {
  const float *a = warp.at<float>(i.operand[1]), *b = warp.at<float>(i.operand[2]);
  uint32_t values[lanesOfWarp];
  for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
    values[lane] = uint32_t(floatToBrain(a[lane])) << 16 | floatToBrain(b[lane]);
  store(warp.at<uint32_t>(i.operand[0]), values, mask);
}

template <class A> Handler castFrom(Type to) {
  return forInteger(to, []<class T>() -> Handler { return unaryLanes<Cast<T>, T, A>; });
}

/// A vectorised handler for a conversion to nearest without further modifiers, or null.
Handler fastConversion(Type to, Type from) {
  if (!isFloat(to) && !isFloat(from) && sizeOf(to) > 1)
    return forInteger(from, [&]<class A>() -> Handler { return castFrom<A>(to); });
  if (to == Type::f32 && from == Type::s32)
    return unaryLanes<Cast<float>, float, int32_t>;
  if (to == Type::f32 && from == Type::u32)
    return unaryLanes<Cast<float>, float, uint32_t>;
  if (to == Type::f64 && from == Type::s32)
    return unaryLanes<Cast<double>, double, int32_t>;
  if (to == Type::f64 && from == Type::u32)
    return unaryLanes<Cast<double>, double, uint32_t>;
  if (to == Type::f64 && from == Type::f32)
    return unaryLanes<Cast<double>, double, float>;
  if (to == Type::f32 && from == Type::f16)
    return fromHalf;
  if (to == Type::f16 && from == Type::f32)
    return toHalf;
  if (to == Type::f32 && from == Type::bf16)
    return unaryLanes<FromBrain, float, uint16_t>;
  if (to == Type::bf16 && from == Type::f32)
    return unaryLanes<ToBrain, uint16_t, float>;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Decoding cvt
//===----------------------------------------------------------------------===//

bool isPacked(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2 || type == Type::e4m3x2 || type == Type::e5m2x2;
}
bool isTiny(Type type) { return type == Type::e4m3x2 || type == Type::e5m2x2; }
Type registerType(Type type) {
  return isPacked(type) || type == Type::tf32 || type == Type::f16 || type == Type::bf16
             ? bitsOfSize(sizeOf(type))
             : type;
}

void decodePackedConversion(Decoder &decoder, Type to, Type from, uint8_t flags, Rounding mode) {
  Instruction *made;
  if (from == Type::f32 && isPacked(to)) {
    decoder.finish(3);
    uint32_t a = decoder.source(1, from), b = decoder.source(2, from);
    bool fast = to == Type::bf16x2 && mode == Rounding::nearest && !flags;
    made = &decoder.emit(fast ? toBrainPair : convertPair, {decoder.result(0, registerType(to)), a, b});
  } else {
    if (!isPacked(to) || isTiny(to) == isTiny(from) || to == Type::bf16x2 || from == Type::bf16x2)
      decoder.failType(from);
    decoder.finish(2);
    uint32_t a = decoder.source(1, registerType(from));
    made = &decoder.emit(convertPacked, {decoder.result(0, registerType(to)), a});
  }
  if (isTiny(to) && !(flags & finite))
    decoder.fail("needs .satfinite");
  made->flags = flags;
  made->mode = uint8_t(mode);
  made->target = uint32_t(to) | uint32_t(from) << 8;
}

void decodeConversion(Decoder &decoder) {
  int whole = decoder.takeOneOf({"rni", "rzi", "rmi", "rpi"}),
      plain = decoder.takeOneOf({"rn", "rz", "rm", "rp", "rna"});
  uint8_t flags = uint8_t((decoder.take("ftz") ? flushes : 0) | (decoder.take("sat") ? saturates : 0) |
                          (decoder.take("relu") ? rectifies : 0) | (decoder.take("satfinite") ? finite : 0));
  Type to = decoder.takeType(), from = decoder.takeType();
  Rounding mode = Rounding(std::max({whole, plain, 0}));
  for (Type type : {to, from})
    if (type == Type::pred || type == Type::b128 || (type >= Type::b8 && type <= Type::b64))
      decoder.failType(type);
  if (isPacked(to) || isPacked(from))
    return decodePackedConversion(decoder, to, from, flags, mode);
  bool narrows = isFloat(to) && (!isFloat(from) || sizeOf(to) < sizeOf(from) || to == Type::tf32);
  if (from == Type::tf32 || (narrows && plain < 0) || (!isFloat(to) && isFloat(from) && whole < 0) ||
      (plain == int(Rounding::away) && to != Type::tf32) || (whole >= 0 && plain >= 0) ||
      ((flags & (rectifies | finite)) && !narrows) ||
      (!isFloat(to) && !isFloat(from) && (whole >= 0 || plain >= 0)))
    decoder.fail("this combination of types and roundings is not known");
  decoder.finish(2);
  if (whole >= 0)
    flags |= toWhole;
  uint32_t a = decoder.narrowSource(decoder.operand(1), registerType(from));
  Decoder::Wide result = decoder.wideResult(decoder.operand(0), registerType(to));
  Handler handler = !flags && mode == Rounding::nearest ? fastConversion(to, from) : nullptr;
  Instruction &made = decoder.emit(handler ? handler : convertLanes, {result.offset, a});
  made.flags = flags;
  made.mode = uint8_t(mode);
  made.target = uint32_t(to) | uint32_t(from) << 8;
  decoder.widen(result);
}

constexpr OpcodeRow rows[] = {
    {"mov", decodeMove},
    {"cvt", decodeConversion},
    {"cvta", decodeAddress},
};

} // namespace

std::span<const OpcodeRow> convertOpcodes() { return rows; }

} // namespace weft::cudasim
