//===- Nn.cpp ------------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/nn.hpp"
#include "frontend/Ops.h"
#include "weft/linear_algebra.hpp"

namespace weft::nn {

Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias, Loc loc) {
  Tensor y = matmul(x, weight.t(loc), loc);
  return bias.defined() ? add({y, loc}, {bias, loc}) : y;
}

} // namespace weft::nn
