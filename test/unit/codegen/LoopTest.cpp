//===- LoopTest.cpp - Elementwise kernels against the interpreter ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ExecuteHarness.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace weft::testing {
namespace {

/// `text` with $N replaced by `size` and $T by `type`.
std::string with(const std::string &text, int64_t size, const std::string &type = "f32") {
  return replaced(text, {{"$N", std::to_string(size)}, {"$T", type}});
}

void expectClose(const std::string &text, double units, double low = -2, double high = 2,
                 std::vector<int> inPlace = {}, double floor = 1e-30) {
  if (passedOver())
    return;
  FusedProgram program(text, ir::FusionKind::loop);
  ASSERT_TRUE(program.valid());
  auto arguments = program.randomArguments(7, low, high);
  auto expected = program.interpret(arguments);
  for (auto target : runnableTargets()) {
    auto found = program.run(arguments, target, inPlace);
    ASSERT_EQ(found.size(), expected.size()) << text;
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_LE(distance(expected[i], found[i], floor), units) << target.cpu() << "\n"
                                                               << text << "\n"
                                                               << program.kernelText;
  }
}

const int64_t sizes[] = {0, 1, 7, 15, 16, 17, 63, 64, 65, 1023, 1024, 1025, 9000};

TEST(Loop, ChainOverSizes) {
  for (int64_t size : sizes)
    expectClose(
        with(R"(weft.func @main(%x: tensor<$Nxf32, #cpu>, %y: tensor<$Nxf32, #cpu>) -> tensor<$Nxf32, #cpu> {
      %0 = weft.add %x, %y : tensor<$Nxf32, #cpu>
      %1 = weft.mul %0, %x : tensor<$Nxf32, #cpu>
      weft.return %1 : tensor<$Nxf32, #cpu>
    })",
             size),
        1, 1, 2);
}

/// Every unary op on every float type, in the range where it is defined.
TEST(Loop, FloatUnaries) {
  struct Case {
    const char *op;
    double units, low, high;
  };
  const Case cases[] = {
      {"neg", 0, -4, 4},    {"abs", 0, -4, 4},     {"sign", 0, -4, 4},     {"ceil", 0, -4, 4},
      {"floor", 0, -4, 4},  {"round", 0, -4, 4},   {"trunc", 0, -4, 4},    {"sqrt", 1, 0, 9},
      {"rsqrt", 2, 0.1, 9}, {"recip", 1, 0.1, 9},  {"exp", 2, -5, 5},      {"expm1", 3, -2, 2},
      {"log", 2, 0.1, 9},   {"log1p", 3, -0.5, 9}, {"sin", 3, -3, 3},      {"cos", 3, -1.4, 1.4},
      {"tanh", 5, -4, 4},   {"erf", 5, -3, 3},     {"sigmoid", 4, -5, 5},  {"tan", 4, -1.4, 1.4},
      {"asin", 2, -1, 1},   {"acos", 2, -1, 1},    {"atan", 2, -4, 4},     {"log2", 2, 0.1, 9},
      {"log10", 2, 0.1, 9}, {"exp2", 2, -5, 5},    {"sinh", 2, -4, 4},     {"cosh", 2, -4, 4},
      {"asinh", 2, -4, 4},  {"acosh", 2, 1.5, 9},  {"atanh", 2, -0.9, 0.9}};
  for (const char *type : {"f32", "f64", "f16", "bf16"})
    for (const Case &c : cases)
      expectClose(
          with(std::string("weft.func @main(%x: tensor<$Nx$T, #cpu>) -> tensor<$Nx$T, #cpu> {\n %0 = weft.") +
                   c.op + " %x : tensor<$Nx$T, #cpu>\n weft.return %0 : tensor<$Nx$T, #cpu>\n}",
               77, type),
          c.units, c.low, c.high);
}

/// sigmoid is no function of the math dialect: its bound is held here, over every exponent, subnormal results
/// too.
TEST(Loop, SigmoidStaysWithinItsBound) {
  constexpr int64_t size = 1 << 18;
  FusedProgram program(
      with("weft.func @main(%x: tensor<$Nxf32, #cpu>) -> tensor<$Nxf32, #cpu> {\n"
           " %0 = weft.sigmoid %x : tensor<$Nxf32, #cpu>\n weft.return %0 : tensor<$Nxf32, #cpu>\n}",
           size),
      ir::FusionKind::loop);
  ASSERT_TRUE(program.valid());
  ir::Literal x(DType::f32, {size});
  // Half of them are bit patterns 2^14 + 1 apart, the others lie evenly where the result is neither 0 nor 1.
  const int64_t half = size / 2;
  for (int64_t i = 0; i < half; ++i) {
    x.real[i] = llvm::bit_cast<float>(static_cast<uint32_t>(i) * 32771u);
    x.real[half + i] = static_cast<float>(-105 + 125.0 * static_cast<double>(i) / static_cast<double>(half));
  }
  for (auto target : runnableTargets()) {
    auto found = program.run({x}, target);
    double worst = 0, worstAt = 0;
    for (int64_t i = 0; i < size; ++i) {
      double exact = 1 / (1 + std::exp(-x.real[i])), y = found.at(0).real[i];
      if (std::isnan(x.real[i])) {
        EXPECT_TRUE(std::isnan(y));
        continue;
      }
      int exponent;
      std::frexp(exact, &exponent);
      double error = std::abs(y - exact) / std::ldexp(1.0, std::max(exponent, -125) - 24);
      EXPECT_TRUE(y >= 0 && y <= 1) << x.real[i] << " gave " << y;
      if (error > worst)
        worst = error, worstAt = x.real[i];
    }
    std::printf("sigmoid %s  max %.3f ULP at %a\n", target.cpu(), worst, worstAt);
    EXPECT_LE(worst, 4) << "at " << worstAt;
  }
}

TEST(Loop, Binaries) {
  for (const char *type : {"f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "ui8"})
    for (const char *op : {"add", "sub", "mul", "div", "max", "min", "rem", "mod"})
      expectClose(with(std::string("weft.func @main(%x: tensor<$Nx$T, #cpu>, %y: tensor<$Nx$T, #cpu>) -> "
                                   "tensor<$Nx$T, #cpu> {\n %0 = weft.") +
                           op + " %x, %y : tensor<$Nx$T, #cpu>\n weft.return %0 : tensor<$Nx$T, #cpu>\n}",
                       50, type),
                  1);
  for (const char *type : {"i1", "i8", "i16", "i32", "i64", "ui8"})
    for (const char *op : {"and", "or", "xor"})
      expectClose(with(std::string("weft.func @main(%x: tensor<$Nx$T, #cpu>, %y: tensor<$Nx$T, #cpu>) -> "
                                   "tensor<$Nx$T, #cpu> {\n %0 = weft.") +
                           op + " %x, %y : tensor<$Nx$T, #cpu>\n weft.return %0 : tensor<$Nx$T, #cpu>\n}",
                       50, type),
                  0);
  for (const char *type : {"i8", "i16", "i32", "i64", "ui8"})
    expectClose(
        with("weft.func @main(%x: tensor<$Nx$T, #cpu>, %y: tensor<$Nx$T, #cpu>) -> tensor<$Nx$T, #cpu> {\n"
             " %0 = weft.pow %x, %y : tensor<$Nx$T, #cpu>\n weft.return %0 : tensor<$Nx$T, #cpu>\n}",
             50, type),
        0, -4, 9);
  for (const char *type : {"f32", "f64", "f16", "bf16"}) {
    for (const char *op : {"atan2", "copysign", "after"})
      expectClose(with(std::string("weft.func @main(%x: tensor<$Nx$T, #cpu>, %y: tensor<$Nx$T, #cpu>) -> "
                                   "tensor<$Nx$T, #cpu> {\n %0 = weft.") +
                           op + " %x, %y : tensor<$Nx$T, #cpu>\n weft.return %0 : tensor<$Nx$T, #cpu>\n}",
                       50, type),
                  3);
    expectClose(
        with("weft.func @main(%x: tensor<$Nx$T, #cpu>, %y: tensor<$Nx$T, #cpu>) -> tensor<$Nx$T, #cpu> {\n"
             " %0 = weft.fma %x, %y, %x : tensor<$Nx$T, #cpu>\n weft.return %0 : tensor<$Nx$T, #cpu>\n}",
             50, type),
        1);
  }
  for (const char *type : {"f32", "f64"})
    expectClose(
        with("weft.func @main(%x: tensor<$Nx$T, #cpu>, %y: tensor<$Nx$T, #cpu>) -> tensor<$Nx$T, #cpu> {\n"
             " %0 = weft.pow %x, %y : tensor<$Nx$T, #cpu>\n weft.return %0 : tensor<$Nx$T, #cpu>\n}",
             50, type),
        4, 0.1, 4);
}

TEST(Loop, ComparisonsAndSelect) {
  for (const char *type : {"f32", "f64", "f16", "bf16", "i8", "i32", "i64", "ui8"})
    for (const char *op : {"eq", "ne", "lt", "le", "gt", "ge"})
      expectClose(with(std::string("weft.func @main(%x: tensor<$Nx$T, #cpu>, %y: tensor<$Nx$T, #cpu>) -> "
                                   "(tensor<$Nxi1, #cpu>, tensor<$Nx$T, #cpu>) {\n %0 = weft.") +
                           op +
                           " %x, %y : tensor<$Nx$T, #cpu>\n"
                           " %1 = weft.select %0, %x, %y : tensor<$Nxi1, #cpu>, tensor<$Nx$T, #cpu>\n"
                           " weft.return %0, %1 : tensor<$Nxi1, #cpu>, tensor<$Nx$T, #cpu>\n}",
                       35, type),
                  0);
}

TEST(Loop, Conversions) {
  const char *types[] = {"i1", "i8", "i16", "i32", "i64", "ui8", "f16", "bf16", "f32", "f64"};
  for (const char *from : types)
    for (const char *to : types)
      expectClose(with(std::string("weft.func @main(%x: tensor<$Nx$T, #cpu>) -> tensor<$Nx") + to +
                           ", #cpu> {\n %0 = weft.convert %x to " + to +
                           " : tensor<$Nx$T, #cpu>\n weft.return %0 : tensor<$Nx" + to + ", #cpu>\n}",
                       37, from),
                  0, -300, 300);
}

TEST(Loop, BroadcastsOfEveryKind) {
  for (int64_t size : {1, 3, 16, 17, 64, 100})
    expectClose(
        with(
            R"(weft.func @main(%x: tensor<5x$Nxf32, #cpu>, %r: tensor<$Nxf32, #cpu>, %c: tensor<5x1xf32, #cpu>,
        %s: tensor<f32, #cpu>) -> tensor<5x$Nxf32, #cpu> {
      %0 = weft.broadcast_in_dim %r, dims = [1] : tensor<$Nxf32, #cpu> -> tensor<5x$Nxf32, #cpu>
      %1 = weft.broadcast_in_dim %c, dims = [0, 1] : tensor<5x1xf32, #cpu> -> tensor<5x$Nxf32, #cpu>
      %2 = weft.full %s, shape = [5, $N] : tensor<f32, #cpu>
      %3 = weft.add %x, %0 : tensor<5x$Nxf32, #cpu>
      %4 = weft.mul %3, %1 : tensor<5x$Nxf32, #cpu>
      %5 = weft.max %4, %2 : tensor<5x$Nxf32, #cpu>
      weft.return %5 : tensor<5x$Nxf32, #cpu>
    })",
            size),
        2, 0.5, 2);
}

TEST(Loop, ViewsCompose) {
  expectClose(
      R"(weft.func @main(%x: tensor<6x35xf32, #cpu>, %y: tensor<70x3xf32, #cpu>, %z: tensor<7xf32, #cpu>)
      -> tensor<5x42xf32, #cpu> {
    %0 = weft.reshape %x : tensor<6x35xf32, #cpu> -> tensor<5x42xf32, #cpu>
    %1 = weft.transpose %y, perm = [1, 0] : tensor<70x3xf32, #cpu>
    %2 = weft.reshape %1 : tensor<3x70xf32, #cpu> -> tensor<5x42xf32, #cpu>
    %3 = weft.add %0, %2 : tensor<5x42xf32, #cpu>
    %4 = weft.broadcast_in_dim %z, dims = [2] : tensor<7xf32, #cpu> -> tensor<5x6x7xf32, #cpu>
    %5 = weft.reshape %4 : tensor<5x6x7xf32, #cpu> -> tensor<5x42xf32, #cpu>
    %6 = weft.mul %3, %5 : tensor<5x42xf32, #cpu>
    weft.return %6 : tensor<5x42xf32, #cpu>
  })",
      2, 0.5, 2);
  expectClose(R"(weft.func @main(%x: tensor<9x40xf32, #cpu>) -> tensor<4x19xf32, #cpu> {
    %0 = weft.slice %x, start = [1, 2], limit = [9, 40], step = [2, 2] : tensor<9x40xf32, #cpu>
    weft.return %0 : tensor<4x19xf32, #cpu>
  })",
              0);
  expectClose(R"(weft.func @main(%x: tensor<4x20xf32, #cpu>) -> tensor<9x45xf32, #cpu> {
    %0 = weft.pad %x, low = [1, 3], high = [1, 3], interior = [1, 1] : tensor<4x20xf32, #cpu>
    weft.return %0 : tensor<9x45xf32, #cpu>
  })",
              0);
  expectClose(R"(weft.func @main(%x: tensor<20x32xi32, #cpu>) -> tensor<20x32xi32, #cpu> {
    %0 = weft.iota dim = 0 : tensor<20x32xi32, #cpu>
    %1 = weft.iota dim = 1 : tensor<20x32xi32, #cpu>
    %2 = weft.mul %0, %1 : tensor<20x32xi32, #cpu>
    %3 = weft.add %2, %x : tensor<20x32xi32, #cpu>
    weft.return %3 : tensor<20x32xi32, #cpu>
  })",
              0);
}

/// The ops before and after a slice that begins at 0 have domains with different row lengths.
TEST(Loop, SlicesBetweenElementwiseOps) {
  expectClose(
      R"(weft.func @main(%x: tensor<3x3x3xi32, #cpu>, %y: tensor<3x3x3xi32, #cpu>) -> tensor<3x3x2xi32, #cpu> {
      %0 = weft.min %x, %y : tensor<3x3x3xi32, #cpu>
      %1 = weft.slice %0, start = [0, 0, 0], limit = [3, 3, 2], step = [1, 1, 1] : tensor<3x3x3xi32, #cpu>
      %2 = weft.bnot %1 : tensor<3x3x2xi32, #cpu>
      weft.return %2 : tensor<3x3x2xi32, #cpu>
    })",
      0, 1, 2);
}

/// Windows with padding on every side. The last vector of a row overlaps the one before it, tasks begin and
/// end within rows, and rows may be shorter than a vector.
TEST(Loop, PaddedWindowsOfRowsOfAnyLength) {
  for (const char *type : {"f32", "f64", "i32", "f16"})
    for (int64_t n : {3, 15, 16, 17, 20, 28, 31, 33, 47, 100, 130}) {
      const std::string wide = std::to_string(2 * n - 1), padded = std::to_string(2 * n + 2),
                        last = std::to_string(2 * n + 1);
      const std::string zero = std::string(type) == "i32" ? "1" : "1.0";
      expectClose(
          replaced(with(R"(weft.func @main(%x: tensor<60x9x$Wx$T, #cpu>) -> tensor<60x5x$Nx$T, #cpu> {
        %c = weft.constant dense<$Z> : tensor<$T, #cpu>
        %p = weft.pad %x value %c, low = [0, 1, 1], high = [0, 2, 2], interior = [0, 0, 0] : tensor<60x9x$Wx$T, #cpu>, tensor<$T, #cpu>
        %0 = weft.slice %p, start = [0, 0, 0], limit = [60, 9, $W], step = [1, 2, 2] : tensor<60x12x$Px$T, #cpu>
        %1 = weft.slice %p, start = [0, 1, 1], limit = [60, 10, $V], step = [1, 2, 2] : tensor<60x12x$Px$T, #cpu>
        %2 = weft.slice %p, start = [0, 2, 2], limit = [60, 11, $L], step = [1, 2, 2] : tensor<60x12x$Px$T, #cpu>
        %3 = weft.max %0, %1 : tensor<60x5x$Nx$T, #cpu>
        %4 = weft.min %3, %2 : tensor<60x5x$Nx$T, #cpu>
        weft.return %4 : tensor<60x5x$Nx$T, #cpu>
      })",
                        n, type),
                   {{"$W", wide}, {"$P", padded}, {"$L", last}, {"$V", std::to_string(2 * n)}, {"$Z", zero}}),
          0);
    }
}

/// The gather has one dimension where the values that its index is computed from have two: the rows of the
/// loop are those of the values. The index is computed in vectors, also where rows are shorter than a vector.
TEST(Loop, GathersByComputedIndices) {
  for (const char *type : {"f32", "f64"})
    for (int64_t n : {5, 16, 20, 28, 33, 64, 150})
      expectClose(
          replaced(
              with(
                  R"(weft.func @main(%x: tensor<40x$Mx$T, #cpu>, %a: tensor<40x3x$Nx$T, #cpu>, %w: tensor<3x$Nx$T, #cpu>) -> (tensor<40x$Lx$T, #cpu>, tensor<40x$Lxi64, #cpu>) {
        %c = weft.constant dense<7> : tensor<40x3x$Nxi64, #cpu>
        %d = weft.constant dense<2> : tensor<40x3x$Nxi64, #cpu>
        %b = weft.broadcast_in_dim %w, dims = [1, 2] : tensor<3x$Nx$T, #cpu> -> tensor<40x3x$Nx$T, #cpu>
        %0 = weft.gt %a, %b : tensor<40x3x$Nx$T, #cpu>
        %1 = weft.select %0, %c, %d : tensor<40x3x$Nxi1, #cpu>, tensor<40x3x$Nxi64, #cpu>
        %2 = weft.iota dim = 2 : tensor<40x3x$Nxi64, #cpu>
        %3 = weft.add %1, %2 : tensor<40x3x$Nxi64, #cpu>
        %4 = weft.reshape %3 : tensor<40x3x$Nxi64, #cpu> -> tensor<40x$Lxi64, #cpu>
        %5 = weft.gather %x, %4, dim = 1, kind = along mode = assume : tensor<40x$Mx$T, #cpu>, tensor<40x$Lxi64, #cpu>
        weft.return %5, %4 : tensor<40x$Lx$T, #cpu>, tensor<40x$Lxi64, #cpu>
      })",
                  n, type),
              {{"$M", std::to_string(n + 7)}, {"$L", std::to_string(3 * n)}}),
          0);
}

/// Of the pairs of zeros, infinities, and values that are no numbers, in vectors.
TEST(Loop, ExtremesOfSpecialValues) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const double special[] = {0.0, -0.0, nan, inf, -inf, 1.0, -1.0};
  for (const char *type : {"f32", "f64"}) {
    FusedProgram program(with(R"(weft.func @main(%x: tensor<$Nx$T, #cpu>, %y: tensor<$Nx$T, #cpu>)
        -> (tensor<$Nx$T, #cpu>, tensor<$Nx$T, #cpu>) {
      %0 = weft.max %x, %y : tensor<$Nx$T, #cpu>
      %1 = weft.min %x, %y : tensor<$Nx$T, #cpu>
      weft.return %0, %1 : tensor<$Nx$T, #cpu>, tensor<$Nx$T, #cpu>
    })",
                              98, type),
                         ir::FusionKind::loop);
    ASSERT_TRUE(program.valid());
    auto arguments = program.randomArguments(7);
    for (size_t i = 0; i < 98; ++i) {
      arguments[0].real[i] = special[i % 7];
      arguments[1].real[i] = special[i / 7 % 7];
    }
    for (auto target : runnableTargets()) {
      auto found = program.run(arguments, target);
      for (size_t i = 0; i < 98; ++i) {
        const double a = special[i % 7], b = special[i / 7 % 7];
        const bool isNan = std::isnan(a) || std::isnan(b);
        const double most = std::signbit(a) ? std::max(b, a) : std::max(a, b),
                     least = std::signbit(a) ? std::min(a, b) : std::min(b, a);
        for (auto [result, expected] : {std::pair(found[0].real[i], most), {found[1].real[i], least}}) {
          EXPECT_EQ(std::isnan(result), isNan) << a << " and " << b;
          if (!isNan) {
            EXPECT_EQ(result, expected) << a << " and " << b;
            EXPECT_EQ(std::signbit(result), std::signbit(expected)) << a << " and " << b;
          }
        }
      }
    }
  }
}

/// Functions of several steps round once; at -15 a step in f16 would overflow.
TEST(Loop, HalvesRoundOnceAnOp) {
  for (const char *type : {"f16", "bf16", "f32"})
    expectClose(with("weft.func @main(%x: tensor<$Nx$T, #cpu>) -> tensor<$Nx$T, #cpu> {\n"
                     " %0 = weft.sigmoid %x : tensor<$Nx$T, #cpu>\n"
                     " weft.return %0 : tensor<$Nx$T, #cpu>\n}",
                     77, type),
                4, -16, -14, {}, type[1] == '1' ? 0x1p-14 : 1e-30);
}

/// A bf16 that is only moved is bits.
TEST(Loop, ScalarsOfBf16) {
  expectClose(R"(weft.func @main(%x: tensor<bf16, #cpu>, %y: tensor<5xbf16, #cpu>)
          -> (tensor<7xbf16, #cpu>, tensor<7xbf16, #cpu>) {
      %0 = weft.full %x, shape = [7] : tensor<bf16, #cpu>
      %1 = weft.pad %y, low = [1], high = [1], interior = [0] : tensor<5xbf16, #cpu>
      weft.return %0, %1 : tensor<7xbf16, #cpu>, tensor<7xbf16, #cpu>
    })",
              0, -2, 2);
}

TEST(Loop, TransposedOperands) {
  for (int64_t size : {16, 31, 64, 100, 130})
    for (const char *type : {"f32", "f64", "bf16", "i8", "i1"})
      expectClose(with(R"(weft.func @main(%x: tensor<2x$Nx70x$T, #cpu>, %y: tensor<2x70x$Nx$T, #cpu>)
          -> tensor<2x70x$Nxi1, #cpu> {
        %0 = weft.transpose %x, perm = [0, 2, 1] : tensor<2x$Nx70x$T, #cpu>
        %1 = weft.lt %0, %y : tensor<2x70x$Nx$T, #cpu>
        weft.return %1 : tensor<2x70x$Nxi1, #cpu>
      })",
                       size, type),
                  0);
}

TEST(Loop, PhiloxIsOneStreamWhateverTheShape) {
  for (int64_t size : {1, 5, 16, 33, 64, 1000})
    expectClose(
        with(R"(weft.func @main(%k: tensor<i64, #cpu>, %c: tensor<i64, #cpu>) -> tensor<3x$Nxi32, #cpu> {
      %0, %1 = weft.rng_bits_philox %k, %c, shape = [3, $N] stream = 5 : tensor<i64, #cpu>
      weft.return %0 : tensor<3x$Nxi32, #cpu>
    })",
             size),
        0);
  expectClose(R"(weft.func @main(%k: tensor<i64, #cpu>, %c: tensor<i64, #cpu>) -> tensor<i64, #cpu> {
    %0, %1 = weft.rng_bits_philox %k, %c, shape = [3, 7] : tensor<i64, #cpu>
    weft.return %1 : tensor<i64, #cpu>
  })",
              0);
  // Rows of 20 taken out of a larger field: vectors begin inside of a block of four.
  expectClose(R"(weft.func @main(%k: tensor<i64, #cpu>, %c: tensor<i64, #cpu>) -> tensor<7x22xi32, #cpu> {
    %0, %1 = weft.rng_bits_philox %k, %c, shape = [7, 23] : tensor<i64, #cpu>
    %2 = weft.slice %0, start = [0, 1], limit = [7, 23], step = [1, 1] : tensor<7x23xi32, #cpu>
    weft.return %2 : tensor<7x22xi32, #cpu>
  })",
              0);
}

TEST(Loop, Gathers) {
  expectClose(
      R"(weft.func @main(%t: tensor<8x48xf32, #cpu>, %i: tensor<5xi64, #cpu>) -> tensor<5x48xf32, #cpu> {
    %0 = weft.gather %t, %i, dim = 0, kind = points : tensor<8x48xf32, #cpu>, tensor<5xi64, #cpu>
    weft.return %0 : tensor<5x48xf32, #cpu>
  })",
      0);
  expectClose(
      R"(weft.func @main(%t: tensor<40x8xf32, #cpu>, %i: tensor<40x1xi32, #cpu>) -> tensor<40xf32, #cpu> {
    %0 = weft.gather %t, %i, dim = 1, kind = along : tensor<40x8xf32, #cpu>, tensor<40x1xi32, #cpu>
    %1 = weft.reshape %0 : tensor<40x1xf32, #cpu> -> tensor<40xf32, #cpu>
    weft.return %1 : tensor<40xf32, #cpu>
  })",
      0);
}

TEST(Loop, GatherReportsTheFirstIndexOutOfRange) {
  FusedProgram program(
      R"(weft.func @main(%t: tensor<8x48xf32, #cpu>, %i: tensor<30xi64, #cpu>) -> tensor<30x48xf32, #cpu> {
    %0 = weft.gather %t, %i, dim = 0, kind = points : tensor<8x48xf32, #cpu>, tensor<30xi64, #cpu>
    weft.return %0 : tensor<30x48xf32, #cpu>
  })",
      ir::FusionKind::loop);
  auto arguments = program.randomArguments(3);
  for (auto target : runnableTargets()) {
    program.run(arguments, target);
    EXPECT_EQ(program.check.check, 0);
    auto bad = arguments;
    bad[1].setWhole(17, -1);
    bad[1].setWhole(11, 8);
    bad[1].setWhole(29, 1000);
    program.run(bad, target);
    EXPECT_EQ(program.check.check, 1);
    EXPECT_EQ(program.check.position, 11);
    EXPECT_EQ(program.check.value, 8);
  }
}

TEST(Loop, InPlace) {
  for (int64_t size : {5, 64, 9000})
    expectClose(with(R"(weft.func @main(%x: tensor<$Nxf32, #cpu>, %y: tensor<$Nxf32, #cpu>)
        -> (tensor<$Nxf32, #cpu>, tensor<$Nxf32, #cpu>) {
      %0 = weft.add %x, %y : tensor<$Nxf32, #cpu>
      %1 = weft.mul %x, %y : tensor<$Nxf32, #cpu>
      weft.return %0, %1 : tensor<$Nxf32, #cpu>, tensor<$Nxf32, #cpu>
    })",
                     size),
                1, 0.5, 2, {1, 0});
}

} // namespace
} // namespace weft::testing
