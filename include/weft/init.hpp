//===- init.hpp - Initial values of parameters ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_INIT_HPP
#define WEFT_INIT_HPP

#include "weft/tensor.hpp"

#include <utility>

/// Functions that fill a floating-point tensor, as torch.nn.init: they write its slot, record no gradient,
/// draw from the default generator, and return the tensor.
namespace weft::nn::init {

/// Which size keeps its variance: that of the forward pass, or that of the gradients.
enum class FanMode { fan_in, fan_out };

/// The factor by which an initial deviation grows before this function: "linear", "sigmoid", "tanh", "relu",
/// "leaky_relu" (with its slope as `param`, 0.01 in PyTorch where it is left out), "selu".
WEFT_API double calculate_gain(const std::string &nonlinearity, double param = 0.01,
                               Loc loc = Loc::current());
/// The number of inputs and of outputs that one element of [out, in, ...] takes part in; an error below two
/// dimensions.
WEFT_API std::pair<int64_t, int64_t> fan_in_and_fan_out(const Tensor &tensor, Loc loc = Loc::current());

/// Uniform in [from, to). Throws Error if from > to.
WEFT_API Tensor uniform_(Tensor tensor, double from = 0, double to = 1, Loc loc = Loc::current());
/// Normal with this mean and deviation, which must not be negative.
WEFT_API Tensor normal_(Tensor tensor, double mean = 0, double std = 1, Loc loc = Loc::current());
/// Normal, truncated to [a, b], by inversion of the distribution function; computed on the host, so not in
/// compiled functions. Throws Error unless std > 0 and a < b.
WEFT_API Tensor trunc_normal_(Tensor tensor, double mean = 0, double std = 1, double a = -2, double b = 2,
                              Loc loc = Loc::current());
/// The same number everywhere.
WEFT_API Tensor constant_(Tensor tensor, double value, Loc loc = Loc::current());
WEFT_API Tensor ones_(Tensor tensor, Loc loc = Loc::current());
WEFT_API Tensor zeros_(Tensor tensor, Loc loc = Loc::current());
/// Ones on the diagonal of a matrix.
WEFT_API Tensor eye_(Tensor tensor, Loc loc = Loc::current());

/// Glorot and Bengio (2010): uniform in +-gain sqrt(6 / (fan_in + fan_out)).
WEFT_API Tensor xavier_uniform_(Tensor tensor, double gain = 1, Loc loc = Loc::current());
/// Normal with deviation gain sqrt(2 / (fan_in + fan_out)).
WEFT_API Tensor xavier_normal_(Tensor tensor, double gain = 1, Loc loc = Loc::current());
/// He, Zhang, Ren and Sun (2015): uniform in +-sqrt(3 / fan) times the gain of `nonlinearity`, whose slope is
/// `a`.
WEFT_API Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanMode mode = FanMode::fan_in,
                                 const std::string &nonlinearity = "leaky_relu", Loc loc = Loc::current());
/// Normal with deviation 1 / sqrt(fan) times the gain.
WEFT_API Tensor kaiming_normal_(Tensor tensor, double a = 0, FanMode mode = FanMode::fan_in,
                                const std::string &nonlinearity = "leaky_relu", Loc loc = Loc::current());
/// Orthonormal rows or columns (of the tensor as a matrix [size(0), rest]), whichever are fewer, times
/// `gain`; by the Gram-Schmidt process, done twice, on normal vectors (Saxe, McClelland and Ganguli, 2014).
/// Computed on the host, so not in compiled functions. An error below two dimensions.
WEFT_API Tensor orthogonal_(Tensor tensor, double gain = 1, Loc loc = Loc::current());
/// Weights of a convolution, [out, in, window..] of three to five dimensions, that keeps its channels: 1 in
/// the middle of the window of each channel with itself, in each of `groups`, and else 0. Computed on the
/// host, so not in compiled functions.
WEFT_API Tensor dirac_(Tensor tensor, int64_t groups = 1, Loc loc = Loc::current());

} // namespace weft::nn::init

#endif // WEFT_INIT_HPP
