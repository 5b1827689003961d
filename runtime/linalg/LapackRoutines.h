//===- LapackRoutines.h - One matrix, computed by LAPACK --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrices are row-major here and column-major in LAPACK, so that it sees transposes. For symmetric and
// triangular matrices this exchanges upper and lower triangles, for singular values U and V^T: nothing is
// transposed. LU and QR need a transposed copy.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_LINALG_LAPACKROUTINES_H
#define WEFT_RUNTIME_LINALG_LAPACKROUTINES_H

#include "runtime/linalg/Lapack.h"
#include "runtime/linalg/MatrixRoutine.h"

namespace weft::runtime {

/// Whether LAPACK computes matrices of this shape, if it is there. It is slower than Factorizations.h for
/// small ones. This depends on the shape alone.
WEFT_RUNTIME_API bool is_for_lapack(const MatrixShape &shape);
/// Bytes of scratch for one matrix, 64-byte aligned.
size_t lapack_scratch_bytes(const MatrixShape &shape);
/// Computes one matrix with elements T from the memory of its parts (MatrixRoutine::parts_of). Returns false
/// if LAPACK cannot: operands are not finite, or a search did not converge. Then the results are undefined.
template <typename T>
bool compute_by_lapack(const LapackTable<T> &table, const MatrixShape &shape, void *const *parts,
                       std::byte *scratch);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LINALG_LAPACKROUTINES_H
