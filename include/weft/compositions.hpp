//===- compositions.hpp - Functions that are made of others ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of torch.nn.functional that are a few operations each. Draws are from the default generator.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_COMPOSITIONS_HPP
#define WEFT_COMPOSITIONS_HPP

#include "weft/losses.hpp"
#include "weft/resampling.hpp"

namespace weft {

/// \name Dropout of whole channels, [batch, channels, ..]
/// `dropout1d` takes [channels, length] too, and `dropout3d` [channels, depth, height, width]. Throws Error
/// for fewer than two dimensions, for a `p` outside of [0, 1], and for integers.
/// @{
WEFT_API Tensor dropout1d(const Tensor &x, double p = 0.5, bool training = true, Loc loc = Loc::current());
WEFT_API Tensor dropout2d(const Tensor &x, double p = 0.5, bool training = true, Loc loc = Loc::current());
WEFT_API Tensor dropout3d(const Tensor &x, double p = 0.5, bool training = true, Loc loc = Loc::current());
/// @}
/// Dropout that keeps mean and variance of what `selu` gives: elements become its limit, not 0 (Klambauer et
/// al., 2017). `feature_alpha_dropout` drops whole channels.
WEFT_API Tensor alpha_dropout(const Tensor &x, double p = 0.5, bool training = false,
                              Loc loc = Loc::current());
WEFT_API Tensor feature_alpha_dropout(const Tensor &x, double p = 0.5, bool training = false,
                                      Loc loc = Loc::current());
/// `leaky_relu` with a slope for each element that is drawn from [lower, upper] in training, and else their
/// mean. Throws Error where `lower` is above `upper`.
WEFT_API Tensor rrelu(const Tensor &x, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false,
                      Loc loc = Loc::current());
/// A sample of the Gumbel-softmax distribution (Jang, Gu and Poole, 2017); `hard`: one-hot, with the gradient
/// of the soft sample. `tau` is positive.
WEFT_API Tensor gumbel_softmax(const Tensor &logits, double tau = 1, bool hard = false, int64_t dim = -1,
                               Loc loc = Loc::current());

struct LpPoolOptions {
  IntList stride = {};    ///< empty: the size of the window
  bool ceil_mode = false; ///< as of MaxPoolOptions
};
/// \name (sum of x^p over each window)^(1/p)
/// A sum below 0 gives 0, whose gradient is 0.
/// @{
WEFT_API Tensor lp_pool1d(const Tensor &x, double norm_type, IntList kernel_size, LpPoolOptions options = {},
                          Loc loc = Loc::current());
WEFT_API Tensor lp_pool2d(const Tensor &x, double norm_type, IntList kernel_size, LpPoolOptions options = {},
                          Loc loc = Loc::current());
WEFT_API Tensor lp_pool3d(const Tensor &x, double norm_type, IntList kernel_size, LpPoolOptions options = {},
                          Loc loc = Loc::current());
/// @}

/// The adjoint of `unfold`: [batch, channels * elements of a window, windows] or without the batch becomes
/// [batch, channels, height, width], where elements of windows that overlap are added. Throws Error for a
/// shape that `unfold` would not give.
WEFT_API Tensor fold(const Tensor &x, IntList output_size, IntList kernel_size, IntList dilation = 1,
                     IntList padding = 0, IntList stride = 1, Loc loc = Loc::current());
/// The places of a grid of `size` ([n, c, h, w] or [n, c, d, h, w]) under the maps theta ([n, 2, 3] or [n, 3,
/// 4]), [n, h, w, 2] or [n, d, h, w, 3], for grid_sample.
WEFT_API Tensor affine_grid(const Tensor &theta, IntList size, bool align_corners = false,
                            Loc loc = Loc::current());
struct MantissaExponent {
  Tensor mantissa, exponent; ///< exponent: i32
};
/// a = mantissa 2^exponent, with |mantissa| in [0.5, 1); of 0, infinities and NaN itself and 0. Throws Error
/// for integers.
WEFT_API MantissaExponent frexp(const Tensor &a, Loc loc = Loc::current());

struct HistogramOptions {
  std::optional<double> min = {}, max = {}; ///< the extremes of the elements if they are not given
  Tensor weight = {};                       ///< one for each element, instead of 1
  bool density = false;                     ///< divided by the sum and by the width of the bin
};
struct HistogramResult {
  Tensor hist, bin_edges;
};
/// How many elements of all of `a` are in each of `bins` bins of equal width, or between edges, which rise.
/// The last bin has its upper edge, too. The same dtype as `a`, which is of f32 or f64. Without `min` and
/// `max` it reads the extremes (WEFT-C001 in a compiled function); an error where the number of bins is below
/// 1 or max below min.
WEFT_API HistogramResult histogram(const Tensor &a, int64_t bins, HistogramOptions options = {},
                                   Loc loc = Loc::current());
WEFT_API HistogramResult histogram(const Tensor &a, const Tensor &edges, HistogramOptions options = {},
                                   Loc loc = Loc::current());

/// \name Windows of `n` places for spectra, f32 unless another floating-point dtype is given
/// `periodic`: the first n places of a window of n + 1. An error for a negative `n`.
/// @{
WEFT_API Tensor bartlett_window(int64_t n, bool periodic = true, TensorOptions options = {},
                                Loc loc = Loc::current());
WEFT_API Tensor blackman_window(int64_t n, bool periodic = true, TensorOptions options = {},
                                Loc loc = Loc::current());
/// alpha - beta cos(2 pi i / n).
WEFT_API Tensor hamming_window(int64_t n, bool periodic = true, double alpha = 0.54, double beta = 0.46,
                               TensorOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor hann_window(int64_t n, bool periodic = true, TensorOptions options = {},
                            Loc loc = Loc::current());
WEFT_API Tensor kaiser_window(int64_t n, bool periodic = true, double beta = 12, TensorOptions options = {},
                              Loc loc = Loc::current());
/// @}

namespace linalg {
/// The first columns of the product of the reflections I - tau_i v_i v_i^T, where v_i is column i of `a`
/// below the diagonal, with 1 there: [.., m, n] with n at most m, tau [.., k] with k at most n.
WEFT_API Tensor householder_product(const Tensor &a, const Tensor &tau, Loc loc = Loc::current());
} // namespace linalg

/// `interpolate` by its older name.
inline Tensor upsample(const Tensor &x, InterpolateOptions options, Loc loc = Loc::current()) {
  return interpolate(x, std::move(options), loc);
}

namespace nn {
/// The sum over the targets of a row, class numbers that end at the first -1, of max(0, 1 - (input[target] -
/// input)) over the classes that are no targets, divided by the number of classes. `input` is [n, classes] or
/// [classes], the target (i64) has its shape.
WEFT_API Tensor multilabel_margin_loss(const Tensor &input, const Tensor &target,
                                       Reduction reduction = Reduction::mean, Loc loc = Loc::current());
} // namespace nn

} // namespace weft

#endif // WEFT_COMPOSITIONS_HPP
