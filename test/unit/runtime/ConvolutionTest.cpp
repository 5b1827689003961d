//===- ConvolutionTest.cpp - Convolutions against plain loops -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvolutionOperands.h"
#include "PlanFixture.h"

#include "runtime/gemm/Convolution.h"
#include "runtime/plan/PlanVerifier.h"
#include "runtime/plan/plan_generated.h"
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

constexpr std::array<size_t, 6> rowMajor = {0, 1, 2, 3, 4, 5}, exchanged = {2, 1, 0, 3, 4, 5};

void lay_out(ConvolutionShape &s) {
  s.a = ordered(s.a_extents(), rowMajor);
  s.w = ordered(s.w_extents(), rowMajor);
  s.y = ordered(s.y_extents(), rowMajor);
}

/// Calls `body` with every index below the extents.
template <typename Body> void for_each(const Extents &extents, const Body &body) {
  Extents index{};
  for (int64_t i = 0; i < count_of(extents); ++i) {
    body(index);
    for (size_t d = 6; d-- > 0 && ++index[d] == extents[d];)
      index[d] = 0;
  }
}

int64_t at(const ConvolutionPlace &place, const Extents &index) {
  int64_t element = place.offset;
  for (size_t d = 0; d < 6; ++d)
    element += index[d] * place.strides[d];
  return element;
}

/// A convolution of random numbers, and its sums in double precision.
struct Problem : ConvolutionOperands {
  using ConvolutionOperands::ConvolutionOperands;

  double work() const {
    return static_cast<double>(count_of(shape.y_extents())) *
           static_cast<double>(count_of(shape.w_extents()) / shape.groups / shape.outputs);
  }

  /// The sum of an element, and of the magnitudes of its products.
  std::pair<double, double> element(const Extents &index) const {
    double sum = 0, size = 0;
    const ConvolutionShape &s = shape;
    for_each({1, 1, s.channels, s.window[0], s.window[1], s.window[2]}, [&](const Extents &term) {
      Extents from = {index[0], index[1], term[2]};
      bool meets = true;
      for (size_t d = 0; d < 3; ++d) {
        const int64_t place = index[3 + d] * s.stride[d] + term[3 + d] * s.window_dilation[d] - s.low[d];
        meets = meets && place >= 0 && place % s.base_dilation[d] == 0 &&
                place / s.base_dilation[d] < s.extents[d];
        from[3 + d] = place / s.base_dilation[d];
      }
      const double by =
          w[static_cast<size_t>(at(s.w, {index[1], index[2], term[2], term[3], term[4], term[5]}))];
      if (!meets && s.is_dilated())
        return;
      const double product = meets ? by * a[static_cast<size_t>(at(s.a, from))] : by * 0;
      sum += product;
      size += std::abs(product);
    });
    return {sum, size};
  }
};

void expect_sums(const Problem &problem, const std::vector<float> &y) {
  const ConvolutionShape &s = problem.shape;
  const double terms = static_cast<double>(s.channels * s.window[0] * s.window[1] * s.window[2]);
  // All elements of small results, and a part of the others, whose bits are compared.
  const auto step = static_cast<int64_t>(1 + problem.work() / 1e6);
  int64_t number = 0;
  for_each(s.y_extents(), [&](const Extents &index) {
    if (number++ % step != 0)
      return;
    const auto [sum, size] = problem.element(index);
    const double found = y[static_cast<size_t>(at(s.y, index))];
    if (std::isfinite(sum)) {
      ASSERT_NEAR(found, sum, terms * 0x1p-24 * size);
    } else if (std::isnan(sum)) {
      ASSERT_TRUE(std::isnan(found)) << found;
    } else {
      ASSERT_EQ(found, sum);
    }
  });
}

/// Sums, and the same bits for any threads and processors.
void check(const Problem &problem) {
  const CpuLevel best = cpu_level();
  const std::vector<float> y = problem.run(false, best);
  expect_sums(problem, y);
  for (const CpuLevel level : {CpuLevel::baseline, CpuLevel::v3, CpuLevel::v4}) {
    // Without instructions for it, a fused multiply-add is a slow function.
    const bool slow = level == CpuLevel::baseline && problem.work() > 2e6;
    if (level > best || slow)
      continue;
    const std::vector<float> again = problem.run(true, level);
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_TRUE(std::memcmp(&y[i], &again[i], sizeof(float)) == 0 ||
                  (std::isnan(y[i]) && std::isnan(again[i])))
          << "level " << static_cast<int>(level) << ", element " << i << ": " << y[i] << ", " << again[i];
  }
}

/// A shape of one to three extents; `dilated`, with zeros between elements.
ConvolutionShape random_shape(std::mt19937 &random, bool dilated) {
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  ConvolutionShape s;
  const int64_t extents = pick(1, 3);
  s.batch = pick(1, 4);
  s.groups = pick(0, 2) ? 1 : pick(2, 3);
  s.channels = pick(0, 7) ? pick(1, 12) : pick(100, 160);
  s.outputs = pick(0, 7) ? pick(1, 40) : pick(100, 140);
  for (auto d = static_cast<size_t>(3 - extents); d < 3; ++d) {
    s.extents[d] = pick(1, extents == 1 ? 150 : extents == 2 ? 18 : 5);
    s.window[d] = pick(0, 3) ? pick(1, 4) : pick(1, extents == 1 ? 100 : extents == 2 ? 8 : 4);
    s.window_dilation[d] = pick(0, 2) ? 1 : pick(2, 3);
    s.low[d] = pick(-2, 4);
    (dilated && pick(0, 1) ? s.base_dilation : s.stride)[d] = dilated ? pick(2, 4) : pick(1, 3);
    const int64_t window = (s.window[d] - 1) * s.window_dilation[d] + 1;
    const int64_t whole =
        std::max(window, (s.extents[d] - 1) * s.base_dilation[d] + 1 + s.low[d] + pick(-2, 4));
    s.places[d] = (whole - window) / s.stride[d] + 1;
  }
  lay_out(s);
  if (pick(0, 2) == 0)
    s.a = ordered(s.a_extents(), exchanged);
  if (pick(0, 2) == 0)
    s.y = ordered(s.y_extents(), {1, 2, 0, 3, 4, 5});
  if (pick(0, 2) == 0)
    s.w = ordered(s.w_extents(), {0, 2, 1, 3, 4, 5});
  for (size_t d = 3; d < 6 && pick(0, 1); ++d) { // a reversed window
    s.w.offset += (s.w_extents()[d] - 1) * s.w.strides[d];
    s.w.strides[d] = -s.w.strides[d];
  }
  return s;
}

TEST(ImplicitGemm, RandomShapes) {
  for (uint32_t seed = 0; seed < 24; ++seed) {
    std::mt19937 random(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    check(Problem(random_shape(random, seed % 3 == 2), seed));
    if (HasFatalFailure())
      return;
  }
}

/// The padding is an element: an infinite weight times its zero is NaN. With zeros between elements, a weight
/// meets elements alone.
TEST(ImplicitGemm, SpecialValues) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem(random_shape(random, seed % 2 == 1), seed);
    problem.w[random() % problem.w.size()] = infinity;
    problem.a[random() % problem.a.size()] = seed % 3 ? -infinity : NAN;
    check(problem);
    if (HasFatalFailure())
      return;
  }
}

/// Every step has the bits of an op of its own after the convolution without steps.
TEST(ImplicitGemm, StepsAreRoundedAsOpsOfTheirOwn) {
  using enum ConvolutionStep;
  const std::vector<std::vector<ConvolutionStep>> epilogues = {
      {add}, {relu}, {sub, mul, mul, add, residual, relu}, {residual, sub, relu}, {mul, residual, residual}};
  for (uint32_t seed = 0; seed < 24; ++seed) {
    std::mt19937 random(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ConvolutionShape plain = random_shape(random, seed % 3 == 2);
    ConvolutionShape shape = plain;
    shape.steps = epilogues[seed % epilogues.size()];
    Problem problem(shape, seed);
    if (seed % 4 == 3) // these of a dilated convolution are computed term by term
      problem.w[random() % problem.w.size()] = infinity;
    const std::vector<float> found = problem.run(false, cpu_level());
    Problem without = problem;
    without.shape = plain;
    std::vector<float> expected = without.run(true, cpu_level());
    size_t next = 0;
    for (const ConvolutionStep step : shape.steps) {
      const std::vector<float> *read = step == relu ? nullptr : &problem.beside[next++];
      for_each(plain.y_extents(), [&](const Extents &index) {
        const auto place = static_cast<size_t>(at(plain.y, index));
        const auto output = static_cast<size_t>(index[1] * plain.outputs + index[2]);
        float &y = expected[place];
        y = step == add        ? y + (*read)[output]
            : step == sub      ? y - (*read)[output]
            : step == mul      ? y * (*read)[output]
            : step == residual ? y + (*read)[place]
            : std::isnan(y)    ? y
                               : std::max(y, 0.0f);
      });
    }
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
          << "element " << i << ": " << found[i] << ", " << expected[i];
  }
}

/// Of a convolution whose terms are inner, and of one whose sums are parts that are added.
TEST(ImplicitGemm, StepsOfLongSums) {
  for (const int64_t batch : {2, 300}) {
    ConvolutionShape s;
    s.batch = batch;
    s.channels = 90;
    s.outputs = 35;
    s.extents = {1, 5, 5};
    s.window = {1, 4, 4};
    s.places = {1, 2, 2};
    lay_out(s);
    Problem plain(s, 1);
    s.steps = {ConvolutionStep::mul, ConvolutionStep::residual, ConvolutionStep::relu};
    const Problem problem(s, 1);
    plain.a = problem.a;
    plain.w = problem.w;
    const std::vector<float> sums = plain.run(true, cpu_level()), found = problem.run(false, cpu_level());
    for_each(s.y_extents(), [&](const Extents &index) {
      const auto place = static_cast<size_t>(at(s.y, index));
      const float scaled = sums[place] * problem.beside[0][static_cast<size_t>(index[2])];
      EXPECT_EQ(found[place], std::max(scaled + problem.beside[1][place], 0.0f));
    });
  }
}

/// Long sums of few places are cut, and their parts added.
TEST(ImplicitGemm, LongSums) {
  ConvolutionShape s;
  s.batch = 5;
  s.channels = 3;
  s.outputs = 19;
  s.extents = {1, 34, 34};
  s.window = {1, 32, 32};
  s.places = {1, 3, 3};
  lay_out(s);
  s.y = ordered(s.y_extents(), {1, 2, 0, 3, 4, 5});
  check(Problem(s, 1));
}

/// Places that fill registers, and rows of places that are a half or a quarter of one, or no such part.
TEST(ImplicitGemm, PlacesInRegisters) {
  for (const int64_t width : {16, 32, 48, 8, 4, 17})
    for (const int64_t stride : {1, 2})
      for (const int64_t window : {3, 1}) {
        if (stride == 2 && width > 17)
          continue;
        ConvolutionShape s;
        s.batch = stride == 2 ? 1 : 3;
        s.channels = 45;
        s.outputs = 13;
        s.extents = {1, stride * width, stride * width};
        s.window = {1, window, window};
        s.places = {1, width, width};
        s.stride = {1, stride, stride};
        s.low = {0, window / 2, window / 2};
        lay_out(s);
        SCOPED_TRACE("width " + std::to_string(width) + ", stride " + std::to_string(stride) + ", window " +
                     std::to_string(window));
        check(Problem(s, 1));
      }
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

std::unique_ptr<fb::MatrixPlaceT> place_in(uint32_t buffer, std::vector<int64_t> strides) {
  auto place = std::make_unique<fb::MatrixPlaceT>();
  place->buffer = buffer;
  place->strides = std::move(strides);
  return place;
}

/// y[2,4,6] of a[2,3,8] and w[4,3,3], times a vector, and its relu.
PlanBuilder convolution_plan() {
  PlanBuilder b;
  b.argument("a", DType::f32, {2, 3, 8});
  b.argument("w", DType::f32, {4, 3, 3});
  b.argument("scale", DType::f32, {4});
  b.result("y", DType::f32, {2, 4, 6});
  const uint32_t a = b.buffer(fb::Storage::argument, 0, 0, 192),
                 w = b.buffer(fb::Storage::argument, 1, 0, 144), y = b.buffer(fb::Storage::result, 0, 0, 192),
                 scale = b.buffer(fb::Storage::argument, 2, 0, 16);
  fb::ConvolutionLaunchT launch;
  launch.dtype = static_cast<uint8_t>(DType::f32);
  launch.batch = 2;
  launch.groups = 1;
  launch.channels = 3;
  launch.outputs = 4;
  launch.extents = {8};
  launch.window = {3};
  launch.places = {6};
  launch.stride = launch.base_dilation = launch.window_dilation = {1};
  launch.low = {0};
  launch.a = place_in(a, {24, 0, 8, 1});
  launch.w = place_in(w, {0, 9, 3, 1});
  launch.y = place_in(y, {24, 0, 6, 1});
  launch.steps = {static_cast<uint8_t>(ConvolutionStep::mul), static_cast<uint8_t>(ConvolutionStep::relu)};
  launch.beside = {scale};
  b.launch("convolution").op.Set(std::move(launch));
  return b;
}

TEST(ImplicitGemm, PlansAreProven) {
  const auto verify = [](const PlanBuilder &builder) {
    const std::vector<std::byte> bytes = builder.bytes();
    const Expected<const fb::Plan *> plan = read_plan(bytes);
    return plan ? verify_plan(**plan, 0, nullptr) : plan.status();
  };
  EXPECT_TRUE(verify(convolution_plan()).ok()) << verify(convolution_plan()).message();
  constexpr int64_t large = int64_t(1) << 41;
  const struct {
    const char *message;
    std::function<void(fb::ConvolutionLaunchT &)> damage;
  } cases[] = {
      {"has no convolution of element type number 9", [](auto &c) { c.dtype = 9; }},
      {"has no convolution of element type number 77", [](auto &c) { c.dtype = 77; }},
      {"has 0 extents, expected one to three", [](auto &c) { c.extents = {}; }},
      {"has 4 extents, expected one to three", [](auto &c) { c.extents = {1, 1, 1, 8}; }},
      {"not one number for each of 1 extents", [](auto &c) { c.low = {0, 0}; }},
      {"has misaligned strides, or not 4 of each tensor", [](auto &c) { c.a->strides = {1}; }},
      {"has misaligned strides, or not 4 of each tensor", [](auto &c) { c.w = nullptr; }},
      {"has numbers that are not positive or too large", [](auto &c) { c.groups = 0; }},
      {"has numbers that are not positive or too large", [](auto &c) { c.batch = int64_t(1) << 62; }},
      {"has numbers that are not positive or too large", [](auto &c) { c.stride = {0}; }},
      {"has numbers that are not positive or too large", [](auto &c) { c.low = {large}; }},
      {"has numbers that are not positive or too large", [](auto &c) { c.low = {INT64_MIN}; }},
      {"has a stride and a base dilation of one extent", [](auto &c) { c.stride = c.base_dilation = {2}; }},
      {"has windows that reach too far", [](auto &c) { c.stride = {int64_t(1) << 39}; }},
      {"has windows that reach too far", [](auto &c) { c.base_dilation = {65}; }},
      {": a is buffer 17 of 4", [](auto &c) { c.a->buffer = 17; }},
      {": a reaches beyond the 192 bytes of buffer 0", [](auto &c) { c.a->offset = 1; }},
      {": a reaches beyond the 192 bytes of buffer 0", [](auto &c) { c.extents = {9}; }},
      {": w reaches beyond the 144 bytes of buffer 1", [](auto &c) { c.w->strides[3] = -1; }},
      {": w reaches beyond the 144 bytes of buffer 1", [](auto &c) { c.w->strides[1] = INT64_MAX; }},
      {": y reaches beyond the 192 bytes of buffer 2", [](auto &c) { c.places = {7}; }},
      {": y reaches beyond the 192 bytes of buffer 2",
       [](auto &c) {
         c.y->offset = 5;
         c.y->strides[3] = -1;
       }},
      {": y has elements that share memory: stride 5, reach 5", [](auto &c) { c.y->strides[2] = 5; }},
      {": y overlaps an operand", [](auto &c) { c.a->buffer = 2; }},
      {"has 9 steps, expected at most 8", [](auto &c) { c.steps.assign(9, 4); }},
      {"has a step of kind number 6", [](auto &c) { c.steps = {6}; }},
      {"has a sum that stays f32, of a type that is no half", [](auto &c) { c.steps = {5}; }},
      {"has steps that read 2 operands, found 1", [](auto &c) { c.steps = {0, 1}; }},
      {"has steps that read 0 operands, found 1", [](auto &c) { c.steps = {}; }},
      {": operand 0 of a step is buffer 9 of 4", [](auto &c) { c.beside = {9}; }},
      {": operand 0 of a step reaches beyond the 16 bytes of buffer 3", [](auto &c) { c.steps = {3}; }},
      {": y overlaps an operand of a step", [](auto &c) { c.beside = {2}; }},
  };
  for (const auto &each : cases) {
    PlanBuilder b = convolution_plan();
    each.damage(*b.plan.launches[0]->op.AsConvolutionLaunch());
    const Status status = verify(b);
    ASSERT_FALSE(status.ok()) << each.message;
    EXPECT_NE(status.message().find(each.message), std::string::npos) << status.message();
  }
}

} // namespace
