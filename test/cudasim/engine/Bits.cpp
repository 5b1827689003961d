//===- Bits.cpp - Bits of integers and predicates ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"

#include <algorithm>
#include <bit>

namespace weft::cudasim {
namespace {

struct And {
  template <class T> static T run(T a, T b) { return a & b; }
};
struct Or {
  template <class T> static T run(T a, T b) { return a | b; }
};
struct Xor {
  template <class T> static T run(T a, T b) { return a ^ b; }
};
struct Not {
  template <class T> static T run(T a) { return T(~a); }
};
struct IsZero {
  template <class T> static T run(T a) { return a == 0; }
};
// Amounts beyond the width shift everything out.
struct ShiftLeft {
  template <class T> static T run(T a, uint32_t by) { return by < 8 * sizeof(T) ? T(a << by) : T(0); }
};
struct ShiftRight {
  template <class T> static T run(T a, uint32_t by) {
    constexpr uint32_t width = 8 * sizeof(T);
    return T(a >> (by < width ? by : width - 1)) & (std::is_signed_v<T> || by < width ? T(~T(0)) : T(0));
  }
};
template <bool left, bool clamp> struct Funnel {
  static uint32_t run(uint32_t low, uint32_t high, uint32_t by) {
    uint64_t both = uint64_t(high) << 32 | low;
    by = clamp ? (by < 32 ? by : 32) : by & 31;
    return left ? uint32_t((both << by) >> 32) : uint32_t(both >> by);
  }
};
struct Reverse {
  template <class T> static T run(T a) {
    T reversed = 0;
    for (size_t k = 0; k < 8 * sizeof(T); ++k)
      reversed = T(reversed << 1 | (a >> k & 1));
    return reversed;
  }
};
struct CountZeros {
  template <class T> static uint32_t run(T a) { return uint32_t(std::countl_zero(a)); }
};
struct CountOnes {
  template <class T> static uint32_t run(T a) { return uint32_t(std::popcount(a)); }
};
template <bool shift> struct FindBit {
  template <class T> static uint32_t run(T a) {
    using Bits = std::make_unsigned_t<T>;
    Bits bits = Bits(std::is_signed_v<T> && a < 0 ? ~a : a);
    if (!bits)
      return ~0u;
    uint32_t zeros = uint32_t(std::countl_zero(bits));
    return shift ? zeros : uint32_t(8 * sizeof(T)) - 1 - zeros;
  }
};
struct ExtractField {
  template <class T> static T run(T a, uint32_t from, uint32_t count) {
    constexpr uint32_t width = 8 * sizeof(T);
    from &= 255, count &= 255;
    bool sign = false;
    if (std::is_signed_v<T> && count)
      sign = a >> std::min(from + count - 1, width - 1) & 1;
    T result = 0;
    for (uint32_t k = 0; k < width; ++k) {
      bool bit = k < count && from + k < width ? bool(a >> (from + k) & 1) : sign;
      result |= T(bit) << k;
    }
    return result;
  }
};
struct InsertField {
  template <class T> static T run(T a, T b, uint32_t from, uint32_t count) {
    constexpr uint32_t width = 8 * sizeof(T);
    from &= 255, count &= 255;
    for (uint32_t k = 0; k < count && from + k < width && k < width; ++k)
      b = T((b & ~(T(1) << (from + k))) | (T(a >> k & 1) << (from + k)));
    return b;
  }
};

/// bfe: the last two sources have 32 bits whatever the type.
template <class T> void extractField(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](uint32_t lane) {
    warp.at<T>(i.operand[0])[lane] =
        ExtractField::run(warp.at<T>(i.operand[1])[lane], warp.at<uint32_t>(i.operand[2])[lane],
                          warp.at<uint32_t>(i.operand[3])[lane]);
  });
}
template <class T> void insertField(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](uint32_t lane) {
    warp.at<T>(i.operand[0])[lane] =
        InsertField::run(warp.at<T>(i.operand[1])[lane], warp.at<T>(i.operand[2])[lane],
                         warp.at<uint32_t>(i.operand[3])[lane], warp.at<uint32_t>(i.operand[4])[lane]);
  });
}

uint8_t permutedByte(uint64_t bytes, uint32_t selector) {
  uint8_t byte = uint8_t(bytes >> 8 * (selector & 7));
  return selector & 8 ? ((byte & 0x80) ? 0xFF : 0) : byte;
}

/// The selectors that prmt's modes stand for: four digits for each of the two low bits of the third operand.
constexpr uint16_t permuteModes[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
    {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
    {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
    {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
    {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
    {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
};

void permute(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t *a = warp.at<uint32_t>(i.operand[1]), *b = warp.at<uint32_t>(i.operand[2]);
  const uint32_t *c = warp.at<uint32_t>(i.operand[3]);
  uint32_t values[lanesOfWarp];
  for (uint32_t lane = 0; lane < lanesOfWarp; ++lane) {
    uint64_t bytes = uint64_t(b[lane]) << 32 | a[lane];
    uint32_t selector = i.mode ? permuteModes[i.mode - 1][c[lane] & 3] : c[lane];
    values[lane] = 0;
    for (int k = 0; k < 4; ++k)
      values[lane] |= uint32_t(permutedByte(bytes, selector >> 4 * k & 15)) << 8 * k;
  }
  store(warp.at<uint32_t>(i.operand[0]), values, mask);
}

void logic3(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t *a = warp.at<uint32_t>(i.operand[1]), *b = warp.at<uint32_t>(i.operand[2]);
  const uint32_t *c = warp.at<uint32_t>(i.operand[3]);
  uint32_t values[lanesOfWarp] = {};
  for (int term = 0; term < 8; ++term)
    if (i.mode >> term & 1)
      for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
        values[lane] |= (term & 4 ? a[lane] : ~a[lane]) & (term & 2 ? b[lane] : ~b[lane]) &
                        (term & 1 ? c[lane] : ~c[lane]);
  store(warp.at<uint32_t>(i.operand[0]), values, mask);
}

//===----------------------------------------------------------------------===//
// Predicates: one word for all lanes
//===----------------------------------------------------------------------===//

enum class Logic : uint8_t { conjunction, disjunction, exclusive };

void predicateLogic(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t a = *warp.at<uint32_t>(i.operand[1]) ^ ((i.flags & 1) ? allLanes : 0);
  uint32_t b = *warp.at<uint32_t>(i.operand[2]) ^ ((i.flags & 2) ? allLanes : 0);
  uint32_t value = Logic(i.mode) == Logic::conjunction   ? a & b
                   : Logic(i.mode) == Logic::disjunction ? a | b
                                                         : a ^ b;
  uint32_t *to = warp.at<uint32_t>(i.operand[0]);
  *to = (*to & ~mask) | (value & mask);
}

void emitPredicate(Decoder &decoder, Logic logic, size_t count) {
  decoder.finish(count + 1);
  bool first, second = false;
  uint32_t a = decoder.predicate(decoder.operand(1), first), b = 0;
  if (count == 2)
    b = decoder.predicate(decoder.operand(2), second);
  else
    b = decoder.constant(~uint64_t(0), 8); // not a is a ^ true
  Instruction &made = decoder.emit(predicateLogic, {decoder.resultPredicate(decoder.operand(0)), a, b});
  made.mode = uint8_t(logic);
  made.flags = uint8_t(first | second << 1);
}

template <class Op, Logic logic> void decodeLogic(Decoder &decoder) {
  Type type = decoder.takeType();
  if (type == Type::pred)
    return emitPredicate(decoder, logic, 2);
  if (type != Type::b16 && type != Type::b32 && type != Type::b64)
    decoder.failType(type);
  emitUniform(decoder, binaryInteger<Op>(type), type, 2);
}

void decodeNot(Decoder &decoder) {
  Type type = decoder.takeType();
  if (type == Type::pred)
    return emitPredicate(decoder, Logic::exclusive, 1);
  bool zero = decoder.base() == "cnot";
  if (type != Type::b16 && type != Type::b32 && type != Type::b64)
    decoder.failType(type);
  emitUniform(decoder, zero ? unaryInteger<IsZero>(type) : unaryInteger<Not>(type), type, 1);
}

void decodeShift(Decoder &decoder) {
  bool left = decoder.base() == "shl";
  Type type = decoder.takeType();
  decoder.finish(3);
  Handler handler = forInteger(type, [&]<class T>() -> Handler {
    return left ? binaryLanes<ShiftLeft, T, T, uint32_t> : binaryLanes<ShiftRight, T, T, uint32_t>;
  });
  if (!handler || (left && type != Type::b16 && type != Type::b32 && type != Type::b64))
    decoder.failType(type);
  uint32_t a = decoder.source(1, type), by = decoder.source(2, Type::u32);
  decoder.emit(handler, {decoder.result(0, type), a, by});
}

void decodeFunnel(Decoder &decoder) {
  int direction = decoder.takeOneOf({"l", "r"}), mode = decoder.takeOneOf({"wrap", "clamp"});
  if (direction < 0 || mode < 0 || decoder.takeType() != Type::b32)
    decoder.fail("is not of the form shf.l or .r, .wrap or .clamp, .b32");
  constexpr auto wl = ternaryLanes<Funnel<true, false>, uint32_t, uint32_t>;
  constexpr auto cl = ternaryLanes<Funnel<true, true>, uint32_t, uint32_t>;
  constexpr auto wr = ternaryLanes<Funnel<false, false>, uint32_t, uint32_t>;
  constexpr auto cr = ternaryLanes<Funnel<false, true>, uint32_t, uint32_t>;
  emitUniform(decoder, direction ? (mode ? cr : wr) : (mode ? cl : wl), Type::b32, 3);
}

void decodeReverse(Decoder &decoder) {
  Type type = decoder.takeType();
  if (type != Type::b32 && type != Type::b64)
    decoder.failType(type);
  emitUniform(decoder, unaryInteger<Reverse>(type), type, 1);
}

/// clz, popc and bfind: their result has 32 bits.
void decodeCount(Decoder &decoder) {
  bool shift = decoder.base() == "bfind" && decoder.take("shiftamt");
  Type type = decoder.takeType();
  Handler handler = forInteger(type, [&]<class T>() -> Handler {
    if constexpr (sizeof(T) < 4)
      return nullptr;
    else {
      if (decoder.base() == "bfind")
        return shift ? unaryLanes<FindBit<true>, uint32_t, T> : unaryLanes<FindBit<false>, uint32_t, T>;
      using Bits = std::make_unsigned_t<T>;
      return decoder.base() == "clz" ? unaryLanes<CountZeros, uint32_t, Bits>
                                     : unaryLanes<CountOnes, uint32_t, Bits>;
    }
  });
  bool bits = type == Type::b32 || type == Type::b64;
  if (!handler || bits == (decoder.base() == "bfind"))
    decoder.failType(type);
  decoder.finish(2);
  uint32_t a = decoder.source(1, type);
  decoder.emit(handler, {decoder.result(0, Type::u32), a});
}

void decodeExtract(Decoder &decoder) {
  Type type = decoder.takeType();
  Handler handler = forInteger(type, []<class T>() -> Handler {
    if constexpr (sizeof(T) < 4)
      return nullptr;
    else
      return extractField<T>;
  });
  if (!handler || type == Type::b32 || type == Type::b64)
    decoder.failType(type);
  decoder.finish(4);
  uint32_t a = decoder.source(1, type), from = decoder.source(2, Type::u32),
           count = decoder.source(3, Type::u32);
  decoder.emit(handler, {decoder.result(0, type), a, from, count});
}

void decodeInsert(Decoder &decoder) {
  Type type = decoder.takeType();
  if (type != Type::b32 && type != Type::b64)
    decoder.failType(type);
  decoder.finish(5);
  uint32_t a = decoder.source(1, type), b = decoder.source(2, type);
  uint32_t from = decoder.source(3, Type::u32), count = decoder.source(4, Type::u32);
  decoder.emit(type == Type::b32 ? insertField<uint32_t> : insertField<uint64_t>,
               {decoder.result(0, type), a, b, from, count});
}

void decodePermute(Decoder &decoder) {
  if (decoder.takeType() != Type::b32)
    decoder.fail("is known for b32 only");
  int mode = decoder.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  emitUniform(decoder, permute, Type::b32, 3);
  decoder.last().mode = uint8_t(mode + 1);
}

void decodeLogic3(Decoder &decoder) {
  if (decoder.takeType() != Type::b32)
    decoder.fail("is known for b32 only");
  decoder.finish(5);
  uint32_t a = decoder.source(1, Type::b32), b = decoder.source(2, Type::b32),
           c = decoder.source(3, Type::b32);
  int64_t table = decoder.constantInteger(4);
  if (table < 0 || table > 255)
    decoder.fail("the table must have 8 bits");
  decoder.emit(logic3, {decoder.result(0, Type::b32), a, b, c}).mode = uint8_t(table);
}

constexpr OpcodeRow rows[] = {
    {"and", decodeLogic<And, Logic::conjunction>},
    {"or", decodeLogic<Or, Logic::disjunction>},
    {"xor", decodeLogic<Xor, Logic::exclusive>},
    {"not", decodeNot},
    {"cnot", decodeNot},
    {"shl", decodeShift},
    {"shr", decodeShift},
    {"shf", decodeFunnel},
    {"brev", decodeReverse},
    {"clz", decodeCount},
    {"popc", decodeCount},
    {"bfind", decodeCount},
    {"bfe", decodeExtract},
    {"bfi", decodeInsert},
    {"prmt", decodePermute},
    {"lop3", decodeLogic3},
};

} // namespace

std::span<const OpcodeRow> bitOpcodes() { return rows; }

} // namespace weft::cudasim
