//===- WinogradTest.cpp - Winograd's method against plain loops -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvolutionOperands.h"
#include "PlanFixture.h"

#include "runtime/gemm/Winograd.h"
#include "runtime/plan/PlanVerifier.h"
#include "runtime/support/CpuLevel.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The bound of docs/numerics.md: units of the sums of the largest elements of a tile.
constexpr double units = 32;

struct Sizes {
  int64_t images, channels, outputs, height, width, low, beyond = 0; ///< padding before, and behind
};

/// A convolution with padding, in row-major order.
ConvolutionShape convolution(const Sizes &sizes) {
  ConvolutionShape s;
  s.batch = sizes.images;
  s.channels = sizes.channels;
  s.outputs = sizes.outputs;
  s.extents = {1, sizes.height, sizes.width};
  s.window = {1, 3, 3};
  const int64_t padding = sizes.low + sizes.beyond - 2;
  s.places = {1, sizes.height + padding, sizes.width + padding};
  s.low = {0, sizes.low, sizes.low};
  s.a = ordered(s.a_extents(), {0, 1, 2, 3, 4, 5});
  s.w = ordered(s.w_extents(), {0, 1, 2, 3, 4, 5});
  s.y = ordered(s.y_extents(), {0, 1, 2, 3, 4, 5});
  s.winograd = true;
  return s;
}

/// The derivative with respect to its weights: the channels are a batch, and the images are summed over.
ConvolutionShape derivative(const Sizes &sizes) {
  const ConvolutionShape forward = convolution(sizes);
  ConvolutionShape s = forward;
  s.batch = sizes.channels;
  s.channels = sizes.images;
  s.window = forward.places;
  s.places = {1, 3, 3};
  s.a = ordered(s.a_extents(), {2, 1, 0, 3, 4, 5});
  s.w = ordered(s.w_extents(), {2, 0, 1, 3, 4, 5});
  s.y = ordered(s.y_extents(), {1, 2, 0, 3, 4, 5});
  return s;
}

struct Problem : ConvolutionOperands {
  using ConvolutionOperands::ConvolutionOperands;

  float element(int64_t b, int64_t c, int64_t y, int64_t x) const {
    const ConvolutionShape &s = shape;
    if (y < 0 || x < 0 || y >= s.extents[1] || x >= s.extents[2])
      return 0;
    return a[static_cast<size_t>(s.a.offset + b * s.a.strides[0] + c * s.a.strides[2] + y * s.a.strides[4] +
                                 x * s.a.strides[5])];
  }
  float weight(int64_t o, int64_t c, int64_t y, int64_t x) const {
    const ConvolutionShape &s = shape;
    return w[static_cast<size_t>(s.w.offset + o * s.w.strides[1] + c * s.w.strides[2] + y * s.w.strides[4] +
                                 x * s.w.strides[5])];
  }
  size_t at(int64_t b, int64_t o, int64_t y, int64_t x) const {
    const ConvolutionPlace &to = shape.y;
    return static_cast<size_t>(to.offset + b * to.strides[0] + o * to.strides[2] + y * to.strides[4] +
                               x * to.strides[5]);
  }

  double sum(int64_t b, int64_t o, int64_t y, int64_t x) const {
    double total = 0;
    for (int64_t c = 0; c < shape.channels; ++c)
      for (int64_t i = 0; i < shape.window[1]; ++i)
        for (int64_t j = 0; j < shape.window[2]; ++j)
          total += static_cast<double>(element(b, c, y + i - shape.low[1], x + j - shape.low[2])) *
                   weight(o, c, i, j);
    return total;
  }

  /// What the bound counts units of: for each channel and tile, the largest element that the tile reads times
  /// the magnitudes of its weights.
  double size(int64_t b, int64_t o, int64_t y, int64_t x) const {
    const bool forward = shape.window[1] == 3 && shape.window[2] == 3;
    double total = 0;
    const auto largest = [&](int64_t c, int64_t row, int64_t column) {
      float found = 0;
      for (int64_t i = 0; i < 6; ++i)
        for (int64_t j = 0; j < 6; ++j)
          found = std::max(found, std::abs(element(b, c, row + i - shape.low[1], column + j - shape.low[2])));
      return found;
    };
    for (int64_t c = 0; c < shape.channels; ++c)
      for (int64_t i = 0; i < shape.window[1]; i += 4)
        for (int64_t j = 0; j < shape.window[2]; j += 4) {
          double weights = 0;
          for (int64_t m = i; m < std::min(i + 4, shape.window[1]); ++m)
            for (int64_t n = j; n < std::min(j + 4, shape.window[2]); ++n)
              weights += std::abs(weight(o, c, m, n));
          total += weights * (forward ? largest(c, y / 4 * 4, x / 4 * 4) : largest(c, i, j));
        }
    return total;
  }

  template <typename Body> void for_places(const Body &body) const {
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t o = 0; o < shape.outputs; ++o)
        for (int64_t y = 0; y < shape.places[1]; ++y)
          for (int64_t x = 0; x < shape.places[2]; ++x)
            body(b, o, y, x);
  }
};

void expect_same_bits(const std::vector<float> &found, const std::vector<float> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0);
}

/// Sums within the bound, with the same bits on any number of threads and on every level.
void check(const Problem &problem) {
  const double work = static_cast<double>(count_of(problem.shape.y_extents()) *
                                          count_of(problem.shape.w_extents()) / problem.shape.outputs);
  const auto step = static_cast<int64_t>(1 + work / 5e5);
  const std::vector<float> best = problem.run(false);
  for (const CpuLevel level : {CpuLevel::baseline, CpuLevel::v3, CpuLevel::v4}) {
    if (level > cpu_level())
      continue;
    const std::vector<float> y = problem.run(false, level);
    expect_same_bits(problem.run(true, level), y);
    expect_same_bits(y, best);
    int64_t number = 0;
    problem.for_places([&](int64_t b, int64_t o, int64_t row, int64_t column) {
      if (number++ % step == 0)
        EXPECT_NEAR(y[problem.at(b, o, row, column)], problem.sum(b, o, row, column),
                    units * 0x1p-24 * problem.size(b, o, row, column))
            << b << ' ' << o << ' ' << row << ' ' << column;
    });
  }
}

/// Every remainder of a tile and of registers, with and without padding.
TEST(Winograd, ForwardIsWithinTheBound) {
  for (const Sizes &sizes :
       {Sizes{2, 3, 5, 4, 4, 1, 1}, Sizes{3, 20, 37, 9, 7, 1, 1}, Sizes{1, 33, 16, 5, 19, 0},
        Sizes{2, 70, 18, 13, 6, 2, 1}, Sizes{1, 16, 16, 3, 70, 0, 2}, Sizes{7, 17, 33, 1, 1, 1, 1},
        Sizes{1, 5, 300, 2, 2, 1, 1}, Sizes{4, 130, 40, 8, 8, 1, 1}, Sizes{1, 4, 4, 40, 300, 1, 1},
        Sizes{2, 3, 4, 9, 9, -2, 3}}) {
    SCOPED_TRACE(std::to_string(sizes.channels) + " of " + std::to_string(sizes.height) + " x " +
                 std::to_string(sizes.width));
    check(Problem(convolution(sizes)));
  }
}

TEST(Winograd, TheDerivativeOfWeightsIsWithinTheBound) {
  for (const Sizes &sizes :
       {Sizes{2, 3, 5, 4, 4, 1, 1}, Sizes{3, 20, 37, 9, 7, 1, 1}, Sizes{1, 33, 16, 7, 19, 0},
        Sizes{9, 70, 66, 13, 6, 2, 1}, Sizes{80, 17, 33, 8, 8, 1, 1}, Sizes{17, 250, 230, 7, 8, 1, 1}}) {
    SCOPED_TRACE(std::to_string(sizes.channels) + " of " + std::to_string(sizes.height) + " x " +
                 std::to_string(sizes.width));
    check(Problem(derivative(sizes)));
  }
}

/// Reversed weights, as the derivative with respect to the operand has them, and other orders of dimensions.
TEST(Winograd, OperandsLieAnywhere) {
  for (int variant = 0; variant < 4; ++variant) {
    ConvolutionShape s = convolution({2, 21, 19, 7, 10, 1, 1});
    if (variant == 0) {
      s.w.offset = 8;
      s.w.strides = {0, 9, 19 * 9, 0, -3, -1};
    } else if (variant == 1) { // channels innermost
      s.a = ordered(s.a_extents(), {0, 3, 4, 5, 1, 2});
      s.y = ordered(s.y_extents(), {0, 3, 4, 5, 1, 2});
    } else if (variant == 2) {
      s.a = ordered(s.a_extents(), {5, 4, 0, 1, 2, 3});
      s.y = ordered(s.y_extents(), {1, 2, 0, 3, 4, 5});
    } else { // an image upside down
      s.a.offset = 60;
      s.a.strides[4] = -10;
    }
    SCOPED_TRACE("variant " + std::to_string(variant));
    check(Problem(s));
  }
}

/// Every step has the bits of an op of its own behind the sums.
TEST(Winograd, StepsAreRoundedAsOpsOfTheirOwn) {
  using enum ConvolutionStep;
  for (const bool of_weights : {false, true}) {
    const Sizes sizes = {3, 20, 37, 9, 7, 1, 1};
    ConvolutionShape plain = of_weights ? derivative(sizes) : convolution(sizes), shape = plain;
    shape.steps = {sub, mul, add, residual, relu};
    const Problem problem(shape);
    Problem without = problem;
    without.shape = plain;
    const std::vector<float> found = problem.run(false), sums = without.run(true);
    problem.for_places([&](int64_t b, int64_t o, int64_t y, int64_t x) {
      const size_t place = problem.at(b, o, y, x), output = static_cast<size_t>(o);
      float expected = sums[place] - problem.beside[0][output];
      expected *= problem.beside[1][output];
      expected += problem.beside[2][output];
      expected += problem.beside[3][place];
      ASSERT_EQ(found[place], std::max(expected, 0.0f));
    });
  }
}

/// An infinity or NaN of the operand is one in every place of its tile, and in no other.
TEST(Winograd, InfinitiesStayInTheirTiles) {
  for (const float special : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    Problem problem(convolution({1, 3, 5, 12, 12, 1, 1}));
    problem.a[2 * 144 + 5 * 12 + 5] = special; // read by the tile in the middle alone
    const std::vector<float> y = problem.run(false);
    problem.for_places([&](int64_t b, int64_t o, int64_t row, int64_t column) {
      const bool inside = row / 4 == 1 && column / 4 == 1,
                 window = std::abs(row - 5) < 2 && std::abs(column - 5) < 2;
      const float found = y[problem.at(b, o, row, column)];
      if (!inside)
        ASSERT_TRUE(std::isfinite(found));
      else if (window)
        ASSERT_FALSE(std::isfinite(found));
    });
  }
}

TEST(Winograd, HasTheShapesThatItComputes) {
  const ConvolutionShape good = convolution({2, 3, 4, 8, 9, 1, 1});
  EXPECT_TRUE(has_winograd(good));
  EXPECT_TRUE(has_winograd(derivative({2, 3, 4, 8, 9, 1, 1})));
  const std::function<void(ConvolutionShape &)> changes[] = {
      [](auto &s) { s.dtype = DType::f64; },   [](auto &s) { s.groups = 2; },
      [](auto &s) { s.window[1] = 2; },        [](auto &s) { s.stride[2] = 2; },
      [](auto &s) { s.base_dilation[1] = 2; }, [](auto &s) { s.window_dilation[2] = 2; },
      [](auto &s) { s.extents[0] = 2; },       [](auto &s) { s.low[0] = 1; },
      [](auto &s) { s.window[0] = 3; },        [](auto &s) { s.places[0] = 2; }};
  for (const auto &change : changes) {
    ConvolutionShape s = good;
    change(s);
    EXPECT_FALSE(has_winograd(s));
  }
}

/// What the plan of a launch says is proven before it runs.
TEST(Winograd, PlansAreProven) {
  const auto verify = [](const std::function<void(fb::ConvolutionLaunchT &)> &change) {
    PlanBuilder b;
    b.argument("a", DType::f32, {2, 3, 8, 8});
    b.argument("w", DType::f32, {4, 3, 3, 3});
    b.result("y", DType::f32, {2, 4, 6, 6});
    const uint32_t a = b.buffer(fb::Storage::argument, 0, 0, 1536),
                   w = b.buffer(fb::Storage::argument, 1, 0, 432),
                   y = b.buffer(fb::Storage::result, 0, 0, 1152);
    const auto place = [](uint32_t buffer, std::vector<int64_t> strides) {
      auto made = std::make_unique<fb::MatrixPlaceT>();
      made->buffer = buffer;
      made->strides = std::move(strides);
      return made;
    };
    fb::ConvolutionLaunchT launch;
    launch.dtype = static_cast<uint8_t>(DType::f32);
    launch.batch = 2;
    launch.groups = 1;
    launch.channels = 3;
    launch.outputs = 4;
    launch.extents = {8, 8};
    launch.window = {3, 3};
    launch.places = {6, 6};
    launch.stride = launch.base_dilation = launch.window_dilation = {1, 1};
    launch.low = {0, 0};
    launch.winograd = true;
    launch.a = place(a, {192, 0, 64, 8, 1});
    launch.w = place(w, {0, 27, 9, 3, 1});
    launch.y = place(y, {144, 0, 36, 6, 1});
    change(launch);
    b.launch("convolution").op.Set(std::move(launch));
    const std::vector<std::byte> bytes = b.bytes();
    const Expected<const fb::Plan *> plan = read_plan(bytes);
    return plan ? verify_plan(**plan, 0, nullptr) : plan.status();
  };
  const Status good = verify([](auto &) {});
  EXPECT_TRUE(good.ok()) << good.message();
  const std::function<void(fb::ConvolutionLaunchT &)> changes[] = {
      [](auto &c) { c.window = {2, 3}; }, [](auto &c) { c.stride = {1, 2}, c.places = {6, 3}; },
      [](auto &c) { c.window_dilation = {1, 2}, c.places = {6, 4}; }};
  for (const auto &change : changes) {
    const Status status = verify(change);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.message().find("has Winograd's method for another convolution"), std::string::npos)
        << status.message();
  }
}

} // namespace
