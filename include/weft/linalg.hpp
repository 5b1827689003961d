//===- linalg.hpp - Factorizations and what is made of them ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's functions of the same names. Matrices are [.., rows, columns] of f32 or f64, with batches in
// front, which broadcast where there are two operands; their rows and columns are known when a function is
// compiled. The host computes factorizations, in f64, also those of tensors on other devices. All functions
// have derivatives, as far as the matrices allow: of full rank, with different eigenvalues or singular
// values. Every function throws Error where sizes or dtypes do not fit, with the source lines of the
// operation and of its operands. A function that is an error for some values (`cholesky`, `inv`, `solve`)
// says so in the call that computes it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LINALG_HPP
#define WEFT_LINALG_HPP

#include "weft/tensor.hpp"

#include <limits>

namespace weft {
namespace linalg {

/// L of a = L L^T, or the upper triangle L^T: an error of the call if a matrix is not positive definite. Of a
/// symmetric matrix, whose lower triangle is read.
WEFT_API Tensor cholesky(const Tensor &a, bool upper = false, Loc loc = Loc::current());
struct CholeskyResult {
  Tensor L, info; ///< info: i32, 0 or the number of the leading minor that is not positive
};
WEFT_API CholeskyResult cholesky_ex(const Tensor &a, bool upper = false, Loc loc = Loc::current());

struct LuFactors {
  Tensor LU, pivots, info; ///< pivots: i32 [.., k], rows that were exchanged, from 1 on
};
/// L below the diagonal and U from it on, of rows that were exchanged.
WEFT_API LuFactors lu_factor(const Tensor &a, Loc loc = Loc::current());
WEFT_API LuFactors lu_factor_ex(const Tensor &a, Loc loc = Loc::current());
struct LuResult {
  Tensor P, L, U;
};
/// a = P L U, with a permutation matrix P.
WEFT_API LuResult lu(const Tensor &a, Loc loc = Loc::current());
/// x with a x = b, or with x a = b (`left` false), from the factors of a.
WEFT_API Tensor lu_solve(const Tensor &lu, const Tensor &pivots, const Tensor &b, bool left = true,
                         bool adjoint = false, Loc loc = Loc::current());

struct QrResult {
  Tensor Q, R;
};
/// Q with orthonormal columns and R, upper triangular; `mode` is "reduced", "complete", or "r" without Q.
WEFT_API QrResult qr(const Tensor &a, const std::string &mode = "reduced", Loc loc = Loc::current());

struct EighResult {
  Tensor eigenvalues, eigenvectors;
};
/// Eigenvalues in ascending order and eigenvectors, as columns, of a symmetric matrix, of which the triangle
/// `uplo` is read, "L" or "U".
WEFT_API EighResult eigh(const Tensor &a, const std::string &uplo = "L", Loc loc = Loc::current());
WEFT_API Tensor eigvalsh(const Tensor &a, const std::string &uplo = "L", Loc loc = Loc::current());

struct SvdResult {
  Tensor U, S, Vh;
};
/// a = U diag(S) Vh, with singular values in descending order.
WEFT_API SvdResult svd(const Tensor &a, bool full_matrices = true, Loc loc = Loc::current());
WEFT_API Tensor svdvals(const Tensor &a, Loc loc = Loc::current());

/// x with a x = b, or x a = b (`left` false). `b` is a vector if it has one dimension less than `a`, and its
/// shape is that of the batch and rows of `a`. A singular matrix is an error of the call.
WEFT_API Tensor solve(const Tensor &a, const Tensor &b, bool left = true, Loc loc = Loc::current());
struct ResultInfo {
  Tensor result, info; ///< info: i32, not 0 where the matrix is singular
};
WEFT_API ResultInfo solve_ex(const Tensor &a, const Tensor &b, bool left = true, Loc loc = Loc::current());
/// The same for triangular matrices; other elements are not read.
WEFT_API Tensor solve_triangular(const Tensor &a, const Tensor &b, bool upper, bool left = true,
                                 bool unitriangular = false, Loc loc = Loc::current());
WEFT_API Tensor inv(const Tensor &a, Loc loc = Loc::current());
WEFT_API ResultInfo inv_ex(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor det(const Tensor &a, Loc loc = Loc::current());
struct SlogdetResult {
  Tensor sign, logabsdet;
};
WEFT_API SlogdetResult slogdet(const Tensor &a, Loc loc = Loc::current());
/// x of the smallest norm for which the norm of a x - b is smallest, by the Moore-Penrose inverse with
/// `rcond` as its rtol. `b` is [.., rows, k].
WEFT_API Tensor lstsq(const Tensor &a, const Tensor &b, std::optional<double> rcond = {},
                      Loc loc = Loc::current());
/// The Moore-Penrose inverse, in which singular values up to max(atol, rtol times the largest) count as 0.
/// Without tolerances rtol is the larger of rows and columns times the unit of the dtype.
WEFT_API Tensor pinv(const Tensor &a, std::optional<double> atol = {}, std::optional<double> rtol = {},
                     bool hermitian = false, Loc loc = Loc::current());
/// How many singular values are above that tolerance, as i64.
WEFT_API Tensor matrix_rank(const Tensor &a, std::optional<double> atol = {}, std::optional<double> rtol = {},
                            bool hermitian = false, Loc loc = Loc::current());
/// norm(a, p) norm(inv(a), p): `p` is 0 for the ratio of the extreme singular values (PyTorch's None), a
/// number, or "fro" or "nuc".
WEFT_API Tensor cond(const Tensor &a, double p = 2, Loc loc = Loc::current());
WEFT_API Tensor cond(const Tensor &a, const std::string &p, Loc loc = Loc::current());

/// Norms of the matrices in two dimensions: "fro", "nuc", or 1, -1, inf, -inf, 2, -2.
WEFT_API Tensor matrix_norm(const Tensor &a, const std::string &ord = "fro", IntList dims = {-2, -1},
                            bool keepdim = false, Loc loc = Loc::current());
WEFT_API Tensor matrix_norm(const Tensor &a, double ord, IntList dims = {-2, -1}, bool keepdim = false,
                            Loc loc = Loc::current());
/// Tensor::norm by its name here.
WEFT_API Tensor vector_norm(const Tensor &a, double ord = 2, IntList dims = {}, bool keepdim = false,
                            Loc loc = Loc::current());
/// The vector norm 2 of all elements, or over `dims`.
WEFT_API Tensor norm(const Tensor &a, IntList dims = {}, bool keepdim = false, Loc loc = Loc::current());
/// A vector norm of a vector or over one dimension, and a matrix norm of a matrix or over two.
WEFT_API Tensor norm(const Tensor &a, double ord, IntList dims = {}, bool keepdim = false,
                     Loc loc = Loc::current());
WEFT_API Tensor norm(const Tensor &a, const std::string &ord, IntList dims = {}, bool keepdim = false,
                     Loc loc = Loc::current());
/// The n-th power; of a negative `n` that of the inverse.
WEFT_API Tensor matrix_power(const Tensor &a, int64_t n, Loc loc = Loc::current());
/// The product of a chain of matrices in the order that takes the fewest multiplications; the first may be a
/// row, and the last a column.
WEFT_API Tensor multi_dot(const std::vector<Tensor> &tensors, Loc loc = Loc::current());
/// Powers 0 to n - 1 of the elements of a vector, as rows; `n` is its size if it is not given.
WEFT_API Tensor vander(const Tensor &x, std::optional<int64_t> n = {}, Loc loc = Loc::current());
/// Sums of products along `dim`. Shapes broadcast.
WEFT_API Tensor vecdot(const Tensor &a, const Tensor &b, int64_t dim = -1, Loc loc = Loc::current());
/// The inverse of a tensor as a linear map from its last dimensions to its first `ind`.
WEFT_API Tensor tensorinv(const Tensor &a, int64_t ind = 2, Loc loc = Loc::current());
/// x with tensordot(a, x) = b; `dims` of `a` are moved to its end before.
WEFT_API Tensor tensorsolve(const Tensor &a, const Tensor &b, IntList dims = {}, Loc loc = Loc::current());

} // namespace linalg

/// \name The same by PyTorch's older names
/// @{
WEFT_API Tensor cholesky(const Tensor &a, bool upper = false, Loc loc = Loc::current());
/// x with a x = b, and the inverse of a, from the Cholesky factor of a.
WEFT_API Tensor cholesky_solve(const Tensor &b, const Tensor &factor, bool upper = false,
                               Loc loc = Loc::current());
WEFT_API Tensor cholesky_inverse(const Tensor &factor, bool upper = false, Loc loc = Loc::current());
WEFT_API Tensor inverse(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor det(const Tensor &a, Loc loc = Loc::current());
/// log(det(a)); NaN if that is negative.
WEFT_API Tensor logdet(const Tensor &a, Loc loc = Loc::current());
WEFT_API Tensor pinverse(const Tensor &a, double rcond = 1e-15, Loc loc = Loc::current());
WEFT_API Tensor lu_solve(const Tensor &b, const Tensor &lu, const Tensor &pivots, Loc loc = Loc::current());
WEFT_API linalg::LuResult lu_unpack(const Tensor &lu, const Tensor &pivots, Loc loc = Loc::current());
WEFT_API linalg::QrResult qr(const Tensor &a, bool some = true, Loc loc = Loc::current());
/// U, S and V, not its transpose, as columns.
WEFT_API linalg::SvdResult svd(const Tensor &a, bool some = true, Loc loc = Loc::current());
/// x with a x = b, with op(a) its transpose if `transpose`.
WEFT_API Tensor triangular_solve(const Tensor &b, const Tensor &a, bool upper = true, bool transpose = false,
                                 bool unitriangular = false, Loc loc = Loc::current());
/// @}

} // namespace weft

#endif // WEFT_LINALG_HPP
