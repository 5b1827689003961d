//===- FourierTest.cpp - Fourier transforms of batches ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kind and way of computing is compared with the sum of the definition in double precision, and the
// levels of the processor and numbers of threads with each other, bit by bit.
//
//===----------------------------------------------------------------------===//
#include "runtime/fourier/FourierRoutine.h"

#include "PlanFixture.h"
#include "runtime/plan/FourierPlan.h"
#include "runtime/threads/Executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>
#include <random>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

using Number = std::complex<double>;

std::vector<CpuLevel> levels() {
  std::vector<CpuLevel> found;
  for (const CpuLevel level : {CpuLevel::baseline, CpuLevel::v3, CpuLevel::v4})
    if (level <= cpu_level())
      found.push_back(level);
  return found;
}

size_t count_of(const FourierShape &shape, int64_t elements) {
  return static_cast<size_t>(shape.outer * shape.inner * elements);
}

template <typename T> std::vector<T> random_source(const FourierShape &shape) {
  std::mt19937 random(static_cast<unsigned>(shape.length));
  std::normal_distribution<double> normal;
  std::vector<T> source(count_of(shape, shape.source_elements()));
  for (T &each : source)
    each = static_cast<T>(normal(random));
  return source;
}

template <typename T>
std::vector<T> computed(const FourierShape &shape, const std::vector<T> &source, CpuLevel level,
                        bool serial = false) {
  const FourierRoutine routine(shape, level);
  const size_t bytes = routine.scratch_bytes(executor().width());
  std::vector<std::byte> memory(bytes + 64, std::byte(0xff)); // NaN: scratch is written before it is read
  void *scratch = memory.data();
  size_t space = memory.size();
  std::align(64, bytes, scratch, space);
  std::vector<T> result(count_of(shape, shape.result_elements()), T(NAN));
  routine.run(source.data(), result.data(), scratch, serial);
  return result;
}

/// The numbers of a line by the definition.
std::vector<Number> defined(const FourierShape &shape, const std::function<Number(int64_t)> &given) {
  const int64_t n = shape.length;
  std::vector<Number> line(static_cast<size_t>(n)), roots = line;
  for (int64_t j = 0; j < n; ++j) {
    Number &x = line[static_cast<size_t>(j)];
    const bool isHalf = shape.kind == FourierKind::c2r;
    x = isHalf && j > n / 2 ? std::conj(given(n - j)) : given(j);
    if (isHalf && (j == 0 || 2 * j == n))
      x.imag(0);
    else if (isHalf && shape.adjoint)
      x *= 0.5;
    roots[static_cast<size_t>(j)] = std::polar(1.0, (shape.inverse ? 2 : -2) * std::numbers::pi *
                                                        static_cast<double>(j) / static_cast<double>(n));
  }
  std::vector<Number> values;
  for (int64_t k = 0; k < (shape.kind == FourierKind::r2c ? n / 2 + 1 : n); ++k) {
    Number sum = 0;
    for (int64_t j = 0; j < n; ++j)
      sum += line[static_cast<size_t>(j)] * roots[static_cast<size_t>(j * k % n)];
    const bool isDoubled = shape.kind == FourierKind::r2c && shape.adjoint && k != 0 && 2 * k != n;
    values.push_back(sum * shape.scale * (isDoubled ? 2.0 : 1.0));
  }
  return values;
}

/// The norm of the errors of the worst line, relative to that of the line.
template <typename T>
double error_of(const FourierShape &shape, const std::vector<T> &source, const std::vector<T> &result) {
  const int64_t from = shape.kind == FourierKind::r2c ? 1 : 2, to = shape.kind == FourierKind::c2r ? 1 : 2;
  double worst = 0;
  for (int64_t line = 0; line < shape.outer * shape.inner; ++line) {
    const auto number = [&](const std::vector<T> &of, int64_t elements, int64_t parts, int64_t i) {
      const auto at = static_cast<size_t>(
          ((line / shape.inner * (elements / parts) + i) * shape.inner + line % shape.inner) * parts);
      return Number(of[at], parts == 2 ? of[at + 1] : 0);
    };
    double error = 0, norm = 0;
    int64_t k = 0;
    for (Number value :
         defined(shape, [&](int64_t j) { return number(source, shape.source_elements(), from, j); })) {
      if (to == 1)
        value.imag(0);
      error += std::norm(number(result, shape.result_elements(), to, k++) - value);
      norm += std::norm(value);
    }
    worst = std::isfinite(error) ? std::max(worst, std::sqrt(error / norm)) : INFINITY;
  }
  return worst;
}

template <typename T> void check(FourierShape shape) {
  shape.dtype = sizeof(T) == sizeof(float) ? DType::f32 : DType::f64;
  SCOPED_TRACE("kind " + std::to_string(static_cast<int>(shape.kind)) + " of " + std::to_string(shape.outer) +
               " x " + std::to_string(shape.length) + " x " + std::to_string(shape.inner) +
               (shape.inverse ? " inverse" : "") + (shape.adjoint ? " adjoint" : ""));
  const std::vector<T> source = random_source<T>(shape);
  const std::vector<T> result = computed(shape, source, cpu_level());
  // The definition in f64 is itself off by some units times the root of the length.
  EXPECT_LT(error_of(shape, source, result), sizeof(T) == sizeof(float) ? 1e-6 : 1e-14);
  for (const CpuLevel level : levels())
    EXPECT_EQ(std::memcmp(computed(shape, source, level, /*serial=*/true).data(), result.data(),
                          result.size() * sizeof(T)),
              0)
        << "level " << name(level);
}

void check_both(const FourierShape &shape) {
  check<float>(shape);
  check<double>(shape);
}

constexpr FourierKind kinds[] = {FourierKind::c2c, FourierKind::r2c, FourierKind::c2r};

} // namespace

// All radices, their products, primes beyond them, lines in lanes and as matrices.
TEST(FourierRoutine, EveryKindOfLength) {
  std::vector<int64_t> lengths{48,  60,  62,  67,  74,  96,  128, 131, 243,
                               256, 257, 258, 300, 341, 512, 521, 961, 1000};
  for (int64_t n = 1; n <= 37; ++n)
    lengths.push_back(n);
  for (const int64_t n : lengths)
    for (const FourierKind kind : kinds)
      check_both({.kind = kind, .outer = 2, .length = n, .inner = 1, .scale = 0.5});
}

// Elements beside each other or not, lines that fill vectors and that do not, blocks of two rows.
TEST(FourierRoutine, EveryPlaceOfLines) {
  const std::pair<int64_t, int64_t> places[] = {{1, 1}, {19, 1}, {40, 1}, {5, 3}, {2, 17}, {2, 16}, {1, 40}};
  for (const auto &[outer, inner] : places)
    for (const int64_t n : {7, 12, 67, 300})
      for (const FourierKind kind : kinds)
        check_both({.kind = kind, .outer = outer, .length = n, .inner = inner});
}

TEST(FourierRoutine, EveryDirection) {
  for (const int64_t n : {1, 2, 5, 8, 74, 134, 256, 263, 512})
    for (const FourierKind kind : kinds)
      for (const bool inverse : {false, true})
        for (const bool adjoint : {false, true})
          if (!adjoint || kind != FourierKind::c2c)
            check_both({.kind = kind,
                        .outer = 3,
                        .length = n,
                        .inner = 1,
                        .inverse = inverse,
                        .adjoint = adjoint,
                        .scale = 1 / static_cast<double>(n)});
}

// Beyond 2,048 elements lines are matrices wherever their elements are.
TEST(FourierRoutine, LongLinesWithElementsApart) {
  for (const FourierKind kind : kinds)
    for (const int64_t n : {2310, 4096, 4099})
      check_both({.kind = kind, .outer = 1, .length = n, .inner = 2});
}

// A line of 2^20 elements with one wave in it has one value.
TEST(FourierRoutine, OneLongLineByAllThreads) {
  const int64_t n = int64_t(1) << 20, frequency = 12345;
  std::vector<float> source(static_cast<size_t>(2 * n));
  for (int64_t j = 0; j < n; ++j) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(j * frequency % n) / static_cast<double>(n);
    source[static_cast<size_t>(2 * j)] = static_cast<float>(std::cos(angle));
    source[static_cast<size_t>(2 * j + 1)] = static_cast<float>(std::sin(angle));
  }
  const FourierShape shape{.outer = 1, .length = n, .inner = 1, .scale = 1 / static_cast<double>(n)};
  const auto threads = make_thread_executor(3);
  set_executor(threads.get());
  std::vector<float> result = computed(shape, source, cpu_level());
  set_executor(nullptr);
  EXPECT_EQ(result, computed(shape, source, cpu_level(), /*serial=*/true));
  EXPECT_NEAR(result[2 * frequency], 1, 1e-6);
  result[2 * frequency] = 0;
  for (const float each : result)
    ASSERT_NEAR(each, 0, 1e-6);
}

// An infinity stays in its line, whatever lines are in the same vectors.
TEST(FourierRoutine, LinesThatAreNotFinite) {
  for (const int64_t n : {12, 67, 256}) {
    const FourierShape shape{.outer = 20, .length = n, .inner = 1};
    std::vector<float> source = random_source<float>(shape);
    source[static_cast<size_t>(2 * n * 7 + 3)] = std::numeric_limits<float>::infinity();
    const std::vector<float> result = computed(shape, source, cpu_level());
    for (int64_t line = 0; line < 20; ++line) {
      const auto first = result.begin() + line * 2 * n;
      EXPECT_EQ(std::all_of(first, first + 2 * n, [](float x) { return std::isfinite(x); }), line != 7);
    }
  }
}

TEST(FourierRoutine, NoLines) {
  const FourierRoutine routine({.outer = 0, .length = 8, .inner = 4});
  EXPECT_EQ(routine.scratch_bytes(2), 0U);
  routine.run(nullptr, nullptr, nullptr, false);
}

TEST(FourierPlan, RefusesLaunchesThatAreWrong) {
  const auto verified = [](const std::function<void(fb::FourierLaunchT &, fb::LaunchT &)> &change) {
    PlanBuilder b;
    b.argument("a", DType::f32, {2, 6, 3});
    b.result("v", DType::f32, {2, 4, 3, 2});
    fb::FourierLaunchT fourier;
    fourier.kind = static_cast<uint8_t>(FourierKind::r2c);
    fourier.dtype = static_cast<uint8_t>(DType::f32);
    fourier.outer = 2;
    fourier.length = 6;
    fourier.inner = 3;
    fourier.scale = 1;
    fourier.source = b.buffer(fb::Storage::argument, 0, 0, 144);
    fourier.result = b.buffer(fb::Storage::result, 0, 0, 192);
    fb::LaunchT &launch = b.launch("fourier transform r2c");
    change(fourier, launch);
    launch.op.Set(std::move(fourier));
    return b.verdict(nullptr);
  };
  const auto expect = [&](const std::function<void(fb::FourierLaunchT &, fb::LaunchT &)> &change,
                          const char *text) {
    const Status status = verified(change);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  };
  EXPECT_TRUE(verified([](fb::FourierLaunchT &, fb::LaunchT &) {}).ok());
  expect([](fb::FourierLaunchT &f, fb::LaunchT &) { f.kind = 3; },
         "asks for the unknown Fourier transform 3");
  expect([](fb::FourierLaunchT &f, fb::LaunchT &) { f.dtype = 6; }, "transforms elements of type number 6");
  expect([](fb::FourierLaunchT &f, fb::LaunchT &) { f.length = 0; },
         "transforms lines of 0 elements, which is not possible");
  expect([](fb::FourierLaunchT &f, fb::LaunchT &) { f.length = INT64_MAX; }, "which is not possible");
  expect([](fb::FourierLaunchT &f, fb::LaunchT &) { f.scale = INFINITY; }, "a scale that is not finite");
  expect([](fb::FourierLaunchT &f, fb::LaunchT &) { f.source = 7; }, "has its source in buffer 7 of 2");
  expect([](fb::FourierLaunchT &f, fb::LaunchT &) { f.result = 7; }, "has its result in buffer 7 of 2");
  expect([](fb::FourierLaunchT &f, fb::LaunchT &) { f.inner = 4; },
         "has a source of 144 bytes, which are not those of 2 times 4 lines of 6 elements");
  expect([](fb::FourierLaunchT &f, fb::LaunchT &) { f.outer = INT64_MAX; }, "which are not those of");
  expect([](fb::FourierLaunchT &f, fb::LaunchT &) { f.outer = -2; }, "which are not those of");
  expect([](fb::FourierLaunchT &, fb::LaunchT &l) { l.may_fail = true; }, "is marked as one that may fail");
}
