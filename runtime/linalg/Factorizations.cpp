//===- Factorizations.cpp - Algorithms on one matrix ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/linalg/Factorizations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace weft::runtime {

int32_t factor_cholesky(double *a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    double *row = a + i * n;
    for (int64_t j = 0; j <= i; ++j) {
      double sum = row[j];
      for (int64_t k = 0; k < j; ++k)
        sum -= row[k] * a[j * n + k];
      if (j < i) {
        row[j] = sum / a[j * n + j];
      } else if (sum > 0) {
        row[i] = std::sqrt(sum);
      } else {
        for (int64_t r = i; r < n; ++r)
          for (int64_t c = 0; c < n; ++c)
            a[r * n + c] = c > r ? 0 : std::numeric_limits<double>::quiet_NaN();
        return static_cast<int32_t>(i) + 1;
      }
    }
    std::fill(row + i + 1, row + n, 0.0);
  }
  return 0;
}

void factor_lu(double *a, int64_t m, int64_t n, int32_t *pivots, int64_t *permutation) {
  std::iota(permutation, permutation + m, int64_t(0));
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < m; ++i)
      if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k]))
        pivot = i;
    pivots[k] = static_cast<int32_t>(pivot) + 1;
    if (pivot != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + pivot * n);
      std::swap(permutation[k], permutation[pivot]);
    }
    const double *top = a + k * n;
    if (top[k] == 0) // then all elements below are 0
      continue;
    for (int64_t i = k + 1; i < m; ++i) {
      double *row = a + i * n;
      const double factor = row[k] /= top[k];
      for (int64_t j = k + 1; j < n; ++j)
        row[j] -= factor * top[j];
    }
  }
}

/// Applies 1 - tau v v^T from the left to columns [begin, end) of b, whose rows have `width` elements. `v` is
/// 1 in row `first`, and column `first` of a below.
static void reflect(const double *a, int64_t m, int64_t n, int64_t first, double tau, double *b,
                    int64_t width, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; ++j) {
    double sum = b[first * width + j];
    for (int64_t i = first + 1; i < m; ++i)
      sum += a[i * n + first] * b[i * width + j];
    sum *= tau;
    b[first * width + j] -= sum;
    for (int64_t i = first + 1; i < m; ++i)
      b[i * width + j] -= sum * a[i * n + first];
  }
}

void factor_qr(double *a, int64_t m, int64_t n, double *q, int64_t columns) {
  const int64_t k = std::min(m, n);
  // The factor of each reflection is kept in column 0 of q, which is written last.
  for (int64_t c = 0; c < k; ++c) {
    double size = 0;
    for (int64_t i = c + 1; i < m; ++i)
      size = std::hypot(size, a[i * n + c]);
    double tau = 0;
    if (size != 0) {
      // hypot(NaN, inf) is inf, whose sign would be that of a NaN, which differs from device to device.
      const double alpha = a[c * n + c],
                   beta = std::isnan(alpha) ? alpha : -std::copysign(std::hypot(alpha, size), alpha);
      tau = (beta - alpha) / beta;
      for (int64_t i = c + 1; i < m; ++i)
        a[i * n + c] /= alpha - beta;
      a[c * n + c] = beta;
    }
    reflect(a, m, n, c, tau, a, n, c + 1, n);
    q[c * columns] = tau;
  }
  // Q is the product of the reflections, from the last to the first, applied to the identity.
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 1; j < columns; ++j)
      q[i * columns + j] = i == j;
  for (int64_t c = k; c-- > 1;)
    reflect(a, m, n, c, q[c * columns], q, columns, 1, columns);
  if (k > 0) {
    const double tau = q[0];
    for (int64_t i = 0; i < m; ++i)
      q[i * columns] = i == 0;
    reflect(a, m, n, 0, tau, q, columns, 0, columns);
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < std::min(i, n); ++j)
      a[i * n + j] = 0;
}

namespace {

/// Sweeps of rotations end when nothing changes any more; as many are never needed.
constexpr int mostSweeps = 60;

struct Rotation {
  double cosine, sine;
};

/// The rotation that makes the off-diagonal element of [[p, x], [x, q]] zero.
Rotation rotation_for(double p, double x, double q) {
  const double theta = (q - p) / (2 * x);
  const double t = std::copysign(1 / (std::abs(theta) + std::hypot(theta, 1)), theta),
               c = 1 / std::hypot(t, 1);
  return {c, t * c};
}

/// Turns two vectors of `count` elements, `step` apart.
void rotate(double *x, double *y, int64_t count, int64_t step, Rotation r) {
  for (int64_t i = 0; i < count * step; i += step) {
    const double a = x[i], b = y[i];
    x[i] = r.cosine * a - r.sine * b;
    y[i] = r.sine * a + r.cosine * b;
  }
}

double dot(const double *x, const double *y, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += x[i] * y[i];
  return sum;
}

/// Fills rows [from, to) of orthonormal vectors of `size` elements: unit vectors without their parts along
/// the others.
void complete_rows(double *rows, int64_t size, int64_t from, int64_t to) {
  int64_t unit = 0;
  for (int64_t i = from; i < to; ++i) {
    double *row = rows + i * size;
    for (double length = 0; length < 0.5 / std::sqrt(static_cast<double>(size)) && unit < size; ++unit) {
      std::fill_n(row, size, 0.0);
      row[unit] = 1;
      for (int pass = 0; pass < 2; ++pass)
        for (int64_t j = 0; j < i; ++j) {
          const double along = dot(row, rows + j * size, size);
          for (int64_t c = 0; c < size; ++c)
            row[c] -= along * rows[j * size + c];
        }
      length = std::sqrt(dot(row, row, size));
      if (length > 0)
        for (int64_t c = 0; c < size; ++c)
          row[c] /= length;
    }
  }
}

} // namespace

void factor_eigh(double *a, int64_t n, double *values, double *vectors) {
  // The upper triangle becomes that of the symmetric matrix. Vectors are rows until the end.
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      if (j > i)
        a[i * n + j] = a[j * n + i];
      vectors[i * n + j] = i == j;
    }
  for (int sweep = 0; sweep < mostSweeps; ++sweep) {
    bool changed = false;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        const double x = a[p * n + q];
        const double bound =
            std::numeric_limits<double>::epsilon() / 4 * std::sqrt(std::abs(a[p * n + p] * a[q * n + q]));
        if (!(std::abs(x) > std::max(bound, std::numeric_limits<double>::min())))
          continue;
        changed = true;
        const Rotation r = rotation_for(a[p * n + p], x, a[q * n + q]);
        rotate(a + p * n, a + q * n, n, 1, r);
        rotate(a + p, a + q, n, n, r);
        a[p * n + q] = a[q * n + p] = 0;
        rotate(vectors + p * n, vectors + q * n, n, 1, r);
      }
    if (!changed)
      break;
  }
  for (int64_t i = 0; i < n; ++i)
    values[i] = a[i * n + i];
  for (int64_t i = 0; i < n; ++i) { // sorted by exchanges, which move the vectors, too
    const int64_t least = std::min_element(values + i, values + n) - values;
    if (least == i)
      continue;
    std::swap(values[i], values[least]);
    std::swap_ranges(vectors + i * n, vectors + (i + 1) * n, vectors + least * n);
  }
  for (int64_t i = 0; i < n; ++i)
    make_positive(vectors + i * n, n, 1);
  for (int64_t i = 0; i < n; ++i) // as columns
    for (int64_t j = 0; j < i; ++j)
      std::swap(vectors[i * n + j], vectors[j * n + i]);
}

void factor_svd(const double *a, int64_t m, int64_t n, bool full, double *u, double *s, double *vt,
                double *work) {
  // Rotations make the rows of the matrix, or of its transpose, orthogonal: the k rows of the shorter side.
  // Then x = G^T a with orthonormal G, and the rows of x are singular values times vectors of the longer
  // side.
  const bool isWide = m <= n;
  const int64_t k = std::min(m, n), size = std::max(m, n);
  double *x = work;
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < size; ++j)
      x[i * size + j] = isWide ? a[i * n + j] : a[j * n + i];
  double *turned = work + k * size; // k x k: the rotations as rows
  for (int64_t i = 0; i < k * k; ++i)
    turned[i] = i / k == i % k;
  for (int sweep = 0; sweep < mostSweeps; ++sweep) {
    bool changed = false;
    for (int64_t p = 0; p < k; ++p)
      for (int64_t q = p + 1; q < k; ++q) {
        double *rp = x + p * size, *rq = x + q * size;
        const double pp = dot(rp, rp, size), qq = dot(rq, rq, size), pq = dot(rp, rq, size);
        if (!(std::abs(pq) > std::numeric_limits<double>::epsilon() * std::sqrt(pp * qq)) ||
            std::abs(pq) < std::numeric_limits<double>::min())
          continue;
        changed = true;
        const Rotation r = rotation_for(pp, pq, qq);
        rotate(rp, rq, size, 1, r);
        rotate(turned + p * k, turned + q * k, k, 1, r);
      }
    if (!changed)
      break;
  }
  for (int64_t i = 0; i < k; ++i)
    s[i] = std::sqrt(dot(x + i * size, x + i * size, size));
  for (int64_t i = 0; i < k; ++i) {
    const int64_t largest = std::max_element(s + i, s + k) - s;
    if (largest == i)
      continue;
    std::swap(s[i], s[largest]);
    std::swap_ranges(x + i * size, x + (i + 1) * size, x + largest * size);
    std::swap_ranges(turned + i * k, turned + (i + 1) * k, turned + largest * k);
  }
  // The vectors of the longer side; where a singular value is 0, any that complete them.
  int64_t known = 0;
  while (known < k && s[known] > 0 && s[known] > s[0] * 1e-300)
    ++known;
  for (int64_t i = 0; i < known; ++i)
    for (int64_t j = 0; j < size; ++j)
      x[i * size + j] /= s[i];
  const int64_t longer = full ? size : k;
  double *vectors = isWide ? vt : x; // rows of the longer side
  if (isWide)
    std::copy_n(x, known * size, vt);
  // Room for all rows of a tall matrix is in `work` behind the rotations.
  if (!isWide) {
    double *rows = work + k * size + k * k;
    std::copy_n(x, known * size, rows);
    vectors = rows;
  }
  complete_rows(vectors, size, known, longer);
  if (isWide) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < k; ++j)
        u[i * (full ? m : k) + j] = turned[j * k + i];
  } else {
    std::copy_n(turned, k * k, vt);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < longer; ++j)
        u[i * longer + j] = vectors[j * size + i];
  }
  // Signs: those of V^T, and with them those of the columns of U that belong to them.
  const int64_t rows = full ? n : k, columns = full ? m : k;
  for (int64_t i = 0; i < rows; ++i)
    if (make_positive(vt + i * n, n, 1) && i < columns)
      for (int64_t r = 0; i < k && r < m; ++r)
        u[r * columns + i] = -u[r * columns + i];
}

void solve_triangular(const double *a, int64_t n, bool upper, bool unit, double *b, int64_t sides) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = upper ? n - 1 - step : step;
    double *row = b + i * sides;
    for (int64_t k = upper ? i + 1 : 0; k < (upper ? n : i); ++k)
      for (int64_t j = 0; j < sides; ++j)
        row[j] -= a[i * n + k] * b[k * sides + j];
    if (!unit)
      for (int64_t j = 0; j < sides; ++j)
        row[j] /= a[i * n + i];
  }
}

} // namespace weft::runtime
