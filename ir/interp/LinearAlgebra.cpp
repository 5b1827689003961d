//===- LinearAlgebra.cpp - The meaning of factorizations -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/interp/Rules.h"

#include <numeric>

using namespace mlir;
namespace weft::ir {

namespace {

/// A matrix of a literal's batch, or one of its own.
struct Matrix {
  int64_t rows, columns;
  std::vector<double> at;
  Matrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), at(static_cast<size_t>(rows * columns)) {}
  Matrix(const Literal &from, int64_t number) : Matrix(from.shape[from.shape.size() - 2], from.shape.back()) {
    std::copy_n(from.real.begin() + number * rows * columns, rows * columns, at.begin());
  }
  static Matrix identity(int64_t size) {
    Matrix one(size, size);
    for (int64_t i = 0; i < size; ++i)
      one(i, i) = 1;
    return one;
  }
  double &operator()(int64_t i, int64_t j) { return at[static_cast<size_t>(i * columns + j)]; }
  double operator()(int64_t i, int64_t j) const { return at[static_cast<size_t>(i * columns + j)]; }

  Matrix transposed() const {
    Matrix result(columns, rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        result(j, i) = (*this)(i, j);
    return result;
  }
  Matrix times(const Matrix &b) const {
    Matrix result(rows, b.columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < b.columns; ++j)
        for (int64_t k = 0; k < columns; ++k)
          result(i, j) += (*this)(i, k) * b(k, j);
    return result;
  }
  /// The first rows and columns.
  Matrix corner(int64_t r, int64_t c) const {
    Matrix result(r, c);
    for (int64_t i = 0; i < r; ++i)
      for (int64_t j = 0; j < c; ++j)
        result(i, j) = (*this)(i, j);
    return result;
  }
  void write(Literal &to, int64_t number) const {
    for (size_t i = 0; i < at.size(); ++i)
      to.setReal(number * rows * columns + static_cast<int64_t>(i), at[i]);
  }
};

int64_t cholesky(const Matrix &a, Matrix &l) {
  for (int64_t j = 0; j < a.columns; ++j) { // column by column
    double pivot = a(j, j);
    for (int64_t k = 0; k < j; ++k)
      pivot -= l(j, k) * l(j, k);
    if (!(pivot > 0)) {
      for (int64_t i = j; i < a.rows; ++i)
        for (int64_t c = 0; c <= i; ++c)
          l(i, c) = std::numeric_limits<double>::quiet_NaN();
      return j + 1;
    }
    l(j, j) = std::sqrt(pivot);
    for (int64_t i = j + 1; i < a.rows; ++i) {
      double sum = a(i, j);
      for (int64_t k = 0; k < j; ++k)
        sum -= l(i, k) * l(j, k);
      l(i, j) = sum / l(j, j);
    }
  }
  return 0;
}

/// The reflections as whole matrices, whose product is Q.
void householder(const Matrix &a, Matrix &q, Matrix &r) {
  q = Matrix::identity(a.rows);
  r = a;
  for (int64_t c = 0; c < std::min(a.rows, a.columns); ++c) {
    double below = 0, square = 0;
    for (int64_t i = c; i < a.rows; ++i) {
      square += r(i, c) * r(i, c);
      below += i > c ? std::abs(r(i, c)) : 0;
    }
    if (below == 0)
      continue;
    std::vector<double> v(static_cast<size_t>(a.rows));
    double length = 0;
    for (int64_t i = c; i < a.rows; ++i) {
      v[i] = r(i, c) + (i == c ? std::copysign(std::sqrt(square), r(c, c)) : 0);
      length += v[i] * v[i];
    }
    Matrix reflection = Matrix::identity(a.rows);
    for (int64_t i = c; i < a.rows; ++i)
      for (int64_t j = c; j < a.rows; ++j)
        reflection(i, j) -= 2 * v[i] * v[j] / length;
    r = reflection.times(r);
    q = q.times(reflection);
    for (int64_t i = c + 1; i < a.rows; ++i)
      r(i, c) = 0;
  }
}

/// Jacobi's rotations, of the largest element off the diagonal each time, as whole matrices. Vectors are
/// columns.
void eigenvectors(Matrix a, std::vector<double> &values, Matrix &vectors) {
  const int64_t n = a.rows;
  Matrix turned = Matrix::identity(n);
  for (int64_t step = 0; step < 200 * n * n; ++step) {
    int64_t p = 0, q = 0;
    double most = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j)
        if (std::abs(a(i, j)) > most) {
          most = std::abs(a(i, j));
          p = j;
          q = i;
        }
    if (most <= 1e-300 || most <= 1e-17 * std::sqrt(std::abs(a(p, p) * a(q, q))))
      break;
    const double angle = 0.5 * std::atan2(2 * a(p, q), a(q, q) - a(p, p));
    Matrix rotation = Matrix::identity(n);
    rotation(p, p) = rotation(q, q) = std::cos(angle);
    rotation(p, q) = std::sin(angle);
    rotation(q, p) = -std::sin(angle);
    a = rotation.transposed().times(a).times(rotation);
    a(p, q) = a(q, p) = 0;
    turned = turned.times(rotation);
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t i, int64_t j) { return std::pair(a(i, i), i) < std::pair(a(j, j), j); });
  for (int64_t c = 0; c < n; ++c) {
    values.push_back(a(order[c], order[c]));
    for (int64_t i = 0; i < n; ++i)
      vectors(i, c) = turned(i, order[c]);
  }
}

/// Makes the first of the largest elements of column c positive.
bool turnColumn(Matrix &a, int64_t c) {
  int64_t largest = 0;
  for (int64_t i = 1; i < a.rows; ++i)
    if (std::abs(a(i, c)) > std::abs(a(largest, c)))
      largest = i;
  if (a.rows == 0 || !(a(largest, c) < 0))
    return false;
  for (int64_t i = 0; i < a.rows; ++i)
    a(i, c) = -a(i, c);
  return true;
}

/// Columns from `from` on become orthonormal to those before, from unit vectors.
void completeColumns(Matrix &a, int64_t from) {
  int64_t unit = 0;
  for (int64_t c = from; c < a.columns && unit < a.rows; ++unit) {
    std::vector<double> v(static_cast<size_t>(a.rows));
    v[unit] = 1;
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t j = 0; j < c; ++j) {
        double along = 0;
        for (int64_t i = 0; i < a.rows; ++i)
          along += a(i, j) * v[i];
        for (int64_t i = 0; i < a.rows; ++i)
          v[i] -= along * a(i, j);
      }
    double length = 0;
    for (double x : v)
      length += x * x;
    if (length < 0.25 / static_cast<double>(a.rows))
      continue;
    for (int64_t i = 0; i < a.rows; ++i)
      a(i, c) = v[i] / std::sqrt(length);
    ++c;
  }
}

/// The eigenvectors of a^T a, or of a a^T if that is smaller, and what a makes of them.
void singular(const Matrix &a, bool full, Matrix &u, std::vector<double> &s, Matrix &vt) {
  const bool isTall = a.rows >= a.columns;
  const Matrix x = isTall ? a : a.transposed();
  std::vector<double> squares;
  Matrix vectors(x.columns, x.columns);
  eigenvectors(x.transposed().times(x), squares, vectors);
  Matrix right(x.columns, x.columns), left(x.rows, full ? x.rows : x.columns);
  int64_t known = 0;
  for (int64_t c = 0; c < x.columns; ++c)
    for (int64_t i = 0; i < x.columns; ++i)
      right(i, c) = vectors(i, x.columns - 1 - c);
  Matrix images = x.times(right);
  for (int64_t c = 0; c < x.columns; ++c) {
    double square = 0;
    for (int64_t i = 0; i < x.rows; ++i)
      square += images(i, c) * images(i, c);
    s.push_back(std::sqrt(square));
    if (square == 0)
      continue;
    for (int64_t i = 0; i < x.rows; ++i)
      left(i, c) = images(i, c) / s.back();
    known = c + 1;
  }
  completeColumns(left, known);
  Matrix &v = isTall ? right : left, &other = isTall ? left : right;
  for (int64_t c = 0; c < v.columns; ++c)
    if (turnColumn(v, c) && c < x.columns)
      for (int64_t i = 0; i < other.rows; ++i)
        other(i, c) = -other(i, c);
  u = other;
  vt = v.transposed();
}

} // namespace

LogicalResult FactorizeOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  const int64_t m = in.shape[in.shape.size() - 2], n = in.shape.back(), k = std::min(m, n);
  int64_t batch = 1;
  for (size_t d = 0; d + 2 < in.shape.size(); ++d)
    batch *= in.shape[d];
  for (int64_t number = 0; number < batch; ++number) {
    Matrix a(in, number);
    switch (getKind()) {
    case Factorization::cholesky: {
      Matrix l(n, n);
      results[1].setWhole(number, cholesky(a, l));
      l.write(results[0], number);
      break;
    }
    case Factorization::lu: {
      std::vector<int64_t> order(static_cast<size_t>(m));
      std::iota(order.begin(), order.end(), 0);
      for (int64_t c = 0; c < k; ++c) {
        int64_t pivot = c;
        for (int64_t i = c; i < m; ++i)
          if (std::abs(a(i, c)) > std::abs(a(pivot, c)))
            pivot = i;
        results[1].setWhole(number * k + c, pivot + 1);
        std::swap(order[c], order[pivot]);
        for (int64_t j = 0; j < n; ++j)
          std::swap(a(c, j), a(pivot, j));
        for (int64_t i = c + 1; i < m && a(c, c) != 0; ++i) {
          a(i, c) /= a(c, c);
          for (int64_t j = c + 1; j < n; ++j)
            a(i, j) -= a(i, c) * a(c, j);
        }
      }
      a.write(results[0], number);
      for (int64_t i = 0; i < m; ++i)
        results[2].setWhole(number * m + i, order[i]);
      break;
    }
    case Factorization::qr: {
      Matrix q(m, m), r(m, n);
      householder(a, q, r);
      const int64_t columns = getFull() ? m : k;
      q.corner(m, columns).write(results[0], number);
      r.corner(columns, n).write(results[1], number);
      break;
    }
    case Factorization::eigh: {
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = i + 1; j < n; ++j)
          a(i, j) = a(j, i);
      std::vector<double> values;
      Matrix vectors(n, n);
      eigenvectors(a, values, vectors);
      for (int64_t c = 0; c < n; ++c) {
        turnColumn(vectors, c);
        results[0].setReal(number * n + c, values[c]);
      }
      vectors.write(results[1], number);
      break;
    }
    case Factorization::svd: {
      Matrix u(0, 0), vt(0, 0);
      std::vector<double> s;
      singular(a, getFull(), u, s, vt);
      u.write(results[0], number);
      for (int64_t i = 0; i < k; ++i)
        results[1].setReal(number * k + i, s[i]);
      vt.write(results[2], number);
      break;
    }
    }
  }
  return success();
}

LogicalResult TriangularSolveOp::interpret(ArrayRef<const Literal *> operands,
                                           MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0], &right = *operands[1];
  int64_t batch = 1;
  for (size_t d = 0; d + 2 < in.shape.size(); ++d)
    batch *= in.shape[d];
  for (int64_t number = 0; number < batch; ++number) {
    const Matrix a(in, number);
    Matrix x(right, number);
    // Each unknown is eliminated from the other equations.
    for (int64_t step = 0; step < a.rows; ++step) {
      const int64_t i = getUpper() ? a.rows - 1 - step : step;
      for (int64_t c = 0; c < x.columns; ++c) {
        if (!getUnit())
          x(i, c) /= a(i, i);
        for (int64_t j = getUpper() ? 0 : i + 1; j < (getUpper() ? i : a.rows); ++j)
          x(j, c) -= a(j, i) * x(i, c);
      }
    }
    x.write(results[0], number);
  }
  return success();
}

} // namespace weft::ir
