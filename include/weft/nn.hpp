//===- nn.hpp - Functions of networks ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_NN_HPP
#define WEFT_NN_HPP

#include "weft/module.hpp"

namespace weft::nn {

enum class Reduction { none, mean, sum };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;
  int64_t ignore_index = -100;
};

/// x W^T + b.
WEFT_API Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias = {},
                       Loc loc = Loc::current());
/// `logits` [rows, classes], `target` [rows] class numbers of i64 (narrower integers are converted).
WEFT_API Tensor cross_entropy(const Tensor &logits, const Tensor &target, CrossEntropyOptions options = {},
                              Loc loc = Loc::current());
WEFT_API Tensor mse_loss(const Tensor &input, const Tensor &target, Reduction reduction = Reduction::mean,
                         Loc loc = Loc::current());

} // namespace weft::nn

#endif // WEFT_NN_HPP
