//===- CudaLibraryTest.cpp - Functions of CUDA's library, against MPFR ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/cudasim/fixtures/library.cu, compiled by NVRTC, on the engine. Each function has to keep the bound
// that the CUDA C++ programming guide gives for full precision.
//
//===----------------------------------------------------------------------===//
#include "Device.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mpfr.h>
#include <random>

namespace weft::cudasim {
namespace {

using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

int logOfGamma(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t rounding) {
  int sign = 0;
  return mpfr_lgamma(result, &sign, x, rounding);
}

struct LibraryFunction {
  const char *kernel;
  double bound; ///< units in the last place
  Unary unary;
  Binary binary;
  double low, high;
  std::vector<double> more = {}; ///< arguments beside random ones in [low, high]
};

const std::vector<double> large = {1e5, -3.7e8, 1.5e15, 0x1p90, -1e30};
const std::vector<double> largest = {1e5, -3.7e8, 1.5e15, 0x1p90, -1e30, 1e22, 1e300};

const LibraryFunction libraryFunctions[] = {
    {"f32_exp", 2, mpfr_exp, nullptr, -80, 80},
    {"f32_log", 1, mpfr_log, nullptr, 1e-30, 1e30, {1e-40, 1.0000001}},
    {"f32_log1p", 1, mpfr_log1p, nullptr, -0.99, 50, {1e-10}},
    {"f32_expm1", 1, mpfr_expm1, nullptr, -5, 60, {1e-10}},
    {"f32_sin", 2, mpfr_sin, nullptr, -10, 10, large},
    {"f32_cos", 2, mpfr_cos, nullptr, -10, 10, large},
    {"f32_tan", 4, mpfr_tan, nullptr, -10, 10, large},
    {"f32_tanh", 2, mpfr_tanh, nullptr, -9, 9, {1e-8}},
    {"f32_erf", 2, mpfr_erf, nullptr, -4, 4, {1e-30}},
    {"f32_lgamma", 6, logOfGamma, nullptr, 0.05, 60},
    {"f32_cbrt", 1, mpfr_cbrt, nullptr, -1e9, 1e9, {1e-40}},
    {"f32_rsqrt", 2, mpfr_rec_sqrt, nullptr, 1e-20, 1e20},
    {"f32_sqrt", 0.5, mpfr_sqrt, nullptr, 1e-20, 1e20, {1e-40}},
    {"f32_pow", 4, nullptr, mpfr_pow, 0.01, 20},
    {"f32_fmod", 0, nullptr, mpfr_fmod, -1e6, 1e6, {1e30, -1e20}},
    {"f32_div", 0.5, nullptr, mpfr_div, -1e3, 1e3, {1e-40, 3e38}},
    {"f32_atan2", 3, nullptr, mpfr_atan2, -50, 50},
    {"f64_exp", 1, mpfr_exp, nullptr, -700, 700},
    {"f64_log", 1, mpfr_log, nullptr, 1e-300, 1e10, {5e-320, 1.0000000000000002}},
    {"f64_sin", 2, mpfr_sin, nullptr, -10, 10, largest},
    {"f64_tanh", 2, mpfr_tanh, nullptr, -19, 19},
    {"f64_erf", 2, mpfr_erf, nullptr, -5, 5},
    {"f64_lgamma", 4, logOfGamma, nullptr, 0.05, 100},
    {"f64_pow", 2, nullptr, mpfr_pow, 0.01, 30},
    {"f64_fmod", 0, nullptr, mpfr_fmod, -1e9, 1e9, {1e22}},
    {"f64_div", 0.5, nullptr, mpfr_div, -1e6, 1e6, {5e-320}},
    {"f64_sqrt", 0.5, mpfr_sqrt, nullptr, 1e-30, 1e30, {5e-320}},
    {"f64_cbrt", 1, mpfr_cbrt, nullptr, -1e9, 1e9},
};

/// A value of MPFR as the sum of two doubles.
struct Exact {
  double first = 0, second = 0;
};

Exact exactValue(const LibraryFunction &function, double x, double y) {
  mpfr_t a, b, value;
  mpfr_inits2(53, a, b, static_cast<mpfr_ptr>(nullptr));
  mpfr_init2(value, 240);
  mpfr_set_d(a, x, MPFR_RNDN);
  mpfr_set_d(b, y, MPFR_RNDN);
  if (function.unary)
    function.unary(value, a, MPFR_RNDN);
  else
    function.binary(value, a, b, MPFR_RNDN);
  Exact exact;
  exact.first = mpfr_get_d(value, MPFR_RNDN);
  mpfr_sub_d(value, value, exact.first, MPFR_RNDN);
  exact.second = mpfr_get_d(value, MPFR_RNDN);
  mpfr_clears(a, b, value, static_cast<mpfr_ptr>(nullptr));
  return exact;
}

/// The error of `got` in units of the last place of the true value.
template <class T> double errorInUlps(T got, const Exact &exact) {
  if (got == T(exact.first) && (std::isinf(got) || exact.first == 0))
    return 0;
  if (!std::isfinite(got))
    return INFINITY;
  const double magnitude = std::max(std::fabs(exact.first), double(std::numeric_limits<T>::min()));
  const double unit = std::ldexp(1.0, std::ilogb(magnitude) - std::numeric_limits<T>::digits + 1);
  return std::fabs((double(got) - exact.first) - exact.second) / unit;
}

template <class T> void compareLibrary(Module &module, const LibraryFunction &function) {
  constexpr int count = 250;
  std::mt19937_64 random(3);
  auto uniform = [&](double low, double high) {
    return low + (high - low) * (double(random() >> 11) * 0x1p-53);
  };
  std::vector<T> x, y;
  for (double each : function.more)
    x.push_back(T(each));
  // A wide range of positive numbers has as many of each magnitude.
  const bool isWide = function.low > 0 && function.high / function.low > 1e6;
  while (x.size() < count + function.more.size())
    x.push_back(T(isWide ? std::exp(uniform(std::log(function.low), std::log(function.high)))
                         : uniform(function.low, function.high)));
  while (y.size() < x.size())
    y.push_back(T(uniform(0.1, 7) * (random() % 2 ? 1 : -1)));
  Memory memory(1 << 24);
  ASSERT_TRUE(module.load(memory));
  const uint64_t a = upload(memory, x), b = upload(memory, y), o = memory.allocate(x.size() * sizeof(T));
  const auto blocks = static_cast<uint32_t>((x.size() + 31) / 32);
  LaunchResult result =
      launch(module, function.kernel, memory, {.grid = {blocks}, .block = {32}, .race = true},
             Parameters(a, b, o, int(x.size())));
  ASSERT_TRUE(result.ok()) << result.fault->str();
  const std::vector<T> got = download<T>(memory, o, x.size());
  for (size_t k = 0; k < x.size(); ++k) {
    const Exact exact = exactValue(function, double(x[k]), double(y[k]));
    EXPECT_LE(errorInUlps(got[k], exact), function.bound + 1e-6)
        << function.kernel << "(" << x[k] << ", " << y[k] << ") = " << got[k] << ", not " << exact.first;
  }
}

TEST(CudaLibrary, KeepsItsBounds) {
  std::unique_ptr<Module> module = parsed(cudasimFile("fixtures/library.sm_90.ptx"));
  ASSERT_TRUE(module);
  for (const LibraryFunction &function : libraryFunctions) {
    ASSERT_TRUE(module->kernel(function.kernel)) << function.kernel;
    if (std::string_view(function.kernel).starts_with("f32"))
      compareLibrary<float>(*module, function);
    else
      compareLibrary<double>(*module, function);
  }
  EXPECT_EQ(module->kernels().size(), std::size(libraryFunctions));
}

/// The measure itself: what it says of one unit more, of half of one, and of a number that is not finite.
TEST(CudaLibrary, UnitsInTheLastPlace) {
  const LibraryFunction &division = libraryFunctions[15];
  ASSERT_STREQ(division.kernel, "f32_div");
  const Exact third = exactValue(division, 1, 3);
  EXPECT_NEAR(third.first + third.second, 1.0 / 3, 1e-16);
  EXPECT_NEAR(third.second * 3, std::fma(third.first, -3.0, 1.0), 1e-30);
  EXPECT_NEAR(errorInUlps(1.0f / 3, third), 1.0 / 3, 1e-6);
  EXPECT_NEAR(errorInUlps(std::nextafter(1.0f / 3, 1.0f), third), 4.0 / 3, 1e-6);
  EXPECT_EQ(errorInUlps(INFINITY, third), INFINITY);
}

} // namespace
} // namespace weft::cudasim
