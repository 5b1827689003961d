//===- MatrixRoutine.h - Factorizations of batches of matrices --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The factorizations of `weft.factorize`, and triangular systems. Every matrix is computed by one thread, so
// the bits do not depend on the number of threads.
//
// LAPACK computes all but small matrices, in their own element type (LapackRoutines.h). Small ones, those
// with numbers that LAPACK cannot compute with, and all where there is no LAPACK, are computed in f64 by
// Factorizations.h. The algorithms there are those of Golub and Van Loan, Matrix Computations: Cholesky's and
// Gauss's eliminations by rows, Householder's reflections, and rotations of Jacobi.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_LINALG_MATRIXROUTINE_H
#define WEFT_RUNTIME_LINALG_MATRIXROUTINE_H

#include "weft/dtype.hpp"
#include "weft/export.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::runtime {

struct Lapack;

/// The numbers are part of the plan format: append only.
enum class MatrixKind : uint8_t {
  cholesky = 0,
  lu = 1,
  qr = 2,
  eigh = 3,
  svd = 4,
  triangular_solve = 5,
  eigvalsh = 6,
  svdvals = 7
};
inline constexpr uint8_t matrixKinds = 8;
inline bool is_eigen(MatrixKind kind) { return kind == MatrixKind::eigh || kind == MatrixKind::eigvalsh; }
inline bool is_singular(MatrixKind kind) { return kind == MatrixKind::svd || kind == MatrixKind::svdvals; }

/// The most rows, columns and right sides of a matrix.
inline constexpr int64_t mostMatrixRows = int64_t(1) << 20;

struct MatrixShape {
  MatrixKind kind = MatrixKind::cholesky;
  DType dtype = DType::f32; ///< f32 or f64
  int64_t batch = 0, rows = 0, columns = 0;
  int64_t sides = 0; ///< right sides of a triangular system
  bool full = false, upper = false, unit = false;
};

/// An operand or result of a routine: elements of one matrix of the batch.
struct MatrixPart {
  const char *name;
  DType dtype;
  int64_t elements;
  bool written;
};

class WEFT_RUNTIME_API MatrixRoutine {
public:
  /// The shape must be verified (runtime/plan/MatrixPlan.h). Without `library`, it is that of the process,
  /// which is opened by the first run() that needs it.
  explicit MatrixRoutine(const MatrixShape &shape, const Lapack *library = nullptr)
      : shape_(shape), library_(library) {}
  /// The operands, then the results.
  static std::vector<MatrixPart> parts_of(const MatrixShape &shape);
  /// Bytes of scratch that run() needs for a team of `width` threads, 64-byte aligned.
  size_t scratch_bytes(int width) const;
  /// `parts` has the row-major memory of the batch of each part. If `serial`, only the calling thread
  /// computes; the results are the same.
  void run(void *const *parts, void *scratch, bool serial) const;

private:
  MatrixShape shape_;
  const Lapack *library_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LINALG_MATRIXROUTINE_H
