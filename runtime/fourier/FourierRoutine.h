//===- FourierRoutine.h - Fourier transforms of batches ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transforms of `weft.fft`. A line is computed in one of two ways (FourierTables.h):
//
// - Short lines, and lines of medium length whose elements are not beside each other, are computed as many at
//   once as a vector has lanes, one line in each lane.
// - A longer line is a matrix of n1 rows and n2 columns: transforms of the columns, factors, and transforms
// of
//   the rows, each with as many columns or rows at once as a vector has lanes (Bailey's four steps, 1990).
//
// Both consist of transforms over whole vectors, by Stockham's algorithm with radices 2 to 31. A length with
// a larger prime factor is a convolution, which is computed by transforms of a length with small factors
// (Bluestein, 1970). Real lines of even length are complex ones of half the length.
//
// The arithmetic of an element follows from the shape alone. It depends neither on threads nor on the level
// of the processor, and products are not fused with sums.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_FOURIER_FOURIERROUTINE_H
#define WEFT_RUNTIME_FOURIER_FOURIERROUTINE_H

#include "runtime/support/CpuLevel.h"
#include "weft/dtype.hpp"
#include "weft/export.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::runtime {

/// Which sides are complex. The numbers are part of the plan format: append only.
enum class FourierKind : uint8_t { c2c = 0, r2c = 1, c2r = 2 };
inline constexpr uint8_t fourierKinds = 3;

/// The most elements of a line.
inline constexpr int64_t mostFourierLength = int64_t(1) << 40;

/// Transforms of all lines of [outer, length, inner], where complex numbers are two elements, and a half line
/// has length / 2 + 1 of them.
struct FourierShape {
  FourierKind kind = FourierKind::c2c;
  DType dtype = DType::f32; ///< f32 or f64
  int64_t outer = 0, length = 1, inner = 0;
  bool inverse = false; ///< the sign of the exponent is +
  /// Of the numbers of a half line, those that stand for two are doubled (r2c), or count half (c2r).
  bool adjoint = false;
  double scale = 1;

  /// Elements of a line.
  int64_t source_elements() const {
    return kind == FourierKind::r2c ? length : kind == FourierKind::c2r ? 2 * (length / 2 + 1) : 2 * length;
  }
  int64_t result_elements() const {
    return kind == FourierKind::c2r ? length : kind == FourierKind::r2c ? 2 * (length / 2 + 1) : 2 * length;
  }
};

class WEFT_RUNTIME_API FourierRoutine {
public:
  /// The shape must be verified (runtime/plan/FourierPlan.h). The tables of its length are made by the first
  /// run(), and are kept for other routines of this length.
  explicit FourierRoutine(const FourierShape &shape, CpuLevel level = cpu_level());
  /// Bytes of scratch that run() needs for a team of `width` threads, 64-byte aligned.
  size_t scratch_bytes(int width) const;
  /// Transforms `source` into `result`, which share no byte. If `serial`, only the calling thread computes;
  /// the results are the same.
  void run(const void *source, void *result, void *scratch, bool serial) const;

private:
  FourierShape shape_;
  CpuLevel level_;
  struct Tables;
  std::shared_ptr<Tables> tables_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_FOURIER_FOURIERROUTINE_H
