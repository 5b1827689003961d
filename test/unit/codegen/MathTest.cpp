//===- MathTest.cpp - Elementary functions against their documented bounds -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every 251st f32 is tried, every 2,011th with WEFT_TEST_LEVEL=quick, every one with WEFT_TEST_LEVEL=full.
// The reference is the C library's function on doubles, whose error is below 2^-28 of an f32's unit in the
// last place; at each function's worst argument it is compared with MPFR.
//
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <mpfr.h>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

namespace weft::testing {
namespace {

using codegen::CpuTarget;
constexpr float inf = std::numeric_limits<float>::infinity();

bool sameBits(float a, float b) { return toBits(a) == toBits(b) || (std::isnan(a) && std::isnan(b)); }

/// The unit in the last place of f32 at |exact|, subnormals included.
double ulpAt(double exact) {
  int exponent;
  std::frexp(exact, &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}

/// Error of `got` in units of the last place. Infinity where one is special and the other is not.
double ulpError(float got, double exact) {
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got) ? 0 : inf;
  double rounded = static_cast<float>(exact);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got)
      return 0;
    // Just below or above the largest finite number: count from 2^128.
    double g = std::isinf(got) ? std::copysign(0x1p128, got) : got;
    double x = std::isinf(exact) ? std::copysign(0x1p128, exact) : exact;
    return std::isinf(exact) ? inf : std::abs(g - x) / 0x1p104;
  }
  if (got == 0 && exact == 0)
    return std::signbit(got) == std::signbit(exact) ? 0 : inf;
  return std::abs(got - exact) / ulpAt(exact);
}

struct Unary {
  const char *op;
  double bound;
  double (*reference)(double);
  int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t);
};

double rsqrtReference(double x) { return 1 / std::sqrt(x); }

const Unary unaries[] = {
    {"math.exp", 2, std::exp, mpfr_exp},       {"math.log", 1, std::log, mpfr_log},
    {"math.tanh", 5, std::tanh, mpfr_tanh},    {"math.expm1", 3, std::expm1, mpfr_expm1},
    {"math.log1p", 3, std::log1p, mpfr_log1p}, {"math.erf", 5, std::erf, mpfr_erf},
    {"math.sin", 2, std::sin, mpfr_sin},       {"math.cos", 2, std::cos, mpfr_cos},
    {"math.tan", 4, std::tan, mpfr_tan},       {"math.asin", 2, std::asin, mpfr_asin},
    {"math.acos", 2, std::acos, mpfr_acos},    {"math.atan", 2, std::atan, mpfr_atan},
    {"math.exp2", 2, std::exp2, mpfr_exp2},    {"math.log2", 1, std::log2, mpfr_log2},
    {"math.log10", 1, std::log10, mpfr_log10}, {"math.sinh", 2, std::sinh, mpfr_sinh},
    {"math.cosh", 2, std::cosh, mpfr_cosh},    {"math.asinh", 2, std::asinh, mpfr_asinh},
    {"math.acosh", 2, std::acosh, mpfr_acosh}, {"math.atanh", 2, std::atanh, mpfr_atanh},
    {"math.cbrt", 2, std::cbrt, mpfr_cbrt},    {"math.rsqrt", 2, rsqrtReference, mpfr_rec_sqrt},
};

bool fullSweep() { return testLevel() == "full"; }

/// Every how many-th f32 a sweep tries.
uint64_t sweepStride() { return fullSweep() ? 1 : testLevel() == "quick" ? 2011 : 251; }

const float edges[] = {0.0f,       -0.0f,     1.0f,           -1.0f,      inf,        -inf,       0x1p-149f,
                       -0x1p-149f, 0x1p-126f, -0x1p-126f,     0x1p127f,   -0x1p127f,  0x1p-130f,  88.7228f,
                       88.7229f,   -87.3365f, -103.97f,       -104.0f,    0.5f,       -0.5f,      0x1p-25f,
                       0x1p30f,    -0x1p30f,  1e10f,          3.4e38f,    -3.4e38f,   2.0f,       0.55f,
                       0.925f,     3.95f,     -1e-9f,         1.5707964f, 0.9999999f, 1.0000001f, 16777216,
                       2.5f,       -2.5f,     0x1.fffffep127f};

class Sweep : public ::testing::TestWithParam<Unary> {};

std::string bodyOf(const char *op) { return std::string("%y = ") + op + " %x0 : $T"; }

/// The result of a sweep, or of one thread's part of it.
struct Tally {
  double worst = 0;
  float worstAt = 0, worstGot = 0;
  uint64_t tried = 0, differing = 0;
  std::string firstDifference;

  void add(const Tally &other) {
    if (other.worst > worst)
      worst = other.worst, worstAt = other.worstAt, worstGot = other.worstGot;
    if (firstDifference.empty())
      firstDifference = other.firstDifference;
    tried += other.tried;
    differing += other.differing;
  }
};

/// One form of a function's code: for a target, in vectors or one by one.
struct Form {
  std::string name;
  Kernel kernel;
};

/// All forms of a function over blocks of arguments: they agree bit for bit, and the error of the first is
/// theirs.
class SweepWorker {
public:
  static constexpr size_t block = 1 << 14;

  SweepWorker(const Unary &unary, const std::vector<Form> &forms) : unary(unary), forms(forms) {}

  std::vector<float> x = std::vector<float>(block);
  Tally tally;

  /// Tries the first `count` of `x`, which is filled up to a whole number of vectors.
  void check(size_t count) {
    while (count % 16)
      x[count++] = 1;
    forms[0].kernel.run({x.data(), first.data()}, 0, static_cast<int64_t>(count));
    for (size_t form = 1; form < forms.size(); ++form) {
      forms[form].kernel.run({x.data(), other.data()}, 0, static_cast<int64_t>(count));
      if (std::memcmp(first.data(), other.data(), count * sizeof(float)) != 0)
        compare(forms[form].name, count);
    }
    for (size_t i = 0; i < count; ++i) {
      double exact = unary.reference(x[i]);
      // Rounded right, as most are: no more than half a unit, which every bound allows.
      if (sameBits(first[i], static_cast<float>(exact)))
        continue;
      if (double error = ulpError(first[i], exact); error > tally.worst)
        tally.worst = error, tally.worstAt = x[i], tally.worstGot = first[i];
    }
    tally.tried += count;
  }

private:
  void compare(const std::string &name, size_t count) {
    for (size_t i = 0; i < count; ++i)
      if (!sameBits(first[i], other[i]) && tally.differing++ == 0) {
        std::ostringstream text;
        text << unary.op << "(" << std::hexfloat << x[i] << "): " << forms[0].name << " gives " << first[i]
             << ", " << name << " " << other[i];
        tally.firstDifference = text.str();
      }
  }

  const Unary &unary;
  const std::vector<Form> &forms;
  std::vector<float> first = std::vector<float>(block), other = std::vector<float>(block);
};

TEST_P(Sweep, StaysWithinItsBound) {
  const Unary &unary = GetParam();
  std::vector<Form> forms;
  for (CpuTarget target : runnableTargets())
    for (int lanes : {16, 0}) {
      forms.push_back({std::string(target.cpu()) + (lanes ? " in vectors" : " one by one"),
                       Kernel(mapKernel(lanes ? "v" : "s", bodyOf(unary.op), 1, lanes), target)});
      ASSERT_TRUE(forms.back().kernel.fn);
    }

  SweepWorker special(unary, forms);
  std::copy(std::begin(edges), std::end(edges), special.x.begin());
  special.x[std::size(edges)] = std::nanf("");
  special.check(std::size(edges) + 1);
  Tally total = special.tally;

  const uint64_t stride = sweepStride(), values = ((uint64_t(1) << 32) - 1) / stride + 1;
  std::atomic<uint64_t> next = 0;
  std::mutex mutex;
  auto work = [&] {
    SweepWorker worker(unary, forms);
    for (uint64_t begin; (begin = next.fetch_add(SweepWorker::block)) < values;) {
      const size_t count = std::min<uint64_t>(SweepWorker::block, values - begin);
      for (size_t i = 0; i < count; ++i)
        worker.x[i] = fromBits(static_cast<uint32_t>((begin + i) * stride));
      worker.check(count);
    }
    std::lock_guard lock(mutex);
    total.add(worker.tally);
  };
  // Tests run in parallel, so only the sweep that runs for minutes uses all processors.
  std::vector<std::thread> threads;
  for (unsigned i = 1; fullSweep() && i < std::thread::hardware_concurrency(); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();

  std::printf("%-11s max %.3f ULP at %a (bound %g), %llu values, %zu forms\n", unary.op,
              std::max(total.worst, 0.5), total.worstAt, unary.bound,
              static_cast<unsigned long long>(total.tried), forms.size());
  EXPECT_LE(total.worst, unary.bound) << unary.op << " at " << total.worstAt << " gave " << total.worstGot
                                      << ", reference " << unary.reference(total.worstAt);
  EXPECT_EQ(total.differing, 0u) << total.firstDifference;
  EXPECT_GE(total.tried, values);
  // The reference itself, where it matters most.
  if (total.worst == 0)
    return;
  mpfr_t argument, exact;
  mpfr_init2(argument, 24);
  mpfr_init2(exact, 120);
  mpfr_set_flt(argument, total.worstAt, MPFR_RNDN);
  unary.exact(exact, argument, MPFR_RNDN);
  double reference = mpfr_get_d(exact, MPFR_RNDN);
  EXPECT_NEAR(ulpError(total.worstGot, reference), total.worst, 1e-6);
  mpfr_clears(argument, exact, static_cast<mpfr_ptr>(nullptr));
}

INSTANTIATE_TEST_SUITE_P(Math, Sweep, ::testing::ValuesIn(unaries),
                         [](const auto &info) { return std::string(info.param.op).substr(5); });

struct Binary {
  const char *op;
  double bound;
  double (*reference)(double, double);
};

double maximumReference(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return std::nan("");
  return x == y ? (std::signbit(x) ? y : x) : std::max(x, y);
}
double minimumReference(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return std::nan("");
  return x == y ? (std::signbit(x) ? x : y) : std::min(x, y);
}

const Binary binaries[] = {
    {"math.powf", 4, std::pow},
    {"math.atan2", 3, std::atan2},
    {"arith.remf", 0, std::fmod},
    {"math.copysign", 0, std::copysign},
    {"arith.maximumf", 0, maximumReference},
    {"arith.minimumf", 0, minimumReference},
};

class BinarySweep : public ::testing::TestWithParam<Binary> {};

TEST_P(BinarySweep, StaysWithinItsBound) {
  const Binary &binary = GetParam();
  std::vector<float> special(std::begin(edges), std::end(edges));
  special.insert(special.end(), {std::nanf(""), 3.0f, -3.0f, 4.0f, 0.1f, -7.0f, 16777215.0f, 33554432.0f});
  std::vector<float> x, y;
  for (float a : special)
    for (float b : special)
      x.push_back(a), y.push_back(b);
  std::mt19937 random(7);
  size_t count = size_t(1) << (fullSweep() ? 26 : testLevel() == "quick" ? 18 : 21);
  std::uniform_real_distribution<float> logarithm(-30, 30), exponent(-20, 20);
  while (x.size() < count) {
    // Any two floats; and pairs whose power is neither 0 nor infinity.
    x.push_back(fromBits(random())), y.push_back(fromBits(random()));
    x.push_back(std::exp2(logarithm(random))), y.push_back(exponent(random));
    x.push_back(1 + exponent(random) * 1e-4f), y.push_back(exponent(random) * 1e3f);
  }
  while (x.size() % 16)
    x.push_back(1), y.push_back(1);
  std::vector<float> got(x.size()), single(x.size());
  std::string body = std::string("%y = ") + binary.op + " %x0, %x1 : $T";
  for (CpuTarget target : runnableTargets()) {
    Kernel vector(mapKernel("v", body, 2, 16), target);
    Kernel scalar(mapKernel("s", body, 2, 0), target);
    ASSERT_TRUE(vector.fn && scalar.fn);
    vector.run({x.data(), y.data(), got.data()}, 0, x.size());
    scalar.run({x.data(), y.data(), single.data()}, 0, x.size());
    double worst = 0;
    size_t at = 0, differing = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double error = ulpError(got[i], binary.reference(x[i], y[i]));
      if (error > worst)
        worst = error, at = i;
      differing += !sameBits(got[i], single[i]);
    }
    std::printf("%-11s %s  max %.3f ULP at %a, %a (bound %g), %zu pairs\n", binary.op, target.cpu(), worst,
                x[at], y[at], binary.bound, x.size());
    EXPECT_LE(worst, binary.bound) << binary.op << " of " << x[at] << ", " << y[at] << " gave " << got[at]
                                   << ", reference " << binary.reference(x[at], y[at]);
    EXPECT_EQ(differing, 0u) << "vector and scalar code differ";
  }
}

INSTANTIATE_TEST_SUITE_P(Math, BinarySweep, ::testing::ValuesIn(binaries), [](const auto &info) {
  std::string name = info.param.op;
  return name.substr(name.find('.') + 1);
});

/// fma rounds once, subnormal results and cancelling terms too.
TEST(Math, FmaRoundsOnce) {
  std::mt19937 random(11);
  std::vector<float> a, b, c;
  for (float x : edges)
    for (float y : edges)
      for (float z : {0.0f, -0.0f, 1.0f, -inf, 0x1p-149f})
        a.push_back(x), b.push_back(y), c.push_back(z);
  while (a.size() < 200000) {
    float x = fromBits(random()), y = fromBits(random());
    a.push_back(x), b.push_back(y), c.push_back(fromBits(random()));
    a.push_back(x), b.push_back(1 + 0x1p-12f), c.push_back(-x * (1 + 0x1p-12f)); // what one rounding leaves
  }
  while (a.size() % 16)
    a.push_back(1), b.push_back(1), c.push_back(1);
  std::vector<float> got(a.size()), single(a.size());
  const char *body = "%y = math.fma %x0, %x1, %x2 : $T";
  for (CpuTarget target : runnableTargets()) {
    Kernel vector(mapKernel("v", body, 3, 16), target), scalar(mapKernel("s", body, 3, 0), target);
    ASSERT_TRUE(vector.fn && scalar.fn);
    vector.run({a.data(), b.data(), c.data(), got.data()}, 0, a.size());
    scalar.run({a.data(), b.data(), c.data(), single.data()}, 0, a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_TRUE(sameBits(got[i], std::fma(a[i], b[i], c[i]))) << a[i] << " * " << b[i] << " + " << c[i];
      EXPECT_TRUE(sameBits(got[i], single[i]));
    }
  }
}

/// The sweep allows an error of one unit, but results at the points that programs rely on are exact.
TEST(Math, PowersOfTwoAreExact) {
  std::vector<float> whole, power;
  for (int k = -149; k <= 127; ++k)
    whole.push_back(static_cast<float>(k)), power.push_back(std::ldexp(1.0f, k));
  whole.resize(288, 0), power.resize(288, 1);
  std::vector<float> y(288);
  for (CpuTarget target : runnableTargets()) {
    Kernel exp2(mapKernel("e", bodyOf("math.exp2"), 1, 16), target),
        log2(mapKernel("l", bodyOf("math.log2"), 1, 16), target);
    exp2.run({whole.data(), y.data()}, 0, 288);
    EXPECT_EQ(y, power);
    log2.run({power.data(), y.data()}, 0, 288);
    EXPECT_EQ(y, whole);
  }
}

/// Powers at the edges that C names, crossed; and whole powers of negative numbers up to the largest odd
/// ones.
TEST(Math, PowAtItsEdges) {
  std::vector<float> x, y;
  const float bases[] = {0.0f, -0.0f, 1,         -1,         inf,     -inf,     std::nanf(""), 2,         -2,
                         0.5f, -0.5f, 0x1p-149f, -0x1p-149f, 3.4e38f, -3.4e38f, 0.99999994f,   1.0000001f};
  const float exponents[] = {
      0.0f,        -0.0f,        1,           -1,      2,        -2,        3,
      -3,          0.5f,         -0.5f,       1.5f,    inf,      -inf,      std::nanf(""),
      16777215.0f, -16777215.0f, 16777216.0f, 3.4e38f, -3.4e38f, 0x1p-149f, -0x1p-149f,
      127,         128,          -149,        -150};
  for (float a : bases)
    for (float b : exponents)
      x.push_back(a), y.push_back(b);
  while (x.size() % 16)
    x.push_back(1), y.push_back(1);
  std::vector<float> got(x.size());
  for (CpuTarget target : runnableTargets()) {
    Kernel kernel(mapKernel("p", "%y = math.powf %x0, %x1 : $T", 2, 16), target);
    kernel.run({x.data(), y.data(), got.data()}, 0, x.size());
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_LE(ulpError(got[i], std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]))), 1)
          << x[i] << " ^ " << y[i] << " gave " << got[i];
  }
}

TEST(Math, RoundIsHalfAwayFromZero) {
  std::vector<float> x = {0.5f,  -0.5f, 1.5f, 2.5f,  -2.5f,       0.49999997f, 8388607.5f, 16777216.0f,
                          -0.0f, inf,   -inf, 1e30f, -1.4999999f, 3.5f,        0.0f,       0x1p-149f};
  std::vector<float> y(16);
  for (CpuTarget target : runnableTargets()) {
    Kernel kernel(mapKernel("r", "%y = math.round %x0 : $T", 1, 16), target);
    kernel.run({x.data(), y.data()}, 0, 16);
    for (size_t i = 0; i < 16; ++i)
      EXPECT_TRUE(sameBits(y[i], std::round(x[i]))) << x[i] << " gave " << y[i];
  }
}

TEST(Import, F64FunctionsGoThroughTheTable) {
  std::vector<double> x, y(64);
  for (int i = 0; i < 64; ++i)
    x.push_back(0.25 + i * 0.4);
  struct Case {
    const char *op;
    double (*reference)(double);
  };
  for (const Case &c : {Case{"math.exp", std::exp},
                        {"math.log", std::log},
                        {"math.sin", std::sin},
                        {"math.erf", std::erf},
                        {"math.tanh", std::tanh},
                        {"math.sinh", std::sinh},
                        {"math.cosh", std::cosh},
                        {"math.asinh", std::asinh},
                        {"math.acosh", std::acosh},
                        {"math.atan", std::atan},
                        {"math.tan", std::tan},
                        {"math.exp2", std::exp2},
                        {"math.log2", std::log2},
                        {"math.log10", std::log10},
                        {"math.cbrt", std::cbrt}})
    for (int lanes : {0, 8})
      for (CpuTarget target : runnableTargets()) {
        Kernel kernel(mapKernel("k", bodyOf(c.op), 1, lanes, "f64", "f64"), target);
        kernel.run({x.data(), y.data()}, 0, 64);
        for (int i = 0; i < 64; ++i)
          if (double expected = c.reference(x[i]); std::isnan(expected)) // acosh below 1
            EXPECT_TRUE(std::isnan(y[i])) << c.op << " of " << x[i];
          else
            EXPECT_NEAR(y[i], expected, std::abs(expected) * 0x1p-50) << c.op << " of " << x[i];
      }
}

TEST(Import, F64RemaindersAreExact) {
  std::vector<double> x, y;
  for (double a : {7.5, -7.5, 1e300, -0.0, 5e-324, 1.0, static_cast<double>(inf)})
    for (double b : {2.0, -3.0, 0.1, 1e-300, 0.0, static_cast<double>(inf)})
      x.push_back(a), y.push_back(b);
  x.resize(48, 1), y.resize(48, 1);
  std::vector<double> got(48);
  for (int lanes : {0, 8})
    for (CpuTarget target : runnableTargets()) {
      Kernel kernel(mapKernel("k", "%y = arith.remf %x0, %x1 : $T", 2, lanes, "f64", "f64"), target);
      kernel.run({x.data(), y.data(), got.data()}, 0, 48);
      for (size_t i = 0; i < 48; ++i) {
        double expected = std::fmod(x[i], y[i]);
        EXPECT_TRUE(std::isnan(expected) ? std::isnan(got[i]) : got[i] == expected) << x[i] << " % " << y[i];
      }
    }
}

TEST(Speed, NanosecondsPerElement) {
  if (testLevel() == "quick")
    GTEST_SKIP() << "figures for docs/numerics.md; not at the level quick";
  constexpr size_t count = 16384;
  std::vector<float> x(count), y(count);
  for (size_t i = 0; i < count; ++i)
    x[i] = 0.001f + static_cast<float>(i) * (8.0f / count);
  for (CpuTarget target : runnableTargets())
    for (const Unary &unary : unaries) {
      Kernel kernel(mapKernel("k", bodyOf(unary.op), 1, target.level == CpuTarget::v4 ? 16 : 8), target);
      double best = 1e9;
      for (int round = 0; round < 20; ++round) {
        auto start = std::chrono::steady_clock::now();
        for (int repeat = 0; repeat < 4; ++repeat)
          kernel.run({x.data(), y.data()}, 0, count);
        double ns =
            std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
        best = std::min(best, ns / (4 * count));
      }
      std::printf(
          "%-11s %s  %.3f ns/element, compiled in %.1f ms (lower %.1f, optimise %.1f, generate %.1f)\n",
          unary.op, target.cpu(), best, kernel.stats.total(), kernel.stats.lower, kernel.stats.optimise,
          kernel.stats.generate);
      EXPECT_LT(best, 1000);
    }
}

} // namespace
} // namespace weft::testing
