//===- LinearAlgebra.td - Factorizations of matrices -------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LINEARALGEBRA_TD
#define WEFT_LINEARALGEBRA_TD

include "ir/Composite.td"

def Weft_FactorizeOp : Weft_Composite<"factorize", [Differentiable, Weft_KeywordOp]> {
  let summary = "a factorization of each matrix of a batch";
  let description = [{
    `a` is [.., m, n] of f32 or f64; k is the smaller of m and n. `kind` says what the results are:

    - `cholesky`, of a symmetric matrix, of which the lower triangle is read: L with a = L L^T, lower triangular, and
      i32 [..], which is 0, or the number of the first leading minor that is not positive, from 1 on. Then L is NaN
      from that row on.
    - `lu`: [.., m, n] with L below the diagonal, whose own diagonal is 1, and U from the diagonal on; the rows that were
      exchanged, i32 [.., k] from 1 on, one after the other; and the row of `a` in each row of L U, i64 [.., m]. The pivot
      is the first of the largest elements.
    - `qr`: Q [.., m, k] with orthonormal columns and R [.., k, n], upper triangular; with `full`, Q [.., m, m] and
      R [.., m, n]. They are products of Householder's reflections with the signs of LAPACK.
    - `eigh`, of a symmetric matrix, of which the lower triangle is read: eigenvalues in ascending order, [.., n], and
      orthonormal eigenvectors as columns, [.., n, n], of which the first of the largest elements is positive.
    - `svd`: U [.., m, k], singular values in descending order, [.., k], and V^T [.., k, n]; with `full`, U [.., m, m] and
      V^T [.., n, n]. The first of the largest elements of each row of V^T is positive.

    Singular values and eigenvalues of a matrix with an infinity or NaN are NaN, and so are their vectors.

    On a CPU the op is one launch of the runtime: LAPACK's in the element type, or for small matrices in f64. Other devices
    have the host compute it. With the attribute `weft.values_only` the launch of `eigh` or `svd` computes no vectors, if
    nothing reads them.
  }];
  let arguments = (ins Weft_FloatTensor:$a, Weft_FactorizationAttr:$kind, UnitAttr:$full);
  let results = (outs Variadic<Weft_Tensor>:$results);
  let assemblyFormat = "$a `,` `kind` `=` $kind (`full` $full^)? attr-dict `:` type($a)";
  let hasVerifier = 1;
  let extraClassDeclaration = Weft_Keywords<[Weft_Keyword<"kind", "Factorization">]>.text;
}

def Weft_TriangularSolveOp : Weft_Composite<"triangular_solve", [Differentiable]> {
  let summary = "x with a x = b, for triangular matrices a";
  let description = [{
    `a` is [.., n, n] and `b` [.., n, k] with the same batch, of f32 or f64. Of `a` the lower triangle is read, or with
    `upper` the upper one; with `unit` its diagonal counts as 1. A 0 on the diagonal divides as any number. On a CPU the op
    is one launch of the runtime: of LAPACK's BLAS in the element type, or for small matrices in f64. Other devices have the host
    compute it.
  }];
  let arguments = (ins Weft_FloatTensor:$a, Weft_FloatTensor:$b, UnitAttr:$upper, UnitAttr:$unit);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` $b (`upper` $upper^)? (`unit` $unit^)? attr-dict `:` type($a) `,` type($b)";
  let hasVerifier = 1;
}

#endif // WEFT_LINEARALGEBRA_TD
