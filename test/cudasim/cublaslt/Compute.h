//===- Compute.h - The arithmetic of products ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops that the compiler vectorises for processors with AVX2, FMA and F16C, which the driver's start checks.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_CUBLASLT_COMPUTE_H
#define WEFT_TEST_CUDASIM_CUBLASLT_COMPUTE_H

#include "test/cudasim/cublaslt/Product.h"

#include <cstddef>
#include <vector>

namespace weft::cusim::lt {

/// Where the first element of each operand is on the host; null for operands that are not used.
struct ProductBytes {
  const std::byte *a = nullptr, *b = nullptr, *c = nullptr, *bias = nullptr;
  std::byte *d = nullptr, *aux = nullptr;
};

/// Alpha or beta, in the scale type of the product.
struct Scale {
  double f64 = 0;
  float f32 = 0;
  int32_t i32 = 0;
};
Scale readScale(DataType type, const void *from);
bool isZero(DataType type, const Scale &scale);

/// For one product of the batch, and each of `parts` parts of k, the sums of op(A) * op(B) by rows of D, in
/// elements of the sum's type. Of a part, `depth` elements at a time are added from 0 on, and then to the
/// sum.
void addProducts(const Product &product, const ProductBytes &bytes, int32_t number, int64_t depth,
                 int64_t parts, std::byte *sums);

/// For one product of the batch, D from the sums of all parts, which are `partStride` bytes from each other.
/// C is not read if its pointer is null.
void finish(const Product &product, const ProductBytes &bytes, int32_t number, const std::byte *sums,
            int64_t parts, int64_t partStride, const Scale &alpha, const Scale &beta, bool losesNan);

} // namespace weft::cusim::lt

#endif // WEFT_TEST_CUDASIM_CUBLASLT_COMPUTE_H
