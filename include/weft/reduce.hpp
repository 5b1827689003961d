//===- reduce.hpp - Reductions, normalisation, dropout ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reductions of Tensor as free functions, and functions of several tensors. Names and meaning are
// PyTorch's. Empty `dims` mean all dimensions; negative ones count from the end; `keepdim` keeps them with
// size 1. Sums and products accumulate f16 and bf16 in f32. The order of a reduction depends on its shape and
// dtype alone.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_REDUCE_HPP
#define WEFT_REDUCE_HPP

#include "weft/tensor.hpp"

#include <utility>

namespace weft {

#define WEFT_REDUCTION(name)                                                                                 \
  inline Tensor name(const Tensor &a, IntList dims = {}, bool keepdim = false, Loc loc = Loc::current()) {   \
    return a.name(std::move(dims), keepdim, loc);                                                            \
  }
/// For bools and integers an i64; 0 (1) for no elements.
WEFT_REDUCTION(sum)
WEFT_REDUCTION(prod)
/// An error for integers; NaN for no elements.
WEFT_REDUCTION(mean)
/// An error for no elements; a NaN propagates; equal elements share the gradient.
WEFT_REDUCTION(amax)
WEFT_REDUCTION(amin)
/// An i1; false (true) for no elements.
WEFT_REDUCTION(any)
WEFT_REDUCTION(all)
/// log(sum(exp(a))) without overflow, in a floating-point dtype; -inf for no elements.
WEFT_REDUCTION(logsumexp)
#undef WEFT_REDUCTION

/// \name In a dtype, which is the last argument: elements are converted to it before
/// `sum(x, f64)`, `sum(x, 0, f64)`, `sum(x, {0}, true, f64)`, `cumsum(x, 0, f64)`.
/// @{
#define WEFT_REDUCTION_IN(name)                                                                              \
  template <std::same_as<DType> T>                                                                           \
  Tensor name(const Tensor &a, IntList dims, bool keepdim, T dtype, Loc loc = Loc::current()) {              \
    return a.name(std::move(dims), keepdim, dtype, loc);                                                     \
  }                                                                                                          \
  template <std::same_as<DType> T>                                                                           \
  Tensor name(const Tensor &a, IntList dims, T dtype, Loc loc = Loc::current()) {                            \
    return a.name(std::move(dims), dtype, loc);                                                              \
  }                                                                                                          \
  template <std::same_as<DType> T> Tensor name(const Tensor &a, T dtype, Loc loc = Loc::current()) {         \
    return a.name(dtype, loc);                                                                               \
  }
WEFT_REDUCTION_IN(sum)
WEFT_REDUCTION_IN(mean)
WEFT_REDUCTION_IN(prod)
WEFT_REDUCTION_IN(nansum)
WEFT_REDUCTION_IN(nanmean)
#undef WEFT_REDUCTION_IN
#define WEFT_ALONG_IN(name)                                                                                  \
  template <std::same_as<DType> T>                                                                           \
  Tensor name(const Tensor &a, int64_t dim, T dtype, Loc loc = Loc::current()) {                             \
    return a.name(dim, dtype, loc);                                                                          \
  }
WEFT_ALONG_IN(cumsum)
WEFT_ALONG_IN(cumprod)
#undef WEFT_ALONG_IN
/// @}

inline Tensor max(const Tensor &a, Loc loc = Loc::current()) { return a.max(loc); }
inline Tensor min(const Tensor &a, Loc loc = Loc::current()) { return a.min(loc); }
inline ValuesIndices max(const Tensor &a, int64_t dim, bool keepdim = false, Loc loc = Loc::current()) {
  return a.max(dim, keepdim, loc);
}
inline ValuesIndices min(const Tensor &a, int64_t dim, bool keepdim = false, Loc loc = Loc::current()) {
  return a.min(dim, keepdim, loc);
}
inline Tensor argmax(const Tensor &a, std::optional<int64_t> dim = {}, bool keepdim = false,
                     Loc loc = Loc::current()) {
  return a.argmax(dim, keepdim, loc);
}
inline Tensor argmin(const Tensor &a, std::optional<int64_t> dim = {}, bool keepdim = false,
                     Loc loc = Loc::current()) {
  return a.argmin(dim, keepdim, loc);
}
inline Tensor cumsum(const Tensor &a, int64_t dim, Loc loc = Loc::current()) { return a.cumsum(dim, loc); }
inline Tensor cumprod(const Tensor &a, int64_t dim, Loc loc = Loc::current()) { return a.cumprod(dim, loc); }
inline Tensor count_nonzero(const Tensor &a, IntList dims = {}, Loc loc = Loc::current()) {
  return a.count_nonzero(std::move(dims), loc);
}
inline Tensor norm(const Tensor &a, double p = 2, IntList dims = {}, bool keepdim = false,
                   Loc loc = Loc::current()) {
  return a.norm(p, std::move(dims), keepdim, loc);
}

/// Variance and mean in one pass; an error for integers. With no more elements than `correction` the variance
/// is NaN or infinite. Elements are added by Welford's method (1962), and partial results are merged by the
/// formula of Chan, Golub and LeVeque (1983).
WEFT_API std::pair<Tensor, Tensor> var_mean(const Tensor &a, IntList dims = {}, double correction = 1,
                                            bool keepdim = false, Loc loc = Loc::current());
inline Tensor var(const Tensor &a, IntList dims = {}, double correction = 1, bool keepdim = false,
                  Loc loc = Loc::current()) {
  return a.var(std::move(dims), correction, keepdim, loc);
}

/// exp(a - max) / sum(exp(a - max)) along `dim`, in the shape of `a`, and its logarithm without overflow.
/// Floating-point tensors only; f16 and bf16 compute in f32.
WEFT_API Tensor softmax(const Tensor &a, int64_t dim, Loc loc = Loc::current());
WEFT_API Tensor log_softmax(const Tensor &a, int64_t dim, Loc loc = Loc::current());
/// In a floating-point dtype, to which elements are converted before: `softmax(x, -1, f32)`.
inline Tensor softmax(const Tensor &a, int64_t dim, DType dtype, Loc loc = Loc::current()) {
  return a.softmax(dim, dtype, loc);
}
inline Tensor log_softmax(const Tensor &a, int64_t dim, DType dtype, Loc loc = Loc::current()) {
  return a.log_softmax(dim, dtype, loc);
}

/// (a - mean) / sqrt(variance + eps) * weight + bias over the trailing dimensions, which are
/// `normalized_shape`; `weight` and `bias` have that shape, or are undefined. The statistics of f16 and bf16
/// are in f32. (Ba, Kiros and Hinton, Layer Normalization, 2016.)
WEFT_API Tensor layer_norm(const Tensor &a, const Shape &normalized_shape, const Tensor &weight = {},
                           const Tensor &bias = {}, double eps = 1e-5, Loc loc = Loc::current());
/// Zhang and Sennrich (2019): a / sqrt(mean(a^2) + eps) over the trailing dimensions, which have
/// `normalized_shape`, times `weight` of that shape, if defined. Without `eps` it is 2^-23,
/// and 2^-52 for f64.
WEFT_API Tensor rms_norm(const Tensor &a, const Shape &normalized_shape, const Tensor &weight = {},
                         std::optional<double> eps = {}, Loc loc = Loc::current());

/// Zeros elements with probability `p` and divides the others by 1 - p, where `training`; else the tensor
/// itself. Draws from the default generator, one number an element.
WEFT_API Tensor dropout(const Tensor &a, double p = 0.5, bool training = true, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_REDUCE_HPP
