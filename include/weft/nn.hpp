//===- nn.hpp - Functions of networks ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_NN_HPP
#define WEFT_NN_HPP

#include "weft/losses.hpp"
#include "weft/module.hpp"

namespace weft::nn {

/// x W^T + b: x [..., in], weight [out, in], bias [out] or undefined, the result [..., out], of one dtype.
/// Shapes that do not fit are an error.
WEFT_API Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias = {},
                       Loc loc = Loc::current());

} // namespace weft::nn

#endif // WEFT_NN_HPP
