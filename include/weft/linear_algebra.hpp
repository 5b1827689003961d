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

} // namespace weft

#endif // WEFT_LINEAR_ALGEBRA_HPP
