//===- normalization.hpp - Normalisation of channels -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_NORMALIZATION_HPP
#define WEFT_NORMALIZATION_HPP

#include "weft/tensor.hpp"

namespace weft {

struct BatchNormOptions {
  Tensor weight = {}, bias = {}; ///< [channels] each, of the operand's dtype or f32; may be undefined
  bool training = false;         ///< whether the statistics are those of the batch, or the running ones
  double momentum = 0.1;         ///< the share of the batch in the running statistics
  double eps = 1e-5;
};

/// torch.nn.functional.batch_norm (Ioffe and Szegedy, 2015): (x - mean) / sqrt(variance + eps) of each
/// channel, times weight plus bias. x is [batch, channels] or [batch, channels, extents..], of a
/// floating-point dtype; f16 and bf16 are computed in f32 and rounded once. In training, the statistics are
/// over all dimensions but the second, with the biased variance, and the running ones, [channels] each, which
/// may be undefined, become (1 - momentum) old + momentum new, with the unbiased variance. Otherwise the
/// running ones are used. Throws Error if the shapes do not fit, if there is one value for each channel in
/// training, and if there are no running statistics otherwise.
WEFT_API Tensor batch_norm(const Tensor &x, const Tensor &running_mean, const Tensor &running_var,
                           BatchNormOptions options = {}, Loc loc = Loc::current());

/// torch.nn.functional.group_norm (Wu and He, 2018): (x - mean) / sqrt(variance + eps) over each group of
/// neighbouring channels of each element of the batch, times weight plus bias, which are [channels] or
/// undefined. x is [batch, channels, extents..], of a floating-point dtype. Throws Error if the groups do not
/// divide the channels.
WEFT_API Tensor group_norm(const Tensor &x, int64_t num_groups, const Tensor &weight = {},
                           const Tensor &bias = {}, double eps = 1e-5, Loc loc = Loc::current());

/// torch.nn.functional.instance_norm (Ulyanov et al., 2016): batch_norm of every element of the batch by
/// itself. With `options.training` the running statistics become the mean of those of the batch.
WEFT_API Tensor instance_norm(const Tensor &x, const Tensor &running_mean = {},
                              const Tensor &running_var = {}, BatchNormOptions options = {.training = true},
                              Loc loc = Loc::current());
/// torch.nn.functional.local_response_norm (Krizhevsky et al., 2012): x / (k + alpha mean(x^2))^beta, with
/// the mean over `size` neighbouring channels, where channels beside the operand are 0.
WEFT_API Tensor local_response_norm(const Tensor &x, int64_t size, double alpha = 1e-4, double beta = 0.75,
                                    double k = 1, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_NORMALIZATION_HPP
