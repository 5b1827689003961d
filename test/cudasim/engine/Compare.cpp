//===- Compare.cpp - Comparisons and selections --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "Numeric.h"

#include <immintrin.h>

namespace weft::cudasim {
namespace {

/// A comparison holds for some of the four relations that two values can have.
enum Relation : uint8_t { less = 1, equal = 2, greater = 4, unordered = 8 };

struct Comparison {
  std::string_view name;
  uint8_t relations;
  bool floats, integers;
};
constexpr Comparison comparisons[] = {
    {"eq", equal, true, true},
    {"ne", less | greater, true, true},
    {"lt", less, true, true},
    {"le", less | equal, true, true},
    {"gt", greater, true, true},
    {"ge", greater | equal, true, true},
    {"lo", less, false, true},
    {"ls", less | equal, false, true},
    {"hi", greater, false, true},
    {"hs", greater | equal, false, true},
    {"equ", equal | unordered, true, false},
    {"neu", less | greater | unordered, true, false},
    {"ltu", less | unordered, true, false},
    {"leu", less | equal | unordered, true, false},
    {"gtu", greater | unordered, true, false},
    {"geu", greater | equal | unordered, true, false},
    {"num", less | equal | greater, true, false},
    {"nan", unordered, true, false},
};

/// The lanes in which `a` and `b` have one of the relations.
template <class T, uint8_t relations> uint32_t compareWith(const T *a, const T *b) {
  uint8_t bytes[lanesOfWarp];
  for (uint32_t lane = 0; lane < lanesOfWarp; ++lane) {
    T x = a[lane], y = b[lane];
    bool holds = false;
    if constexpr (relations & less)
      holds |= x < y;
    if constexpr (relations & equal)
      holds |= x == y;
    if constexpr (relations & greater)
      holds |= x > y;
    if constexpr (relations & unordered)
      holds |= x != x || y != y;
    bytes[lane] = holds ? 0xFF : 0;
  }
  return uint32_t(_mm256_movemask_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(bytes))));
}

template <class T> uint32_t compare(const T *a, const T *b, uint8_t relations) {
  switch (relations) {
#define WEFT_CASE(number)                                                                                    \
  case number:                                                                                               \
    return compareWith<T, number>(a, b);
    WEFT_CASE(1)
    WEFT_CASE(2)
    WEFT_CASE(3)
    WEFT_CASE(4)
    WEFT_CASE(5)
    WEFT_CASE(6)
    WEFT_CASE(7)
    WEFT_CASE(8)
    WEFT_CASE(9)
    WEFT_CASE(10)
    WEFT_CASE(11)
    WEFT_CASE(12)
    WEFT_CASE(13)
    WEFT_CASE(14)
#undef WEFT_CASE
  default:
    return 0;
  }
}

/// What flags of a comparison say; mode holds the relations, and the combining logic above them.
enum CompareFlags : uint8_t { flushes = 1, negatesThird = 2, hasThird = 4, brain = 8, second = 16 };

template <class T> uint32_t compareLanes(Warp &warp, const Instruction &i) {
  const T *a = warp.at<T>(i.operand[2]), *b = warp.at<T>(i.operand[3]);
  if constexpr (std::is_same_v<T, float>)
    if (i.flags & flushes) {
      T x[lanesOfWarp], y[lanesOfWarp];
      for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
        x[lane] = flushed(a[lane]), y[lane] = flushed(b[lane]);
      return compare(x, y, i.mode & 15);
    }
  return compare(a, b, i.mode & 15);
}

/// Halves as floats, from every `stride`-th.
uint32_t compareHalves(Warp &warp, const Instruction &i, uint32_t stride, uint32_t from) {
  float values[2][lanesOfWarp];
  for (int operand = 0; operand < 2; ++operand)
    for (uint32_t lane = 0; lane < lanesOfWarp; ++lane) {
      uint16_t bits = warp.at<uint16_t>(i.operand[2 + operand])[lane * stride + from];
      if ((i.flags & flushes) && !(bits & 0x7C00))
        bits &= 0x8000;
      values[operand][lane] = (i.flags & brain) ? brainToFloat(bits) : _cvtsh_ss(bits);
    }
  return compare(values[0], values[1], i.mode & 15);
}

uint32_t combined(Warp &warp, const Instruction &i, uint32_t holds) {
  if (!(i.flags & hasThird))
    return holds;
  uint32_t third = *warp.at<uint32_t>(i.operand[4]) ^ ((i.flags & negatesThird) ? allLanes : 0);
  int logic = i.mode >> 4;
  return logic == 0 ? holds & third : logic == 1 ? holds | third : holds ^ third;
}

void storePredicate(Warp &warp, uint32_t offset, uint32_t value, uint32_t mask) {
  uint32_t *to = warp.at<uint32_t>(offset);
  *to = (*to & ~mask) | (value & mask);
}

/// Operands: p, q, a, b, c.
template <class T> void setPredicate(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t holds = compareLanes<T>(warp, i);
  uint32_t q = (i.flags & second) ? combined(warp, i, ~holds) : 0;
  storePredicate(warp, i.operand[0], combined(warp, i, holds), mask);
  if (i.flags & second)
    storePredicate(warp, i.operand[1], q, mask);
}
void setPredicateHalf(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t holds = compareHalves(warp, i, 1, 0);
  uint32_t q = (i.flags & second) ? combined(warp, i, ~holds) : 0;
  storePredicate(warp, i.operand[0], combined(warp, i, holds), mask);
  if (i.flags & second)
    storePredicate(warp, i.operand[1], q, mask);
}
/// Of packed halves, p is for the lower ones and q for the upper ones.
void setPredicatePacked(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t low = compareHalves(warp, i, 2, 0), high = compareHalves(warp, i, 2, 1);
  uint32_t q = combined(warp, i, high);
  storePredicate(warp, i.operand[0], combined(warp, i, low), mask);
  storePredicate(warp, i.operand[1], q, mask);
}

/// set: operands result, unused, a, b, c; the immediate is the value for true.
template <class T> void setValue(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t holds = combined(warp, i, compareLanes<T>(warp, i));
  forLanes(mask, [&](uint32_t lane) {
    warp.at<uint32_t>(i.operand[0])[lane] = (holds >> lane & 1) ? uint32_t(i.immediate) : 0;
  });
}
void setValueHalf(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t holds = combined(warp, i, compareHalves(warp, i, 1, 0));
  forLanes(mask, [&](uint32_t lane) {
    uint32_t value = (holds >> lane & 1) ? uint32_t(i.immediate) : 0;
    if (i.target == 2)
      warp.at<uint16_t>(i.operand[0])[lane] = uint16_t(value);
    else
      warp.at<uint32_t>(i.operand[0])[lane] = value;
  });
}
void setValuePacked(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t low = combined(warp, i, compareHalves(warp, i, 2, 0));
  uint32_t high = combined(warp, i, compareHalves(warp, i, 2, 1));
  forLanes(mask, [&](uint32_t lane) {
    warp.at<uint16_t>(i.operand[0])[2 * lane] = (low >> lane & 1) ? uint16_t(i.immediate) : 0;
    warp.at<uint16_t>(i.operand[0])[2 * lane + 1] = (high >> lane & 1) ? uint16_t(i.immediate) : 0;
  });
}

bool isPacked(Type type) { return type == Type::f16x2 || type == Type::bf16x2; }
bool isHalf(Type type) { return type == Type::f16 || type == Type::bf16; }
bool isBrain(Type type) { return type == Type::bf16 || type == Type::bf16x2; }

struct Taken {
  uint8_t mode = 0, flags = 0;
};
Taken takeComparison(Decoder &decoder) {
  Taken taken;
  for (const Comparison &one : comparisons)
    if (decoder.take(one.name)) {
      taken.mode = one.relations;
      // The type is known later: remember what it may be.
      taken.flags = uint8_t((one.floats ? 64 : 0) | (one.integers ? 128 : 0));
      int logic = decoder.takeOneOf({"and", "or", "xor"});
      if (logic >= 0) {
        taken.mode |= uint8_t(logic << 4);
        taken.flags |= hasThird;
      }
      if (decoder.take("ftz"))
        taken.flags |= flushes;
      return taken;
    }
  decoder.fail("the comparison is not known");
}

/// Checks the type, and takes the third predicate. Returns the operand.
uint32_t completeComparison(Decoder &decoder, Taken &taken, Type type) {
  bool real = isFloat(type) && type != Type::tf32;
  bool integer = type >= Type::b16 && type <= Type::s64 && type != Type::b128 && sizeOf(type) > 1;
  if (!(real && (taken.flags & 64)) && !(integer && (taken.flags & 128)))
    decoder.failType(type);
  if ((taken.flags & flushes) && (!real || type == Type::f64 || isBrain(type)))
    decoder.fail("'.ftz' is not known for this type");
  taken.flags &= 63;
  if (isBrain(type))
    taken.flags |= brain;
  decoder.finish((taken.flags & hasThird) ? 4 : 3);
  if (!(taken.flags & hasThird))
    return 0;
  bool negated;
  uint32_t third = decoder.predicate(decoder.operand(3), negated);
  if (negated)
    taken.flags |= negatesThird;
  return third;
}

Handler predicateHandler(Type type) {
  if (isPacked(type))
    return setPredicatePacked;
  if (isHalf(type))
    return setPredicateHalf;
  if (type == Type::f32)
    return setPredicate<float>;
  if (type == Type::f64)
    return setPredicate<double>;
  return forInteger(type, []<class T>() -> Handler { return setPredicate<T>; });
}
Handler valueHandler(Type type) {
  if (isPacked(type))
    return setValuePacked;
  if (isHalf(type))
    return setValueHalf;
  if (type == Type::f32)
    return setValue<float>;
  if (type == Type::f64)
    return setValue<double>;
  return forInteger(type, []<class T>() -> Handler { return setValue<T>; });
}
/// Comparisons of halves read bits.
Type operandType(Type type) { return isHalf(type) ? Type::b16 : isPacked(type) ? Type::b32 : type; }

void decodeSetPredicate(Decoder &decoder) {
  Taken taken = takeComparison(decoder);
  Type type = decoder.takeType();
  uint32_t third = completeComparison(decoder, taken, type);
  uint32_t a = decoder.source(1, operandType(type)), b = decoder.source(2, operandType(type)), p = 0, q = 0;
  const Operand &result = decoder.operand(0);
  if (result.kind == Operand::Kind::pair) {
    p = decoder.resultPredicate(result.elements[0]);
    q = decoder.resultPredicate(result.elements[1]);
    taken.flags |= second;
  } else {
    if (isPacked(type))
      decoder.fail("two predicates are needed");
    p = decoder.resultPredicate(result);
  }
  Instruction &made = decoder.emit(predicateHandler(type), {p, q, a, b, third});
  made.mode = taken.mode;
  made.flags = taken.flags;
}

void decodeSet(Decoder &decoder) {
  Taken taken = takeComparison(decoder);
  Type to = decoder.takeType(), type = decoder.takeType();
  uint32_t third = completeComparison(decoder, taken, type);
  int64_t value = -1;
  if (to == Type::f32)
    value = 0x3F800000;
  else if (to == Type::f16 || to == Type::f16x2)
    value = 0x3C00;
  else if (to == Type::bf16 || to == Type::bf16x2)
    value = 0x3F80;
  else if (to != Type::u32 && to != Type::s32 && !(isHalf(type) && sizeOf(to) == 2))
    decoder.failType(to);
  if ((isPacked(type) && (sizeOf(to) != 4 || to == Type::f32)) || (!isPacked(type) && isPacked(to)) ||
      (isHalf(to) && !isHalf(type)))
    decoder.failType(to);
  Type bits = sizeOf(to) == 2 ? Type::b16 : Type::b32;
  uint32_t a = decoder.source(1, operandType(type)), b = decoder.source(2, operandType(type));
  Instruction &made = decoder.emit(valueHandler(type), {decoder.result(0, bits), 0, a, b, third});
  made.mode = taken.mode;
  made.flags = taken.flags;
  made.immediate = value;
  made.target = sizeOf(to);
}

//===----------------------------------------------------------------------===//
// selp and slct
//===----------------------------------------------------------------------===//

/// Operands: result, a, b, predicate.
template <class T> void select(Warp &warp, const Instruction &i, uint32_t mask) {
  const T *a = warp.at<T>(i.operand[1]), *b = warp.at<T>(i.operand[2]);
  uint32_t chosen = *warp.at<uint32_t>(i.operand[3]) ^ (i.flags ? allLanes : 0);
  T values[lanesOfWarp];
  for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
    values[lane] = (chosen >> lane & 1) ? a[lane] : b[lane];
  store(warp.at<T>(i.operand[0]), values, mask);
}
/// Operands: result, a, b, c, which decides by its sign.
template <class T, class C> void selectBySign(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](uint32_t lane) {
    C c = warp.at<C>(i.operand[3])[lane];
    warp.at<T>(i.operand[0])[lane] = warp.at<T>(i.operand[c >= 0 ? 1 : 2])[lane];
  });
}

Type bitsOf(Type type) {
  switch (sizeOf(type)) {
  case 2:
    return Type::b16;
  case 4:
    return Type::b32;
  case 8:
    return Type::b64;
  default:
    return Type::none;
  }
}

void decodeSelect(Decoder &decoder) {
  Type type = decoder.takeType();
  decoder.finish(4);
  Handler handler = forInteger(bitsOf(type), []<class T>() -> Handler { return select<T>; });
  if (!handler || isPacked(type))
    decoder.failType(type);
  bool negated;
  uint32_t a = decoder.source(1, type), b = decoder.source(2, type);
  uint32_t chosen = decoder.predicate(decoder.operand(3), negated);
  decoder.emit(handler, {decoder.result(0, type), a, b, chosen}).flags = negated;
}

void decodeSelectBySign(Decoder &decoder) {
  Type type = decoder.takeType(), by = decoder.takeType();
  decoder.finish(4);
  Handler handler = forInteger(bitsOf(type), [&]<class T>() -> Handler {
    return by == Type::s32 ? selectBySign<T, int32_t> : selectBySign<T, float>;
  });
  if (!handler || (by != Type::s32 && by != Type::f32))
    decoder.failType(type);
  uint32_t a = decoder.source(1, type), b = decoder.source(2, type), c = decoder.source(3, by);
  decoder.emit(handler, {decoder.result(0, type), a, b, c});
}

constexpr OpcodeRow rows[] = {
    {"setp", decodeSetPredicate},
    {"set", decodeSet},
    {"selp", decodeSelect},
    {"slct", decodeSelectBySign},
};

} // namespace

std::span<const OpcodeRow> compareOpcodes() { return rows; }

} // namespace weft::cudasim
