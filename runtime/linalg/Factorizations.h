//===- Factorizations.h - Algorithms on one matrix --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All matrices are of doubles in row-major order. Results replace `a` unless another place is named.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_LINALG_FACTORIZATIONS_H
#define WEFT_RUNTIME_LINALG_FACTORIZATIONS_H

#include <cmath>
#include <cstdint>

namespace weft::runtime {

/// L of a = L L^T, n x n. Returns 0, or the number of the first row whose pivot is not positive; then the
/// rows from there on are NaN.
int32_t factor_cholesky(double *a, int64_t n);
/// L U of the permuted rows of a, m x n; the rows that were exchanged, from 1 on, and the places of the rows.
void factor_lu(double *a, int64_t m, int64_t n, int32_t *pivots, int64_t *permutation);
/// R in a, m x n, and Q in q, m x `columns`.
void factor_qr(double *a, int64_t m, int64_t n, double *q, int64_t columns);
/// Eigenvalues in ascending order, and eigenvectors as columns of `vectors`; a, n x n, is changed.
void factor_eigh(double *a, int64_t n, double *values, double *vectors);
/// U, m x (`full` ? m : k), singular values, and V^T, (`full` ? n : k) x n, of a, m x n, by way of `work`
/// with max min + min^2 + max (`full` ? max : min) elements of the larger and the smaller of m and n.
void factor_svd(const double *a, int64_t m, int64_t n, bool full, double *u, double *s, double *vt,
                double *work);
/// x of a x = b in b, n x sides.
void solve_triangular(const double *a, int64_t n, bool upper, bool unit, double *b, int64_t sides);

/// Makes the first of the largest elements of a vector positive; its elements are `step` apart. Returns
/// whether the sign changed.
template <typename T> bool make_positive(T *x, int64_t count, int64_t step) {
  int64_t largest = 0;
  for (int64_t i = 1; i < count; ++i)
    if (std::abs(x[i * step]) > std::abs(x[largest * step]))
      largest = i;
  if (count == 0 || !(x[largest * step] < 0))
    return false;
  for (int64_t i = 0; i < count; ++i)
    x[i * step] = -x[i * step];
  return true;
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LINALG_FACTORIZATIONS_H
