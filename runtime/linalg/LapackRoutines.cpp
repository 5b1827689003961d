//===- LapackRoutines.cpp - One matrix, computed by LAPACK ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/linalg/LapackRoutines.h"

#include "runtime/linalg/Factorizations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace weft::runtime {

namespace {

/// What a routine needs besides operands and results, in elements.
struct ScratchSizes {
  int64_t matrix = 0;   ///< a copy that LAPACK overwrites
  int64_t factors = 0;  ///< of reflections
  int64_t work = 0;     ///< at least what LAPACK needs for its largest blocks, of at most 64 columns
  int64_t integers = 0; ///< of 32 bits
};

ScratchSizes scratch_sizes(const MatrixShape &shape) {
  const int64_t m = shape.rows, n = shape.columns, k = std::min(m, n), most = std::max(m, n);
  constexpr int64_t block = 64;
  switch (shape.kind) {
  case MatrixKind::lu:
    return {.matrix = m * n};
  case MatrixKind::qr:
    return {.matrix = m * (shape.full ? most : n), .factors = k, .work = block * most};
  case MatrixKind::eigh:
    return {.matrix = n * n, .work = 1 + 6 * n + 2 * n * n + block * n, .integers = 3 + 5 * n};
  case MatrixKind::svd:
    return {.matrix = m * n, .work = 4 * k * k + 7 * k + most + block * (m + n), .integers = 8 * k};
  case MatrixKind::eigvalsh:
    return {.matrix = n * n, .work = 1 + 2 * n + block * n, .integers = 1};
  case MatrixKind::svdvals:
    return {.matrix = m * n, .work = 7 * k + most + block * (m + n), .integers = 8 * k};
  case MatrixKind::cholesky:
  case MatrixKind::triangular_solve:
    return {};
  }
  return {};
}

size_t align_line(size_t bytes) { return (bytes + 63) & ~size_t(63); }

/// The scratch of one matrix. Each part begins at a multiple of 64 bytes, whatever the number of the matrix,
/// so that LAPACK adds in the same order.
template <typename T> struct Scratch {
  T *matrix, *factors, *work;
  int32_t *integers;
  int32_t work_size, integer_size;
  Scratch(const MatrixShape &shape, std::byte *memory) {
    const ScratchSizes sizes = scratch_sizes(shape);
    const auto take = [&](int64_t count, size_t bytes) {
      std::byte *at = memory;
      memory += align_line(static_cast<size_t>(count) * bytes);
      return at;
    };
    matrix = reinterpret_cast<T *>(take(sizes.matrix, sizeof(T)));
    factors = reinterpret_cast<T *>(take(sizes.factors, sizeof(T)));
    work = reinterpret_cast<T *>(take(sizes.work, sizeof(T)));
    integers = reinterpret_cast<int32_t *>(take(sizes.integers, sizeof(int32_t)));
    work_size = static_cast<int32_t>(sizes.work);
    integer_size = static_cast<int32_t>(sizes.integers);
  }
};

template <typename T> bool all_finite(const T *x, int64_t count) {
  bool finite = true;
  for (int64_t i = 0; i < count; ++i)
    finite &= std::abs(x[i]) <= std::numeric_limits<T>::max();
  return finite;
}

/// Writes the transpose of a [rows, columns] matrix. The pitches are the elements from one row to the next. A
/// square at a time is copied by way of a buffer, because rows that are powers of two apart share a few lines
/// of the cache.
template <typename T>
void transpose(const T *from, int64_t rows, int64_t columns, int64_t pitch, T *to, int64_t to_pitch) {
  constexpr int64_t edge = 16;
  T square[edge * edge];
  for (int64_t i = 0; i < rows; i += edge)
    for (int64_t j = 0; j < columns; j += edge) {
      const int64_t height = std::min(edge, rows - i), width = std::min(edge, columns - j);
      for (int64_t r = 0; r < height; ++r)
        std::copy_n(from + (i + r) * pitch + j, width, square + r * edge);
      for (int64_t c = 0; c < width; ++c)
        for (int64_t r = 0; r < height; ++r)
          to[(j + c) * to_pitch + i + r] = square[r * edge + c];
    }
}

/// Rows of the lower triangle. Whether all of its elements are finite.
template <typename T> bool copy_lower(const T *from, int64_t n, T *to) {
  bool finite = true;
  for (int64_t i = 0; i < n; ++i) {
    finite &= all_finite(from + i * n, i + 1);
    std::copy_n(from + i * n, i + 1, to + i * n);
    std::fill(to + i * n + i + 1, to + (i + 1) * n, T(0));
  }
  return finite;
}

/// The calls for one shape, with its sizes as LAPACK takes them.
template <typename T> class LapackMatrix {
public:
  LapackMatrix(const LapackTable<T> &table, const MatrixShape &shape, void *const *parts, std::byte *scratch)
      : table_(table), shape_(shape), parts_(parts), scratch_(shape, scratch),
        m_(static_cast<int32_t>(shape.rows)), n_(static_cast<int32_t>(shape.columns)), k_(std::min(m_, n_)) {}

  bool cholesky() {
    T *factor = real(1);
    auto *info = static_cast<int32_t *>(parts_[2]);
    if (!copy_lower(a(), n_, factor))
      return false;
    table_.potrf("U", &n_, factor, &n_, info, 1);
    if (*info < 0)
      return false;
    if (*info > 0) { // the rows before are complete
      for (int64_t i = *info - 1; i < n_; ++i)
        std::fill_n(factor + i * n_, i + 1, std::numeric_limits<T>::quiet_NaN());
      return true;
    }
    // OpenBLAS takes a NaN for a positive pivot. It comes from numbers beyond the range of T.
    for (int64_t i = 0; i < n_; ++i)
      if (std::isnan(factor[i * n_ + i]))
        return false;
    return true;
  }

  bool lu() {
    auto *pivots = static_cast<int32_t *>(parts_[2]);
    auto *permutation = static_cast<int64_t *>(parts_[3]);
    if (!all_finite(a(), int64_t(m_) * n_))
      return false;
    int32_t info = 0;
    transpose(a(), m_, n_, n_, scratch_.matrix, m_);
    table_.getrf(&m_, &n_, scratch_.matrix, &m_, pivots, &info);
    // OpenBLAS neither exchanges nor scales rows for pivots below the normal numbers.
    if (info < 0 || !all_finite(scratch_.matrix, int64_t(m_) * n_))
      return false;
    for (int64_t i = 0; i < k_; ++i)
      if (const T pivot = std::abs(scratch_.matrix[i * m_ + i]);
          pivot != 0 && pivot < std::numeric_limits<T>::min())
        return false;
    std::iota(permutation, permutation + m_, int64_t(0));
    for (int32_t i = 0; i < k_; ++i) {
      if (pivots[i] <= i || pivots[i] > m_) // beside a NaN, which comes from numbers beyond the range of T
        return false;
      std::swap(permutation[i], permutation[pivots[i] - 1]);
    }
    transpose(scratch_.matrix, n_, m_, m_, real(1), n_);
    return true;
  }

  bool qr() {
    const int32_t columns = shape_.full ? m_ : k_;
    T *t = scratch_.matrix, *r = real(2);
    int32_t info = 0;
    if (!all_finite(a(), int64_t(m_) * n_)) // OpenBLAS loses a NaN where it is multiplied by 0
      return false;
    transpose(a(), m_, n_, n_, t, m_);
    table_.geqrf(&m_, &n_, t, &m_, scratch_.factors, scratch_.work, &scratch_.work_size, &info);
    if (info != 0)
      return false;
    transpose(t, n_, columns, m_, r, n_);
    for (int64_t i = 1; i < columns; ++i)
      std::fill_n(r + i * n_, std::min<int64_t>(i, n_), T(0));
    table_.orgqr(&m_, &columns, &k_, t, &m_, scratch_.factors, scratch_.work, &scratch_.work_size, &info);
    if (info != 0)
      return false;
    transpose(t, columns, m_, m_, real(1), columns);
    return true;
  }

  bool eigh() {
    const bool isWhole = shape_.kind == MatrixKind::eigh;
    T *t = scratch_.matrix, *values = real(1);
    int32_t info = 0;
    if (!copy_lower(a(), n_, t))
      return false;
    table_.syevd(isWhole ? "V" : "N", "U", &n_, t, &n_, values, scratch_.work, &scratch_.work_size,
                 scratch_.integers, &scratch_.integer_size, &info, 1, 1);
    if (info != 0)
      return false;
    if (!isWhole)
      return true;
    for (int64_t i = 0; i < n_; ++i)
      make_positive(t + i * n_, n_, 1);
    transpose(t, n_, n_, n_, real(2), n_);
    return true;
  }

  bool svd() {
    const int32_t columns = shape_.full ? m_ : k_, rows = shape_.full ? n_ : k_;
    T *u = real(1), *vt = real(3);
    int32_t info = 0;
    if (!all_finite(a(), int64_t(m_) * n_))
      return false;
    std::copy_n(a(), int64_t(m_) * n_, scratch_.matrix);
    table_.gesdd(shape_.full ? "A" : "S", &n_, &m_, scratch_.matrix, &n_, real(2), vt, &n_, u, &columns,
                 scratch_.work, &scratch_.work_size, scratch_.integers, &info, 1);
    if (info != 0)
      return false;
    for (int64_t i = 0; i < rows; ++i)
      if (make_positive(vt + i * n_, n_, 1) && i < k_)
        for (int64_t r = 0; r < m_; ++r)
          u[r * columns + i] = -u[r * columns + i];
    return true;
  }

  bool svdvals() {
    const int32_t one = 1;
    int32_t info = 0;
    if (!all_finite(a(), int64_t(m_) * n_))
      return false;
    std::copy_n(a(), int64_t(m_) * n_, scratch_.matrix);
    table_.gesdd("N", &n_, &m_, scratch_.matrix, &n_, real(1), nullptr, &one, nullptr, &one, scratch_.work,
                 &scratch_.work_size, scratch_.integers, &info, 1);
    return info == 0;
  }

  bool triangular_solve() {
    const auto *b = static_cast<const T *>(parts_[1]);
    const auto sides = static_cast<int32_t>(shape_.sides);
    const T one = 1;
    // OpenBLAS multiplies by reciprocals, which are infinite for the smallest numbers. They are so for 0,
    // too.
    for (int64_t i = 0; i < n_; ++i) {
      if (!shape_.unit && !(std::abs(a()[i * n_ + i]) >= std::numeric_limits<T>::min()))
        return false;
      // Its blocks spread a NaN over elements that do not depend on it.
      if (const int64_t first = shape_.upper ? i : 0;
          !all_finite(a() + i * n_ + first, shape_.upper ? n_ - i : i + 1))
        return false;
    }
    std::copy_n(b, int64_t(n_) * sides, real(2));
    table_.trsm("R", shape_.upper ? "L" : "U", "N", shape_.unit ? "U" : "N", &sides, &n_, &one, a(), &n_,
                real(2), &sides, 1, 1, 1, 1);
    return true;
  }

private:
  const T *a() const { return static_cast<const T *>(parts_[0]); }
  T *real(size_t part) const { return static_cast<T *>(parts_[part]); }

  const LapackTable<T> &table_;
  const MatrixShape &shape_;
  void *const *parts_;
  Scratch<T> scratch_;
  int32_t m_, n_, k_;
};

} // namespace

bool is_for_lapack(const MatrixShape &shape) {
  // The largest sizes at which Factorizations.h is as fast, by kind.
  constexpr int64_t small[matrixKinds] = {8, 24, 8, 4, 4, 8, 4, 4};
  const bool fits = scratch_sizes(shape).work <= std::numeric_limits<int32_t>::max();
  const bool isEmpty = shape.kind == MatrixKind::triangular_solve && shape.sides == 0;
  return std::min(shape.rows, shape.columns) > small[static_cast<size_t>(shape.kind)] && fits && !isEmpty;
}

size_t lapack_scratch_bytes(const MatrixShape &shape) {
  const ScratchSizes sizes = scratch_sizes(shape);
  const size_t each = itemsize(shape.dtype);
  return align_line(static_cast<size_t>(sizes.matrix) * each) +
         align_line(static_cast<size_t>(sizes.factors) * each) +
         align_line(static_cast<size_t>(sizes.work) * each) +
         align_line(static_cast<size_t>(sizes.integers) * sizeof(int32_t));
}

template <typename T>
bool compute_by_lapack(const LapackTable<T> &table, const MatrixShape &shape, void *const *parts,
                       std::byte *scratch) {
  LapackMatrix<T> matrix(table, shape, parts, scratch);
  switch (shape.kind) {
  case MatrixKind::cholesky:
    return matrix.cholesky();
  case MatrixKind::lu:
    return matrix.lu();
  case MatrixKind::qr:
    return matrix.qr();
  case MatrixKind::eigh:
  case MatrixKind::eigvalsh:
    return matrix.eigh();
  case MatrixKind::svd:
    return matrix.svd();
  case MatrixKind::svdvals:
    return matrix.svdvals();
  case MatrixKind::triangular_solve:
    return matrix.triangular_solve();
  }
  return false;
}

template bool compute_by_lapack(const LapackTable<float> &, const MatrixShape &, void *const *, std::byte *);
template bool compute_by_lapack(const LapackTable<double> &, const MatrixShape &, void *const *, std::byte *);

} // namespace weft::runtime
