//===- ContractionBitsTest.cpp - What the bits of products depend on ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractionFixture.h"
#include "test/unit/TestLevel.h"

#include "runtime/gemm/ContractionBlocks.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

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

// The memory of a product's operands depends on which values were read before: a view that was read has its
// own memory. The bits must not depend on that.
TEST(Contraction, BitsDoNotDependOnHowOperandsLie) {
  std::mt19937 random(5);
  // A sanitizer needs each kind once.
  const bool few = weft::testing::testLevel() == "quick";
  for (int round = 0; round < (few ? 12 : 60); ++round) {
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
  for (int round = 0; round < (few ? 30 : 120); ++round) {
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

// Some of these sums are oneDNN's, whose order is not documented there; if another version adds otherwise,
// the order would depend on how operands lie.
TEST(Contraction, SumsWithAVX512HaveTheOrderThatIsDocumented) {
  if (cpu_level() != CpuLevel::v4)
    GTEST_SKIP() << "needs AVX-512";
  std::mt19937 random(17);
  int numbers = 0;
  for (const auto &[m, n, k] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 700},     {1, 700, 784},  {2, 530, 33},    {3, 40, 1000},  {4, 513, 385},  {300, 1, 900},
           {5, 300, 384},   {16, 70, 385},  {17, 40, 769},   {16, 16, 800},  {600, 2, 384},  {200, 300, 383},
           {90, 90, 900},   {500, 20, 400}, {20, 500, 900},  {20, 33, 1150}, {33, 20, 1150}, {100, 90, 700},
           {130, 520, 600}, {17, 19, 1024}, {40, 300, 2048}, {33, 49, 1100}})
    for (int layout = 0; layout < 4; ++layout) {
      const int number = numbers++;
      if (weft::testing::passedOver())
        continue;
      ContractionShape shape = Problem::dense(DType::f32, 1, m, n, k);
      shape.a_strides = strides_of(layout & 1 ? 1 + number % 2 * 7 : number % 2 * 7, 1, m, k);
      shape.b_strides = strides_of(layout & 2 ? 1 + number % 3 / 2 * 9 : number % 3 / 2 * 9, 1, k, n);
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

/// A copy of a matrix whose last byte is the last of a page, behind which nothing may be touched.
class Guarded {
public:
  explicit Guarded(const Matrix &matrix)
      : bytes_(matrix.bytes.size()), page_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))),
        whole_((bytes_ + page_ - 1) / page_ * page_),
        pages_(::mmap(nullptr, whole_ + page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (pages_ == MAP_FAILED || ::mprotect(static_cast<std::byte *>(pages_) + whole_, page_, PROT_NONE) != 0)
      throw std::runtime_error("no guarded memory");
    std::memcpy(data(), matrix.bytes.data(), bytes_);
  }
  ~Guarded() { ::munmap(pages_, whole_ + page_); }
  Guarded(const Guarded &) = delete;
  Guarded &operator=(const Guarded &) = delete;
  std::byte *data() const { return static_cast<std::byte *>(pages_) + whole_ - bytes_; }
  std::vector<std::byte> bytes() const { return {data(), data() + bytes_}; }

private:
  const size_t bytes_, page_, whole_;
  void *const pages_;
};

/// The expected content of c: the sums in the documented order, bias, residual and relu, and unchanged bytes
/// between its rows.
std::vector<std::byte> expected_result(Problem &problem) {
  const ContractionShape &s = problem.shape;
  Matrix c = problem.c;
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      const int64_t at = i * s.c_strides[1] + j;
      float value = sum_in_order(problem, i, j);
      if (s.bias)
        value += problem.bias.at<float>(j);
      if (s.residual)
        value += problem.residual.at<float>(at);
      c.at<float>(at) = s.relu && value < 0 ? 0 : value;
    }
  return c.bytes;
}

/// As many elements as there are whose bits differ; of a NaN there is one.
int64_t differences(const std::vector<std::byte> &found, const std::vector<std::byte> &expected) {
  int64_t others = 0;
  for (size_t i = 0; i < expected.size(); i += sizeof(float)) {
    float x = 0, y = 0;
    std::memcpy(&x, &found[i], sizeof x);
    std::memcpy(&y, &expected[i], sizeof y);
    others += std::bit_cast<uint32_t>(x) != std::bit_cast<uint32_t>(y) && !(std::isnan(x) && std::isnan(y));
  }
  return others;
}

/// Runs the product in memory that ends where its operands end, and compares every bit.
void expect_chains(Problem &problem, const Contraction &contraction) {
  const Guarded a(problem.a), b(problem.b), bias(problem.bias), residual(problem.residual), c(problem.c);
  const auto scratch = Buffer::allocate(contraction.scratch_bytes(executor().width())).value_or_throw();
  ASSERT_TRUE(
      contraction.run({a.data(), b.data(), c.data(), bias.data(), residual.data(), scratch->data()}).ok());
  const ContractionShape &s = problem.shape;
  EXPECT_EQ(differences(c.bytes(), expected_result(problem)), 0)
      << s.m << "x" << s.n << "x" << s.k << " strides " << s.a_strides[1] << " " << s.a_strides[2] << ", "
      << s.b_strides[1] << " " << s.b_strides[2] << ", " << s.c_strides[1] << " epilogue " << s.bias
      << s.residual << s.relu << " by " << contraction.implementation();
}

// Every remainder of rows and columns in the tiles of a kernel, sums around the length of a chain, operands
// in rows and in columns, with room between them and a page apart, every epilogue; by the library's order,
// and by that of our own kernel where it is the same.
TEST(Contraction, TilesHaveTheOrderThatIsDocumentedForEveryRemainder) {
  if (cpu_level() != CpuLevel::v4)
    GTEST_SKIP() << "needs AVX-512";
  const int64_t sums[] = {1, 2, 15, 16, 17, 33, 96, 383, 384, 385, 769};
  std::vector<std::array<int64_t, 2>> extents = {{64, 50}, {65, 17}, {70, 100}};
  for (int64_t m = 5; m <= 21; ++m)
    for (int64_t n = 2; n <= 98; n += n < 18 || n % 16 == 1 ? 1 : n % 16 == 2 ? 13 : 1)
      extents.push_back({m, n});
  int number = 0;
  for (const auto &[m, n] : extents) {
    int64_t k = sums[static_cast<size_t>(number % 11)];
    if (contraction_blocks(Problem::dense(DType::f32, 1, m, n, k), BlockCut::chains).k < k)
      k = 385; // the other is cut before it is a product of tiles
    ContractionShape shape = Problem::dense(DType::f32, 1, m, n, k);
    const int layouts[] = {0, 1, 2, 3, 7, 8};
    shape.a_strides = strides_of(layouts[number % 6], 1, m, k);
    shape.b_strides = strides_of(layouts[number / 3 % 6], 1, k, n);
    shape.c_strides = strides_of(number % 2 * 2, 1, m, n);
    shape.bias = number & 1;
    shape.residual = number & 2;
    shape.relu = number & 4;
    Problem problem(shape, static_cast<unsigned>(++number));
    expect_chains(problem, *Contraction::make_library(shape).value_or_throw());
    if (k <= 384)
      expect_chains(problem, *Contraction::make_own(shape).value_or_throw());
    if (HasFatalFailure() || HasNonfatalFailure())
      return;
  }
}

// The same of few rows beside a large matrix in columns, which is left as it is while the rows are turned:
// rows in rows and in columns, with room between them, and every remainder of columns.
TEST(Contraction, FewRowsHaveTheOrderThatIsDocumented) {
  if (cpu_level() != CpuLevel::v4)
    GTEST_SKIP() << "needs AVX-512";
  int number = 0;
  for (const int64_t m : {15, 16, 29, 31, 32, 43, 48})
    for (const int64_t n : {200, 306, 339, 512})
      for (const int64_t k : {97, 128, 384}) {
        ContractionShape shape = Problem::dense(DType::f32, 1, m, n, k);
        const int layouts[] = {0, 1, 2, 3};
        shape.a_strides = strides_of(layouts[number % 4], 1, m, k);
        shape.b_strides = strides_of(number % 3 ? 1 : 3, 1, k, n);
        shape.c_strides = strides_of(number / 4 % 2 * 2, 1, m, n);
        shape.bias = number & 1;
        shape.residual = number & 2;
        shape.relu = number & 4;
        Problem problem(shape, static_cast<unsigned>(++number));
        expect_chains(problem, *Contraction::make_library(shape).value_or_throw());
        expect_chains(problem, *Contraction::make_own(shape).value_or_throw());
        if (HasFatalFailure() || HasNonfatalFailure())
          return;
      }
}

// Infinities and NaN of an operand reach those elements that they are a part of, and no others, through every
// epilogue; relu leaves a NaN.
TEST(Contraction, TilesKeepNaNAndInfinity) {
  if (cpu_level() != CpuLevel::v4)
    GTEST_SKIP() << "needs AVX-512";
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float special[] = {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, -0.0f, 1e-42f};
  int number = 0;
  for (const auto &[m, n, k] :
       {std::array<int64_t, 3>{9, 21, 40}, {13, 10, 400}, {66, 50, 17}, {31, 200, 130}})
    for (int layout = 0; layout < 4; ++layout)
      for (int epilogue = 0; epilogue < 8; ++epilogue) {
        ContractionShape shape = Problem::dense(DType::f32, 1, m, n, k);
        shape.a_strides = strides_of(layout & 1, 1, m, k);
        shape.b_strides = strides_of(layout >> 1, 1, k, n);
        shape.bias = epilogue & 1;
        shape.residual = epilogue & 2;
        shape.relu = epilogue & 4;
        Problem problem(shape, static_cast<unsigned>(++number));
        std::mt19937 random(static_cast<unsigned>(number));
        for (Matrix *matrix : {&problem.a, &problem.b, &problem.bias, &problem.residual})
          for (int i = 0; i < 3; ++i)
            matrix->at<float>(static_cast<int64_t>(random() % (matrix->bytes.size() / sizeof(float)))) =
                special[random() % std::size(special)];
        expect_chains(problem, *Contraction::make_library(shape).value_or_throw());
        if (HasFatalFailure() || HasNonfatalFailure())
          return;
      }
}

TEST(Contraction, BitsDoNotDependOnThreads) {
  for (DType dtype : {DType::f32, DType::f16, DType::f64})
    for (const auto &[m, n, k] : {std::array<int64_t, 3>{200, 300, 700},
                                  {8, 16, 100000},
                                  {16, 64, 30000},
                                  {512, 10, 4096},
                                  {1, 1000, 2000}}) {
      if (weft::testing::passedOver())
        continue;
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
      if (weft::testing::passedOver())
        continue;
      shape.bias = epilogue & 1;
      shape.relu = epilogue & 2;
      shape.residual = epilogue & 4;
      Problem problem(shape);
      const auto chosen = Contraction::get(shape).value_or_throw();
      // oneDNN has no optimised implementation for some layouts of a matrix times a vector.
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

// Each product is rounded and then added, in every implementation: with one launch for each product, and with
// one for all.
TEST(Contraction, SumsOfProductsHaveTheBitsOfProductsThatAreAdded) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const auto &[m, n, k] : {std::array<int64_t, 3>{512, 128, 32},
                                  {96, 200, 17},
                                  {65, 33, 384},
                                  {3, 40, 16},
                                  {70, 1, 20},
                                  {40, 50, 500},
                                  {7, 9, 3},
                                  {8, 8, 0},
                                  {300, 16, 700}})
      for (const int layout : {0, 1, 2, 3})
        for (const bool residual : {false, true}) {
          if (weft::testing::passedOver())
            continue;
          ContractionShape one = Problem::dense(dtype, 2, m, n, k);
          if (layout & 1)
            one.a_strides = {m * k, 1, m};
          if (layout & 2)
            one.b_strides = {k * n, 1, k};
          one.residual = residual;
          ContractionShape sum = one;
          sum.more = 3;
          Problem problem(sum);
          Problem others[] = {Problem(one, 2), Problem(one, 3), Problem(one, 4)};
          std::vector<const void *> more;
          for (Problem &other : others)
            more.insert(more.end(), {other.a.bytes.data(), other.b.bytes.data()});
          const auto contraction = Contraction::get(sum).value_or_throw();
          SCOPED_TRACE(contraction->implementation());
          for (const bool serial : {false, true}) {
            const auto scratch =
                Buffer::allocate(contraction->scratch_bytes(executor().width())).value_or_throw();
            ASSERT_TRUE(
                contraction->run({problem.a.bytes.data(), problem.b.bytes.data(), problem.c.bytes.data(),
                                  nullptr, problem.residual.bytes.data(), scratch->data(), more.data()},
                                 {serial}));
            Problem expected(one);
            ASSERT_TRUE(expected.run(*Contraction::get(one).value_or_throw()));
            for (Problem &other : others) {
              other.shape.residual = false;
              ASSERT_TRUE(other.run(*Contraction::get(other.shape).value_or_throw()));
              for (int64_t i = 0; i < 2 * m * n; ++i)
                if (dtype == DType::f32)
                  expected.c.at<float>(i) += other.c.at<float>(i);
                else
                  expected.c.at<double>(i) += other.c.at<double>(i);
            }
            ASSERT_EQ(problem.c.bytes, expected.c.bytes)
                << name(dtype) << ' ' << m << 'x' << k << 'x' << n << ", layout " << layout;
          }
        }
}

// A sum over columns is zero elements long if there are no columns, for any number of rows.
TEST(Contraction, SumsOfProductsWithoutElementsEnd) {
  ContractionShape sum = Problem::dense(DType::f32, 1, int64_t(1) << 40, 0, 0);
  sum.more = 1;
  const void *const more[] = {nullptr, nullptr};
  ContractionCall call;
  call.more = more;
  EXPECT_TRUE(Contraction::get(sum).value_or_throw()->run(call, {true}));
}

// With AVX-512 the gradients of a sequence's weights are one pass over each block of the result.
TEST(Contraction, SumsOfShortProductsAreComputedBlockByBlock) {
  ContractionShape sum = Problem::dense(DType::f32, 1, 512, 128, 32);
  sum.more = 19;
  const std::string found = Contraction::get(sum).value_or_throw()->implementation();
  if (cpu_level() == CpuLevel::v4)
    EXPECT_EQ(found, "weft:sums:x86-64-v4");
  else
    EXPECT_TRUE(found.ends_with(":added")) << found;
  sum.k = 1000;
  sum.a_strides = {512000, 1000, 1};
  sum.b_strides = {128000, 128, 1};
  EXPECT_TRUE(Contraction::get(sum).value_or_throw()->implementation().ends_with(":added"));
  sum.bias = true;
  EXPECT_FALSE(Contraction::get(sum));
}

} // namespace
