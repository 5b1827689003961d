//===- MatrixRoutineTest.cpp - Factorizations of matrices --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Factors are compared with the matrix that they are factors of: products, and what is orthonormal.
//
//===----------------------------------------------------------------------===//
#include "runtime/linalg/MatrixRoutine.h"

#include "PlanFixture.h"
#include "runtime/plan/MatrixPlan.h"
#include "runtime/threads/Executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

using Numbers = std::vector<double>;

Numbers random_numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Numbers made(static_cast<size_t>(count));
  for (double &each : made)
    each = normal(random);
  return made;
}

/// The results of a routine on a batch of f64.
struct Results {
  std::vector<std::vector<std::byte>> memory;
  const double *real(size_t part) const { return reinterpret_cast<const double *>(memory[part].data()); }
  const int32_t *narrow(size_t part) const { return reinterpret_cast<const int32_t *>(memory[part].data()); }
  const int64_t *wide(size_t part) const { return reinterpret_cast<const int64_t *>(memory[part].data()); }
};

Results computed(MatrixShape shape, const std::vector<Numbers> &operands) {
  shape.dtype = DType::f64;
  const MatrixRoutine routine(shape);
  Results results, serial;
  for (Results *each : {&results, &serial}) {
    std::vector<void *> pointers;
    size_t next = 0;
    for (const MatrixPart &part : MatrixRoutine::parts_of(shape)) {
      auto &bytes = each->memory.emplace_back(
          static_cast<size_t>(shape.batch * part.elements) * itemsize(part.dtype) + 1);
      if (!part.written)
        std::copy(operands[next].begin(), operands[next].end(), reinterpret_cast<double *>(bytes.data())),
            ++next;
    }
    for (auto &bytes : each->memory)
      pointers.push_back(bytes.data());
    std::vector<uint64_t> scratch(routine.scratch_bytes(executor().width()) / 8 + 1);
    routine.run(pointers.data(), scratch.data(), each == &serial);
  }
  EXPECT_EQ(results.memory, serial.memory) << "bits depend on threads";
  return results;
}

/// a b, or a b^T, of row-major matrices [m, k] and [k, n].
Numbers product(const double *a, const double *b, int64_t m, int64_t k, int64_t n, bool turned = false) {
  Numbers c(static_cast<size_t>(m * n), 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t r = 0; r < k; ++r)
        c[static_cast<size_t>(i * n + j)] += a[i * k + r] * (turned ? b[j * k + r] : b[r * n + j]);
  return c;
}

void expect_near(const Numbers &found, const double *expected, double tolerance) {
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], tolerance) << "element " << i;
}

/// Whether the rows of a [rows, columns] matrix are orthonormal.
void expect_orthonormal_rows(const double *a, int64_t rows, int64_t columns) {
  Numbers one(static_cast<size_t>(rows * rows), 0);
  for (int64_t i = 0; i < rows; ++i)
    one[static_cast<size_t>(i * rows + i)] = 1;
  expect_near(product(a, a, rows, columns, rows, true), one.data(), 1e-12);
}

Numbers turned(const double *a, int64_t rows, int64_t columns) {
  Numbers result(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[static_cast<size_t>(j * rows + i)] = a[i * columns + j];
  return result;
}

} // namespace

TEST(MatrixRoutine, Cholesky) {
  const int64_t n = 7;
  const Numbers g = random_numbers(2 * n * n, 1);
  Numbers a;
  for (int64_t i = 0; i < 2; ++i) {
    const Numbers one = product(g.data() + i * n * n, g.data() + i * n * n, n, n, n, true);
    a.insert(a.end(), one.begin(), one.end());
  }
  const Results r = computed({.kind = MatrixKind::cholesky, .batch = 2, .rows = n, .columns = n}, {a});
  for (int64_t i = 0; i < 2; ++i) {
    const double *l = r.real(1) + i * n * n;
    expect_near(product(l, l, n, n, n, true), a.data() + i * n * n, 1e-12);
    EXPECT_EQ(l[1], 0);
    EXPECT_EQ(r.narrow(2)[i], 0);
  }
  // The leading minor of two rows is -3.
  const Results none =
      computed({.kind = MatrixKind::cholesky, .batch = 1, .rows = 2, .columns = 2}, {{1, 2, 2, 1}});
  EXPECT_EQ(none.narrow(2)[0], 2);
  EXPECT_TRUE(std::isnan(none.real(1)[3]));
}

TEST(MatrixRoutine, LuOfEveryShape) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 5}, {7, 3}, {3, 7}, {1, 1}}) {
    const int64_t k = std::min(m, n);
    const Numbers a = random_numbers(3 * m * n, 2);
    const Results r = computed({.kind = MatrixKind::lu, .batch = 3, .rows = m, .columns = n}, {a});
    for (int64_t b = 0; b < 3; ++b) {
      const double *f = r.real(1) + b * m * n;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t c = 0; c <= std::min({i, j, k - 1}); ++c)
            sum += (c == i ? 1 : f[i * n + c]) * f[c * n + j];
          EXPECT_NEAR(sum, a[static_cast<size_t>(b * m * n + r.wide(3)[b * m + i] * n + j)], 1e-13);
        }
      for (int64_t c = 0; c < k; ++c)
        EXPECT_GE(r.narrow(2)[b * k + c], c + 1);
    }
  }
}

TEST(MatrixRoutine, QrOfEveryShape) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 5}, {7, 3}, {3, 7}})
    for (const bool full : {false, true}) {
      const int64_t columns = full ? m : std::min(m, n);
      const Numbers a = random_numbers(m * n, 3);
      const Results r =
          computed({.kind = MatrixKind::qr, .batch = 1, .rows = m, .columns = n, .full = full}, {a});
      expect_near(product(r.real(1), r.real(2), m, columns, n), a.data(), 1e-13);
      expect_orthonormal_rows(turned(r.real(1), m, columns).data(), columns, m);
      for (int64_t i = 1; i < columns; ++i)
        EXPECT_EQ(r.real(2)[i * n], 0);
    }
}

TEST(MatrixRoutine, TheSignOfNaNDecidesNoSignOfQr) {
  // Beside an infinity, hypot() would take NaN for a number, and devices differ in the sign of a NaN.
  for (const double nan : {std::nan(""), std::copysign(std::nan(""), -1.0)}) {
    const Results found =
        computed({.kind = MatrixKind::qr, .batch = 1, .rows = 2, .columns = 2}, {{nan, 1, HUGE_VAL, 2}});
    const double *r = found.real(2);
    EXPECT_TRUE(std::isnan(r[0]) && std::isnan(r[1]) && std::isnan(r[3]))
        << r[0] << ' ' << r[1] << ' ' << r[3];
    EXPECT_EQ(r[2], 0);
  }
}

TEST(MatrixRoutine, EigenvaluesOfSymmetricMatrices) {
  for (const int64_t n : {1, 2, 6, 20}) {
    Numbers a = random_numbers(n * n, 4);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j)
        a[static_cast<size_t>(j * n + i)] = a[static_cast<size_t>(i * n + j)];
    const Results r = computed({.kind = MatrixKind::eigh, .batch = 1, .rows = n, .columns = n}, {a});
    EXPECT_TRUE(std::is_sorted(r.real(1), r.real(1) + n));
    Numbers scaled(r.real(2), r.real(2) + n * n);
    for (int64_t i = 0; i < n * n; ++i)
      scaled[static_cast<size_t>(i)] *= r.real(1)[i % n];
    expect_near(product(scaled.data(), r.real(2), n, n, n, true), a.data(), 1e-12);
    expect_orthonormal_rows(turned(r.real(2), n, n).data(), n, n);
  }
}

TEST(MatrixRoutine, SingularValuesOfEveryShapeAndRank) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 5}, {7, 3}, {3, 7}, {1, 4}})
    for (const bool full : {false, true})
      for (const bool deficient : {false, true}) {
        const int64_t k = std::min(m, n), columns = full ? m : k, rows = full ? n : k;
        Numbers a = random_numbers(m * n, 5);
        if (deficient) // equal rows
          for (int64_t i = n; i < m * n; ++i)
            a[static_cast<size_t>(i)] = a[static_cast<size_t>(i % n)];
        const Results r =
            computed({.kind = MatrixKind::svd, .batch = 1, .rows = m, .columns = n, .full = full}, {a});
        EXPECT_TRUE(std::is_sorted(r.real(2), r.real(2) + k, std::greater<>()));
        if (deficient && k > 1) {
          EXPECT_NEAR(r.real(2)[1], 0, 1e-14);
        }
        Numbers scaled;
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < k; ++j)
            scaled.push_back(r.real(1)[i * columns + j] * r.real(2)[j]);
        expect_near(product(scaled.data(), r.real(3), m, k, n), a.data(), 1e-13);
        expect_orthonormal_rows(turned(r.real(1), m, columns).data(), columns, m);
        expect_orthonormal_rows(r.real(3), rows, n);
      }
}

TEST(MatrixRoutine, TriangularSystems) {
  const int64_t n = 6;
  const Numbers a = random_numbers(n * n, 6), b = random_numbers(n * 2, 7);
  for (const bool upper : {false, true})
    for (const bool unit : {false, true}) {
      const Results r = computed({.kind = MatrixKind::triangular_solve,
                                  .batch = 1,
                                  .rows = n,
                                  .columns = n,
                                  .sides = 2,
                                  .upper = upper,
                                  .unit = unit},
                                 {a, b});
      Numbers read = a;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          if (i == j ? unit : (j > i) != upper)
            read[static_cast<size_t>(i * n + j)] = i == j;
      expect_near(product(read.data(), r.real(2), n, n, 2), b.data(), 1e-8);
    }
}

TEST(MatrixPlan, RefusesLaunchesThatAreWrong) {
  const auto verified = [](const std::function<void(fb::MatrixLaunchT &, fb::LaunchT &)> &change) {
    PlanBuilder b;
    b.argument("a", DType::f32, {2, 3, 3});
    b.result("w", DType::f32, {2, 3});
    b.result("v", DType::f32, {2, 3, 3});
    fb::MatrixLaunchT matrices;
    matrices.kind = static_cast<uint8_t>(MatrixKind::eigh);
    matrices.dtype = static_cast<uint8_t>(DType::f32);
    matrices.batch = 2;
    matrices.rows = matrices.columns = 3;
    matrices.buffers = {b.buffer(fb::Storage::argument, 0, 0, 72), b.buffer(fb::Storage::result, 0, 0, 24),
                        b.buffer(fb::Storage::result, 1, 0, 72)};
    fb::LaunchT &launch = b.launch("eigh");
    change(matrices, launch);
    launch.op.Set(std::move(matrices));
    return b.verdict(nullptr);
  };
  const auto expect = [&](const std::function<void(fb::MatrixLaunchT &, fb::LaunchT &)> &change,
                          const char *text) {
    const Status status = verified(change);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  };
  EXPECT_TRUE(verified([](fb::MatrixLaunchT &, fb::LaunchT &) {}).ok());
  expect([](fb::MatrixLaunchT &m, fb::LaunchT &) { m.kind = 9; }, "asks for the unknown routine 9");
  expect([](fb::MatrixLaunchT &m, fb::LaunchT &) { m.dtype = 6; }, "is of matrices of element type number 6");
  expect([](fb::MatrixLaunchT &m, fb::LaunchT &) { m.rows = -1; }, "which is not possible");
  expect([](fb::MatrixLaunchT &m, fb::LaunchT &) { m.columns = 4; }, "needs square matrices");
  expect([](fb::MatrixLaunchT &m, fb::LaunchT &) { m.buffers.pop_back(); }, "has 2 buffers, expected 3");
  expect([](fb::MatrixLaunchT &m, fb::LaunchT &) { m.buffers[0] = 7; }, "has a in buffer 7 of 3");
  expect([](fb::MatrixLaunchT &m, fb::LaunchT &) { m.batch = 3; },
         "which are not those of 3 times 9 elements");
  expect([](fb::MatrixLaunchT &m, fb::LaunchT &) { m.batch = INT64_MAX; }, "which are not those of");
  expect([](fb::MatrixLaunchT &m, fb::LaunchT &) { m.buffers[2] = m.buffers[0]; },
         "has a and vectors in the same memory, and writes it");
  expect([](fb::MatrixLaunchT &, fb::LaunchT &l) { l.may_fail = true; }, "is marked as one that may fail");
}
