//===- LapackTest.cpp - Matrices that LAPACK computes ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Factors of f32 and f64 are multiplied in double precision and compared with the matrix; what is unique is
// compared with Factorizations.h. scripts/install-deps installs the library, so a machine without it fails.
//
//===----------------------------------------------------------------------===//
#include "runtime/linalg/LapackRoutines.h"

#include "runtime/linalg/MatrixRoutine.h"
#include "runtime/threads/Executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace weft;
using namespace weft::runtime;

#if !defined(__has_feature)
#define __has_feature(name) 0
#endif
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
// A program may have a BLAS of its own, whose names are found first.
static std::atomic<int> foreignProducts{0};
extern "C" __attribute__((visibility("default"))) void dgemm_() { ++foreignProducts; }
#define WEFT_HAS_FOREIGN_BLAS 1
static const std::vector<int64_t> sizesOfTests{31, 96}; // odd numbers of elements, and more than one block
#else
static const std::vector<int64_t> sizesOfTests{31}; // products of the larger ones take a minute there
#endif

namespace {

using Numbers = std::vector<double>;

const Lapack &no_library() {
  static const Lapack none = load_lapack("none");
  return none;
}

Numbers random_matrices(const MatrixShape &shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const int64_t m = shape.rows, n = shape.columns;
  Numbers made(static_cast<size_t>(shape.batch * m * n));
  for (double &x : made)
    x = static_cast<float>(normal(random)); // both element types have it
  for (int64_t b = 0; b < shape.batch; ++b) {
    double *a = made.data() + b * m * n;
    if (shape.kind == MatrixKind::cholesky) // dominated by its diagonal
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < i; ++j)
          a[j * n + i] = a[i * n + j];
        a[i * n + i] += static_cast<double>(3 * n);
      }
    if (shape.kind == MatrixKind::triangular_solve)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) // the other triangle must not be read
          a[i * n + j] = i == j                   ? a[i * n + j] + static_cast<double>(2 * n)
                         : (j > i) == shape.upper ? a[i * n + j] / (shape.unit ? static_cast<double>(n) : 1)
                                                  : std::numeric_limits<double>::quiet_NaN();
    if (is_eigen(shape.kind) || shape.kind == MatrixKind::cholesky)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = i + 1; j < n; ++j)
          a[i * n + j] = std::numeric_limits<double>::quiet_NaN();
  }
  return made;
}

/// The memory of all parts of a batch.
struct Batch {
  MatrixShape shape;
  std::vector<MatrixPart> layout;
  std::vector<std::vector<std::byte>> memory;

  Batch(const MatrixShape &shape, const std::vector<Numbers> &operands)
      : shape(shape), layout(MatrixRoutine::parts_of(shape)) {
    for (size_t i = 0; i < layout.size(); ++i) {
      memory.emplace_back(static_cast<size_t>(shape.batch * layout[i].elements) * itemsize(layout[i].dtype));
      for (size_t j = 0; i < operands.size() && j < operands[i].size(); ++j)
        shape.dtype == DType::f64 ? set<double>(i, j, operands[i][j]) : set<float>(i, j, operands[i][j]);
    }
  }
  template <typename T> void set(size_t part, size_t at, double value) {
    const T narrow = static_cast<T>(value);
    std::memcpy(memory[part].data() + at * sizeof(T), &narrow, sizeof(T));
  }
  /// A part of one matrix, as doubles.
  Numbers part(size_t part, int64_t number = 0) const {
    Numbers made;
    const int64_t count = layout[part].elements;
    for (int64_t i = number * count; i < (number + 1) * count; ++i)
      switch (layout[part].dtype) {
      case DType::f32:
        made.push_back(at<float>(part, i));
        break;
      case DType::f64:
        made.push_back(at<double>(part, i));
        break;
      case DType::i32:
        made.push_back(at<int32_t>(part, i));
        break;
      default:
        made.push_back(static_cast<double>(at<int64_t>(part, i)));
      }
    return made;
  }
  template <typename T> T at(size_t part, int64_t i) const {
    T value;
    std::memcpy(&value, memory[part].data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return value;
  }
  void run(bool serial, const Lapack *library = nullptr) {
    const MatrixRoutine routine(shape, library);
    std::vector<void *> parts;
    for (auto &bytes : memory)
      parts.push_back(bytes.data());
    std::vector<double> scratch(routine.scratch_bytes(executor().width()) / 8 + 8);
    // Scratch is aligned as that of calls is.
    const size_t first = (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64 / 8;
    routine.run(parts.data(), scratch.data() + first, serial);
  }
};

/// The operands of a shape: matrices, and right sides.
std::vector<Numbers> operands_of(const MatrixShape &shape, unsigned seed = 1) {
  std::vector<Numbers> operands{random_matrices(shape, seed)};
  if (shape.kind == MatrixKind::triangular_solve)
    operands.push_back(random_matrices(
        {.kind = MatrixKind::qr, .batch = shape.batch, .rows = shape.rows, .columns = shape.sides},
        seed + 1));
  return operands;
}

/// a b of row-major matrices, [m, k] and [k, n], of which the first columns and rows are used.
Numbers product(const Numbers &a, int64_t a_pitch, const Numbers &b, int64_t m, int64_t k, int64_t n) {
  Numbers c(static_cast<size_t>(m * n), 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t r = 0; r < k; ++r)
      for (int64_t j = 0; j < n; ++j)
        c[static_cast<size_t>(i * n + j)] +=
            a[static_cast<size_t>(i * a_pitch + r)] * b[static_cast<size_t>(r * n + j)];
  return c;
}
Numbers turned(const Numbers &a, int64_t rows, int64_t columns) {
  Numbers result(a.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[static_cast<size_t>(j * rows + i)] = a[static_cast<size_t>(i * columns + j)];
  return result;
}
Numbers identity(int64_t size) {
  Numbers one(static_cast<size_t>(size * size), 0);
  for (int64_t i = 0; i < size; ++i)
    one[static_cast<size_t>(i * size + i)] = 1;
  return one;
}
double distance(const Numbers &a, const Numbers &b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i)
    most = std::isnan(a[i]) || std::isnan(b[i]) ? INFINITY : std::max(most, std::abs(a[i] - b[i]));
  return most;
}
/// Orthonormal columns.
double distance_from_orthonormal(const Numbers &q, int64_t rows, int64_t columns) {
  return distance(product(turned(q, rows, columns), rows, q, columns, rows, columns), identity(columns));
}

/// How far values are from those that are computed with vectors, and without LAPACK.
double distance_of_values(const Batch &batch, int64_t number) {
  MatrixShape shape = batch.shape;
  shape.batch = 1;
  shape.kind = shape.kind == MatrixKind::eigvalsh ? MatrixKind::eigh : MatrixKind::svd;
  Batch whole(shape, {batch.part(0, number)});
  whole.run(true, &no_library());
  return distance(batch.part(1, number), whole.part(is_eigen(shape.kind) ? 1 : 2, 0));
}

/// How far the product of the factors of one matrix is from the matrix, and the vectors from orthonormal
/// ones.
double residual(const Batch &batch, int64_t number) {
  const MatrixShape &s = batch.shape;
  const int64_t m = s.rows, n = s.columns, k = std::min(m, n);
  Numbers a = batch.part(0, number);
  switch (s.kind) {
  case MatrixKind::cholesky: {
    const Numbers l = batch.part(1, number);
    EXPECT_EQ(batch.part(2, number)[0], 0);
    Numbers both = product(l, n, turned(l, n, n), n, n, n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i + 1; j < n; ++j) {
        EXPECT_EQ(l[static_cast<size_t>(i * n + j)], 0);
        a[static_cast<size_t>(i * n + j)] = a[static_cast<size_t>(j * n + i)];
      }
    return distance(both, a);
  }
  case MatrixKind::lu: {
    const Numbers lu = batch.part(1, number), order = batch.part(3, number);
    Numbers l(static_cast<size_t>(m * k)), u(static_cast<size_t>(k * n)), permuted;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        if (j < k)
          l[static_cast<size_t>(i * k + j)] = j < i ? lu[static_cast<size_t>(i * n + j)] : i == j;
        if (i < k)
          u[static_cast<size_t>(i * n + j)] = j < i ? 0 : lu[static_cast<size_t>(i * n + j)];
      }
    for (int64_t i = 0; i < m; ++i)
      permuted.insert(permuted.end(), a.begin() + static_cast<int64_t>(order[static_cast<size_t>(i)]) * n,
                      a.begin() + static_cast<int64_t>(order[static_cast<size_t>(i)] + 1) * n);
    return distance(product(l, k, u, m, k, n), permuted);
  }
  case MatrixKind::qr: {
    const int64_t columns = s.full ? m : k;
    const Numbers q = batch.part(1, number), r = batch.part(2, number);
    for (int64_t i = 0; i < columns; ++i)
      for (int64_t j = 0; j < std::min(i, n); ++j)
        EXPECT_EQ(r[static_cast<size_t>(i * n + j)], 0);
    return std::max(distance(product(q, columns, r, m, columns, n), a),
                    distance_from_orthonormal(q, m, columns));
  }
  case MatrixKind::eigh: {
    const Numbers values = batch.part(1, number), v = batch.part(2, number);
    Numbers scaled = v;
    for (int64_t i = 0; i < n * n; ++i)
      scaled[static_cast<size_t>(i)] *= values[static_cast<size_t>(i % n)];
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i + 1; j < n; ++j)
        a[static_cast<size_t>(i * n + j)] = a[static_cast<size_t>(j * n + i)];
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
    return std::max(distance(product(scaled, n, turned(v, n, n), n, n, n), a),
                    distance_from_orthonormal(v, n, n));
  }
  case MatrixKind::svd: {
    const int64_t columns = s.full ? m : k, rows = s.full ? n : k;
    const Numbers u = batch.part(1, number), values = batch.part(2, number), vt = batch.part(3, number);
    Numbers scaled = u;
    for (int64_t i = 0; i < m * columns; ++i)
      scaled[static_cast<size_t>(i)] *= i % columns < k ? values[static_cast<size_t>(i % columns)] : 0;
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end(), std::greater<>()));
    return std::max({distance(product(scaled, columns, vt, m, k, n), a),
                     distance_from_orthonormal(u, m, columns),
                     distance_from_orthonormal(turned(vt, rows, n), n, rows)});
  }
  case MatrixKind::eigvalsh:
  case MatrixKind::svdvals:
    return distance_of_values(batch, number);
  case MatrixKind::triangular_solve: {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        if (i == j ? s.unit : (j > i) != s.upper)
          a[static_cast<size_t>(i * n + j)] = i == j;
    return distance(product(a, n, batch.part(2, number), n, n, s.sides), batch.part(1, number));
  }
  }
  return INFINITY;
}

/// Shapes that LAPACK computes, of both element types.
std::vector<MatrixShape> shapes() {
  std::vector<MatrixShape> made;
  for (const DType dtype : {DType::f32, DType::f64})
    for (const int64_t n : sizesOfTests) {
      for (const MatrixKind kind : {MatrixKind::cholesky, MatrixKind::eigh, MatrixKind::eigvalsh})
        made.push_back({.kind = kind, .dtype = dtype, .batch = 3, .rows = n, .columns = n});
      for (const auto &[m, columns] :
           {std::pair<int64_t, int64_t>{n, n}, {2 * n + 3, n}, {n, 2 * n + 3}, {15 * n, n}})
        for (const MatrixKind kind : {MatrixKind::lu, MatrixKind::qr, MatrixKind::svd, MatrixKind::svdvals})
          for (const bool full : {false, true})
            if (!full || (kind != MatrixKind::lu && kind != MatrixKind::svdvals && m < 15 * n))
              made.push_back(
                  {.kind = kind, .dtype = dtype, .batch = 3, .rows = m, .columns = columns, .full = full});
      for (const bool upper : {false, true})
        for (const bool unit : {false, true})
          for (const int64_t sides : {int64_t(1), int64_t(7), n})
            made.push_back({.kind = MatrixKind::triangular_solve,
                            .dtype = dtype,
                            .batch = 3,
                            .rows = n,
                            .columns = n,
                            .sides = sides,
                            .upper = upper,
                            .unit = unit});
    }
  return made;
}

std::string text_of(const MatrixShape &s) {
  return "kind " + std::to_string(static_cast<int>(s.kind)) + ", " + std::string(name(s.dtype)) + ", " +
         std::to_string(s.rows) + " x " + std::to_string(s.columns) + ", sides " + std::to_string(s.sides) +
         (s.full ? ", full" : "") + (s.upper ? ", upper" : "") + (s.unit ? ", unit" : "");
}

size_t threads_of_process() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                           std::filesystem::directory_iterator()));
}

} // namespace

TEST(Lapack, StartsNoThreads) {
  executor(); // has its threads
  const size_t before = threads_of_process();
  const Lapack &library = lapack();
  ASSERT_TRUE(library.ready) << library.text();
  EXPECT_EQ(library.text().rfind("OpenBLAS ", 0), 0u) << library.text();
  // OpenMP would have four threads for this caller.
  const int threads = library.omp_get_max_threads();
  library.omp_set_num_threads(4);
  for (const MatrixKind kind : {MatrixKind::lu, MatrixKind::qr, MatrixKind::svd}) {
    const MatrixShape shape{.kind = kind, .dtype = DType::f32, .batch = 1, .rows = 400, .columns = 400};
    Batch batch(shape, operands_of(shape));
    batch.run(true);
  }
  EXPECT_EQ(library.omp_get_max_threads(), 4) << "the caller's number is not restored";
  library.omp_set_num_threads(threads);
  EXPECT_EQ(threads_of_process(), before);
}

TEST(Lapack, SaysWhyThereIsNone) {
  EXPECT_EQ(no_library().text(), "no LAPACK (WEFT_LAPACK is none)");
  for (const char *file : {"/nowhere/libopenblas.so.0", "libm.so.6"}) {
    const Lapack found = load_lapack(file);
    EXPECT_FALSE(found.ready);
    EXPECT_NE(found.problem.find(file), std::string::npos) << found.problem;
    EXPECT_NE(found.problem.find("install libopenblas0-openmp"), std::string::npos) << found.problem;
  }
}

#if WEFT_HAS_FOREIGN_BLAS // the sanitizers need address space themselves
TEST(Lapack, IsNotOpenedWithoutAddressSpace) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{size_t(2) << 30, size_t(2) << 30};
    const bool isLimited = ::setrlimit(RLIMIT_AS, &limit) == 0;
    const Lapack found = load_lapack("");
    ::_exit(isLimited && !found.ready && found.problem.find("ulimit -v") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

TEST(Lapack, FactorsOfEveryShape) {
  ASSERT_TRUE(lapack().ready);
  for (const MatrixShape &shape : shapes()) {
    EXPECT_TRUE(is_for_lapack(shape)) << text_of(shape);
    Batch batch(shape, operands_of(shape));
    batch.run(false);
    const double unit = shape.dtype == DType::f64 ? 0x1p-52 : 0x1p-23;
    const double size = static_cast<double>(std::max(shape.rows, shape.columns));
    for (int64_t number = 0; number < shape.batch; ++number)
      EXPECT_LE(residual(batch, number), 8 * unit * size) << text_of(shape);
  }
}

TEST(Lapack, AgreesWithFactorizationsWithoutIt) {
  for (const MatrixShape &shape : shapes()) {
    if (shape.full) // vectors that complete others are not unique
      continue;
    Batch with(shape, operands_of(shape)), without(shape, operands_of(shape));
    with.run(false);
    without.run(false, &no_library());
    const double tolerance =
        (shape.dtype == DType::f64 ? 1e-9 : 1e-2) * static_cast<double>(std::max(shape.rows, shape.columns));
    for (size_t part = 0; part < with.layout.size(); ++part)
      if (with.layout[part].written && is_floating_point(with.layout[part].dtype))
        for (int64_t number = 0; number < shape.batch; ++number)
          EXPECT_LE(distance(with.part(part, number), without.part(part, number)), tolerance)
              << text_of(shape) << ", " << with.layout[part].name;
      else if (with.layout[part].written)
        EXPECT_EQ(with.memory[part], without.memory[part]) << text_of(shape);
  }
}

TEST(Lapack, BitsDoNotDependOnThreadsPlaceOrBatch) {
  const auto three = make_thread_executor(3);
  for (const MatrixShape &shape : shapes()) {
    // The same matrix everywhere. Odd numbers of elements begin at other places of a line of the cache.
    MatrixShape single = shape;
    single.batch = 1;
    std::vector<Numbers> one = operands_of(single), many = one;
    for (size_t i = 0; i < one.size(); ++i)
      for (int64_t repeat = 1; repeat < shape.batch; ++repeat)
        many[i].insert(many[i].end(), one[i].begin(), one[i].end());
    Batch alone(single, one), serial(shape, many), pooled(shape, many);
    alone.run(true);
    serial.run(true);
    set_executor(three.get());
    pooled.run(false);
    set_executor(nullptr);
    EXPECT_EQ(serial.memory, pooled.memory) << text_of(shape);
    for (size_t part = 0; part < alone.memory.size(); ++part)
      for (int64_t number = 0; number < shape.batch; ++number)
        EXPECT_EQ(
            std::memcmp(alone.memory[part].data(),
                        serial.memory[part].data() + static_cast<size_t>(number) * alone.memory[part].size(),
                        alone.memory[part].size()),
            0)
            << text_of(shape) << ", " << alone.layout[part].name << " of matrix " << number;
  }
}

TEST(Lapack, MatricesThatAreNotPositiveDefinite) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const int64_t bad : {0, 1, 40, 69}) {
      const MatrixShape shape{
          .kind = MatrixKind::cholesky, .dtype = dtype, .batch = 1, .rows = 70, .columns = 70};
      std::vector<Numbers> operands = operands_of(shape);
      operands[0][static_cast<size_t>(bad * 71)] = -1;
      Batch with(shape, operands), without(shape, operands);
      with.run(true);
      without.run(true, &no_library());
      EXPECT_EQ(with.part(2)[0], static_cast<double>(bad + 1));
      EXPECT_EQ(without.part(2)[0], static_cast<double>(bad + 1));
      const Numbers l = with.part(1), expected = without.part(1);
      for (size_t i = 0; i < l.size(); ++i)
        if (std::isnan(expected[i]))
          EXPECT_TRUE(std::isnan(l[i])) << i;
        else
          EXPECT_NEAR(l[i], expected[i], 1e-4) << i;
    }
}

TEST(Lapack, NumbersThatAreNotFinite) {
  const double bad[] = {std::numeric_limits<double>::quiet_NaN(), INFINITY, -INFINITY};
  for (MatrixShape shape : shapes()) {
    if (shape.rows > 70 || shape.columns > 70 || shape.full)
      continue;
    shape.batch = 1;
    for (const double value : bad)
      for (const size_t place : {size_t(0), static_cast<size_t>(shape.columns * shape.rows - 1)}) {
        std::vector<Numbers> operands = operands_of(shape);
        operands[0][place] = value;
        Batch with(shape, operands), without(shape, operands);
        with.run(true);
        without.run(true, &no_library());
        for (size_t part = 0; part < with.layout.size(); ++part) {
          const Numbers found = with.part(part), expected = without.part(part);
          for (size_t i = 0; with.layout[part].written && i < found.size(); ++i) {
            EXPECT_EQ(std::isnan(found[i]), std::isnan(expected[i]))
                << text_of(shape) << ", " << with.layout[part].name << "[" << i << "]";
            if (shape.kind == MatrixKind::eigh || shape.kind == MatrixKind::svd)
              EXPECT_TRUE(std::isnan(found[i])) << text_of(shape);
          }
        }
      }
  }
}

TEST(Lapack, NumbersAtTheEndsOfTheRange) {
  for (MatrixShape shape : shapes()) {
    shape.batch = 1;
    if (shape.rows > 70 || shape.columns > 70)
      continue;
    for (const double scale :
         {0.0, shape.dtype == DType::f64 ? 1e-310 : 1e-41, shape.dtype == DType::f64 ? 1e305 : 1e35}) {
      std::vector<Numbers> operands = operands_of(shape);
      for (double &x : operands[0])
        x *= scale;
      Batch batch(shape, operands);
      batch.run(true); // without a fault, an endless loop, or a pivot that is no row
      if (shape.kind == MatrixKind::lu)
        for (int64_t i = 0; i < std::min(shape.rows, shape.columns); ++i) {
          EXPECT_GT(batch.at<int32_t>(2, i), i) << text_of(shape);
          EXPECT_LE(batch.at<int32_t>(2, i), shape.rows) << text_of(shape);
        }
      if (shape.kind == MatrixKind::lu &&
          scale < 1) { // what OpenBLAS divides by subnormal pivots is infinite
        const Numbers lu = batch.part(1);
        for (int64_t i = 0; i < shape.rows; ++i)
          for (int64_t j = 0; j < std::min(i, shape.columns); ++j)
            EXPECT_LE(std::abs(lu[static_cast<size_t>(i * shape.columns + j)]), 1) << text_of(shape);
      }
    }
  }
}

TEST(Lapack, SmallMatricesOfAnyScale) {
  for (const MatrixKind kind : {MatrixKind::eigh, MatrixKind::svd})
    for (const int64_t n : {3, 20})
      for (const int64_t m : {n, kind == MatrixKind::eigh ? n : 7 * n})
        for (const int exponent : {-1000, -500, 500, 1000}) {
          const MatrixShape shape{.kind = kind, .dtype = DType::f64, .batch = 1, .rows = m, .columns = n};
          std::vector<Numbers> operands = operands_of(shape);
          Batch plain(shape, operands);
          for (double &x : operands[0])
            x = std::ldexp(x, exponent);
          Batch scaled(shape, operands);
          plain.run(true, &no_library());
          scaled.run(true, &no_library());
          const size_t values = kind == MatrixKind::eigh ? 1 : 2;
          Numbers expected = plain.part(values);
          for (double &x : expected)
            x = std::ldexp(x, exponent);
          EXPECT_LE(distance(scaled.part(values), expected), std::ldexp(1e-13, exponent)) << text_of(shape);
          EXPECT_LE(distance(scaled.part(values == 1 ? 2 : 1), plain.part(values == 1 ? 2 : 1)), 1e-12);
        }
}

TEST(Lapack, TallMatricesTakeLittleScratch) {
  const MatrixShape shape{
      .kind = MatrixKind::svd, .dtype = DType::f32, .batch = 1, .rows = 100000, .columns = 8};
  EXPECT_LT(MatrixRoutine(shape, nullptr).scratch_bytes(1), size_t(64) << 20);
}

TEST(Lapack, MoreThreadsThanWorkingAreas) {
  const MatrixShape shape{
      .kind = MatrixKind::svd, .dtype = DType::f64, .batch = 1, .rows = 48, .columns = 48};
  Batch expected(shape, operands_of(shape));
  expected.run(true);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 80; ++i)
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 5; ++repeat) {
        Batch batch(shape, operands_of(shape));
        batch.run(true);
        wrong += batch.memory != expected.memory;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Lapack, ChildrenOfAForkCompute) {
  const MatrixShape shape{
      .kind = MatrixKind::eigh, .dtype = DType::f32, .batch = 1, .rows = 64, .columns = 64};
  Batch expected(shape, operands_of(shape));
  expected.run(true);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Batch batch(shape, operands_of(shape));
    batch.run(true);
    ::_exit(batch.memory == expected.memory ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#if WEFT_HAS_FOREIGN_BLAS
TEST(Lapack, CallsItsOwnFunctions) {
  const MatrixShape shape{
      .kind = MatrixKind::qr, .dtype = DType::f64, .batch = 1, .rows = 200, .columns = 200};
  Batch batch(shape, operands_of(shape));
  batch.run(true);
  EXPECT_LE(residual(batch, 0), 1e-10);
  EXPECT_EQ(foreignProducts, 0);
}
#endif
