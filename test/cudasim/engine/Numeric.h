//===- Numeric.h - Number formats of PTX -----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small formats are computed in double precision and rounded once. Where a double does not hold the exact
// value, it is rounded to odd: the last bit then says that something was lost, so that the second rounding is
// right.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_NUMERIC_H
#define WEFT_TEST_CUDASIM_NUMERIC_H

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace weft::cudasim {

enum class Rounding : uint8_t { nearest, zero, down, up, away };

constexpr uint32_t nanBits32 = 0x7FFFFFFF;
constexpr uint16_t nanBits16 = 0x7FFF;
inline float bitsToFloat(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t floatBits(float value) { return std::bit_cast<uint32_t>(value); }

/// Every NaN that f32 arithmetic makes is this one.
inline float canonical(float value) { return value == value ? value : bitsToFloat(nanBits32); }
inline double canonical(double value) { return value; }
inline float flushed(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}
inline double flushed(double value) { return value; }

/// a + b, rounded to odd.
inline double addOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double part = sum - a;
  double error = (a - (sum - part)) + (b - part);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (error == 0 || (bits & 1))
    return sum;
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

/// A double as a float, rounded to odd; a finite one stays finite.
inline float toFloatOdd(double value) {
  float rounded = float(value);
  if (double(rounded) == value || value != value)
    return rounded;
  uint32_t bits = floatBits(rounded);
  if (std::fabs(double(rounded)) > std::fabs(value))
    --bits;
  return bitsToFloat(bits | 1);
}

/// A binary format with `bits` bits in all, of which `fraction` are behind the point.
struct Format {
  int bits, fraction, bias;
  bool hasInfinity;      ///< e4m3 has none, and its largest exponent is for numbers
  uint32_t largest, nan; ///< the largest finite number, and the NaN
};
constexpr Format half{16, 10, 15, true, 0x7BFF, 0x7FFF}, brain{16, 7, 127, true, 0x7F7F, 0x7FFF},
    e4m3{8, 3, 7, false, 0x7E, 0x7F}, e5m2{8, 2, 15, true, 0x7B, 0x7F},
    tensor{19, 10, 127, true, 0x3FBFF, 0x3FFFF};

inline double decode(const Format &format, uint32_t bits) {
  uint32_t sign = bits >> (format.bits - 1) & 1, fraction = bits & ((1u << format.fraction) - 1);
  uint32_t exponentMask = (1u << (format.bits - 1 - format.fraction)) - 1;
  uint32_t exponent = bits >> format.fraction & exponentMask;
  uint32_t magnitude = bits & ((1u << (format.bits - 1)) - 1);
  double value;
  if (format.hasInfinity ? exponent == exponentMask && fraction : magnitude == format.nan)
    value = std::numeric_limits<double>::quiet_NaN();
  else if (format.hasInfinity && exponent == exponentMask)
    value = std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(double(fraction), 1 - format.bias - format.fraction);
  else
    value =
        std::ldexp(double(fraction | 1u << format.fraction), int(exponent) - format.bias - format.fraction);
  return sign ? -value : value;
}

/// Rounds a double, which may be rounded to odd, to a format.
inline uint32_t encode(const Format &format, double value, Rounding mode, bool saturate = false) {
  uint32_t sign = uint32_t(std::signbit(value)) << (format.bits - 1);
  if (value != value)
    return format.nan;
  uint32_t beyond = saturate || !format.hasInfinity ? format.largest : format.largest + 1;
  if (!saturate && !format.hasInfinity)
    beyond = format.nan;
  double magnitude = std::fabs(value);
  if (std::isinf(value))
    return sign | beyond;
  int exponent = magnitude == 0 ? -1074 : std::ilogb(magnitude);
  int least = 1 - format.bias;
  int unit = std::max(exponent, least) - format.fraction;
  double scaled = std::ldexp(magnitude, -unit); // exact: at most 53 bits, far from the ends
  double whole = std::floor(scaled), rest = scaled - whole;
  bool up = false;
  switch (mode) {
  case Rounding::nearest:
    up = rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1);
    break;
  case Rounding::away:
    up = rest >= 0.5;
    break;
  case Rounding::zero:
    break;
  case Rounding::down:
    up = sign && rest > 0;
    break;
  case Rounding::up:
    up = !sign && rest > 0;
    break;
  }
  uint64_t integer = uint64_t(whole) + up;
  // Carries run into the exponent by themselves.
  uint64_t result =
      exponent < least ? integer : integer + (uint64_t(exponent + format.bias - 1) << format.fraction);
  if (result > format.largest) {
    bool towards =
        mode == Rounding::zero || (mode == Rounding::down && !sign) || (mode == Rounding::up && sign);
    return sign | (towards ? format.largest : beyond);
  }
  return sign | uint32_t(result);
}

/// A double, which may be rounded to odd, as a float.
inline float toFloat(double value, Rounding mode) {
  float rounded = float(value);
  if (double(rounded) == value || value != value || mode == Rounding::nearest)
    return rounded;
  bool larger = double(rounded) > value;
  bool towardsZero = mode == Rounding::zero;
  if ((mode == Rounding::down || (towardsZero && value > 0)) && larger)
    return std::nextafterf(rounded, -INFINITY);
  if ((mode == Rounding::up || (towardsZero && value < 0)) && !larger)
    return std::nextafterf(rounded, INFINITY);
  return rounded;
}

inline float brainToFloat(uint16_t bits) { return bitsToFloat(uint32_t(bits) << 16); }

/// float to bf16, to nearest, ties to even.
inline uint16_t floatToBrain(float value) {
  uint32_t bits = floatBits(value);
  uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return value == value ? uint16_t(rounded) : nanBits16;
}

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_NUMERIC_H
