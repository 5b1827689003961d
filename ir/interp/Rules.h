//===- Rules.h - Helpers of reference rules ---------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_INTERP_RULES_H
#define WEFT_IR_INTERP_RULES_H

#include "ir/interp/Literal.h"

#include <array>
#include <cmath>

namespace weft::ir {

/// Copies one element; both tensors have one dtype.
inline void copyElement(Literal &out, int64_t to, const Literal &in, int64_t from) {
  if (out.isReal())
    out.real[to] = in.real[from];
  else
    out.whole[to] = in.whole[from];
}

/// The larger of two numbers; NaN if one is NaN, and +0 is larger than -0.
inline double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) ? a : b;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

/// The smaller of two numbers; NaN if one is NaN, and -0 is smaller than +0.
inline double smaller(double a, double b) { return -larger(-a, -b); }

/// `offsets(shape, strides, dims)`: the distance, in elements, of each index over `dims`, in row-major order.
std::vector<int64_t> offsets(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                             llvm::ArrayRef<int64_t> dims);
/// The sizes of `op` as numbers. Emits an error with a remedy if one depends on symbols.
mlir::FailureOr<llvm::SmallVector<int64_t>> concreteSizes(mlir::Operation *op, llvm::ArrayRef<Size> sizes);
/// The dimensions of a tensor of that rank that are not in `dims`, increasing.
llvm::SmallVector<int64_t> otherDims(int64_t rank, llvm::ArrayRef<int64_t> dims);

/// An integer converted to a floating-point type, rounded once.
double roundWholeTo(DType dtype, int64_t value);

/// One block of Philox4x32-10; words lowest first.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

} // namespace weft::ir

#endif // WEFT_IR_INTERP_RULES_H
