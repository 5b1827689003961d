//===- Linear.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/Ops.h"
#include "weft/linear_algebra.hpp"
#include "weft/nn.hpp"

namespace weft::nn {

Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias, Loc loc) {
  if (x.dtype(loc) != weight.dtype(loc))
    frontend::fail("linear(): expected m1 and m2 to have the same dtype, but got: " +
                       std::string(name(x.dtype(loc))) + " != " + std::string(name(weight.dtype(loc))) +
                       "; to convert the input to the dtype of the weight, write .to(weft::" +
                       std::string(name(weight.dtype(loc))) + ")",
                   loc, {frontend::use(x, loc), frontend::use(weight, loc)});
  Tensor y = matmul(x, weight.t(loc), loc);
  return bias.defined() ? add({y, loc}, {bias, loc}) : y;
}

} // namespace weft::nn
