//===- linear_algebra.hpp - Products of vectors and matrices -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LINEAR_ALGEBRA_HPP
#define WEFT_LINEAR_ALGEBRA_HPP

#include "weft/tensor.hpp"

namespace weft {

/// Matrix product with the shapes of torch.matmul: vectors, matrices, and batches of matrices that broadcast.
WEFT_API Tensor matmul(const Tensor &a, const Tensor &b, Loc loc = Loc::current());
/// [n, k] x [k, m].
WEFT_API Tensor mm(const Tensor &a, const Tensor &b, Loc loc = Loc::current());
/// [batch, n, k] x [batch, k, m]; nothing broadcasts.
WEFT_API Tensor bmm(const Tensor &a, const Tensor &b, Loc loc = Loc::current());
/// [n, k] x [k].
WEFT_API Tensor mv(const Tensor &matrix, const Tensor &vector, Loc loc = Loc::current());
/// The sum of products of two vectors, 0-dimensional.
WEFT_API Tensor dot(const Tensor &a, const Tensor &b, Loc loc = Loc::current());
/// [n] x [m]: every product of two elements, [n, m].
WEFT_API Tensor outer(const Tensor &a, const Tensor &b, Loc loc = Loc::current());
/// beta * input + alpha * (a x b); `input` broadcasts, and is not read where beta is 0. For integers alpha
/// and beta are whole numbers.
WEFT_API Tensor addmm(const Tensor &input, const Tensor &a, const Tensor &b, double beta = 1,
                      double alpha = 1, Loc loc = Loc::current());
/// The same for batches, as bmm.
WEFT_API Tensor baddbmm(const Tensor &input, const Tensor &a, const Tensor &b, double beta = 1,
                        double alpha = 1, Loc loc = Loc::current());

/// Sums of products in Einstein's notation: "ij,jk->ik" is the matrix product. A letter names a dimension;
/// letters that the result does not have are summed over; a letter twice in one operand is its diagonal.
/// "..." stands for dimensions that broadcast. Without "->" the result has the letters that occur once, in
/// the order of the alphabet, after "...". Operands are multiplied from the left to the right and share a
/// dtype.
WEFT_API Tensor einsum(const std::string &equation, const std::vector<Tensor> &operands,
                       Loc loc = Loc::current());

/// Sums of products over `dims_a` of the one and `dims_b` of the other, in this order; the result has the
/// other dimensions of `a`, then those of `b`. With a number: over the last ones of `a` and the first ones of
/// `b`.
WEFT_API Tensor tensordot(const Tensor &a, const Tensor &b, IntList dims_a, IntList dims_b,
                          Loc loc = Loc::current());
WEFT_API Tensor tensordot(const Tensor &a, const Tensor &b, int64_t dims = 2, Loc loc = Loc::current());
/// Sums of products over the last dimensions; a 0-dimensional operand is a factor.
WEFT_API Tensor inner(const Tensor &a, const Tensor &b, Loc loc = Loc::current());
/// `dot` by its other name.
inline Tensor vdot(const Tensor &a, const Tensor &b, Loc loc = Loc::current()) { return dot(a, b, loc); }
/// Kronecker's product: blocks of `b`, each times an element of `a`. Missing dimensions are 1, in front.
WEFT_API Tensor kron(const Tensor &a, const Tensor &b, Loc loc = Loc::current());
/// The cross product of vectors along `dim`, which has size 3; without `dim` the first dimension of size 3.
/// The others broadcast.
WEFT_API Tensor cross(const Tensor &a, const Tensor &b, std::optional<int64_t> dim = {},
                      Loc loc = Loc::current());
/// beta * input + alpha * (matrix x vector), as addmm.
WEFT_API Tensor addmv(const Tensor &input, const Tensor &matrix, const Tensor &vector, double beta = 1,
                      double alpha = 1, Loc loc = Loc::current());
/// beta * input + alpha * (the sum of the products of a batch), as addmm.
WEFT_API Tensor addbmm(const Tensor &input, const Tensor &a, const Tensor &b, double beta = 1,
                       double alpha = 1, Loc loc = Loc::current());
/// beta * input + alpha * (the outer product of two vectors). Dtypes are promoted.
WEFT_API Tensor addr(const Tensor &input, const Tensor &a, const Tensor &b, double beta = 1, double alpha = 1,
                     Loc loc = Loc::current());

/// torch.nn.functional.bilinear: a[.., i] weight[o, i, j] b[.., j] + bias[o], summed over i and j.
WEFT_API Tensor bilinear(const Tensor &a, const Tensor &b, const Tensor &weight, const Tensor &bias = {},
                         Loc loc = Loc::current());
/// A vector on the diagonal of a matrix of zeros, or the diagonal of a matrix, as a copy.
WEFT_API Tensor diag(const Tensor &a, int64_t diagonal = 0, Loc loc = Loc::current());
/// The sum of the main diagonal of a matrix.
WEFT_API Tensor trace(const Tensor &a, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_LINEAR_ALGEBRA_HPP
