//===- ChannelNorm.h - batch_norm with any share ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPS_CHANNELNORM_H
#define WEFT_FRONTEND_OPS_CHANNELNORM_H

#include "weft/normalization.hpp"

namespace weft::frontend {

/// `batch_norm` where the share of the batch in the running statistics is a number or a 0-dimensional tensor,
/// in place of `options.momentum`.
Tensor batchNorm(const Tensor &x, const Tensor &running_mean, const Tensor &running_var,
                 const BatchNormOptions &options, const Arg &share, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_CHANNELNORM_H
