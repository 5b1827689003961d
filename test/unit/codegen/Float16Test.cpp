//===- Float16Test.cpp - Arithmetic and conversions of f16 and bf16 --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace weft::testing {
namespace {

using codegen::CpuTarget;
constexpr float inf = std::numeric_limits<float>::infinity();

/// bf16 to nearest even, from the definition: the nearer neighbour, the even one in a tie.
uint16_t toBf16(double x) {
  if (std::isnan(x))
    return 0x7fc0;
  double magnitude = std::abs(x);
  uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (magnitude >= 0x1.ffp127)
    return sign | 0x7f80;
  int exponent;
  std::frexp(magnitude, &exponent);
  double unit = std::ldexp(1.0, std::max(exponent - 8, -133));
  float rounded = static_cast<float>(std::nearbyint(magnitude / unit) * unit);
  return sign | static_cast<uint16_t>(toBits(rounded) >> 16);
}

uint16_t toF16(double x) {
  if (std::isnan(x))
    return 0x7e00;
  double magnitude = std::abs(x);
  uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (magnitude == 0)
    return sign;
  if (magnitude >= 65520)
    return sign | 0x7c00;
  int exponent;
  std::frexp(magnitude, &exponent);
  int scale = std::max(exponent - 11, -24);
  uint32_t units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -scale)));
  return sign | static_cast<uint16_t>(scale == -24 ? units : ((scale + 24) << 10) + units);
}

template <typename In>
void checkNarrowing(const std::string &in, const std::string &out, uint16_t (*reference)(double),
                    uint16_t infinity) {
  std::vector<In> x;
  for (float edge : {0.0f,       -0.0f,     1.0f,       -1.0f,      inf,        -inf,        0x1p-149f,
                     -0x1p-149f, 0x1p-126f, -0x1p-126f, 0x1p127f,   -0x1p127f,  0x1p-130f,   0x1p-25f,
                     0x1p30f,    3.4e38f,   -3.4e38f,   0.9999999f, 1.0000001f, 16777216.0f, 0x1.fffffep127f})
    x.push_back(edge);
  for (double v :
       {1.00390625, 1.01171875, 65504.0, 65519.999, 65520.0, 5.9604644775390625e-8, 2.98023223876953125e-8,
        2.9802322387695316e-8, 1.00048828125, 1.000488281250001, 1.00390625000001, 6.1e-5})
    x.push_back(static_cast<In>(v)), x.push_back(static_cast<In>(-v));
  x.push_back(std::numeric_limits<In>::quiet_NaN());
  std::mt19937_64 random(3);
  while (x.size() < 200000 / 16 * 16) {
    uint64_t bits = random();
    if (sizeof(In) == 4)
      x.push_back(static_cast<In>(fromBits(static_cast<uint32_t>(bits))));
    else
      x.push_back(
          std::ldexp(static_cast<double>(static_cast<int64_t>(bits)), static_cast<int>(random() % 60) - 100));
  }
  std::vector<uint16_t> y(x.size()), s(x.size());
  std::string body = "%y = arith.truncf %x0 : $T to $U";
  for (CpuTarget target : runnableTargets()) {
    Kernel vector(mapKernel("v", body, 1, 16, in, out), target);
    Kernel scalar(mapKernel("s", body, 1, 0, in, out), target);
    vector.run({x.data(), y.data()}, 0, x.size());
    scalar.run({x.data(), s.data()}, 0, x.size());
    size_t wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      bool isNan = std::isnan(x[i]);
      auto good = [&](uint16_t v) { return isNan ? (v & 0x7fff) > infinity : v == reference(x[i]); };
      if ((!good(y[i]) || !good(s[i])) && wrong++ < 5)
        ADD_FAILURE() << in << " " << x[i] << " to " << out << " gave " << y[i] << " and " << s[i]
                      << ", expected " << reference(x[i]);
    }
    EXPECT_EQ(wrong, 0u);
  }
}

TEST(Float16, NarrowingIsToNearestEven) {
  checkNarrowing<float>("f32", "bf16", toBf16, 0x7f80);
  checkNarrowing<double>("f64", "bf16", toBf16, 0x7f80);
  checkNarrowing<float>("f32", "f16", toF16, 0x7c00);
  checkNarrowing<double>("f64", "f16", toF16, 0x7c00);
}

TEST(Float16, ArithmeticIsDoneInF32AndRoundedOnce) {
  std::vector<uint16_t> x(65536), y(65536);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<uint16_t>(i);
  for (CpuTarget target : runnableTargets()) {
    Kernel exponential(mapKernel("e", "%y = math.exp %x0 : $T", 1, 16, "bf16", "bf16"), target);
    Kernel reference(mapKernel("r", "%y = math.exp %x0 : $T", 1, 16), target);
    exponential.run({x.data(), y.data()}, 0, x.size());
    std::vector<float> wide(x.size()), expected(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      wide[i] = fromBits(uint32_t(x[i]) << 16);
    reference.run({wide.data(), expected.data()}, 0, x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(expected[i]))
        ASSERT_GT(y[i] & 0x7fff, 0x7f80) << wide[i];
      else
        ASSERT_EQ(y[i], toBf16(expected[i])) << wide[i];
    }
    Kernel square(mapKernel("q", "%y = arith.mulf %x0, %x0 : $T", 1, 16, "bf16", "bf16"), target);
    square.run({x.data(), y.data()}, 0, x.size());
    for (size_t i = 0; i < x.size(); ++i)
      if (!std::isnan(wide[i]))
        ASSERT_EQ(y[i], toBf16(wide[i] * wide[i])) << wide[i];
  }
}

/// LLVM moves maxima and selects across conversions of f16, where it may, and then loses NaN and the sign of
/// zero.
TEST(Float16, MaximaAndSelectsKeepNanAndZeros) {
  const std::vector<uint16_t> special = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00,
                                         0xfc00, 0x7e00, 0x0001, 0x8001};
  std::vector<uint16_t> x, y;
  for (uint16_t a : special)
    for (uint16_t b : special)
      x.push_back(a), y.push_back(b);
  x.resize(96, 0x3c00), y.resize(96, 0x3c00);
  auto isNan = [](uint16_t v) { return (v & 0x7fff) > 0x7c00; };
  auto key = [](uint16_t v) { return v & 0x8000 ? 0x7fff - (v & 0x7fff) : 0x8000 + v; };
  for (CpuTarget target : runnableTargets())
    for (bool larger : {true, false}) {
      Kernel kernel(
          mapKernel("m", larger ? "%y = arith.maximumf %x0, %x1 : $T" : "%y = arith.minimumf %x0, %x1 : $T",
                    2, 16, "f16", "f16"),
          target);
      std::vector<uint16_t> got(x.size());
      kernel.run({x.data(), y.data(), got.data()}, 0, x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        if (isNan(x[i]) || isNan(y[i]))
          EXPECT_TRUE(isNan(got[i])) << x[i] << ", " << y[i] << " gave " << got[i];
        else
          EXPECT_EQ(got[i], (key(x[i]) > key(y[i])) == larger ? x[i] : y[i]) << x[i] << ", " << y[i];
      }
    }
}

} // namespace
} // namespace weft::testing
