//===- ContractionTest.cpp - Products against plain loops -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/gemm/Contraction.h"
#include "runtime/gemm/ContractionBlocks.h"
#include "runtime/gemm/Gemm.h"
#include "runtime/plan/Image.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

// Element types by DType: storage, reading to double and exactly as the accumulator, writing.
uint16_t to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
float from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

struct Matrix {
  DType dtype;
  std::vector<std::byte> bytes;
  Matrix(DType dtype, int64_t count) : dtype(dtype), bytes(static_cast<size_t>(count) * itemsize(dtype)) {}
  template <typename T> T &at(int64_t i) { return reinterpret_cast<T *>(bytes.data())[i]; }
  double get(int64_t i) {
    switch (dtype) {
    case DType::f64:
      return at<double>(i);
    case DType::f32:
      return at<float>(i);
    case DType::f16:
      return static_cast<double>(at<_Float16>(i));
    case DType::bf16:
      return from_bf16(at<uint16_t>(i));
    case DType::i8:
      return at<int8_t>(i);
    case DType::ui8:
      return at<uint8_t>(i);
    case DType::i16:
      return at<int16_t>(i);
    case DType::i32:
      return at<int32_t>(i);
    default:
      return static_cast<double>(at<int64_t>(i));
    }
  }
  void set(int64_t i, double value) {
    switch (dtype) {
    case DType::f64:
      at<double>(i) = value;
      break;
    case DType::f32:
      at<float>(i) = static_cast<float>(value);
      break;
    case DType::f16:
      at<_Float16>(i) = static_cast<_Float16>(value);
      break;
    case DType::bf16:
      at<uint16_t>(i) = to_bf16(static_cast<float>(value));
      break;
    default: {
      const auto whole = static_cast<int64_t>(value);
      std::memcpy(&bytes[static_cast<size_t>(i) * itemsize(dtype)], &whole, itemsize(dtype));
    }
    }
  }
};

struct Problem {
  ContractionShape shape;
  Matrix a, b, bias, residual, c;

  static ContractionShape dense(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k) {
    ContractionShape s;
    s.dtype = dtype;
    s.batch = batch;
    s.m = m;
    s.n = n;
    s.k = k;
    s.a_strides = {m * k, k, 1};
    s.b_strides = {k * n, n, 1};
    s.c_strides = {m * n, n, 1};
    return s;
  }
  static int64_t extent(const std::array<int64_t, 3> &strides, int64_t x, int64_t y, int64_t z) {
    return std::max<int64_t>(x - 1, 0) * strides[0] + std::max<int64_t>(y - 1, 0) * strides[1] +
           std::max<int64_t>(z - 1, 0) * strides[2] + 1;
  }
  explicit Problem(const ContractionShape &s, unsigned seed = 1)
      : shape(s), a(s.dtype, extent(s.a_strides, s.batch, s.m, s.k)),
        b(s.dtype, extent(s.b_strides, s.batch, s.k, s.n)), bias(s.dtype, std::max<int64_t>(s.n, 1)),
        residual(s.dtype, extent(s.c_strides, s.batch, s.m, s.n)),
        c(s.dtype, extent(s.c_strides, s.batch, s.m, s.n)) {
    std::mt19937 random(seed);
    for (Matrix *matrix : {&a, &b, &bias, &residual})
      for (size_t i = 0; i < matrix->bytes.size() / itemsize(s.dtype); ++i) {
        const int value = static_cast<int>(random() % 2001) - 1000;
        matrix->set(static_cast<int64_t>(i), is_floating_point(s.dtype) ? value / 500.0 : value);
      }
    for (std::byte &byte : c.bytes)
      byte = std::byte{0x7f};
  }
  Status run(const Contraction &contraction, bool serial = false) {
    const auto scratch = Buffer::allocate(contraction.scratch_bytes(executor().width())).value_or_throw();
    return contraction.run({a.bytes.data(), b.bytes.data(), c.bytes.data(), bias.bytes.data(),
                            residual.bytes.data(), scratch->data()},
                           {serial});
  }
  // Integers exactly, wrapping; floating point within the bound of a sum of k products.
  void expect_right() {
    const ContractionShape &s = shape;
    const double unit = s.dtype == DType::f64    ? 0x1p-53
                        : s.dtype == DType::f32  ? 0x1p-24
                        : s.dtype == DType::f16  ? 0x1p-11
                        : s.dtype == DType::bf16 ? 0x1p-8
                                                 : 0;
    const double inner = s.dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
    for (int64_t x = 0; x < s.batch; ++x)
      for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
          const int64_t at = x * s.c_strides[0] + i * s.c_strides[1] + j * s.c_strides[2];
          double sum = s.bias ? bias.get(j) : 0, size = std::fabs(sum);
          if (s.residual) {
            sum += residual.get(at);
            size += std::fabs(residual.get(at));
          }
          uint64_t whole = is_floating_point(s.dtype) ? 0 : static_cast<uint64_t>(static_cast<int64_t>(sum));
          for (int64_t p = 0; p < s.k; ++p) {
            const double left = a.get(x * s.a_strides[0] + i * s.a_strides[1] + p * s.a_strides[2]);
            const double right = b.get(x * s.b_strides[0] + p * s.b_strides[1] + j * s.b_strides[2]);
            sum += left * right;
            size += std::fabs(left * right);
            if (!is_floating_point(s.dtype))
              whole += static_cast<uint64_t>(static_cast<int64_t>(left)) *
                       static_cast<uint64_t>(static_cast<int64_t>(right));
          }
          if (is_floating_point(s.dtype)) {
            const double expected = s.relu ? std::max(sum, 0.0) : sum;
            const double bound =
                (static_cast<double>(s.k) + 3) * inner * size + unit * std::fabs(sum) + 1e-300;
            ASSERT_NEAR(c.get(at), expected, bound) << x << " " << i << " " << j;
          } else {
            Matrix cut(s.dtype, 1);
            std::memcpy(cut.bytes.data(), &whole, itemsize(s.dtype));
            ASSERT_EQ(c.get(at), s.relu ? std::max(cut.get(0), 0.0) : cut.get(0))
                << x << " " << i << " " << j;
          }
        }
  }
};

constexpr DType dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i8,
                            DType::ui8, DType::i16, DType::i32, DType::i64};

TEST(Contraction, EveryTypeAndManyShapesByOurOwnKernel) {
  const int64_t shapes[][4] = {{1, 1, 1, 1},    {1, 3, 5, 7},    {2, 17, 33, 9},  {1, 97, 193, 5},
                               {1, 8, 32, 300}, {3, 1, 40, 260}, {1, 100, 1, 30}, {1, 130, 200, 64}};
  for (DType dtype : dtypes)
    for (const auto &[batch, m, n, k] : shapes)
      for (int epilogue = 0; epilogue < 8; ++epilogue) {
        ContractionShape shape = Problem::dense(dtype, batch, m, n, k);
        shape.bias = epilogue & 1;
        shape.relu = epilogue & 2;
        shape.residual = epilogue & 4;
        Problem problem(shape);
        const auto own = Contraction::make_own(shape).value_or_throw();
        ASSERT_TRUE(problem.run(*own).ok());
        problem.expect_right();
        if (HasFatalFailure())
          FAIL() << name(dtype) << " " << batch << "x" << m << "x" << n << "x" << k << " " << epilogue;
      }
}

TEST(Contraction, WhatIsChosenIsRight) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64})
    for (int layout = 0; layout < 4; ++layout)
      for (int epilogue = 0; epilogue < 8; ++epilogue) {
        ContractionShape shape = Problem::dense(dtype, layout == 3 ? 3 : 1, 70, 90, 130);
        if (layout == 1) // a transposed
          shape.a_strides = {70 * 130, 1, 70};
        if (layout == 2) // b transposed, rows of c further apart
          shape.b_strides = {0, 1, 130}, shape.c_strides = {0, 100, 1};
        shape.bias = epilogue & 1;
        shape.relu = epilogue & 2;
        shape.residual = epilogue & 4;
        Problem problem(shape);
        const auto chosen = Contraction::get(shape).value_or_throw();
        if (dtype == DType::f32)
          EXPECT_EQ(chosen->implementation().substr(0, 6), "onednn") << chosen->implementation();
        ASSERT_TRUE(problem.run(*chosen).ok());
        problem.expect_right();
        if (HasFatalFailure())
          FAIL() << name(dtype) << " layout " << layout << " " << chosen->implementation();
      }
}

// An epilogue gives the bits of the single ops: products, then the bias, then the residual, then relu.
TEST(Contraction, EpiloguesRoundAsSingleOps) {
  std::mt19937 random(7);
  for (DType dtype : {DType::f32, DType::f64})
    for (int round = 0; round < 40; ++round) {
      const auto extent = [&] { return static_cast<int64_t>(1 + random() % (round % 2 ? 300 : 70)); };
      ContractionShape shape = Problem::dense(dtype, round % 5 == 0 ? 3 : 1, extent(), extent(), extent());
      if (round % 3 == 1)
        shape.a_strides = {shape.m * shape.k, 1, shape.m};
      if (round % 4 == 1)
        shape.b_strides = {shape.k * shape.n, 1, shape.k};
      const ContractionShape alone = shape;
      shape.bias = round & 1;
      shape.residual = true;
      shape.relu = round & 2;
      Problem whole(shape), parts(shape);
      const auto chosen = Contraction::get(shape).value_or_throw(),
                 plain = Contraction::get(alone).value_or_throw();
      EXPECT_EQ(chosen->implementation(), plain->implementation());
      ASSERT_TRUE(whole.run(*chosen).ok());
      ASSERT_TRUE(parts.run(*plain).ok());
      const auto finish = [&]<typename T>(T) {
        for (int64_t i = 0; i < shape.batch * shape.m * shape.n; ++i) {
          T value = parts.c.at<T>(i);
          if (shape.bias)
            value += parts.bias.at<T>(i % shape.n);
          value += parts.residual.at<T>(i);
          parts.c.at<T>(i) = shape.relu && value < 0 ? 0 : value;
        }
      };
      dtype == DType::f32 ? finish(0.0f) : finish(0.0);
      EXPECT_EQ(whole.c.bytes, parts.c.bytes) << name(dtype) << " " << shape.batch << "x" << shape.m << "x"
                                              << shape.n << "x" << shape.k << " " << chosen->implementation();
    }
}

// What a plan says decides who multiplies, and how much workspace a library may have.
TEST(Contraction, ThePlanChooses) {
  const ContractionShape shape = Problem::dense(DType::f32, 1, 64, 64, 64);
  const auto by = [&](const ContractionChoice &choice) {
    return Contraction::get(shape, choice).value_or_throw()->implementation().substr(0, 4);
  };
  EXPECT_EQ(by({}), "oned");
  EXPECT_EQ(by({.library_flops = INT64_MAX}), "weft");
  const ContractionSupport support = Contraction::ask_library(shape);
  ASSERT_TRUE(support.taken) << support.refusal;
  ContractionShape transposed = Problem::dense(DType::f32, 1, 300, 300, 300);
  transposed.a_strides = {90000, 1, 300};
  const ContractionSupport needy = Contraction::ask_library(transposed);
  if (needy.workspace_bytes > 0) {
    const auto granted = static_cast<int64_t>(needy.workspace_bytes);
    EXPECT_EQ(Contraction::get(transposed, {.workspace_bytes = granted})
                  .value_or_throw()
                  ->implementation()
                  .substr(0, 4),
              "oned");
    EXPECT_EQ(Contraction::get(transposed, {.workspace_bytes = granted - 1})
                  .value_or_throw()
                  ->implementation()
                  .substr(0, 4),
              "weft");
  }
  EXPECT_NE(Contraction::ask_library(Problem::dense(DType::f64, 1, 64, 64, 64)).refusal.find("f64"),
            std::string::npos);
}

// Nothing is allocated: oneDNN is not to see what it counts in 32 bits.
// Who multiplies is known before anything is made, and is what is made of it.
TEST(Contraction, IsSelectedApartFromBeingRun) {
  const ContractionShape shape = Problem::dense(DType::f32, 1, 64, 64, 64);
  const ContractionSelection library = Contraction::select(shape).value_or_throw();
  EXPECT_EQ(library.library, "onednn");
  EXPECT_EQ(library.refusal, "");
  EXPECT_NE(library.prepared, nullptr);
  EXPECT_EQ(Contraction::make(shape, library).value_or_throw()->implementation(), library.implementation);
  const auto own = [&](const ContractionShape &shape, const ContractionChoice &choice) {
    const ContractionSelection selection = Contraction::select(shape, choice).value_or_throw();
    EXPECT_EQ(selection.library, "weft");
    EXPECT_EQ(selection.prepared, nullptr);
    EXPECT_EQ(Contraction::make(shape, selection).value_or_throw()->implementation(),
              selection.implementation);
    return selection.refusal;
  };
  EXPECT_EQ(own(shape, {.library = "weft"}), "") << "the plan asks for it";
  EXPECT_EQ(own(shape, {.library_flops = INT64_MAX}), "too few operations for a library to be called");
  EXPECT_NE(own(Problem::dense(DType::f64, 1, 64, 64, 64), {.library = "onednn"}), "");
  const ContractionSupport support = Contraction::ask_library(shape);
  EXPECT_EQ(support.workspace_bytes, library.workspace_bytes);
  EXPECT_FAILS(Contraction::select(Problem::dense(DType::f32, 1, -1, 1, 1)).status(), "negative extent -1");
}

// A stream belongs to a device, and what multiplies on the host has none.
TEST(Contraction, OfTheHostRefusesAStream) {
  ContractionShape lying = Problem::dense(DType::f32, 2, 64, 64, 64);
  lying.c_strides = {64 * 100, 100, 1};
  for (const ContractionShape &shape : {Problem::dense(DType::f32, 1, 64, 64, 64), lying})
    for (const auto &contraction :
         {Contraction::make_own(shape).value_or_throw(), Contraction::make_library(shape).value_or_throw()}) {
      int stream = 0;
      EXPECT_FAILS(contraction->run({}, {false, &stream}), "cannot be issued to a stream of a device");
    }
}

TEST(Contraction, HugeExtentsAreNotForTheLibrary) {
  for (int64_t huge : {int64_t{1} << 31, int64_t{1} << 40})
    for (ContractionShape shape :
         {Problem::dense(DType::f32, 1, huge, 16, 32), Problem::dense(DType::f32, 1, 16, huge, 32),
          Problem::dense(DType::f32, 1, 16, 32, huge), Problem::dense(DType::f32, huge, 2, 2, 2)})
      EXPECT_NE(Contraction::ask_library(shape).refusal.find("2^31"), std::string::npos);
}

TEST(Contraction, EmptyExtentsAndRepeatedOperands) {
  for (DType dtype : dtypes) {
    for (const auto &[m, n, k] : {std::array<int64_t, 3>{0, 4, 4}, {4, 0, 4}, {4, 4, 0}, {0, 0, 0}}) {
      ContractionShape shape = Problem::dense(dtype, 1, m, n, k);
      shape.bias = shape.relu = true;
      Problem problem(shape);
      ASSERT_TRUE(problem.run(*Contraction::get(shape).value_or_throw()).ok());
      problem.expect_right(); // k of 0: the bias, relu applied
    }
    ContractionShape repeated = Problem::dense(dtype, 3, 40, 50, 60);
    repeated.a_strides = {0, 60, 1}; // one a for the whole batch
    repeated.b_strides = {3000, 50, 0};
    Problem problem(repeated);
    ASSERT_TRUE(problem.run(*Contraction::get(repeated).value_or_throw()).ok());
    problem.expect_right();
  }
}

TEST(Contraction, ANotANumberPassesRelu) {
  for (int64_t size : {4, 64}) {
    ContractionShape shape = Problem::dense(DType::f32, 1, size, size, size);
    shape.relu = true;
    Problem problem(shape);
    problem.a.at<float>(0) = NAN;
    const auto chosen = Contraction::get(shape).value_or_throw();
    ASSERT_TRUE(problem.run(*chosen).ok());
    EXPECT_TRUE(std::isnan(problem.c.at<float>(0))) << chosen->implementation();
  }
}

/// Runs the problem with `team`, and alone on the calling thread, into its own c; the bits have to be
/// `expected`.
void expect_bits(const ContractionShape &shape, Executor &team, const std::vector<std::byte> &expected) {
  set_executor(&team);
  const auto chosen = Contraction::get(shape).value_or_throw();
  for (const bool serial : {false, true}) {
    Problem problem(shape);
    EXPECT_TRUE(problem.run(*chosen, serial).ok());
    EXPECT_EQ(problem.c.bytes, expected)
        << shape.batch << "x" << shape.m << "x" << shape.n << "x" << shape.k << " "
        << chosen->implementation() << " on " << team.width() << " threads" << (serial ? ", serial" : "");
  }
  set_executor(nullptr);
}

/// A matrix of a batch that lies otherwise: 0 and 1 its rows or columns one after the other, 2 and 3 with
/// room between them, 4 with room between elements, 5 the matrices of the batch interleaved, 6 with room
/// between these, 7 and 8 rows and columns whose distance is a multiple of 1,024, which oneDNN looks at, 9
/// and 10 of 256.
std::array<int64_t, 3> strides_of(int layout, int64_t batch, int64_t rows, int64_t columns) {
  switch (layout) {
  case 1:
    return {rows * columns, 1, rows};
  case 2:
    return {rows * (columns + 7), columns + 7, 1};
  case 3:
    return {columns * (rows + 7), 1, rows + 7};
  case 4:
    return {rows * columns * 2, columns * 2, 2};
  case 5:
    return {columns, batch * columns, 1};
  case 6:
    return {2 * rows * columns, columns, 1};
  case 7:
  case 9: {
    const int64_t row = layout == 7 ? (columns + 1023) / 1024 * 1024 : (columns + 255) / 256 * 256;
    return {rows * row, row, 1};
  }
  case 8:
  case 10: {
    const int64_t column = layout == 8 ? (rows + 1023) / 1024 * 1024 : (rows + 255) / 256 * 256;
    return {columns * column, 1, column};
  }
  default:
    return {rows * columns, columns, 1};
  }
}

void copy_elements(Matrix &from, const std::array<int64_t, 3> &from_strides, Matrix &to,
                   const std::array<int64_t, 3> &to_strides, int64_t batch, int64_t rows, int64_t columns) {
  for (int64_t x = 0; x < batch; ++x)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        to.set(x * to_strides[0] + i * to_strides[1] + j * to_strides[2],
               from.get(x * from_strides[0] + i * from_strides[1] + j * from_strides[2]));
}

/// Whether the library's product is one of few rows or one column, for which the runtime has a kernel.
bool has_own_kernel(const ContractionShape &s) {
  return s.dtype == DType::f32 && cpu_level() == CpuLevel::v4 && (s.m <= 4 || s.n == 1);
}

/// Checks that the product has the same bits where its operands and its result lie otherwise.
void expect_bits_in_every_layout(const ContractionShape &dense, std::mt19937 &random) {
  // With AVX-512 small ones are asked of the library too.
  const ContractionChoice choice = {.library_flops = cpu_level() == CpuLevel::v4 ? 0 : 128000};
  const auto chosen = Contraction::get(dense, choice).value_or_throw();
  // Without AVX-512 a transposed operand is another product.
  const bool mayTranspose =
      cpu_level() == CpuLevel::v4 || chosen->implementation().find("gemm:jit") == std::string::npos;
  Problem first(dense);
  ASSERT_TRUE(first.run(*chosen).ok());
  for (int round = 0; round < 8; ++round) {
    const auto layout = [&] {
      const auto found = static_cast<int>(random() % 11);
      const bool transposed = found == 1 || found == 3 || found == 8 || found == 10;
      return transposed && !mayTranspose ? found - 1 : found;
    };
    ContractionShape shape = dense;
    shape.a_strides = strides_of(layout(), dense.batch, dense.m, dense.k);
    shape.b_strides = strides_of(layout(), dense.batch, dense.k, dense.n);
    if (round % 2)
      shape.c_strides = strides_of(layout(), dense.batch, dense.m, dense.n);
    Problem other(shape);
    copy_elements(first.a, dense.a_strides, other.a, shape.a_strides, dense.batch, dense.m, dense.k);
    copy_elements(first.b, dense.b_strides, other.b, shape.b_strides, dense.batch, dense.k, dense.n);
    copy_elements(first.residual, dense.c_strides, other.residual, shape.c_strides, dense.batch, dense.m,
                  dense.n);
    other.bias = first.bias;
    const auto again = Contraction::get(shape, choice).value_or_throw();
    for (const bool serial : {false, true}) {
      ASSERT_TRUE(other.run(*again, serial).ok());
      Problem result(dense);
      copy_elements(other.c, shape.c_strides, result.c, dense.c_strides, dense.batch, dense.m, dense.n);
      EXPECT_TRUE(result.c.bytes == first.c.bytes)
          << name(dense.dtype) << " " << dense.batch << "x" << dense.m << "x" << dense.n << "x" << dense.k
          << " by " << again->implementation() << ", in rows by " << chosen->implementation();
    }
  }
}

// Where a product reads its operands from depends on what was read or computed before: a view that was read
// has memory of its own. The bits must not.
TEST(Contraction, BitsDoNotDependOnHowOperandsLie) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    const auto extent = [&](int bits) {
      return static_cast<int64_t>(1 + random() % (1u << (1 + random() % static_cast<unsigned>(bits))));
    };
    // Small ones of all kinds, and sums that are long enough to be divided.
    ContractionShape shape =
        round % 3 ? Problem::dense(DType::f32, 1 + round % 2 * 2, extent(7), extent(7), extent(10))
                  : Problem::dense(DType::f32, 1, extent(7), extent(9), 900 + extent(11));
    if (round % 4 == 3 && cpu_level() == CpuLevel::v4)
      shape.dtype = DType::bf16;
    shape.bias = round & 1;
    shape.relu = round & 2;
    shape.residual = round & 4;
    expect_bits_in_every_layout(shape, random);
  }
  // Few rows and columns, of which oneDNN has kernels of its own, and sums around the length of a chain.
  for (int round = 0; round < 120; ++round) {
    ContractionShape shape = Problem::dense(DType::f32, 1 + round % 5 / 4, 1 + round % 20,
                                            static_cast<int64_t>(1 + random() % (round % 2 ? 20 : 600)),
                                            static_cast<int64_t>(1 + random() % (round % 3 ? 900 : 400)));
    if (round % 4 == 1)
      std::swap(shape.m, shape.n);
    shape = Problem::dense(shape.dtype, shape.batch, shape.m, shape.n, shape.k);
    shape.residual = round & 1;
    expect_bits_in_every_layout(shape, random);
  }
  for (const auto &[m, n] : {std::pair{1, 1}, {3, 1}, {4, 1}, {5, 1}, {1, 4}, {20, 33}, {33, 20}, {129, 40}})
    for (const int64_t k : {1, 2, 15, 16, 17, 385, 1000})
      expect_bits_in_every_layout(Problem::dense(DType::f32, 1, m, n, k), random);
  // Longest sums over columns that are added as those over rows are.
  for (const int64_t k : {1024, 1025, 2048, 4096})
    expect_bits_in_every_layout(Problem::dense(DType::f32, 1, 31, 512, k), random);
}

/// The sum of products in the order of runtime/gemm/GemmRows.h.
float sum_in_order(Problem &problem, int64_t i, int64_t j) {
  const ContractionShape &s = problem.shape;
  const auto add = [&](int64_t p, float sum) {
    return std::fma(problem.a.at<float>(i * s.a_strides[1] + p * s.a_strides[2]),
                    problem.b.at<float>(p * s.b_strides[1] + j * s.b_strides[2]), sum);
  };
  if (s.m <= 4 || s.n == 1) {
    std::array<float, 16> parts = {};
    for (int64_t p = 0; p < s.k; ++p)
      parts[static_cast<size_t>(p % 16)] = add(p, parts[static_cast<size_t>(p % 16)]);
    for (size_t half = 8; half > 0; half /= 2)
      for (size_t r = 0; r < half; ++r)
        parts[r] += parts[r + half];
    return parts[0];
  }
  const int64_t chains = (s.k + 383) / 384, length = ((s.k + chains - 1) / chains + 15) / 16 * 16;
  float sum = 0;
  for (int64_t begin = 0; begin < s.k; begin += length) {
    float chain = 0;
    for (int64_t p = begin; p < std::min(begin + length, s.k); ++p)
      chain = add(p, chain);
    sum = begin == 0 ? chain : sum + chain;
  }
  return sum;
}

// What oneDNN computes with AVX-512 is not documented; if another version adds otherwise, the order would
// depend on how operands lie.
TEST(Contraction, SumsWithAVX512HaveTheOrderThatIsDocumented) {
  if (cpu_level() != CpuLevel::v4)
    GTEST_SKIP() << "needs AVX-512";
  std::mt19937 random(17);
  int number = 0;
  for (const auto &[m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 1, 700},
                                                                   {1, 700, 784},
                                                                   {2, 530, 33},
                                                                   {3, 40, 1000},
                                                                   {4, 513, 385},
                                                                   {300, 1, 900},
                                                                   {5, 300, 384},
                                                                   {16, 70, 385},
                                                                   {17, 40, 769},
                                                                   {16, 16, 800},
                                                                   {600, 2, 384},
                                                                   {200, 300, 383},
                                                                   {90, 90, 900},
                                                                   {500, 20, 400},
                                                                   {20, 500, 900},
                                                                   {20, 33, 1150},
                                                                   {33, 20, 1150},
                                                                   {100, 90, 700},
                                                                   {130, 520, 600}})
    for (int layout = 0; layout < 4; ++layout) {
      ContractionShape shape = Problem::dense(DType::f32, 1, m, n, k);
      shape.a_strides = strides_of(layout & 1 ? 1 + number % 2 * 7 : number % 2 * 7, 1, m, k);
      shape.b_strides = strides_of(layout & 2 ? 1 + number % 3 / 2 * 9 : number % 3 / 2 * 9, 1, k, n);
      ++number;
      Problem problem(shape, static_cast<unsigned>(random()));
      ASSERT_TRUE(problem.run(*Contraction::make_library(shape).value_or_throw()).ok());
      int64_t others = 0;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          others += std::bit_cast<uint32_t>(problem.c.at<float>(i * n + j)) !=
                    std::bit_cast<uint32_t>(sum_in_order(problem, i, j));
      EXPECT_EQ(others, 0) << m << "x" << n << "x" << k << " layout " << layout;
    }
}

TEST(Contraction, AnOddSumOfHalvesRunsOnEveryProcessor) {
  for (const int64_t m : {129, 144, 195, 198, 200, 204})
    for (const int64_t n : {10, 22, 31, 63})
      for (const int64_t k : {31, 63, 65, 127}) {
        Problem problem(Problem::dense(DType::bf16, 1, m, n, k));
        ASSERT_TRUE(problem.run(*Contraction::get(problem.shape).value_or_throw()).ok());
        problem.expect_right();
      }
}

TEST(Contraction, BitsDoNotDependOnThreads) {
  for (DType dtype : {DType::f32, DType::f16, DType::f64})
    for (const auto &[m, n, k] : {std::array<int64_t, 3>{200, 300, 700},
                                  {8, 16, 100000},
                                  {16, 64, 30000},
                                  {512, 10, 4096},
                                  {1, 1000, 2000}}) {
      const ContractionShape shape = Problem::dense(dtype, 1, m, n, k);
      Problem problem(shape);
      ASSERT_TRUE(problem.run(*Contraction::get(shape).value_or_throw()).ok());
      if (dtype == DType::f32)
        problem.expect_right();
      for (const int width : {1, 2, 3, 4})
        expect_bits(shape, *make_thread_executor(width), problem.c.bytes);
    }
}

// Large enough to be cut along every dimension, with remainders, and with every way an operand may lie.
TEST(Contraction, BitsDoNotDependOnThreadsWithEpiloguesBatchesAndTranspositions) {
  int number = 0;
  for (const auto &[batch, m, n, k] : {std::array<int64_t, 4>{1, 150, 250, 130},
                                       {3, 130, 70, 90},
                                       {5, 128, 100, 64},
                                       {70, 40, 40, 50},
                                       {1, 20, 97, 5000}, // a column is left
                                       {1, 97, 20, 5000}, // a row is left
                                       {1, 20, 30, 9000},
                                       {1, 10, 12, 9001},
                                       {1, 700, 1, 1500},
                                       {1, 1, 700, 1500}})
    for (int layout = 0; layout < 4; ++layout) {
      ContractionShape shape = Problem::dense(DType::f32, batch, m, n, k);
      if (layout & 1)
        shape.a_strides = {m * k, 1, m};
      if (layout & 2)
        shape.b_strides = {k * n, 1, k}, shape.c_strides = {m * (n + 10), n + 10, 1};
      const int epilogue = number++ * 3 % 8; // all eight, spread over shapes and layouts
      shape.bias = epilogue & 1;
      shape.relu = epilogue & 2;
      shape.residual = epilogue & 4;
      Problem problem(shape);
      const auto chosen = Contraction::get(shape).value_or_throw();
      // oneDNN has nothing fast for some layouts of a matrix times a vector.
      if (n > 1 && !has_own_kernel(shape))
        EXPECT_EQ(chosen->implementation().substr(0, 6), "onednn") << chosen->implementation();
      ASSERT_TRUE(problem.run(*chosen).ok());
      problem.expect_right();
      if (HasFatalFailure())
        FAIL() << batch << "x" << m << "x" << n << "x" << k << " layout " << layout << " epilogue "
               << epilogue;
      for (const int width : {1, 2, 3, 4})
        expect_bits(shape, *make_thread_executor(width), problem.c.bytes);
    }
}

TEST(Contraction, BlocksCoverTheProductAndFollowFromItsShape) {
  std::mt19937 random(11);
  const auto pieces = [](int64_t extent, int64_t of) { return (extent + of - 1) / of; };
  for (int round = 0; round < 2000; ++round) {
    const auto extent = [&](int bits) {
      return static_cast<int64_t>(1 + random() % (1u << random() % bits));
    };
    ContractionShape shape = Problem::dense(DType::f32, extent(8), extent(14), extent(14), extent(14));
    const BlockCut cut = round % 2 ? BlockCut::anywhere : BlockCut::rows;
    const ContractionBlocks block = contraction_blocks(shape, cut);
    const auto what = ::testing::Message()
                      << shape.batch << "x" << shape.m << "x" << shape.n << "x" << shape.k;
    for (const auto &[whole, part] :
         {std::pair{shape.batch, block.batch}, {shape.m, block.m}, {shape.n, block.n}, {shape.k, block.k}}) {
      ASSERT_GE(part, 1) << what;
      ASSERT_LE(part, whole) << what;
    }
    for (const auto &[whole, part] : {std::pair{shape.m, block.m}, {shape.n, block.n}, {shape.k, block.k}})
      EXPECT_TRUE(part == whole || part % 16 == 0) << what;
    EXPECT_LE(pieces(shape.batch, block.batch) * pieces(shape.m, block.m) * pieces(shape.n, block.n) *
                  pieces(shape.k, block.k),
              64)
        << what;
    if (cut == BlockCut::rows)
      EXPECT_TRUE(block.n == shape.n && block.k == shape.k) << what;
    // A sum is cut only where nothing else is.
    if (block.k < shape.k)
      EXPECT_TRUE(block.m == shape.m && block.n == shape.n && shape.batch == 1) << what;
    shape.bias = shape.residual = shape.relu = true;
    const ContractionBlocks with = contraction_blocks(shape, cut);
    EXPECT_TRUE(with.batch == block.batch && with.m == block.m && with.n == block.n && with.k == block.k)
        << what;
  }
  const auto count = [&](const ContractionShape &shape, BlockCut cut = BlockCut::anywhere) {
    const ContractionBlocks block = contraction_blocks(shape, cut);
    return pieces(shape.m, block.m) * pieces(shape.n, block.n) * pieces(shape.k, block.k);
  };
  EXPECT_EQ(count(Problem::dense(DType::f32, 1, 64, 64, 64)), 1);
  EXPECT_EQ(count(Problem::dense(DType::f32, 1, 128, 256, 512)), 4);
  EXPECT_EQ(count(Problem::dense(DType::f32, 1, 1024, 1024, 1024)), 64);
  EXPECT_EQ(count(Problem::dense(DType::f32, 1, 8, 16, 100000)), 4);
  EXPECT_EQ(count(Problem::dense(DType::f32, 1, 64, 512, 784), BlockCut::rows), 4);
  EXPECT_EQ(count(Problem::dense(DType::f32, 1, 8, 16, 100000), BlockCut::rows), 1);
}

// A limit of the plan means the same on a machine with more threads, and nothing behind the scratch is
// written.
TEST(Contraction, ScratchIsWhatWasPromised) {
  for (const auto &[m, n, k] : {std::array<int64_t, 3>{8, 16, 100000}, {300, 300, 300}, {1, 1000, 2000}}) {
    const ContractionShape shape = Problem::dense(DType::f32, 1, m, n, k);
    const auto needed = static_cast<int64_t>(Contraction::ask_library(shape).workspace_bytes);
    const auto chosen = Contraction::get(shape, {.workspace_bytes = needed}).value_or_throw();
    if (!has_own_kernel(shape))
      EXPECT_EQ(chosen->implementation().substr(0, 6), "onednn");
    EXPECT_EQ(static_cast<int64_t>(chosen->workspace_bytes()), needed);
    if (needed > 0)
      EXPECT_EQ(Contraction::get(shape, {.workspace_bytes = needed - 1})
                    .value_or_throw()
                    ->implementation()
                    .substr(0, 4),
                "weft");
    for (const int width : {1, 2, 4, 64})
      EXPECT_LE(static_cast<int64_t>(chosen->scratch_bytes(width)), needed) << width;
    constexpr size_t behind = 4096;
    const size_t bytes = chosen->scratch_bytes(executor().width());
    const auto scratch = Buffer::allocate(bytes + behind).value_or_throw();
    std::memset(static_cast<std::byte *>(scratch->data()) + bytes, 0x5a, behind);
    Problem problem(shape);
    ASSERT_TRUE(chosen
                    ->run({problem.a.bytes.data(), problem.b.bytes.data(), problem.c.bytes.data(), nullptr,
                           nullptr, scratch->data()})
                    .ok());
    problem.expect_right();
    EXPECT_EQ(std::count(static_cast<std::byte *>(scratch->data()) + bytes,
                         static_cast<std::byte *>(scratch->data()) + bytes + behind, std::byte{0x5a}),
              static_cast<std::ptrdiff_t>(behind));
  }
}

TEST(Contraction, RefusesWhatMakesNoSense) {
  ContractionShape shape = Problem::dense(DType::i1, 1, 4, 4, 4);
  EXPECT_FAILS(Contraction::get(shape).status(), "element type i1");
  shape = Problem::dense(DType::f32, 1, 4, 4, 4);
  shape.m = -1;
  EXPECT_FAILS(Contraction::get(shape).status(), "negative extent -1");
  shape.m = 4;
  shape.a_strides[1] = -4;
  EXPECT_FAILS(Contraction::get(shape).status(), "negative stride -4");
  EXPECT_FAILS(Contraction::make_library(Problem::dense(DType::f64, 1, 4, 4, 4)).status(),
               "element type f64");
  EXPECT_FAILS(Contraction::make_library(Problem::dense(DType::f32, 1, 4, 0, 4)).status(), "an extent of 0");
}

// Every kernel of ours against the plain one, over all bit patterns: sums wrap.
TEST(Contraction, IntegersOfAllSizesWrapAlikeOnEveryLevel) {
  std::vector<const GemmTable *> tables;
  if (cpu_level() >= CpuLevel::v3)
    tables.push_back(&gemmV3);
  if (cpu_level() >= CpuLevel::v4)
    tables.push_back(&gemmV4);
  if (cpu_level() >= CpuLevel::v4 && __builtin_cpu_supports("avx512vnni"))
    tables.push_back(&gemmVnni);
  const auto scratch = Buffer::allocate(gemmScratchBytes).value_or_throw();
  std::mt19937 random(3);
  for (DType dtype : {DType::i8, DType::ui8, DType::i16, DType::i32, DType::i64})
    for (const auto &[m, n, k] : std::vector<std::array<int64_t, 3>>{
             {1, 1, 1}, {8, 32, 2}, {9, 33, 7}, {13, 70, 300}, {96, 192, 257}, {5, 5, 0}})
      for (const bool transposed : {false, true}) {
        Matrix a(dtype, m * k + 1), b(dtype, k * n + 1), bias(dtype, n), expected(dtype, m * n),
            found(dtype, m * n);
        for (Matrix *matrix : {&a, &b, &bias})
          for (std::byte &byte : matrix->bytes)
            byte = static_cast<std::byte>(random());
        GemmTile tile = {};
        tile.a = a.bytes.data();
        tile.b = b.bytes.data();
        tile.bias = bias.bytes.data();
        tile.scratch = scratch->data();
        tile.m = m;
        tile.n = n;
        tile.k = k;
        tile.a_m = transposed ? 1 : k;
        tile.a_k = transposed ? m : 1;
        tile.b_k = transposed ? 1 : n;
        tile.b_n = transposed ? k : 1;
        tile.c_m = n;
        tile.c_n = 1;
        tile.relu = transposed;
        tile.c = expected.bytes.data();
        gemmBaseline.functions[static_cast<size_t>(dtype)](&tile);
        tile.c = found.bytes.data();
        for (const GemmTable *table : tables)
          if (const GemmTileFn function = table->functions[static_cast<size_t>(dtype)]) {
            std::ranges::fill(found.bytes, std::byte{0x55});
            function(&tile);
            EXPECT_EQ(found.bytes, expected.bytes) << name(dtype) << " " << m << " x " << n << " x " << k;
          }
      }
}

TEST(Contraction, CacheIsSharedAndBounded) {
  const ContractionShape shape = Problem::dense(DType::f32, 1, 64, 64, 64);
  EXPECT_EQ(Contraction::get(shape).value_or_throw(), Contraction::get(shape).value_or_throw());
  for (int64_t n = 1; n < 1100; ++n)
    ASSERT_TRUE(Contraction::get(Problem::dense(DType::i32, 1, 1, n, 1)).ok());
  EXPECT_EQ(Contraction::cached(), 1024u);
}

TEST(Contraction, SeveralThreadsAtOnce) {
  const ContractionShape shape = Problem::dense(DType::f32, 1, 96, 96, 96);
  const auto chosen = Contraction::get(shape).value_or_throw();
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Problem>> problems;
  for (unsigned t = 0; t < 3; ++t)
    problems.push_back(std::make_unique<Problem>(shape, t));
  for (auto &problem : problems)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(problem->run(*chosen).ok());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &problem : problems)
    problem->expect_right();
}

// A measurement, not a check: run with --gtest_also_run_disabled_tests.
TEST(Contraction, DISABLED_Speed) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32, DType::i8})
    for (int64_t size : {8, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 2048}) {
      const ContractionShape shape = Problem::dense(dtype, 1, size, size, size);
      for (int which = 0; which < 2; ++which) {
        Expected<std::shared_ptr<const Contraction>> contraction =
            which ? Contraction::make_library(shape) : Contraction::make_own(shape);
        if (!contraction)
          continue;
        Problem problem(shape);
        const auto scratch =
            Buffer::allocate((*contraction)->scratch_bytes(executor().width())).value_or_throw();
        double best = 1e30;
        const int inner = std::max<int>(1, static_cast<int>(2e6 / static_cast<double>(size * size * size)));
        for (int round = 0; round < 8; ++round) {
          const auto begin = std::chrono::steady_clock::now();
          for (int i = 0; i < inner; ++i)
            (void)(*contraction)
                ->run({problem.a.bytes.data(), problem.b.bytes.data(), problem.c.bytes.data(), nullptr,
                       nullptr, scratch->data()});
          best = std::min(
              best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / inner);
        }
        std::printf("%-5s %5ld %-28s %10.2f us %8.1f GFLOP/s\n", std::string(name(dtype)).c_str(), long(size),
                    (*contraction)->implementation().c_str(), best * 1e6,
                    2.0 * static_cast<double>(size * size * size) / best * 1e-9);
      }
    }
}

} // namespace
