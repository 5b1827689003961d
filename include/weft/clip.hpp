//===- clip.hpp - Bounding gradients -------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CLIP_HPP
#define WEFT_CLIP_HPP

#include "weft/tensor.hpp"

/// Between `backward()` and `step()`. Nothing is read on the host, so both work in compiled functions, where
/// they become part of the step.
namespace weft::nn::utils {

/// Scales all gradients by one factor so that their norm, taken as of one vector, is at most `max_norm`:
/// min(1, max_norm / (norm + 1e-6)). `norm_type` is a positive number or INFINITY (the largest magnitude).
/// Returns the norm before, 0-dimensional; 0 where no parameter has a gradient. The norm is computed in f32,
/// or in f64 where a gradient is, on the device of the first gradient.
WEFT_API Tensor clip_grad_norm_(const std::vector<Tensor> &parameters, double max_norm, double norm_type = 2,
                                Loc loc = Loc::current());
/// The norm of all elements of tensors as of one vector; 0 of no tensors. In f32, or in f64 where a tensor
/// is.
WEFT_API Tensor get_total_norm(const std::vector<Tensor> &tensors, double norm_type = 2,
                               Loc loc = Loc::current());
/// Scales all gradients as clip_grad_norm_ does, with a norm that was computed before.
WEFT_API void clip_grads_with_norm_(const std::vector<Tensor> &parameters, double max_norm,
                                    const Tensor &total_norm, Loc loc = Loc::current());
/// Clamps every element of every gradient to [-clip_value, clip_value].
WEFT_API void clip_grad_value_(const std::vector<Tensor> &parameters, double clip_value,
                               Loc loc = Loc::current());

} // namespace weft::nn::utils

#endif // WEFT_CLIP_HPP
